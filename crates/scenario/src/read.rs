//! From a tree of values to a checked scenario.

use crate::comes::{ArrivalRate, Arrivals, Burst, Comes, Pause};
use crate::discipline::{self, Around};
use crate::draw::rate_of;
use crate::error::{Error, Place, suggest};
use crate::model::{
    Discipline, Flows, InitialWindow, Link, LinkRate, Places, Run, Scenario, Sends, TraceFile,
};
use crate::node::{Node, Table, Value};
use crate::preset::{self, Preset};
use crate::sizes::Sizes;
use crate::source::mean_bytes;
use crate::spec::Stack;
use crate::trace;
use crate::units::{MILLION, Range, Size, Unit};
use queuewright_cca::Kind;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Nanoseconds in a second.
const S: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;
/// Fastest link or access link, bit/s.
const MAX_RATE: u64 = 1_000_000_000_000;
/// Longest run, ns: beyond it 2^53 ns would no longer be exact in JSON.
const MAX_TIME: u64 = 1_000_000 * S;
/// Longest base RTT, ns: Linux keeps eight times the RTT in 32 bits of microseconds.
const MAX_RTT: u64 = 60 * S;
/// Most flows in a scenario.
const MAX_FLOWS: u64 = 100_000;
/// Most output ports.
const MAX_PORTS: usize = 256;
/// Most runs of a scenario.
const MAX_RUNS: usize = 10_000;
/// Most flows over all runs: what is kept in memory at once.
const MAX_ALL_FLOWS: u64 = 20_000_000;
/// Largest seed: the largest whole number that every JSON reader keeps.
pub(crate) const MAX_SEED: u64 = (1 << 53) - 1;
/// Segments are numbered with 32 bits.
const MAX_SEGMENTS: u128 = 1 << 32;
/// Payload of a full segment with timestamps, bytes.
pub(crate) const SEGMENT: u64 = 1448;
/// Most arrivals to expect in a run.
const MAX_ARRIVALS: u64 = 10_000_000;
/// IP length of a full packet.
pub(crate) const PACKET: u32 = 1500;

const TOP_KEYS: &[&str] = &["name", "description", "link", "ports", "shared", "flows", "queue", "run"];
pub(crate) const LINK_KEYS: &[&str] = &["rate", "burst", "schedule", "trace", "delay", "buffer", "overhead"];
const PORT_KEYS: &[&str] = &["name", "rate", "burst", "schedule", "trace", "delay", "buffer", "discipline"];
pub(crate) const FLOW_KEYS: &[&str] = &[
    "name",
    "count",
    "cca",
    "cbr",
    "poisson",
    "rtt",
    "start",
    "stop",
    "access",
    "jitter",
    "size",
    "ecn",
    "rate",
    "packet",
    "ports",
    "initial_window",
    "repeat",
    "arrivals",
    "burst",
];
pub(crate) const RUN_KEYS: &[&str] = &["duration", "warmup", "seeds", "stack", "sample", "series_flows"];

/// Reads the whole tree.
pub(crate) fn scenario(root: &Node, base_dir: &Path) -> Result<Scenario, Error> {
    let top = root.table(TOP_KEYS)?;
    let run_node =
        top.get("run").ok_or_else(|| top.missing("run", "a table [run] with duration, warmup and seeds"))?;
    let run = run(run_node)?;
    let around = Around { base_dir, duration_ns: run.duration_ns };
    let flows_node = top.get("flows").ok_or_else(|| top.missing("flows", "one or more tables [[flows]]"))?;
    let port_nodes = port_nodes(&top)?;
    let ports = all_ports(&port_nodes, top.get("shared").is_some(), run.stack, around)?;
    let shared = shared(&top, &port_nodes, &ports)?;
    let flows = all_flows(flows_node, &ports, &run, base_dir)?;
    for (node, port) in port_nodes.iter().zip(&ports) {
        check_buffer(node, port, &flows)?;
        check_length(&top, port, &flows, &run)?;
    }

    let queue = top
        .get("queue")
        .ok_or_else(|| top.missing("queue", "a table [queue] with disciplines = [\"codel\"]"))?;
    let queue = queue.table(&["disciplines"])?;
    let node = queue
        .get("disciplines")
        .ok_or_else(|| queue.missing("disciplines", "a list of names, such as [\"codel\"]"))?;
    let disciplines = all_disciplines(node, around)?;
    check_ports(&port_nodes, &ports, node, &disciplines)?;
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
        let buffer = table_entry(table, "buffer");
        let written = !std::ptr::eq(buffer, table);
        remember(name, buffer, if written { buffer.value.show() } else { String::new() });
    }
    for (i, port) in port_nodes.iter().enumerate() {
        let discipline = table_entry(port, "discipline");
        discipline.walk(&format!("ports[{i}].discipline"), &mut |name, node| {
            remember(name, node, node.value.show());
        });
    }
    node.walk("disciplines", &mut |name, node| remember(name, node, node.value.show()));
    Ok(Scenario {
        name: top.get("name").map(Node::name).transpose()?,
        description: top.get("description").map(description).transpose()?,
        ports,
        shared,
        flows,
        disciplines,
        run,
        places: Places(places),
    })
}

