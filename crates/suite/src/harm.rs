//! What a congestion control under test does to the others, and what the control in the files does to them (Ware et al., HotNets 2019; RFC 9743,
//! section 5.2): harm is the share of what they have alone that they lose, 0 none, 1 all. Alone is the same scenario without the groups under
//! test. By their measure a new control may do as much harm as the one that is there, and no more.

use crate::plan::is_tested;
use crate::{Error, Plan};
use queuewright_experiments::Store;
use queuewright_report::csv::written;
use queuewright_results::measures::by_path;
use queuewright_results::quality::harm::{Demand, max_min, of_less, of_more};
use queuewright_results::{GroupHarm, Run};
use queuewright_scenario::TrafficModel;
use queuewright_scenario::packet::{FULL_BYTES, MSS};
use queuewright_scenario::spec::{ArrivalProcess, Rate, RunSpec, Traffic};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What others can lose: how it ends below a group, its words, and whether more of it is better. Of loss its rest, what is delivered: beside
/// none at all any loss would be the whole.
const LOST: [(&str, &str, bool); 6] = [
    (GOODPUT, "goodput", true),
    // From the sender and back: against a wait of nothing any other would count as all.
    ("delay_ms", "delay", false),
    ("transfers.completed", "complete transfers", true),
    ("transfers.fct_s.all.p95", "completion, p95", false),
    ("transfers.pages.plt_s.p50", "page load, median", false),
    (LOSS, "delivered", true),
];
const GOODPUT: &str = "goodput_bps";
const LOSS: &str = "datagrams.loss";
/// More harm of goodput than this, beyond what the control in the files does, counts.
const MORE: f64 = 0.05;
/// Below so much of its max-min fair share a group is starved (RFC 9743, section 5.2, gives no number).
const STARVED: f64 = 0.1;
/// Gains have no bound; this one is ten times as much.
const GAIN: f64 = -9.0;

/// A loss of a group in a scenario behind a discipline.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Harm {
    /// The scenario.
    pub scenario: String,
    /// The discipline.
    pub discipline: String,
    /// The group that loses.
    pub group: String,
    /// What it loses.
    pub of: &'static str,
    /// Mean over the seeds without the groups under test.
    pub alone: f64,
    /// Beside the files' control.
    pub before: f64,
    /// Beside the one under test.
    pub with: f64,
    /// Of goodput, the max-min fair share; NaN: of nothing else, and not where the link has no one rate.
    pub fair: f64,
    /// The share that it loses to the files' control, by the means over the seeds; below 0 where it gains.
    pub before_harm: f64,
    /// The share that it loses to the one under test.
    pub harm: f64,
    /// The least and the most of any seed.
    pub range: [f64; 2],
    /// How much more than to the files' control, the least and the most of any seed.
    pub more: [f64; 2],
    /// Seeds that it is of.
    pub seeds: usize,
}

/// The runs of a suite: without the groups under test, with the files' control, and with the one under test.
#[derive(Debug)]
pub struct Stores<'a> {
    /// Without them.
    pub alone: &'a Store,
    /// With the files' control.
    pub before: &'a Store,
    /// With the one under test.
    pub with: &'a Store,
}

