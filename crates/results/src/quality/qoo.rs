//! Quality of Outcome (draft-ietf-ippm-qoo): how much of what an application asks of a network it gets, 0 to 100.

use serde::{Deserialize, Serialize};

/// The profiles that are always there.
const NAMED: &str = include_str!("profiles.toml");

/// What an application asks: at each percentile of the delay, of the loss, and of the throughput, what it works well with and what makes
/// it useless. `profiles.toml` says what each key means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name in results.
    pub name: String,
    /// Percentiles of the delay, 0 to 100, rising.
    pub percentiles: Vec<f64>,
    /// Delay at each with which all is well, ms.
    pub rop_ms: Vec<f64>,
    /// Delay at each with which nothing is, ms.
    pub cpup_ms: Vec<f64>,
    /// Loss with which all is well, per cent.
    pub rop_loss: f64,
    /// Loss with which nothing is, per cent.
    pub cpup_loss: f64,
    /// Least throughput, Mbit/s; 0: none is asked for.
    #[serde(default)]
    pub least_mbit: f64,
    /// Where the numbers are from.
    #[serde(default)]
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profile: Vec<Profile>,
}

/// What a network gave.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Delays, ms, rising: one-way or of round trips, as the profile has them.
    pub delays_ms: &'a [f64],
    /// Share of the packets lost, 0 to 1.
    pub loss: f64,
    /// Capacity, bit/s.
    pub capacity_bps: f64,
}

/// The profiles that are always there.
///
/// # Panics
/// Never: a test reads them.
pub fn named() -> Vec<Profile> {
    read("profiles.toml", NAMED).expect("the named profiles are right")
}

/// Reads profiles from the text of a TOML file.
///
/// # Errors
/// One line: file, profile and key, what is there, what is allowed.
pub fn read(file: &str, text: &str) -> Result<Vec<Profile>, String> {
    let File { profile } = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |at| text[..at.start].matches('\n').count() + 1);
        format!("{file}:{line}: {}", e.message().lines().collect::<Vec<_>>().join(" "))
    })?;
    if profile.is_empty() {
        return Err(format!("{file}: profile: there is none; a profile begins with [[profile]]"));
    }
    for (i, p) in profile.iter().enumerate() {
        p.check().map_err(|what| format!("{file}: profile {:?}: {what}", p.name))?;
        if profile[..i].iter().any(|before| before.name == p.name) {
            return Err(format!("{file}: profile {:?}: name: is there twice", p.name));
        }
    }
    Ok(profile)
}

impl Profile {
    fn check(&self) -> Result<(), String> {
        let Profile { name, percentiles, rop_ms, cpup_ms, rop_loss, cpup_loss, least_mbit, source: _ } = self;
        if name.is_empty() {
            return Err("name: is empty".into());
        }
        if percentiles.is_empty() {
            return Err("percentiles: is empty; one at least".into());
        }
        if !percentiles.iter().all(|p| *p >= 0.0 && *p <= 100.0) || !percentiles.is_sorted_by(|a, b| a < b) {
            return Err(format!("percentiles: {percentiles:?} do not rise from 0 or more to 100 at most"));
        }
        for (key, delays) in [("rop_ms", rop_ms), ("cpup_ms", cpup_ms)] {
            if delays.len() != percentiles.len() {
                let n = percentiles.len();
                return Err(format!(
                    "{key}: {delays:?} has not as many delays as percentiles, which are {n}"
                ));
            }
        }
        for ((p, rop), cpup) in percentiles.iter().zip(rop_ms).zip(cpup_ms) {
            if !(*rop >= 0.0 && *cpup < f64::INFINITY && cpup > rop) {
                return Err(format!("cpup_ms: {cpup} at percentile {p} is not above rop_ms, which is {rop}"));
            }
        }
        if !(*rop_loss >= 0.0 && *cpup_loss <= 100.0 && cpup_loss > rop_loss) {
            let allowed = "is not above rop_loss and 100 at most";
            return Err(format!("cpup_loss: {cpup_loss} {allowed}; rop_loss is {rop_loss}"));
        }
        if !(*least_mbit >= 0.0 && *least_mbit < f64::INFINITY) {
            return Err(format!("least_mbit: {least_mbit} is not 0 or more"));
        }
        Ok(())
    }

    /// Quality of Outcome: the worst of the delay at each percentile (nearest rank), the loss and the throughput, 0 (useless) to 100 (as
    /// good as it gets). NaN without any delay measured.
    pub fn qoo(&self, measured: Measured<'_>) -> f64 {
        if measured.delays_ms.is_empty() || measured.loss.is_nan() {
            return f64::NAN;
        }
        let at = |percentile: f64| super::nearest_rank(measured.delays_ms, percentile / 100.0);
        let delays = self.percentiles.iter().zip(&self.rop_ms).zip(&self.cpup_ms);
        let of_delay = delays.map(|((p, rop), cpup)| between(at(*p), *rop, *cpup)).fold(100.0, f64::min);
        let of_loss = between(measured.loss * 100.0, self.rop_loss, self.cpup_loss);
        let enough = measured.capacity_bps >= self.least_mbit * 1e6 || self.least_mbit == 0.0;
        let of_rate = if enough { 100.0 } else { 0.0 };
        of_delay.min(of_loss).min(of_rate)
    }
}

