//! A TCP sender as Linux has it: SACK scoreboard, RACK-TLP (RFC 8985), PRR (RFC 6937),
//! RTO (RFC 6298) with back-off and F-RTO (RFC 5682), ECN (RFC 3168), pacing, TSO bursts.
//!
//! Windows and sequence numbers count segments. The names in back-quotes are those of Linux's functions.

mod ack;
pub(crate) mod buffer;
mod recovery;
mod reno;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;

use crate::info::{Info, Inner};
use crate::packet::{MAX_SACKS, MOST_TOLD, ace, flag};
use crate::scoreboard::{EVER_RETRANS, Scoreboard};
use crate::stamps::Stamps;
use queuewright_cca::{Cca, Clock, Conn, Fault, Flavour, GSO_MAX_SIZE, HZ, Hosted, Kind, RateSample, Wants};
use queuewright_scenario::spec::{SendBuffer, Stack};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// What the application writes at a time, bytes: 128 KiB, as iperf3 and the lab's do.
const WRITE_BYTES: u32 = 128 << 10;

/// Segments that may overtake one before that is thought lost, at first (`tcp_reordering`).
const REORDERING: u32 = 3;

/// What differs between TCP flavours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StackRules {
    /// Congestion controls' own differences.
    pub flavour: Flavour,
    /// TSO: bursts of several segments, and deferral until one is worth sending.
    pub tso: bool,
    /// Segments of the smallest burst (`tcp_min_tso_segs`), and the share of the window that is worth sending at once: one of so many
    /// parts (`tcp_tso_win_divisor`).
    pub min_burst: u32,
    pub burst_share: u32,
    /// Buffers that are sent one after the other may go as one burst: nobody asks which of them were one packet.
    pub joins: bool,
    /// The receiver says what arrived out of order; else its duplicates are counted (`sender/reno.rs`).
    pub sack: bool,
    /// RACK-TLP; else RFC 6675 with three duplicates, and no probe.
    pub rack: bool,
    /// Tail loss probes, with `rack` (`tcp_early_retrans`).
    pub probes: bool,
    /// Reductions that prove spurious are undone: F-RTO, DSACK, timestamps (Eifel).
    pub undo: bool,
    /// The round-trip time that congestion controls see is the smoothed one, the least as well, and the timeout is
    /// RFC 6298's; else Linux's, where the variance has a floor and falls more slowly.
    pub smoothed_rtt: bool,
    /// Loss recovery has ns-3's ways (`TcpSocketBase`, `TcpTxBuffer`, to 3.37): the "impatient" timer, which
    /// only the first partial ACK of an episode restarts (RFC 6582 section 4); a partial ACK resends one
    /// segment whatever cwnd says; a retransmission stays in flight when it is SACKed, until it is
    /// acknowledged; after an episode cwnd is ssthresh whatever the congestion control; and a delivery gives a new
    /// sample of the rate only if it was sent after that of the sample before, which else stands, with the time
    /// that has passed since (`TcpRateLinux`). After a timeout, which sends again what is still on its way, the
    /// samples are thus of single segments, and rounds last an ACK: BBR forgets its bandwidth.
    pub ns3_recovery: bool,
    /// A FIN that finds no data to go with is a segment of its own, and the peer closes, too. (ns-3's `MaxBytes` ends with FIN on the last data,
    /// and its sink stays open.)
    pub closes: bool,
    /// A window that was not used for longer than a timeout shrinks (RFC 2861).
    pub idle_restart: bool,
    /// Smallest retransmission timeout (us).
    pub rto_min_us: u32,
    /// Timers count in ticks of the kernel's clock, and how many of these a second has (`CONFIG_HZ`).
    pub ticks: bool,
    /// See `ticks`.
    pub clock: Clock,
    /// So many tries to open a connection come after the first timeout's time each; then it doubles.
    pub syn_linear: u32,
    /// Timeouts double the next one.
    pub back_off: bool,
    /// ACK every n-th full segment.
    pub ack_every: u32,
    /// Delayed ACK timer (ns); without `autotunes`.
    pub delayed_ack_ns: u64,
    /// SACKs are compressed (at most 1 ms).
    pub compress_sacks: bool,
    /// A host works in an ACK up to so much after it arrives, uniformly (ns); never more than 5 % of the
    /// base RTT. Hosts have other work. It matters to BBR, whose bandwidth filter keeps the most flattering
    /// sample, and it keeps flows from marching in step. The value is the one with which one BBR flow alone
    /// waits as long as in the lab (docs/fidelity.md).
    pub host_jitter_ns: u64,
    /// Flows of one start time begin up to so much after it (ns), as the threads of a tool do; never more than half the
    /// base RTT.
    pub start_jitter_ns: u64,
    /// Most bytes of the send buffer: `tcp_wmem[2]`, ns-3's `SndBufSize`.
    pub send_buffer: u32,
    /// Buffers are Linux's. What the sender's is made of counts beside the payload, it grows with cwnd, and a writer that
    /// found it full waits until a third of it is free (`sender/buffer.rs`). The receiver's grows with what comes, and meanwhile
    /// each segment is acknowledged at once; the delay of other acknowledgements follows the flow's rhythm (`receiver.rs`).
    /// Else all of the send buffer is payload, the writer keeps it full, and acknowledgements wait for a fixed time.
    pub autotunes: bool,
}