/// Every harm; the worst first.
///
/// # Errors
/// A scenario of which no run can be made.
pub fn harms(plan: &Plan, stores: &Stores<'_>) -> Result<Vec<Harm>, Error> {
    let mut out = Vec::new();
    for (member, of) in plan.suite.members.iter().enumerate() {
        let specs = plan.scenarios[member].runs().map_err(|e| Error(format!("{}: {e}", of.name)))?;
        for discipline in &plan.disciplines {
            let groups: BTreeSet<String> = stores
                .with
                .of(member, discipline)
                .flat_map(|r| r.measures.keys())
                .filter_map(|path| group_of(path))
                .collect();
            let wants = |group: &str| {
                let store = if is_tested(group) { stores.with } else { stores.alone };
                let of = store.of(member, discipline);
                mean(&of.filter_map(|r| measured(&r.measures, group, GOODPUT)).collect::<Vec<f64>>())
            };
            let spec = specs.iter().find(|s| s.discipline.label == *discipline);
            let fair = spec.map(|spec| fair_shares(spec, wants)).unwrap_or_default();
            for group in groups.iter().filter(|g| !is_tested(g)) {
                for (end, words, more) in LOST {
                    if end == GOODPUT && spec.is_some_and(|spec| ends_once(spec, group)) {
                        continue;
                    }
                    let Some([alone, before, with]) = values(stores, member, discipline, group, (end, more))
                    else {
                        continue;
                    };
                    let means = [&alone, &before, &with].map(|of| mean(of));
                    let each = |of: &[f64]| -> Vec<f64> {
                        alone.iter().zip(of).map(|(alone, with)| harm(*alone, *with, more)).collect()
                    };
                    let (by_before, by_with) = (each(&before), each(&with));
                    out.push(Harm {
                        scenario: of.name.clone(),
                        discipline: discipline.clone(),
                        group: group.clone(),
                        of: words,
                        alone: means[0],
                        before: means[1],
                        with: means[2],
                        fair: fair.get(group).copied().filter(|_| end == GOODPUT).unwrap_or(f64::NAN),
                        before_harm: of_all(&alone, &before, more),
                        harm: of_all(&alone, &with, more),
                        range: ends(by_with.iter().copied()),
                        more: ends(by_with.iter().zip(&by_before).map(|(with, before)| with - before)),
                        seeds: alone.len(),
                    });
                }
            }
        }
    }
    out.sort_by(|a, b| b.harm.total_cmp(&a.harm));
    Ok(out)
}

/// The runs of a scenario, each behind the same without these groups, for [`tell`]: what is there when they are interrupted has both.
/// Without a name they are as they were.
///
/// # Errors
/// A name that no group has, or the names of all.
pub fn pairs(specs: &[RunSpec], without: &[String]) -> Result<Vec<RunSpec>, String> {
    let Some(first) = specs.first().filter(|_| !without.is_empty()) else { return Ok(specs.to_vec()) };
    // Probes have groups of their own, which are nobody's.
    let of_probes = |i: usize| first.probes.iter().any(|p| p.group as usize == i);
    let groups = first.groups.iter().enumerate().filter(|(i, _)| !of_probes(*i));
    let names: Vec<&str> = groups.map(|(_, g)| g.name.as_str()).collect();
    if let Some(unknown) = without.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("no group of flows is named {unknown:?}; there are {}", names.join(", ")));
    }
    let out = |name: &str| without.iter().any(|out| out == name);
    // What comes and goes is drawn entry by entry.
    for source in &first.sources {
        let of_source: Vec<&str> =
            groups_of(&source.arrival).into_iter().map(|g| first.groups[g as usize].name.as_str()).collect();
        if let (Some(gone), true) =
            (of_source.iter().find(|name| out(name)), of_source.iter().any(|name| !out(name)))
        {
            return Err(format!(
                "{gone:?} comes and goes with others of its entry, {}; write an entry for each, or name all",
                of_source.join(", ")
            ));
        }
    }
    if names.iter().all(|name| out(name)) {
        return Err("no group is left that could lose anything; leave one out".into());
    }
    Ok(specs.iter().flat_map(|spec| [crate::without(spec.clone(), out), spec.clone()]).collect())
}

