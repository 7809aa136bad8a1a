//! RFC 9002's rules by sequences that were made by hand from its text; sections are its own where no other is named.

use super::constants::*;
use super::sender::Fate;
use super::*;
use crate::packet::flag;
use proptest::prelude::*;
use queuewright_cca::{CaState, Kind};
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;

fn setup() -> Setup {
    Setup {
        cca: Kind::NewReno,
        segments: None,
        closes: false,
        initial_window: None,
        packet_threshold: PACKET_THRESHOLD,
        rate: 0,
        ecn: false,
        l4s: false,
        stop_ns: u64::MAX,
        warmup_ns: 0,
    }
}

/// A sender at work, and what it has let out last.
struct Bench {
    sender: Sender,
    out: Vec<Outgoing>,
}

impl Bench {
    /// Its connection was opened at 0 over a path of 100 ms: srtt 100 ms, rttvar 50 ms, and a probe timeout of 325 ms.
    fn new(setup: Setup) -> Bench {
        Bench::over(setup, 100 * MS)
    }

    fn over(setup: Setup, rtt_ns: u64) -> Bench {
        let mut bench = Bench { sender: Sender::new(setup), out: Vec::new() };
        bench.sender.start_open(0, rtt_ns, 0, &mut bench.out);
        bench
    }

    /// Packet numbers that went out last.
    fn sent(&mut self) -> Vec<u32> {
        self.out.drain(..).map(|o| o.number).collect()
    }

    /// Segments that did.
    fn segments(&mut self) -> Vec<u32> {
        self.out.drain(..).map(|o| o.segment).collect()
    }

    /// An ACK of these numbers (first, last) at `at`, without delay.
    fn ack(&mut self, at: u64, ranges: &[(u32, u32)]) {
        self.ack_with(at, ranges, 0, None);
    }

    fn ack_with(&mut self, at: u64, ranges: &[(u32, u32)], delay_ns: u64, ce: Option<u32>) {
        let ranges: Vec<(u32, u32)> = ranges.iter().map(|r| (r.0, r.1 + 1)).collect();
        self.sender.on_ack(at, &AckFrame::new(&ranges, delay_ns, ce), 0, &mut self.out);
        self.check();
    }

    /// The timer fires when it is due.
    fn timer(&mut self) -> u64 {
        let at = self.sender.timer_at();
        self.sender.on_timer(at, &mut self.out);
        self.check();
        at
    }

    fn write(&mut self, at: u64, segments: u32) {
        self.sender.write(at, segments, &mut self.out);
        self.check();
    }

    fn cwnd(&self) -> u32 {
        self.sender.conn().cwnd
    }

    fn in_flight(&self) -> u32 {
        self.sender.conn().packets_out
    }

    /// Each packet is acknowledged, lost or in flight, and one of these alone.
    fn check(&self) {
        let c = self.sender.conn();
        let in_flight: u32 = self.sender.in_flight.get().iter().map(|r| r.1 - r.0).sum();
        assert_eq!(in_flight, c.packets_out);
        // The handshake counts as delivered.
        let acked = u64::from(c.delivered) - 1;
        assert_eq!(acked + u64::from(c.lost) + u64::from(in_flight), u64::from(c.snd_nxt));
    }
}

/// Section 7.2: ten packets of 1,452 bytes are less than 14,720 bytes.
#[test]
fn the_initial_window_is_ten_packets() {
    let mut bench = Bench::new(setup());
    assert_eq!(bench.sent(), (0..10).collect::<Vec<_>>());
    assert_eq!((bench.cwnd(), bench.in_flight()), (10, 10));
}

/// What a sender does whose packets 1 and 2, then 3, are acknowledged: was packet 0 lost after the first, and after the second?
fn lost_at(packet_threshold: u32) -> [bool; 2] {
    let mut bench = Bench::new(Setup { packet_threshold, ..setup() });
    let lost = |bench: &Bench| bench.sender.fate(0) == Some(Fate::Lost);
    bench.ack(100 * MS, &[(1, 2)]);
    let before = lost(&bench);
    bench.ack(101 * MS, &[(1, 3)]);
    [before, lost(&bench)]
}

