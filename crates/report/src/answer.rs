//! What a comparison comes to, in a few sentences: who waits least, who uses the link, what that costs, and how sure it is.

use crate::summary::{Spread, labels, ports, runs_of, seeds};
use queuewright_results::{Results, Run};

/// Uses of the link that differ by less are alike (share of it).
const ALIKE: f64 = 0.02;
/// A loss of datagrams that is told, and how much more than the least it must be.
const LOSS: f64 = 0.01;
/// Below it flows share unevenly (Jain's index), and a difference of it that is told.
const UNEVEN: f64 = 0.7;
const JAIN: f64 = 0.1;

/// A discipline's measures at a port, over the seeds.
struct Of<'a> {
    label: &'a str,
    wait: Spread,
    used: Spread,
    jain: Spread,
}

/// The sentences; none where there is nothing to compare.
pub fn answer(results: &Results) -> Vec<String> {
    let ports = ports(results);
    let Some(port) = ports.first() else { return Vec::new() };
    let all: Vec<Of<'_>> = labels(results)
        .into_iter()
        .map(|label| {
            let at = |of: fn(&queuewright_results::Port) -> f64| {
                Spread::of(
                    runs_of(results, label).flat_map(|r| r.ports.iter().filter(|p| p.name == *port).map(of)),
                )
            };
            Of {
                label,
                wait: at(|p| p.sojourn_ms.mean),
                used: at(|p| p.utilization),
                jain: Spread::of(runs_of(results, label).map(|r| r.jain)),
            }
        })
        .filter(|of| of.wait.mean.is_finite() && of.used.mean.is_finite())
        .collect();
    if all.len() < 2 {
        return Vec::new();
    }
    let several = seeds(results).len() > 1;
    let place = if ports.len() > 1 { format!("At {port}, ") } else { String::new() };
    let best = least(&all, |of| of.wait.mean);
    let mut out = vec![place + &waits(&all, best, several)];
    out.extend(uses(&all, best));
    out.extend(losses(results, &all, best));
    out.extend(sharing(results, &all, best));
    if !several {
        out.push(
            "That is one seed: nobody can say how much of it is chance. `--seeds 1..5` would tell.".into(),
        );
    }
    out
}

fn least(all: &[Of<'_>], of: fn(&Of<'_>) -> f64) -> usize {
    (0..all.len()).fold(0, |b, i| if of(&all[i]) < of(&all[b]) { i } else { b })
}

