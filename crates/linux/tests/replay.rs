//! The same header, compiled for this machine and for BPF: a scenario runs in the simulator, every call of its discipline
//! recorded, and the calls are made again inside the kernel, with ticks in between as a timer makes them. The verdicts must be
//! the same, bit for bit. Any kernel with BPF will do, as no qdisc is involved: this machine's where the test may load programs, else
//! the lab's.

mod vm;

use libbpf_rs::{MapCore, MapFlags, ObjectBuilder, ProgramInput};
use queuewright_aqm::{Action, Discipline, Spec, find};
use queuewright_scenario::Scenario;
use queuewright_sim::{Call, QueueOperation, record};
use queuewright_testing::only_test;
use std::path::Path;
use std::sync::atomic::AtomicBool;

include!(concat!(env!("OUT_DIR"), "/replays.rs"));

const INIT: u32 = 0;
/// `struct operation` of bpf/replay.bpf.c.
const BYTES: usize = 8 + 4 + 4 + 64 + 40 + 8;
const CALLS: usize = 60_000;

/// Senders that fill a queue each in its own way, some of whom understand ECN, and one that pauses.
const SCENARIO: &str = "[link]\nrate = \"20mbit\"\nbuffer = \"60p\"\n\
                        [[flows]]\ncount = 3\ncca = \"cubic\"\nrtt = \"20ms\"\n\
                        [[flows]]\ncount = 3\ncca = \"newreno\"\nrtt = \"40ms\"\necn = true\n\
                        [[flows]]\ncca = \"bbr\"\nrtt = \"30ms\"\nstart = \"4s\"\n\
                        [[flows]]\npoisson = \"4mbit\"\npacket = \"400b\"\nrtt = \"10ms\"\n\
                        [queue]\ndisciplines = [{ DISCIPLINE }]\n\
                        [run]\nduration = \"60s\"\nseeds = [1]\n";

fn bytes(call: Option<&Call>) -> Vec<u8> {
    let what = call.map_or(INIT, |call| match call.operation {
        QueueOperation::Enqueue => 1,
        QueueOperation::Dequeue => 2,
        QueueOperation::Idle => 3,
    });
    let (now, random) = call.map_or((0, 0), |call| (call.now_ns, call.random));
    let (q, k) = call.map(|call| (call.queue, call.packet)).unwrap_or_default();
    let mut out = Vec::with_capacity(BYTES);
    let long = |out: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| out.extend(v.to_ne_bytes()));
    let int = |out: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| out.extend(v.to_ne_bytes()));
    long(&mut out, &[now]);
    int(&mut out, &[what, random]);
    long(&mut out, &[q.bytes, q.limit_bytes]);
    int(&mut out, &[q.packets, q.limit_packets]);
    long(&mut out, &[q.head_ns, q.pool.bytes, q.pool.limit_bytes, q.pool.thresholds_bytes]);
    int(&mut out, &[q.pool.ports, q.pool.congested]);
    long(&mut out, &[k.enqueue_ns]);
    int(&mut out, &[k.bytes, k.flow, k.ecn, k.protocol, k.source, k.destination]);
    [k.dscp, k.frame_bytes].iter().for_each(|v| out.extend(v.to_ne_bytes()));
    int(&mut out, &[k.segments, 0, 0]);
    assert_eq!(out.len(), BYTES, "struct operation");
    out
}

