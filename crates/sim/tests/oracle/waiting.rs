//! Queues in closed form.

use crate::bed::{close, one, runs};
use crate::{agrees, drawn};
use proptest::prelude::*;
use queuewright_results::Run;

const BATCHES: u32 = 8;

/// Trace files of a folder that goes with it.
struct Traces(std::path::PathBuf);

impl Traces {
    fn new(name: &str) -> Traces {
        let folder = std::env::temp_dir().join(format!("queuewright-oracle-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Traces(folder)
    }

    /// Opportunities with exponential gaps of a mean, in ms, for so long; from a seed.
    fn poisson(&self, gap_ms: f64, ms: u64, seed: u64) -> String {
        let file = self.0.join(format!("{seed}-{gap_ms}.trace"));
        let mut state = seed;
        // SplitMix64.
        let mut open = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((z ^ z >> 31) >> 11) + 1) as f64 / (1u64 << 53) as f64
        };
        let (mut text, mut at) = (String::new(), 0.0);
        while at < ms as f64 {
            at -= gap_ms * open().ln();
            text += &format!("{}\n", at.ceil());
        }
        std::fs::write(&file, text).expect("a file");
        file.display().to_string()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Poisson arrivals at a link whose opportunities are a Poisson process: service without memory. In M/M/1 the time in the system
/// is exponential with mean 1 / (mu - lambda), its p-quantile ln(1 / (1 - p)) times that; here it ends with the opportunity that
/// takes the packet, and opportunities are put off to the next whole ms, 0.5 ms on average and 1 at most. With room for K, a
/// packet finds it full with probability (1 - rho) rho^K / (1 - rho^(K + 1)).
#[test]
fn service_without_memory_is_m_m_1() {
    let traces = Traces::new("mm1");
    drawn(4, (20.0..40.0f64, 0.3..0.8f64, 2u32..5), |(gap_ms, rho, room)| {
        let batch = |buffer: u32| -> Vec<Run> {
            let of = |seed: u64| {
                let seconds = 1500;
                let trace = traces.poisson(gap_ms, 1000 * seconds, seed);
                let bps = (12_000.0 * rho / gap_ms * 1000.0).round();
                one(&format!(
                    "[link]\ntrace = \"{trace}\"\nbuffer = \"{buffer}p\"\n[[flows]]\npoisson = \"{bps}bit\"\n\
                     [queue]\ndisciplines = [\"droptail\"]\n\
                     [run]\nduration = \"{seconds}s\"\nwarmup = \"60s\"\nseeds = {seed}\nsample = \"100s\"\n"
                ))
            };
            (1..=u64::from(BATCHES)).map(of).collect()
        };
        let what = format!("gap {gap_ms:.1} ms, load {rho:.3}");
        let stay = gap_ms / (1.0 - rho);
        let free = batch(1_000_000);
        let means: Vec<f64> = free.iter().map(|r| r.ports[0].sojourn_ms.mean).collect();
        agrees(&what, &means, stay + 0.5, 0.5, 0.2);
        let median: Vec<f64> = free.iter().map(|r| r.ports[0].sojourn_ms.p50).collect();
        agrees(&format!("median, {what}"), &median, stay * 2f64.ln() + 0.5, 0.5, 0.2);
        let full: Vec<f64> = batch(room).iter().map(|r| r.ports[0].drop_fraction).collect();
        let k = room as i32;
        let want = (1.0 - rho) * rho.powi(k) / (1.0 - rho.powi(k + 1));
        // A ms late is a ms longer full, at most.
        agrees(&format!("room for {room}, {what}"), &full, want, want / gap_ms, 0.4);
    });
}

/// Poisson flows of several packet sizes at a constant rate: M/G/1. Every packet waits lambda E[S^2] / (2 (1 - rho)) on average
/// (Pollaczek and Khinchine), those of each flow as those of all (Poisson arrivals see time averages). One flow is M/D/1.
#[test]
fn packets_of_any_size_wait_as_in_m_g_1() {
    let classes = prop::collection::vec((100u32..1500, 0.2..1.0f64), 1..5);
    drawn(6, (classes, 0.3..0.8f64, 5.0..500.0f64), |(classes, rho, mbit)| {
        let all: f64 = classes.iter().map(|c| c.1).sum();
        let rates: Vec<f64> = classes.iter().map(|c| (c.1 / all * rho * mbit * 1e6).round()).collect();
        let flows: String = classes
            .iter()
            .zip(&rates)
            .map(|(c, bps)| format!("[[flows]]\npoisson = \"{bps}bit\"\npacket = \"{}b\"\n", c.0))
            .collect();
        let link = (mbit * 1e6).round();
        let service = |bytes: u32| f64::from(bytes) * 8e3 / link;
        let lambda: f64 = classes.iter().zip(&rates).map(|(c, bps)| bps / (f64::from(c.0) * 8e3)).sum();
        let second: f64 = classes
            .iter()
            .zip(&rates)
            .map(|(c, bps)| bps / (f64::from(c.0) * 8e3) * service(c.0).powi(2))
            .sum();
        let used = rates.iter().sum::<f64>() / link;
        let want = second / (2.0 * (1.0 - used));
        // As long as 30,000 packets take.
        let ns = (30_000.0 / lambda * 1e6).ceil() as u64;
        let rs = runs(&format!(
            "[link]\nrate = \"{link}bit\"\noverhead = \"0b\"\nbuffer = \"1000000p\"\n{flows}\
             [queue]\ndisciplines = [\"droptail\"]\n\
             [run]\nduration = \"{ns}ns\"\nwarmup = \"{}ns\"\nseeds = \"1..{BATCHES}\"\nsample = \"{}ns\"\n",
            ns / 20,
            ns / 2
        ));
        let what = format!("load {used:.3}, {} sizes", classes.len());
        let means: Vec<f64> = rs.iter().map(|r| r.ports[0].sojourn_ms.mean).collect();
        agrees(&what, &means, want, 0.0, 0.2);
        for i in 0..classes.len() {
            let means: Vec<f64> = rs.iter().map(|r| r.flows[i].sojourn_ms).collect();
            agrees(&format!("flow {i}, {what}"), &means, want, 0.0, 0.3);
        }
        let used_by: Vec<f64> = rs.iter().map(|r| r.ports[0].utilization).collect();
        agrees(&format!("use, {what}"), &used_by, used, 0.0, 0.2);
    });
}

/// A server that goes away whenever it finds nobody, for D each time, and serves for D: a link with an opportunity every D.
/// Wait until the start of service: rho D / (2 (1 - rho)) as without vacations, and D / 2 (Fuhrmann and Cooper's decomposition:
/// M/G/1, plus the rest of a vacation, E[V^2] / (2 E[V])).
#[test]
fn servers_with_vacations_add_the_rest_of_one() {
    let traces = Traces::new("vacations");
    drawn(5, (2u32..20, 0.2..0.85f64), |(slot_ms, rho)| {
        let file = traces.0.join(format!("{slot_ms}.trace"));
        std::fs::write(&file, format!("{slot_ms}\n")).expect("a file");
        let d = f64::from(slot_ms);
        let bps = (12_000.0 * rho / d * 1000.0).round();
        let seconds = (25_000.0 * d / rho / 1000.0).ceil();
        let rs = runs(&format!(
            "[link]\ntrace = \"{}\"\nbuffer = \"1000000p\"\n[[flows]]\npoisson = \"{bps}bit\"\n\
             [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"{seconds}s\"\nwarmup = \"5s\"\n\
             seeds = \"1..{BATCHES}\"\nsample = \"100s\"\n",
            file.display()
        ));
        let means: Vec<f64> = rs.iter().map(|r| r.ports[0].sojourn_ms.mean).collect();
        let rho = bps * d / 12e6;
        agrees(
            &format!("slot {d} ms, load {rho:.3}"),
            &means,
            rho * d / (2.0 * (1.0 - rho)) + d / 2.0,
            0.0,
            0.2,
        );
    });
}

/// Mean backlog = packets a second x mean wait at each port of a row, of packets that are not dropped once in. What is there at
/// the window's ends has waited outside of it, or will: at most the largest backlog times the longest wait at either end.
#[test]
fn littles_law_holds_at_each_port() {
    let flow = prop_oneof![
        (1u32..40, 200u32..1500)
            .prop_map(|(mbit, b)| format!("poisson = \"{mbit}mbit\"\npacket = \"{b}b\"\nrtt = \"20ms\"\n")),
        (1u32..5, prop::sample::select(crate::bed::every_cca()))
            .prop_map(|(n, cca)| format!("count = {n}\ncca = \"{cca}\"\nrtt = \"14ms..60ms\"\n")),
    ];
    let port = (5u32..50, 10u32..200, 0u32..3);
    drawn(30, (prop::collection::vec(port, 1..4), prop::collection::vec(flow, 1..3)), |(ports, flows)| {
        let names: Vec<String> = (0..ports.len()).map(|i| format!("\"p{i}\"")).collect();
        let mut text = String::new();
        for (i, (mbit, buffer, ms)) in ports.iter().enumerate() {
            text += &format!(
                "[[ports]]\nname = \"p{i}\"\nrate = \"{mbit}mbit\"\nbuffer = \"{buffer}p\"\ndelay = \"{ms}ms\"\n"
            );
        }
        for flow in flows {
            text += &format!("[[flows]]\n{flow}ports = [{}]\n", names.join(", "));
        }
        let r = one(&(text
            + "[queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"8s\"\nwarmup = \"2s\"\nsample = \"1s\"\n"));
        for p in r.ports.iter().filter(|p| p.packets > 0) {
            let waited = p.packets as f64 * p.sojourn_ms.mean / 1000.0 / 6.0;
            let edge = 2.0 * p.backlog_packets.max * p.sojourn_ms.max / 1000.0 / 6.0;
            close(&p.name, p.backlog_packets.mean, waited, 0.0, edge + 1e-9);
        }
    });
}
