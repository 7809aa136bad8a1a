//! Illinois against Liu, Basar and Srikant 2008, and against what Linux made of it.

use pipe::{MS, Pipe, SEC};
use queuewright_cca::{CaState, Cca, Kind};
use rounds::{Rounds, Then, trace};

mod pipe;
mod rounds;

fn alpha_beta(r: &Rounds) -> (f64, f64) {
    match &r.cca {
        Cca::Illinois(i) => i.alpha_beta(),
        _ => unreachable!(),
    }
}

/// f1 with alpha from 10 to 0.3 and d1 = dm/100.
fn f1(da: f64, dm: f64) -> f64 {
    let (max, min, d1) = (10.0, 0.3, dm / 100.0);
    let k1 = (dm - d1) * min * max / (max - min);
    let k2 = (dm - d1) * min / (max - min) - d1;
    if da <= d1 { max } else { k1 / (k2 + da) }
}

/// f2 with beta from 1/8 to 1/2, d2 = dm/10, d3 = 8 dm/10.
fn f2(da: f64, dm: f64) -> f64 {
    let (min, max, d2, d3) = (0.125, 0.5, 0.1 * dm, 0.8 * dm);
    if da <= d2 {
        min
    } else if da >= d3 {
        max
    } else {
        (min * d3 - max * d2) / (d3 - d2) + (max - min) / (d3 - d2) * da
    }
}

const BASE: u32 = 50_000;

/// One that has seen delays from 0 to `dm`, and then round trips of `da`.
fn delayed(dm: u32, da: u32) -> Rounds {
    let mut r = Rounds::beyond_slow_start(Kind::Illinois, 100);
    r.round(BASE);
    r.ack(2, BASE + dm);
    // The increase is at its largest again after five round trips of low delay, one of them mixed.
    r.rounds(8, BASE + da);
    r
}

#[test]
fn increase_and_decrease_follow_the_curves() {
    for dm in [1_000u32, 20_000, 300_000] {
        for percent in 1..=100 {
            let da = dm * percent / 100;
            let (alpha, beta) = alpha_beta(&delayed(dm, da));
            let (want_alpha, want_beta) =
                (f1(f64::from(da), f64::from(dm)), f2(f64::from(da), f64::from(dm)));
            // 38/128 stands for 0.3, and beta is cut to 1/64.
            assert!(
                (alpha - want_alpha).abs() < 0.02 * want_alpha + 0.008,
                "dm {dm}, da {percent} %: {alpha}, {want_alpha}"
            );
            assert!(
                (0.0..1.0 / 64.0 + 1e-9).contains(&(want_beta - beta)),
                "{percent} %: {beta}, {want_beta}"
            );
        }
    }
}

#[test]
fn growth_is_alpha_packets_a_round() {
    for (da, alpha) in [(0, 10.0), (2_000, f1(2_000.0, 20_000.0)), (10_000, f1(10_000.0, 20_000.0))] {
        let mut r = delayed(20_000, da);
        r.c.cwnd = 1000;
        r.c.cwnd_cnt = 0;
        r.round(BASE + da);
        let from = r.c.cwnd;
        r.rounds(20, BASE + da);
        let slope = f64::from(r.c.cwnd - from) / 20.0;
        assert!((slope / alpha - 1.0).abs() < 0.12, "da {da}: {slope} packets a round trip for {alpha:.2}");
    }
}

#[test]
fn a_loss_takes_beta() {
    for (da, beta) in [(0, 0.125), (9_000, f2(9_000.0, 20_000.0)), (18_000, 0.5)] {
        let mut r = delayed(20_000, da);
        r.c.cwnd = 1000;
        r.lose();
        let taken = 1.0 - f64::from(r.c.cwnd) / 1000.0;
        assert!((taken - beta).abs() < 0.03, "da {da}: {taken:.3} for {beta:.3}");
    }
}

/// The largest increase returns only after theta = 5 round trips of low delay.
#[test]
fn one_good_round_is_not_believed() {
    let mut r = delayed(20_000, 10_000);
    let low = alpha_beta(&r).0;
    assert!(low < 1.0);
    // The first closes a round trip of which part was long.
    let mut rounds = 0;
    while alpha_beta(&r).0 < 10.0 {
        r.round(BASE);
        rounds += 1;
    }
    assert!((5..=6).contains(&rounds), "{rounds}");
}

#[test]
fn small_windows_and_timeouts_are_renos() {
    let mut r = Rounds::beyond_slow_start(Kind::Illinois, 14);
    r.round(BASE);
    assert_eq!(alpha_beta(&r), (1.0, 0.5));
    let mut r = delayed(20_000, 0);
    assert_eq!(alpha_beta(&r), (10.0, 0.125));
    r.cca.set_state(&mut r.c, CaState::Loss, r.now);
    assert_eq!(alpha_beta(&r), (1.0, 0.5));
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut r = Rounds::beyond_slow_start(Kind::Illinois, 100);
    r.c.is_cwnd_limited = false;
    r.rounds(10, BASE);
    assert_eq!(r.c.cwnd, 100);
}

/// Concave growth. It is fast after a loss and slow near the next, so it fills a short buffer
/// that would make Reno idle.
#[test]
fn the_window_is_concave_and_keeps_a_short_buffer_busy() {
    let busy = |kind| {
        let mut p = Pipe::new(kind, 50_000_000, 80 * MS, 80);
        while p.step(60 * SEC) {}
        let before = p.delivered;
        while p.step(180 * SEC) {}
        (p.delivered - before) as f64 / 120.0 / p.rate_pps()
    };
    let (reno, illinois) = (busy(Kind::NewReno), busy(Kind::Illinois));
    assert!(illinois > 0.95 && illinois > reno + 0.05, "Illinois {illinois:.3}, Reno {reno:.3}");
}

#[test]
fn golden_trace() {
    insta::assert_snapshot!(trace(
        Kind::Illinois,
        &[
            (4, 50_000, Then::Lose),
            (5, 50_000, Then::Nothing),
            (4, 55_000, Then::Nothing),
            (4, 60_000, Then::Nothing),
            (4, 70_000, Then::Lose),
            (8, 50_000, Then::Lose),
            (4, 50_000, Then::Timeout),
            (12, 51_000, Then::Nothing),
        ]
    ));
}

/// `update_params` (`cnt_rtt > 0`): a round trip that gave no sample, as where all of it was sent again, tells nothing new of the delay.
#[test]
fn a_round_trip_without_a_sample_changes_nothing() {
    let mut r = delayed(20_000, 10_000);
    let before = alpha_beta(&r);
    assert!(before.0 < 1.0 && before.1 > 0.2);
    r.rounds(3, 0);
    assert_eq!(alpha_beta(&r), before);
}

/// `tcp_reno_undo_cwnd`: the window of before, or the present one if that is larger.
#[test]
fn undo_restores_the_window() {
    let mut r = Rounds::beyond_slow_start(Kind::Illinois, 100);
    (r.c.cwnd, r.c.prior_cwnd) = (60, 100);
    assert_eq!(r.cca.undo_cwnd(&mut r.c), 100);
    r.c.cwnd = 130;
    assert_eq!(r.cca.undo_cwnd(&mut r.c), 130);
}
