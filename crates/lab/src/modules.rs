//! Modules of a kernel: found by name, unpacked, and in the order in which they are to be loaded.

use crate::Error;
use queuewright_linux::command;
use std::fs;
use std::path::{Path, PathBuf};

/// These modules, each after those that it needs; `read` gives a module's content. What it does not find is left out: it is
/// built into this kernel, or missing, and then tc or the socket says so.
pub fn modules(
    names: &[&str],
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, Error>,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut loaded = Vec::new();
    for name in names {
        load(name, &read, &mut loaded)?;
    }
    Ok(loaded)
}

fn load(
    name: &str,
    read: &impl Fn(&str) -> Result<Option<Vec<u8>>, Error>,
    loaded: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Error> {
    if loaded.iter().any(|(n, _)| n == name) {
        return Ok(());
    }
    let Some(content) = read(name)? else { return Ok(()) };
    for needed in needs(&content) {
        load(&needed, read, loaded)?;
    }
    loaded.push((name.into(), content));
    Ok(())
}

/// What a module says that it needs, in its section `.modinfo`: texts that end with 0, `depends=one,two` among them.
fn needs(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|w| w == KEY) else { return Vec::new() };
    let list = module[at + KEY.len()..].split(|b| *b == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(list).into_owned();
    names.split(',').filter(|n| !n.is_empty()).map(|n| n.replace('-', "_")).collect()
}

/// A kernel module as the kernel loads it: found by name, unpacked. None: the kernel has no such module, so that
/// either it is built in or the guest says what is missing.
pub fn module(modules: &Path, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = find(&modules.join("kernel"), name) else { return Ok(None) };
    let error = |e: &dyn std::fmt::Display| Error::Machine(format!("{}: {e}", path.display()));
    let unpack = match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(&path).map(Some).map_err(|e| error(&e)),
    };
    let done =
        command(unpack).arg("-dc").arg(&path).output().map_err(|e| error(&format!("{unpack}: {e}")))?;
    match done.status.success() {
        true => Ok(Some(done.stdout)),
        false => Err(error(&String::from_utf8_lossy(&done.stderr).trim())),
    }
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).ok()?.flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| match path.is_dir() {
        true => find(&path, name),
        false => {
            let file = path.file_name()?.to_str()?;
            // Underscores and hyphens are the same in a module's name.
            let plain = file.split(".ko").next()?.replace('-', "_");
            (plain == name && file.contains(".ko")).then_some(path)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YeAH is made of Vegas.
    #[test]
    fn modules_come_after_what_they_need() {
        let read = |name: &str| {
            let needs = match name {
                "tcp_yeah" => "tcp-vegas,built_in",
                "tcp_vegas" => "",
                "twice" => "tcp_vegas,tcp_yeah",
                _ => return Ok(None),
            };
            Ok(Some(format!("\x7fELF\0license=GPL\0depends={needs}\0vermagic=7\0").into_bytes()))
        };
        let loaded = modules(&["tcp_yeah", "missing", "twice", "tcp_vegas"], read).expect("they are there");
        let names: Vec<&str> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["tcp_vegas", "tcp_yeah", "twice"]);
        assert!(needs(b"no module").is_empty());
    }
}
