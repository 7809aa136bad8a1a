//! What the guest writes: blocks of a run, as `guest/lab.h` lays them out, little-endian.

use crate::layout::{self, *};
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
    /// When, ns of the guest's clock (`CLOCK_MONOTONIC`).
    pub at_ns: u64,
    /// Source port.
    pub port: u16,
}

/// In a packet's length: it was dropped.
const DROPPED: u16 = layout::DROPPED as u16;
/// And of one that left: it had CE.
const MARKED: u16 = layout::MARKED as u16;

/// A flow at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSample {
    /// When, ns of the guest's clock (`CLOCK_MONOTONIC`).
    pub at_ns: u64,
    /// Application bytes that the receiver had read.
    pub received: u64,
    /// Its number.
    pub flow: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Rate at which it may send, bytes a second; the largest number: any.
    pub pacing_rate: u64,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// Timeouts so far.
    pub timeouts: u32,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// When, ns of the guest's clock (`CLOCK_MONOTONIC`).
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
    /// When, ns of the guest's clock (`CLOCK_MONOTONIC`).
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
    fn read(r: Record) -> Option<Event> {
        use layout::record::{AT_NS, KIND, NUMBER, TOS};
        let (at_ns, number, tos) = (r.u64(AT_NS), r.u32(NUMBER), r.u16(TOS));
        let seen = match u32::from(r.u16(KIND)) {
            EVENT_ARRIVES => Seen::Arrives { jiffies: tos },
            EVENT_ADMITTED => Seen::Admitted,
            EVENT_LEAVES => Seen::Leaves { ecn: (tos & 3) as u8 },
            EVENT_DROPPED => Seen::Dropped,
            EVENT_RANDOM => Seen::Draws(number),
            EVENT_RANDOM_BYTES => Seen::Draws((at_ns >> 32) as u32),
            EVENT_TICKS => Seen::Ticks,
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

/// Before each block: `QWLB`, run, kind, version, and the block's length in 64 bits.
const HEAD: usize = 4 * size_of::<u32>() + size_of::<u64>();

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
        let records = |size: usize| body.chunks_exact(size).map(Record);
        match kind {
            BLOCK_BEGIN => {
                self.zero_ns = Record(body).u64(begin::ZERO_NS);
                let name = body.get(begin::KERNEL..).unwrap_or_default();
                let name = name.split(|b| *b == 0).next().unwrap_or_default();
                self.kernel = String::from_utf8_lossy(name).into_owned();
            }
            BLOCK_PACKETS => {
                for r in records(packet::SIZE) {
                    let (at_ns, port, bytes) =
                        (r.u64(packet::DEQUEUE_NS), r.u16(packet::PORT), r.u16(packet::BYTES));
                    if bytes & DROPPED != 0 {
                        self.drops.push(Drop { at_ns, port });
                    } else {
                        self.packets.push(Packet {
                            dequeue_ns: at_ns,
                            sojourn_ns: r.u32(packet::SOJOURN_NS),
                            port,
                            bytes: bytes & !MARKED,
                            marked: bytes & MARKED != 0,
                        });
                    }
                }
            }
            BLOCK_QDISC => {
                let mut r = Fields(body);
                while r.0.len() >= 12 {
                    let (at, length) = (r.u64(), r.u32() as usize);
                    self.qdiscs.push((at, r.take(length).to_vec()));
                }
            }
            BLOCK_MAPS => {
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
            BLOCK_FLOWS => self.flows.extend(records(flow_sample::SIZE).map(|r| FlowSample {
                at_ns: r.u64(flow_sample::AT_NS),
                received: r.u64(flow_sample::RECEIVED),
                flow: r.u32(flow_sample::FLOW),
                cwnd: r.u32(flow_sample::CWND),
                srtt_us: r.u32(flow_sample::SRTT_US),
                pacing_rate: r.u64(flow_sample::PACING_RATE),
                retransmits: r.u32(flow_sample::RETRANSMITS),
                timeouts: r.u32(flow_sample::TIMEOUTS),
            })),
            BLOCK_DATAGRAMS => self.datagrams.extend(records(datagram::SIZE).map(|r| Datagram {
                at_ns: r.u64(datagram::AT_NS),
                delay_ns: r.u32(datagram::DELAY_NS),
                flow: r.u32(datagram::FLOW),
            })),
            BLOCK_ENDS => self.ends.extend(records(flow_end::SIZE).map(|r| FlowEnd {
                start_ns: r.u64(flow_end::START_NS),
                end_ns: r.u64(flow_end::END_NS),
                flow: r.u32(flow_end::FLOW),
                error: r.u32(flow_end::ERROR),
            })),
            BLOCK_COST => {
                let r = Record(body);
                self.cost = Some((r.u64(cost::PACKETS), r.u64(cost::BUSY_NS)));
            }
            BLOCK_EVENTS => self.events.extend(records(record::SIZE).filter_map(Event::read)),
            BLOCK_REPLAY => self.replay.extend_from_slice(body),
            BLOCK_ERROR => return Block::Failed(String::from_utf8_lossy(body).trim().to_string()),
            BLOCK_END => return Block::End,
            _ => {}
        }
        Block::More
    }
}

/// A record: little-endian numbers at their places (`layout`); 0 past the end.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a>(pub &'a [u8]);

impl Record<'_> {
    fn from(&self, at: usize) -> Fields<'_> {
        Fields(self.0.get(at..).unwrap_or_default())
    }

    pub fn u16(&self, at: usize) -> u16 {
        self.from(at).u16()
    }

    pub fn u32(&self, at: usize) -> u32 {
        self.from(at).u32()
    }

    pub fn u64(&self, at: usize) -> u64 {
        self.from(at).u64()
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
        let mut bytes = block(0, BLOCK_BEGIN, &[&7u64.to_le_bytes()[..], b"7.2.13\0\0"].concat());
        bytes.extend(block(0, BLOCK_PACKETS, &[1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x10, 0x27, 0xea, 5]));
        bytes.extend(block(0, BLOCK_PACKETS, &[2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x10, 0x27, 0xea, 0x45]));
        bytes.extend(block(0, BLOCK_PACKETS, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x27, 0xea, 0x85]));
        bytes.extend(block(0, BLOCK_END, b""));
        bytes.extend(block(1, BLOCK_ERROR, b"tc: no such qdisc\n"));
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
