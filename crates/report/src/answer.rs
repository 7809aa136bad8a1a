//! What a comparison comes to, in a few sentences: who waits least, who uses the link, what that costs, and how sure it is.
//!
//! Runs of one seed have the same flows, whatever the discipline is: two disciplines differ for certain where the 95 % interval of the mean of
//! their differences, seed by seed, leaves 0 out.

use crate::summary::{labels, ports, runs_of, seeds};
use queuewright_results::quality::student;
use queuewright_results::{Group, Pages, Results, Run, jain};
use std::collections::BTreeMap;

/// Uses of the link that differ by less are alike (share of it).
const ALIKE: f64 = 0.02;
/// A loss of datagrams that is told, and how much more than the least it must be; above the other "one in so many" says nothing.
const LOSS: f64 = 0.01;
const MOST_LOSS: f64 = 0.2;
/// Below it flows share unevenly (Jain's index), and a difference of it that is told.
const UNEVEN: f64 = 0.7;
const JAIN: f64 = 0.1;

/// A measure by seed.
struct BySeed(BTreeMap<u64, f64>);

impl BySeed {
    fn of(results: &Results, label: &str, value: impl Fn(&Run) -> Option<f64>) -> BySeed {
        let known = |run: &Run| value(run).filter(|v| !v.is_nan()).map(|v| (run.seed, v));
        BySeed(runs_of(results, label).filter_map(known).collect())
    }

    /// NaN of none.
    fn mean(&self) -> f64 {
        let n = self.0.len() as f64;
        // Divided first: a sum of huge values may overflow.
        if n == 0.0 { f64::NAN } else { self.0.values().map(|v| v / n).sum() }
    }

    /// Is the difference more than chance may make? Of one seed nobody knows, and the difference is taken for what it is.
    fn differs(&self, other: &BySeed) -> bool {
        let each: Vec<f64> = self.0.iter().filter_map(|(seed, v)| Some(v - other.0.get(seed)?)).collect();
        let [low, high] = student::interval(&each);
        let one = self.0.len() == 1 && other.0.len() == 1;
        (one && each.len() == 1) || low > 0.0 || high < 0.0
    }
}

/// A discipline's measures at a port, over the seeds.
struct Of<'a> {
    label: &'a str,
    wait: BySeed,
    used: BySeed,
    jain: BySeed,
}

/// The sentences; none where there is nothing to compare.
pub fn answer(results: &Results) -> Vec<String> {
    let ports = ports(results);
    let Some(port) = ports.first() else { return Vec::new() };
    let all: Vec<Of<'_>> = labels(results)
        .into_iter()
        .map(|label| {
            let at = |of: fn(&queuewright_results::Port) -> f64| {
                BySeed::of(results, label, |run| run.ports.iter().find(|p| p.name == *port).map(of))
            };
            Of {
                label,
                wait: at(|p| p.sojourn_ms.mean),
                used: at(|p| p.utilization),
                jain: BySeed::of(results, label, |run| Some(jain(long(run)))),
            }
        })
        .filter(|of| of.wait.mean().is_finite() && of.used.mean().is_finite())
        .collect();
    if all.len() < 2 {
        return Vec::new();
    }
    let several = ports.len() > 1;
    let place = if several { format!("At the port \"{port}\", ") } else { String::new() };
    let best = least(&all, |of| of.wait.mean());
    let mut out = vec![waits(&all, best, &place), uses(&all, best, &place)];
    out.extend(losses(results, &all, best));
    out.extend(notices(results, &all));
    out.extend(sharing(results, &all, best, several));
    if seeds(results).len() == 1 {
        out.push(
            "That is one seed: nobody can say how much of it is chance. `--seeds 1..5` would tell.".into(),
        );
    }
    out
}

fn least(all: &[Of<'_>], of: fn(&Of<'_>) -> f64) -> usize {
    (0..all.len()).fold(0, |b, i| if of(&all[i]) < of(&all[b]) { i } else { b })
}