impl StackRules {
    /// TCP of the Linux that is in the lab.
    pub const LINUX: StackRules = StackRules {
        flavour: Flavour::LINUX,
        tso: true,
        min_burst: 2,
        burst_share: 3,
        joins: true,
        sack: true,
        rack: true,
        probes: true,
        undo: true,
        smoothed_rtt: false,
        ns3_recovery: false,
        closes: true,
        idle_restart: true,  // tcp_slow_start_after_idle
        rto_min_us: 200_000, // TCP_RTO_MIN
        ticks: true,
        clock: Clock::new(HZ as u32),
        syn_linear: 4, // tcp_syn_linear_timeouts
        back_off: true,
        ack_every: 2,
        delayed_ack_ns: 0,
        host_jitter_ns: 20_000,
        start_jitter_ns: 2_000_000,
        compress_sacks: true,
        send_buffer: 4 << 20,
        autotunes: true,
    };
    /// ns-3, to 3.37.
    pub const NS3: StackRules = StackRules {
        flavour: Flavour::NS3,
        tso: false,
        min_burst: 1,
        burst_share: 3,
        joins: true,
        sack: true,
        rack: false,
        probes: false,
        undo: false,
        smoothed_rtt: true,
        ns3_recovery: true,
        closes: false,
        idle_restart: false,
        rto_min_us: 1_000_000,
        ticks: false,
        clock: Clock::new(HZ as u32),
        syn_linear: 0,
        back_off: false,
        ack_every: 1,
        delayed_ack_ns: 200_000_000,
        host_jitter_ns: 0,
        start_jitter_ns: 0,
        compress_sacks: false,
        send_buffer: 5 << 20,
        autotunes: false,
    };

    /// A lasting copy of rules, one for all that are alike.
    pub fn kept(self) -> &'static StackRules {
        static KEPT: Mutex<Vec<&'static StackRules>> = Mutex::new(Vec::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = kept.iter().find(|k| ***k == self) {
            return same;
        }
        let made = Box::leak(Box::new(self));
        kept.push(made);
        made
    }

    /// The rules of a stack: one copy for all flows, which thus stays in the cache.
    pub fn of(stack: Stack) -> &'static StackRules {
        match stack {
            // QUIC has its own sender; its hosts are Linux's.
            Stack::Linux | Stack::Quic => &StackRules::LINUX,
            Stack::Ns3 => &StackRules::NS3,
        }
    }
}

/// Segments that go out back to back.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    /// First segment.
    pub seq: u32,
    /// How many.
    pub count: u16,
    /// `packet::flag`s.
    pub flags: u8,
}

