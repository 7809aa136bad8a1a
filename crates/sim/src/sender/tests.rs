//! A sender alone: what it does at each ACK and each due timer, against Linux's rules worked out by hand.

use super::buffer::BUFFER_BYTES;
use super::*;
use crate::alone::{self, Sender as Scratch};
use crate::scoreboard::{ENDS_BUFFER, LOST, RETRANS, SACKED};
use queuewright_cca::CaState;

const MS: u64 = 1_000_000;
const TICK: u64 = 4 * MS;

fn fires_at(now: u64, us: u64) -> u64 {
    crate::jiffies::fires_at(Clock::default(), now, us)
}

/// A sender that has not begun.
fn closed(cca: Kind, segments: Option<u32>, initial_window: Option<u32>) -> Scratch {
    Scratch::new(alone::Setup { cca, segments, initial_window, ..alone::Setup::default() })
}

/// An open connection with a first round-trip time, which has sent what it may.
fn open(cca: Kind, segments: Option<u32>, window: u32, rtt_ms: u64) -> Scratch {
    let mut bench = closed(cca, segments, Some(window));
    bench.open(1000 * MS, rtt_ms * MS, 0);
    bench
}

/// A sender whose ACKs the test makes.
trait ByHand {
    fn acked(&mut self, ms: f64, cum: u32, sacks: &[(u32, u32)], flags: u8);
    fn wait(&mut self, ms: f64);
    fn timer(&mut self);
    fn sent(&mut self) -> Vec<u32>;
}

impl ByHand for Scratch {
    /// An ACK `ms` later; it echoes what was sent a round trip before.
    fn acked(&mut self, ms: f64, cum: u32, sacks: &[(u32, u32)], flags: u8) {
        self.wait(ms);
        let ack = alone::Ack {
            ts: (self.now / MS) as u32,
            duplicate: true,
            dsack: flags & flag::DSACK != 0,
            ece: flags & flag::ECE != 0,
            ..alone::Ack::new(cum, sacks)
        };
        self.ack(self.now, &ack);
    }

    fn wait(&mut self, ms: f64) {
        self.now += (ms * 1e6) as u64;
    }

    /// The timer fires.
    fn timer(&mut self) {
        assert!(self.step(u64::MAX));
    }

    /// Segments sent since the last look.
    fn sent(&mut self) -> Vec<u32> {
        self.take_sent().flat_map(|b| b.seq..b.seq + b.count).collect()
    }
}

/// `tcp_small_queue_check`, 15 MB/s: bursts are of 10 segments, and where two wait below TCP, as much memory is taken as may be and the one byte
/// that `sk_wmem_alloc` begins with: a third does not go before the first has gone.
#[test]
fn two_bursts_wait_below_tcp() {
    let mut b = open(Kind::Cubic, None, 10, 40);
    let s = &mut b.sender;
    (s.conn.pacing_rate, s.access_bps, s.access_segment_ns) = (15_000_000, 100_000_000, 121_120);
    assert_eq!(s.burst_segments(), 10);
    let now = 5000 * MS;
    let mut held = |waiting: u64| {
        s.access_free_ns = now + waiting * s.access_segment_ns;
        s.resume_at = 0;
        (s.held_back(now, &[]), s.resume_at)
    };
    assert_eq!([held(0), held(10)], [(false, 0); 2]);
    assert_eq!(held(11), (true, now + 121_120));
    assert_eq!(held(20), (true, now + 10 * 121_120));
}

/// kernel/time/timer.c: whole ticks of 4 ms, one more, and from 252 ms on (63 ticks) eighths of the precision.
#[test]
fn timers_fire_when_the_kernels_wheel_turns() {
    // Seen on Linux 6.18: RACK's timer, set for 27 ms, fires 31.8 ms later.
    assert_eq!(fires_at(200_000, 27_000), 200_000 + 31_800_000);
    assert_eq!(fires_at(0, 240_000), 61 * TICK);
    assert_eq!(fires_at(TICK - 1, 240_000), 61 * TICK);
    // 65 ticks: 65 >> 3 is 8, the next is 9 x 8 = 72.
    assert_eq!(fires_at(0, 260_000), 72 * TICK);
    assert_eq!(fires_at(3 * TICK, 1_000_000), (253 / 8 + 1) * 8 * TICK);
    for us in (0..9_000_000).step_by(13_331) {
        let (now, late) = (777_777_777, fires_at(777_777_777, us) - 777_777_777);
        assert!(late >= us * 1000, "{us} us at {now}: {late} ns, too early");
        assert!(late <= us * 1000 + us * 1000 / 7 + 2 * TICK, "{us} us: {late} ns");
    }
}

/// A probe is sent after two round trips and 2 ms (`tcp_schedule_loss_probe`), in ticks and one more, and the timeout is kept in ticks.
#[test]
fn the_kernels_clock_can_be_finer() {
    for (hz, probe, rto) in [(1000, 1024, 201_000), (250, 1028, 204_000), (300, 1026, 203_333)] {
        let tuned = alone::Sysctls { hz, ..alone::Sysctls::default() };
        let mut b = Scratch::new(alone::Setup { segments: Some(10), tuned, ..Default::default() });
        b.open(1000 * MS, 10 * MS + 300_000, 0);
        assert_eq!((b.sender.timer, b.sender.timer_at / MS), (Timer::Probe, probe), "{hz}");
        assert_eq!(b.sender.whole_ticks(200_100), rto, "{hz}");
    }
}

/// `tcp_sndbuf_expand`: two windows of segments that count 2,304 bytes each, 46,080 for ten. Buffers are as long as half the first window
/// (22 segments of 32,767 bytes); the first is filled up again as it is sent, twice five segments, and there is no room for another:
/// 32, as seen on Linux 7.2.
#[test]
fn the_application_writes_until_the_send_buffer_is_full() {
    let written = |segments| open(Kind::Cubic, segments, 10, 40).sender.written;
    assert_eq!(written(None), 22 + 10);
    assert_eq!(written(Some(50)), 22 + 10);
    assert_eq!(written(Some(20)), 20);
    // BBR's three windows, 69,120 bytes: 32 segments and 3 buffers that they lie in leave room for one more.
    assert_eq!(open(Kind::Bbr, None, 10, 40).sender.written, 2 * 22 + 10);
}

fn with_buffer(segments: Option<u32>, window: u32, send_buffer: SendBuffer) -> Scratch {
    let setup = alone::Setup {
        cca: Kind::Cubic,
        segments,
        initial_window: Some(window),
        send_buffer,
        ..Default::default()
    };
    let mut bench = Scratch::new(setup);
    bench.open(1000 * MS, 40 * MS, 0);
    bench
}

/// `tcp_wmem[2]`: payload and what it lies in never exceed it by more than one buffer, and so does what is in flight.
#[test]
fn the_send_buffer_is_bounded() {
    for kib in [16u32, 64, 1000] {
        let mut b = with_buffer(None, 4000, SendBuffer { wmem_bytes: Some(kib << 10), ..Default::default() });
        let mut cum = 0;
        for _ in 0..5_000 {
            cum = (cum + 2).min(b.sender.conn.snd_nxt);
            b.acked(0.05, cum, &[], 0);
            let queued = b.sender.queued();
            assert!(queued < (kib << 10) + 45 * 1448 + BUFFER_BYTES, "{kib} KiB: {queued}");
            assert!((b.sender.conn.snd_nxt - cum) * 1448 <= queued);
        }
        assert!(cum > 5_000, "{kib} KiB: {cum}");
        assert!(b.sender.queued() > (kib << 10) / 2, "{kib} KiB is used");
    }
}

/// An application that writes other than whole segments is not held by a full buffer while cwnd has room: a part of a segment waits
/// behind another that is on its way (`tcp_minshall_check`), and what it lies in is filled up without a look at memory
/// (`tcp_sendmsg_locked`). On Linux 685 kB were so in a buffer of 64 KiB.
#[test]
fn parts_of_segments_get_past_a_full_buffer() {
    let most = |write_bytes: u32| {
        let buffer = SendBuffer { wmem_bytes: Some(64 << 10), ..Default::default() };
        let mut b = with_buffer(None, 400, buffer);
        b.sender.write_bytes = write_bytes;
        let (mut cum, mut most) = (0, 0);
        for _ in 0..2_000 {
            cum = (cum + 2).min(b.sender.conn.snd_nxt);
            b.acked(2.0, cum, &[], 0);
            most = most.max(b.sender.queued());
        }
        most
    };
    assert!(most(90 * 1448) < 250_000, "{}", most(90 * 1448));
    assert!(most(128 << 10) > 500_000, "{}", most(128 << 10));
}

/// `TCP_NOTSENT_LOWAT` (`tcp_stream_memory_free`): no buffer is begun while so much waits to be sent, and a writer that stopped is
/// woken below half of it.
#[test]
fn little_waits_to_be_sent() {
    for lowat in [1u32, 16 << 10, 200_000] {
        let mut b =
            with_buffer(None, 20, SendBuffer { notsent_lowat_bytes: Some(lowat), ..Default::default() });
        let mut cum = 0;
        let unsent = |b: &Scratch| (b.sender.written - b.sender.conn.snd_nxt) * 1448;
        let (mut woken, mut waited) = (0, 0);
        for _ in 0..2_000 {
            cum = (cum + 2).min(b.sender.conn.snd_nxt);
            let before = (b.sender.written, unsent(&b));
            b.acked(1.0, cum, &[], 0);
            assert!(unsent(&b) < lowat + 45 * 1448, "{lowat}: {} wait", unsent(&b));
            if b.sender.written > before.0 {
                // Half of it, and what an acknowledgement lets go.
                assert!(before.1 < lowat / 2 + 10 * 1448, "{lowat}: {} waited", before.1);
                woken += 1;
            } else if before.1 > 0 {
                waited += 1;
            }
        }
        assert!(woken > 10 && (lowat < 16 << 10 || waited > 10), "{lowat}: woken {woken}, waited {waited}");
        assert!(cum > 2_000, "{lowat}: {cum}");
    }
}

