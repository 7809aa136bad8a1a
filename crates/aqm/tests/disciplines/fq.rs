//! FQ as Linux has it on a router (net/sched/sch_fq.c of Linux 7.2).

use crate::host::{Host, flow_of, spec};
use queuewright_aqm::{Action, Reason, Value};

const MS: u64 = 1_000_000;

/// With eight packets of others in front no packet finds nobody waiting.
fn busy(set: &[(&str, Value)]) -> Host {
    let mut host = Host::new(&spec("fq", set), 0, 0);
    for _ in 0..8 {
        host.arrive(0, 1514, 9, 0);
    }
    host
}

fn order(host: &mut Host, now: u64, packets: usize) -> Vec<u32> {
    (0..packets).filter_map(|_| host.transmit(now, |_| {})).map(|p| flow_of(&p)).collect()
}

/// fq_classify(): what has no socket is known by ten bits of its hash. The hashes of flows 1 and 1025 share them.
#[test]
fn flows_that_share_ten_bits_of_their_hashes_share_a_queue() {
    let room = |mask: Option<u64>| {
        let set = mask.map(|m| ("orphan_mask", Value::Int(m)));
        let mut host = busy(set.as_slice());
        (0..200).filter(|i| host.arrive(0, 1514, 1 + 1024 * (i % 2), 0).action == Action::Pass).count()
    };
    assert_eq!((room(None), room(Some(65_535))), (100, 200));
}

/// fq_fastpath_check(): whoever finds no flow with packets goes to a queue before all others, of up to eight packets; no
/// limit of a flow, and no credit, is asked.
#[test]
fn who_finds_nobody_waiting_goes_first() {
    let mut host = Host::new(&spec("fq", &[("flow_limit", Value::Int(1)), ("limit", Value::Int(2))]), 0, 0);
    let arrive = |host: &mut Host, flow| host.arrive(0, 1514, flow, 0).reason;
    for _ in 0..8 {
        assert_eq!(arrive(&mut host, 1), Reason::None);
    }
    // The ninth waits in its flow's queue; the limit counts no packet but these.
    assert_eq!(arrive(&mut host, 1), Reason::None);
    assert_eq!(arrive(&mut host, 1), Reason::Threshold);
    assert_eq!(arrive(&mut host, 2), Reason::None);
    assert_eq!(arrive(&mut host, 3), Reason::Limit);
    // While a flow waits, nobody passes.
    assert_eq!(order(&mut host, 0, 3), [1, 1, 1]);
    assert_eq!(arrive(&mut host, 4), Reason::Limit);
    assert_eq!(order(&mut host, 0, 9), [1, 1, 1, 1, 1, 1, 2]);
}

/// fq_flow_set_detached() and fq_enqueue(): a flow that has left the round in jiffy J has its credit again from jiffy
/// (J | 1) + 11 on; a jiffy is 4 ms.
#[test]
fn credit_comes_back_after_forty_milliseconds_of_whole_jiffies() {
    let back = |left: u64, back: u64| {
        let set = [("initial_quantum", Value::Int(256)), ("quantum", Value::Int(3000))];
        let mut host = busy(&set);
        for _ in 0..60 {
            host.arrive(0, 1514, 2, 0);
        }
        // 256 bytes of credit, of which one packet leaves 156; found empty as a new and then as an old flow.
        host.arrive(0, 100, 1, 0);
        assert_eq!(order(&mut host, 0, 8), [9; 8]);
        assert_eq!(order(&mut host, left, 5), [2, 1, 2, 2, 2]);
        for _ in 0..2 {
            host.arrive(back, 200, 1, 0);
        }
        order(&mut host, back, 2)
    };
    // Without it the first packet spends what is left.
    assert_eq!(back(0, 48 * MS - 1), [1, 2]);
    assert_eq!(back(0, 48 * MS), [1, 1]);
    assert_eq!(back(8 * MS - 1, 48 * MS - 1), [1, 2]);
    assert_eq!(back(8 * MS - 1, 48 * MS), [1, 1]);
    assert_eq!(back(8 * MS, 56 * MS - 1), [1, 2]);
    assert_eq!(back(8 * MS, 56 * MS), [1, 1]);
}