/// An acknowledgement as it reaches the sender.
#[derive(Debug, Clone, Copy)]
pub struct AckView<'a> {
    /// Next segment expected.
    pub cum: u32,
    /// One past the last segment that the receiver's window has room for; `u32::MAX`: it never limits.
    pub window_end: u32,
    /// Echoed timestamp (ms); 0: none.
    pub ts: u32,
    /// `packet::flag`s: ECE, or ACE, and DSACK.
    pub flags: u8,
    /// Packets that were marked, where AccECN's option tells it.
    pub marked: Option<u32>,
    /// SACK blocks, newest first; with DSACK the first is the duplicate.
    pub sacks: &'a [(u32, u32)],
}

/// Which of its jobs the sender's one timer does (`icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Off,
    Rto,
    Probe,
    Reorder,
}

/// A TCP sender. With hundreds of flows each event finds its sender out of the cache, so the order of
/// the fields counts: what sending needs, then what an ACK needs, a cache line (64 bytes) each.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sender {
    conn: Conn,
    board: Scoreboard,
    rules: &'static StackRules,

    // Pacing and the access link: when it may send.
    wstamp_ns: u64,
    resume_at: u64,
    /// When the access link will have sent all that it was given (ns); set by the host.
    pub access_free_ns: u64,
    /// Time of a full segment on the access link (ns).
    access_segment_ns: u64,
    access_bps: u64,
    first_tx_ns: u64,
    segments_sent: u64,

    // What to send, and the timer that watches it.
    stop_ns: u64,
    timer_at: u64,
    /// The present tick of the kernel's clock, and when it ends (ns).
    tick_end_ns: u64,
    tick: u32,
    /// Segments to send in all; `u32::MAX`: without end.
    snd_end: u32,
    /// One past the last segment that the application has written (`write_seq`).
    written: u32,
    /// Buffers of the send queue whose segments were all sent, not all of them acknowledged.
    buffers: u32,
    /// Bytes that the send buffer may hold (`sk_sndbuf`), and for how many segments at once it has been expanded.
    sndbuf: u32,
    expanded_for: u32,
    /// And may come to hold at most (`tcp_wmem[2]`); it is written to while less than the second waits to be sent, bytes.
    wmem: u32,
    notsent_lowat: u32,
    /// What the application writes at a time, bytes; what of it is less than a segment and waits; one past the last part of a segment
    /// that was sent (`snd_sml`).
    pub write_bytes: u32,
    rest: u32,
    small_end: u32,
    /// Before so much is acknowledged the writer is not woken.
    wake_una: u32,
    /// One past the last segment that the receiver's window has room for.
    window_end: u32,
    /// One past the last segment of the first of the buffers that are not yet sent.
    head_end: u32,
    /// One past what has been pushed (`pushed_seq`), and one past the last buffer that ends with PSH for it (`tcp_mark_push`); 0: none does.
    pushed: u32,
    push_end: u32,
    /// Segments that are sent at once: GSO's most.
    max_burst: u32,
    cwnd_usage_seq: u32,
    /// Most segments outstanding since cwnd last held the sender back (`snd_cwnd_used`), and when that was
    /// (`snd_cwnd_stamp`, ticks).
    cwnd_used: u32,
    cwnd_stamp: u32,
    /// Segments that may be sent before the first acknowledgement (RFC 6928).
    initial_window: u32,
    rto_us: u32,
    high_seq: u32,
    prr_out: u32,
    undo_retrans: i32,
    /// Timestamp (ms) of the first retransmission of an episode, plus one; 0: none.
    retrans_stamp: u32,
    timer: Timer,
    samples_rate: bool,
    wants: Wants,
    established: bool,
    ecn: bool,
    /// Flags of a packet that is ECN-capable.
    ect: u8,
    queue_cwr: bool,
    /// Its receiver counts marks (AccECN).
    accurate: bool,
    /// An ACK that has these flags, of those of the mask, tells nothing of marks and duplicates; if it acknowledges no more segments than that.
    plain_flags: u8,
    plain_mask: u8,
    plain_most: u32,
    /// Marks that the option has told, and whether it was those that it last told of first (`est_ecnfield` is CE).
    ce_told: u32,
    ce_grew: bool,
    /// The application closes once it has written all.
    closes: bool,
    /// Number of the FIN, if that is a segment of its own: that of the segment behind all data, which may go with a FIN, too. `u32::MAX`: it is
    /// none.
    fin: u32,
    /// How often that was sent again.
    fin_resent: u32,
    /// What there is to send ends with a FIN, by itself or not.
    has_fin: bool,
    /// The application has more to write and found the send buffer full (`SOCK_NOSPACE`).
    full: bool,
    /// There is room for it again, and it has not yet written.
    woken: bool,
    /// It is told when it writes ([`Sender::write_late`]).
    pub slow_writer: bool,
    frto: bool,
    /// A partial ACK has restarted the timer in this episode; only with `ns3_recovery`.
    partial_acked: bool,
    tlp_outstanding: bool,
    tlp_retrans: bool,

    /// Segments marked lost and not yet sent again, rising; some may since have arrived.
    to_resend: VecDeque<u32>,
    /// One past the last segment of each of the buffers behind the first that is not yet sent.
    behind: VecDeque<u32>,
    /// (segment, time) of retransmissions, in order of time.
    retransmitted: VecDeque<(u32, u64)>,

    // RACK (RFC 8985 section 6) and what is SACKed.
    rack_tx_ns: u64,
    rack_end: u32,
    rack_rtt_us: u32,
    reordering: u32,
    /// When RACK's window was last widened (ns).
    widened_ns: u64,
    /// Below it every never-retransmitted segment is SACKed or marked lost.
    unjudged: u32,
    /// One past the highest SACKed segment.
    sacked_end: u32,
    /// SACK blocks already worked in (`recv_sack_cache`).
    sack_cache: [(u32, u32); MAX_SACKS],
    reo_wnd_steps: u8,
    reo_wnd_persist: u8,
    rack_advanced: bool,
    /// ACKs that told of segments out of order (`reord_seen`).
    reordering_seen: u32,
    dsack_seen: bool,

    // Round-trip time (RFC 6298 as Linux has it), microseconds.
    min_rtt: [(u64, u32); 3],
    mdev_us: u32,
    mdev_max_us: u32,
    rttvar_us: u32,
    rtt_seq: u32,

    // The episode of recovery, and measures.
    prior_ssthresh: u32,
    prr_delivered: u32,
    undo_marker: Option<u32>,
    /// Timeouts since the window last advanced (`icsk_retransmits`), and since the last sample of the round trip
    /// (`icsk_backoff`): what covers a segment that was sent again is none, but by timestamps.
    timeouts_in_a_row: u32,
    backoffs: u32,
    /// Tail loss probe (RFC 8985 section 7).
    tlp_high_seq: u32,
    /// Segments that a buffer of the send queue holds: as many as are sent at once, if not set otherwise by hand.
    buffer_segments: u32,
    /// The widest window that the peer has told (`max_window`), segments.
    max_window: u32,
    /// Rate that the application asks of its congestion control (bytes a second), for those that need one.
    rate: u64,
    measure_from_ns: u64,
    srtt_sum_us: u64,
    srtt_count: u64,
    retransmits: u64,
    timeouts: u64,
    /// Segments sent again, the warm-up's included.
    resent: u64,
    /// Segments that the receiver reported as duplicates.
    dsack_dups: u64,

    cca: Cca,
    kind: Kind,
    /// Of controls that want them ([`Wants::stamps`]).
    stamps: Option<Box<Stamps>>,

    /// The latest rate sample, which ns-3 keeps from one ACK to the next; only with `ns3_recovery`.
    kept_rate: RateDraft,
    syn_sent_ns: u64,
    syn_retransmits: u32,
    /// The buffer to which one that arrived was added last: its first segment, and one past its last.
    shifted: (u32, u32),
    /// The receiver has dropped what it had SACKed, as a timeout showed that is not yet over (`is_sack_reneg`).
    reneged: bool,
    /// Segments marked lost since they were last asked for; none: nobody asks.
    lost_segments: Option<Vec<u32>>,
}