/// A writer that found the buffer full is woken when a third of it is free (`sk_stream_write_space`), no sooner and no later; what
/// it is made of counts, so that less waits there in small buffers.
#[test]
fn a_writer_waits_until_a_third_of_the_buffer_is_free() {
    let mut b = open(Kind::Cubic, None, 1200, 40);
    let most = 4 << 20;
    let mut cum = 0;
    let (mut before, mut writes, mut least) = (b.sender.written, 0, u32::MAX);
    for _ in 0..20_000 {
        cum = (cum + 2).min(b.sender.conn.snd_nxt);
        b.acked(0.05, cum, &[], 0);
        let outstanding = b.sender.written - cum;
        if b.sender.written > before {
            writes += 1;
            // Just below the brim before it wrote, at the brim after it.
            let was = (before - cum) * 1448;
            assert!(was <= most / 3 * 2, "{was} bytes of payload waited");
            assert!(
                outstanding * 1448 + BUFFER_BYTES * outstanding / 45 + 66_120 >= most * 9 / 10,
                "{outstanding}"
            );
            least = least.min(before - cum);
        }
        before = b.sender.written;
        let buffers = b.sender.board.passed(cum, b.sender.conn.snd_nxt).0;
        assert_eq!(b.sender.buffers, buffers);
        assert!(outstanding * 1448 + buffers * BUFFER_BYTES <= most + 66_120);
    }
    assert!(writes > 5, "{writes} writes");
    // Two thirds of 4 MiB are 1,931 segments of payload; the buffers' own bytes take some of it.
    assert!((1_600..=1_931).contains(&least), "{least} segments when it was woken");
}

/// `tcp_push_one`: a write that goes on sends a burst of a full buffer that is the first to be sent, which waits for no other; the end of a write
/// (`tcp_push`) waits for a larger one (`tcp_tso_should_defer`).
#[test]
fn a_write_that_goes_on_pushes_one_burst() {
    let sent = |goes_on: bool| {
        let mut b = open(Kind::NewReno, Some(10), 30, 40);
        b.wait(39.5);
        b.sender.write(b.now, 19, &mut b.out);
        assert_eq!(b.sender.conn.in_flight(), 29);
        if goes_on {
            b.sender.write_on(b.now, 5, &mut b.out);
        } else {
            b.sender.write(b.now, 5, &mut b.out);
        }
        b
    };
    assert_eq!(sent(false).sender.conn.snd_nxt, 29);
    let mut b = sent(true);
    assert_eq!(b.sender.conn.snd_nxt, 30);
    // Another burst, although there is room for more; and none of a buffer behind the first.
    b.sender.conn.cwnd = 60;
    b.sender.write_on(b.now, 6, &mut b.out);
    assert_eq!((b.sender.conn.snd_nxt, b.sender.written), (32, 40));
    b.sender.write_on(b.now, 82, &mut b.out);
    assert_eq!(b.sender.conn.snd_nxt, 32);
}

/// `msg_data_left`: the last buffer of a write that is full waits for no larger burst where a part of a segment is left to be written.
#[test]
fn a_part_of_a_segment_makes_a_write_go_on() {
    let sent = |bytes: u32| {
        let mut b = open(Kind::NewReno, Some(21), 90, 40);
        b.acked(40.0, 1, &[], 0);
        b.sender.conn.pacing_rate = 200_000_000;
        b.sender.write_bytes = 90 * 1448 + bytes;
        b.sender.write(b.now, 200, &mut b.out);
        (b.sender.conn.cwnd, b.sender.conn.snd_nxt)
    };
    assert_eq!([sent(0), sent(700)], [(90, 66), (90, 91)]);
}

/// `tcp_push`: the end of a write goes with PSH, also alone, so that its receiver acknowledges it at once; where the next write goes on in
/// its buffer the end is there (`tcp_sendmsg_locked`).
#[test]
fn a_write_ends_with_push() {
    let mut b = unwritten(45);
    (b.sender.conn.cwnd, b.sender.window_end, b.sender.max_window) = (200, 1000, 1000);
    b.sender.write_bytes = 90 * 1448 + 752;
    b.sender.write(b.now, 91, &mut b.out);
    b.sender.snd_end = 400;
    let last = b.take_sent().last().map(|s| (s.seq, s.count, s.push));
    assert_eq!(last, Some((90, 1, true)));
    // One segment waits for room, and two more are written to its buffer: it goes alone, and does not end it.
    b.sender.conn.cwnd = 91;
    for (end, bytes) in [(92, 1448), (94, 2 * 1448)] {
        (b.sender.snd_end, b.sender.write_bytes) = (end, bytes);
        b.sender.write_all(b.now, &mut b.out);
    }
    assert_eq!((b.sender.conn.snd_nxt, b.sender.written, b.sender.push_end), (91, 94, 94));
    b.sender.snd_end = 400;
    for (cwnd, push) in [(92, false), (93, false), (94, true)] {
        b.sender.conn.cwnd = cwnd;
        b.sender.transmit(b.now, true, &mut b.out);
        let last = b.take_sent().last().map(|s| (s.seq, s.count, s.push));
        assert_eq!(last, Some((cwnd - 1, 1, push)));
    }
}

/// A part of a segment behind a full buffer lies in one of its own, which the next write fills up whatever room there is
/// (`tcp_sendmsg_locked`).
#[test]
fn what_waits_behind_a_full_buffer_is_filled_up() {
    let mut b = unwritten(45);
    // Nothing may go.
    (b.sender.window_end, b.sender.max_window) = (0, 1000);
    b.sender.write_bytes = 90 * 1448;
    b.sender.snd_end = 90;
    b.sender.write_all(b.now, &mut b.out);
    assert_eq!((b.sender.written, b.sender.all_buffers()), (90, 2));
    // Two buffers are full, and so is the memory by now.
    b.sender.rest = 752;
    (b.sender.snd_end, b.sender.sndbuf) = (400, b.sender.queued());
    b.sender.write_all(b.now, &mut b.out);
    assert_eq!((b.sender.written, b.sender.all_buffers()), (135, 3));
}

/// A part of a segment does not begin a buffer that there is no room for: the write ends short (`tcp_sendmsg_locked`). Here 90 segments
/// and the two buffers that they lie in fill the send buffer exactly.
#[test]
fn a_part_of_a_segment_begins_no_buffer_without_room() {
    let written = |sndbuf: u32| {
        let mut b = unwritten(45);
        (b.sender.conn.cwnd, b.sender.window_end, b.sender.max_window) = (200, 1000, 1000);
        (b.sender.write_bytes, b.sender.sndbuf, b.sender.wmem) = (128 << 10, sndbuf, sndbuf);
        b.sender.write(b.now, 400, &mut b.out);
        (b.sender.written, b.sender.rest, b.sender.full)
    };
    assert_eq!(written(90 * 1448 + 2 * BUFFER_BYTES), (90, 0, true));
    // A byte more, and the part begins one, and goes.
    assert_eq!(written(90 * 1448 + 2 * BUFFER_BYTES + 1), (91, 0, true));
}

/// `tcp_rate_check_app_limited`: only a write that finds nothing left of the one before is late.
#[test]
fn a_late_write_is_application_limited() {
    let mut b = open(Kind::Bbr, Some(10), 20, 40);
    assert_eq!(
        (b.sender.conn.app_limited, b.sender.conn.snd_nxt),
        (1, 10),
        "the first write finds nothing sent"
    );
    b.acked(40.0, 5, &[], 0);
    assert_eq!(b.sender.conn.app_limited, 0);
    b.sender.write(b.now, 10, &mut b.out);
    assert_eq!(b.sender.conn.app_limited, 11);
}

/// `tcp_rack_detect_loss` waits for the youngest that may still come: 50 + 12.5 - 58 ms, and 2 ms of slack: two ticks.
#[test]
fn rack_waits_as_long_as_the_youngest_may_take() {
    let mut b = open(Kind::NewReno, None, 1, 50);
    b.sent();
    b.sender.conn.cwnd = 3;
    b.wait(8.0);
    b.sender.push(b.now, &mut b.out);
    assert_eq!(b.sent(), [1, 2]);
    b.acked(50.0, 0, &[(1, 2)], 0);
    assert_eq!(b.sender.timer, Timer::Reorder);
    assert_eq!(b.sender.timer_at, (b.now / TICK + 2 + 1) * TICK);
    b.sent();
    b.timer();
    assert_eq!(b.sent()[0], 0);
}

/// `tcp_ack`, `old_ack`: SACK blocks of an ACK that another has overtaken count, but what they tell of never counts as delivered.
#[test]
fn an_overtaken_ack_still_tells_what_arrived() {
    let mut b = open(Kind::NewReno, None, 20, 40);
    b.acked(40.0, 8, &[(10, 12)], 0);
    let before = b.sender.conn.delivered;
    b.acked(0.1, 6, &[(13, 15)], 0);
    assert_eq!((b.sender.conn.snd_una, b.sender.conn.sacked_out), (8, 4));
    assert_eq!(b.sender.conn.delivered, before);
    b.acked(0.1, 16, &[], 0);
    assert_eq!(b.sender.conn.delivered, before + 4);
}

/// `tcp_send_loss_probe`: after a probe the timeout counts from the probe, and what it sent again is no retransmission in flight.
#[test]
fn after_a_probe_a_whole_timeout_is_left() {
    let mut b = open(Kind::NewReno, Some(10), 10, 100);
    b.acked(100.0, 5, &[], 0);
    b.sent();
    assert_eq!(b.sender.timer, Timer::Probe);
    // Two round trips and 2 ms: 202 ms are 51 ticks.
    assert_eq!(b.sender.timer_at, (b.now / TICK + 51 + 1) * TICK);
    b.timer();
    assert_eq!(b.sent(), [9]);
    assert_eq!((b.sender.timer, b.sender.conn.retrans_out), (Timer::Rto, 0));
    assert!(b.sender.timer_at >= b.now + u64::from(b.sender.rto_us) * 1000);
    assert!(b.sender.rto_us >= 300_000);
}

/// `tcp_dsack_seen`: more duplicates than were sent again are the network's; of the sender's own each counts as delivered.
#[test]
fn a_duplicate_counts_as_delivered_if_it_was_sent_twice() {
    let mut b = open(Kind::NewReno, None, 10, 40);
    b.acked(40.0, 4, &[(2, 3)], flag::DSACK);
    // The SYN, and four segments.
    assert_eq!(b.sender.conn.delivered, 5);
    b.acked(1.0, 4, &[(5, 8)], 0);
    assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
    assert!(b.sent().contains(&4));
    let before = b.sender.conn.delivered;
    b.acked(1.0, 8, &[], 0);
    b.acked(1.0, 8, &[(4, 5)], flag::DSACK);
    // One duplicate of the network and one of ours, but one segment sent again.
    assert_eq!(b.sender.conn.delivered, before + 1);
    b.sender.resent += 1;
    b.acked(1.0, 8, &[(4, 5)], flag::DSACK);
    assert_eq!(b.sender.conn.delivered, before + 1);
}

/// `tcp_dsack_seen`: a duplicate that is believed makes RACK patient only where packets were seen out of order.
#[test]
fn a_duplicate_makes_rack_patient_where_packets_were_reordered() {
    for (seen, patient) in [(0, false), (1, true)] {
        let mut b = open(Kind::NewReno, None, 20, 40);
        b.sender.reordering_seen = seen;
        b.sender.resent = 10;
        b.acked(40.0, 4, &[], 0);
        let before = b.sender.conn.delivered;
        b.acked(1.0, 4, &[(2, 3)], flag::DSACK);
        assert_eq!((b.sender.conn.delivered, b.sender.dsack_seen), (before + 1, patient));
    }
}

