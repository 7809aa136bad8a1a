//! What must not harm: attaching and detaching under traffic, a device that goes away, limits that change, frames that
//! are none, few rights. Afterwards nothing is left behind, and the kernel has nothing to say. `-- 200` attaches and
//! detaches 200 times, `-- frames` does the parts alone whose names have that word.

mod held;
mod traffic;
mod vm;

use held::held;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use queuewright_aqm::{Spec, Weights, find};
use queuewright_linux as linux;
use queuewright_scenario::Policy;
use queuewright_testing::{only_test, wait_for};
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use traffic::Traffic;
use vm::option;

fn main() {
    let Some(words) = only_test("abuse") else { return };
    let files = |lab: &Path| {
        vm::built_with_clang()?;
        let paths = SCHEDULERS.map(|name| format!("net/sched/sch_{name}"));
        // What is built in is no file.
        let mut files: Vec<_> = paths.iter().filter_map(|path| vm::module_of(lab, path).ok()).collect();
        for path in ["drivers/net/veth", "drivers/net/ifb", "net/sched/cls_matchall"] {
            files.push(vm::module_of(lab, path)?);
        }
        Ok(files)
    };
    vm::test("BPF qdiscs under abuse", &words, files, || {
        vm::loads("/veth.ko");
        let times = words.iter().find_map(|a| a.parse().ok());
        let named =
            |what: &str| words.iter().filter(|w| w.parse::<u64>().is_err()).all(|w| what.contains(&**w));
        let part = |what: &str, run: &dyn Fn()| {
            if !named(what) {
                return;
            }
            let begun = Instant::now();
            run();
            println!("machine: {what} took {:.0} s", begun.elapsed().as_secs_f64());
        };
        part("what is another's", &leaves_anothers);
        part("putting back", &|| puts_back(times.unwrap_or(2)));
        part("filters", &sees_filters_at_the_kernels_own);
        part("the clock", &keeps_time);
        part("changes", &changes);
        part("a device that goes", &loses_its_device);
        part("frames", &takes_any_frame);
        part("queues", &serves_each_queue);
        part("a rate of several", &shares_a_rate);
        part("coming and going", &|| comes_and_goes(times.unwrap_or(10)));
        part("rights", &keeps_to_its_rights);
        is_quiet();
    });
}

/// With its defaults, and its policy if it can have one.
fn spec(name: &str) -> Spec {
    let mut spec = Spec::new(find(name).expect("in the registry"));
    if let Ok(policy) = Policy::open(name) {
        spec.set_weights(Weights { values: policy.weights, id: name.into() }).expect("as many as it has");
    }
    spec
}

fn attach(dev: &str, name: &str, port: linux::Port) -> Result<(), linux::Error> {
    linux::attach(&linux::plan(dev, name, spec(name), port)?).map(drop)
}

fn stats(dev: &str) -> linux::Stats {
    let record = linux::record(dev).expect("attached");
    linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats
}

