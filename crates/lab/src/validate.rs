//! Rows of scenarios that both engines run; [`judge`](crate::judge) has the gap between them.

use crate::job::{open_for_ns, start_ns, wire_burst};
use crate::qdisc::{QdiscOrigin, is_ours};
use crate::random;
use queuewright_scenario::spec::{Rate, Timers};
use queuewright_scenario::units::Range;
use queuewright_scenario::{Error, Flags, RunSpec, Scenario};
use std::path::Path;

/// Seeds of the simulator: one run is a draw.
const SIM_SEEDS: &str = "1..10";
/// Flows begin within this: what is measured must not hang on all beginning at once.
const STARTS: Range = Range { min: 0, max: 100_000_000 };

/// A scenario with one discipline, on both engines.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is, in short.
    pub name: String,
    /// Of what decides its results, but for the seeds.
    pub hash: String,
    /// Runs on Linux, one a seed.
    pub linux: Vec<RunSpec>,
    /// Runs of the simulator.
    pub sim: Vec<RunSpec>,
    /// Whose discipline Linux has.
    pub origin: QdiscOrigin,
}

/// Before a discipline in the list of rows: ours, though the kernel has one.
const OURS: &str = "ours:";
/// The kernel's, of its source, where ours is what usually stands for it.
const COMPILED: &str = "compiled:";

impl Row {
    /// The shipped rows; seeds for Linux, such as `1..3`. Without clang this program was built without our BPF programs,
    /// and their rows are left out.
    ///
    /// # Errors
    /// Seeds that are none, and what the list itself has wrong.
    pub fn shipped(seeds: &str) -> Result<Vec<Row>, Error> {
        let lines = include_str!("rows.txt").lines();
        let without = queuewright_linux::names().is_empty();
        lines
            .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
            .filter(|l| !without || !needs_ours(l))
            .map(|l| Row::of_line(l, seeds))
            .collect()
    }

    fn of_line(line: &str, seeds: &str) -> Result<Row, Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let origin = match words.get(3) {
            Some(queue) if queue.starts_with(OURS) => QdiscOrigin::Bpf,
            Some(queue) if queue.starts_with(COMPILED) => QdiscOrigin::Compiled,
            _ => QdiscOrigin::Kernel,
        };
        let word = |i: usize| {
            let bare = |w: &&str| w.strip_prefix(OURS).or(w.strip_prefix(COMPILED)).unwrap_or(w).to_string();
            words.get(i).map(bare)
        };
        let with = |seeds: &str| -> Result<(Scenario, Vec<RunSpec>), Error> {
            let flags = Flags {
                rate: word(0),
                rtt: word(1),
                flows: word(2),
                aqm: word(3),
                buffer: word(4),
                duration: Some("20s".into()),
                warmup: Some("5s".into()),
                seeds: Some(seeds.into()),
                sample: Some("500ms".into()),
                ..Flags::default()
            };
            let mut scenario = Scenario::from_flags(&flags)?;
            for flows in &mut scenario.flows {
                flows.start_ns = STARTS;
            }
            let runs = scenario.runs()?;
            Ok((scenario, runs))
        };
        let (scenario, linux) = with(seeds)?;
        crate::check(&scenario, &linux, origin, false)?;
        let sim = as_in_the_lab(with(SIM_SEEDS)?.1, origin);
        Ok(Row { name: words.join(" "), hash: hash(&scenario), linux, sim, origin })
    }

    /// The rows of a scenario file: one a discipline. Linux has the file's seeds; the simulator has ten, unless these decide
    /// more than when flows start and stop: then both have the file's.
    ///
    /// # Errors
    /// What the file has wrong, and what Linux cannot do.
    pub fn of_file(path: &Path, seeds: Option<&str>, origin: QdiscOrigin) -> Result<Vec<Row>, Error> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Row::of(&stem, origin, seeds, |flags| Scenario::read_with(path, flags))
    }

    /// The rows of what was drawn ([`random::draw`]), as if it were a file.
    ///
    /// # Errors
    /// What [`Row::of_file`] says.
    pub fn of_draw(draw: &random::Draw, seeds: Option<&str>) -> Result<Vec<Row>, Error> {
        let file = format!("{}.toml", draw.name);
        Row::of(&draw.name, draw.origin, seeds, |flags| {
            Scenario::parse_with(&draw.text, &file, Path::new(""), flags)
        })
    }

    fn of(
        name: &str,
        origin: QdiscOrigin,
        seeds: Option<&str>,
        read: impl Fn(&Flags) -> Result<Scenario, Error>,
    ) -> Result<Vec<Row>, Error> {
        let with = |seeds: Option<&str>| -> Result<(Scenario, Vec<RunSpec>), Error> {
            let scenario = read(&Flags { seeds: seeds.map(Into::into), ..Flags::default() })?;
            let runs = scenario.runs()?;
            Ok((scenario, runs))
        };
        let (scenario, linux) = with(seeds)?;
        crate::check(&scenario, &linux, origin, false)?;
        let many = with(Some(SIM_SEEDS))?.1;
        let sim = as_in_the_lab(if alike(&many) { many } else { linux.clone() }, origin);
        let row = |label: &str| {
            let of =
                |runs: &[RunSpec]| runs.iter().filter(|r| r.discipline.label == label).cloned().collect();
            let mut alone = scenario.clone();
            alone.disciplines.retain(|d| d.label == label);
            Row {
                name: format!("{name} {label}"),
                hash: hash(&alone),
                linux: of(&linux),
                sim: of(&sim),
                origin,
            }
        };
        Ok(scenario.disciplines.iter().map(|d| row(&d.label)).collect())
    }
}