/// `__tcp_retransmit_skb`, `tcp_dsack_seen`: a SYN that was sent again counts among what was, so that one duplicate more is believed.
#[test]
fn a_syn_that_was_sent_again_counts() {
    let mut b = closed(Kind::NewReno, Some(20), Some(10));
    b.connect(1000 * MS);
    b.timer();
    b.wait(40.0);
    b.connected(b.now, (b.now / MS) as u32 - 40);
    assert_eq!(b.info().total_retrans, 1);
    b.acked(40.0, 4, &[], 0);
    let before = b.sender.conn.delivered;
    b.acked(1.0, 4, &[(2, 3)], flag::DSACK);
    assert_eq!(b.sender.conn.delivered, before + 1);
    b.acked(1.0, 4, &[(3, 4)], flag::DSACK);
    assert_eq!(b.sender.conn.delivered, before + 1);
}

/// `tcp_is_sackblock_valid` knows of what the ACK acknowledges already, `tcp_check_dsack` does not: a duplicate that lies between is found in
/// the queue once more, and counts.
#[test]
fn a_duplicate_that_its_ack_acknowledges_undoes() {
    let mut b = open(Kind::NewReno, Some(5), 20, 40);
    b.sent();
    b.acked(40.0, 0, &[(1, 5)], 0);
    assert_eq!((b.sender.conn.ca_state, b.sent()), (CaState::Recovery, vec![0]));
    b.acked(41.0, 5, &[(0, 1)], flag::DSACK);
    assert_eq!((b.sender.undo_marker, b.sender.conn.ca_state), (None, CaState::Open));
    assert!(b.sender.conn.cwnd >= 20, "{}", b.sender.conn.cwnd);
}

/// `tcp_sacktag_write_queue`: `recv_sack_cache` is what the last ACK told of, also where all of it was known.
#[test]
fn the_last_blocks_are_remembered() {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.acked(40.0, 0, &[(8, 9), (4, 5), (1, 2)], 0);
    assert_eq!(b.sender.sack_cache, [(8, 9), (4, 5), (1, 2)]);
    b.acked(1.0, 2, &[(8, 9), (4, 5)], 0);
    assert_eq!(b.sender.sack_cache, [(8, 9), (4, 5), (0, 0)]);
    // One without the option leaves them.
    b.acked(1.0, 2, &[], 0);
    assert_eq!(b.sender.sack_cache, [(8, 9), (4, 5), (0, 0)]);
}

/// `tcp_rack_update_reo_wnd`: once the window is wider, a duplicate counts only where what is delivered was sent after that; and it
/// waits for an ACK that delivers.
#[test]
fn duplicates_of_one_round_widen_racks_window_once() {
    let mut b = open(Kind::NewReno, None, 20, 40);
    b.sender.reordering_seen = 1;
    b.sender.resent = 10;
    let steps = |b: &Scratch| (b.sender.reo_wnd_steps, b.sender.dsack_seen);
    b.acked(40.0, 4, &[], 0);
    b.acked(1.0, 4, &[(2, 3)], flag::DSACK);
    assert_eq!(steps(&b), (1, true));
    b.acked(1.0, 6, &[], 0);
    assert_eq!(steps(&b), (2, false));
    // Sent before it was widened.
    b.acked(1.0, 8, &[(3, 4)], flag::DSACK);
    assert_eq!(steps(&b), (2, false));
    let all = b.sender.conn.snd_nxt;
    b.acked(40.0, all, &[(4, 5)], flag::DSACK);
    assert_eq!(steps(&b), (3, false));
}

/// The SYN counts as delivered: what is written first is app-limited, what goes out with the first acknowledgement is not.
#[test]
fn the_first_round_alone_is_app_limited() {
    let mut b = open(Kind::Bbr, None, 10, 40);
    assert_eq!((b.sender.conn.delivered, b.sender.conn.app_limited), (1, 1));
    b.acked(40.0, 1, &[], 0);
    assert_eq!((b.sender.conn.delivered, b.sender.conn.app_limited), (2, 0));
}

/// A writer that finds the buffer full before it has put anything there is not woken by what was sent before: `tcp_check_space` is of
/// what goes, or of an acknowledgement.
#[test]
fn a_full_buffer_grows_when_something_goes() {
    let mut b = open(Kind::Cubic, Some(0), 100, 40);
    (b.sender.sndbuf, b.sender.expanded_for) = (92 * 1448, 0);
    b.write(b.now, 500);
    // Two writes fill it: 90 segments, and none.
    assert!(b.sender.full && b.sender.written < 100, "{}", b.sender.written);
    let sndbuf = b.sender.sndbuf;
    assert_eq!(sndbuf, 92 * 1448);
    b.acked(40.0, 2, &[], 0);
    assert!(b.sender.sndbuf > sndbuf && b.sender.written > 100);
}

/// `tcp_syn_linear_timeouts` is 4: SYNs after 1, 2, 3, 4, 5, 7 and 11 s, each a little late (a timer of 1 s has ticks of 32 ms).
#[test]
fn syns_are_tried_again_each_second_at_first() {
    let mut b = closed(Kind::Cubic, Some(1), None);
    b.sender.send_syn(0, &mut b.out);
    for second in [1, 2, 3, 4, 5, 7, 11] {
        b.timer();
        let late = b.now as f64 / 1e9 - f64::from(second);
        assert!((0.0..0.5).contains(&late), "the SYN of {second} s is {late} s late");
    }
    // What was answered the timestamp tells: the last one, 30 ms ago.
    let sent_ms = (b.now / MS) as u32;
    b.wait(30.0);
    b.sender.on_established(b.now, sent_ms, &mut b.out);
    assert_eq!(b.sender.conn.srtt_us, 30_000 << 3);
    assert!((200_000..300_000).contains(&b.sender.rto_us), "{}", b.sender.rto_us);
}

/// `tcp_cwnd_application_limited` (RFC 2861): a window of 80 of which 20 are used for a timeout without an ACK to grow by (each ACK that
/// reaches `tcp_cong_avoid` sets the clock anew) shrinks to the mean of both; in Linux that takes ACKs that do not get there.
#[test]
fn a_window_that_is_not_used_shrinks_where_no_ack_grows_it() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.acked(40.0, 10, &[], 0);
    b.sender.conn.cwnd = 80;
    for i in 1..10 {
        b.sender.write(b.now, 20, &mut b.out);
        assert_eq!(b.sender.conn.cwnd, 80, "while ACKs come");
        b.acked(40.0, 10 + 20 * i, &[], 0);
    }
    // Not idle for a timeout, but no ACK of new data for one.
    b.sender.cwnd_stamp = b.sender.tick(b.now).wrapping_sub(b.sender.rto_us / 4000);
    b.sender.write(b.now, 20, &mut b.out);
    assert_eq!(b.sender.conn.cwnd, 50);
}

/// Karn: the ACK that answers a probe's copy or the first one gives no round trip of the copy's. The echo says 230 ms.
#[test]
fn an_ack_after_a_probe_is_no_sample_of_the_probe() {
    let mut b = open(Kind::NewReno, Some(10), 10, 100);
    b.acked(100.0, 5, &[], 0);
    b.timer();
    let sent_ms = (b.now / MS) as u32 - 208;
    b.wait(22.0);
    let ack = AckView { cum: 10, window_end: u32::MAX, ts: sent_ms, flags: 0, marked: None, sacks: &[] };
    b.sender.on_ack(b.now, ack, 0, &mut b.out);
    assert_eq!(b.sender.conn.min_rtt_us, 100_000);
}

/// RFC 5682 step 3.b: data that were sent once arrive after a timeout, so that it was spurious; all is as it was.
#[test]
fn a_timeout_that_proves_spurious_is_undone() {
    let mut b = open(Kind::NewReno, None, 10, 100);
    // The last nine are younger than a round trip when the timer fires: only the first is taken for lost.
    b.sender.conn.cwnd = 20;
    b.sender.rack_rtt_us = 100_000;
    let now = b.now + 290 * MS;
    for seq in 1..10 {
        b.sender.board.sent(seq, now, 0);
    }
    b.now = now;
    b.sender.timer = Timer::Rto;
    b.sender.timer_at = now + 10 * MS;
    b.timer();
    assert_eq!((b.sender.conn.ca_state, b.sender.conn.lost_out), (CaState::Loss, 1));
    let sent_ms = (b.now / MS) as u32;
    for (ms, cum) in [(100, 1), (5, 5)] {
        b.wait(f64::from(ms));
        let ack = AckView { cum, window_end: u32::MAX, ts: sent_ms, flags: 0, marked: None, sacks: &[] };
        b.sender.on_ack(b.now, ack, 0, &mut b.out);
    }
    assert_eq!(b.sender.conn.ca_state, CaState::Open);
    assert!(b.sender.conn.cwnd >= 20, "{}", b.sender.conn.cwnd);
}

/// `tcp_enter_loss` gives no time for reordering: what is older than RACK's round trip is lost.
#[test]
fn a_timeout_loses_all_that_is_old_enough() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.acked(40.0, 2, &[], 0);
    let rto = b.sender.timer_at;
    assert!(rto > b.now);
    b.sender.timer = Timer::Rto;
    b.timer();
    assert_eq!((b.sender.conn.ca_state, b.sender.conn.lost_out), (CaState::Loss, 8));
}

/// The same 45 ms after they were sent: longer than RACK's round trip of 40, shorter than that and a window of 10 for reordering.
#[test]
fn a_timeout_leaves_no_time_for_reordering() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.acked(40.0, 2, &[], 0);
    b.sender.reordering_seen = 1;
    (b.sender.timer, b.sender.timer_at) = (Timer::Rto, b.now + 5 * MS);
    b.timer();
    assert_eq!((b.sender.conn.ca_state, b.sender.conn.lost_out), (CaState::Loss, 8));
}

