//! BBR's published phases in a toy pipe, and its rules one by one.

use std::fmt::Write as _;

use pipe::{MS, Pipe, Policer, SEC};
use queuewright_cca::{Bbr, BbrMode, CaState, Cca, Conn, Control, Event, Flavour, Kind, RateSample};

mod pipe;

/// 50 Mbit/s, 40 ms (BDP 167 packets), deep buffer.
fn pipe() -> Pipe {
    Pipe::new(Kind::Bbr, 50_000_000, 40 * MS, 2000)
}

/// Runs into steady state: past startup and drain.
fn steady() -> Pipe {
    let mut p = pipe();
    while p.bbr().mode() != BbrMode::ProbeBw {
        assert!(p.step(5 * SEC), "no steady state");
    }
    p
}

#[test]
fn first_rate_is_the_initial_window_at_high_gain() {
    let rate = |srtt_us| {
        let mut c = Conn { srtt_us, ..Conn::default() };
        Cca::new(Kind::Bbr, Flavour::LINUX, &mut c, 0);
        assert!(c.pacing);
        c.pacing_rate as f64
    };
    let gain = 2.885 * 0.99;
    assert!((rate(40_000 * 8) / (14480.0 / 0.04 * gain) - 1.0).abs() < 0.003);
    // Without a round-trip sample: a millisecond.
    assert!((rate(0) / (14480.0 / 0.001 * gain) - 1.0).abs() < 0.003);
}

#[test]
fn bursts_are_a_millisecond_within_bounds() {
    let at = |pacing_rate| {
        let c = Conn { pacing_rate, ..Conn::default() };
        (Bbr::min_tso_segs(&c), Bbr::tso_segs_goal(&c))
    };
    assert_eq!(at(149_999), (1, 1));
    assert_eq!(at(150_000), (2, 2));
    assert_eq!(at(1_448_000 * 8), (2, 7));
    assert_eq!(at(u64::MAX), (2, 45));
}

#[test]
fn startup_ends_after_three_flat_rounds() {
    let mut p = pipe();
    let (mut best, mut best_round, mut round) = (0.0, 0, 0);
    while p.bbr().mode() == BbrMode::Startup {
        assert!(p.step(5 * SEC), "startup never ends");
        // As BBR looks: once a round, for growth by a quarter.
        if p.bbr().rounds() != round {
            round = p.bbr().rounds();
            if p.bbr_pps() >= 1.25 * best {
                (best, best_round) = (p.bbr_pps(), round);
            }
        }
    }
    assert_eq!(round - best_round, 3);
    assert!((p.bbr_pps() / p.rate_pps() - 1.0).abs() < 0.05, "{} of {}", p.bbr_pps(), p.rate_pps());
    // log2(BDP / initial window) rounds to fill the pipe, three to notice, one to measure.
    assert!((7..=10).contains(&round), "{round} rounds");
}

#[test]
fn drain_empties_the_queue_of_startup() {
    let mut p = pipe();
    let mut deepest = 0;
    while p.bbr().mode() != BbrMode::ProbeBw {
        assert!(p.step(5 * SEC), "never drained");
        deepest = deepest.max(p.queue());
    }
    // Startup's window is 2.89 BDP, and quantization.
    assert!(deepest as f64 > 0.9 * p.bdp() && (deepest as f64) < 2.2 * p.bdp(), "{deepest}");
    let slack = f64::from(3 * Bbr::tso_segs_goal(&p.c) + 2);
    assert!(f64::from(p.c.in_flight()) <= p.bdp() * 1.02 + slack, "{} in flight", p.c.in_flight());
    // Remembered as ssthresh, with the bursts of startup's rate (12 packets) budgeted for.
    assert!((167..=167 + 3 * 12 + 2).contains(&p.c.ssthresh), "{}", p.c.ssthresh);
}

#[test]
fn spurious_loss_forgets_the_flat_rounds() {
    let mut p = pipe();
    let mut round = 0;
    while p.bbr().rounds() < 40 {
        assert!(p.step(10 * SEC));
        if p.bbr().rounds() != round {
            round = p.bbr().rounds();
            let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
            let cwnd = p.c.cwnd;
            assert_eq!(b.undo_cwnd(&mut p.c), cwnd);
        }
    }
    assert_eq!(p.bbr().mode(), BbrMode::Startup);
}

