//! What comes of an experiment: data, figure, verdicts; and of several: the pages over them.

use crate::claims::{Judged, Verdict, WithCause, WithNull, asked, figures, judge};
pub use crate::outcome::{Beside, Drawing, Outcome};
use crate::rows::{Row, Rows, Spread};
use crate::{Error, NullRuns, Plan, Record, Store, Unit, data, derive, draw, page};
use queuewright_report::replace;
use std::collections::BTreeSet;
use std::path::Path;

/// Written across what comes of quick runs.
const QUICK: &str = "QUICK: fewer seeds, shorter runs";
/// Written across what comes of a part of the runs.
const PART: &str = "INCOMPLETE: not all runs were made";

/// The cases and disciplines that an experiment's claims ask for which do not hold, or cannot be told.
pub fn missed(plan: &Plan, store: &Store) -> BTreeSet<(usize, String)> {
    let records = derive::records(plan, store.records());
    let rows = Rows::new(plan, &records);
    let claims = plan.experiment.figure.claims.iter();
    let missed = claims.filter(|c| matches!(judge(c, &rows).verdict, Verdict::No | Verdict::Unsure));
    let of = |row: &Row<'_>| (row.record.case, row.record.discipline.clone());
    let mut of_these: BTreeSet<_> =
        missed.flat_map(|c| asked(c, &rows).all.iter().map(of).collect::<Vec<_>>()).collect();
    // Where measures follow from several cases, all have to be there.
    let figure = &plan.experiment.figure;
    if !of_these.is_empty() && (figure.displacement.is_some() || !figure.ranks.is_empty()) {
        of_these.extend(rows.all.iter().map(of));
    }
    of_these
}

/// Writes data, figure and verdicts of an experiment into its paper's folder. `nulls`: the variants that were run.
///
/// # Errors
/// When something cannot be drawn or written.
pub fn finish(plan: &Plan, store: &Store, nulls: &[NullRuns<'_>], folder: &Path) -> Result<Outcome, Error> {
    let e = &plan.experiment;
    let records = derive::records(plan, store.records());
    let rows = Rows::new(plan, &records);
    let mut outcome = outcome(plan, store, nulls);
    let warning = match (outcome.missing > 0, plan.options.quick) {
        (true, _) => Some(PART),
        (_, true) => Some(QUICK),
        _ => None,
    };
    let pictures = [None].into_iter().chain(e.figure.pictures.iter().map(Some));
    for (drawing, picture) in outcome.pictures.iter_mut().zip(pictures) {
        drawing.svg = draw::svg(&rows, picture, warning)?;
    }
    let json = serde_json::to_string_pretty(&outcome).unwrap_or_default() + "\n";
    let files =
        [("csv", data::csv(&rows)?), ("parquet", data::parquet(&rows)?), ("verdict.json", json.into_bytes())];
    for (end, content) in files {
        write(&folder.join(format!("{}.{end}", e.name)), &content)?;
    }
    for picture in &outcome.pictures {
        write(&folder.join(format!("{}.svg", picture.file)), picture.svg.as_bytes())?;
        write(&folder.join(format!("{}.png", picture.file)), &draw::png(&picture.svg)?)?;
    }
    Ok(outcome)
}

/// What comes of an experiment's runs, but for the pictures themselves.
pub fn outcome(plan: &Plan, store: &Store, nulls: &[NullRuns<'_>]) -> Outcome {
    let e = &plan.experiment;
    let records = derive::records(plan, store.records());
    let rows = Rows::new(plan, &records);
    let of_nulls = nulls.iter().map(|n| n.plan.pending_of_null(store, n.store).len());
    let missing = of_nulls.sum::<usize>() + plan.pending(store).len();
    let mut claims: Vec<_> = e.figure.claims.iter().map(|c| judge(c, &rows)).collect();
    for NullRuns { null, plan: _, store: own } in nulls {
        // Of a possible cause only what was asked for was made.
        let made: BTreeSet<(usize, &str)> = own.records().map(|r| (r.case, &*r.discipline)).collect();
        let is_for = |r: &&Record| {
            null.is_for(&Row::of(plan, r))
                && (null.kind.is_none() || made.contains(&(r.case, &*r.discipline)))
        };
        let others = store.records().filter(|r| !is_for(r));
        let like = own.records().filter(|r| is_for(r) && store.has(&Unit::of(r)));
        let records = derive::records(plan, others.chain(like));
        let rows = Rows::new(plan, &records);
        for (claim, judged) in e.figure.claims.iter().zip(&mut claims) {
            // Of claims about others alone it says nothing.
            if !asked(claim, &rows).all.iter().any(|row| is_for(&row.record)) {
                continue;
            }
            let with = || judge(claim, &rows);
            match null.kind {
                None => judged.nulls.push(WithNull { null: null.name.clone(), verdict: with().verdict }),
                Some(_) if judged.verdict == Verdict::Holds => {}
                Some(kind) => {
                    let Judged { measured, verdict, .. } = with();
                    judged.tried.push(WithCause { cause: null.name.clone(), kind, measured, verdict });
                }
            }
        }
    }
    let further = e.figure.pictures.iter().map(|p| (format!("{}-{}", e.name, p.name), Some(p.title.clone())));
    let pictures = [(e.name.clone(), None)].into_iter().chain(further);
    Outcome {
        id: e.id(),
        paper: e.paper.clone(),
        name: e.name.clone(),
        title: e.figure.title.clone(),
        figure: e.figure.figure.clone(),
        source: e.figure.source.clone(),
        stands: e.stands.to_string(),
        about: e.figure.about.trim().into(),
        runs: store.len(),
        missing,
        quick: plan.options.quick,
        claims,
        nulls: nulls.iter().map(|n| n.null.clone()).collect(),
        values: beside(&rows),
        pictures: pictures.map(|(file, title)| Drawing { file, title, svg: String::new() }).collect(),
    }
}

/// Writes the pages over experiments: `index.html`, and `PAPER.md` for each paper.
///
/// # Errors
/// When one cannot be written.
pub fn summary(outcomes: &[Outcome], folder: &Path) -> Result<(), Error> {
    write(&folder.join("index.html"), page::html(outcomes).as_bytes())?;
    let mut papers: Vec<&str> = outcomes.iter().map(|o| o.paper.as_str()).collect();
    papers.dedup();
    for paper in papers {
        let of: Vec<&Outcome> = outcomes.iter().filter(|o| o.paper == paper).collect();
        write(&folder.join(format!("{paper}.md")), page::markdown(&of).as_bytes())?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    replace(path, content).map_err(|e| Error::Output(e.to_string()))
}

fn beside(rows: &Rows<'_>) -> Vec<Beside> {
    let figure = &rows.plan.experiment.figure;
    let all = figure.published.iter().map(|p| {
        let m = figure.measure(&p.measure);
        let values = rows.only(&p.at).values(&p.measure);
        let s = Spread::of(&values);
        let [a, b] = p.value.ends();
        Beside {
            measure: if m.unit.is_empty() { m.title } else { format!("{} ({})", m.title, m.unit) },
            at: p.at.values().map(|v| v.all().join(" or ")).collect::<Vec<_>>().join(", "),
            source: p.source.clone(),
            published: if a == b { figures(a) } else { format!("{} to {}", figures(a), figures(b)) },
            measured: match s.half_width.is_finite() {
                _ if s.count == 0 => "-".into(),
                true => format!("{} ± {}", figures(s.mean), figures(s.half_width)),
                false => figures(s.mean),
            },
        }
    });
    all.collect()
}
