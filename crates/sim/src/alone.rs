//! One end of a connection alone, driven by hand in virtual time: who calls makes the other end.
//!
//! [`Sender`] and [`Receiver`] are the simulator's own, with Linux's rules; nothing of the network is here. Times are in ns since
//! any moment, and never go back. Sequence numbers and windows count segments, from 0;
//! a receiver's can count bytes.

pub use crate::info::{Info, Inner};
pub use crate::jiffies::timestamp;
use crate::packet::{MAX_SACKS, flag};
pub use crate::receiver::Echo;
pub use crate::room::{Device, RMEM_MAX, ReceiveBuffer};
pub use crate::segment::{Ack, Dropped, Segment};
use crate::sender::buffer::{self, BUFFER_BYTES};
use crate::sender::{AckView, Burst, SenderSetup, StackRules};
use crate::socket::Socket;
use crate::{receiver, sender};
use queuewright_cca::{Cca, Kind};
pub use queuewright_cca::{Clock, HZ};
use queuewright_scenario::packet::MSS;
use queuewright_scenario::spec::{RMEM_BYTES, SendBuffer};

/// How a sender is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Congestion control.
    pub cca: Kind,
    /// Segments that there are to send at first; none: without end.
    pub segments: Option<u32>,
    /// Segments that may be sent before the first acknowledgement; none: ten.
    pub initial_window: Option<u32>,
    /// What its application may write ahead.
    pub send_buffer: SendBuffer,
    /// Payload of a segment (bytes).
    pub mss: u32,
    /// The application closes once it has written all.
    pub closes: bool,
    /// ECN is negotiated.
    pub ecn: bool,
    /// What of the stack is set otherwise than Linux has it by default.
    pub tuned: Sysctls,
}

/// What can be set of a stack: Linux's sysctls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sysctls {
    /// `tcp_slow_start_after_idle`
    pub idle_restart: bool,
    /// `tcp_min_tso_segs`
    pub min_tso_segs: u32,
    /// `tcp_tso_win_divisor`, above 0.
    pub tso_win_divisor: u32,
    /// Tail loss probes (`tcp_early_retrans`).
    pub probes: bool,
    /// SACK is negotiated.
    pub sack: bool,
    /// What is sent is spaced out whatever the congestion control, as a host with the fq qdisc does.
    pub paced: bool,
    /// Ticks of the kernel's clock a second (`CONFIG_HZ`).
    pub hz: u32,
}

impl Default for Sysctls {
    fn default() -> Sysctls {
        Sysctls {
            idle_restart: true,
            min_tso_segs: 2,
            tso_win_divisor: 3,
            probes: true,
            sack: true,
            paced: false,
            hz: HZ as u32,
        }
    }
}

impl Sysctls {
    /// Linux's rules with these. Each packet is one burst.
    fn rules(self) -> &'static StackRules {
        let rules = StackRules {
            idle_restart: self.idle_restart,
            min_burst: self.min_tso_segs,
            burst_share: self.tso_win_divisor.max(1),
            // `tcp_schedule_loss_probe` asks for SACK.
            probes: self.probes && self.sack,
            sack: self.sack,
            joins: false,
            clock: Clock::new(self.hz),
            ..StackRules::LINUX
        };
        rules.kept()
    }
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            cca: Kind::Cubic,
            segments: None,
            initial_window: None,
            send_buffer: SendBuffer::default(),
            mss: MSS,
            closes: true,
            ecn: false,
            tuned: Sysctls::default(),
        }
    }
}

/// Segments that a sender let go at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When (ns).
    pub at: u64,
    /// First segment.
    pub seq: u32,
    /// How many: of one packet as the kernel builds it (TSO).
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

/// What a buffer of the send queue takes of memory beside its payload (bytes), and what autotuning allows for a segment of so much
/// payload.
pub const SEND_OVERHEAD: u32 = BUFFER_BYTES;

/// See [`SEND_OVERHEAD`].
pub fn segment_bytes(mss: u32) -> u32 {
    buffer::segment_bytes(mss)
}

/// A sender alone.
#[derive(Debug)]
pub struct Sender {
    pub(crate) sender: sender::Sender,
    pub(crate) now: u64,
    pub(crate) out: Vec<Burst>,
    random: u32,
    paced: bool,
}