/// What a sender's measurement gives at the end.
#[derive(Debug, Clone, Copy)]
pub struct SenderStats {
    /// Segments sent again after the warm-up.
    pub retransmits: u64,
    /// Segments sent again, the warm-up's included.
    pub resent: u64,
    /// Timeouts after the warm-up.
    pub timeouts: u64,
    /// Mean smoothed round-trip time after the warm-up (us).
    pub mean_srtt_us: Option<f64>,
}

/// How a sender is set up.
#[derive(Debug, Clone, Copy)]
pub struct SenderSetup {
    /// Congestion control.
    pub cca: Kind,
    /// Whose TCP it is: what one stack does and another does not.
    pub rules: &'static StackRules,
    /// Segments to send; none: without end.
    pub segments: Option<u32>,
    /// Segments that may be sent before the first acknowledgement; none: the stack's.
    pub initial_window: Option<u32>,
    /// What the application may write ahead.
    pub send_buffer: SendBuffer,
    /// Payload of a segment (bytes).
    pub mss: u32,
    /// Rate asked of a congestion control that needs one, bytes a second.
    pub rate: u64,
    /// The application closes once it has written all; else it may be asked for more.
    pub closes: bool,
    /// ECN negotiated.
    pub ecn: bool,
    /// Packets say ECT(1), not ECT(0).
    pub l4s: bool,
    /// Application stops writing (ns); `u64::MAX`: never.
    pub stop_ns: u64,
    /// Rate of the access link, bit/s; 0: unlimited.
    pub access_bps: u64,
    /// Measures start here (ns).
    pub warmup_ns: u64,
}

