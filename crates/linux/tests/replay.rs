//! The same header, compiled for this machine and for BPF: a queue with random traffic is run here, every call recorded, and
//! the calls are made again inside the kernel. The verdicts must be the same, bit for bit. Any kernel with BPF will do, as
//! no qdisc is involved; it needs root.

use libbpf_rs::{MapCore, MapFlags, ObjectBuilder, ProgramInput};
use queuewright_aqm::{Action, Discipline, Packet, Queue, Spec, Value, Verdict, find};
use std::collections::VecDeque;
use std::io::Write;

include!(concat!(env!("OUT_DIR"), "/replays.rs"));

const INIT: u32 = 0;
const ENQUEUE: u32 = 1;
const DEQUEUE: u32 = 2;
const IDLE: u32 = 3;
/// `struct operation` of bpf/replay.bpf.c.
const BYTES: usize = 8 + 4 + 4 + 64 + 24 + 8;
const CALLS: usize = 60_000;

struct Call {
    now: u64,
    what: u32,
    random: u32,
    queue: Queue,
    packet: Packet,
    verdict: Option<Verdict>,
}

impl Call {
    fn bytes(&self) -> Vec<u8> {
        let (q, k) = (&self.queue, &self.packet);
        let mut out = Vec::with_capacity(BYTES);
        let long =
            |out: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| out.extend(v.to_ne_bytes()));
        let int = |out: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| out.extend(v.to_ne_bytes()));
        long(&mut out, &[self.now]);
        int(&mut out, &[self.what, self.random]);
        long(&mut out, &[q.bytes, q.limit_bytes]);
        int(&mut out, &[q.packets, q.limit_packets]);
        long(&mut out, &[q.head_ns, q.pool.bytes, q.pool.limit_bytes, q.pool.thresholds_bytes]);
        int(&mut out, &[q.pool.ports, q.pool.congested]);
        long(&mut out, &[k.enqueue_ns]);
        int(&mut out, &[k.bytes, k.flow, k.ecn, k.protocol, 0, 0]);
        assert_eq!(out.len(), BYTES, "struct operation");
        out
    }
}

/// xorshift64*: the traffic, and the dice of those that want them.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

/// A link of 10 Mbit/s with a buffer of 100 packets; the load swings between a half and one and a half.
fn record(spec: &Spec, seed: u64) -> Vec<Call> {
    let mut aqm = Discipline::new(spec);
    let mut dice = Dice(seed);
    let mut calls = vec![Call {
        now: 0,
        what: INIT,
        random: 0,
        queue: Queue::default(),
        packet: Packet::default(),
        verdict: None,
    }];
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let (mut bytes, mut free_ns, mut arrival_ns, mut idle) = (0u64, 0u64, 0u64, true);
    let see = |bytes: u64, waiting: &VecDeque<Packet>| Queue {
        bytes,
        packets: waiting.len() as u32,
        limit_packets: 100,
        ..Queue::default()
    };
    while calls.len() < CALLS {
        if arrival_ns <= free_ns || (waiting.is_empty() && idle) {
            let now = arrival_ns;
            let length = if dice.throw().is_multiple_of(4) { 64 + dice.throw() % 1400 } else { 1514 };
            let ecn = if dice.throw().is_multiple_of(3) { 2 } else { 0 };
            let packet = Packet { enqueue_ns: now, bytes: length, flow: dice.throw() % 8, ecn, protocol: 6 };
            let (queue, random) = (see(bytes, &waiting), dice.throw());
            let verdict = aqm.enqueue(now, &queue, &packet, random);
            calls.push(Call { now, what: ENQUEUE, random, queue, packet, verdict: Some(verdict) });
            if verdict.action != Action::Drop {
                bytes += u64::from(length);
                waiting.push_back(packet);
            }
            free_ns = free_ns.max(now);
            // The mean packet takes 1 ms; a phase lasts two seconds.
            let phase = [2_000_000, 667_000, 1_000_000][(now / 2_000_000_000 % 3) as usize];
            arrival_ns += (u64::from(dice.throw()) * 2 * phase) >> 32;
            continue;
        }
        let now = free_ns;
        let Some(packet) = waiting.pop_front() else {
            aqm.idle(now);
            let queue = see(0, &waiting);
            calls.push(Call { now, what: IDLE, random: 0, queue, packet: Packet::default(), verdict: None });
            idle = true;
            continue;
        };
        idle = false;
        bytes -= u64::from(packet.bytes);
        let queue = see(bytes, &waiting);
        let verdict = aqm.dequeue(now, &queue, &packet);
        calls.push(Call { now, what: DEQUEUE, random: 0, queue, packet, verdict: Some(verdict) });
        if verdict.action != Action::Drop {
            free_ns += u64::from(packet.bytes) * 800;
        }
    }
    calls
}

