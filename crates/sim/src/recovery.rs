//! When something changes in a run, and how its ports come back from it.

use queuewright_results::{Run, phases, recovery};
use queuewright_scenario::RunSpec;
use queuewright_scenario::spec::{PortSpec, Rate, Traffic};

/// So many steps of a schedule are gone through: of more none leaves time to be seen.
const MOST: usize = 1_000_000;
/// What comes again sooner is one change that lasts (ns).
const SOON_NS: u64 = 900_000_000;

/// Puts into a run how each port came back from changes of its rate, and of the load that crosses it.
pub fn recover(spec: &RunSpec, run: &mut Run) {
    let series = &run.detail.series;
    let column = |port: &str, name: &str| {
        let name = format!("{port}.{name}");
        series.columns.iter().find(|c| c.name == name).map(|c| c.values.as_slice())
    };
    for (i, port) in spec.ports.iter().enumerate() {
        let Some(measured) = run.ports.iter_mut().find(|p| p.name == port.name) else { continue };
        let (Some(queue), Some(rate)) = (column(&port.name, "backlog_bytes"), column(&port.name, "rate_bps"))
        else {
            continue;
        };
        let changes = changes(spec, port, i as u32);
        measured.recovery = recovery(&series.time_s, queue, rate, &changes, run.warmup_s);
        measured.phases = phases(&series.time_s, queue, rate, &changes, run.warmup_s);
    }
}

/// When a port's rate changes, or flows without an end that cross it start or stop, s, rising.
fn changes(spec: &RunSpec, port: &PortSpec, number: u32) -> Vec<f64> {
    let mut all: Vec<u64> = Vec::new();
    if let Rate::Schedule(schedule) = &port.rate {
        let steps = &schedule.steps;
        let period = schedule.period_ns.filter(|period| *period > 0);
        let mut round = 0;
        'rounds: loop {
            for (i, (at, rate)) in steps.iter().enumerate() {
                let at = at.saturating_add(round);
                if at >= spec.duration_ns || all.len() > MOST {
                    break 'rounds;
                }
                // The first rate is no change, nor is the same again.
                let before = if i > 0 { Some(&steps[i - 1]) } else { steps.last() };
                if at > 0 && before.is_none_or(|step| step.1 != *rate) {
                    all.push(at);
                }
            }
            let Some(period) = period else { break };
            round += period * (SOON_NS / period).max(1);
        }
    }
    let without_end = |traffic: &Traffic| match traffic {
        Traffic::Tcp { size_bytes, client, .. } => size_bytes.is_none() && client.is_none(),
        Traffic::Datagrams { .. } => true,
    };
    for flow in spec.flows.iter().filter(|f| f.path.contains(&number) && without_end(&f.traffic)) {
        all.push(flow.start_ns);
        all.extend(flow.stop_ns);
    }
    all.retain(|at| *at < spec.duration_ns);
    all.sort_unstable();
    all.into_iter().map(|at| at as f64 / 1e9).collect()
}

#[cfg(test)]
mod tests {
    use queuewright_results::Recovery;
    use queuewright_scenario::{Flags, Scenario};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    fn recovery(link: &str, aqm: &str, more: &str) -> Option<Recovery> {
        let text = format!(
            "[link]\n{link}\nbuffer = \"500p\"\n[[flows]]\nname = \"files\"\ncount = 4\ncca = \"cubic\"\nrtt = \"40ms\"\n{more}\n\
             [queue]\ndisciplines = [\"{aqm}\"]\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\nseeds = [1]\n"
        );
        let scenario = Scenario::parse_with(&text, "t.toml", Path::new(""), &Flags::default()).unwrap();
        let spec = &scenario.runs().unwrap()[0];
        crate::run(spec, &AtomicBool::new(false), &|_| ()).unwrap().ports[0].recovery
    }

    /// A quarter of the rate from 30 s on: as many bytes then take four times as long, so that a queue manager by delay has too many for a while.
    #[test]
    fn a_rate_that_falls_is_one_change() {
        let falls = "schedule = [[\"0s\", \"40mbit\"], [\"30s\", \"10mbit\"]]";
        let codel = recovery(falls, "codel", "").unwrap();
        assert_eq!(codel.changes, 1);
        assert!((0.1..10.0).contains(&codel.queue_s.mean), "{codel:?}");
        // Tail drop's queue is full before and after: there is less to come back from.
        let droptail = recovery(falls, "droptail", "").unwrap();
        assert!(droptail.queue_s.mean < codel.queue_s.mean, "{droptail:?} {codel:?}");
        // Ten times a second nothing has time to settle; without a change there is none.
        let often = "schedule = [[\"0s\", \"40mbit\"], [\"100ms\", \"10mbit\"]]\nperiod = \"200ms\"";
        assert_eq!(recovery(often, "codel", ""), None);
        // Nor each second, and the same rate again is no change.
        let each_second = "schedule = [[\"0s\", \"40mbit\"], [\"1s\", \"10mbit\"]]\nperiod = \"2s\"";
        assert_eq!(recovery(each_second, "codel", ""), None);
        let same = "schedule = [[\"0s\", \"40mbit\"], [\"30s\", \"40mbit\"]]";
        assert_eq!(recovery(same, "codel", ""), None);
        assert_eq!(recovery("rate = \"40mbit\"", "codel", ""), None);
    }

    /// Where nothing changes, and it is asked all the same, nothing is to come back, but by chance.
    #[test]
    fn where_nothing_changes_it_is_short() {
        let mut took = Vec::new();
        for aqm in ["droptail", "codel", "pie", "fq-codel", "titrate"] {
            for seed in 5..=8 {
                let text = format!(
                    "[link]\nrate = \"40mbit\"\nbuffer = \"500p\"\n[[flows]]\ncount = 4\ncca = \"cubic\"\nrtt = \"40ms\"\n\
                     [queue]\ndisciplines = [\"{aqm}\"]\n[run]\nduration = \"110s\"\nwarmup = \"10s\"\nseeds = [{seed}]\n"
                );
                let scenario =
                    Scenario::parse_with(&text, "t.toml", Path::new(""), &Flags::default()).unwrap();
                let run = crate::run(&scenario.runs().unwrap()[0], &AtomicBool::new(false), &|_| ()).unwrap();
                assert_eq!((run.ports[0].recovery, run.ports[0].phases.len()), (None, 0));
                let series = &run.detail.series;
                let values = |name| &series.columns.iter().find(|c| c.name == name).unwrap().values;
                for at in [20.0, 50.0, 80.0] {
                    let until = series.time_s.partition_point(|t| *t <= at + 30.0);
                    let [queue, rate] =
                        ["bottleneck.backlog_bytes", "bottleneck.rate_bps"].map(|n| &values(n)[..until]);
                    let found =
                        queuewright_results::recovery(&series.time_s[..until], queue, rate, &[at], 10.0);
                    let found = found.unwrap();
                    took.push(found.queue_s.mean.max(found.rate_s.mean));
                }
            }
        }
        let not_at_once = took.iter().filter(|s| **s > 0.0).count();
        assert!(took.len() == 60 && not_at_once <= 3, "{took:?}");
    }

    /// Twenty flows more at 30 s, which go at 45 s.
    #[test]
    fn so_are_flows_that_come_and_go() {
        let more = "[[flows]]\nname = \"more\"\ncount = 20\ncca = \"cubic\"\nrtt = \"40ms\"\nstart = \"30s\"\nstop = \"45s\"";
        let found = recovery("rate = \"40mbit\"", "codel", more).unwrap();
        assert_eq!(found.changes, 2);
        assert!(found.queue_s.max > 0.1, "{found:?}");
    }
}
