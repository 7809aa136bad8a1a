//! A connection and its path, drawn.

use crate::job::Lines;
use crate::random::{Random, controls};
use queuewright_aqm::FRAME_BYTES;
use queuewright_cca::Kind;
use serde::{Deserialize, Serialize};

/// Bits a second.
const RATE: (f64, f64) = (1e6, 200e6);
const RTT_NS: (f64, f64) = (2e6, 300e6);
/// Bandwidth times delay, segments.
const BDP: (f64, f64) = (1.0, 1000.0);
/// Buffer, of that.
const BUFFER: (f64, f64) = (0.3, 4.0);
/// The smallest buffer, segments.
const LEAST_BUFFER: f64 = 4.0;
/// A full segment on the link.
const SEGMENT_BYTES: f64 = FRAME_BYTES as f64;
const MILLION: f64 = 1e6;
const MS: u64 = 1_000_000;

/// A draw: what decides all that happens, but for the kernel. Times are ns from the begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// `SEED-NUMBER`.
    pub name: String,
    /// Congestion control, by its name in scenarios.
    pub control: String,
    /// ECN is negotiated.
    pub ecn: bool,
    /// Time from a segment's end on the link to the effect of its acknowledgement.
    pub rtt_ns: u64,
    /// Bytes that may wait at the link.
    pub buffer: u64,
    /// Segments lost, of a million.
    pub loss: u64,
    /// A segment that waits longer is marked; 0: none is.
    pub mark_ns: u64,
    /// Segments that come late, of a million, and by how much.
    pub reorder: u64,
    /// See `reorder`.
    pub late_ns: u64,
    /// Every n-th segment is acknowledged, others after the hold.
    pub every: u64,
    /// See `every`.
    pub hold_ns: u64,
    /// Acknowledgements come at multiples of this; 0: at once.
    pub bunch_ns: u64,
    /// Acknowledgements lost, of a million.
    pub ack_loss: u64,
    /// Of the chance on the way.
    pub chance: u64,
    /// When it ends.
    pub end_ns: u64,
    /// (time, bits a second): the link's rate from then on.
    pub rates: Vec<(u64, u64)>,
    /// (time, segments): what the application writes; 0: from then on without end.
    pub writes: Vec<(u64, u64)>,
    /// Most bytes of the send buffer (`tcp_wmem[2]`); 0: 4 MiB.
    #[serde(default)]
    pub wmem: u32,
    /// The application writes while less than this waits to be sent, bytes; 0: whatever waits.
    #[serde(default)]
    pub notsent_lowat: u32,
}

/// The draw of this number under a seed, `of_ms` long.
pub fn draw(seed: u64, number: u64, of_ms: u64) -> Draw {
    let mut r = Random::new(seed ^ 0x7265_706c_6179, number);
    let all = controls();
    let control = all[number as usize % all.len()];
    let end_ns = of_ms * MS;
    // Rate and round-trip time whose product is within bounds.
    let (rate, rtt_ns, bdp) = loop {
        let (rate, rtt) = (r.log(RATE), r.log(RTT_NS));
        let bdp = rate * rtt / 8e9 / SEGMENT_BYTES;
        if bdp >= BDP.0 && bdp <= BDP.1 {
            break (libm::round(rate), rtt as u64, bdp);
        }
    };
    let ecn = control.needs_ecn() || r.percent(25);
    let buffer = f64::max(r.log(BUFFER) * bdp, LEAST_BUFFER) * SEGMENT_BYTES;
    let some = |r: &mut Random, percent, range| if r.percent(percent) { r.log(range) as u64 } else { 0 };
    let loss = some(&mut r, 40, (0.0001 * MILLION, 0.03 * MILLION));
    let reorder = some(&mut r, 25, (0.0001 * MILLION, 0.03 * MILLION));
    let drain_ns = buffer * 8e9 / rate;
    let late_ns = r.log((0.02, 0.7)) * rtt_ns as f64;
    let mark_ns = if ecn { (r.log((0.1, 0.7)) * drain_ns) as u64 + 1 } else { 0 };
    let every = r.pick(&[1, 2, 2, 2, 4, 8]);
    let bunch_ns = some(&mut r, 20, (0.2e6, 6e6)).min(rtt_ns);
    let ack_loss = some(&mut r, 10, (0.001 * MILLION, 0.1 * MILLION));
    let mut rates = vec![(0, rate as u64)];
    if r.percent(20) {
        for _ in 0..1 + r.below(4) {
            let changed = (rate * r.log((0.25, 2.0))).clamp(RATE.0, RATE.1);
            rates.push((r.below(end_ns), changed as u64));
        }
        rates.sort_unstable();
    }
    Draw {
        name: format!("{seed}-{number}"),
        control: control.name().into(),
        ecn,
        rtt_ns,
        buffer: buffer as u64,
        loss,
        mark_ns,
        reorder,
        late_ns: if reorder > 0 { late_ns as u64 } else { 0 },
        every,
        hold_ns: r.pick(&[5, 40, 40, 100]) * MS,
        bunch_ns,
        ack_loss,
        chance: r.below(1 << 62),
        end_ns,
        rates,
        writes: writes(&mut r, bdp, rtt_ns, end_ns),
        wmem: some(&mut r, 20, (16_384.0, 2e6)) as u32,
        notsent_lowat: some(&mut r, 15, (4096.0, 500_000.0)) as u32,
    }
}

