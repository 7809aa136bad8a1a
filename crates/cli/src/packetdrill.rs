//! `packetdrill`: scripts on the simulator's TCP, or on a real kernel's.

use crate::args::{EngineName, Packetdrill};
use crate::compare::on_interrupt;
use crate::words::plural;
use crate::{Failure, print};
use queuewright_lab::Lab;
use queuewright_lab::scripts::Placed;
use queuewright_packetdrill::report::{Report, ScriptResult, Verdict, try_script};
use queuewright_packetdrill::{Failure as Wrong, Options, Outcome, control, folder_of, read_file, scripts};
use std::path::PathBuf;

/// Runs the scripts and says what became of each.
pub fn packetdrill(asked: &Packetdrill) -> Result<(), Failure> {
    let cca = match &asked.cca {
        None => None,
        Some(name) => Some(control(name).ok_or_else(|| {
            Failure::Input(format!("--cca {name}: no such congestion control; see queuewright list"))
        })?),
    };
    let options = Options { cca, tolerance_us: asked.tolerance_usecs, hz: asked.hz };
    if let (EngineName::Sim, [_, ..]) = (asked.engine, asked.kernel.as_slice()) {
        return Err(Failure::Input("--kernel: the simulator has none; add --engine linux".into()));
    }
    if let (EngineName::Linux, Some(_)) = (asked.engine, asked.hz) {
        return Err(Failure::Input("--hz: a real kernel's clock ticks as it was built".into()));
    }
    let paths = scripts(&asked.paths).map_err(Failure::Input)?;
    let mut ran = Vec::new();
    let mut tell = |one: ScriptResult| {
        if !asked.json {
            print(&format!("{one}\n"))?;
        }
        ran.push(one);
        Ok(())
    };
    match asked.engine {
        EngineName::Sim => paths.into_iter().try_for_each(|path| tell(try_script(path, &options)))?,
        EngineName::Linux => on_linux(asked, paths, &options, tell)?,
    }
    let report = Report::new(ran);
    if asked.json {
        let text = serde_json::to_string_pretty(&report).map_err(|e| Failure::Run(e.to_string()))?;
        print(&format!("{text}\n"))?;
    } else {
        print(&format!("\n{}", report.summary()))?;
    }
    let unreadable = report.scripts.iter().find_map(|s| match &s.verdict {
        Verdict::Unreadable { error } => Some(error),
        _ => None,
    });
    match (unreadable, report.failed) {
        (Some(error), _) => Err(Failure::Input(error.clone())),
        (None, 0) => Ok(()),
        (None, n) => Err(Failure::Run(format!("{} failed", plural(n, "script")))),
    }
}

/// On the lab's kernel, told of in the order of the paths, each as soon as all before it are known.
fn on_linux(
    asked: &Packetdrill,
    paths: Vec<PathBuf>,
    options: &Options,
    mut tell: impl FnMut(ScriptResult) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let lab = Lab::open(&asked.kernel).map_err(|e| Failure::Input(format!("--engine linux: {e}")))?;
    let stop = on_interrupt()?;
    let mut all: Vec<Option<ScriptResult>> = Vec::new();
    let (mut placed, mut places): (Vec<Placed>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, path) in paths.iter().enumerate() {
        all.push(match read_file(path) {
            Ok(script) => {
                placed.push((script, folder_of(path).to_path_buf()));
                places.push(i);
                None
            }
            Err(error) => Some(ScriptResult { script: path.clone(), verdict: Verdict::Unreadable { error } }),
        });
    }
    let (mut next, mut told) = (0, Ok(()));
    let ended = lab.scripts(&placed, options, &stop, |place, outcome| {
        let outcome = outcome.unwrap_or_else(|why| {
            let says = format!("the lab: {why}");
            Outcome::Failed(Wrong { line: 1, says, expected: None, actual: None })
        });
        let at = places[place];
        all[at] = Some(ScriptResult::new(paths[at].clone(), outcome));
        while told.is_ok()
            && let Some(one) = all.get_mut(next).and_then(Option::take)
        {
            next += 1;
            told = tell(one);
        }
    });
    told?;
    ended.map_err(|e| Failure::Run(e.to_string()))?;
    all.into_iter().flatten().try_for_each(tell)
}
