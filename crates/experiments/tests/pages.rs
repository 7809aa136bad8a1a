//! The papers' pages (`docs/experiments/PAPER.md`) are those of the experiments as they stand: a claim, a word or a link to a statement that
//! is changed needs the page anew.

use queuewright_experiments::{
    Catalogue, CauseKind, Null, NullRuns, Options, Outcome, Plan, Store, Verdict, WithCause, WithNull,
    outcome, summary,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a page says of runs is put into what comes of none; the page that is written of that has to be the same.
#[test]
fn pages_are_those_of_the_experiments() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments");
    let folder = tempfile::tempdir().unwrap();
    let mut papers: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
    for e in Catalogue::embedded().unwrap().experiments {
        let own = folder.path().join(&e.paper);
        e.unpack(&own).unwrap();
        papers.entry(e.paper.clone()).or_default().push(of_no_runs(e, &own));
    }
    let mut wrong = Vec::new();
    for (paper, mut outcomes) in papers {
        let page = fs::read_to_string(docs.join(format!("{paper}.md"))).unwrap();
        if let Err(why) = outcomes.iter_mut().try_for_each(|o| fill(o, &page)) {
            wrong.push(format!("{paper}.md: {why}"));
            continue;
        }
        for picture in outcomes.iter().flat_map(|o| &o.pictures) {
            let path = docs.join(&paper).join(format!("{}.svg", picture.file));
            assert!(path.exists(), "{}", path.display());
        }
        for cells in rows(&page, "| change |") {
            let known =
                |null: &Null| null.kind.is_some() && [&null.name, &null.text] == [&cells[0], &cells[1]];
            let is_known = outcomes.iter().flat_map(|o| &o.nulls).any(known);
            assert!(is_known, "{paper}.md: {} is no cause of the experiments", cells[0]);
        }
        summary(&outcomes, folder.path()).unwrap();
        let anew = fs::read_to_string(folder.path().join(format!("{paper}.md"))).unwrap();
        let (kept, anew) = (without_power(&page), without_power(&anew));
        if let Some((kept, anew)) = kept.iter().zip(&anew).find(|(a, b)| a != b) {
            wrong.push(format!("{paper}.md has\n  {kept}\nand is to have\n  {anew}"));
        } else if kept.len() != anew.len() {
            wrong.push(format!("{paper}.md has {} lines and is to have {}", kept.len(), anew.len()));
        }
    }
    let how = "make them by `queuewright reproduce PAPER --null --causes` and scripts/experiment-pages";
    assert!(wrong.is_empty(), "pages are not those of the experiments; {how}:\n{}", wrong.join("\n"));
}

fn of_no_runs(e: queuewright_experiments::Experiment, folder: &Path) -> Outcome {
    let empty = |name: String| Store::open(&folder.join(format!("{name}.jsonl")), "none").unwrap();
    let plan = Plan::new(e, folder, Options::default()).unwrap();
    let name = &plan.experiment.name;
    let nulls: Vec<_> = (plan.experiment.nulls.iter())
        .filter_map(|null| Some((null, plan.of_null(null, folder).unwrap()?)))
        .map(|(null, its)| (null, its, empty(format!("{name}-{}", null.name))))
        .collect();
    let runs: Vec<_> = nulls.iter().map(|(null, plan, store)| NullRuns { null, plan, store }).collect();
    outcome(&plan, &empty(name.clone()), &runs)
}

