//! The same reversed: the kernel's TCP receives what is drawn, and the simulator's receiver gets the same segments at the same
//! times. Every acknowledgement of the two is compared.

use super::file;
use super::judge::Divergence;
use super::record::{ECE, Raw, SYN, raw_events};
use crate::job::Lines;
use crate::layout::{EVENT_IN, EVENT_OUT, EVENT_READ, event, reader};
use crate::random::Random;
use crate::stream::Record;
use queuewright_cca::Kind;
use queuewright_scenario::packet::MSS;
use queuewright_sim::alone::{Ack, Echo, Receiver, Segment};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Sequence number of the far end's SYN, and scale of the windows (`guest/receive.c`).
const FIRST_SEQ: u32 = 1000;
/// Scale of the kernel's windows, which hangs on its memory: of 8 MiB.
const SCALE: u32 = 7;
/// What a packet of the tap's takes of memory beside its payload.
const OVERHEAD: u32 = 896;
const MS: u64 = 1_000_000;
const MILLION: f64 = 1e6;
/// What is due together may be so far apart: the kernel's work between two looks at its clock.
const APART_NS: u64 = 60_000;

/// A draw: what decides all that happens, but for the kernel. Times are ns, chances of a million.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// `rSEED-NUMBER`.
    pub name: String,
    /// The receiver echoes each mark, as DCTCP needs it.
    pub echoes_each: bool,
    /// ECN is negotiated.
    pub ecn: bool,
    /// Time from an acknowledgement to the segment that it lets out.
    pub rtt_ns: u64,
    /// Rate of the link, bits a second.
    pub rate_bps: u64,
    /// Most bytes on their way.
    pub window: u64,
    /// Mean of what is sent before a pause, bytes; 0: without end.
    pub on_bytes: u64,
    /// The longest pause.
    pub idle_ns: u64,
    /// Segments lost; sent twice; late, and by how much; marked; shorter than full ones.
    pub loss: u64,
    /// See `loss`.
    pub twice: u64,
    /// See `loss`.
    pub late: u64,
    /// See `loss`.
    pub late_ns: u64,
    /// See `loss`.
    pub mark: u64,
    /// See `loss`.
    pub odd: u64,
    /// The application reads so much at a time; 0: all at once.
    pub read_bytes: u64,
    /// And so often.
    pub read_ns: u64,
    /// Of the chance on the way.
    pub chance: u64,
    /// When it ends.
    pub end_ns: u64,
}

/// The draw of this number under a seed, `of_ms` long.
pub fn draw(seed: u64, number: u64, of_ms: u64) -> Path {
    let mut r = Random::new(seed ^ 0x7265_6365_6976, number);
    let rate = r.log((1e6, 200e6));
    let rtt = r.log((1e6, 200e6));
    let bdp = rate * rtt / 8e9;
    let ecn = r.percent(40);
    let some = |r: &mut Random, percent, range| if r.percent(percent) { r.log(range) as u64 } else { 0 };
    let thousandth = (0.0005 * MILLION, 0.05 * MILLION);
    let late = some(&mut r, 25, thousandth);
    let slow = r.percent(15);
    let pauses = r.percent(40);
    let on_bytes = (bdp * r.log((0.1, 10.0))).max(f64::from(MSS)) as u64;
    let read_ns = r.log((0.2e6, 50e6)) as u64;
    Path {
        name: format!("r{seed}-{number}"),
        echoes_each: ecn && r.percent(30),
        ecn,
        rtt_ns: rtt as u64,
        rate_bps: rate as u64,
        window: ((bdp * r.log((0.5, 4.0))) as u64).clamp(u64::from(10 * MSS), 2 << 20),
        on_bytes: if pauses { on_bytes } else { 0 },
        idle_ns: r.log((1e6, 600e6)) as u64,
        loss: some(&mut r, 50, thousandth),
        twice: some(&mut r, 30, thousandth),
        late,
        late_ns: if late > 0 { (r.log((0.02, 0.7)) * rtt) as u64 } else { 0 },
        mark: if ecn { r.log((0.001 * MILLION, 0.5 * MILLION)) as u64 } else { 0 },
        odd: some(&mut r, 40, (0.01 * MILLION, 0.9 * MILLION)),
        read_bytes: if slow { ((rate / 8e9 * read_ns as f64 * r.log((0.5, 4.0))) as u64).max(1) } else { 0 },
        read_ns: if slow { read_ns } else { 0 },
        chance: r.below(1 << 62),
        end_ns: of_ms * MS,
    }
}

