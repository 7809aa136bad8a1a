//! What the kernel's TCP got and sent, and its state before each acknowledgement: as the guest writes it, and as a file.

use super::draw::Draw;
use super::file;
use crate::layout::{self, EVENT_IN, EVENT_OUT, EVENT_PLAN, EVENT_WRITE, HEADER, event};
use crate::stream::{Fields, Record};
use queuewright_scenario::packet::MSS;
use queuewright_sim::alone::Ack;
use std::io::{self, Write};

/// Numbers of the congestion control's memory.
const CONTROL: usize = layout::CONTROL as usize;
const JIFFY_US: u64 = 4000;

/// Where a number stands in the guest's `struct state`, and what it is.
enum Source {
    Long(usize),
    Plain(usize),
    /// A sequence number: counted in segments.
    Segment(usize),
    /// The same plus one, where 0 stands for none.
    Mark(usize),
    /// Jiffies: in us.
    Jiffies(usize),
}
use Source::{Jiffies, Long, Mark, Plain, Segment};
use layout::state as at;

/// What of a connection's state is kept, by its names in the kernel; the first are judged.
const FIELDS: [(&str, Source); 57] = [
    ("cwnd", Plain(at::CWND)),
    ("ssthresh", Plain(at::SSTHRESH)),
    ("ca_state", Plain(at::CA_STATE)),
    ("packets_out", Plain(at::PACKETS_OUT)),
    ("sacked_out", Plain(at::SACKED_OUT)),
    ("lost_out", Plain(at::LOST_OUT)),
    ("retrans_out", Plain(at::RETRANS_OUT)),
    ("pacing_rate", Long(at::PACING_RATE)),
    ("snd_una", Segment(at::SND_UNA)),
    ("snd_nxt", Segment(at::SND_NXT)),
    ("write_seq", Segment(at::WRITE_SEQ)),
    ("high_seq", Segment(at::HIGH_SEQ)),
    ("srtt_us", Plain(at::SRTT_US)),
    ("mdev_us", Plain(at::MDEV_US)),
    ("mdev_max_us", Plain(at::MDEV_MAX_US)),
    ("rttvar_us", Plain(at::RTTVAR_US)),
    ("rto", Jiffies(at::RTO_JIFFIES)),
    ("min_rtt", Plain(at::MIN_RTT_US)),
    ("delivered", Plain(at::DELIVERED)),
    ("delivered_ce", Plain(at::DELIVERED_CE)),
    ("lost", Plain(at::LOST)),
    ("app_limited", Plain(at::APP_LIMITED)),
    ("reordering", Plain(at::REORDERING)),
    ("reord_seen", Plain(at::REORD_SEEN)),
    ("rack.rtt_us", Plain(at::RACK_RTT_US)),
    ("rack.end_seq", Segment(at::RACK_END)),
    ("rack.reo_wnd_steps", Plain(at::RACK_STEPS)),
    ("rack.reo_wnd_persist", Plain(at::RACK_PERSIST)),
    ("rack.dsack_seen", Plain(at::RACK_DSACK)),
    ("prr_delivered", Plain(at::PRR_DELIVERED)),
    ("prr_out", Plain(at::PRR_OUT)),
    ("prior_cwnd", Plain(at::PRIOR_CWND)),
    ("prior_ssthresh", Plain(at::PRIOR_SSTHRESH)),
    ("undo_marker", Mark(at::UNDO_MARKER)),
    ("undo_retrans", Plain(at::UNDO_RETRANS)),
    ("retrans_stamp", Plain(at::RETRANS_STAMP)),
    ("tlp_high_seq", Mark(at::TLP_HIGH_SEQ)),
    ("tlp_retrans", Plain(at::TLP_RETRANS)),
    ("frto", Plain(at::FRTO)),
    ("is_cwnd_limited", Plain(at::IS_CWND_LIMITED)),
    ("max_packets_out", Plain(at::MAX_PACKETS_OUT)),
    ("cwnd_usage_seq", Segment(at::CWND_USAGE_SEQ)),
    ("snd_cwnd_cnt", Plain(at::CWND_CNT)),
    ("snd_cwnd_used", Plain(at::CWND_USED)),
    ("head_length", Plain(at::HEAD_LENGTH)),
    ("total_retrans", Plain(at::TOTAL_RETRANS)),
    ("retransmits", Plain(at::RETRANSMITS)),
    ("backoff", Plain(at::BACKOFF)),
    ("pending", Plain(at::PENDING)),
    ("timeout", Plain(at::TIMEOUT)),
    ("sndbuf", Plain(at::SNDBUF)),
    ("wmem_queued", Plain(at::QUEUED)),
    ("dsack_dups", Plain(at::DSACK_DUPS)),
    ("wstamp_ns", Long(at::WSTAMP_NS)),
    ("clock_ns", Long(at::CLOCK_NS)),
    ("tail_length", Plain(at::TAIL_LENGTH)),
    ("delivered_mstamp", Long(at::DELIVERED_US)),
];
/// Numbers of a state: these, and the congestion control's own memory.
pub const WORDS: usize = FIELDS.len() + CONTROL;
/// How many of the first are judged.
pub const JUDGED: usize = 8;

