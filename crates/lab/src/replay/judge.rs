//! The simulator's sender gets what the kernel's got, at the same times, and its state is compared before each acknowledgement.

use super::record::{Event, JIFFY_ZERO, JUDGED, Recording, State, WORDS, name, place};
use queuewright_cca::Kind;
use queuewright_scenario::packet::MSS;
use queuewright_scenario::spec::SendBuffer;
use queuewright_sim::alone::{Ack, Sender, Setup};
use serde::Serialize;

/// A state of the simulator's: what it has of the kernel's numbers.
type PartialState = [Option<u64>; WORDS];

/// Where the two first differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The number (or `sent`) that differs.
    pub what: String,
    /// Acknowledgements before.
    pub acks: usize,
    /// Time since the begin, ns.
    pub at_ns: u64,
    /// The kernel's and the simulator's.
    pub linux: u64,
    /// See `linux`.
    pub sim: u64,
    /// Both states before the acknowledgement before, and before this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<Moment>,
}

/// Both states before an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// Its number.
    pub acks: usize,
    /// Time since the begin, ns.
    pub at_ns: u64,
    /// What both know of the state: name, the kernel's value, the simulator's.
    pub numbers: Vec<(&'static str, u64, u64)>,
    /// Segments that the kernel has sent since the acknowledgement before.
    pub linux_sent: Vec<u32>,
    /// And the simulator.
    pub sim_sent: Vec<u32>,
}

impl Moment {
    fn of(step: &AckComparison<'_>) -> Moment {
        let numbers = (0..WORDS).filter_map(|i| Some((name(i), step.linux[i], step.sim[i]?))).collect();
        let (acks, at_ns) = (step.acks, step.at_ns);
        Moment { acks, at_ns, numbers, linux_sent: step.linux_sent.into(), sim_sent: step.sim_sent.into() }
    }

    /// The numbers that are not the same.
    pub fn other(&self) -> impl Iterator<Item = &(&'static str, u64, u64)> {
        self.numbers.iter().filter(|(_, linux, sim)| linux != sim)
    }
}

/// How a draw went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the draw: `SEED-NUMBER`.
    pub name: String,
    /// Its congestion control.
    pub control: String,
    /// Acknowledgements compared.
    pub acks: usize,
    /// Share of them before which a number was the same, by its name.
    pub same: Vec<(String, f64)>,
    /// The simulator's mean cwnd over the kernel's.
    pub cwnd_ratio: f64,
    /// Where cwnd first differs.
    pub cwnd: Option<Divergence>,
    /// Where anything judged first differs; none: the draw is the same.
    pub first: Option<Divergence>,
    /// It differs, and would not if the host had been so much later or earlier at these acknowledgements.
    pub rounding: Option<Vec<TimingShift>>,
}

/// How a draw went, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// All that is judged is the same to the last acknowledgement.
    Same,
    /// It is but for times of the host's work that the recording does not tell, each off by 20 us at most.
    Rounding,
    /// It is not.
    Other,
}

impl Outcome {
    /// How it went.
    pub fn class(&self) -> Class {
        match (&self.first, &self.rounding) {
            (None, _) => Class::Same,
            (_, Some(_)) => Class::Rounding,
            _ => Class::Other,
        }
    }
}

/// What of a host's work may be a little late or early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// An acknowledgement is worked in.
    Ack,
    /// The sender looks for what may go after it.
    Send,
    /// Timers are looked at before it.
    Timer,
    /// The application writes before it.
    Write,
}

/// A host's work is at another time than the recording makes it likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TimingShift {
    /// At the acknowledgement with this number.
    pub acks: usize,
    /// What.
    pub work: Work,
    /// By so much later (ns); below 0: earlier.
    pub ns: i64,
}

/// Nudges that are tried, shortest first: what the kernel takes for a piece of work.
const NUDGES_NS: [i64; 6] = [1_000, 2_000, 3_000, 5_000, 10_000, LATE_NS as i64];
/// A draw that needs more of them is not explained by them.
const MOST_NUDGES: usize = 8;
/// So many acknowledgements before two states part, or their timers, the cause may lie.
const BACK: usize = 8;

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
    /// When the kernel last sent each segment.
    linux_sent_at: Vec<u64>,
    nudges: Vec<TimingShift>,
    /// When the acknowledgement before was worked in: none is worked in sooner than that.
    worked_at: u64,
}

