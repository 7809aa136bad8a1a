//! From a tree of values to a checked scenario.

use crate::data::{DataFile, Files};
use crate::discipline::{self, ScenarioContext};
use crate::error::{Error, Place};
use crate::form::{MAX_BUFFER, MAX_TEXT};
use crate::impairments::Impairments;
use crate::keys::{LINK, PORTS, QUEUE, RUN, SEED, SHARED, STEP, TOP};
use crate::limits;
use crate::model::{
    Discipline, Flows, Link, LinkRate, Places, Run, Scenario, TraceFile, TrafficModel, largest_packet,
};
use crate::node::{Node, Table, Value};
use crate::packet::{FULL_BYTES, SEGMENT_BYTES};
use crate::rate::{Schedule, Shaper};
use crate::renamed::Warnings;
use crate::stack::Stack;
use crate::trace;
use crate::traffic::all_flows;
use crate::units::{MILLION, S, Size, Unit};
use std::collections::{BTreeMap, HashSet};

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;
/// Most output ports.
const MAX_PORTS: usize = 256;
/// Most runs of a scenario.
const MAX_RUNS: usize = 10_000;
/// Most steps of a schedule.
const MAX_STEPS: usize = 10_000;
/// Most flows over all runs: what is kept in memory at once.
const MAX_ALL_FLOWS: u64 = 20_000_000;
/// Segments are numbered with 32 bits.
const MAX_SEGMENTS: u128 = 1 << 32;

/// Reads the whole tree.
pub(crate) fn scenario(root: &Node, files: &Files) -> Result<Scenario, Error> {
    let files = &files.unread();
    let top = root.table(&TOP)?;
    let run_node = top.need("run")?;
    let run = run(run_node)?;
    let around = ScenarioContext { files, duration_ns: run.duration_ns };
    let flows_node = top.need("flows")?;
    let port_nodes = port_nodes(&top)?;
    let ports = all_ports(&port_nodes, top.get("shared").is_some(), run.stack, around)?;
    let shared = shared(&top, &port_nodes, &ports)?;
    let flows = all_flows(flows_node, &ports, &run, files)?;
    for (node, port) in port_nodes.iter().zip(&ports) {
        check_buffer(node, port, &flows)?;
        check_length(&top, port, &flows, &run)?;
    }

    let queue = top.need("queue")?.table(&QUEUE)?;
    let node = queue.need("disciplines")?;
    let disciplines = all_disciplines(node, around)?;
    check_ports(&port_nodes, &ports, node, &disciplines)?;
    check_names(node, ports.iter().filter_map(|p| p.discipline.as_ref()).chain(&disciplines), &flows)?;
    let most: u64 = flows.iter().map(|f| f.count.max).sum();
    let runs = disciplines.len() * run.seeds.len();
    if runs > MAX_RUNS || most * runs as u64 > MAX_ALL_FLOWS {
        return Err(node.key_error(format!(
            "disciplines x seeds make {runs} runs of up to {most} flows; at most {MAX_RUNS} runs \
             and {MAX_ALL_FLOWS} flows over all runs are made at once"
        )));
    }

    let mut places = BTreeMap::new();
    let mut remember = |name: String, node: &Node, found: String| {
        places.insert(name, (node.place.clone(), node.key.clone(), found));
    };
    let buffers = port_nodes.iter().enumerate().map(|(i, n)| (format!("ports[{i}].buffer"), *n));
    for (name, table) in buffers.chain(top.get("shared").map(|n| ("shared.buffer".into(), n))) {
        let buffer = table.entry("buffer");
        let written = !std::ptr::eq(buffer, table);
        remember(name, buffer, if written { buffer.value.show() } else { String::new() });
    }
    for (i, port) in port_nodes.iter().enumerate() {
        let discipline = port.entry("discipline");
        discipline.walk(&format!("ports[{i}].discipline"), &mut |name, node| {
            remember(name, node, node.value.show());
        });
    }
    node.walk("disciplines", &mut |name, node| remember(name, node, node.value.show()));
    for (i, port) in port_nodes.iter().enumerate() {
        remember(format!("ports[{i}]"), port, String::new());
        for key in LINK.names().into_iter().filter(|key| *key != "buffer") {
            let entry = port.entry(key);
            if !std::ptr::eq(entry, *port) {
                remember(format!("ports[{i}].{key}"), entry, entry.value.show());
            }
        }
    }
    for (name, node) in [("flows", flows_node), ("run", run_node)] {
        node.walk(name, &mut |name, node| remember(name, node, node.value.show()));
    }
    let scenario = Scenario {
        name: top.get("name").map(Node::name).transpose()?,
        description: top.get("description").map(description).transpose()?,
        ports,
        shared,
        flows,
        disciplines,
        run,
        places: Places(places),
        warnings: Warnings::default(),
    };
    scenario.check_memory()?;
    Ok(scenario)
}

