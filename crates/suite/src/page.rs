//! What is written of a suite: a table, a page over all, a scorecard for each discipline, and sheets.

use crate::catalogue::About;
use crate::findings::{self, Judged, Verdict};
use crate::harm::{self, Harm};
use crate::plan::REFERENCE;
use crate::{Plan, Scores, Standing, people};
use queuewright_aqm::Discipline;
use queuewright_experiments::{Record, Store, figures, mean};
use queuewright_report::csv::written;
use queuewright_report::file_name;
use std::fmt::Write;

/// A measure that scorecards show: its path, or how it ends below a group or port, its title, factor and unit.
struct Shown {
    path: &'static str,
    title: &'static str,
    factor: f64,
    unit: &'static str,
}

const fn shown(path: &'static str, title: &'static str, factor: f64, unit: &'static str) -> Shown {
    Shown { path, title, factor, unit }
}

/// Of the bottleneck, or of each port.
const OF_PORT: [Shown; 9] = [
    shown("utilization", "use", 100.0, "%"),
    shown("sojourn_ms.mean", "wait", 1.0, "ms"),
    shown("sojourn_ms.p95", "wait, p95", 1.0, "ms"),
    shown("sojourn_ms.p99", "wait, p99", 1.0, "ms"),
    shown("drop_fraction", "dropped", 100.0, "%"),
    shown("mark_fraction", "marked", 100.0, "%"),
    shown("loss_events.synchronisation", "lose together", 100.0, "%"),
    shown("recovery.queue_s.mean", "queue back after", 1.0, "s"),
    shown("recovery.rate_s.mean", "rate back after", 1.0, "s"),
];

/// Of a port between two changes of its rate or of the load.
const OF_PHASE: [Shown; 2] =
    [shown("rate_bps", "rate", 1e-6, "Mbit/s"), shown("queue_ms", "queue over rate", 1.0, "ms")];

/// Of a run.
const OF_RUN: [Shown; 7] = [
    shown("jain", "Jain's index", 1.0, ""),
    // RFC 7928, section 6.3, has ratios.
    shown("least_share", "least flow over the mean", 1.0, ""),
    shown("responsiveness.rpm", "round trips", 1.0, "1/min"),
    shown("responsiveness.rtt_ms.p95", "round trip, p95", 1.0, "ms"),
    shown("responsiveness.qoo.web", "QoO web", 1.0, ""),
    shown("responsiveness.qoo.video-call", "QoO video call", 1.0, ""),
    shown("responsiveness.qoo.game", "QoO game", 1.0, ""),
];

/// Of each group of flows that has it.
const OF_GROUP: [Shown; 19] = [
    shown("goodput_bps", "goodput", 1e-6, "Mbit/s"),
    shown("sojourn_ms", "wait", 1.0, "ms"),
    shown("transfers.started", "transfers", 1.0, ""),
    // Times are of those that were complete.
    shown("transfers.completed", "complete", 1.0, ""),
    shown("transfers.startup_s.p50", "first byte, median", 1.0, "s"),
    shown("transfers.fct_s.all.p50", "completion, median", 1.0, "s"),
    shown("transfers.fct_s.all.p95", "completion, p95", 1.0, "s"),
    shown("transfers.pages.completed", "complete pages", 1.0, ""),
    shown("transfers.pages.plt_s.p50", "page load, median", 1.0, "s"),
    shown("datagrams.delay_ms.p50", "one-way delay, median", 1.0, "ms"),
    shown("datagrams.delay_ms.p99", "one-way delay, p99", 1.0, "ms"),
    shown("datagrams.jitter_ms.p95", "jitter, p95", 1.0, "ms"),
    shown("datagrams.loss", "lost", 100.0, "%"),
    shown("datagrams.loss_pattern.period_packets", "lost in a row", 1.0, ""),
    shown("datagrams.calls.mos", "MOS", 1.0, ""),
    shown("video.bitrate_bps", "bitrate", 1e-6, "Mbit/s"),
    shown("video.stalls", "stalls", 1.0, ""),
    shown("video.stalled_s", "stalled", 1.0, "s"),
    shown("video.linear_qoe", "linear QoE", 1.0, "Mbit/s"),
];