fn in_the_kernel(object: &[u8], spec: &Spec, calls: &[Call]) -> Result<Vec<(u32, u32)>, libbpf_rs::Error> {
    let mut object = ObjectBuilder::default().open_memory(object)?;
    for mut map in object.maps_mut() {
        match map.name().to_string_lossy().as_ref() {
            "operations" => map.set_max_entries(calls.len() as u32)?,
            name if name.ends_with(".rodata") => {
                map.initial_value_mut().expect("it has one")[..4]
                    .copy_from_slice(&(calls.len() as u32).to_ne_bytes());
            }
            _ => {}
        }
    }
    let object = object.load()?;
    let map = |name: &str| object.maps().find(|m| m.name() == name).expect("it has it");
    map("params").update(&0u32.to_ne_bytes(), &Discipline::new(spec).params_bytes(), MapFlags::ANY)?;
    let operations = map("operations");
    for (i, call) in calls.iter().enumerate() {
        operations.update(&(i as u32).to_ne_bytes(), &call.bytes(), MapFlags::ANY)?;
    }
    let program = object.progs_mut().find(|p| p.name() == "replay").expect("it has one");
    let output = program.test_run(ProgramInput::default())?;
    assert_eq!(output.return_value, 0, "the program found its maps");
    let mut verdicts = Vec::with_capacity(calls.len());
    for i in 0..calls.len() as u32 {
        let value =
            operations.lookup(&i.to_ne_bytes(), MapFlags::ANY)?.expect("an array has all its entries");
        let word = |at: usize| u32::from_ne_bytes(value[at..at + 4].try_into().expect("four bytes"));
        verdicts.push((word(BYTES - 8), word(BYTES - 4)));
    }
    Ok(verdicts)
}

#[test]
fn the_kernel_decides_as_the_simulator() {
    let left_out = |why: &str| {
        // Not to be swallowed by the test runner.
        let _ = writeln!(std::io::stderr(), "LEFT OUT: the_kernel_decides_as_the_simulator: {why}");
    };
    if REPLAYS.is_empty() {
        return left_out("this program was built without clang");
    }
    for (name, object) in REPLAYS {
        let mut spec = Spec::new(find(&name.replace('_', "-")).expect("in the registry"));
        // Marks too, where there are any.
        let _ = spec.set("ecn", Value::Flag(true));
        let calls = record(&spec, 7);
        let verdicts = match in_the_kernel(object, &spec, &calls) {
            Ok(verdicts) => verdicts,
            Err(e) if e.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
                return left_out("it needs the right to load BPF programs");
            }
            Err(e) => panic!("{name}: {e}"),
        };
        let mut seen = [0u32; 3];
        for (i, (call, found)) in calls.iter().zip(verdicts).enumerate() {
            let Some(verdict) = call.verdict else { continue };
            assert_eq!((verdict.action as u32, verdict.reason as u32), found, "{name}, call {i}");
            seen[verdict.action as usize] += 1;
        }
        println!("{name}: {} calls; passed, marked, dropped: {seen:?}", calls.len());
        assert!(seen[Action::Drop as usize] > 100, "{name}: nothing was asked of it: {seen:?}");
    }
}
