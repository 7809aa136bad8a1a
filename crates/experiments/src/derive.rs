//! Measures that follow from several runs: how far flows are from where they sit alone, and the order of the
//! disciplines of a case.

use crate::figure::Best;
use crate::rows::Rows;
use crate::{Plan, Record};
use std::collections::BTreeMap;

/// The finished runs with these measures beside their own.
pub(crate) fn records<'a>(plan: &Plan, kept: impl Iterator<Item = &'a Record>) -> Vec<Record> {
    let mut records: Vec<Record> = kept.cloned().collect();
    displacement(plan, &mut records);
    ranks(plan, &mut records);
    records
}

/// Where each congestion control sits alone in the runs of a seed: mean of (waited, share) over the flows of the cases that are so.
/// The runs of a seed are held against these of the same: chance here is a part of what the seeds say.
fn alone(plan: &Plan, records: &[Record]) -> BTreeMap<(u64, String), (f64, f64)> {
    let mut sums: BTreeMap<(u64, String), (f64, f64, f64)> = BTreeMap::new();
    let Some(rule) = &plan.experiment.figure.displacement else { return BTreeMap::new() };
    let rows = Rows::new(plan, records).only(&rule.alone);
    for (seed, flow) in rows.all.iter().flat_map(|r| r.record.flows.iter().map(|f| (r.record.seed, f))) {
        let sum = sums.entry((seed, flow.cca.clone())).or_default();
        *sum = (sum.0 + flow.waited, sum.1 + flow.share, sum.2 + 1.0);
    }
    sums.into_iter().map(|(of, (waited, share, n))| (of, (waited / n, share / n))).collect()
}

/// `displacement` of all flows, and `group.NAME.displacement`: means. `displacement_max`: of the farthest.
fn displacement(plan: &Plan, records: &mut [Record]) {
    let alone = alone(plan, records);
    for record in records {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for flow in &record.flows {
            if let Some((waited, share)) = alone.get(&(record.seed, flow.cca.clone())) {
                groups.entry(flow.group.clone()).or_default().push(flow.distance(*waited, *share));
            }
        }
        let all: Vec<f64> = groups.values().flatten().copied().collect();
        if all.is_empty() {
            continue;
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        record.measures.insert("displacement".into(), mean(&all));
        record.measures.insert("displacement_max".into(), all.iter().copied().fold(0.0, f64::max));
        for (group, of) in &groups {
            record.measures.insert(format!("group.{group}.displacement"), mean(of));
        }
    }
}

/// `rank.NAME`: 1 for the best discipline of a case and seed, equals alike. `of_best.NAME`: the value as a
/// share of the best, or the best as a share of it where less is better.
fn ranks(plan: &Plan, records: &mut [Record]) {
    let figure = &plan.experiment.figure;
    for rule in &figure.ranks {
        let of = figure.measure(&rule.of).of;
        let mut groups: BTreeMap<(usize, u64), Vec<(usize, f64)>> = BTreeMap::new();
        for (i, r) in records.iter().enumerate() {
            if let Some(value) = r.measures.get(&of) {
                groups.entry((r.case, r.seed)).or_default().push((i, *value));
            }
        }
        for group in groups.values() {
            let better = |a: f64, b: f64| if rule.best == Best::Most { a > b } else { a < b };
            let best = group.iter().map(|g| g.1).reduce(|a, b| if better(b, a) { b } else { a });
            for (i, value) in group {
                let before = group.iter().filter(|g| better(g.1, *value)).count();
                let (top, bottom) = match rule.best {
                    Best::Most => (*value, best.unwrap_or(*value)),
                    Best::Least => (best.unwrap_or(*value), *value),
                };
                records[*i].measures.insert(format!("rank.{}", rule.of), 1.0 + before as f64);
                let share = if top == bottom { 1.0 } else { top / bottom };
                if share.is_finite() {
                    records[*i].measures.insert(format!("of_best.{}", rule.of), share);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::FlowPoint;
    use crate::{Catalogue, Options};
    use std::path::Path;

    #[test]
    fn a_seed_is_displaced_from_where_it_sits_alone() {
        let e = Catalogue::embedded().unwrap().select(&["santa/fig05".into()]).unwrap().remove(0);
        let plan = Plan::new(e, Path::new(""), Options::default()).unwrap();
        let run = |case: &str, seed: u64, waited: f64| {
            let at = plan.cases.iter().position(|c| c.values.iter().any(|v| v == case)).unwrap();
            let flow = FlowPoint {
                group: "cubic".into(),
                cca: "cubic".into(),
                delay_ms: 0.0,
                mbps: 0.0,
                waited,
                share: 1.0,
            };
            let (discipline, measures) = (plan.cases[at].disciplines[0].clone(), BTreeMap::new());
            Record { case: at, discipline, seed, measures, curves: BTreeMap::new(), flows: vec![flow] }
        };
        let kept = [
            run("CUBIC alone", 1, 0.1),
            run("CUBIC alone", 2, 0.2),
            run("CUBIC, BBR", 1, 0.5),
            run("CUBIC, BBR", 2, 0.5),
        ];
        let all = records(&plan, kept.iter());
        let of = |i: usize| all[i].measures["displacement"];
        assert!(of(0).abs() < 1e-9 && of(1).abs() < 1e-9);
        assert!((of(2) - 0.4).abs() < 1e-9 && (of(3) - 0.3).abs() < 1e-9, "{} {}", of(2), of(3));
    }
}
