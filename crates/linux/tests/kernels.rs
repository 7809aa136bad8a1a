//! What `attach` does on several kernels: as a BPF qdisc, in front of htb, of what comes in, as a policer. On each either all
//! of it works, and is gone when it is taken off, or it is refused in a line, and nothing was done. Alone on the lab's
//! kernel; `-- KERNEL` on `lab` or on one of those that `scripts/setup kernels` unpacks, as `make attach-matrix` does, and
//! there each discipline's programs are verified, too. The guest prints its row of the table in docs/linux.md.

#[allow(dead_code, reason = "it boots other kernels, too")]
mod vm;

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use queuewright_aqm::{Spec, Value, find};
use queuewright_linux::{self as linux, Host};
use queuewright_testing::{Lack, left_out, only_test, wait_for};
use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use vm::Outcome;

/// What a kernel may have built in.
const MODULES: [&str; 4] = ["drivers/net/veth", "drivers/net/ifb", "net/sched/sch_htb", "net/sched/cls_bpf"];
/// A rate at which packets wait, and how many may.
const RATE: u64 = 8_000_000;
const LIMIT: u32 = 50;

fn main() {
    let Some(words) = only_test("kernels") else { return };
    if vm::is_inside() {
        return vm::inside(|| guest(!words.is_empty()));
    }
    match boots(&words) {
        Ok(()) => println!("test kernels ... ok"),
        Err(Outcome::LeftOut(why)) if words.is_empty() => {
            left_out("attach on the lab's kernel", Lack::Setup, &why);
        }
        Err(Outcome::LeftOut(why) | Outcome::Failed(why)) => panic!("{why}"),
    }
}

fn boots(words: &[String]) -> Result<(), Outcome> {
    vm::built_with_clang()?;
    let lab = vm::lab();
    let kernel = words.first().map_or("lab", String::as_str);
    if kernel == "lab" {
        let files: Vec<vm::File> =
            MODULES.iter().map(|path| vm::module_of(&lab, path)).collect::<Result<_, _>>()?;
        return vm::boot_this(&lab, &vm::kernel_of(&lab)?, words, &files);
    }
    let at = lab.join("../kernels").join(kernel);
    let image = at.join("vmlinuz");
    if !image.exists() || vm::kernel_of(&lab).is_err() {
        return Err(Outcome::LeftOut(format!("{kernel} is not unpacked: run scripts/setup kernels")));
    }
    let module = |path: &&str| {
        let name = format!("{}.ko", path.rsplit('/').next().unwrap_or(path));
        let content = fs::read(at.join("modules").join(&name)).ok()?;
        Some(vm::File(name, 0o100_644, content))
    };
    let files: Vec<vm::File> = MODULES.iter().filter_map(module).collect();
    vm::boot_this(&lab, &image, words, &files)
}

/// The ways, in the order of the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As it comes: a BPF qdisc where the kernel has those.
    Plain,
    Front,
    Ingress,
    PoliceOut,
    PoliceIn,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Came {
    Works,
    /// It works in front of htb in its place.
    InFront,
    Refused,
}

impl Way {
    const ALL: [Way; 5] = [Way::Plain, Way::Front, Way::Ingress, Way::PoliceOut, Way::PoliceIn];

    /// One discipline that marks, and acts at the head where that can be, and one that acts on what comes.
    fn disciplines(self) -> [&'static str; 2] {
        match self {
            Way::PoliceOut | Way::PoliceIn => ["cp-aqm", "titrate"],
            _ => ["codel", "titrate"],
        }
    }

    fn incoming(self) -> bool {
        matches!(self, Way::Ingress | Way::PoliceIn)
    }