impl Path {
    /// What the guest is to do.
    pub(super) fn commands(&self, number: usize) -> String {
        let address = Some("address 02:00:00:00:00:02");
        let mut l = Lines::with_device(number, "tap", address, "arp off txqueuelen 10000");
        l.add("set k net/ipv4/tcp_no_metrics_save 1");
        l.add("set k net/ipv4/tcp_timestamps 2");
        l.add(format!("set k net/ipv4/tcp_ecn {}", u8::from(self.ecn)));
        let Path { rtt_ns, rate_bps, window, on_bytes, idle_ns, loss, twice, late, .. } = self;
        let Path { late_ns, mark, odd, read_bytes, read_ns, chance, end_ns, .. } = self;
        let ecn = u8::from(self.ecn);
        l.add(format!(
            "receive k {} {rtt_ns} {rate_bps} {window} {on_bytes} {idle_ns} {loss} {twice} {late} {late_ns} {mark} {odd} \
             {read_bytes} {read_ns} {ecn} {chance} {end_ns}",
            self.control().info().linux.map_or("", |linux| linux.name)
        ));
        l.add("end");
        l.0
    }

    /// The listener's congestion control.
    pub(super) fn control(&self) -> Kind {
        if self.echoes_each { Kind::Dctcp } else { Kind::Cubic }
    }
}

/// What is kept of the kernel's state before a segment, by its names there, and where the guest has it.
const FIELDS: [(&str, usize); 20] = [
    ("rcv_nxt", reader::RCV_NXT),
    ("copied_seq", reader::COPIED_SEQ),
    ("rcv_wup", reader::RCV_WUP),
    ("rcv_wnd", reader::RCV_WND),
    ("rcv_ssthresh", reader::RCV_SSTHRESH),
    ("window_clamp", reader::WINDOW_CLAMP),
    ("rcv_rtt_us", reader::RTT_US),
    ("space", reader::SPACE),
    ("scaling_ratio", reader::SCALING_RATIO),
    ("rmem_alloc", reader::RMEM_ALLOC),
    ("rcvbuf", reader::RCVBUF),
    ("quick", reader::QUICK),
    ("pingpong", reader::PINGPONG),
    ("ato", reader::ATO),
    ("rcv_mss", reader::RCV_MSS),
    ("pending", reader::PENDING),
    ("compressed_ack", reader::COMPRESSED_ACK),
    ("num_sacks", reader::NUM_SACKS),
    ("rto_jiffies", reader::RTO_JIFFIES),
    ("srtt_us", reader::SRTT_US),
];

/// The names of what is kept.
pub const NAMES: [&str; FIELDS.len()] = {
    let mut names = [""; FIELDS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FIELDS[i].0;
        i += 1;
    }
    names
};

/// Something that happened to the kernel's TCP; times in ns of its clock, sequence numbers in bytes from the first on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A segment comes: time, first byte, length, timestamp, the timestamp that it echoes, TCP's flags, IP's ECN bits; the state
    /// before.
    Segment(u64, u32, u32, u32, u32, u8, u8, [u32; NAMES.len()]),
    /// The application has read: time, bytes, what is left.
    Read(u64, u32, u32),
    /// An acknowledgement goes: time, next byte, window, echoed timestamp, ECE, blocks.
    Ack(u64, u32, u32, u32, bool, Vec<(u32, u32)>),
}

/// A draw, and what the kernel did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reception {
    /// The draw.
    pub path: Path,
    /// Its events in order.
    pub events: Vec<Event>,
}

const MAGIC: &str = "queuewright reception 1";

impl Reception {
    /// Of what the guest wrote.
    ///
    /// # Errors
    /// What it cannot be.
    pub fn of_guest(path: &Path, bytes: &[u8]) -> Result<Reception, String> {
        let data = |seq: u32| seq.wrapping_sub(FIRST_SEQ).wrapping_sub(1);
        let mut events = Vec::new();
        for Raw { at, stamp, kind, length, tcp, bytes } in raw_events(bytes)? {
            match kind {
                EVENT_IN if length > 0 => {
                    let reader = Record(&bytes[event::READER..]);
                    let mut state = FIELDS.map(|(_, at)| reader.u32(at));
                    for seq in &mut state[..3] {
                        *seq = data(*seq);
                    }
                    let (ts, echo) = tcp.stamps();
                    let flags = tcp.flags();
                    events.push(Event::Segment(
                        at,
                        data(tcp.seq()),
                        length,
                        ts,
                        echo,
                        flags,
                        bytes[event::ECN],
                        state,
                    ));
                }
                EVENT_OUT if tcp.flags() & SYN == 0 => {
                    let blocks = tcp.blocks().into_iter().map(|(a, b)| (data(a), data(b))).collect();
                    let ece = tcp.flags() & ECE != 0;
                    let window = tcp.window() << SCALE;
                    events.push(Event::Ack(at, data(tcp.ack_number()), window, tcp.stamps().1, ece, blocks));
                }
                EVENT_READ => events.push(Event::Read(at, length, stamp as u32)),
                _ => {}
            }
        }
        Ok(Reception { path: path.clone(), events })
    }

