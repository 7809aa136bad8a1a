//! Runs, with the interpreter free for others meanwhile.

use crate::draft::Draft;
use crate::results::{Results, pack};
use crate::runs::Runs;
use crate::{RunError, input};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_engine::{Engine, EngineChoice, ItemEvent, RunOutcome, jobs};
use queuewright_results::Run;
use queuewright_scenario::RunSpec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked at, and progress told.
const EVERY: Duration = Duration::from_millis(50);

/// Makes all runs of these scenarios, `at_a_time` at a time (one per core), and gives each scenario's results.
/// `progress` is called, about every 50 ms, with the share done (0 to 1), the runs done and all runs; what it raises ends the runs, as
/// Ctrl-C does.
#[pyfunction]
#[pyo3(signature = (drafts, *, linux=false, at_a_time=None, progress=None))]
pub fn run(
    py: Python<'_>,
    drafts: Vec<Py<Draft>>,
    linux: bool,
    at_a_time: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Results>> {
    let asked = EngineChoice { linux, ..EngineChoice::default() };
    let mut specs: Vec<RunSpec> = Vec::new();
    let mut ends = Vec::with_capacity(drafts.len());
    let mut engine = Engine::Sim;
    for draft in &drafts {
        let scenario = &draft.get().scenario;
        let runs = scenario.runs().map_err(input)?;
        engine = Engine::new(&asked, scenario, &runs).map_err(input)?;
        specs.extend(runs);
        ends.push(specs.len());
    }
    let made = make(py, &engine, &specs, at_a_time, progress)?;
    let mut made = made.into_iter();
    let mut begin = 0;
    let results = drafts.iter().zip(ends).map(|(draft, end)| {
        let runs = made.by_ref().take(end - begin).collect();
        begin = end;
        Results::new(draft.clone_ref(py), runs)
    });
    Ok(results.collect())
}

/// Makes these runs, one at a time, and gives their results packed, for `Results.unpack`.
#[pyfunction]
pub fn run_some<'p>(py: Python<'p>, runs: &Runs) -> PyResult<Bound<'p, PyBytes>> {
    Ok(PyBytes::new(py, &pack(&make(py, &Engine::Sim, &runs.0, Some(1), None)?)?))
}

/// All of these runs, or the first error.
fn make(
    py: Python<'_>,
    engine: &Engine,
    specs: &[RunSpec],
    at_a_time: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Run>> {
    let stop = AtomicBool::new(false);
    let mut runs: Vec<Option<Run>> = specs.iter().map(|_| None).collect();
    let mut failed: Option<PyErr> = None;
    let mut shares = vec![0.0; specs.len()];
    let mut done = 0;
    py.detach(|| {
        thread::scope(|scope| {
            let (tell, told) = channel::<(usize, ItemEvent<RunOutcome>)>();
            let stop = &stop;
            scope.spawn(move || {
                engine.run_all(specs, jobs(at_a_time), stop, |i, step| {
                    // The listener outlives this thread.
                    let _ = tell.send((i, step));
                });
            });
            let mut looked = Instant::now();
            loop {
                let heard = told.recv_timeout(EVERY.saturating_sub(looked.elapsed()));
                match heard {
                    Ok((i, ItemEvent::At(share))) => shares[i] = share,
                    Ok((_, ItemEvent::Done(Ok(None)))) | Err(RecvTimeoutError::Timeout) => {}
                    Ok((i, ItemEvent::Done(Ok(Some(run))))) => {
                        (shares[i], runs[i]) = (1.0, Some(*run));
                        done += 1;
                    }
                    Ok((i, ItemEvent::Done(Err(e)))) => {
                        let spec = &specs[i];
                        let text = format!("{} with seed {}: {e}", spec.discipline.label, spec.seed);
                        failed.get_or_insert_with(|| RunError::new_err(text));
                        stop.store(true, Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if looked.elapsed() < EVERY || failed.is_some() {
                    continue;
                }
                let share = shares.iter().sum::<f64>() / specs.len() as f64;
                if let Err(e) = look(progress.as_ref(), share, done, specs.len()) {
                    failed = Some(e);
                    stop.store(true, Ordering::Relaxed);
                }
                looked = Instant::now();
            }
        });
    });
    if let Some(e) = failed {
        return Err(e);
    }
    look(progress.as_ref(), 1.0, done, specs.len())?;
    runs.into_iter().collect::<Option<Vec<Run>>>().ok_or_else(|| RunError::new_err("a run has no result"))
}

/// Lets Python handle its signals, and tells of progress.
fn look(progress: Option<&Py<PyAny>>, share: f64, done: usize, all: usize) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        match progress {
            Some(call) => call.call1(py, (share, done, all)).map(|_| ()),
            None => Ok(()),
        }
    })
}
