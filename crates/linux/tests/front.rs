//! Disciplines in front of htb: each before the verifier, then on devices with packets. On this machine where it is
//! root and the kernel has what is needed, in a network namespace of its own and with its own `/run` and
//! `/sys/fs/bpf`; else in the lab's virtual machine, which `-- vm` asks for. `-- 200` attaches and detaches 200 times.

mod agent;
mod header;
mod native;
mod traffic;
mod vm;

use libbpf_rs::query::{LinkInfo, LinkInfoIter, LinkTypeInfo, ProgInfoIter};
use queuewright_aqm::{Spec, Value, find};
use queuewright_linux as linux;
use queuewright_testing::{only_test, wait_for};
use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use traffic::Traffic;
use vm::{ecn_of_next, option};

fn main() {
    let Some(words) = only_test("front") else { return };
    let times = words.iter().find_map(|a| a.parse().ok()).unwrap_or(20);
    if !vm::is_inside() && !linux::names().is_empty() && !words.iter().any(|a| a == "vm") {
        match native::enter() {
            Ok(()) => {
                all(times);
                return println!("test native ... ok");
            }
            Err(why) => eprintln!("front: not on this machine itself ({why})"),
        }
    }
    let files = |lab: &Path| {
        vm::built_with_clang()?;
        let paths = ["drivers/net/veth", "net/sched/sch_htb", "net/sched/cls_bpf"];
        let own = header::files(linux::Host::Front).into_iter().map(Ok);
        paths.iter().map(|path| vm::module_of(lab, path)).chain(own).collect()
    };
    vm::test("disciplines in front of htb", &words, files, || {
        for module in ["/veth.ko", "/sch_htb.ko", "/cls_bpf.ko"] {
            vm::loads(module);
        }
        all(times);
    });
}

fn all(times: usize) {
    verifies();
    for name in linux::Host::Front.names().iter().map(String::as_str).chain(header::NAMES) {
        carries(name);
    }
    header::refused(port(8_000_000, 50));
    for (address, name) in [("127.0.0.1:0", "codel"), ("[::1]:0", "codel"), ("[::1]:0", "titrate")] {
        marks(address, name);
    }
    serves_by_classes();
    changes();
    agent::flies(port(20_000_000, 100));
    loses_its_device();
    comes_and_goes(times);
    refuses();
}

fn say(text: &str) {
    println!("machine: {text}");
}

fn spec(name: &str) -> Spec {
    header::spec(name, linux::Host::Front)
}

fn port(rate: u64, limit_packets: u32) -> linux::Port {
    linux::Port { rate, limit_packets, front: true, ..linux::Port::default() }
}

/// As long as what it gives is there somebody is taken to tell htb the shares.
fn attach(dev: &str, name: &str, port: linux::Port) -> Result<Option<File>, linux::Error> {
    linux::attach(&linux::plan(dev, name, spec(name), port)?)
}

fn detach(dev: &str) {
    linux::detach(dev).unwrap_or_else(|e| panic!("{e}"));
}

fn stats(dev: &str) -> linux::Stats {
    let record = linux::record(dev).expect("attached");
    linux::status(&record).unwrap_or_else(|e| panic!("{e}")).stats
}