#[test]
fn probe_bw_goes_through_its_eight_phases() {
    let mut p = steady();
    assert_ne!(p.bbr().cycle_phase(), 1, "a cycle never starts by draining");
    let end = p.now + 8 * SEC;
    let (mut phase, mut since, mut seen) = (p.bbr().cycle_phase(), p.now, 0);
    while p.step(end) {
        assert!((p.bbr_pps() / p.rate_pps() - 1.0).abs() < 0.05);
        assert_eq!(p.bbr().mode(), BbrMode::ProbeBw);
        let gain = [320, 192, 256, 256, 256, 256, 256, 256][usize::from(p.bbr().cycle_phase())];
        assert_eq!(p.bbr().pacing_gain(), gain);
        if p.bbr().cycle_phase() != phase {
            assert_eq!(p.bbr().cycle_phase(), (phase + 1) % 8);
            let lasted = (p.now - since) / MS;
            // Draining ends early; the others last a minimum round trip (probing until the pipe is full).
            let bounds = if phase == 1 { 0..=41 } else { 40..=61 };
            assert!(bounds.contains(&lasted), "phase {phase} lasted {lasted} ms");
            (phase, since, seen) = (p.bbr().cycle_phase(), p.now, seen + 1);
        }
    }
    assert!(seen >= 3 * 8, "{seen} phases");
}

#[test]
fn cycle_starts_in_any_phase_but_the_draining_one() {
    let phases: Vec<u8> = (0..7u64)
        .map(|n| {
            let mut p = steady();
            let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
            // Out of idleness in PROBE_RTT: the cycle starts anew, with the draw of the last ACK.
            p.c.app_limited = 1;
            let random = ((n << 32) / 7 + 1) as u32;
            let mut now = p.now + 11 * SEC;
            let ack = |b: &mut Bbr, c: &mut Conn, now| {
                let rs =
                    RateSample { delivered: 1, interval_us: 1000, rtt_us: 50_000, acked_sacked: 1, ..rs() };
                b.cong_control(c, &rs, now, random);
            };
            p.c.packets_out = 3;
            ack(b, &mut p.c, now);
            ack(b, &mut p.c, now);
            assert_eq!(b.mode(), BbrMode::ProbeRtt);
            now += 300 * MS;
            b.event(&mut p.c, Event::TxStart { last_send_ns: None }, now);
            assert_eq!(b.mode(), BbrMode::ProbeBw);
            b.cycle_phase()
        })
        .collect();
    assert_eq!(phases, [0, 7, 6, 5, 4, 3, 2]);
}

fn rs() -> RateSample {
    RateSample { rtt_us: -1, ..RateSample::default() }
}

#[test]
fn probe_rtt_comes_every_ten_seconds() {
    let mut p = steady();
    let (mut entered, mut in_probe, mut cwnd_before) = (Vec::new(), None, 0);
    while p.step(45 * SEC) {
        let now_in = p.bbr().mode() == BbrMode::ProbeRtt;
        match in_probe {
            None if now_in => {
                entered.push(p.now);
                in_probe = Some(p.now);
            }
            None => cwnd_before = p.c.cwnd,
            Some(since) if !now_in => {
                let lasted = (p.now - since) / MS;
                assert!((200..=320).contains(&lasted), "{lasted} ms");
                assert!(p.c.cwnd + 8 >= cwnd_before, "window back: {} of {cwnd_before}", p.c.cwnd);
                in_probe = None;
            }
            Some(_) => assert!(p.c.cwnd <= 4 && p.c.app_limited > 0),
        }
    }
    assert_eq!(entered.len(), 4);
    for pair in entered.windows(2) {
        let gap = (pair[1] - pair[0]) / MS;
        assert!((10_200..=10_400).contains(&gap), "{gap} ms");
    }
    assert!((p.bbr_pps() / p.rate_pps() - 1.0).abs() < 0.05);
}

#[test]
fn steady_state_is_full_rate_with_little_queue() {
    let mut p = steady();
    while p.step(3 * SEC) {}
    let (from, delivered) = (p.now, p.delivered);
    let (mut queues, mut n) = (0, 0);
    while p.step(10 * SEC) {
        queues += p.queue();
        n += 1;
    }
    let utilization = (p.delivered - delivered) as f64 * p.packet_ns as f64 / (p.now - from) as f64;
    assert!(utilization > 0.97, "{utilization}");
    let mean = queues as f64 / f64::from(n);
    assert!(mean < 0.2 * p.bdp(), "mean queue {mean} packets");
    assert_eq!(p.losses, 0);
}

