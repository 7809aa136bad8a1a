//! What a discipline in front of htb costs a router: one TCP flow from a network namespace to another through a third, on
//! this machine, as fast as it goes. `cargo run --release -p queuewright-linux --example forwarding` as root; `-- 9` for as many
//! repetitions. Nothing outside its own namespaces is touched. The cases take turns, so that what else the machine does meets all of them.

#[path = "../tests/native/mod.rs"]
mod native;

use libbpf_rs::query::ProgInfoIter;
use queuewright_aqm::{Spec, find};
use queuewright_linux as linux;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Far above what the machine forwards: the shaper works, and never waits.
const RATE: u64 = 40_000_000_000;
const SECONDS: u64 = 2;
const CASES: [&str; 4] = ["none", "htb", "droptail", "codel"];

fn run(words: &str) {
    let mut all = words.split_whitespace();
    let done = Command::new(all.next().unwrap_or_default())
        .args(all)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    let done = done.unwrap_or_else(|e| panic!("{words}: {e}"));
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A thread in a network namespace of its own; what it is to do comes by the sender.
fn host(device: &'static str, address: &str) -> mpsc::Sender<Box<dyn FnOnce() + Send>> {
    let (jobs, todo) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        // SAFETY: flags only; this thread alone goes there.
        let (rc, tid) = unsafe { (libc::unshare(libc::CLONE_NEWNET), libc::gettid()) };
        assert_eq!(rc, 0, "a network namespace");
        let _ = ready.send(tid);
        for job in todo {
            job();
        }
    });
    let tid = is_ready.recv().expect("it is there");
    run(&format!("ip link set {device} netns /proc/{}/task/{tid}/ns/net", std::process::id()));
    let commands = [
        "ip link set lo up".into(),
        format!("ip addr add {address}/24 dev {device}"),
        format!("ip link set {device} up"),
        format!("ip route add default via {}1", address.trim_end_matches('2')),
    ];
    let (done, is_done) = mpsc::channel();
    let _ = jobs.send(Box::new(move || {
        commands.iter().for_each(|words| run(words));
        let _ = done.send(());
    }));
    is_done.recv().expect("it does");
    jobs
}

fn prepare(case: &str) {
    match case {
        "none" => {}
        "htb" => {
            run("tc qdisc replace dev r1 root handle 1: htb default 1");
            let burst = RATE / 8000;
            run(&format!(
                "tc class add dev r1 parent 1: classid 1:1 htb rate {RATE}bit burst {burst}b cburst {burst}b quantum 1514"
            ));
            run("tc qdisc add dev r1 parent 1:1 pfifo limit 10000");
        }
        name => {
            let port = linux::Port { rate: RATE, front: true, ..linux::Port::default() };
            let spec = Spec::new(find(name).expect("in the registry"));
            linux::plan("r1", name, spec, port)
                .and_then(|plan| linux::attach(&plan))
                .unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// Nanoseconds of each of our programs a call, with the clock reads of the count itself.
fn costs() -> String {
    let ours = ProgInfoIter::default().filter(|p| p.run_cnt > 1000);
    let cost = |p: libbpf_rs::query::ProgramInfo| {
        format!("{} {:.0} ns", p.name.to_string_lossy(), p.run_time_ns as f64 / p.run_cnt as f64)
    };
    ours.map(cost).collect::<Vec<_>>().join(", ")
}

fn main() {
    if let Err(why) = native::enter() {
        eprintln!("LEFT OUT: {why}");
        return;
    }
    let times = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(5);
    for (here, there) in [("r0", "c0"), ("r1", "s0")] {
        run(&format!("ip link add {here} type veth peer name {there}"));
        run(&format!("ip link set {here} up"));
    }
    run("ip addr add 10.71.0.1/24 dev r0");
    run("ip addr add 10.72.0.1/24 dev r1");
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a router forwards");
    let (client, server) = (host("c0", "10.71.0.2"), host("s0", "10.72.0.2"));
    let _ = server.send(Box::new(|| {
        let listener = TcpListener::bind("10.72.0.2:5001").expect("a port");
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
            });
        }
    }));
    thread::sleep(Duration::from_millis(200));
    // SAFETY: it gives a descriptor, which is closed with the process.
    unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    for (gso, segments) in [("off", 1), ("on", 65535)] {
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); CASES.len()];
        let mut said = vec![String::new(); CASES.len()];
        for _ in 0..times {
            for (i, case) in CASES.iter().enumerate() {
                prepare(case);
                let (done, is_done) = mpsc::channel();
                let _ = client.send(Box::new(move || {
                    run(&format!("ip link set c0 gso_max_segs {segments}"));
                    let mut stream = TcpStream::connect("10.72.0.2:5001").expect("it listens");
                    let (data, begun, mut sent) = (vec![0; 1 << 18], Instant::now(), 0u64);
                    while begun.elapsed() < Duration::from_secs(SECONDS) {
                        stream.write_all(&data).expect("it reads");
                        sent += data.len() as u64;
                    }
                    let _ = done.send(sent as f64 * 8.0 / begun.elapsed().as_secs_f64() / 1e6);
                }));
                rates[i].push(is_done.recv().expect("a rate"));
                said[i] = costs();
                match *case {
                    "none" => {}
                    "htb" => run("tc qdisc del dev r1 root"),
                    _ => drop(linux::detach("r1").unwrap_or_else(|e| panic!("{e}"))),
                }
            }
        }
        // Each repetition beside its own htb: what else the machine did then, it did to both.
        let median = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
        };
        for (i, case) in CASES.iter().enumerate() {
            let ratios: Vec<f64> = rates[i].iter().zip(&rates[1]).map(|(rate, htb)| rate / htb).collect();
            let ((rate, low, high), (ratio, least, most)) = (median(&rates[i]), median(&ratios));
            println!(
                "| GSO {gso} | {case} | {rate:.0} ({low:.0} to {high:.0}) | {ratio:.2} ({least:.2} to {most:.2}) | {} |",
                said[i]
            );
        }
    }
}