/// A key's node, or the table's own if the key is left to its default.
fn table_entry<'a>(table: &'a Node, key: &str) -> &'a Node {
    match &table.value {
        Value::Table(entries) => entries.iter().find(|(k, _)| k == key).map_or(table, |e| &e.1),
        _ => table,
    }
}

fn description(node: &Node) -> Result<String, Error> {
    let text = node.text("a text in quotes")?;
    if text.len() > 10_000 {
        return Err(node.error("too long; at most 10000 bytes"));
    }
    Ok(text.to_string())
}

fn run(node: &Node) -> Result<Run, Error> {
    let t = node.table(RUN_KEYS)?;
    let duration =
        t.get("duration").ok_or_else(|| t.missing("duration", "the length of a run, such as \"60s\""))?;
    let duration_ns = duration.single(Unit::Time, 1, MAX_TIME)?;
    // A sixth, in whole milliseconds.
    let mut warmup_ns = duration_ns / 6 / MS * MS;
    if let Some(warmup) = t.get("warmup") {
        warmup_ns = warmup.single(Unit::Time, 0, MAX_TIME)?;
        if warmup_ns >= duration_ns {
            return Err(warmup.error(format!(
                "the warm-up is cut off the run, so it must be shorter than run.duration ({})",
                Unit::Time.show(duration_ns)
            )));
        }
    }
    let stack = match t.get("stack") {
        None => Stack::Linux,
        Some(n) => match n.word("a TCP stack", &["linux", "ns3"])? {
            "ns3" => Stack::Ns3,
            _ => Stack::Linux,
        },
    };
    let sample_ns = match t.get("sample") {
        None => (10 * S / 1000).max(duration_ns / MILLION),
        Some(n) => {
            let ns = n.single(Unit::Time, 1000, MAX_TIME)?;
            if duration_ns / ns > MILLION {
                return Err(n.error(format!(
                    "more than a million samples in {}; write a longer interval",
                    Unit::Time.show(duration_ns)
                )));
            }
            ns
        }
    };
    let series_flows = match t.get("series_flows") {
        None => 1,
        Some(n) => one_whole(n, 0, 1000)? as u32,
    };
    let seeds = match t.get("seeds") {
        None => vec![1],
        Some(n) => seeds(n)?,
    };
    Ok(Run { duration_ns, warmup_ns, seeds, stack, sample_ns, series_flows })
}

fn one_whole(node: &Node, min: u64, max: u64) -> Result<u64, Error> {
    let range = node.whole(min, max)?;
    if range.min != range.max {
        return Err(node.error("one value is needed here, not a range"));
    }
    Ok(range.min)
}

/// Seeds: a whole number, a range `"1..3"` (both ends included) or a list of either.
fn seeds(node: &Node) -> Result<Vec<u64>, Error> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut seeds = Vec::new();
    for item in items {
        let range = item.whole(0, MAX_SEED)?;
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

fn all_ports(nodes: &[&Node], shares: bool, stack: Stack, around: Around<'_>) -> Result<Vec<Link>, Error> {
    let mut ports: Vec<Link> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let port = port(node, shares, stack, around)?;
        if ports.iter().any(|p| p.name == port.name) {
            return Err(table_entry(node, "name").error("another port has this name already"));
        }
        ports.push(port);
    }
    Ok(ports)
}