#[test]
fn policed_rate_is_found() {
    let mut p = Pipe::new(Kind::Bbr, 50_000_000, 40 * MS, 10_000);
    let policed = 1000.0;
    p.policer = Some(Policer::new(policed, 60.0));
    while !p.bbr().is_policed() {
        assert!(p.step(30 * SEC), "policer not found");
    }
    assert!((p.bbr_pps() / policed - 1.0).abs() < 0.1, "{}", p.bbr_pps());
    // Believed for 48 rounds, then tried anew.
    let round = p.bbr().rounds();
    while p.bbr().is_policed() {
        assert!(p.step(60 * SEC), "believed for ever");
    }
    assert_eq!(p.bbr().rounds() - round, 48);
}

#[test]
fn aggregated_acks_are_provided_for() {
    let run = |batch| {
        let mut p = Pipe::new(Kind::Bbr, 50_000_000, 20 * MS, 2000);
        p.ack_batch_ns = batch;
        while p.step(3 * SEC) {}
        let (from, delivered) = (p.now, p.delivered);
        while p.step(8 * SEC) {}
        let utilization = (p.delivered - delivered) as f64 * p.packet_ns as f64 / (p.now - from) as f64;
        (utilization, p.c.cwnd)
    };
    let ((smooth, cwnd), (batched, wide)) = (run(0), run(30 * MS));
    assert!(smooth > 0.97 && batched > 0.95, "utilization {smooth} and {batched}");
    assert!(wide > cwnd + 60, "{wide} packets of window against {cwnd}");
}

#[test]
fn recovery_conserves_then_restores() {
    let mut p = steady();
    let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
    let (c, now) = (&mut p.c, p.now);
    let before = c.cwnd;
    let ack = |n, losses| RateSample { acked_sacked: n, losses, prior_delivered: 0, ..rs() };
    assert_eq!(b.ssthresh(c, now), c.ssthresh);
    c.ca_state = CaState::Recovery;
    c.packets_out = 100;
    c.lost_out = 0;
    b.cong_control(c, &ack(2, 3), now, 0);
    assert_eq!(c.cwnd, 102, "in flight and what was acknowledged");
    c.packets_out = 90;
    b.cong_control(c, &ack(2, 20), now, 0);
    assert_eq!(c.cwnd, 92, "never below what is in flight");
    // The end of the round ends conservation: slow start towards the target.
    c.delivered += 200;
    let rs = RateSample { delivered: 10, interval_us: 40_000, prior_delivered: c.delivered, ..ack(4, 0) };
    b.cong_control(c, &rs, now, 0);
    assert_eq!(c.cwnd, 96);
    b.set_state(c, CaState::Open, now);
    c.ca_state = CaState::Open;
    b.cong_control(c, &ack(1, 0), now, 0);
    assert!(c.cwnd + 4 >= before, "{} of {before}", c.cwnd);
}

#[test]
fn restart_from_idle_is_at_the_estimated_rate() {
    let mut p = steady();
    while p.bbr().cycle_phase() != 0 {
        p.step(5 * SEC);
    }
    let bw = p.bbr_pps() * 1448.0;
    p.has_data = false;
    p.c.app_limited = p.c.delivered + p.c.in_flight();
    while p.step(p.now + SEC) {}
    p.c.app_limited = u32::MAX;
    let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
    b.event(&mut p.c, Event::TxStart { last_send_ns: None }, p.now);
    assert!((p.c.pacing_rate as f64 / (0.99 * bw) - 1.0).abs() < 0.01, "{} for {bw}", p.c.pacing_rate);
}

#[test]
fn restart_from_a_long_idle_time_needs_no_probe() {
    // The silence has emptied the queue: its first sample is as good as PROBE_RTT's.
    let mut p = steady();
    let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
    let now = p.now + 30 * SEC;
    p.c.app_limited = u32::MAX;
    b.event(&mut p.c, Event::TxStart { last_send_ns: None }, now);
    let rs = RateSample { delivered: 1, interval_us: 41_000, rtt_us: 41_000, acked_sacked: 1, ..rs() };
    b.cong_control(&mut p.c, &rs, now + 41 * MS, 0);
    assert_eq!((b.mode(), b.min_rtt_us()), (BbrMode::ProbeBw, 41_000));
}

#[test]
fn application_limited_samples_do_not_lower_the_estimate() {
    let mut p = steady();
    let bw = p.bbr().bandwidth();
    let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
    for n in 0..50 {
        p.c.delivered += 10;
        let rs = RateSample {
            delivered: 1,
            interval_us: 40_000,
            acked_sacked: 1,
            is_app_limited: true,
            prior_delivered: p.c.delivered,
            rtt_us: 40_000,
            ..rs()
        };
        b.cong_control(&mut p.c, &rs, p.now + n * MS, 0);
    }
    assert_eq!(b.bandwidth(), bw);
}

