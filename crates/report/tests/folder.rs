//! The results folder: dated, complete, never overwritten, whole after an interrupt.

mod sample;

use queuewright_report::Folder;
use queuewright_results::{Results, Run};
use std::fs;
use std::path::Path;

fn made() -> (Results, Vec<Run>) {
    let mut results = sample::results(&["droptail", "codel", "a/b", "a:b"], &[1, 2], 5000);
    let runs = std::mem::take(&mut results.runs);
    (results, runs)
}

fn manifest(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap()
}

fn files_under(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            files.extend(files_under(&path).iter().map(|f| format!("{name}/{f}")));
        } else {
            files.push(name);
        }
    }
    files.sort();
    files
}

#[test]
fn finished_folder_holds_everything_it_lists() {
    let base = tempfile::tempdir().unwrap();
    let (header, runs) = made();
    let mut folder = Folder::create(base.path(), "home", "[link]\n", &header, runs.len()).unwrap();
    folder.add_file("trace.txt", &b"1\n2\n"[..]).unwrap();
    // Threads finish in any order.
    for (place, run) in runs.into_iter().enumerate().rev() {
        folder.add_run(place, run).unwrap();
    }
    let report = folder.finish().unwrap();
    assert_eq!(report, folder.path().join("report.html"));
    let manifest = manifest(folder.path());
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["scenario_hash"], header.scenario["hash"]);
    let listed: Vec<String> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = file["path"].as_str().unwrap();
            let content = fs::read(folder.path().join(path)).unwrap();
            assert_eq!(file["bytes"], content.len(), "{path}");
            use sha2::Digest;
            let hash: String =
                sha2::Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(file["sha256"], hash, "{path}");
            path.to_string()
        })
        .collect();
    let mut found = files_under(folder.path());
    found.retain(|file| file != "manifest.json");
    assert_eq!(listed, found);
    insta::assert_snapshot!(found.join("\n"));

    let text = fs::read_to_string(folder.path().join("results.json")).unwrap();
    let back = Results::from_json(&text).unwrap();
    let order: Vec<_> = back.runs.iter().map(|run| (run.discipline.as_str(), run.seed)).collect();
    assert_eq!(order[..4], [("droptail", 1), ("droptail", 2), ("codel", 1), ("codel", 2)]);
    let series = fs::read_to_string(folder.path().join("series/codel-seed2.csv")).unwrap();
    assert_eq!(series.lines().count(), 5001, "the CSV keeps every sample");
}

#[test]
fn every_finished_run_is_readable_at_once() {
    let base = tempfile::tempdir().unwrap();
    let (header, runs) = made();
    let mut folder = Folder::create(base.path(), "home", "", &header, runs.len()).unwrap();
    let first = runs.into_iter().next().unwrap();
    folder.add_run(0, first).unwrap();
    // As a kill leaves it: nothing more is called.
    let text = fs::read_to_string(folder.path().join("results.json")).unwrap();
    assert_eq!(Results::from_json(&text).unwrap().runs.len(), 1);
    let manifest = manifest(folder.path());
    assert_eq!(
        (&manifest["complete"], &manifest["runs_finished"], &manifest["runs_total"]),
        (&false.into(), &1.into(), &8.into())
    );
    assert!(!files_under(base.path()).iter().any(|file| file.ends_with(".part")));
}

/// A comparison of thousands of runs is not written thousands of times, and yet a
/// kill costs the results no more than the last sixteenth.
#[test]
fn sheets_of_many_runs_keep_up() {
    let base = tempfile::tempdir().unwrap();
    let (header, _) = made();
    let mut folder = Folder::create(base.path(), "many", "", &header, 100).unwrap();
    let mut writings = 0;
    let mut last = 0;
    for n in 1..=100 {
        let run = Run { seed: n as u64, ..Run::default() };
        folder.add_run(n, run).unwrap();
        let kept = manifest(folder.path())["runs_finished"].as_u64().unwrap() as usize;
        assert!(n - kept <= n / 16, "{kept} of {n}");
        writings += usize::from(kept != last);
        last = kept;
    }
    assert!(writings < 45, "{writings}");
    folder.finish().unwrap();
    assert_eq!(manifest(folder.path())["complete"], true);
}

#[test]
fn nothing_is_overwritten_and_latest_moves_on() {
    let base = tempfile::tempdir().unwrap();
    let (header, _) = made();
    let mut paths: Vec<_> = (0..5)
        .map(|i| {
            let text = format!("# {i}");
            let folder = Folder::create(base.path(), "../so me", &text, &header, 0).unwrap();
            let latest = fs::read_to_string(base.path().join("latest/scenario.toml")).unwrap();
            assert_eq!(latest, text);
            folder.path().to_path_buf()
        })
        .collect();
    assert!(paths.iter().all(|path| path.parent() == Some(base.path())));
    paths.dedup();
    assert_eq!(paths.len(), 5);
    let name = paths[0].file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("-so-me") && name.starts_with("20"), "{name}");
}

#[test]
fn a_foreign_latest_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("latest")).unwrap();
    Folder::create(base.path(), "x", "", &made().0, 0).unwrap();
    assert!(fs::symlink_metadata(base.path().join("latest")).unwrap().is_dir());
}

#[test]
fn errors_name_the_path() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("taken");
    fs::write(&file, "").unwrap();
    let error = Folder::create(&file, "x", "", &made().0, 0).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot create {}: ", file.display())));

    let (header, runs) = made();
    let mut folder = Folder::create(base.path(), "x", "", &header, 8).unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    let error = folder.add_run(0, runs.into_iter().next().unwrap()).unwrap_err();
    assert!(error.to_string().contains("series/droptail-seed1.csv"), "{error}");
}

/// Who may write where root makes its folder can put another in its place, with links to what root alone may change.
#[test]
#[cfg(target_os = "linux")]
fn another_folder_in_its_place_is_not_written_into() {
    let base = tempfile::tempdir().unwrap();
    let (header, runs) = made();
    let mut folder = Folder::create(base.path(), "home", "", &header, runs.len()).unwrap();
    let victim = base.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let kept = base.path().join("kept");
    fs::rename(folder.path(), &kept).unwrap();
    fs::create_dir(folder.path()).unwrap();
    for name in ["results.json", "runs.csv", "report.html", "manifest.json"] {
        std::os::unix::fs::symlink(&victim, folder.path().join(format!("{name}.part"))).unwrap();
        std::os::unix::fs::symlink(&victim, kept.join(format!("{name}.part"))).unwrap();
    }
    for (place, run) in runs.into_iter().enumerate() {
        folder.add_run(place, run).unwrap();
    }
    folder.finish().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(files_under(folder.path()).len(), 4, "nothing new");
    assert!(kept.join("report.html").exists() && manifest(&kept)["complete"] == true);
}
