//! A table of sizes, of flows or of pages is refused with one line, or makes a scenario. The first byte says which it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_scenario::Draft;
use std::path::{Path, PathBuf};

const KEYS: [&str; 3] = [
    "rtt = \"20ms\"\narrivals = \"1/s\"\nsize = { file = \"table\" }",
    "file = \"table\"",
    "rtt = \"20ms\"\narrivals = \"1/s\"\npages = { file = \"table\" }",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, table)) = bytes.split_first() else { return };
    let keys = KEYS[usize::from(*kind) % KEYS.len()];
    let cca = if keys.starts_with("file") { "" } else { "cca = \"cubic\"\n" };
    let text = format!(
        "[link]\nrate = \"10mbit\"\nbuffer = \"50p\"\n[[flows]]\n{cca}{keys}\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"1s\"\n"
    );
    // No file of this machine is to be found: the table comes with the scenario.
    let folder = Path::new("/nonexistent");
    let packed =
        Draft::parse(&text, "fuzz.toml", folder).and_then(|d| d.pack()).unwrap_or_else(|e| panic!("{e}"));
    let file = (PathBuf::from("/nonexistent/table"), table.into());
    match Draft::unpack(&packed, [file]).and_then(|draft| draft.scenario()) {
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
        Ok(scenario) => {
            if let Err(e) = scenario.runs() {
                assert!(!e.to_string().contains('\n'), "{e}");
            }
        }
    }
});