impl Sender {
    /// A sender that has not yet sent its SYN.
    pub fn new(s: SenderSetup) -> Sender {
        let mut conn = Conn { mss: s.mss, clock: s.rules.clock, ..Conn::default() };
        conn.cwnd = s.initial_window.unwrap_or(conn.cwnd);
        let cca = Cca::unopened(s.cca, s.rules.flavour, &mut conn);
        let samples_rate = cca.has_cong_control();
        let wants = cca.wants();
        let accurate = s.ecn && s.l4s && s.rules.autotunes;
        let mut sender = Sender {
            board: Scoreboard::new(samples_rate),
            cca,
            kind: s.cca,
            wants,
            stamps: wants.stamps.then(Box::default),
            snd_end: s.segments.unwrap_or(u32::MAX),
            stop_ns: s.stop_ns,
            written: 0,
            buffers: 0,
            sndbuf: if s.rules.autotunes { 0 } else { s.rules.send_buffer },
            expanded_for: 0,
            wmem: s.send_buffer.wmem_bytes.unwrap_or(s.rules.send_buffer),
            write_bytes: WRITE_BYTES,
            rest: 0,
            small_end: 0,
            notsent_lowat: s.send_buffer.notsent_lowat_bytes.unwrap_or(u32::MAX),
            wake_una: 0,
            // Until the first ACK it is that of the receiver's SYN, which is not scaled (RFC 7323 section 2.2).
            window_end: 65_535 / s.mss,
            pushed: 0,
            push_end: 0,
            head_end: 0,
            woken: false,
            slow_writer: false,
            full: false,
            closes: s.closes,
            fin: u32::MAX,
            fin_resent: 0,
            has_fin: false,
            buffer_segments: GSO_MAX_SIZE / s.mss,
            max_window: 65_535 / s.mss,
            behind: VecDeque::new(),
            max_burst: GSO_MAX_SIZE / s.mss,
            rules: s.rules,
            cwnd_usage_seq: 0,
            cwnd_used: 0,
            initial_window: conn.cwnd,
            cwnd_stamp: 0,
            samples_rate,
            kept_rate: RateDraft::default(),
            mdev_us: 0,
            mdev_max_us: 0,
            rttvar_us: 0,
            rtt_seq: 0,
            rto_us: 1_000_000, // RFC 6298 (2.1)
            min_rtt: [(0, u32::MAX); 3],
            srtt_sum_us: 0,
            srtt_count: 0,
            rack_tx_ns: 0,
            rack_end: 0,
            rack_rtt_us: 0,
            rack_advanced: false,
            reordering: REORDERING,
            reordering_seen: 0,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            widened_ns: 0,
            dsack_seen: false,
            unjudged: 0,
            to_resend: VecDeque::new(),
            retransmitted: VecDeque::new(),
            sacked_end: 0,
            sack_cache: [(0, 0); MAX_SACKS],
            shifted: (0, 0),
            reneged: false,
            lost_segments: None,
            high_seq: 0,
            prior_ssthresh: 0,
            prr_delivered: 0,
            prr_out: 0,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp: 0,
            frto: false,
            partial_acked: false,
            timeouts_in_a_row: 0,
            backoffs: 0,
            tlp_high_seq: 0,
            tlp_outstanding: false,
            tlp_retrans: false,
            tick_end_ns: 0,
            tick: 0,
            timer: Timer::Off,
            timer_at: u64::MAX,
            wstamp_ns: 0,
            resume_at: u64::MAX,
            first_tx_ns: 0,
            segments_sent: 0,
            established: false,
            syn_sent_ns: 0,
            syn_retransmits: 0,
            access_bps: s.access_bps,
            access_segment_ns: (u64::from(s.mss + 66) * 8_000_000_000).checked_div(s.access_bps).unwrap_or(0),
            access_free_ns: 0,
            rate: s.rate,
            ecn: s.ecn,
            ect: flag::ECT | if s.l4s { flag::ECT1 } else { 0 },
            queue_cwr: false,
            accurate: false,
            plain_flags: 0,
            plain_mask: 0,
            plain_most: 0,
            ce_told: 0,
            ce_grew: false,
            measure_from_ns: s.warmup_ns,
            retransmits: 0,
            timeouts: 0,
            resent: 0,
            dsack_dups: 0,
            conn,
        };
        sender.hears_marks(accurate);
        sender
    }

