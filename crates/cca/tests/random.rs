//! Random lives of a connection: no congestion control may panic, overflow or stall, whatever happens to it.

use proptest::prelude::*;
use queuewright_cca::{CaState, Cca, Conn, Event, Flavour, Kind, RateSample};

#[derive(Debug, Clone)]
enum Op {
    Ack { acked: u32, lost: u32, rtt_us: u32, interval_us: i64, app_limited: bool, delayed: bool },
    Send { packets: u32 },
    Wait { us: u64 },
    Recover,
    Timeout,
    Undo,
    Idle,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0u32..60, prop_oneof![3 => Just(0u32), 1 => 0u32..20], 0u32..400_000, -1i64..400_000, any::<bool>(), any::<bool>())
            .prop_map(|(acked, lost, rtt_us, interval_us, app_limited, delayed)| Op::Ack { acked, lost, rtt_us, interval_us, app_limited, delayed }),
        8 => (1u32..100).prop_map(|packets| Op::Send { packets }),
        6 => prop_oneof![4 => 1u64..50_000, 1 => 1u64..30_000_000].prop_map(|us| Op::Wait { us }),
        2 => Just(Op::Recover),
        1 => Just(Op::Timeout),
        1 => Just(Op::Undo),
        1 => Just(Op::Idle),
    ]
}