/// The discipline as it ran in the simulator, and its calls.
fn recorded(name: &str) -> (Spec, Vec<Call>) {
    let has = |param: &str| find(name).is_some_and(|info| info.param(param).is_some());
    let discipline = match (has("ecn"), has("weights")) {
        (true, _) => format!("name = \"{name}\", ecn = true"),
        (_, true) => format!("name = \"{name}\", weights = \"{name}\""),
        _ => format!("name = \"{name}\""),
    };
    let text = SCENARIO.replace("DISCIPLINE", &discipline);
    let scenario = Scenario::parse(&text, "s.toml", "".as_ref()).unwrap_or_else(|e| panic!("{e}"));
    let run = scenario.runs().unwrap_or_else(|e| panic!("{e}")).remove(0);
    let calls = record(&run, CALLS, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(calls.len(), CALLS);
    (run.ports[0].discipline.clone(), calls)
}

/// Its verdicts, and how many ticks were made.
fn in_the_kernel(
    object: &[u8],
    spec: &Spec,
    calls: &[Call],
) -> Result<(Vec<(u32, u32)>, u64), libbpf_rs::Error> {
    let count = calls.len() as u32 + 1;
    let mut object = ObjectBuilder::default().open_memory(object)?;
    for mut map in object.maps_mut() {
        match map.name().to_string_lossy().as_ref() {
            "operations" => map.set_max_entries(count)?,
            name if name.ends_with(".rodata") => {
                map.initial_value_mut().expect("it has one")[..4].copy_from_slice(&count.to_ne_bytes());
            }
            _ => {}
        }
    }
    let object = object.load()?;
    let map = |name: &str| object.maps().find(|m| m.name() == name).expect("it has it");
    map("params").update(&0u32.to_ne_bytes(), &Discipline::new(spec).params_bytes(), MapFlags::ANY)?;
    let operations = map("operations");
    let all = std::iter::once(None).chain(calls.iter().map(Some));
    for (i, call) in (0u32..).zip(all) {
        operations.update(&i.to_ne_bytes(), &bytes(call), MapFlags::ANY)?;
    }
    let program = object.progs_mut().find(|p| p.name() == "replay").expect("it has one");
    let output = program.test_run(ProgramInput::default())?;
    assert_eq!(output.return_value, 0, "the program found its maps");
    let mut verdicts = Vec::with_capacity(calls.len());
    // Past the first, which only begins.
    for i in 1..count {
        let value =
            operations.lookup(&i.to_ne_bytes(), MapFlags::ANY)?.expect("an array has all its entries");
        let word = |at: usize| u32::from_ne_bytes(value[at..at + 4].try_into().expect("four bytes"));
        verdicts.push((word(BYTES - 8), word(BYTES - 4)));
    }
    // If it has any.
    let counted = object.maps().find(|m| m.name().to_string_lossy().ends_with(".bss"));
    let value = counted.map(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)).transpose()?.flatten();
    let ticks = value.and_then(|v| Some(u64::from_ne_bytes(*v.first_chunk()?))).unwrap_or(0);
    Ok((verdicts, ticks))
}

fn main() {
    let Some(words) = only_test("replay") else { return };
    if !vm::is_inside() && !REPLAYS.is_empty() {
        let may = ObjectBuilder::default().open_memory(REPLAYS[0].1).and_then(|object| object.load());
        match may {
            Err(e) if e.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
                eprintln!("replay: not on this machine itself ({e})");
            }
            _ => return the_kernel_decides_as_the_simulator(),
        }
    }
    let files = |_: &Path| vm::built_with_clang().map(|()| Vec::new());
    vm::test("recorded calls made again in the kernel", &words, files, the_kernel_decides_as_the_simulator);
}

fn the_kernel_decides_as_the_simulator() {
    for (name, object) in REPLAYS {
        let (spec, calls) = recorded(&name.replace('_', "-"));
        let (verdicts, ticks) =
            in_the_kernel(object, &spec, &calls).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut seen = [0u32; 3];
        let mut here = Discipline::new(&spec);
        for (i, (call, found)) in calls.iter().zip(verdicts).enumerate() {
            let verdict = match call.operation {
                QueueOperation::Enqueue => here.enqueue(call.now_ns, &call.queue, &call.packet, call.random),
                QueueOperation::Dequeue => here.dequeue(call.now_ns, &call.queue, &call.packet),
                QueueOperation::Idle => {
                    here.idle(call.now_ns);
                    continue;
                }
            };
            assert_eq!((verdict.action as u32, verdict.reason as u32), found, "{name}, call {i}");
            seen[verdict.action as usize] += 1;
        }
        println!("machine: {name}: {} calls, {ticks} ticks; passed, marked, dropped: {seen:?}", calls.len());
        assert_eq!(ticks > 1000, *name == "queuepilot", "{name}: {ticks} ticks");
        assert!(seen[Action::Drop as usize] > 100, "{name}: nothing was asked of it: {seen:?}");
    }
}
