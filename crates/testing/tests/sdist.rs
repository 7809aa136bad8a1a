//! Python's sdist has what the crates read beside themselves, without which it does not build.

use std::fs;
use std::path::{Component, Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// `a/../b` as `b`, whether it is there or not.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Every path outside of `crates/` that a source names by a text with `../` in it, before its tests.
fn named_in(source: &Path, root: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(source).expect("a source");
    let text = text.split("#[cfg(test)]").next().unwrap_or("");
    let package = root
        .join("crates")
        .join(source.strip_prefix(root.join("crates")).expect("below").iter().next().expect("a crate"));
    let mut found = Vec::new();
    for word in text.split('"').skip(1).step_by(2).filter(|w| w.contains("../") && !w.contains(' ')) {
        let word =
            word.trim_start_matches("cargo:rerun-if-changed=").trim_start_matches("$CARGO_MANIFEST_DIR/");
        let word = word.trim_start_matches("-I").trim_start_matches('/');
        // Of an `include`, from the file; else from the package.
        for base in [source.parent().expect("a folder"), package.as_path()] {
            let path = plain(&base.join(word));
            // What is built is no source.
            let elsewhere = !["crates", "build"].iter().any(|folder| path.starts_with(root.join(folder)));
            if path.exists() && elsewhere {
                found.push(path);
            }
        }
    }
    found
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") => {
                found.push(path)
            }
            false => {}
        }
    }
}

#[test]
fn what_crates_read_is_in_it() {
    let root = repository();
    let text = fs::read_to_string(root.join("pyproject.toml")).expect("pyproject.toml");
    let project: toml::Table = text.parse().expect("TOML");
    let included: Vec<String> = project["tool"]["maturin"]["include"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|i| i["path"].as_str())
        .map(|pattern| pattern.split('*').next().unwrap_or("").trim_end_matches('/').to_string())
        .collect();
    let mut all = Vec::new();
    for package in fs::read_dir(root.join("crates")).expect("crates/").flatten() {
        sources(&package.path().join("src"), &mut all);
        all.push(package.path().join("build.rs"));
    }
    let mut looked_at = 0;
    for source in all.iter().filter(|s| s.exists()) {
        for path in named_in(source, &root) {
            let within = path.strip_prefix(&root).expect("below").to_string_lossy().into_owned();
            let has = included.iter().any(|i| within.starts_with(i.as_str()) || i.starts_with(&within));
            assert!(has, "{} reads {within}, which pyproject.toml's sdist lacks", source.display());
            looked_at += 1;
        }
    }
    // Disciplines' pages and headers, policies, experiments, suites, the dashboard.
    assert!(looked_at > 30, "{looked_at}");
}