    /// What is to come of it on this kernel, by what the program says that it needs.
    fn expected(self, kernel: (u32, u32)) -> Came {
        let has = |host: Host| has(host, kernel);
        match self {
            Way::Plain if has(Host::Qdisc) => Came::Works,
            Way::Plain if has(Host::Front) => Came::InFront,
            Way::Front if has(Host::Front) => Came::Works,
            // What comes in is met at the same hook by both.
            Way::Ingress | Way::PoliceOut | Way::PoliceIn if has(Host::Police) => Came::Works,
            _ => Came::Refused,
        }
    }
}

/// Has this kernel what a host needs? Debian's have all but BPF qdiscs as soon as Linux has it.
fn has(host: Host, kernel: (u32, u32)) -> bool {
    kernel >= host.since() && (host != Host::Qdisc || linux::has_bpf_qdiscs() == Some(true))
}

fn say(text: &str) {
    println!("machine: {text}");
}

fn guest(all: bool) {
    let load = |module: &str| {
        let file = format!("/{}.ko", module.rsplit('/').next().unwrap_or(module));
        if Path::new(&file).exists() {
            vm::loads(&file);
        }
    };
    let (device, others) = MODULES.split_first().expect("there are some");
    load(device);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux says its version");
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    let kernel = numbers.next().zip(numbers.next()).expect("a version has two numbers");
    say(&format!("Linux {}", release.trim()));
    if all {
        verifies(kernel);
    }
    let ends = Ends::new();
    lacks(kernel);
    others.iter().for_each(|module| load(module));
    let mut row = vec![format!("{}.{}", kernel.0, kernel.1)];
    for way in Way::ALL {
        let came = way.disciplines().map(|name| ends.tries(way, name));
        assert_eq!(came[0], came[1], "{way:?}");
        assert_eq!(came[0], way.expected(kernel), "{way:?} on Linux {}", release.trim());
        let cell = match (way, &came[0]) {
            (Way::Plain, Came::Works) => "BPF qdisc",
            (_, Came::Works) => "works",
            (_, Came::InFront) => "in front of htb",
            (_, Came::Refused) => "refused",
        };
        // Both directions of a policer are one column.
        if way == Way::PoliceIn {
            assert_eq!(row.last().map(String::as_str), Some(cell), "out and in");
        } else {
            row.push(cell.into());
        }
    }
    asks_for_a_rate();
    // A warning of the kernel's would show here.
    assert_eq!(fs::read_to_string("/proc/sys/kernel/tainted").expect("Linux has it"), "0\n");
    let [qdisc, front, police] = [Host::Qdisc, Host::Front, Host::Police].map(Host::first_linux);
    say(&format!("| needed | {qdisc}, or {front} in front of htb | {front} | {police} | {police} |"));
    say(&format!("| {} |", row.join(" | ")));
}