/// Says of each group of a run what it loses beside `others`, by the measures of the same run without them ([`pairs`]).
pub fn tell(spec: &RunSpec, alone: &BTreeMap<String, f64>, run: &mut Run, others: &[String]) {
    let with = &by_path(run);
    let is_other = |group: &str| others.iter().any(|other| other == group);
    let wants = |group: &str| {
        let of = if is_other(group) { with } else { alone };
        measured(of, group, GOODPUT).unwrap_or(f64::NAN)
    };
    let fair = fair_shares(spec, wants);
    for group in run.groups.iter_mut().filter(|g| !is_other(&g.name)) {
        let once = ends_once(spec, &group.name);
        let [goodput, delay, completed, fct, plt, delivered] =
            LOST.map(|(end, _, more)| match [alone, with].map(|of| measured(of, &group.name, end)) {
                _ if once && end == GOODPUT => f64::NAN,
                [None, None] => f64::NAN,
                [alone, with] => harm(alone.unwrap_or(worst(more)), with.unwrap_or(worst(more)), more),
            });
        let fair_bps = fair.get(&group.name).copied().filter(|_| !once).unwrap_or(f64::NAN);
        let beside = others.to_vec();
        group.harm = Some(GroupHarm { beside, goodput, delay, completed, fct, plt, delivered, fair_bps });
    }
}

/// Has each flow of the group an end, and comes once? Then what it sends is given, and its goodput in a window says when it did.
fn ends_once(spec: &RunSpec, group: &str) -> bool {
    let own = |other: u32| spec.groups[other as usize].name == group;
    let mut flows = spec.flows.iter().filter(|flow| own(flow.group)).peekable();
    let has_end =
        |traffic: &Traffic| matches!(traffic, Traffic::Tcp { size_bytes: Some(_), client: None, .. });
    flows.peek().is_some()
        && flows.all(|flow| has_end(&flow.traffic))
        && !spec.sources.iter().flat_map(|source| groups_of(&source.arrival)).any(own)
}

/// A measure of a group; of loss what is delivered.
fn measured(of: &BTreeMap<String, f64>, group: &str, end: &str) -> Option<f64> {
    let value = of.get(&format!("group.{group}.{end}")).copied();
    if end == LOSS { value.map(|loss| 1.0 - loss) } else { value }
}

/// What who has no value has.
fn worst(more: bool) -> f64 {
    if more { 0.0 } else { f64::INFINITY }
}

/// A group's measure without the groups under test, beside the files' control, and beside the one under test, a value a seed; none: nobody has it. Who
/// has none where others have one has the worst: no page was complete, say.
fn values(
    stores: &Stores<'_>,
    member: usize,
    discipline: &str,
    group: &str,
    (end, more): (&str, bool),
) -> Option<[Vec<f64>; 3]> {
    let mut out = [Vec::new(), Vec::new(), Vec::new()];
    let mut known = false;
    for run in stores.with.of(member, discipline) {
        let same = |store: &Store| -> Option<Option<f64>> {
            let record = store.of(member, discipline).find(|r| r.seed == run.seed)?;
            Some(measured(&record.measures, group, end))
        };
        let (Some(alone), Some(before), Some(with)) =
            (same(stores.alone), same(stores.before), same(stores.with))
        else {
            continue;
        };
        for (out, value) in out.iter_mut().zip([alone, before, with]) {
            known |= value.is_some();
            out.push(value.unwrap_or(worst(more)));
        }
    }
    known.then_some(out)
}

/// The share that is lost: nothing of nothing, and everything where it takes for ever.
fn harm(alone: f64, with: f64, more: bool) -> f64 {
    let harm = match (alone, with) {
        _ if alone == with => 0.0,
        _ if more => of_more(alone, with),
        (_, f64::INFINITY) => 1.0,
        _ => of_less(alone, with),
    };
    harm.max(GAIN)
}

/// By the means over the seeds, or where one takes for ever, the mean of the seeds' harms.
fn of_all(alone: &[f64], with: &[f64], more: bool) -> f64 {
    match [mean(alone), mean(with)] {
        [a, w] if a.is_finite() && w.is_finite() => harm(a, w, more),
        _ => mean(&alone.iter().zip(with).map(|(a, w)| harm(*a, *w, more)).collect::<Vec<f64>>()),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)])
}

