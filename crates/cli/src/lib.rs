//! `queuewright`: compares disciplines on a link. A thin shell over the crates:
//! what is asked is in [`args`], what is done is theirs. A library, so that Python's command is the same.

mod advise;
mod args;
pub mod catalog;
mod compare;
mod cost;
mod docs;
pub mod doing;
mod explore;
mod jobs;
mod linux;
mod live;
mod man;
mod own;
mod packetdrill;
mod page;
mod replay;
mod reproduce;
mod since;
mod suite;
mod validate;
mod watch;
pub mod words;

pub use compare::folder;
pub use suite::Elsewhere;

use args::{Cli, Command, EngineArgs};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use queuewright_scenario::{Flags, Scenario};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Why the program ends with another code than 0.
#[derive(Debug)]
pub enum Failure {
    /// A run failed, or its results could not be written: 1.
    Run(String),
    /// Wrong input: 2.
    Input(String),
    /// Interrupted; what had finished is kept: 130, as shells have it for SIGINT.
    Interrupted(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failure::Run(text) | Failure::Input(text) | Failure::Interrupted(text)) = self;
        f.write_str(text)
    }
}

impl From<queuewright_scenario::Error> for Failure {
    fn from(e: queuewright_scenario::Error) -> Self {
        Failure::Input(e.to_string())
    }
}

impl From<queuewright_engine::Error> for Failure {
    fn from(e: queuewright_engine::Error) -> Self {
        Failure::Input(e.to_string())
    }
}

/// Does what the arguments ask for, of which the first is the program's name. Gives the program's exit code, which the
/// help explains.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut args: Vec<OsString> = args.into_iter().collect();
    // `help` and `help COMMAND`, as git and cargo have it.
    if args.get(1).is_some_and(|a| a == "help") {
        args.remove(1);
        args.truncate(2);
        args.push("--help".into());
    }
    jobs::called(&args);
    let done = match Cli::try_parse_from(args) {
        Ok(cli) => execute(cli.command),
        Err(e) => match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // Styled on a terminal.
                print_by(|| e.print())
            }
            _ => Err(Failure::Input(usage(&e))),
        },
    };
    let (code, message) = match done {
        Ok(()) => return 0,
        Err(Failure::Run(message)) => (1, message),
        Err(Failure::Input(message)) => (2, message),
        Err(Failure::Interrupted(message)) => (130, message),
    };
    // One line whatever a file name or a nested error holds, and nothing that a terminal would obey.
    let line = queuewright_linux::safe(&message.replace(['\n', '\r'], " "));
    let _ = writeln!(io::stderr(), "error: {line}");
    code
}

