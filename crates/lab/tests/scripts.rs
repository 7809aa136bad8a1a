//! packetdrill's scripts on the kernel's TCP: what our own scripts say of the simulated stack, the kernel does.

use queuewright_lab::Lab;
use queuewright_lab::scripts::Placed;
use queuewright_packetdrill::{Failure, Options, Outcome, folder_of, parse, read_file, scripts};
use queuewright_testing::{Lack, left_out};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packetdrill/tests/scripts")
}

/// What became of each; none: there is no lab, which is said.
fn on_the_kernel(test: &str, all: &[Placed]) -> Option<Vec<Outcome>> {
    let lab = Lab::open(&[]).map_err(|e| left_out(test, Lack::Setup, &e)).ok()?;
    let mut outcomes = vec![None; all.len()];
    let stop = AtomicBool::new(false);
    lab.scripts(all, &Options::default(), &stop, |i, outcome| {
        outcomes[i] = Some(outcome.unwrap_or_else(|e| panic!("script {i}: {e}")));
    })
    .expect("the machine");
    Some(outcomes.into_iter().map(|o| o.expect("heard of every script")).collect())
}

#[test]
fn our_scripts_pass_on_the_kernel() {
    let paths = scripts(&[folder()]).expect("the scripts");
    let placed = |path: &PathBuf| (read_file(path).expect("a script"), folder_of(path).to_path_buf());
    let all: Vec<Placed> = paths.iter().map(placed).collect();
    let Some(outcomes) = on_the_kernel("our_scripts_pass_on_the_kernel", &all) else { return };
    let mut wrong = Vec::new();
    for (path, outcome) in paths.iter().zip(&outcomes) {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        if *outcome != Outcome::Passed {
            wrong.push((name, outcome));
        }
    }
    assert!(paths.len() > 40, "{} scripts", paths.len());
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), paths.len());
}

/// What opens a connection.
const OPEN: &str = include_str!("../../packetdrill/tests/open.txt");

/// What the kernel does not do fails, of each kind of expectation; what the guest does not do is named; and nothing is waited for without
/// an end.
#[test]
fn what_is_otherwise_on_the_kernel_is_told() {
    let cases = [
        ("+0 write(4, ..., 1000) = 999", "write() gives something else"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 2", "what is acknowledged is another"),
        ("+0 write(4, ..., 1000) = 1000\n+1 > P. 1:1001(1000) ack 1", "it went out at"),
        ("+0 > P. 1:1001(1000) ack 1", "no packet went out"),
        ("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%", "assert tcpi_snd_cwnd == 11: 10"),
        ("+0 getsockopt(4, SOL_TCP, TCP_NODELAY, [1], [4]) = 0", "a socket option has another value"),
        ("+0...0.1 read(4, ..., 100) = 100\n+1 write(4, ..., 1) = 1", "the call still waits"),
        ("+0 read(4, ..., 100) = 100", "read() has not returned: it waits for more than 60 s"),
        ("+0 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1", "poll() tells other events"),
    ];
    let mut all: Vec<Placed> = cases
        .iter()
        .map(|(line, _)| (parse(&format!("{OPEN}{line}\n")).expect("a script"), folder()))
        .collect();
    for line in ["+0 < udp (10)", "+0 `sysctl net.ipv4.tcp_nonsense=1`", "+0 sendfile(4, 5, ..., 1) = 1"] {
        all.push((parse(&format!("{OPEN}{line}\n")).expect("a script"), folder()));
    }
    let Some(outcomes) = on_the_kernel("what_is_otherwise_on_the_kernel_is_told", &all) else { return };
    for ((line, wanted), outcome) in cases.iter().zip(&outcomes) {
        let Outcome::Failed(Failure { says, .. }) = outcome else { panic!("{line}: {outcome:?}") };
        assert!(says.contains(wanted), "{line}: {says}");
    }
    let named = |what: &str| Outcome::NotApplicable(vec![what.into()]);
    let sysctl = "net/ipv4/tcp_nonsense=1: No such file or directory";
    assert_eq!(outcomes[cases.len()..], [named("UDP"), named(sysctl), named("sendfile()")]);
}

/// A script that has no end by the host's clock has failed with what it waited for, its machine is ended, and the next one has another.
#[test]
fn what_has_no_end_is_ended() {
    let test = "what_has_no_end_is_ended";
    let Some(lab) = Lab::open(&[]).map_err(|e| left_out(test, Lack::Setup, &e)).ok() else { return };
    let scripts = ["0 `sleep 1`\n\n+0 `sleep 999999`\n", "0 `sleep 1`\n"];
    let all: Vec<Placed> = scripts.iter().map(|t| (parse(t).expect("a script"), folder())).collect();
    let mut outcomes = vec![None; all.len()];
    let (longest, options, stop) = (Duration::from_secs(20), Options::default(), AtomicBool::new(false));
    let ended = lab.scripts_within(longest, &all, &options, &stop, |i, outcome| outcomes[i] = Some(outcome));
    ended.expect("the machine");
    let says = "it still waits for the end of 'sleep' after 20 s of the host's".into();
    let late = Outcome::Failed(Failure { line: 3, says, expected: None, actual: None });
    assert_eq!(outcomes, [Some(Ok(late)), Some(Ok(Outcome::Passed))]);
}