/// fq_dequeue(): a new flow found empty becomes an old one, even if there is no other: its next packet waits for those of new flows.
#[test]
fn a_flow_found_empty_is_no_longer_new_even_if_it_is_the_only_one() {
    let mut host = busy(&[]);
    for flow in [1, 2, 2] {
        host.arrive(0, 1514, flow, 0);
    }
    assert_eq!(order(&mut host, 0, 10)[8..], [1, 2]);
    host.arrive(0, 1514, 1, 0);
    host.arrive(0, 1514, 3, 0);
    assert_eq!(order(&mut host, 0, 3), [2, 3, 1]);
}

/// fq_flow_add_tail() goes by the band that a flow was in before. One that was never there begins in the first of three, which takes
/// turns with its own by bytes: 589,824 to 196,608 (fq_init()).
#[test]
fn a_flow_that_was_never_there_begins_in_a_band_that_takes_turns() {
    let mut host = Host::new(&spec("fq", &[("flow_limit", Value::Int(1000))]), 0, 0);
    let backlog = |host: &mut Host, flow, packets| {
        for _ in 0..packets {
            assert_eq!(host.arrive(0, 1514, flow, 0).action, Action::Pass);
        }
    };
    // Eight pass by the rounds, ten are its first credit, and then it is in its own band.
    backlog(&mut host, 9, 400);
    assert_eq!(order(&mut host, 0, 8 + 10 + 1), [9; 8 + 10 + 1]);
    // Who comes now waits until that band's turn is over: 130 packets, of which one is sent.
    backlog(&mut host, 1, 30);
    assert_eq!(order(&mut host, 0, 129), [9; 129]);
    assert_eq!(order(&mut host, 0, 10), [1; 10]);
    assert_eq!(order(&mut host, 0, 8), [1, 1, 9, 9, 1, 1, 9, 9]);
}

/// The first band's turn has an end as well, with the packet that crosses it.
#[test]
fn flows_that_were_never_there_do_not_keep_others_waiting_for_ever() {
    let mut host = Host::new(&spec("fq", &[("orphan_mask", Value::Int(65_535))]), 0, 0);
    for flow in 0..1000 {
        host.arrive(0, 1514, flow, 0);
        host.arrive(0, 1514, flow, 0);
    }
    // Flows 0 to 3 pass by the rounds. Whoever is found empty is in its own band then.
    assert_eq!(order(&mut host, 0, 8 + 4)[8..], [4, 4, 5, 5]);
    host.arrive(0, 1514, 4, 0);
    let rest = 589_824usize.div_ceil(1514) - 4;
    let order = order(&mut host, 0, rest + 2);
    assert_eq!(order.iter().position(|flow| *flow == 4), Some(rest));
    assert_eq!((order[rest - 1], order[rest + 1]), (198, 199));
}

/// fq_dequeue(): what has waited in a flow's queue for more than `ce_threshold`, to the ns, is marked, if it can be. What goes before all others is not.
#[test]
fn what_waits_longer_than_the_threshold_is_marked() {
    let marks = |waits: u64, ecn: u32| {
        let mut host = Host::new(&spec("fq", &[("ce_threshold", Value::Int(2 * MS))]), 0, 0);
        for _ in 0..9 {
            host.arrive(10 * MS, 1514, 1, ecn);
        }
        for _ in 0..9 {
            host.transmit(10 * MS + waits, |_| {});
        }
        assert_eq!(host.drops, [0; 5]);
        host.marks[Reason::Threshold as usize]
    };
    let marked = |waits| [0, 1, 2].map(|ecn| marks(waits, ecn));
    assert_eq!((marked(2 * MS), marked(2 * MS + 1)), ([0; 3], [0, 1, 1]));
}
