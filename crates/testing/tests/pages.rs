//! The list of pages in docs/README.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages in a folder and those below it.
fn pages(folder: &Path, out: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, out);
        } else if path.extension().is_some_and(|e| e == "md") {
            out.insert(path);
        }
    }
}

#[test]
fn every_page_is_on_the_list() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let list = docs.join("README.md");
    let text = fs::read_to_string(&list).expect("the page");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let listed: BTreeSet<PathBuf> =
        links.filter(|link| link.ends_with(".md")).map(|link| docs.join(link)).collect();
    let mut there = BTreeSet::new();
    pages(&docs, &mut there);
    there.remove(&list);
    assert!(there.len() > 30, "{there:?}");
    assert_eq!(listed, there);
}

/// The version stands in Cargo.toml; who cites reads it elsewhere.
#[test]
fn the_version_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cited = fs::read_to_string(root.join("CITATION.cff")).expect("the file");
    assert!(cited.contains(concat!("\nversion: ", env!("CARGO_PKG_VERSION"), "\n")), "{cited}");
}