/// The runs that a command line of `suite` needs, for whoever makes them in other processes. The first word is the program's name.
///
/// # Errors
/// It is no such line, or asks for what the command would refuse.
pub fn suite_elsewhere(args: impl IntoIterator<Item = OsString>) -> Result<Elsewhere, Failure> {
    match Cli::try_parse_from(args) {
        Ok(Cli { command: Command::Suite(args) }) => Elsewhere::of(&args),
        Ok(_) => Err(Failure::Input("no suite".into())),
        Err(e) => Err(Failure::Input(usage(&e))),
    }
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Compare(c) => {
            let flags = Flags {
                rate: c.rate,
                trace: c.trace,
                rtt: c.rtt,
                flows: c.flows,
                aqm: c.aqm,
                buffer: c.buffer,
                duration: c.duration,
                warmup: c.warmup,
                seeds: c.seeds,
                stack: c.stack,
                ..Flags::default()
            };
            compare::compare(
                &heard(Scenario::from_flags(&flags)?),
                "compare",
                &EngineArgs::default(),
                &c.output,
                None,
            )
        }
        Command::Run(r) => {
            let flags = Flags {
                aqm: r.aqm,
                seeds: r.seeds,
                trace: r.trace,
                duration: r.duration,
                warmup: r.warmup,
                ..Flags::default()
            };
            // What comes by a pipe has no name of its own.
            let pipe = [Path::new("-"), Path::new("/dev"), Path::new("/proc")];
            let stem = match pipe.iter().any(|at| r.scenario.starts_with(at)) {
                true => "scenario".into(),
                false => r.scenario.file_stem().unwrap_or_default().to_string_lossy(),
            };
            reading(&r.scenario);
            let scenario = heard(Scenario::read_with(&r.scenario, &flags)?);
            compare::compare(&scenario, &stem, &r.engine, &r.output, r.qlog.as_deref())
        }
        Command::Reproduce(r) => reproduce::reproduce(&r),
        Command::Suite(s) => suite::suite(&s),
        Command::Advise(a) => advise::advise(&a),
        Command::Validate(v) if replay::is_asked(&v) => replay::replay(&v),
        Command::Validate(v) => validate::validate(&v),
        Command::Packetdrill(p) => packetdrill::packetdrill(&p),
        Command::List(l) => print(&if l.json { catalog::list_json() } else { catalog::list() }),
        Command::Explain(e) => {
            let page = catalog::explain(&e.name).map_err(Failure::Input)?;
            // Of a file of one's own it is plain text.
            let is_plain = queuewright_aqm::own::is_file(&e.name);
            print(&if is_plain { page } else { page::shown(&page) })
        }
        Command::New(n) => own::new(n.what, &n.name),
        Command::Check(c) if own::is_file(&c.scenario) => own::check(&c.scenario),
        Command::Check(c) => {
            reading(&c.scenario);
            let scenario = heard(Scenario::read(&c.scenario)?);
            let runs = scenario.runs()?;
            print(&words::scenario(&scenario, &runs))
        }
        Command::Doctor(d) if d.repair => linux::repair(d.yes),
        Command::Doctor(d) => linux::doctor(d.dev.as_deref()),
        Command::Attach(a) => linux::attach(&a),
        Command::Status(s) => linux::status(&s),
        Command::Watch(w) => watch::watch(&w),
        Command::Export(e) => linux::export(&e),
        Command::Set(s) => linux::set(&s),
        Command::Agent(a) => linux::agent(&a),
        Command::Keep(k) => linux::keep(&k.dev),
        Command::Detach(d) => linux::detach(&d.dev),
        Command::Train(_) => elsewhere("train", TRAIN),
        Command::Evaluate(_) => elsewhere("evaluate", TRAIN),
        Command::ExportPolicy(_) => elsewhere("export-policy", TRAIN),
        Command::Tune(_) => elsewhere("tune", "pip install '.[tune]'"),
        Command::Docs(d) => docs::docs(d.print),
        Command::Explore(e) => explore::explore(&e),
        Command::Completions(c) => {
            let mut script = Vec::new();
            clap_complete::generate(c.shell, &mut Cli::command(), "queuewright", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Man(m) => man::write(&mut Cli::command(), &m.dir)
            .map_err(|e| Failure::Input(format!("man pages cannot be written to {:?}: {e}", m.dir))),
    }
}

/// It is about a file, and those that this names.
fn reading(file: &Path) {
    doing::now(&format!("reading {}", file.display()));
}

/// A scenario, after what it should say otherwise was said on standard error.
fn heard(scenario: Scenario) -> Scenario {
    for warning in scenario.warnings() {
        let _ = writeln!(io::stderr(), "warning: {}", queuewright_linux::safe(&warning.to_string()));
    }
    scenario
}

/// What brings the commands of learned policies.
const TRAIN: &str = "pip install '.[train]'";

/// What only the Python package can, and what brings it: there it does not come here.
fn elsewhere(command: &str, install: &str) -> Result<(), Failure> {
    Err(Failure::Input(format!(
        "{command} is in the Python package, whose command has it: in Queuewright's sources, {install}"
    )))
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), Failure> {
    print_by(|| io::stdout().lock().write_all(text.as_bytes()))
}

/// What is written to standard output arrives. A reader that has seen enough (`| head`) is no error.
fn print_by(write: impl FnOnce() -> io::Result<()>) -> Result<(), Failure> {
    match write().and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Run(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// clap's complaint, which takes several lines, as one: what is wrong and its tips.
fn usage(e: &clap::Error) -> String {
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let kept = text.lines().map(str::trim).filter(|line| {
        let noise = ["Usage:", "For more information"];
        !line.is_empty() && !noise.iter().any(|n| line.starts_with(n))
    });
    let mut out = String::new();
    for line in kept {
        let joint = match out.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        out.push_str(joint);
        out.push_str(line.trim_start_matches("tip: "));
    }
    match e.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command; try queuewright --help".into()
        }
        ErrorKind::InvalidSubcommand if !out.contains(';') => out + "; try queuewright --help",
        // Of `--buffer -1p` the reader sees an option -1.
        ErrorKind::UnknownArgument if negative(e) => {
            "a value that begins with -: none is negative; try --help".into()
        }
        // Those without a suggestion of their own.
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument if !out.contains(';') => {
            out + "; try --help"
        }
        _ => out,
    }
}

/// Is what the reader takes for an option a number?
fn negative(e: &clap::Error) -> bool {
    let Some(ContextValue::String(argument)) = e.get(ContextKind::InvalidArg) else { return false };
    argument.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