fn run(program: &str, words: &str) -> String {
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    let done = Command::new(program).args(words.split_whitespace()).env("PATH", path).output();
    let done = done.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(done.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn root(dev: &str) -> String {
    run("tc", &format!("qdisc show dev {dev}"))
}

/// Sent and dropped packets of the root qdisc, as the kernel counts them.
fn kernel_counts(dev: &str) -> (u64, u64) {
    let shown = run("tc", &format!("-s qdisc show dev {dev} root"));
    let after = |what: &str| {
        let words: Vec<&str> = shown.split([' ', '(', ')', ',']).filter(|w| !w.is_empty()).collect();
        let at = words.iter().position(|w| *w == what).unwrap_or_else(|| panic!("{shown}"));
        words[at..].iter().find_map(|w| w.parse::<u64>().ok()).unwrap_or_else(|| panic!("{shown}"))
    };
    // "Sent 300000 bytes 300 pkt (dropped 0, ..."
    (after("bytes"), after("dropped"))
}

fn verifies() {
    let begun = Instant::now();
    let names = linux::Host::Front.names();
    for name in &names {
        let begun = Instant::now();
        linux::verify(find(name).expect("in the registry"), linux::Host::Front)
            .unwrap_or_else(|e| panic!("{e}"));
        // This machine may be busy; the virtual one's time is its own.
        let took = begun.elapsed();
        assert!(!vm::is_inside() || took < Duration::from_secs(60), "{name}: {took:?} in the verifier");
    }
    say(&format!("verified {} in {:.2} s", names.join(" "), begun.elapsed().as_secs_f64()));
}

/// Attached with a limit and a rate, it counts every packet as the kernel does; `set` and `detach` do what they say.
fn carries(name: &str) {
    let before = root("lo");
    let _keeper = attach("lo", name, port(8_000_000, 50)).unwrap_or_else(|e| panic!("{e}"));
    assert!(root("lo").contains("htb 7177: root"), "{}", root("lo"));
    let again = linux::plan("lo", name, spec(name), port(8_000_000, 50));
    assert!(matches!(again, Err(linux::Error::Input(_))), "attached twice");

    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    receiver.set_nonblocking(true).expect("a socket");
    // What is lost is to be lost in the qdisc.
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4 << 20);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let mut burst = 0;
    // 50 packets of 1000 bytes need 50 ms; a busy machine may send no faster than that at first.
    wait_for("a queue that is full", || {
        for _ in 0..200 {
            let _ = sender.send_to(&[0; 958], to);
        }
        burst += 200;
        let s = stats("lo");
        s.drops.iter().sum::<u64>() > 0 && s.mean_sojourn_ns() > 2_000_000
    });
    let mut received = 0;
    wait_for("every packet to be sent or dropped, and the queue to be empty", || {
        while receiver.recv(&mut [0; 2000]).is_ok() {
            received += 1;
        }
        let s = stats("lo");
        let all = received + s.drops.iter().sum::<u64>() == burst;
        if all && s.backlog_packets > 0 {
            // The last has left unseen, and only another one tells.
            sender.send_to(&[0; 958], to).expect("it fits");
            burst += 1;
            return false;
        }
        all
    });
    let record = linux::record("lo").expect("attached");
    let s = stats("lo");
    let dropped: u64 = s.drops.iter().sum();
    say(&format!(
        "{name} sent {} dropped {dropped} of {}, mean sojourn {:.1} ms, {} unseen",
        s.sent_packets,
        s.arrived_packets,
        s.mean_sojourn_ns() as f64 / 1e6,
        s.unseen
    ));
    assert_eq!((s.arrived_packets, s.arrived_bytes), (burst, burst * 1000));
    assert_eq!((s.sent_packets, s.sent_packets + dropped), (received, burst), "{name}: {s:?}");
    assert_eq!(kernel_counts("lo"), (s.sent_packets, dropped));
    assert_eq!((s.backlog_packets, s.backlog_bytes, s.purged), (0, 0, 0));
    assert_eq!(s.sojourns.iter().sum::<u64>(), received);
    if name == "mylate" {
        let now = linux::status(&record).unwrap_or_else(|e| panic!("{e}"));
        assert!(now.file.is_some_and(|file| file.starts_with("sha256:")));
        let ms = s.sojourn_ns as f64 / 1e6;
        assert_eq!(now.variables, [("sojourn".into(), "ms".into(), ms)]);
    }

    linux::set(&record, &spec(name), name, true, |port| port.rate = 80_000_000)
        .unwrap_or_else(|e| panic!("{e}"));
    sender.send_to(&[0; 958], to).expect("it fits");
    wait_for("a packet at the new rate", || receiver.recv(&mut [0; 2000]).is_ok());
    assert_eq!(linux::status(&record).unwrap_or_else(|e| panic!("{e}")).rate, 80_000_000);
    let class = run("tc", "class show dev lo");
    assert!(class.contains("rate 80Mbit"), "{class}");

    detach("lo");
    assert_eq!(root("lo"), before);
    assert!(linux::record("lo").is_none() && linux::records().expect("root may look").is_empty());
    let left = fs::read_dir("/sys/fs/bpf/queuewright").expect("made by attach").count();
    assert_eq!(left, 0, "pins are left");
}

/// Packets that say ECT(0), of IPv4 and of IPv6, come with CE as often as it was set.
fn marks(address: &str, name: &str) {
    let mut spec = spec(name);
    spec.set("ecn", Value::Flag(true)).expect("it has that");
    if name == "titrate" {
        spec.set("threshold", Value::Int(20_000)).expect("it has that");
    }
    let plan = linux::plan("lo", name, spec, port(8_000_000, 150)).unwrap_or_else(|e| panic!("{e}"));
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
    let receiver = UdpSocket::bind(address).expect("a socket");
    let sender = UdpSocket::bind(address).expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let (level, send, tell) = match to.is_ipv4() {
        true => (libc::IPPROTO_IP, libc::IP_TOS, libc::IP_RECVTOS),
        false => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::IPV6_RECVTCLASS),
    };
    option(&sender, level, send, 2);
    option(&receiver, level, tell, 1);
    // What is lost is to be lost in the qdisc, also where this process stands still for a while: without FORCE there is room for 180 packets,
    // unless net.core.rmem_max says more.
    option(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4 << 20);
    receiver.set_nonblocking(true).expect("a socket");
    let (mut received, mut ce) = (0, 0);
    let mut take = || {
        while let Some(ecn) = ecn_of_next(&receiver) {
            received += 1;
            ce += u64::from(ecn == 3);
        }
        received
    };
    let mut sent = 0;
    let mut give = |n: u64| {
        for _ in 0..n {
            sent += u64::from(sender.send_to(&[0; 958], to).is_ok());
        }
        sent
    };
    // A queue, kept up until there are marks; a busy machine may let it run dry.
    wait_for("marks", || {
        let s = stats("lo");
        // However long it takes to look.
        give(u64::from(140u32.saturating_sub(s.backlog_packets)));
        take();
        s.marks.iter().sum::<u64>() > 2
    });
    let sent = give(0);
    let mut came = take();
    let dropped = || stats("lo").drops.iter().sum::<u64>();
    // What waits at the end may have left unseen.
    wait_for("every packet that was not dropped", || {
        came = take();
        came + dropped() >= sent
    });
    let s = stats("lo");
    let marked: u64 = s.marks.iter().sum();
    say(&format!(
        "{name} to {address}: {sent} sent, {} asked of later packets, {marked} marked, {} set, {ce} came with CE",
        s.asked, s.ce_set
    ));
    assert_eq!((s.marking, came + dropped()), (3, sent));
    assert!(marked >= 2 && s.ce_set == ce && marked == ce);
    let late = name == "codel";
    assert!(if late { s.asked >= marked } else { s.asked == 0 });
    detach("lo");
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

/// Packets and bytes that each class of htb has sent, as the kernel counts them.
fn class_counts(class: &str) -> (u64, u64) {
    let shown = run("tc", &format!("-s class show dev lo classid {class}"));
    let words: Vec<&str> = shown.split_whitespace().collect();
    let at = words.iter().position(|w| *w == "Sent").unwrap_or_else(|| panic!("{shown}"));
    (words[at + 3].parse().expect("a number"), words[at + 1].parse().expect("a number"))
}

/// Santa's queues are classes: mice pass the others by, a queue with two flows gets twice what a queue with one
/// gets, and each class has sent what we say it has.
fn serves_by_classes() {
    let text = "santa:queues=2:round=300ms:r=16";
    let mut santa = spec("santa");
    for (name, value) in [
        ("queues", Value::Int(2)),
        ("round", Value::Int(300_000_000)),
        // Nobody is to move.
        ("r", Value::Real(16.0)),
    ] {
        santa.set(name, value).expect("it has that");
    }
    let plan = linux::plan("lo", text, santa, port(2_000_000, 400)).unwrap_or_else(|e| panic!("{e}"));
    assert!(plan.steps().iter().any(|s| s.contains("classid 7177:12 htb prio 1")), "{:?}", plan.steps());
    linux::attach(&plan).unwrap_or_else(|e| panic!("{e}"));
    let keeper = std::thread::spawn(|| linux::keep("lo"));
    let flows: Vec<Traffic> = (0..3).map(|_| datagrams("127.0.0.1:0")).collect();
    let classes = || {
        let record = linux::record("lo").expect("attached");
        linux::status(&record).unwrap_or_else(|e| panic!("{e}")).classes
    };
    let share = |c: &linux::Class| c.share.unwrap_or(0.0);
    wait_for("the share of the third flow's queue", || {
        classes().iter().map(share).fold(0.0, f64::max) >= 0.66
    });
    // What a class may send in its turn.
    let quantum = |class: &linux::Class| {
        let shown = run("tc", &format!("-d class show dev lo classid {}", class.class));
        let quantum = shown.split_whitespace().skip_while(|w| *w != "quantum").nth(1);
        quantum.and_then(|q| q.parse::<f64>().ok()).unwrap_or_else(|| panic!("{shown}"))
    };
    // Whether each of the three flows counts, and htb knows: one that sends nothing for a round makes it one to one.
    let two_to_one = |all: &[linux::Class]| {
        let [one, other] = [&all[1], &all[2]].map(quantum);
        let of_two = share(&all[1]).max(share(&all[2])) >= 0.66;
        of_two && (one / (one + other) - share(&all[1])).abs() < 0.01
    };
    wait_for("htb to know that share", || two_to_one(&classes()));
    // Bytes of the queue of two flows, and of the other's: after such a round it may be the other one.
    let (mut before, mut sent) = (classes(), [0.0; 2]);
    let mut knew = two_to_one(&before);
    let (mut full, mut times, mut due) = (0, 0, 0.0);
    while full < 20 {
        // A flow that is new each time, beside 50 packets of the others.
        let mouse = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let _ = mouse.send_to(&[0; 958], "127.0.0.1:9");
        let since = |now: &[linux::Class], i: usize| now[i].sent_packets - before[i].sent_packets;
        wait_for("50 more packets to be sent", || {
            let now = classes();
            since(&now, 1) + since(&now, 2) >= 50
        });
        let now = classes();
        let knows = two_to_one(&now);
        // Shares are of those that have something to send: more waited than has left since, however late the senders are.
        let same = (share(&before[1]) - share(&now[1])).abs() < 0.01;
        if knew && knows && same && (1..3).all(|i| u64::from(before[i].backlog_packets) > since(&now, i) + 2)
        {
            let of_two = if share(&now[1]) > 0.5 { 1 } else { 2 };
            for (sent, i) in sent.iter_mut().zip([of_two, 3 - of_two]) {
                *sent += (now[i].sent_bytes - before[i].sent_bytes) as f64;
            }
            (full, due) = (full + 1, share(&now[of_two]));
        }
        (before, knew, times) = (now, knows, times + 1);
        assert!(
            times < 4000,
            "only {full} times of {times} did both queues last for 50 packets, with that share"
        );
    }
    let after = classes();
    drop(flows);
    let part = sent[0] / (sent[0] + sent[1]);
    let wait = |i: usize| after[i].mean_sojourn_ns() as f64 / 1e6;
    say(&format!(
        "santa by classes: the queue of two flows sent {:.1} % with a share of {:.1} %; mean waits {:.1} ms of mice, {:.1} and {:.1}",
        part * 100.0,
        due * 100.0,
        wait(0),
        wait(1),
        wait(2)
    ));
    assert!((part - due).abs() < 0.05 && (due - 0.5).abs() > 0.15, "{after:?}");
    assert!(wait(0) * 4.0 < wait(1).min(wait(2)) && after[0].dropped == 0, "{after:?}");
    conserves("lo", "by classes");
    // What waits leaves; the last may do so unseen, and another one tells.
    let quiet = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    wait_for("an empty queue", || {
        // Fewer than would keep it full.
        sleep(Duration::from_millis(100));
        let _ = quiet.send_to(&[0; 58], "127.0.0.1:9");
        sleep(Duration::from_millis(100));
        stats("lo").backlog_packets == 0
    });
    for class in classes() {
        assert_eq!((class.sent_packets, class.sent_bytes), class_counts(&class.class), "{class:?}");
        assert_eq!((class.backlog_packets, class.backlog_bytes), (0, 0), "{class:?}");
    }

    // More queues, while packets flow: those that wait stay.
    let mut more = spec("santa");
    more.set("queues", Value::Int(5)).expect("it has that");
    let flows: Vec<Traffic> = (0..5).map(|_| datagrams("127.0.0.1:0")).collect();
    flows[0].wait(200);
    let record = linux::record("lo").expect("attached");
    linux::set(&record, &more, "santa:queues=5", true, |p| p.rate = 16_000_000)
        .unwrap_or_else(|e| panic!("{e}"));
    // The new ones have their turn once the old ones' packets leave them room.
    wait_for("packets of every queue", || {
        flows[0].wait(600);
        let all = classes();
        assert_eq!(all.len(), 6);
        all.iter().all(|c| c.sent_packets > 0)
    });
    assert_eq!(conserves("lo", "with more queues").purged, 0);
    run("ip", "link set lo down");
    run("ip", "link set lo up");
    let then = stats("lo").sent_packets;
    flows[0].wait(200);
    let s = conserves("lo", "up again");
    assert!(s.sent_packets > then, "it stands still");
    say(&format!(
        "santa with more queues: {} came, {} sent, {} purged",
        s.arrived_packets, s.sent_packets, s.purged
    ));
    drop(flows);
    detach("lo");
    keeper.join().expect("no panic").unwrap_or_else(|e| panic!("{e}"));
}

/// Limits and rate change while packets flow, and the device goes down and up.
fn changes() {
    let traffic = datagrams("127.0.0.1:0");
    for name in ["codel", "pi2", "titrate", "santa"] {
        let _keeper = attach("lo", name, port(4_000_000, 200)).unwrap_or_else(|e| panic!("{e}"));
        let record = linux::record("lo").expect("attached");
        for (i, limit) in [200, 3, 120, 1, 200].into_iter().enumerate() {
            let set = |p: &mut linux::Port| (p.limit_packets, p.rate) = (limit, 4_000_000 << i);
            linux::set(&record, &spec(name), name, i == 3, set).unwrap_or_else(|e| panic!("{e}"));
            traffic.wait(300);
            let s = conserves("lo", name);
            assert!(s.backlog_packets <= 200 && s.purged == 0, "{name}: {s:?}");
        }
        let s = conserves("lo", name);
        assert!(s.drops[1] > 0 && s.sent_packets > 0, "{name}: {s:?}");
        run("ip", "link set lo down");
        run("ip", "link set lo up");
        let then = stats("lo").sent_packets;
        traffic.wait(200);
        let s = conserves("lo", name);
        assert!(s.sent_packets > then, "{name} stands still");
        say(&format!(
            "{name} with changing limits: {} came, {} sent, {} purged",
            s.arrived_packets, s.sent_packets, s.purged
        ));
        detach("lo");
    }
}

/// The device is deleted with packets in its queue.
fn loses_its_device() {
    for name in ["codel", "pie", "santa"] {
        run("ip", "link add v0 type veth peer name v1");
        run("ip", "addr add 10.77.0.1/24 dev v0");
        run("ip", "link set v0 up");
        run("ip", "link set v1 up");
        run("ip", "neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev v0");
        let _keeper = attach("v0", name, port(1_000_000, 100)).unwrap_or_else(|e| panic!("{e}"));
        let sender = UdpSocket::bind("10.77.0.1:0").expect("a socket");
        let traffic = Traffic::begin(move || drop(sender.send_to(&[0; 900], "10.77.0.2:9")));
        traffic.wait(300);
        wait_for("a queue", || conserves("v0", name).backlog_packets > 0);
        run("ip", "link del v0");
        traffic.wait(50);
        drop(traffic);
        assert!(linux::plan("v0", name, spec(name), port(1_000_000, 100)).is_err(), "it is gone");
        detach("v0");
        assert!(linux::record("v0").is_none());
    }
    settles("the device was deleted");
}

/// Attached and taken off again, over and over, with packets in flight.
fn comes_and_goes(times: usize) {
    let traffic = datagrams("127.0.0.1:0");
    let names = ["droptail", "codel", "cp-aqm", "pie"];
    let (mut packets, mut waiting) = (0, 0);
    let begun = Instant::now();
    for i in 0..times {
        // Its programs take the verifier longer than the others' together.
        let name = if i % 20 == 3 { "santa" } else { names[i % names.len()] };
        // Half of what comes: packets wait when it is detached.
        attach("lo", name, port(16_000_000, 100)).unwrap_or_else(|e| panic!("{i}: {e}"));
        if i % 3 == 0 {
            traffic.wait(40);
            let s = conserves("lo", "in a row");
            packets += s.arrived_packets;
            waiting += s.backlog_packets;
        }
        if i % 10 == 9 {
            // Somebody else's tc: then status says so, and detach tidies up.
            let there = || linux::status(&linux::record("lo").expect("remembered")).expect("its maps").there;
            assert!(there());
            run("tc", "qdisc del dev lo root");
            assert!(!there());
        }
        detach("lo");
    }
    drop(traffic);
    settles("attached and detached");
    say(&format!(
        "{times} times attached and detached in {:.1} s, {packets} packets seen",
        begun.elapsed().as_secs_f64()
    ));
    assert!(packets > 0 && waiting > 0, "{packets} packets were seen, {waiting} waited");
}

fn refuses() {
    let without = |change: fn(&mut linux::Port)| {
        let mut port = port(8_000_000, 100);
        change(&mut port);
        matches!(linux::plan("lo", "codel", spec("codel"), port), Err(linux::Error::Input(_)))
    };
    assert!(without(|p| p.rate = 0) && without(|p| p.mq = true) && without(|p| p.overhead = -4));
    assert!(attach("lo", "fq-codel", port(8_000_000, 100)).is_err(), "a scheduler");
    assert!(linux::record("lo").is_none());

    let input = |done: Result<(), linux::Error>, what: &str| {
        let Err(linux::Error::Input(said)) = done else { panic!("{what:?} was to be said, not {done:?}") };
        assert!(said.contains(what), "{said}");
    };
    input(linux::attached("carrier").map(drop), "carrier is no device here");
    input(linux::attached("lo").map(drop), "nothing of ours is attached to lo;");
    input(linux::detach("lo").map(drop), "nothing of ours is attached to lo;");
    input(linux::keep("lo"), "nothing of ours is attached to lo;");

    attach("lo", "codel", port(8_000_000, 100)).unwrap_or_else(|e| panic!("{e}"));
    let record = linux::attached("lo").unwrap_or_else(|e| panic!("{e}"));
    let set = |limit| linux::set(&record, &spec("codel"), "codel", false, |p| p.limit_packets = limit);
    input(set(0), "limit = \"0p\": out of range; allowed: 1p to 1000000p");
    input(set(101), "limit = \"101p\": out of range; allowed: 1p to 100p");
    input(attach("lo", "pie", port(8_000_000, 100)).map(drop), "lo has codel already");
    run("tc", "qdisc del dev lo root");
    input(set(50), "codel is no longer there");
    detach("lo");
    settles("refused");

    // Two at once: one is there whole, and the other is told.
    for _ in 0..5 {
        let one = || attach("lo", "codel", port(8_000_000, 100));
        let both = std::thread::scope(|s| [s.spawn(one), s.spawn(one)].map(|t| t.join().expect("no panic")));
        assert_eq!(both.iter().filter(|done| done.is_ok()).count(), 1, "{both:?}");
        assert!(linux::status(&linux::record("lo").expect("attached")).expect("its maps").there);
        assert!(run("tc", "filter show dev lo").contains("bpf"));
        detach("lo");
        assert!(root("lo").contains("noqueue"), "{}", root("lo"));
    }
    settles("two at once");

    // htb's words make no class again; htb alone comes back.
    run("tc", "qdisc add dev lo root handle 5: htb default 10");
    let before = root("lo");
    attach("lo", "codel", port(8_000_000, 100)).unwrap_or_else(|e| panic!("{e}"));
    detach("lo");
    assert_eq!(root("lo"), before);
    run("tc", "class add dev lo parent 5: classid 5:10 htb rate 5mbit");
    input(attach("lo", "codel", port(8_000_000, 100)).map(drop), "lo has classes below its root");
    assert!(run("tc", "class show dev lo").contains("htb 5:10"));
    run("tc", "qdisc del dev lo root");

    // Without a place for pins nothing is begun, and nothing half undone.
    attach("lo", "codel", port(8_000_000, 100)).unwrap_or_else(|e| panic!("{e}"));
    let (none, over) = (std::ptr::null(), c"/sys/fs/bpf".as_ptr());
    // SAFETY: C strings, and no data.
    assert_eq!(unsafe { libc::mount(none, over, c"tmpfs".as_ptr(), 0, none.cast()) }, 0);
    let bad = |what: &str| {
        let all = linux::doctor(Some("lo")).unwrap_or_else(|e| panic!("{e}"));
        all.iter().any(|f| f.what == what && !f.good)
    };
    assert!(bad("pins") && !bad("htb") && !bad("qdisc"));
    let record = linux::record("lo").expect("attached");
    run("ip", "link add d0 type veth peer name d1");
    for done in [
        attach("d0", "codel", port(8_000_000, 100)).map(drop),
        linux::detach("lo").map(drop),
        linux::status(&record).map(drop),
    ] {
        let Err(linux::Error::System(said)) = done else { panic!("done without a BPF file system") };
        assert!(said.contains("mount -t bpf -o mode=0700 bpf /sys/fs/bpf"), "{said}");
    }
    assert!(linux::record("d0").is_none() && !root("d0").contains("htb"), "{}", root("d0"));
    run("ip", "link del d0");
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::umount(over) }, 0);
    assert!(!bad("pins"));
    detach("lo");
    settles("hidden");
}

/// Datagrams to a socket that nobody reads.
fn datagrams(address: &str) -> Traffic {
    let receiver = UdpSocket::bind(address).expect("a socket");
    let to = receiver.local_addr().expect("an address");
    let sender = UdpSocket::bind(address).expect("a socket");
    Traffic::begin(move || {
        let _keep = &receiver;
        let _ = sender.send_to(&[0; 958], to);
    })
}

/// Programs and links of ours that the kernel holds; others may have theirs.
fn held() -> [usize; 2] {
    let programs =
        ProgInfoIter::default().filter(|p| ["front", "left"].contains(&&*p.name.to_string_lossy()));
    let ours = |link: &LinkInfo| match &link.info {
        LinkTypeInfo::RawTracepoint(point) => point.name.contains("qdisc_dequeue"),
        _ => false,
    };
    [programs.count(), LinkInfoIter::default().filter(ours).count()]
}

/// The kernel lets go of everything, a little later.
fn settles(what: &str) {
    wait_for(&format!("the kernel to let go of our programs and links: {what}"), || held() == [0; 2]);
}
