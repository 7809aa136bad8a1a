//! Connections of Linux 7.2 that received (crates/lab/tests/data/receptions), and the simulator's receiver to which the very same segments
//! come.

use queuewright_lab::replay::reception::{Event, Reception, judge};
use std::path::PathBuf;

/// Those that differ at some acknowledgement, its window aside. What gets better leaves the list.
const KNOWN: &[&str] = &["r1-11", "r1-12", "r1-13", "r1-17", "r1-18", "r1-19", "r1-24"];
/// At least so many of all acknowledgements are sent by both, at the same time and with the same blocks, echo and ECE.
const SAME: f64 = 0.8;

fn kept() -> Vec<Reception> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/receptions"));
    let mut files: Vec<PathBuf> = dir.read_dir().expect("the folder").flatten().map(|e| e.path()).collect();
    files.sort();
    let read = |f: &PathBuf| {
        let bytes = std::fs::read(f).unwrap_or_else(|e| panic!("{}: {e}", f.display()));
        Reception::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", f.display()))
    };
    files.iter().map(read).collect()
}

#[test]
fn acknowledgements_are_linuxs() {
    let (mut other, mut acks, mut same) = (Vec::new(), 0, 0.0);
    for reception in &kept() {
        let heard = judge(reception);
        acks += heard.acks;
        same += heard.same * heard.acks as f64;
        if let Some(d) = &heard.but_window {
            println!("{} {:.3}: {d:?}", heard.name, heard.same);
            other.push(heard.name);
        }
    }
    assert!(acks > 700, "{acks} acknowledgements");
    assert!(same / acks as f64 > SAME, "{}", same / acks as f64);
    assert_eq!(other, KNOWN);
}

/// Where a segment comes to the kernel alone the two must differ, else nothing is compared.
#[test]
fn a_segment_less_is_noticed() {
    for mut reception in kept() {
        let before = judge(&reception).same;
        let is_segment = |e: &Event| matches!(e, Event::Segment(..));
        let middle = reception.events.len() / 2;
        let at = reception.events[..middle].iter().rposition(is_segment).expect("a segment");
        reception.events.remove(at);
        assert!(judge(&reception).same < before, "{}", reception.path.name);
    }
}

#[test]
fn a_file_reads_back_as_it_was() {
    for reception in &kept() {
        let mut bytes = Vec::new();
        reception.write(&mut bytes).expect("memory");
        assert!(Reception::is_one(&bytes));
        assert_eq!(Reception::read(&bytes).as_ref(), Ok(reception));
        for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(Reception::read(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }
}
