//! A table a discipline: what each makes of the same arrivals. A change of
//! behaviour is seen as a diff.
//!
//! The senders are crude on purpose (a window that grows by a packet a round
//! trip and halves on loss), so that the tables depend on aqm/ alone.

use crate::host::{Dice, Host, flow_of};
use queuewright_aqm::{Action, REASON_NAMES, Spec, registry};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The link: 1500 bytes in 1.2 ms.
const NS_PER_BYTE: u64 = 800;
const DURATION: u64 = 20 * SECOND;
const RTT: u64 = 40 * MS;

#[derive(Clone, Copy)]
enum Load {
    /// Packets of so many bytes at so many percent of the link's rate, with gaps
    /// of half to one and a half of their mean.
    Steady { percent: u64, bytes: u64 },
    /// So many packets at once, every 100 ms.
    Bursts { packets: u64 },
    /// Senders of the AIMD kind that always have data.
    Windows { senders: usize, ecn: bool },
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    LinkFree,
    Ack { sender: usize, marked: bool },
    Loss { sender: usize },
}

struct Sender {
    cwnd: f64,
    in_flight: u64,
    /// The next reaction is not due before.
    deaf_until: u64,
}

fn run(spec: &Spec, load: Load) -> Host {
    let mut host = Host::new(spec, 200, 0);
    let mut dice = Dice(1);
    let mut events = BinaryHeap::new();
    let mut link_busy = false;
    let mut senders: Vec<Sender> = Vec::new();
    if let Load::Windows { senders: n, .. } = load {
        // A silent ACK each, spread over a round trip, sets them off.
        for i in 0..n {
            senders.push(Sender { cwnd: 2.0, in_flight: 1, deaf_until: 0 });
            let at = RTT * i as u64 / n as u64;
            events.push(Reverse((at, Event::Ack { sender: i, marked: false })));
        }
    } else {
        events.push(Reverse((0, Event::Arrival)));
    }

    while let Some(Reverse((now, event))) = events.pop() {
        if now > DURATION {
            break;
        }
        match (event, load) {
            (Event::Arrival, Load::Steady { percent, bytes }) => {
                host.arrive(now, bytes as u32, 0, 0);
                let mean = bytes * NS_PER_BYTE * 100 / percent;
                let gap = mean / 2 + dice.roll() % mean;
                events.push(Reverse((now + gap, Event::Arrival)));
            }
            (Event::Arrival, Load::Bursts { packets }) => {
                for _ in 0..packets {
                    host.arrive(now, 1500, 0, 0);
                }
                events.push(Reverse((now + 100 * MS, Event::Arrival)));
            }
            (Event::LinkFree, _) => link_busy = false,
            (Event::Ack { sender, marked }, Load::Windows { ecn, .. }) => {
                let s = &mut senders[sender];
                s.in_flight -= 1;
                if !marked {
                    s.cwnd += 1.0 / s.cwnd;
                } else if now >= s.deaf_until {
                    s.cwnd = (s.cwnd / 2.0).max(1.0);
                    s.deaf_until = now + RTT;
                }
                while s.in_flight < s.cwnd as u64 {
                    s.in_flight += 1;
                    let ect = if ecn { 2 } else { 0 };
                    if host.arrive(now, 1500, sender as u32, ect).action == Action::Drop {
                        events.push(Reverse((now + RTT, Event::Loss { sender })));
                    }
                }
                for gone in host.evicted.drain(..) {
                    events.push(Reverse((now + RTT, Event::Loss { sender: flow_of(&gone) as usize })));
                }
            }
            (Event::Loss { sender }, _) => {
                let s = &mut senders[sender];
                s.in_flight -= 1;
                if now >= s.deaf_until {
                    s.cwnd = (s.cwnd / 2.0).max(1.0);
                    s.deaf_until = now + RTT;
                }
                if s.in_flight == 0 {
                    // Nothing is left to clock it: as after a timeout.
                    s.in_flight = 1;
                    let marked = false;
                    events.push(Reverse((now + 5 * RTT, Event::Ack { sender, marked })));
                }
            }
            _ => unreachable!("no such event in this load"),
        }
        if !link_busy && host.queue.packets > 0 {
            let sent = host.transmit(now, |p| {
                if !senders.is_empty() {
                    let sender = flow_of(&p) as usize;
                    events.push(Reverse((now + RTT, Event::Loss { sender })));
                }
            });
            if let Some(p) = sent {
                link_busy = true;
                let done = now + u64::from(p.bytes) * NS_PER_BYTE;
                events.push(Reverse((done, Event::LinkFree)));
                if !senders.is_empty() {
                    let ack = Event::Ack { sender: flow_of(&p) as usize, marked: p.ecn == 3 };
                    events.push(Reverse((done + RTT, ack)));
                }
            }
        } else if !link_busy {
            host.transmit(now, |_| {});
        }
    }
    host
}

#[test]
fn tables() {
    let steady = |percent, bytes| Load::Steady { percent, bytes };
    let windows = |senders, ecn| Load::Windows { senders, ecn };
    let loads = [
        ("90 %", steady(90, 1500)),
        ("110 %", steady(110, 1500)),
        ("300 %", steady(300, 1500)),
        ("110 % small", steady(110, 100)),
        ("bursts of 60", Load::Bursts { packets: 60 }),
        ("bursts of 300", Load::Bursts { packets: 300 }),
        ("1 sender", windows(1, false)),
        ("5 senders", windows(5, false)),
        ("50 senders", windows(50, false)),
        ("5 senders ecn", windows(5, true)),
        ("50 senders ecn", windows(50, true)),
    ];
    for info in registry() {
        // Every discipline as it comes, and once more with ECN if it knows it.
        let mut spec = Spec::new(info);
        if spec.get("ecn").is_some() {
            spec.set("ecn", queuewright_aqm::Value::Flag(true)).unwrap();
        }
        let mut table = format!(
            "{:16}{:>8}{:>8}{:>8}{:>9}  drops, marks, variables at the end\n",
            "load", "offered", "sent", "mean ms", "max ms"
        );
        for (name, load) in loads {
            let host = run(&spec, load);
            let ms = |ns: u64| ns as f64 / MS as f64;
            write!(
                table,
                "{name:16}{:>8}{:>8}{:>8.2}{:>9.2} ",
                host.offered,
                host.sent,
                ms(host.sojourn_sum) / host.sent as f64,
                ms(host.sojourn_max)
            )
            .unwrap();
            for (what, counts) in [("drop", host.drops), ("mark", host.marks)] {
                for (reason, n) in REASON_NAMES.iter().zip(counts) {
                    if n > 0 {
                        write!(table, " {what}.{reason}={n}").unwrap();
                    }
                }
            }
            for (i, probe) in host.discipline.probes().iter().enumerate() {
                let value = (host.discipline.probe(i) * 1e5).round() / 1e5;
                write!(table, " {}={value}", probe.name).unwrap();
            }
            table.push('\n');
        }
        insta::assert_snapshot!(info.name, table);
    }
}
