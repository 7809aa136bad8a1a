//! Scenarios drawn over all that both engines can do: what `queuewright validate --random` runs.
//!
//! A draw is a pure function of a seed and its own number, so that it stays the same however many there are. All that is
//! drawn is something that [`check`](crate::check) accepts.

use crate::qdisc::{KNOWN, QdiscOrigin};
use queuewright_aqm::{FRAME_BYTES, Info, ParamKind, registry};
use queuewright_cca::Kind;
use queuewright_scenario::Datagrams;
use queuewright_scenario::keys::FLOWS as FLOWS_KEYS;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::fmt::Write;

/// A drawn scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// Its name, and that of its file without `.toml`.
    pub name: String,
    /// The scenario file.
    pub text: String,
    /// Where Linux's discipline comes from.
    pub origin: QdiscOrigin,
}

/// Bits a second.
const RATE: (f64, f64) = (5e6, 200e6);
/// Round-trip time of a group, ms.
const RTT_MS: (f64, f64) = (5.0, 150.0);
const FLOWS: (f64, f64) = (1.0, 30.0);
/// Buffer, in BDP.
const BUFFER_BDP: (f64, f64) = (0.5, 4.0);
/// The smallest buffer, packets: the initial window of one flow. RED and CHOKe, whose thresholds are parts of it, have more.
const LEAST_PACKETS: u64 = 10;
const LEAST_PACKETS_OF_RED: u64 = 30;
/// A draw costs the lab so much traffic, bits, unless it would then be shorter than the least: emulation takes time by packets.
const TRAFFIC_BITS: f64 = 400e6;
/// Seconds; the least is also so many of the longest round-trip time.
const SECONDS: (f64, f64) = (8.0, 30.0);
const LEAST_ROUNDS: f64 = 60.0;
/// Within this the flows of a group begin, ns.
const STARTS_MS: u64 = 100;

/// Congestion controls that Linux has: those that need ECN last, the three that most have before the others by their names.
/// (What a seed draws hangs on the order.)
pub(crate) fn controls() -> Vec<Kind> {
    const FIRST: [Kind; 3] = [Kind::NewReno, Kind::Cubic, Kind::Bbr];
    let mut all: Vec<Kind> = Kind::ALL.into_iter().filter(|k| k.info().linux.is_some()).collect();
    let first = |k: &Kind| FIRST.iter().position(|f| f == k).unwrap_or(FIRST.len());
    all.sort_by_key(|k| (k.needs_ecn(), first(k), k.name()));
    all
}
/// Disciplines that the kernel has; some are there more than once, to be drawn as often.
fn kernels() -> Vec<&'static str> {
    let times = |name: &str| if ["droptail", "fq-codel"].contains(&name) { 2 } else { 1 };
    KNOWN.into_iter().flat_map(|name| std::iter::repeat_n(name, times(name))).collect()
}

/// Ours, as BPF programs: all.
pub(crate) fn ours() -> Vec<&'static str> {
    registry().iter().map(|info| info.name).collect()
}

/// The draw of this number under a seed.
pub fn draw(seed: u64, number: u64) -> Draw {
    let mut random = Random::new(seed, number);
    let name = format!("draw-{seed}-{number}");
    let (origin, queue) = match random.percent(65) {
        true => (QdiscOrigin::Kernel, random.pick(&kernels())),
        false => (QdiscOrigin::Bpf, random.pick(&ours())),
    };
    let bits = random.log(RATE) / 1e5;
    let bps = libm::round(bits) as u64 * 100_000;
    let ecn = queuewright_aqm::find(queue).is_some_and(marks) && random.percent(50);
    let mut groups = random.groups(ecn);
    let longest_ms = groups.iter().map(|g| g.rtt_ms).max().unwrap_or(0) as f64;
    let least = f64::max(SECONDS.0, LEAST_ROUNDS * longest_ms / 1e3);
    let seconds = libm::ceil((TRAFFIC_BITS / bps as f64).min(SECONDS.1).max(least)) as u64;
    random.come_and_go(&mut groups, bps, seconds);

    let (sum, count) = groups
        .iter()
        .filter(|g| g.udp.is_none())
        .fold((0, 0), |(sum, n), g| (sum + g.rtt_ms * g.count, n + g.count));
    // bits a second times ms, over 8000: bytes
    let bdp_bytes = bps * sum / (count * 8_000);
    let hundredths = libm::round(random.log(BUFFER_BDP) * 100.0) as u64;
    let bytes = bdp_bytes * hundredths / 100;
    let in_bytes = random.percent(50);
    let least = if ["red", "choke"].contains(&queue) { LEAST_PACKETS_OF_RED } else { LEAST_PACKETS };
    let packets = (bytes / FRAME_BYTES).max(least);
    // In packets where the kernel's count them: a buffer of bytes is as many full packets there.
    let buffer = match queue {
        "droptail" if in_bytes && bytes >= least * FRAME_BYTES => {
            format!("{}.{:02}bdp", hundredths / 100, hundredths % 100)
        }
        "red" => format!("{}b", packets * FRAME_BYTES),
        _ if origin == QdiscOrigin::Bpf && in_bytes => format!("{}b", packets * FRAME_BYTES),
        _ => format!("{packets}p"),
    };
    let burst = origin == QdiscOrigin::Kernel && random.percent(10);
    let parameters = random.parameters(queue, ecn, bps, packets);

    let command = match origin {
        QdiscOrigin::Bpf => format!("validate --bpf {name}.toml"),
        _ => format!("validate {name}.toml"),
    };
    let mut text = format!(
        "# Drawn by queuewright validate --random; again: queuewright {command}\nname = \"{name}\"\n\n\
         [link]\nrate = \"{}kbit\"\nbuffer = \"{buffer}\"\n",
        bps / 1000
    );
    if burst {
        text += "burst = \"3028b\"\n";
    }
    groups.iter().for_each(|g| g.write(&mut text));
    let _ = write!(
        text,
        "\n[queue]\ndisciplines = [{{ name = \"{queue}\"{parameters} }}]\n\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{}ms\"\nseeds = \"1..2\"\nsample = \"500ms\"\n",
        seconds * 250
    );
    Draw { name, text, origin }
}