/// Section 6.1.1: a packet is lost once one that was sent three later is acknowledged, and not before. What it carried goes in a packet with a new
/// number.
#[test]
fn a_packet_is_lost_three_before_one_that_is_acknowledged() {
    assert_eq!(lost_at(PACKET_THRESHOLD), [false, true]);
    // Wrong variants show.
    assert_eq!([lost_at(2), lost_at(4)], [[true, true], [false, false]]);

    let mut bench = Bench::new(setup());
    bench.sent();
    bench.ack(100 * MS, &[(1, 2)]);
    // In slow start two more may go for each of two.
    assert_eq!(bench.sent(), [10, 11, 12, 13]);
    bench.ack(101 * MS, &[(1, 3)]);
    // Half of 12 packets are less than the 10 in flight.
    assert_eq!((bench.cwnd(), bench.in_flight(), bench.sent()), (6, 10, vec![]));
    bench.ack(102 * MS, &[(1, 8)]);
    assert_eq!(bench.in_flight(), 6);
    let out = std::mem::take(&mut bench.out);
    let first = out[0];
    assert_eq!((first.number, first.segment, first.flags), (14, 0, flag::QUIC));
    assert_eq!(bench.sender.resent(), 1);
}

/// Section 6.1.2: 9/8 of the round-trip time of 100 ms after it was sent a packet is lost before which later ones were acknowledged; till then the
/// timer is that one's.
#[test]
fn a_packet_is_lost_by_its_time() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(1, 2)]);
    assert_eq!(bench.sender.timer_at(), 112_500_000);
    bench.sent();
    assert_eq!((bench.timer(), bench.sender.fate(0)), (112_500_000, Some(Fate::Lost)));
    // It was no probe timeout: the window is halved, 12 packets, and nothing is sent beyond it.
    assert_eq!((bench.cwnd(), bench.sender.pto_count()), (6, 0));
    // Packets 3 to 13 are in flight, and the next timeout is a probe's: of those that went at 100 ms.
    assert_eq!((bench.in_flight(), bench.sent()), (11, vec![]));
    // srtt 100, rttvar 3/4 of 50: 100 + 150 + 25 ms.
    assert_eq!(bench.sender.timer_at(), 375 * MS);
}

/// Section 6.1.2: of the smoothed and the latest round-trip time the larger counts: 9/8 of 180 ms.
#[test]
fn a_packet_has_the_time_of_the_larger_round_trip() {
    let mut bench = Bench::new(setup());
    bench.ack(180 * MS, &[(1, 2)]);
    assert_eq!(bench.sender.timer_at(), 202_500_000);
}

/// Sections 6.2.1 and 6.2.4: the probe timeout is 100 + 4 x 50 + 25 ms after the last packet. It sends two packets, whatever the window says, marks
/// none lost and leaves the window as it is. The next one comes after twice the time, and an ACK ends the back-off.
#[test]
fn a_probe_timeout_sends_two_packets_and_doubles() {
    let mut bench = Bench::new(setup());
    bench.sent();
    assert_eq!(bench.sender.timer_at(), 325 * MS);
    bench.timer();
    assert_eq!(bench.sent(), [10, 11]);
    assert_eq!((bench.cwnd(), bench.in_flight(), bench.sender.conn().lost), (10, 12, 0));
    assert_eq!((bench.sender.pto_count(), bench.sender.timer_at()), (1, (325 + 650) * MS));
    bench.timer();
    assert_eq!((bench.sender.pto_count(), bench.sender.timer_at()), (2, (975 + 1300) * MS));
    assert_eq!(bench.sender.stats().timeouts, 2);
    bench.ack(980 * MS, &[(12, 13)]);
    assert_eq!(bench.sender.pto_count(), 0);
}

/// Section 6.2.1 and appendix A.7: an ACK of nothing new leaves the back-off and the timer as they are.
#[test]
fn an_acknowledgement_of_nothing_new_leaves_the_back_off() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(0, 1)]);
    let first = bench.timer();
    let next = bench.sender.timer_at();
    assert_eq!(bench.sender.pto_count(), 1);
    bench.ack(first + MS, &[(0, 1)]);
    assert_eq!((bench.sender.pto_count(), bench.sender.timer_at()), (1, next));
    bench.ack(first + 2 * MS, &[(0, 2)]);
    assert_eq!(bench.sender.pto_count(), 0);
}

