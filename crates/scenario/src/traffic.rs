//! `[[flows]]`: from values to checked entries of traffic.

use crate::arrivals::{ArrivalPattern, ArrivalRate, Arrivals, PageLoads, Pause, mean_of};
use crate::client::Client;
use crate::data::{DataFile, Files};
use crate::datagrams::{Datagrams, Given};
use crate::error::{Error, listed, suggest_or_file};
use crate::form::MAX_WINDOW;
use crate::keys::{FLOWS, MAX_FLOWS, WEIGHT};
use crate::memory::wire_bytes;
use crate::model::{ControlFiles, Flows, Header, InitialWindow, Link, Probes, Run, TrafficModel, rate_of};
use crate::node::{Node, Table, Value};
use crate::own;
use crate::packet::FULL_BYTES;
use crate::preset::{self, Preset, in_order};
use crate::rows;
use crate::sizes::Sizes;
use crate::stack::{SendBuffer, Stack};
use crate::units::S;
use crate::units::{Range, Size, Unit};
use queuewright_cca::Kind;
use queuewright_cca::own::is_file;
use std::collections::HashSet;

/// Most ports that a flow's packets and acknowledgements cross together.
pub(crate) const MAX_WAY: usize = 254;
/// Most arrivals to expect in a run.
const MAX_ARRIVALS: u64 = 10_000_000;

/// Every entry.
pub(crate) fn all_flows(node: &Node, ports: &[Link], run: &Run, files: &Files) -> Result<Vec<Flows>, Error> {
    let items = node.list("one or more tables [[flows]]")?;
    if items.is_empty() {
        return Err(node.error("no flows; write at least one table [[flows]]"));
    }
    let mut all: Vec<Flows> = Vec::with_capacity(items.len());
    let mut most = 0;
    let mut names = HashSet::new();
    for item in items {
        let entry = entry(item, ports, run, files)?;
        most += entry.count.max;
        if most > MAX_FLOWS {
            return Err(item
                .entry("count")
                .error(format!("{most} flows with this entry; at most {MAX_FLOWS} in a scenario")));
        }
        if let Some(name) = &entry.name
            && !names.insert(name.clone())
        {
            return Err(item.entry("name").error("another entry has this name already"));
        }
        all.push(entry);
    }
    Ok(all)
}

/// An entry, or what a file makes of it.
fn entry(node: &Node, ports: &[Link], run: &Run, files: &Files) -> Result<Flows, Error> {
    let t = node.table(&FLOWS)?;
    let read = |node: &Node| flows(node, ports, run, files);
    match t.get("file") {
        Some(file) => rows::entry(&t, file, files, &read),
        None => read(node),
    }
}