/// The name of a number; all of the congestion control's memory has one.
pub fn name(i: usize) -> &'static str {
    FIELDS.get(i).map_or("control", |field| field.0)
}

/// The place of the number with a name.
pub fn place(name: &str) -> usize {
    FIELDS.iter().position(|f| f.0 == name).unwrap_or(WORDS - 1)
}

/// A connection's state.
pub type State = [u64; WORDS];

/// Something that happened to the kernel's TCP; times in ns of its clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The SYN has been sent.
    Syn {
        /// When, ns of the kernel's clock.
        at: u64,
    },
    /// The application has so many segments more to write; 0: without end.
    Plan {
        /// When, ns of the kernel's clock.
        at: u64,
        /// How many segments of full size.
        segments: u32,
    },
    /// The application has written so many segments.
    Write {
        /// When, ns of the kernel's clock.
        at: u64,
        /// How many segments of full size.
        segments: u32,
    },
    /// An acknowledgement comes.
    Ack {
        /// When, ns of the kernel's clock.
        at: u64,
        /// What it says.
        ack: Ack,
        /// The state before it.
        before: Box<State>,
    },
    /// Segments have been sent at once.
    Sent {
        /// When, as TCP counts it.
        at: u64,
        /// The first of them, in segments from the first on.
        seq: u32,
        /// How many segments, of full size.
        count: u32,
        /// The flags of TCP's header (`FLAG_*`).
        flags: u8,
    },
}

/// A draw, and what the kernel did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The draw.
    pub draw: Draw,
    /// Its events in order.
    pub events: Vec<Event>,
}

/// An event as the guest writes it (`struct event` in `guest/replay.h`).
pub(super) struct Raw<'a> {
    pub at: u64,
    pub stamp: u64,
    pub kind: u32,
    pub length: u32,
    pub tcp: Tcp<'a>,
    /// All of it.
    pub bytes: &'a [u8],
}

/// What the guest wrote, event by event.
pub(super) fn raw_events(bytes: &[u8]) -> Result<impl Iterator<Item = Raw<'_>>, String> {
    if !bytes.len().is_multiple_of(event::SIZE) {
        return Err("the guest's program is not this version's: run 'scripts/setup lab'".into());
    }
    Ok(bytes.chunks_exact(event::SIZE).map(|bytes| {
        let r = Record(bytes);
        Raw {
            at: r.u64(event::AT_NS),
            stamp: r.u64(event::STAMP_NS),
            kind: r.u32(event::KIND),
            length: r.u32(event::LENGTH),
            tcp: Tcp(&bytes[event::HEADER..][..HEADER as usize]),
            bytes,
        }
    }))
}

pub(super) const SYN: u8 = layout::FLAG_SYN as u8;
pub(super) const ECE: u8 = layout::FLAG_ECE as u8;