/// Section 6.2.4: a probe has new data if there are any, else what is not acknowledged, oldest first; of one packet there is one probe.
#[test]
fn probes_carry_new_data_or_the_oldest() {
    let mut bench = Bench::new(Setup { segments: Some(3), closes: true, ..setup() });
    assert_eq!(bench.segments(), [0, 1, 2]);
    bench.timer();
    assert_eq!(bench.segments(), [0, 1]);
    // The next ones have what no probe has carried, or the last probes do.
    bench.timer();
    assert_eq!(bench.segments(), [2, 0]);
    let mut bench = Bench::new(Setup { segments: Some(1), ..setup() });
    assert_eq!(bench.segments(), [0]);
    bench.timer();
    assert_eq!(bench.segments(), [0]);
    // New data go first, though the window has room for none.
    let mut bench = Bench::new(setup());
    bench.out.clear();
    bench.timer();
    assert_eq!(bench.segments(), [10, 11]);
}

/// Section 6.2.1: the probe timeout counts from the last packet that was sent, and there is none with nothing in flight.
#[test]
fn the_probe_timeout_counts_from_the_last_packet() {
    let mut bench = Bench::new(Setup { segments: Some(1), ..setup() });
    bench.write(50 * MS, 1);
    assert_eq!(bench.sender.timer_at(), 375 * MS);
    bench.ack(150 * MS, &[(0, 1)]);
    assert_eq!((bench.in_flight(), bench.sender.timer_at()), (0, u64::MAX));
}

/// Section 6.2.2: 333 ms are what is known before the handshake: it is tried again after 999 ms, then after twice that.
#[test]
fn a_handshake_is_tried_again_after_a_second() {
    let mut sender = Sender::new(setup());
    let mut out = Vec::new();
    sender.send_handshake(0);
    assert_eq!(sender.timer_at(), 999 * MS);
    assert!(sender.on_timer(999 * MS, &mut out));
    sender.send_handshake(999 * MS);
    assert_eq!((sender.timer_at(), sender.handshakes_resent()), (2997 * MS, 1));
    assert!(sender.on_established(1100 * MS, &mut out) && out.len() == 10);
    // Which try was answered is not known: no sample.
    assert_eq!(sender.rtt().first_at, None);
    let mut sender = Sender::new(setup());
    sender.send_handshake(0);
    sender.on_established(80 * MS, &mut out);
    assert_eq!(sender.rtt().smoothed_ns, 80 * MS);
}

/// Sections 7.3.2 and 7.3.3: losses of a period halve the window once. What was sent in it leaves the window as it is, and what was sent after its
/// begin ends it.
#[test]
fn a_recovery_period_halves_the_window_once() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(3, 3)]);
    // Packet 0 is lost: 10 and one of slow start would be 11, but the loss comes before it.
    assert_eq!((bench.cwnd(), bench.sender.conn().ssthresh), (5, 5));
    assert_eq!(bench.sender.conn().ca_state, CaState::Recovery);
    // So are 1 and 2, of the same window.
    bench.ack(101 * MS, &[(3, 5)]);
    assert_eq!((bench.cwnd(), bench.sender.conn().lost), (5, 3));
    bench.ack(102 * MS, &[(3, 9)]);
    assert_eq!((bench.cwnd(), bench.in_flight()), (5, 5));
    // The first of them went at 101 ms, when 4 were in flight.
    assert_eq!(bench.sent()[10..], [10, 11, 12, 13, 14]);
    // They were sent after the begin (100 ms): the period is over. In congestion avoidance a window makes one packet.
    bench.ack(202 * MS, &[(3, 12)]);
    assert_eq!((bench.sender.conn().ca_state, bench.cwnd()), (CaState::Open, 5));
    bench.ack(203 * MS, &[(3, 14)]);
    assert_eq!(bench.cwnd(), 6);
}

/// Section 7.2: two packets are the least.
#[test]
fn the_window_has_two_packets_at_least() {
    let mut bench = Bench::new(Setup { initial_window: Some(4), ..setup() });
    let mut at = 100 * MS;
    let mut acked = Vec::new();
    for _ in 0..6 {
        // The last of what is in flight alone arrives, and what time has made of the others.
        let last = bench.sender.conn().snd_nxt - 1;
        acked.push((last, last));
        bench.ack(at, &acked);
        bench.sender.on_resume(at + 99 * MS, &mut bench.out);
        at += 500 * MS;
    }
    assert_eq!(bench.cwnd(), 2);
}