/// Both sides before an acknowledgement, to be compared.
pub struct AckComparison<'a> {
    /// Its number.
    pub acks: usize,
    /// Since the begin, ns.
    pub at_ns: u64,
    /// The kernel's state.
    pub linux: &'a State,
    /// The simulator's.
    pub sim: PartialState,
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
        Replay {
            recording,
            sender,
            sent: Vec::new(),
            linux_sent: Vec::new(),
            began,
            exact,
            linux_sent_at: Vec::new(),
            nudges: Vec::new(),
            worked_at: 0,
        }
    }

    /// The same, with these times moved.
    pub fn nudged(self, nudges: &[TimingShift]) -> Replay<'a> {
        Replay { nudges: nudges.into(), ..self }
    }

    fn moved(&self, acks: usize, work: Work, at: u64) -> u64 {
        let asked = self.nudges.iter().filter(|n| n.acks == acks && n.work == work);
        asked.fold(at, |at, n| at.saturating_add_signed(n.ns))
    }

    fn sending(&self, at: u64) -> u64 {
        if self.exact { at } else { whole_us(at) }
    }

    /// All of it; `hear` is told of each acknowledgement's moment, and ends it by saying no.
    pub fn run(&mut self, mut hear: impl FnMut(AckComparison<'_>) -> bool) {
        let mut acks = 0;
        let events = &self.recording.events;
        for (i, event) in events.iter().enumerate() {
            match event {
                Event::Syn { at } => self.open(whole_us(*at)),
                Event::Plan { at, segments } => {
                    self.until(*at);
                    let segments = if *segments == 0 { u32::MAX } else { *segments };
                    let then = self.moved(acks, Work::Write, self.writes_at(*at, &events[i + 1..]));
                    self.sender.write(then, segments);
                    self.note_sent();
                }
                Event::Write { at, .. } => {
                    let then = self.moved(acks, Work::Write, self.writes_at(*at, &events[i + 1..]));
                    self.sender.write_late(then);
                    self.note_sent();
                }
                Event::Sent { at, seq, count, .. } => {
                    self.linux_sent.extend(*seq..seq + count);
                    let end = (seq + count) as usize;
                    self.linux_sent_at.resize(self.linux_sent_at.len().max(end), 0);
                    self.linux_sent_at[*seq as usize..end].fill(*at);
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
                    self.until(self.moved(acks, Work::Timer, *at));
                    let on = hear(AckComparison {
                        acks,
                        at_ns: at - self.began,
                        linux: before,
                        sim: self.state(),
                        linux_sent: &self.linux_sent,
                        sim_sent: &self.sent,
                    });
                    if !on {
                        return;
                    }
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
                            // What is written after it is looked at again.
                            next.filter(|_| self.exact && !writes_next(&events[i + 1..]))
                                .and_then(|next| looked_at(*at, next[place("clock_ns")], LATE_NS))
                        })
                        .unwrap_or(*at + USUAL_NS);
                    let at = self.worked_in_at(*at, before, next) + if self.exact { 999 } else { 0 };
                    let mut then = self.moved(acks, Work::Send, then);
                    let moved = self.moved(acks, Work::Ack, at);
                    if moved > at {
                        then = then.max(moved);
                    }
                    let at = moved.max(self.worked_at);
                    self.worked_at = at;
                    acks += 1;
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

    /// When the kernel works in an acknowledgement that it hears of at a time: it looks at its clock a little later, which the state
    /// before the next one tells (`delivered_mstamp`). Where all was acknowledged, what was sent next has overwritten that: then RACK's
    /// round trip tells, of the segment that was sent last.
    fn worked_in_at(&self, at: u64, before: &State, next: Option<&State>) -> u64 {
        let known = |next: &&State| {
            if next[place("snd_una")] != before[place("snd_nxt")] {
                return Some(next[place("delivered_mstamp")] * 1000);
            }
            let last =
                next[place("rack.end_seq")].checked_sub(1).and_then(|seq| usize::try_from(seq).ok())?;
            Some(whole_us(*self.linux_sent_at.get(last)?) + next[place("rack.rtt_us")] * 1000)
        };
        let told = next.as_ref().and_then(known);
        told.filter(|told| (at..at + LATE_NS).contains(&(told + 999))).unwrap_or(whole_us(at))
    }

    /// When what is written goes, or the kernel sees that it may not.
    fn writes_at(&self, at: u64, after: &[Event]) -> u64 {
        let sent = after.iter().take_while(|e| !matches!(e, Event::Ack { .. })).find_map(|e| match e {
            Event::Sent { at, seq, .. } => Some((*at, *seq)),
            _ => None,
        });
        let then = match sent {
            // What goes again is the timer's: it says nothing of the write.
            Some((_, seq)) if seq < self.sender.info().snd_nxt => None,
            // Pacing may hold back what is written, and then it goes much later.
            Some((then, _)) => (self.exact || then.saturating_sub(at) < 2 * LATE_NS).then_some(then),
            None => next_state(after).and_then(|next| looked_at(at, next[place("clock_ns")], 2 * LATE_NS)),
        };
        self.sending(then.unwrap_or(at))
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
        // Of its window a recording says nothing.
        Ack { ts: ack.ts, ece: ack.ece, duplicate: true, dsack, ..Ack::new(ack.cum.min(most), &blocks) }
    }

    fn note_sent(&mut self) {
        let sent = self.sender.take_sent().filter(|s| !s.syn);
        self.sent.extend(sent.flat_map(|s| s.seq..s.seq + s.count));
    }

    fn state(&self) -> PartialState {
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
            set("head_length", u64::from(x.head_end.min(x.written) - i.snd_nxt) * u64::from(MSS));
        }
        set("total_retrans", i.total_retrans);
        set("dsack_dups", i.dsack_dups);
        set("wstamp_ns", x.wstamp_ns);
        known
    }
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
            _ => return None,
        }
    }
    None
}

