//! What the guest writes: blocks of a run, as `guest/lab.h` lays them out, little-endian.

use std::mem;

/// A packet that left the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When, on the guest's clock.
    pub dequeue_ns: u64,
    /// How long it had waited.
    pub sojourn_ns: u32,
    /// Source port.
    pub port: u16,
    /// Length with the Ethernet header.
    pub bytes: u16,
    /// It left with CE.
    pub marked: bool,
}

/// A packet that was dropped at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drop {
    /// When.
    pub at_ns: u64,
    /// Source port.
    pub port: u16,
}

/// In a packet's length: it was dropped (`guest/ring.h`).
const DROPPED: u16 = 0x8000;
/// And of one that left: it had CE.
const MARKED: u16 = 0x4000;

/// A flow at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSample {
    /// When.
    pub at_ns: u64,
    /// Application bytes that the receiver had read.
    pub received: u64,
    /// Its number.
    pub flow: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// Timeouts so far.
    pub timeouts: u32,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// When.
    pub at_ns: u64,
    /// After how long.
    pub delay_ns: u32,
    /// Of which flow.
    pub flow: u32,
}

/// How a flow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEnd {
    /// 0: it never began.
    pub start_ns: u64,
    /// 0: it did not end.
    pub end_ns: u64,
    /// Its number.
    pub flow: u32,
    /// What broke its connection, as errno has it; 0: nothing.
    pub error: u32,
}

/// What a qdisc of ours has in its maps at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maps {
    /// When.
    pub at_ns: u64,
    /// Counters, the discipline's parameters and its state (`guest/watch.c` has them in this order).
    pub values: [Vec<u8>; 3],
}

/// What happened at a qdisc (`guest/queue.bpf.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What the kernel had read of its clock.
    pub at_ns: u64,
    /// Number of the packet.
    pub number: u32,
    /// What it was.
    pub seen: Seen,
}

/// See [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A packet comes.
    Arrives {
        /// The kernel's jiffies, of which there are 16 bits.
        jiffies: u16,
    },
    /// The qdisc has let it in.
    Admitted,
    /// A packet goes to the device, with this ECN codepoint.
    Leaves {
        /// The codepoint.
        ecn: u8,
    },
    /// A packet's memory is freed, undelivered.
    Dropped,
    /// The upper 32 bits of a number drawn at random.
    Draws(u32),
    /// The timer of the discipline fires.
    Ticks,
}

impl Event {
    fn read(mut r: Fields) -> Option<Event> {
        let (at_ns, number, kind, tos) = (r.u64(), r.u32(), r.u16(), r.u16());
        let seen = match kind {
            1 => Seen::Arrives { jiffies: tos },
            2 => Seen::Admitted,
            3 => Seen::Leaves { ecn: (tos & 3) as u8 },
            4 => Seen::Dropped,
            5 => Seen::Draws(number),
            6 => Seen::Draws((at_ns >> 32) as u32),
            7 => Seen::Ticks,
            _ => return None,
        };
        Some(Event { at_ns, number, seen })
    }
}

/// A run as it was seen.
#[derive(Debug, Clone, Default)]
pub struct Raw {
    /// When its time began.
    pub zero_ns: u64,
    /// Version of the kernel.
    pub kernel: String,
    /// Packets in the order in which they left.
    pub packets: Vec<Packet>,
    /// Packets that the qdisc dropped.
    pub drops: Vec<Drop>,
    /// Counters of the bottleneck's qdiscs: (when, netlink messages).
    pub qdiscs: Vec<(u64, Vec<u8>)>,
    /// The maps of a qdisc of ours, sample after sample.
    pub maps: Vec<Maps>,
    /// Flows, sample after sample.
    pub flows: Vec<FlowSample>,
    /// Datagrams as they arrived.
    pub datagrams: Vec<Datagram>,
    /// One a flow.
    pub ends: Vec<FlowEnd>,
    /// What happened at a qdisc, call by call.
    pub events: Vec<Event>,
    /// What datagrams cost: how many there were, and for how long they kept the processor busy, ns.
    pub cost: Option<(u64, u64)>,
    /// What TCP got and sent in a replay (`guest/replay.h`).
    pub replay: Vec<u8>,
}

/// Reads blocks as they come.
#[derive(Debug, Default)]
pub struct Stream {
    pending: Vec<u8>,
    raw: Box<Raw>,
    complete: usize,
}

const HEAD: usize = 24;
const VERSION: u32 = 3;

/// A run's number, and what was seen of it or why it failed.
pub type Done = (usize, Result<Box<Raw>, String>);

impl Stream {
    /// Takes more bytes; gives the runs that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Done>, String> {
        self.pending.extend_from_slice(bytes);
        let (mut done, mut at) = (Vec::new(), 0);
        while let Some(head) = self.pending.get(at..at + HEAD) {
            let mut r = Fields(head);
            let (magic, run, kind, version, length) = (r.u32(), r.u32(), r.u32(), r.u32(), r.u64());
            if magic.to_le_bytes() != *b"QWLB" || version != VERSION {
                return Err("the guest's program is not this version's: run 'scripts/setup lab'".into());
            }
            let Some(body) =
                usize::try_from(length).ok().and_then(|n| self.pending.get(at + HEAD..at + HEAD + n))
            else {
                break;
            };
            at += HEAD + body.len();
            match self.raw.block(kind, body) {
                Block::More => {}
                Block::Failed(why) => {
                    *self.raw = Raw::default();
                    done.push((run as usize, Err(why)));
                }
                Block::End => {
                    self.complete += 1;
                    done.push((run as usize, Ok(mem::take(&mut self.raw))));
                }
            }
        }
        self.pending.drain(..at);
        Ok(done)
    }

    /// How many runs have been completed.
    pub fn complete(&self) -> usize {
        self.complete
    }
}