/// Section 7.1 and appendix B.7: a count of CE that rises is congestion, once a period; nothing is sent again.
#[test]
fn a_mark_halves_the_window() {
    let mut bench = Bench::new(Setup { ecn: true, ..setup() });
    assert!(bench.out.iter().all(|o| o.flags == flag::ECT | flag::QUIC));
    bench.ack_with(100 * MS, &[(0, 1)], 0, Some(1));
    assert_eq!((bench.cwnd(), bench.sender.conn().ca_state), (5, CaState::Cwr));
    bench.ack_with(101 * MS, &[(0, 3)], 0, Some(2));
    assert_eq!((bench.cwnd(), bench.sender.conn().delivered_ce), (5, 2));
    // The same count says nothing new.
    bench.ack_with(102 * MS, &[(0, 9)], 0, Some(2));
    assert_eq!((bench.cwnd(), bench.sender.resent()), (5, 0));
    // What was sent after the begin is another window's.
    bench.ack_with(203 * MS, &[(0, 12)], 0, Some(3));
    assert_eq!(bench.cwnd(), 2);
}

/// Appendices A.7 and B.7: a count of CE counts with an ACK of something new, though its largest packet is none newer. When that was sent decides
/// whether the mark is of the recovery period under way.
#[test]
fn a_mark_counts_with_an_older_largest_packet() {
    let mut bench = Bench::new(Setup { ecn: true, ..setup() });
    bench.ack_with(100 * MS, &[(1, 2)], 0, Some(0));
    assert_eq!(bench.cwnd(), 12);
    bench.ack_with(101 * MS, &[(0, 2)], 0, Some(1));
    assert_eq!((bench.cwnd(), bench.sender.conn().delivered_ce), (6, 1));
    bench.sent();
    // Packets 10 to 13, of 100 ms, are in flight, and two more go.
    bench.ack_with(102 * MS, &[(0, 9)], 0, Some(1));
    assert_eq!(bench.sent(), [14, 15]);
    bench.ack_with(203 * MS, &[(0, 12), (14, 14)], 0, Some(1));
    assert_eq!((bench.cwnd(), bench.sender.fate(13)), (6, Some(Fate::InFlight)));
    // 13 went before the period began (101 ms), 14 after it.
    bench.ack_with(204 * MS, &[(0, 14)], 0, Some(2));
    assert_eq!((bench.cwnd(), bench.sender.conn().delivered_ce), (3, 2));
}

/// Section 5.1: an ACK whose largest packet was acknowledged before gives no sample, whatever else it acknowledges.
#[test]
fn a_largest_packet_gives_a_sample_once() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(1, 2)]);
    let before = *bench.sender.rtt();
    assert_eq!((before.smoothed_ns, before.latest_ns), (100 * MS, 100 * MS));
    bench.ack(108 * MS, &[(0, 2)]);
    assert_eq!((bench.sender.acked_to(), *bench.sender.rtt()), (3, before));
}

/// Section 7.8: a window that is not used does not grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut bench = Bench::new(Setup { segments: Some(0), ..setup() });
    bench.write(MS, 3);
    bench.ack(101 * MS, &[(0, 2)]);
    assert_eq!((bench.cwnd(), bench.in_flight()), (10, 0));
    bench.write(200 * MS, 30);
    assert_eq!(bench.in_flight(), 10);
    bench.ack(300 * MS, &[(0, 4)]);
    assert_eq!(bench.cwnd(), 12);
}

/// Section 7.7: what pacing holds back does not leave the window unused. Ten packets go at once; from then on the interval is 100 ms / 40 / 1.25.
#[test]
fn packets_are_spaced_out() {
    let mut bench = Bench::new(Setup { initial_window: Some(40), ..setup() });
    assert_eq!((bench.sent().len(), bench.sender.resume_at()), (10, 2 * MS));
    for n in 1..=5 {
        bench.sender.on_resume(n * 2 * MS, &mut bench.out);
        assert_eq!((bench.sent().len(), bench.sender.resume_at()), (1, (n + 1) * 2 * MS));
    }
    assert!(bench.sender.conn().is_cwnd_limited);
    // A pause gives no more than the bucket holds.
    bench.sender.on_resume(50 * MS, &mut bench.out);
    assert_eq!(bench.sent().len(), 10);
}