/// Can it be told to mark, or does it in any case?
fn marks(info: &Info) -> bool {
    info.always_marks || info.param("ecn").is_some()
}

/// Kinds of UDP that have a rate, and that both engines can do.
fn datagrams() -> Vec<&'static str> {
    Datagrams::with_rate().filter(|key| FLOWS_KEYS.not_on_linux(key).is_empty()).collect()
}

/// Flows of one kind.
struct Group {
    count: u64,
    /// None: UDP.
    cca: &'static str,
    /// The kind of UDP, and bits a second of each flow.
    udp: Option<(&'static str, u64)>,
    rtt_ms: u64,
    ecn: bool,
    window: Option<&'static str>,
    start_ms: u64,
    stop_ms: Option<u64>,
    size_bytes: Option<u64>,
}

impl Group {
    fn write(&self, text: &mut String) {
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        line("\n[[flows]]\ncount", self.count.to_string());
        match self.udp {
            None => line("cca", format!("\"{}\"", self.cca)),
            Some((kind, bps)) => line(kind, format!("\"{bps}bit\"")),
        }
        line("rtt", format!("\"{}ms\"", self.rtt_ms));
        if self.ecn {
            line("ecn", "true".into());
        }
        if let Some(window) = self.window {
            line("initial_window", format!("\"{window}\""));
        }
        line("start", format!("\"{}ms..{}ms\"", self.start_ms, self.start_ms + STARTS_MS));
        if let Some(stop_ms) = self.stop_ms {
            line("stop", format!("\"{stop_ms}ms\""));
        }
        if let Some(bytes) = self.size_bytes {
            line("size", format!("\"{bytes}b\""));
        }
    }
}

/// What draws.
pub(crate) struct Random(Pcg64);

impl Random {
    /// Of a seed and a number under it.
    pub(crate) fn new(seed: u64, number: u64) -> Random {
        let mut random = Random(Pcg64::new(seed.into(), number.into()));
        // One step, so that the first draw does not mirror the seed.
        random.0.next_u64();
        random
    }

    /// Uniform in 0..n; n is far below 2^64, so that the remainder favours nothing that shows.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// So often of a hundred times.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Each as likely.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// The logarithm is uniform between these. libm's functions are the same on every machine.
    pub(crate) fn log(&mut self, (least, most): (f64, f64)) -> f64 {
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        least * libm::exp(unit * libm::log(most / least))
    }

    fn rtt_ms(&mut self) -> u64 {
        libm::round(self.log(RTT_MS)) as u64
    }