/// 100 at `good` and below, 0 at `bad` and above, a straight line between.
fn between(value: f64, good: f64, bad: f64) -> f64 {
    ((1.0 - (value - good) / (bad - good)) * 100.0).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Profile {
        Profile {
            name: "draft".into(),
            percentiles: vec![99.0, 99.9],
            rop_ms: vec![200.0, 300.0],
            cpup_ms: vec![500.0, 600.0],
            rop_loss: 1.0,
            cpup_loss: 5.0,
            least_mbit: 4.0,
            source: String::new(),
        }
    }

    /// 2000 delays with so much at their 99th percentile, and at their 99.9th.
    fn delays(p99: f64, p99_9: f64) -> Vec<f64> {
        [vec![100.0; 1979], vec![p99; 18], vec![p99_9; 3]].concat()
    }

    /// The draft's own example: 50 by the delay, 75 by its tail and by the loss.
    #[test]
    fn the_drafts_example() {
        let delays_ms = &delays(350.0, 375.0);
        let of = |loss, capacity_bps| draft().qoo(Measured { delays_ms, loss, capacity_bps });
        assert_eq!((of(0.02, 28e6), of(0.02, 4e6), of(0.02, 3.9e6)), (50.0, 50.0, 0.0));
        assert!((of(0.04, 28e6) - 25.0).abs() < 1e-9);
        let tail = &delays(150.0, 375.0);
        let of = draft().qoo(Measured { delays_ms: tail, loss: 0.0, capacity_bps: 28e6 });
        assert!((of - 75.0).abs() < 1e-9);
        assert!(draft().qoo(Measured { delays_ms: &[], loss: 0.0, capacity_bps: 28e6 }).is_nan());
    }

    /// The test of getCUJO/qoo-c: every delay 200 ms.
    #[test]
    fn the_vector_of_qoo_c() {
        let profile = Profile {
            percentiles: vec![50.0, 90.0, 99.0],
            rop_ms: vec![20.0; 3],
            cpup_ms: vec![250.0, 300.0, 400.0],
            least_mbit: 0.0,
            ..draft()
        };
        let got = profile.qoo(Measured { delays_ms: &[200.0; 50], loss: 0.0, capacity_bps: f64::NAN });
        assert!((got - 21.739).abs() < 5e-4, "{got}");
    }

    #[test]
    fn named_profiles_have_a_source() {
        let all = named();
        let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["web", "video-call", "game", "streaming"]);
        assert!(all.iter().all(|p| !p.source.is_empty()));
    }

    #[test]
    fn a_wrong_profile_is_one_clear_error() {
        let good = "[[profile]]\nname = \"x\"\npercentiles = [50, 99]\nrop_ms = [20, 40]\ncpup_ms = [50, 80]\n\
                    rop_loss = 0.1\ncpup_loss = 1.0\n";
        assert_eq!(read("f", good).unwrap()[0].cpup_ms, [50.0, 80.0]);
        for (was, is, error) in [
            (
                "cpup_ms = [50, 80]",
                "cpup_ms = [50, 40]",
                "f: profile \"x\": cpup_ms: 40 at percentile 99 is not above rop_ms, which is 40",
            ),
            (
                "[50, 99]",
                "[99, 50]",
                "f: profile \"x\": percentiles: [99.0, 50.0] do not rise from 0 or more to 100 at most",
            ),
            (
                "[50, 99]",
                "[99, 99]",
                "f: profile \"x\": percentiles: [99.0, 99.0] do not rise from 0 or more to 100 at most",
            ),
            (
                "[50, 99]",
                "[50, 101]",
                "f: profile \"x\": percentiles: [50.0, 101.0] do not rise from 0 or more to 100 at most",
            ),
            ("[50, 99]", "[]", "f: profile \"x\": percentiles: is empty; one at least"),
            (
                "rop_ms = [20, 40]",
                "rop_ms = [20]",
                "f: profile \"x\": rop_ms: [20.0] has not as many delays as percentiles, which are 2",
            ),
            (
                "cpup_loss = 1.0",
                "cpup_loss = 0.1",
                "f: profile \"x\": cpup_loss: 0.1 is not above rop_loss and 100 at most; rop_loss is 0.1",
            ),
            (
                "[20, 40]",
                "[nan, 40]",
                "f: profile \"x\": cpup_ms: 50 at percentile 50 is not above rop_ms, which is NaN",
            ),
            (
                "name",
                "nam",
                "f:2: unknown field `nam`, expected one of `name`, `percentiles`, `rop_ms`, `cpup_ms`, `rop_loss`, `cpup_loss`, `least_mbit`, `source`",
            ),
            ("rop_loss = 0.1\n", "", "f:1: missing field `rop_loss`"),
            ("rop_loss = 0.1", "rop_loss = \"a\"", "f:6: invalid type: string \"a\", expected f64"),
        ] {
            assert_eq!(read("f", &good.replacen(was, is, 1)).unwrap_err(), error);
        }
        assert_eq!(
            read("f", "").unwrap_err(),
            "f: profile: there is none; a profile begins with [[profile]]"
        );
        let twice = format!("{good}{good}");
        assert_eq!(read("f", &twice).unwrap_err(), "f: profile \"x\": name: is there twice");
    }
}