/// A connection as in the example of section 7.6.3, a second later, and with two packets a probe timeout: with 5/11 s as the first sample, packet 0
/// (its #1), acknowledged after 1.2 s, makes the probe timeout the example's 2 s. `also`: a packet that is acknowledged at the end, too.
fn persistent(also: Option<u32>) -> Bench {
    const S: u64 = 1000 * MS;
    let mut bench = Bench::over(Setup { segments: Some(0), ..setup() }, 5 * S / 11);
    bench.write(S, 1);
    bench.write(2 * S, 1);
    bench.ack(2200 * MS, &[(0, 0)]);
    let pto_ns = bench.sender.rtt().probe_timeout_ns();
    assert!(pto_ns.abs_diff(2 * S) < 10, "{pto_ns}");
    for t in 3..=7 {
        bench.write(t * S, 1);
    }
    bench.sent();
    let first = bench.timer();
    assert!(first.abs_diff(9 * S) < 10, "{first}");
    assert_eq!(bench.sent(), [7, 8]);
    let second = bench.timer();
    assert!(second.abs_diff(13 * S) < 20, "{second}");
    assert_eq!(bench.sent(), [9, 10]);
    assert_eq!(bench.cwnd(), 10);
    let also = also.map(|number| (number, number));
    let ranges: Vec<(u32, u32)> = also.into_iter().chain([(10, 10)]).collect();
    bench.ack(13_200 * MS, &ranges);
    bench
}

/// Section 7.6: packets 1 to 8 are lost, over 7 s, and none between them was acknowledged; that is more than three probe timeouts.
#[test]
fn losses_over_a_long_time_are_persistent_congestion() {
    let bench = persistent(None);
    assert_eq!(bench.sender.conn().lost, 8);
    assert_eq!((bench.cwnd(), bench.sender.conn().ssthresh), (2, 5));
    // Section 5.2: the least round-trip time is the last.
    assert!(bench.sender.rtt().min_ns.abs_diff(200 * MS) < 20);
    // With one acknowledged in the middle (sent at 5 s) there are 2 s on the one side and 3 on the other.
    let bench = persistent(Some(4));
    assert_eq!((bench.sender.conn().lost, bench.cwnd()), (7, 5));
    // With the second of them (3 s) there are 5 s (4 to 9), less than three times 1.947 s.
    assert_eq!(persistent(Some(2)).cwnd(), 5);
}

/// Section 7.6.2: no persistent congestion of packets that were sent before there was a round-trip time.
#[test]
fn without_a_round_trip_time_congestion_is_not_persistent() {
    let mut sender = Sender::new(setup());
    let mut out = Vec::new();
    sender.send_handshake(0);
    sender.send_handshake(999 * MS);
    sender.on_established(1100 * MS, &mut out);
    for _ in 0..4 {
        let at = sender.timer_at();
        sender.on_timer(at, &mut out);
    }
    let last = out.last().map_or(0, |o| o.number);
    sender.on_ack(sender.timer_at(), &AckFrame::new(&[(last, last + 1)], 0, None), 0, &mut out);
    assert_eq!((sender.conn().lost > 10, sender.conn().cwnd), (true, 5));
}

/// RFC 9000 section 13.3: what was thought lost and arrives is acknowledged, and counts once.
#[test]
fn what_arrives_late_is_not_sent_again() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(1, 5)]);
    assert_eq!(bench.sender.fate(0), Some(Fate::Lost));
    // Nothing could go in between: the window is 5, and 4 are in flight, so one went.
    assert_eq!(bench.segments()[10..], [0]);
    bench.ack(101 * MS, &[(0, 6)]);
    assert_eq!(bench.sender.acked_to(), 7);
    // The window stays reduced.
    assert_eq!(bench.cwnd(), 5);
}

