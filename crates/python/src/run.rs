//! Runs, with the interpreter free for others meanwhile.

use crate::draft::Draft;
use crate::interrupt::Interrupt;
use crate::results::{Results, pack};
use crate::runs::Runs;
use crate::{RunError, in_python, input, said};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use queuewright_engine::{Engine, EngineChoice, ItemEvent, RunOutcome, jobs};
use queuewright_results::Run;
use queuewright_results::measures::by_path;
use queuewright_scenario::RunSpec;
use queuewright_suite::harm;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked at, and progress told.
const EVERY: Duration = Duration::from_millis(50);

/// Makes all runs of these scenarios, `at_a_time` at a time (one per core), and gives each scenario's results.
/// `progress` is called, about every 50 ms, with the share done (0 to 1), the runs done and all runs; what it raises ends the runs, as
/// Ctrl-C does. What has finished by then is the exception's `results`, as far as it can have one.
/// With groups that are left out each run is also made without them, and says what the others lose beside them.
#[pyfunction]
#[pyo3(signature = (drafts, *, without=None, linux=false, at_a_time=None, progress=None))]
pub fn run(
    py: Python<'_>,
    drafts: Vec<Py<Draft>>,
    without: Option<Vec<String>>,
    linux: bool,
    at_a_time: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Results>> {
    let without = without.unwrap_or_default();
    let asked = EngineChoice { linux, ..EngineChoice::default() };
    let mut specs: Vec<RunSpec> = Vec::new();
    let mut ends = Vec::with_capacity(drafts.len());
    let mut engine = Engine::Sim;
    let mut count = 0;
    for draft in &drafts {
        let scenario = &draft.get().scenario;
        let runs = py.detach(|| scenario.runs()).map_err(said)?;
        engine = Engine::new(&asked, scenario, &runs).map_err(|e| input(in_python(&e.to_string())))?;
        specs.extend(harm::pairs(&runs, &without).map_err(|e| input(format!("without: {e}")))?);
        count += runs.len();
        ends.push(count);
    }
    let (mut made, ended) = make(py, &engine, &specs, at_a_time, progress);
    if !without.is_empty() {
        let paired = made.chunks_exact_mut(2).zip(specs.iter().skip(1).step_by(2));
        made = paired
            .map(|(pair, spec)| {
                // One whose other was not made says nothing of harm, and is not finished.
                let (alone, mut run) = (pair[0].take()?, pair[1].take()?);
                harm::tell(spec, &by_path(&alone), &mut run, &without);
                Some(run)
            })
            .collect();
    }
    let mut made = made.into_iter();
    let mut begin = 0;
    let results = drafts.iter().zip(ends).map(|(draft, end)| {
        let runs = made.by_ref().take(end - begin).flatten().collect();
        begin = end;
        Results::new(draft.clone_ref(py), runs)
    });
    let results: Vec<Results> = results.collect();
    let Err(e) = ended else { return Ok(results) };
    // One whose type has no place for it comes without.
    let _ = e.value(py).setattr("results", results);
    Err(e)
}

/// Makes these runs, one at a time, and gives their results packed, for `Results.unpack`.
#[pyfunction]
pub fn run_some<'p>(py: Python<'p>, runs: &Runs) -> PyResult<Bound<'p, PyBytes>> {
    let (made, ended) = make(py, &Engine::Sim, &runs.0, Some(1), None);
    ended?;
    Ok(PyBytes::new(py, &pack(&made.into_iter().flatten().collect::<Vec<Run>>())?))
}

/// These runs, those that have finished, and why some have not.
fn make(
    py: Python<'_>,
    engine: &Engine,
    specs: &[RunSpec],
    at_a_time: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> (Vec<Option<Run>>, PyResult<()>) {
    let interrupt = Interrupt::new();
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
                if let Err(e) = look(&interrupt, progress.as_ref(), share, done, specs.len()) {
                    failed = Some(e);
                    stop.store(true, Ordering::Relaxed);
                }
                looked = Instant::now();
            }
        });
    });
    let ended = match failed {
        Some(e) => Err(e),
        None => look(&interrupt, progress.as_ref(), 1.0, done, specs.len()).and_then(|()| {
            let all = runs.iter().all(Option::is_some);
            if all { Ok(()) } else { Err(RunError::new_err("a run has no result")) }
        }),
    };
    (runs, ended)
}

/// Lets Python handle its signals, and tells of progress.
fn look(
    interrupt: &Interrupt,
    progress: Option<&Py<PyAny>>,
    share: f64,
    done: usize,
    all: usize,
) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if interrupt.pressed(py)? {
            return Err(PyKeyboardInterrupt::new_err(()));
        }
        match progress {
            Some(call) => call.call1(py, (share, done, all)).map(|_| ()),
            None => Ok(()),
        }
    })
}