/// Means over the scenarios that the table has beside the scores.
const OVER_ALL: [&Shown; 4] = [&OF_PORT[0], &OF_PORT[1], &OF_PORT[4], &OF_RUN[0]];

/// The ranking, for standard output.
pub fn table(plan: &Plan, store: &Store, scores: &Scores) -> String {
    let rows = ranking(plan, store, scores);
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (i, cell) in row.iter().enumerate() {
            let _ = match i {
                0 => write!(out, "{cell:<0$}", widths[0]),
                _ => write!(out, "  {cell:>0$}", widths[i]),
            };
        }
        let line = out.trim_end().len();
        out.truncate(line);
        out.push('\n');
    }
    out
}

/// A heading, and a row for each discipline.
fn ranking(plan: &Plan, store: &Store, scores: &Scores) -> Vec<Vec<String>> {
    let mut head: Vec<String> =
        ["discipline", "score", "95 %", "first", "mean rank", "worst tenth", "worst in"]
            .map(String::from)
            .into();
    // Where they are not in the same scenarios, it is said.
    let differ = scores.standings.iter().any(|s| s.scenarios != scores.standings[0].scenarios);
    if differ {
        head.insert(1, "scenarios".into());
    }
    head.extend(OVER_ALL.iter().map(|m| titled(m)));
    let mut rows = vec![head];
    for s in scores.standings.iter().filter(|s| s.scenarios > 0) {
        let mut row = vec![
            s.discipline.clone(),
            number(s.score, 3),
            format!("{} to {}", number(s.interval[0], 3), number(s.interval[1], 3)),
            if s.first.is_finite() { format!("{:.0} %", 100.0 * s.first) } else { "-".into() },
            number(s.rank, 1),
            number(s.worst_tenth, 3),
            plan.suite.members[s.worst].name.clone(),
        ];
        if differ {
            row.insert(1, s.scenarios.to_string());
        }
        for m in OVER_ALL {
            let means =
                scores.members_of(s, plan).into_iter().map(|i| port_mean(store.of(i, &s.discipline), m.path));
            row.push(figures(mean(means) * m.factor));
        }
        rows.push(row);
    }
    rows
}

/// The pages and sheets of a suite, by their file names: `index.md`, `cards/NAME.md` for each discipline, `scores.csv`
/// and `runs.csv`; of a congestion control under test `harm.md` and `harm.csv`, too.
pub fn pages(plan: &Plan, store: &Store, scores: &Scores, harms: Option<&[Harm]>) -> Vec<(String, String)> {
    let mut out = vec![
        ("index.md".into(), index(plan, store, scores, harms)),
        ("scores.csv".into(), scores_csv(plan, scores)),
        ("runs.csv".into(), runs_csv(plan, store)),
    ];
    if let (Some(harms), Some(control)) = (harms, &plan.options.cca) {
        out.push(("harm.md".into(), harm::page(harms, control)));
        out.push(("harm.csv".into(), harm::sheet(harms)));
    }
    for s in &scores.standings {
        out.push((format!("cards/{}.md", file_name(&s.discipline)), card(plan, store, scores, s)));
    }
    out
}

