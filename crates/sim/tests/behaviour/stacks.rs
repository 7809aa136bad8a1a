//! `stack = "ns3"`: what it does otherwise than Linux.

use crate::bed::{close, one};

/// A fixed 5 MiB window: on a path too long for it, goodput is window over RTT.
/// Linux's send buffer (4 MiB) is the same kind of limit.
#[test]
fn socket_buffers_limit_a_long_path() {
    for (stack, mib) in [("ns3", 5.0), ("linux", 4.0)] {
        let r = one(&format!(
            "[link]\nrate = \"1gbit\"\nbuffer = \"20000p\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"300ms\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"25s\"\nwarmup = \"8s\"\nstack = \"{stack}\"\nsample = \"1s\"\n"
        ));
        let limit = mib * 1024.0 * 1024.0 * 8.0 / 0.3;
        let got = r.flows[0].goodput_bps;
        println!("{stack}: {:.1} of {:.1} Mbit/s", got / 1e6, limit / 1e6);
        assert!(got <= limit * 1.001, "{stack}: {got} > {limit}");
        close(stack, got, limit, 0.08, 0.0);
    }
}

/// ns-3's RTO is at least 1 s and does not back off: an outage of 10 s sees nine or ten timeouts.
#[test]
fn ns3_times_out_every_second() {
    let r = one(
        "[link]\nschedule = [[\"0s\", \"20mbit\"], [\"10s\", \"0bit\"], [\"20s\", \"20mbit\"]]\nbuffer = \"67p\"\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\n[queue]\ndisciplines = [\"droptail\"]\n\
         [run]\nduration = \"30s\"\nwarmup = \"9.9s\"\nstack = \"ns3\"\n",
    );
    let n = r.flows[0].timeouts;
    assert!((9..=10).contains(&n), "{n} timeouts");
}

/// ns-3's application keeps the send buffer full, and what is in it when the application stops is still sent: of a
/// link that 5 MiB keep busy for 4.4 s, the 3 s after the stop are used.
#[test]
fn ns3_sends_what_is_in_its_buffer_when_the_application_stops() {
    for (stack, used) in [("ns3", 1.0), ("linux", 0.0)] {
        let r = one(&format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"50p\"\n[[flows]]\ncca = \"newreno\"\nrtt = \"10ms\"\nstop = \"5s\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"8.2s\"\nwarmup = \"5.2s\"\nstack = \"{stack}\"\n"
        ));
        close(stack, r.ports[0].utilization, used, 0.0, 0.001);
    }
}

/// PPP's 2 bytes instead of Ethernet's 14 are on the link.
#[test]
fn headers_of_the_link_differ() {
    for (stack, overhead) in [("ns3", 2.0), ("linux", 14.0)] {
        let r = one(&format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"200p\"\n[[flows]]\ncca = \"newreno\"\nrtt = \"10ms\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"20s\"\nwarmup = \"5s\"\nstack = \"{stack}\"\n"
        ));
        close(stack, r.flows[0].goodput_bps, 20e6 * 1448.0 / (1500.0 + overhead), 1e-3, 0.0);
    }
}