/// The begin of a sentence at a place.
fn begin(place: &str, word: &str) -> String {
    match place {
        "" => word[..1].to_uppercase() + &word[1..],
        place => format!("{place}{word}"),
    }
}

/// Who waits least, who may be as good, and how much longer the longest is.
fn waits(all: &[Of<'_>], best: usize, place: &str) -> String {
    let (first, worst) = (&all[best], &all[least(all, |of| -of.wait.mean())]);
    let mean = |of: &Of<'_>| ms(of.wait.mean());
    let equal = |of: &&Of<'_>| of.label != first.label && !of.wait.differs(&first.wait);
    let equals: Vec<&str> = all.iter().filter(equal).map(|of| of.label).collect();
    if mean(first) == mean(worst) {
        return format!("{} wait alike, {} on average.", begin(place, "packets"), mean(first));
    }
    if equals.len() == all.len() - 1 {
        return format!(
            "{} wait {} on average with {} to {} with {}: these seeds do not tell them apart.",
            begin(place, "packets"),
            mean(first),
            first.label,
            mean(worst),
            worst.label
        );
    }
    let mut out =
        format!("{} wait least with {}, {} on average", begin(place, "packets"), first.label, mean(first));
    if !equals.is_empty() {
        out += &format!(
            " ({} may be as good: the 95 % interval of the difference over the seeds reaches 0)",
            equals.join(", ")
        );
    }
    if !equals.contains(&worst.label) && first.wait.mean() > 0.0 {
        let times = worst.wait.mean() / first.wait.mean();
        let how = if times < 1.1 { "hardly longer".into() } else { format!("{} times as long", two(times)) };
        out += &format!(", and longest with {}, {} ({how})", worst.label, mean(worst));
    }
    out + "."
}

/// How much of the link is used.
fn uses(all: &[Of<'_>], best: usize, place: &str) -> String {
    let (low, high) = (least(all, |of| of.used.mean()), least(all, |of| -of.used.mean()));
    let percent = |i: usize| format!("{:.1} %", 100.0 * all[i].used.mean());
    if all[high].used.mean() - all[low].used.mean() <= ALIKE {
        return format!(
            "{} use the link alike, {}.",
            begin(place, "all"),
            between(percent(low), percent(high))
        );
    }
    if !all[high].used.differs(&all[low].used) {
        return format!(
            "{} use {} of the link: these seeds do not tell them apart.",
            begin(place, "all"),
            between(percent(low), percent(high))
        );
    }
    let mut out = format!("{place}{} uses most of the link, {}", all[high].label, percent(high));
    if best != high {
        let chance = if all[high].used.differs(&all[best].used) { "" } else { ", which may be chance" };
        out += &format!("; {} uses {}{chance}", all[best].label, percent(best));
    }
    if low != best {
        out += &format!("; {} least, {}", all[low].label, percent(low));
    }
    out + "."
}

/// A range, of which the ends may be the same as they are shown.
fn between(low: String, high: String) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

fn group<'a>(run: &'a Run, name: &str) -> Option<&'a Group> {
    run.groups.iter().find(|g| g.name == name)
}