/// `tcp_sacktag_one`: a duplicate of what was sent again and is SACKed says that no copy is in flight any more, and that the first
/// was only late; one that is not SACKed is thereby.
#[test]
fn a_duplicate_takes_its_copy_out_of_flight() {
    let mut b = open(Kind::NewReno, None, 10, 40);
    b.acked(40.0, 2, &[(4, 7)], 0);
    assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
    assert_eq!((b.sent().contains(&2), b.sender.conn.lost_out), (true, 2));
    b.sender.conn.cwnd = 20;
    b.acked(1.0, 2, &[(4, 8)], 0);
    let out = b.sender.conn.retrans_out;
    assert!(out >= 2, "{out}");
    // The first copy of 3 arrives, and then the second; RETRANS without LOST stays until that is told.
    b.sender.board.change(3, 0, LOST);
    b.sender.conn.lost_out -= 1;
    b.acked(0.1, 2, &[(3, 8)], 0);
    assert_eq!(b.sender.board.flags(3) & (SACKED | RETRANS), SACKED | RETRANS);
    let (out, seen) = (b.sender.conn.retrans_out, b.sender.reordering_seen);
    b.acked(40.0, 2, &[(3, 4), (3, 8)], flag::DSACK);
    assert_eq!(b.sender.board.flags(3) & RETRANS, 0);
    assert_eq!((b.sender.conn.retrans_out, b.sender.reordering_seen), (out - 1, seen + 1));
}

/// `tcp_sacktag_write_queue`: an ACK tells once of reordering, from the lowest segment to the highest that it SACKs; and after a
/// timeout that is not to be undone it tells nothing.
#[test]
fn an_ack_tells_once_of_reordering() {
    let mut b = open(Kind::NewReno, None, 20, 40);
    b.acked(40.0, 0, &[(6, 7)], 0);
    b.acked(1.0, 0, &[(10, 12), (2, 3), (4, 5), (6, 7)], 0);
    assert_eq!((b.sender.reordering, b.sender.reordering_seen), (10, 1));

    let mut b = open(Kind::NewReno, None, 20, 40);
    b.acked(40.0, 0, &[(6, 7)], 0);
    b.sender.conn.ca_state = CaState::Loss;
    b.sender.undo_marker = None;
    b.acked(1.0, 0, &[(4, 5), (6, 7)], 0);
    assert_eq!((b.sender.reordering, b.sender.reordering_seen), (3, 0));
}

/// `tcp_try_undo_spurious_syn`: the first of three SYNs was answered, late: the window is not cut.
#[test]
fn a_late_answer_to_the_first_syn_costs_no_window() {
    for (first, cwnd) in [(true, 10), (false, 1)] {
        let mut b = closed(Kind::NewReno, None, None);
        b.connect(100 * MS);
        b.timer();
        b.timer();
        let ts = if first { 100 } else { (b.now / MS) as u32 };
        b.wait(10.0);
        b.connected(b.now, ts);
        assert_eq!((b.sender.conn.cwnd, b.sender.retrans_stamp), (cwnd, 0), "{first}");
    }
}

/// `tcp_tso_should_defer`: the last of what is written waits for more, as long as the next ACK is near; with a FIN behind it, it goes if
/// cwnd has room for more than it (`cong_win <= skb->len` is asked before).
#[test]
fn the_end_of_an_answer_waits_for_more_where_nothing_ends() {
    for closes in [true, false] {
        let setup =
            alone::Setup { segments: Some(30), initial_window: Some(24), closes, ..alone::Setup::default() };
        let mut b = Scratch::new(setup);
        b.open(1000 * MS, MS, 0);
        assert_eq!(b.sent().len(), 24);
        b.sender.conn.is_cwnd_limited = false;
        b.sender.conn.ssthresh = 10;
        b.acked(0.5, 7, &[], 0);
        assert_eq!(
            (b.sent().len(), b.sender.conn.snd_nxt == 30),
            if closes { (6, true) } else { (0, false) }
        );
    }
}

/// `tcp_clean_rtx_queue`: an ACK that only SACKs what had been sent before the oldest segment was last sent starts the timeout anew:
/// the network still delivers. (RFC 6298 section 5.3 knows no SACK.)
#[test]
fn what_a_sack_tells_of_before_the_resend_starts_the_timeout_anew() {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.acked(40.0, 0, &[(1, 5)], 0);
    assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
    assert!(b.sent().contains(&0));
    for end in 6..12 {
        b.acked(10.0, 0, &[(1, end)], 0);
        assert_eq!((b.sent(), b.sender.timer), (vec![], Timer::Rto));
        assert_eq!(b.sender.timer_at, fires_at(b.now, b.sender.rto_us.into()), "at {end}");
    }
}

/// `tcp_packet_delayed`, `retrans_stamp` 0: nothing has been sent again yet, as a full queue below TCP held it back. What was taken for
/// lost arrives: it was late, and the window is what it was.
#[test]
fn what_arrives_before_anything_was_sent_again_was_late() {
    for held in [true, false] {
        let mut b = open(Kind::NewReno, Some(20), 20, 40);
        b.sent();
        b.sender.conn.cwnd = 20;
        if held {
            (b.sender.access_bps, b.sender.access_segment_ns) = (100_000_000, 121_120);
            b.sender.access_free_ns = b.now + 1000 * MS;
        }
        b.acked(40.0, 0, &[(1, 5)], 0);
        assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
        assert_eq!(b.sent().is_empty(), held);
        // The first copies, which the retransmission cannot have brought: but only the stamp tells that it was none.
        b.wait(1.0);
        let ack = alone::Ack { ts: (b.now / MS) as u32, ..alone::Ack::new(5, &[]) };
        b.ack(b.now, &ack);
        let undone = b.sender.conn.cwnd >= 20;
        assert_eq!(undone, held, "cwnd {}", b.sender.conn.cwnd);
    }
}

/// `tcp_tso_should_defer` compares bytes: with a window of ten segments, of which a third is 3.33, three wait and four go. In whole
/// segments a third would be three.
#[test]
fn a_third_of_the_window_is_a_third_of_its_bytes() {
    let b = open(Kind::NewReno, None, 10, 1);
    let s = &b.sender;
    assert_eq!((s.conn.cwnd, s.rules.burst_share), (10, 3));
    // The next acknowledgement is less than half a round trip away.
    let waits = |room| s.should_defer(b.now + 600_000, room, 40, 40);
    assert_eq!([2, 3, 4, 5].map(waits), [true, true, false, false]);
}

/// `tcp_cwnd_restart`: the window halves for each timeout after the first that a connection was idle, not below the initial one, nor
/// below itself where it is smaller.
#[test]
fn an_idle_window_halves_down_to_the_initial_one() {
    let after = |cwnd: u32, idle_rtos: f64| {
        let mut b = open(Kind::NewReno, Some(10), 10, 40);
        b.acked(40.0, 10, &[], 0);
        b.sender.conn.cwnd = cwnd;
        b.sender.conn.ssthresh = 1000;
        let idle_us = (f64::from(b.sender.rto_us) * idle_rtos) as u64;
        b.now = b.sender.conn.last_send_ns + idle_us * 1000;
        b.sender.restart_after_idle(b.now);
        (b.sender.conn.cwnd, b.sender.conn.ssthresh)
    };
    // Three quarters of the window is the new threshold, if that is more (`tcp_current_ssthresh`).
    assert_eq!(after(80, 0.9), (80, 1000));
    assert_eq!([1.5, 2.5, 3.5, 9.5].map(|n| after(80, n).0), [80 / 2, 80 / 4, 80 / 8, 80 / 8]);
    assert_eq!([1.5, 9.5].map(|n| after(6, n).0), [6, 6]);
    assert_eq!(after(80, 9.5).1, 1000);
}

/// `tcp_sacktag_write_queue`, `tcp_shift_skb_data`: what a SACK newly tells of becomes one with what had arrived before it, and takes along
/// what is known behind it. Where nothing had arrived before it, it stays a buffer of its own.
#[test]
fn only_what_fills_a_hole_joins_what_is_behind_it() {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.sender.reordering = 100;
    let ends =
        |b: &Scratch| (2..8).filter(|&seq| b.sender.board.flags(seq) & ENDS_BUFFER != 0).collect::<Vec<_>>();
    b.acked(40.0, 0, &[(6, 8)], 0);
    b.acked(0.1, 0, &[(5, 8)], 0);
    let before = b.sender.buffers;
    // Bursts were of two segments.
    assert_eq!(ends(&b), [3, 4, 5, 7]);
    b.acked(0.1, 0, &[(3, 4), (5, 8)], 0);
    assert_eq!((ends(&b), b.sender.buffers), (vec![2, 3, 4, 5, 7], before + 1));
    b.acked(0.1, 0, &[(3, 8)], 0);
    assert_eq!((ends(&b), b.sender.buffers), (vec![2, 5, 7], before - 1));
}

/// `tcp_skb_shift`: what is put together is shorter than 65,535 times 8 bytes, which are 362 segments of 1,448.
#[test]
fn what_arrives_becomes_buffers_of_half_a_megabyte() {
    let mut b = open(Kind::NewReno, Some(1000), 1000, 40);
    b.sender.reordering = 2000;
    b.wait(40.0);
    for end in 2..=725 {
        b.acked(0.001, 0, &[(1, end)], 0);
    }
    let ends: Vec<u32> = (0..725).filter(|&seq| b.sender.board.flags(seq) & ENDS_BUFFER != 0).collect();
    assert_eq!(ends, [0, 362, 724]);
    assert_eq!((65_535 * 8 - 1) / 1448, 362);
}

/// `tcp_sacktag_walk` (`next_dup`): a duplicate has its place in the block around it, and those before it in that block came no later for it.
/// Where the block ends with all that was sent, Linux comes to it twice and takes the second look for reordering, of one segment.
#[test]
fn a_duplicate_within_its_block_is_no_reordering() {
    for (more, seen) in [(2, 0), (0, 1)] {
        let mut b = open(Kind::NewReno, Some(10), 20, 40);
        b.timer();
        assert_eq!(b.sent(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]);
        b.write(b.now, more);
        b.acked(40.0, 1, &[(9, 10), (2, 10)], flag::DSACK);
        assert_eq!((b.sender.reordering, b.sender.reordering_seen), (3, seen), "{more} more");
        assert_eq!((b.sender.conn.sacked_out, b.sender.sacked_end), (8, 10));
    }
}

/// `tcp_sacktag_write_queue`: of a block whose end the last ACK told of only what is before it is walked, and the duplicate within it
/// counts once.
#[test]
fn a_duplicate_in_what_is_known_counts_once() {
    let mut b = open(Kind::NewReno, Some(10), 20, 40);
    b.sent();
    b.acked(40.0, 1, &[(6, 10)], 0);
    (b.sender.undo_marker, b.sender.undo_retrans) = (Some(1), 3);
    b.sender.board.change(7, EVER_RETRANS, 0);
    b.sender.resent = 3;
    b.acked(1.0, 1, &[(7, 8), (2, 10)], flag::DSACK);
    assert_eq!(b.sender.undo_retrans, 2);
}

/// `tcp_dsack_seen`: a duplicate that is empty, or reversed, was none.
#[test]
fn a_duplicate_of_nothing_is_none() {
    for block in [(5, 5), (7, 5)] {
        let mut b = open(Kind::NewReno, Some(10), 20, 40);
        b.acked(40.0, 8, &[], 0);
        b.sender.resent = 3;
        let before = b.sender.conn.delivered;
        b.acked(1.0, 8, &[block], flag::DSACK);
        assert_eq!((b.sender.conn.delivered, b.sender.dsack_dups), (before, 0), "{block:?}");
    }
}