    /// As a file: a line that says what it is, the draw in another (JSON), the events compressed.
    ///
    /// # Errors
    /// Of writing.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        file::write(out, MAGIC, &self.path, &serde_json::to_vec(&self.events)?)
    }

    /// What [`Reception::write`] wrote.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(bytes: &[u8]) -> Result<Reception, String> {
        let what = "a reception, which 'validate --replay --receive --out' writes";
        let (path, plain) = file::read(bytes, MAGIC, what)?;
        let events = serde_json::from_slice(&plain).map_err(|e| format!("after line 2: {e}"))?;
        Ok(Reception { path, events })
    }

    /// Is it of such bytes?
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC.as_bytes())
    }
}

/// An acknowledgement, of either: bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedAck {
    /// When it went, ns of the kernel's clock.
    pub at: u64,
    /// Next byte.
    pub cum: u32,
    /// One past the last byte that the window has room for.
    pub edge: u32,
    /// Echoed timestamp.
    pub ts: u32,
    /// Echoes a mark.
    pub ece: bool,
    /// Blocks.
    pub blocks: Vec<(u32, u32)>,
}

/// How far the simulator's receiver did what the kernel's did in a draw.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReceptionMatch {
    /// Name of the draw: `rSEED-NUMBER`.
    pub name: String,
    /// Segments that came.
    pub segments: usize,
    /// The kernel's acknowledgements.
    pub acks: usize,
    /// Share of them that the simulator's receiver sends as well, at that time.
    pub same: f64,
    /// The simulator's acknowledgements, over the kernel's.
    pub ratio: f64,
    /// Where the first differs; none: the draw is the same.
    pub first: Option<Divergence>,
    /// Where the first differs whose window is let be.
    pub but_window: Option<Divergence>,
}

/// The simulator's receiver under a recording.
pub struct ReplayedReceiver {
    receiver: Receiver,
    /// Bytes of a unit.
    unit: u32,
    edge: u32,
    told: Vec<ObservedAck>,
}

impl ReplayedReceiver {
    /// Before anything has come: the receiver of bytes; or of whole segments, for a path that has no others and whose reader takes all at
    /// once ([`is_plain`]).
    pub fn new(r: &Reception, of_bytes: bool) -> ReplayedReceiver {
        let first = r.events.iter().find_map(|e| match e {
            Event::Segment(at, _, _, _, _, _, _, state) => Some((*at, state[19] >> 3)),
            _ => None,
        });
        let (at, srtt_us) = first.unwrap_or_default();
        let rtt_ns = u64::from(srtt_us) * 1000;
        let mut receiver = match of_bytes {
            true => {
                // A round trip after the handshake has ended the first segment has crossed the link.
                let link_ns = u64::from(MSS + 66) * 8_000_000_000 / r.path.rate_bps;
                let opened = at.saturating_sub(r.path.rtt_ns + link_ns);
                Receiver::of_bytes(opened, rtt_ns, Echo::of_dctcp(r.path.echoes_each), OVERHEAD)
            }
            false => Receiver::new(rtt_ns, Echo::of_dctcp(r.path.echoes_each), OVERHEAD),
        };
        if let Some(Event::Ack(_, 0, _, ts, ..)) = r.events.iter().find(|e| matches!(e, Event::Ack(..))) {
            receiver.heard(*ts);
        }
        ReplayedReceiver { receiver, unit: if of_bytes { 1 } else { MSS }, edge: 0, told: Vec::new() }
    }

    /// All of it: the simulator's acknowledgements. `hear` is told of each segment's moment, before it comes.
    pub fn run(mut self, r: &Reception, mut hear: impl FnMut(&Event, &Receiver)) -> Vec<ObservedAck> {
        for event in &r.events {
            match event {
                Event::Segment(at, seq, length, ts, echo, flags, ecn, _) => {
                    self.receiver.run_to(*at);
                    self.note();
                    hear(event, &self.receiver);
                    let segment = Segment {
                        seq: seq / self.unit,
                        len: length / self.unit,
                        ts: *ts,
                        echo: Some(*echo),
                        ect: ecn & 3 != 0,
                        ce: ecn & 3 == 3,
                        cwr: flags & 128 != 0,
                        push: flags & 8 != 0,
                        fin: false,
                    };
                    self.receiver.segment(*at, segment, None);
                    self.note();
                }
                Event::Read(at, bytes, _) => {
                    self.receiver.run_to(*at);
                    self.note();
                    self.receiver.read(*at, *bytes);
                    self.note();
                }
                Event::Ack(at, ..) => {
                    // Those that no event follows.
                    self.receiver.run_to(*at);
                    self.note();
                }
            }
        }
        self.told
    }

