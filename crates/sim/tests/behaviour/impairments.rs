//! Links that lose packets or delay some more than others, against what theory says of them.

use crate::bed::{close, one};
use queuewright_results::{Run, Sojourn};

/// Packets of 1000 bytes, ten milliseconds apart, over a link of 100 Mbit/s and 20 ms: none ever waits.
fn thin(link: &str) -> Run {
    one(&format!(
        "[link]\nrate = \"100mbit\"\ndelay = \"20ms\"\nbuffer = \"100p\"\n{link}\n\
         [[flows]]\nname = \"u\"\ncbr = \"800kbit\"\npacket = \"1000b\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"400s\"\nwarmup = \"0s\"\nsample = \"1s\"\n"
    ))
}

fn delay(r: &Run) -> &Sojourn {
    &r.groups[0].datagrams.as_ref().expect("UDP has its delay").delay_ms
}

/// Propagation, and 1014 bytes at 100 Mbit/s.
const BASE_MS: f64 = 20.0 + 1014.0 * 8e-5;

#[test]
fn a_perfect_link_delays_all_alike() {
    let r = thin("");
    close("mean", delay(&r).mean, BASE_MS, 1e-4, 0.0);
    close("deviation", delay(&r).std, 0.0, 0.0, 1e-3);
    assert_eq!(r.ports[0].lost, None);
}

/// Of 40,000 packets a binomial share is lost: four standard deviations are allowed.
#[test]
fn loses_the_share_that_it_says() {
    for (text, p) in [("\"0.1%\"", 0.001), ("0.02", 0.02), ("\"30%\"", 0.3)] {
        let r = thin(&format!("loss = {text}"));
        let got = r.groups[0].datagrams.as_ref().expect("UDP");
        let n = 400.0 / 0.01;
        let slack = 4.0 * f64::sqrt(p * (1.0 - p) / n);
        close("loss", got.loss, p, 0.0, slack);
        assert_eq!(r.ports[0].lost, Some(got.lost));
        // They have used the link: it is not the queue that lost them.
        assert_eq!((r.ports[0].packets, r.ports[0].drops.len()), (40_000, 0));
    }
}

/// Moments of the two distributions, at 40,000 packets.
#[test]
fn delays_by_the_law_that_it_says() {
    for overtaking in [false, true] {
        let r = thin(&format!("jitter = {{ uniform = \"9ms\", overtaking = {overtaking} }}"));
        close("uniform: mean", delay(&r).mean, BASE_MS + 4.5, 0.0, 0.06);
        close("uniform: deviation", delay(&r).std, 9.0 / f64::sqrt(12.0), 0.02, 0.0);
        close("uniform: most", delay(&r).max, BASE_MS + 9.0, 1e-3, 0.0);
        // Packets 10 ms apart hardly ever meet at 2 ms of deviation.
        let r = thin(&format!("jitter = {{ normal = \"2ms\", overtaking = {overtaking} }}"));
        close("normal: mean", delay(&r).mean, BASE_MS, 0.0, 0.05);
        close("normal: deviation", delay(&r).std, 2.0, 0.02, 0.0);
        close("normal: 95 %", delay(&r).p95, BASE_MS + 1.645 * 2.0, 0.0, 0.1);
    }
    // No packet arrives before it was sent.
    let r = thin("jitter = { normal = \"40ms\", overtaking = true }");
    assert!(delay(&r).p25 < 1.0 && delay(&r).mean > BASE_MS, "{:?}", delay(&r));
}

#[test]
fn delays_the_share_that_it_says_by_so_much() {
    let r = thin("reorder = { share = \"10%\", by = \"35ms\" }");
    let d = delay(&r);
    close("the others", d.p75, BASE_MS, 1e-3, 0.0);
    close("those", d.p95, BASE_MS + 35.0, 1e-3, 0.0);
    close("their share", (d.mean - BASE_MS) / 35.0, 0.1, 0.0, 0.006);
}

/// One NewReno flow whose only losses are random ones.
fn newreno(link: &str) -> Run {
    one(&format!(
        "[link]\nrate = \"1gbit\"\ndelay = \"10ms\"\nbuffer = \"4000p\"\n{link}\n\
         [[flows]]\ncca = \"newreno\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"300s\"\nwarmup = \"20s\"\nsample = \"1s\"\n"
    ))
}

/// Mathis, Semke, Mahdavi, Ott: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997): the
/// window is C / sqrt(p) segments, C = 1.22 for losses at even distances and 1.31 for random ones.
#[test]
fn newreno_has_the_window_of_the_square_root_of_loss() {
    for (loss, p) in [("\"0.05%\"", 0.0005), ("\"0.2%\"", 0.002)] {
        let r = newreno(&format!("loss = {loss}"));
        let window = r.groups[0].goodput_bps * 0.04 / (1448.0 * 8.0);
        println!("{loss}: window {window:.1}, by C {:.3}", window * f64::sqrt(p));
        assert!((1.1..1.45).contains(&(window * f64::sqrt(p))), "{loss}: {window}");
    }
}

/// What keeps its order brings no retransmissions; what loses it is mended by RACK's window for reordering.
#[test]
fn tcp_lives_with_jitter() {
    let of = |r: &Run| (r.groups[0].goodput_bps / 1e6, r.flows[0].retransmits, r.flows[0].timeouts);
    let slow = |extra: &str| newreno(&format!("{extra}\n")).clone();
    let (_, in_order, _) = of(&slow("jitter = \"5ms\""));
    assert_eq!(in_order, 0);
    let (goodput, again, timeouts) = of(&slow("reorder = { share = \"1%\", by = \"3ms\" }"));
    println!("1 % 3 ms later: {goodput:.0} Mbit/s, {again} sent again, {timeouts} timeouts");
    assert!(goodput > 100.0 && timeouts == 0, "{goodput} {timeouts}");
}

/// Over two links the losses multiply, and packets that overtook one another go on in their new order.
#[test]
fn every_link_of_a_way_has_its_flaws() {
    let r = one("[[ports]]\nname = \"a\"\nrate = \"50mbit\"\nbuffer = \"100p\"\nloss = \"10%\"\n\
         jitter = { uniform = \"5ms\", overtaking = true }\n\
         [[ports]]\nname = \"b\"\nrate = \"50mbit\"\nbuffer = \"100p\"\nloss = \"20%\"\ndelay = \"1ms\"\n\
         [[flows]]\ncbr = \"800kbit\"\npacket = \"100b\"\nports = [\"a\", \"b\"]\n\
         [[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nsize = \"20kb\"\nrepeat = \"0s\"\nports = [\"a\", \"b\"]\n\
         [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"40s\"\nwarmup = \"0s\"\n");
    let got = r.groups[0].datagrams.as_ref().expect("UDP");
    close("loss", got.loss, 1.0 - 0.9 * 0.8, 0.0, 0.01);
    assert!(r.ports.iter().all(|p| p.lost.is_some_and(|n| n > 100)));
    assert!(r.groups[1].transfers.as_ref().is_some_and(|t| t.completed > 10));
}