/// `tcp_is_sackblock_valid`: a block begins behind what is acknowledged, or says nothing at all; a duplicate that is looked for from before
/// what is in the queue is not found in it.
#[test]
fn a_block_begins_behind_what_is_acknowledged() {
    for from in [3, 5] {
        let mut b = open(Kind::NewReno, Some(10), 20, 40);
        b.acked(40.0, 5, &[], 0);
        b.acked(1.0, 5, &[(from, 8)], 0);
        assert_eq!(b.sender.conn.sacked_out, 0, "{from}");
    }
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.acked(40.0, 10, &[], 0);
    (b.sender.undo_marker, b.sender.undo_retrans, b.sender.resent) = (Some(8), 2, 3);
    for seq in [10, 11] {
        b.sender.board.change(seq, EVER_RETRANS, 0);
    }
    b.acked(1.0, 12, &[(9, 12)], flag::DSACK);
    assert_eq!(b.sender.undo_retrans, 2);
}

/// A segment that was sent again and, after an undo, is lost no more (`tcp_undo_cwnd_reduction`).
fn with_a_needless_copy() -> Scratch {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.acked(40.0, 0, &[(1, 5)], 0);
    assert!(b.sent().contains(&0));
    b.sender.board.change(0, 0, LOST);
    b.sender.conn.lost_out = 0;
    b.sender.conn.cwnd = 30;
    b
}

/// `tcp_xmit_retransmit_queue`: while as many are on their way again as are lost, none goes, even if others are meant.
#[test]
fn no_more_are_sent_again_than_are_lost() {
    let mut b = with_a_needless_copy();
    let resent = |b: &mut Scratch, lost: u32| {
        b.sender.mark_lost(b.now, lost);
        b.sender.resend_lost(b.now, &mut b.out);
        b.sent()
    };
    assert_eq!(resent(&mut b, 5), Vec::<u32>::new());
    assert_eq!(resent(&mut b, 6), [5]);
}

/// `tcp_mark_skb_lost`, `FLAG_LOST_RETRANS`: a copy counts as lost again only if what it is of was lost.
#[test]
fn a_copy_of_what_is_not_lost_is_not_lost_again() {
    for lost in [false, true] {
        let mut b = with_a_needless_copy();
        if lost {
            b.sender.mark_lost(b.now, 0);
        }
        (b.sender.rack_tx_ns, b.sender.rack_end) = (b.now + 50 * MS, 19);
        let mut flags = AckFlags::default();
        b.sender.detect_loss(b.now + 500 * MS, &mut flags);
        let state = (flags.lost_retrans, b.sender.conn.retrans_out, b.sender.board.flags(0) & LOST);
        assert_eq!(state, (lost, u32::from(!lost), LOST));
    }
}

/// `tcp_process_tlp_ack`, `FLAG_NOT_DUP`: an acknowledgement of what was acknowledged says that both copies of a probe arrived only if
/// it brings nothing else.
#[test]
fn another_window_says_nothing_of_a_probe() {
    for duplicate in [false, true] {
        let mut b = open(Kind::NewReno, Some(10), 20, 40);
        b.timer();
        b.acked(20.0, 10, &[], 0);
        assert!(b.sender.tlp_outstanding);
        let ack = alone::Ack { duplicate, ts: (b.now / MS) as u32, ..alone::Ack::new(10, &[]) };
        b.ack(b.now, &ack);
        assert_eq!(b.sender.tlp_outstanding, !duplicate);
    }
}

/// `tcp_process_loss` (`num_dupack`): nor does it say after a timeout that the loss was real (RFC 5682 section 3.1 step 3.a).
#[test]
fn another_window_proves_no_loss() {
    for duplicate in [false, true] {
        let mut b = open(Kind::NewReno, None, 10, 40);
        b.sender.timer = Timer::Rto;
        b.timer();
        b.acked(40.0, 1, &[], 0);
        assert_eq!((b.sender.frto, b.sender.conn.ca_state), (true, CaState::Loss));
        assert!(b.sender.conn.snd_nxt > b.sender.high_seq);
        let ack = alone::Ack { duplicate, ts: (b.now / MS) as u32, ..alone::Ack::new(1, &[]) };
        b.ack(b.now, &ack);
        assert_eq!(b.sender.frto, !duplicate);
    }
}

/// `tcp_check_sack_reneging`, `tcp_timeout_mark_lost`: an acknowledgement that ends where the next segment had been SACKed has the timeout come
/// in half a round trip; if nothing else comes, all that was SACKed is forgotten and lost, and gives no sample of the rate.
#[test]
fn a_receiver_that_drops_what_it_had_is_given_half_a_round_trip() {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.acked(40.0, 0, &[(3, 6)], 0);
    assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
    b.sent();
    b.acked(40.0, 3, &[], 0);
    assert_eq!((b.sent(), b.sender.timer), (vec![], Timer::Rto));
    assert_eq!(b.sender.timer_at, fires_at(b.now, u64::from(b.sender.conn.srtt_us >> 4)));
    b.timer();
    assert_eq!((b.sender.conn.ca_state, b.sent()), (CaState::Loss, vec![3]));
    assert_eq!((b.sender.conn.sacked_out, b.sender.conn.lost_out, b.sender.reneged), (0, 17, true));
    assert_eq!((b.sender.sacked_end, b.sender.sack_cache), (3, [(0, 0); MAX_SACKS]));
    // What had come before it was forgotten is told of anew.
    b.acked(40.0, 4, &[(5, 7)], 0);
    assert_eq!((b.sender.conn.sacked_out, b.sender.board.flags(5) & LOST), (2, 0));
    b.acked(40.0, 20, &[], 0);
    assert_eq!((b.sender.conn.ca_state, b.sender.reneged), (CaState::Open, false));
}

/// `tcp_rate_gen` (`is_sack_reneg`)
#[test]
fn what_was_dropped_gives_no_sample_of_the_rate() {
    let tells: [(u32, &[(u32, u32)]); 2] = [(0, &[(1, 10)]), (10, &[])];
    for (cum, blocks) in tells {
        for reneged in [false, true] {
            // Ten in 40 ms are more than ten in a handshake's 400.
            let mut b = open(Kind::Bbr, None, 10, 400);
            b.sender.reneged = reneged;
            let before = b.sender.conn.pacing_rate;
            b.acked(40.0, cum, blocks, 0);
            assert_eq!(b.sender.conn.pacing_rate > before, !reneged, "{cum}");
        }
    }
}

/// `tcp_try_undo_partial`, `tcp_highest_sack_seq`: without SACK the oldest segment stands for the highest that came, and what was late was
/// overtaken by no more than the acknowledgement covers.
#[test]
fn without_sack_reordering_ends_at_what_is_acknowledged() {
    let tuned = alone::Sysctls { sack: false, ..alone::Sysctls::default() };
    let mut b = Scratch::new(alone::Setup {
        cca: Kind::NewReno,
        initial_window: Some(20),
        tuned,
        ..Default::default()
    });
    b.open(1000 * MS, 40 * MS, 0);
    b.wait(40.0);
    for _ in 0..6 {
        b.acked(1.0, 0, &[], 0);
    }
    assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
    let ack = alone::Ack { ts: (b.now / MS) as u32 - 30, ..alone::Ack::new(5, &[]) };
    b.ack(b.now + MS, &ack);
    assert_eq!((b.sender.reordering, b.sender.reordering_seen), (5, 1));
}

/// A few numbers without order, the same each time.
struct Draws(u64);

