//! What a page may change of a scenario: each by its path, with values to choose from. Names, ranges and units are those of the keys
//! and of the registry.

use queuewright_aqm::{Param, ParamKind, Value as Of};
use queuewright_cca::Kind;
use queuewright_scenario::keys::{FLOWS, Form, Key, Keys, LINK};
use queuewright_scenario::spec::RunSpec;
use queuewright_scenario::units::{Size, Unit};
use queuewright_scenario::{Flows, Link, LinkRate, PRESETS, Scenario, TrafficModel};
use serde::Serialize;
use serde_json::{Value, json};

/// What may be changed.
#[derive(Debug, Serialize)]
pub struct Knob {
    /// Where it stands in the scenario.
    pub path: String,
    /// What it belongs to: the link, a group of flows, a discipline.
    pub of: String,
    /// Its name in the file.
    pub name: &'static str,
    /// What it is, in Markdown.
    pub about: String,
    /// From the least to the most, or in any order.
    pub values: Vec<Value>,
    /// Which of them it is when the run begins.
    pub now: usize,
    /// From when on it is which of them (ns); of what stays as it is nothing.
    pub over_time: Vec<(u64, usize)>,
    /// Why it cannot be changed.
    pub fixed: Option<String>,
    /// They are in order.
    pub ordered: bool,
    /// It can be another from a moment on.
    pub live: bool,
    /// Which of the disciplines that are compared it is of.
    pub discipline: Option<usize>,
}

/// Numbers that people choose: 1, 2, 5 and so on, up to so many times as much or little as `around`, within bounds.
fn scale(around: f64, times: f64, low: f64, high: f64) -> impl Iterator<Item = f64> {
    let (low, high) = (low.max(around / times), high.min(around * times));
    (-9..=18)
        .flat_map(|e| [1.0, 1.5, 2.0, 3.0, 5.0, 7.0].map(move |m| (m, e)))
        // As a division where it is one: the nearest numbers to decimal fractions.
        .map(|(m, e)| if e < 0 { m / 10f64.powi(-e) } else { m * 10f64.powi(e) })
        .filter(move |v| *v >= low && *v <= high)
}

