//! Pages over experiments: Markdown for a paper, HTML over all.

use crate::Null;
use crate::claims::{Judged, Verdict};
use crate::figure::CauseKind;
use crate::outcome::{Outcome, counts};
use crate::statements::{self, About, Tally};
use std::fmt::Write;

/// A paper's page.
pub fn markdown(outcomes: &[&Outcome]) -> String {
    let mut out = String::new();
    let Some(first) = outcomes.first() else { return out };
    let _ = writeln!(out, "# {}\n", first.source);
    if !first.stands.is_empty() {
        let _ = writeln!(out, "{}\n", first.stands);
    }
    let _ = writeln!(out, "{}.\n", tally(outcomes.iter().copied()));
    let _ = writeln!(out, "    queuewright reproduce {}\n", first.paper);
    if outcomes.iter().any(|o| o.quick) {
        let _ = writeln!(out, "**Quick runs: fewer seeds, shorter, not all cases.**\n");
    }
    out += &stated(&first.paper, outcomes);
    let open: Vec<&Judged> = outcomes.iter().flat_map(|o| &o.claims).filter(|c| c.is_open()).collect();
    if !open.is_empty() {
        let _ = match open.len() {
            1 => writeln!(
                out,
                "One claim is *open*: it does not hold or cannot be told, and nothing shows why.\n"
            ),
            n => writeln!(
                out,
                "{n} claims are *open*: they do not hold or cannot be told, and nothing shows why.\n"
            ),
        };
    }
    let power = power(outcomes);
    if !power.is_empty() {
        let _ = writeln!(out, "## Wrong variants\n\n{}\n", weak(outcomes.iter().copied()));
        out += "| wrong variant | is in the place of | claims that hold and are about that | of these it fails |\n|---|---|---:|---:|\n";
        for row in power {
            let _ = writeln!(out, "| {} | {} | {} | {} |", row.text, row.of, row.asked, row.fails);
        }
        out.push('\n');
    }
    let tried = tried(outcomes);
    if !tried.is_empty() {
        out += "## Possible causes\n\nWhat does not hold, or cannot be told, was made again with each of these changes. Where it holds with one, that is its cause; its verdict says which.\n\n";
        out += "| change | | where the cause lies | claims that were tried | of these it makes hold |\n|---|---|---|---:|---:|\n";
        for t in tried {
            let (name, text) = (&t.cause.name, &t.cause.text);
            let _ = writeln!(out, "| {name} | {text} | {} | {} | {} |", t.kind.words(), t.asked, t.holds);
        }
        out.push('\n');
    }
    for o in outcomes {
        let _ = writeln!(out, "## {}: {}\n", o.figure, o.title);
        if !o.about.is_empty() {
            let _ = writeln!(out, "{}\n", o.about);
        }
        let runs = match o.missing {
            0 => format!("{} runs", o.runs),
            n => format!("{} runs, {n} more are missing", o.runs),
        };
        let _ = writeln!(out, "`queuewright reproduce {}`, {runs}.\n", o.id);
        for picture in &o.pictures {
            let title = picture.title.as_ref().unwrap_or(&o.title).replace(['[', ']'], "");
            let _ = writeln!(out, "![{title}]({}/{}.svg)\n", o.paper, picture.file);
        }
        if !o.claims.is_empty() {
            out += "| claim | in the paper | published | measured | verdict |\n|---|---|---:|---:|---|\n";
            for c in &o.claims {
                let verdict = match c.verdict {
                    Verdict::Holds => "holds".into(),
                    v => format!("**{}**", v.words()),
                };
                let verdict = verdict + &with_nulls(c) + &with_causes(c);
                let cells =
                    [&c.text, &c.source, &c.published, &c.measured, &verdict].map(|t| t.replace('|', "\\|"));
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            }
            out.push('\n');
        }
        for c in &o.claims {
            if let Some(why) = why_not(c) {
                let _ = writeln!(out, "*{}*: {why}\n", c.text);
            }
        }
        if !o.values.is_empty() {
            out += "| measure | case | in the paper | published | here |\n|---|---|---|---:|---:|\n";
            for v in &o.values {
                let cells =
                    [&v.measure, &v.at, &v.source, &v.published, &v.measured].map(|t| t.replace('|', "\\|"));
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            }
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn tally<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let [holds, no, unsure, unknown] = counts(outcomes.flat_map(|o| &o.claims));
    let mut text = format!(
        "Of {} claims {holds} hold, {no} do not hold, {unsure} cannot be told",
        holds + no + unsure + unknown
    );
    if unknown > 0 {
        let _ = write!(text, ", {unknown} without data");
    }
    text
}

/// What the paper says, and how much of it is judged.
fn stated(paper: &str, outcomes: &[&Outcome]) -> String {
    let claims: Vec<&Judged> = outcomes.iter().flat_map(|o| &o.claims).collect();
    let (kinds, own) = statements::tally(paper, &claims);
    if kinds.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "| | there are | judged | hold | do not | cannot be told |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let mut row = |what: &str, t: &Tally| {
        let _ =
            writeln!(out, "| {what} | {} | {} | {} | {} | {} |", t.all, t.judged(), t.holds, t.no, t.unsure);
    };
    for (about, tally) in &kinds {
        row(
            match about {
                About::System => "the paper's statements on its system",
                About::Baseline => "the paper's statements on others alone",
                About::Artifact => "values that only the artifact beside it has",
            },
            tally,
        );
    }
    row("claims of our own", &own);
    out + "\nThe [statements](../../crates/experiments/statements) were written from the paper alone, before they were judged.\n\n"
}

/// What a wrong variant finds: how many claims that hold of the system are about it, and how many of these do not hold of the variant.
struct Power {
    text: String,
    of: String,
    asked: usize,
    fails: usize,
}

fn power(outcomes: &[&Outcome]) -> Vec<Power> {
    let mut all: Vec<(&str, Power)> = Vec::new();
    for o in outcomes {
        for null in o.nulls.iter().filter(|n| n.kind.is_none()) {
            let of_null = |c: &Judged| c.nulls.iter().find(|n| n.null == null.name).map(|n| n.verdict);
            let asked = o.claims.iter().filter(|c| c.verdict == Verdict::Holds).filter_map(of_null);
            let (asked, fails) =
                asked.fold((0, 0), |(n, fails), v| (n + 1, fails + usize::from(v == Verdict::No)));
            let at = all.iter().position(|(name, _)| *name == null.name).unwrap_or_else(|| {
                let of = null.of.as_ref().map_or(String::new(), |of| of.all().join(", "));
                let power = Power { text: null.text.clone(), of, asked: 0, fails: 0 };
                all.push((&null.name, power));
                all.len() - 1
            });
            all[at].1.asked += asked;
            all[at].1.fails += fails;
        }
    }
    all.into_iter().map(|(_, power)| power).collect()
}

/// A possible cause: how many claims that do not hold were tried with it, and how many of these hold then.
struct Tried<'a> {
    cause: &'a Null,
    kind: CauseKind,
    asked: usize,
    holds: usize,
}

