//! Links that police: a queue that is only counted decides which packets pass, and those go on at once.

use crate::bed::{close, drops, one, runs};
use queuewright_results::Run;

/// Packets of 1000 bytes at a constant 20 Mbit/s of IP for ten seconds, policed to 10 Mbit/s.
fn flood(discipline: &str) -> Run {
    one(&format!(
        "[link]\nrate = \"10mbit\"\npolice = true\ndelay = \"5ms\"\nbuffer = \"200kb\"\n\
         [[flows]]\nname = \"u\"\ncbr = \"20mbit\"\npacket = \"1000b\"\n\
         [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"10s\"\nwarmup = \"0s\"\nsample = \"1s\"\n"
    ))
}

/// What a token bucket lets through: what it held, and its rate. None of it waits.
#[test]
fn passes_a_bucket_and_its_rate() {
    for bytes in [20_280u32, 101_400] {
        let r = flood(&format!("{{ name = \"static\", threshold = \"{bytes}b\" }}"));
        let d = r.groups[0].datagrams.as_ref().expect("UDP has its delay");
        // Quantiles are kept to a few thousandths.
        close("longest delay", d.delay_ms.max, 5.0, 1e-3, 0.0);
        close("mean delay", d.delay_ms.mean, 5.0, 1e-6, 0.0);
        let passed = 25_000 - drops(&r);
        close("passed", passed as f64, (10e6 / 8.0 * 10.0 + f64::from(bytes)) / 1014.0, 0.0, 2.0);
        assert_eq!(r.flows[0].sojourn_ms, 0.0);
    }
}

/// TCP over a policer sees the round trip that it has, whatever the threshold, and its rate is held.
#[test]
fn tcp_does_not_wait_at_a_policer() {
    let text = |police: bool| {
        format!(
            "[link]\nrate = \"20mbit\"\npolice = {police}\nbuffer = \"200p\"\n\
             [[flows]]\ncca = \"cubic\"\ncount = 3\nrtt = \"20ms\"\naccess = \"1gbit\"\n\
             [[flows]]\nname = \"files\"\ncca = \"cubic\"\nrtt = \"10ms\"\nsize = \"30kb\"\nrepeat = \"0s\"\n\
             [queue]\ndisciplines = [\"droptail\", {{ name = \"static\", threshold = \"60kb\" }}, \"titrate\"]\n\
             [run]\nduration = \"20s\"\nwarmup = \"2s\"\n"
        )
    };
    for r in runs(&text(true)) {
        let share = r.groups.iter().map(|g| g.goodput_bps).sum::<f64>() / 20e6;
        assert!((0.6..0.97).contains(&share), "{}: {share}", r.discipline);
        assert!(r.flows.iter().all(|f| f.sojourn_ms == 0.0), "{}", r.discipline);
        let srtt = r.flows[0].srtt_ms.expect("TCP");
        assert!((20.0..25.0).contains(&srtt), "{}: {srtt} ms", r.discipline);
        assert!(drops(&r) > 50, "{}", r.discipline);
    }
    let waits = runs(&text(false));
    assert!(waits.iter().all(|r| r.flows[0].sojourn_ms > 1.0));
}

/// A policer in the middle of a way, before a link where packets do wait, and on their way back.
#[test]
fn other_ports_are_as_they_were() {
    let r = one(
        "[[ports]]\nname = \"police\"\nrate = \"20mbit\"\npolice = true\ndelay = \"1ms\"\nbuffer = \"40p\"\n\
         discipline = \"droptail\"\nloss = \"0.1%\"\n\
         [[ports]]\nname = \"slow\"\nrate = \"10mbit\"\nbuffer = \"100p\"\n\
         [[flows]]\ncca = \"cubic\"\ncount = 2\nrtt = \"20ms\"\nports = [\"police\", \"slow\"]\n\
         [[flows]]\ncca = \"newreno\"\nrtt = \"20ms\"\nports = [\"slow\"]\nreverse_ports = [\"police\"]\n\
         [[flows]]\nname = \"u\"\npoisson = \"1mbit\"\nports = [\"police\", \"slow\"]\n\
         [queue]\ndisciplines = [\"codel\"]\n[run]\nduration = \"20s\"\nwarmup = \"2s\"\n",
    );
    assert!(r.ports[1].utilization > 0.9, "{}", r.ports[1].utilization);
    assert!(r.ports[0].lost.expect("it loses some") > 0);
    let waited = r.groups[2].datagrams.as_ref().expect("UDP").delay_ms.mean;
    close("Poisson's delay", waited, 1.0 + 1514.0 * 8e-4 + r.ports[1].sojourn_ms.mean, 0.2, 0.0);
}
