//! What the guest is to do: a text of commands (`guest/job.c` has the list), made of runs.
//!
//! A run is a line of namespaces: clients (one for each round-trip time), the router `r`, the server `s`. The
//! router's device towards the server is the bottleneck: htb and the qdisc below it, or one that shapes by itself. The round-trip time is netem's, on
//! the reverse path from the router to the client, so that nothing but the queue under test holds data up.

use crate::Error;
use crate::control::{Control, linux_name};
use crate::layout::{self, DEVICE};
use crate::own;
use crate::qdisc::{Qdisc, QdiscOrigin, qdisc};
use queuewright_cca::Kind;
use queuewright_linux::Host;
use queuewright_scenario::Gaps;
use queuewright_scenario::packet::UDP_HEADER_BYTES;
use queuewright_scenario::spec::{FlowSpec, RMEM_BYTES, Rate, RunSpec, SendBuffer, Shaper, Traffic};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Source port of flow 0.
pub const FIRST_PORT: u16 = layout::FIRST_PORT as u16;
/// The server's port of the first congestion control (`guest/flows.c`).
const FIRST_LISTENER: usize = 5000;
/// This program's name in the guest.
pub const PROGRAM: &str = "queuewright";
/// Where the guest has the program that sets ECT(1).
const ECT1: &str = "/sys/fs/bpf/ect1";
/// What sockets choose a run's congestion controls by.
type Names = BTreeMap<Kind, String>;
/// What the draws of Poisson flows begin with, "pois".
const POISSON: u64 = 0x706f_6973;
/// The stamp in each datagram (`guest/udp.c`).
const STAMP: u32 = 16;
/// Least UDP packet, IP length.
pub const LEAST_PACKET: u32 = UDP_HEADER_BYTES + STAMP;
/// Least interval of samples: each costs the guest time.
pub const LEAST_SAMPLE_NS: u64 = 10_000_000;
/// A wire sends the next packet when the last is gone. htb's bucket must still hold what its timer is late by: so long (ns), and a
/// fifth of a packet at least. With less, 20 flows that fill 160 Mbit/s get 98 % of it.
const LATE_NS: u64 = 50_000;
const LEAST_WIRE_BURST: u64 = 300;

/// Bytes of htb's bucket for a wire of this rate.
pub fn wire_burst(bps: u64) -> u64 {
    (bps / 8 * LATE_NS / 1_000_000_000).max(LEAST_WIRE_BURST)
}

/// What a link needs beside htb.
pub fn shaper_module(shaper: Shaper) -> Option<&'static str> {
    match shaper {
        Shaper::Htb => None,
        Shaper::Tbf => Some("sch_tbf"),
    }
}

/// What the hosts of the virtual machine take of a round trip (ns), measured by handshakes on an empty path (`a_round_trip_takes_what_the_file_says`).
/// netem's delay is so much shorter than the round-trip time that the scenario says.
const HOSTS_NS: u64 = 31_000;
/// Seeds move the flows' starts by up to this, so that replicates differ where the scenario draws nothing.
const START_SHIFT_NS: u64 = 5_000_000;

/// A run does not begin before the virtual machine, whose idle time costs nothing, is up for so long: 16 of the longest `interval` (60 s). Until then, and again in half of
/// every 73 minutes, the kernel's CoDel takes a queue that overflowed before its first signal for one that was dropping before
/// (`codel_time_before()` of a clock of 32 bits and a `drop_next` of 0), and drops all that waits but a packet.
const LEAST_UPTIME_NS: u64 = 970_000_000_000;

/// Most that all connections together may hold (bytes; `tcp_mem[2]`): three quarters of the machine's memory. From three quarters of that
/// on (`tcp_mem[0]`), 576 MiB or 144 full send buffers of 4 MiB, buffers stay short. By itself Linux keeps them short from 5 % of the memory on,
/// which on a machine of 16 GiB is 800 MiB.
const TCP_MEMORY: u64 = (MEMORY_MIB << 20) / 4 * 3;
/// The virtual machine's memory.
pub const MEMORY_MIB: u64 = 1024;

/// Connections are opened so far apart, and so long before the run begins (`guest/flows.c`).
const OPEN_APART_NS: u64 = 2_000_000;
const OPEN_MORE_NS: u64 = 14_500_000;