fn tried<'a>(outcomes: &[&'a Outcome]) -> Vec<Tried<'a>> {
    let mut all: Vec<Tried<'a>> = Vec::new();
    for o in outcomes {
        for (cause, kind) in o.nulls.iter().filter_map(|n| Some((n, n.kind?))) {
            let of_cause = o.claims.iter().flat_map(|c| &c.tried).filter(|t| t.cause == cause.name);
            let (asked, holds) = of_cause
                .fold((0, 0), |(n, holds), t| (n + 1, holds + usize::from(t.verdict == Verdict::Holds)));
            let at = all.iter().position(|t| t.cause.name == cause.name).unwrap_or_else(|| {
                all.push(Tried { cause, kind, asked: 0, holds: 0 });
                all.len() - 1
            });
            all[at].asked += asked;
            all[at].holds += holds;
        }
    }
    all
}

/// With which possible causes a claim holds that does not hold.
fn with_causes(claim: &Judged) -> String {
    let holds: Vec<String> =
        claim.holds_with().map(|t| format!("with {}: {}", t.cause, t.measured)).collect();
    match (claim.tried.len(), holds.is_empty()) {
        (0, _) => String::new(),
        (1, true) => "; nor with a change that was tried".into(),
        (n, true) => format!("; nor with any of {n} changes"),
        (_, false) => format!("; holds {}", holds.join("; ")),
    }
}

