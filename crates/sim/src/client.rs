//! A client at the receiving end of a connection: it asks for one response after another, or plays a video.

use crate::sender::StackRules;
use queuewright_results as results;
use queuewright_results::quality::video;
use queuewright_scenario::spec::{ClientSpec, FlowSpec, RunSpec, Traffic};
use queuewright_scenario::{Requests, Video};
use std::sync::Arc;

/// Downloads that the player's estimate of the throughput is the mean of, and what of it it dares to use: dash.js'
/// `averageThroughputSampleAmount.vod` and `bandwidthSafetyFactor`.
const SAMPLES: usize = 4;
const SAFETY: f64 = 0.9;
/// The buffer from which on the player goes by it, and half of it, from which on it no longer does: dash.js' `stableBufferTime`.
const STABLE_S: f64 = 12.0;
/// Smallest buffer that BOLA's utilities are laid out for, and what each bitrate adds to it: dash.js' `BolaRule`.
const BOLA_BUFFER_S: f64 = 10.0;
const BOLA_BUFFER_PER_RUNG_S: f64 = 2.0;

/// A client and what it has seen.
#[derive(Debug)]
pub struct Client {
    kind: Kind,
    group: u32,
    /// The response under way: when it was asked for (ns), its payload.
    asked_ns: u64,
    bytes: u64,
    /// When its first byte came (ns).
    began_ns: Option<u64>,
    /// It asks for nothing from then on (ns).
    stop_ns: u64,
    /// It waits for a response.
    waits: bool,
    /// Responses that are complete, and of them those whose drops are counted.
    responses: Vec<results::Transfer>,
    booked: usize,
    losses: Losses,
    timeout: Timeout,
}

/// When its connection sends a request again that nothing answers: by RFC 6298 and a tail loss probe before (RFC 8985), with Linux's bounds.
#[derive(Debug)]
struct Timeout {
    /// 0: nothing is known.
    srtt_us: u64,
    rttvar_us: u64,
    least_us: u64,
    probes: bool,
    /// When the request went out first, and how often it did.
    sent_ns: u64,
    sent: u32,
}

impl Timeout {
    /// `TCP_RTO_MAX`
    const MOST_US: u64 = 120_000_000;

    fn new(rules: &StackRules) -> Timeout {
        let least_us = rules.rto_min_us.into();
        Timeout { srtt_us: 0, rttvar_us: 0, least_us, probes: rules.probes, sent_ns: 0, sent: 0 }
    }

    /// It goes out at `at`: how long after it it does again, ns. First the probe, from which the timeout counts anew
    /// (`tcp_schedule_loss_probe`: of a single segment two round trips and the least timeout, and no later than that).
    fn sent(&mut self, at: u64) -> u64 {
        if self.sent == 0 {
            self.sent_ns = at;
        }
        let timeout_us = self.srtt_us + (4 * self.rttvar_us).max(self.least_us);
        let wait_us = match (self.probes, self.sent) {
            (true, 0) => timeout_us.min(2 * self.srtt_us + self.least_us),
            (true, n) => timeout_us << (n - 1).min(16),
            (false, n) => timeout_us << n.min(16),
        };
        self.sent += 1;
        wait_us.min(Timeout::MOST_US) * 1000
    }

    /// A segment arrives at `at` that acknowledges it, or the handshake before anything was asked, and echoes what was sent so long ago. Of
    /// what was sent twice only the echo says which it was (RFC 7323).
    fn answered(&mut self, at: u64, echo_ms: u32) {
        let rtt_us = match std::mem::take(&mut self.sent) {
            1 => (at - self.sent_ns) / 1000,
            _ => 1000 * u64::from(echo_ms),
        };
        (self.srtt_us, self.rttvar_us) = match self.srtt_us {
            0 => (rtt_us, rtt_us / 2),
            srtt_us => ((7 * srtt_us + rtt_us) / 8, (3 * self.rttvar_us + srtt_us.abs_diff(rtt_us)) / 4),
        };
    }
}

/// What a flow has lost and sent again so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Losses {
    /// Packets that queues dropped.
    pub drops: u64,
    /// Packets that links lost.
    pub lost: u64,
    /// Segments sent again.
    pub resent: u64,
}