fn flows(node: &Node, ports: &[Link], run: &Run, files: &Files) -> Result<Flows, Error> {
    let t = node.table(&FLOWS)?;
    let path = path(&t, ports)?;
    let reverse_path = reverse_path(&t, ports, &path)?;
    if path.len() + reverse_path.len() > MAX_WAY {
        let key = if reverse_path.is_empty() { "ports" } else { "reverse_ports" };
        return Err(t.node.entry(key).error(format!(
            "{} ports on this flow's forward and reverse paths; at most {MAX_WAY}",
            path.len() + reverse_path.len()
        )));
    }
    let delay = |path: &[u32]| path.iter().map(|&p| ports[p as usize].delay_ns).sum::<u64>();
    let delay_ns = delay(&path).max(delay(&reverse_path));
    let (mut traffic, size_file, control_files) = traffic_model(&t, run, files)?;
    let rtt_ns = match t.span_if("rtt")? {
        None if matches!(traffic, TrafficModel::Tcp { .. }) => {
            return Err(
                t.missing("rtt", "the round-trip time without queues, such as \"20ms\" or \"20ms..80ms\"")
            );
        }
        // Nothing comes back to a UDP sender: its packets only cross the link.
        None => Range::one(2 * delay_ns),
        Some(range) if range.min < 2 * delay_ns => {
            let whose = if ports.len() == 1 { "link.delay" } else { "the delay of its ports" };
            return Err(node.entry("rtt").error(format!(
                "shorter than twice {whose} ({}), which every packet and its \
                 acknowledgement need",
                Unit::Time.show(delay_ns)
            )));
        }
        Some(range) => range,
    };
    let start_ns = t.span("start")?;
    if start_ns.max >= run.duration_ns {
        return Err(node.entry("start").error(format!(
            "flows must start before the run ends (run.duration = \"{}\")",
            Unit::Time.show(run.duration_ns)
        )));
    }
    let stop_ns = t.span_if("stop")?;
    if stop_ns.is_some_and(|stop| stop.min <= start_ns.max) {
        return Err(node.entry("stop").error(format!(
            "flows must stop after they start (start = \"{}\")",
            Unit::Time.show_range(start_ns)
        )));
    }
    let jitter_ns = t.span("jitter")?;
    let arrival = arrival_pattern(&t, &mut traffic, &ports[path[0] as usize], run, files)?;
    let duration = Pause::read_if(&t, "duration")?;
    Ok(Flows {
        name: t.get("name").map(Node::name).transpose()?,
        count: t.span("count")?,
        rows: None,
        traffic,
        size_file,
        control_files,
        arrival,
        path,
        reverse_path,
        rtt_ns,
        start_ns,
        stop_ns,
        duration,
        access_bps: t.span_if("access")?,
        jitter_ns,
        header: Header {
            source: t.span_if("source")?,
            destination: t.span_if("destination")?,
            dscp: t.get("dscp").map_or(Ok(0), Node::dscp)?,
        },
        probes: Probes::read(&t, files)?,
    })
}

/// The ports that a flow crosses, in order; the only one if there is no other.
fn path(t: &Table<'_>, ports: &[Link]) -> Result<Vec<u32>, Error> {
    let names: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
    let Some(node) = t.get("ports") else {
        return match ports {
            [_] => Ok(vec![0]),
            _ => Err(t.missing("ports", &format!("the ports it crosses, such as [\"{}\"]", names[0]))),
        };
    };
    let path = named(node.items(), &names, &[])?;
    if path.is_empty() {
        return Err(node.error(format!("no port; write at least one, such as [\"{}\"]", names[0])));
    }
    Ok(path)
}

/// The ports that a flow's acknowledgements cross, none of them on its way there.
fn reverse_path(t: &Table<'_>, ports: &[Link], forward_path: &[u32]) -> Result<Vec<u32>, Error> {
    let Some(node) = t.get("reverse_ports") else { return Ok(Vec::new()) };
    if t.get("cca").is_none() {
        return Err(node.key_error("belongs to TCP flows (cca); nothing comes back to a UDP sender"));
    }
    let names: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
    named(node.items(), &names, forward_path)
}

/// Ports by their names, each once and not among those already crossed.
fn named(items: &[Node], names: &[&str], crossed: &[u32]) -> Result<Vec<u32>, Error> {
    let mut path = Vec::with_capacity(items.len());
    for item in items {
        let name = item.word("a port", names)?;
        let at = names.iter().position(|n| *n == name).unwrap_or(0) as u32;
        if path.contains(&at) || crossed.contains(&at) {
            return Err(item.error("a flow crosses a port once"));
        }
        path.push(at);
    }
    Ok(path)
}

