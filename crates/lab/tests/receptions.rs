//! Connections of Linux 7.2 that received (crates/lab/tests/data/receptions), and the simulator's receiver to which the very same segments
//! come.

use queuewright_lab::replay::reception::{Event, Reception, ReplayedReceiver, compare, is_plain, judge};
use std::path::PathBuf;

/// Where segments are whole and the application reads at once, the receiver of the simulator's runs sends at least so many of the
/// acknowledgements too: what is queued it reckons a little differently.
const SAME: f64 = 0.99;

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
    let mut acks = 0;
    for reception in &kept() {
        let heard = judge(reception);
        acks += heard.acks;
        assert_eq!((heard.first, heard.same), (None, 1.0), "{}", heard.name);
    }
    assert!(acks > 700, "{acks} acknowledgements");
}

#[test]
fn the_receiver_of_whole_segments_says_the_same() {
    let (mut acks, mut same) = (0, 0.0);
    for reception in kept().iter().filter(|r| is_plain(&r.path)) {
        let heard = compare(reception, &ReplayedReceiver::new(reception, false).run(reception, |_, _| {}));
        println!("{} {:.3} of {}: {:?}", heard.name, heard.same, heard.acks, heard.but_window);
        acks += heard.acks;
        same += heard.same * heard.acks as f64;
    }
    assert!(acks > 100, "{acks} acknowledgements");
    assert!(same / acks as f64 > SAME, "{}", same / acks as f64);
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
