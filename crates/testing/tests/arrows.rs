//! Who imports whom: crates as CONTRIBUTING's map has them, modules of a crate without circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A dev-dependency that points down the map: a test of `crates/linux` has tc load the library.
const DOWN_FOR_TESTS: (&str, &str) = ("linux", "tc");

/// The crates in the order of CONTRIBUTING's map.
fn map() -> Vec<String> {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("the page");
    let lines = page.lines().filter_map(|line| line.strip_prefix("crates/")?.split_whitespace().next());
    lines.map(str::to_string).collect()
}

#[test]
fn the_map_has_every_folder() {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("the page");
    let mapped: BTreeSet<String> = map().into_iter().collect();
    let crates = fs::read_dir(repository().join("crates")).expect("crates/");
    let there: BTreeSet<String> =
        crates.map(|one| one.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(mapped, there);
    for folder in [
        "aqm",
        "cca",
        "module",
        "python",
        "experiments",
        "suites",
        "fuzz",
        "dist",
        "docs",
        "examples",
        "web",
        "scripts",
    ] {
        assert!(repository().join(folder).is_dir(), "{folder} is gone");
        assert!(page.contains(&format!("\n{folder}/ ")), "{folder}/ is not on the map");
    }
}

#[test]
fn crates_import_what_is_above_them() {
    let order = map();
    let place = |name: &str| order.iter().position(|one| one == name).unwrap_or(usize::MAX);
    let mut arrows = 0;
    for name in &order {
        let path = repository().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let manifest: toml::Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let Some(table) = manifest.get(kind).and_then(|t| t.as_table()) else { continue };
            for other in table.keys() {
                let other = match other.strip_prefix("queuewright") {
                    Some("") => "cli",
                    Some(rest) => rest.trim_start_matches('-'),
                    None => continue,
                };
                let for_tests = kind == "dev-dependencies"
                    && (other == "testing" || (name.as_str(), other) == DOWN_FOR_TESTS);
                assert!(
                    place(other) < place(name) || for_tests,
                    "crates/{name} has crates/{other} among its {kind}, which is not above it on the map"
                );
                arrows += 1;
            }
        }
    }
    assert!(arrows > 30, "{arrows} found");
}

/// What a file names.
#[derive(Default)]
struct Names {
    /// Paths, each as its segments.
    paths: Vec<Vec<String>>,
    /// Modules of tests.
    tests: Vec<String>,
}

fn of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|one| {
        one.path().is_ident("cfg") && one.parse_args::<syn::Ident>().is_ok_and(|what| what == "test")
    })
}

fn leaves(tree: &syn::UseTree, before: &[String], out: &mut Vec<Vec<String>>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, &with(&path.ident), out),
        syn::UseTree::Name(name) => out.push(with(&name.ident)),
        syn::UseTree::Rename(name) => out.push(with(&name.ident)),
        syn::UseTree::Glob(_) => out.push(before.to_vec()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|one| leaves(one, before, out)),
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if of_tests(&item.attrs) {
            self.tests.push(item.ident.to_string());
        } else {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !of_tests(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !of_tests(&item.attrs) {
            leaves(&item.tree, &[], &mut self.paths);
        }
    }

    /// `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.paths.push(path.segments.iter().map(|one| one.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

type Module = Vec<String>;

/// The files of a crate as modules.
fn modules(src: &Path, at: &[String], out: &mut BTreeMap<Module, Names>) {
    for entry in fs::read_dir(src).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            modules(&path, &[at, &[stem]].concat(), out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("a file");
            let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let mut names = Names::default();
            names.visit_file(&file);
            let module = match stem.as_str() {
                "lib" | "main" | "mod" => at.to_vec(),
                _ => [at, &[stem]].concat(),
            };
            out.insert(module, names);
        }
    }
}

/// Which modules each imports. The root of a crate, which names them all, is none.
fn imports(modules: &BTreeMap<Module, Names>) -> BTreeMap<Module, BTreeSet<Module>> {
    let tests: BTreeSet<Module> = modules
        .iter()
        .flat_map(|(at, names)| {
            names.tests.iter().map(move |one| [at.as_slice(), std::slice::from_ref(one)].concat())
        })
        .collect();
    let is_test = |module: &Module| (1..=module.len()).any(|n| tests.contains(&module[..n]));
    let mut arrows = BTreeMap::new();
    for (at, names) in modules.iter().filter(|(at, _)| !at.is_empty() && !is_test(at)) {
        let mut to: BTreeSet<Module> = BTreeSet::new();
        for path in &names.paths {
            let mut from = at.clone();
            let mut rest = path.as_slice();
            // A variable, or a name that was imported.
            if rest.len() < 2 {
                continue;
            }
            match rest.first().map(String::as_str) {
                Some("crate") => (from, rest) = (Module::new(), &rest[1..]),
                Some("self") => rest = &rest[1..],
                _ => {}
            }
            while rest.first().is_some_and(|one| one == "super") {
                from.pop();
                rest = &rest[1..];
            }
            let whole = [from.as_slice(), rest].concat();
            let found =
                (1..=whole.len()).rev().map(|n| whole[..n].to_vec()).find(|m| modules.contains_key(m));
            to.extend(found.filter(|found| found != at && !is_test(found)));
        }
        arrows.insert(at.clone(), to);
    }
    arrows
}

/// Sets of modules of which each leads to each other.
fn circles(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Vec<String>> {
    let reach = |from: &Module| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(one) = todo.pop() {
            for next in arrows.get(&one).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    todo.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows.keys().map(|one| (one, reach(one))).collect();
    let both =
        |a: &Module, b: &Module| reached[a].contains(b) && reached.get(b).is_some_and(|r| r.contains(a));
    let circle = |a: &Module| -> Vec<String> {
        arrows.keys().filter(|b| both(a, b)).map(|module| module.join("::")).collect()
    };
    arrows.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

#[test]
fn no_modules_import_each_other() {
    let mut found: BTreeSet<(String, Vec<String>)> = BTreeSet::new();
    let mut files = 0;
    for name in map() {
        let mut all = BTreeMap::new();
        modules(&repository().join("crates").join(&name).join("src"), &[], &mut all);
        files += all.len();
        found.extend(circles(&imports(&all)).into_iter().map(|circle| (name.clone(), circle)));
    }
    assert!(files > 150, "{files} files");
    assert!(found.is_empty(), "modules that import each other: {found:#?}");
}

#[test]
fn circles_are_found() {
    let of = |pairs: &[(&str, &str)]| {
        let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in pairs {
            arrows.entry(vec![from.to_string()]).or_default().insert(vec![to.to_string()]);
            arrows.entry(vec![to.to_string()]).or_default();
        }
        circles(&arrows)
    };
    assert!(of(&[("a", "b"), ("b", "c"), ("a", "c")]).is_empty());
    let one = vec!["b".to_string(), "c".into(), "d".into()];
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")]), BTreeSet::from([one]));
}