impl Sender {
    /// One that has not begun.
    pub fn new(setup: Setup) -> Sender {
        let paced = setup.tuned.paced;
        let setup = SenderSetup {
            cca: setup.cca,
            rules: setup.tuned.rules(),
            segments: setup.segments,
            initial_window: setup.initial_window,
            send_buffer: setup.send_buffer,
            mss: setup.mss,
            rate: 0,
            closes: setup.closes,
            ecn: setup.ecn,
            l4s: false,
            stop_ns: u64::MAX,
            access_bps: 0,
            warmup_ns: 0,
        };
        let mut sender = sender::Sender::new(setup);
        // Who calls writes whole segments.
        sender.write_bytes -= sender.write_bytes % setup.mss;
        Sender { sender, now: 0, out: Vec::new(), random: 0, paced }
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

    /// How many segments the receiver's first window has room for, how many a buffer holds, and how many bytes the send buffer, if
    /// not what a connection through Linux's has.
    pub fn set_limits(&mut self, window: u32, buffer: u32, send_buffer: u32) {
        self.sender.set_limits(window, buffer, send_buffer);
    }

    /// Buffers that are begun from now on hold so many segments, at most what a buffer can.
    pub fn set_buffer(&mut self, segments: u32) {
        self.sender.set_buffer(segments);
    }

    /// Buffers that hold what is written and not acknowledged (`sk_buff`).
    pub fn buffers(&self) -> u32 {
        self.sender.all_buffers()
    }

    /// The receiver's window is another, and there is something to send: a connection that was idle begins anew
    /// (`tcp_ack_update_window`).
    pub fn window_changed(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.sender.restart_after_idle(self.now);
    }

    /// From now on the application closes once it has written all.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// The receiver's window is known to have room up to there (one past the last segment).
    pub fn set_window(&mut self, end: u32) {
        self.sender.set_window(end);
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
        if self.paced {
            self.sender.space_out();
        }
    }

    /// The application writes so many segments more.
    pub fn write(&mut self, at: u64, segments: u32) {
        self.now = self.now.max(at);
        self.sender.write(self.now, segments, &mut self.out);
    }

    /// So many segments more fill a buffer of a write that goes on (`tcp_push_one`).
    pub fn write_on(&mut self, at: u64, segments: u32) {
        self.now = self.now.max(at);
        self.sender.write_on(self.now, segments, &mut self.out);
    }

    /// What was written is to go (`__tcp_push_pending_frames`).
    pub fn push(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.sender.push(self.now, &mut self.out);
    }

    /// An acknowledgement comes.
    pub fn ack(&mut self, at: u64, ack: &Ack) {
        self.ack_slowly(at, at, ack);
    }

    /// An acknowledgement comes to a host that gets to sending new data only at `then`; within the same microsecond that may be
    /// before `at`.
    pub fn ack_slowly(&mut self, at: u64, then: u64, ack: &Ack) {
        let at = self.now.max(at);
        self.now = self.now.max(then);
        let flags = if ack.ece { flag::ECE } else { 0 } | if ack.dsack { flag::DSACK } else { 0 };
        let flags = flags | if ack.duplicate { flag::DUPLICATE } else { 0 };
        let view = AckView {
            cum: ack.cum,
            window_end: ack.window_end,
            ts: ack.ts,
            flags,
            marked: None,
            sacks: ack.blocks(),
        };
        self.sender.on_ack_slowly(at, self.now, view, self.random, &mut self.out);
    }

    /// The next of what is due by `to` (ns) happens: did any?
    pub fn step(&mut self, to: u64) -> bool {
        let Some(at) = self.next_at().filter(|&at| at <= to) else { return false };
        self.late(at);
        true
    }

    /// The next of what is due happens at `at`, late or not: the host had other work.
    pub fn late(&mut self, at: u64) {
        let at = at.max(self.now);
        self.now = at;
        if self.sender.resume_at() <= at && self.sender.resume_at() <= self.sender.timer_at() {
            self.sender.on_resume(at, &mut self.out);
        } else if self.sender.timer_at() <= at {
            self.sender.on_timer(at, &mut self.out);
        }
    }

    /// The application writes only when [it is told](Sender::write_late), not as soon as there is room.
    pub fn slow_writer(&mut self) {
        self.sender.slow_writer = true;
    }

    /// An application that waited for room in the send buffer, and has it, writes.
    pub fn write_late(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.sender.write_late(self.now, &mut self.out);
    }

    /// New segments that it has just sent went out at `at`, a little later than it believes.
    pub fn correct_times(&mut self, first: u32, count: u32, at: u64) {
        self.sender.correct_times(first, count, at);
    }

    /// The next segment may go from then on, if that is what it believes but for two microseconds.
    pub fn set_wstamp(&mut self, at: u64) {
        self.sender.set_wstamp(at);
    }

    /// What of its state `tcp_info` does not tell.
    pub fn inner(&self) -> Inner {
        self.sender.inner()
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

/// A receiver alone: of whole segments, with an application that reads at once, as the simulator's runs have it; or [`of
/// bytes`](Receiver::of_bytes).
#[derive(Debug)]
pub struct Receiver {
    end: End,
    out: Vec<(u64, Ack)>,
}

#[derive(Debug)]
enum End {
    Segments(Box<receiver::Receiver>),
    Bytes(Box<Socket>),
}

/// What a buffer for a segment takes of memory beside its payload (bytes), on the veth devices of the lab.
pub const OVERHEAD: u32 = receiver::OVERHEAD;

impl Receiver {
    /// A receiver of a path with that round-trip time (ns), which counts segments; a segment's buffer takes so many bytes beside the payload.
    pub fn new(rtt_ns: u64, echo: Echo, overhead: u32) -> Receiver {
        let receiver = receiver::Receiver::new(&StackRules::LINUX, rtt_ns, echo, overhead, RMEM_BYTES);
        Receiver { end: End::Segments(Box::new(receiver)), out: Vec::new() }
    }

    /// One that counts bytes, learns what a full segment has, and is told what the application [reads](Receiver::read). Its connection
    /// opens at `at`; a segment's buffer takes so many bytes beside the payload.
    pub fn of_bytes(at: u64, rtt_ns: u64, echo: Echo, overhead: u32) -> Receiver {
        let device = Device::Beside(overhead);
        Receiver::in_room(at, rtt_ns, echo, device, ReceiveBuffer::default())
    }

    /// The same with a device and a buffer of its own.
    pub fn in_room(at: u64, rtt_ns: u64, echo: Echo, device: Device, room: ReceiveBuffer) -> Receiver {
        let socket = Socket::new(at, rtt_ns, echo, device, room);
        Receiver { end: End::Bytes(Box::new(socket)), out: Vec::new() }
    }

    /// When a timer of its is due that may send (ns).
    pub fn next_at(&self) -> Option<u64> {
        let at = match &self.end {
            End::Segments(receiver) => receiver.ack_at(),
            End::Bytes(socket) => socket.next_at(),
        };
        Some(at).filter(|&at| at != u64::MAX)
    }

    /// What waits goes out, if it is due by `to` (ns).
    pub fn run_to(&mut self, to: u64) {
        match &mut self.end {
            End::Segments(receiver) => {
                if let Some(ack) = receiver.due(to) {
                    self.out.push(told(receiver, ack));
                }
            }
            End::Bytes(socket) => while socket.step(to) {},
        }
    }

    /// The application wants a buffer of so many bytes (`SO_RCVBUF`, doubled). Only where bytes are counted.
    pub fn set_buffer(&mut self, bytes: u32) {
        if let End::Bytes(socket) = &mut self.end {
            socket.set_buffer(bytes);
        }
    }

    /// The application wants a window of so many bytes at most, above 0 (`TCP_WINDOW_CLAMP`). Only where bytes are counted.
    pub fn set_window_clamp(&mut self, bytes: u32) {
        if let End::Bytes(socket) = &mut self.end {
            socket.set_window_clamp(bytes);
        }
    }

    /// The greatest window that there may be (`TCP_WINDOW_CLAMP`); 0 where segments are counted.
    pub fn window_clamp(&self) -> u32 {
        match &self.end {
            End::Segments(_) => 0,
            End::Bytes(socket) => socket.window_clamp(),
        }
    }

    /// Its host's clock has so many ticks a second (`CONFIG_HZ`); before anything comes. Only where bytes are counted.
    pub fn set_ticks(&mut self, hz: u32) {
        if let End::Bytes(socket) = &mut self.end {
            socket.set_clock(Clock::new(hz));
        }
    }

    /// Has its application accepted the connection? It has, if not told otherwise. Only where bytes are counted.
    pub fn set_accepted(&mut self, accepted: bool) {
        if let End::Bytes(socket) = &mut self.end {
            socket.accepted = accepted;
        }
    }

    /// Its window may become smaller (`tcp_shrink_window`). Only where bytes are counted.
    pub fn may_shrink(&mut self) {
        if let End::Bytes(socket) = &mut self.end {
            socket.shrinks = true;
        }
    }

    /// How many segments it did not take; none where segments are counted.
    pub fn dropped(&self) -> Dropped {
        match &self.end {
            End::Segments(_) => Dropped::default(),
            End::Bytes(socket) => socket.dropped,
        }
    }

    /// One past the furthest unit that it ever offered room for, or that came.
    pub fn room_to(&self) -> u32 {
        match &self.end {
            End::Segments(receiver) => receiver.rcv_nxt,
            End::Bytes(socket) => socket.room_to(),
        }
    }

    /// One past the furthest unit that its SACK blocks tell of.
    pub fn sacked_to(&self) -> Option<u32> {
        match &self.end {
            End::Segments(receiver) => receiver.blocks().iter().map(|b| b.1).max(),
            End::Bytes(socket) => socket.sacked_to(),
        }
    }

    /// SACK was not negotiated. Only where bytes are counted.
    pub fn without_sack(&mut self) {
        if let End::Bytes(socket) = &mut self.end {
            socket.sack = false;
        }
    }

    /// The last timestamp of the handshake.
    pub fn heard(&mut self, ts: u32) {
        if let End::Bytes(socket) = &mut self.end {
            socket.heard(ts);
        }
    }

    /// A segment comes at a time (ns) up to which it has [run](Receiver::run_to). `of`: so many bytes have the segments that it is
    /// put together of, if it is of several.
    pub fn segment(&mut self, at: u64, segment: Segment, of: Option<u32>) {
        if segment.len == 0 {
            return;
        }
        let receiver = match &mut self.end {
            End::Segments(receiver) => receiver,
            End::Bytes(socket) => return socket.segment(at, segment, of),
        };
        let bit = |on, bit| if on { bit } else { 0 };
        let flags = bit(segment.ect, flag::ECT)
            | bit(segment.ce, flag::CE)
            | bit(segment.cwr, flag::CWR)
            | bit(segment.push, flag::PUSH);
        let range = (segment.seq, segment.seq.saturating_add(segment.len));
        if receiver.goes_first(at, range, segment.ts, flags) {
            let ack = receiver.flush(at);
            self.out.push(told(receiver, ack));
        }
        if let Some(ack) = receiver.on_data(at, range, segment.ts, segment.echo.unwrap_or(0), flags) {
            self.out.push(told(receiver, ack));
        }
    }

    /// The application reads so many bytes; of whole segments it has read all.
    pub fn read(&mut self, at: u64, bytes: u32) {
        if let End::Bytes(socket) = &mut self.end {
            socket.read(at, bytes);
        }
    }

    /// Data of this end's go out at `at`, and say what this acknowledgement says.
    pub fn answer(&mut self, at: u64) -> Ack {
        match &mut self.end {
            End::Segments(receiver) => {
                let ack = receiver.answers(at);
                told(receiver, ack).1
            }
            End::Bytes(socket) => socket.answer(at),
        }
    }

    /// An acknowledgement goes out at once.
    pub fn tell(&mut self, at: u64) {
        match &mut self.end {
            End::Segments(receiver) => {
                let ack = receiver.tell(at);
                self.out.push(told(receiver, ack));
            }
            End::Bytes(socket) => socket.tell(at),
        }
    }

    /// Next unit expected.
    pub fn next(&self) -> u32 {
        match &self.end {
            End::Segments(receiver) => receiver.rcv_nxt,
            End::Bytes(socket) => socket.rcv_nxt,
        }
    }

    /// What it has acknowledged.
    pub fn acked(&self) -> u32 {
        match &self.end {
            End::Segments(receiver) => receiver.acked(),
            End::Bytes(socket) => socket.rcv_wup,
        }
    }

    /// Bytes that its buffer may hold.
    pub fn buffer(&self) -> u32 {
        match &self.end {
            End::Segments(_) => RMEM_BYTES,
            End::Bytes(socket) => socket.rcvbuf,
        }
    }

    /// Bytes that it would tell its window has now, if there is room for them in the buffer (`rcv_ssthresh`).
    pub fn window(&self) -> u32 {
        match &self.end {
            End::Segments(receiver) => receiver.window(),
            End::Bytes(socket) => socket.rcv_ssthresh,
        }
    }

    /// It is open since `at` (ns).
    #[cfg(test)]
    pub fn begins(&mut self, at: i64) {
        if let End::Segments(receiver) = &mut self.end {
            receiver.begins(at);
        }
    }

    /// The round trip as it sees it (us; 0: not known), and most bytes read in one.
    #[cfg(test)]
    pub fn measured(&self) -> (u64, u32) {
        match &self.end {
            End::Segments(receiver) => receiver.measured(),
            End::Bytes(socket) => socket.measured(),
        }
    }

    /// What has been taken for the length of a full segment (`tcpi_rcv_mss`).
    pub fn full_segment(&self) -> u32 {
        match &self.end {
            End::Segments(_) => MSS,
            End::Bytes(socket) => socket.rcv_mss,
        }
    }

    /// The acknowledgements made since it was last asked, and when.
    pub fn take_acks(&mut self) -> impl Iterator<Item = (u64, Ack)> + '_ {
        match &mut self.end {
            End::Segments(_) => self.out.drain(..),
            End::Bytes(socket) => socket.take(),
        }
    }
}

fn told(receiver: &receiver::Receiver, out: receiver::AckOut) -> (u64, Ack) {
    let mut ack = Ack {
        ts: out.ts,
        ece: receiver.echo() != Echo::Accurate && out.flags & flag::ECE != 0,
        marked: out.marked,
        window_end: out.window_end,
        ..Ack::new(out.cum, &[])
    };
    ack.dsack = out.dsack.is_some();
    for &block in out.dsack.iter().chain(receiver.blocks()).take(MAX_SACKS + 1) {
        ack.blocks[ack.count] = block;
        ack.count += 1;
    }
    (out.at, ack)
}
