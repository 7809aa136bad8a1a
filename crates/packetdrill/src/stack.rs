//! The end of a connection that a script drives: the simulator's sender and receiver, and what joins them to one TCP, such as
//! the handshake, the FIN, and segments that are not full.
//!
//! The sender counts segments, so that a table says which bytes each of them has ([`Tcp::segments`]); a FIN that nothing carries is a
//! segment without payload. Times are in ns; sequence numbers are those of a connection whose both ends began at 0.

use crate::packet::{Ecn, Flags, Packet, TcpOption};
use crate::settings::Settings;
use queuewright_sim::alone::{
    self, Ack, Clock, Device, Dropped, RMEM_MAX, ReceiveBuffer, Segment, Sent, Setup, Sysctls, timestamp,
};
use queuewright_sim::{CaState, Kind};
use std::collections::VecDeque;

/// When a script begins: late enough for every clock to be above 0, and in the middle of a tick of 4 ms, so that timers are as late
/// as they are on the mean. The lab's guest begins where the kernel's wheel of timers stands as at this tick.
pub const BEGIN_TICKS: u64 = 25_000;
pub const BEGIN_NS: u64 = BEGIN_TICKS * 4_000_000 + 2_000_000;
/// The first wait for an answer to a SYN-ACK (`TCP_TIMEOUT_INIT`).
const SYN_ACK_NS: u64 = 1_000_000_000;
/// The device's MTU, less the headers of IPv4 and TCP.
const MSS: u32 = 1460;
/// What a timestamp takes of a segment.
const TIMESTAMP_BYTES: u32 = 12;
/// `TCP_RTO_MIN`, `TCP_RTO_MAX`, and how often a probe is backed off (`tcp_retries2`).
const LEAST_RTO_US: u32 = 200_000;
const LONGEST_RTO_US: u64 = 120_000_000;
const MOST_RETRIES: u32 = 15;
/// The most payload of a packet that is yet to be cut into segments: 64 KiB less headers.
const GSO_BYTES: u32 = 65_536 - 1 - 320;

/// Where a connection stands (RFC 9293 section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names are RFC 9293's")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    Closing,
    CloseWait,
    LastAck,
    TimeWait,
}

/// What the simulated stack does not have, in words.
pub type Foreign = String;

/// A packet that went out.
#[derive(Debug, Clone)]
pub struct Out {
    /// When (ns).
    pub at: u64,
    /// The packet that was sent.
    pub packet: Packet,
}

/// Bytes of a segment of the sender's.
#[derive(Debug, Clone, Copy)]
struct Bytes {
    /// From here; data begin at 1.
    seq: u32,
    payload: u32,
    fin: bool,
    /// What is written next does not come into the same segment (`MSG_EOR`).
    ends_record: bool,
}

impl Bytes {
    fn end(&self) -> u32 {
        self.seq + self.payload + u32::from(self.fin)
    }
}

/// How an application writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write {
    /// What it writes ends a record (`MSG_EOR`).
    pub ends_record: bool,
    /// More follows: what is not full waits for it (`MSG_MORE`).
    pub more: bool,
}

/// What limits a sender (`enum tcp_chrono`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// It has nothing to send.
    Nothing,
    /// It is busy.
    Busy,
    /// The peer's window.
    Window,
    /// The send buffer.
    SendBuffer,
}

/// What wakes those who wait for a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakes {
    /// There is more to read (`sk_data_ready`).
    pub input: bool,
    /// There is room again (`sk_stream_write_space`).
    pub output: bool,
    /// The connection has opened, or an end of it has closed (`sk_state_change`).
    pub state: bool,
}

/// What the peer said in its SYN, and has said since.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    shift: u8,
    timestamps: bool,
    /// Its window, in bytes; the largest so far; and the sequence number of the packet that told it (`snd_wl1`).
    window: u32,
    max_window: u32,
    window_at: u32,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Tcp {
    settings: Settings,
    /// Where it stands.
    pub state: State,
    /// The time reached (ns).
    pub now: u64,
    sender: Option<alone::Sender>,
    receiver: Option<alone::Receiver>,
    segments: Vec<Bytes>,
    /// How many of them the sender knows: Nagle's algorithm may hold back the last.
    given: usize,
    /// Ends of what was written at once: what goes out up to there has PSH.
    pushes: Vec<u32>,
    peer: Peer,
    sack: bool,
    ecn: bool,
    mss: u32,
    /// The sequence number that the peer began with.
    pub remote_isn: u32,
    /// When the SYN came, and when the answer to it goes again.
    syn_at: u64,
    syn_ack_at: u64,
    syn_acks: u32,
    /// Payload that came in order and was not read.
    pub unread: u32,
    /// The peer has no more to send, and all of it came.
    pub ended: bool,
    /// The application sends, or reads, no more.
    pub shut: (bool, bool),
    /// `TCP_NODELAY`, `TCP_CORK`
    pub no_delay: bool,
    /// See `no_delay`.
    pub cork: bool,
    /// `SO_SNDBUF`, as the kernel keeps it, and `TCP_NOTSENT_LOWAT`.
    pub send_buffer: Option<u32>,
    /// See `send_buffer`.
    pub notsent_lowat: u32,
    /// `SO_RCVBUF`, as the kernel keeps it.
    receive_buffer: Option<u32>,
    /// `TCP_WINDOW_CLAMP`, of a connection that has not begun.
    window_clamp: u32,
    /// Bytes that the send buffer may hold (`sk_sndbuf`); somebody found no room there (`SOCK_NOSPACE`).
    room: u32,
    no_space: bool,
    /// `TCP_MAXSEG`
    pub user_mss: Option<u32>,
    /// When what no ACK will let go is tried, how often that was, and how far it is backed off (`icsk_probes_out`, `icsk_backoff`).
    probe_at: Option<u64>,
    probes: u32,
    probe_backoff: u32,
    /// What woke those who wait since they last looked.
    pub wakes: Wakes,
    /// Full segments of what comes in packets of several (`--mss`).
    pub gso_mss: Option<u32>,
    fin_given: bool,
    /// It was closed before it was open.
    given_up: bool,
    /// A reset has ended it.
    pub broken: bool,
    /// The timestamp of the peer's SYN.
    peer_stamp: u32,
    /// One past what is acknowledged, if that lies within a segment.
    acked_to: u32,
    /// What came up that is not known here, where nobody could be told.
    pub trouble: Option<Foreign>,
    /// What limits it, since when (ticks), and for how many ticks each has (`tcp_chrono_set`).
    limit: Limit,
    limit_since: u64,
    limited: [u64; 4],
    /// The send buffer limits it, since it sent all that there was and somebody found no room (`tcp_cwnd_validate`).
    buffer_limits: bool,
    /// One past the last byte that was to be pushed (`pushed_seq`), and where the last buffer of the send queue begins.
    pushed_to: u32,
    buffer_from: u32,
    /// What went out and nobody has looked at.
    pub out: VecDeque<Out>,
    last_data_in: u64,
    /// What connections before it did not take.
    dropped_before: Dropped,
    /// When it last answered what is out of the window (ticks; `last_oow_ack_time`).
    out_of_window_at: Option<u64>,
}

impl Tcp {
    /// Another connection, once all descriptors of this one are closed.
    pub fn again(&self) -> Tcp {
        Tcp {
            now: self.now,
            last_data_in: self.now,
            dropped_before: self.dropped(),
            ..Tcp::new(&self.settings)
        }
    }

