//! Man pages: what clap's have, and EXAMPLES, EXIT STATUS, FILES and SEE ALSO.

use crate::{advise, compare, reproduce, suite};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use queuewright_linux::{PINS, RUN};
use std::fs;
use std::io;
use std::path::Path;

/// Those that change or show what is attached.
const ATTACHED: &[&str] =
    &["doctor", "attach", "status", "watch", "export", "set", "agent", "keep", "detach"];
/// Commands that belong together: each page names the others of its rows.
const GROUPS: &[&[&str]] = &[
    &["compare", "run", "suite", "advise", "list", "check"],
    &["suite", "reproduce", "tune"],
    &["advise", "attach", "tune"],
    &["list", "explain", "check", "new"],
    &["explain", "docs", "attach"],
    &["reproduce", "validate", "packetdrill"],
    ATTACHED,
    &["train", "evaluate", "export-policy", "agent"],
    &["docs", "explore", "completions"],
    &["run", "explore"],
];

/// What a folder of results is.
const DATED: &str = "a folder with a date for each call, and `latest`";
/// Files and folders, what they are, and whose.
const FILES: &[(&str, &str, &[&str])] = &[
    (compare::BASE, DATED, &["compare", "run"]),
    (suite::BASE, DATED, &["suite"]),
    (advise::BASE, DATED, &["advise"]),
    (reproduce::BASE, DATED, &["reproduce"]),
    ("queuewright-tuned", DATED, &["tune"]),
    ("queuewright-trained", "a folder for each training", &["train", "evaluate", "export-policy"]),
    (
        "~/.cache/queuewright/own",
        "disciplines of your own, compiled (below $XDG_CACHE_HOME, if that is set)",
        &["compare", "run", "check", "suite", "advise"],
    ),
    (
        "build/lab",
        "in Queuewright's sources, or named by $QUEUEWRIGHT_LAB: what --engine linux boots",
        &["run", "suite", "validate", "packetdrill"],
    ),
    (RUN, "a record of each attached discipline", ATTACHED),
    (PINS, "maps, programs and links of attached disciplines", ATTACHED),
    (
        "/etc/queuewright/DEV.conf",
        "what the unit queuewright@DEV attaches when the device comes",
        &["attach", "detach"],
    ),
    ("../share/doc/queuewright/html", "from the program on: the book", &["docs"]),
    ("../share/doc/queuewright/explorer", "from the program on: the explorer", &["explore"]),
];
/// Pages of others.
const OTHERS: &[(&str, &[&str])] = &[("tc(8)", ATTACHED), ("systemctl(1)", &["attach", "detach"])];

/// A page for the program and one for each command.
pub fn write(program: &mut Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    program.build();
    let codes = part(program, EXIT_CODES).expect("the program says its exit codes");
    for command in std::iter::once(&*program).chain(program.get_subcommands().filter(|c| !c.is_hide_set())) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        fs::write(folder.join(format!("{name}.1")), page(command, program, &codes)?)?;
    }
    Ok(())
}

/// What a paragraph after the options begins with that has a section of its own.
const EXAMPLES: &str = "Examples:\n";
const EXIT_CODES: &str = "Exit codes: ";

fn paragraphs(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.split("\n\n").filter(|p| !p.is_empty()).map(String::from).collect()
}

fn part(command: &Command, begins: &str) -> Option<String> {
    paragraphs(command).iter().find_map(|p| p.strip_prefix(begins).map(String::from))
}

fn page(command: &Command, program: &Command, codes: &str) -> io::Result<Vec<u8>> {
    let name = command.get_name();
    let is_program = name == program.get_name();
    let belongs = |commands: &[&str]| is_program || commands.contains(&name);
    let version = program.get_version().unwrap_or_default();
    let man = Man::new(command.clone()).source(format!("Queuewright {version}")).manual("Queuewright");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    let mut more = Roff::new();
    for text in paragraphs(command) {
        if !text.starts_with(EXAMPLES) && !text.starts_with(EXIT_CODES) {
            more.control("PP", []).text([roman(text)]);
        }
    }
    more.to_writer(&mut out)?;
    if command.get_arguments().any(|a| !a.is_hide_set()) {
        man.render_options_section(&mut out)?;
    }
    if is_program {
        man.render_subcommands_section(&mut out)?;
    }
    let mut rest = Roff::new();
    if let Some(examples) = part(command, EXAMPLES) {
        rest.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines() {
            rest.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        rest.control("fi", []);
    }
    rest.control("SH", ["EXIT STATUS"]);
    rest.text([roman(part(command, EXIT_CODES).unwrap_or_else(|| codes.into()))]);
    let files: Vec<_> = FILES.iter().filter(|(.., commands)| belongs(commands)).collect();
    if !files.is_empty() {
        rest.control("SH", ["FILES"]);
        for (path, what, _) in files {
            rest.control("TP", []).text([bold(*path)]).text([roman(*what)]);
        }
    }
    rest.control("SH", ["SEE ALSO"]);
    let ours = |name: &str| format!("queuewright-{name}(1)");
    let mut also: Vec<String> = if is_program { Vec::new() } else { vec!["queuewright(1)".into()] };
    for group in GROUPS.iter().filter(|group| !is_program && group.contains(&name)) {
        let others = group.iter().filter(|other| **other != name).map(|other| ours(other));
        also.extend(others.filter(|page| !also.contains(page)).collect::<Vec<_>>());
    }
    if is_program {
        also.extend(program.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| ours(c.get_name())));
    }
    also.extend(OTHERS.iter().filter(|(_, commands)| belongs(commands)).map(|(page, _)| (*page).into()));
    let mut line: Vec<Inline> = Vec::new();
    for page in &also {
        let (title, section) = page.split_once('(').unwrap_or((page, ""));
        let end = if Some(page) == also.last() { "" } else { ", " };
        line.extend([bold(title), roman(format!("({section}{end}"))]);
    }
    rest.text(line);
    rest.to_writer(&mut out)?;
    man.render_version_section(&mut out)?;
    Ok(out)
}