fn index(plan: &Plan, store: &Store, scores: &Scores, harms: Option<&[Harm]>) -> String {
    let mut out = String::new();
    let (suite, seeds) = (&plan.suite, plan.seeds());
    let _ = writeln!(out, "# {}\n", suite.about.title);
    if !suite.about.source.is_empty() {
        let _ = writeln!(out, "After {}.\n", suite.about.source);
    }
    let _ = writeln!(out, "    {}\n", command(plan));
    // What the suite asks stands before the ranking of the queues.
    if let (Some(harms), Some(control)) = (harms, &plan.options.cca) {
        let _ = writeln!(out, "**{control}**: {} [Every harm](harm.md).\n", harm::words(harms, control));
    }
    let judged = findings::judged(plan, store);
    if !judged.is_empty() {
        let _ = writeln!(out, "{} [Which](#what-its-source-has-found).\n", findings::words(&judged));
    }
    let _ = writeln!(out, "{}\n", answer(plan, scores));
    for sentence in people::sentences(plan, store, scores) {
        let _ = writeln!(out, "{sentence}\n");
    }
    let _ = writeln!(
        out,
        "{} scenarios, {} disciplines, {} each. In each scenario a discipline has a share of the best there, 1 at best: {}. The score is the geometric mean \
         over the scenarios{}. \"95 %\" is its interval over scenarios of this kind, drawn again a thousand times; \"first\" is the share of these draws in which it is the best. \
         The worst tenth is the mean over the tenth of the scenarios in which it is worst.\n",
        plan.scenarios.len(),
        plan.disciplines.len(),
        if seeds == 1 { "one seed".into() } else { format!("{seeds} seeds") },
        measure_in_words(&suite.about),
        if suite.about.sections.is_empty() {
            ""
        } else {
            ", of each section first: a section counts as much as another"
        },
    );
    if suite.about.is_power() {
        out += "Power sees neither how flows share a link nor what is lost; the tables below do.\n\n";
    }
    out += &left_out(plan, scores);
    out += &markdown(&ranking(plan, store, scores));
    let _ = writeln!(
        out,
        "\n![Scores with their intervals](ranking.svg)\n\nEach scenario's wait (ms) and goodput (Mbit/s): a mark is the median over the seeds, the curve their 1-sigma ellipse. A point is a run, with the goodput of all flows together; \
         RFC 7928 has the median over senders. Left and up is better.\n\n![Goodput against wait in each scenario](scenarios.svg)"
    );
    out += &found(&judged);
    for (i, member) in suite.members.iter().enumerate() {
        let _ = writeln!(out, "\n## {}\n", member.name);
        if let Some(about) = &plan.scenarios[i].description {
            let _ = writeln!(out, "{about}\n");
        }
        out += &markdown(&of_member(plan, store, scores, i));
    }
    out
}

/// What the suite's source has found, and whether the runs say so; empty if it has nothing of the kind.
fn found(judged: &[Judged]) -> String {
    if judged.is_empty() {
        return String::new();
    }
    let mut out = "\n## What its source has found\n\nA case is a scenario, a discipline and a measure. A finding holds if the 95 % interval over the seeds lies where it should in every case; \
         it does not if in one case none of it does.\n\n"
        .to_string();
    let mut rows =
        vec![["finding", "source", "here", "cases that hold", "the others"].map(String::from).to_vec()];
    for finding in judged {
        let holds = finding.cases.iter().filter(|c| c.verdict == Verdict::Holds).count();
        let others = finding.cases.iter().filter(|c| c.verdict != Verdict::Holds).map(|c| {
            format!(
                "{} with {}: {} ± {}",
                c.scenario,
                c.discipline,
                number(c.value, 3),
                number(c.half_width, 3)
            )
        });
        let mut others: Vec<String> = others.collect();
        if others.len() > MOST_CASES {
            let more = others.len() - MOST_CASES;
            others.truncate(MOST_CASES);
            others.push(format!("and {more} more"));
        }
        rows.push(vec![
            finding.says.clone(),
            finding.source.clone(),
            finding.verdict.words().to_string(),
            format!("{holds} of {}", finding.cases.len()),
            others.join("; "),
        ]);
    }
    out += &markdown(&rows);
    out
}

/// Cases of a finding that are named.
const MOST_CASES: usize = 6;

/// Which scenarios and runs are in no score, and why.
fn left_out(plan: &Plan, scores: &Scores) -> String {
    let names = |of: &dyn Fn(usize) -> bool| -> Vec<&str> {
        let members = plan.suite.members.iter().enumerate();
        members.filter(|(i, _)| of(*i)).map(|(_, m)| m.name.as_str()).collect()
    };
    let unscored = |i: usize| plan.suite.about.section(&plan.suite.members[i].name).is_none();
    let nobody = |i: usize| scores.nobody.contains(&i);
    let apart = |i: usize| !scores.common.contains(&i) && !unscored(i) && !nobody(i);
    let measure = plan.suite.about.score().join("`, `");
    let mut out = String::new();
    // Of runs that are not there yet nobody knows what they have.
    let known = |names: Vec<_>| if scores.missing > 0 { Vec::new() } else { names };
    for (names, why) in [
        (names(&unscored), "the suite leaves them out".into()),
        (known(names(&nobody)), format!("no run has `{measure}`")),
        (known(names(&apart)), "not all that are compared have them".into()),
    ] {
        if !names.is_empty() {
            let _ = write!(out, "No score in {}, as {why}: {}. ", plural(names.len()), names.join(", "));
        }
    }
    if scores.missing > 0 {
        let _ = write!(out, "Scores are over the scenarios and seeds that are there. ");
    }
    if out.is_empty() { out } else { format!("{}\n\n", out.trim_end()) }
}

