//! Parameters that change while a discipline runs, as ACC sets RED's.

use crate::host::{Dice, spec};
use queuewright_aqm::{Action, Discipline, Packet, ParamError, Queue, Value, registry};

const SEC: u64 = 1_000_000_000;

fn arrive(red: &mut Discipline, bytes: u64, times: u32) -> u32 {
    let queue = Queue { bytes, packets: 20, limit_bytes: 213_474, ..Queue::default() };
    let mut dice = Dice(1);
    let mut is_dropped = || {
        let random = (dice.roll() >> 32) as u32;
        red.enqueue(SEC, &queue, &Packet::default(), random).action == Action::Drop
    };
    (0..times).map(|_| u32::from(is_dropped())).sum()
}

/// Kmin, Kmax and Pmax on ACC's ladder, E(n) = 20 * 2^n kB, under a buffer of 141 packets.
#[test]
fn red_is_tuned_while_it_runs() {
    let set = [("min", Value::Int(20_000)), ("max", Value::Int(40_000)), ("burst", Value::Int(15))];
    let mut red = Discipline::new(&spec("red", &set));
    assert!(arrive(&mut red, 100_000, 500) > 400, "above max");
    let average = red.probe(0);

    red.set("max", Value::Int(160_000)).unwrap();
    red.set("min", Value::Int(80_000)).unwrap();
    red.set("probability", Value::Real(0.01)).unwrap();
    let drops = arrive(&mut red, 100_000, 500);
    assert!(drops < 10, "between them now: {drops}");
    assert!((red.probe(0) - average).abs() < 10.0, "the average stays");
    assert_eq!([red.probe(2), red.probe(3)], [80_000.0, 160_000.0]);
    assert!((red.probe(1) - 0.01).abs() < 1e-9);

    // Back to what follows from the buffer.
    red.set("min", Value::Int(0)).unwrap();
    red.set("max", Value::Int(0)).unwrap();
    arrive(&mut red, 0, 1);
    assert_eq!([red.probe(2), red.probe(3)], [17_789.0, 53_368.0]);
}

/// An agent outside chooses what the scripted policy does, and it does so at once, with what it has counted.
#[test]
fn queuepilots_action_is_chosen_from_outside() {
    let mut d =
        Discipline::new(&spec("queuepilot", &[("threshold", Value::Real(0.0)), ("action", Value::Int(0))]));
    let ect = Packet { bytes: 1500, ecn: 2, ..Packet::default() };
    let mut dice = Dice(1);
    let mut marked = |d: &mut Discipline| -> u32 {
        let queue = Queue { bytes: 15_000, packets: 10, limit_packets: 100, ..Queue::default() };
        let mut mark = || d.enqueue(SEC, &queue, &ect, (dice.roll() >> 32) as u32).action == Action::Mark;
        (0..1000).map(|_| u32::from(mark())).sum()
    };
    assert_eq!(marked(&mut d), 0);
    let average = d.probe(1);
    d.set("action", Value::Int(5)).unwrap();
    assert_eq!(d.probe(1), average);
    assert_eq!(marked(&mut d), 1000);
    d.set("action", Value::Int(4)).unwrap();
    assert!((450..570).contains(&marked(&mut d)));
    // Above the whole buffer: never.
    d.set("threshold", Value::Real(1.0)).unwrap();
    assert_eq!(marked(&mut d), 0);
}

#[test]
fn what_cannot_change_says_so() {
    let mut red = Discipline::new(&spec("red", &[]));
    assert_eq!(
        red.set("avpkt", Value::Int(500)).unwrap_err().to_string(),
        "`avpkt` of `red` cannot change while it runs; what can: min, max, probability"
    );
    assert!(matches!(red.set("mni", Value::Int(500)), Err(ParamError::Unknown { .. })));
    assert!(matches!(red.set("probability", Value::Real(1.5)), Err(ParamError::Value { .. })));
    let mut codel = Discipline::new(&spec("codel", &[]));
    assert_eq!(
        codel.set("target", Value::Int(1_000_000)).unwrap_err().to_string(),
        "`target` of `codel` cannot change while it runs; nothing of it can"
    );
}

/// Whatever says that it can be tuned is, to every bound, before and after packets.
#[test]
fn everything_tunable_takes_its_bounds() {
    for info in registry() {
        let mut d = Discipline::new(&spec(info.name, &[]));
        for p in info.params.iter().filter(|p| p.tunable) {
            for value in [p.min, p.max, p.default] {
                d.set(p.name, value).unwrap();
                let queue = Queue { bytes: 3000, packets: 2, limit_bytes: 150_000, ..Queue::default() };
                d.enqueue(SEC, &queue, &Packet { bytes: 1500, ..Packet::default() }, 0);
            }
        }
    }
}
