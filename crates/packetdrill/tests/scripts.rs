//! Scripts of our own, each with the kernel's functions that say so: what they expect comes, and nothing else would pass.

use queuewright_packetdrill::{Options, Outcome, parse, run, run_file, scripts};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

#[test]
fn every_script_passes() {
    let all = scripts(&[folder()]).unwrap();
    assert!(all.len() > 20, "{}", all.len());
    let wrong: Vec<_> = all
        .iter()
        .map(|path| (path.file_name().unwrap(), run_file(path, &Options::default())))
        .filter(|(_, outcome)| *outcome != Ok(Outcome::Passed))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The number that begins a text, one higher.
fn one_more(text: &str) -> Option<String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    Some(format!("{}{}", number + 1, &text[digits..]))
}

/// A line that expects something, with something else in its place: one for each of its expectations.
fn wrong_lines(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((time, packet)) = line.split_once(" > ")
        && !line.contains("assert")
    {
        // What is acknowledged, the SACK blocks, and the window.
        for word in ["ack ", "sack ", "win "] {
            if let Some((before, after)) = packet.split_once(word)
                && let Some(more) = one_more(after)
            {
                all.push(format!("{time} > {before}{word}{more}"));
            }
        }
        // Flags, and that it goes out at all.
        let bare = packet.trim_start_matches("[ect0] ");
        if let Some((flags, rest)) = bare.split_once(' ') {
            let other = if flags.contains('P') { flags.replace('P', "") } else { format!("P{flags}") };
            all.push(format!("{time} > {other} {rest}"));
        }
        all.push(format!("{time} > [ce] {bare}"));
        // Half a second later, which is beyond any tolerance of the times here.
        if let Some(seconds) = time.trim().strip_prefix('+').and_then(|t| t.parse::<f64>().ok()) {
            all.push(format!("+{} > {packet}", seconds + 0.5));
        }
    }
    // What a call gives, and the events and values that it tells.
    if ["write(", "send(", "read(", "poll(", "epoll_wait("].iter().any(|call| line.contains(call))
        && let Some((before, after)) = line.rsplit_once(") = ")
        && let Some(more) = one_more(after)
    {
        all.push(format!("{before}) = {more}"));
    }
    if let Some((before, after)) = line.split_once("getsockopt(")
        && let Some((before, value)) =
            after.split_once('[').map(|(b, a)| (format!("{before}getsockopt({b}"), a))
        && let Some(more) = one_more(value)
    {
        all.push(format!("{before}[{more}"));
    }
    for told in ["epoll_wait(", "revents="] {
        if let Some((before, after)) = line.split_once(told) {
            for event in ["POLLIN", "POLLOUT", "POLLRDHUP"].iter().filter(|e| after.contains(**e)) {
                all.push(format!("{before}{told}{}", after.replacen(event, "POLLPRI", 1)));
            }
        }
    }
    // A counter.
    if let Some((before, value)) = line.split_once("grep -q \" ")
        && let Some(more) = one_more(value)
    {
        all.push(format!("{before}grep -q \" {more}"));
    }
    // Each comparison with a number.
    for op in [" == ", " >= ", " <= ", " > "] {
        let mut from = 0;
        while let Some(at) = line[from..].find(op).map(|at| from + at).filter(|_| line.contains("assert")) {
            let (before, after) = line.split_at(at);
            let value = &after[op.len()..];
            if op == " == "
                && let Some(more) = one_more(value)
            {
                all.push(format!("{before}{op}{more}"));
            } else if op == " == " {
                all.push(format!("{before} != {value}"));
            } else {
                let turned = if op == " <= " { " > " } else { " < " };
                all.push(format!("{before}{turned}{value}"));
            }
            from = at + op.len();
        }
    }
    all
}