    fn note(&mut self) {
        let (unit, window) = (self.unit, self.receiver.window());
        for (at, ack) in self.receiver.take_acks() {
            let edge = match ack.window_end {
                u32::MAX => self.edge.max(ack.cum * unit + window.next_multiple_of(1 << SCALE)),
                end => end,
            };
            self.edge = edge;
            self.told.push(told(at, &ack, unit, edge));
        }
    }
}

/// Has this only whole segments, and a reader that takes all at once?
pub fn is_plain(path: &Path) -> bool {
    path.odd == 0 && path.read_bytes == 0 && path.on_bytes == 0
}

fn told(at: u64, ack: &Ack, unit: u32, edge: u32) -> ObservedAck {
    let blocks = ack.blocks().iter().take(3).map(|b| (b.0 * unit, b.1 * unit)).collect();
    ObservedAck { at, cum: ack.cum * unit, edge, ts: ack.ts, ece: ack.ece, blocks }
}

/// The kernel's acknowledgements.
pub fn linux(r: &Reception) -> Vec<ObservedAck> {
    let of = |e: &Event| match e {
        Event::Ack(at, cum, window, ts, ece, blocks) => Some(ObservedAck {
            at: *at,
            cum: *cum,
            edge: cum + window,
            ts: *ts,
            ece: *ece,
            blocks: blocks.clone(),
        }),
        _ => None,
    };
    r.events.iter().filter_map(of).collect()
}

/// What of the two differs, if anything: the kernel's and the simulator's.
fn differs(a: &ObservedAck, b: &ObservedAck) -> Option<(&'static str, u64, u64)> {
    let blocks =
        |t: &ObservedAck| t.blocks.iter().fold(0u64, |x, b| x * 31 + u64::from(b.0) * 7 + u64::from(b.1));
    let all = [
        ("ack", u64::from(a.cum), u64::from(b.cum)),
        ("time", a.at, if a.at.abs_diff(b.at) <= APART_NS { a.at } else { b.at }),
        (
            "blocks",
            a.blocks.len() as u64,
            if a.blocks == b.blocks { a.blocks.len() as u64 } else { blocks(b) },
        ),
        ("ece", a.ece.into(), b.ece.into()),
        ("echo", a.ts.into(), b.ts.into()),
        ("window", a.edge.into(), b.edge.into()),
    ];
    all.into_iter().find(|d| d.1 != d.2)
}

/// Gives the simulator's receiver what the kernel's got, and compares.
pub fn judge(r: &Reception) -> ReceptionMatch {
    compare(r, &ReplayedReceiver::new(r, true).run(r, |_, _| {}))
}

/// What the simulator has said beside what the kernel has.
pub fn compare(r: &Reception, sim: &[ObservedAck]) -> ReceptionMatch {
    let kernel = linux(r);
    let began = match r.events.first() {
        Some(Event::Segment(at, ..) | Event::Read(at, ..) | Event::Ack(at, ..)) => *at,
        None => 0,
    };
    let segments = r.events.iter().filter(|e| matches!(e, Event::Segment(..))).count();
    // The handshake's acknowledgements tell of no data; the last of the kernel's may be still to come.
    let kernel: Vec<&ObservedAck> = kernel.iter().filter(|t| t.cum > 0 || !t.blocks.is_empty()).collect();
    let n = kernel.len().min(sim.len());
    let at = |i: usize, what: &str, a: u64, b: u64| Divergence {
        what: what.into(),
        acks: i,
        at_ns: kernel.get(i).map_or(0, |t| t.at - began),
        linux: a,
        sim: b,
        states: Vec::new(),
    };
    let whole = |but: &str| {
        let first = (0..n).find_map(|i| {
            differs(kernel[i], &sim[i]).filter(|d| d.0 != but).map(|(what, a, b)| at(i, what, a, b))
        });
        let late = kernel.len().abs_diff(sim.len()) > 1;
        first.or_else(|| late.then(|| at(n, "count", kernel.len() as u64, sim.len() as u64)))
    };
    let (mut alike, mut from) = (0, 0);
    for t in &kernel {
        while sim.get(from).is_some_and(|s| s.at + APART_NS < t.at) {
            from += 1;
        }
        let near = sim[from..].iter().take_while(|s| s.at <= t.at + APART_NS);
        alike += usize::from(near.clone().any(|s| differs(t, s).is_none_or(|d| d.0 == "window")));
    }
    ReceptionMatch {
        name: r.path.name.clone(),
        segments,
        acks: kernel.len(),
        same: alike as f64 / kernel.len().max(1) as f64,
        ratio: sim.len() as f64 / kernel.len().max(1) as f64,
        first: whole(""),
        but_window: whole("window"),
    }
}