impl Losses {
    /// A transfer with what has come since `before`.
    fn since(self, before: Losses, transfer: &mut results::Transfer) {
        transfer.drops = self.drops - before.drops;
        transfer.lost = self.lost - before.lost;
        transfer.retransmits = self.resent - before.resent;
    }
}

#[derive(Debug)]
enum Kind {
    Requests(Box<Requests>),
    Video(Box<Player>),
}

impl Client {
    /// The client of a flow, if it has one.
    pub fn new(flow: &FlowSpec, run: &RunSpec) -> Option<Client> {
        let Traffic::Tcp { client: Some(client), size_bytes, .. } = &flow.traffic else { return None };
        let stop_ns = flow.stop_ns.unwrap_or(u64::MAX);
        let (kind, bytes) = match client {
            ClientSpec::Requests(spec) => {
                (Kind::Requests(Box::new(Requests::new(spec))), size_bytes.unwrap_or(1))
            }
            ClientSpec::Video(spec) => {
                let window_ns = (run.warmup_ns, run.duration_ns);
                let player = Player::new(spec.clone(), flow.start_ns, stop_ns, window_ns);
                let bytes = player.chunk_bytes();
                (Kind::Video(Box::new(player)), bytes)
            }
        };
        Some(Client {
            kind,
            group: flow.group,
            asked_ns: flow.start_ns,
            bytes,
            began_ns: None,
            stop_ns,
            waits: true,
            responses: Vec::new(),
            booked: 0,
            losses: Losses::default(),
            timeout: Timeout::new(StackRules::of(run.stack)),
        })
    }

    /// The connection is opened at `at`, for the first response.
    pub fn opens(&mut self, at: u64) {
        self.asked_ns = at;
        if let Kind::Video(player) = &mut self.kind {
            (player.start_ns, player.at_ns) = (at, at);
        }
    }

    /// Payload of the response under way, or of the last one.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first byte of the response has arrived at `at`.
    pub fn begins(&mut self, at: u64) {
        self.began_ns = Some(at);
    }

    /// A segment of the response has arrived at `at`, which echoes what was sent so many ms ago.
    pub fn is_heard(&mut self, at: u64, echo_ms: u32) {
        self.timeout.answered(at, echo_ms);
    }

    /// Does its connection know how long a round trip takes?
    pub fn knows_round_trip(&self) -> bool {
        self.timeout.srtt_us > 0
    }

    /// Its request goes out at `at`: when it goes again if nothing has come by then.
    pub fn asks_again_at(&mut self, at: u64) -> u64 {
        at + self.timeout.sent(at)
    }

    /// The last byte of the response has arrived at `at`: when the client asks for another, if it does.
    pub fn complete(&mut self, at: u64) -> Option<u64> {
        let asks_at = match &mut self.kind {
            Kind::Requests(requests) => {
                let response = transfer(self.group, self.bytes, self.asked_ns, self.began_ns, Some(at));
                self.responses.push(response);
                let (pause, bytes) = requests.ask();
                self.bytes = bytes;
                at.saturating_add(pause)
            }
            Kind::Video(player) => {
                let asks_at = player.chunk(self.asked_ns, at);
                self.bytes = player.chunk_bytes();
                asks_at
            }
        };
        self.waits = asks_at < self.stop_ns;
        self.asked_ns = asks_at;
        self.began_ns = None;
        self.waits.then_some(asks_at)
    }

    /// What its flow has lost and sent again so far, of which the last response has the part that no other has.
    pub fn book(&mut self, losses: Losses) {
        let Some(last) = self.responses[self.booked..].last_mut() else { return };
        losses.since(self.losses, last);
        self.losses = losses;
        self.booked = self.responses.len();
    }

    /// Every response asked for until `end_ns`, the one under way included: the flow has lost and resent so much in all.
    pub fn responses(&self, end_ns: u64, losses: Losses) -> Vec<results::Transfer> {
        let mut all = self.responses.clone();
        if let Kind::Requests(_) = self.kind
            && self.waits
            && self.asked_ns < end_ns
        {
            let mut under_way = transfer(self.group, self.bytes, self.asked_ns, self.began_ns, None);
            losses.since(self.losses, &mut under_way);
            all.push(under_way);
        }
        all
    }

