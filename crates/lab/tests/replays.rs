//! Connections that the lab recorded on Linux 7.2 (crates/lab/tests/data/replays), and the simulator's sender under the very same
//! acknowledgements.

use queuewright_cca::Kind;
use queuewright_lab::replay::judge::{Class, Replay, compare, judge, rounding};
use queuewright_lab::replay::record::Recording;
use std::path::PathBuf;

fn kept() -> Vec<Recording> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/replays"));
    let mut files: Vec<PathBuf> = dir.read_dir().expect("the folder").flatten().map(|e| e.path()).collect();
    files.sort();
    let read = |f: &PathBuf| {
        let bytes = std::fs::read(f).unwrap_or_else(|e| panic!("{}: {e}", f.display()));
        Recording::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", f.display()))
    };
    files.iter().map(read).collect()
}

#[test]
fn the_state_is_linuxs_at_each_acknowledgement() {
    let all = kept();
    assert!(all.len() >= 50, "{} recordings", all.len());
    let (mut other, mut rounded, mut acks) = (Vec::new(), Vec::new(), 0);
    for recording in &all {
        let outcome = judge(recording).unwrap_or_else(|e| panic!("{}: {e}", recording.draw.name));
        acks += outcome.acks;
        if outcome.class() != Class::Same {
            let first = outcome.first.as_ref().map(|d| (&d.what, d.acks, d.linux, d.sim));
            println!("{} {}: {first:?} {:?}", outcome.name, outcome.control, outcome.rounding);
        }
        match outcome.class() {
            Class::Same => {}
            Class::Rounding => rounded.push(outcome.name),
            Class::Other => other.push(outcome.name),
        }
    }
    assert!(acks > 20_000, "{acks} acknowledgements");
    assert!(other.is_empty(), "{other:?}");
    // A rule that comes to differ a little would show here first.
    assert_eq!(rounded, ["3-10", "3-46"]);
}

/// A replay of a connection by a sender with another control's rules must differ, and no other times of the host may excuse it.
#[test]
fn another_rule_is_noticed_and_is_no_rounding() {
    let (mut noticed, mut excused) = (0, Vec::new());
    for recording in kept() {
        let recording = recording.in_phase();
        let rival = if recording.draw.control == "cubic" { Kind::NewReno } else { Kind::Cubic };
        if compare(&recording, Replay::with(&recording, rival)).first.is_some() {
            noticed += 1;
            if rounding(|| Some(Replay::with(&recording, rival))).is_some() {
                excused.push(recording.draw.name.clone());
            }
        }
    }
    assert!(noticed >= 40, "{noticed}");
    assert!(excused.is_empty(), "{excused:?}");
}

#[test]
fn a_file_reads_back_as_it_was() {
    for recording in kept().iter().take(5) {
        let mut bytes = Vec::new();
        recording.write(&mut bytes).expect("memory");
        assert_eq!(Recording::read(&bytes).as_ref(), Ok(recording));
        for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(Recording::read(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }
}