/// How many of the claims that hold say something of the system.
fn weak<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let holds = outcomes.flat_map(|o| &o.claims).filter(|c| c.verdict == Verdict::Holds);
    let (mut strong, mut weak, mut baselines) = (0, 0, 0);
    for claim in holds {
        *match (claim.nulls.is_empty(), claim.is_weak()) {
            (true, _) => &mut baselines,
            (_, true) => &mut weak,
            _ => &mut strong,
        } += 1;
    }
    format!(
        "{} claims hold. {strong} of them do not hold for at least one wrong variant. {weak} are *weak*: no wrong variant refutes them. \
         {baselines} are about other disciplines alone.",
        strong + weak + baselines
    )
}

/// What is known of why a claim does not hold.
fn why_not(claim: &Judged) -> Option<String> {
    let cause = claim.cause.as_ref().map(|c| match c.shown {
        true => format!("Cause ({}): {}", c.kind.words(), c.text.trim()),
        false => format!("Not the cause (it does not hold without it either): {}", c.text.trim()),
    });
    let why = claim.why.as_ref().map(|why| why.trim().to_string());
    let parts: Vec<String> = cause.into_iter().chain(why).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// With how many wrong variants a claim does not hold.
fn with_nulls(claim: &Judged) -> String {
    let fails = claim.nulls.iter().filter(|w| w.verdict == Verdict::No).count();
    match (claim.verdict, claim.nulls.len(), fails) {
        (Verdict::Holds, n @ 1.., 0) => format!("; weak: none of {n} wrong variants refutes it"),
        (Verdict::Holds, n @ 1.., fails) => format!("; not for {fails} of {n} wrong variants"),
        _ => String::new(),
    }
}

const STYLE: &str = "
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #22262b; background: #fff; max-width: 1260px; margin: 0 auto;
  padding: 1.5rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.35rem; margin-top: 3rem; border-bottom: 1px solid #e3e6ea; }
h3 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .92rem; }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e6ea; }
td.n { white-space: nowrap; }
svg { max-width: 100%; height: auto; }
.holds { color: #00663f; } .unsure { color: #7a5c00; } .no { color: #a01828; font-weight: 600; }
.unknown { color: #6d7278; } .warning { color: #a01828; font-weight: 600; } .faint { color: #6d7278; }
code { background: #f3f5f7; padding: .1em .3em; border-radius: 3px; } a { color: #00558a; }
";

/// The page over all: verdicts, pictures, numbers. One file that needs no network.
pub fn html(outcomes: &[Outcome]) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let _ = write!(out, "<title>Experiments</title>\n<style>{STYLE}</style>\n</head>\n<body>\n");
    let _ = writeln!(out, "<h1>The papers' figures, made again</h1>\n<p>{}.</p>", tally(outcomes.iter()));
    if outcomes.iter().flat_map(|o| &o.nulls).any(|n| n.kind.is_none()) {
        let _ = writeln!(out, "<p>{}</p>", weak(outcomes.iter()).replace("*weak*", "<em>weak</em>"));
    }
    if outcomes.iter().any(|o| o.quick) {
        out += "<p class=\"warning\">Quick runs: fewer seeds, shorter. Verdicts are of these.</p>\n";
    }
    out += "<table>\n<tr><th>experiment</th><th></th><th>holds</th><th>does not</th><th>cannot be told</th>\
            <th>runs</th></tr>\n";
    for o in outcomes {
        let [holds, no, unsure, _] = counts(o.claims.iter());
        let missing = if o.missing > 0 { format!(" ({} missing)", o.missing) } else { String::new() };
        let _ = writeln!(
            out,
            "<tr><td class=\"n\"><a href=\"#{0}\">{0}</a></td><td>{1}</td><td class=\"holds\">{holds}</td>\
             <td class=\"no\">{no}</td><td class=\"unsure\">{unsure}</td><td>{2}{missing}</td></tr>",
            escape(&o.id),
            escape(&o.title),
            o.runs,
        );
    }
    out += "</table>\n";
    let mut paper = "";
    for o in outcomes {
        if o.paper != paper {
            paper = &o.paper;
            let _ = writeln!(out, "<h2>{}</h2>", escape(&o.source));
            for line in o.stands.lines().filter(|l| !l.trim().is_empty()) {
                let _ = writeln!(out, "<p>{}</p>", code(&escape(line.trim_start_matches("- "))));
            }
        }
        experiment(&mut out, o);
    }
    out += "</body>\n</html>\n";
    out
}

fn experiment(out: &mut String, o: &Outcome) {
    let _ = writeln!(out, "<h3 id=\"{}\">{}: {}</h3>", escape(&o.id), escape(&o.figure), escape(&o.title));
    for paragraph in o.about.split("\n\n").filter(|p| !p.trim().is_empty()) {
        let _ = writeln!(out, "<p>{}</p>", code(&escape(paragraph)));
    }
    let data = ["csv", "parquet", "verdict.json", "toml", "figure.toml"].map(|end| (o.id.clone(), end));
    let _ = writeln!(out, "<p class=\"faint\">{}</p>", links(&data));
    // Several pictures in a page: their parts have no names, so nothing clashes.
    for picture in &o.pictures {
        out.push_str(&picture.svg);
        let files = ["svg", "png"].map(|end| (format!("{}/{}", o.paper, picture.file), end));
        let _ = writeln!(out, "\n<p class=\"faint\">{}</p>", links(&files));
    }
    if !o.claims.is_empty() {
        *out += "<table>\n<tr><th>claim</th><th>in the paper</th><th>published</th><th>measured</th><th>verdict</th></tr>\n";
        for c in &o.claims {
            let class = match c.verdict {
                Verdict::Holds => "holds",
                Verdict::No => "no",
                Verdict::Unsure => "unsure",
                Verdict::Unknown => "unknown",
            };
            let why = why_not(c).map(|w| format!("<br><span class=\"faint\">{}</span>", code(&escape(&w))));
            let _ = writeln!(
                out,
                "<tr><td>{}{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n {class}\">{}</td></tr>",
                escape(&c.text),
                why.unwrap_or_default(),
                escape(&c.source),
                escape(&c.published),
                escape(&c.measured),
                c.verdict.words().to_owned() + &with_nulls(c) + &escape(&with_causes(c)),
            );
        }
        *out += "</table>\n";
    }
    if !o.values.is_empty() {
        *out += "<details><summary>Published values beside these</summary>\n<table>\n\
                <tr><th>measure</th><th>case</th><th>in the paper</th><th>published</th><th>here</th></tr>\n";
        for v in &o.values {
            let cells = [&v.measure, &v.at, &v.source, &v.published, &v.measured];
            let cells: Vec<String> = cells.iter().map(|c| format!("<td>{}</td>", escape(c))).collect();
            let _ = writeln!(out, "<tr>{}</tr>", cells.concat());
        }
        *out += "</table></details>\n";
    }
}

/// Links to files, by name and ending.
fn links(files: &[(String, &str)]) -> String {
    let link = |(name, end): &(String, &str)| format!("<a href=\"{}.{end}\">{end}</a>", escape(name));
    files.iter().map(link).collect::<Vec<_>>().join(" · ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text between backticks as code.
fn code(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        match i % 2 {
            0 => out += part,
            _ => out += &format!("<code>{part}</code>"),
        }
    }
    out
}