fn plural(scenarios: usize) -> String {
    if scenarios == 1 { "one scenario".into() } else { format!("{scenarios} scenarios") }
}

/// What the ranking comes to, in words.
fn answer(plan: &Plan, scores: &Scores) -> String {
    if scores.missing > 0 {
        let missing = match scores.missing {
            1 => "one run is not there".to_string(),
            n => format!("{n} runs are not there"),
        };
        return format!("**No verdict yet**: {missing}. `queuewright suite --resume` goes on.");
    }
    let compared: Vec<&Standing> = scores.standings.iter().filter(|s| s.compared).collect();
    let [best, others @ ..] = compared.as_slice() else { return String::new() };
    // The 95 % interval of their scores' ratio, draw by draw, reaches 1.
    let equals: Vec<&str> =
        others.iter().filter(|s| s.of_first[1] >= 1.0).map(|s| s.discipline.as_str()).collect();
    let mut out = match (others, equals.as_slice()) {
        ([], _) => format!(
            "**{}** is in {} with a score, and no other in half of these: there is nothing to compare it with.",
            best.discipline,
            plural(best.scenarios)
        ),
        (_, []) => format!(
            "**{}** is the best of these {}: each other is behind it in 39 of 40 draws.",
            best.discipline,
            compared.len()
        ),
        (_, equals) => format!(
            "**{}** has the highest score, but {} cannot be told from it: the 95 % interval of the difference over scenarios of this kind reaches 0. It is first in {:.0} % of the draws.",
            best.discipline,
            equals.join(", "),
            100.0 * best.first
        ),
    };
    let _ = write!(
        out,
        " It is worst in {} ({} of the best there).",
        plan.suite.members[best.worst].name,
        number(scores.of_member[best.worst][place(plan, &best.discipline)], 2)
    );
    if let Some(tail) = others.iter().find(|s| s.discipline == REFERENCE) {
        let at = place(plan, REFERENCE);
        let below = compared
            .iter()
            .filter(|s| s.discipline != REFERENCE && scores.over(place(plan, &s.discipline), at)[1] < 1.0)
            .count();
        let _ = write!(
            out,
            " Tail drop has {} ({} to {})",
            number(tail.score, 2),
            number(tail.interval[0], 2),
            number(tail.interval[1], 2)
        );
        out += &match below {
            0 => ".".into(),
            n => format!(", and {n} are worse than it in 39 of 40 draws."),
        };
    }
    out
}

pub(crate) fn place(plan: &Plan, label: &str) -> usize {
    plan.disciplines.iter().position(|d| d == label).unwrap_or(0)
}

/// A scenario: a row for each discipline, the best score first.
fn of_member(plan: &Plan, store: &Store, scores: &Scores, member: usize) -> Vec<Vec<String>> {
    let columns = columns(store, member);
    let mut head = vec!["discipline".to_string(), "score".to_string()];
    head.extend(columns.iter().map(|c| c.0.clone()));
    let mut rows = vec![head];
    let mut order: Vec<usize> = (0..plan.disciplines.len()).collect();
    order.sort_by(|a, b| scores.of_member[member][*b].total_cmp(&scores.of_member[member][*a]));
    for d in order {
        let label = &plan.disciplines[d];
        if store.of(member, label).next().is_none() {
            continue;
        }
        let mut row = vec![label.clone(), number(scores.of_member[member][d], 3)];
        row.extend(columns.iter().map(|(_, path, factor)| spread(store, member, label, path, *factor)));
        rows.push(row);
    }
    rows
}

