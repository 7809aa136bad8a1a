//! A discipline of the registry as a qdisc of Linux, in tc's words.

use queuewright_aqm::{Spec, Value};
use queuewright_scenario::spec::PortSpec;

/// How a discipline runs in the kernel. One of our own, as a BPF program, is a `Qdisc` too: its object is a file of the guest,
/// `before` registers it with bpftool and writes its parameters, `after` takes it away, and it is the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// Module to load first.
    pub module: Option<&'static str>,
    /// Kind and options, for tc.
    pub words: String,
    /// It shapes by itself, at the device's root; else it is the leaf below htb, which shapes. (Linux 7.2 has BPF
    /// qdiscs at the root or below mq only.)
    pub root: bool,
    /// Files of the guest: name from its root, content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Commands of the job (`guest/job.c`) before tc makes it, once a run.
    pub before: Vec<String>,
    /// And at the end of the run, while it is still there.
    pub after: Vec<String>,
}

/// Why a discipline cannot run: the parameter that is in the way, if it is one.
pub type Refused = (Option<&'static str>, String);

/// Bytes of a full packet with its Ethernet header.
const FULL: u64 = 1514;

/// The qdisc of a port. Linux's queue managers count packets, so that a buffer in bytes is as many full packets.
pub fn qdisc(port: &PortSpec) -> Result<Qdisc, Refused> {
    let spec = &port.discipline;
    let limit = match (port.limit_packets, port.limit_bytes) {
        (0, 0) => 100_000,
        (0, bytes) => (bytes / FULL).max(1),
        (packets, _) => u64::from(packets),
    };
    let of = Words(spec);
    let (module, words) = match spec.info.name {
        // A byte limit is Linux's own here.
        "droptail" if port.limit_packets == 0 && port.limit_bytes > 0 => {
            (None, format!("bfifo limit {}", port.limit_bytes))
        }
        "droptail" => (None, format!("pfifo limit {limit}")),
        "codel" => {
            of.only("mtu", Value::Int(FULL))?;
            let words = format!("codel limit {limit}{}{}", of.codel(), of.flag("ecn", "ecn", "noecn"));
            (Some("sch_codel"), words)
        }
        "fq-codel" => {
            of.only("mtu", Value::Int(FULL))?;
            let words = format!(
                "fq_codel limit {} flows {} quantum {} memory_limit {} drop_batch {}{}{}",
                of.int("limit"),
                of.int("flows"),
                of.int("quantum"),
                of.int("memory_limit"),
                of.int("drop_batch"),
                of.codel(),
                of.flag("ecn", "ecn", "noecn"),
            );
            (Some("sch_fq_codel"), words)
        }
        "pie" => {
            of.only("max_burst", Value::Int(150_000_000))?;
            of.only("ecn_threshold", Value::Real(0.1))?;
            of.only("mtu", Value::Int(FULL))?;
            let words = format!(
                "pie limit {limit} target {}us tupdate {}us alpha {} beta {}{}{}{}",
                of.int("target") / 1000,
                of.int("tupdate") / 1000,
                of.sixteenths("alpha")?,
                of.sixteenths("beta")?,
                of.flag("ecn", "ecn", "noecn"),
                of.flag("bytemode", "bytemode", "nobytemode"),
                match spec.get("estimator") {
                    Some(Value::Choice("rate")) => " dq_rate_estimator",
                    _ => "",
                },
            );
            (Some("sch_pie"), words)
        }
        "red" => {
            of.only("gentle", Value::Flag(false))?;
            of.only("idle_clock", Value::Choice("tc"))?;
            let bytes = if port.limit_bytes > 0 { port.limit_bytes } else { limit * FULL };
            let mut words = format!("red limit {bytes} avpkt {}", of.int("avpkt"));
            for key in ["min", "max", "burst"] {
                if of.int(key) > 0 {
                    words += &format!(" {key} {}", of.int(key));
                }
            }
            words += &format!(" probability {} bandwidth {}bit", of.real("probability"), of.int("bandwidth"));
            for word in ["ecn", "harddrop", "nodrop"] {
                words += &of.flag(word, word, "");
            }
            (Some("sch_red"), words)
        }
        "fq" => {
            let keys = ["limit", "flow_limit", "quantum", "initial_quantum"];
            let options = keys.map(|key| format!(" {key} {}", of.int(key))).concat();
            (Some("sch_fq"), format!("fq{options}"))
        }
        "sfq" => {
            let mut words = format!(
                "sfq limit {} depth {} flows {} divisor {} quantum {} perturb {}",
                of.int("limit"),
                of.int("depth"),
                of.int("flows"),
                of.int("divisor"),
                of.int("quantum"),
                of.int("perturb") / 1_000_000_000,
            );
            words += &of.flag("headdrop", "headdrop", "");
            (Some("sch_sfq"), words)
        }
        name => {
            return Err((
                None,
                format!("{name} has no qdisc in Linux yet; --engine linux runs {}", KNOWN.join(", ")),
            ));
        }
    };
    Ok(Qdisc { module, words: words.trim_end().to_string(), ..Qdisc::default() })
}

/// What [`qdisc`] knows.
pub const KNOWN: [&str; 7] = ["droptail", "codel", "pie", "red", "fq", "fq-codel", "sfq"];

/// Reads a discipline's parameters.
struct Words<'a>(&'a Spec);

impl Words<'_> {
    fn int(&self, key: &str) -> u64 {
        match self.0.get(key) {
            Some(Value::Int(n)) => n,
            _ => 0,
        }
    }

    fn real(&self, key: &str) -> f64 {
        match self.0.get(key) {
            Some(Value::Real(x)) => x,
            _ => 0.0,
        }
    }

    /// One word or the other, after a space.
    fn flag(&self, key: &str, on: &str, off: &str) -> String {
        let word = if self.0.get(key) == Some(Value::Flag(true)) { on } else { off };
        if word.is_empty() { String::new() } else { format!(" {word}") }
    }

    /// A parameter that Linux has not: it must be what Linux does.
    fn only(&self, key: &'static str, value: Value) -> Result<(), Refused> {
        if self.0.get(key) == Some(value) {
            return Ok(());
        }
        let shown = self.0.info.param(key).map_or(String::new(), |p| p.display(value));
        Err((Some(key), format!("in Linux's {} {key} is always {shown}", self.0.info.name)))
    }

    /// tc's alpha and beta of PIE are in sixteenths.
    fn sixteenths(&self, key: &'static str) -> Result<u32, Refused> {
        let x = self.real(key) * 16.0;
        if x.fract() == 0.0 && (0.0..=32.0).contains(&x) {
            return Ok(x as u32);
        }
        Err((Some(key), "Linux's pie takes it in sixteenths only, such as 0.125".into()))
    }

    /// What CoDel and FQ-CoDel share.
    fn codel(&self) -> String {
        let mut words =
            format!(" target {}us interval {}us", self.int("target") / 1000, self.int("interval") / 1000);
        if self.int("ce_threshold") > 0 {
            words += &format!(" ce_threshold {}us", self.int("ce_threshold") / 1000);
        }
        words
    }
}