fn ip(words: &str) {
    let done = Command::new("/usr/sbin/ip").args(words.split_whitespace()).output().expect("ip runs");
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The kernel lets go of everything, a little later.
fn settles(what: &str) {
    wait_for(&format!("the kernel to let go of all maps, programs and links: {what}"), || held().is_none());
}

/// Every packet that came is sent, dropped, waiting or was thrown away with the queue.
fn conserves(dev: &str, what: &str) -> linux::Stats {
    let mut found = stats(dev);
    // The counters are read while packets come.
    wait_for(&format!("counters of {dev} that agree: {what}"), || {
        found = stats(dev);
        let s = &found;
        let gone = s.sent_packets + s.drops.iter().sum::<u64>() + s.purged + u64::from(s.backlog_packets);
        gone == s.arrived_packets
    });
    found
}

/// Memory that is there to be used, kB.
fn available() -> i64 {
    let text = fs::read_to_string("/proc/meminfo").expect("there is one");
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:")).expect("it says");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// A discipline's maps, to be read quickly.
struct Watched {
    state: MapHandle,
    stats: MapHandle,
}

impl Watched {
    fn of(dev: &str) -> Watched {
        let record = linux::record(dev).expect("attached");
        let ours =
            Path::new("/sys/fs/bpf/queuewright").join(format!("{}:{}", record.namespace, record.index));
        let open = |name| MapHandle::from_pinned_path(ours.join(name)).expect(name);
        Watched { state: open("state"), stats: open("stats") }
    }

    /// When QueuePilot's next step is due, the first word of its state, ns of this machine's clock; packets sent.
    fn now(&self) -> (u64, u64) {
        let word = |map: &MapHandle, at: usize| {
            let value = map.lookup(&[0; 4], MapFlags::ANY).expect("a map").expect("it is there");
            u64::from_ne_bytes(value[at..at + 8].try_into().expect("eight bytes"))
        };
        (word(&self.state, 0), word(&self.stats, 16))
    }

    /// Watched for so long: how many times it was seen that steps were made and no packet was sent, and what was sent.
    fn steps(&self, time: Duration) -> (usize, u64) {
        let (begun, first) = (Instant::now(), self.now());
        let (mut seen, mut last) = (0, first);
        while begun.elapsed() < time {
            let now = self.now();
            seen += usize::from(now.0 > last.0 && now.1 == last.1);
            last = now;
            sleep(Duration::from_millis(1));
        }
        (seen, last.1 - first.1)
    }
}

/// QueuePilot's steps are made when they are due, 20 of them between two packets; without packets they come to an end, and
/// the next packet has them go on. Whatever is done to a qdisc may be done while its timer runs.
fn keeps_time() {
    ip("link add v0 type veth peer name v1");
    // No packets but ours.
    fs::write("/proc/sys/net/ipv6/conf/v0/disable_ipv6", "1").expect("root may");
    ip("link set v0 up");
    ip("link set v1 up");
    // 1000 bytes in 100 ms.
    let slow = linux::Port { rate: 80_000, limit_packets: 50, ..linux::Port::default() };
    let few = |n: usize| {
        let raw = raw("v0");
        (0..n).for_each(|_| send(&raw, &frame(&[], 0x0800, &[0; 986])));
    };
    attach("v0", "queuepilot", slow).unwrap_or_else(|e| panic!("{e}"));
    let watched = Watched::of("v0");
    few(20);
    let (made, left) = watched.steps(Duration::from_secs(1));
    println!("machine: queuepilot makes {made} steps beside {left} packets in a second");
    assert!(made > 60 && left < 15, "{made} steps, {left} packets");

    // The queue runs empty, and then the steps to be made for that are made: the last packet's and 64.
    let record = linux::record("v0").expect("attached");
    linux::set(&record, &spec("queuepilot"), "queuepilot", false, |p| p.rate = 80_000_000)
        .unwrap_or_else(|e| panic!("{e}"));
    few(1);
    let mut ends = watched.now().0;
    wait_for("the steps' end: none for 200 ms, and no packet", || {
        sleep(Duration::from_millis(200));
        let before = std::mem::replace(&mut ends, watched.now().0);
        before == ends && stats("v0").backlog_packets == 0
    });
    few(1);
    assert!(watched.now().0 > ends, "a packet did not have it go on");
    let (made, left) = watched.steps(Duration::from_millis(600));
    println!("machine: queuepilot makes {made} steps after the last packet");
    assert!((20..=65).contains(&made) && left <= 1, "{made} steps, {left} packets");

    // With its timer running: it begins anew, the device goes down and up, the qdisc is taken off by us and by others.
    for fresh in [false, true] {
        few(5);
        linux::set(&record, &spec("queuepilot"), "queuepilot", fresh, |p| p.rate = 80_000 << u8::from(fresh))
            .unwrap_or_else(|e| panic!("{e}"));
        few(5);
        ip("link set v0 down");
        ip("link set v0 up");
        few(5);
        let (made, _) = watched.steps(Duration::from_millis(200));
        assert!(made > 5, "it stands still: {made} steps");
    }
    drop(watched);
    conserves("v0", "the timer");
    linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
    settles("detached with the timer running");
    for way in ["tc", "device"] {
        attach("v0", "queuepilot", slow).unwrap_or_else(|e| panic!("{e}"));
        few(5);
        match way {
            "tc" => drop(Command::new("/usr/sbin/tc").args(["qdisc", "del", "dev", "v0", "root"]).status()),
            _ => ip("link del v0"),
        }
        linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
        settles(way);
    }
}

/// Attached and taken off again, over and over, with packets in flight.
fn comes_and_goes(times: usize) {
    let (sender, to) = udp("127.0.0.1:0");
    let traffic = Traffic::begin(move || drop(sender.send_to(&[0; 958], to)));
    // Half of what comes: packets wait when it is detached.
    let port = linux::Port { rate: 16_000_000, limit_packets: 100, ..linux::Port::default() };
    let names = ["droptail", "codel", "cp-aqm", "fq-codel", "queuepilot"];
    let (mut packets, mut waiting) = (0, 0);
    let mut memory = 0;
    let begun = Instant::now();
    for i in 0..times {
        attach("lo", names[i % names.len()], port).unwrap_or_else(|e| panic!("{i}: {e}"));
        if i % 3 == 0 {
            traffic.wait(40);
            let s = conserves("lo", "in a row");
            packets += s.arrived_packets;
            waiting += s.backlog_packets;
        }
        if i % 10 == 9 {
            // Somebody else's tc: then detach tidies up.
            let _ = Command::new("/usr/sbin/tc").args(["qdisc", "del", "dev", "lo", "root"]).status();
        }
        linux::detach("lo").unwrap_or_else(|e| panic!("{i}: {e}"));
        if i == times / 4 {
            memory = available();
        }
    }
    drop(traffic);
    settles("attached and detached");
    // What the kernel has let go of it frees when it gets to it.
    let mut lost = 0;
    wait_for("the memory of what came and went", || {
        lost = memory - available();
        lost < 8192
    });
    println!(
        "machine: {times} times attached and detached in {:.0} s, {packets} packets seen, {lost} kB less memory than after a quarter",
        begun.elapsed().as_secs_f64()
    );
    assert!(packets > 0 && waiting > 0, "{packets} packets were seen, {waiting} waited");
}

/// Limits and rate change while packets flow; what waits never exceeds the memory that there is.
fn changes() {
    let (sender, to) = udp("127.0.0.1:0");
    let traffic = Traffic::begin(move || drop(sender.send_to(&[0; 958], to)));
    for name in ["codel", "fq-codel", "santa", "sfq", "queuepilot"] {
        let port = linux::Port { rate: 4_000_000, limit_packets: 200, ..linux::Port::default() };
        attach("lo", name, port).unwrap_or_else(|e| panic!("{e}"));
        let record = linux::record("lo").expect("attached");
        for (i, limit) in [200, 3, 120, 1, 200].into_iter().enumerate() {
            let set = |p: &mut linux::Port| (p.limit_packets, p.rate) = (limit, 1_000_000 << i);
            linux::set(&record, &spec(name), name, i == 3, set).unwrap_or_else(|e| panic!("{e}"));
            traffic.wait(300);
            let s = conserves("lo", name);
            assert!(s.backlog_packets <= 200 && s.no_slot == 0, "{name}: {s:?}");
        }
        let s = conserves("lo", name);
        assert!(s.drops[1] > 0 && s.sent_packets > 0, "{name}: {s:?}");
        // The device goes down and comes up: the queue is purged, and then all goes on.
        ip("link set lo down");
        ip("link set lo up");
        let then = stats("lo").sent_packets;
        traffic.wait(200);
        let s = conserves("lo", name);
        assert!(s.sent_packets > then, "{name} stands still");
        println!(
            "machine: {name} with changing limits: {} came, {} sent, {} purged",
            s.arrived_packets, s.sent_packets, s.purged
        );
        linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The device is deleted with packets in its queue.
fn loses_its_device() {
    for name in ["codel", "santa", "queuepilot"] {
        ip("link add v0 type veth peer name v1");
        ip("link set v0 up");
        ip("link set v1 up");
        let port = linux::Port { rate: 1_000_000, limit_packets: 100, ..linux::Port::default() };
        attach("v0", name, port).unwrap_or_else(|e| panic!("{e}"));
        let raw = raw("v0");
        let traffic = Traffic::begin(move || send(&raw, &frame(&[], 0x0800, &[0; 900])));
        traffic.wait(300);
        wait_for("a queue", || conserves("v0", name).backlog_packets > 0);
        ip("link del v0");
        traffic.wait(50);
        drop(traffic);
        assert!(linux::plan("v0", name, spec(name), port).is_err(), "it is gone");
        linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
        assert!(linux::record("v0").is_none());
    }
    settles("the device was deleted");
}

/// A qdisc and its name whose record is in another's `/run` stay, as long as a device or a pin has them.
fn leaves_anothers() {
    let run = |mounted: bool| {
        // SAFETY: C strings.
        let rc = unsafe {
            match mounted {
                true => {
                    libc::mount(c"none".as_ptr(), c"/run".as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null())
                }
                false => libc::umount2(c"/run".as_ptr(), 0),
            }
        };
        assert_eq!(rc, 0, "/run: {}", io::Error::last_os_error());
    };
    // What would be mended, and all that is left after it.
    let repaired = || {
        let faults = linux::faults().unwrap_or_else(|e| panic!("{e}"));
        let mended =
            faults.iter().filter(|fault| fault.mend.is_ok()).map(|fault| fault.what.clone()).collect();
        let left = linux::repair(&[], true, |_, _| Ok(())).unwrap_or_else(|e| panic!("{e}"));
        assert!(left.is_empty(), "{left:?}");
        let mended: Vec<String> = mended;
        mended
    };
    let pins = || {
        let record = linux::record("lo").expect("attached");
        Path::new("/sys/fs/bpf/queuewright").join(format!("{}:{}", record.namespace, record.index))
    };
    attach("lo", "codel", linux::Port::default()).unwrap_or_else(|e| panic!("{e}"));
    let ours = pins();
    run(true);
    assert_eq!(repaired(), [""; 0]);
    run(false);
    assert!(linux::status(&linux::record("lo").expect("attached")).is_ok_and(|s| s.missing.is_empty()));
    // No device has it any more, and its pins are gone but for one that somebody else has made.
    let theirs = Path::new("/sys/fs/bpf/theirs");
    let mut map = MapHandle::from_pinned_path(ours.join("qdisc")).expect("pinned");
    map.pin(theirs).expect("root may");
    drop(map);
    let _ = Command::new("/usr/sbin/tc").args(["qdisc", "del", "dev", "lo", "root"]).status();
    for pin in fs::read_dir(&ours).expect("there").flatten() {
        fs::remove_file(pin.path()).expect("root may");
    }
    fs::remove_dir(&ours).expect("root may");
    for record in fs::read_dir("/run/queuewright").expect("there").flatten() {
        let _ = fs::remove_file(record.path());
    }
    assert_eq!(repaired(), [""; 0]);
    fs::remove_file(theirs).expect("root may");
    assert_eq!(repaired(), ["the name bpf_codel, of nothing attached"]);
    println!("machine: what another has stays, and what nobody has goes");
    settles("what nobody has");
}

/// The kinds that are tried as what was there before, where they are modules.
const SCHEDULERS: [&str; 15] = [
    "tbf", "codel", "fq_codel", "fq", "pie", "red", "sfq", "cake", "dualpi2", "netem", "hhf", "ets", "prio",
    "htb", "drr",
];

/// Each kind that can be put back, with parameters from all of their ranges, is after `detach` what it was before `attach`, by all that
/// the kernel tells of it; or it was refused, with the parameter for which that is so, and nothing was changed.
fn puts_back(times: usize) {
    for name in SCHEDULERS {
        let path = format!("/sch_{name}.ko");
        if Path::new(&path).exists() {
            vm::loads(&path);
        }
    }
    ip("link add v0 type veth peer name v1");
    let tc = |words: &str| {
        let done = Command::new("/usr/sbin/tc").args(words.split_whitespace()).output().expect("tc runs");
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    // Of the root: its handle, its kind and its options, which are attributes of the number 2.
    let root = || {
        let index = fs::read_to_string("/sys/class/net/v0/ifindex").expect("it is there");
        let all =
            linux::netlink::qdiscs(index.trim().parse().expect("a number")).unwrap_or_else(|e| panic!("{e}"));
        let root = all.into_iter().find(|q| q.is_root()).expect("there is one");
        let options = root.attribute(2).unwrap_or_default().to_vec();
        (root.handle, root.kind, options)
    };
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Of all magnitudes.
        let bits = 64 - most.leading_zeros() as u64;
        (random >> 8) % (most >> ((random & 0xff) % bits)).max(1)
    };
    let kinds = [
        "pfifo",
        "bfifo",
        "pfifo_head_drop",
        "pfifo_fast",
        "prio",
        "ets",
        "hhf",
        "tbf",
        "tbf peak",
        "codel",
        "fq_codel",
        "fq",
        "pie",
        "sfq",
        "cake",
        "cake autorate",
        "htb",
        "drr",
    ];
    let refused = ["red", "netem", "dualpi2", "pie us", "pie s", "sfq red", "pfifo stab"];
    let mut wrong = Vec::new();
    for what in kinds.iter().chain(&refused) {
        let (mut tried, mut back) = (0, 0);
        for _ in 0..times * 30 {
            if tried == times {
                break;
            }
            // Each from nothing: what a change leaves as it was is not of this round.
            let _ = tc("qdisc del dev v0 root");
            let us = |n: u64| format!("{}us", n.max(1));
            let words = match *what {
                "pfifo" | "bfifo" | "pfifo_head_drop" => format!("{what} limit {}", next(u32::MAX.into())),
                "pfifo_fast" | "drr" => (*what).into(),
                "prio" => format!("prio bands {}", 2 + next(14)),
                "ets" => format!("ets strict {} quanta {} {}", next(5), 1 + next(1 << 31), 1 + next(1 << 31)),
                "hhf" => format!(
                    "hhf limit {} quantum {} reset_timeout {} evict_timeout {}",
                    1 + next(1 << 30),
                    1 + next(1 << 30),
                    us(next(1 << 31)),
                    us(next(1 << 31))
                ),
                "tbf" => format!(
                    "tbf rate {}bit burst {} limit {}",
                    8000 + next(400_000_000_000),
                    2000 + next(1 << 24),
                    2000 + next(1 << 31)
                ),
                "tbf peak" => {
                    let rate = 8000 + next(100_000_000_000);
                    let peak = rate * 2 + next(1_000_000_000);
                    format!(
                        "tbf rate {rate}bit burst {} limit {} peakrate {peak}bit mtu {}",
                        2000 + next(1 << 20),
                        2000 + next(1 << 31),
                        1600 + next(60_000)
                    )
                }
                "codel" | "fq_codel" => {
                    let more = if *what == "fq_codel" {
                        format!(
                            "flows {} quantum {} memory_limit {} drop_batch {}",
                            1 + next(65_535),
                            256 + next(1 << 19),
                            1 + next(1 << 31),
                            1 + next(1 << 20)
                        )
                    } else {
                        String::new()
                    };
                    format!(
                        "{what} limit {} target {} interval {} ce_threshold {} {} {more}",
                        1 + next(1 << 31),
                        us(next(4_000_000_000)),
                        us(next(4_000_000_000)),
                        us(next(2_000_000_000)),
                        ["ecn", "noecn"][next(2) as usize]
                    )
                }
                "fq" => {
                    format!(
                        "fq limit {} flow_limit {} quantum {} initial_quantum {} {} maxrate {}bit refill_delay {} orphan_mask {} \
                     low_rate_threshold {}bit timer_slack {} horizon {} {} buckets {}",
                        1 + next(1 << 31),
                        1 + next(1 << 31),
                        1 + next(1 << 20),
                        1 + next(1 << 31),
                        ["pacing", "nopacing"][next(2) as usize],
                        8 * (1 + next(1 << 31)),
                        us(next(4_000_000_000)),
                        next(1 << 31),
                        8 * (1 + next(1 << 31)),
                        next(1 << 31),
                        us(next(4_000_000_000)),
                        ["horizon_cap", "horizon_drop"][next(2) as usize],
                        1u64 << next(18)
                    ) + &if next(2) == 1 {
                        format!(" ce_threshold {}", us(next(1_200_000_000)))
                    } else {
                        String::new()
                    }
                }
                "pie" => format!(
                    "pie limit {} target {}ms tupdate {} alpha {} beta {} {} {}",
                    1 + next(1 << 31),
                    1 + next(4294),
                    us(next(4_000_000_000)),
                    next(33),
                    next(33),
                    ["ecn", "noecn"][next(2) as usize],
                    ["bytemode", "nobytemode"][next(2) as usize]
                ),
                "sfq" => format!(
                    "sfq limit {} depth {} perturb {} quantum {} divisor {} flows {} {}",
                    1 + next(100_000),
                    1 + next(126),
                    next(100),
                    2000 + next(60_000),
                    1u64 << (8 + next(8)),
                    1 + next(65_535),
                    ["headdrop", ""][next(2) as usize]
                ),
                "cake" | "cake autorate" => format!(
                    "cake bandwidth {}bit rtt {} overhead {} mpu {} {} {} {} {} {} {} memlimit {} fwmark {} {}",
                    8000 + next(100_000_000_000),
                    us(next(4_000_000_000)),
                    next(256),
                    next(256),
                    ["noatm", "atm", "ptm"][next(3) as usize],
                    ["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"][next(5) as usize],
                    ["triple-isolate", "dual-srchost", "dual-dsthost", "flowblind", "hosts", "flows"]
                        [next(6) as usize],
                    ["nat", "nonat"][next(2) as usize],
                    ["wash", "nowash"][next(2) as usize],
                    ["ack-filter", "no-ack-filter", "ack-filter-aggressive"][next(3) as usize],
                    next(1 << 31),
                    next(1 << 31),
                    if *what == "cake autorate" {
                        "ingress autorate-ingress"
                    } else {
                        ["raw", "split-gso", "no-split-gso"][next(3) as usize]
                    }
                ),
                "htb" => format!(
                    "htb r2q {} default {:x} direct_qlen {}",
                    1 + next(1000),
                    next(0xffff),
                    next(1 << 31)
                ),
                "red" => "red limit 60kb avpkt 1000 min 5000 max 20000 burst 20".into(),
                "netem" => format!("netem delay {}", us(next(4_000_000))),
                "dualpi2" => "dualpi2".into(),
                "pie us" => format!("pie target {}us", 1000 * next(4000) + 500 + next(400)),
                "pie s" => format!("pie target {}ms", 4295 + next(100_000)),
                "sfq red" => {
                    "sfq limit 3000 redflowlimit 100000 min 8000 max 60000 probability 0.20 ecn".into()
                }
                _ => "stab linklayer atm overhead 40 pfifo limit 99".into(),
            };
            let handle = 1 + next(0x7000);
            let line = match words.split_once(" pfifo limit 99") {
                Some((stab, _)) => format!("qdisc add dev v0 root handle {handle:x}: {stab} pfifo limit 99"),
                None => format!("qdisc add dev v0 root handle {handle:x}: {words}"),
            };
            // Of random parameters not all go together.
            if !tc(&line).0 {
                continue;
            }
            let before = root();
            assert!(before.0 != 0 && words.contains(&before.1), "{words}: {before:?}");
            tried += 1;
            match attach("v0", "droptail", linux::Port::default()) {
                Ok(()) => {
                    assert!(root().1.starts_with("bpf_"));
                    match linux::detach("v0") {
                        Ok(_) => back += 1,
                        Err(e) => wrong.push(format!("{words}: {e}")),
                    }
                }
                Err(e) => {
                    let said = e.to_string();
                    let parameter = ["target", "burst", "RED", "stab", "of which it is not known"];
                    if !said.contains(&before.1) || !parameter.iter().any(|p| said.contains(p)) {
                        wrong.push(format!("{words}: {said}"));
                    }
                }
            }
            let now = root();
            if now != before {
                wrong.push(format!("{words}: {before:x?} is {now:x?}"));
            }
        }
        println!("machine: {what}: {tried} tried, {back} put back");
        // tc before 6.16 knows no such kind.
        if *what == "dualpi2" && tried == 0 {
            continue;
        }
        let expected = if refused.contains(what) { 0 } else { times };
        if (tried, back) != (times, expected) {
            let said = tc(&format!("qdisc add dev v0 root {what}")).1;
            wrong.push(format!("{what}: {tried} of {times} tried, {back} of {expected} put back: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    ip("link del v0");
    settles("what was there before");
}

/// At the root that the kernel itself has put there somebody may have filters, which would go with it.
fn sees_filters_at_the_kernels_own() {
    vm::loads("/ifb.ko");
    vm::loads("/cls_matchall.ko");
    fs::write("/proc/sys/net/core/default_qdisc", "fq_codel").expect("root may");
    ip("link add i0 type ifb");
    ip("link set i0 up");
    let tc = |words: &str| {
        let done = Command::new("/usr/sbin/tc").args(words.split_whitespace()).output().expect("tc runs");
        assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!(tc("qdisc show dev i0").contains("fq_codel 0: root"));
    tc("filter add dev i0 protocol all prio 9 matchall classid 0:5");
    let said = attach("i0", "droptail", linux::Port::default()).map_err(|e| e.to_string());
    assert!(said.as_ref().is_err_and(|e| e.contains("filters")), "{said:?}");
    assert!(tc("filter show dev i0").contains("matchall"));
    tc("filter del dev i0");
    attach("i0", "droptail", linux::Port::default()).unwrap_or_else(|e| panic!("{e}"));
    linux::detach("i0").unwrap_or_else(|e| panic!("{e}"));
    assert!(tc("qdisc show dev i0").contains("fq_codel 0: root"));
    ip("link del i0");
    settles("filters of others");
}

/// Frames of all kinds, most of them nonsense: each is sent or dropped, and ECN is found where it is.
fn takes_any_frame() {
    ip("link add v0 type veth peer name v1");
    ip("link set v0 up");
    ip("link set v1 up");
    for name in ["codel", "fq-codel", "dualpi2"] {
        let port = linux::Port { rate: 800_000_000, limit_packets: 1000, ..linux::Port::default() };
        attach("v0", name, port).unwrap_or_else(|e| panic!("{e}"));
        let raw = raw("v0");
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let frames = 3000;
        for _ in 0..frames {
            let tags: &[u8] =
                [&[][..], &[0x81, 0, 0, 5], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 5]][(next() % 3) as usize];
            let kind = [0x0800, 0x86dd, 0x0806, 0x8100, (next() & 0xffff) as u16][(next() % 5) as usize];
            let length = [1, 2, 19, 20, 39, 40, (next() % 1400) as usize][(next() % 7) as usize];
            let body: Vec<u8> = (0..length).map(|_| next() as u8).collect();
            send(&raw, &frame(tags, kind, &body));
            if next().is_multiple_of(64) {
                sleep(Duration::from_millis(1));
            }
        }
        wait_for("an empty queue", || stats("v0").backlog_packets == 0);
        let s = conserves("v0", name);
        println!("machine: {name} took {} frames of any kind, sent {}", s.arrived_packets, s.sent_packets);
        assert!(s.arrived_packets >= frames && s.backlog_packets == 0, "{s:?}");
        linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
    }
    finds_ecn_behind_tags();
    ip("link del v0");
}

/// DualPI2 puts ECT(1) into its low-latency queue, which marks above a millisecond: tagged or not, of either version.
fn finds_ecn_behind_tags() {
    let port = linux::Port { rate: 8_000_000, limit_packets: 1000, ..linux::Port::default() };
    let tag: &[u8] = &[0x81, 0, 0, 5];
    let v4 = |tos: u8| {
        [&[0x45, tos, 3, 0x84, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0; 880]].concat()
    };
    let v6 = |class: u8| [&[0x60 | class >> 4, class << 4, 0, 0, 3, 0x5c, 17, 64][..], &[0; 892]].concat();
    for (what, tags, kind, ect, not) in [
        ("IPv4", &[][..], 0x0800, v4(1), v4(0)),
        ("IPv6", &[][..], 0x86dd, v6(1), v6(0)),
        ("IPv4 in a VLAN", tag, 0x0800, v4(1), v4(0)),
        ("IPv6 in a VLAN", tag, 0x86dd, v6(1), v6(0)),
    ] {
        for (body, marked) in [(ect, true), (not, false)] {
            attach("v0", "dualpi2", port).unwrap_or_else(|e| panic!("{e}"));
            let raw = raw("v0");
            for _ in 0..50 {
                send(&raw, &frame(tags, kind, &body));
            }
            wait_for("an empty queue", || stats("v0").backlog_packets == 0);
            let marks: u64 = stats("v0").marks.iter().sum();
            assert_eq!(marks > 0, marked, "{what}: {marks} marks");
            linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
        }
    }
    println!("machine: ECN found in IPv4 and IPv6, with and without a VLAN's tag");
}

/// One discipline for each transmit queue, below mq; a change reaches all of them.
fn serves_each_queue() {
    ip("link add v0 numtxqueues 4 type veth peer name v1 numrxqueues 4");
    ip("link set v0 up");
    ip("link set v1 up");
    let port = linux::Port { mq: true, limit_packets: 100, ..linux::Port::default() };
    assert!(matches!(linux::plan("lo", "codel", spec("codel"), port), Err(linux::Error::Input(_))));
    for name in ["codel", "fq-codel", "queuepilot"] {
        attach("v0", name, port).unwrap_or_else(|e| panic!("{e}"));
        let record = linux::record("v0").expect("attached");
        let raw = raw("v0");
        let packets = 400;
        for i in 0..packets {
            // UDP flows, of which the device takes each to one of its queues.
            send(&raw, &datagram_of(i as u8));
        }
        linux::set(&record, &spec(name), name, true, |p| p.limit_packets = 50)
            .unwrap_or_else(|e| panic!("{e}"));
        send(&raw, &frame(&[], 0x0800, &[0; 900]));
        let s = linux::status(&record).unwrap_or_else(|e| panic!("{e}"));
        let busy = s.queues.iter().filter(|q| q.stats.sent_packets > 0).count();
        let sent: u64 = s.queues.iter().map(|q| q.stats.sent_packets).sum();
        println!("machine: {name} on {busy} of {} queues, {sent} packets", s.queues.len());
        assert!(s.queues.len() == 4 && busy > 1 && sent > packets && s.stats.sent_packets == sent);
        assert_eq!(s.limit_packets, 50);
        conserves("v0", name);
        linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
    }
    ip("link del v0");
    settles("mq");
}

/// A UDP flow's frame of 914 bytes; the device takes each flow to one of its queues.
fn datagram_of(flow: u8) -> Vec<u8> {
    let header = [0x45, 0, 3, 0x84, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, flow, 0, 9];
    frame(&[], 0x0800, &[&header[..], &[0; 876]].concat())
}

/// However many of the queues below mq are busy, all of the rate is used, and no more; who is busy has the same of it.
fn shares_a_rate() {
    const RATE: u64 = 4_000_000;
    ip("link add v0 numtxqueues 8 type veth peer name v1 numrxqueues 8");
    ip("link set v0 up");
    ip("link set v1 up");
    for name in ["droptail", "fq-codel"] {
        let port = linux::Port { mq: true, rate: RATE, limit_packets: 20, ..linux::Port::default() };
        attach("v0", name, port).unwrap_or_else(|e| panic!("{e}"));
        let watched = Watched::of("v0").stats;
        // A status reads each queue's state besides, which may be long.
        let seen = || {
            let all = watched.lookup(&[0; 4], MapFlags::ANY).expect("a map").expect("it is there");
            let each = all.chunks_exact(all.len() / 8).map(linux::Stats::from_bytes);
            each.collect::<Option<Vec<_>>>().expect("counters")
        };
        // Which flow is whose.
        let raw_socket = raw("v0");
        let mut flows: Vec<Option<u8>> = vec![None; seen().len()];
        for flow in 1..=u8::MAX {
            let before = seen();
            // The device's own, of IPv6, are single ones.
            (0..5).for_each(|_| send(&raw_socket, &datagram_of(flow)));
            let now = seen();
            let arrived = (0..now.len()).find(|i| now[*i].arrived_packets >= before[*i].arrived_packets + 5);
            flows[arrived.expect("it came to one")].get_or_insert(flow);
            if flows.iter().all(Option::is_some) {
                break;
            }
        }
        let flows: Vec<u8> = flows.into_iter().flatten().collect();
        assert_eq!(flows.len(), 8, "each queue has a flow");
        for busy in [1, 2, 3, 8] {
            let frames: Vec<Vec<u8>> = flows[..busy].iter().map(|flow| datagram_of(*flow)).collect();
            let out = raw("v0");
            let mut next = 0;
            // Up to 4,000 a second, 29 Mbit/s.
            let traffic = Traffic::begin(move || {
                next = (next + 1) % frames.len();
                send(&out, &frames[next]);
            });
            wait_for("all that are busy to have a queue", || {
                seen().iter().filter(|q| q.backlog_packets > 10).count() == busy
            });
            let (begun, first) = (Instant::now(), seen());
            traffic.wait(4000);
            let (lasted, last) = (begun.elapsed(), seen());
            let sent: Vec<u64> = last.iter().zip(&first).map(|(l, f)| l.sent_bytes - f.sent_bytes).collect();
            let rate = sent.iter().sum::<u64>() as f64 * 8.0 / lasted.as_secs_f64();
            let (least, most) = (sent[..busy].iter().min(), sent[..busy].iter().max());
            println!(
                "machine: {name}, {busy} of 8 queues busy: {rate:.0} bit/s, {least:?} to {most:?} bytes"
            );
            // A packet at either end of some hundreds.
            assert!((rate / RATE as f64 - 1.0).abs() < 0.01, "{rate:.0} bit/s of {RATE}");
            assert!(most <= least.map(|least| least + least / 10 + 2 * 914).as_ref(), "{sent:?}");
            drop(traffic);
            wait_for("empty queues", || seen().iter().all(|q| q.backlog_packets == 0));
        }
        conserves("v0", name);
        linux::detach("v0").unwrap_or_else(|e| panic!("{e}"));
    }
    ip("link del v0");
    settles("a rate that queues share");
}

/// Who may look, and what attaching needs.
fn keeps_to_its_rights() {
    attach("lo", "codel", linux::Port::default()).unwrap_or_else(|e| panic!("{e}"));
    let mode = |path: &str| fs::metadata(path).expect(path).permissions().mode() & 0o777;
    for folder in ["/run/queuewright", "/sys/fs/bpf/queuewright"] {
        assert_eq!(mode(folder), 0o700, "{folder}");
        for entry in fs::read_dir(folder).expect("root may").flatten() {
            let path = entry.path().display().to_string();
            assert_eq!(mode(&path) & 0o077, 0, "{path} is open to others");
        }
    }
    linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));

    // From here on, for this process and all that it starts, three rights and no more.
    const KEPT: [u32; 3] = [12, 38, 39];
    let mask = |part: u32| KEPT.iter().filter(|c| **c / 32 == part).map(|c| 1u32 << (c % 32)).sum::<u32>();
    for right in (0..64).filter(|c| !KEPT.contains(c)) {
        // SAFETY: plain numbers; a right that this kernel does not know is refused.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(right), 0, 0, 0) };
    }
    let header = [0x2008_0522u32, 0];
    let data = [mask(0), mask(0), 0, mask(1), mask(1), 0];
    // SAFETY: the structures of capset(2), version 3, for this thread.
    let rc = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) };
    assert_eq!(rc, 0, "capset: {}", io::Error::last_os_error());
    // Again, as a unit that is restarted: the kernel has given the name back.
    for _ in 0..2 {
        attach("lo", "titrate", linux::Port::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(conserves("lo", "few rights").drops, [0; 5]);
        assert_eq!(linux::attached("lo").expect("it is").kind, "bpf_titrate");
        linux::detach("lo").unwrap_or_else(|e| panic!("{e}"));
    }
    println!("machine: attached and detached with CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF alone");
}

/// The kernel's log has no complaint.
fn is_quiet() {
    let mut text = vec![0u8; 1 << 20];
    // SAFETY: SYSLOG_ACTION_READ_ALL (3) into a buffer of this length.
    let n = unsafe { libc::klogctl(3, text.as_mut_ptr().cast(), text.len() as i32) };
    assert!(n > 0, "klogctl: {}", io::Error::last_os_error());
    let text = String::from_utf8_lossy(&text[..n as usize]).into_owned();
    let bad = ["BUG", "WARNING", "Oops", "refcount", "leak", "lockup", "rcu_sched", "unregister_netdevice"];
    let lines: Vec<&str> = text.lines().filter(|l| bad.iter().any(|b| l.contains(b))).collect();
    assert!(lines.is_empty(), "the kernel says: {lines:#?}");
}

/// A sender, and a receiver's address; what arrives there is lost.
fn udp(address: &str) -> (UdpSocket, std::net::SocketAddr) {
    let receiver = UdpSocket::bind(address).expect("a socket");
    let to = receiver.local_addr().expect("an address");
    (UdpSocket::bind(address).expect("a socket"), to)
}

// --------------------------------------------------------------- frames ---

fn frame(tags: &[u8], kind: u16, body: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], tags, &kind.to_be_bytes(), body].concat()
}

/// A socket that sends whole frames.
fn raw(dev: &str) -> (UdpSocket, libc::sockaddr_ll) {
    use std::os::fd::FromRawFd;
    let name = CString::new(dev).expect("no NUL");
    // SAFETY: a C string; a new socket that nobody else has (std has no type of its own for it).
    unsafe {
        let index = libc::if_nametoindex(CStr::as_ptr(&name));
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        assert!(fd >= 0 && index > 0, "AF_PACKET on {dev}: {}", io::Error::last_os_error());
        let mut to: libc::sockaddr_ll = std::mem::zeroed();
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = index as i32;
        let socket = UdpSocket::from_raw_fd(fd);
        option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 << 20);
        (socket, to)
    }
}

/// Not all are taken: a full queue says so, a deleted device too.
fn send((socket, to): &(UdpSocket, libc::sockaddr_ll), frame: &[u8]) {
    // SAFETY: a frame and an address that live.
    unsafe {
        let size = size_of_val(to) as u32;
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_DONTWAIT,
            (&raw const *to).cast(),
            size,
        );
    }
}
