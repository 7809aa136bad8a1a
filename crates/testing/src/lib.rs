//! What tests of several crates share: how they wait, and how they say what they cannot do on this machine.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Names the file that gets a line for each thing left out: `make test` prints them at its end.
pub const FILE: &str = "QUEUEWRIGHT_LEFT_OUT";

/// Longer than a state takes to come on the slowest machine; the runner's own deadline is later.
const PATIENCE: Duration = Duration::from_secs(120);

/// A header of `aqm/` under another name, as a file of a user's own: with a line for people for each of its parameters, whose defaults are
/// the least that each may have, and with so many variables, `v0` and so on.
pub fn as_own(header: &str, name: &str, as_name: &str, variables: usize) -> String {
    let (upper, as_upper) = (name.to_uppercase(), as_name.to_uppercase());
    let text = header.replace(&format!("qw_{name}"), &format!("qw_{as_name}"));
    let text = text.replace(&format!("QW_{upper}"), &format!("QW_{as_upper}"));
    let variables: String = (0..variables).map(|n| format!(" N(\"v{n}\", \"\")")).collect();
    // What is done with a line for people is done with each parameter: `H` is a macro of the frame's.
    format!(
        "{text}\n#define QW_{as_upper}_HELP(H) QW_{as_upper}_PARAMS(QW_HELP_##H)\n\
         #define QW_HELP_QW_OWN_ONE_HELP(name, field, shift, least, most) +1\n\
         #define QW_HELP_QW_OWN_LINE(name, field, shift, least, most) \\\n\
         \t{{ name, \"of a test\", (double)((qw_u64)(least) << (shift)) / ((shift) ? 4294967296.0 : 1.0), \\\n\
         \t  (shift) ? QW_RATIO : QW_COUNT }},\n\
         #define QW_{as_upper}_PROBE_NAMES(N){variables}\n"
    )
}

/// What a machine lacks for a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// What `scripts/setup`, root or a package brings: where `CI` is set `make test` fails for it.
    Setup,
    /// What its own kernel cannot do, or not for a container, and nothing that may be installed mends.
    Kernel,
}

/// Says that `what` is left out, and why: on standard error, and in the file that [`FILE`] names.
///
/// # Panics
/// If that file cannot be written: what is left out would not be counted.
pub fn left_out(what: &str, lack: Lack, why: &dyn Display) {
    // Written past what a test runner keeps for itself.
    let _ = writeln!(std::io::stderr(), "LEFT OUT: {what}: {why}");
    let Some(path) = std::env::var_os(FILE) else { return };
    let line = line(what, lack, why);
    let written = OpenOptions::new().create(true).append(true).open(&path);
    // One write, whole even beside another test's.
    let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// What is lacking, what is left out and why, with tabs between.
fn line(what: &str, lack: Lack, why: &dyn Display) -> String {
    let lack = match lack {
        Lack::Setup => "setup",
        Lack::Kernel => "kernel",
    };
    let why = why.to_string().replace(['\n', '\t'], " ");
    format!("{lack}\t{what}\t{why}\n")
}

/// An attribute of netlink, padded.
pub fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
    let mut out = (content.len() as u16 + 4).to_ne_bytes().to_vec();
    out.extend(kind.to_ne_bytes());
    out.extend(content);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// Waits until `is`: for a state, never for a time.
///
/// # Panics
/// After two minutes, with what it has waited for.
#[track_caller]
pub fn wait_for(what: &str, is: impl FnMut() -> bool) {
    wait_with(what, PATIENCE, is);
}

#[track_caller]
fn wait_with(what: &str, patience: Duration, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < patience, "waited {} s for {what}", patience.as_secs());
        sleep(Duration::from_millis(2));
    }
}

/// For a test program without libtest that is one test of this name. It answers a runner's `--list`, has a panic of any
/// thread end the process, and returns the words of its command line that are not a runner's; None: there is nothing to run.
pub fn only_test(name: &str) -> Option<Vec<String>> {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        std::process::exit(101);
    }));
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|a| a == "--list") {
        // None of its tests is an ignored one.
        if !args.iter().any(|a| a == "--ignored") {
            println!("{name}: test");
        }
        return None;
    }
    Some(words(&args, name))
}

fn words(args: &[String], name: &str) -> Vec<String> {
    args.iter().filter(|a| !a.starts_with('-') && *a != name).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_one_line() {
        assert_eq!(line("a test", Lack::Setup, &"no\nlab"), "setup\ta test\tno lab\n");
        assert_eq!(line("a test", Lack::Kernel, &"no veth"), "kernel\ta test\tno veth\n");
    }

    #[test]
    fn a_runners_words_are_not_the_tests() {
        let args = ["--exact", "front", "--nocapture", "vm", "200"].map(String::from);
        assert_eq!(words(&args, "front"), ["vm", "200"]);
    }

    #[test]
    #[should_panic(expected = "waited 0 s for what never comes")]
    fn a_wait_ends_and_says_what_for() {
        wait_with("what never comes", Duration::ZERO, || false);
    }

    #[test]
    fn a_wait_is_over_when_the_state_is_there() {
        let mut looks = 0;
        wait_for("the third look", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }
}
