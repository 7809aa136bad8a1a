//! The networks of the paper's training and tests (INFOCOM 2023 section III-C, and the authors' program).

use crate::{Error, Tasks};
use queuewright_aqm::{MTU_BYTES, WIRE_BYTES};
use queuewright_scenario::units::Unit;
use queuewright_scenario::{Draft, Flags, Scenario};

/// Networks as the paper's, of which every combination of the lists is one; in the words of scenario files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paper {
    /// Of the link: 1gbit.
    pub rate: String,
    /// Base round-trip times of all flows: 20ms, 40ms, 60ms and 80ms.
    pub rtt: Vec<String>,
    /// Numbers of TCP flows, half CUBIC, half NewReno, all with ECN: 100, 200 and 250.
    pub flows: Vec<u32>,
    /// Rates of the one UDP flow; `None`: 1 to 10 % of the link, in ten steps.
    pub udp: Option<Vec<String>>,
    /// Buffers, as scenarios have them; or `small`, the bandwidth-delay product over the square root of the number of flows,
    /// or times that, such as `2small`.
    pub buffer: Vec<String>,
    /// Of an episode, which begins with the flows' slow start: 5s.
    pub episode: String,
}

impl Default for Paper {
    fn default() -> Paper {
        Paper {
            rate: "1gbit".into(),
            rtt: ["20ms", "40ms", "60ms", "80ms"].map(String::from).into(),
            flows: vec![100, 200, 250],
            udp: None,
            buffer: vec!["small".into()],
            episode: "5s".into(),
        }
    }
}

/// Times the bandwidth-delay product over the square root of the number of flows, in packets of [`WIRE_BYTES`]:
/// ceil(C * RTT / sqrt(N)), C in whole packets a second.
pub fn small_buffer_packets(bps: u64, rtt_ns: u64, flows: u32, times: f64) -> u32 {
    let per_s = bps / (WIRE_BYTES * 8);
    let bdp = per_s as f64 * rtt_ns as f64 / 1e9;
    (times * bdp / f64::from(flows).sqrt()).ceil() as u32
}

/// What `small` or `2small` is times.
fn times_small(word: &str) -> Option<f64> {
    let number = word.strip_suffix("small")?;
    if number.is_empty() {
        return Some(1.0);
    }
    number.parse().ok().filter(|x| (0.001..=1000.0).contains(x))
}

impl Paper {
    /// The networks.
    ///
    /// # Errors
    /// [`Error::Task`] of an empty list, or of what is no rate or time; what the scenario format does not allow.
    pub fn tasks(&self) -> Result<Tasks, Error> {
        let wrong = |key: &str, word: &str, what: String| Error::Task(format!("{key} = \"{word}\": {what}"));
        let bps = Unit::Rate.parse(&self.rate).map_err(|e| wrong("rate", &self.rate, e.to_string()))?;
        let udp = match &self.udp {
            Some(rates) => rates.clone(),
            None => (1..=10).map(|share| format!("{}bit", bps / 100 * share)).collect(),
        };
        for (key, empty) in [
            ("rtt", self.rtt.is_empty()),
            ("flows", self.flows.is_empty()),
            ("udp", udp.is_empty()),
            ("buffer", self.buffer.is_empty()),
        ] {
            if empty {
                return Err(Error::Task(format!("{key} = []: one at least is needed")));
            }
        }
        let mut scenarios = Vec::new();
        for rtt in &self.rtt {
            let rtt_ns = Unit::Time.parse(rtt).map_err(|e| wrong("rtt", rtt, e.to_string()))?;
            for &n in &self.flows {
                for buffer in &self.buffer {
                    let packets = match times_small(buffer) {
                        Some(times) => format!("{}p", small_buffer_packets(bps, rtt_ns, n, times)),
                        None => buffer.clone(),
                    };
                    for udp in &udp {
                        scenarios.push(self.scenario(bps, rtt, n, &packets, udp)?);
                    }
                }
            }
        }
        Tasks::new(scenarios)
    }

    fn scenario(&self, bps: u64, rtt: &str, n: u32, buffer: &str, udp: &str) -> Result<Scenario, Error> {
        let half = |n: u32, cca: &str| match n {
            0 => String::new(),
            n => format!("{n}x{cca}:ecn=true:start=0s..10ms,"),
        };
        let flags = Flags {
            rate: Some(self.rate.clone()),
            rtt: Some(rtt.into()),
            flows: Some(half(n / 2, "cubic") + &half(n - n / 2, "newreno") + &format!("1xcbr:{udp}")),
            // As the link counts it a full packet is what it is on the wire.
            aqm: Some(format!("queuepilot:rate={bps}bit:mtu={WIRE_BYTES}b:wire_overhead=0b")),
            buffer: Some(buffer.into()),
            duration: Some(self.episode.clone()),
            warmup: Some("0s".into()),
            seeds: Some("1".into()),
            ..Flags::default()
        };
        let overhead = format!("\"{}b\"", WIRE_BYTES - MTU_BYTES);
        let draft = Draft::from_flags(&flags).and_then(|d| d.put("link.overhead", &overhead));
        draft.and_then(|d| d.scenario()).map_err(Error::Scenario)
    }
}