fn description(node: &Node) -> Result<String, Error> {
    let text = node.text("a text in quotes")?;
    if text.len() > MAX_TEXT {
        return Err(node.error(format!("too long; at most {MAX_TEXT} bytes")));
    }
    Ok(text.to_string())
}

fn run(node: &Node) -> Result<Run, Error> {
    let t = node.table(&RUN)?;
    let duration_ns = t.one("duration")?;
    // A sixth, in whole milliseconds.
    let mut warmup_ns = duration_ns / 6 / MS * MS;
    if let Some(ns) = t.one_if("warmup")? {
        warmup_ns = ns;
        if warmup_ns >= duration_ns {
            return Err(node.entry("warmup").error(format!(
                "the warm-up is cut off the run, so it must be shorter than run.duration ({}); write both",
                Unit::Time.show(duration_ns)
            )));
        }
    }
    let stack = Stack::from_name(t.word("stack", "a stack")?).unwrap_or(Stack::Linux);
    let sample_ns = match t.one_if("sample")? {
        None => Run::usual_sample_ns(duration_ns),
        Some(ns) if duration_ns / ns > MILLION => {
            return Err(node.entry("sample").error(format!(
                "more than a million samples in {}; write a longer interval",
                Unit::Time.show(duration_ns)
            )));
        }
        Some(ns) => ns,
    };
    let series_flows = t.one("series_flows")? as u32;
    let seeds = match t.get("seeds") {
        None => vec![1],
        Some(n) => seeds(n)?,
    };
    Ok(Run { duration_ns, warmup_ns, seeds, stack, sample_ns, series_flows })
}

/// Seeds: a whole number, a range `"1..3"` (both ends included) or a list of either.
fn seeds(node: &Node) -> Result<Vec<u64>, Error> {
    let mut seeds = Vec::new();
    for item in node.items() {
        let range = item.span(&SEED)?;
        if range.max - range.min >= MAX_RUNS as u64 {
            return Err(item.error(format!("at most {MAX_RUNS} seeds")));
        }
        for seed in range.min..=range.max {
            if seeds.len() >= MAX_RUNS {
                return Err(item.error(format!("at most {MAX_RUNS} seeds")));
            }
            seeds.push(seed);
        }
    }
    if seeds.is_empty() {
        return Err(node.error("no seed; write at least one, such as [1, 2, 3]"));
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
        return Err(node.error(format!("seed {} is there twice; the same seed gives the same run", twice[0])));
    }
    Ok(seeds)
}

/// `[link]`, or each of `[[ports]]`.
fn port_nodes<'a>(top: &Table<'a>) -> Result<Vec<&'a Node>, Error> {
    match (top.get("link"), top.get("ports")) {
        (None, None) => Err(top.missing("link", "a table [link] with rate, delay and buffer")),
        (Some(link), None) => Ok(vec![link]),
        (Some(link), Some(_)) => Err(link.key_error(
            "a scenario has one [link] or several [[ports]], and ports is there already; \
             write rate, delay and buffer with each port",
        )),
        (None, Some(ports)) => match ports.list("one or more tables [[ports]]")? {
            [] => Err(ports.error("no ports; write at least one table [[ports]]")),
            many if many.len() > MAX_PORTS => {
                Err(ports.error(format!("{} ports; at most {MAX_PORTS}", many.len())))
            }
            many => Ok(many.iter().collect()),
        },
    }
}

