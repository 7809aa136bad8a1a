//! Measures that follow from several runs: how far flows are from where they sit alone, and the order of the
//! disciplines of a case.

use crate::figure::Best;
use crate::rows::{Row, Rows};
use crate::{Plan, Record};
use std::collections::BTreeMap;

/// The finished runs with these measures beside their own.
pub(crate) fn records<'a>(plan: &Plan, kept: impl Iterator<Item = &'a Record>) -> Vec<Record> {
    let mut records: Vec<Record> = kept.cloned().collect();
    displacement(plan, &mut records);
    ranks(plan, &mut records);
    records
}

/// Where each congestion control sits alone: mean of (waited, share) over the flows of the cases that are so.
fn alone(plan: &Plan, records: &[Record]) -> BTreeMap<String, (f64, f64)> {
    let mut sums: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new();
    let Some(rule) = &plan.experiment.figure.displacement else { return BTreeMap::new() };
    let rows = Rows::new(plan, records);
    for flow in rows.only(&rule.alone).all.iter().flat_map(|r: &Row<'_>| &r.record.flows) {
        let sum = sums.entry(flow.cca.clone()).or_default();
        *sum = (sum.0 + flow.waited, sum.1 + flow.share, sum.2 + 1.0);
    }
    sums.into_iter().map(|(cca, (waited, share, n))| (cca, (waited / n, share / n))).collect()
}

/// `displacement` of all flows, and `group.NAME.displacement`: means. `displacement_max`: of the farthest.
fn displacement(plan: &Plan, records: &mut [Record]) {
    let alone = alone(plan, records);
    for record in records {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for flow in &record.flows {
            if let Some((waited, share)) = alone.get(&flow.cca) {
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
