//! A scenario in words: what `check` prints.

use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{PortSpec, Rate, RunSpec, Stack};
use queuewright_scenario::units::{Range, Unit};
use queuewright_scenario::{
    ArrivalPattern, Client, Discipline, InitialWindow, Link, LinkRate, PageLoads, Pause, Scenario,
    TrafficModel,
};
use std::fmt::Write;

/// What would run, for people. `runs` are the scenario's.
pub fn scenario(s: &Scenario, runs: &[RunSpec]) -> String {
    let mut out = String::new();
    if let Some(name) = &s.name {
        let _ = writeln!(out, "{name}");
    }
    for (i, port) in s.ports.iter().enumerate() {
        let name = if s.ports.len() > 1 { format!("{}: ", port.name) } else { String::new() };
        let label = if i > 0 {
            ""
        } else if s.ports.len() > 1 {
            "ports"
        } else {
            "link"
        };
        let own = port.discipline.as_ref().map_or(String::new(), |d| format!(", {}", in_words(d)));
        let _ = writeln!(out, "  {label:5}  {name}{}{own}", link(port, i, s.run.stack, runs));
    }
    if let Some(size) = s.shared {
        let _ = writeln!(out, "  {:5}  shared buffer {}", "", size.show());
    }
    for (i, flows) in s.flows.iter().enumerate() {
        let label = if i == 0 { "flows" } else { "" };
        let _ = writeln!(out, "  {label:5}  {}", group(flows));
    }
    for (i, d) in s.disciplines.iter().enumerate() {
        let label = if i == 0 { "queue" } else { "" };
        let _ = writeln!(out, "  {label:5}  {}", in_words(d));
    }
    let stack = match s.run.stack {
        Stack::Linux => "TCP as in Linux",
        Stack::Ns3 => "TCP as published ns-3 studies had it",
    };
    let _ = writeln!(
        out,
        "  run    {}, of which the first {} do not count; {stack}",
        Unit::Time.show(s.run.duration_ns),
        Unit::Time.show(s.run.warmup_ns),
    );
    let _ = writeln!(
        out,
        "{} in all ({} x {}), up to {} packets",
        plural(runs.len(), "run"),
        plural(s.disciplines.len(), "discipline"),
        plural(s.run.seeds.len(), "seed"),
        round(runs.iter().map(capacity_packets).sum()),
    );
    out
}

/// A discipline, its parameters and when they change.
fn in_words(d: &Discipline) -> String {
    let set: Vec<String> =
        d.settings.iter().map(|(name, value)| format!("{name} {}", value.show())).collect();
    let mut line = d.label.clone();
    if d.label != d.name {
        let _ = write!(line, ": {}", d.name);
    }
    if !set.is_empty() {
        let _ = write!(line, " with {}", set.join(", "));
    }
    if !d.changes.is_empty() {
        let at: Vec<String> = d.changes.iter().map(|c| Unit::Time.show(c.at_ns)).collect();
        let _ = write!(line, ", changed at {}", at.join(", "));
    }
    line
}

/// A port: its rate, delay and buffer, and what else it does to packets.
fn link(port: &Link, index: usize, stack: Stack, runs: &[RunSpec]) -> String {
    let mut out = match &port.rate {
        LinkRate::Constant(bps) => Unit::Rate.show(*bps),
        LinkRate::Schedule(s) => {
            let rates = s.steps.iter().map(|(_, bps)| *bps);
            let again =
                s.period_ns.map_or(String::new(), |ns| format!(", anew each {}", Unit::Time.show(ns)));
            format!(
                "scheduled, {} from {} to {}{again}",
                plural(s.steps.len(), "rate"),
                Unit::Rate.show(rates.clone().min().unwrap_or(0)),
                Unit::Rate.show(rates.max().unwrap_or(0)),
            )
        }
        LinkRate::Trace(file) => {
            let t = &file.trace;
            let bits = t.opportunities_ns.len() as f64 * 12_000.0;
            format!(
                "as {} ({:.3} Mbit/s over {:.1} s, then again)",
                file.file.given,
                bits / (t.period_ns as f64 / 1e9) / 1e6,
                t.period_ns as f64 / 1e9
            )
        }
    };
    if let Some(bytes) = port.burst_bytes {
        let _ = write!(out, " in bursts of {}", Unit::Bytes.show(bytes));
    }
    if port.overhead_bytes != stack.overhead_bytes() {
        let _ = write!(out, ", overhead {}", Unit::Bytes.show(port.overhead_bytes.into()));
    }
    if port.police {
        out.push_str(", policed: no packet waits");
    }
    if port.late_marks {
        out.push_str(", marks on the flow's next packet");
    }
    if port.delay_ns > 0 {
        let _ = write!(out, ", {} to the receivers", Unit::Time.show(port.delay_ns));
    }
    let impairments = port.impairments.describe();
    if !impairments.is_empty() {
        let _ = write!(out, ", {impairments}");
    }
    let Some(buffer) = port.buffer else {
        return out + ", in the shared buffer";
    };
    let _ = write!(out, ", buffer {}", buffer.show());
    let bytes = runs.iter().map(|r| r.ports[index].limit_bytes);
    if let (Some(min), Some(max)) = (bytes.clone().min(), bytes.max())
        && matches!(buffer, queuewright_scenario::units::Size::Bdp(_))
    {
        let kilobytes = |b: u64| format!("{:.1}", b as f64 / 1e3);
        match min == max {
            true => write!(out, " = {} kB", kilobytes(min)),
            false => write!(out, " = {} to {} kB", kilobytes(min), kilobytes(max)),
        }
        .unwrap_or_default();
    }
    out
}