/// Who waits least, who may be as good, and how much longer the longest is.
fn waits(all: &[Of<'_>], best: usize, several: bool) -> String {
    let (first, worst) = (&all[best], least(all, |of| -of.wait.mean));
    let equal = |of: &&Of<'_>| of.label != first.label && several && of.wait.min <= first.wait.max;
    let equals: Vec<&str> = all.iter().filter(equal).map(|of| of.label).collect();
    let mut out = format!("Packets wait least with {}, {} on average", first.label, ms(first.wait.mean));
    if !equals.is_empty() {
        out += &format!(" ({} may be as good: the seeds overlap)", equals.join(", "));
    }
    if worst != best && first.wait.mean > 0.0 {
        let times = all[worst].wait.mean / first.wait.mean;
        let how = if times < 1.1 { "hardly longer".into() } else { format!("{} times as long", two(times)) };
        out += &format!(", and longest with {}, {} ({how})", all[worst].label, ms(all[worst].wait.mean));
    }
    out + "."
}

/// How much of the link is used.
fn uses(all: &[Of<'_>], best: usize) -> Option<String> {
    let (low, high) = (least(all, |of| of.used.mean), least(all, |of| -of.used.mean));
    let percent = |i: usize| format!("{:.1} %", 100.0 * all[i].used.mean);
    if all[high].used.mean - all[low].used.mean <= ALIKE {
        return Some(format!("All use the link alike, {} to {}.", percent(low), percent(high)));
    }
    let mut out = format!("{} uses most of the link, {}", all[high].label, percent(high));
    if best != high {
        out += &format!("; {} uses {}", all[best].label, percent(best));
    }
    if low != best {
        out += &format!("; {} least, {}", all[low].label, percent(low));
    }
    Some(out + ".")
}

/// What datagrams it costs to wait least.
fn losses(results: &Results, all: &[Of<'_>], best: usize) -> Option<String> {
    let of_group = |label: &str, name: &str| {
        let of = |run: &Run| run.groups.iter().find(|g| g.name == name)?.datagrams.as_ref().map(|d| d.loss);
        Spread::of(runs_of(results, label).filter_map(of)).mean
    };
    let groups =
        results.runs.first()?.groups.iter().filter(|g| g.datagrams.is_some()).map(|g| g.name.as_str());
    let mut told = Vec::new();
    for name in groups {
        let own = of_group(all[best].label, name);
        let fewest = all
            .iter()
            .map(|of| (of.label, of_group(of.label, name)))
            .filter(|(_, loss)| loss.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        if own >= LOSS && own > fewest.1 + LOSS {
            told.push(format!(
                "{name} loses {:.1} % of its packets, one in {:.0} ({}: {:.1} %)",
                100.0 * own,
                1.0 / own,
                fewest.0,
                100.0 * fewest.1
            ));
        }
    }
    (!told.is_empty()).then(|| format!("With {} {}.", all[best].label, told.join("; ")))
}

/// How evenly flows share.
fn sharing(results: &Results, all: &[Of<'_>], best: usize) -> Option<String> {
    let flows = results.runs.first()?.flows.iter().filter(|f| f.goodput_bps.is_finite()).count();
    let fairest = least(all, |of| if of.jain.mean.is_finite() { -of.jain.mean } else { 0.0 });
    let (own, most) = (all[best].jain.mean, all[fairest].jain.mean);
    if flows < 2 || !own.is_finite() || (own >= UNEVEN && most - own < JAIN) {
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
    let mut out = match own < UNEVEN {
        true => format!("With {} flows share unevenly ({})", all[best].label, few(own)),
        false => format!("With {} flows share rather evenly (Jain's index {})", all[best].label, two(own)),
    };
    out += &match most - own >= JAIN {
        true => format!("; most evenly with {} ({})", all[fairest].label, two(most)),
        false if own < UNEVEN => "; the others are no better".into(),
        false => String::new(),
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
    use queuewright_results::{Datagrams, Flow, Group, Port, Sojourn};

    fn run(label: &str, seed: u64, wait: f64, used: f64, jain: f64, loss: f64) -> Run {
        let port = Port {
            name: "bottleneck".into(),
            utilization: used,
            sojourn_ms: Sojourn { mean: wait, ..Sojourn::default() },
            ..Port::default()
        };
        let call = Group {
            name: "call".into(),
            datagrams: Some(Datagrams { loss, ..Datagrams::default() }),
            ..Group::default()
        };
        let flows = vec![Flow { goodput_bps: 1.0, ..Flow::default() }; 10];
        Run {
            discipline: label.into(),
            seed,
            ports: vec![port],
            groups: vec![call],
            flows,
            jain,
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
                "With titrate call loses 12.0 % of its packets, one in 8 (droptail: 0.3 %).",
                "With titrate flows share unevenly (Jain's index 0.29, as if 3 of 10 flows had all); the others are no better.",
            ]
        );
    }

    #[test]
    fn what_may_be_chance_is_said() {
        let said = answer(&results(vec![
            run("codel", 1, 5.0, 0.90, 0.9, 0.0),
            run("pie", 1, 6.0, 0.99, 0.99, 0.0),
            run("codel", 2, 7.0, 0.90, 0.8, 0.0),
            run("pie", 2, 6.4, 0.99, 0.99, 0.0),
        ]));
        assert_eq!(
            said,
            [
                "Packets wait least with codel, 6.0 ms on average (pie may be as good: the seeds overlap), and longest with pie, 6.2 ms (hardly longer).",
                "pie uses most of the link, 99.0 %; codel uses 90.0 %.",
                "With codel flows share rather evenly (Jain's index 0.85); most evenly with pie (0.99).",
            ]
        );
        let one = answer(&results(vec![run("a", 1, 5.0, 0.9, 0.99, 0.0), run("b", 1, 9.0, 0.9, 0.99, 0.0)]));
        assert_eq!(
            one[1..],
            [
                "All use the link alike, 90.0 % to 90.0 %.",
                "That is one seed: nobody can say how much of it is chance. `--seeds 1..5` would tell."
            ]
        );
        assert_eq!(answer(&results(vec![run("a", 1, 5.0, 0.9, 0.99, 0.0)])), Vec::<String>::new());
        assert_eq!(answer(&results(Vec::new())), Vec::<String>::new());
    }
}
