//! What the guest is to do: a text of commands (`guest/job.c` has the list), made of runs.
//!
//! A run is a line of namespaces: clients (one for each round-trip time), the router `r`, the server `s`. The
//! router's device towards the server is the bottleneck: htb and the qdisc below it. The round-trip time is netem's, on
//! the way back from the router to the client, so that nothing but the queue under test holds data up.

use crate::Error;
use crate::check::module;
use crate::qdisc::qdisc;
use queuewright_scenario::spec::{FlowSpec, Rate, RunSpec, Traffic};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Index of the bottleneck's device (`guest/ring.h`).
pub const DEVICE: u32 = 7777;
/// Source port of flow 0 (`guest/lab.h`).
pub const FIRST_PORT: u16 = 10_000;
/// Headers of IP and UDP.
pub const UDP_HEADERS: u32 = 28;
/// Least interval of samples: each costs the guest time.
const LEAST_SAMPLE_NS: u64 = 10_000_000;
/// A wire sends the next packet when the last is gone. htb's bucket must still hold what its timer is late by
/// (microseconds): a fifth of a packet.
const WIRE_BURST: u64 = 300;
/// Seeds move the flows' starts by up to this, so that replicates differ where the scenario draws nothing.
const START_SHIFT_NS: u64 = 5_000_000;

/// A machine's job.
pub struct Job {
    /// Modules that the kernel may have to load, in order.
    pub modules: Vec<&'static str>,
    /// The text.
    pub text: String,
}

/// A namespace of senders: flows that share it have these in common.
pub type Client = (u64, bool, Option<u32>);

/// Round-trip time (ns), ECN and initial window of each namespace.
pub fn clients(run: &RunSpec) -> Vec<Client> {
    run.flows.iter().map(client).collect::<BTreeSet<_>>().into_iter().collect()
}

fn client(f: &FlowSpec) -> Client {
    match f.traffic {
        Traffic::Tcp { ecn, initial_window, .. } => (f.base_rtt_ns, ecn, initial_window),
        Traffic::Cbr { .. } | Traffic::Poisson { .. } => (f.base_rtt_ns, false, None),
    }
}

impl Job {
    /// Of runs that `check` has accepted.
    pub fn new(runs: &[RunSpec]) -> Result<Job, Error> {
        let mut modules = vec!["veth", "sch_htb", "sch_netem"];
        let mut body = String::new();
        for (i, run) in runs.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = run_text(&mut body, i, run, &mut modules)
                .map_err(|why| Error::Machine(format!("{}: {why}", run.discipline.label)))?;
        }
        let mut text: String = modules.iter().map(|m| format!("module {m}\n")).collect();
        text += "do bpftool prog loadall /trace.bpf.o /sys/fs/bpf/programs pinmaps /sys/fs/bpf/maps\ntrace\n";
        Ok(Job { modules, text: text + &body })
    }
}

