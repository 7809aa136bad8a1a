//! A discipline of the registry as a qdisc of Linux: the kernel's own in tc's words, or ours as a BPF program.

use crate::own;
use queuewright_aqm::{FRAME_BYTES, Info, MTU_BYTES, ParamKind, Spec, Value};
use queuewright_scenario::Policy;
use queuewright_scenario::spec::PortSpec;

/// Where the qdisc comes from that runs a discipline which the kernel has, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QdiscOrigin {
    /// The kernel's own; a BPF program of ours for what it has not.
    #[default]
    Kernel,
    /// The kernel's own, with those of its source that Debian's packages leave out and `scripts/setup module` compiles.
    Compiled,
    /// A BPF program of ours, for all.
    Bpf,
}

/// How a discipline runs in the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// Module to load first.
    pub module: Option<&'static str>,
    /// Kind and options, for tc; of ours, the discipline and its options for `queuewright attach`.
    pub words: String,
    /// It shapes by itself, at the device's root; else it is the leaf below htb, which shapes.
    pub root: bool,
    /// It is a BPF program of ours, and so the root: Linux 7.2 has BPF qdiscs there and below mq only.
    pub ours: bool,
    /// The buffer was turned from packets into bytes, or from bytes into packets, of full ones.
    pub converts: bool,
    /// Files of the guest: name from its root, content.
    pub files: Vec<(String, Vec<u8>)>,
    /// A discipline of a user's own: what it is compiled to is one more of them.
    pub own: Option<&'static Info>,
    /// Commands of the job (`guest/job.c`) before tc makes it, once a run.
    pub before: Vec<String>,
    /// And at the end of the run, while it is still there.
    pub after: Vec<String>,
}

