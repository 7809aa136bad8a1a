//! A scenario file is refused with one line, or read, drawn, written and read
//! again as the same. The text before the first NUL is the file, what follows
//! goes to flags.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_scenario::{Flags, Scenario};
use std::path::Path;

fuzz_target!(|text: &str| {
    let (file, flags) = text.split_once('\0').unwrap_or((text, ""));
    // No file of this machine is to be found.
    let folder = Path::new("/nonexistent");
    match Scenario::parse(file, "fuzz.toml", folder) {
        Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
        Ok(scenario) => {
            let toml = scenario.to_toml();
            let again =
                Scenario::parse(&toml, "again.toml", folder).unwrap_or_else(|e| panic!("{e}\n{toml}"));
            assert_eq!(scenario, again);
            assert_eq!(scenario.hash(), again.hash());
            let flows: u64 = scenario.flows.iter().map(|f| f.count.max).sum();
            if flows * scenario.run.seeds.len() as u64 * (scenario.disciplines.len() as u64) < 10_000 {
                match scenario.runs() {
                    Ok(runs) => assert_eq!(runs.len(), scenario.disciplines.len() * scenario.run.seeds.len()),
                    Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
                }
            }
        }
    }
    let mut parts = flags.split('\0').map(str::to_string);
    let flags = Flags {
        rate: Some("10mbit".into()),
        rtt: Some("20ms".into()),
        flows: parts.next(),
        aqm: parts.next(),
        seeds: parts.next(),
        buffer: parts.next(),
        ..Flags::default()
    };
    if let Err(e) = Scenario::from_flags(&flags) {
        assert!(!e.to_string().contains('\n'), "{e}");
    }
});