/// The groups of what comes and goes.
fn groups_of(arrival: &ArrivalProcess) -> BTreeSet<u32> {
    match arrival {
        ArrivalProcess::Sessions { first, .. } => first.iter().map(|flow| flow.group).collect(),
        ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => {
            let controls = match &each.traffic {
                TrafficModel::Tcp { ccas, .. } => ccas.len() as u32,
                TrafficModel::Datagrams(_) => 1,
            };
            (each.first_group..each.first_group + controls).collect()
        }
    }
}

/// The groups' max-min fair shares of goodput, bit/s. Flows without an end want all that their access link and their rate let through, those of others
/// what their group `wants`, in which what arrives by itself is one flow. None: a link has no one rate, or a flow without an end is not there all the time.
fn fair_shares(spec: &RunSpec, wants: impl Fn(&str) -> f64) -> BTreeMap<String, f64> {
    let goodput = f64::from(MSS) / f64::from(FULL_BYTES + spec.overhead_bytes);
    let mut capacities = Vec::new();
    for port in &spec.ports {
        let Rate::Constant(bps) = port.rate else { return BTreeMap::new() };
        capacities.push(bps as f64 * goodput);
    }
    let name = |group: u32| spec.groups[group as usize].name.as_str();
    let links = |path: &[u32]| path.iter().map(|port| *port as usize).collect();
    // What a flow of a group with so many wants.
    let part = |group: u32, many: usize| wants(name(group)) / many as f64;
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    spec.flows.iter().for_each(|flow| *sizes.entry(flow.group).or_default() += 1);
    let mut flows: Vec<(&str, Demand)> = Vec::new();
    for flow in &spec.flows {
        let most = match flow.traffic {
            Traffic::Tcp { size_bytes: None, client: None, rate_bps, .. } => {
                if flow.start_ns > spec.warmup_ns || flow.stop_ns.is_some_and(|stop| stop < spec.duration_ns)
                {
                    return BTreeMap::new();
                }
                let rate = Some(rate_bps).filter(|bps| *bps > 0);
                let least = [flow.access_bps, rate].into_iter().flatten().min();
                least.map_or(f64::INFINITY, |bps| bps as f64 * goodput)
            }
            _ => part(flow.group, sizes[&flow.group]),
        };
        flows.push((name(flow.group), Demand { links: links(&flow.path), most }));
    }
    for source in &spec.sources {
        let one = |group: u32, path: &[u32], many: usize| {
            (name(group), Demand { links: links(path), most: part(group, many) })
        };
        match &source.arrival {
            ArrivalProcess::Sessions { first, .. } => {
                let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
                first.iter().for_each(|flow| *sizes.entry(flow.group).or_default() += 1);
                flows.extend(first.iter().map(|f| one(f.group, &f.path, sizes[&f.group])));
            }
            ArrivalProcess::Arrivals { each, .. } | ArrivalProcess::Pages { each, .. } => {
                flows.extend(groups_of(&source.arrival).into_iter().map(|group| one(group, &each.path, 1)));
            }
        }
    }
    // What is not known wants nothing.
    flows.iter_mut().filter(|f| f.1.most.is_nan()).for_each(|f| f.1.most = 0.0);
    let demands: Vec<Demand> = flows.iter().map(|f| f.1.clone()).collect();
    let mut out = BTreeMap::new();
    for ((name, _), share) in flows.iter().zip(max_min(&capacities, &demands)) {
        *out.entry(name.to_string()).or_default() += share;
    }
    out
}

/// The group that a measure is of.
fn group_of(path: &str) -> Option<String> {
    path.strip_prefix("group.")?.strip_suffix(".goodput_bps").map(String::from)
}

