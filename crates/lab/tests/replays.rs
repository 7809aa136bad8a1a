//! Connections that the lab recorded on Linux 7.2 (crates/lab/tests/data/replays), and the simulator's sender under the very same
//! acknowledgements.

use queuewright_cca::Kind;
use queuewright_lab::replay::judge::{Replay, compare, judge};
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
fn the_congestion_window_is_linuxs_at_each_acknowledgement() {
    let all = kept();
    assert!(all.len() >= 50, "{} recordings", all.len());
    let (mut other, mut acks) = (Vec::new(), 0);
    for recording in &all {
        let outcome = judge(recording).unwrap_or_else(|e| panic!("{}: {e}", recording.draw.name));
        acks += outcome.acks;
        if let Some(d) = &outcome.cwnd {
            println!("{} {}: {d:?}, mean {:.4}", outcome.name, outcome.control, outcome.cwnd_ratio);
            other.push(outcome.name);
        }
    }
    assert!(acks > 20_000, "{acks} acknowledgements");
    assert!(other.is_empty(), "{other:?}");
}

/// A replay of CUBIC's connection by a sender with Reno's rules must differ, else nothing is compared.
#[test]
fn another_rule_is_noticed() {
    let all = kept();
    let cubic = all.iter().filter(|r| r.draw.control == "cubic");
    let differs = |r: &&Recording| compare(r, Replay::with(r, Kind::NewReno)).cwnd.is_some();
    assert!(cubic.filter(differs).count() >= 2);
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