/// Whatever is expected otherwise is not found: no expectation of these scripts goes unlooked at.
#[test]
fn a_wrong_expectation_fails() {
    let mut tried = 0;
    for path in scripts(&[folder()]).unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate().filter(|l| !l.1.starts_with("//")) {
            for wrong in wrong_lines(line) {
                let mut mutant = lines.clone();
                mutant[i] = &wrong;
                let script = parse(&mutant.join("\n")).unwrap_or_else(|e| panic!("{wrong}: {e}"));
                let outcome = run(&script, &folder(), &Options::default());
                let name = path.file_name().unwrap();
                assert!(matches!(outcome, Outcome::Failed(_)), "{name:?}: {wrong} gives {outcome:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

fn outcome(text: &str) -> Outcome {
    run(&parse(text).unwrap(), &folder(), &Options::default())
}

/// What opens a connection.
const OPEN: &str = include_str!("open.txt");

/// All that a script asks for and the stack does not have is named, and nothing of it run.
#[test]
fn what_is_not_there_is_named() {
    for (line, features) in [
        (
            "+0 send(4, ..., 1, MSG_ZEROCOPY) = 1\n+0 poll([{fd=4}], 1, 0) = 0\n+0 > . 9:9(0) ack 1 <FO>",
            &["MSG_ZEROCOPY", "TCP Fast Open"][..],
        ),
        ("+0 < udp (10)", &["UDP"]),
        ("+0 < icmp unreachable frag_needed mtu 1200 [1:1(0)]", &["ICMP"]),
        ("+0 > encap psp spi 23 P. 1:501(500) ack 1", &["PSP"]),
        ("+0 < S 0:0(0) win 5 <mss MSS>", &["a value that packetdrill's command line defines (-D)"]),
        ("+0 < [flowlabel 0x1] . 1:1(0) ack 1 win 5", &["IPv6"]),
        ("+0 < . 1:1(0) ack 1 win 5 urg 2", &["urgent data"]),
        ("+0 %{ assert tcpi_delivered_e0_bytes == 0 }%", &["tcpi_delivered_e0_bytes"]),
        ("+0 `rm -rf /`", &["the command rm"]),
        ("+0 frobnicate(4) = 0", &["frobnicate()"]),
        ("+0 fcntl(4, F_FROB) = 2", &["a fcntl() with F_FROB"]),
        ("+0 fcntl(4, F_SETFL, O_RDWR|O_FROB) = 0", &["a fcntl() with O_FROB"]),
        ("+0 setsockopt(4, SOL_FROB, TCP_NODELAY, [1], 4) = 0", &["a setsockopt() with SOL_FROB"]),
        ("+0 setsockopt(4, SOL_SOCKET, TCP_NODELAY, [1], 4) = 0", &["a setsockopt() with SOL_SOCKET"]),
        ("+0 shutdown(4, SHUT_FROB) = 0", &["a shutdown() with SHUT_FROB"]),
        ("+0 recv(4, ..., 1000, MSG_FROB) = -1 EAGAIN", &["a recv() with MSG_FROB"]),
        ("+0 recv(4, ..., 1000, MSG_TRUNC) = -1 EAGAIN", &["a recv() with MSG_TRUNC"]),
        ("+0 send(4, ..., 1000, 0x20000000) = 1000", &["TCP Fast Open"]),
        ("+0 send(4, ..., 1000, 0x20) = 1000", &["a send() with flags that are not known here"]),
        ("+0 close(4, 5, 6) = 0", &["a close() of 3 arguments"]),
        ("+0 write(4, ..., 1000, FROB) = 1000", &["a write() of 4 arguments"]),
        (
            "+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0, msg_frob=3}, 0) = 1000",
            &["a sendmsg() with msg_frob"],
        ),
        ("+0 poll([{fd=4, events=POLLOUT, revents=POLLOUT, frob=7}], 1, 0) = 1", &["a poll() with frob"]),
        ("+0 write(4, ..., 1000000) = 1000000", &["a write() that would wait"]),
        (
            "+0 < R. 1:1(0) ack 1 win 5\n+0 read(4, ..., 9) = 0",
            &["a call on a connection that a reset (RST) has ended"],
        ),
    ] {
        let text = format!("`sysctl net.ipv4.tcp_timestamps=1`\n{OPEN}{line}");
        assert_eq!(
            outcome(&text),
            Outcome::NotApplicable(features.iter().map(|f| f.to_string()).collect()),
            "{line}"
        );
    }
}

/// What a word says a number says, too.
#[test]
fn numbers_stand_for_their_words() {
    for line in [
        "+0 fcntl(4, 3) = 0x2\n+0 fcntl(4, 4, 0x802) = 0\n+0 fcntl(4, F_GETFL) = 0x802",
        "+0 shutdown(4, 1) = 0\n+0 > F. 1:1(0) ack 1",
        "+0 send(4, ..., 1000, 0x8000) = 1000\n+0 write(4, ..., 1000) = 1000\n+0 > P. 1:2001(2000) ack 1",
    ] {
        assert_eq!(outcome(&format!("{OPEN}{line}")), Outcome::Passed, "{line}");
    }
}

/// A failure is told in packetdrill's own form, with its line.
#[test]
fn a_failure_says_what_came() {
    let text = format!("{OPEN}+0 write(4, ..., 1000) = 1000\n+0 > P. 1:2001(2000) ack 1\n");
    let Outcome::Failed(failure) = outcome(&text) else { panic!() };
    assert_eq!(failure.line, 9);
    assert!(failure.expected.unwrap().ends_with("> P. 1:2001(2000) ack 1"));
    assert!(failure.actual.unwrap().ends_with("> P. 1:1001(1000) ack 1"));
}

/// `tcp_schedule_loss_probe`: after two round trips of a millisecond and two more a probe waits for the tick's end: one of four milliseconds, or
/// of one.
#[test]
fn the_kernels_clock_can_be_finer() {
    let quick = OPEN.replace("+.1 <", "+.001 <");
    let script = parse(&format!(
        "--tolerance_usecs=1000\n--tolerance_percent=0\n{quick}+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n+.0055 > P. 1001:2001(1000) ack 1\n"
    ))
    .unwrap();
    let with = |hz| run(&script, &folder(), &Options { hz, ..Options::default() });
    assert_eq!(with(Some(1000)), Outcome::Passed);
    assert!(matches!(with(None), Outcome::Failed(_)));
}

/// Whatever congestion control a script has, another can take its place.
#[test]
fn another_congestion_control_takes_its_place() {
    let script = parse(&format!("{OPEN}+0 write(4, ..., 10000) = 10000\n+0 > P. 1:10001(10000) ack 1\n+.1 < . 1:1(0) ack 1 win 1024 <sack 1001:4001,nop,nop>\n+0 %{{ assert tcpi_snd_ssthresh == 7 }}%\n")).unwrap();
    let with = |name| {
        let cca = queuewright_packetdrill::control(name);
        assert!(cca.is_some());
        run(&script, &folder(), &Options { cca, ..Options::default() })
    };
    assert_eq!(with("cubic"), Outcome::Passed);
    assert!(matches!(with("reno"), Outcome::Failed(_)));
}