    /// The application has accepted it.
    pub fn accepted(&mut self) {
        self.receiver.iter_mut().for_each(|r| r.set_accepted(true));
    }

    /// How many packets its receivers did not take.
    pub fn dropped(&self) -> Dropped {
        let (before, now) = (self.dropped_before, self.receiver.as_ref().map(alone::Receiver::dropped));
        let now = now.unwrap_or_default();
        Dropped {
            beyond_window: before.beyond_window + now.beyond_window,
            zero_window: before.zero_window + now.zero_window,
            no_memory: before.no_memory + now.no_memory,
        }
    }

    /// A closed one.
    pub fn new(settings: &Settings) -> Tcp {
        Tcp {
            settings: settings.clone(),
            state: State::Closed,
            now: BEGIN_NS,
            sender: None,
            receiver: None,
            segments: Vec::new(),
            given: 0,
            pushes: Vec::new(),
            peer: Peer::default(),
            sack: false,
            ecn: false,
            mss: MSS,
            remote_isn: 0,
            syn_at: 0,
            syn_ack_at: 0,
            syn_acks: 0,
            unread: 0,
            ended: false,
            shut: (false, false),
            no_delay: false,
            cork: false,
            send_buffer: None,
            notsent_lowat: 0,
            receive_buffer: None,
            window_clamp: 0,
            room: 0,
            user_mss: None,
            probe_at: None,
            probes: 0,
            probe_backoff: 0,
            no_space: false,
            wakes: Wakes::default(),
            gso_mss: None,
            fin_given: false,
            given_up: false,
            broken: false,
            peer_stamp: 0,
            acked_to: 1,
            trouble: None,
            limit: Limit::Nothing,
            limit_since: 0,
            limited: [0; 4],
            buffer_limits: false,
            pushed_to: 1,
            buffer_from: 1,
            out: VecDeque::new(),
            last_data_in: BEGIN_NS,
            dropped_before: Dropped::default(),
            out_of_window_at: None,
        }
    }