/// Puts into an outcome what a page says of its runs.
fn fill(o: &mut Outcome, page: &str) -> Result<(), String> {
    let title = format!("## {}: {}\n", o.figure, o.title);
    let (_, part) = page.split_once(&title).ok_or(format!("no part {}", title.trim()))?;
    let part = part.split("\n## ").next().unwrap_or(part);
    let line = format!("`queuewright reproduce {}`, ", o.id);
    let (_, runs) = part.split_once(&line).ok_or(format!("{}: no line {line}", o.id))?;
    o.runs =
        runs.split(' ').next().and_then(|n| n.parse().ok()).ok_or(format!("{}: no number of runs", o.id))?;
    o.missing = 0;
    let claims = rows(part, "| claim |");
    if claims.len() != o.claims.len() {
        return Err(format!("{}: {} claims, the experiment has {}", o.id, claims.len(), o.claims.len()));
    }
    for (claim, cells) in o.claims.iter_mut().zip(claims) {
        let (verdict, nulls) = cells[4].split_once(';').unwrap_or((&cells[4], ""));
        let all = [Verdict::Holds, Verdict::No, Verdict::Unsure, Verdict::Unknown];
        let is = |v: &Verdict| v.words() == verdict.trim_matches('*');
        claim.verdict = all.into_iter().find(is).ok_or(format!("{}: verdict {verdict}", o.id))?;
        claim.measured = cells[3].clone();
        // "not for 2 of 3 wrong variants", "weak: none of 3 wrong variants refutes it"; "nor with any of 4 changes", "holds with ns3: 5 ms".
        let (of_nulls, of_causes): (Vec<&str>, Vec<&str>) = nulls
            .split("; ")
            .map(str::trim)
            .filter(|s| !s.is_empty())
            .partition(|s| s.contains("wrong variant"));
        claim.tried = of_causes.into_iter().flat_map(tried).collect();
        let numbers: Vec<usize> =
            of_nulls.iter().flat_map(|s| s.split(' ')).filter_map(|word| word.parse().ok()).collect();
        let (fails, of) = match numbers.as_slice() {
            [fails, of] => (*fails, *of),
            [of] => (0, *of),
            _ => (0, 0),
        };
        let verdict = |i: usize| if i < fails { Verdict::No } else { Verdict::Holds };
        claim.nulls = (0..of).map(|i| WithNull { null: String::new(), verdict: verdict(i) }).collect();
        if claim.verdict == Verdict::Holds {
            (claim.why, claim.cause) = (None, None);
        }
        if let Some(cause) = &mut claim.cause {
            cause.shown = part.contains(&format!("*{}*: Cause (", claim.text));
        }
    }
    let values = rows(part, "| measure |");
    if values.len() != o.values.len() {
        return Err(format!(
            "{}: {} published values, the experiment has {}",
            o.id,
            values.len(),
            o.values.len()
        ));
    }
    for (value, cells) in o.values.iter_mut().zip(values) {
        value.measured = cells[4].clone();
    }
    Ok(())
}

/// What a page says of changes that were tried.
fn tried(words: &str) -> Vec<WithCause> {
    let with = |cause: &str, measured: &str, verdict| {
        let (cause, measured) = (cause.into(), measured.into());
        WithCause { cause, kind: CauseKind::Unstated, measured, verdict }
    };
    if let Some(rest) = words.strip_prefix("nor with ") {
        let count = rest.split(' ').find_map(|word| word.parse().ok()).unwrap_or(1);
        return (0..count).map(|_| with("", "", Verdict::No)).collect();
    }
    let (cause, measured) = words
        .trim_start_matches("holds ")
        .trim_start_matches("with ")
        .split_once(": ")
        .unwrap_or((words, ""));
    vec![with(cause, measured, Verdict::Holds)]
}

/// The rows of a table, as cells.
fn rows(part: &str, head: &str) -> Vec<Vec<String>> {
    let lines = part.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let row = |line: &str| {
        let inner = line.trim_start_matches("| ").trim_end_matches(" |");
        inner.split(" | ").map(|cell| cell.replace("\\|", "|")).collect()
    };
    lines.take_while(|line| line.starts_with('|')).map(row).collect()
}

/// Lines, without the numbers of the table of wrong variants: these are of each claim and variant; and without the table of possible causes,
/// as one is in it only if there was something to try it on.
fn without_power(page: &str) -> Vec<String> {
    let mut within = false;
    let mut causes = false;
    let is_of_causes = |line: &&str| {
        causes = line.starts_with('|') && (causes || line.starts_with("| change |"));
        !causes
    };
    let line = |line: &str| {
        within = line.starts_with('|') && (within || line.starts_with("| wrong variant |"));
        let ends: Vec<&str> = if within { line.rsplitn(4, '|').collect() } else { vec![line] };
        ends.last().copied().unwrap_or_default().to_string()
    };
    page.lines().filter(is_of_causes).map(line).collect()
}