fn group(f: &queuewright_scenario::Flows) -> String {
    let mut out = match &f.arrival {
        ArrivalPattern::Once | ArrivalPattern::Repeat(_) => count(f.count),
        ArrivalPattern::Arrive(a) => format!("arriving every {} on average:", Unit::Time.show(a.gap_ns)),
        ArrivalPattern::Pages(PageLoads { at_ns, arrivals: None, .. }) => {
            format!("{} of", plural(at_ns.len(), "web page"))
        }
        ArrivalPattern::Pages(PageLoads { arrivals: Some(a), .. }) => {
            format!("web pages every {} on average, of", Unit::Time.show(a.gap_ns))
        }
    };
    match &f.traffic {
        TrafficModel::Tcp { ccas, size, initial_window, ecn, l4s, bps, send_buffer, client } => {
            let total: u32 = ccas.iter().map(|(_, w)| w).sum();
            let names: Vec<String> = match ccas.as_slice() {
                [(one, _)] => vec![one.name().into()],
                all => all
                    .iter()
                    .map(|(k, w)| format!("{} {:.0}%", k.name(), 100.0 * f64::from(*w) / f64::from(total)))
                    .collect(),
            };
            let _ = write!(out, " {}", names.join(", "));
            if let Some(size) = size {
                let _ = write!(out, " of {}", size.describe(f.size_file.as_ref()));
            }
            if let ArrivalPattern::Repeat(_) = f.arrival {
                out.push_str(", one after another");
            }
            match client {
                None => {}
                Some(Client::Requests(_)) => out.push_str(", one after another on one connection"),
                Some(Client::Video(video)) => {
                    let rate = |at: Option<&u64>| at.map_or(String::new(), |bps| Unit::Rate.show(*bps));
                    let (least, most) = (rate(video.ladder_bps.first()), rate(video.ladder_bps.last()));
                    let _ = write!(out, ", video of {least} to {most}");
                }
            }
            match initial_window {
                None => {}
                Some(InitialWindow::All) => out.push_str(", sent at once"),
                Some(InitialWindow::Packets(n)) => {
                    let _ = write!(out, ", initial window {n}p");
                }
            }
            let _ = write!(out, ", base RTT {}", Unit::Time.show_range(f.rtt_ns));
            if let Some(rows) = &f.rows {
                let _ = write!(out, ", each as {} has it", rows.file.given);
            }
            if let Some(bps) = bps {
                let _ = write!(out, ", at {}", Unit::Rate.show_range(*bps));
            }
            if let Some(bytes) = send_buffer.wmem_bytes {
                let _ = write!(out, ", send buffer to {}", Unit::Bytes.show(bytes.into()));
            }
            if let Some(bytes) = send_buffer.notsent_lowat_bytes {
                let _ = write!(out, ", writing while less than {} waits", Unit::Bytes.show(bytes.into()));
            }
            if *ecn {
                out.push_str(if *l4s { ", ECN with ECT(1)" } else { ", ECN" });
            }
        }
        TrafficModel::Datagrams(datagrams) => {
            let _ = write!(out, " {}", datagrams.words());
        }
    }
    if let Some(duration) = f.duration {
        let _ = match duration {
            Pause::Uniform(range) => write!(out, ", each {} long", Unit::Time.show_range(range)),
            Pause::Exponential(mean) => write!(out, ", {} long on average", Unit::Time.show(mean)),
        };
    }
    if f.start_ns != Range::one(0) {
        let _ = write!(out, ", starting at {}", Unit::Time.show_range(f.start_ns));
    }
    if let Some(stop) = f.stop_ns {
        let _ = write!(out, ", until {}", Unit::Time.show_range(stop));
    }
    if let Some(access) = f.access_bps {
        let _ = write!(out, ", access {}", Unit::Rate.show_range(access));
    }
    if f.jitter_ns != Range::one(0) {
        let _ = write!(out, ", jitter {}", Unit::Time.show_range(f.jitter_ns));
    }
    out
}

fn count(range: Range) -> String {
    match range.min == range.max {
        true => range.min.to_string(),
        false => format!("{} to {}", range.min, range.max),
    }
}

/// `1 run`, `2 runs`.
pub fn plural(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        _ => format!("{n} {what}s"),
    }
}

/// Full packets that the links of a run could carry: what its length is made of.
pub fn capacity_packets(run: &RunSpec) -> f64 {
    run.ports.iter().map(|port| port_packets(run, port)).sum()
}

/// Full-sized packets that one of its links can carry.
pub fn port_packets(run: &RunSpec, port: &PortSpec) -> f64 {
    let packet_bits = f64::from(FULL_BYTES + run.overhead_bytes) * 8.0;
    let seconds = |ns: u64| ns as f64 / 1e9;
    match &port.rate {
        Rate::Constant(bps) => *bps as f64 * seconds(run.duration_ns) / packet_bits,
        Rate::Schedule(s) => s.work(run.duration_ns) as f64 / 1e9 / packet_bits,
        Rate::Trace(t) => {
            let periods = run.duration_ns as f64 / t.period_ns as f64;
            t.opportunities_ns.len() as f64 * periods
        }
    }
}

/// Two digits are enough to know how long to wait.
fn round(x: f64) -> String {
    match x {
        x if x >= 1e9 => format!("{:.1} billion", x / 1e9),
        x if x >= 1e6 => format!("{:.1} million", x / 1e6),
        x if x >= 1e4 => format!("{:.0} thousand", x / 1e3),
        x => format!("{x:.0}"),
    }
}