/// Why a discipline cannot run: the parameter that is in the way, if it is one.
pub type Refused = (Option<&'static str>, String);

/// The qdisc of a port.
pub fn qdisc(port: &PortSpec, origin: QdiscOrigin) -> Result<Qdisc, Refused> {
    match is_ours(port.discipline.info.name, origin) {
        true => ours(port),
        false => kernels(port),
    }
}

/// Would it be a BPF program of ours?
pub fn is_ours(name: &str, origin: QdiscOrigin) -> bool {
    match origin {
        QdiscOrigin::Kernel => !KNOWN.contains(&name),
        QdiscOrigin::Compiled => !KNOWN.contains(&name) && !COMPILED.contains(&name),
        QdiscOrigin::Bpf => true,
    }
}

/// Those of [`QdiscOrigin::Compiled`] beside [`KNOWN`]: `scripts/setup module` compiles what this line names.
pub(crate) const COMPILED: [&str; 1] = ["dualpi2"];

/// Without a limit this many packets may wait.
const MANY: u64 = 100_000;

/// A discipline for `queuewright attach`, with every parameter in words: what depends on the link has been decided.
pub fn attach_words(spec: &Spec) -> String {
    // Some defaults have more digits than a file may.
    spec.words(|param, value| !matches!(value, Value::Real(_)) || value != param.default)
}

fn ours(port: &PortSpec) -> Result<Qdisc, Refused> {
    let spec = &port.discipline;
    let name = spec.info.name;
    let attachable = queuewright_linux::names();
    if spec.info.own.is_none() && !attachable.iter().any(|n| n == name) {
        let mut runs: Vec<String> = KNOWN.map(String::from).to_vec();
        runs.extend(attachable.into_iter().filter(|n| !KNOWN.contains(&n.as_str())));
        return Err((None, format!("{name} has no qdisc; --engine linux runs {}", runs.join(", "))));
    }
    let limit = match (port.limit_packets, port.limit_bytes) {
        (0, 0) => format!("{MANY}p"),
        (0, bytes) => format!("{bytes}b"),
        (packets, _) => format!("{packets}p"),
    };
    let mut words = attach_words(spec);
    let mut files = Vec::new();
    if let Some((param, name, content)) = weights(spec) {
        words += &format!(":{param}=/{name}");
        files.push((name, content));
    }
    // The guest has no compiler, and the object says what the file declares.
    let own = spec.info.own.is_some().then_some(spec.info);
    if let Some(info) = own {
        words.replace_range(..name.len(), &format!("/{}", own::file(info)));
    }
    words += &format!(" --limit {limit}");
    Ok(Qdisc { words, root: true, ours: true, files, own, ..Qdisc::default() })
}

/// A learned policy's weights: the parameter that takes them, and a file of the guest's.
fn weights(spec: &Spec) -> Option<(&'static str, String, Vec<u8>)> {
    let weights = spec.weights()?;
    let param = spec.info.params.iter().find(|p| p.kind == ParamKind::File)?;
    // What they are known by is a hash, so that two runs of one machine do not share a name.
    let id = weights.id.rsplit(':').next().unwrap_or_default();
    let policy = Policy {
        discipline: spec.info.name,
        name: "policy".into(),
        description: None,
        actions: match spec.get("actions") {
            Some(Value::Choice(actions)) => actions,
            _ => return None,
        },
        weights: weights.values.clone(),
    };
    Some((param.name, format!("{id}.json"), policy.to_json().into_bytes()))
}

/// The kernel's. Its disciplines count packets, so that a buffer in bytes is as many full packets. Those with a limit of
/// their own among their parameters have the smaller of the two, as in the simulator.
fn kernels(port: &PortSpec) -> Result<Qdisc, Refused> {
    let spec = &port.discipline;
    let limit = match (port.limit_packets, port.limit_bytes) {
        (0, 0) => MANY,
        (0, bytes) => (bytes / FRAME_BYTES).max(1),
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
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            let words = format!("codel limit {limit}{}{}", of.codel()?, of.flag("ecn", "ecn", "noecn"));
            (Some("sch_codel"), words)
        }
        "fq-codel" => {
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            let words = format!(
                "fq_codel limit {} flows {} quantum {} memory_limit {} drop_batch {}{}{}{}",
                of.int("limit").min(limit),
                of.int("flows"),
                of.int("quantum"),
                of.at_most("memory_limit", (1 << 31) - 1)?,
                of.int("drop_batch"),
                of.codel()?,
                if of.is("ce_threshold_for", "ect1") { " ce_threshold_selector 0x1/0x3" } else { "" },
                of.flag("ecn", "ecn", "noecn"),
            );
            (Some("sch_fq_codel"), words)
        }
        "pie" => {
            of.only("max_burst", Value::Int(150_000_000))?;
            of.only("ecn_threshold", Value::Real(0.1))?;
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            let words = format!(
                "pie limit {limit} target {}us tupdate {}us alpha {} beta {}{}{}{}",
                of.whole("target", 1000, "microseconds")?,
                of.whole("tupdate", 1000, "microseconds")?,
                of.sixteenths("alpha")?,
                of.sixteenths("beta")?,
                of.flag("ecn", "ecn", "noecn"),
                of.flag("bytemode", "bytemode", "nobytemode"),
                if of.is("estimator", "rate") { " dq_rate_estimator" } else { "" },
            );
            (Some("sch_pie"), words)
        }
        "fq-pie" => {
            of.only("max_burst", Value::Int(150_000_000))?;
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            // What is 0 tc does not tell the kernel, which then takes its default.
            let gain = |key: &'static str| -> Result<u32, Refused> {
                match of.sixteenths(key)? {
                    0 => Err((Some(key), "tc's fq_pie takes 0.0625 at least".into())),
                    sixteenths => Ok(sixteenths),
                }
            };
            let words = format!(
                "fq_pie limit {} flows {} target {}us tupdate {}us alpha {} beta {} quantum {} ecn_prob {}{}{}{}",
                of.int("limit").min(limit),
                of.int("flows"),
                of.whole("target", 1000, "microseconds")?,
                of.whole("tupdate", 1000, "microseconds")?,
                gain("alpha")?,
                gain("beta")?,
                of.int("quantum"),
                of.percent("ecn_threshold")?,
                of.flag("ecn", "ecn", "noecn"),
                of.flag("bytemode", "bytemode", "nobytemode"),
                if of.is("estimator", "rate") { " dq_rate_estimator" } else { "" },
            );
            (Some("sch_fq_pie"), words)
        }
        "red" => {
            of.only("gentle", Value::Flag(false))?;
            of.only("idle_clock", Value::Choice("never"))?;
            let (bytes, counted) = match port.limit_bytes {
                0 => (limit * FRAME_BYTES, limit * MTU_BYTES),
                bytes => (bytes, bytes),
            };
            // What the header takes for thresholds that are not told, of the buffer as it counts packets; tc would take other
            // ones. The burst that is not told is tc's own.
            let (min, max) = match (of.int("min"), of.int("max")) {
                (0, 0) => (counted / 4 / 3, counted / 4),
                (0, max) => (max / 3, max),
                (min, 0) => (min, 3 * min),
                told => told,
            };
            let avpkt = of.int("avpkt");
            // tc's own, where none is told.
            let burst = if of.int("burst") > 0 { of.int("burst") } else { (2 * min + max) / (3 * avpkt) };
            if !has_weight(min as f64 / avpkt as f64, max, burst) {
                let usual = of.0.info.param("avpkt").map(|p| p.default);
                let of_avpkt = (of.0.get("avpkt") != usual).then_some("avpkt");
                let why = format!(
                    "Linux's RED has no average that a burst of {burst} leaves below min = {min} and that fits for max = {max}"
                );
                return Err((of.told(&["burst", "min", "max"]).or(of_avpkt), why));
            }
            if of.on("nodrop") && !of.on("ecn") {
                return Err((Some("nodrop"), "Linux's RED takes it only with ecn".into()));
            }
            // tc keeps the probability of a byte in 31 bits, and a rate of as many bytes a second as 32 hold.
            let probability = of.below_one("probability")?;
            if probability * 2f64.powi(31) <= max.saturating_sub(min) as f64 {
                let key = of.told(&["max", "min"]).filter(|_| probability > 0.0);
                let why = "tc takes no probability as small, between thresholds as far apart";
                return Err((Some(key.unwrap_or("probability")), why.into()));
            }
            of.at_most("bandwidth", 8 * ((1 << 32) - 1))?;
            let mut words = format!("red limit {bytes} avpkt {} min {min} max {max}", of.int("avpkt"));
            if of.int("burst") > 0 {
                words += &format!(" burst {}", of.int("burst"));
            }
            words += &format!(" probability {} bandwidth {}bit", of.real("probability"), of.int("bandwidth"));
            for word in ["ecn", "harddrop", "nodrop"] {
                words += &of.flag(word, word, "");
            }
            (Some("sch_red"), words)
        }
        "fq" => {
            of.at_most("initial_quantum", 1 << 20)?;
            let keys = ["flow_limit", "quantum", "initial_quantum", "orphan_mask"];
            let options = keys.map(|key| format!(" {key} {}", of.int(key))).concat();
            let threshold = of.ce_threshold()?;
            (Some("sch_fq"), format!("fq limit {}{options}{threshold}", of.int("limit").min(limit)))
        }
        "sfq" => {
            let divisor = of.int("divisor");
            if !divisor.is_power_of_two() {
                return Err((Some("divisor"), format!("Linux's sfq takes a power of two, not {divisor}")));
            }
            let flows = of.int("flows").min(divisor);
            if of.int("limit").min(limit).min(of.int("depth") * flows) < 2 {
                let why = "Linux's sfq must have room for two packets: a larger buffer, depth or flows";
                return Err((None, why.into()));
            }
            let mut words = format!(
                "sfq limit {} depth {} flows {} divisor {} quantum {} perturb {}",
                of.int("limit").min(limit),
                of.int("depth"),
                of.int("flows"),
                of.int("divisor"),
                of.int("quantum"),
                of.whole("perturb", 1_000_000_000, "seconds")?,
            );
            words += &of.flag("headdrop", "headdrop", "");
            (Some("sch_sfq"), words)
        }
        "hhf" => {
            let words = format!(
                "hhf limit {} quantum {} non_hh_weight {} hh_limit {} admit_bytes {} reset_timeout {}us evict_timeout {}us",
                of.int("limit").min(limit),
                of.int("quantum"),
                of.int("non_hh_weight"),
                of.int("hh_limit"),
                of.int("admit_bytes"),
                of.whole("reset_timeout", 1000, "microseconds")?,
                of.whole("evict_timeout", 1000, "microseconds")?,
            );
            (Some("sch_hhf"), words)
        }
        "sfb" => {
            // Of as many ours keeps the hashes.
            let limit = limit.min(131_072);
            // Of 65535 to the nearest, as tc reads it.
            let part = |key| format!("{:.8}", of.int(key) as f64 / 65535.0);
            let words = format!(
                "sfb limit {limit} target {} max {} increment {} decrement {} rehash {} db {} penalty_rate {} penalty_burst {}",
                of.int("target"),
                of.int("max"),
                part("increment"),
                part("decrement"),
                of.whole("rehash", 1_000_000, "milliseconds")?,
                of.whole("warmup", 1_000_000, "milliseconds")?,
                of.int("penalty_rate"),
                of.int("penalty_burst"),
            );
            (Some("sch_sfb"), words)
        }
        "choke" => {
            of.only("idle_clock", Value::Choice("never"))?;
            // tc takes no more, and ours keeps no more flows.
            let limit = limit.min(CHOKE_MOST);
            let counted = match (port.limit_packets, port.limit_bytes) {
                (0, 0) => 1000,
                (0, bytes) => (bytes / MTU_BYTES).min(CHOKE_MOST),
                _ => limit,
            };
            // What the header takes for what is not told, as above.
            let or = |key, otherwise: u64| if of.int(key) > 0 { of.int(key) } else { otherwise };
            let max = or("max", counted / 4);
            let min = or("min", max / 3);
            let burst = or("burst", (2 * min + max) / 3);
            if min >= max || max > limit {
                let why = format!(
                    "tc's choke takes only min below max, and max up to the limit: {min}, {max}, {limit}"
                );
                return Err((of.told(&["min", "max"]), why));
            }
            if !has_weight(min as f64, max, burst) {
                let why = format!(
                    "Linux's choke has no average that a burst of {burst} leaves below min = {min} and that fits for max = {max}"
                );
                return Err((of.told(&["burst", "min", "max"]), why));
            }
            // tc keeps the probability of a byte in 31 bits, and a rate of as many bytes a second as 32 hold.
            if of.below_one("probability")? * 2f64.powi(31) <= ((max - min) * of.int("avpkt")) as f64 {
                let why = "tc takes no probability as small, between thresholds as far apart";
                return Err((Some("probability"), why.into()));
            }
            of.at_most("bandwidth", 8 * ((1 << 32) - 1))?;
            let words = format!(
                "choke limit {limit} min {min} max {max} burst {burst} avpkt {} probability {} bandwidth {}bit{}",
                of.int("avpkt"),
                of.real("probability"),
                of.int("bandwidth"),
                of.flag("ecn", "ecn", ""),
            );
            (Some("sch_choke"), words)
        }
        "cake" => {
            let buffer_bytes = match (port.limit_packets, port.limit_bytes) {
                (0, 0) => CAKE_MOST,
                (0, bytes) => bytes,
                (packets, _) => u64::from(packets) * FRAME_BYTES,
            };
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            let word = |key| match of.0.get(key) {
                Some(Value::Choice(word)) => word,
                _ => "",
            };
            let mut words = match of.int("bandwidth") {
                0 => "cake unlimited".into(),
                bps => format!("cake bandwidth {bps}bit"),
            };
            words += &format!(" {} {}", word("diffserv"), word("isolation"));
            words += &format!(" rtt {}us", of.whole("rtt", 1000, "microseconds")?);
            words += &match (word("framing"), of.int("overhead")) {
                // To tc an overhead, also of 0, stands for the header: none is told where none is meant.
                (keyword, 0) => format!(" {keyword}"),
                ("raw", bytes) => format!(" noatm overhead {bytes}"),
                (cells @ ("noatm" | "atm" | "ptm"), bytes) => format!(" {cells} overhead {bytes}"),
                _ => return Err((Some("overhead"), "to tc this keyword is one of its own".into())),
            };
            if of.int("mpu") > 0 {
                words += &format!(" mpu {}", of.int("mpu"));
            }
            // It has no other limit: a buffer is one of memory, if that is less.
            let memory = match (of.int("memlimit"), buffer_bytes) {
                (0, bytes) if bytes >= CAKE_MOST => 0,
                (0, bytes) => bytes,
                (own, bytes) => own.min(bytes),
            };
            if memory > 0 {
                words += &format!(" memlimit {memory}");
            }
            words += &of.flag("wash", "wash", "nowash");
            words += &of.flag("ingress", "ingress", "egress");
            words += &of.flag("autorate", "autorate-ingress", "");
            (Some("sch_cake"), words)
        }
        "dualpi2" => {
            of.only("mtu", Value::Int(FRAME_BYTES))?;
            // What tc is told it rounds down, and Linux's own is no such number.
            let gain = |key: &'static str| -> Result<String, Refused> {
                let usual = of.0.info.param(key).map(|p| p.default);
                let in_256 = of.real(key) * 256.0;
                match of.0.get(key) == usual {
                    true => Ok(String::new()),
                    false if in_256.fract() == 0.0 && in_256 >= 1.0 => Ok(format!(" {key} {}", of.real(key))),
                    false => {
                        Err((Some(key), "Linux's dualpi2 takes it in 256ths only, such as 0.125".into()))
                    }
                }
            };
            let coupling = of.real("coupling");
            if coupling.fract() != 0.0 || coupling < 1.0 {
                return Err((Some("coupling"), "Linux's dualpi2 takes whole numbers only, from 1 on".into()));
            }
            // What is 0 tc does not tell the kernel, which then takes its default.
            let us = |key: &'static str| match of.whole(key, 1000, "microseconds")? {
                0 => Err((Some(key), "tc's dualpi2 takes 1us at least".into())),
                us => Ok(us),
            };
            let step = match of.int("step_packets") {
                0 => {
                    // Nanoseconds in 32 bits.
                    of.at_most("step", (1 << 32) - 1)?;
                    format!("{}us", us("step")?)
                }
                packets => format!("{packets}p"),
            };
            let words = format!(
                "dualpi2 limit {limit} target {}us tupdate {}us{}{} coupling_factor {coupling} step_thresh {step} \
                 classic_protection {}%{}{} {}",
                us("target")?,
                us("tupdate")?,
                gain("alpha")?,
                gain("beta")?,
                of.int("classic_protection"),
                of.flag("drop_overload", "drop_on_overload", "overflow"),
                of.flag("drop_early", "drop_enqueue", "drop_dequeue"),
                if of.is("l4s", "any-ect") { "any_ect" } else { "l4s_ect" },
            );
            (Some("sch_dualpi2"), words)
        }
        // No other is the kernel's.
        _ => return ours(port),
    };
    // Of these RED alone counts bytes.
    let converts = match spec.info.name {
        "droptail" => false,
        "cake" => (1..10_240).contains(&port.limit_packets),
        "red" => port.limit_packets > 0,
        _ => port.limit_bytes > 0,
    };
    Ok(Qdisc { module, words: words.trim_end().to_string(), converts, ..Qdisc::default() })
}