    /// What became of the video that it plays, until the end of the run.
    pub fn video(&mut self) -> Option<results::Video> {
        match &mut self.kind {
            Kind::Requests(_) => None,
            Kind::Video(player) => Some(player.finish()),
        }
    }
}

/// A response asked for at `asked_ns`, begun at `began` and complete at `at`, or not.
fn transfer(group: u32, bytes: u64, asked_ns: u64, began: Option<u64>, at: Option<u64>) -> results::Transfer {
    results::Transfer {
        group,
        page: None,
        bytes,
        start_s: asked_ns as f64 / 1e9,
        fct_s: at.map(|at| (at - asked_ns) as f64 / 1e9),
        startup_s: began.map(|at| (at - asked_ns) as f64 / 1e9),
        drops: 0,
        lost: 0,
        retransmits: 0,
    }
}

/// A player as dash.js has it by default: it takes the highest bitrate that the throughput allows while its buffer is
/// small, and what BOLA says of the buffer once that is large (Spiteri, Sitaraman, Sparacio: From Theory to Practice,
/// MMSys 2018, "DYNAMIC"; Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016). It abandons no chunk.
#[derive(Debug)]
struct Player {
    video: Arc<Video>,
    /// The bitrate of the chunk under way.
    rung: usize,
    /// Bits a second of the last chunks.
    throughput: [f64; SAMPLES],
    chunks: usize,
    by_buffer: bool,
    /// Playing time ahead at `at_ns`.
    ahead_ns: u64,
    at_ns: u64,
    playing: bool,
    /// When it stopped for lack of data.
    stalled_ns: Option<u64>,
    start_ns: u64,
    /// No chunk is asked for from then on: what is ahead is played, and that is the end.
    stop_ns: u64,
    window_ns: (u64, u64),
    bits_per_s: f64,
    /// The bitrate of the chunk before, and how much it has changed in all, bits a second.
    before_bps: Option<f64>,
    changed_bps: f64,
    /// When the first stall of the window began, and the last (ns).
    stalls_ns: Option<(u64, u64)>,
    seen: results::Video,
}

impl Player {
    fn new(video: Arc<Video>, start_ns: u64, stop_ns: u64, window_ns: (u64, u64)) -> Player {
        Player {
            video,
            rung: 0,
            throughput: [0.0; SAMPLES],
            chunks: 0,
            by_buffer: false,
            ahead_ns: 0,
            at_ns: start_ns,
            playing: false,
            stalled_ns: None,
            start_ns,
            stop_ns,
            window_ns,
            bits_per_s: 0.0,
            before_bps: None,
            changed_bps: 0.0,
            stalls_ns: None,
            seen: results::Video { startup_s: f64::NAN, bitrate_bps: f64::NAN, ..results::Video::default() },
        }
    }

