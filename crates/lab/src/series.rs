//! Time series of a run.

use crate::measure::Seen;
use crate::stats::Stats;
use crate::stream::FlowSample;
use queuewright_cca::{Cca, Conn, Flavour, Kind};
use queuewright_results::{Column, Series};
use queuewright_scenario::spec::Traffic;

/// Does a sender with this control space out what it sends?
fn paces(cca: Kind) -> bool {
    // One of a user's own is in the kernel alone here, and says there what it wants.
    if matches!(cca, Kind::Own(_)) {
        return true;
    }
    let mut conn = Conn::default();
    let _ = Cca::new(cca, Flavour::LINUX, &mut conn, 0);
    conn.pacing
}

impl Seen<'_> {
    /// The simulator's columns; of a controller's own variables those that the kernel shows.
    pub fn series(&self) -> Series {
        let name = &self.spec.ports[0].name;
        let column = |name: String, unit: &str, values| Column { name, unit: unit.into(), values };
        let times: Vec<u64> = self.stats.iter().map(|s| s.0).collect();
        let rates = |totals: Vec<u64>| -> Vec<f64> {
            let spans = totals.windows(2).zip(times.windows(2));
            let rate = spans.map(|(n, t)| (n[1] - n[0]) as f64 * 8e9 / (t[1] - t[0]).max(1) as f64);
            std::iter::once(f64::NAN).chain(rate).collect()
        };
        let mut sent = self.raw.packets.iter().peekable();
        let mut total = 0;
        let totals = times.iter().map(|at| {
            while let Some(p) = sent.next_if(|p| p.dequeue_ns <= *at) {
                total += u64::from(p.bytes);
            }
            total
        });
        let totals: Vec<u64> = totals.collect();
        let stats = |of: fn(&Stats) -> u64| self.stats.iter().map(|s| of(&s.1) as f64).collect();
        let mut columns = vec![
            column(format!("{name}.backlog_bytes"), "bytes", stats(|s| s.backlog_bytes)),
            column(format!("{name}.rate_bps"), "bit/s", rates(totals)),
            column(format!("{name}.drops"), "packets", stats(|s| s.drops.values().sum())),
            column(
                format!("{name}.drops_limit"),
                "packets",
                stats(|s| s.drops.get("limit").copied().unwrap_or(0)),
            ),
        ];
        let known = self.stats.first().map(|s| s.1.probes.clone()).unwrap_or_default();
        for (i, (probe, _)) in known.iter().enumerate() {
            let of_name = self.spec.discipline.info.probes.iter().find(|p| p.name == *probe);
            let unit = of_name.map_or("", |p| p.unit);
            let value = |s: &(u64, Stats)| s.1.probes.get(i).map_or(f64::NAN, |p| p.1);
            columns.push(column(format!("{name}.{probe}"), unit, self.stats.iter().map(value).collect()));
        }
        for &f in &self.spec.series_flows {
            let of = |what: fn(&FlowSample) -> f64| self.samples_of(f as usize).map(what).collect();
            if let Traffic::Tcp { cca, .. } = self.spec.flows[f as usize].traffic {
                columns.push(column(format!("flow{f}.cwnd"), "packets", of(|s| f64::from(s.cwnd))));
                columns.push(column(format!("flow{f}.srtt_ms"), "ms", of(|s| f64::from(s.srtt_us) / 1e3)));
                let paced = |s: &FlowSample| match s.pacing_rate {
                    u64::MAX => f64::NAN,
                    bytes => bytes as f64 * 8.0,
                };
                // The kernel has a rate for each, and keeps to it where the control asks for that.
                let values =
                    self.samples_of(f as usize).map(|s| if paces(cca) { paced(s) } else { f64::NAN });
                columns.push(column(format!("flow{f}.pacing_bps"), "bit/s", values.collect()));
            }
            let received = self.samples_of(f as usize).map(|s| s.received).collect();
            columns.push(column(format!("flow{f}.goodput_bps"), "bit/s", rates(received)));
        }
        let seconds = |at: &u64| at.saturating_sub(self.raw.zero_ns) as f64 / 1e9;
        Series { time_s: times.iter().map(seconds).collect(), columns }.without_unpaced()
    }
}
