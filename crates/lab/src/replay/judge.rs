//! The simulator's sender gets what the kernel's got, at the same times, and its state is compared before each acknowledgement.

use super::record::{Event, JIFFY_ZERO, JUDGED, Recording, State, WORDS, name, place};
use queuewright_cca::Kind;
use queuewright_scenario::spec::SendBuffer;
use queuewright_sim::alone::{Ack, Sender, Setup};
use serde::Serialize;

/// A state of the simulator's: what it has of the kernel's numbers.
type Known = [Option<u64>; WORDS];

/// Where the two first differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The state's number (or `sent`) that differs.
    pub what: String,
    /// Acknowledgements before.
    pub acks: usize,
    /// Time since the begin, ns.
    pub at_ns: u64,
    /// The kernel's and the simulator's.
    pub linux: u64,
    /// See `linux`.
    pub sim: u64,
}

/// How a draw went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Draw.
    pub name: String,
    /// Its congestion control.
    pub control: String,
    /// Acknowledgements compared.
    pub acks: usize,
    /// Share of them before which a number was the same, by its name.
    pub same: Vec<(String, f64)>,
    /// The simulator's mean cwnd over the kernel's.
    pub cwnd_ratio: f64,
    /// Where cwnd first differs; none: the draw is the same.
    pub cwnd: Option<Divergence>,
    /// Where anything judged first differs.
    pub first: Option<Divergence>,
}

const JIFFY_NS: u64 = 4_000_000;
/// The kernel looks at its clock so much after it hears of an acknowledgement, and works in a timer so much after it is due, at most.
const LATE_NS: u64 = 20_000;

/// And so much later it usually looks at it again to see what may go.
const USUAL_NS: u64 = 2_700;

/// Microseconds are what TCP counts in.
fn whole_us(ns: u64) -> u64 {
    ns / 1000 * 1000
}

/// The simulator's sender under a recording.
pub struct Replay<'a> {
    recording: &'a Recording,
    sender: Sender,
    /// Segments sent since the last acknowledgement.
    sent: Vec<u32>,
    linux_sent: Vec<u32>,
    began: u64,
    /// The sender's times of sending are the kernel's nanoseconds. It reckons in ns and the kernel in whole us: with an
    /// acknowledgement at the end of its microsecond both have the same round trips. Rates are of what was sent between two
    /// times of sending: for a control that has samples of it these are whole us.
    exact: bool,
}

/// What is compared before an acknowledgement.
pub struct Step<'a> {
    /// Its number.
    pub acks: usize,
    /// Since the begin, ns.
    pub at_ns: u64,
    /// The kernel's state.
    pub linux: &'a State,
    /// The simulator's.
    pub sim: Known,
    /// Segments sent since the acknowledgement before.
    pub linux_sent: &'a [u32],
    /// See `linux_sent`.
    pub sim_sent: &'a [u32],
}