/// What a scenario's runs have to show: title, path, factor.
fn columns(store: &Store, member: usize) -> Vec<(String, String, f64)> {
    let has = |path: &str| store.records().any(|r| r.case == member && r.measures.contains_key(path));
    let mut out = Vec::new();
    let (ports, groups) = names(store, member);
    for port in &ports {
        let (before, of) = match port.as_str() {
            "" => Default::default(),
            name => (format!("port.{name}."), format!("{name}: ")),
        };
        for m in &OF_PORT {
            let path = format!("{before}{}", m.path);
            let never = |r: &Record| r.case == member && r.measures.get(&path).is_some_and(|v| *v > 0.0);
            // Where nobody marks, there is nothing to see.
            if has(&path) && (m.path != "mark_fraction" || store.records().any(never)) {
                out.push((format!("{of}{}", titled(m)), path, m.factor));
            }
        }
        for i in (1..).take_while(|i| has(&format!("{before}phases.{i}.from_s"))) {
            for m in &OF_PHASE {
                let path = format!("{before}phases.{i}.{}", m.path);
                out.push((format!("{of}phase {i}: {}", titled(m)), path, m.factor));
            }
        }
    }
    out.extend(OF_RUN.iter().filter(|m| has(m.path)).map(|m| (titled(m), m.path.to_string(), m.factor)));
    for group in &groups {
        for m in &OF_GROUP {
            let path = format!("group.{group}.{}", m.path);
            if has(&path) {
                out.push((format!("{group}: {}", titled(m)), path, m.factor));
            }
        }
    }
    out
}

/// Names of a scenario's ports (empty: the only one) and groups.
fn names(store: &Store, member: usize) -> (Vec<String>, Vec<String>) {
    let (mut ports, mut groups) = (Vec::new(), Vec::new());
    let ending = format!(".{}", OF_PORT[0].path);
    for path in store.records().filter(|r| r.case == member).flat_map(|r| r.measures.keys()) {
        let port = match path.as_str() {
            whole if whole == OF_PORT[0].path => Some(""),
            other => {
                other.strip_prefix("port.").and_then(|p| p.strip_suffix(&ending)).filter(|p| !p.contains('.'))
            }
        };
        let group = path.strip_prefix("group.").and_then(|g| g.strip_suffix(".goodput_bps"));
        for (name, all) in [(port, &mut ports), (group, &mut groups)] {
            if let Some(name) = name.filter(|n| !all.iter().any(|other| other == n)) {
                all.push(name.to_string());
            }
        }
    }
    (ports, groups)
}

/// A discipline's page: every scenario with every measure.
fn card(plan: &Plan, store: &Store, scores: &Scores, s: &Standing) -> String {
    let mut out = String::new();
    let at = place(plan, &s.discipline);
    let rank = scores.standings.iter().position(|other| other.discipline == s.discipline).unwrap_or(0) + 1;
    let _ = writeln!(out, "# {} in {}\n", s.discipline, plan.suite.name);
    let of = scores.standings.iter().filter(|s| s.compared).count();
    let place = match s.compared && of > 1 {
        true => format!("{rank} of {of}"),
        false => format!("Not compared, as it is in {}", plural(s.scenarios)),
    };
    let _ = writeln!(
        out,
        "{place}: score {} ({} to {}), mean rank {}, worst tenth {}, worst in {}.\n",
        number(s.score, 3),
        number(s.interval[0], 3),
        number(s.interval[1], 3),
        number(s.rank, 1),
        number(s.worst_tenth, 3),
        plan.suite.members[s.worst].name
    );
    if let Some((first, spec)) = plan.discipline(&s.discipline) {
        let (bytes, _) = Discipline::size_of(spec.info);
        let set: Vec<String> = spec.shown().map(|(param, value)| format!("{} {value}", param.name)).collect();
        let _ = writeln!(
            out,
            "What it costs (RFC 7928, section 11): {bytes} bytes for its parameters and what it knows; `queuewright explain {}` has its rule. \
             What an operator may set (section 12), as it is in {}: {}.\n",
            spec.info.name,
            plan.suite.members[first].name,
            if set.is_empty() { "nothing".into() } else { set.join(", ") }
        );
    }
    let mut rows = vec![["scenario", "score", "measure", "value", "tail drop"].map(String::from).to_vec()];
    for (i, member) in plan.suite.members.iter().enumerate() {
        let (mut name, mut score) = (member.name.clone(), number(scores.of_member[i][at], 3));
        for (title, path, factor) in columns(store, i) {
            let value = spread(store, i, &s.discipline, &path, factor);
            if value == "-" {
                continue;
            }
            let tail = spread(store, i, REFERENCE, &path, factor);
            rows.push(vec![std::mem::take(&mut name), std::mem::take(&mut score), title, value, tail]);
        }
    }
    out + &markdown(&rows)
}