impl Recording {
    /// Of what the guest wrote.
    ///
    /// # Errors
    /// What it cannot be.
    pub fn of_guest(draw: &Draw, bytes: &[u8]) -> Result<Recording, String> {
        let mut events = Vec::new();
        let mut first = None;
        for Raw { at, stamp, kind, length, tcp, bytes } in raw_events(bytes)? {
            // Segments from the first byte on, which follows the SYN's.
            let isn = first.unwrap_or(0u32);
            let segment = |seq: u32| seq.wrapping_sub(isn).wrapping_sub(1) / MSS;
            match kind {
                EVENT_IN => {
                    let before = Box::new(state(&bytes[event::STATE..], isn));
                    events.push(Event::Ack { at, ack: tcp.ack(&segment), before });
                }
                EVENT_OUT if tcp.flags() & SYN != 0 => {
                    if first.is_some() {
                        return Err("its SYN was lost".into());
                    }
                    first = Some(tcp.seq());
                    events.push(Event::Syn { at: stamp });
                }
                EVENT_OUT if length > 0 => {
                    let seq = segment(tcp.seq());
                    if tcp.seq().wrapping_sub(isn).wrapping_sub(1) % MSS != 0 || length % MSS != 0 {
                        return Err(format!("it sent {length} bytes at {seq}: no whole segments"));
                    }
                    events.push(Event::Sent { at: stamp, seq, count: length / MSS, flags: tcp.flags() });
                }
                EVENT_WRITE if length > 0 => events.push(Event::Write { at, segments: length / MSS }),
                EVENT_PLAN => events.push(Event::Plan { at, segments: length }),
                _ => {}
            }
        }
        Ok(Recording { draw: draw.clone(), events })
    }
}

/// A header with its options.
pub(super) struct Tcp<'a>(&'a [u8]);

impl Tcp<'_> {
    fn u32(&self, at: usize) -> u32 {
        self.0.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(super) fn seq(&self) -> u32 {
        self.u32(4)
    }

    pub(super) fn flags(&self) -> u8 {
        self.0[13]
    }

    pub(super) fn ack_number(&self) -> u32 {
        self.u32(8)
    }

    /// As it is written there: not scaled.
    pub(super) fn window(&self) -> u32 {
        u32::from(u16::from_be_bytes([self.0[14], self.0[15]]))
    }

    /// The timestamp, and the one that it echoes.
    pub(super) fn stamps(&self) -> (u32, u32) {
        let of = self.options().into_iter().find(|o| o.0 == 8);
        of.map_or((0, 0), |(_, at, _)| (self.u32(at), self.u32(at + 4)))
    }

    /// SACK's blocks.
    pub(super) fn blocks(&self) -> Vec<(u32, u32)> {
        let of = self.options().into_iter().find(|o| o.0 == 5);
        let blocks = of.into_iter().flat_map(|(_, at, length)| (0..length / 8).map(move |i| at + 8 * i));
        blocks.map(|at| (self.u32(at), self.u32(at + 4))).collect()
    }

    /// Kind and place of each option.
    fn options(&self) -> Vec<(u8, usize, usize)> {
        let end = (usize::from(self.0[12] >> 4) * 4).min(self.0.len());
        let (mut at, mut all) = (20, Vec::new());
        while at < end {
            match self.0[at] {
                0 => break,
                1 => at += 1,
                kind => {
                    let length = usize::from(*self.0.get(at + 1).unwrap_or(&0));
                    if length < 2 || at + length > end {
                        break;
                    }
                    all.push((kind, at + 2, length - 2));
                    at += length;
                }
            }
        }
        all
    }

    fn ack(&self, segment: &impl Fn(u32) -> u32) -> Ack {
        let mut ack = Ack { ece: self.flags() & ECE != 0, ..Ack::new(segment(self.u32(8)), &[]) };
        for (kind, at, length) in self.options() {
            match kind {
                5 => {
                    for i in 0..(length / 8).min(ack.blocks.len()) {
                        ack.blocks[i] = (segment(self.u32(at + 8 * i)), segment(self.u32(at + 8 * i + 4)));
                        ack.count = i + 1;
                    }
                }
                8 => ack.ts = self.u32(at + 4),
                _ => {}
            }
        }
        // `tcp_check_dsack`
        ack.dsack = match *ack.blocks() {
            [(from, _), ..] if from < ack.cum => true,
            [first, second, ..] => first.0 >= second.0 && first.1 <= second.1,
            _ => false,
        };
        ack
    }
}

