//! `packetdrill`: scripts on the simulator's TCP.

use crate::args::Packetdrill;
use crate::words::plural;
use crate::{Failure, print};
use queuewright_packetdrill::report::{Report, Verdict, try_script};
use queuewright_packetdrill::{Options, control, scripts};

/// Runs the scripts and says what became of each.
pub fn packetdrill(asked: &Packetdrill) -> Result<(), Failure> {
    let cca = match &asked.cca {
        None => None,
        Some(name) => Some(control(name).ok_or_else(|| {
            Failure::Input(format!("--cca {name}: no such congestion control; see queuewright list"))
        })?),
    };
    let options = Options { cca, tolerance_us: asked.tolerance_usecs, hz: Some(asked.hz) };
    let paths = scripts(&asked.paths).map_err(Failure::Input)?;
    let mut ran = Vec::new();
    for path in paths {
        let one = try_script(path, &options);
        if !asked.json {
            print(&format!("{one}\n"))?;
        }
        ran.push(one);
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