/// One that always has more, one that pauses, or one that writes a little at a time.
fn writes(r: &mut Random, bdp: f64, rtt_ns: u64, end_ns: u64) -> Vec<(u64, u64)> {
    // The connection must be open.
    let first = rtt_ns + 5 * MS + r.below(40 * MS);
    let segments = |r: &mut Random, least: f64, most: f64| (r.log((least, most)) * bdp).max(1.0) as u64;
    let mut all = Vec::new();
    let mut at = first;
    match r.pick(&[0, 0, 0, 1, 2]) {
        0 => all.push((at, 0)),
        1 => {
            // Some round trips' worth, then a pause: sometimes longer than a timeout.
            while at < end_ns && all.len() < 60 {
                let n = segments(r, 1.0, 40.0);
                all.push((at, n));
                let sending = n as f64 / bdp * rtt_ns as f64;
                at += sending as u64 + r.log((1e6, 2e9)) as u64;
            }
        }
        _ => {
            let gap = (rtt_ns as f64 * r.log((0.1, 2.0))) as u64 + MS;
            while at < end_ns && all.len() < 200 {
                all.push((at, segments(r, 0.02, 0.8)));
                at += gap / 2 + r.below(gap);
            }
        }
    }
    all
}

impl Draw {
    /// Its congestion control.
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_name(&self.control)
    }

    /// What the guest is to do.
    pub(crate) fn commands(&self, number: usize, name: &str) -> String {
        let mut l = Lines::with_device(number, "tun", None, "txqueuelen 10000");
        l.add("set k net/ipv4/tcp_no_metrics_save 1");
        // Timestamps without an offset of chance: they are the clock's milliseconds.
        l.add("set k net/ipv4/tcp_timestamps 2");
        l.add(format!("set k net/ipv4/tcp_ecn {}", u8::from(self.ecn)));
        if self.wmem > 0 {
            l.add(format!("set k net/ipv4/tcp_wmem 4096,16384,{}", self.wmem));
        }
        if self.notsent_lowat > 0 {
            l.add(format!("set k net/ipv4/tcp_notsent_lowat {}", self.notsent_lowat));
        }
        let rates = self.rates.iter().map(|(at, bps)| (*at, format!("rate {at} {bps}")));
        let writes = self.writes.iter().map(|(at, n)| (*at, format!("write {at} {n}")));
        let mut plans: Vec<(u64, String)> = rates.chain(writes).collect();
        plans.sort_by_key(|plan| plan.0);
        plans.iter().for_each(|plan| l.add(&plan.1));
        let Draw { rtt_ns, buffer, loss, mark_ns, reorder, late_ns, .. } = self;
        let Draw { every, hold_ns, bunch_ns, ack_loss, chance, end_ns, .. } = self;
        l.add(format!(
            "replay k {name} {rtt_ns} {buffer} {loss} {mark_ns} {reorder} {late_ns} {every} {hold_ns} {bunch_ns} \
             {ack_loss} {chance} {end_ns}"
        ));
        l.add("end");
        l.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_draw_hangs_on_its_seed_and_number_alone() {
        let backwards: Vec<Draw> = (0..300).rev().map(|i| draw(7, i, 8000)).collect();
        for (i, d) in backwards.iter().rev().enumerate() {
            assert_eq!(*d, draw(7, i as u64, 8000));
        }
        assert_ne!(draw(7, 3, 8000), draw(8, 3, 8000));
        let controls: BTreeSet<&str> = backwards.iter().map(|d| d.control.as_str()).collect();
        assert_eq!(controls.len(), crate::random::controls().len());
        for d in &backwards {
            assert!((2 * MS..=300 * MS).contains(&d.rtt_ns) && d.loss <= 30_000, "{d:?}");
            assert!(!d.writes.is_empty() && d.writes.len() <= 200 && d.rates.len() <= 5, "{d:?}");
            assert!(d.writes.windows(2).all(|w| w[0].0 < w[1].0), "{d:?}");
        }
        let count = |of: fn(&Draw) -> bool| backwards.iter().filter(|d| of(d)).count();
        for (what, n) in [
            ("loss", count(|d| d.loss > 0)),
            ("marks", count(|d| d.mark_ns > 0)),
            ("reordering", count(|d| d.reorder > 0)),
            ("bunches", count(|d| d.bunch_ns > 0)),
            ("rates", count(|d| d.rates.len() > 1)),
            ("pauses", count(|d| d.writes.len() > 1)),
        ] {
            assert!((20..280).contains(&n), "{what}: {n} of 300");
        }
    }
}