/// `[shared]`: the buffer of every port that has none of its own. Only ports of a list share.
fn shared(top: &Table<'_>, nodes: &[&Node], ports: &[Link]) -> Result<Option<Size>, Error> {
    let Some(node) = top.get("shared") else { return Ok(None) };
    let t = node.table(&["buffer"])?;
    let n = t.get("buffer").ok_or_else(|| t.missing("buffer", "what the ports share, such as \"500kb\""))?;
    if top.get("ports").is_none() {
        return Err(node.key_error("one [link] shares its buffer with nobody; write [[ports]]"));
    }
    if ports.iter().all(|p| p.buffer.is_some()) {
        let key = table_entry(nodes[0], "buffer");
        return Err(key.error("every port has a buffer of its own; leave out those of the ports that share"));
    }
    match n.size()? {
        Size::Packets(_) => Err(n.error("ports share bytes; write a size such as \"500kb\", or bdp")),
        Size::Bytes(0) | Size::Bdp(0) => Err(n.error("a buffer of 0: nothing would pass")),
        Size::Bytes(b) if b > 1 << 40 => Err(n.error("too large; at most 1024gb")),
        Size::Bdp(m) if m > 100_000 * MILLION => Err(n.error("too large; at most 100000bdp")),
        size => Ok(Some(size)),
    }
}

fn port(node: &Node, shares: bool, stack: Stack, around: Around<'_>) -> Result<Link, Error> {
    let listed = node.key.starts_with("ports");
    let t = node.table(if listed { PORT_KEYS } else { LINK_KEYS })?;
    let name = match t.get("name") {
        Some(n) => n.name()?,
        None if listed => return Err(t.missing("name", "what results call it, such as \"left\"")),
        None => "bottleneck".into(),
    };
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
        [one] if t.get("rate").is_some() => LinkRate::Constant(one.single(Unit::Rate, 1000, MAX_RATE)?),
        [one] if t.get("schedule").is_some() => LinkRate::Schedule(schedule(one)?),
        [one] => LinkRate::Trace(trace_file(one, around.base_dir)?),
    };
    let burst_bytes = match (t.get("burst"), &rate) {
        (None, _) => None,
        (Some(n), LinkRate::Constant(_)) => Some(n.single(Unit::Bytes, 0, 1 << 30)?),
        (Some(n), _) => return Err(n.key_error("a burst needs a rate; a schedule or trace has none")),
    };
    let delay_ns = match t.get("delay") {
        None => 0,
        Some(n) => n.single(Unit::Time, 0, MAX_RTT / 2)?,
    };
    let buffer = match t.get("buffer") {
        None if shares => None,
        None => Some(Size::Bdp(2 * MILLION)),
        Some(n) => Some(n.size()?),
    };
    let overhead_bytes = match t.get("overhead") {
        // What Linux counts on Ethernet, and what ns-3 counts on its PPP links.
        None if stack == Stack::Ns3 => 2,
        None => 14,
        Some(n) => n.single(Unit::Bytes, 0, 1000)? as u32,
    };
    let discipline = match t.get("discipline") {
        None => None,
        Some(n) => Some(discipline::read(n, around)?.0),
    };
    Ok(Link { name, rate, delay_ns, buffer, overhead_bytes, burst_bytes, discipline })
}

fn schedule(node: &Node) -> Result<Vec<(u64, u64)>, Error> {
    const FORM: &str = "pairs of a time and a rate, such as [[\"0s\", \"100mbit\"], [\"15s\", \"50mbit\"]]";
    let items = node.list(FORM)?;
    let mut steps: Vec<(u64, u64)> = Vec::with_capacity(items.len());
    for item in items {
        let [at, rate] = item.list(FORM)? else {
            return Err(item.error(format!("not a pair; a schedule is {FORM}")));
        };
        let at_ns = at.single(Unit::Time, 0, MAX_TIME)?;
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
        let bps = rate.single(Unit::Rate, 0, MAX_RATE)?;
        if bps != 0 && bps < 1000 {
            return Err(rate.error("out of range; allowed: 0bit (an outage), 1kbit to 1000gbit"));
        }
        steps.push((at_ns, bps));
    }
    if steps.iter().all(|(_, bps)| *bps == 0) {
        return Err(node.error(format!("a schedule needs a rate above 0; write {FORM}")));
    }
    Ok(steps)
}

