//! A toy closed loop: one sender, one link of fixed rate with a tail-drop queue, an ACK for
//! every packet. Deterministic; just enough of TCP for a congestion control to act on.
#![allow(dead_code)] // each test file uses its own part

use std::collections::VecDeque;

use queuewright_cca::{Bbr, CaState, Cca, Conn, Event, Flavour, Kind, RateSample};

pub const MS: u64 = 1_000_000;
pub const SEC: u64 = 1000 * MS;

struct Packet {
    seq: u32,
    sent_ns: u64,
    first_tx_ns: u64,
    prior_delivered: u32,
    prior_ns: u64,
    app_limited: bool,
    in_flight: u32,
    dropped: bool,
}

/// A token bucket in front of the link: `rate_pps` packets a second, `burst` packets deep.
pub struct Policer {
    pub rate_pps: f64,
    pub burst: f64,
    tokens: f64,
    last_ns: u64,
}

impl Policer {
    pub fn new(rate_pps: f64, burst: f64) -> Policer {
        Policer { rate_pps, burst, tokens: burst, last_ns: 0 }
    }
    fn admits(&mut self, now_ns: u64) -> bool {
        let refill = (now_ns - self.last_ns) as f64 / 1e9 * self.rate_pps;
        self.tokens = (self.tokens + refill).min(self.burst);
        self.last_ns = now_ns;
        let ok = self.tokens >= 1.0;
        self.tokens -= f64::from(ok);
        ok
    }
}

pub struct Pipe {
    pub c: Conn,
    pub cca: Cca,
    pub now: u64,
    /// Time to transmit a packet, base round-trip time (ns).
    pub packet_ns: u64,
    pub rtt_ns: u64,
    /// Packets that may wait or be in transmission at the link.
    pub buffer: u64,
    pub policer: Option<Policer>,
    /// ACKs arrive in batches at multiples of this (ns); 0: as they come.
    pub ack_batch_ns: u64,
    /// The application has something to send.
    pub has_data: bool,
    /// Packets delivered to the receiver.
    pub delivered: u64,
    pub losses: u64,
    flight: VecDeque<(u64, Packet)>,
    link_free_ns: u64,
    first_tx_ns: u64,
    last_send_ns: Option<u64>,
    recovery_end: u32,
    random: u32,
}

impl Pipe {
    /// A link of `rate_bps` for 1500-byte packets; `buffer` in packets.
    pub fn new(kind: Kind, rate_bps: u64, rtt_ns: u64, buffer: u64) -> Pipe {
        let start = SEC; // not 0: Linux's clocks are not either
        let rtt_us = (rtt_ns / 1000) as u32;
        let mut c = Conn { srtt_us: rtt_us * 8, min_rtt_us: rtt_us, delivered_ns: start, ..Conn::default() };
        let cca = Cca::new(kind, Flavour::LINUX, &mut c, start);
        Pipe {
            c,
            cca,
            now: start,
            packet_ns: 1500 * 8 * SEC / rate_bps,
            rtt_ns,
            buffer,
            policer: None,
            ack_batch_ns: 0,
            has_data: true,
            delivered: 0,
            losses: 0,
            flight: VecDeque::new(),
            link_free_ns: start,
            first_tx_ns: start,
            last_send_ns: None,
            recovery_end: 0,
            random: 1,
        }
    }

    /// Bandwidth-delay product, packets.
    pub fn bdp(&self) -> f64 {
        self.rtt_ns as f64 / self.packet_ns as f64
    }
    /// Packets a second the link carries.
    pub fn rate_pps(&self) -> f64 {
        1e9 / self.packet_ns as f64
    }
    pub fn bbr(&self) -> &Bbr {
        match &self.cca {
            Cca::Bbr(b) => b,
            _ => panic!("not BBR"),
        }
    }
    /// BBR's bandwidth, packets a second.
    pub fn bbr_pps(&self) -> f64 {
        f64::from(self.bbr().bandwidth()) / f64::from(1 << 24) * 1e6
    }
    /// Packets waiting or in transmission at the link.
    pub fn queue(&self) -> u64 {
        self.link_free_ns.saturating_sub(self.now).div_ceil(self.packet_ns)
    }

    /// Runs to the next ACK, sending on the way; false past `until`.
    pub fn step(&mut self, until: u64) -> bool {
        loop {
            let ack_at = self.flight.iter().find(|(_, p)| !p.dropped).map(|&(at, _)| at);
            let may_send = self.has_data && self.c.in_flight() < self.c.cwnd;
            let send_at =
                may_send.then(|| if self.c.pacing { self.now.max(self.c.edt_ns) } else { self.now });
            let (at, send) = match (ack_at, send_at) {
                (Some(a), Some(s)) if s < a => (s, true),
                (Some(a), _) => (a, false),
                (None, Some(s)) => (s, true),
                // All in flight was dropped, or there is nothing to do.
                (None, None) if !self.flight.is_empty() => {
                    self.now = until.min(self.now + 4 * self.rtt_ns);
                    if self.now >= until {
                        return false;
                    }
                    self.timeout();
                    continue;
                }
                (None, None) => (until, false),
            };
            if at >= until {
                self.now = until;
                return false;
            }
            self.now = at;
            if send {
                self.send();
            } else {
                self.ack();
                return true;
            }
        }
    }