enum Block {
    More,
    Failed(String),
    End,
}

impl Raw {
    fn block(&mut self, kind: u32, body: &[u8]) -> Block {
        let records = |size: usize| body.chunks_exact(size).map(Fields);
        match kind {
            1 => {
                let mut r = Fields(body);
                self.zero_ns = r.u64();
                let name = r.0.split(|b| *b == 0).next().unwrap_or_default();
                self.kernel = String::from_utf8_lossy(name).into_owned();
            }
            2 => {
                for mut r in records(16) {
                    let (at_ns, sojourn_ns, port, bytes) = (r.u64(), r.u32(), r.u16(), r.u16());
                    if bytes & DROPPED != 0 {
                        self.drops.push(Drop { at_ns, port });
                    } else {
                        let marked = bytes & MARKED != 0;
                        let bytes = bytes & !MARKED;
                        self.packets.push(Packet { dequeue_ns: at_ns, sojourn_ns, port, bytes, marked });
                    }
                }
            }
            3 => {
                let mut r = Fields(body);
                while r.0.len() >= 12 {
                    let (at, length) = (r.u64(), r.u32() as usize);
                    self.qdiscs.push((at, r.take(length).to_vec()));
                }
            }
            9 => {
                let mut r = Fields(body);
                while r.0.len() >= 16 {
                    let (at_ns, which, length) = (r.u64(), r.u32() as usize, r.u32() as usize);
                    let value = r.take(length).to_vec();
                    if self.maps.last().is_none_or(|m| m.at_ns != at_ns) {
                        self.maps.push(Maps { at_ns, ..Maps::default() });
                    }
                    let values = self.maps.last_mut().map(|m| &mut m.values);
                    if let Some(slot) = values.and_then(|v| v.get_mut(which)) {
                        *slot = value;
                    }
                }
            }
            4 => self.flows.extend(records(40).map(|mut r| {
                let (at_ns, received) = (r.u64(), r.u64());
                let (flow, cwnd, srtt_us) = (r.u32(), r.u32(), r.u32());
                FlowSample { at_ns, received, flow, cwnd, srtt_us, retransmits: r.u32(), timeouts: r.u32() }
            })),
            5 => self.datagrams.extend(records(16).map(|mut r| Datagram {
                at_ns: r.u64(),
                delay_ns: r.u32(),
                flow: r.u32(),
            })),
            6 => self.ends.extend(records(32).map(|mut r| {
                let (start_ns, end_ns, _received) = (r.u64(), r.u64(), r.u64());
                FlowEnd { start_ns, end_ns, flow: r.u32(), error: r.u32() }
            })),
            10 => {
                let mut r = Fields(body);
                self.cost = Some((r.u64(), r.u64()));
            }
            12 => self.events.extend(records(16).filter_map(Event::read)),
            11 => self.replay.extend_from_slice(body),
            7 => return Block::Failed(String::from_utf8_lossy(body).trim().to_string()),
            8 => return Block::End,
            _ => {}
        }
        Block::More
    }
}

/// Reads little-endian numbers off the front; 0 past the end.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// So many bytes, or as many as there are.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        head
    }

    fn number(&mut self, n: usize) -> u64 {
        self.take(n).iter().rev().fold(0, |x, b| x << 8 | u64::from(*b))
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    /// The next four.
    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    /// The next eight.
    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(run: u32, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut all = b"QWLB".to_vec();
        for x in [run, kind, VERSION] {
            all.extend(x.to_le_bytes());
        }
        all.extend((body.len() as u64).to_le_bytes());
        all.extend(body);
        all
    }

    #[test]
    fn runs_come_out_whole_however_the_bytes_come() {
        let mut bytes = block(0, 1, &[&7u64.to_le_bytes()[..], b"7.2.13\0\0"].concat());
        bytes.extend(block(0, 2, &[1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x10, 0x27, 0xea, 5]));
        bytes.extend(block(0, 2, &[2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x10, 0x27, 0xea, 0x45]));
        bytes.extend(block(0, 2, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x27, 0xea, 0x85]));
        bytes.extend(block(0, 8, b""));
        bytes.extend(block(1, 7, b"tc: no such qdisc\n"));
        for step in [1, 7, 1000] {
            let mut stream = Stream::default();
            let done: Vec<Done> =
                bytes.chunks(step).flat_map(|b| stream.push(b).expect("right magic")).collect();
            assert_eq!(done.len(), 2);
            let raw = done[0].1.as_ref().expect("complete");
            assert_eq!((raw.zero_ns, raw.kernel.as_str()), (7, "7.2.13"));
            let packet = Packet { dequeue_ns: 1, sojourn_ns: 5, port: 10_000, bytes: 1514, marked: false };
            assert_eq!(raw.packets, [packet, Packet { dequeue_ns: 2, marked: true, ..packet }]);
            assert_eq!(raw.drops, [Drop { at_ns: 9, port: 10_001 }]);
            assert_eq!(done[1].1.as_ref().err().map(String::as_str), Some("tc: no such qdisc"));
        }
    }

    #[test]
    fn what_is_no_stream_is_an_error() {
        assert!(Stream::default().push(&[0; 64]).is_err());
    }
}
