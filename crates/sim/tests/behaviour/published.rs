//! What the papers of disciplines say of them: DUK (COMSNETS 2017), CP-AQM (MMB 2018), CHOKe (ToN 2004).

use crate::bed::{close, mean, one, runs, series};
use queuewright_results::Run;

/// CP-AQM's setting, with its senders' stack: 10 Mbit/s, PPP, 30 packets, one way through the bottleneck in `ms`.
fn cp_aqm(cca: &str, flows: u32, ms: u32, settings: &str) -> Run {
    one(&format!(
        "[link]\nrate = \"10mbit\"\ndelay = \"{ms}ms\"\nbuffer = \"30p\"\noverhead = \"7b\"\n\
         [[flows]]\ncount = {flows}\ncca = \"{cca}\"\nrtt = \"{}.2ms\"\nstart = \"0s..5s\"\naccess = \"1gbit\"\n\
         [queue]\ndisciplines = [{{ name = \"cp-aqm\", mtu = \"1507b\", threshold = \"5p\", {settings} }}]\n\
         [run]\nduration = \"110s\"\nwarmup = \"10s\"\nstack = \"ns3\"\n",
        2 * ms
    ))
}

/// MMB 2018 sections 4.2, 4.4 and 4.5. The rate given, and found.
#[test]
fn cp_aqm_has_the_published_queues_and_utilisations() {
    for rate in ["rate = \"10mbit\"", "rate = \"auto\""] {
        // With cmax = 1 it is tail drop.
        let r = cp_aqm("newreno", 1, 50, &format!("cmax = 1.0, {rate}"));
        close("tail drop, 1 NewReno, utilisation", 100.0 * r.ports[0].utilization, 92.7, 0.0, 1.5);
        close("tail drop, 1 NewReno, queue", r.ports[0].backlog_packets.mean, 10.0, 0.0, 1.5);
        // Published: at most 12 packets on average with cmax = 1.2, 9 with 1.5; in queues the two are told apart.
        let r = cp_aqm("newreno", 16, 50, &format!("cmax = 1.2, {rate}"));
        close("16 NewReno, utilisation", 100.0 * r.ports[0].utilization, 95.0, 0.0, 1.5);
        close("16 NewReno, queue", r.ports[0].backlog_packets.mean, 12.0, 0.0, 1.5);
        let r = cp_aqm("cubic", 16, 5, &format!("cmax = 1.2, {rate}"));
        close("16 CUBIC, utilisation", 100.0 * r.ports[0].utilization, 100.0, 0.0, 0.2);
        close("16 CUBIC, queue", r.ports[0].backlog_packets.mean, 7.0, 0.0, 1.5);
        let r = cp_aqm("newreno", 16, 50, &format!("cmax = 1.5, {rate}"));
        close("16 NewReno, cmax 1.5, utilisation", 100.0 * r.ports[0].utilization, 94.0, 0.0, 1.5);
        let queue = r.ports[0].backlog_packets.mean;
        assert!((6.5..=9.0).contains(&queue), "published: at most 9 packets, not {queue}");
    }
}

const SCHEDULE: &str = "[link]\nschedule = [[\"0s\", \"100mbit\"], [\"10s\", \"20mbit\"], [\"20s\", \"100mbit\"]]\n\
    buffer = \"20000p\"\n[[flows]]\ncount = 40\ncca = \"cubic\"\nrtt = \"40ms..60ms\"\n";

/// Neither has a limit of the buffer or a rate to go by.
#[test]
fn a_rate_that_changes_fivefold_is_followed() {
    let all = runs(&format!(
        "{SCHEDULE}[queue]\ndisciplines = [\"duk\", \"cp-aqm\"]\n[run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
    ));
    let (duk, cp_aqm) = (&all[0], &all[1]);
    for (run, column) in [(duk, "bottleneck.capacity"), (cp_aqm, "bottleneck.link_rate")] {
        let rate = series(run, column);
        // From half a second after each change: a few intervals.
        for (from, to, want) in [(5.0, 10.0, 100e6), (10.5, 20.0, 20e6), (20.5, 30.0, 100e6)] {
            close(column, mean(&rate, from, to), want, 0.02, 0.0);
        }
    }
    // DUK looks for the shortest interval that costs 1 % of the link at each rate anew.
    for (run, ms, utilization) in [(duk, 5.0, 0.93), (cp_aqm, 30.0, 0.97)] {
        let port = &run.ports[0];
        assert!(port.sojourn_ms.mean < ms, "{}: {} ms", run.discipline, port.sojourn_ms.mean);
        assert!(port.utilization > utilization, "{}: {}", run.discipline, port.utilization);
    }
}

/// COMSNETS 2017, experiment 5, whose senders do not yield: 3.43 ms and 99.6 %.
#[test]
fn duk_holds_calls_in_a_few_milliseconds() {
    let r = one("[link]\nrate = \"5mbit\"\nbuffer = \"20000p\"\n\
         [[flows]]\ncount = 60\ncbr = \"81.6kbit\"\npacket = \"204b\"\nstart = \"0s..0.1s\"\n\
         [queue]\ndisciplines = [\"duk\"]\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\n");
    close("delay", r.ports[0].sojourn_ms.mean, 3.43, 0.0, 1.5);
    close("utilisation", 100.0 * r.ports[0].utilization, 99.6, 0.0, 0.5);
}

/// Tang, Wang and Low (ToN 2004): among many that yield, one that does not gets at most 1 / (e + 1) of a link with CHOKe, when it sends a little more than the
/// link carries, and less beyond that. Of tail drop it gets all.
#[test]
fn choke_bounds_what_does_not_yield() {
    let share = |mbit: u32, discipline: &str| {
        let r = one(&format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"300p\"\n\
             [[flows]]\ncount = 32\ncca = \"newreno\"\nrtt = \"40ms\"\n\
             [[flows]]\nname = \"flood\"\ncbr = \"{mbit}mbit\"\npacket = \"1500b\"\n\
             [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"60s\"\nwarmup = \"15s\"\n"
        ));
        assert!(r.ports[0].utilization > 0.97, "{discipline}: {}", r.ports[0].utilization);
        let flood = r.groups.iter().find_map(|g| g.datagrams.as_ref()).expect("one group is UDP");
        // Of full frames that the link can carry.
        flood.received as f64 * 1514.0 * 8.0 / 45.0 / 10e6
    };
    let choke = "{ name = \"choke\", min = 100, max = 200 }";
    let [little, twice, five] = [12, 20, 50].map(|mbit| share(mbit, choke));
    println!("{little:.3} {twice:.3} {five:.3}");
    assert!((0.15..0.30).contains(&little), "{little}");
    assert!(twice < little + 0.02 && five < twice - 0.03, "{little} {twice} {five}");
    assert!(share(20, "\"droptail\"") > 0.9);
}
