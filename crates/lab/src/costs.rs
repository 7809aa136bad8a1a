//! What a qdisc costs: instructions a packet, in a machine whose clock counts each as a nanosecond.
//!
//! Datagrams go through the device under test, which throws them away. Twice: as fast as they can, through a qdisc that
//! is always empty, and in bursts at half of the rate of its shaper, so that each waits. QueuePilot's steps, which its timer
//! makes, are what it takes more with many of them between two bursts than with none.

use crate::job::{Job, Lines, PROGRAM, wire_burst};
use crate::machine::{self, GuestEvent};
use crate::qdisc::Qdisc;
use crate::{Error, Lab};
use queuewright_scenario::spec::Shaper;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Instructions a packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Name of the discipline.
    pub name: String,
    /// It is our BPF program.
    pub ours: bool,
    /// What the qdisc takes more than a tail-drop queue (`bfifo`) in its place, no packet waiting.
    pub alone: f64,
    /// A datagram's whole way from `send` into the device, no packet waiting.
    pub way: f64,
    /// The same with a shaper, each packet waiting for it: htb with the kernel's as its leaf, cake's, or ours.
    pub shaped: f64,
}

/// Instructions of a step that a discipline's timer makes, from the timer's interrupt to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCost {
    /// Which of QueuePilot's policies.
    pub policy: &'static str,
    /// What a step takes, instructions of the emulated processor.
    pub instructions: f64,
}

/// What there is to say of costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Of a packet.
    pub packets: Vec<Cost>,
    /// Of a step; empty: this program can attach none.
    pub steps: Vec<StepCost>,
}

/// The kernel's: discipline, module, words for tc, and whether it shapes by itself.
const KERNELS: [(&str, &str, &str, bool); 4] = [
    ("codel", "sch_codel", "codel", false),
    ("pie", "sch_pie", "pie", false),
    ("fq-codel", "sch_fq_codel", "fq_codel", false),
    ("cake", "sch_cake", "cake", true),
];
/// Ours that the kernel has not, beside those that it has.
const OURS: [&str; 9] =
    ["droptail", "codel", "pie", "fq-codel", "titrate", "duk", "cp-aqm", "cobalt", "queuepilot"];
/// QueuePilot without a step between two bursts, and with one each millisecond.
const STEPS: [(&str, &str); 3] = [
    ("none", "queuepilot:step=1s"),
    ("scripted", "queuepilot:step=1ms"),
    ("learned", "queuepilot:step=1ms:weights=queuepilot"),
];
/// Bursts that are measured, and from one to the next, ms. Its timer makes up to 64 steps after a packet.
const PAUSES: [u64; 2] = [40, 50];

/// Of the shaper, bits a second.
const RATE: u64 = 20_000_000;
/// Of a datagram, and with its headers.
const PAYLOAD: u64 = 958;
const PACKET: u64 = PAYLOAD + 42;
/// Packets at once.
const BURST: u64 = 10;
/// Datagrams that are measured: empty qdisc, with a shaper.
const COUNTS: [u64; 2] = [20_000, 5_000];

/// What is measured, by name: a qdisc without shaper or with it.
struct Jobs {
    job: Job,
    body: Lines,
    names: Vec<String>,
}

impl Jobs {
    fn begin(&mut self, name: String, lay: impl FnOnce(&mut Lines)) {
        let out = &mut self.body;
        out.add(format!("run {}", self.names.len()));
        // A device that throws away what it is given: the receiver's work is no qdisc's.
        out.sink();
        lay(out);
        self.names.push(name);
    }

    fn add(&mut self, name: String, shaped: bool, lay: impl FnOnce(&mut Lines)) {
        self.begin(name, lay);
        let out = &mut self.body;
        let gap = 2 * BURST * PACKET * 8 * 1_000_000_000 / RATE;
        match shaped {
            false => out.add(format!("cost r {} {PAYLOAD} {} 0", COUNTS[0], COUNTS[0])),
            true => out.add(format!("cost r {} {PAYLOAD} {BURST} {gap}", COUNTS[1])),
        }
    }

    /// As `add`, with pauses.
    fn add_paused(&mut self, name: String, lay: impl FnOnce(&mut Lines)) {
        self.begin(name, lay);
        let [bursts, ms] = PAUSES;
        self.body.add(format!("cost r {} {PAYLOAD} {BURST} {}", bursts * BURST, ms * 1_000_000));
    }

    fn end(&mut self, ours: bool) {
        if ours {
            self.body.add(format!("in r /{PROGRAM} detach rs"));
        }
        self.body.add("end");
    }
}

