//! Time series: what ports and watched flows are like, every so often.

use crate::flow::Flow;
use crate::port::Port;
use queuewright_aqm::own::SERIES;
use queuewright_cca::Kind;
use queuewright_results as results;
use queuewright_scenario::spec::{RunSpec, Traffic};

/// The series of a run so far.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(crate) series: results::Series,
    /// Bytes sent by each port and delivered to each watched flow at the last sample.
    totals: Vec<u64>,
}

/// Variables of a congestion control of a user's own: names and units.
fn probes(cca: Kind) -> &'static [(&'static str, &'static str)] {
    cca.own().map_or(&[], |own| &own.probes)
}

impl Sampler {
    /// Empty columns. [`Sampler::sample`] fills them in this order.
    pub(crate) fn new(spec: &RunSpec, ports: &[Port]) -> Sampler {
        let column =
            |name: String, unit: &str| results::Column { name, unit: unit.into(), values: Vec::new() };
        let mut columns = Vec::new();
        for (port, p) in ports.iter().zip(&spec.ports) {
            for (name, unit) in SERIES.into_iter().zip(["bytes", "bit/s", "packets", "packets"]) {
                columns.push(column(format!("{}.{name}", p.name), unit));
            }
            for queue in port.named_queues() {
                columns.push(column(format!("{}.{}.backlog_bytes", p.name, queue.name), "bytes"));
            }
            for probe in port.discipline().probes() {
                columns.push(column(format!("{}.{}", p.name, probe.name), probe.unit));
            }
        }
        for &f in &spec.series_flows {
            if let Traffic::Tcp { cca, .. } = spec.flows[f as usize].traffic {
                columns.push(column(format!("flow{f}.cwnd"), "packets"));
                columns.push(column(format!("flow{f}.srtt_ms"), "ms"));
                columns.push(column(format!("flow{f}.pacing_bps"), "bit/s"));
                for (name, unit) in probes(cca) {
                    columns.push(column(format!("flow{f}.{name}"), unit));
                }
            }
            columns.push(column(format!("flow{f}.goodput_bps"), "bit/s"));
        }
        let series = results::Series { time_s: Vec::new(), columns };
        Sampler { series, totals: vec![0; spec.ports.len() + spec.series_flows.len()] }
    }

    /// Takes a sample. The flows' hosts have worked until then.
    pub(crate) fn sample(&mut self, now: u64, spec: &RunSpec, ports: &[Port], flows: &mut [Flow]) {
        let interval_s = spec.series_interval_ns as f64 / 1e9;
        let rate = |total: u64, last: &mut u64| {
            let bps = (total - *last) as f64 * 8.0 / interval_s;
            *last = total;
            if now == 0 { f64::NAN } else { bps }
        };
        self.series.time_s.push(now as f64 / 1e9);
        let mut columns = self.series.columns.iter_mut();
        let mut put = |value: f64| {
            if let Some(c) = columns.next() {
                c.values.push(value);
            }
        };
        let (port_totals, flow_totals) = self.totals.split_at_mut(ports.len());
        for (port, last) in ports.iter().zip(port_totals) {
            put(port.queue().bytes as f64);
            put(rate(port.measure.total.sent_bytes, last));
            put(port.measure.total.dropped as f64);
            put(port.measure.total.overflowed as f64);
            for queue in port.named_queues() {
                put(queue.bytes as f64);
            }
            for i in 0..port.discipline().probes().len() {
                put(port.discipline().probe(i));
            }
        }
        for (&f, last) in spec.series_flows.iter().zip(flow_totals) {
            let flow = &mut flows[f as usize];
            if let Traffic::Tcp { cca, .. } = &spec.flows[f as usize].traffic {
                let conn = flow.conn();
                put(conn.map_or(f64::NAN, |c| f64::from(c.cwnd)));
                put(conn.map_or(f64::NAN, |c| f64::from(c.srtt_us) / 8000.0));
                let paced = conn.filter(|c| c.pacing && c.pacing_rate != u64::MAX);
                put(paced.map_or(f64::NAN, |c| c.pacing_rate as f64 * 8.0));
                for i in 0..probes(*cca).len() {
                    put(flow.control_probe(i));
                }
            }
            put(rate(flow.delivered_by(now), last));
        }
    }
}
