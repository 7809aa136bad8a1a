//! One end of a connection alone, driven by hand in virtual time: who calls makes the other end.
//!
//! [`Sender`] and [`Receiver`] are the simulator's own, with Linux's rules; nothing of the network is here. Times are in ns since
//! any moment, and never go back. Sequence numbers and windows count segments, from 0.

use crate::port::flag;
use crate::receiver::MAX_SACKS;
use crate::sender::{AckView, Burst, SenderSetup, StackRules};
use crate::{receiver, sender};
use queuewright_cca::{CaState, Cca, Kind};

/// How a sender is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Congestion control.
    pub cca: Kind,
    /// Segments that there are to send at first; none: without end.
    pub segments: Option<u32>,
    /// Segments that may be sent before the first acknowledgement; none: ten.
    pub initial_window: Option<u32>,
    /// Payload of a segment (bytes).
    pub mss: u32,
    /// ECN is negotiated.
    pub ecn: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { cca: Kind::Cubic, segments: None, initial_window: None, mss: 1448, ecn: false }
    }
}

/// Segments that a sender let go at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When (ns).
    pub at: u64,
    /// First segment.
    pub seq: u32,
    /// How many.
    pub count: u32,
    /// Opens the connection.
    pub syn: bool,
    /// Were sent before.
    pub again: bool,
    /// The last of them has PSH.
    pub push: bool,
    /// The sender has reduced its window for a mark.
    pub cwr: bool,
    /// Can be marked.
    pub ect: bool,
}

impl Sent {
    fn new(at: u64, burst: Burst) -> Sent {
        let has = |bit| burst.flags & bit != 0;
        Sent {
            at,
            seq: burst.seq,
            count: burst.count.into(),
            syn: has(flag::SYN),
            again: has(flag::RETRANSMIT),
            push: has(flag::PUSH),
            cwr: has(flag::CWR),
            ect: has(flag::ECT),
        }
    }
}

/// An acknowledgement, as a sender gets it and a receiver makes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ack {
    /// Next segment expected.
    pub cum: u32,
    /// Echoed timestamp (ms); 0: none.
    pub ts: u32,
    /// Echoes a mark.
    pub ece: bool,
    /// The first of the blocks is of what came twice (RFC 2883).
    pub dsack: bool,
    /// SACK blocks, newest first, of which so many count.
    pub blocks: [(u32, u32); MAX_SACKS + 1],
    /// How many.
    pub count: usize,
}

impl Ack {
    /// An acknowledgement with these blocks, at most four of them.
    pub fn new(cum: u32, blocks: &[(u32, u32)]) -> Ack {
        let mut ack = Ack { cum, ..Ack::default() };
        for (slot, &block) in ack.blocks.iter_mut().zip(blocks) {
            *slot = block;
            ack.count += 1;
        }
        ack
    }

    /// The blocks.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count.min(self.blocks.len())]
    }
}

/// A sender's state, named as `struct tcp_info` names it. Windows are in segments, times in us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are tcp_info's")]
pub struct Info {
    pub ca_state: CaState,
    pub snd_cwnd: u32,
    pub snd_ssthresh: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Segments sent again so far.
    pub total_retrans: u64,
    /// Timeouts in a row: what Linux resets with each advance of the window.
    pub backoff: u32,
    pub rto: u32,
    pub rtt: u32,
    pub rttvar: u32,
    /// None before the first sample.
    pub min_rtt: Option<u32>,
    pub reordering: u32,
    pub reord_seen: bool,
    /// Bytes a second; none before it is known.
    pub pacing_rate: Option<u64>,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub app_limited: bool,
    pub dsack_dups: u64,
    /// First unacknowledged segment, and the next to be sent for the first time.
    pub snd_una: u32,
    pub snd_nxt: u32,
    /// Segments written and not yet sent.
    pub notsent: u32,
}

/// A sender alone.
#[derive(Debug)]
pub struct Sender {
    pub(crate) sender: sender::Sender,
    pub(crate) now: u64,
    pub(crate) out: Vec<Burst>,
    random: u32,
}

impl Sender {
    /// One that has not begun.
    pub fn new(setup: Setup) -> Sender {
        let setup = SenderSetup {
            cca: setup.cca,
            rules: &StackRules::LINUX,
            segments: setup.segments,
            initial_window: setup.initial_window,
            mss: setup.mss,
            rate: 0,
            ecn: setup.ecn,
            l4s: false,
            stop_ns: u64::MAX,
            access_bps: 0,
            warmup_ns: 0,
        };
        Sender { sender: sender::Sender::new(setup), now: 0, out: Vec::new(), random: 0 }
    }

    /// The time reached (ns).
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What is due next is due then (ns): its timer, or what pacing held back; none: nothing.
    pub fn next_at(&self) -> Option<u64> {
        let at = self.sender.timer_at().min(self.sender.resume_at());
        (at != u64::MAX).then_some(at.max(self.now))
    }

    /// The draws that a control which dithers gets (BBR's first phase) from now on.
    pub fn set_random(&mut self, random: u32) {
        self.random = random;
    }