fn all_ports(
    nodes: &[&Node],
    shares: bool,
    stack: Stack,
    around: ScenarioContext<'_>,
) -> Result<Vec<Link>, Error> {
    let mut ports: Vec<Link> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let port = port(node, shares, stack, around)?;
        if ports.iter().any(|p| p.name == port.name) {
            return Err(node.entry("name").error("another port has this name already"));
        }
        ports.push(port);
    }
    Ok(ports)
}

/// `[shared]`: the buffer of every port that has none of its own. Only ports of a list share.
fn shared(top: &Table<'_>, nodes: &[&Node], ports: &[Link]) -> Result<Option<Size>, Error> {
    let Some(node) = top.get("shared") else { return Ok(None) };
    let n = node.table(&SHARED)?.need("buffer")?;
    if top.get("ports").is_none() {
        return Err(node.key_error("one [link] shares its buffer with nobody; write [[ports]]"));
    }
    if ports.iter().all(|p| p.buffer.is_some()) {
        let key = nodes[0].entry("buffer");
        return Err(key.error("every port has a buffer of its own; leave out those of the ports that share"));
    }
    match n.size()? {
        Size::Packets(_) => Err(n.error("ports share bytes; write a size such as \"500kb\", or bdp")),
        Size::Bytes(0) | Size::Bdp(0) => Err(n.error("a buffer of 0: nothing would pass")),
        size => too_large(n, size).map_or(Ok(Some(size)), Err),
    }
}

/// The error of a buffer that is larger than any may be.
fn too_large(n: &Node, size: Size) -> Option<Error> {
    let (bytes, packets, bdp) = MAX_BUFFER;
    let most = match size {
        Size::Bytes(b) if b > bytes => Size::Bytes(bytes),
        Size::Packets(p) if p > packets => Size::Packets(packets),
        Size::Bdp(m) if m > bdp => Size::Bdp(bdp),
        _ => return None,
    };
    Some(n.error(format!("too large; at most {}", most.show())))
}