/// What datagrams it costs to wait least.
fn losses(results: &Results, all: &[Of<'_>], best: usize) -> Option<String> {
    let of_group = |label: &str, name: &str| {
        BySeed::of(results, label, |run| group(run, name)?.datagrams.as_ref().map(|d| d.loss))
    };
    let groups =
        results.runs.first()?.groups.iter().filter(|g| g.datagrams.is_some()).map(|g| g.name.as_str());
    let mut told = Vec::new();
    for name in groups {
        let own = of_group(all[best].label, name);
        let fewest = all
            .iter()
            .map(|of| (of.label, of_group(of.label, name)))
            .filter(|(_, loss)| loss.mean().is_finite())
            .min_by(|a, b| a.1.mean().total_cmp(&b.1.mean()));
        // Of a group that sends nothing after the warm-up there is nothing to tell.
        let Some((label, fewest)) = fewest else { continue };
        let (loss, least) = (own.mean(), fewest.mean());
        if loss >= LOSS && loss > least + LOSS && own.differs(&fewest) {
            let one_in =
                if loss <= MOST_LOSS { format!(", one in {:.0}", 1.0 / loss) } else { String::new() };
            told.push(format!(
                "\"{name}\" loses {:.1} % of its packets{one_in} ({label}: {:.1} %)",
                100.0 * loss,
                100.0 * least
            ));
        }
    }
    (!told.is_empty()).then(|| format!("With {} {}.", all[best].label, told.join("; ")))
}

/// What people notice of a group.
struct Notice {
    /// Of what it is.
    kind: &'static str,
    /// Read of a run, with the group's name.
    of: fn(&Run, &str) -> Option<f64>,
    /// How many it is of, where few are no gain.
    came: Option<fn(&Run, &str) -> Option<f64>>,
    /// Is more of it better?
    more: bool,
    /// A difference that is told: of the better value at least this share, or this much.
    share: f64,
    least: f64,
    /// What infinity stands for.
    never: &'static str,
    /// What the group's best and worst do, and the value in words.
    best: &'static str,
    worst: &'static str,
    show: fn(f64) -> String,
}

/// Of whom fewer came than this share of the most that came to any, their median says nothing: the late ones are not in it.
pub const FEW: f64 = 0.9;

/// Differences that nobody notices: of a call's MOS (a tenth of a point nobody hears), of a page's time and of how long a video stands still
/// (s); of these two, a share of the better one, too.
pub const UNHEARD_MOS: f64 = 0.2;
/// See [`UNHEARD_MOS`].
pub const UNNOTICED_PAGE_S: f64 = 0.05;
/// See [`UNHEARD_MOS`].
pub const UNNOTICED_STALL_S: f64 = 1.0;
/// See [`UNHEARD_MOS`].
pub const UNNOTICED_SHARE: f64 = 0.1;

fn pages<'a>(run: &'a Run, name: &str) -> Option<&'a Pages> {
    group(run, name)?.transfers.as_ref()?.pages.as_ref()
}

const NOTICES: [Notice; 4] = [
    Notice {
        kind: "Calls",
        of: |run, name| group(run, name)?.datagrams.as_ref()?.calls.as_ref().map(|c| c.mos),
        came: None,
        more: true,
        share: 0.0,
        least: UNHEARD_MOS,
        never: "",
        best: "sounds best with",
        worst: "worst with",
        show: |v| format!("MOS {v:.1}"),
    },
    Notice {
        kind: "Pages, by the median",
        of: |run, name| pages(run, name).map(|p| p.plt_s.p50),
        came: Some(|run, name| pages(run, name).map(|p| p.completed as f64)),
        more: false,
        share: UNNOTICED_SHARE,
        least: UNNOTICED_PAGE_S,
        never: "where fewer came",
        best: "has its pages soonest with",
        worst: "latest with",
        show: |v| format!("{} s", two(v)),
    },
    Notice {
        kind: "Video",
        of: |run, name| {
            let group = group(run, name)?;
            let video = group.video.as_ref()?;
            let each = video.stalled_s / f64::from(group.flows.max(1));
            Some(if video.chunks > 0 { each } else { f64::INFINITY })
        },
        came: None,
        more: false,
        share: UNNOTICED_SHARE,
        least: UNNOTICED_STALL_S,
        never: "where it never began",
        best: "stands still least with",
        worst: "longest with",
        show: |v| format!("{} s", two(v)),
    },
    Notice {
        kind: "Answers",
        of: |run, name| run.responsiveness.iter().find(|r| r.load == name).map(|r| r.rpm),
        came: None,
        more: true,
        share: 0.1,
        least: 10.0,
        never: "",
        best: "has most round trips a minute beside it with",
        worst: "fewest with",
        show: |v| format!("{v:.0}"),
    },
];