fn scores_csv(plan: &Plan, scores: &Scores) -> String {
    let mut head: Vec<String> =
        ["discipline", "score", "low", "high", "first", "mean_rank", "worst_tenth", "scenarios"]
            .map(String::from)
            .into();
    head.extend(plan.suite.members.iter().map(|m| m.name.clone()));
    let mut rows = Vec::new();
    for s in &scores.standings {
        let known = |v: f64| if v.is_finite() { v.to_string() } else { String::new() };
        let mut row = vec![s.discipline.clone()];
        row.extend([s.score, s.interval[0], s.interval[1], s.first, s.rank, s.worst_tenth].map(known));
        row.push(s.scenarios.to_string());
        row.extend(scores.of_member.iter().map(|of| known(of[place(plan, &s.discipline)])));
        rows.push(row);
    }
    written(&head, rows.into_iter())
}

/// Every measure of every run, a line each.
fn runs_csv(plan: &Plan, store: &Store) -> String {
    let rows = store.records().flat_map(|r| {
        let name = &plan.suite.members[r.case].name;
        r.measures.iter().map(move |(path, value)| {
            vec![name.clone(), r.discipline.clone(), r.seed.to_string(), path.clone(), value.to_string()]
        })
    });
    written(&["scenario", "discipline", "seed", "measure", "value"], rows)
}

/// How it was asked for.
pub(crate) fn command(plan: &Plan) -> String {
    let o = &plan.options;
    let mut out = format!("queuewright suite {}", plan.suite.name);
    for (flag, value) in [("--aqm", &o.aqm), ("--cca", &o.cca)] {
        if let Some(value) = value {
            let _ = write!(out, " {flag} {value}");
        }
    }
    if let Some(n) = o.seeds {
        let _ = write!(out, " --runs {n}");
    }
    out + if o.quick { " --quick" } else { "" }
}

fn markdown(rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        // A label may hold what would end a cell.
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if i == 0 {
            let _ = writeln!(out, "|---|{}", "---:|".repeat(row.len() - 1));
        }
    }
    out
}

fn titled(m: &Shown) -> String {
    if m.unit.is_empty() { m.title.into() } else { format!("{} ({})", m.title, m.unit) }
}

/// The measure of a score, in words.
fn measure_in_words(about: &About) -> String {
    let what = match about.score() {
        _ if about.is_power() => "Kleinrock's power (the share of the link that is used, times the share of the round trip that is not waiting)".into(),
        paths if about.score_in_words.is_empty() => format!("`{}`", paths.join("`, or `")),
        paths => format!("{} (`{}`)", about.score_in_words, paths.join("`, or `")),
    };
    let how = if about.less { "the best's over its own" } else { "over the best's" };
    format!("{what}, {how}")
}

/// A measure of ports, mean over runs and, where there are several, over the ports.
pub(crate) fn port_mean<'a>(runs: impl Iterator<Item = &'a Record>, path: &str) -> f64 {
    let ending = format!(".{path}");
    let of = runs.flat_map(|r| &r.measures).filter(|(name, _)| {
        *name == path
            || name
                .strip_prefix("port.")
                .and_then(|p| p.strip_suffix(&ending))
                .is_some_and(|p| !p.contains('.'))
    });
    mean(of.map(|(_, v)| *v))
}

/// Mean over the seeds and half of what they span.
fn spread(store: &Store, member: usize, label: &str, path: &str, factor: f64) -> String {
    let values: Vec<f64> =
        store.of(member, label).filter_map(|r| r.measures.get(path)).map(|v| v * factor).collect();
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    match values.len() {
        0 => "-".into(),
        1 => figures(values[0]),
        _ => format!("{} ± {}", figures(mean(values.iter().copied())), figures((high - low) / 2.0)),
    }
}

fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".into() }
}