    /// Is there one: has a SYN come or gone?
    pub fn begun(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen)
    }

    /// Has there never been one?
    pub fn is_fresh(&self) -> bool {
        self.state == State::Closed && !self.given_up && self.sender.is_none()
    }

    /// May its application send and receive?
    pub fn established(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// What it tells the peer that a segment may have (`tcp_mss_clamp`).
    fn advertised(&self) -> u32 {
        self.user_mss.unwrap_or(MSS).min(MSS)
    }

    /// The size of a segment's payload as it is told (`TCP_MAXSEG`, `tcpi_snd_mss`).
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// The kernel's coarse clock.
    fn clock(&self) -> Clock {
        Clock::new(self.settings.tuned.hz)
    }

    fn tick_ns(&self) -> u64 {
        self.clock().tick_ns()
    }

    // What goes out.

    /// The room for what comes in. Before the peer has answered it is as this end offers it.
    fn receive_room(&self) -> ReceiveBuffer {
        let asked = matches!(self.state, State::Closed | State::Listen | State::SynSent);
        let mss = self.advertised() - if !asked && self.peer.timestamps { TIMESTAMP_BYTES } else { 0 };
        let bytes = |n: i64| n.clamp(2_304, 1 << 30) as u32;
        ReceiveBuffer {
            first: self.receive_buffer.unwrap_or(bytes(self.settings.rmem.0)),
            most: bytes(self.settings.rmem.1),
            locked: self.receive_buffer.is_some(),
            clamp: self.window_clamp,
            scaled: if asked { self.settings.window_scaling } else { self.peer.shift != NO_SHIFT },
            mss,
            first_mss: mss,
        }
    }

    fn shift(&self) -> u8 {
        self.receive_room().scale() as u8
    }

    fn syn_options(&self, sack: bool, timestamps: bool, scaling: bool) -> Vec<TcpOption> {
        // In the order of `tcp_options_write`.
        let mut options = vec![TcpOption::Mss(self.advertised() as u16)];
        match (timestamps, sack) {
            (true, true) => options.extend([TcpOption::SackOk, TcpOption::Timestamp(timestamp(self.now), 0)]),
            (true, false) => {
                options.extend([
                    TcpOption::Nop,
                    TcpOption::Nop,
                    TcpOption::Timestamp(timestamp(self.now), 0),
                ]);
            }
            (false, true) => options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackOk]),
            (false, false) => {}
        }
        if scaling {
            options.extend([TcpOption::Nop, TcpOption::WindowScale(self.shift())]);
        }
        options
    }

    fn emit(&mut self, packet: Packet) {
        self.out.push_back(Out { at: self.now, packet });
    }

    fn emit_syn(&mut self, answers: bool) {
        let s = &self.settings;
        let options = match answers {
            true => self.syn_options(self.sack, self.peer.timestamps, self.peer.shift != NO_SHIFT),
            false => self.syn_options(s.sack, s.timestamps, s.window_scaling),
        };
        let asks = !answers && (s.ecn == 1 || s.cca.needs_ecn());
        let flags = Flags {
            syn: true,
            ack: answers,
            ece: asks || (answers && self.ecn),
            cwr: asks,
            ..Flags::default()
        };
        let ect = s.cca.needs_ecn() && (asks || self.ecn);
        self.emit(Packet {
            inbound: false,
            ecn: Some(if ect { Ecn::Ect0 } else { Ecn::None }),
            flags,
            seq: 0,
            len: 0,
            ack: u32::from(answers),
            win: Some(self.receive_room().first_window().min(65_535) as u16),
            options: Some(options),
            foreign: Vec::new(),
        });
    }

    /// A packet with data, or none, as its acknowledgement is.
    fn emit_data(&mut self, seq: u32, len: u32, flags: Flags, ect: bool, ack: Ack) {
        let mut options = Vec::new();
        let mut room = 4;
        if self.peer.timestamps {
            options.extend([
                TcpOption::Nop,
                TcpOption::Nop,
                TcpOption::Timestamp(timestamp(self.now), ack.ts),
            ]);
            room = 3;
        }
        let room = if self.sack { room } else { 0 };
        let blocks: Vec<_> = ack.blocks().iter().take(room).map(|b| (b.0 + 1, b.1 + 1)).collect();
        if !blocks.is_empty() {
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
        }
        self.emit(Packet {
            inbound: false,
            ecn: Some(if ect { Ecn::Ect0 } else { Ecn::None }),
            flags: Flags { ack: true, ece: ack.ece, ..flags },
            seq,
            len,
            ack: 1 + ack.cum,
            win: Some(((ack.window_end - ack.cum) >> self.shift()).min(65_535) as u16),
            options: Some(options),
            foreign: Vec::new(),
        });
    }

    /// One past what is acknowledged.
    fn unacked_seq(&self) -> u32 {
        let whole = match self.sender.as_ref().map_or(0, |s| s.info().snd_una) as usize {
            0 => 1,
            n => self.segments[n - 1].end(),
        };
        whole.max(self.acked_to)
    }

    /// One past what was sent.
    fn next_seq(&self) -> u32 {
        let sent = self.sender.as_ref().map_or(0, |s| s.info().snd_nxt) as usize;
        if sent == 0 { 1 } else { self.segments[sent - 1].end() }
    }

    /// The acknowledgements that the receiver made go out.
    fn flush_acks(&mut self) {
        self.flush_acks_as(self.next_seq());
    }

    fn flush_acks_as(&mut self, seq: u32) {
        let Some(receiver) = &mut self.receiver else { return };
        let acks: Vec<_> = receiver.take_acks().collect();
        for (_, ack) in acks {
            self.emit_data(seq, 0, Flags::default(), false, ack);
        }
    }

    /// What the sender let go goes out. Did it?
    fn flush_data(&mut self) -> bool {
        let Some(sender) = &mut self.sender else { return false };
        let sent: Vec<Sent> = sender.take_sent().collect();
        let new = sent.iter().filter(|burst| !burst.again && !burst.syn).count();
        for burst in &sent {
            if burst.syn {
                self.emit_syn(false);
                continue;
            }
            let (mut first, end) = (burst.seq as usize, (burst.seq + burst.count) as usize);
            while first < end {
                // What ends a record is put together with nothing that follows (`tcp_skb_can_collapse`).
                let last = (first..end - 1).find(|&i| self.segments.get(i).is_some_and(|s| s.ends_record));
                let last = last.unwrap_or(end - 1);
                self.emit_segments(first, last, burst.cwr && first == burst.seq as usize, burst.ect);
                first = last + 1;
            }
        }
        if new > 0 {
            self.see_buffer();
            self.check_space(new);
        }
        !sent.is_empty()
    }

    /// Segments of the sender's go out as one packet.
    fn emit_segments(&mut self, first: usize, last: usize, cwr: bool, ect: bool) {
        let (Some(&from), Some(&to)) = (self.segments.get(first), self.segments.get(last)) else { return };
        // Of what is sent again the part that arrived is left out (`tcp_trim_head`).
        let seq = from.seq.max(self.acked_to.min(to.seq + to.payload));
        let len = to.seq + to.payload - seq;
        let psh = len > 0 && (last > first || self.pushes.binary_search(&(to.seq + to.payload)).is_ok());
        let flags = Flags { psh, fin: to.fin, cwr, ..Flags::default() };
        let Some(receiver) = &mut self.receiver else { return };
        let ack = receiver.answer(self.now);
        if self.settings.gso || len <= self.mss {
            return self.emit_data(seq, len, flags, ect, ack);
        }
        // The device takes single segments: the kernel has cut it before (`tcp_gso_segment`).
        for (i, at) in (0..len).step_by(self.mss as usize).enumerate() {
            let last = at + self.mss >= len;
            let flags = Flags { psh: psh && last, fin: to.fin && last, cwr: cwr && i == 0, ..flags };
            self.emit_data(seq + at, self.mss.min(len - at), flags, ect, ack);
        }
    }

    // Time.

    /// When the next of what it does by itself is due (ns).
    pub fn next_at(&self) -> Option<u64> {
        let syn_ack = (self.state == State::SynReceived).then_some(self.syn_ack_at);
        let sender = self.sender.as_ref().and_then(alone::Sender::next_at);
        let receiver = self.receiver.as_ref().and_then(alone::Receiver::next_at);
        [syn_ack, sender, receiver, self.probe_at].into_iter().flatten().min()
    }

    /// The next of what is due by `to` happens. Did any?
    pub fn step(&mut self, to: u64) -> bool {
        let Some(at) = self.next_at().filter(|&at| at <= to) else {
            self.now = self.now.max(to);
            return false;
        };
        self.now = self.now.max(at);
        if self.state == State::SynReceived && self.syn_ack_at <= at {
            self.syn_acks += 1;
            self.syn_ack_at = at + (SYN_ACK_NS << self.syn_acks.min(7));
            self.emit_syn(true);
        } else if self.probe_at.is_some_and(|due| due <= at) {
            self.probe();
        } else if self.receiver.as_ref().and_then(alone::Receiver::next_at) == Some(at) {
            self.receiver.iter_mut().for_each(|r| r.run_to(at));
            self.flush_acks();
        } else {
            if let Some(sender) = &mut self.sender {
                sender.step(at);
            }
            self.flush_data();
        }
        true
    }

    // The handshake.

    /// It opens the connection.
    pub fn connect(&mut self) {
        self.state = State::SynSent;
        let mut sender = alone::Sender::new(self.setup());
        sender.connect(self.now);
        self.sender = Some(sender);
        self.flush_data();
    }

    fn setup(&self) -> Setup {
        Setup {
            cca: self.settings.cca,
            segments: Some(0),
            initial_window: None,
            send_buffer: Default::default(),
            mss: self.mss,
            closes: false,
            ecn: self.ecn,
            tuned: Sysctls { sack: self.sack, ..self.settings.tuned },
        }
    }

    /// Takes what a SYN says.
    fn meet(&mut self, packet: &Packet) -> Result<(), Foreign> {
        let offered =
            packet.option(|o| if let TcpOption::Mss(mss) = o { Some(u32::from(*mss)) } else { None });
        let sack = packet.option(|o| (*o == TcpOption::SackOk).then_some(())).is_some();
        let shift =
            packet.option(|o| if let TcpOption::WindowScale(n) = o { Some((*n).min(14)) } else { None });
        self.sack = sack && self.settings.sack;
        self.peer.timestamps = self.settings.timestamps && packet.timestamp().is_some();
        self.peer.shift = if self.settings.window_scaling { shift.unwrap_or(NO_SHIFT) } else { NO_SHIFT };
        // `TCP_MIN_SND_MSS` is 48.
        let options = if self.peer.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.mss = offered.unwrap_or(536).min(self.advertised()).max(48) - options;
        self.remote_isn = packet.seq;
        self.peer_stamp = packet.timestamp().map_or(0, |t| t.0);
        self.peer.window_at = packet.seq;
        self.see_window(packet.win.unwrap_or(0).into());
        Ok(())
    }

    fn see_window(&mut self, bytes: u32) {
        self.peer.window = bytes;
        self.peer.max_window = self.peer.max_window.max(bytes);
    }

    /// The connection is open; the handshake took `rtt_ns`.
    fn establish(&mut self, rtt_ns: u64) {
        let asked = self.state == State::SynSent;
        self.state = State::Established;
        let (echo, mut room) = (alone::Echo::of_dctcp(self.settings.cca.needs_ecn()), self.receive_room());
        if asked {
            room.first_mss = self.advertised();
        }
        let mut receiver = alone::Receiver::in_room(self.now, rtt_ns, echo, Device::Tun, room);
        receiver.set_ticks(self.settings.tuned.hz);
        receiver.set_accepted(asked);
        if self.settings.shrink_window {
            receiver.may_shrink();
        }
        if !self.sack {
            receiver.without_sack();
        }
        self.receiver = Some(receiver);
        self.wakes.state = true;
        self.last_data_in = self.now;
    }

    fn set_limits(&mut self) {
        let buffer = GSO_BYTES / self.mss;
        let window = self.window_end(0);
        if let Some(sender) = &mut self.sender {
            // What the send buffer has room for is reckoned here, in bytes.
            sender.set_limits(window, buffer, u32::MAX);
        }
        // `tcp_init_buffer_space`
        self.room = self.send_buffer.unwrap_or(self.settings.wmem.0.clamp(0, 1 << 30) as u32);
        self.expand_room();
    }

    // The send buffer.

    /// Bytes written and not yet acknowledged, and those of them that were not sent.
    fn waiting(&self) -> (u32, u32) {
        let end = self.segments.last().map_or(1, |s| s.seq + s.payload);
        (end.saturating_sub(self.unacked_seq()), end.saturating_sub(self.next_seq()))
    }

    /// Bytes that they take (`sk_wmem_queued`).
    fn queued(&self) -> u32 {
        let (unacked, unsent) = self.waiting();
        let Some(sender) = &self.sender else { return 0 };
        let info = sender.info();
        // What is held back and nothing else waits is a buffer that the sender does not know.
        let held = unsent > 0 && info.notsent == 0;
        unacked + (sender.buffers() + u32::from(held)) * alone::SEND_OVERHEAD
    }

    /// `tcp_notsent_lowat`
    fn lowat(&self) -> u32 {
        if self.notsent_lowat > 0 { self.notsent_lowat } else { self.settings.notsent_lowat }
    }

    /// Is there no room for another buffer (`sk_stream_memory_free`, `tcp_stream_memory_free`)?
    fn is_full(&self) -> bool {
        self.queued() >= self.room || self.waiting().1 >= self.lowat()
    }

    /// Is a writer worth waking (`__sk_stream_is_writeable`)? What is free is at least half of what is taken.
    fn is_writeable(&self) -> bool {
        let queued = self.queued();
        self.room >= queued + (queued >> 1) && u64::from(self.waiting().1) << 1 < u64::from(self.lowat())
    }

    /// May more be written? Who is told no is woken once that changes (`tcp_poll`).
    pub fn writeable(&mut self) -> bool {
        let yes = self.is_writeable();
        self.no_space |= !yes;
        yes
    }

    /// `tcp_sndbuf_expand`
    fn expand_room(&mut self) {
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return };
        if self.send_buffer.is_some() {
            return;
        }
        let segments = info.snd_cwnd.max(10).max(info.reordering + 1);
        let windows = self.settings.cca.info().buffered_windows;
        let bytes = segments.saturating_mul(windows * alone::segment_bytes(self.mss));
        self.room = self.room.max(bytes.min(self.settings.wmem.1.clamp(0, 1 << 30) as u32));
    }

    /// `tcp_check_space`, after so many packets of new data have gone.
    fn check_space(&mut self, packets: usize) {
        if !self.no_space {
            return;
        }
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return };
        let in_flight = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
        // `tcp_should_expand_sndbuf`: cwnd has room, or had before the last of them.
        if in_flight < info.snd_cwnd || packets > 1 {
            self.expand_room();
        }
        if self.is_writeable() {
            (self.no_space, self.buffer_limits) = (false, false);
            self.wakes.output = true;
        }
    }

    /// One past the last segment that the peer's window has room for, where `acked` of them are acknowledged.
    fn window_end(&self, acked: usize) -> u32 {
        let from = if acked == 0 { 1 } else { self.segments[acked - 1].end() };
        let end = u64::from(from.max(self.acked_to)) + u64::from(self.peer.window);
        let known = self.segments.partition_point(|s| u64::from(s.end()) <= end);
        let beyond = match self.segments.last() {
            Some(_) if known < self.segments.len() => 0,
            Some(last) => (end - u64::from(last.end())) / u64::from(self.mss),
            None => (end - 1) / u64::from(self.mss),
        };
        u32::try_from(known as u64 + beyond).unwrap_or(u32::MAX)
    }

    // What comes in.

    /// A packet comes in.
    ///
    /// # Errors
    /// What it asks of the stack that this one does not have.
    pub fn inbound(&mut self, packet: &Packet, echo: Option<u32>) -> Result<(), Foreign> {
        let flags = packet.flags;
        match self.state {
            State::Closed if !self.given_up && self.sender.is_none() => {
                Err("a packet without a connection".into())
            }
            State::Closed => {
                self.refuse(packet);
                Ok(())
            }
            _ if flags.rst => self.reset_comes(packet),
            State::Listen if flags.ack && !flags.syn => {
                self.refuse(packet);
                Ok(())
            }
            State::Listen => {
                if !flags.syn || flags.ack || packet.len > 0 {
                    return Err("a listener that is sent no SYN, or data with it".into());
                }
                self.meet(packet)?;
                self.ecn =
                    flags.ece && flags.cwr && (self.settings.ecn != 0 || self.settings.cca.needs_ecn());
                self.state = State::SynReceived;
                (self.syn_at, self.syn_ack_at) = (self.now, self.now + SYN_ACK_NS);
                self.syn_acks = 0;
                self.emit_syn(true);
                Ok(())
            }
            State::SynSent => {
                if !(flags.syn && flags.ack) || packet.ack != 1 || packet.len > 0 {
                    return Err("an answer to a SYN that is no SYN-ACK".into());
                }
                self.meet(packet)?;
                self.ecn =
                    flags.ece && !flags.cwr && (self.settings.ecn == 1 || self.settings.cca.needs_ecn());
                let began = self.now;
                self.sender_of_answer(began, echo)
            }
            State::SynReceived => {
                if flags.syn {
                    // `tcp_check_req`
                    if !self.is_too_soon() {
                        self.emit_syn(true);
                        self.syn_ack_at = self.now + (SYN_ACK_NS << self.syn_acks.min(7));
                    }
                    return Ok(());
                }
                if !flags.ack || packet.ack != 1 || packet.seq != self.remote_isn.wrapping_add(1) {
                    return Err("an answer to a SYN-ACK that is no ACK of it".into());
                }
                if self.syn_acks > 0 {
                    return Err("a connection whose SYN-ACK was sent more than once".into());
                }
                let rtt = self.now - self.syn_at;
                self.out_of_window_at = None;
                self.establish(rtt);
                // `tcp_init_wl`
                self.peer.window_at = packet.seq;
                self.see_window(self.scaled(packet));
                let mut sender = alone::Sender::new(self.setup());
                sender.open(self.now, rtt, 0);
                self.sender = Some(sender);
                self.set_limits();
                if packet.length() > 0 { self.data(packet, echo) } else { Ok(()) }
            }
            _ if flags.syn => Err("a SYN on an open connection".into()),
            _ => self.data(packet, echo),
        }
    }

    /// Nobody is there for it (`tcp_v4_send_reset`).
    fn refuse(&mut self, packet: &Packet) {
        if packet.flags.rst {
            return;
        }
        let answers = !packet.flags.ack;
        let (seq, ack) = match answers {
            true => (0, packet.seq.wrapping_sub(self.remote_isn).wrapping_add(packet.length())),
            false => (packet.ack, 0),
        };
        let flags = Flags { rst: true, ack: answers, ..Flags::default() };
        let options = Some(Vec::new());
        let ecn = Some(Ecn::None);
        let foreign = Vec::new();
        self.emit(Packet { inbound: false, ecn, flags, seq, len: 0, ack, win: Some(0), options, foreign });
    }

    /// A reset comes (`tcp_validate_incoming`, `tcp_check_req`): only one at the next byte counts, one elsewhere in the window is asked again,
    /// and others are nothing.
    fn reset_comes(&mut self, packet: &Packet) -> Result<(), Foreign> {
        let unit = packet.seq.wrapping_sub(self.remote_isn).wrapping_sub(1);
        let ahead = unit.wrapping_sub(self.receiver.as_ref().map_or(0, alone::Receiver::next)) as i32;
        match (self.state, &self.receiver) {
            (State::Listen, _) => {}
            (State::SynReceived, _) => match unit {
                0 => self.state = State::Listen,
                _ if unit > self.receive_room().first_window() || self.is_too_soon() => {}
                _ => self.answer_before_open(),
            },
            (_, None) => return Err("a reset (RST) that answers a SYN".into()),
            (state, Some(receiver)) => {
                // What a FIN ended counts as far as before it, too.
                let closes = matches!(state, State::CloseWait | State::LastAck | State::Closing);
                let exact = ahead == 0 || (ahead == -1 && closes);
                let within = unit >= receiver.acked() && unit <= receiver.room_to();
                let behind_sacks = self.sack && receiver.sacked_to() == Some(unit);
                if exact || (within && behind_sacks) {
                    self.give_up();
                    (self.receiver, self.probe_at, self.broken) = (None, None, true);
                } else if within {
                    self.answer_sometimes();
                }
            }
        }
        Ok(())
    }

    /// An acknowledgement of a connection that is not yet open (`tcp_v4_reqsk_send_ack`).
    fn answer_before_open(&mut self) {
        let mut options = Vec::new();
        if self.peer.timestamps {
            let stamp = TcpOption::Timestamp(timestamp(self.now), self.peer_stamp);
            options.extend([TcpOption::Nop, TcpOption::Nop, stamp]);
        }
        let room = self.receive_room();
        self.emit(Packet {
            inbound: false,
            ecn: Some(Ecn::None),
            flags: Flags { ack: true, ..Flags::default() },
            seq: 1,
            len: 0,
            ack: 1,
            win: Some((room.first_window() >> room.scale()).min(65_535) as u16),
            options: Some(options),
            foreign: Vec::new(),
        });
    }

    /// It is closed although not all was read (`tcp_send_active_reset`).
    pub fn reset(&mut self) {
        let seq = self.next_seq();
        if let Some(receiver) = &mut self.receiver {
            let ack = receiver.answer(self.now);
            self.emit_data(seq, 0, Flags { rst: true, ..Flags::default() }, false, ack);
        }
        self.give_up();
    }

    /// It is closed before it was open: whatever still comes is refused.
    pub fn give_up(&mut self) {
        (self.state, self.given_up, self.sender) = (State::Closed, true, None);
    }

    /// The SYN-ACK has come.
    fn sender_of_answer(&mut self, now: u64, echo: Option<u32>) -> Result<(), Foreign> {
        // The sender was made before the peer's segment size was known: this one takes over its times.
        let Some(old) = self.sender.take() else { return Err("an answer without a question".into()) };
        let info = old.info();
        if info.syn_retransmits > 0 && echo.is_none() {
            return Err("a SYN that was sent more than once, without timestamps".into());
        }
        let mut sender = alone::Sender::new(self.setup());
        let rtt = match (info.syn_retransmits, echo) {
            (0, _) => now - info.syn_sent_ns,
            (_, Some(ts)) => u64::from(timestamp(self.now).saturating_sub(ts).max(1)) * 1_000_000,
            _ => 0,
        };
        if info.syn_retransmits > 0 {
            return Err("a SYN that was sent more than once".into());
        }
        sender.open(now, rtt, 0);
        self.sender = Some(sender);
        self.establish(rtt);
        self.set_limits();
        self.receiver.iter_mut().for_each(|r| r.tell(now));
        self.flush_acks();
        Ok(())
    }

    fn scaled(&self, packet: &Packet) -> u32 {
        let shift = if self.peer.shift == NO_SHIFT { 0 } else { self.peer.shift };
        u32::from(packet.win.unwrap_or(0)) << shift
    }

    /// A segment of an open connection.
    fn data(&mut self, packet: &Packet, echo: Option<u32>) -> Result<(), Foreign> {
        let flags = packet.flags;
        if !flags.ack {
            // Neither ACK nor SYN nor RST: it is dropped (`tcp_rcv_established`).
            return Ok(());
        }
        let (next, una) = (self.next_seq(), self.unacked_seq());
        let oldest = una.saturating_sub(self.peer.max_window.min(una - 1));
        let Some(receiver) = &mut self.receiver else { return Ok(()) };
        let unit = packet.seq.wrapping_sub(self.remote_isn).wrapping_sub(1);
        let expected = receiver.next();
        let length = packet.length();
        let behind = expected.wrapping_sub(unit) < 1 << 31 && expected != unit;
        if behind && length == 0 {
            // `tcp_sequence`: not even its ACK counts, if it lies before what was acknowledged.
            if expected.wrapping_sub(unit) > 1 << 30 {
                return Err("a packet far out of the window".into());
            }
            if unit.wrapping_sub(receiver.acked()) >= 1 << 31 {
                self.answer_sometimes();
                return Ok(());
            }
        }
        if behind && unit >= 1 << 31 {
            return Err("data before the first byte".into());
        }
        if !behind && unit - expected > 1 << 30 {
            return Err("a packet far out of the window".into());
        }
        let half = matches!(self.state, State::FinWait1 | State::FinWait2);
        if self.shut.1 && half && packet.len > 0 && unit + packet.len > expected {
            return Err("data for a socket that is closed (RST)".into());
        }
        // What is old as a whole is answered whatever it acknowledges (`tcp_validate_incoming`).
        let old = length > 0 && unit.wrapping_add(length).wrapping_sub(receiver.acked()) >= 1 << 31;
        if (packet.ack > next || packet.ack < oldest) && old {
            return self.answer_old(packet, unit);
        }
        if packet.ack > next || packet.ack < oldest {
            // RFC 5961 section 5: an ACK of what was not sent, or too old; nothing of the packet counts (`tcp_ack`).
            self.answer_sometimes();
            return Ok(());
        }
        if length > 0 {
            if flags.fin && !behind && unit != expected {
                return Err("a FIN out of order".into());
            }
            let segment = Segment {
                seq: unit,
                len: length,
                ts: packet.timestamp().map_or(0, |t| t.0),
                echo,
                ect: matches!(packet.ecn, Some(Ecn::Ect0 | Ecn::Ect1 | Ecn::Either | Ecn::Ce)) && self.ecn,
                ce: packet.ecn == Some(Ecn::Ce) && self.ecn,
                cwr: flags.cwr && self.ecn,
                push: flags.psh,
                fin: flags.fin,
            };
            let of = self.gso_mss.filter(|&mss| packet.len > mss);
            receiver.segment(self.now, segment, of);
            let came = receiver.next() - expected;
            let fin = flags.fin && came > 0;
            if came > 0 {
                self.last_data_in = self.now;
                self.wakes.input = true;
                self.wakes.state |= fin;
            }
            self.unread += came - u32::from(fin);
            if fin {
                self.ended = true;
                let at_once = matches!(self.state, State::FinWait1 | State::FinWait2);
                self.state = match self.state {
                    State::Established => State::CloseWait,
                    State::FinWait1 => State::Closing,
                    State::FinWait2 => State::TimeWait,
                    other => other,
                };
                if at_once {
                    receiver.take_acks().for_each(drop);
                    receiver.tell(self.now);
                }
            }
        }
        self.acknowledged(packet, echo)?;
        // What the application could read may be told of by what goes out.
        let sent = self.flush_data();
        self.check_space(0);
        self.watch_unsent();
        if sent && length > 0 {
            // Data have told all that an ACK would tell.
            self.receiver.iter_mut().for_each(|r| r.take_acks().for_each(drop));
        }
        self.flush_acks();
        Ok(())
    }

    /// Was such an answer given a moment ago (`__tcp_oow_rate_limited`)? If not, this is one.
    fn is_too_soon(&mut self) -> bool {
        let tick = self.now / self.tick_ns();
        let limit = self.settings.invalid_ratelimit_ms * 1_000_000;
        let soon = self.out_of_window_at.is_some_and(|at| tick - at < limit.div_ceil(self.tick_ns()));
        if !soon {
            self.out_of_window_at = Some(tick);
        }
        soon
    }

    /// What is out of the window is answered, but not in quick succession (`__tcp_oow_rate_limited`).
    fn answer_sometimes(&mut self) {
        if self.is_too_soon() {
            return;
        }
        self.receiver.iter_mut().for_each(|r| r.tell(self.now));
        self.flush_acks();
    }

    /// Data that were all acknowledged come again: it says so, and their ACK does not count.
    fn answer_old(&mut self, packet: &Packet, seq: u32) -> Result<(), Foreign> {
        let segment = Segment { seq, len: packet.length(), fin: packet.flags.fin, ..Segment::default() };
        self.receiver.iter_mut().for_each(|r| r.segment(self.now, segment, None));
        self.flush_acks();
        Ok(())
    }

    /// So many segments end before a sequence number of ours, relative.
    fn segments_before(&self, seq: u32) -> usize {
        self.segments.partition_point(|s| s.end() <= seq)
    }

    fn acknowledged(&mut self, packet: &Packet, echo: Option<u32>) -> Result<(), Foreign> {
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return Ok(()) };
        let sent = info.snd_nxt as usize;
        // A part of a segment is none (`tcp_tso_acked`).
        let cum = self.segments_before(packet.ack);
        let advances = packet.ack > self.unacked_seq();
        self.acked_to = self.acked_to.max(packet.ack);
        let window = self.scaled(packet);
        let newer = advances
            || (packet.seq.wrapping_sub(self.peer.window_at) as i32) > 0
            || (packet.seq == self.peer.window_at && (window > self.peer.window || window == 0));
        // `FLAG_NOT_DUP`
        let duplicate = !newer && packet.length() == 0;
        if cum as u32 >= info.snd_una && newer {
            self.peer.window_at = packet.seq;
            let other = window != self.peer.window;
            self.see_window(window);
            if other
                && sent < self.segments.len()
                && let Some(sender) = &mut self.sender
            {
                sender.window_changed(self.now);
            }
        }
        let una = cum.max(info.snd_una as usize);
        let mut blocks = Vec::new();
        let given = packet.sacks();
        let first = given.first().copied();
        let dsack =
            first.is_some_and(|b| b.0 < packet.ack || given.get(1).is_some_and(|c| c.0 <= b.0 && b.1 <= c.1));
        for (i, &(from, to)) in given.iter().enumerate() {
            if to > self.next_seq() || from >= to {
                return Err("a SACK block of what was not sent".into());
            }
            // Only whole segments count (`tcp_match_skb_to_sack`).
            let lo = self.segments.partition_point(|s| s.seq < from);
            let hi = self.segments.partition_point(|s| s.end() <= to);
            if lo < hi {
                blocks.push((lo as u32, hi.min(sent) as u32));
            } else if i == 0 && dsack {
                return Err("a DSACK of a part of a segment".into());
            }
        }
        if blocks.len() - usize::from(dsack) > 3 {
            return Err("four SACK blocks".into());
        }
        let window_end = self.window_end(una);
        let mut ack = Ack::new(cum as u32, &blocks);
        ack.window_end = window_end;
        ack.ts = echo.unwrap_or(0);
        ack.ece = packet.flags.ece && self.ecn;
        ack.duplicate = duplicate;
        ack.dsack = dsack;
        if info.unacked == 0 {
            // `tcp_ack_probe`: the timer begins anew.
            self.probe_at = None;
            if window_end > info.snd_nxt {
                self.probe_backoff = 0;
            }
        }
        self.probes = 0;
        if let Some(sender) = &mut self.sender {
            sender.ack(self.now, &ack);
        }
        self.release();
        if self.fin_given
            && self.sender.as_ref().is_some_and(|s| s.info().snd_una as usize == self.segments.len())
        {
            self.state = match self.state {
                State::FinWait1 => State::FinWait2,
                State::Closing => State::TimeWait,
                State::LastAck => State::Closed,
                other => other,
            };
        }
        self.within_window(info.snd_nxt)
    }

    /// A window that ends within a segment lets Linux send a part of it behind whole ones (`tcp_mss_split_point`), which here
    /// it does not. `before`: what had been sent.
    fn within_window(&self, before: u32) -> Result<(), Foreign> {
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return Ok(()) };
        let una = info.snd_una as usize;
        let end = self.window_end(una);
        let from = self.unacked_seq();
        let left = u64::from(from) + u64::from(self.peer.window);
        let in_flight = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
        let limits = info.snd_nxt == end && (end as usize) < self.given && in_flight < info.snd_cwnd;
        if limits && info.snd_nxt > before && left > u64::from(self.next_seq()) {
            return Err("a window that ends within a segment".into());
        }
        Ok(())
    }

    // What the application does.

    /// It writes so many bytes. How many the send buffer took (`tcp_sendmsg_locked`).
    ///
    /// # Errors
    /// What this asks that is not known here.
    pub fn write(&mut self, bytes: u32, how: Write) -> Result<u32, Foreign> {
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return Ok(0) };
        // In buffers of at most half of the largest window (`tcp_xmit_size_goal`).
        let half = if self.peer.max_window > 536 { self.peer.max_window / 2 } else { self.peer.max_window };
        let segments = (GSO_BYTES.min(half.max(28)) / self.mss).max(1);
        let goal = segments * self.mss;
        let mut left = bytes;
        while left > 0 {
            let end = self.segments.last().map_or(1, Bytes::end);
            let next = self.next_seq();
            let ended = self.segments.last().is_some_and(|t| t.ends_record);
            let from = self.buffer_from.max(next);
            if end == next || end - from >= goal || ended {
                if self.is_full() {
                    self.no_space = true;
                    break;
                }
                self.buffer_from = end;
                self.sender.iter_mut().for_each(|s| s.set_buffer(segments));
            }
            let from = self.buffer_from.max(next);
            let take = left.min(goal - (end - from));
            // What a buffer has of a push is at its end, wherever that comes to be; a write's first bytes take it away (`TCPHDR_PSH`).
            let marked =
                end > next && self.buffer_from < end && self.pushes.pop_if(|at| *at == end).is_some();
            self.append(take);
            if marked && left < bytes {
                self.pushes.push(end + take);
            }
            left -= take;
            if left > 0 {
                // A buffer is full, and more is to come (`forced_push`, `tcp_push_one`).
                if end + take > self.pushed_to + self.peer.max_window / 2 {
                    self.mark_push();
                    self.push(false);
                } else if let Some(sender) = &mut self.sender {
                    sender.write_on(self.now, (self.segments.len() - self.given) as u32);
                    self.given = self.segments.len();
                }
                self.flush_data();
            }
        }
        if left == bytes {
            // Neither a push nor a record's end, if there was nothing to write either.
            return Ok(0);
        }
        // What did not fit goes on later: nothing is corked for it (`tcp_sendmsg_locked`, `wait_for_space`).
        let more = how.more && left == 0;
        let end = self.segments.last().map_or(1, Bytes::end);
        if !more || end > self.pushed_to + self.peer.max_window / 2 {
            self.mark_push();
        }
        if let Some(tail) = self.segments.last_mut().filter(|_| left == 0) {
            tail.ends_record |= how.ends_record;
        }
        // What is short of room does not wait for more (`TCP_NAGLE_PUSH`).
        self.push((self.cork && left == 0) || more);
        self.flush_data();
        self.watch_unsent();
        self.within_window(info.snd_nxt)?;
        Ok(bytes - left)
    }

    /// What is written last is to be pushed (`tcp_mark_push`).
    fn mark_push(&mut self) {
        let end = self.segments.last().map_or(1, Bytes::end);
        self.pushed_to = end;
        if self.pushes.last() != Some(&end) {
            self.pushes.push(end);
        }
    }

    /// So many bytes come behind what is written.
    fn append(&mut self, bytes: u32) {
        let mut left = bytes;
        let sent = self.sender.as_ref().map_or(0, |s| s.info().snd_nxt) as usize;
        // What was not sent yet is filled up.
        let unsent = self.segments.len() > sent;
        if let Some(tail) = self.segments.last_mut().filter(|t| unsent && !t.ends_record) {
            let more = left.min(self.mss - tail.payload);
            if more > 0 && self.pushes.last() == Some(&tail.end()) {
                self.pushes.pop();
            }
            tail.payload += more;
            left -= more;
        }
        while left > 0 {
            let payload = left.min(self.mss);
            let seq = self.segments.last().map_or(1, Bytes::end);
            self.segments.push(Bytes { seq, payload, fin: false, ends_record: false });
            left -= payload;
        }
        let window = self.window_end(self.sender.as_ref().map_or(0, |s| s.info().snd_una) as usize);
        self.sender.iter_mut().for_each(|s| s.set_window(window));
    }

    /// May the last segment go, although it is not full (`tcp_nagle_check`)?
    fn may_go(&self, cork: bool) -> bool {
        let Some(tail) = self.segments.last() else { return true };
        if tail.payload >= self.mss || tail.fin {
            return true;
        }
        if cork {
            return false;
        }
        if self.no_delay {
            return true;
        }
        // Another one that is not full is on its way, or will be by then (Minshall).
        let una = self.sender.as_ref().map_or(0, |s| s.info().snd_una) as usize;
        let last = self.segments.len() - 1;
        let before = &self.segments[una.min(last)..last];
        !before.iter().any(|s| s.payload < self.mss && !s.fin)
    }

    /// The sender is told of segments that may go.
    fn release(&mut self) {
        self.release_as(self.cork);
    }

    /// The same, as if corked or not.
    fn release_as(&mut self, cork: bool) {
        let all = if self.may_go(cork) { self.segments.len() } else { self.segments.len().saturating_sub(1) };
        self.hand_over(all);
    }

    /// The same, and all that the sender knows of is tried (`__tcp_push_pending_frames`).
    fn push(&mut self, cork: bool) {
        let before = self.given;
        self.release_as(cork);
        if self.given == before
            && let Some(sender) = &mut self.sender
        {
            sender.push(self.now);
        }
    }

    fn hand_over(&mut self, all: usize) {
        if all > self.given
            && let Some(sender) = &mut self.sender
        {
            sender.write(self.now, (all - self.given) as u32);
            self.given = all;
        }
    }

    /// The socket options have changed: what they held back may go, or goes (`TCP_NAGLE_PUSH`).
    pub fn pushed(&mut self, goes: bool) {
        if goes {
            self.hand_over(self.segments.len());
        }
        self.release();
        self.flush_data();
        self.watch_unsent();
    }

    // What waits without anything on its way, whose ACK would let it go.

    /// `tcp_check_probe_timer`
    fn watch_unsent(&mut self) {
        self.watch_limits();
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return };
        if info.unacked > 0 || info.snd_nxt as usize == self.segments.len() {
            (self.probe_at, self.probes, self.probe_backoff) = (None, 0, 0);
        } else if self.probe_at.is_none() {
            self.set_probe_timer(info.rto);
        }
    }

    /// `tcp_cwnd_validate`: all that there was is sent, not for want of a larger window (`tcp_is_cwnd_limited`), and somebody waits for room.
    fn see_buffer(&mut self) {
        let Some(sender) = &self.sender else { return };
        let (info, inner) = (sender.info(), sender.inner());
        let slow_start = info.snd_cwnd < info.snd_ssthresh;
        let by_window =
            inner.is_cwnd_limited || (slow_start && info.snd_cwnd < inner.max_packets_out.saturating_mul(2));
        self.buffer_limits |= self.no_space && !by_window && info.snd_nxt as usize == self.segments.len();
    }

    /// What limits it now (`tcp_chrono_start`, `tcp_chrono_stop`).
    fn watch_limits(&mut self) {
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return };
        let in_flight = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
        let left = self.segments.len() - info.snd_nxt as usize;
        let closed = in_flight < info.snd_cwnd && self.window_end(info.snd_una as usize) <= info.snd_nxt;
        let limit = match (info.unacked as usize + left, left > 0 && closed) {
            (0, _) => Limit::Nothing,
            _ if self.buffer_limits => Limit::SendBuffer,
            (_, true) => Limit::Window,
            (_, false) => Limit::Busy,
        };
        let tick = self.now / self.tick_ns();
        self.limited[self.limit as usize] += tick - self.limit_since;
        (self.limit, self.limit_since) = (limit, tick);
    }

    /// For how long it was limited so (us).
    fn limited_us(&self, limit: Limit) -> i64 {
        let now = if self.limit == limit { self.now / self.tick_ns() - self.limit_since } else { 0 };
        ((self.limited[limit as usize] + now) * self.tick_ns() / 1000) as i64
    }

    /// `tcp_probe0_when`, in ticks as timers go.
    fn set_probe_timer(&mut self, rto_us: u32) {
        let base = u64::from(rto_us.max(LEAST_RTO_US));
        let us = (base << self.probe_backoff.min(20)).min(LONGEST_RTO_US);
        let tick_ns = self.tick_ns();
        self.probe_at = Some((self.now / tick_ns + 1 + self.clock().ticks(us)) * tick_ns);
    }

    /// `tcp_send_probe0`, `tcp_write_wakeup`
    fn probe(&mut self) {
        self.probe_at = None;
        let Some(info) = self.sender.as_ref().map(alone::Sender::info) else { return };
        if info.unacked > 0 || info.snd_nxt as usize == self.segments.len() {
            return;
        }
        if self.window_end(info.snd_una as usize) > info.snd_nxt {
            self.mark_push();
            self.hand_over(self.segments.len());
            self.flush_data();
            return self.watch_unsent();
        }
        if self.unacked_seq() + self.peer.window > self.next_seq() {
            // What there is room for would go by itself.
            self.trouble = Some("a window that ends within a segment".into());
            return;
        }
        // `tcp_xmit_probe_skb`: what it says lies before the window, and calls for an answer.
        let seq = self.unacked_seq() - 1;
        self.receiver.iter_mut().for_each(|r| r.tell(self.now));
        self.flush_acks_as(seq);
        self.probes += 1;
        self.probe_backoff = (self.probe_backoff + 1).min(MOST_RETRIES);
        self.set_probe_timer(info.rto);
    }

    /// It has read so many bytes.
    pub fn read(&mut self, bytes: u32) {
        self.unread -= bytes;
        if let Some(receiver) = &mut self.receiver {
            receiver.read(self.now, bytes);
        }
        self.flush_acks();
    }

    /// It sends no more: the FIN goes behind what is written (`tcp_send_fin`).
    pub fn end(&mut self) {
        if self.fin_given {
            return;
        }
        self.fin_given = true;
        self.shut.0 = true;
        self.sender.iter_mut().for_each(alone::Sender::close);
        self.state = match self.state {
            State::CloseWait => State::LastAck,
            _ => State::FinWait1,
        };
        let sent = self.sender.as_ref().map_or(0, |s| s.info().snd_nxt) as usize;
        let unsent = self.segments.len() > sent;
        match self.segments.last_mut() {
            Some(tail) if unsent => tail.fin = true,
            last => {
                let seq = last.map_or(1, |t| t.end());
                self.segments.push(Bytes { seq, payload: 0, fin: true, ends_record: false });
            }
        }
        self.release();
        self.flush_data();
    }

    /// A value of `tcp_info`; none: it is not known here.
    pub fn info(&self, name: &str) -> Option<i64> {
        if name == RECEIVE_BUFFER {
            return self.receiver.as_ref().map(|r| r.buffer().into());
        }
        let state = match self.state {
            State::Established => 1,
            State::SynSent => 2,
            State::SynReceived => 3,
            State::FinWait1 => 4,
            State::FinWait2 => 5,
            State::TimeWait => 6,
            State::Closed => 7,
            State::CloseWait => 8,
            State::LastAck => 9,
            State::Listen => 10,
            State::Closing => 11,
        };
        let i = self.sender.as_ref().map(alone::Sender::info)?;
        Some(match name.strip_prefix("tcpi_")? {
            "state" => state,
            "ca_state" => match i.ca_state {
                CaState::Open => 0,
                CaState::Disorder => 1,
                CaState::Cwr => 2,
                CaState::Recovery => 3,
                CaState::Loss => 4,
            },
            "options" => {
                i64::from(self.peer.timestamps)
                    | i64::from(self.sack) << 1
                    | i64::from(self.peer.shift != NO_SHIFT) << 2
                    | i64::from(self.ecn) << 3
            }
            "snd_wscale" if self.peer.shift != NO_SHIFT => self.peer.shift.into(),
            "rcv_wscale" => self.shift().into(),
            "snd_mss" => self.mss.into(),
            "advmss" => self.advertised().into(),
            "rcv_mss" => self.receiver.as_ref()?.full_segment().into(),
            "pmtu" => 1500,
            "snd_cwnd" => i.snd_cwnd.into(),
            "snd_ssthresh" => i.snd_ssthresh.into(),
            "unacked" => i.unacked.into(),
            "sacked" => i.sacked.into(),
            "lost" => i.lost.into(),
            "retrans" => i.retrans.into(),
            "fackets" => 0,
            "retransmits" => i.retransmits.into(),
            "probes" => self.probes.into(),
            "busy_time" => {
                [Limit::Busy, Limit::Window, Limit::SendBuffer].map(|l| self.limited_us(l)).iter().sum()
            }
            "sndbuf_limited" => self.limited_us(Limit::SendBuffer),
            "rwnd_limited" => self.limited_us(Limit::Window),
            "backoff" => (i.backoff + self.probe_backoff).into(),
            "total_retrans" => i.total_retrans as i64,
            "rto" => i.rto.into(),
            "rtt" => i.rtt.into(),
            "rttvar" => i.rttvar.into(),
            "min_rtt" => i.min_rtt?.into(),
            "reordering" => i.reordering.into(),
            "reord_seen" => i.reord_seen.into(),
            "pacing_rate" => i64::try_from(i.pacing_rate?).ok()?,
            "delivered" => i.delivered.into(),
            "delivered_ce" => i.delivered_ce.into(),
            "delivery_rate_app_limited" => i.app_limited.into(),
            "dsack_dups" => i.dsack_dups as i64,
            "snd_wnd" => self.peer.window.into(),
            "bytes_received" => self.receiver.as_ref()?.next().saturating_sub(self.ended.into()).into(),
            "bytes_acked" => i64::from(self.unacked_seq()) - 1,
            "notsent_bytes" => self.segments[i.snd_nxt as usize..].iter().map(|s| i64::from(s.payload)).sum(),
            "last_data_recv" => ((self.now - self.last_data_in) / 1_000_000) as i64,
            _ => return None,
        })
    }

    /// The machine is set otherwise.
    ///
    /// # Errors
    /// The connection has begun.
    pub fn set(&mut self, settings: &Settings) -> Result<(), Foreign> {
        if self.begun() && *settings != self.settings {
            return Err("settings that change while a connection is open".into());
        }
        self.settings = settings.clone();
        Ok(())
    }

    /// Another congestion control, before the connection is opened.
    ///
    /// # Errors
    /// It is open.
    pub fn set_control(&mut self, cca: Kind) -> Result<(), Foreign> {
        if self.begun() && cca != self.settings.cca {
            return Err("another congestion control on an open connection".into());
        }
        self.settings.cca = cca;
        Ok(())
    }

    /// The send buffer is set (`SO_SNDBUF`): twice what is asked.
    pub fn set_send_buffer(&mut self, bytes: u32) {
        // `SOCK_MIN_SNDBUF` is 4608; `net.core.wmem_max` limits what is asked, by default as `rmem_max` does.
        self.room = (bytes.min(RMEM_MAX) * 2).max(4_608);
        self.send_buffer = Some(self.room);
        self.check_space(0);
    }

    /// The receive buffer is set (`SO_RCVBUF`): twice what is asked.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        // `SOCK_MIN_RCVBUF`; `net.core.rmem_max` limits what is asked.
        let bytes = (bytes.min(RMEM_MAX) * 2).max(2_304);
        match &mut self.receiver {
            Some(receiver) => receiver.set_buffer(bytes),
            None => self.receive_buffer = Some(bytes),
        }
    }

    /// The greatest window is set (`TCP_WINDOW_CLAMP`, `tcp_set_window_clamp`). May it be?
    pub fn set_window_clamp(&mut self, bytes: u32) -> bool {
        match &mut self.receiver {
            _ if bytes == 0 && self.state != State::Closed => return false,
            Some(receiver) => receiver.set_window_clamp(bytes),
            // Half of `SOCK_MIN_RCVBUF`.
            None => self.window_clamp = if bytes == 0 { 0 } else { bytes.max(1_152) },
        }
        true
    }

    /// The greatest window as it is told (`TCP_WINDOW_CLAMP`).
    pub fn window_clamp(&self) -> u32 {
        self.receiver.as_ref().map_or(self.window_clamp, alone::Receiver::window_clamp)
    }

    /// The size of the receive buffer as it is told (`SO_RCVBUF`).
    pub fn receive_bytes(&self) -> u32 {
        match &self.receiver {
            Some(receiver) => receiver.buffer(),
            None => self.receive_room().first,
        }
    }

    /// The size of the send buffer as it is told (`SO_SNDBUF`).
    pub fn send_room(&self) -> u32 {
        match self.sender {
            Some(_) => self.room,
            None => self.send_buffer.unwrap_or(self.settings.wmem.0.clamp(0, 1 << 30) as u32),
        }
    }
}

/// No window scaling.
const NO_SHIFT: u8 = u8::MAX;

/// The receive buffer's size as `SO_MEMINFO` tells it.
pub const RECEIVE_BUFFER: &str = "SK_MEMINFO_RCVBUF";

/// What of `tcp_info` is known here, without `tcpi_`.
pub const KNOWN: [&str; 39] = [
    "sndbuf_limited",
    "busy_time",
    "rwnd_limited",
    "probes",
    "state",
    "ca_state",
    "options",
    "snd_wscale",
    "rcv_wscale",
    "snd_mss",
    "advmss",
    "rcv_mss",
    "pmtu",
    "snd_cwnd",
    "snd_ssthresh",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "fackets",
    "retransmits",
    "backoff",
    "total_retrans",
    "rto",
    "rtt",
    "rttvar",
    "min_rtt",
    "reordering",
    "reord_seen",
    "pacing_rate",
    "delivered",
    "delivered_ce",
    "delivery_rate_app_limited",
    "dsack_dups",
    "snd_wnd",
    "bytes_received",
    "bytes_acked",
    "notsent_bytes",
    "last_data_recv",
];