impl Draws {
    /// One from 0 to below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// RFC 6298 section 2 as `tcp_rtt_estimator` and `tcp_set_rto` have it: alpha 1/8, beta 1/4, K 4 (`mdev` is kept times 4); where the time falls
/// by more than the deviation, that rises by an eighth of what it would; the greatest deviation of a round trip holds at once, and a round
/// trip with a lesser one takes off a quarter of the difference; no less than 200 ms are added, and ticks of 4 ms are rounded up.
#[test]
fn each_round_trip_time_moves_the_timeout_as_linuxs() {
    let mut draws = Draws(7);
    for _ in 0..40 {
        let mut s = closed(Kind::NewReno, None, None).sender;
        let (mut srtt8, mut mdev4, mut greatest, mut var, mut round_ends) = (0i64, 0i64, 0i64, 0i64, 0);
        let base = 1 + draws.below(400_000) as i64;
        for n in 0..400 {
            s.conn.snd_una += draws.below(4) as u32;
            s.conn.snd_nxt = s.conn.snd_una + 1 + draws.below(12) as u32;
            // Still for a while, then with jitter, then somewhere else.
            let rtt = match n / 40 % 3 {
                0 => base,
                1 => base + draws.below(base as u64 * 3) as i64,
                _ => 1 + draws.below(2_000_000) as i64,
            };
            if n == 0 {
                (srtt8, mdev4) = (rtt * 8, rtt * 2);
                var = mdev4.max(200_000);
                greatest = var;
                round_ends = s.conn.snd_nxt;
            } else {
                let error = rtt - srtt8 / 8;
                srtt8 = (srtt8 + error).max(1);
                let beyond = error.abs() - mdev4 / 4;
                mdev4 += if error < 0 && beyond > 0 { beyond / 8 } else { beyond };
                if mdev4 > greatest {
                    greatest = mdev4;
                    var = var.max(greatest);
                }
                if s.conn.snd_una > round_ends {
                    if greatest < var {
                        var -= (var - greatest) / 4;
                    }
                    (round_ends, greatest) = (s.conn.snd_nxt, 200_000);
                }
            }
            s.update_rtt(rtt as u32);
            let got = [s.conn.srtt_us, s.mdev_us, s.mdev_max_us, s.rttvar_us].map(i64::from);
            assert_eq!(got, [srtt8, mdev4, greatest, var], "sample {n}: {rtt} us");
            assert_eq!(i64::from(s.rto_us), (srtt8 / 8 + var + 3_999) / 4_000 * 4_000);
        }
    }
}

/// `tcp_update_rtt_min` and lib/win_minmax.c, 300 s: the least, the second of a later time and the third of a still later one. One that is no
/// more than a choice takes its place and the places behind it. A choice older than the window goes, and so does the next if that is
/// too old as well. Before that, none less having come for a quarter of the window, the second is of the next quarter, and the third of
/// the last half.
#[test]
fn the_least_round_trip_time_is_that_of_five_minutes() {
    const WINDOW: u64 = 300_000 * MS;
    let mut draws = Draws(11);
    for longest_s in [2, 30, 80, 170, 400] {
        let mut s = closed(Kind::NewReno, None, None).sender;
        let mut now = 1000 * MS;
        s.first_rtt(now, 50 * MS);
        let mut choices = vec![(now, 50_000u32); 3];
        for n in 0..3_000 {
            now += TICK * (1 + draws.below(longest_s * 1000 / 4));
            // Now and then a fall, else a slow rise.
            let rtt = if draws.below(40) == 0 {
                1 + draws.below(60_000)
            } else {
                30_000 + n * 10 + draws.below(9_000)
            };
            let sample = (now, rtt as u32);
            let too_old = |c: (u64, u32)| now - c.0 > WINDOW;
            let place = choices.iter().position(|c| sample.1 <= c.1).unwrap_or(3);
            if place == 0 || too_old(choices[2]) {
                choices = vec![sample; 3];
            } else {
                choices[place..].fill(sample);
                let age = now - choices[0].0;
                if too_old(choices[0]) {
                    while too_old(choices[0]) {
                        choices.remove(0);
                        choices.push(sample);
                    }
                } else if choices[1].0 == choices[0].0 && age > WINDOW / 4 {
                    choices[1..].fill(sample);
                } else if choices[2].0 == choices[1].0 && age > WINDOW / 2 {
                    choices[2] = sample;
                }
            }
            s.update_min_rtt(now, rtt as u32);
            assert_eq!(
                (s.min_rtt.to_vec(), s.conn.min_rtt_us),
                (choices.clone(), choices[0].1),
                "sample {n} of {longest_s} s"
            );
        }
    }
}

/// `tcp_enter_loss`: the window's threshold is set where none was set for this window yet: in the open state or disorder, where all that a
/// reduction was for is acknowledged, or at the first timeout since something new was. RFC 5682 is tried in a new recovery, or at a timeout
/// that follows another.
#[test]
fn a_timeout_reduces_a_window_once() {
    use CaState::{Cwr, Disorder, Loss, Open, Recovery};
    let after = |state, high_seq, in_a_row| {
        let mut b = open(Kind::NewReno, Some(40), 20, 40);
        b.acked(40.0, 10, &[], 0);
        let s = &mut b.sender;
        (s.conn.ca_state, s.high_seq, s.timeouts_in_a_row) = (state, high_seq, in_a_row);
        s.conn.ssthresh = 1000;
        s.enter_loss(b.now);
        (s.conn.ssthresh < 1000, s.frto)
    };
    for state in [Open, Disorder] {
        assert_eq!(after(state, 15, 0), (true, true));
    }
    assert_eq!([after(Cwr, 15, 0), after(Cwr, 10, 0)], [(false, true), (true, true)]);
    assert_eq!([after(Recovery, 15, 0), after(Recovery, 10, 0)], [(false, false), (true, false)]);
    assert_eq!(
        [after(Loss, 15, 0), after(Loss, 15, 1), after(Loss, 10, 1)],
        [(true, false), (false, true), (true, true)]
    );
}

/// `tcp_tso_should_defer` (`skb->len`): a buffer behind which there is another gets no more, and goes if cwnd has room for all of it. And a
/// write of more than a millisecond ago (`tcp_wstamp_ns`) is not waited for.
#[test]
fn what_gets_no_more_does_not_wait() {
    let mut b = open(Kind::NewReno, None, 30, 1);
    let s = &mut b.sender;
    s.written = s.conn.snd_nxt + 20;
    let now = b.now + 600_000;
    let waits = |s: &Sender, room, head| s.should_defer(now, room, 40, head);
    assert_eq!([4, 5].map(|room| waits(s, room, 5)), [true, false]);
    assert_eq!([19, 20].map(|head| waits(s, 4, head)), [true, true]);
    s.wstamp_ns = now - MS;
    assert!(waits(s, 4, 5));
    s.wstamp_ns = now - MS - 1;
    assert!(!waits(s, 4, 5));
}

/// `tcp_reset_xmit_timer`, `tcp_pacing_delay`: so many whole ticks as pacing holds the next packet back the timeout comes later.
#[test]
fn what_pacing_holds_back_does_not_time_out() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    let now = b.now;
    let s = &mut b.sender;
    s.conn.pacing = true;
    for (held, ticks) in [(0, 0), (TICK - 1, 0), (TICK + 1, 1), (10 * MS, 2), (27 * MS, 6)] {
        s.wstamp_ns = now + held;
        s.restart_rto(now);
        assert_eq!(s.timer_at, fires_at(now, u64::from(s.rto_us) + ticks * 4_000), "{held} ns");
    }
}

/// `tcp_rearm_rto`, `tcp_schedule_loss_probe` (`packets_out`): with nothing on its way no timer runs.
#[test]
fn nothing_is_waited_for_where_nothing_is_on_its_way() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.acked(40.0, 10, &[], 0);
    assert_eq!((b.sender.timer, b.sender.timer_at), (Timer::Off, u64::MAX));
}

/// `tcp_packet_delayed`, `retrans_stamp` 0 with SACK: nor was it lost where the acknowledgement is of all that the recovery was for.
#[test]
fn all_may_arrive_before_anything_was_sent_again() {
    for held in [true, false] {
        let mut b = open(Kind::NewReno, Some(20), 20, 40);
        b.sender.conn.cwnd = 20;
        if held {
            (b.sender.access_bps, b.sender.access_segment_ns) = (100_000_000, 121_120);
            b.sender.access_free_ns = b.now + 1000 * MS;
        }
        b.acked(40.0, 0, &[(1, 5)], 0);
        assert_eq!((b.sender.conn.ca_state, b.sender.high_seq), (CaState::Recovery, 20));
        b.acked(1.0, 20, &[], 0);
        assert_eq!((b.sender.conn.ca_state, b.sender.conn.cwnd >= 20), (CaState::Open, held));
    }
}

/// `tcp_tsopt_ecr_before`: only an echo from before the first retransmission says that this was needless (RFC 3522 section 3.2), one of its
/// very millisecond does not.
#[test]
fn an_echo_of_the_same_millisecond_proves_nothing() {
    for (older, undone) in [(0, false), (1, true), (2, true)] {
        let mut b = open(Kind::NewReno, Some(20), 20, 40);
        b.acked(40.0, 0, &[(1, 5)], 0);
        assert_eq!(b.sender.conn.ca_state, CaState::Recovery);
        let sent_ms = (b.now / MS) as u32;
        b.wait(20.0);
        let ack = alone::Ack { ts: sent_ms - older, ..alone::Ack::new(20, &[]) };
        b.ack(b.now, &ack);
        assert_eq!(b.sender.conn.cwnd >= 20, undone, "{older} ms older: {}", b.sender.conn.cwnd);
    }
}

/// `tcp_fastretrans_alert`, `FLAG_LOST_RETRANS`: what was sent again after a timeout and is lost once more begins a recovery.
#[test]
fn a_copy_lost_after_a_timeout_begins_a_recovery() {
    for lost in [true, false] {
        let mut b = open(Kind::NewReno, Some(10), 10, 40);
        b.sender.timer = Timer::Rto;
        b.timer();
        b.sender.conn.cwnd = 10;
        b.sender.resend_lost(b.now, &mut b.out);
        assert_eq!(b.sender.conn.retrans_out, 10);
        // Copies arrive that were sent after the first one, or the first one.
        if lost {
            b.acked(40.0, 0, &[(1, 4)], 0);
        } else {
            b.acked(40.0, 1, &[], 0);
        }
        assert_eq!(b.sender.conn.ca_state, if lost { CaState::Recovery } else { CaState::Loss });
    }
}

/// `tcp_clean_rtx_queue`, `tcp_rack_advance`: a copy that the echo says has arrived is what RACK goes by; of one whose first copy arrived
/// (`tcp_skb_spurious_retrans`) it learns nothing.
#[test]
fn rack_goes_by_a_copy_that_arrived() {
    for arrived in [true, false] {
        let mut b = open(Kind::NewReno, Some(20), 20, 40);
        b.acked(40.0, 0, &[(1, 5)], 0);
        let (resent_at, before) = (b.now, b.sender.rack_tx_ns);
        assert!(b.sent().contains(&0) && before < resent_at);
        b.wait(45.0);
        let sent_ms = (resent_at / MS) as u32;
        let ack =
            alone::Ack { ts: if arrived { sent_ms } else { sent_ms - 5 }, ..alone::Ack::new(1, &[(1, 5)]) };
        b.ack(b.now, &ack);
        assert_eq!(b.sender.rack_tx_ns, if arrived { resent_at } else { before });
    }
}

/// `tcp_stream_memory_free`: a writer that waits is woken where twice what is unsent is less than `TCP_NOTSENT_LOWAT`, not where it is as much.
#[test]
fn a_writer_is_woken_below_half_of_lowat() {
    let mut b =
        with_buffer(None, 20, SendBuffer { notsent_lowat_bytes: Some(20 * 1448), ..Default::default() });
    let now = b.now;
    let s = &mut b.sender;
    s.wake_una = 0;
    let mut woken = |unsent| {
        (s.full, s.woken) = (true, false);
        s.written = s.conn.snd_nxt + unsent;
        s.check_space(now, false)
    };
    assert_eq!([9, 10, 11].map(&mut woken), [true, false, false]);
}

/// `tcp_small_queue_check`: at 250 MB/s what is sent in 1/1024 s, 244,140 bytes, are 3.7 of the longest bursts: a fourth begins
/// while three wait.
#[test]
fn a_millisecond_waits_below_tcp_on_fast_paths() {
    let mut b = open(Kind::Cubic, None, 10, 40);
    let s = &mut b.sender;
    (s.conn.pacing_rate, s.access_bps, s.access_segment_ns) = (250_000_000, 1_000_000_000, 12_112);
    let (now, burst) = (5000 * MS, u64::from(s.burst_segments()));
    assert_eq!(burst, (65_536 - 1 - 320) / 1448);
    let mut held = |waiting: u64| {
        s.access_free_ns = now + waiting * 12_112;
        s.held_back(now, &[])
    };
    assert_eq!([2 * burst + 1, 3 * burst, 3 * burst + 1].map(&mut held), [false, false, true]);
}

/// `tcp_slow_start_after_idle_check`: not with something on its way, nor where the control has a window of its own (`cong_control`), nor
/// where it is switched off.
#[test]
fn an_idle_window_stays_where_the_rule_does_not_hold() {
    let idle = |cca, acked, idle_restart| {
        let tuned = alone::Sysctls { idle_restart, ..alone::Sysctls::default() };
        let setup =
            alone::Setup { cca, segments: Some(10), initial_window: Some(10), tuned, ..Default::default() };
        let mut b = Scratch::new(setup);
        b.open(1000 * MS, 40 * MS, 0);
        b.acked(40.0, acked, &[], 0);
        b.sender.conn.cwnd = 80;
        b.sender.restart_after_idle(b.now + 10_000 * MS);
        b.sender.conn.cwnd
    };
    assert_eq!(idle(Kind::NewReno, 10, true), 10);
    assert_eq!(
        [idle(Kind::NewReno, 9, true), idle(Kind::Bbr, 10, true), idle(Kind::NewReno, 10, false)],
        [80; 3]
    );
}