fn run_text(
    out: &mut String,
    number: usize,
    run: &RunSpec,
    modules: &mut Vec<&'static str>,
) -> Result<std::fmt::Result, String> {
    let port = &run.ports[0];
    let Rate::Constant(bps) = port.rate else { return Err("its rate changes".into()) };
    let qdisc = qdisc(port).map_err(|(_, why)| why)?;
    let need = |modules: &mut Vec<&'static str>, m: Option<&'static str>| {
        if let Some(m) = m.filter(|m| !modules.contains(m)) {
            modules.push(m);
        }
    };
    need(modules, qdisc.module);
    let clients = clients(run);
    let mut kernel_names = Vec::new();
    for f in &run.flows {
        if let Traffic::Tcp { cca, .. } = f.traffic {
            let (name, m) = module(cca).ok_or("Linux has no such congestion control")?;
            need(modules, m);
            kernel_names.push(name);
        }
    }
    let ccas: BTreeSet<&str> = kernel_names.iter().copied().collect();
    let burst = port.burst_bytes.unwrap_or(WIRE_BURST);
    let mut write = || -> std::fmt::Result {
        writeln!(out, "run {number}")?;
        for line in [
            "do ip netns add r",
            "do ip netns add s",
            "do ip -n r link set lo up",
            "do ip -n s link set lo up",
            "set r net/ipv4/ip_forward 1",
        ] {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "do ip -n r link add rs index {DEVICE} type veth peer name sr netns s")?;
        joined(out, "r", "rs", "10.255.0.1/24")?;
        joined(out, "s", "sr", "10.255.0.2/24")?;
        writeln!(out, "do ip -n s route add default via 10.255.0.1")?;
        writeln!(out, "set s net/ipv4/tcp_no_metrics_save 1")?;
        for (i, (rtt_ns, ecn, window)) in clients.iter().enumerate() {
            let net = format!("10.{}.{}", 1 + i / 250, i % 250);
            writeln!(
                out,
                "do ip netns add c{i}\ndo ip -n c{i} link add cr type veth peer name rc{i} netns r"
            )?;
            joined(out, &format!("c{i}"), "cr", &format!("{net}.2/24"))?;
            joined(out, "r", &format!("rc{i}"), &format!("{net}.1/24"))?;
            let window = window.map_or(String::new(), |w| format!(" initcwnd {w}"));
            writeln!(out, "do ip -n c{i} route add default via {net}.1{window}")?;
            if *rtt_ns > 0 {
                writeln!(out, "in r tc qdisc add dev rc{i} root netem delay {rtt_ns}ns limit 1000000")?;
            }
            writeln!(out, "set c{i} net/ipv4/tcp_no_metrics_save 1")?;
            writeln!(out, "set c{i} net/ipv4/tcp_ecn {}", u8::from(*ecn))?;
        }
        writeln!(out, "in r tc qdisc add dev rs root handle 1: htb default 10")?;
        writeln!(
            out,
            "in r tc class add dev rs parent 1: classid 1:10 htb rate {bps}bit burst {burst}b cburst {burst}b"
        )?;
        writeln!(out, "in r tc qdisc add dev rs parent 1:10 handle 10: {}", qdisc.words)?;
        for (i, cca) in ccas.iter().enumerate() {
            writeln!(out, "listen {} {cca}", 5000 + i)?;
        }
        for i in 0..clients.len() {
            writeln!(out, "hello c{i}")?;
        }
        writeln!(out, "watch r")?;
        let mut names = kernel_names.iter();
        for (i, f) in run.flows.iter().enumerate() {
            let ns = clients.iter().position(|c| *c == client(f)).unwrap_or(0);
            let start = f.start_ns + shift(run.seed, i);
            let stop = f.stop_ns.unwrap_or(0);
            match &f.traffic {
                Traffic::Tcp { size_bytes, .. } => {
                    let cca = names.next().unwrap_or(&"cubic");
                    writeln!(out, "tcp {i} c{ns} {cca} {start} {stop} {}", size_bytes.unwrap_or(0))?;
                }
                Traffic::Cbr { bps, packet_bytes } => {
                    let gap = gap_ns(*bps, *packet_bytes);
                    writeln!(out, "udp {i} c{ns} {start} {stop} {gap} {} 0", payload(*packet_bytes))?;
                }
                Traffic::Poisson { bps, packet_bytes } => {
                    let gap = gap_ns(*bps, *packet_bytes);
                    let seed = mix(run.seed ^ (i as u64) << 32 ^ 0x706f_6973).max(1);
                    writeln!(out, "udp {i} c{ns} {start} {stop} {gap} {} {seed}", payload(*packet_bytes))?;
                }
            }
        }
        let longest = clients.iter().map(|c| c.0).max().unwrap_or(0);
        let sample = run.series_interval_ns.max(LEAST_SAMPLE_NS);
        let settle = 300_000_000 + 3 * longest;
        writeln!(out, "go {} {} {sample} {settle}\nend", run.warmup_ns, run.duration_ns)
    };
    Ok(write())
}

/// A device with its address, up, and with packets as the wire has them: nothing is segmented or merged for it.
fn joined(out: &mut String, ns: &str, device: &str, address: &str) -> std::fmt::Result {
    writeln!(out, "do ip -n {ns} addr add {address} dev {device}\ndo ip -n {ns} link set {device} up")?;
    writeln!(out, "in {ns} ethtool -K {device} tso off gso off gro off")
}

/// The payload that makes a packet of this IP length; the guest's stamp needs 16 bytes.
pub fn payload(packet_bytes: u32) -> u32 {
    packet_bytes.saturating_sub(UDP_HEADERS).max(16)
}

fn gap_ns(bps: u64, packet_bytes: u32) -> u64 {
    let ns = u128::from(packet_bytes) * 8_000_000_000 / u128::from(bps.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX).max(1)
}

/// By how much a seed moves a flow's start.
fn shift(seed: u64, flow: usize) -> u64 {
    mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(flow as u64)) % START_SHIFT_NS
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