/// Does the application write before the next acknowledgement?
fn writes_next(after: &[Event]) -> bool {
    after.iter().take_while(|e| !matches!(e, Event::Ack { .. })).any(|e| matches!(e, Event::Write { .. }))
}

/// What is judged beside the first numbers of a state: `tcp_packets_in_flight`, and the segments sent since the acknowledgement
/// before (as one number: the first that differs).
const BESIDE: [&str; 2] = ["in_flight", "sent"];
const JUDGED_IN_ALL: usize = JUDGED + BESIDE.len();

/// What the kernel and the simulator have of what is judged. What the simulator does not know differs.
fn judged(step: &AckComparison<'_>, i: usize) -> (u64, u64) {
    let both = |i: usize| (step.linux[i], step.sim[i].unwrap_or(!step.linux[i]));
    if i < JUDGED {
        return both(i);
    }
    if i == JUDGED + 1 {
        return sent(step.linux_sent, step.sim_sent);
    }
    let [out, sacked, lost, again] =
        ["packets_out", "sacked_out", "lost_out", "retrans_out"].map(|name| both(place(name)));
    let flying = |of: fn((u64, u64)) -> u64| {
        of(out).wrapping_add(of(again)).wrapping_sub(of(sacked)).wrapping_sub(of(lost))
    };
    (flying(|both| both.0), flying(|both| both.1))
}

/// The first segment that only one of two has sent in its place, counted from 1 (0: it has sent no more); the same if all are.
fn sent(linux: &[u32], sim: &[u32]) -> (u64, u64) {
    let parts = (0..linux.len().max(sim.len())).find(|&i| linux.get(i) != sim.get(i));
    let one = |all: &[u32], i: usize| all.get(i).map_or(0, |s| u64::from(*s) + 1);
    parts.map_or((0, 0), |i| (one(linux, i), one(sim, i)))
}

fn judged_name(i: usize) -> &'static str {
    if i < JUDGED { name(i) } else { BESIDE[i - JUDGED] }
}

/// Replays and compares; what is not the same is tried with other times of the host.
///
/// # Errors
/// As [`Replay::new`]; a recording without an acknowledgement.
pub fn judge(recording: &Recording) -> Result<Outcome, String> {
    let recording = recording.in_phase();
    let again = || Replay::new(&recording);
    let mut outcome = compare(&recording, again()?);
    if outcome.acks == 0 {
        return Err(format!("{}: not one acknowledgement, so that nothing is compared", outcome.name));
    }
    if outcome.first.is_some() {
        outcome.rounding = rounding(|| again().ok());
    }
    Ok(outcome)
}

/// A timer's bucket is so many jiffies long at most where timers are of seconds.
const BUCKET: u64 = 64;

/// The first difference between two states.
#[derive(Clone, Copy)]
struct StateDifference {
    /// The acknowledgements after which something judged differs; none: nothing does.
    judged: Option<usize>,
    /// Those before which the timers are.
    timer: usize,
}

