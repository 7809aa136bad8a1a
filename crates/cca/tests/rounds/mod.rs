//! A scripted connection: round trips of a given length, an ACK for every two packets, losses where the
//! test wants them. No link: the test says what the network answers.
#![allow(dead_code)] // each test file uses its own part

use queuewright_cca::{CaState, Cca, Conn, Event, Flavour, Kind};

pub struct Rounds {
    pub c: Conn,
    pub cca: Cca,
    /// Nanoseconds.
    pub now: u64,
}

impl Rounds {
    pub fn new(kind: Kind, cwnd: u32) -> Rounds {
        let mut c = Conn { cwnd, is_cwnd_limited: true, ..Conn::default() };
        let now = 1_000_000_000;
        let mut cca = Cca::new(kind, Flavour::LINUX, &mut c, now);
        cca.event(&mut c, Event::TxStart { last_send_ns: None }, now);
        c.snd_nxt = cwnd;
        c.packets_out = cwnd;
        Rounds { c, cca, now }
    }

    /// One in congestion avoidance.
    pub fn beyond_slow_start(kind: Kind, cwnd: u32) -> Rounds {
        let mut r = Rounds::new(kind, cwnd);
        r.c.ssthresh = cwnd;
        r
    }

    /// An ACK of `n` packets after `rtt_us`; what the window lets out follows it.
    pub fn ack(&mut self, n: u32, rtt_us: u32) {
        let c = &mut self.c;
        c.snd_una += n;
        c.delivered += n;
        c.packets_out = c.snd_nxt - c.snd_una;
        self.cca.pkts_acked(c, n, rtt_us, self.now);
        self.cca.cong_avoid(c, n, self.now);
        c.snd_nxt = c.snd_nxt.max(c.snd_una + c.cwnd);
        c.packets_out = c.snd_nxt - c.snd_una;
        c.max_packets_out = c.packets_out;
    }

    /// ACKs of all that is out now.
    pub fn round(&mut self, rtt_us: u32) {
        let end = self.c.snd_nxt;
        let start = self.now;
        let n = u64::from(end - self.c.snd_una);
        while self.c.snd_una < end {
            let left = u64::from(end - self.c.snd_una);
            self.now = start + u64::from(rtt_us) * 1000 * (n - left + 1) / n;
            self.ack(2.min(left as u32), rtt_us);
        }
    }

    pub fn rounds(&mut self, count: u32, rtt_us: u32) {
        for _ in 0..count {
            self.round(rtt_us);
        }
    }

    fn set_state(&mut self, state: CaState) {
        self.cca.set_state(&mut self.c, state, self.now);
        self.c.ca_state = state;
    }

    fn reduce(&mut self) {
        self.c.prior_cwnd = self.c.cwnd;
        self.c.cwnd_cnt = 0;
        self.c.ssthresh = self.cca.ssthresh(&mut self.c, self.now);
    }

    /// A fast recovery, all of it: ssthresh is the window after.
    pub fn lose(&mut self) {
        self.set_state(CaState::Disorder);
        self.reduce();
        self.set_state(CaState::Recovery);
        self.c.snd_una = self.c.snd_nxt;
        self.c.cwnd = self.c.ssthresh;
        self.set_state(CaState::Open);
        self.c.snd_nxt = self.c.snd_una + self.c.cwnd;
    }

    /// A retransmission timeout, and all made good.
    pub fn timeout(&mut self) {
        self.reduce();
        self.cca.event(&mut self.c, Event::Loss, self.now);
        self.set_state(CaState::Loss);
        self.c.cwnd = 1;
        self.c.snd_una = self.c.snd_nxt;
        self.set_state(CaState::Open);
        self.c.snd_nxt += 1;
    }

    /// Nothing in flight, then the first packet again.
    pub fn idle(&mut self) {
        self.c.snd_una = self.c.snd_nxt;
        self.now += 10_000_000_000;
        let last_send_ns = Some(self.now - 10_000_000_000);
        self.cca.event(&mut self.c, Event::TxStart { last_send_ns }, self.now);
        self.c.snd_nxt = self.c.snd_una + self.c.cwnd;
    }
}

/// What happens in a golden trace besides round trips.
#[derive(Clone, Copy)]
pub enum Then {
    Nothing,
    Lose,
    Timeout,
}

/// The window after each round trip of a script: (how many, how long in us, what then).
pub fn trace(kind: Kind, script: &[(u32, u32, Then)]) -> String {
    use std::fmt::Write as _;
    let mut r = Rounds::new(kind, 10);
    let mut out = String::from("round rtt_ms cwnd   ssthresh\n");
    let mut n = 0;
    for &(count, rtt_us, then) in script {
        for _ in 0..count {
            r.round(rtt_us);
            n += 1;
            let ms = f64::from(rtt_us) / 1000.0;
            writeln!(out, "{n:5} {ms:6} {:4} {:10}", r.c.cwnd, r.c.ssthresh).unwrap();
        }
        match then {
            Then::Nothing => {}
            Then::Lose => {
                r.lose();
                writeln!(out, " loss        {:4} {:10}", r.c.cwnd, r.c.ssthresh).unwrap();
            }
            Then::Timeout => {
                r.timeout();
                writeln!(out, " timeout     {:4} {:10}", r.c.cwnd, r.c.ssthresh).unwrap();
            }
        }
    }
    out
}