    /// Payload of a chunk at its present bitrate.
    fn chunk_bytes(&self) -> u64 {
        let bits =
            u128::from(self.video.ladder_bps[self.rung]) * u128::from(self.video.chunk_ns) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1)
    }

    fn measured(&self, at: u64) -> bool {
        at >= self.window_ns.0 && at <= self.window_ns.1
    }

    /// Plays until `at`.
    fn play(&mut self, at: u64) {
        if self.playing {
            let played = at - self.at_ns;
            if played > self.ahead_ns {
                let stalled = self.at_ns + self.ahead_ns;
                self.stalled_ns = Some(stalled);
                self.playing = false;
                self.ahead_ns = 0;
                if self.measured(stalled) {
                    self.seen.stalls += 1;
                    self.stalls_ns = Some((self.stalls_ns.map_or(stalled, |s| s.0), stalled));
                }
            } else {
                self.ahead_ns -= played;
            }
        }
        self.at_ns = at;
    }

    /// The end of a stall, or of the run.
    fn resume(&mut self, at: u64) {
        if let Some(since) = self.stalled_ns.take() {
            let (from, to) = self.window_ns;
            self.seen.stalled_s += at.min(to).saturating_sub(since.max(from)) as f64 / 1e9;
        }
    }

    /// A chunk asked for at `asked` has arrived at `at`. When the next one is asked for, of which bitrate is then settled.
    fn chunk(&mut self, asked: u64, at: u64) -> u64 {
        self.play(at);
        let bps = self.video.ladder_bps[self.rung];
        if self.chunks == 0 {
            self.seen.startup_s = (at - self.start_ns) as f64 / 1e9;
        }
        self.resume(at);
        self.playing = true;
        self.ahead_ns += self.video.chunk_ns;
        if self.measured(at) {
            self.seen.chunks += 1;
            self.bits_per_s += bps as f64;
            self.changed_bps += self.before_bps.map_or(0.0, |before| (bps as f64 - before).abs());
            self.before_bps = Some(bps as f64);
        }
        self.throughput[self.chunks % SAMPLES] = self.chunk_bytes() as f64 * 8e9 / (at - asked).max(1) as f64;
        self.chunks += 1;
        // As much as is above what leaves room for a chunk has to be played first.
        let room_at = at + (self.ahead_ns + self.video.chunk_ns).saturating_sub(self.video.buffer_ns);
        self.play(room_at);
        if room_at >= self.stop_ns {
            // Nobody asks for the next one.
            return room_at;
        }
        let before = self.rung;
        self.rung = self.choose();
        self.seen.switches += u64::from(before != self.rung && self.measured(room_at));
        room_at
    }

    fn choose(&mut self) -> usize {
        let samples = &self.throughput[..self.chunks.min(SAMPLES)];
        let estimate = SAFETY * samples.iter().sum::<f64>() / samples.len().max(1) as f64;
        let ladder = &self.video.ladder_bps;
        let by_throughput = ladder.iter().rposition(|bps| *bps as f64 <= estimate).unwrap_or(0);
        let ahead_s = self.ahead_ns as f64 / 1e9;
        let by_buffer = bola(ladder, ahead_s);
        if self.by_buffer {
            self.by_buffer = ahead_s >= STABLE_S / 2.0 || by_buffer >= by_throughput;
        } else {
            self.by_buffer = ahead_s > STABLE_S && by_buffer >= by_throughput;
        }
        if self.by_buffer { by_buffer } else { by_throughput }
    }

    fn finish(&mut self) -> results::Video {
        let end = self.window_ns.1;
        // It stands still only while a chunk is to come.
        if self.at_ns < self.stop_ns {
            self.play(end.max(self.at_ns));
        }
        self.resume(end);
        if self.seen.chunks > 0 {
            self.seen.bitrate_bps = self.bits_per_s / self.seen.chunks as f64;
        }
        let seen = &mut self.seen;
        let (bits, changes) = (self.bits_per_s / 1e6, self.changed_bps / 1e6);
        seen.linear_qoe = video::linear_qoe(seen.chunks, bits, changes, seen.stalled_s);
        let apart_s = match self.stalls_ns {
            Some((first, last)) if seen.stalls > 1 => (last - first) as f64 / 1e9 / (seen.stalls - 1) as f64,
            _ => 0.0,
        };
        let media_s = seen.chunks as f64 * self.video.chunk_ns as f64 / 1e9;
        seen.stalling_index = video::stalling_index(seen.stalls, seen.stalled_s, apart_s, media_s);
        self.seen
    }
}