impl<'a> Replay<'a> {
    /// Before anything has happened.
    ///
    /// # Errors
    /// Its draw has no such congestion control.
    pub fn new(recording: &'a Recording) -> Result<Replay<'a>, String> {
        let draw = &recording.draw;
        let cca = draw.kind().ok_or_else(|| format!("no congestion control {}", draw.control))?;
        Ok(Replay::with(recording, cca))
    }

    /// The same with another congestion control than the kernel's.
    pub fn with(recording: &'a Recording, cca: Kind) -> Replay<'a> {
        let draw = &recording.draw;
        let bytes = |n: u32| (n > 0).then_some(n);
        let send_buffer =
            SendBuffer { wmem_bytes: bytes(draw.wmem), notsent_lowat_bytes: bytes(draw.notsent_lowat) };
        let setup =
            Setup { cca, segments: Some(0), send_buffer, closes: false, ecn: draw.ecn, ..Setup::default() };
        let began = recording.events.first().map_or(0, Event::at);
        let mut sender = Sender::new(setup);
        sender.slow_writer();
        let exact = cca != Kind::Bbr;
        Replay { recording, sender, sent: Vec::new(), linux_sent: Vec::new(), began, exact }
    }

    fn sending(&self, at: u64) -> u64 {
        if self.exact { at } else { whole_us(at) }
    }

    /// All of it; `hear` is told of each acknowledgement's moment.
    pub fn run(&mut self, mut hear: impl FnMut(Step<'_>)) {
        let mut acks = 0;
        let events = &self.recording.events;
        for (i, event) in events.iter().enumerate() {
            match event {
                Event::Syn { at } => self.open(whole_us(*at)),
                Event::Plan { at, segments } => {
                    self.until(*at);
                    let segments = if *segments == 0 { u32::MAX } else { *segments };
                    let then = self.writes_at(*at, &events[i + 1..]);
                    self.sender.write(then, segments);
                    self.note_sent();
                }
                Event::Write { at, .. } => {
                    let then = self.writes_at(*at, &events[i + 1..]);
                    self.sender.write_late(then);
                    self.note_sent();
                }
                Event::Sent { at, seq, count, .. } => {
                    self.linux_sent.extend(*seq..seq + count);
                    // A timer of the kernel's fires a little late.
                    while self.linux_sent.len() > self.sent.len() {
                        let due = self.sender.next_at();
                        if due.is_none_or(|due| due > *at) {
                            break;
                        }
                        self.sender.late(self.sending(*at));
                        self.note_sent();
                        if self.sender.next_at() == due {
                            break;
                        }
                    }
                    if self.sent.contains(seq) {
                        self.sender.correct_times(*seq, *count, self.sending(*at));
                    }
                }
                Event::Ack { at, ack, before } => {
                    self.until(*at);
                    hear(Step {
                        acks,
                        at_ns: at - self.began,
                        linux: before,
                        sim: self.state(),
                        linux_sent: &self.linux_sent,
                        sim_sent: &self.sent,
                    });
                    acks += 1;
                    self.sent.clear();
                    self.linux_sent.clear();
                    let next = next_state(&events[i + 1..]);
                    if let Some(next) = next {
                        self.sender.set_random(bbr_draw(next));
                    }
                    self.sender.set_wstamp(before[place("wstamp_ns")]);
                    let then = sends_at(&events[i + 1..], before[place("snd_nxt")])
                        .filter(|then| then - at < LATE_NS)
                        .or_else(|| {
                            next.filter(|_| self.exact)
                                .and_then(|next| looked_at(*at, next[place("clock_ns")], LATE_NS))
                        })
                        .unwrap_or(*at + USUAL_NS);
                    let at = worked_in_at(*at, next) + if self.exact { 999 } else { 0 };
                    let ack = self.of_what_was_sent(ack);
                    self.sender.ack_slowly(at, then, &ack);
                    self.note_sent();
                    // The kernel's writer may not be woken here.
                    if !writes_next(&events[i + 1..]) {
                        self.sender.write_late(then);
                        self.note_sent();
                    }
                }
            }
        }
    }

    /// When what is written goes, or the kernel sees that it may not.
    fn writes_at(&self, at: u64, after: &[Event]) -> u64 {
        // Pacing may hold back what is written, and then it goes much later.
        let then = sends_at(after, 0).filter(|then| self.exact || then.saturating_sub(at) < 2 * LATE_NS);
        let seen = || next_state(after).and_then(|next| looked_at(at, next[place("clock_ns")], 2 * LATE_NS));
        self.sending(then.or_else(seen).unwrap_or(at))
    }

    /// The handshake; its round-trip time is in the first state that is known.
    fn open(&mut self, at: u64) {
        let first = self.recording.events.iter().find_map(|e| match e {
            Event::Ack { before, .. } => Some(before),
            _ => None,
        });
        let rtt_us = first.map_or(0, |before| before[place("min_rtt")]);
        self.sender.connect(at);
        self.sender.connected(at + rtt_us * 1000, 0);
        self.note_sent();
    }

    /// What is due well before a time happens: what is due just then may be late.
    fn until(&mut self, at: u64) {
        while self.sender.step(whole_us(at.saturating_sub(LATE_NS))) {
            self.note_sent();
        }
    }

    /// Where the two have parted the kernel may have sent what the simulator has not.
    fn of_what_was_sent(&self, ack: &Ack) -> Ack {
        let most = self.sender.info().snd_nxt;
        let blocks: Vec<(u32, u32)> =
            ack.blocks().iter().map(|b| (b.0.min(most), b.1.min(most))).filter(|b| b.0 < b.1).collect();
        let dsack = ack.dsack && !blocks.is_empty();
        Ack { ts: ack.ts, ece: ack.ece, dsack, ..Ack::new(ack.cum.min(most), &blocks) }
    }

    fn note_sent(&mut self) {
        let sent = self.sender.take_sent().filter(|s| !s.syn);
        self.sent.extend(sent.flat_map(|s| s.seq..s.seq + s.count));
    }

    fn state(&self) -> Known {
        let (i, x) = (self.sender.info(), self.sender.inner());
        let mut known = [None; WORDS];
        let mut set = |name: &str, value: u64| known[place(name)] = Some(value);
        let mark = |m: Option<u32>| m.map_or(0, |m| u64::from(m) + 1);
        set("cwnd", i.snd_cwnd.into());
        set("ssthresh", i.snd_ssthresh.into());
        set("ca_state", i.ca_state as u64);
        set("packets_out", i.unacked.into());
        set("sacked_out", i.sacked.into());
        set("lost_out", i.lost.into());
        set("retrans_out", i.retrans.into());
        set("pacing_rate", i.pacing_rate.unwrap_or(u64::MAX));
        set("snd_una", i.snd_una.into());
        set("snd_nxt", i.snd_nxt.into());
        set("write_seq", x.written.into());
        set("high_seq", x.high_seq.into());
        set("srtt_us", x.srtt.into());
        set("mdev_us", x.mdev.into());
        set("mdev_max_us", x.mdev_max.into());
        set("rttvar_us", x.rttvar.into());
        set("rto", i.rto.into());
        set("min_rtt", i.min_rtt.unwrap_or(u32::MAX).into());
        set("delivered", i.delivered.into());
        set("delivered_ce", i.delivered_ce.into());
        set("lost", x.lost.into());
        set("app_limited", x.app_limited.into());
        set("reordering", i.reordering.into());
        set("rack.rtt_us", x.rack_rtt.into());
        set("rack.end_seq", x.rack_end.into());
        set("rack.reo_wnd_steps", x.rack_steps.into());
        set("rack.reo_wnd_persist", x.rack_persist.into());
        set("prr_delivered", x.prr_delivered.into());
        set("prr_out", x.prr_out.into());
        set("prior_cwnd", x.prior_cwnd.into());
        set("prior_ssthresh", x.prior_ssthresh.into());
        set("undo_marker", mark(x.undo_marker));
        set("undo_retrans", u64::from(x.undo_retrans as u32));
        set("tlp_high_seq", mark(x.tlp_high_seq));
        set("frto", x.frto.into());
        set("is_cwnd_limited", x.is_cwnd_limited.into());
        set("max_packets_out", x.max_packets_out.into());
        set("cwnd_usage_seq", x.cwnd_usage_seq.into());
        set("snd_cwnd_cnt", x.cwnd_cnt.into());
        set("snd_cwnd_used", x.cwnd_used.into());
        set("pending", x.pending.into());
        if x.pending != 0 {
            // A timer fires with the jiffy after its own.
            let jiffy = (x.timer_at / JIFFY_NS) as u32;
            set("timeout", jiffy.wrapping_sub(1 + JIFFY_ZERO).into());
        }
        set("sndbuf", x.sndbuf.into());
        set("wmem_queued", x.queued.into());
        if x.written > i.snd_nxt {
            set("head_length", u64::from(x.head_end.min(x.written) - i.snd_nxt) * 1448);
        }
        set("total_retrans", i.total_retrans);
        set("dsack_dups", i.dsack_dups);
        set("wstamp_ns", x.wstamp_ns);
        known
    }
}

/// When the kernel works in an acknowledgement that it hears of at a time: it looks at its clock a little later, which the state
/// before the next one tells.
fn worked_in_at(at: u64, next: Option<&State>) -> u64 {
    let next = next.map(|next| next[place("delivered_mstamp")] * 1000);
    next.filter(|next| (at..at + LATE_NS).contains(&(next + 999))).unwrap_or(whole_us(at))
}

/// The state before the next acknowledgement.
fn next_state(after: &[Event]) -> Option<&State> {
    after.iter().find_map(|e| match e {
        Event::Ack { before, .. } => Some(&**before),
        _ => None,
    })
}

/// The kernel's last look at its clock before the next acknowledgement, if it was to see what may go after this one.
fn looked_at(at: u64, clock: u64, within: u64) -> Option<u64> {
    (at..at + within).contains(&clock).then_some(clock)
}

/// What BBR has drawn if its cycle has just begun (`bbr_reset_probe_bw_mode`): the kernel's phase tells (`cycle_idx`).
fn bbr_draw(state: &State) -> u32 {
    const PHASES: u64 = 8;
    let gains = state[WORDS - 4] >> 32;
    let back = (PHASES - (gains >> 23) % PHASES) % PHASES;
    (((back << 32) + (1 << 31)) / (PHASES - 1)).min(u32::MAX.into()) as u32
}

/// When the kernel sends new data in answer to an acknowledgement; none: it sends none.
fn sends_at(after: &[Event], snd_nxt: u64) -> Option<u64> {
    for event in after {
        match event {
            Event::Sent { at, seq, .. } if u64::from(*seq) >= snd_nxt => return Some(*at),
            Event::Sent { .. } => {}
            Event::Write { .. } if snd_nxt == 0 => {}
            _ => return None,
        }
    }
    None
}

/// Does the application write before the next acknowledgement?
fn writes_next(after: &[Event]) -> bool {
    after.iter().take_while(|e| !matches!(e, Event::Ack { .. })).any(|e| matches!(e, Event::Write { .. }))
}

/// Replays and compares.
///
/// # Errors
/// As [`Replay::new`].
pub fn judge(recording: &Recording) -> Result<Outcome, String> {
    let recording = recording.in_phase();
    Ok(compare(&recording, Replay::new(&recording)?))
}

/// Compares all of a replay.
pub fn compare(recording: &Recording, mut replay: Replay<'_>) -> Outcome {
    let mut out = Outcome {
        name: recording.draw.name.clone(),
        control: recording.draw.control.clone(),
        ..Outcome::default()
    };
    let mut same = [0usize; JUDGED];
    let (mut linux_cwnd, mut sim_cwnd) = (0, 0);
    replay.run(|step| {
        out.acks += 1;
        let differs = |i: usize| {
            let (linux, sim) = (step.linux[i], step.sim[i]?);
            (linux != sim).then(|| Divergence {
                what: name(i),
                acks: step.acks,
                at_ns: step.at_ns,
                linux,
                sim,
            })
        };
        for (i, same) in same.iter_mut().enumerate() {
            let differs = differs(i);
            *same += usize::from(differs.is_none());
            if i == 0 && out.cwnd.is_none() {
                out.cwnd.clone_from(&differs);
            }
            if out.first.is_none() {
                out.first = differs;
            }
        }
        linux_cwnd += step.linux[0];
        sim_cwnd += step.sim[0].unwrap_or(0);
    });
    let share = |n: usize| n as f64 / out.acks.max(1) as f64;
    out.same = same.iter().enumerate().map(|(i, n)| (name(i), share(*n))).collect();
    out.cwnd_ratio = sim_cwnd as f64 / linux_cwnd.max(1) as f64;
    out
}