#[test]
fn golden_trace() {
    let mut p = Pipe::new(Kind::Bbr, 20_000_000, 40 * MS, 100);
    let mut out = String::from("time_s mode     phase cwnd pacing_kB/s queue losses\n");
    let mut at = |p: &mut Pipe, t: u64| {
        while p.step(SEC + t) {}
        let (b, c) = (p.bbr(), &p.c);
        writeln!(
            out,
            "{:6.2} {:8} {:5} {:4} {:11} {:5} {:6}",
            t as f64 / 1e9,
            format!("{:?}", b.mode()),
            b.cycle_phase(),
            c.cwnd,
            c.pacing_rate / 1000,
            p.queue(),
            p.losses
        )
        .unwrap();
    };
    for n in 1..=40 {
        at(&mut p, n * 40 * MS);
    }
    for n in 97..=110 {
        at(&mut p, n * 100 * MS);
    }
    insta::assert_snapshot!(out);
}

/// `bbr_save_cwnd`: a window that nothing has cut yet is the one to come back to, even if an earlier one was larger; one that recovery has
/// cut is not.
#[test]
fn the_window_to_come_back_to_is_that_from_before_the_cut() {
    for (cut_by_recovery, want) in [(false, 150), (true, 300)] {
        let mut p = steady();
        let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
        let (c, now) = (&mut p.c, p.now);
        let ack = RateSample { acked_sacked: 1, ..rs() };
        c.cwnd = 300;
        b.ssthresh(c, now);
        if cut_by_recovery {
            b.set_state(c, CaState::Recovery, now);
            c.ca_state = CaState::Recovery;
            b.cong_control(c, &ack, now, 0);
        }
        c.cwnd = 150;
        b.ssthresh(c, now);
        for state in [CaState::Recovery, CaState::Open] {
            b.set_state(c, state, now);
            c.ca_state = state;
            c.packets_out = 100;
            b.cong_control(c, &ack, now, 0);
        }
        assert!((want..=want + 2).contains(&c.cwnd), "{} for {want}", c.cwnd);
    }
}

/// `bbr_cwnd_event`: only the start of sending, and only where the application had nothing, sets the pace anew.
#[test]
fn nothing_but_a_restart_sets_the_pace_anew() {
    for (event, app_limited, anew) in [
        (Event::TxStart { last_send_ns: None }, 1, true),
        (Event::TxStart { last_send_ns: None }, 0, false),
        (Event::CompleteCwr, 1, false),
        (Event::Loss, 1, false),
    ] {
        let mut p = steady();
        let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
        (p.c.app_limited, p.c.pacing_rate) = (app_limited, 1000);
        b.event(&mut p.c, event, p.now);
        assert_eq!(p.c.pacing_rate > 1000, anew, "{event:?}, {app_limited}");
    }
}

/// `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`: an interval is of four rounds at least, ends with a loss, and counts if 50/256 of what was
/// delivered was lost; two in a row are a policer's where the second's rate is within an eighth of the first's.
#[test]
fn a_policer_is_two_intervals_of_much_loss_and_one_rate() {
    // Rounds of 40 ms until it is taken for one, with so many delivered in each: in the first interval and in what follows.
    let rounds = |first: u32, then: u32, lost_in_256: u32| {
        let mut p = steady();
        let Cca::Bbr(b) = &mut p.cca else { unreachable!() };
        let c = &mut p.c;
        (c.app_limited, c.delivered_ns) = (0, p.now);
        (1..40).find(|&n| {
            let delivered = if n <= 4 { first } else { then };
            let prior = c.delivered;
            c.delivered += delivered;
            // The round that begins an interval is not in it.
            let losses = delivered * lost_in_256 / 256;
            c.lost += losses;
            c.delivered_ns += 40 * MS;
            let rs = RateSample {
                delivered: delivered as i32,
                interval_us: 40_000,
                rtt_us: 40_000,
                prior_delivered: prior,
                acked_sacked: delivered,
                losses,
                ..rs()
            };
            b.cong_control(c, &rs, c.delivered_ns, 0);
            b.is_policed()
        })
    };
    assert_eq!(rounds(256, 256, 50), Some(8));
    assert_eq!(rounds(256, 256, 49), None);
    assert_eq!(rounds(256, 288, 64), Some(8));
    assert_eq!(rounds(256, 256 - 31, 64), Some(8));
    // More than an eighth: the second is the first of the next two.
    assert_eq!(rounds(256, 291, 64), Some(12));
    assert_eq!(rounds(256, 220, 64), Some(12));
}