fn jobs() -> Jobs {
    let mut job = Job::empty(vec!["dummy", "sch_prio", "sch_htb"]);
    for (_, module, ..) in KERNELS {
        job.need(Some(module));
    }
    let mut all = Jobs { job, body: Lines::default(), names: Vec::new() };
    // Limited to less than a full packet, a bfifo takes every packet in and none past it.
    for (name, words) in [("bare", ""), ("bfifo", "root bfifo limit 1400")] {
        all.add(name.into(), false, |out| {
            if !words.is_empty() {
                out.add(format!("in r tc qdisc add dev rs {words}"));
            }
        });
        all.end(false);
    }
    let prio = |out: &mut Lines, leaf: &str| {
        out.add("in r tc qdisc add dev rs root handle 1: prio");
        out.add(format!("in r tc qdisc add dev rs parent 1:2 handle 10: {leaf}"));
    };
    all.add("prio bfifo".into(), false, |out| prio(out, "bfifo limit 1400"));
    all.end(false);
    all.add("shaped pfifo".into(), true, |out| {
        out.bottleneck(
            &Qdisc { words: "pfifo limit 1000".into(), ..Qdisc::default() },
            Shaper::Htb,
            RATE,
            wire_burst(RATE),
        );
    });
    all.end(false);
    for (name, _, words, root) in KERNELS {
        // Alone at the root the kernel's are passed by as long as they are empty; not so below another.
        all.add(name.into(), false, |out| match root {
            true => out.add(format!("in r tc qdisc add dev rs root {words}")),
            false => prio(out, words),
        });
        all.end(false);
        let words = if root { format!("{words} bandwidth {RATE}bit") } else { words.into() };
        let qdisc = Qdisc { words, root, ..Qdisc::default() };
        all.add(format!("shaped {name}"), true, |out| {
            out.bottleneck(&qdisc, Shaper::Htb, RATE, wire_burst(RATE));
        });
        all.end(false);
    }
    let attachable = queuewright_linux::names();
    for name in OURS.into_iter().filter(|n| attachable.iter().any(|a| a == n)) {
        all.job.attaches = true;
        for (shaped, rate) in [(false, String::new()), (true, format!(" --rate {RATE}bit"))] {
            let of = if shaped { "shaped " } else { "" };
            all.add(format!("{of}ours:{name}"), shaped, |out| {
                out.add(format!("in r /{PROGRAM} attach rs {name} --limit 1000p{rate}"));
            });
            all.end(true);
        }
    }
    if attachable.iter().any(|a| a == "queuepilot") {
        for (name, words) in STEPS {
            all.add_paused(format!("steps {name}"), |out| {
                out.add(format!("in r /{PROGRAM} attach rs {words} --limit 1000p --rate {RATE}bit"));
            });
            all.end(true);
        }
    }
    all
}

impl Lab {
    /// Measures the kernel's disciplines and ours; a tail-drop queue of the kernel's stands first.
    ///
    /// # Errors
    /// If the machine cannot do it.
    pub fn costs(&self, stop: &AtomicBool) -> Result<Costs, Error> {
        let Jobs { mut job, body, names } = jobs();
        job.text = Job::boot(false) + &body.0;
        let (mut found, mut wrong) = (BTreeMap::new(), None);
        machine::work(self, &job, 1, stop, |i, heard| match heard {
            GuestEvent::Measured(raw) => {
                if let (Some(name), Some((packets, busy_ns))) = (names.get(i), raw.cost) {
                    found.insert(name.clone(), busy_ns as f64 / packets.max(1) as f64);
                }
            }
            GuestEvent::Failed(why) => {
                let name = names.get(i).cloned().unwrap_or_default();
                wrong.get_or_insert(Error::Machine(format!("{name}: {why}")));
            }
            GuestEvent::At(_) => {}
        })?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let of = |name: &str| found.get(name).copied().unwrap_or(f64::NAN);
        let prio = of("prio bfifo") - of("bfifo");
        let fifo = ("droptail", false, of("bfifo"), of("shaped pfifo"));
        let kernels = KERNELS.iter().map(|(name, _, _, root)| {
            (*name, false, of(name) - if *root { 0.0 } else { prio }, of(&format!("shaped {name}")))
        });
        let ours = OURS
            .iter()
            .map(|name| (*name, true, of(&format!("ours:{name}")), of(&format!("shaped ours:{name}"))));
        let all = std::iter::once(fifo).chain(kernels).chain(ours);
        let packets = all
            .filter(|(_, _, way, _)| way.is_finite())
            .map(|(name, ours, way, shaped)| Cost {
                name: name.into(),
                ours,
                alone: way - of("bfifo"),
                way,
                shaped,
            })
            .collect();
        let none = of("steps none");
        let steps = STEPS.iter().skip(1).map(|(policy, _)| StepCost {
            policy,
            // Found is a packet's part of a burst and the pause after it.
            instructions: (of(&format!("steps {policy}")) - none) * BURST as f64 / PAUSES[1] as f64,
        });
        Ok(Costs { packets, steps: steps.filter(|s| s.instructions.is_finite()).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::KNOWN;
    use std::collections::BTreeSet;

    #[test]
    fn all_are_disciplines_of_the_registry() {
        let all = KERNELS
            .iter()
            .map(|k| k.0)
            .chain(OURS)
            .chain(STEPS.map(|s| s.1.split(':').next().unwrap_or_default()));
        let unknown: Vec<&str> = all.filter(|name| queuewright_aqm::find(name).is_none()).collect();
        assert_eq!(unknown, [""; 0]);
        assert!(KERNELS.iter().all(|k| KNOWN.contains(&k.0)));
    }

    #[test]
    fn each_is_measured_with_and_without_a_shaper_and_taken_off_again() {
        let all = jobs();
        let names: BTreeSet<&String> = all.names.iter().collect();
        assert_eq!(names.len(), all.names.len());
        let count = |word: &str| all.body.0.lines().filter(|l| l.contains(word)).count();
        let steps = names.iter().filter(|n| n.starts_with("steps ")).count();
        let ours = names.iter().filter(|n| n.contains("ours:")).count() + steps;
        assert_eq!((count("run "), count("cost r "), count("end")), (names.len(), names.len(), names.len()));
        assert_eq!((count(" attach "), count(" detach "), all.job.attaches), (ours, ours, ours > 0));
        let shaped = names.iter().filter(|n| n.starts_with("shaped ")).count();
        assert_eq!(shaped, count(" 10 8000000"), "bursts of 10 packets of 1000 bytes at half of 20 Mbit/s");
        assert_eq!((steps, count(" 400 958 10 50000000")), (if ours > 0 { 3 } else { 0 }, steps));
    }
}