/// The verifier of this kernel takes each discipline's programs.
fn verifies(kernel: (u32, u32)) {
    let mut refused = Vec::new();
    for host in [Host::Qdisc, Host::Front, Host::Police].into_iter().filter(|host| has(*host, kernel)) {
        let begun = Instant::now();
        let names = host.names();
        for name in &names {
            let done = linux::verify(find(name).expect("in the registry"), host);
            refused.extend(done.err().map(|e| format!("{host:?}: {e}")));
        }
        say(&format!(
            "{host:?}: {} disciplines verified in {:.1} s",
            names.len(),
            begun.elapsed().as_secs_f64()
        ));
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// A kernel that has neither htb nor IFB devices, or whose modules cannot be loaded: what is asked for is refused, and
/// nothing was done.
fn lacks(kernel: (u32, u32)) {
    for (way, what) in [(Way::Front, "htb"), (Way::Ingress, "ifb")] {
        if !has(Host::Front, kernel) {
            continue;
        }
        let before = machine();
        let spec = Spec::new(find("codel").expect("in the registry"));
        let port = linux::Port { rate: RATE, front: way == Way::Front, ..linux::Port::default() };
        let plan = if way.incoming() { linux::plan_ingress } else { linux::plan };
        let done = plan("v0", "codel", spec, port).and_then(|plan| linux::attach(&plan).map(drop));
        let said = done.expect_err("it is not there").to_string();
        say(&format!("{way:?} without {what}: {said}"));
        assert!(said.to_lowercase().contains(what) && !said.contains('\n'), "{said}");
        gone(&before, &format!("{way:?} without {what}"));
    }
}

/// Without BPF qdiscs there is no way without a rate, and the program says what has one.
fn asks_for_a_rate() {
    if linux::has_bpf_qdiscs() == Some(true) {
        return;
    }
    let spec = Spec::new(find("codel").expect("in the registry"));
    let port = linux::Port::default();
    let said = linux::plan("v0", "codel", spec, port).expect_err("there are no BPF qdiscs").to_string();
    say(&format!("without a rate: {said}"));
    assert!(said.contains("or newer") || said.contains("has no BPF qdiscs"), "{said}");
}

/// A device, v0, and the other end of its cable in a network namespace of its own: a socket at each.
struct Ends {
    here: UdpSocket,
    there: UdpSocket,
}

impl Ends {
    fn new() -> Ends {
        for conf in ["all", "default"] {
            // Packets that nobody sends would be counted.
            fs::write(format!("/proc/sys/net/ipv6/conf/{conf}/disable_ipv6"), "1").expect("root may");
        }
        let (a, b) = ("02:00:00:00:00:01", "02:00:00:00:00:02");
        run("ip", "netns add far");
        run("ip", &format!("link add v0 address {a} type veth peer name v1 address {b} netns far"));
        for (netns, dev, own, other, lladdr) in [("", "v0", 1, 2, b), ("-n far ", "v1", 2, 1, a)] {
            run("ip", &format!("{netns}addr add 10.77.0.{own}/24 dev {dev}"));
            run("ip", &format!("{netns}link set {dev} up"));
            run(
                "ip",
                &format!("{netns}neigh replace 10.77.0.{other} lladdr {lladdr} dev {dev} nud permanent"),
            );
        }
        // The kernel says so a little later.
        wait_for("a cable that is plugged in", || {
            ["link show v0", "-n far link show v1"].iter().all(|words| run("ip", words).contains("state UP"))
        });
        let there = std::thread::spawn(|| {
            let far = File::open("/run/netns/far").expect("made a moment ago");
            // SAFETY: a namespace, for this thread alone.
            let rc = unsafe { libc::setns(far.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(rc, 0, "setns: {}", std::io::Error::last_os_error());
            UdpSocket::bind("10.77.0.2:9").expect("a socket there")
        });
        let here = UdpSocket::bind("10.77.0.1:9").expect("a socket");
        let there = there.join().expect("no panic");
        for socket in [&here, &there] {
            socket.set_nonblocking(true).expect("a socket");
            // What is lost is to be lost before.
            vm::option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4 << 20);
        }
        Ends { here, there }
    }

    /// Attaches a discipline in one way, sends packets by it, changes its rate and takes it off; or is refused.
    fn tries(&self, way: Way, name: &str) -> Came {
        let before = machine();
        let mut spec = Spec::new(find(name).expect("in the registry"));
        if name == "codel" {
            // What sets CE is a program of its own with a BPF qdisc.
            spec.set("ecn", Value::Flag(true)).expect("it has that");
        }
        let port = linux::Port {
            rate: RATE,
            limit_packets: LIMIT,
            front: way == Way::Front,
            police: matches!(way, Way::PoliceOut | Way::PoliceIn),
            ..linux::Port::default()
        };
        let plan = if way.incoming() { linux::plan_ingress } else { linux::plan };
        let done = plan("v0", name, spec.clone(), port).and_then(|plan| {
            assert!(!plan.steps().is_empty());
            linux::attach(&plan).map(|_| plan.record.front)
        });
        let front = match done {
            Ok(front) => front,
            Err(e) => {
                let said = e.to_string();
                say(&format!("{way:?} {name}: {said}"));
                // What is needed, and not what the verifier has written of it.
                assert!(matches!(e, linux::Error::Input(_)), "{said}");
                assert!(said.contains(" needs Linux ") && said.contains(" or newer"), "{said}");
                assert!(!said.contains('\n') && said.len() < 200, "{said}");
                gone(&before, &format!("{way:?} {name}, which was refused,"));
                return Came::Refused;
            }
        };
        let record = match way.incoming() {
            true => linux::ingress_of("v0").unwrap_or_else(|e| panic!("{e}")).expect("attached"),
            false => linux::attached("v0").unwrap_or_else(|e| panic!("{e}")),
        };
        let status = || linux::status(&record).unwrap_or_else(|e| panic!("{way:?} {name}: {e}"));
        let (from, to) = if way.incoming() { (&self.there, &self.here) } else { (&self.here, &self.there) };
        let address = to.local_addr().expect("an address");
        let (mut sent, mut received) = (0, 0);
        // Few pass; of many some are dropped, as there is no room.
        for (count, drops) in [(10, false), (300, true)] {
            for _ in 0..count {
                // What a policer drops its sender is told of.
                let _ = from.send_to(&[0; 958], address);
            }
            sent += count;
            wait_for(&format!("packets by {way:?} {name}"), || {
                while to.recv(&mut [0; 2000]).is_ok() {
                    received += 1;
                }
                let s = status().stats;
                s.arrived_packets >= sent && received + s.drops.iter().sum::<u64>() >= sent
            });
            let s = status().stats;
            let dropped: u64 = s.drops.iter().sum();
            assert_eq!((s.arrived_packets, s.arrived_bytes), (sent, sent * 1000), "{way:?} {name}");
            assert_eq!((received + dropped, dropped > 0), (sent, drops), "{way:?} {name}: {s:?}");
        }
        linux::set(&record, &spec, name, false, |port| port.rate = 10 * RATE)
            .unwrap_or_else(|e| panic!("{e}"));
        let now = status();
        assert!(now.there && now.missing.is_empty() && now.rate == 10 * RATE, "{now:?}");
        from.send_to(&[0; 958], address).expect("there is room");
        wait_for("a packet at the new rate", || to.recv(&mut [0; 2000]).is_ok());
        say(&format!("{way:?} {name} ({}): {sent} packets came, {received} passed", now.kind));
        linux::detach(&record.dev).unwrap_or_else(|e| panic!("{e}"));
        gone(&before, &format!("{way:?} {name}, taken off,"));
        if way == Way::Plain && front { Came::InFront } else { Came::Works }
    }
}

fn run(program: &str, words: &str) -> String {
    let done = Command::new(format!("/usr/sbin/{program}")).args(words.split_whitespace()).output();
    let done = done.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(done.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// All that attaching may leave: devices with their settings, qdiscs, filters, BPF programs, maps and links, records, pins.
fn machine() -> String {
    let names = |folder: &str| {
        let all = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut all: Vec<_> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        all.retain(|name| name != "lock");
        all.sort();
        all.join(" ")
    };
    let shown = ["-d link show", "-d -n far link show"].map(|words| run("ip", words));
    let tc = ["qdisc show", "filter show dev v0", "filter show dev v0 ingress", "class show dev v0"];
    let tc = tc.map(|words| run("tc", words));
    let held =
        [ProgInfoIter::default().count(), MapInfoIter::default().count(), LinkInfoIter::default().count()];
    let folders = [linux::RUN, linux::PINS].map(names);
    format!("{}\n{}\n{held:?} {folders:?}", shown.join("\n"), tc.join("\n"))
}

/// All is as before, when the kernel has let go.
fn gone(before: &str, what: &str) {
    let begun = Instant::now();
    while machine() != before && begun.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(20));
    }
    let now = machine();
    let other: Vec<_> = now.lines().zip(before.lines()).filter(|(now, before)| now != before).collect();
    assert!(now == before, "{what} left something: {other:?}");
}
