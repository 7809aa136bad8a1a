//! How the network answers under load, measured by probes.

use crate::quality::grade::Grade;
use crate::quality::qoo::{Measured, Profile};
use crate::quality::{mean, rpm};
use crate::{Distribution, measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a network answers while an entry's flows load it: round trips a minute (draft-ietf-ippm-responsiveness), Quality of Outcome
/// (draft-ietf-ippm-qoo), and the letter of a bufferbloat test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Responsiveness {
    /// Name of the entry whose flows make the load.
    pub load: String,
    /// Responsiveness, round trips a minute: the mean of the next two.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub rpm: f64,
    /// On connections of their own, round trips a minute: of connecting, and of a request for a byte.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub foreign_rpm: f64,
    /// On the connections that make the load, round trips a minute: of a request whose answer stands behind all that was written before.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub loaded_rpm: f64,
    /// Round trips a minute on connections of their own where nothing else is.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub idle_rpm: f64,
    /// Whether it stands at the end: `low`, `medium` or `high`.
    #[schemars(extend("enum" = ["low", "medium", "high"]))]
    pub confidence: String,
    /// Round-trip times of connections of their own, of packets that were not lost, milliseconds.
    pub rtt_ms: Distribution,
    /// Mean of the same where nothing else is, milliseconds.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub idle_rtt_ms: f64,
    /// Share of the packets of these connections that were lost, 0..1.
    #[serde(with = "measure")]
    #[schemars(with = "Option<f64>")]
    pub loss: f64,
    /// The letter of a bufferbloat test: of the mean round-trip time less that where nothing else is. `A+` to `F`; null: nothing was
    /// measured.
    pub grade: Option<String>,
    /// Quality of Outcome by application, 0 to 100, of the round-trip times, the loss and the link's rate.
    pub qoo: BTreeMap<String, Option<f64>>,
}

/// A connection that was opened for a byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Connection {
    /// When its SYN went out, seconds.
    pub asked_s: f64,
    /// From the SYN to its answer, milliseconds.
    pub connect_ms: f64,
    /// From then to the acknowledgement of the byte, milliseconds.
    pub answer_ms: f64,
    /// The SYN or its answer was lost.
    pub connect_lost: bool,
    /// The byte or its acknowledgement was lost.
    pub answer_lost: bool,
    /// Packets sent, acknowledgements included where they cross ports.
    pub packets: u64,
    /// Of these lost.
    pub lost: u64,
}

/// A request on a connection that makes the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// When it went out, seconds.
    pub asked_s: f64,
    /// From then to the arrival of the answer, and of all before it, milliseconds.
    pub took_ms: f64,
}

/// What probes of an entry's load have measured.
#[derive(Debug)]
pub struct Probed<'a> {
    /// Name of the entry.
    pub load: &'a str,
    /// Connections opened within the window, those that were not answered left out.
    pub connections: &'a [Connection],
    /// Requests within the window, on all connections of the load; of those not answered those that have waited longest.
    pub requests: &'a [Request],
    /// Connections where nothing else is.
    pub idle: &'a [Connection],
    /// Applications whose Quality of Outcome is to be known.
    pub profiles: &'a [Profile],
    /// Mean rate of the slowest link on the way, bit/s.
    pub capacity_bps: f64,
    /// The window's begin and end, seconds.
    pub window_s: (f64, f64),
}

impl Responsiveness {
    /// Of what was measured; NaN where nothing was.
    pub fn of(probed: &Probed<'_>) -> Responsiveness {
        let Probed { load, connections, requests, idle, profiles, capacity_bps, window_s } = *probed;
        let foreign_rpm = foreign(connections.iter());
        let loaded_rpm = loaded(requests.iter());
        let rtts = round_trips(connections);
        let idle_rtt_ms = mean(&round_trips(idle));
        let packets: u64 = connections.iter().map(|c| c.packets).sum();
        let lost: u64 = connections.iter().map(|c| c.lost).sum();
        let loss = lost as f64 / packets as f64;
        let measured = Measured { delays_ms: &rtts, loss, capacity_bps };
        let qoo = profiles.iter().map(|profile| {
            let value = profile.qoo(measured);
            (profile.name.clone(), value.is_finite().then_some(value))
        });
        let rpm = rpm::rpm(foreign_rpm, loaded_rpm);
        let averages = moving_averages(connections, requests, window_s);
        let confidence = if rpm.is_nan() { rpm::Confidence::Low } else { rpm::Confidence::of(&averages) };
        Responsiveness {
            load: load.to_string(),
            rpm,
            foreign_rpm,
            loaded_rpm,
            idle_rpm: foreign(idle.iter()),
            confidence: confidence.name().into(),
            idle_rtt_ms,
            loss,
            grade: Grade::of(mean(&rtts) - idle_rtt_ms).map(|grade| grade.letter().into()),
            qoo: qoo.collect(),
            rtt_ms: Distribution::of(rtts.into_iter()),
        }
    }
}

fn foreign<'a>(connections: impl Iterator<Item = &'a Connection>) -> f64 {
    let (connect, answer): (Vec<f64>, Vec<f64>) = connections.map(|c| (c.connect_ms, c.answer_ms)).unzip();
    rpm::foreign(&connect, None, &answer)
}

fn loaded<'a>(requests: impl Iterator<Item = &'a Request>) -> f64 {
    rpm::loaded(&requests.map(|r| r.took_ms).collect::<Vec<f64>>())
}