    /// Begins with a SYN.
    pub fn connect(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.sender.send_syn(self.now, &mut self.out);
    }

    /// The SYN's answer has come; it echoes `ts` (ms). What there is to send goes.
    pub fn connected(&mut self, at: u64, ts: u32) {
        self.now = self.now.max(at);
        self.sender.on_established(self.now, ts, &mut self.out);
    }

    /// The connection has been opened by its peer, or `open_for_ns` before; the handshake took `rtt_ns`. What there is to send goes.
    pub fn open(&mut self, at: u64, rtt_ns: u64, open_for_ns: u64) {
        self.now = self.now.max(at);
        self.sender.start_open(self.now, rtt_ns, open_for_ns, &mut self.out);
    }

    /// The application writes so many segments more.
    pub fn write(&mut self, at: u64, segments: u32) {
        self.now = self.now.max(at);
        self.sender.write(self.now, segments, &mut self.out);
    }

    /// An acknowledgement comes.
    pub fn ack(&mut self, at: u64, ack: &Ack) {
        self.now = self.now.max(at);
        let flags = if ack.ece { flag::ECE } else { 0 } | if ack.dsack { flag::DSACK } else { 0 };
        let view = AckView { cum: ack.cum, ts: ack.ts, flags, sacks: ack.blocks() };
        self.sender.on_ack(self.now, view, self.random, &mut self.out);
    }

    /// The next of what is due by `to` (ns) happens: did any?
    pub fn step(&mut self, to: u64) -> bool {
        let Some(at) = self.next_at().filter(|&at| at <= to) else { return false };
        self.now = at;
        if self.sender.resume_at() <= at {
            self.sender.on_resume(at, &mut self.out);
        } else {
            self.sender.on_timer(at, &mut self.out);
        }
        true
    }

    /// What it has sent at the present time since it was last asked. Ask after each call: the times are the present one.
    pub fn take_sent(&mut self) -> impl Iterator<Item = Sent> + '_ {
        let now = self.now;
        self.out.drain(..).map(move |burst| Sent::new(now, burst))
    }

    /// Its state.
    pub fn info(&self) -> Info {
        self.sender.info()
    }

    /// Its congestion control; BBR's phase can be set there.
    pub fn control(&mut self) -> &mut Cca {
        self.sender.control()
    }
}

/// A segment as it reaches a receiver.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    /// Its number.
    pub seq: u32,
    /// Its sender's clock (ms).
    pub ts: u32,
    /// It can be marked.
    pub ect: bool,
    /// It is marked.
    pub ce: bool,
    /// Its sender has reduced its window.
    pub cwr: bool,
    /// It ends a burst, or all.
    pub push: bool,
}

/// A receiver alone, whose application reads at once.
#[derive(Debug)]
pub struct Receiver {
    receiver: receiver::Receiver,
    out: Vec<(u64, Ack)>,
}

impl Receiver {
    /// A receiver of a path with that round-trip time (ns); `echoes_each`: its congestion control is DCTCP.
    pub fn new(rtt_ns: u64, echoes_each: bool) -> Receiver {
        Receiver {
            receiver: receiver::Receiver::new(&StackRules::LINUX, rtt_ns, echoes_each),
            out: Vec::new(),
        }
    }

    /// When its delayed or compressed acknowledgement is due (ns).
    pub fn next_at(&self) -> Option<u64> {
        Some(self.receiver.ack_at()).filter(|&at| at != u64::MAX)
    }

    /// What waits goes out, if it is due by `to` (ns).
    pub fn run_to(&mut self, to: u64) {
        if let Some(ack) = self.receiver.due(to) {
            self.told(ack);
        }
    }

    /// A segment comes at a time (ns) up to which it has [run](Receiver::run_to).
    pub fn segment(&mut self, at: u64, segment: Segment) {
        let bit = |on, bit| if on { bit } else { 0 };
        let flags = bit(segment.ect, flag::ECT)
            | bit(segment.ce, flag::CE)
            | bit(segment.cwr, flag::CWR)
            | bit(segment.push, flag::PUSH);
        if self.receiver.goes_first(at, segment.seq, flags) {
            let ack = self.receiver.flush(at);
            self.told(ack);
        }
        if let Some(ack) = self.receiver.on_data(at, segment.seq, segment.ts, flags) {
            self.told(ack);
        }
    }

    /// Next segment expected.
    pub fn next(&self) -> u32 {
        self.receiver.rcv_nxt
    }

    /// The acknowledgements made since it was last asked, and when.
    pub fn take_acks(&mut self) -> impl Iterator<Item = (u64, Ack)> + '_ {
        self.out.drain(..)
    }

    fn told(&mut self, out: receiver::AckOut) {
        let mut ack = Ack { cum: out.cum, ts: out.ts, ece: out.flags & flag::ECE != 0, ..Ack::default() };
        ack.dsack = out.dsack.is_some();
        for &block in out.dsack.iter().chain(self.receiver.blocks()).take(MAX_SACKS + 1) {
            ack.blocks[ack.count] = block;
            ack.count += 1;
        }
        self.out.push((out.at, ack));
    }
}