/// A machine's job.
pub struct Job {
    /// Modules that the kernel may have to load, in order, without those that these need.
    pub modules: Vec<&'static str>,
    /// Files that the runs' qdiscs bring: name from the guest's root, content.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The guest needs this program, to attach disciplines.
    pub attaches: bool,
    /// On this machine's kernel, in real time.
    native: bool,
    /// The longest that a run may take by the host's clock, in a virtual machine. Its program says on a port what it does.
    pub longest: Option<Duration>,
    /// The text.
    pub text: String,
}

/// A namespace of senders: flows that share it have these in common.
pub type Client = (u64, bool, Option<u32>, SendBuffer);

/// Round-trip time (ns), ECN, initial window and send buffer of each namespace.
pub fn clients(run: &RunSpec) -> Vec<Client> {
    run.flows.iter().map(client).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Of a flow.
pub fn client(f: &FlowSpec) -> Client {
    match f.traffic {
        Traffic::Tcp { ecn, initial_window, .. } => (f.base_rtt_ns, ecn, initial_window, f.send_buffer),
        Traffic::Datagrams { .. } => (f.base_rtt_ns, false, None, f.send_buffer),
    }
}

impl Job {
    /// Of runs that `check` has accepted, on this machine's kernel or in the virtual machine.
    pub fn new(runs: &[RunSpec], origin: QdiscOrigin, native: bool, linux: u32) -> Result<Job, Error> {
        let mut job = Job::empty(vec!["veth", "sch_htb", "sch_netem"]);
        job.native = native;
        let mut body = Lines::default();
        for (i, run) in runs.iter().enumerate() {
            job.run(&mut body, i, run, origin, own::host(native, Some(linux)))
                .map_err(|why| Error::Machine(format!("{}: {why}", run.discipline.label)))?;
        }
        let controls = Control::all(runs);
        for control in &controls {
            job.files.insert(control.file(), control.compile(linux)?);
        }
        job.text = Job::boot(true);
        if controls.iter().any(Control::ect1) {
            job.text += &format!("do bpftool prog load /ect1.bpf.o {ECT1}\n");
        }
        if !native {
            let pages = [TCP_MEMORY / 8 * 6, TCP_MEMORY / 8 * 7, TCP_MEMORY].map(|bytes| bytes / 4096);
            job.text += &format!("set - net/ipv4/tcp_mem {},{},{}\n", pages[0], pages[1], pages[2]);
        }
        job.text += &body.0;
        Ok(job)
    }

    pub fn empty(modules: Vec<&'static str>) -> Job {
        Job {
            modules,
            files: BTreeMap::new(),
            attaches: false,
            native: false,
            longest: None,
            text: String::new(),
        }
    }

    /// What comes before the first run, once modules are loaded; traced: every packet's time is to be seen.
    pub fn boot(traced: bool) -> String {
        if traced { Job::programs("trace") } else { String::new() }
    }

    /// As `boot`, where every call of a qdisc is to be seen.
    pub fn watched() -> String {
        Job::programs("queue")
    }

    fn programs(name: &str) -> String {
        format!(
            "do bpftool prog loadall /{name}.bpf.o /sys/fs/bpf/programs pinmaps /sys/fs/bpf/maps\ntrace\n"
        )
    }

    pub fn need(&mut self, module: Option<&'static str>) {
        if let Some(module) = module.filter(|m| !self.modules.contains(m)) {
            self.modules.push(module);
        }
    }

    fn run(
        &mut self,
        out: &mut Lines,
        number: usize,
        run: &RunSpec,
        origin: QdiscOrigin,
        host: Host,
    ) -> Result<(), String> {
        let port = &run.ports[0];
        let Rate::Constant(bps) = port.rate else { return Err("its rate changes".into()) };
        let qdisc = qdisc(port, origin).map_err(|(_, why)| why)?;
        self.attaches |= qdisc.ours;
        self.need(qdisc.module);
        self.files.extend(qdisc.files.iter().cloned());
        if let Some(info) = qdisc.own {
            self.files.insert(own::file(info), own::compiled(info, host)?);
        }
        let mut names = Names::new();
        for f in &run.flows {
            if let Traffic::Tcp { cca, .. } = f.traffic
                && let Entry::Vacant(new) = names.entry(cca)
            {
                new.insert(linux_name(cca).ok_or("Linux has no such congestion control")?);
                self.need(cca.info().linux.and_then(|linux| linux.module));
            }
        }
        let clients = clients(run);
        out.add(format!("run {number}"));
        let (hosts_ns, least_uptime_ns) = if self.native { (0, 0) } else { (HOSTS_NS, LEAST_UPTIME_NS) };
        out.network(&clients, hosts_ns);
        if tells_hosts(run) {
            out.hosts(&run.flows, &clients);
        }
        self.need(shaper_module(port.shaper));
        out.bottleneck(&qdisc, port.shaper, bps, port.burst_bytes.unwrap_or_else(|| wire_burst(bps)));
        let controls = Control::all(std::slice::from_ref(run));
        for control in &controls {
            out.add(format!("control /{}", control.file()));
        }
        if controls.iter().any(Control::ect1) {
            for i in 0..clients.len() {
                out.add(format!("in c{i} bpftool net attach tcx_egress pinned {ECT1} dev cr"));
            }
        }
        for (i, cca) in names.values().collect::<BTreeSet<_>>().into_iter().enumerate() {
            out.add(format!("listen {} {cca}", FIRST_LISTENER + i));
        }
        for i in 0..clients.len() {
            out.add(format!("hello c{i}"));
        }
        let hosts = tells_hosts(run);
        out.add("watch r");
        for (i, f) in run.flows.iter().enumerate() {
            let ns = clients.iter().position(|c| *c == client(f)).unwrap_or(0);
            out.flow(run.seed, i, f, ns, &names, hosts);
        }
        let longest = clients.iter().map(|c| c.0).max().unwrap_or(0);
        let sample = run.series_interval_ns;
        let settle = 300_000_000 + 3 * longest;
        out.add(format!("go {} {} {sample} {settle} {least_uptime_ns}", run.warmup_ns, run.duration_ns));
        qdisc.after.iter().for_each(|line| out.add(line));
        if qdisc.ours {
            out.add(format!("in r /{PROGRAM} detach rs"));
        }
        out.add("end");
        Ok(())
    }
}

/// A text as it grows.
#[derive(Default)]
pub struct Lines(pub String);

impl Lines {
    /// A run of one connection: in a namespace, over a device whose far end is the guest's program. `verb` makes the device, `first` is
    /// set of it before it has an address, `last` as it comes up.
    pub fn with_device(number: usize, verb: &str, first: Option<&str>, last: &str) -> Lines {
        let mut l = Lines::default();
        l.add(format!("run {number}"));
        l.add("do ip netns add k");
        l.add(format!("{verb} k"));
        if let Some(first) = first {
            l.add(format!("note link set tun0 {first}"));
        }
        l.add("note addr add 10.255.0.2/24 dev tun0");
        l.add(format!("note link set tun0 {last} up"));
        l.add("batch k ip");
        l
    }

    pub fn add(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }

    /// Namespaces and the devices between them.
    pub fn network(&mut self, clients: &[Client], hosts_ns: u64) {
        for ns in ["r", "s"] {
            self.add(format!("do ip netns add {ns}"));
        }
        self.add("set r net/ipv4/ip_forward 1");
        self.add(format!("do ip -n r link add rs index {DEVICE} type veth peer name sr netns s"));
        self.up("sr", "10.255.0.2/24");
        self.add("note route add default via 10.255.0.1");
        self.add("batch s ip");
        self.add("plain s sr");
        self.add("set s net/ipv4/tcp_no_metrics_save 1");
        let most = clients.iter().map(|(_, _, _, buffer)| buffer.rmem_bytes()).max().unwrap_or(RMEM_BYTES);
        self.add(format!("set s net/ipv4/tcp_rmem 4096,131072,{most}"));
        for (i, (_, ecn, window, buffer)) in clients.iter().enumerate() {
            self.add(format!("do ip netns add c{i}"));
            self.add(format!("do ip -n c{i} link add cr type veth peer name rc{i} netns r"));
            self.up("cr", &format!("{}.2/24", subnet(i)));
            let window = window.map_or(String::new(), |w| format!(" initcwnd {w}"));
            self.add(format!("note route add default via {}.1{window}", subnet(i)));
            self.add(format!("batch c{i} ip"));
            self.add(format!("plain c{i} cr"));
            self.add(format!("set c{i} net/ipv4/tcp_no_metrics_save 1"));
            // A flow's hash is that of its addresses, as on a router, and stays so after a timeout.
            self.add(format!("set c{i} net/core/txrehash 0"));
            self.add(format!("set c{i} net/ipv4/tcp_ecn {}", u8::from(*ecn)));
            if let Some(most) = buffer.wmem_bytes {
                self.add(format!("set c{i} net/ipv4/tcp_wmem 4096,16384,{most}"));
            }
            if let Some(bytes) = buffer.notsent_lowat_bytes {
                self.add(format!("set c{i} net/ipv4/tcp_notsent_lowat {bytes}"));
            }
        }
        // The router's side of all.
        self.up("rs", "10.255.0.1/24");
        for i in 0..clients.len() {
            self.up(&format!("rc{i}"), &format!("{}.1/24", subnet(i)));
        }
        self.add("batch r ip");
        self.add("plain r rs");
        for i in 0..clients.len() {
            self.add(format!("plain r rc{i}"));
        }
        // The least that a scenario can say stands for none: kernels without netem can be run on so.
        let delayed = || clients.iter().enumerate().filter(|(_, (rtt_ns, ..))| *rtt_ns > 1000);
        for (i, (rtt_ns, ..)) in delayed() {
            let delay_ns = rtt_ns.saturating_sub(hosts_ns).max(1);
            self.add(format!("note qdisc add dev rc{i} root netem delay {delay_ns}ns limit 1000000"));
        }
        if delayed().next().is_some() {
            self.add("batch r tc");
        }
    }

    /// A device that throws away what it is given.
    pub fn sink(&mut self) {
        self.add("do ip netns add r");
        self.add(format!("do ip -n r link add rs index {DEVICE} type dummy"));
        self.add("do ip -n r addr add 10.255.0.1/24 dev rs");
        self.add("do ip -n r link set rs up");
    }

    /// A device gets its address and is up, with the next batch.
    fn up(&mut self, device: &str, address: &str) {
        self.add(format!("note addr add {address} dev {device}"));
        self.add(format!("note link set {device} up"));
    }

    /// The qdisc under test has handle 10: wherever it is.
    pub fn bottleneck(&mut self, qdisc: &Qdisc, shaper: Shaper, bps: u64, burst: u64) {
        qdisc.before.iter().for_each(|line| self.add(line));
        if qdisc.ours {
            self.add(format!("in r /{PROGRAM} attach rs {} --rate {bps}bit", qdisc.words));
            self.add("maps r rs");
            return;
        }
        let parent = match (qdisc.root, shaper) {
            (true, _) => "root",
            (false, Shaper::Htb) => {
                self.add("in r tc qdisc add dev rs root handle 1: htb default 10");
                self.add(format!(
                    "in r tc class add dev rs parent 1: classid 1:10 htb rate {bps}bit burst {burst}b cburst {burst}b"
                ));
                "parent 1:10"
            }
            // The limit is of a queue that the discipline takes the place of.
            (false, Shaper::Tbf) => {
                self.add(format!(
                    "in r tc qdisc add dev rs root handle 1: tbf rate {bps}bit burst {burst}b limit 1gb"
                ));
                "parent 1:1"
            }
        };
        self.add(format!("in r tc qdisc add dev rs {parent} handle 10: {}", qdisc.words));
    }

    /// Where hosts have addresses of their own: the server has all that flows go to, each namespace all that its flows come from.
    fn hosts(&mut self, flows: &[FlowSpec], clients: &[Client]) {
        self.add("note route add local 10.248.0.0/14 dev lo");
        self.add("batch s ip");
        for i in 0..clients.len() {
            self.add("note route add local 10.252.0.0/15 dev lo");
            self.add(format!("batch c{i} ip"));
        }
        self.add("note route add 10.248.0.0/14 via 10.255.0.2");
        let of = |f: &FlowSpec| clients.iter().position(|c| *c == client(f)).unwrap_or(0);
        let all: BTreeSet<(String, usize)> =
            flows.iter().enumerate().map(|(i, f)| (addresses(i, f).0, of(f))).collect();
        for (source, ns) in all {
            self.add(format!("note route add {source}/32 via {}.2", subnet(ns)));
        }
        self.add("batch r ip");
    }

    fn flow(&mut self, seed: u64, i: usize, f: &FlowSpec, ns: usize, names: &Names, hosts: bool) {
        let says = match hosts {
            true => {
                let (from, to) = addresses(i, f);
                format!(" {from} {to} {}", f.header.dscp << 2)
            }
            false => String::new(),
        };
        let start = start_ns(seed, i, f) + there_ns(f);
        let stop = f.stop_ns.map_or(0, |stop| stop + there_ns(f));
        match &f.traffic {
            Traffic::Datagrams { gaps, bps, packet_bytes } => {
                let (gap, payload) = (gap_ns(*bps, *packet_bytes), payload(*packet_bytes));
                let drawn = match gaps {
                    Gaps::Even => 0,
                    Gaps::Exponential => mix(seed ^ ((i as u64) << 32) ^ POISSON).max(1),
                };
                self.add(format!("udp {i} c{ns} {start} {stop} {gap} {payload} {drawn}{says}"));
            }
            Traffic::Tcp { cca, size_bytes, .. } => {
                let name = &names[cca];
                self.add(format!("tcp {i} c{ns} {name} {start} {stop} {}{says}", size_bytes.unwrap_or(0)));
            }
        }
    }
}

/// The first three numbers of a client's network.
fn subnet(client: usize) -> String {
    format!("10.{}.{}", 1 + client / 250, client % 250)
}

/// Where a flow's packets come from and go to: hosts have their numbers, and flows without a host of that kind their own.
pub fn addresses(i: usize, f: &FlowSpec) -> (String, String) {
    let address = |net: u8, host: u32| match host {
        0 => format!("10.{}.{}.{}", net + 1, i >> 8 & 255, i & 255),
        host => format!("10.{net}.{}.{}", host >> 8 & 255, host & 255),
    };
    (address(252, f.header.source), address(248, f.header.destination))
}

/// Are hosts and codepoints told apart? Only there they have addresses of their own.
pub fn tells_hosts(run: &RunSpec) -> bool {
    let info = run.discipline.info;
    info.needs_hosts || info.needs_dscp
}

/// The payload that makes a packet of this IP length; `check` has refused shorter ones.
fn payload(packet_bytes: u32) -> u32 {
    packet_bytes.saturating_sub(UDP_HEADER_BYTES)
}

fn gap_ns(bps: u64, packet_bytes: u32) -> u64 {
    let ns = u128::from(packet_bytes) * 8_000_000_000 / u128::from(bps.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX).max(1)
}

/// How much later than in the scenario a flow sends, ns. The path's delay is netem's, on the reverse path: what is sent is at the bottleneck
/// at once, and so at the time at which the scenario has it there, half a round trip after it was sent.
pub fn there_ns(flow: &FlowSpec) -> u64 {
    flow.base_rtt_ns / 2
}

/// When a flow starts, by the scenario's clock: the lab's seed moves it.
pub fn start_ns(seed: u64, i: usize, flow: &FlowSpec) -> u64 {
    flow.start_ns + mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i as u64)) % START_SHIFT_NS
}

