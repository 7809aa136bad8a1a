//! Links whose arrivals are known to the packet.

use crate::bed::{close, one, series};
use crate::{datagrams, drawn};

/// A token bucket of b bytes at r lets through b + r t of what is offered beyond that, in every interval no more (and one packet,
/// as with htb a packet goes while there is any credit, and with tbf one is on the link), and over the whole run no less.
#[test]
fn a_bucket_passes_its_depth_and_its_rate() {
    drawn(40, (1u32..50, 0u32..2_000_000, 100u32..1500, 1.5..4.0f64), |(mbit, burst, bytes, times)| {
        let rate = f64::from(mbit) * 1e6;
        // Half of them.
        let (shaper, burst) = if mbit % 2 == 0 { ("tbf", burst.max(1500)) } else { ("htb", burst) };
        let offered = (rate * times).round();
        let r = one(&format!(
            "[link]\nrate = \"{mbit}mbit\"\nburst = \"{burst}b\"\nshaper = \"{shaper}\"\noverhead = \"0b\"\nbuffer = \"20p\"\n\
             [[flows]]\ncbr = \"{offered}bit\"\npacket = \"{bytes}b\"\n[queue]\ndisciplines = [\"droptail\"]\n\
             [run]\nduration = \"4s\"\nwarmup = \"0s\"\nsample = \"10ms\"\n"
        ));
        let (b, packet) = (f64::from(burst), f64::from(bytes));
        let sent = r.ports[0].packets as f64 * packet;
        let most = b + rate / 8.0 * 4.0 + packet;
        assert!(sent <= most, "{sent} of at most {most}");
        // All that is offered until the bucket is empty, or the bucket and its rate; less what the rate had no packet for.
        let least = f64::min(offered / 8.0 * 4.0, b + rate / 8.0 * 4.0) - 2.0 * packet;
        assert!(sent >= least, "{sent} of at least {least}");
        let mut passed = 0.0;
        for (at, bps) in series(&r, "bottleneck.rate_bps").into_iter().skip(1) {
            assert!(bps * 0.01 / 8.0 <= b + rate / 8.0 * 0.01 + packet, "{bps} at {at}");
            passed += bps * 0.01 / 8.0;
            assert!(passed <= b + rate / 8.0 * at + packet + 1e-3, "{passed} by {at}");
        }
    });
}

/// N flows of one rate that send at one instant: packet k waits for the k before it. The mean wait is (N - 1) / 2 packets' time,
/// the longest N - 1.
#[test]
fn packets_of_one_instant_wait_for_each_other() {
    drawn(40, (2u32..60, 10u32..1000, 100u32..1500), |(n, mbit, bytes)| {
        let service = f64::from(bytes) * 8e-3 / f64::from(mbit);
        // Each sends when all are through, ten times.
        let bps = (f64::from(mbit) * 1e6 / f64::from(n) / 2.0).floor();
        let ns = (f64::from(bytes) * 8e9 / bps * 10.0).floor();
        let r = one(&format!(
            "[link]\nrate = \"{mbit}mbit\"\noverhead = \"0b\"\nbuffer = \"100p\"\n\
             [[flows]]\ncount = {n}\ncbr = \"{bps}bit\"\npacket = \"{bytes}b\"\n[queue]\ndisciplines = [\"droptail\"]\n\
             [run]\nduration = \"{ns}ns\"\nwarmup = \"0s\"\nsample = \"{ns}ns\"\n"
        ));
        let s = &r.ports[0].sojourn_ms;
        assert_eq!(r.ports[0].packets, 10 * u64::from(n));
        close("mean", s.mean, f64::from(n - 1) / 2.0 * service, 1e-3, 0.0);
        // The histogram keeps three digits.
        close("longest", s.max, f64::from(n - 1) * service, 1.1e-3, 0.0);
    });
}

/// A link that is away for F of each period P, and a fluid of rate r into its capacity c: the backlog rises by r F, and falls at
/// c - r. Mean backlog r F^2 c / (2 P (c - r)), so by Little's law the mean wait is F^2 c / (2 P (c - r)), the longest F. Packets
/// are not a fluid: each waits up to a packet's time and a packet's gap more or less.
#[test]
fn links_that_come_and_go_hold_up_a_fluid() {
    drawn(40, (10u32..100, 20u32..200, 0.1..0.5f64, 0.1..0.8f64), |(mbit, period_ms, away, load)| {
        let (c, p) = (f64::from(mbit) * 1e6, f64::from(period_ms));
        let on_ms = (p * (1.0 - away)).round();
        let f = p - on_ms;
        let r = (c * on_ms / p * load).round();
        let run = one(&format!(
            "[link]\nschedule = [[\"0s\", \"{mbit}mbit\"], [\"{on_ms}ms\", \"0bit\"]]\nperiod = \"{period_ms}ms\"\noverhead = \"0b\"\n\
             buffer = \"100000p\"\n[[flows]]\ncbr = \"{r}bit\"\npacket = \"200b\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n\
             [run]\nduration = \"{}ms\"\nwarmup = \"{period_ms}ms\"\nsample = \"1s\"\n",
            21 * period_ms
        ));
        let packet = 1600e3 / r + 1600e3 / c;
        let s = &run.ports[0].sojourn_ms;
        close("mean", s.mean, f * f * c / (2.0 * p * (c - r)), 0.0, packet);
        close("longest", s.max, f, 1.1e-3, packet);
        // A packet at either end of twenty periods.
        close("use", run.ports[0].utilization, r * p / (c * on_ms), 0.0, 2.0 * 1600e3 / (c * on_ms * 20.0));
        // To its receiver: the wait, and its time on the link.
        close("delay", datagrams(&run, 0).delay_ms.mean, s.mean + 1600e3 / c, 0.0, packet);
    });
}