/// RFC 9438 section 5.8, `bictcp_cwnd_event_tx_start`: CUBIC's clock stands still while nothing is sent.
#[test]
fn cubics_curve_waits_while_nothing_is_sent() {
    let tuned = alone::Sysctls { idle_restart: false, ..alone::Sysctls::default() };
    let setup = alone::Setup {
        cca: Kind::Cubic,
        segments: Some(100),
        initial_window: Some(100),
        tuned,
        ..Default::default()
    };
    let mut b = Scratch::new(setup);
    b.open(1000 * MS, 40 * MS, 0);
    // The last loss was at this window.
    let (now, s) = (b.now, &mut b.sender);
    s.conn.ssthresh = s.cca.ssthresh(&mut s.conn, now);
    // Its clock runs from the first round trip on that fills the window.
    b.write(b.now, 300);
    while b.sender.conn.packets_out > 0 {
        let all = b.sender.conn.snd_nxt;
        b.acked(40.0, all, &[], 0);
    }
    let before = b.sender.conn.cwnd;
    b.wait(100_000.0);
    for _ in 0..3 {
        b.write(b.now, 300);
        let all = b.sender.conn.snd_nxt;
        b.acked(40.0, all, &[], 0);
    }
    // In 0.2 s the curve rises by 0.4 x 0.2^3 packets, and Reno's line by less than one a round trip; in 100 s by 400,000.
    assert!(b.sender.conn.cwnd <= before + 4, "{before} to {}", b.sender.conn.cwnd);
}

/// `tcp_mark_skb_lost`, `tcp_retransmit_skb`: what is sent again at a timeout is on its way again, whether an earlier copy was or not.
#[test]
fn what_a_timeout_sends_again_is_on_its_way() {
    let mut b = with_a_needless_copy();
    b.sender.timer = Timer::Rto;
    b.timer();
    assert!(b.sent().contains(&0));
    assert_eq!(b.sender.board.flags(0) & (LOST | RETRANS), LOST | RETRANS);
    assert_eq!(b.sender.conn.retrans_out, 1);
}

/// `tcp_send_loss_probe`, `tcp_fragment`: the last segment of a buffer of two goes out again as one of its own.
#[test]
fn a_probe_splits_the_buffer_that_it_is_of() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.acked(40.0, 6, &[], 0);
    let ends = |b: &Scratch| [7, 8, 9].map(|seq| b.sender.board.flags(seq) & ENDS_BUFFER != 0);
    let before = b.sender.buffers;
    assert_eq!(ends(&b), [true, false, true]);
    b.timer();
    assert_eq!((b.sent().last(), ends(&b), b.sender.buffers), (Some(&9), [true, true, true], before + 1));
}

/// `tcp_clean_rtx_queue` after as many were SACKed as are lost: an acknowledgement without blocks takes both off.
#[test]
fn as_many_lost_as_sacked_are_still_both() {
    let mut b = open(Kind::NewReno, Some(20), 20, 40);
    b.sender.conn.cwnd = 0;
    b.acked(40.0, 0, &[(3, 6)], 0);
    assert_eq!((b.sender.conn.sacked_out, b.sender.conn.lost_out), (3, 3));
    b.sender.board.change(0, 0, RETRANS);
    b.sender.conn.retrans_out = 0;
    b.acked(1.0, 6, &[], 0);
    let c = &b.sender.conn;
    assert_eq!((c.sacked_out, c.lost_out, c.packets_out), (0, 0, 14));
}

/// RFC 3168 section 6.1.2: the first segment of new data after a reduction carries CWR, and no other; all of them go.
#[test]
fn the_first_new_segment_alone_says_that_the_window_is_reduced() {
    let setup = SenderSetup {
        cca: Kind::NewReno,
        rules: StackRules::LINUX.kept(),
        segments: Some(40),
        initial_window: Some(10),
        send_buffer: SendBuffer::default(),
        mss: 1448,
        rate: 0,
        closes: true,
        ecn: true,
        l4s: false,
        stop_ns: u64::MAX,
        access_bps: 0,
        warmup_ns: 0,
    };
    let mut s = Sender::new(setup);
    let mut out = Vec::new();
    s.start_open(1000 * MS, 40 * MS, 0, &mut out);
    out.clear();
    let ack = |cum, flags, ts| AckView { cum, window_end: u32::MAX, ts, flags, marked: None, sacks: &[] };
    s.on_ack(1040 * MS, ack(4, flag::ECE, 1000), 0, &mut out);
    s.on_ack(1041 * MS, ack(10, flag::ECE, 1000), 0, &mut out);
    s.on_ack(1080 * MS, ack(s.conn.snd_nxt, 0, 1041), 0, &mut out);
    let sent: Vec<u32> = out.iter().flat_map(|b| b.seq..b.seq + u32::from(b.count)).collect();
    assert_eq!(sent, (10..s.conn.snd_nxt).collect::<Vec<_>>());
    assert!(sent.len() > 5);
    let marked: Vec<_> = out.iter().filter(|b| b.flags & flag::CWR != 0).map(|b| (b.seq, b.count)).collect();
    assert_eq!(marked, [(10, 1)]);
    assert!(out.iter().all(|b| b.flags & flag::ECT != 0));
}

/// `tcp_tso_should_defer`: it waits for an acknowledgement that is at most half a round trip and at most a millisecond away.
#[test]
fn only_a_near_acknowledgement_is_waited_for() {
    for (rtt_ms, near) in [(1, MS / 2), (10, MS), (40, MS)] {
        let mut b = open(Kind::NewReno, None, 30, rtt_ms);
        let comes = b.now + rtt_ms * MS;
        let mut waits = |before| {
            b.sender.wstamp_ns = comes - before;
            b.sender.should_defer(comes - before, 4, 40, 40)
        };
        assert_eq!([near + 1, near, 1].map(&mut waits), [false, true, true], "{rtt_ms} ms");
    }
}

/// `tcp_write_xmit` (`prr_out`): what a probe sends while the window is being reduced counts as sent.
#[test]
fn a_probe_counts_in_a_reduction() {
    for (state, counts) in [(CaState::Cwr, 1), (CaState::Open, 0)] {
        let mut b = open(Kind::NewReno, Some(10), 10, 40);
        (b.sender.written, b.sender.head_end, b.sender.snd_end) = (11, 11, 11);
        b.sender.conn.ca_state = state;
        assert!(b.sender.probe_new_data(b.now, &mut b.out));
        assert_eq!((b.sender.prr_out, b.sender.conn.snd_nxt), (counts, 11));
    }
}

/// `tcp_timeout_mark_lost`: the oldest segment is lost at a timeout however lately it was sent; of the others only what is older than RACK's
/// round trip.
#[test]
fn the_oldest_segment_is_lost_at_a_timeout_whatever_its_age() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.sender.rack_rtt_us = 1_000_000;
    b.sender.enter_loss(b.now + 300 * MS);
    let lost: Vec<u32> = (0..10).filter(|&seq| b.sender.board.flags(seq) & LOST != 0).collect();
    assert_eq!((lost, b.sender.conn.lost_out), (vec![0], 1));
}

/// One without SACK.
fn without_sack(segments: u32) -> Scratch {
    let tuned = alone::Sysctls { sack: false, ..alone::Sysctls::default() };
    let setup = alone::Setup {
        cca: Kind::NewReno,
        segments: Some(segments),
        initial_window: Some(20),
        tuned,
        ..Default::default()
    };
    let mut b = Scratch::new(setup);
    b.open(1000 * MS, 40 * MS, 0);
    b.wait(40.0);
    b
}

/// `tcp_limit_reno_sacked`, `tcp_check_reno_reordering`: of five on their way one at least has not arrived; a fifth duplicate says that the
/// network reorders, by as much as was on its way.
#[test]
fn more_duplicates_than_can_be_are_reordering() {
    let mut b = without_sack(5);
    for n in 1..=7 {
        b.acked(1.0, 0, &[], 0);
        let seen = (b.sender.conn.sacked_out, b.sender.reordering, b.sender.reordering_seen > 0);
        assert_eq!(seen, if n < 5 { (n, 3, false) } else { (4, 5, true) }, "duplicate {n}");
    }
}

/// `tcp_remove_reno_sacks`: of what an acknowledgement covers one filled the hole, and the rest had been counted as duplicates.
#[test]
fn without_sack_what_was_counted_is_not_delivered_twice() {
    let mut b = without_sack(12);
    b.acked(1.0, 2, &[], 0);
    for _ in 0..3 {
        b.acked(1.0, 2, &[], 0);
    }
    // The SYN, two, and three duplicates.
    assert_eq!((b.sender.conn.sacked_out, b.sender.conn.delivered), (3, 6));
    b.acked(1.0, 4, &[], 0);
    assert_eq!((b.sender.conn.sacked_out, b.sender.conn.delivered), (2, 7));
    b.acked(1.0, 12, &[], 0);
    // Eight more, of which two had been counted.
    assert_eq!((b.sender.conn.sacked_out, b.sender.conn.delivered), (0, 13));
}

/// RFC 5682 with SACK, step 3.b: a SACK of what was sent once and before the timeout proves it needless as well; one of what was sent after it
/// does not.
#[test]
fn a_sack_proves_a_timeout_spurious() {
    for (old, undone) in [(true, true), (false, false)] {
        let mut b = open(Kind::NewReno, None, 10, 100);
        b.sender.conn.cwnd = 20;
        b.sender.rack_rtt_us = 100_000;
        b.now += 290 * MS;
        for seq in 1..10 {
            b.sender.board.sent(seq, b.now, 0);
        }
        (b.sender.timer, b.sender.timer_at) = (Timer::Rto, b.now + 10 * MS);
        b.timer();
        let sent_ms = (b.now / MS) as u32;
        b.wait(100.0);
        b.ack(b.now, &alone::Ack { ts: sent_ms, ..alone::Ack::new(1, &[]) });
        assert!(b.sender.frto && b.sender.high_seq == 10 && b.sender.conn.snd_nxt > 11);
        b.wait(5.0);
        let block = if old { (3, 5) } else { (10, 11) };
        b.ack(b.now, &alone::Ack { ts: sent_ms, ..alone::Ack::new(1, &[block]) });
        assert_eq!(b.sender.conn.cwnd >= 20, undone, "{}", b.sender.conn.cwnd);
    }
}