/// For how long the handshake of each flow is over when it starts, if it opens its connection before (`flows_open` in
/// `guest/flows.c`); `run` has the lab's starts.
pub fn open_for_ns(run: &RunSpec) -> Vec<Option<u64>> {
    let opens_before = |f: &FlowSpec| matches!(f.traffic, Traffic::Tcp { size_bytes: None, .. });
    let mut at = 0;
    let over: Vec<Option<u64>> = run
        .flows
        .iter()
        .map(|f| {
            let done = opens_before(f).then_some(at + f.base_rtt_ns);
            at += if done.is_some() { OPEN_APART_NS } else { 0 };
            done
        })
        .collect();
    let zero = over.iter().flatten().copied().fold(at, u64::max) + OPEN_MORE_NS;
    over.into_iter().zip(&run.flows).map(|(over, f)| Some(zero - over? + f.start_ns + there_ns(f))).collect()
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_scenario::Scenario;

    fn runs(flows: &str) -> Vec<RunSpec> {
        let text = format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\n{flows}[queue]\ndisciplines = [\"codel\"]\n\
             [run]\nduration = \"10s\"\nseeds = [1, 2]\n"
        );
        let runs = Scenario::parse(&text, "t.toml", "".as_ref()).and_then(|s| s.runs());
        runs.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Idle time of the virtual machine costs nothing; of this one it would be a quarter of an hour.
    #[test]
    fn only_the_virtual_machine_waits_for_its_uptime() {
        let runs = runs("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n");
        for (native, least) in [(false, LEAST_UPTIME_NS), (true, 0)] {
            let job = Job::new(&runs, QdiscOrigin::Kernel, native, 702).unwrap_or_else(|e| panic!("{e}"));
            let waits: BTreeSet<&str> = job
                .text
                .lines()
                .filter(|l| l.starts_with("go "))
                .filter_map(|l| l.split(' ').nth(5))
                .collect();
            assert_eq!(waits, BTreeSet::from([least.to_string().as_str()]), "native: {native}");
            // What is set for a whole machine is set for the virtual one alone.
            assert_eq!(job.text.lines().any(|l| l.starts_with("set - ")), !native);
        }
    }

    #[test]
    fn flows_that_differ_in_more_than_their_start_have_namespaces_of_their_own() {
        let tcp = |more: &str| format!("[[flows]]\ncount = 2\ncca = \"bbr\"\nrtt = \"20ms\"\n{more}\n");
        let runs = runs(&[tcp(""), tcp("ecn = true"), tcp("initial_window = \"4p\"")].concat());
        assert_eq!(clients(&runs[0]).len(), 3);
        let job = Job::new(&runs, QdiscOrigin::Kernel, false, 702).unwrap_or_else(|e| panic!("{e}"));
        assert!(job.modules.ends_with(&["sch_codel", "tcp_bbr"]), "{:?}", job.modules);
        let count = |begins: &str| job.text.lines().filter(|l| l.starts_with(begins)).count();
        assert_eq!((count("run "), count("end"), count("tcp "), count("hello ")), (2, 2, 12, 6));
        assert!(job.text.contains("initcwnd 4\n") && job.text.contains("set c2 net/ipv4/tcp_ecn 1\n"));
        // Seeds move starts.
        let starts: BTreeSet<&str> = job
            .text
            .lines()
            .filter(|l| l.starts_with("tcp 0 "))
            .filter_map(|l| l.split(' ').nth(4))
            .collect();
        assert_eq!(starts.len(), 2);
    }

    #[test]
    fn a_qdisc_that_shapes_is_the_root() {
        let cake = Qdisc { words: "cake bandwidth 1mbit".into(), root: true, ..Qdisc::default() };
        let mut lines = Lines::default();
        lines.bottleneck(&cake, Shaper::Htb, 1_000_000, 300);
        assert_eq!(lines.0, "in r tc qdisc add dev rs root handle 10: cake bandwidth 1mbit\n");
    }

    #[test]
    fn a_bucket_is_tbfs_where_the_file_says_so() {
        let mut lines = Lines::default();
        let pfifo = Qdisc { words: "pfifo limit 10".into(), ..Qdisc::default() };
        lines.bottleneck(&pfifo, Shaper::Tbf, 1_000_000, 3028);
        let tbf = "in r tc qdisc add dev rs root handle 1: tbf rate 1000000bit burst 3028b limit 1gb\n";
        assert_eq!(lines.0, format!("{tbf}in r tc qdisc add dev rs parent 1:1 handle 10: pfifo limit 10\n"));
    }

    #[test]
    fn ours_is_attached_and_its_maps_are_looked_at() {
        let runs = runs("[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n");
        let job = Job::new(&runs, QdiscOrigin::Bpf, false, 702).unwrap_or_else(|e| panic!("{e}"));
        assert!(job.attaches && !job.text.contains("htb default"));
        let attach = job.text.lines().find(|l| l.contains(" attach ")).expect("it is attached");
        assert!(
            attach.starts_with("in r /queuewright attach rs codel:target=5ms:interval=100ms:"),
            "{attach}"
        );
        assert!(attach.ends_with(" --limit 100p --rate 10000000bit"), "{attach}");
        let count = |line: &str| job.text.lines().filter(|l| *l == line).count();
        assert_eq!((count("maps r rs"), count("in r /queuewright detach rs")), (2, 2));
    }

    #[test]
    fn a_learned_policy_travels_with_its_weights() {
        let text = "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n\
                    [queue]\ndisciplines = [\"queuepilot\", \
                    { name = \"queuepilot\", label = \"learned\", weights = \"threshold-policy.json\" }]\n\
                    [run]\nduration = \"10s\"\nseeds = [1]\n";
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let runs = Scenario::parse(text, "t.toml", examples.as_ref()).and_then(|s| s.runs());
        let runs = runs.unwrap_or_else(|e| panic!("{e}"));
        if queuewright_linux::names().is_empty() {
            return;
        }
        let job = Job::new(&runs, QdiscOrigin::Bpf, false, 702).unwrap_or_else(|e| panic!("{e}"));
        let (name, content) = job.files.iter().next().expect("a file");
        let policy = queuewright_scenario::Policy::parse(content, name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Some(&policy.weights), runs[1].discipline.weights().map(|w| &w.values));
        assert_eq!(job.text.matches(&format!(":weights=/{name} --limit")).count(), 1);
    }
}