    /// Segments that are marked lost are asked for.
    pub fn keep_lost(&mut self) {
        self.lost_segments = Some(Vec::new());
    }

    /// Those marked lost since this was last asked.
    pub fn take_lost(&mut self) -> Vec<u32> {
        self.lost_segments.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Does it expect a receiver with AccECN?
    pub fn counts_marks(&self) -> bool {
        self.accurate
    }

    /// What ACKs say of marks from now on.
    pub(super) fn hears_marks(&mut self, accurate: bool) {
        self.accurate = accurate;
        self.plain_flags = if accurate { ace(0) } else { 0 };
        self.plain_mask = flag::DSACK | if accurate { flag::ACE } else { flag::ECE };
        self.plain_most = if accurate { MOST_TOLD } else { u32::MAX };
    }

    /// Does its congestion control draw at random?
    #[inline]
    pub fn draws(&self) -> bool {
        self.samples_rate
    }

    /// The connection as its congestion control sees it.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// When its timer is due; `u64::MAX`: never.
    #[inline]
    pub fn timer_at(&self) -> u64 {
        self.timer_at
    }

    /// When pacing or the access link let it send again; `u64::MAX`: it does not wait for that.
    #[inline]
    pub fn resume_at(&self) -> u64 {
        self.resume_at
    }

    /// What its congestion control has left with which no connection can go on.
    pub fn fault(&self) -> Option<Fault> {
        self.cca.hosted().and_then(Hosted::fault)
    }

    /// A variable of its congestion control, one of a user's own; NaN until that has begun (`init`).
    pub fn control_probe(&self, i: usize) -> f64 {
        let begun = self.cca.hosted().filter(|_| self.established);
        begun.map_or(f64::NAN, |hosted| hosted.probe(&self.conn, i))
    }

    /// Its congestion control.
    pub fn control(&mut self) -> &mut Cca {
        &mut self.cca
    }

    /// Its state as `tcp_get_info` tells it.
    pub fn info(&self) -> Info {
        let c = &self.conn;
        Info {
            ca_state: c.ca_state,
            snd_cwnd: c.cwnd,
            snd_ssthresh: c.ssthresh,
            unacked: c.packets_out,
            sacked: c.sacked_out,
            lost: c.lost_out,
            retrans: c.retrans_out,
            total_retrans: self.total_retrans(),
            retransmits: self.timeouts_in_a_row,
            backoff: self.backoffs,
            rto: self.rto_us,
            rtt: c.srtt_us >> 3,
            rttvar: self.mdev_us >> 2,
            min_rtt: (c.min_rtt_us != u32::MAX).then_some(c.min_rtt_us),
            reordering: self.reordering,
            reord_seen: self.reordering_seen,
            pacing_rate: (c.pacing_rate != u64::MAX).then_some(c.pacing_rate),
            delivered: c.delivered,
            delivered_ce: c.delivered_ce,
            app_limited: c.app_limited != 0,
            dsack_dups: self.dsack_dups,
            snd_una: c.snd_una,
            snd_nxt: c.snd_nxt,
            notsent: self.written - c.snd_nxt,
            syn_sent_ns: self.syn_sent_ns,
            syn_retransmits: self.syn_retransmits,
        }
    }

    /// Segments sent again, the SYN among them (`total_retrans`).
    fn total_retrans(&self) -> u64 {
        self.resent + u64::from(self.syn_retransmits)
    }

    /// From now on the application closes once it has written all.
    pub fn close(&mut self) {
        self.closes = true;
    }

    /// What there is to send ends with a FIN, if the stack sends one.
    pub fn ends_with_fin(&mut self) {
        if self.rules.closes {
            self.fin = self.snd_end;
            self.has_fin = true;
        }
    }

    /// Does what there is to send end with a FIN?
    pub fn has_fin(&self) -> bool {
        self.has_fin
    }

    /// Does its FIN go by itself, behind all data? That is settled once they have been written.
    pub fn has_fin_apart(&self) -> bool {
        self.fin != u32::MAX
    }

    /// Segments with data that were sent again.
    pub fn data_resent(&self) -> u64 {
        self.resent - u64::from(self.fin_resent)
    }

    /// First unacknowledged segment.
    #[inline]
    pub fn una(&self) -> u32 {
        self.conn.snd_una
    }

    /// How often the SYN was sent again.
    pub fn syn_retransmits(&self) -> u32 {
        self.syn_retransmits
    }

    /// The segment behind all that the application has written.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// The segment behind all that it was given to write.
    pub fn end(&self) -> u32 {
        self.snd_end
    }

    /// It asks nothing about an acknowledgement's age, as ns-3.
    #[inline]
    pub fn takes_any_ack(&self) -> bool {
        self.rules.ns3_recovery
    }

    /// By so much (ms) may an acknowledgement be older than another and still repeat what was acknowledged last: a timeout of a clock of
    /// 1,200 ticks a second (`tcp_tsval_replay`).
    #[cold]
    pub fn replay_ms(&self) -> u32 {
        (u64::from(self.rto_us) * 12 / 10_000) as u32
    }

    /// Sets one past the last segment that the receiver's window has room for.
    pub fn set_window(&mut self, end: u32) {
        self.window_end = end;
    }

    /// Sets what a connection has that is driven by hand: how many segments the receiver's first window has room for, how many a
    /// buffer holds, and how many bytes the send buffer.
    pub fn set_limits(&mut self, window: u32, buffer: u32, send_buffer: u32) {
        self.window_end = self.conn.snd_una.saturating_add(window);
        self.max_window = window;
        self.max_burst = buffer.clamp(1, GSO_MAX_SIZE / self.conn.mss.max(1));
        self.buffer_segments = self.max_burst;
        (self.sndbuf, self.expanded_for) = (send_buffer, 0);
    }

    /// It spaces out what it sends from now on.
    pub fn space_out(&mut self) {
        self.conn.pacing = true;
    }

    /// Buffers that are begun from now on hold so many segments, whatever the peer's first window; pushes are forced by who writes.
    pub fn set_buffer(&mut self, segments: u32) {
        self.max_window = u32::MAX;
        self.buffer_segments = segments.clamp(1, self.max_burst);
    }

    /// These segments, of which the sender believes that they went out at one time, went out a little later: a host works on.
    pub fn correct_times(&mut self, first: u32, count: u32, at: u64) {
        let end = (first + count).min(self.conn.snd_nxt);
        for seq in first.max(self.conn.snd_una)..end {
            if self.board.flags(seq) & EVER_RETRANS == 0 {
                self.board.correct(seq, at);
                self.conn.last_send_ns = self.conn.last_send_ns.max(at);
                self.wstamp_ns = self.wstamp_ns.max(at);
            }
        }
    }

    /// Pacing waits until then (`tcp_wstamp_ns`), if the sender believes the same but for two microseconds.
    pub fn set_wstamp(&mut self, at: u64) {
        if self.wstamp_ns.abs_diff(at) < 2000 {
            if self.resume_at == self.wstamp_ns {
                self.resume_at = at;
            }
            self.wstamp_ns = at;
            self.conn.edt_ns = at;
        }
    }

    /// The rest of its state, by the names of `struct tcp_sock`.
    pub fn inner(&self) -> Inner {
        Inner {
            written: self.written,
            high_seq: self.high_seq,
            cwnd_cnt: self.conn.cwnd_cnt,
            prior_cwnd: self.conn.prior_cwnd,
            prior_ssthresh: self.prior_ssthresh,
            prr_delivered: self.prr_delivered,
            prr_out: self.prr_out,
            srtt: self.conn.srtt_us,
            mdev: self.mdev_us,
            mdev_max: self.mdev_max_us,
            rttvar: self.rttvar_us,
            lost: self.conn.lost,
            app_limited: self.conn.app_limited,
            rack_rtt: self.rack_rtt_us,
            rack_end: self.rack_end,
            rack_steps: self.reo_wnd_steps.into(),
            rack_persist: self.reo_wnd_persist.into(),
            undo_marker: self.undo_marker,
            undo_retrans: self.undo_retrans,
            retrans_stamp: self.retrans_stamp,
            tlp_high_seq: self.tlp_outstanding.then_some(self.tlp_high_seq),
            tlp_retrans: self.tlp_retrans,
            frto: self.frto,
            is_cwnd_limited: self.conn.is_cwnd_limited,
            max_packets_out: self.conn.max_packets_out,
            cwnd_usage_seq: self.cwnd_usage_seq,
            cwnd_used: self.cwnd_used,
            sndbuf: self.sndbuf,
            queued: self.queued(),
            head_end: self.head_end,
            timer_at: self.timer_at,
            pending: match self.timer {
                Timer::Off => 0,
                Timer::Rto => 1,
                Timer::Reorder => 6,
                Timer::Probe => 5,
            },
            wstamp_ns: self.wstamp_ns,
        }
    }

    /// Measures since the warm-up.
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            retransmits: self.retransmits,
            resent: self.resent,
            timeouts: self.timeouts,
            mean_srtt_us: (self.srtt_count > 0)
                .then(|| self.srtt_sum_us as f64 / self.srtt_count as f64 / 8.0),
        }
    }

    /// Is the scoreboard free of anything but plain segments in flight?
    #[inline]
    fn plain(&self) -> bool {
        self.conn.sacked_out | self.conn.lost_out | self.conn.retrans_out == 0
    }
}