/// `tcp_rate_gen`: application-limited until more is delivered than was then on its way; and only what delivers moves the time of the latest
/// delivery.
#[test]
fn a_bubble_lasts_until_it_is_delivered() {
    let mut b = open(Kind::Bbr, Some(10), 20, 40);
    b.acked(40.0, 5, &[], 0);
    b.sender.write(b.now, 10, &mut b.out);
    assert_eq!((b.sender.conn.delivered, b.sender.conn.app_limited), (6, 11));
    b.acked(1.0, 8, &[], 0);
    assert_eq!((b.sender.conn.delivered, b.sender.conn.app_limited), (9, 11));
    let at = b.sender.conn.delivered_ns;
    assert_eq!(at, b.now);
    b.acked(1.0, 8, &[], 0);
    assert_eq!(b.sender.conn.delivered_ns, at);
    b.acked(1.0, 10, &[], 0);
    assert_eq!((b.sender.conn.delivered, b.sender.conn.app_limited), (11, 11));
    b.acked(1.0, 11, &[], 0);
    assert_eq!(b.sender.conn.app_limited, 0);
}

/// `tcp_tsval_replay`: `icsk_rto * 1200 / HZ` milliseconds; 200 ms are 50 ticks.
#[test]
fn an_acknowledgement_may_be_older_by_a_timeout_of_1200_ticks() {
    let mut s = closed(Kind::NewReno, None, None).sender;
    for (rto_us, ms) in [(200_000, 50 * 1200 / 250), (1_000_000, 1200), (120_000_000, 144_000)] {
        s.rto_us = rto_us;
        assert_eq!(s.replay_ms(), ms);
    }
}

/// A burst is no longer than a buffer, and none than 64 KiB (`GSO_LEGACY_MAX_SIZE`): 45 segments of 1,448 bytes.
#[test]
fn limits_that_are_set_hold() {
    let mut s = closed(Kind::NewReno, None, None).sender;
    for (buffer, burst) in [(0, 1), (7, 7), (45, 45), (100, 45)] {
        s.conn.snd_una = 3;
        s.set_limits(20, buffer, 100_000);
        assert_eq!((s.window_end, s.max_burst, s.buffer_segments, s.sndbuf), (23, burst, burst, 100_000));
    }
}

/// `__tcp_transmit_skb`: of what goes out again, too, a packet of several segments ends with PSH.
#[test]
fn what_goes_again_ends_with_push() {
    let mut b = open(Kind::NewReno, Some(10), 10, 40);
    b.sender.timer = Timer::Rto;
    b.timer();
    b.take_sent().for_each(drop);
    b.sender.conn.cwnd = 10;
    b.sender.resend_lost(b.now, &mut b.out);
    let sent: Vec<_> = b.take_sent().collect();
    assert!(sent.iter().any(|s| s.count > 1));
    for s in sent {
        assert_eq!((s.again, s.push), (true, s.count > 1 || s.seq == 9), "{s:?}");
    }
}

/// `tcp_ecn_clear_syn`: a SYN that is sent again asks for no ECN; where the first was answered after all, ECN was agreed on.
#[test]
fn a_late_answer_to_the_first_syn_agrees_on_ecn() {
    for first in [true, false] {
        let mut b = Scratch::new(alone::Setup { cca: Kind::NewReno, ecn: true, ..alone::Setup::default() });
        b.connect(100 * MS);
        b.timer();
        let ts = if first { 100 } else { (b.now / MS) as u32 };
        b.wait(10.0);
        b.connected(b.now, ts);
        assert_eq!(b.sender.ecn, first);
    }
}

/// `tcp_rack_update_reo_wnd`: 16 recoveries after the last duplicate the window is as wide as at first.
#[test]
fn racks_window_narrows_when_it_was_not_needed() {
    for (persist, steps) in [(1, 3), (0, 1)] {
        let mut b = open(Kind::NewReno, None, 20, 40);
        (b.sender.reo_wnd_steps, b.sender.reo_wnd_persist) = (3, persist);
        b.acked(40.0, 4, &[], 0);
        assert_eq!(b.sender.reo_wnd_steps, steps);
    }
}

/// The mean is of the smoothed round-trip time at each acknowledgement since the warm-up.
#[test]
fn round_trip_times_are_averaged_after_the_warm_up() {
    let mut b = open(Kind::NewReno, None, 20, 40);
    b.sender.measure_from_ns = b.now + 41 * MS;
    b.acked(40.0, 4, &[], 0);
    assert_eq!(b.sender.stats().mean_srtt_us, None);
    b.acked(1.0, 8, &[], 0);
    // 7/8 of 40 ms and 1/8 of 41 ms.
    assert_eq!(b.sender.stats().mean_srtt_us, Some(40_125.0));
}

/// An open connection whose application has not yet written; a buffer holds so many segments.
fn unwritten(buffer: u32) -> Scratch {
    let mut b = Scratch::new(alone::Setup { segments: Some(0), closes: false, ..alone::Setup::default() });
    b.open(1000 * MS, 40 * MS, 0);
    b.sender.set_limits(1000, 45, 1 << 20);
    b.sender.set_buffer(buffer);
    (b.sender.conn.cwnd, b.sender.conn.pacing_rate) = (20, u64::MAX);
    b
}

/// `tcp_grow_skb`: a buffer that is shorter than what may go takes from the one behind it, and from no other.
#[test]
fn a_buffer_grows_by_the_next_alone() {
    let mut b = unwritten(2);
    (b.sender.window_end, b.sender.max_burst) = (0, 10);
    b.sender.write(b.now, 8, &mut b.out);
    assert_eq!((b.sender.all_buffers(), b.sender.written), (4, 8));
    b.sender.window_end = 1000;
    b.sender.push(b.now, &mut b.out);
    // Two of two each, put together, are a burst; nothing else is.
    let ends: Vec<u32> = (0..8).filter(|s| b.sender.board.flags(*s) & ENDS_BUFFER != 0).collect();
    assert_eq!((ends, b.sender.all_buffers()), (vec![3, 7], 2));
}

/// `tso_fragment`, `tcp_sendmsg_locked`: where a window cuts the first buffer, what is left of it is one of its own, and as the last one is
/// filled up.
#[test]
fn a_buffer_that_a_window_cuts_is_filled_up() {
    let mut b = unwritten(10);
    b.sender.window_end = 4;
    b.sender.write(b.now, 15, &mut b.out);
    // 4 gone, 10 behind them, of which 6 were left, and 1.
    assert_eq!((b.sender.conn.snd_nxt, b.sender.head_end, b.sender.all_buffers()), (4, 14, 3));
    b.sender.write(b.now, 9, &mut b.out);
    assert_eq!((b.sender.written, b.sender.all_buffers()), (24, 3), "the last one is filled up");
    b.sender.write(b.now, 1, &mut b.out);
    assert_eq!(b.sender.all_buffers(), 4);
    // A window cuts it once a short one lies behind it.
    let mut b = unwritten(10);
    b.sender.window_end = 0;
    b.sender.write(b.now, 15, &mut b.out);
    b.sender.window_end = 4;
    b.sender.push(b.now, &mut b.out);
    assert_eq!((b.sender.conn.snd_nxt, b.sender.head_end, b.sender.all_buffers()), (4, 10, 3));
    b.sender.write(b.now, 5, &mut b.out);
    assert_eq!((b.sender.written, b.sender.all_buffers()), (20, 3), "the last one is filled up");
    // Of a single one the rest is the last one.
    let mut b = unwritten(10);
    b.sender.window_end = 4;
    b.sender.write(b.now, 10, &mut b.out);
    b.sender.write(b.now, 4, &mut b.out);
    assert_eq!((b.sender.conn.snd_nxt, b.sender.all_buffers()), (4, 2));
    b.sender.write(b.now, 1, &mut b.out);
    assert_eq!(b.sender.all_buffers(), 3);
}

/// `tcp_bound_to_half_wnd`, `forced_push`: a buffer holds half of the widest window that was told, whatever was acknowledged.
#[test]
fn a_buffer_holds_half_of_the_widest_window() {
    for (told, held) in [(46, 23), (45, 22), (47, 23), (90, 45), (400, 45)] {
        let mut b = open(Kind::NewReno, Some(10), 10, 40);
        b.sender.max_window = 0;
        let ack =
            |cum, end| AckView { cum, window_end: end, ts: b.now as u32, flags: 0, marked: None, sacks: &[] };
        b.sender.on_ack(b.now, ack(4, 4 + told), 0, &mut b.out);
        b.sender.on_ack(b.now, ack(10, 10 + told / 2), 0, &mut b.out);
        assert_eq!(b.sender.max_window, told);
        (b.sender.window_end, b.sender.sndbuf) = (10, 1 << 20);
        b.sender.write(b.now, held, &mut b.out);
        assert_eq!(b.sender.all_buffers(), 1, "{told}");
        b.sender.write(b.now, 1, &mut b.out);
        assert_eq!(b.sender.all_buffers(), 2, "{told}");
        // More than half of it, in bytes, since the last push.
        for n in 0..told.min(b.sender.written) {
            b.sender.pushed = b.sender.written - n;
            assert_eq!(b.sender.forces_push(), n * 1448 > told * 1448 / 2, "{n} of {told}");
        }
    }
}

/// AccECN of an ACK of `n` segments of which `marked` were marked, where `before` were, and the option came or not: what Linux makes of it
/// (`__tcp_accecn_process`).
#[test]
fn accurate_marks_are_counted_to_the_last() {
    use crate::packet::ace;
    let sender = |before: u32| {
        let mut b = open(Kind::NewReno, None, 10, 40);
        (b.sender.accurate, b.sender.conn.delivered_ce, b.sender.ce_told) = (true, before, before);
        b.sender
    };
    let ack = |flags, marked| AckView { cum: 0, window_end: u32::MAX, ts: 0, flags, marked, sacks: &[] };
    for before in 0..16u32 {
        for n in 0..80u32 {
            for marked in 0..=n {
                let total = before + marked;
                // With the option all is known.
                let counted = sender(before).newly_marked(&ack(ace(total), Some(total)), n);
                assert_eq!(counted, marked, "{before} {n}");
                // Without it seven segments at most are told apart, and of more the least number is taken: by Linux as long as no mark is known.
                let counted = sender(before).newly_marked(&ack(ace(total), None), n);
                assert_eq!(counted, if n <= 7 { marked } else { marked % 8 });
                // The segments before were marked, and so it is taken to go on.
                let mut b = sender(before);
                b.ce_grew = true;
                let counted = b.newly_marked(&ack(ace(total), None), n);
                let most = (0..=n).rev().find(|k| k % 8 == marked % 8).unwrap();
                assert_eq!(counted, if n <= 7 { marked } else { most });
            }
        }
    }
}
