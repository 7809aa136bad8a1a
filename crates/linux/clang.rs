//! For build.rs: which clang compiles for BPF, and what tells cargo that another answer may be due.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The names under which distributions have it, the best known first.
pub const NAMES: [&str; 5] = ["clang-19", "clang-20", "clang-21", "clang-18", "clang"];

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The first that compiles for BPF.
    pub clang: Option<PathBuf>,
    /// Files and folders by whose changes cargo is to look again. A file that is not there would have it look, and compile all
    /// again, each time; the folder in which it would appear is there.
    pub watched: Vec<PathBuf>,
}

/// Looks for `given` (`QUEUEWRIGHT_CLANG`), then for the known names, in the folders of `path` (`PATH`). `said` is what a command prints.
pub fn find(given: Option<&str>, path: &OsStr, said: impl Fn(&mut Command) -> Option<String>) -> Found {
    let folders: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_dir()).collect();
    let names = given.into_iter().chain(NAMES);
    // A name with a slash in it replaces the folder.
    let mut all = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let clang = all.find(|clang| has_bpf(clang, &said));
    let given: Vec<PathBuf> = given.map_or(Vec::new(), |name| folders.iter().map(|f| f.join(name)).collect());
    let mut watched = match &clang {
        Some(clang) => vec![clang.clone()],
        None => folders,
    };
    // The one that was asked for may come, also to another folder than those of `path`.
    if !clang.as_ref().is_some_and(|clang| given.contains(clang)) {
        watched.extend(given.iter().filter_map(|file| Some(file.parent()?.to_path_buf())));
    }
    let mut seen = Vec::new();
    watched.retain(|path| {
        let there = path.is_file() || fs::read_dir(path).is_ok();
        let first = !seen.contains(path);
        seen.push(path.clone());
        there && first
    });
    Found { clang, watched }
}

/// What a command prints, however long that takes.
#[allow(dead_code, reason = "what is compiled when it is named has a deadline")]
pub fn whole(command: &mut Command) -> Option<String> {
    Some(String::from_utf8_lossy(&command.output().ok()?.stdout).into_owned())
}

fn has_bpf(clang: &Path, said: impl Fn(&mut Command) -> Option<String>) -> bool {
    // Variables of clang's own (CCC_OVERRIDE_OPTIONS) would have it do other things, and the caller may be root.
    let mut command = Command::new(clang);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let targets = said(command.arg("--print-targets"));
    targets.is_some_and(|targets| targets.lines().any(|l| l.trim().starts_with("bpf ")))
}