fn whole(around: u64, times: f64, low: u64, high: u64) -> Vec<u64> {
    let mut all: Vec<u64> = scale(around.max(1) as f64, times, low as f64, high as f64)
        .filter(|v| v.fract() == 0.0)
        .map(|v| v as u64)
        .chain([around])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn place<T: PartialEq>(values: &[T], now: &T) -> usize {
    values.iter().position(|v| v == now).unwrap_or(0)
}

fn key(keys: &'static Keys, name: &str) -> &'static Key {
    keys.get(name).expect("a key of this table")
}

/// The bounds of a quantity or a whole number.
fn bounds(form: &Form) -> (u64, u64) {
    match form {
        Form::Quantity { min, max, .. } | Form::Whole { min, max, .. } => (*min, *max),
        _ => (0, u64::MAX),
    }
}

/// All that may be changed of a scenario, whose runs these are: one for each discipline.
pub fn knobs(scenario: &Scenario, runs: &[&RunSpec]) -> Vec<Knob> {
    let mut all = Vec::new();
    if let [port] = scenario.ports.as_slice() {
        link(port, &mut all);
    }
    for (i, entry) in scenario.flows.iter().enumerate() {
        flows(i, entry, &mut all);
    }
    for (i, run) in runs.iter().enumerate() {
        parameters(i, run, &mut all);
    }
    all
}

fn link(port: &Link, all: &mut Vec<Knob>) {
    let of = |key: &'static Key, values: Vec<Value>, now: usize, live: bool| Knob {
        path: format!("link.{}", key.name),
        of: "link".into(),
        name: key.name,
        // What a file writes is of no use beside a slider.
        about: if key.name == "rate" { "how fast the link sends".into() } else { key.about.into() },
        values,
        now,
        over_time: Vec::new(),
        fixed: None,
        ordered: true,
        live,
        discipline: None,
    };
    let rate_key = key(&LINK, "rate");
    let (low, high) = bounds(&rate_key.form);
    let rates = |steps: &[(u64, u64)]| {
        let mut values: Vec<u64> =
            steps.iter().filter(|s| s.1 > 0).flat_map(|s| whole(s.1, 32.0, low, high)).collect();
        // An outage is one of the schedule's.
        values.extend(steps.iter().filter(|s| s.1 == 0).map(|s| s.1));
        values.sort_unstable();
        values.dedup();
        let over_time: Vec<(u64, usize)> = steps.iter().map(|s| (s.0, place(&values, &s.1))).collect();
        let now = over_time.first().map_or(0, |step| step.1);
        let shown = values.into_iter().map(|v| json!(Unit::Rate.show(v))).collect();
        Knob { over_time, ..of(rate_key, shown, now, true) }
    };
    let fixed = |why: &str| Knob { fixed: Some(why.into()), ..of(rate_key, Vec::new(), 0, false) };
    all.push(match &port.rate {
        LinkRate::Constant(bps) => Knob { over_time: Vec::new(), ..rates(&[(0, *bps)]) },
        LinkRate::Schedule(s) if s.period_ns.is_none() => rates(&s.steps),
        LinkRate::Schedule(_) => {
            fixed("The link's schedule repeats, so its rate is changed in the scenario's text alone.")
        }
        LinkRate::Trace(_) => fixed("The link follows a trace, so its rate cannot be changed."),
    });
    if let Some(buffer) = port.buffer {
        let shown: Vec<String> = match buffer {
            Size::Bdp(m) => {
                whole(m, 16.0, 50_000, 100_000_000).into_iter().map(|m| Size::Bdp(m).show()).collect()
            }
            Size::Packets(n) => whole(n.into(), 32.0, 2, 1_000_000)
                .into_iter()
                .map(|n| Size::Packets(n as u32).show())
                .collect(),
            Size::Bytes(n) => {
                whole(n, 32.0, 3_000, 1 << 32).into_iter().map(|n| Size::Bytes(n).show()).collect()
            }
        };
        let now = place(&shown, &buffer.show());
        all.push(of(key(&LINK, "buffer"), shown.into_iter().map(Value::from).collect(), now, false));
    }
}

fn flows(i: usize, entry: &Flows, all: &mut Vec<Knob>) {
    if entry.rows.is_some() {
        return;
    }
    let what = match (&entry.name, &entry.traffic) {
        (Some(name), _) => name.clone(),
        (None, TrafficModel::Tcp { ccas, .. }) => ccas.first().map_or("tcp", |(kind, _)| kind.name()).into(),
        (None, TrafficModel::Datagrams(of)) => of.name().into(),
    };
    let mut add = |name: &str, values: Vec<Value>, now: usize, ordered: bool, fixed: Option<String>| {
        let key = key(&FLOWS, name);
        all.push(Knob {
            path: format!("flows[{i}].{name}"),
            of: what.clone(),
            name: key.name,
            about: key.about.into(),
            values,
            now,
            over_time: Vec::new(),
            fixed,
            ordered,
            live: false,
            discipline: None,
        });
    };
    if entry.count.min == entry.count.max {
        let values = whole(entry.count.min, 32.0, 1, 1000);
        let now = place(&values, &entry.count.min);
        add("count", values.into_iter().map(Value::from).collect(), now, true, None);
    }
    let (low, high) = bounds(&key(&FLOWS, "rtt").form);
    let mut values = whole(entry.rtt_ns.min.midpoint(entry.rtt_ns.max), 32.0, low, high);
    let mut shown: Vec<String> = values.iter().map(|v| Unit::Time.show(*v)).collect();
    let now = Unit::Time.show_range(entry.rtt_ns);
    if entry.rtt_ns.min != entry.rtt_ns.max {
        let at = values.partition_point(|v| *v < entry.rtt_ns.max);
        values.insert(at, entry.rtt_ns.max);
        shown.insert(at, now.clone());
    }
    let at = place(&shown, &now);
    add("rtt", shown.into_iter().map(Value::from).collect(), at, true, None);
    if let TrafficModel::Tcp { ccas, ecn, l4s, bps: None, .. } = &entry.traffic {
        if let [(kind, _)] = ccas.as_slice()
            && kind.own().is_none()
        {
            let names: Vec<&str> = Kind::ALL
                .iter()
                .filter(|kind| !kind.needs_rate())
                .map(|kind| kind.name())
                .chain(PRESETS.iter().map(|p| p.name))
                .collect();
            let now = place(&names, &kind.name());
            add("cca", names.into_iter().map(Value::from).collect(), now, false, None);
        }
        // What a sender's congestion control does in any case cannot be off.
        let is_any =
            |of: fn(&Kind) -> bool| ccas.iter().find(|(kind, _)| of(kind)).map(|(kind, _)| kind.name());
        let (needs, ect1) = (is_any(|kind| kind.needs_ecn()), is_any(|kind| kind.info().ect1));
        let least = if ect1.is_some() { 2 } else { usize::from(needs.is_some()) };
        let now = if *l4s { 2 } else { usize::from(*ecn) }.max(least);
        let values = vec![json!(false), json!(true), json!("l4s")].split_off(least);
        add(
            "ecn",
            values,
            now - least,
            false,
            ect1.map(|name| format!("{name} always uses ECN, and always as L4S.")),
        );
    }
}

fn parameters(i: usize, run: &RunSpec, all: &mut Vec<Knob>) {
    let spec = &run.discipline;
    for (param, value) in spec.iter() {
        let changes: Vec<(u64, Of)> = run.ports[0]
            .changes
            .iter()
            .filter(|change| !run.ports[0].own && change.param == param.name)
            .map(|change| (change.at_ns, change.value))
            .collect();
        let each: Vec<Of> = std::iter::once(value).chain(changes.iter().map(|change| change.1)).collect();
        let Some((values, places)) = choices(param, &each) else { continue };
        let times = std::iter::once(0).chain(changes.iter().map(|change| change.0));
        let over_time: Vec<(u64, usize)> = times.zip(places.iter().copied()).collect();
        all.push(Knob {
            path: format!("queue.disciplines[{i}].{}", param.name),
            of: spec.label.clone(),
            name: param.name,
            about: param.about.into(),
            values,
            now: places[0],
            over_time: if changes.is_empty() { Vec::new() } else { over_time },
            fixed: None,
            ordered: !matches!(param.kind, ParamKind::Flag | ParamKind::Choice(_)),
            live: param.tunable,
            discipline: Some(i),
        });
    }
}

/// Values of a parameter to choose from, and which of them those are that it has over time.
fn choices(param: &Param, each: &[Of]) -> Option<(Vec<Value>, Vec<usize>)> {
    let now = *each.first()?;
    let word = param.zero.map(|_| Of::Int(0));
    let mut values: Vec<Of> = match (param.kind, param.min, param.max, param.default) {
        (ParamKind::File, ..) => return None,
        (ParamKind::Flag, ..) => vec![Of::Flag(false), Of::Flag(true)],
        (ParamKind::Choice(words), ..) => words.iter().map(|w| Of::Choice(w)).collect(),
        (_, Of::Int(low), Of::Int(high), default) => {
            let around = match (default, now) {
                (Of::Int(d), _) if d > 0 => d,
                (_, Of::Int(n)) if n > 0 => n,
                // Nobody says what is usual.
                _ => (low.max(1) as f64 * high as f64).sqrt() as u64,
            };
            let mut all = whole(around, 32.0, low, high);
            all.extend(each.iter().filter_map(|of| match of {
                Of::Int(n) if (low..=high).contains(n) => Some(*n),
                _ => None,
            }));
            all.sort_unstable();
            all.dedup();
            all.into_iter().map(Of::Int).collect()
        }
        (_, Of::Real(low), Of::Real(high), default) => {
            let around = match (default, now) {
                (Of::Real(d), _) if d > 0.0 => d,
                (_, Of::Real(n)) if n > 0.0 => n,
                _ => (low + high) / 2.0,
            };
            // A file has six decimals.
            let mut all: Vec<f64> = scale(around, 32.0, low.max(1e-6), high).chain([around]).collect();
            all.extend(each.iter().filter_map(|of| if let Of::Real(n) = of { Some(*n) } else { None }));
            all.sort_by(f64::total_cmp);
            all.dedup();
            all.into_iter().map(Of::Real).collect()
        }
        _ => return None,
    };
    values.splice(0..0, word.filter(|w| !values.contains(w)));
    let places = each.iter().map(|of| place(&values, of)).collect();
    let written = |v: &Of| match *v {
        Of::Flag(on) => json!(on),
        Of::Real(v) => json!(v),
        Of::Int(n) if param.kind == ParamKind::Count && !(n == 0 && param.zero.is_some()) => json!(n),
        v => json!(param.display(v)),
    };
    Some((values.iter().map(written).collect(), places))
}