/// What each flow sends, the file that sizes are out of, and those of congestion controls.
fn traffic_model(
    t: &Table<'_>,
    run: &Run,
    files: &Files,
) -> Result<(TrafficModel, Option<DataFile>, ControlFiles), Error> {
    let kinds = || std::iter::once("cca").chain(Datagrams::names());
    let given: Vec<(&str, &Node)> = kinds().filter_map(|k| Some((k, t.get(k)?))).collect();
    let (key, one) = match given.as_slice() {
        [] => {
            let written = Datagrams::WRITTEN.iter().map(|(key, value, _)| format!("{key} = \"{value}\""));
            return Err(t.missing(
                "cca",
                &format!("a congestion control, such as \"cubic\" (or, for UDP, {})", listed(written, "or")),
            ));
        }
        [(_, first), (_, second), ..] => {
            return Err(second.key_error(format!(
                "a flow has one of {}, and {} is there already",
                listed(kinds(), "and"),
                first.key
            )));
        }
        [one] => *one,
    };
    if t.get("cca").is_some() {
        let rated = listed(Datagrams::with_rate(), "or");
        let full = format!("belongs to UDP flows ({rated}); TCP's full packets are {FULL_BYTES}b");
        t.not_with(&["packet"], &full)?;
        t.not_with(&["duration"], "belongs to UDP flows; a TCP flow has a size, or goes on until stop")?;
        let mut control_files = Vec::new();
        let ccas = ccas(one, files, &mut control_files)?;
        let bps = t.span_if("rate")?;
        match (ccas.iter().find(|(kind, _)| kind.needs_rate()), t.get("rate")) {
            (Some((kind, _)), None) => {
                let what = format!("the rate that {} sends at, such as \"20mbit\"", kind.name());
                return Err(t.missing("rate", &what));
            }
            (None, Some(n)) => {
                return Err(n.key_error(
                    "belongs to brutal, which sends at a set rate; other congestion controls find theirs",
                ));
            }
            _ => {}
        }
        let (ecn, l4s) = t.get("ecn").map_or(Ok((false, false)), Node::ecn)?;
        let (size, file) = Sizes::read_if(t, files)?;
        let stack = stack(t, run)?;
        let traffic = TrafficModel::Tcp {
            stack,
            ccas,
            bps,
            size,
            initial_window: t.get("initial_window").map(initial_window).transpose()?,
            ecn,
            l4s,
            send_buffer: send_buffer(t, stack)?,
            client: Client::read(t)?,
        };
        return Ok((traffic, file, control_files));
    }
    t.not_with(
        &[
            "size",
            "ecn",
            "initial_window",
            "wmem",
            "notsent_lowat",
            "repeat",
            "pages",
            "requests",
            "video",
            "probes",
            "stack",
        ],
        "belongs to TCP flows (cca); a UDP flow sends from start to stop, or for its duration",
    )?;
    match Datagrams::read(key, t)? {
        Some(datagrams) => Ok((TrafficModel::Datagrams(datagrams), None, Vec::new())),
        None => Err(one.key_error("not a kind of traffic")),
    }
}

impl Given for Table<'_> {
    fn one(&self, key: &str) -> Result<u64, Error> {
        self.one(key)
    }

    fn span(&self, key: &str) -> Result<Range, Error> {
        self.span(key)
    }

    fn word(&self, key: &str, what: &str) -> Result<&'static str, Error> {
        self.word(key, what)
    }

    fn not_with(&self, keys: &[&str], why: &str) -> Result<(), Error> {
        self.not_with(keys, why)
    }
}

/// Whose TCP an entry's flows have, or QUIC. What QUIC does not have here is refused.
fn stack(t: &Table<'_>, run: &Run) -> Result<Stack, Error> {
    let stack = match t.get("stack") {
        None => run.stack,
        Some(n) => Stack::from_name(n.word("a stack", &Stack::NAMES)?).unwrap_or(run.stack),
    };
    if stack == Stack::Quic {
        let why = "does not go with stack = \"quic\", whose flows send by themselves; give these flows stack = \"linux\"";
        t.not_with(&["requests", "video"], why)?;
        if t.flag("probes").unwrap_or(true) {
            t.not_with(&["probes"], "does not go with stack = \"quic\"; probes measure beside TCP flows")?;
        }
    }
    Ok(stack)
}

/// `wmem` and `notsent_lowat`, which Linux has.
fn send_buffer(t: &Table<'_>, stack: Stack) -> Result<SendBuffer, Error> {
    let bytes = |key: &str| match (t.get(key), stack) {
        (Some(n), Stack::Ns3) => Err(n.key_error("is Linux's; stack = \"ns3\" has a send buffer of 5 MiB")),
        (Some(n), Stack::Quic) => Err(n.key_error("is of Linux's TCP; stack = \"quic\" has no send buffer")),
        _ => Ok(t.one_if(key)?.map(|bytes| bytes as u32)),
    };
    Ok(SendBuffer { wmem_bytes: bytes("wmem")?, notsent_lowat_bytes: bytes("notsent_lowat")? })
}