/// What it comes to, in words and as a table of the worst.
pub fn page(harms: &[Harm], control: &str) -> String {
    let mut out = format!("# What {control} does to the others\n\n{}\n\n", words(harms, control));
    let _ = writeln!(
        out,
        "Harm is the share of what a group has without the groups under test that it loses beside them, by the means over the seeds: 0 none, 1 all, below 0 a gain. \
         \"More\" is by how much {control} does more of it than the control in the files, the least and the most of any seed. Fair is the max-min share.\n"
    );
    let _ = writeln!(
        out,
        "| scenario | discipline | group | of | alone | beside the files' | beside {control} | fair | harm of the files' | harm of {control} | over the seeds | more |\n\
         |---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let number = |v: f64| if v.is_finite() { format!("{v:.4}") } else { "-".into() };
    for h in harms {
        let [alone, before, with, fair] = [h.alone, h.before, h.with, h.fair].map(number);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {alone} | {before} | {with} | {fair} | {:.2} | {:.2} | {:.2} to {:.2} | {:.2} to {:.2} |",
            h.scenario,
            h.discipline,
            h.group,
            h.of,
            h.before_harm,
            h.harm,
            h.range[0],
            h.range[1],
            h.more[0],
            h.more[1]
        );
    }
    out
}

/// Every harm, a line each.
pub fn sheet(harms: &[Harm]) -> String {
    const HEAD: [&str; 15] = [
        "scenario",
        "discipline",
        "group",
        "of",
        "alone",
        "before",
        "with",
        "fair",
        "before_harm",
        "harm",
        "harm_min",
        "harm_max",
        "more_min",
        "more_max",
        "seeds",
    ];
    let number = |v: f64| if v.is_finite() { v.to_string() } else { String::new() };
    let rows = harms.iter().map(|h| {
        let mut row = vec![h.scenario.clone(), h.discipline.clone(), h.group.clone(), h.of.to_string()];
        let [low, high] = h.range;
        row.extend(
            [h.alone, h.before, h.with, h.fair, h.before_harm, h.harm, low, high, h.more[0], h.more[1]]
                .map(number),
        );
        row.push(h.seeds.to_string());
        row
    });
    written(&HEAD, rows)
}