fn parts_after(mut replay: Replay<'_>) -> StateDifference {
    let mut parted = StateDifference { judged: None, timer: usize::MAX };
    let (pending, timeout) = (place("pending"), place("timeout"));
    replay.run(|step| {
        let differs = |i: usize| {
            let (linux, sim) = judged(&step, i);
            linux != sim
        };
        if (0..JUDGED_IN_ALL).any(differs) {
            parted.judged = Some(step.acks);
        }
        let other = step.sim[pending].is_some_and(|sim| sim != step.linux[pending])
            || step.sim[timeout].is_some_and(|sim| sim.abs_diff(step.linux[timeout]) > BUCKET);
        if other && step.linux[pending] != 0 {
            parted.timer = parted.timer.min(step.acks);
        }
        parted.judged.is_none()
    });
    parted
}

/// Is a piece of work with one more nudge off by 20 us at most, with all that it has?
fn at_most_late(nudges: &[TimingShift], one: &TimingShift) -> bool {
    let same = nudges.iter().filter(|n| n.acks == one.acks && n.work == one.work);
    (one.ns + same.map(|n| n.ns).sum::<i64>()).unsigned_abs() <= LATE_NS
}

/// Other times of the host, each off by 20 us at most, with which a replay is the same to the last acknowledgement: from one divergence to
/// the next the shortest that goes further. None: they do not explain it.
pub fn rounding<'a>(replay: impl Fn() -> Option<Replay<'a>>) -> Option<Vec<TimingShift>> {
    let mut nudges = Vec::new();
    let mut parted = parts_after(replay()?);
    while let Some(judged) = parted.judged {
        if nudges.len() == MOST_NUDGES {
            return None;
        }
        let near = |at: usize| (0..=BACK).filter_map(move |back| at.checked_sub(back));
        let mut places: Vec<usize> = near(judged).chain(near(parted.timer.min(judged))).collect();
        places.sort_unstable();
        places.dedup();
        let further = NUDGES_NS.iter().find_map(|ns| {
            let each = places.iter().flat_map(|&acks| {
                [Work::Ack, Work::Send, Work::Timer, Work::Write]
                    .into_iter()
                    .flat_map(move |work| [*ns, -ns].map(|ns| TimingShift { acks, work, ns }))
            });
            let tried = each.filter(|nudge| at_most_late(&nudges, nudge)).filter_map(|nudge| {
                let then = parts_after(replay()?.nudged(&[&nudges[..], &[nudge]].concat()));
                then.judged.is_none_or(|then| then > judged).then_some((then, nudge))
            });
            tried.max_by_key(|(then, _)| then.judged.unwrap_or(usize::MAX))
        });
        let (then, nudge) = further?;
        nudges.push(nudge);
        parted = then;
    }
    Some(nudges)
}

/// Compares all of a replay.
pub fn compare(recording: &Recording, mut replay: Replay<'_>) -> Outcome {
    let mut out = Outcome {
        name: recording.draw.name.clone(),
        control: recording.draw.control.clone(),
        ..Outcome::default()
    };
    let mut same = [0usize; JUDGED_IN_ALL];
    let (mut linux_cwnd, mut sim_cwnd) = (0, 0);
    let mut before: Option<Moment> = None;
    replay.run(|step| {
        out.acks += 1;
        let mut differs = None;
        for (i, same) in same.iter_mut().enumerate() {
            let (linux, sim) = judged(&step, i);
            if linux == sim {
                *same += 1;
                continue;
            }
            let what = judged_name(i).into();
            let other =
                Divergence { what, acks: step.acks, at_ns: step.at_ns, linux, sim, states: Vec::new() };
            if i == 0 && out.cwnd.is_none() {
                out.cwnd = Some(other.clone());
            }
            differs.get_or_insert(other);
        }
        if out.first.is_none() {
            let now = Moment::of(&step);
            match differs {
                Some(first) => {
                    out.first = Some(Divergence {
                        states: before.take().into_iter().chain([now]).collect(),
                        ..first
                    });
                }
                None => before = Some(now),
            }
        }
        linux_cwnd += step.linux[0];
        sim_cwnd += step.sim[0].unwrap_or(0);
        true
    });
    let share = |n: usize| n as f64 / out.acks.max(1) as f64;
    out.same = same.iter().enumerate().map(|(i, n)| (judged_name(i).into(), share(*n))).collect();
    out.cwnd_ratio = sim_cwnd as f64 / linux_cwnd.max(1) as f64;
    out
}
