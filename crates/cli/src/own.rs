//! `new discipline`, `new control` and `check ./late.h`: files of a user's own.

use crate::args::Kind;
use crate::{Failure, print};
use queuewright_aqm::own;
use queuewright_cca::own as control;
use queuewright_scenario::{read_file, unreadable};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes one to begin with into the working folder.
pub fn new(what: Kind, name: &str) -> Result<(), Failure> {
    let text = match what {
        Kind::Discipline => own::sample(name),
        Kind::Control => control::sample(name),
    };
    let text = text.map_err(|e| Failure::Input(format!("{name:?}: {e}")))?;
    let path = format!("./{name}.h");
    let mut file = File::create_new(&path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Failure::Input(format!("{path} is there already")),
        _ => Failure::Run(format!("{path} cannot be written: {e}")),
    })?;
    file.write_all(text.as_bytes()).map_err(|e| Failure::Run(format!("{path} cannot be written: {e}")))?;
    let (does, named, use_it) = match what {
        Kind::Discipline => (
            "what waits longer than a target is dropped",
            "where a discipline is named",
            format!("--flows 4xcubic --aqm codel,{path},{path}:target=5ms"),
        ),
        Kind::Control => (
            "Reno that gives a quarter of its window for a loss",
            "where a congestion control is named",
            format!("--flows 2xcubic,2x{path} --aqm codel,droptail"),
        ),
    };
    print(&format!(
        "{path}: {does}. Change it, and name it {named}:\n  queuewright check {path}\n  \
         queuewright compare --rate 50mbit --rtt 20ms {use_it}\n"
    ))
}

/// Is it such a file, and no scenario?
pub fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "h")
}

/// What is said of what is in one; errors have its name.
fn of(name: &str, what: impl Fn(&str, &str) -> Result<String, String>) -> Result<String, String> {
    let named = |e: String| match e.starts_with(name) {
        // What the compiler says has it.
        true => e,
        false => format!("{name}: {e}"),
    };
    let bytes = read_file(Path::new(name), own::MAX_BYTES).map_err(|e| named(unreadable(&e)))?;
    let text = String::from_utf8(bytes).map_err(|_| named("not UTF-8 text".into()))?;
    what(name, &text).map_err(named)
}

fn declared(name: &str, text: &str) -> Result<String, String> {
    if control::is_control(name, text) {
        let kind = control::load(name, text)?;
        return Ok(format!("{}: {}\n", kind.name(), kind.info().about));
    }
    if !own::is_discipline(name, text) {
        control::name(name)?;
        let upper = own::name(name)?.to_uppercase().replace('-', "_");
        return Err(format!(
            "neither a discipline (QW_{upper}_PARAMS) nor a congestion control (QW_{upper}_CCA); \"queuewright new\" writes \
             either"
        ));
    }
    let info = own::load(name, text)?;
    let params = info.params.iter();
    let params = params
        .map(|p| format!("  {}  {} (default {}, {})\n", p.name, p.about, p.display(p.default), p.allowed()));
    Ok(format!("{}: {}\n{}", info.name, info.about, params.collect::<String>()))
}

/// What one declares.
///
/// # Errors
/// What is wrong with it.
pub fn explain(name: &str) -> Result<String, String> {
    of(name, declared)
}

/// Says what is wrong with one, or what it did with random packets, or acknowledgements.
pub fn check(path: &Path) -> Result<(), Failure> {
    let said = of(&path.display().to_string(), |name, text| {
        let declared = declared(name, text)?;
        let said = match control::is_control(name, text) {
            true => control::check(name, text)?,
            false => own::check(name, text)?,
        };
        Ok(format!("{declared}{said}\n"))
    });
    print(&said.map_err(Failure::Input)?)
}
