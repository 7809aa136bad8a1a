//! Queue managers of ours on the lab's kernel: this program attaches them inside the virtual machine.

use queuewright_lab::{Heard, Lab, Whose, check};
use queuewright_results::Run;
use queuewright_scenario::{RunSpec, Scenario};
use std::io::Write;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = "[link]\nrate = \"10mbit\"\nbuffer = \"200p\"\n\
                        [[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"20ms\"\n\
                        [queue]\ndisciplines = [\"codel\", \"titrate\"]\n\
                        [run]\nduration = \"6s\"\nwarmup = \"2s\"\nseeds = [1]\nsample = \"500ms\"\n";

fn runs(whose: Whose) -> Vec<RunSpec> {
    let scenario = Scenario::parse(SCENARIO, "s.toml", "".as_ref()).unwrap_or_else(|e| panic!("{e}"));
    let specs = scenario.runs().unwrap_or_else(|e| panic!("{e}"));
    check(&scenario, &specs, whose).unwrap_or_else(|e| panic!("{e}"));
    specs
}

/// The lab, or a line that no test runner swallows on what was left out.
fn lab(test: &str) -> Option<Lab> {
    let said = match (Lab::open(&[]), queuewright_linux::names().is_empty()) {
        (Ok(lab), false) => return Some(lab),
        (Ok(_), true) => "this program was built without clang".into(),
        (Err(e), _) => e.to_string(),
    };
    let _ = writeln!(std::io::stderr(), "LEFT OUT: {test}: {said}");
    None
}

fn made(lab: &Lab, specs: &[RunSpec]) -> Vec<Run> {
    let mut made: Vec<Option<Run>> = vec![None; specs.len()];
    lab.run(specs, &AtomicBool::new(false), |i, heard| {
        if let Heard::Done(done) = heard {
            made[i] = Some(*done.unwrap_or_else(|e| panic!("run {i}: {e}")));
        }
    });
    made.into_iter().map(|run| run.expect("heard of every run")).collect()
}

/// CoDel of ours waits as the kernel's does, and as the simulator's; Titrate, which the kernel has not, runs as
/// in the simulator. Drops by reason and variables come out of the programs' maps.
#[test]
fn ours_does_on_linux_what_the_kernels_and_the_simulators_do() {
    let Some(lab) = lab("ours_does_on_linux_what_the_kernels_and_the_simulators_do") else { return };
    let specs = runs(Whose::Ours);
    let kernels = made(&lab.clone(), &runs(Whose::Kernels)[..1]);
    let program = env!("CARGO_BIN_EXE_queuewright").into();
    let ours = made(&lab.with_program(program).with_queue_managers(Whose::Ours), &specs);
    let stop = AtomicBool::new(false);
    let sim: Vec<Run> =
        specs.iter().map(|s| queuewright_sim::run(s, &stop, &|_| ()).expect("the run ends")).collect();
    assert!(!kernels[0].kernel.contains("BPF") && ours.iter().all(|r| r.kernel.contains("BPF qdisc")));
    for (a, b) in [(&ours[0], &kernels[0]), (&ours[0], &sim[0]), (&ours[1], &sim[1])] {
        let (p, q) = (&a.ports[0], &b.ports[0]);
        let said = format!("{}\n{p:?}\n{q:?}", a.discipline);
        assert!((p.utilization - q.utilization).abs() < 0.03, "{said}");
        assert!((p.sojourn_ms.mean - q.sojourn_ms.mean).abs() < 2.0, "{said}");
        assert!(p.drops.keys().eq(q.drops.keys()), "{said}");
    }
    for run in &ours {
        let shown = |name: &str| {
            let column = run.detail.series.columns.iter().find(|c| c.name.ends_with(name));
            column.unwrap_or_else(|| panic!("{} has no {name}", run.discipline)).values.clone()
        };
        assert!(shown(".queue_bytes").iter().any(|b| *b > 0.0));
        // The program counts what the kernel's trace events show to have left.
        let (first, last) = (shown(".drops")[0], shown(".drops").last().copied());
        assert!(last > Some(first), "{}", run.discipline);
        let info = queuewright_aqm::find(&run.discipline).expect("in the registry");
        for probe in info.probes {
            assert_eq!(shown(probe.name).len(), run.detail.series.time_s.len());
        }
    }
}