/// Round-trip times, of packets that were not lost, ms, rising.
fn round_trips(connections: &[Connection]) -> Vec<f64> {
    let both =
        connections.iter().flat_map(|c| [(c.connect_ms, c.connect_lost), (c.answer_ms, c.answer_lost)]);
    let mut all: Vec<f64> = both.filter(|(_, lost)| !lost).map(|(ms, _)| ms).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Responsiveness over each interval and up to three before it.
fn moving_averages(connections: &[Connection], requests: &[Request], (from_s, to_s): (f64, f64)) -> Vec<f64> {
    let intervals = ((to_s - from_s) / rpm::INTERVAL_S) as usize;
    let average = |last: usize| {
        let first = (last + 1).saturating_sub(rpm::INTERVALS);
        let begin = from_s + first as f64 * rpm::INTERVAL_S;
        let end = from_s + (last + 1) as f64 * rpm::INTERVAL_S;
        let within = |asked_s: f64| (begin..end).contains(&asked_s);
        rpm::rpm(
            foreign(connections.iter().filter(|c| within(c.asked_s))),
            loaded(requests.iter().filter(|r| within(r.asked_s))),
        )
    };
    (0..intervals).map(average).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::qoo;

    fn connection(asked_s: f64, connect_ms: f64, answer_ms: f64) -> Connection {
        Connection {
            asked_s,
            connect_ms,
            answer_ms,
            connect_lost: false,
            answer_lost: false,
            packets: 4,
            lost: 0,
        }
    }

    /// Ten seconds of a probe of each kind every tenth of one.
    fn steady(connect_ms: f64, answer_ms: f64, took_ms: f64) -> (Vec<Connection>, Vec<Request>) {
        let times = (0..100).map(|i| 10.0 + f64::from(i) / 10.0);
        let connections = times.clone().map(|at| connection(at, connect_ms, answer_ms)).collect();
        (connections, times.map(|asked_s| Request { asked_s, took_ms }).collect())
    }

    fn of(connections: &[Connection], requests: &[Request], idle: &[Connection]) -> Responsiveness {
        let (capacity_bps, window_s) = (1e7, (10.0, 20.0));
        let profiles = &qoo::named();
        Responsiveness::of(&Probed {
            load: "load",
            connections,
            requests,
            idle,
            profiles,
            capacity_bps,
            window_s,
        })
    }

    /// The formulas of draft-09 section 5.1 without TLS; nothing changes, so it can be relied on.
    #[test]
    fn steady_times_give_the_drafts_numbers() {
        let (connections, requests) = steady(30.0, 60.0, 300.0);
        let (idle, _) = steady(20.0, 20.0, 0.0);
        let r = of(&connections, &requests, &idle);
        let foreign = 60_000.0 / 45.0;
        assert!((r.foreign_rpm - foreign).abs() < 1e-9 && (r.loaded_rpm - 200.0).abs() < 1e-9);
        assert!((r.rpm - (foreign + 200.0) / 2.0).abs() < 1e-9 && (r.idle_rpm - 3000.0).abs() < 1e-9);
        assert_eq!((r.confidence.as_str(), r.rtt_ms.mean, r.idle_rtt_ms, r.loss), ("high", 45.0, 20.0, 0.0));
        // 25 ms more than idle; round trips of 60 ms at the 95th percentile, between LibreQoS's 50 (100) and 100 ms (0).
        assert_eq!((r.grade.as_deref(), r.qoo["game"]), (Some("A"), Some(80.0)));
    }

    /// What was lost delays what came after it, so it is no round trip; it counts as loss.
    #[test]
    fn what_lost_a_packet_is_no_round_trip() {
        let (mut connections, requests) = steady(20.0, 20.0, 20.0);
        connections[7] =
            Connection { connect_ms: 1020.0, connect_lost: true, lost: 1, packets: 5, ..connections[7] };
        let r = of(&connections, &requests, &connections);
        assert_eq!((r.rtt_ms.max, r.rtt_ms.count), (20.0, 199));
        assert!((r.loss - 1.0 / 401.0).abs() < 1e-12 && r.qoo["video-call"].unwrap() < 70.0, "{r:?}");
        // It is among the slowest twentieth, which responsiveness leaves out.
        assert!((r.rpm - 3000.0).abs() < 1e-9);
    }

    #[test]
    fn of_nothing_nothing_is_known() {
        let r = of(&[], &[], &[]);
        assert!(
            r.rpm.is_nan() && r.loss.is_nan() && r.grade.is_none() && r.qoo.values().all(Option::is_none)
        );
        assert_eq!(r.rtt_ms.count, 0);
        let short = Probed {
            load: "",
            connections: &[],
            requests: &[],
            idle: &[],
            profiles: &qoo::named(),
            capacity_bps: 1e7,
            window_s: (0.0, 3.0),
        };
        assert_eq!(Responsiveness::of(&short).confidence, "low");
    }

    /// A load that comes to rest: the averages move, and then they do not.
    #[test]
    fn averages_that_move_are_relied_on_less() {
        let (connections, mut requests) = steady(20.0, 20.0, 20.0);
        requests.iter_mut().filter(|r| r.asked_s >= 17.0).for_each(|r| r.took_ms = 200.0);
        assert_eq!(of(&connections, &requests, &connections).confidence, "medium");
        requests.iter_mut().for_each(|r| r.took_ms = if r.asked_s >= 12.0 { 20.0 } else { 200.0 });
        assert_eq!(of(&connections, &requests, &connections).confidence, "high");
    }
}