fn port(node: &Node, shares: bool, stack: Stack, around: ScenarioContext<'_>) -> Result<Link, Error> {
    let listed = node.key.starts_with("ports");
    let t = node.table(if listed { &PORTS } else { &LINK })?;
    let name = if listed { t.need("name")?.name()? } else { "bottleneck".into() };
    let given: Vec<&Node> = ["rate", "schedule", "trace"].iter().filter_map(|k| t.get(k)).collect();
    let rate = match given.as_slice() {
        [] => {
            return Err(t.missing("rate", "the link's rate, such as \"100mbit\" (or schedule, or trace)"));
        }
        [first, second, ..] => {
            return Err(second.key_error(format!(
                "a link has one of rate, schedule and trace, and {} is there already",
                first.key
            )));
        }
        [_] if t.get("rate").is_some() => LinkRate::Constant(t.one("rate")?),
        [one] if t.get("schedule").is_some() => LinkRate::Schedule(schedule(one, &t)?.into()),
        [one] => LinkRate::Trace(trace_file(one, around.files)?),
    };
    if let (Some(n), LinkRate::Constant(_) | LinkRate::Trace(_)) = (t.get("period"), &rate) {
        return Err(n.key_error("belongs to a schedule: when it begins anew; a trace repeats by itself"));
    }
    if let (Some(n), LinkRate::Schedule(_) | LinkRate::Trace(_)) = (t.get("burst"), &rate) {
        return Err(n.key_error("a burst needs a rate; a schedule or trace has none"));
    }
    let burst_bytes = t.one_if("burst")?;
    let shaper = match t.word("shaper", "a shaper")? {
        "tbf" => Shaper::Tbf,
        _ => Shaper::Htb,
    };
    if let (Some(n), None) = (t.get("shaper"), burst_bytes) {
        return Err(n.key_error(
            "belongs to a burst: how packets leave a token bucket; without one the link is a wire",
        ));
    }
    let police = t.flag("police")?;
    let late_marks = t.get("late_marks").map(Node::bool).transpose()?;
    if police && burst_bytes.is_some() {
        return Err(node
            .entry("police")
            .key_error("does not go with burst: how much may come at once is what the discipline decides"));
    }
    if police && shares && t.get("buffer").is_none() {
        return Err(node.entry("police").key_error("does not go with a shared buffer: no packet waits here"));
    }
    let delay_ns = t.one("delay")?;
    let buffer = match t.get("buffer") {
        None if shares => None,
        None => Some(Size::Bdp(2 * MILLION)),
        Some(n) => Some(n.size()?),
    };
    let overhead = if listed { None } else { t.one_if("overhead")? };
    let overhead_bytes = overhead.map_or(stack.overhead_bytes(), |bytes| bytes as u32);
    if shaper == Shaper::Tbf && buffer.is_none() {
        return Err(node.entry("shaper").key_error(
            "tbf does not go with a shared buffer, which no qdisc of Linux's has; write a buffer",
        ));
    }
    let longest = u64::from(FULL_BYTES + overhead_bytes);
    if let (Shaper::Tbf, Some(n), Some(burst)) = (shaper, t.get("burst"), burst_bytes)
        && burst < longest
    {
        return Err(n.error(format!(
            "a packet may have {longest} bytes, and with shaper = \"tbf\" one that is longer than the burst never leaves; write {longest}b or more"
        )));
    }
    let own = if listed { t.get("discipline") } else { None };
    let discipline = own.map(|n| discipline::read(n, around)).transpose()?.map(|(own, _)| own);
    let impairments = Impairments::read(&t)?;
    Ok(Link {
        name,
        rate,
        delay_ns,
        impairments,
        buffer,
        overhead_bytes,
        burst_bytes,
        shaper,
        police,
        late_marks,
        discipline,
    })
}

fn schedule(node: &Node, t: &Table<'_>) -> Result<Schedule, Error> {
    const FORM: &str = "pairs of a time and a rate, such as [[\"0s\", \"100mbit\"], [\"15s\", \"50mbit\"]]";
    let items = node.list(FORM)?;
    if items.len() > MAX_STEPS {
        return Err(node.error(format!("at most {MAX_STEPS} steps; a trace may have more")));
    }
    let mut steps: Vec<(u64, u64)> = Vec::with_capacity(items.len());
    for item in items {
        let [at, rate] = item.list(FORM)? else {
            return Err(item.error(format!("not a pair; a schedule is {FORM}")));
        };
        let at_ns = at.one(&STEP.0)?;
        match steps.last() {
            None if at_ns != 0 => {
                return Err(at.error("the first rate of a schedule holds from \"0s\""));
            }
            Some((before, _)) if at_ns <= *before => {
                return Err(at.error(format!(
                    "not after the step before it ({}); the times of a schedule rise",
                    Unit::Time.show(*before)
                )));
            }
            _ => {}
        }
        // 0bit is an outage.
        let bps = rate.one(&STEP.1)?;
        if bps != 0 && bps < 1000 {
            return Err(rate.error("out of range; allowed: 0bit (an outage), 1kbit to 1000gbit"));
        }
        steps.push((at_ns, bps));
    }
    if steps.iter().all(|(_, bps)| *bps == 0) {
        return Err(node.error(format!("a schedule needs a rate above 0; write {FORM}")));
    }
    let period_ns = t.one_if("period")?;
    match steps.last() {
        Some((last, _)) if period_ns.is_some_and(|ns| ns <= *last) => {
            Err(t.node.entry("period").error(format!(
                "not after the schedule's last step ({}): it begins anew when that has had its time",
                Unit::Time.show(*last)
            )))
        }
        _ => Ok(Schedule { steps, period_ns }),
    }
}