fn live(
    kind: Kind,
    flavour: Flavour,
    mut c: Conn,
    start: u64,
    seed: u32,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let mut now = start;
    let mut cca = Cca::new(kind, flavour, &mut c, now);
    let mut random = seed | 1;
    for op in ops {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match *op {
            Op::Wait { us } => now += us * 1000,
            Op::Send { packets } => {
                if c.packets_out == 0 {
                    cca.event(
                        &mut c,
                        Event::TxStart { last_send_ns: Some(now.saturating_sub(1 << 30)) },
                        now,
                    );
                }
                c.packets_out += packets;
                c.snd_nxt = c.snd_nxt.wrapping_add(packets);
                c.max_packets_out = c.packets_out;
                c.is_cwnd_limited = c.packets_out >= c.cwnd;
                c.edt_ns = now + u64::from(packets) * 1_000_000;
            }
            Op::Ack { acked, lost, rtt_us, interval_us, app_limited, delayed } => {
                let prior_in_flight = c.in_flight();
                let acked = acked.min(c.packets_out);
                c.packets_out -= acked;
                c.lost_out = lost.min(c.packets_out);
                c.lost = c.lost.wrapping_add(lost);
                c.snd_una = c.snd_una.wrapping_add(acked);
                let prior_delivered = c.delivered.wrapping_sub(acked);
                c.delivered = c.delivered.wrapping_add(acked);
                c.delivered_ns = now;
                c.srtt_us = rtt_us.saturating_mul(8);
                c.min_rtt_us = c.min_rtt_us.min(rtt_us.max(1));
                if c.in_flight() == 0 && c.ca_state >= CaState::Cwr {
                    cca.event(&mut c, Event::CompleteCwr, now);
                    cca.set_state(&mut c, CaState::Open, now);
                    c.ca_state = CaState::Open;
                }
                cca.pkts_acked(&mut c, acked, rtt_us, now);
                let before = c.cwnd;
                if cca.has_cong_control() {
                    let rs = RateSample {
                        prior_delivered,
                        prior_ns: now.saturating_sub(1 << 25),
                        delivered: acked as i32 - i32::from(interval_us < 0),
                        interval_us,
                        rtt_us: i64::from(rtt_us) - 1,
                        losses: lost,
                        acked_sacked: acked,
                        prior_in_flight,
                        is_app_limited: app_limited,
                        is_ack_delayed: delayed,
                        ..RateSample::default()
                    };
                    cca.cong_control(&mut c, &rs, now, random);
                    if c.ca_state < CaState::Recovery && acked > 0 {
                        let least = if matches!(kind, Kind::Prague | Kind::Copa) { 2 } else { 4 };
                        prop_assert!(c.cwnd >= least, "window {}", c.cwnd);
                    }
                } else if acked > 0 {
                    cca.cong_avoid(&mut c, acked, now);
                    // Delay makes these give way; Illinois adds up to ten packets for one.
                    let yields = matches!(kind, Kind::Vegas | Kind::Yeah | Kind::Ledbat | Kind::LedbatPp);
                    let most = if kind == Kind::Illinois { 10 * acked + 40 } else { acked + 1 };
                    prop_assert!((c.cwnd >= before || yields) && c.cwnd <= before + most);
                }
            }
            Op::Recover => {
                if c.ca_state < CaState::Recovery {
                    c.prior_cwnd = c.cwnd;
                    c.ssthresh = cca.ssthresh(&mut c, now);
                    prop_assert!(c.ssthresh >= 2);
                    if !cca.has_cong_control() {
                        prop_assert!(c.ssthresh <= c.cwnd.max(2));
                        c.cwnd = c.ssthresh;
                        c.cwnd_cnt = 0;
                    }
                    cca.set_state(&mut c, CaState::Recovery, now);
                    c.ca_state = CaState::Recovery;
                }
            }
            Op::Timeout => {
                c.prior_cwnd = c.cwnd;
                c.ssthresh = cca.ssthresh(&mut c, now);
                cca.event(&mut c, Event::Loss, now);
                cca.set_state(&mut c, CaState::Loss, now);
                c.ca_state = CaState::Loss;
                c.lost = c.lost.wrapping_add(c.packets_out);
                c.packets_out = 0;
                c.lost_out = 0;
                c.cwnd = 1;
                c.cwnd_cnt = 0;
            }
            Op::Undo => {
                c.cwnd = cca.undo_cwnd(&mut c).min(1 << 20);
            }
            Op::Idle => {
                c.packets_out = 0;
                c.lost_out = 0;
                c.app_limited = c.delivered.max(1);
            }
        }
        prop_assert!(c.cwnd >= 1);
        if kind == Kind::Bbr {
            prop_assert!(c.pacing && c.pacing_rate < u64::MAX);
            prop_assert!((1..=127).contains(&queuewright_cca::Bbr::tso_segs_goal(&c)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_life(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        linux: bool,
        // Sequence numbers and counters start anywhere, so that they wrap.
        seq: u32,
        delivered: u32,
        lost: u32,
        start in 0u64..20_000_000_000_000_000,
        seed: u32,
        ops in prop::collection::vec(op(), 1..600),
    ) {
        let flavour = if linux { Flavour::LINUX } else { Flavour::NS3 };
        let c = Conn { snd_una: seq, snd_nxt: seq, delivered, lost, ..Conn::default() };
        live(kind, flavour, c, start, seed, &ops)?;
    }

    /// One ACK on a connection of arbitrary numbers.
    #[test]
    fn any_numbers(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        windows in prop::array::uniform6(0u32..1 << 29),
        times in prop::array::uniform4(any::<u32>()),
        rate: u64,
        now in 0u64..1 << 60,
        sample in (any::<i32>(), any::<i64>(), any::<i64>(), 0u32..1 << 29, 0u32..1 << 29, any::<u32>()),
    ) {
        let [cwnd, out, sacked, lost, most, ssthresh] = windows;
        let mut c = Conn {
            cwnd: cwnd.max(1),
            ssthresh: ssthresh.max(2),
            packets_out: out,
            sacked_out: sacked,
            lost_out: lost,
            max_packets_out: most,
            srtt_us: times[0],
            min_rtt_us: times[1],
            delivered: times[2],
            app_limited: times[3],
            ..Conn::default()
        };
        let mut cca = Cca::new(kind, Flavour::LINUX, &mut c, now / 2);
        c.pacing_rate = rate;
        let (delivered, interval_us, rtt_us, losses, acked_sacked, prior_in_flight) = sample;
        let rs = RateSample { delivered, interval_us, rtt_us, losses, acked_sacked, prior_in_flight, ..RateSample::default() };
        c.delivered_ns = now;
        for n in 0..3 {
            cca.pkts_acked(&mut c, acked_sacked / 2, times[1], now + n);
            cca.cong_control(&mut c, &rs, now + n, times[0]);
            cca.cong_avoid(&mut c, acked_sacked / 2, now + n);
            c.ssthresh = cca.ssthresh(&mut c, now + n);
            cca.set_state(&mut c, CaState::Loss, now + n);
        }
        prop_assert!(c.cwnd >= 1);
    }
}
