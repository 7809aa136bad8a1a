//! Crates read nothing outside of their folders: what they share with the project is a link in them. So the registry's packages, and
//! Python's sdist, which is made of these, build.

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

/// Every path that a source names by a text with `../` in it, before its tests.
fn named_in(source: &Path, package: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(source).expect("a source");
    let text = text.split("#[cfg(test)]").next().unwrap_or("");
    let mut found = Vec::new();
    for word in text.split('"').skip(1).step_by(2).filter(|w| w.contains("../") && !w.contains(' ')) {
        let word =
            word.trim_start_matches("cargo:rerun-if-changed=").trim_start_matches("$CARGO_MANIFEST_DIR/");
        let word = word.trim_start_matches("-I").trim_start_matches('/');
        // Of an `include`, from the file; else from the package.
        let places = [source.parent().expect("a folder"), package].map(|base| plain(&base.join(word)));
        found.extend(places.into_iter().filter(|path| path.exists()));
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
fn crates_have_what_they_read() {
    let root = repository();
    let mut looked_at = 0;
    for package in fs::read_dir(root.join("crates")).expect("crates/").flatten() {
        let package = package.path();
        let mut all = vec![package.join("build.rs")];
        sources(&package.join("src"), &mut all);
        for source in all.iter().filter(|s| s.exists()) {
            for path in named_in(source, &package) {
                // What is built is no source.
                let inside = path.starts_with(&package) || path.starts_with(root.join("build"));
                assert!(inside, "{} reads {}: make a link in the crate", source.display(), path.display());
                looked_at += 1;
            }
        }
        for entry in fs::read_dir(&package).expect("a folder").flatten() {
            assert!(entry.path().exists(), "{} leads nowhere", entry.path().display());
        }
    }
    // Disciplines' and controls' pages, policies.
    assert!(looked_at > 30, "{looked_at}");
}