/// `"10p"`, or `"all"` of a flow.
fn initial_window(node: &Node) -> Result<InitialWindow, Error> {
    if matches!(&node.value, Value::Text(text) if text == "all") {
        return Ok(InitialWindow::All);
    }
    match node.size() {
        Ok(Size::Packets(n)) if (1..=MAX_WINDOW).contains(&n) => Ok(InitialWindow::Packets(n)),
        _ => Err(node
            .error(format!("not a window; write 1p to {MAX_WINDOW}p, or \"all\" that the flow has to send"))),
    }
}

/// How the flows of an entry come. Those of pages get their sizes from there.
fn arrival_pattern(
    t: &Table<'_>,
    traffic: &mut TrafficModel,
    port: &Link,
    run: &Run,
    files: &Files,
) -> Result<ArrivalPattern, Error> {
    let TrafficModel::Tcp { size, .. } = traffic else { return udp_arrival_pattern(t, traffic, port, run) };
    let (repeat, arrivals, pages) = (t.get("repeat"), t.get("arrivals"), t.get("pages"));
    if repeat.is_none() && arrivals.is_none() && pages.is_none() {
        return Ok(ArrivalPattern::Once);
    }
    if let (Some(_), Some(other)) = (repeat, arrivals.or(pages)) {
        return Err(
            other.key_error("flows follow one another (repeat), or come by themselves; write one of the two")
        );
    }
    if let (None, Some(n)) = (repeat, t.get("count")) {
        return Err(n.key_error("does not belong to flows that arrive: arrivals or pages say how many come"));
    }
    let pages = pages.map(|n| PageLoads::read(n, files, run.duration_ns)).transpose()?;
    match (&pages, &size) {
        (Some(_), Some(_)) => {
            let n = t.get("size").unwrap_or(t.node);
            return Err(n.key_error("the flows of a page have the sizes that the page gives them"));
        }
        (None, None) => {
            return Err(t.missing(
                "size",
                "what each flow sends, such as \"10kb..1mb\": flows that come have to end",
            ));
        }
        _ => {}
    }
    if let Some(pause) = Pause::read_if(t, "repeat")? {
        return Ok(ArrivalPattern::Repeat(pause));
    }
    let arrivals = match arrivals {
        None => None,
        Some(n) => {
            if let Some(at) = pages.as_ref().filter(|b| !b.at_ns.is_empty()).and(t.get("pages")) {
                return Err(
                    at.error("pages are loaded at set times (at) or arrive (arrivals); write one of the two")
                );
            }
            let mean = mean_of(size.as_ref(), pages.as_ref().map(|b| &b.pages));
            Some(arrive(n, wire_bytes(mean, port), port, run)?)
        }
    };
    match (pages, arrivals) {
        (Some(b), arrivals) if arrivals.is_some() || !b.at_ns.is_empty() => {
            Ok(ArrivalPattern::Pages(PageLoads { arrivals, ..b }))
        }
        (None, Some(a)) => Ok(ArrivalPattern::Arrive(a)),
        _ => {
            let n = t.get("pages").unwrap_or(t.node);
            Err(n.error("when? write at = [\"10s\", \"20s\"] in it, or arrivals = \"0.1/s\" beside it"))
        }
    }
}

/// Arrivals of flows that bring so many bytes each, on average and as the link counts them.
fn arrive(n: &Node, bytes: f64, port: &Link, run: &Run) -> Result<Arrivals, Error> {
    let rate = ArrivalRate::read(n)?;
    let gap_ns = rate.gap_ns(bytes, rate_of(&port.rate));
    if gap_ns == 0 || run.duration_ns / gap_ns > MAX_ARRIVALS {
        return Err(n.error(format!(
            "more than {MAX_ARRIVALS} arrivals in {}; write fewer, or a shorter run",
            Unit::Time.show(run.duration_ns)
        )));
    }
    Ok(Arrivals { rate, gap_ns })
}