fn trace_file(node: &Node, files: &Files) -> Result<TraceFile, Error> {
    let (file, trace) = files.once(node, || {
        let (file, bytes) = DataFile::read(node, files, "a trace file", limits::TRACE.bytes)?;
        let trace = trace::parse(&bytes, &file.given)?;
        let bytes = trace.opportunities_ns.len() * size_of::<u64>();
        Ok((file, trace, bytes))
    })?;
    Ok(TraceFile { file, trace })
}

fn all_disciplines(node: &Node, around: ScenarioContext<'_>) -> Result<Vec<Discipline>, Error> {
    let items =
        node.list("names or tables, such as [\"codel\", { name = \"static\", threshold = \"1bdp\" }]")?;
    if items.is_empty() {
        return Err(node.error("no discipline; write at least one, such as [\"codel\"]"));
    }
    if items.len() > MAX_RUNS {
        return Err(node.error(format!("at most {MAX_RUNS} disciplines")));
    }
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        all.push(discipline::read(item, around)?);
    }
    // A discipline that is there once is called by its name; variants of one are
    // called by what sets them apart.
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|(d, _): &(Discipline, bool)| *counts.entry(d.info.name).or_default() += 1);
    for (d, labelled) in &mut all {
        if !*labelled && counts[d.info.name] > 1 {
            d.label = discipline::describe(d);
        }
    }
    let mut labels = HashSet::new();
    for (i, (d, _)) in all.iter().enumerate() {
        if !labels.insert(d.label.as_str()) {
            let write = match items[i].place {
                Place::Flag => format!("{}:label=another", d.written()),
                Place::File { .. } | Place::Value => {
                    format!("{{ name = \"{}\", label = \"another\" }}", d.written())
                }
            };
            let message = format!("\"{}\" is there twice; give one a label of its own: {write}", d.label);
            return Err(items[i].error(message));
        }
    }
    Ok(all.into_iter().map(|(d, _)| d).collect())
}

/// Two files that are called the same: results could not tell them apart.
fn check_names<'a>(
    node: &Node,
    all: impl Iterator<Item = &'a Discipline>,
    flows: &'a [Flows],
) -> Result<(), Error> {
    let disciplines = all.filter_map(|d| Some((d.info.name, d.file.as_ref()?, "disciplines")));
    let controls = flows.iter().flat_map(|entry| &entry.control_files);
    let controls = controls.map(|(kind, file)| (kind.name(), file, "congestion controls"));
    let mut files = BTreeMap::new();
    for (name, own, what) in disciplines.chain(controls) {
        let (first, before) = *files.entry(name).or_insert((own, what));
        if first.path != own.path {
            let what = if before == what { what } else { "files" };
            return Err(node.error(format!(
                "{} and {} are two {what} of one name; give one of the files another name",
                first.given, own.given
            )));
        }
    }
    Ok(())
}