/// Of the guest's `struct state`.
fn state(raw: &[u8], isn: u32) -> State {
    let (state, mut control) = (Record(raw), Fields(&raw[at::CONTROL..]));
    let segment = |seq: u32| u64::from(seq.wrapping_sub(isn).wrapping_sub(1) / MSS);
    std::array::from_fn(|i| match FIELDS.get(i) {
        None => control.u64(),
        Some((_, source)) => match *source {
            Long(at) => state.u64(at),
            Plain(at) => state.u32(at).into(),
            Segment(at) => segment(state.u32(at)),
            Mark(at) if state.u32(at) == 0 => 0,
            Mark(at) => segment(state.u32(at)) + 1,
            Jiffies(at) => u64::from(state.u32(at)) * JIFFY_US,
        },
    })
}

/// What a file begins with.
const MAGIC: &str = "queuewright replay 1";

impl Recording {
    /// As a file: a line that says what it is, the draw in another (JSON), the events compressed.
    ///
    /// # Errors
    /// Of writing.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        let (mut at, mut state) = (0, [0; WORDS]);
        for event in &self.events {
            event.put(&mut bytes, &mut at, &mut state);
        }
        file::write(out, MAGIC, &self.draw, &bytes)
    }

    /// What [`Recording::write`] wrote.
    ///
    /// # Errors
    /// Why it is no recording.
    pub fn read(bytes: &[u8]) -> Result<Recording, String> {
        let what = "a replay, which 'validate --replay --out' writes";
        let (draw, plain) = file::read::<Draw>(bytes, MAGIC, what)?;
        let mut r = Packed(&plain);
        let (mut events, mut at, mut state) = (Vec::new(), 0, [0; WORDS]);
        while !r.0.is_empty() {
            events.push(
                Event::get(&mut r, &mut at, &mut state).ok_or("after line 2: it ends within an event")?,
            );
        }
        Ok(Recording { draw, events })
    }
}

/// The lab's kernel begins to count jiffies 300 s before 0, and 23 late: by so many they are behind its clock.
const BEHIND_JIFFIES: u64 = 300 * 250 + 23;
/// Its timers lie in buckets of up to 4096 jiffies. A recording that is so much later has the same buckets by its clock.
const AHEAD_JIFFIES: u64 = 4096 - BEHIND_JIFFIES % 4096;
/// By so much such a recording's jiffies, which begin with its clock, are above the kernel's.
pub(super) const JIFFY_ZERO: u32 = (BEHIND_JIFFIES + AHEAD_JIFFIES) as u32;

impl Recording {
    /// The same that much later: what a timer is due in is then what it is there.
    pub fn in_phase(&self) -> Recording {
        let us = AHEAD_JIFFIES * JIFFY_US;
        let later = |x: &mut u64, by: u64| *x += if *x == 0 { 0 } else { by };
        let mut out = self.clone();
        for event in &mut out.events {
            match event {
                Event::Syn { at }
                | Event::Plan { at, .. }
                | Event::Write { at, .. }
                | Event::Sent { at, .. } => {
                    *at += us * 1000;
                }
                Event::Ack { at, ack, before } => {
                    *at += us * 1000;
                    ack.ts += if ack.ts == 0 { 0 } else { (us / 1000) as u32 };
                    for (name, by) in
                        [("clock_ns", us * 1000), ("wstamp_ns", us * 1000), ("delivered_mstamp", us)]
                    {
                        later(&mut before[place(name)], by);
                    }
                }
            }
        }
        out
    }
}

/// Numbers of seven bits a byte, the lowest first; the last has no high bit.
fn put(out: &mut Vec<u8>, mut x: u64) {
    while x >= 128 {
        out.push(x as u8 | 128);
        x >>= 7;
    }
    out.push(x as u8);
}

