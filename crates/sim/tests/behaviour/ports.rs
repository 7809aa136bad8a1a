//! Several output ports: in series, and beside one another with one buffer.

use crate::bed::{close, drops, mean, one, runs, series};

/// So many ports of 100 Mbit/s with 120 Mbit/s of UDP each, over a shared buffer.
fn overloaded(ports: usize, buffer: u32, discipline: &str) -> String {
    let mut text = String::new();
    for i in 0..ports {
        text += &format!("[[ports]]\nname = \"p{i}\"\nrate = \"100mbit\"\n");
    }
    // One more that is idle: thresholds are for all ports that share.
    text += &format!("[[ports]]\nname = \"idle\"\nrate = \"100mbit\"\n[shared]\nbuffer = \"{buffer}b\"\n");
    for i in 0..ports {
        text += &format!("[[flows]]\nname = \"f{i}\"\npoisson = \"120mbit\"\nports = \"p{i}\"\n");
    }
    text + &format!("[queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"4s\"\nwarmup = \"1s\"\n")
}

/// Choudhury and Hahne, eq. 3: n busy queues settle at alpha B / (1 + n alpha).
#[test]
fn dynamic_thresholds_settle_where_the_formula_says() {
    for n in 1..=4 {
        for alpha in [0.5, 1.0, 2.0] {
            let run = one(&overloaded(n, 300_000, &format!("{{ name = \"dt\", alpha = {alpha} }}")));
            let want = alpha * 300e3 / (1.0 + n as f64 * alpha);
            for port in &run.ports[..n] {
                // Random arrivals leave it a packet or two below.
                close("queue", port.backlog_bytes.mean, want - 1514.0, 0.03, 1514.0);
                assert!(port.utilization > 0.999);
            }
            assert_eq!(run.ports[n].packets, 0);
        }
    }
}

/// ABM: as DT, but with alpha / n: T = alpha / n (B - n T). The buffer is so large that random arrivals do
/// not often take a queue below 0.9 of T, where it does not count and the others may have more.
#[test]
fn abm_divides_by_the_congested_ports() {
    for n in 1..=4 {
        let run = one(&overloaded(n, 3_000_000, "\"abm\""));
        let want = 0.5 / n as f64 * 3e6 / (1.0 + 0.5);
        for port in &run.ports[..n] {
            close("queue", port.backlog_bytes.mean, want, 0.1, 0.0);
        }
    }
}

/// Tail drop shares completely: what waits is never more than the buffer, and it is full.
#[test]
fn a_shared_buffer_is_never_overfull() {
    for discipline in ["\"droptail\"", "\"codel\"", "\"pie\"", "\"titrate\"", "\"fq-codel\"", "\"dt\""] {
        let run = one(&overloaded(3, 300_000, discipline));
        let sum: Vec<f64> = (0..3)
            .map(|i| series(&run, &format!("p{i}.backlog_bytes")))
            .reduce(|a, b| a.iter().zip(&b).map(|(x, y)| (x.0, x.1 + y.1)).collect())
            .unwrap()
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect();
        assert!(sum.iter().all(|&bytes| bytes <= 300e3), "{discipline}");
        if discipline == "\"droptail\"" {
            close("all of it", sum[200..].iter().sum::<f64>() / (sum.len() - 200) as f64, 300e3, 0.02, 0.0);
        }
    }
}

/// Titrate's thresholds together stay within the shared buffer, and each port's finds its own length.
#[test]
fn titrates_thresholds_add_up_to_no_more_than_the_buffer() {
    let run =
        one("[[ports]]\nname = \"near\"\nrate = \"50mbit\"\n[[ports]]\nname = \"far\"\nrate = \"50mbit\"\n\
         [shared]\nbuffer = \"600kb\"\n\
         [[flows]]\nname = \"a\"\ncca = \"newreno\"\nrtt = \"10ms\"\nports = \"near\"\n\
         [[flows]]\nname = \"b\"\ncca = \"newreno\"\nrtt = \"60ms\"\nports = \"far\"\n\
         [queue]\ndisciplines = [\"titrate\"]\n[run]\nduration = \"60s\"\nwarmup = \"20s\"\n");
    let near = series(&run, "near.threshold_bytes");
    let far = series(&run, "far.threshold_bytes");
    assert!(near.iter().zip(&far).all(|(a, b)| a.1 + b.1 <= 600.0 * 1024.0));
    // 62.5 kB and 375 kB of BDP.
    assert!(mean(&near, 20.0, 60.0) * 2.0 < mean(&far, 20.0, 60.0));
    assert!(run.ports.iter().all(|p| p.utilization > 0.93), "{:?}", run.ports);
}

