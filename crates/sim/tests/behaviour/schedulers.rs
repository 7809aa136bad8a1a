//! Disciplines with queues of their own.

use crate::bed::{close, one};

/// A fast flow and a slow one, a paced one and one without mercy: each gets its share.
#[test]
fn fq_codel_shares_by_flow_whatever_they_are() {
    let run = one("[link]\nrate = \"40mbit\"\nbuffer = \"1000p\"\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"10ms\"\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"80ms\"\n\
         [[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\n\
         [[flows]]\ncbr = \"30mbit\"\n\
         [[flows]]\nname = \"call\"\ncbr = \"100kbit\"\npacket = \"200b\"\n\
         [queue]\ndisciplines = [\"fq-codel\"]\n\
         [run]\nduration = \"30s\"\nwarmup = \"5s\"\n");
    // The long CUBIC flow cannot quite fill its share over CoDel's 5 ms, which the others then have.
    // A full packet of 1514 bytes on the link carries 1448 of a TCP segment, 1472 of UDP.
    let share = (40e6 - 100e3) / 4.0;
    for (flow, efficiency) in [(0, 1448.0), (1, 1448.0), (2, 1448.0), (3, 1472.0)] {
        let want = share * efficiency / 1514.0;
        close(&format!("flow {flow}"), run.flows[flow].goodput_bps, want, 0.1, 0.0);
    }
    // The call never has two packets waiting: it loses none.
    close("call", run.flows[4].goodput_bps, 100e3 * 172.0 / 200.0, 0.01, 0.0);
    assert!(run.ports[0].utilization > 0.99);
    assert!(run.ports[0].queues.is_empty(), "hashed queues are not measured apart");
}

/// The same of every fair queueing scheduler, with senders that would starve one another in one queue.
#[test]
fn fair_queueing_is_fair() {
    for discipline in [
        "\"fq\"",
        "\"fq-codel\"",
        "{ name = \"sfq\", limit = 1000, depth = 200 }",
        "\"fq-pie\"",
        "{ name = \"afq\", queues = 256 }",
    ] {
        let run = one(&format!(
            "[link]\nrate = \"50mbit\"\nbuffer = \"1000p\"\n\
             [[flows]]\ncca = \"bbr\"\ncount = 3\nrtt = \"20ms\"\n\
             [[flows]]\ncca = \"newreno\"\ncount = 3\nrtt = \"40ms\"\n\
             [[flows]]\ncbr = \"20mbit\"\ncount = 2\n\
             [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
        ));
        // NewReno cannot quite fill its share over CoDel.
        assert!(run.jain > 0.98, "{discipline}: {}", run.jain);
        assert!(run.ports[0].utilization > 0.99, "{discipline}");
    }
}

/// The reconstruction of Chen et al.'s: a flood gets no more than the others, out of one queue, which stands
/// where `depth` says.
#[test]
fn chen_sfq_admits_by_shares() {
    let run = one("[link]\nrate = \"40mbit\"\nbuffer = \"200kb\"\n\
         [[flows]]\npoisson = \"60mbit\"\n[[flows]]\npoisson = \"20mbit\"\ncount = 3\n\
         [queue]\ndisciplines = [\"chen-sfq\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\n");
    assert!(run.jain > 0.999, "{}", run.jain);
    close("queue", run.ports[0].backlog_bytes.mean, 0.3 * 200.0 * 1024.0, 0.1, 0.0);
    assert!(run.ports[0].utilization > 0.99);
}

/// With one queue it is CoDel, but for what a full buffer drops.
#[test]
fn fq_codel_of_one_queue_is_codel() {
    let run = |name: &str| {
        one(&format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"1000p\"\n[[flows]]\ncca = \"cubic\"\ncount = 5\nrtt = \"40ms\"\n\
             [queue]\ndisciplines = [{name}]\n[run]\nduration = \"20s\"\nwarmup = \"0s\"\n"
        ))
    };
    let (a, b) = (run("{ name = \"fq-codel\", flows = 1, ecn = false }"), run("\"codel\""));
    assert_eq!(a.ports[0].sojourn_ms.mean, b.ports[0].sojourn_ms.mean);
    assert_eq!(a.ports[0].drops, b.ports[0].drops);
}