/// Of a scenario, whatever its seeds are.
fn hash(scenario: &Scenario) -> String {
    let mut scenario = scenario.clone();
    scenario.run.seeds = vec![1];
    scenario.hash()
}

/// Do the seeds of a discipline's runs decide when flows start and stop, and nothing else?
fn alike(runs: &[RunSpec]) -> bool {
    let mut seen: Vec<(&str, String)> = Vec::new();
    runs.iter().all(|run| {
        let mut plain = run.clone();
        plain.seed = 0;
        for f in &mut plain.flows {
            f.start_ns = 0;
            f.stop_ns = f.stop_ns.map(|_| 0);
        }
        let text = format!("{plain:?}");
        match seen.iter().find(|(label, _)| *label == run.discipline.label) {
            Some((_, first)) => *first == text,
            None => {
                seen.push((&run.discipline.label, text));
                true
            }
        }
    })
}

/// What of a run is the lab's, for the simulator: when flows open their connections and start, the link, and that the timers of
/// our disciplines are exact.
fn as_in_the_lab(mut runs: Vec<RunSpec>, origin: QdiscOrigin) -> Vec<RunSpec> {
    for run in &mut runs {
        for (i, flow) in run.flows.iter_mut().enumerate() {
            flow.start_ns = start_ns(run.seed, i, flow);
        }
        let open = open_for_ns(run);
        run.flows.iter_mut().zip(open).for_each(|(flow, open)| flow.open_for_ns = open);
        for port in &mut run.ports {
            let ours = is_ours(port.discipline.info.name, origin);
            if ours {
                port.timers = Timers::Exact;
                port.late_marks = true;
            }
            // The lab's link is no wire: a packet is there as soon as it is sent. htb has its bucket; a BPF qdisc's own shaper sends
            // the next when this one is paid for.
            if let Rate::Constant(bps) = port.rate {
                port.burst_bytes.get_or_insert(if ours { 0 } else { wire_burst(bps) });
            }
        }
    }
    runs
}

/// Is a row's discipline a BPF program of ours?
fn needs_ours(line: &str) -> bool {
    let queue = line.split_whitespace().nth(3).unwrap_or_default();
    let known = |queue: &str| !is_ours(queue.split(':').next().unwrap_or_default(), QdiscOrigin::Kernel);
    !queue.starts_with(COMPILED) && !known(queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rows_are_enough_and_run() {
        let rows = Row::shipped("1..2").unwrap_or_else(|e| panic!("{e}"));
        assert!(rows.len() >= 40, "{} rows", rows.len());
        assert!(rows.iter().all(|r| r.linux.len() == 2 && r.sim.len() == 10));
        let mut names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows.len());
    }

    #[test]
    fn the_kernels_pie_ticks_by_the_jiffy_and_ours_does_not() {
        let timers = |line: &str| {
            let row = Row::of_line(line, "1").unwrap_or_else(|e| panic!("{e}"));
            row.sim[0].ports[0].timers
        };
        assert_eq!(timers("20mbit 40ms 1xcubic pie 1000p"), Timers::Jiffies);
        assert_eq!(timers("20mbit 40ms 1xcubic ours:pie 1000p"), Timers::Exact);
    }

    /// The lab's link hands a packet on as soon as it may go: htb's bucket, and the shaper of a BPF qdisc, which has none.
    #[test]
    fn the_simulators_link_is_the_labs() {
        let burst = |line: &str| {
            let row = Row::of_line(line, "1").unwrap_or_else(|e| panic!("{e}"));
            row.sim[0].ports[0].burst_bytes
        };
        assert_eq!(burst("20mbit 40ms 1xcubic pie 1000p"), Some(wire_burst(20_000_000)));
        assert_eq!(burst("20mbit 40ms 1xcubic ours:pie 1000p"), Some(0));
        assert_eq!(burst("20mbit 40ms 1xcubic titrate 1000p"), Some(0));
    }

    /// Each seed's starts, and how long the connections are open by then: two of 40 ms, the second opened 2 ms later. In the lab what is
    /// sent is at the bottleneck at once, and so it is sent 20 ms later.
    #[test]
    fn flows_start_in_the_simulator_as_in_the_lab() {
        let row = Row::of_line("20mbit 40ms 2xcubic pie 1000p", "3").unwrap_or_else(|e| panic!("{e}"));
        let sim = row.sim.iter().find(|r| r.seed == 3).expect("the seed");
        let job = crate::job::Job::new(&row.linux, row.origin, false, 702).unwrap_or_else(|e| panic!("{e}"));
        for (i, flow) in sim.flows.iter().enumerate() {
            let line = job.text.lines().find(|l| l.starts_with(&format!("tcp {i} "))).expect("it is sent");
            assert_eq!(
                line.split(' ').nth(4),
                Some((flow.start_ns + 20_000_000).to_string().as_str()),
                "{line}"
            );
        }
        let moved = sim.flows[0].start_ns - row.linux[0].flows[0].start_ns;
        assert!((1..5_000_000).contains(&moved), "{moved}");
        let open = |i: usize| sim.flows[i].open_for_ns.map(|ns| ns - sim.flows[i].start_ns);
        assert_eq!((open(0), open(1)), (Some(36_500_000), Some(34_500_000)));
    }
}