/// What the kernel has.
pub(crate) const KNOWN: [&str; 12] =
    ["droptail", "codel", "pie", "red", "fq", "fq-codel", "sfq", "sfb", "choke", "hhf", "fq-pie", "cake"];

/// Bytes that Linux's cake holds at most, unless it is told: so many full packets of memory.
const CAKE_MOST: u64 = 10_240 * FRAME_BYTES;

/// Packets that Linux's choke may hold (`CHOKE_MAX_QUEUE`).
const CHOKE_MOST: u64 = 131_071;

/// Does tc find a weight for an average that a burst leaves below so many packets (`tc_red_eval_ewma`), and one that the kernel takes with this
/// max, in what its average counts (`red_check_params`)?
fn has_weight(min_packets: f64, max: u64, burst: u64) -> bool {
    // For a min of one packet tc takes a weight that its doubles do not tell from 0.
    if min_packets <= 1.0 && burst > 1 {
        return false;
    }
    let left = burst as f64 + 1.0 - min_packets;
    let fits = |wlog: &u32| {
        let weight = 0.5f64.powi(*wlog as i32);
        left <= (1.0 - (1.0 - weight).powf(burst as f64)) / weight
    };
    left >= 1.0 && (1..32).find(fits).is_some_and(|wlog| 64 - max.leading_zeros() + wlog < 32)
}

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

    /// The first of these that is told, where 0 says that it is not.
    fn told(&self, keys: &[&'static str]) -> Option<&'static str> {
        keys.iter().copied().find(|key| self.int(key) > 0)
    }

    /// A probability: of 1 tc makes 0 in 32 bits, and the kernel what is usual.
    fn below_one(&self, key: &'static str) -> Result<f64, Refused> {
        match self.real(key) {
            one if one >= 1.0 => Err((Some(key), "tc takes none of 1; write 0.9999".into())),
            below => Ok(below),
        }
    }

    fn on(&self, key: &str) -> bool {
        self.0.get(key) == Some(Value::Flag(true))
    }

    /// One word or the other, after a space.
    fn flag(&self, key: &str, on: &str, off: &str) -> String {
        let word = if self.on(key) { on } else { off };
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
        let why = format!("Linux's {} takes it in sixteenths only, such as 0.125", self.0.info.name);
        Err((Some(key), why))
    }

    /// A probability in per cent, of which tc takes 1 to 99.
    fn percent(&self, key: &'static str) -> Result<u32, Refused> {
        let x = self.real(key) * 100.0;
        let whole = x.round();
        if (x - whole).abs() < 1e-6 && (1.0..=99.0).contains(&whole) {
            return Ok(whole as u32);
        }
        let why = format!("Linux's {} takes it in whole per cent only, 0.01 to 0.99", self.0.info.name);
        Err((Some(key), why))
    }

    /// A time in a unit of so many ns, of which tc takes whole ones only.
    fn whole(&self, key: &'static str, unit_ns: u64, unit: &str) -> Result<u64, Refused> {
        let ns = self.int(key);
        if ns.is_multiple_of(unit_ns) {
            return Ok(ns / unit_ns);
        }
        Err((Some(key), format!("Linux's {} takes it in whole {unit} only", self.0.info.name)))
    }

    /// A number that Linux takes up to a bound.
    fn at_most(&self, key: &'static str, most: u64) -> Result<u64, Refused> {
        let n = self.int(key);
        if n <= most {
            return Ok(n);
        }
        Err((Some(key), format!("Linux's {} takes at most {most}", self.0.info.name)))
    }

    /// What CoDel and FQ-CoDel share.
    fn codel(&self) -> Result<String, Refused> {
        let micros = |key| self.whole(key, 1000, "microseconds");
        let (target, interval) = (micros("target")?, micros("interval")?);
        Ok(format!(" target {target}us interval {interval}us{}", self.ce_threshold()?))
    }

    fn ce_threshold(&self) -> Result<String, Refused> {
        match self.whole("ce_threshold", 1000, "microseconds")? {
            0 => Ok(String::new()),
            us => Ok(format!(" ce_threshold {us}us")),
        }
    }

    fn is(&self, key: &'static str, choice: &'static str) -> bool {
        self.0.get(key) == Some(Value::Choice(choice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_aqm::registry;
    use queuewright_scenario::Scenario;

    fn of(discipline: &str) -> Result<Qdisc, Refused> {
        let text = format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [{discipline}]\n[run]\nduration = \"1s\"\n"
        );
        let runs = Scenario::parse(&text, discipline, "".as_ref()).and_then(|s| s.runs());
        qdisc(&runs.unwrap_or_else(|e| panic!("{e}"))[0].ports[0], QdiscOrigin::Kernel)
    }

    #[test]
    fn what_the_kernel_is_known_to_have_is_the_kernels() {
        for info in registry() {
            let found = of(&format!("{:?}", info.name));
            assert_eq!(found.is_ok_and(|q| !q.ours), KNOWN.contains(&info.name), "{}", info.name);
        }
        assert!(KNOWN.iter().all(|name| queuewright_aqm::find(name).is_some()));
    }

    /// tc's q_cake.c tells the kernel of an overhead, and to take the header off, for every number that is given.
    #[test]
    fn cake_is_told_of_an_overhead_only_where_there_is_one() {
        for (framing, overhead, words) in [
            ("raw", 0, " raw "),
            ("raw", 18, " noatm overhead 18 "),
            ("atm", 0, " atm "),
            ("ptm", 0, " ptm "),
            ("noatm", 4, " noatm overhead 4 "),
            ("pppoe-ptm", 0, " pppoe-ptm "),
        ] {
            let overhead = if overhead > 0 { format!(", overhead = \"{overhead}b\"") } else { String::new() };
            let told =
                of(&format!("{{ name = \"cake\", framing = \"{framing}\"{overhead} }}")).map(|q| q.words);
            let told = told.expect("tc has it");
            assert!(
                told.contains(words) && told.contains("overhead") != overhead.is_empty(),
                "{framing}: {told}"
            );
        }
    }
}
