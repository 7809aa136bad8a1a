//! What the tests of Rust and of Python have in common is compiled once.

use std::collections::BTreeSet;
use std::process::Command;

/// Every crate with its features, of a selection.
fn crates(selection: &[&str]) -> BTreeSet<String> {
    let out = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("text");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_string()).collect()
}

/// The package that Python's tests are made of has each crate with the features that the workspace's tests have it with. Where one
/// differs, it and all that is above it are compiled again: name it in crates/python/Cargo.toml, under `tested`.
#[test]
fn the_package_of_the_tests_is_made_of_what_is_there() {
    let package = crates(&["-p", "queuewright-python", "--features", "tested", "--edges", "normal,build"]);
    let workspace = crates(&["--workspace", "--edges", "normal,build,dev"]);
    let of_python = |line: &&String| line.starts_with("queuewright-python ");
    let again: Vec<&String> = package.difference(&workspace).filter(|line| !of_python(line)).collect();
    assert!(package.len() > 100 && again.is_empty(), "compiled again: {again:#?}");
    // The features are what does it.
    let without = crates(&["-p", "queuewright-python", "--edges", "normal,build"]);
    assert!(without.difference(&workspace).next().is_some(), "`tested` is not needed any more");
}