/// How UDP flows come: those that arrive last for a drawn duration.
fn udp_arrival_pattern(
    t: &Table<'_>,
    traffic: &TrafficModel,
    port: &Link,
    run: &Run,
) -> Result<ArrivalPattern, Error> {
    let Some(n) = t.get("arrivals") else { return Ok(ArrivalPattern::Once) };
    if let Some(n) = t.get("count") {
        return Err(n.key_error("does not belong to flows that arrive: arrivals say how many come"));
    }
    let duration = Pause::read_if(t, "duration")?.ok_or_else(|| {
        t.missing(
            "duration",
            "how long each lasts, such as { exponential = \"180s\" }: flows that come have to end",
        )
    })?;
    let TrafficModel::Datagrams(datagrams) = traffic else { return Ok(ArrivalPattern::Once) };
    let (bps, packet_bytes) = (datagrams.bps(), datagrams.packet_bytes());
    let bps = bps.min.midpoint(bps.max);
    let wire = f64::from(packet_bytes + port.overhead_bytes) / f64::from(packet_bytes);
    let seconds = duration.mean() / S as f64;
    Ok(ArrivalPattern::Arrive(arrive(n, bps as f64 / 8.0 * seconds * wire, port, run)?))
}

/// One congestion control, or a table of whole-number weights.
fn ccas(node: &Node, files: &Files, control_files: &mut ControlFiles) -> Result<Vec<(Kind, u32)>, Error> {
    let names = preset::names();
    let mut of_file = |node: &Node| {
        let (kind, file) = own::read_control(node, files)?;
        control_files.push((kind, file));
        Ok::<_, Error>(kind)
    };
    let Value::Table(entries) = &node.value else {
        let Value::Text(_) = &node.value else {
            return Err(node.error(format!(
                "not a congestion control; write one of {} in quotes, or weights such as \
                 {{ cubic = 3, bbr = 1 }}",
                names.join(", ")
            )));
        };
        if let Value::Text(name) = &node.value
            && is_file(name)
        {
            return Ok(vec![(of_file(node)?, 1)]);
        }
        let name = node.word("a congestion control", &names).map_err(|e| {
            let without_folder = matches!(&node.value, Value::Text(name) if name.ends_with(".h"));
            match (&node.value, without_folder) {
                (Value::Text(name), true) => node.error(format!(
                    "not a congestion control; for a file of your own write its folder, too: \"./{name}\""
                )),
                _ => e,
            }
        })?;
        if let Some(preset) = Preset::from_name(name) {
            return Ok(in_order(preset.weights.to_vec()));
        }
        return Ok(Kind::from_name(name).map(|k| (k, 1)).into_iter().collect());
    };
    let mut ccas = Vec::new();
    for (name, weight) in entries {
        let kind = match is_file(name) {
            true => Some(of_file(&Node { value: Value::Text(name.clone()), ..weight.clone() })?),
            false => Kind::from_name(name),
        };
        let Some(kind) = kind else {
            if Preset::from_name(name).is_some() {
                return Err(weight.key_error(format!(
                    "a table of weights itself; write cca = \"{name}\", in an entry of its own"
                )));
            }
            let kinds = Kind::ALL.iter().map(|k| k.name());
            return Err(weight.key_error(format!("not a congestion control{}", suggest_or_file(name, kinds))));
        };
        let share = weight.one(&WEIGHT).map_err(|_| {
            weight
                .error("not a weight; write a whole number from 0 to 1000000, such as { cubic = 3, bbr = 1 }")
        })? as u32;
        if ccas.iter().any(|(other, _): &(Kind, u32)| other.name() == kind.name()) {
            return Err(
                weight.key_error(format!("another control of this table is called {}, too", kind.name()))
            );
        }
        if share > 0 {
            ccas.push((kind, share));
        }
    }
    if ccas.is_empty() {
        return Err(node.error("no congestion control with a weight above 0"));
    }
    if let [(_, weight)] = ccas.as_mut_slice() {
        *weight = 1;
    }
    Ok(in_order(ccas))
}