/// RFC 9000 sections 13.2.2 and 13.1: an ACK of what was acknowledged changes nothing, and one of what was never sent is not believed.
#[test]
fn an_acknowledgement_of_nothing_new_changes_nothing() {
    let mut bench = Bench::new(setup());
    bench.ack(100 * MS, &[(0, 1)]);
    let before = format!("{:?}", bench.sender);
    bench.ack(130 * MS, &[(0, 1)]);
    bench.ack(130 * MS, &[(0, 99)]);
    assert!(format!("{:?}", bench.sender) == before, "{:?}", bench.sender);
}

/// What becomes of a packet or an ACK on its way.
fn any_way() -> impl Strategy<Value = Vec<(bool, u64)>> {
    prop::collection::vec((prop::bool::weighted(0.15), 0..40u64), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost or comes late, and with any congestion control: packets add up at each step, the back-off ends with each ACK, what is in
    /// flight exceeds the window by probes alone, and in the end all has arrived.
    #[test]
    fn all_arrives(there in any_way(), back in any_way(), segments in 1..120u32, cca in 0..Kind::ALL.len(), ecn in any::<bool>()) {
        let cca = Kind::ALL[cca];
        prop_assume!(!cca.needs_rate());
        let ecn = ecn || cca.needs_ecn();
        let mut bench = Bench::new(Setup { cca, segments: Some(segments), closes: true, ecn, ..setup() });
        let mut receiver = Receiver::new(ecn);
        // (when, in what order made, packet or ACK)
        let mut way: BTreeSet<(u64, u32, Option<u32>)> = BTreeSet::new();
        let (mut made, mut now, mut acks) = (0u32, 0u64, Vec::new());
        let mut numbers = Vec::new();
        for step in 0..20_000 {
            for o in bench.out.drain(..) {
                prop_assert_eq!(o.number as usize, numbers.len());
                numbers.push(o.segment);
                let (lost, late) = there[numbers.len() % there.len()];
                made += 1;
                // Nothing is lost for ever.
                if !lost || numbers.len().is_multiple_of(7) {
                    way.insert((now + (50 + late) * MS, made, Some(o.number)));
                }
            }
            if bench.sender.acked_to() == segments {
                break;
            }
            prop_assert!(step < 19_999, "it does not end");
            let next = way.first().map_or(u64::MAX, |w| w.0);
            let at = next.min(receiver.ack_at()).min(bench.sender.timer_at()).min(bench.sender.resume_at());
            prop_assert!(at != u64::MAX && at >= now);
            now = at;
            let mut send = |frame, acks: &mut Vec<AckFrame>, way: &mut BTreeSet<_>| {
                let (lost, late) = back[acks.len() % back.len()];
                acks.push(frame);
                made += 1;
                if !lost || acks.len().is_multiple_of(5) {
                    way.insert((now + (50 + late) * MS, made, Some(u32::MAX - (acks.len() as u32 - 1))));
                }
            };
            if next == at {
                let (_, _, what) = way.pop_first().expect("there is one");
                match what {
                    Some(number) if (number as usize) < numbers.len() => {
                        let ce = ecn && number % 31 == 30;
                        if let Some(frame) = receiver.on_packet(now, number, numbers[number as usize], ce) {
                            send(frame, &mut acks, &mut way);
                        }
                    }
                    what => {
                        let frame = acks[(u32::MAX - what.expect("an ACK")) as usize];
                        let before = bench.sender.conn().delivered;
                        bench.sender.on_ack(now, &frame, made, &mut bench.out);
                        if bench.sender.conn().delivered != before {
                            prop_assert_eq!(bench.sender.pto_count(), 0);
                        }
                    }
                }
            } else if receiver.ack_at() == at {
                let (_, frame) = receiver.due(now).expect("it is due");
                send(frame, &mut acks, &mut way);
            } else if bench.sender.resume_at() == at {
                let before = bench.in_flight();
                bench.sender.on_resume(now, &mut bench.out);
                prop_assert!(bench.in_flight() <= bench.cwnd().max(before));
            } else {
                bench.sender.on_timer(now, &mut bench.out);
            }
            // The connection's end forgets what is in flight.
            if bench.sender.acked_to() < segments {
                bench.check();
            }
        }
        prop_assert_eq!(receiver.in_order(), segments);
        prop_assert_eq!((bench.in_flight(), bench.sender.timer_at()), (0, u64::MAX));
    }
}