/// With whom calls, pages, video and answers are best, and with whom worst.
fn notices(results: &Results, all: &[Of<'_>]) -> Vec<String> {
    let Some(first) = results.runs.first() else { return Vec::new() };
    let mut out = Vec::new();
    for notice in &NOTICES {
        let mut told = Vec::new();
        for group in &first.groups {
            let of = |label: &str, value: fn(&Run, &str) -> Option<f64>| {
                BySeed::of(results, label, |run| value(run, &group.name))
            };
            let mut each: Vec<(&str, BySeed)> =
                all.iter().map(|one| (one.label, of(one.label, notice.of))).collect();
            if let Some(came) = notice.came {
                let came: Vec<f64> = all.iter().map(|one| of(one.label, came).mean()).collect();
                let most = came.iter().copied().fold(0.0, f64::max);
                for ((_, by), _) in each.iter_mut().zip(came).filter(|(_, came)| *came < FEW * most) {
                    // Where none came there is no value.
                    by.0.entry(0).or_default();
                    by.0.values_mut().for_each(|value| *value = f64::INFINITY);
                }
            }
            each.retain(|(_, by)| !by.mean().is_nan());
            each.sort_by(|a, b| {
                let rising = a.1.mean().total_cmp(&b.1.mean());
                if notice.more { rising.reverse() } else { rising }
            });
            let [(best, top), .., (worst, low)] = each.as_slice() else { continue };
            let least = notice.least.max(notice.share * top.mean().abs());
            let alike = |by: &BySeed| match by.mean().is_finite() {
                true => (top.mean() - by.mean()).abs() < least || !by.differs(top),
                false => !top.mean().is_finite(),
            };
            if alike(low) {
                continue;
            }
            let show = |by: &BySeed| match by.mean().is_finite() {
                true => (notice.show)(by.mean()),
                false => notice.never.into(),
            };
            let (best_is, worst_is) = (show(top), show(low));
            let equals: Vec<&str> =
                each[1..].iter().filter(|(_, by)| alike(by)).map(|(label, _)| *label).collect();
            let equal = match equals.as_slice() {
                [] => String::new(),
                some => format!(" ({} may be as good)", some.join(", ")),
            };
            told.push(format!(
                "\"{}\" {} {best}, {best_is}{equal}, and {} {worst}, {worst_is}",
                group.name, notice.best, notice.worst
            ));
        }
        if !told.is_empty() {
            out.push(format!("{}: {}.", notice.kind, told.join("; ")));
        }
    }
    out
}

/// Goodputs of the flows that want all there is: TCP without an end. Who wants little has little, and lacks nothing.
fn long(run: &Run) -> impl Iterator<Item = f64> {
    let wants_all = |g: &&Group| g.datagrams.is_none() && g.transfers.is_none() && g.video.is_none();
    let groups: Vec<&str> = run.groups.iter().filter(wants_all).map(|g| g.name.as_str()).collect();
    let flows = run.flows.iter().filter(move |f| groups.contains(&f.group.as_str()) && f.video.is_none());
    flows.map(|f| f.goodput_bps).filter(|g| g.is_finite())
}

/// How evenly flows share.
fn sharing(results: &Results, all: &[Of<'_>], best: usize, several: bool) -> Option<String> {
    let run = results.runs.first()?;
    let flows = long(run).count();
    let fairest = least(all, |of| if of.jain.mean().is_finite() { -of.jain.mean() } else { 0.0 });
    let (own, most) = (all[best].jain.mean(), all[fairest].jain.mean());
    let (more, sure) = (most - own >= JAIN, all[fairest].jain.differs(&all[best].jain));
    if flows < 2 || !own.is_finite() || (own >= UNEVEN && !(more && sure)) {
        return None;
    }
    // k flows that have all alike, and the others nothing, have an index of k / n.
    let few = |jain: f64| {
        format!(
            "Jain's index {}, as if {:.0} of {flows} flows had all",
            two(jain),
            (jain * flows as f64).round().max(1.0)
        )
    };
    let who = match (flows == run.flows.len(), several) {
        (true, false) => "flows".into(),
        (true, true) => format!("the {flows} flows of all ports"),
        (false, false) => format!("the {flows} long flows of TCP"),
        (false, true) => format!("the {flows} long flows of TCP of all ports"),
    };
    let mut out = match own < UNEVEN {
        true => format!("With {} {who} share unevenly ({})", all[best].label, few(own)),
        false => format!("With {} {who} share rather evenly (Jain's index {})", all[best].label, two(own)),
    };
    out += &match (more, sure) {
        (true, true) => format!("; most evenly with {} ({})", all[fairest].label, two(most)),
        (true, false) => "; no other is better by more than chance".into(),
        (false, _) => "; no other is better by 0.1".into(),
    };
    Some(out + ".")
}

fn ms(value: f64) -> String {
    format!("{} ms", two(value))
}

/// Two figures, three from 100 on.
fn two(value: f64) -> String {
    match value.abs() {
        v if v >= 9.95 => format!("{value:.0}"),
        v if v >= 0.995 || v == 0.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_results::{
        Calls, Datagrams, Distribution, Flow, Port, Responsiveness, Sojourn, Transfers, Video,
    };

    /// Goodputs of ten flows with this index: the first has most, and the others less, alike.
    fn goodputs(index: f64) -> Vec<f64> {
        let of = |rest: f64| std::iter::once(1.0).chain(std::iter::repeat_n(rest, 9));
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            *(if jain(of(middle)) < index { &mut low } else { &mut high }) = middle;
        }
        of(low).collect()
    }

    fn port(name: &str, wait: f64, used: f64) -> Port {
        Port {
            name: name.into(),
            utilization: used,
            sojourn_ms: Sojourn { mean: wait, ..Sojourn::default() },
            ..Port::default()
        }
    }

    fn flow(group: &str, goodput_bps: f64) -> Flow {
        Flow { group: group.into(), goodput_bps, ..Flow::default() }
    }

    /// A call beside ten flows of TCP.
    fn run(label: &str, seed: u64, wait: f64, used: f64, index: f64, loss: f64) -> Run {
        let call = Group {
            name: "call".into(),
            datagrams: Some(Datagrams { loss, ..Datagrams::default() }),
            ..Group::default()
        };
        let mut flows: Vec<Flow> = goodputs(index).into_iter().map(|g| flow("cubic", g)).collect();
        flows.push(flow("call", 0.08));
        Run {
            discipline: label.into(),
            seed,
            ports: vec![port("bottleneck", wait, used)],
            groups: vec![call, Group { name: "cubic".into(), ..Group::default() }],
            flows,
            jain: 0.1,
            ..Run::default()
        }
    }

    fn results(runs: Vec<Run>) -> Results {
        Results { schema: 2, version: "x".into(), scenario: serde_json::Value::Null, runs }
    }

    #[test]
    fn who_waits_least_and_what_it_costs() {
        let said = answer(&results(vec![
            run("droptail", 1, 84.0, 0.996, 0.31, 0.003),
            run("titrate", 1, 2.0, 0.992, 0.30, 0.12),
            run("droptail", 2, 86.0, 0.994, 0.33, 0.003),
            run("titrate", 2, 3.0, 0.992, 0.28, 0.12),
        ]));
        assert_eq!(
            said,
            [
                "Packets wait least with titrate, 2.5 ms on average, and longest with droptail, 85 ms (34 times as long).",
                "All use the link alike, 99.2 % to 99.5 %.",
                "With titrate \"call\" loses 12.0 % of its packets, one in 8 (droptail: 0.3 %).",
                "With titrate the 10 long flows of TCP share unevenly (Jain's index 0.29, as if 3 of 10 flows had all); no other is better by 0.1.",
            ]
        );
    }

    /// Nobody is the least and the longest in one sentence.
    #[test]
    fn what_may_be_chance_is_said() {
        let said = answer(&results(vec![
            run("codel", 1, 5.0, 0.90, 0.9, 0.0),
            run("pie", 1, 6.0, 0.99, 0.99, 0.0),
            run("codel", 2, 7.0, 0.90, 0.89, 0.0),
            run("pie", 2, 6.4, 0.99, 0.999, 0.0),
        ]));
        assert_eq!(
            said,
            [
                "Packets wait 6.0 ms on average with codel to 6.2 ms with pie: these seeds do not tell them apart.",
                "pie uses most of the link, 99.0 %; codel uses 90.0 %.",
            ]
        );
        let one = answer(&results(vec![run("a", 1, 5.0, 0.9, 0.99, 0.0), run("b", 1, 9.0, 0.9, 0.99, 0.0)]));
        assert_eq!(
            one[1..],
            [
                "All use the link alike, 90.0 %.",
                "That is one seed: nobody can say how much of it is chance. `--seeds 1..5` would tell."
            ]
        );
        assert_eq!(answer(&results(vec![run("a", 1, 5.0, 0.9, 0.99, 0.0)])), Vec::<String>::new());
        assert_eq!(answer(&results(Vec::new())), Vec::<String>::new());
    }

    /// Seeds are paired: both vary by far more than they differ, b is 1 ms longer with each seed, and c is not. The ranges of all three overlap.
    #[test]
    fn differences_are_of_the_same_seeds() {
        let wait = |by: [f64; 5], label: &'static str, used: f64| {
            let waits = [5.0, 9.0, 7.0, 12.0, 6.0].into_iter().zip(by);
            waits.enumerate().map(move |(i, (w, by))| run(label, i as u64, w + by, used, 0.99, 0.0))
        };
        let said = answer(&results(
            wait([0.0; 5], "a", 0.9)
                .chain(wait([1.0, 1.1, 0.9, 1.0, 1.0], "b", 0.9))
                .chain(wait([3.0, -1.0, 0.5, -2.0, 1.0], "c", 0.9))
                .collect(),
        ));
        assert_eq!(
            said[0],
            "Packets wait least with a, 7.8 ms on average (c may be as good: the 95 % interval of the difference over the seeds reaches 0), and longest with b, 8.8 ms (1.1 times as long)."
        );
    }

    /// 90 and 93 % of the link, with 5 points of noise, and not the same seeds' noise.
    #[test]
    fn uses_and_losses_are_asked_for_chance() {
        let runs = (0..3u64).flat_map(|seed| {
            let noise = [-0.05, 0.0, 0.05];
            let (used, other) = (0.90 + noise[seed as usize], 0.93 + noise[(seed as usize + 1) % 3]);
            let loss = [0.0, 0.0, 0.3][seed as usize];
            [run("a", seed, 5.0, used, 0.99, loss), run("b", seed, 9.0, other, 0.99, 0.0)]
        });
        let said = answer(&results(runs.collect()));
        assert_eq!(said[1..], ["All use 90.0 % to 93.0 % of the link: these seeds do not tell them apart."]);
    }

    #[test]
    fn losses_of_one_group_hide_none_of_another() {
        let with = |mut run: Run, loss: f64| {
            let d = Datagrams { loss, ..Datagrams::default() };
            run.groups.insert(0, Group { name: "silent".into(), datagrams: Some(d), ..Group::default() });
            run
        };
        let said = answer(&results(vec![
            with(run("a", 1, 5.0, 0.9, 0.99, 0.7), f64::NAN),
            with(run("b", 1, 9.0, 0.9, 0.99, 0.0), f64::NAN),
        ]));
        assert_eq!(said[2], "With a \"call\" loses 70.0 % of its packets (b: 0.0 %).");
    }

    /// Who is best for what: a call, pages, players and answers. What hardly differs is not told.
    #[test]
    fn who_is_best_for_what() {
        let with = |label: &str, seed: u64, mos: f64, plt_s: f64, stalled_s: f64, rpm: f64| {
            let mut run = run(label, seed, 5.0, 0.9, 0.99, 0.0);
            let calls = Calls { mos, mos_worst: mos, r: 90.0, r_worst: 90.0 };
            run.groups[0].datagrams = Some(Datagrams { calls: Some(calls), ..Datagrams::default() });
            let plt_s = Distribution { p50: plt_s, ..Distribution::default() };
            // One begins too late for all, and with c one more does not come.
            let completed = if label == "c" { 8 } else { 9 };
            let pages = Some(Pages { started: 10, completed, plt_s, ..Pages::default() });
            let transfers = Some(Transfers { pages, ..Transfers::default() });
            run.groups.push(Group { name: "web".into(), transfers, ..Group::default() });
            let video = Some(Video { stalled_s, chunks: 9, ..Video::default() });
            run.groups.push(Group { name: "tv".into(), flows: 2, video, ..Group::default() });
            run.responsiveness.push(Responsiveness {
                load: "cubic".into(),
                rpm,
                ..Responsiveness::default()
            });
            run
        };
        let noise = [0.0, 0.01, -0.01];
        let of = |label: &'static str, mos: f64, plt_s: f64, stalled_s: f64, rpm: f64| {
            (0..3u64).map(move |seed| with(label, seed, mos + noise[seed as usize], plt_s, stalled_s, rpm))
        };
        let said = answer(&results(
            of("a", 4.41, 0.7, 0.0, 700.0)
                .chain(of("b", 4.4, 0.9, 0.4, 90.0))
                .chain(of("c", 1.0, 0.3, 0.2, 690.0))
                .collect(),
        ));
        assert_eq!(
            said[2..],
            [
                "Calls: \"call\" sounds best with a, MOS 4.4 (b may be as good), and worst with c, MOS 1.0.",
                "Pages, by the median: \"web\" has its pages soonest with a, 0.70 s, and latest with c, where fewer came.",
                "Answers: \"cubic\" has most round trips a minute beside it with a, 700 (c may be as good), and fewest with b, 90.",
            ]
        );
    }

    /// A call has little and wants little; a port is named where there are several.
    #[test]
    fn sharing_is_of_flows_that_want_all() {
        let two = |mut run: Run| {
            run.flows = vec![flow("cubic", 9.0), flow("call", 0.08)];
            run
        };
        let said = answer(&results(vec![
            two(run("a", 1, 5.0, 0.9, 0.99, 0.0)),
            two(run("b", 1, 9.0, 0.9, 0.99, 0.0)),
        ]));
        assert_eq!(said.len(), 3, "{said:?}");
        let ports = |mut run: Run, wait: f64, used: f64| {
            run.ports = vec![port("down", wait, used), port("up", 1.0, 0.1)];
            run
        };
        let said = answer(&results(vec![
            ports(run("a", 1, 0.0, 0.0, 0.3, 0.0), 5.0, 0.9),
            ports(run("b", 1, 0.0, 0.0, 0.9, 0.0), 9.0, 0.8),
        ]));
        assert_eq!(
            said[..3],
            [
                "At the port \"down\", packets wait least with a, 5.0 ms on average, and longest with b, 9.0 ms (1.8 times as long).",
                "At the port \"down\", a uses most of the link, 90.0 %; b least, 80.0 %.",
                "With a the 10 long flows of TCP of all ports share unevenly (Jain's index 0.30, as if 3 of 10 flows had all); most evenly with b (0.90).",
            ]
        );
    }
}
