//! The guest's program on jobs that are wrong: each is one clear error. On this machine, in namespaces of its own.

use queuewright_testing::{Lack, left_out};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What the program answers to a job; None: it cannot be run here.
fn said(test: &str, job: &str) -> Option<String> {
    let lab = std::env::var_os("QUEUEWRIGHT_LAB").map_or_else(|| "../../build/lab".into(), PathBuf::from);
    let program = fs::canonicalize(lab.join("agent"));
    let Ok(program) = program else {
        left_out(test, Lack::Setup, &"the lab is not set up: run scripts/setup lab");
        return None;
    };
    let dir = tempfile::tempdir().expect("a folder");
    for folder in ["dev", "proc", "sys", "run", "tmp"] {
        fs::create_dir(dir.path().join(folder)).expect("a folder");
    }
    // ip and tc, with their libraries.
    let copied = Command::new("cp").arg("-a").arg(lab.join("guest/.")).arg(dir.path()).status();
    assert!(copied.expect("cp runs").success());
    fs::write(dir.path().join("job"), job).expect("a job");
    fs::write(dir.path().join("output"), "").expect("a file");
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]).arg(program).arg("native");
    let done = command.arg(dir.path()).arg("/output").output().expect("unshare runs");
    let heard = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        left_out(test, Lack::Setup, &heard.trim());
        return None;
    }
    Some(heard)
}

#[test]
fn a_line_of_too_many_words_is_not_cut() {
    let words = |n: usize| vec!["word"; n].join(" ");
    let test = "a_line_of_too_many_words_is_not_cut";
    // Of its words the first is the command.
    let Some(heard) = said(test, &format!("run 0\nnote {}\nnote {}\nend\n", words(63), words(64))) else {
        return;
    };
    assert_eq!(heard, "lab: run 0\nlab: a line of the job has more than 64 words: note word word ...\n");
}

/// tc names the line that it refuses, and the error has that one, however long those before it are.
#[test]
fn long_lines_of_a_batch_are_counted_as_lines() {
    let test = "long_lines_of_a_batch_are_counted_as_lines";
    let comment = format!("# {}", "x".repeat(3000));
    let refused = "qdisc add dev none root pfifo";
    let job = format!("run 0\ndo ip netns add s\nnote {comment}\nnote {refused}\nbatch s tc\nend\n");
    let Some(heard) = said(test, &job) else { return };
    assert!(heard.contains(&format!("(status 1): {refused} : ")), "{heard}");
}
