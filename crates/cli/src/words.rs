//! A scenario in words: what `check` prints.

use queuewright_scenario::keys::dscp_name;
use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{PortSpec, Rate, RunSpec, Shaper, Stack};
use queuewright_scenario::units::{Range, Unit};
use queuewright_scenario::{
    ArrivalPattern, Client, Discipline, Flows, InitialWindow, Link, LinkRate, PageLoads, Pages, Pause,
    Probes, Run, Scenario, Setting, TrafficModel,
};
use std::fmt::Write;

/// What would run, for people. `runs` are the scenario's.
pub fn scenario(s: &Scenario, runs: &[RunSpec]) -> String {
    let mut out = String::new();
    if let Some(name) = &s.name {
        let _ = writeln!(out, "{name}");
    }
    for line in s.description.iter().flat_map(|d| d.trim().lines()) {
        let _ = writeln!(out, "  {line}");
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
        let _ = writeln!(out, "  {label:5}  {}{}", group(flows, s.run.stack), path(s, flows));
    }
    for (i, d) in s.disciplines.iter().enumerate() {
        let label = if i == 0 { "queue" } else { "" };
        let _ = writeln!(out, "  {label:5}  {}", in_words(d));
    }
    let stack = transport(s.run.stack);
    let _ = writeln!(
        out,
        "  run    {}, of which the first {} do not count; {stack}{}",
        Unit::Time.show(s.run.duration_ns),
        Unit::Time.show(s.run.warmup_ns),
        series(&s.run),
    );
    let _ = writeln!(
        out,
        "{} in all ({} x {}), up to {} packets{}",
        plural(runs.len(), "run"),
        plural(s.disciplines.len(), "discipline"),
        plural(s.run.seeds.len(), "seed"),
        round(runs.iter().map(capacity_packets).sum()),
        // Little is nothing to think about.
        match s.memory_bytes() >> 20 {
            0..200 => String::new(),
            mb => format!(", up to {mb} MB of memory for each at a time"),
        },
    );
    out
}

/// A discipline, its parameters and when they change.
fn in_words(d: &Discipline) -> String {
    let mut line = d.label.clone();
    if d.label != d.written() {
        let _ = write!(line, ": {}", d.written());
    }
    if !d.settings.is_empty() {
        let _ = write!(line, " with {}", settings(&d.settings));
    }
    for change in &d.changes {
        let _ = write!(line, "; from {} on {}", Unit::Time.show(change.at_ns), settings(&change.settings));
    }
    line
}

fn settings(all: &[(&str, Setting)]) -> String {
    let all: Vec<String> = all.iter().map(|(name, value)| format!("{name} {}", value.show())).collect();
    all.join(", ")
}