/// Ports whose own discipline, or all of whose disciplines together, make no sense.
fn check_ports(
    nodes: &[&Node],
    ports: &[Link],
    compared: &Node,
    disciplines: &[Discipline],
) -> Result<(), Error> {
    let divides = |d: &Discipline| format!("{} divides a buffer that ports share", d.info.name);
    for (node, port) in nodes.iter().zip(ports) {
        if let (Some(own), Some(_)) = (&port.discipline, port.buffer)
            && own.info.needs_pool
        {
            return Err(node.entry("discipline").error(format!(
                "{}, and this port has one to itself; leave out its buffer, and write [shared]",
                divides(own)
            )));
        }
    }
    for (node, port) in nodes.iter().zip(ports).filter(|(_, p)| p.police) {
        let here = port.discipline.as_ref().map_or(disciplines, std::slice::from_ref);
        if let Some(other) = here.iter().find(|d| !d.info.polices) {
            let known: Vec<&str> = queuewright_aqm::registry()
                .iter()
                .filter(|info| info.polices)
                .map(|info| info.name)
                .collect();
            return Err(node.entry("police").error(format!(
                "{} looks at packets as they leave the queue, and with police none has waited in it; {} do not",
                other.info.name,
                known.join(", ")
            )));
        }
    }
    let mut theirs = ports.iter().filter(|p| p.discipline.is_none()).peekable();
    if theirs.peek().is_none() {
        return Err(compared.error(
            "compared at no port: each has a discipline of its own; leave out that of the port where these are \
             to be compared",
        ));
    }
    // One link alone is a device with one port, which may be of interest by itself.
    if ports.len() > 1
        && theirs.all(|p| p.buffer.is_some())
        && let Some(i) = disciplines.iter().position(|d| d.info.needs_pool)
    {
        let node = match &compared.value {
            Value::List(items) => items.get(i).unwrap_or(compared),
            _ => compared,
        };
        return Err(node.error(format!(
            "{}, and no port that it would run at shares one; write [shared], and leave out the buffer of the \
             ports that share",
            divides(&disciplines[i])
        )));
    }
    Ok(())
}

fn check_buffer(node: &Node, link: &Link, flows: &[Flows]) -> Result<(), Error> {
    let n = node.entry("buffer");
    let packet = largest_packet(flows, link.overhead_bytes);
    let Some(buffer) = link.buffer else { return Ok(()) };
    match buffer {
        Size::Bytes(bytes) if bytes < packet => {
            Err(n.error(format!("smaller than one packet on this link ({packet}b): nothing would pass")))
        }
        Size::Packets(0) => Err(n.error("a buffer of 0 packets: nothing would pass")),
        Size::Bdp(0) => Err(n.error("a buffer of 0: nothing would pass")),
        Size::Bdp(_) if flows.iter().all(|f| f.rtt_ns.max == 0) => Err(Error::new(
            n.place.clone(),
            if node.key == "link" { "link.buffer" } else { "buffer" },
            "a bandwidth-delay product needs a round-trip time, and no flow has one; \
             write bytes (\"45kb\") or packets (\"1000p\")",
        )),
        _ => too_large(n, buffer).map_or(Ok(()), Err),
    }
}

/// No flow may run out of segment numbers.
fn check_length(top: &Table<'_>, link: &Link, flows: &[Flows], run: &Run) -> Result<(), Error> {
    let duration = top.node.entry("run").entry("duration");
    let duration_ns = u128::from(run.duration_ns);
    let link_bits = match &link.rate {
        LinkRate::Constant(bps) => u128::from(*bps) * duration_ns / u128::from(S),
        LinkRate::Schedule(s) => {
            let fastest = s.steps.iter().map(|(_, bps)| *bps).max().unwrap_or(0);
            u128::from(fastest) * duration_ns / u128::from(S)
        }
        LinkRate::Trace(file) => {
            let periods = duration_ns / u128::from(file.trace.period_ns) + 1;
            periods * file.trace.opportunities_ns.len() as u128 * 12_000
        }
    };
    if link_bits / 8 / u128::from(SEGMENT_BYTES) >= MAX_SEGMENTS {
        return Err(duration.error(
            "the link could carry more than 2^32 segments in this time, more than a flow can \
             number; shorten the run or slow the link",
        ));
    }
    for (i, f) in flows.iter().enumerate() {
        if let TrafficModel::Datagrams(datagrams) = &f.traffic {
            let bits = u128::from(datagrams.bps().max) * duration_ns / u128::from(S);
            if bits / 8 / u128::from(datagrams.packet_bytes()) >= MAX_SEGMENTS {
                return Err(duration.error(format!(
                    "flows[{i}] would send more than 2^32 packets in this time; shorten the run \
                     or slow the flow"
                )));
            }
        }
    }
    Ok(())
}
