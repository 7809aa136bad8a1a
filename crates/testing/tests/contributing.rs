//! The examples of CONTRIBUTING.md: applied to a copy of the sources, built, and run.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What has no part in building crates.
const WITHOUT: [&str; 5] = [".git", "build", "target", "node_modules", "__pycache__"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the sources")
}

/// The files below a folder, as paths in it, but those of these names.
fn files(root: &Path, below: &Path, without: &[&str], out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(below)).expect("a folder") {
        let entry = entry.expect("an entry");
        if without.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let path = below.join(entry.file_name());
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => files(root, &path, without, out),
            kind if kind.is_file() || kind.is_symlink() => out.push(path),
            _ => {}
        }
    }
}

/// Has `to` be what `from` is: what is the same stays as it is, so that it is not built again.
fn sync(from: &Path, to: &Path) {
    let (mut all, mut old) = (Vec::new(), Vec::new());
    files(from, Path::new(""), &WITHOUT, &mut all);
    fs::create_dir_all(to).expect("made");
    files(to, Path::new(""), &WITHOUT, &mut old);
    for gone in old.iter().filter(|path| !all.contains(path)) {
        fs::remove_file(to.join(gone)).expect("ours");
    }
    for path in &all {
        let (from, to) = (from.join(path), to.join(path));
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        // What a crate shares with the project.
        if let Ok(leads) = fs::read_link(&from) {
            if fs::read_link(&to).ok().as_ref() != Some(&leads) {
                std::os::unix::fs::symlink(leads, to).expect("linked");
            }
            continue;
        }
        let content = fs::read(&from).expect("a file");
        if fs::read(&to).is_ok_and(|has| has == content) {
            continue;
        }
        fs::copy(from, to).expect("copied");
    }
}

#[track_caller]
fn run(program: impl AsRef<OsStr>, words: &[&str], at: &Path) {
    let mut command = Command::new(program.as_ref());
    // Not the repository that this lies in.
    command.args(words).current_dir(at).env("GIT_CEILING_DIRECTORIES", at.parent().expect("a folder"));
    // What is made of declarations is made anew, as the page says.
    command.env("UPDATE_SCHEMA", "1").env("INSTA_UPDATE", "always").env("CARGO_PROFILE_DEV_DEBUG", "0");
    let done = command.output().unwrap_or_else(|e| panic!("{:?}: {e}", program.as_ref()));
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{:?} {words:?}: {}", program.as_ref(), String::from_utf8_lossy(&said));
}

/// That no crate of ours is optimised, as words for cargo: for each profile of the manifest that says so of one.
fn not_optimised(manifest: &str) -> Vec<String> {
    let names = manifest.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let profiles = names.filter(|name| name.starts_with("profile.dev.package.queuewright"));
    profiles.flat_map(|name| ["--config".into(), format!("{name}.opt-level=0")]).collect()
}

/// Gives a folder that nothing has been built in what `built` has of crates that are not ours: cargo looks whether it fits. A link each, as
/// nobody writes into these.
fn begin_with_others(built: &Path, to: &Path) {
    if to.exists() {
        return;
    }
    for part in ["debug/.fingerprint", "debug/build", "debug/deps"] {
        let (mut all, from) = (Vec::new(), built.join(part));
        if from.is_dir() {
            files(&from, Path::new(""), &[], &mut all);
        }
        for path in all {
            let ours = path.iter().next().is_some_and(|name| name.to_string_lossy().contains("queuewright"));
            // A test program of ours has its own name.
            let program = part.ends_with("deps") && path.extension().is_none();
            if ours || program {
                continue;
            }
            let new = to.join(part).join(&path);
            fs::create_dir_all(new.parent().expect("a folder")).expect("made");
            fs::hard_link(from.join(&path), new).expect("linked");
        }
    }
}

/// What of the sources crates are made of, their tests included.
const PARTS: [&str; 18] = [
    "crates",
    "aqm",
    "cca",
    "module",
    "docs",
    "fuzz",
    "policies",
    "dist",
    "experiments",
    "suites",
    "examples",
    "python",
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    ".clang-format",
    ".cargo",
    "rust-toolchain.toml",
];

#[test]
fn the_examples_work() {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("the page");
    let examples: Vec<&str> =
        page.split("\n```diff\n").skip(1).filter_map(|rest| rest.split("\n```\n").next()).collect();
    // A discipline in five steps, a congestion control, a kind of traffic, a key, a measure.
    assert_eq!(examples.len(), 9);
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (stage, copy) = (place.join("contributing.new"), place.join("contributing"));
    let _ = fs::remove_dir_all(&stage);
    for part in PARTS {
        let from = repository().join(part);
        match from.is_dir() {
            true => sync(&from, &stage.join(part)),
            false if from.is_file() => drop(fs::copy(&from, stage.join(part)).expect("copied")),
            false => {}
        }
    }
    for example in examples {
        fs::write(place.join("example.diff"), format!("{example}\n")).expect("written");
        run("git", &["apply", "--whitespace=nowarn", "../example.diff"], &stage);
    }
    fs::write(stage.join("crates/sim/tests/of_contributing.rs"), include_str!("contributing/check.rs"))
        .expect("written");
    sync(&stage, &copy);
    let manifest = fs::read_to_string(copy.join("Cargo.toml")).expect("the manifest");
    begin_with_others(place.parent().expect("cargo's folder"), &place.join("contributing.built"));
    // It is compiled for once.
    let not_optimised = not_optimised(&manifest);
    let test = |words: &str| {
        // Not where this workspace is built: cargo takes a crate of the same place in another for the same.
        let mut all = vec!["test", "--offline", "--target-dir", "../contributing.built"];
        // With the features that all of the workspace's tests are compiled with.
        all.push("--workspace");
        all.extend(not_optimised.iter().map(String::as_str));
        all.extend(words.split_whitespace());
        run(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), &all, &copy);
    };
    // A test of the lab's, which builds the results of a run as the simulator does, is compiled and not run.
    test(
        "--no-run --test disciplines --test module_defaults --test keys --test format --test of_contributing --test refused",
    );
    test("--test disciplines --test module_defaults -- golden pages registry");
    test("--test keys --test format --test of_contributing");
    run("aqm/tests/check.sh", &["lint"], &copy);
}
