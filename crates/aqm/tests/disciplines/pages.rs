//! Each discipline's page ends with a table that says where each rule of its source is. What the table names exists.

use queuewright_aqm::registry;
use std::collections::BTreeSet;
use std::path::Path;

const HEADING: &str = "## Rule by rule\n";
const HEAD: &str = "| rule | source | function | here | what that does |";

/// Every function that a header of aqm/ defines.
fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../aqm");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "h") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            // A definition begins its line, with its type or with its name.
            if !["static inline ", "QW_SHARED ", "QW_PART ", "qw_"].iter().any(|s| line.starts_with(s)) {
                continue;
            }
            let Some((before, _)) = line.split_once('(') else { continue };
            let name = before.rsplit(|c: char| c.is_whitespace() || c == '*').next().unwrap();
            if name.starts_with("qw_") {
                names.insert(name.to_string());
            }
        }
    }
    names
}

/// What is in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_function_that_a_page_names_is_in_a_header() {
    let functions = functions();
    assert!(functions.contains("qw_codel_enqueue") && functions.contains("qw_div"), "{functions:?}");
    for info in registry() {
        let table = info.explain.split_once(HEADING);
        let (_, table) =
            table.unwrap_or_else(|| panic!("{}: a page has a table `{}`", info.name, HEADING.trim()));
        let mut lines = table.lines().skip_while(|l| !l.starts_with('|'));
        assert_eq!(lines.next(), Some(HEAD), "{}", info.name);
        assert_eq!(lines.next(), Some("|---|---|---|---|---|"), "{}", info.name);
        let rows: Vec<&str> = lines.take_while(|l| l.starts_with('|')).collect();
        assert!(!rows.is_empty(), "{}: an empty table", info.name);
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [rule, source, function, here, does] = cells[..] else { panic!("{}: {row}", info.name) };
            assert!(!rule.is_empty() && !source.is_empty() && !does.is_empty(), "{}: {row}", info.name);
            assert!(["as stated", "chosen", "different"].contains(&here), "{}: {row}", info.name);
            let names = quoted(function);
            // A rule that is left out has none, and says so.
            assert!(!names.is_empty() || (function == "none" && here == "different"), "{}: {row}", info.name);
            for name in names {
                assert!(functions.contains(name), "{}: no header of aqm/ has {name}()", info.name);
            }
        }
    }
}