fn trace_file(node: &Node, base_dir: &Path) -> Result<TraceFile, Error> {
    let given = node.text("the path of a trace file, from the folder of this file")?;
    if given.is_empty() || given.contains('\0') {
        return Err(node.error("not a path; write the path of a trace file"));
    }
    // A path on the command line starts from the current folder.
    let base_dir = if node.place == Place::Flag { Path::new("") } else { base_dir };
    let path = base_dir.join(given);
    let (trace, sha256) = trace::read(&path, given).map_err(|problem| match problem {
        trace::Problem::File(why) => node.error(why),
        trace::Problem::Content(error) => error,
    })?;
    Ok(TraceFile { given: given.to_string(), path, trace: Arc::new(trace), sha256 })
}

fn all_flows(node: &Node, ports: &[Link], run: &Run, base_dir: &Path) -> Result<Vec<Flows>, Error> {
    let items = node.list("one or more tables [[flows]]")?;
    if items.is_empty() {
        return Err(node.error("no flows; write at least one table [[flows]]"));
    }
    let mut all: Vec<Flows> = Vec::with_capacity(items.len());
    let mut most = 0;
    for item in items {
        let entry = flows(item, ports, run, base_dir)?;
        most += entry.count.max;
        if most > MAX_FLOWS {
            return Err(table_entry(item, "count")
                .error(format!("{most} flows with this entry; at most {MAX_FLOWS} in a scenario")));
        }
        if let Some(name) = &entry.name
            && all.iter().any(|f| f.name.as_ref() == Some(name))
        {
            return Err(table_entry(item, "name").error("another entry has this name already"));
        }
        all.push(entry);
    }
    Ok(all)
}