/// In a sentence or three: whether it harms more than the control in the files, where most, and whether anybody is starved.
pub fn words(harms: &[Harm], control: &str) -> String {
    let pairs: Vec<&Harm> = harms.iter().filter(|h| h.of == "goodput").collect();
    if pairs.is_empty() {
        return "There is no group yet of which all three runs are there.".into();
    }
    let groups: BTreeSet<(&str, &str)> =
        pairs.iter().map(|h| (h.scenario.as_str(), h.group.as_str())).collect();
    let more = pairs.iter().filter(|h| h.more[0] > MORE).count();
    let less = pairs.iter().filter(|h| h.more[1] < -MORE).count();
    let starved =
        |of: fn(&Harm) -> f64| -> Vec<&&Harm> { pairs.iter().filter(|h| of(h) < STARVED * h.fair).collect() };
    let (by_it, by_files) = (starved(|h| h.with), starved(|h| h.before));
    let seeds = match pairs.iter().map(|h| h.seeds).max() {
        None | Some(1) => "",
        Some(_) => ", with every seed",
    };
    let mut out = format!(
        "Of {} pairs of group and queue ({} groups) {more} lose more goodput to {control} than to the control in the files, by more than {:.0} % of what they have alone{seeds}, and {less} less.",
        pairs.len(),
        groups.len(),
        100.0 * MORE,
    );
    if let Some(worst) = pairs.first().filter(|h| h.harm > 0.0) {
        let _ = write!(
            out,
            " The most that one loses is {:.0} % of what it has alone ({:.0} % to the control in the files): {} in {} behind {}.",
            100.0 * worst.harm,
            100.0 * worst.before_harm,
            worst.group,
            worst.scenario,
            worst.discipline
        );
    }
    // Whose share is not known is not asked.
    let asked = pairs.iter().filter(|h| h.fair.is_finite()).count();
    let _ = match by_it.as_slice() {
        [] if asked == 0 => Ok(()),
        [] if asked < pairs.len() => {
            write!(
                out,
                " Of {asked} whose max-min share is known nobody is starved (less than a tenth of it)."
            )
        }
        [] => write!(out, " Nobody is starved (less than a tenth of the max-min share)."),
        some => write!(
            out,
            " Starved, with less than a tenth of their max-min share: {}.",
            some.iter()
                .map(|h| format!("{} in {} behind {}", h.group, h.scenario, h.discipline))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    if !by_files.is_empty() {
        let _ = write!(out, " The control in the files starves {} of the pairs.", by_files.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harm_is_the_share_that_is_lost() {
        assert_eq!((harm(10.0, 2.5, true), harm(10.0, 5.0, true)), (0.75, 0.5));
        // A wait that doubles loses half (with - alone) / with.
        assert_eq!((harm(5.0, 10.0, false), harm(5.0, f64::INFINITY, false)), (0.5, 1.0));
        // Nothing of nothing, and gains without bound.
        assert_eq!((harm(0.0, 0.0, false), harm(f64::INFINITY, f64::INFINITY, false)), (0.0, 0.0));
        assert_eq!((harm(1.0, 0.0, false), harm(0.0, 1.0, true), harm(4.0, 5.0, true)), (-9.0, -9.0, -0.25));
        // Published by ccafct: 176.2 ms alone, 339.3 beside CUBIC, 1171.3 beside Prague.
        let of = |with: f64| (harm(176.2, with, false) * 1000.0).round();
        assert_eq!((of(339.3), of(1171.3)), (481.0, 850.0));
    }

    fn one(group: &str, alone: f64, before: f64, with: f64) -> Harm {
        let (before_harm, own) = (harm(alone, before, true), harm(alone, with, true));
        Harm {
            scenario: "s".into(),
            discipline: "droptail".into(),
            group: group.into(),
            of: "goodput",
            alone,
            before,
            with,
            fair: 5.0,
            before_harm,
            harm: own,
            range: [own; 2],
            more: [own - before_harm; 2],
            seeds: 3,
        }
    }

    #[test]
    fn it_is_said_who_is_starved() {
        let said = words(&[one("cubic", 10.0, 5.0, 0.4), one("web", 5.0, 4.0, 5.0)], "vegas");
        assert_eq!(
            said,
            "Of 2 pairs of group and queue (2 groups) 1 lose more goodput to vegas than to the control in the files, by more than 5 % of what they have alone, with every seed, and 1 less. \
             The most that one loses is 96 % of what it has alone (50 % to the control in the files): cubic in s behind droptail. \
             Starved, with less than a tenth of their max-min share: cubic in s behind droptail."
        );
        // 0.6 of 10 alone is a loss of 94 %, and still more than a tenth of the fair half.
        let none = words(&[one("web", 10.0, 5.0, 0.6)], "vegas");
        assert!(none.ends_with("Nobody is starved (less than a tenth of the max-min share)."), "{none}");
        let files = words(&[one("web", 10.0, 0.3, 5.0)], "vegas");
        assert!(files.ends_with("The control in the files starves 1 of the pairs."), "{files}");
        // Where nobody is asked nothing is said.
        let unknown = |group| Harm { fair: f64::NAN, ..one(group, 10.0, 5.0, 0.1) };
        assert!(!words(&[unknown("web")], "vegas").contains("starved"));
        let one_of_two = words(&[unknown("web"), one("cubic", 10.0, 5.0, 5.0)], "vegas");
        assert!(
            one_of_two
                .ends_with("Of 1 whose max-min share is known nobody is starved (less than a tenth of it).")
        );
    }

    /// No page of one seed ever came, alone or beside: the others' harm decides.
    #[test]
    fn a_seed_without_a_value_hides_no_harm() {
        let none = f64::INFINITY;
        assert_eq!(of_all(&[1.0, 1.0, none, none], &[none, none, none, none], false), 0.5);
        assert_eq!(of_all(&[1.0, 3.0], &[2.0, 6.0], false), 0.5);
    }
}