/// BOLA-BASIC: the bitrate of the largest (V (utility + gp) - buffer) / size. Its utilities are the sizes' logarithms,
/// and V and gp are laid out as in dash.js: ten seconds ahead make the lowest worth nothing any more.
fn bola(ladder: &[u64], ahead_s: f64) -> usize {
    let utility = |bps: u64| libm::log(bps as f64 / ladder[0] as f64) + 1.0;
    let buffer_s = STABLE_S.max(BOLA_BUFFER_S + BOLA_BUFFER_PER_RUNG_S * ladder.len() as f64);
    let highest = utility(ladder[ladder.len() - 1]);
    let gp = ((highest - 1.0) / (buffer_s / BOLA_BUFFER_S - 1.0)).max(f64::MIN_POSITIVE);
    let v = BOLA_BUFFER_S / gp;
    let score = |bps: u64| (v * (utility(bps) - 1.0 + gp) - ahead_s) / bps as f64;
    let scores = ladder.iter().map(|bps| score(*bps));
    let best = scores
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |best, (i, s)| if s >= best.1 { (i, s) } else { best });
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// By hand: a handshake of 20 ms, so 220 ms with Linux's least 200. A round trip of 1 s then makes them 142.5 + 4 * 250.6, and the probe
    /// comes after 2 * 142.5 + 200 (the deviation is 7.5 before, and 250.6 then).
    #[test]
    fn a_request_waits_as_its_connection_does() {
        let ms = |timeout: &mut Timeout, at: u64| timeout.sent(at) / 1_000_000;
        let mut timeout = Timeout::new(&StackRules::LINUX);
        timeout.answered(S, 20);
        assert_eq!([0, 220, 440, 880].map(|at| ms(&mut timeout, at)), [220, 220, 440, 880]);
        // The last copy was answered: 20 ms again.
        timeout.answered(2 * S, 20);
        assert_eq!(ms(&mut timeout, 3 * S), 220);
        timeout.answered(4 * S, 1000);
        assert_eq!([5, 6, 7].map(|at| ms(&mut timeout, at * S)), [485, 1145, 2290]);
        // However often, at most two minutes.
        assert_eq!((0..100).map(|_| ms(&mut timeout, 5 * S)).max(), Some(120_000));
        // ns-3's has no probe, and a second at the least.
        let mut timeout = Timeout::new(&StackRules::NS3);
        timeout.answered(S, 20);
        assert_eq!([1, 2, 4].map(|at| ms(&mut timeout, at * S)), [1020, 2040, 4080]);
    }

    fn player(ladder_bps: Vec<u64>, buffer_ns: u64) -> Player {
        let video = Video { ladder_bps, chunk_ns: 4 * S, buffer_ns };
        Player::new(Arc::new(video), 0, u64::MAX, (0, 1000 * S))
    }

    /// Chunks that take no time: one is asked for whenever there is room, and the player climbs to the top.
    #[test]
    fn keeps_its_buffer_full_and_climbs() {
        let mut p = player(vec![1_000_000, 2_000_000, 4_000_000], 20 * S);
        let mut asked = 0;
        let mut times = Vec::new();
        for _ in 0..10 {
            asked = p.chunk(asked, asked + S / 100);
            times.push(asked / S);
        }
        // 20 s hold five chunks: the fifth has to wait for room, and then one goes every 4 s.
        assert_eq!(times, [0, 0, 0, 0, 4, 8, 12, 16, 20, 24]);
        assert_eq!(p.rung, 2);
        let seen = p.finish();
        assert_eq!((seen.chunks, seen.stalls, seen.switches), (10, 1, 1));
        // The first chunk was of 1 Mbit/s, the others of 4.
        assert!((seen.bitrate_bps - 3.7e6).abs() < 1.0, "{seen:?}");
        assert!((seen.startup_s - 0.01).abs() < 1e-9);
    }

    /// A chunk of 4 s that takes 6 s to come: after each there are 4 s of playing and 2 s of none.
    #[test]
    fn stalls_when_chunks_take_longer_than_they_play() {
        let mut p = player(vec![1_000_000], 30 * S);
        let mut asked = 0;
        for _ in 0..10 {
            asked = p.chunk(asked, asked + 6 * S);
        }
        let seen = p.seen;
        assert_eq!((seen.stalls, seen.stalled_s, seen.startup_s), (9, 18.0, 6.0));
    }

    /// BOLA goes up with the buffer, from the lowest to the highest.
    #[test]
    fn bola_rises_with_the_buffer() {
        let ladder = [250_000, 500_000, 1_000_000, 2_000_000, 4_000_000];
        let rungs: Vec<usize> = (0..40).map(|s| bola(&ladder, f64::from(s))).collect();
        assert!(rungs.is_sorted(), "{rungs:?}");
        assert_eq!((rungs[0], rungs[7], rungs[20]), (0, 0, 4), "{rungs:?}");
    }
}
