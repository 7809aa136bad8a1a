//! The list of pages in docs/README.md.

use std::collections::{BTreeMap, BTreeSet};
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

type Uses = BTreeMap<String, BTreeSet<String>>;

/// Which of our crates each uses, by the manifests: names without `queuewright-`.
fn uses(crates: &Path) -> Uses {
    let ours = |name: &str| name.strip_prefix("queuewright-").unwrap_or(name).to_string();
    let mut all = Uses::new();
    for entry in fs::read_dir(crates).expect("the crates") {
        let text =
            fs::read_to_string(entry.expect("an entry").path().join("Cargo.toml")).expect("a manifest");
        let name =
            text.lines().find_map(|l| l.strip_prefix("name = \"")).expect("a name").trim_end_matches('"');
        let (_, below) = text.split_once("\n[dependencies]\n").unwrap_or_default();
        let below = below.lines().take_while(|line| !line.starts_with('['));
        let named =
            below.filter_map(|line| line.split([' ', '.']).next()).filter(|n| n.starts_with("queuewright"));
        all.insert(ours(name), named.map(ours).collect());
    }
    all
}

/// What a crate uses by a way of two or more.
fn by_a_longer_way(all: &Uses, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut to_do: Vec<&String> = all[from].iter().collect();
    while let Some(next) = to_do.pop() {
        for further in &all[next] {
            if found.insert(further.clone()) {
                to_do.push(further);
            }
        }
    }
    found
}

/// The map of the crates has each use that has no longer way, and no other.
#[test]
fn the_map_is_that_of_the_manifests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = uses(&root.join("crates"));
    let mut right = BTreeSet::new();
    for (from, to) in &all {
        let longer = by_a_longer_way(&all, from);
        right.extend(to.iter().filter(|to| !longer.contains(*to)).map(|to| format!("{from} --> {to}")));
    }
    assert!(right.len() > 10, "{right:?}");
    let page = fs::read_to_string(root.join("docs/architecture.md")).expect("the page");
    let drawn: BTreeSet<String> =
        page.lines().map(str::trim).filter(|line| line.contains(" --> ")).map(String::from).collect();
    assert_eq!(drawn, right);
}