/// What carries the flows that have a congestion control.
fn transport(stack: Stack) -> &'static str {
    match stack {
        Stack::Linux => "TCP as in Linux",
        Stack::Ns3 => "TCP as published ns-3 studies had it",
        Stack::Quic => "QUIC",
    }
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
        let by = if port.shaper == Shaper::Tbf { " by tbf" } else { "" };
        let _ = write!(out, " in bursts of {}{by}", Unit::Bytes.show(bytes));
    }
    if port.overhead_bytes != stack.overhead_bytes() {
        let _ = write!(out, ", overhead {}", Unit::Bytes.show(port.overhead_bytes.into()));
    }
    if port.police {
        out.push_str(", policed: no packet waits");
    }
    match port.late_marks {
        Some(true) => out.push_str(", marks on the flow's next packet"),
        Some(false) => out.push_str(", marks on the packet itself"),
        None => {}
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

/// What the time series has, where that is not what it always has.
fn series(run: &Run) -> String {
    let mut out = String::new();
    if run.sample_ns != Run::usual_sample_ns(run.duration_ns) {
        let _ = write!(out, "; sampled every {}", Unit::Time.show(run.sample_ns));
    }
    if run.series_flows != 1 {
        let _ =
            write!(out, "; {} of each group in the time series", plural(run.series_flows as usize, "flow"));
    }
    out
}

/// Which ports flows cross, where there are several.
fn path(s: &Scenario, f: &Flows) -> String {
    let names = |path: &[u32]| {
        let names: Vec<&str> = path.iter().map(|i| s.ports[*i as usize].name.as_str()).collect();
        names.join(", ")
    };
    let mut out = String::new();
    if s.ports.len() > 1 {
        let _ = write!(out, ", through {}", names(&f.path));
    }
    if !f.reverse_path.is_empty() {
        let _ = write!(out, ", acknowledgements through {}", names(&f.reverse_path));
    }
    out
}

fn group(f: &Flows, of_run: Stack) -> String {
    let name = f.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let mut out = name
        + &match &f.arrival {
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
        TrafficModel::Tcp { stack, ccas, size, initial_window, ecn, l4s, bps, send_buffer, client } => {
            let total: u32 = ccas.iter().map(|(_, w)| w).sum();
            let names: Vec<String> = match ccas.as_slice() {
                [(one, _)] => vec![one.name().into()],
                all => all
                    .iter()
                    .map(|(k, w)| format!("{} {:.0}%", k.name(), 100.0 * f64::from(*w) / f64::from(total)))
                    .collect(),
            };
            let _ = write!(out, " {}", names.join(", "));
            if *stack != of_run {
                let _ = write!(out, " over {}", transport(*stack));
            }
            if let Some(size) = size {
                let _ = write!(out, " of {}", size.describe(f.size_file.as_ref()));
            }
            if let ArrivalPattern::Repeat(after) = &f.arrival {
                let _ = write!(out, ", one after another{}", pause(*after));
            }
            if let ArrivalPattern::Pages(PageLoads { file: Some(of), pages, .. }) = &f.arrival {
                let random = matches!(pages, Pages::Of { random: true, .. });
                let order = if random { "at random" } else { "in turn" };
                let _ = write!(out, ", {} of {} {order}", plural(of.traces.len(), "page"), of.file.given);
            }
            match client {
                None => {}
                Some(Client::Requests(after)) => {
                    let _ = write!(out, ", one after another on one connection{}", pause(*after));
                }
                Some(Client::Video(video)) => {
                    let rate = |at: Option<&u64>| at.map_or(String::new(), |bps| Unit::Rate.show(*bps));
                    let (least, most) = (rate(video.ladder_bps.first()), rate(video.ladder_bps.last()));
                    let (chunk, buffer) = (Unit::Time.show(video.chunk_ns), Unit::Time.show(video.buffer_ns));
                    let _ = write!(
                        out,
                        ", video of {least} to {most} in chunks of {chunk}, {buffer} ahead at most"
                    );
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
            match &f.probes {
                None => {}
                Some(Probes { file: None, .. }) => out.push_str(", with probes"),
                Some(Probes { file: Some(file), .. }) => {
                    let _ = write!(out, ", with probes and the profiles of {}", file.given);
                }
            }
            if *ecn {
                out.push_str(if *l4s { ", ECN with ECT(1)" } else { ", ECN" });
            }
        }
        TrafficModel::Datagrams(datagrams) => {
            let _ = write!(out, " {}", datagrams.words());
        }
    }
    for (what, hosts) in [("from", f.header.source), ("to", f.header.destination)] {
        let _ = match hosts {
            None => Ok(()),
            Some(hosts) if hosts.min == hosts.max => write!(out, ", {what} host {}", hosts.min),
            Some(hosts) => write!(out, ", {what} hosts {}..{}", hosts.min, hosts.max),
        };
    }
    if f.header.dscp > 0 {
        let _ = write!(out, ", DSCP {}", dscp_name(f.header.dscp));
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

/// How long after what came before; empty: at once.
fn pause(pause: Pause) -> String {
    match pause {
        Pause::Uniform(range) if range == Range::one(0) => String::new(),
        Pause::Uniform(range) => format!(" after {}", Unit::Time.show_range(range)),
        Pause::Exponential(mean) => format!(" after {} on average", Unit::Time.show(mean)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_aqm::ParamKind;
    use queuewright_scenario::Datagrams;
    use queuewright_scenario::keys::{self, Keys};
    use std::collections::BTreeSet;

    const FILES: [(&str, &str); 6] = [
        ("trace", "1\n2\n"),
        ("sizes", "1000\n"),
        ("flows.csv", "rtt\n30ms\n"),
        ("pages", "0,0,3\n1,0,4\n"),
        (
            "profiles.toml",
            "[[profile]]\nname = 'shell'\npercentiles = [95]\nrop_ms = [50]\ncpup_ms = [300]\nrop_loss = 1\ncpup_loss = 5\n",
        ),
        ("policy", include_str!("../../../examples/threshold-policy.json")),
    ];

    /// A file of some tables, and the plain ones of what else is needed, in words.
    fn said(tables: &str) -> String {
        let mut text = tables.to_string();
        for (name, plain) in [
            ("[link]", "rate = '10mbit'\nbuffer = '100p'"),
            ("[[flows]]", TCP),
            ("[queue]", "disciplines = ['static']"),
            ("[run]", "duration = '10s'"),
        ] {
            let ports = name == "[link]" && tables.contains("[[ports]]");
            if !tables.contains(name) && !ports {
                let _ = write!(text, "\n{name}\n{plain}\n");
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in FILES {
            std::fs::write(folder.path().join(name), content).expect("written");
        }
        let s = Scenario::parse(&text, "s.toml", folder.path()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        scenario(&s, &s.runs().unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    const TCP: &str = "cca = 'cubic'\nrtt = '20ms'";
    const SIZED: &str = "cca = 'cubic'\nrtt = '20ms'\nsize = '1mb'";
    const UDP: &str = "cbr = '1mbit'";
    const LINK: &str = "rate = '10mbit'";

    /// The table and the key, lines that it stands behind, its value, and another; `-`: it is not there.
    #[rustfmt::skip]
    const SAMPLES: &[(&Keys, &str, &str, &str, &str)] = &[
        (&keys::TOP, "name", "", "'n'", "-"),
        (&keys::TOP, "description", "", "'d'", "-"),
        (&keys::LINK, "rate", "", "'10mbit'", "'11mbit'"),
        (&keys::LINK, "schedule", "", "[['0s', '1mbit']]", "[['0s', '2mbit']]"),
        (&keys::LINK, "period", "schedule = [['0s', '1mbit'], ['1s', '2mbit']]", "'2s'", "-"),
        (&keys::LINK, "trace", "", "'trace'", "'./trace'"),
        (&keys::LINK, "burst", LINK, "'3kb'", "-"),
        (&keys::LINK, "shaper", "rate = '10mbit'\nburst = '3kb'", "'tbf'", "-"),
        (&keys::LINK, "police", LINK, "true", "-"),
        (&keys::LINK, "late_marks", LINK, "true", "-"),
        (&keys::LINK, "late_marks", LINK, "false", "-"),
        (&keys::LINK, "delay", LINK, "'1ms'", "-"),
        (&keys::LINK, "loss", LINK, "0.1", "-"),
        (&keys::LINK, "jitter", LINK, "'1ms'", "-"),
        (&keys::LINK, "reorder", LINK, "{ share = '1%', by = '1ms' }", "-"),
        (&keys::LINK, "buffer", LINK, "'100p'", "-"),
        (&keys::LINK, "overhead", LINK, "'20b'", "-"),
        (&keys::JITTER, "uniform", LINK, "{ uniform = '1ms' }", "{ uniform = '2ms' }"),
        (&keys::JITTER, "normal", LINK, "{ normal = '1ms' }", "{ normal = '2ms' }"),
        (&keys::JITTER, "overtaking", LINK, "{ uniform = '1ms', overtaking = true }", "{ uniform = '1ms' }"),
        (&keys::REORDER, "share", LINK, "{ share = '1%', by = '1ms' }", "{ share = '2%', by = '1ms' }"),
        (&keys::REORDER, "by", LINK, "{ share = '1%', by = '1ms' }", "{ share = '1%', by = '2ms' }"),
        (&keys::FLOWS, "name", TCP, "'n'", "-"),
        (&keys::FLOWS, "count", TCP, "2", "-"),
        (&keys::FLOWS, "cca", "rtt = '20ms'", "'cubic'", "'bbr'"),
        (&keys::FLOWS, "cbr", "", "'1mbit'", "'2mbit'"),
        (&keys::FLOWS, "poisson", "", "'1mbit'", "'2mbit'"),
        (&keys::FLOWS, "voip", "", "'g711'", "'g729'"),
        (&keys::FLOWS, "rtt", "cca = 'cubic'", "'20ms'", "'21ms'"),
        (&keys::FLOWS, "start", TCP, "'1s'", "-"),
        (&keys::FLOWS, "stop", TCP, "'1s'", "-"),
        (&keys::FLOWS, "duration", UDP, "'1s'", "-"),
        (&keys::FLOWS, "access", TCP, "'1mbit'", "-"),
        (&keys::FLOWS, "jitter", TCP, "'1ms'", "-"),
        (&keys::FLOWS, "size", TCP, "'1mb'", "-"),
        (&keys::FLOWS, "initial_window", TCP, "'4p'", "-"),
        (&keys::FLOWS, "wmem", TCP, "'1mb'", "-"),
        (&keys::FLOWS, "notsent_lowat", TCP, "'1kb'", "-"),
        (&keys::FLOWS, "repeat", SIZED, "'1s'", "'2s'"),
        (&keys::FLOWS, "arrivals", SIZED, "'1/s'", "-"),
        (&keys::FLOWS, "file", "cca = 'cubic'", "'flows.csv'", "'./flows.csv'"),
        (&keys::FLOWS, "pages", TCP, "{ at = '1s' }", "-"),
        (&keys::FLOWS, "requests", SIZED, "'1s'", "'2s'"),
        (&keys::FLOWS, "video", TCP, "{}", "-"),
        (&keys::FLOWS, "probes", TCP, "true", "-"),
        (&keys::PROBES, "profiles", TCP, "{ profiles = 'profiles.toml' }", "true"),
        (&keys::FLOWS, "ecn", TCP, "true", "-"),
        (&keys::FLOWS, "stack", TCP, "'quic'", "-"),
        (&keys::FLOWS, "rate", "cca = 'brutal'\nrtt = '20ms'", "'1mbit'", "'2mbit'"),
        (&keys::FLOWS, "dscp", TCP, "'ef'", "-"),
        (&keys::FLOWS, "source", TCP, "'1..5'", "2"),
        (&keys::FLOWS, "destination", TCP, "3", "-"),
        (&keys::FLOWS, "packet", UDP, "'200b'", "-"),
        (&keys::EXPONENTIAL, "exponential", SIZED, "{ exponential = '1s' }", "{ exponential = '2s' }"),
        (&keys::LOGNORMAL, "median", TCP, "{ distribution = 'lognormal', median = '1kb', sigma = 1 }", "{ distribution = 'lognormal', median = '2kb', sigma = 1 }"),
        (&keys::LOGNORMAL, "sigma", TCP, "{ distribution = 'lognormal', median = '1kb', sigma = 1 }", "{ distribution = 'lognormal', median = '1kb', sigma = 2 }"),
        (&keys::LOGNORMAL, "max", TCP, "{ distribution = 'lognormal', median = '1kb', sigma = 1, max = '1mb' }", "{ distribution = 'lognormal', median = '1kb', sigma = 1 }"),
        (&keys::LOGNORMAL, "distribution", TCP, "{ distribution = 'lognormal', median = '1kb', sigma = 1 }", "{ distribution = 'pareto', min = '1kb', shape = 1 }"),
        (&keys::PARETO, "distribution", TCP, "{ distribution = 'pareto', min = '1kb', shape = 1 }", "-"),
        (&keys::PARETO, "min", TCP, "{ distribution = 'pareto', min = '1kb', shape = 1 }", "{ distribution = 'pareto', min = '2kb', shape = 1 }"),
        (&keys::PARETO, "shape", TCP, "{ distribution = 'pareto', min = '1kb', shape = 1 }", "{ distribution = 'pareto', min = '1kb', shape = 2 }"),
        (&keys::PARETO, "max", TCP, "{ distribution = 'pareto', min = '1kb', shape = 1, max = '1mb' }", "{ distribution = 'pareto', min = '1kb', shape = 1 }"),
        (&keys::SIZES, "file", TCP, "{ file = 'sizes' }", "{ file = './sizes' }"),
        (&keys::VIDEO, "ladder", TCP, "{ ladder = ['1mbit'] }", "{}"),
        (&keys::VIDEO, "chunk", TCP, "{ chunk = '2s' }", "{}"),
        (&keys::VIDEO, "buffer", TCP, "{ buffer = '20s' }", "{}"),
        (&keys::PAGES, "file", TCP, "{ file = 'pages', at = '1s' }", "{ at = '1s' }"),
        (&keys::PAGES, "traces", TCP, "{ file = 'pages', traces = [1], at = '1s' }", "{ file = 'pages', at = '1s' }"),
        (&keys::PAGES, "pick", TCP, "{ file = 'pages', pick = 'random', at = '1s' }", "{ file = 'pages', at = '1s' }"),
        (&keys::PAGES, "at", TCP, "{ at = ['1s', '2s'] }", "{ at = '1s' }"),
        (&keys::QUEUE, "disciplines", "", "['codel']", "['pie']"),
        (&keys::RUN, "duration", "", "'10s'", "'11s'"),
        (&keys::RUN, "warmup", "duration = '10s'", "'1s'", "-"),
        (&keys::RUN, "seeds", "duration = '10s'", "[1, 2]", "-"),
        (&keys::RUN, "stack", "duration = '10s'", "'ns3'", "-"),
        (&keys::RUN, "sample", "duration = '10s'", "'20ms'", "-"),
        (&keys::RUN, "series_flows", "duration = '10s'", "2", "-"),
    ];

    /// Where the keys of a table within a table are: the key that has it, and the table of that.
    fn home(table: &Keys, key: &'static str) -> (&'static str, &'static str) {
        match table.class {
            "Jitter" => ("[link]", "jitter"),
            "Reorder" => ("[link]", "reorder"),
            "Exponential" => ("[[flows]]", "repeat"),
            "Lognormal" | "Pareto" | "Sizes" => ("[[flows]]", "size"),
            "Video" => ("[[flows]]", "video"),
            "Pages" => ("[[flows]]", "pages"),
            "Probes" => ("[[flows]]", "probes"),
            "Link" => ("[link]", key),
            "Flows" => ("[[flows]]", key),
            "Queue" => ("[queue]", key),
            "Run" => ("[run]", key),
            _ => ("", key),
        }
    }

    #[test]
    fn every_key_is_said() {
        let mut without: BTreeSet<(&str, &str)> = BTreeSet::new();
        for table in keys::TABLES.into_iter().chain([
            &keys::JITTER,
            &keys::REORDER,
            &keys::EXPONENTIAL,
            &keys::LOGNORMAL,
            &keys::PARETO,
            &keys::SIZES,
            &keys::VIDEO,
            &keys::PAGES,
            &keys::PROBES,
        ]) {
            without.extend(table.iter().map(|key| (table.class, key.name)));
        }
        for (table, key, before, value, other) in SAMPLES {
            let (home, name) = home(table, key);
            let with = |value: &str| match value {
                "-" => said(&format!("{home}\n{before}\n")),
                _ => said(&format!("{home}\n{before}\n{name} = {value}\n")),
            };
            assert_ne!(with(value), with(other), "{} {key}", table.class);
            without.remove(&(table.class, *key));
        }
        // What is of several ports, and of tables that are in those.
        let two = |ports: &str, flows: &str| said(&format!("{ports}\n[[flows]]\n{TCP}\n{flows}\n"));
        let port = |name: &str, more: &str| format!("[[ports]]\nname = '{name}'\n{LINK}\n{more}\n");
        let own = "buffer = '100p'";
        let both = port("a", own) + &port("b", own);
        let plain = two(&both, "ports = 'a'");
        for (class, key, ports, flows) in [
            ("Ports", "name", port("a", own) + &port("c", own), "ports = 'a'"),
            (
                "Ports",
                "discipline",
                port("a", own) + &port("b", "buffer = '100p'\ndiscipline = 'pie'"),
                "ports = 'a'",
            ),
            ("Flows", "ports", both.clone(), "ports = ['a', 'b']"),
            ("Flows", "reverse_ports", both.clone(), "ports = 'a'\nreverse_ports = 'b'"),
            ("Shared", "buffer", port("a", "") + &port("b", "") + "[shared]\nbuffer = '1mb'", "ports = 'a'"),
        ] {
            assert_ne!(two(&ports, flows), plain, "{class} {key}");
            without.remove(&(class, key));
        }
        // A port has a link's keys; the tables at the top have been there.
        without.retain(|(class, key)| *class != "Ports" || keys::LINK.get(key).is_none());
        // Kinds of UDP traffic say themselves what they are.
        without.retain(|(class, key)| *class != "Flows" || Datagrams::names().all(|name| name != *key));
        without.retain(|(class, key)| *class != "Tables" || ["name", "description"].contains(key));
        assert_eq!(without, BTreeSet::new());
    }

    /// Of a discipline its label, each parameter, files among them, and what changes of it.
    #[test]
    fn all_of_a_discipline_is_said() {
        let with = |entry: String| said(&format!("[queue]\ndisciplines = [{{ {entry} }}]\n"));
        let says = |entry: String, what: &str| {
            let line = with(entry.clone());
            assert!(line.contains(what), "{entry}: no {what:?} in\n{line}");
        };
        says("name = 'codel', label = 'other'".into(), "other: codel");
        for info in queuewright_aqm::registry() {
            for param in info.params {
                let value = match param.kind {
                    ParamKind::File => "policy".into(),
                    // A default may be finer than what a file can say, and one of 2048b is said as 2kb.
                    _ => [param.default, param.max]
                        .map(|value| param.display(value))
                        .into_iter()
                        .filter(|text| {
                            let bytes = text.strip_suffix('b').and_then(|n| n.parse::<u64>().ok());
                            bytes.is_none_or(|n| n % 1024 != 0)
                        })
                        .find(|text| text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 6))
                        .expect("one that a file can say"),
                };
                let said = format!("{} {value}", param.name);
                let quoted = if param.kind == ParamKind::Flag { value } else { format!("'{value}'") };
                says(format!("name = '{}', {} = {quoted}", info.name, param.name), &said);
                if param.tunable {
                    let set = format!("[{{ at = '2s', {} = {quoted} }}]", param.name);
                    says(format!("name = '{}', set = {set}", info.name), &format!("; from 2s on {said}"));
                }
            }
        }
    }
}