/// Small for what differs little.
fn put_change(out: &mut Vec<u8>, from: u64, to: u64) {
    let change = to.wrapping_sub(from) as i64;
    put(out, (change << 1 ^ change >> 63) as u64);
}

struct Packed<'a>(&'a [u8]);

impl Packed<'_> {
    fn get(&mut self) -> Option<u64> {
        let (mut x, mut shift) = (0u64, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            x |= u64::from(byte & 127).checked_shl(shift)?;
            if byte < 128 {
                return Some(x);
            }
            shift += 7;
        }
    }

    fn get_u32(&mut self) -> Option<u32> {
        u32::try_from(self.get()?).ok()
    }

    fn get_change(&mut self, from: u64) -> Option<u64> {
        let x = self.get()?;
        Some(from.wrapping_add((x >> 1) ^ (x & 1).wrapping_neg()))
    }
}

impl Event {
    /// When it happened (ns).
    pub fn at(&self) -> u64 {
        match self {
            Event::Syn { at }
            | Event::Plan { at, .. }
            | Event::Write { at, .. }
            | Event::Ack { at, .. }
            | Event::Sent { at, .. } => *at,
        }
    }

    fn put(&self, out: &mut Vec<u8>, last: &mut u64, state: &mut State) {
        let kind = match self {
            Event::Syn { .. } => 0,
            Event::Plan { .. } => 1,
            Event::Write { .. } => 2,
            Event::Ack { .. } => 3,
            Event::Sent { .. } => 4,
        };
        put(out, kind);
        put_change(out, *last, self.at());
        *last = self.at();
        match self {
            Event::Syn { .. } => {}
            Event::Plan { segments, .. } | Event::Write { segments, .. } => put(out, (*segments).into()),
            Event::Sent { seq, count, flags, .. } => {
                put(out, (*seq).into());
                put(out, (*count).into());
                put(out, (*flags).into());
            }
            Event::Ack { ack, before, .. } => {
                put(out, ack.cum.into());
                put(out, ack.ts.into());
                put(out, u64::from(ack.ece) | u64::from(ack.dsack) << 1 | (ack.blocks().len() as u64) << 2);
                for &(from, to) in ack.blocks() {
                    put(out, from.into());
                    put(out, (to - from).into());
                }
                let mut skipped = 0;
                for (i, (was, is)) in state.iter().zip(before.iter()).enumerate() {
                    if was != is {
                        put(out, (i + 1 - skipped) as u64);
                        put_change(out, *was, *is);
                        skipped = i + 1;
                    }
                }
                put(out, 0);
                *state = **before;
            }
        }
    }

    fn get(r: &mut Packed<'_>, last: &mut u64, state: &mut State) -> Option<Event> {
        let kind = r.get()?;
        let at = r.get_change(*last)?;
        *last = at;
        Some(match kind {
            0 => Event::Syn { at },
            1 => Event::Plan { at, segments: r.get_u32()? },
            2 => Event::Write { at, segments: r.get_u32()? },
            3 => {
                let mut ack = Ack::new(r.get_u32()?, &[]);
                ack.ts = r.get_u32()?;
                let flags = r.get()?;
                (ack.ece, ack.dsack, ack.count) = (flags & 1 != 0, flags & 2 != 0, (flags >> 2) as usize);
                for block in ack.blocks.get_mut(..(flags >> 2) as usize)? {
                    let from = r.get_u32()?;
                    *block = (from, from.checked_add(r.get_u32()?)?);
                }
                let mut i = 0;
                loop {
                    match r.get()? as usize {
                        0 => break,
                        n => i += n,
                    }
                    let slot = state.get_mut(i - 1)?;
                    *slot = r.get_change(*slot)?;
                }
                Event::Ack { at, ack, before: Box::new(*state) }
            }
            4 => Event::Sent { at, seq: r.get_u32()?, count: r.get_u32()?, flags: r.get_u32()? as u8 },
            _ => return None,
        })
    }
}