/// What an ACK brought (`FLAG_*`).
#[derive(Debug, Clone, Copy, Default)]
struct AckFlags {
    una_advanced: bool,
    data_acked: bool,
    data_sacked: bool,
    retrans_data_acked: bool,
    orig_sack_acked: bool,
    lost_retrans: bool,
    /// The oldest segment that is left had been SACKed.
    reneges: bool,
    dsack: bool,
    /// It is of a tail loss probe.
    dsack_tlp: bool,
    /// It says that such a probe has repaired a loss.
    tlp_repaired: bool,
    /// It may count as a duplicate.
    duplicate: bool,
    ece: bool,
    set_timer: bool,
    /// When the first and last never-retransmitted segments acknowledged were sent (ns); 0: none.
    first_acked_ns: u64,
    last_acked_ns: u64,
    /// The same of those that this ACK was the first to SACK.
    first_sacked_ns: u64,
    last_sacked_ns: u64,
    /// When the youngest of all that this ACK says is delivered was last sent (ns); 0: it says so of none.
    newest_ns: u64,
}

/// What to do after the ACK is worked in (`REXMIT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resend {
    None,
    Lost,
    New,
}

/// A rate sample under way: which segment it stands on.
#[derive(Debug, Clone, Copy, Default)]
struct RateDraft {
    sample: RateSample,
    last_end: u32,
    snd_interval_ns: u64,
    /// What was lost and marked when the segment was sent.
    prior_lost: u32,
    prior_delivered_ce: u32,
}
