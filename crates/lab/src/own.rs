//! Disciplines of a user's own: compiled here, attached by the program inside the guest.

use crate::place::scratch;
use queuewright_aqm::Info;
use queuewright_linux::{self as linux, Host, own};
use queuewright_scenario::RunSpec;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The host of a discipline: `linux` is the kernel's version, 100 * major + minor, if it is known.
pub(crate) fn host(native: bool, linux: Option<u32>) -> Host {
    let (major, minor) = Host::Qdisc.since();
    let has = match native {
        true => linux::has_bpf_qdiscs() != Some(false),
        false => linux.is_none_or(|linux| linux >= 100 * major + minor),
    };
    if has { Host::Qdisc } else { Host::Front }
}

/// Its file in the guest.
pub(crate) fn file(info: &Info) -> String {
    let sha256 = info.own.map_or("", |own| own.sha256.as_str());
    format!("{}-{}{}", info.name, sha256.get(..16).unwrap_or_default(), own::ENDING)
}

/// Its object: compiled once.
///
/// # Errors
/// What is wrong with the file, in a line.
pub(crate) fn compiled(info: &Info, host: Host) -> Result<Vec<u8>, String> {
    type Objects = HashMap<(String, Host), Vec<u8>>;
    static DONE: Mutex<Option<Objects>> = Mutex::new(None);
    let Some(own) = info.own else { return Err(format!("{}: no file of your own", info.name)) };
    let key = (file(info), host);
    // Others wait: they may want the same.
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(object) = done.as_ref().and_then(|all| all.get(&key)) {
        return Ok(object.clone());
    }
    let work = scratch("queuewright-own").map_err(|e| e.to_string())?;
    let object = own::compile(&format!("./{}.h", info.name), &own.text, host, work.path())?;
    done.get_or_insert_default().insert(key, object.clone());
    Ok(object)
}

/// What the guest says of a run that failed. If the kernel refuses such a file, only that.
pub(crate) fn in_words(why: String, runs: &[RunSpec]) -> String {
    let mut names = runs.iter().map(|run| run.discipline.info).filter(|info| info.own.is_some()).map(file);
    let refused = why.split_once(": error: ").filter(|(asked, _)| names.any(|name| asked.contains(&name)));
    match refused.and_then(|(_, said)| said.lines().next()) {
        Some(said) => said.into(),
        None => why,
    }
}