fn flows(node: &Node, ports: &[Link], run: &Run, base_dir: &Path) -> Result<Flows, Error> {
    let t = node.table(FLOW_KEYS)?;
    let path = path(&t, ports)?;
    let delay_ns: u64 = path.iter().map(|&p| ports[p as usize].delay_ns).sum();
    let mut sends = sends(&t, base_dir)?;
    let time = |key: &str, max: u64| {
        let n = t.get(key);
        n.map(|n| n.range(Unit::Time, 0, max).map(|r| (n, r))).transpose()
    };
    let rtt_ns = match t.get("rtt") {
        None if matches!(sends, Sends::Tcp { .. }) => {
            return Err(
                t.missing("rtt", "the round-trip time without queues, such as \"20ms\" or \"20ms..80ms\"")
            );
        }
        // Nothing comes back to a UDP sender: its packets only cross the link.
        None => Range::one(2 * delay_ns),
        Some(n) => {
            let range = n.range(Unit::Time, 1000, MAX_RTT)?;
            if range.min < 2 * delay_ns {
                let whose = if ports.len() == 1 { "link.delay" } else { "the delay of its ports" };
                return Err(n.error(format!(
                    "shorter than twice {whose} ({}), which every packet and its \
                     acknowledgement need",
                    Unit::Time.show(delay_ns)
                )));
            }
            range
        }
    };
    let start_ns = match time("start", MAX_TIME)? {
        None => Range::one(0),
        Some((n, range)) if range.max >= run.duration_ns => {
            return Err(n.error(format!(
                "flows must start before the run ends (run.duration = \"{}\")",
                Unit::Time.show(run.duration_ns)
            )));
        }
        Some((_, range)) => range,
    };
    let stop_ns = match time("stop", MAX_TIME)? {
        Some((n, range)) if range.min <= start_ns.max => {
            return Err(n.error(format!(
                "flows must stop after they start (start = \"{}\")",
                Unit::Time.show_range(start_ns)
            )));
        }
        other => other.map(|(_, range)| range),
    };
    let jitter_ns = time("jitter", 10 * S)?.map_or(Range::one(0), |(_, range)| range);
    let comes = comes(&t, &mut sends, &ports[path[0] as usize], run, base_dir)?;
    Ok(Flows {
        name: t.get("name").map(Node::name).transpose()?,
        count: match t.get("count") {
            None => Range::one(1),
            Some(n) => n.whole(1, MAX_FLOWS)?,
        },
        sends,
        comes,
        path,
        rtt_ns,
        start_ns,
        stop_ns,
        access_bps: t.get("access").map(|n| n.range(Unit::Rate, 1000, MAX_RATE)).transpose()?,
        jitter_ns,
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
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut path = Vec::with_capacity(items.len());
    for item in items {
        let name = item.word("a port", &names)?;
        let at = names.iter().position(|n| *n == name).unwrap_or(0) as u32;
        if path.contains(&at) {
            return Err(item.error("a flow crosses a port once"));
        }
        path.push(at);
    }
    if path.is_empty() {
        return Err(node.error(format!("no port; write at least one, such as [\"{}\"]", names[0])));
    }
    Ok(path)
}

fn sends(t: &Table<'_>, base_dir: &Path) -> Result<Sends, Error> {
    let given: Vec<&Node> = ["cca", "cbr", "poisson"].iter().filter_map(|k| t.get(k)).collect();
    let one = match given.as_slice() {
        [] => {
            return Err(t.missing(
                "cca",
                "a congestion control, such as \"cubic\" (or cbr or poisson with a rate, for UDP)",
            ));
        }
        [first, second, ..] => {
            return Err(second.key_error(format!(
                "a flow has one of cca, cbr and poisson, and {} is there already",
                first.key
            )));
        }
        [one] => *one,
    };
    let not_with = |keys: &[&str], why: &str| match keys.iter().find_map(|k| t.get(k)) {
        Some(n) => Err(n.key_error(why)),
        None => Ok(()),
    };
    if t.get("cca").is_some() {
        not_with(&["packet"], "belongs to UDP flows (cbr or poisson); TCP's full packets are 1500b")?;
        let ccas = ccas(one)?;
        let bps = t.get("rate").map(|n| n.range(Unit::Rate, 1000, MAX_RATE)).transpose()?;
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
        return Ok(Sends::Tcp {
            ccas,
            bps,
            size: t.get("size").map(|n| Sizes::read(n, base_dir)).transpose()?,
            initial_window: t.get("initial_window").map(initial_window).transpose()?,
            ecn,
            l4s,
        });
    }
    not_with(
        &["size", "ecn", "initial_window", "repeat", "arrivals", "burst"],
        "belongs to TCP flows (cca); a UDP flow sends from start to stop",
    )?;
    not_with(&["rate"], "belongs to TCP flows (cca); a UDP flow's rate is written with cbr or poisson")?;
    let bps = one.range(Unit::Rate, 1000, MAX_RATE)?;
    let packet_bytes = match t.get("packet") {
        None => PACKET,
        // IP and UDP headers, and a byte.
        Some(n) => n.single(Unit::Bytes, 29, u64::from(PACKET))? as u32,
    };
    Ok(match t.get("cbr") {
        Some(_) => Sends::Cbr { bps, packet_bytes },
        None => Sends::Poisson { bps, packet_bytes },
    })
}

/// `"10p"`, or `"all"` of a flow.
fn initial_window(node: &Node) -> Result<InitialWindow, Error> {
    if matches!(&node.value, Value::Text(text) if text == "all") {
        return Ok(InitialWindow::All);
    }
    match node.size() {
        Ok(Size::Packets(n)) if (1..=65_535).contains(&n) => Ok(InitialWindow::Packets(n)),
        _ => Err(node.error("not a window; write 1p to 65535p, or \"all\" that the flow has to send")),
    }
}

/// How the flows of an entry come. Those of pages get their sizes from there.
fn comes(t: &Table<'_>, sends: &mut Sends, port: &Link, run: &Run, base_dir: &Path) -> Result<Comes, Error> {
    let Sends::Tcp { size, .. } = sends else { return Ok(Comes::Once) };
    let (repeat, arrivals, burst) = (t.get("repeat"), t.get("arrivals"), t.get("burst"));
    if repeat.is_none() && arrivals.is_none() && burst.is_none() {
        return Ok(Comes::Once);
    }
    if let (Some(_), Some(other)) = (repeat, arrivals.or(burst)) {
        return Err(
            other.key_error("flows follow one another (repeat), or come by themselves; write one of the two")
        );
    }
    if let (None, Some(n)) = (repeat, t.get("count")) {
        return Err(n.key_error("does not belong to flows that arrive: arrivals or burst say how many come"));
    }
    let burst = burst.map(|n| Burst::read(n, base_dir, run.duration_ns)).transpose()?;
    match (&burst, &size) {
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
    if let Some(n) = repeat {
        return Pause::read(n, MAX_TIME).map(Comes::Repeat);
    }
    let arrivals = match arrivals {
        None => None,
        Some(n) => {
            if let Some(at) = burst.as_ref().filter(|b| !b.at_ns.is_empty()).and(t.get("burst")) {
                return Err(
                    at.error("pages are loaded at set times (at) or arrive (arrivals); write one of the two")
                );
            }
            let rate = ArrivalRate::read(n)?;
            // What the link counts for a full packet, over its payload.
            let wire = f64::from(PACKET + port.overhead_bytes) / SEGMENT as f64;
            let bytes = mean_bytes(size.as_ref(), burst.as_ref().map(|b| &b.pages)) * wire;
            let gap_ns = rate.gap_ns(bytes, rate_of(&port.rate));
            if gap_ns == 0 || run.duration_ns / gap_ns > MAX_ARRIVALS {
                return Err(n.error(format!(
                    "more than {MAX_ARRIVALS} arrivals in {}; write fewer, or a shorter run",
                    Unit::Time.show(run.duration_ns)
                )));
            }
            Some(Arrivals { rate, gap_ns })
        }
    };
    match (burst, arrivals) {
        (Some(b), arrivals) if arrivals.is_some() || !b.at_ns.is_empty() => {
            Ok(Comes::Pages(Burst { arrivals, ..b }))
        }
        (None, Some(a)) => Ok(Comes::Arrive(a)),
        _ => {
            let n = t.get("burst").unwrap_or(t.node);
            Err(n.error("when? write at = [\"10s\", \"20s\"] in it, or arrivals = \"0.1/s\" beside it"))
        }
    }
}

/// One congestion control, or a table of whole-number weights.
fn ccas(node: &Node) -> Result<Vec<(Kind, u32)>, Error> {
    let names = preset::names();
    let Value::Table(entries) = &node.value else {
        let Value::Text(_) = &node.value else {
            return Err(node.error(format!(
                "not a congestion control; write one of {} in quotes, or weights such as \
                 {{ cubic = 3, bbr = 1 }}",
                names.join(", ")
            )));
        };
        let name = node.word("a congestion control", &names)?;
        if let Some(preset) = Preset::from_name(name) {
            return Ok(in_order(preset.weights.to_vec()));
        }
        return Ok(Kind::from_name(name).map(|k| (k, 1)).into_iter().collect());
    };
    let mut ccas = Vec::new();
    for (name, weight) in entries {
        let Some(kind) = Kind::from_name(name) else {
            if Preset::from_name(name).is_some() {
                return Err(weight.key_error(format!(
                    "a table of weights itself; write cca = \"{name}\", in an entry of its own"
                )));
            }
            let kinds = Kind::ALL.iter().map(|k| k.name());
            return Err(weight.key_error(format!("not a congestion control{}", suggest(name, kinds))));
        };
        let share = one_whole(weight, 0, MILLION).map_err(|_| {
            weight
                .error("not a weight; write a whole number from 0 to 1000000, such as { cubic = 3, bbr = 1 }")
        })? as u32;
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

/// A table has no order of its own: by name, so that draws do not depend on how it was written.
fn in_order(mut ccas: Vec<(Kind, u32)>) -> Vec<(Kind, u32)> {
    ccas.sort_by_key(|(kind, _)| kind.name());
    ccas
}

fn all_disciplines(node: &Node, around: Around<'_>) -> Result<Vec<Discipline>, Error> {
    let items =
        node.list("names or tables, such as [\"codel\", { name = \"static\", threshold = \"1bdp\" }]")?;
    if items.is_empty() {
        return Err(node.error("no discipline; write at least one, such as [\"codel\"]"));
    }
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        all.push(discipline::read(item, around)?);
    }
    // A discipline that is there once is called by its name; variants of one are
    // called by what sets them apart.
    let names: Vec<&str> = all.iter().map(|(d, _): &(Discipline, bool)| d.name).collect();
    let counts = |name: &str| names.iter().filter(|n| **n == name).count();
    for (d, labelled) in &mut all {
        if !*labelled && counts(d.name) > 1 {
            d.label = discipline::describe(d);
        }
    }
    for (i, (d, _)) in all.iter().enumerate() {
        if all[..i].iter().any(|(before, _)| before.label == d.label) {
            let write = match items[i].place {
                Place::Flag => format!("{}:label=another", d.name),
                Place::File { .. } => format!("{{ name = \"{}\", label = \"another\" }}", d.name),
            };
            let message = format!("\"{}\" is there twice; give one a label of its own: {write}", d.label);
            return Err(items[i].error(message));
        }
    }
    Ok(all.into_iter().map(|(d, _)| d).collect())
}

/// Ports whose own discipline, or all of whose disciplines together, make no sense.
fn check_ports(
    nodes: &[&Node],
    ports: &[Link],
    compared: &Node,
    disciplines: &[Discipline],
) -> Result<(), Error> {
    let needs_pool = |name: &str| queuewright_aqm::find(name).is_some_and(|info| info.needs_pool);
    let divides = |name: &str| format!("{name} divides a buffer that ports share");
    for (node, port) in nodes.iter().zip(ports) {
        if let (Some(own), Some(_)) = (&port.discipline, port.buffer)
            && needs_pool(own.name)
        {
            return Err(table_entry(node, "discipline").error(format!(
                "{}, and this port has one to itself; leave out its buffer, and write [shared]",
                divides(own.name)
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
        && let Some(i) = disciplines.iter().position(|d| needs_pool(d.name))
    {
        let node = match &compared.value {
            Value::List(items) => items.get(i).unwrap_or(compared),
            _ => compared,
        };
        return Err(node.error(format!(
            "{}, and no port that it would run at shares one; write [shared], and leave out the buffer of the \
             ports that share",
            divides(disciplines[i].name)
        )));
    }
    Ok(())
}

/// Length of the largest packet on the link, as the link counts it.
pub(crate) fn largest_packet(flows: &[Flows], overhead: u32) -> u64 {
    let ip = flows.iter().map(|f| match f.sends {
        Sends::Tcp { .. } => PACKET,
        Sends::Cbr { packet_bytes, .. } | Sends::Poisson { packet_bytes, .. } => packet_bytes,
    });
    u64::from(ip.max().unwrap_or(PACKET) + overhead)
}

fn check_buffer(node: &Node, link: &Link, flows: &[Flows]) -> Result<(), Error> {
    let n = table_entry(node, "buffer");
    let packet = largest_packet(flows, link.overhead_bytes);
    let Some(buffer) = link.buffer else { return Ok(()) };
    match buffer {
        Size::Bytes(bytes) if bytes < packet => {
            Err(n.error(format!("smaller than one packet on this link ({packet}b): nothing would pass")))
        }
        Size::Bytes(bytes) if bytes > 1 << 40 => Err(n.error("too large; at most 1024gb")),
        Size::Packets(0) => Err(n.error("a buffer of 0 packets: nothing would pass")),
        Size::Packets(p) if p > 100_000_000 => Err(n.error("too large; at most 100000000p")),
        Size::Bdp(0) => Err(n.error("a buffer of 0: nothing would pass")),
        Size::Bdp(m) if m > 100_000 * MILLION => Err(n.error("too large; at most 100000bdp")),
        Size::Bdp(_) if flows.iter().all(|f| f.rtt_ns.max == 0) => Err(Error::new(
            n.place.clone(),
            if node.key == "link" { "link.buffer" } else { "buffer" },
            "a bandwidth-delay product needs a round-trip time, and no flow has one; \
             write bytes (\"45kb\") or packets (\"1000p\")",
        )),
        _ => Ok(()),
    }
}

/// No flow may run out of segment numbers.
fn check_length(top: &Table<'_>, link: &Link, flows: &[Flows], run: &Run) -> Result<(), Error> {
    let duration = table_entry(table_entry(top.node, "run"), "duration");
    let duration_ns = u128::from(run.duration_ns);
    let link_bits = match &link.rate {
        LinkRate::Constant(bps) => u128::from(*bps) * duration_ns / u128::from(S),
        LinkRate::Schedule(steps) => {
            let fastest = steps.iter().map(|(_, bps)| *bps).max().unwrap_or(0);
            u128::from(fastest) * duration_ns / u128::from(S)
        }
        LinkRate::Trace(file) => {
            let periods = duration_ns / u128::from(file.trace.period_ns) + 1;
            periods * file.trace.opportunities_ns.len() as u128 * 12_000
        }
    };
    if link_bits / 8 / u128::from(SEGMENT) >= MAX_SEGMENTS {
        return Err(duration.error(
            "the link could carry more than 2^32 segments in this time, more than a flow can \
             number; shorten the run or slow the link",
        ));
    }
    for (i, f) in flows.iter().enumerate() {
        if let Sends::Cbr { bps, packet_bytes } | Sends::Poisson { bps, packet_bytes } = f.sends {
            let bits = u128::from(bps.max) * duration_ns / u128::from(S);
            if bits / 8 / u128::from(packet_bytes) >= MAX_SEGMENTS {
                return Err(duration.error(format!(
                    "flows[{i}] would send more than 2^32 packets in this time; shorten the run \
                     or slow the flow"
                )));
            }
        }
    }
    Ok(())
}