    fn send(&mut self) {
        let c = &mut self.c;
        if c.in_flight() == 0 {
            self.cca.event(c, Event::TxStart { last_send_ns: self.last_send_ns }, self.now);
            self.first_tx_ns = self.now;
            c.delivered_ns = self.now;
        }
        self.last_send_ns = Some(self.now);
        if c.pacing {
            c.edt_ns = c.edt_ns.max(self.now) + u64::from(c.mss) * SEC / c.pacing_rate.max(1);
        }
        let mut p = Packet {
            seq: c.snd_nxt,
            sent_ns: self.now,
            first_tx_ns: self.first_tx_ns,
            prior_delivered: c.delivered,
            prior_ns: c.delivered_ns,
            app_limited: c.app_limited != 0,
            in_flight: 0,
            dropped: false,
        };
        c.snd_nxt += 1;
        c.packets_out += 1;
        p.in_flight = c.packets_out;
        c.max_packets_out = c.max_packets_out.max(c.packets_out);
        c.is_cwnd_limited = c.packets_out >= c.cwnd;
        let start = self.link_free_ns.max(self.now);
        let waiting = (start - self.now).div_ceil(self.packet_ns);
        p.dropped = waiting >= self.buffer || !self.policer.as_mut().is_none_or(|b| b.admits(self.now));
        let mut arrives = self.now;
        if !p.dropped {
            self.link_free_ns = start + self.packet_ns;
            arrives = self.link_free_ns + self.rtt_ns;
            if self.ack_batch_ns > 0 {
                arrives = arrives.next_multiple_of(self.ack_batch_ns);
            }
        }
        self.flight.push_back((arrives, p));
    }

    /// The ACK of the first packet in flight that was not dropped; those dropped before it are lost.
    fn ack(&mut self) {
        let c = &mut self.c;
        let prior_in_flight = c.in_flight();
        let mut losses = 0;
        let p = loop {
            let (_, p) = self.flight.pop_front().expect("an ACK is of a packet");
            c.packets_out -= 1;
            if !p.dropped {
                break p;
            }
            losses += 1;
        };
        c.lost += losses;
        self.losses += u64::from(losses);
        self.delivered += 1;
        c.delivered += 1;
        c.delivered_ns = self.now;
        c.snd_una = p.seq + 1;
        if c.app_limited != 0 && c.delivered > c.app_limited {
            c.app_limited = 0;
        }
        // tcp_rate.c: the sample is as long as the longer of its send and ACK phases.
        let interval = (p.sent_ns - p.first_tx_ns).max(self.now - p.prior_ns);
        self.first_tx_ns = p.sent_ns;
        let rtt_us = ((self.now - p.sent_ns) / 1000) as u32;
        c.min_rtt_us = c.min_rtt_us.min(rtt_us);
        c.srtt_us = c.srtt_us - c.srtt_us / 8 + rtt_us;
        let rs = RateSample {
            prior_delivered: p.prior_delivered,
            prior_ns: p.prior_ns,
            delivered: (c.delivered - p.prior_delivered) as i32,
            interval_us: (interval / 1000) as i64,
            rtt_us: i64::from(rtt_us),
            losses,
            acked_sacked: 1,
            prior_in_flight,
            is_app_limited: p.app_limited,
            is_ack_delayed: false,
            ..RateSample::default()
        };
        self.cca.pkts_acked(c, losses + 1, rtt_us, self.now);

        if c.ca_state >= CaState::Cwr && c.snd_una > self.recovery_end {
            self.set_state(CaState::Open);
        }
        if losses > 0 && self.c.ca_state < CaState::Recovery {
            self.reduce(CaState::Recovery);
        }
        let c = &mut self.c;
        // xorshift32: any draw will do, as long as it is always the same.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        if self.cca.has_cong_control() {
            self.cca.cong_control(c, &rs, self.now, self.random);
        } else if c.ca_state == CaState::Open {
            self.cca.cong_avoid(c, 1, self.now);
        }
        // A new window begins with nothing known of how full it gets.
        if c.snd_una.is_multiple_of(c.cwnd.max(1)) {
            c.max_packets_out = c.packets_out;
        }
    }

    /// A packet is lost at random: one reduction, as if it had been the queue's.
    pub fn lose(&mut self) {
        if self.c.ca_state < CaState::Recovery {
            self.reduce(CaState::Recovery);
        }
    }

    fn set_state(&mut self, state: CaState) {
        self.cca.set_state(&mut self.c, state, self.now);
        self.c.ca_state = state;
    }

    fn reduce(&mut self, state: CaState) {
        let c = &mut self.c;
        c.prior_cwnd = c.cwnd;
        c.ssthresh = self.cca.ssthresh(c, self.now);
        if !self.cca.has_cong_control() {
            c.cwnd = c.ssthresh;
        }
        c.cwnd_cnt = 0;
        self.recovery_end = c.snd_nxt;
        self.set_state(state);
    }

    fn timeout(&mut self) {
        self.losses += self.flight.len() as u64;
        self.c.lost += self.flight.len() as u32;
        self.flight.clear();
        self.c.packets_out = 0;
        self.reduce(CaState::Loss);
        self.c.cwnd = 1;
    }
}