    /// One to three; the first is always TCP.
    fn groups(&mut self, ecn: bool) -> Vec<Group> {
        let (needing, plain): (Vec<Kind>, Vec<Kind>) = controls().into_iter().partition(|k| k.needs_ecn());
        let many = self.pick(&[1, 1, 2, 2, 3]);
        let all = (libm::round(self.log(FLOWS)) as u64).max(many);
        let same_rtt = self.percent(60).then(|| self.rtt_ms());
        let mut left = all;
        let mut groups = Vec::new();
        for i in 0..many {
            let others = many - i - 1;
            let count = if others == 0 { left } else { 1 + self.below(left - others) };
            left -= count;
            let udp = i > 0 && self.percent(10);
            // As likely as the others, where it can be there.
            let marked = self.below(plain.len() as u64 + 1) == 0;
            let cca = self.pick(&plain);
            let (with_ecn, window) = (self.percent(80), self.percent(10));
            groups.push(Group {
                count,
                cca: if ecn && marked { needing[0].name() } else { cca.name() },
                udp: udp.then(|| (self.pick(&datagrams()), 0)),
                rtt_ms: same_rtt.unwrap_or_else(|| self.rtt_ms()),
                ecn: ecn && !udp && (with_ecn || marked),
                window: (window && !udp).then(|| self.pick(&["2p", "4p", "20p", "40p"])),
                start_ms: 0,
                stop_ms: None,
                size_bytes: None,
            });
        }
        groups
    }

    /// What sends at a rate gets one, and all but the first group may come late, stop, or end with what they had to send.
    fn come_and_go(&mut self, groups: &mut [Group], bps: u64, seconds: u64) {
        for g in groups.iter_mut().skip(1) {
            if let Some((_, each)) = &mut g.udp {
                let all = bps * (1 + self.below(25)) / 100;
                *each = (all / g.count).max(1000);
            }
            if self.percent(30) {
                g.start_ms = self.below(seconds * 500);
            }
            if self.percent(15) {
                g.stop_ms = Some(seconds * (600 + self.below(350)));
            } else if g.udp.is_none() && self.percent(20) {
                let most = (bps * seconds) as f64 / 8.0 / 4.0 / g.count as f64;
                g.size_bytes = Some(self.log((20e3, most.max(200e3))) as u64);
            }
        }
    }