/// In series the slower link decides, wherever it stands; what crosses only one port is measured there alone.
#[test]
fn ports_in_series() {
    let all = |first: u32, second: u32| {
        runs(&format!(
            "[[ports]]\nname = \"first\"\nrate = \"{first}mbit\"\ndelay = \"4ms\"\n\
             [[ports]]\nname = \"second\"\nrate = \"{second}mbit\"\ndelay = \"3ms\"\n\
             [[flows]]\nname = \"both\"\ncca = \"cubic\"\nrtt = \"30ms\"\nports = [\"first\", \"second\"]\n\
             [[flows]]\nname = \"side\"\ncbr = \"5mbit\"\nports = \"second\"\n\
             [queue]\ndisciplines = [\"codel\", \"fq-codel\"]\n[run]\nduration = \"30s\"\nwarmup = \"5s\"\n"
        ))
    };
    for run in all(20, 100).iter().chain(&all(100, 25)) {
        // 20 Mbit/s at the one, 25 less 5 at the other.
        close("both", run.groups[0].goodput_bps, 20e6 * 1448.0 / 1514.0, 0.06, 0.0);
        close("side", run.groups[1].goodput_bps, 5e6 * 1472.0 / 1500.0, 0.05, 0.0);
        let slow = run.ports.iter().position(|p| p.utilization > 0.9).expect("one is full");
        assert!(run.ports[1 - slow].sojourn_ms.mean < 0.5 && run.ports[slow].sojourn_ms.mean > 0.5);
    }
}

/// Parameters that change while it runs do so to the nanosecond: with a step at `max`, RED keeps what it is told
/// to, and it has what the run of another value has from the start.
#[test]
fn a_discipline_is_set_while_it_runs() {
    let text = |set: &str| {
        format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"500kb\"\n[[flows]]\ncbr = \"12mbit\"\n[queue]\ndisciplines = \
             [{{ name = \"red\", min = \"100kb\", max = \"100kb\", burst = 1{set} }}]\n[run]\nduration = \
             \"12s\"\nwarmup = \"0s\"\nsample = \"10ms\"\n"
        )
    };
    let set = ", set = [{ at = \"4s\", min = \"200kb\", max = \"200kb\" }, { at = \"8.0005s\", min = \"50kb\", \
               max = \"50kb\" }]";
    let (fixed, run) = (one(&text("")), one(&text(set)));
    let queue = series(&run, "bottleneck.backlog_bytes");
    assert_eq!(queue[..400], series(&fixed, "bottleneck.backlog_bytes")[..400]);
    for (from, to, kb) in [(3.0, 4.0, 100.0), (6.0, 8.0, 200.0), (11.0, 12.0, 50.0)] {
        close("queue", mean(&queue, from, to), kb * 1024.0, 0.05, 0.0);
        let max = series(&run, "bottleneck.max_bytes");
        assert_eq!(mean(&max, from + 0.01, to), kb * 1024.0);
    }
}

/// A packet that waits for tbf's credit fills the buffer, and is no head that has waited since the run began: at a fifth of the link nothing is
/// dropped.
#[test]
fn what_waits_for_credit_is_no_old_head() {
    let run = one(
        "[link]\nrate = \"10mbit\"\nburst = \"1514b\"\nshaper = \"tbf\"\nbuffer = \"100p\"\n[[flows]]\npoisson = \"2mbit\"\n\
         [queue]\ndisciplines = [\"pi2\"]\n[run]\nduration = \"20s\"\n",
    );
    assert!(run.ports[0].packets > 2000);
    assert_eq!(drops(&run), 0);
}

/// An access port with a static threshold before the bottleneck that is compared: results say which is which, and the access
/// port does the same whatever the other has.
#[test]
fn ports_may_have_a_discipline_of_their_own() {
    let runs = runs(
        r#"
        [[ports]]
        name = "access"
        rate = "20mbit"
        discipline = { name = "static", threshold = "20p" }
        buffer = "30p"
        [[ports]]
        name = "bottleneck"
        rate = "10mbit"
        buffer = "100p"
        [[flows]]
        poisson = "18mbit"
        ports = ["access", "bottleneck"]
        [queue]
        disciplines = ["droptail", { name = "codel", target = "10ms" }]
        [run]
        duration = "6s"
        "#,
    );
    for run in &runs {
        let [access, bottleneck] = &run.ports[..] else { panic!("two ports") };
        assert_eq!((access.discipline.as_str(), &access.drops), ("static", &runs[0].ports[0].drops));
        assert_eq!(access.parameters["threshold"], "30280b");
        // It has the run's.
        assert!(bottleneck.discipline.is_empty() && bottleneck.parameters.is_empty());
    }
    assert_eq!(runs[1].parameters["target"], "10ms");
    assert!(runs[1].ports[1].drops["sojourn"] > 0 && !runs[1].ports[0].drops.contains_key("sojourn"));
}
