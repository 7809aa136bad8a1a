//! Our own packetdrill scripts on the kernel's TCP: what the simulated stack does to the letter, the kernel does.

use queuewright_lab::Lab;
use queuewright_lab::scripts::Placed;
use queuewright_packetdrill::{Options, Outcome, folder_of, read_file, scripts};
use queuewright_testing::{Lack, left_out};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Those that do not pass on the kernel, and why.
const OTHERWISE: [(&str, &str); 0] = [];

#[test]
fn our_scripts_pass_on_the_kernel() {
    let lab = match Lab::open(&[]) {
        Ok(lab) => lab,
        Err(e) => return left_out("our_scripts_pass_on_the_kernel", Lack::Setup, &e),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packetdrill/tests/scripts");
    let only = std::env::var("ONLY").ok();
    let mut paths = scripts(&[folder]).expect("the scripts");
    if let Some(only) = only {
        paths.retain(|p| only.split(',').any(|o| p.to_string_lossy().contains(o)));
    }
    let all: Vec<Placed> =
        paths.iter().map(|p| (read_file(p).expect("a script"), folder_of(p).to_path_buf())).collect();
    let mut outcomes = vec![None; all.len()];
    lab.scripts(&all, &Options::default(), &AtomicBool::new(false), |i, outcome| outcomes[i] = Some(outcome))
        .expect("the machine");
    let mut wrong = Vec::new();
    for (path, outcome) in paths.iter().zip(outcomes) {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        let passed = outcome == Some(Ok(Outcome::Passed));
        if passed == OTHERWISE.iter().any(|o| o.0 == name) {
            wrong.push((name, outcome));
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), paths.len());
}