    /// Mostly the defaults; ECN where it is on, and off where that is not the default.
    fn parameters(&mut self, queue: &str, ecn: bool, bps: u64, packets: u64) -> String {
        let Some(info) = queuewright_aqm::find(queue) else { return String::new() };
        let mut text = String::new();
        let mut put = |key: &str, value: &str| {
            let _ = write!(text, ", {key} = {value}");
        };
        if info.param("ecn").is_some() {
            put("ecn", if ecn { "true" } else { "false" });
        }
        if ["red", "choke"].contains(&queue) {
            // How the average ages; tc's own default is for 10 Mbit/s.
            put("bandwidth", &format!("\"{bps}bit\""));
        }
        if queue == "santa" && ecn {
            // What marks in it.
            put("inner", "\"codel\"");
        }
        if queue == "queuepilot" && !ecn {
            put("actions", "\"dropping\"");
        }
        if !self.percent(25) {
            return text;
        }
        let mut one = |key: &str, values: &[&str]| put(key, self.pick(values));
        let codels = matches!(queue, "codel" | "fq-codel");
        match queue {
            "codel" | "fq-codel" | "cobalt" => {
                one("target", &["\"1ms\"", "\"3ms\"", "\"5ms\"", "\"10ms\"", "\"20ms\""]);
                one("interval", &["\"30ms\"", "\"100ms\"", "\"200ms\""]);
                if codels && ecn {
                    one("ce_threshold", &["\"off\"", "\"1ms\"", "\"3ms\""]);
                }
                if queue == "fq-codel" {
                    if ecn {
                        one("ce_threshold_for", &["\"ect\"", "\"ect1\""]);
                    }
                    one("quantum", &["\"300b\"", "\"1514b\"", "\"3028b\""]);
                    one("flows", &["256", "1024"]);
                }
            }
            "pie" | "fq-pie" => {
                one("target", &["\"5ms\"", "\"15ms\"", "\"20ms\"", "\"40ms\""]);
                one("tupdate", &["\"8ms\"", "\"15ms\"", "\"30ms\""]);
                one("alpha", &["0.0625", "0.125", "0.25"]);
                one("beta", &["0.625", "1.25", "2.0"]);
                one("bytemode", &["true", "false"]);
                one("estimator", &["\"timestamp\"", "\"rate\""]);
                if queue == "fq-pie" {
                    one("ecn_threshold", &["0.05", "0.1", "0.3"]);
                    one("quantum", &["\"300b\"", "\"1514b\"", "\"3028b\""]);
                    one("flows", &["256", "1024"]);
                }
            }
            "red" => {
                one("probability", &["0.01", "0.02", "0.05", "0.1"]);
                // Parts of the buffer, above a few packets.
                let min = FRAME_BYTES * (packets / self.pick(&[6, 10, 15])).max(3);
                let max = min * self.pick(&[2, 3]);
                put("min", &format!("\"{min}b\""));
                put("max", &format!("\"{max}b\""));
            }
            "fq" => {
                one("flow_limit", &["30", "100", "300"]);
                one("quantum", &["\"1514b\"", "\"3028b\"", "\"6056b\""]);
                if ecn {
                    one("ce_threshold", &["\"off\"", "\"1ms\"", "\"3ms\""]);
                }
            }
            "sfq" => {
                one("limit", &["127", "500", "1000"]);
                one("depth", &["30", "127"]);
                one("divisor", &["256", "1024"]);
                one("headdrop", &["true", "false"]);
            }
            "hhf" => {
                one("admit_bytes", &["\"8kb\"", "\"32kb\"", "\"128kb\""]);
                one("non_hh_weight", &["1", "2", "4"]);
                one("evict_timeout", &["\"200ms\"", "\"1s\""]);
            }
            "queuepilot" if ecn => one("weights", &["\"queuepilot\""]),
            "santa" => one("queues", &["2", "4", "8"]),
            _ => {
                if info.param("target").is_some_and(|p| p.kind == ParamKind::Time) {
                    one("target", &["\"5ms\"", "\"10ms\"", "\"20ms\""]);
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Row;
    use queuewright_scenario::Scenario;
    use std::collections::BTreeSet;

    #[test]
    fn a_draw_hangs_on_its_seed_and_number_alone() {
        let backwards: Vec<Draw> = (0..50).rev().map(|i| draw(7, i)).collect();
        for (i, d) in backwards.iter().rev().enumerate() {
            assert_eq!(*d, draw(7, i as u64));
        }
        let texts: BTreeSet<&str> = backwards.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(texts.len(), 50);
        assert!(!texts.contains(draw(8, 0).text.as_str()));
        // The draws of a release are those of the next: what Linux did with them is kept under their names.
        insta::assert_snapshot!(draw(7, 3).text);
    }

    /// Whatever is drawn both engines can do, and its file says the same again.
    #[test]
    fn every_draw_runs_on_both_engines() {
        let bpf = !queuewright_linux::names().is_empty();
        if !bpf {
            let why = "built without clang: install clang-19 and build again";
            queuewright_testing::left_out(
                "rows of our own qdiscs among draws",
                queuewright_testing::Lack::Setup,
                &why,
            );
        }
        let (mut queues, mut ccas) = (BTreeSet::new(), BTreeSet::new());
        for i in 0..600 {
            let d = draw(1, i);
            let scenario =
                Scenario::parse(&d.text, &d.name, "".as_ref()).unwrap_or_else(|e| panic!("{e}\n{}", d.text));
            let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}\n{}", d.text));
            if d.origin == QdiscOrigin::Kernel || bpf {
                let row = Row::of_draw(&d, None);
                let row = row.unwrap_or_else(|e| panic!("{e}\n{}", d.text)).remove(0);
                assert_eq!((row.linux.len(), row.sim.len()), (2, 10), "{}", d.text);
            }
            let again = Scenario::parse(&scenario.to_toml(), &d.name, "".as_ref()).and_then(|s| s.runs());
            let again = again.unwrap_or_else(|e| panic!("{e}\n{}", scenario.to_toml()));
            assert_eq!(format!("{again:?}"), format!("{runs:?}"));

            let run = &runs[0];
            let flows = run.flows.len();
            assert!((1..=30).contains(&flows) && (1..=3).contains(&run.groups.len()), "{}", d.text);
            let bits = match run.ports[0].rate {
                queuewright_scenario::spec::Rate::Constant(bps) => bps as f64 * run.duration_ns as f64 / 1e9,
                _ => f64::NAN,
            };
            // 200 Mbit/s for 60 rounds of 150 ms.
            assert!(bits <= 1.8e9, "{bits} {}", d.text);
            let marking = d.text.contains("ecn = true");
            assert!(marking || run.groups.iter().all(|g| g.cca != "dctcp"), "{}", d.text);
            queues.insert((d.origin == QdiscOrigin::Bpf, run.discipline.info.name));
            ccas.extend(run.groups.iter().map(|g| g.cca.clone()));
        }
        assert_eq!(queues.len(), KNOWN.len() + ours().len());
        // All of Linux's, and UDP.
        assert_eq!(ccas.len(), controls().len() + 2, "{ccas:?}");
    }

    #[test]
    fn all_that_can_be_attached_is_drawn() {
        let names = queuewright_linux::names();
        let all: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        if all.is_empty() {
            let why = "built without clang: install clang-19 and build again";
            return queuewright_testing::left_out(
                "what can be attached",
                queuewright_testing::Lack::Setup,
                &why,
            );
        }
        assert_eq!(all, ours().into_iter().collect());
    }
}
