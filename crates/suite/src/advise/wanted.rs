//! What is wanted of a link, one thing for each use of it, and what a run gave of it.

use super::household::Use;
use queuewright_results::Run;
use queuewright_results::measures::by_path;
use queuewright_results::quality::emodel::{Echo, G711_PLC, mos, r};
use queuewright_results::quality::qoo::{Measured, Profile, named};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a game asks of the network; read once.
static GAME: LazyLock<Option<Profile>> = LazyLock::new(|| named().into_iter().find(|p| p.name == "game"));

/// Measures of a run by name, as figures have them, and those of [`measured`].
pub type Measures = BTreeMap<String, f64>;
/// Beside them: for how long the run was measured, s.
pub(super) const WINDOW: &str = "window_s";

/// What a run gave: [`by_path`], for how long it was measured, and of each group that has pages, or flows with an end,
/// the median time `group.NAME.took_s` of all that started, those that were not complete with the time to the run's end. So who completes the
/// small ones alone has not the least time; `group.NAME.took_open` is 1 where the median is such a time, and only known to be no less.
pub fn measured(run: &Run) -> Measures {
    let mut all = by_path(run);
    all.insert(WINDOW.into(), run.duration_s - run.warmup_s);
    for (number, group) in run.groups.iter().enumerate() {
        let own = || run.detail.transfers.iter().filter(|t| t.group as usize == number);
        // As `transfers`; where all start in the warm-up, these.
        let late = own().any(|t| t.start_s >= run.warmup_s);
        let mut of_page: BTreeMap<(bool, usize), (f64, bool)> = BTreeMap::new();
        for (i, t) in own().enumerate().filter(|(_, t)| !late || t.start_s >= run.warmup_s) {
            let took = of_page.entry(t.page.map_or((false, i), |page| (true, page as usize))).or_default();
            took.0 = took.0.max(t.fct_s.unwrap_or(run.duration_s - t.start_s));
            took.1 |= t.fct_s.is_none();
        }
        // Those that are not complete would have taken longer.
        let mut times: Vec<(f64, bool)> = of_page.into_values().collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((took_s, open)) = times.get(times.len().div_ceil(2).wrapping_sub(1)) {
            all.insert(format!("group.{}.took_s", group.name), *took_s);
            all.insert(format!("group.{}.took_open", group.name), f64::from(u8::from(*open)));
        }
    }
    all
}

/// A kind of thing that is wanted, and of which groups of flows.
#[derive(Debug, Clone, PartialEq)]
enum What {
    /// Mean opinion score of the worst of these groups of calls, 1 to 4.41: of each group the mean, as results have it.
    Calls(Vec<String>),
    /// Quality of Outcome of a game that is played over these two groups, one each way, 0 to 100. An approximation: the 95th percentiles of
    /// both ways together stand for that of the round trip. Where few packets wait long, and not at the same time both ways, that is more
    /// than it says: percentiles do not add.
    Game([String; 2]),
    /// Mean bitrate of the players, bit/s, times the share of the time in which they play.
    Video(String),
    /// Median time of pages, s: of [`measured`].
    Pages(String),
    /// The same of flows that come and go, or have a size.
    Transfers(String),
    /// Goodput, bit/s.
    Goodput(String),
    /// Round trips a minute while flows load the link, the fewest by these paths of measures.
    Rpm(Vec<String>),
    /// Kleinrock's power: the share of the link that is used, times the share of the round trip that is not waiting.
    Power,
}

/// Something that is wanted of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// What it is called: a use, or a group of flows.
    pub name: String,
    what: What,
}

/// A column of a table: heading, what stands there, its factor, digits.
pub(crate) type Column = (String, Box<dyn Fn(&Measures) -> f64>, f64, usize);

impl Wanted {
    /// What one use of a household's line wants.
    pub fn of_use(one: Use) -> Wanted {
        let what = match one {
            Use::Calls => What::Calls(["speech down", "speech up"].map(String::from).into()),
            Use::Games => What::Game(["game down", "game up"].map(String::from)),
            Use::Video => What::Video("video".into()),
            Use::Web => What::Pages("pages".into()),
            Use::Downloads | Use::Uploads => What::Goodput(one.name().into()),
        };
        Wanted { name: one.name().into(), what }
    }

    /// What everybody wants of a household's line: that it answers while downloads or uploads load it.
    pub fn answers() -> Wanted {
        let paths = ["downloads", "uploads"].map(|load| format!("responsiveness.{load}.rpm"));
        Wanted { name: "answers".into(), what: What::Rpm(paths.into()) }
    }

    /// What the flows of a scenario want, by the measures of its runs: each group of flows what it is for, its probes that they are answered,
    /// and all that the link is used and nobody waits.
    pub fn of_runs<'a>(groups: &[String], runs: impl IntoIterator<Item = &'a Measures>) -> Vec<Wanted> {
        let paths: BTreeSet<&String> = runs.into_iter().flat_map(BTreeMap::keys).collect();
        let of_group = |name: &String| {
            let has = |what: &str| paths.contains(&format!("group.{name}.{what}"));
            let what = match () {
                () if has("datagrams.calls.mos") => What::Calls(vec![name.clone()]),
                () if has("video.chunks") => What::Video(name.clone()),
                () if has("transfers.pages.started") => What::Pages(name.clone()),
                () if has("took_s") => What::Transfers(name.clone()),
                () => What::Goodput(name.clone()),
            };
            Wanted { name: name.clone(), what }
        };
        let of_probes = |path: &&String| {
            let load = path.strip_prefix("responsiveness.")?.strip_suffix("rpm")?;
            let name = format!("{} answers", load.trim_end_matches('.'));
            let is_whole = load.is_empty() || load.ends_with('.');
            is_whole.then(|| Wanted { name: name.trim().into(), what: What::Rpm(vec![(*path).clone()]) })
        };
        let link = Wanted { name: "link".into(), what: What::Power };
        groups.iter().map(of_group).chain(paths.iter().filter_map(of_probes)).chain([link]).collect()
    }

    /// What a run gave of it; NaN: nothing is known.
    pub(crate) fn got(&self, m: &Measures) -> f64 {
        let of = |path: &str| value(m, path);
        let group = |name: &str, what: &str| of(&format!("group.{name}.{what}"));
        match &self.what {
            What::Calls(ways) => ways
                .iter()
                .map(|way| group(way, "datagrams.calls.mos"))
                .fold(5.0, |a, b| both(a, b, f64::min)),
            What::Game([way, back]) => {
                let round_trip = group(way, "datagrams.delay_ms.p95") + group(back, "datagrams.delay_ms.p95");
                let loss = both(group(way, "datagrams.loss"), group(back, "datagrams.loss"), f64::max);
                let qoo = GAME.as_ref().map_or(f64::NAN, |profile| {
                    profile.qoo(Measured { delays_ms: &[round_trip], loss, capacity_bps: f64::INFINITY })
                });
                if (round_trip + loss).is_finite() { qoo } else { f64::NAN }
            }
            What::Video(name) => {
                let stood = group(name, "video.stalled_s") / group(name, "flows").max(1.0) / of(WINDOW);
                let stood = if stood.is_finite() { stood.min(1.0) } else { f64::NAN };
                group(name, "video.bitrate_bps") * (1.0 - stood)
            }
            What::Pages(name) | What::Transfers(name) => group(name, "took_s"),
            What::Goodput(name) if group(name, "flows") == 0.0 => f64::NAN,
            What::Goodput(name) => group(name, "goodput_bps"),
            What::Rpm(paths) => {
                paths.iter().map(|path| of(path)).fold(f64::INFINITY, |a, b| both(a, b, f64::min))
            }
            What::Power => of("power"),
        }
    }

    /// Is what a run gave of it not known to its end? Where that is so of all, nothing tells them apart.
    pub(crate) fn is_open(&self, m: &Measures) -> bool {
        match &self.what {
            What::Pages(name) | What::Transfers(name) => value(m, &format!("group.{name}.took_open")) == 1.0,
            _ => false,
        }
    }

    /// Of what each discipline got with the same draw, its score, 0 to 1: of calls the part of the range of opinions, of games the Quality of
    /// Outcome, of times the least over one's own and of the others what it is beside the best discipline's. What nobody has a value of counts for nobody (NaN), nor does a game that nobody can play; who has none
    /// where others have one has 0.
    pub(crate) fn scores(&self, got: &[f64]) -> Vec<f64> {
        let known = || got.iter().copied().filter(|v| v.is_finite());
        let (least, most) = (known().fold(f64::NAN, f64::min), known().fold(f64::NAN, f64::max));
        let heard = mos(r(0.0, G711_PLC, 0.0, 1.0, Echo::Cancelled)) - 1.0;
        // Of a scale of its own.
        let on_scale = |share: f64| match share.is_finite() {
            true => share,
            false if most.is_finite() => 0.0,
            false => f64::NAN,
        };
        let one = |value: &f64| match self.what {
            What::Calls(_) => on_scale((value - 1.0) / heard),
            What::Game(_) if most <= 0.0 => f64::NAN,
            What::Game(_) => on_scale(value / 100.0),
            What::Pages(_) | What::Transfers(_) if least.is_nan() => f64::NAN,
            What::Pages(_) | What::Transfers(_) => least_over(least, *value),
            _ => part(*value, most),
        };
        got.iter().map(one).collect()
    }

    /// Its columns in a table of effects.
    pub(crate) fn columns(&self, of_line: bool) -> Vec<Column> {
        let named =
            |own: &str, what: &str| if of_line { own.to_string() } else { format!("{} ({what})", self.name) };
        let own = self.clone();
        let column = |heading: String, factor: f64, digits: usize| -> Column {
            (heading, Box::new(move |m| own.got(m)), factor, digits)
        };
        match &self.what {
            What::Calls(_) => vec![column(named("call (MOS)", "MOS"), 1.0, 2)],
            What::Game(_) => vec![column(named("game (QoO)", "QoO"), 1.0, 0)],
            What::Video(_) => vec![column(named("video (Mbit/s)", "Mbit/s"), 1e-6, 2)],
            What::Pages(name) => {
                let path = format!("group.{name}.transfers.pages.");
                vec![
                    column(named("page (s)", "s"), 1.0, if of_line { 2 } else { 3 }),
                    share(
                        named("complete (%)", "complete, %"),
                        format!("{path}completed"),
                        format!("{path}started"),
                    ),
                ]
            }
            What::Transfers(name) => {
                let path = format!("group.{name}.transfers.");
                vec![
                    column(named("flow (s)", "s"), 1.0, 3),
                    share(
                        named("complete (%)", "complete, %"),
                        format!("{path}completed"),
                        format!("{path}started"),
                    ),
                ]
            }
            What::Goodput(name) => {
                let way = if name == Use::Downloads.name() { "down (Mbit/s)" } else { "up (Mbit/s)" };
                vec![column(named(way, "Mbit/s"), 1e-6, if of_line { 1 } else { 2 })]
            }
            What::Rpm(_) => vec![column(named("RPM", "RPM"), 1.0, 0)],
            What::Power => vec![column(named("power", "power"), 1.0, 2)],
        }
    }
}

/// A measure of a run; NaN: there is none.
pub(crate) fn value(m: &Measures, path: &str) -> f64 {
    m.get(path).copied().unwrap_or(f64::NAN)
}

/// A column of what one measure is of another, per cent.
fn share(heading: String, part: String, whole: String) -> Column {
    (heading, Box::new(move |m| value(m, &part) / value(m, &whole)), 100.0, 0)
}

/// What a household's table has beside what is wanted, and no score is of: packets that queues drop (the worse direction), and the slowest
/// download beside the fastest, or the slowest upload if that is less. Of a flow that is alone there is none.
pub(crate) fn beside() -> Vec<Column> {
    fn least(m: &Measures, group: &str) -> f64 {
        let of = |what: &str| value(m, &format!("group.{group}.{what}"));
        if of("flows") > 1.0 { of("flow_mbps.min") / of("flow_mbps.max") } else { f64::NAN }
    }
    let ways: [&[&str]; 2] = [&["isp", "down"], &["up"]];
    let lost = move |m: &Measures| {
        // Of those that come to the first, what comes out behind the last.
        let arrives = |ports: &[&str]| {
            let drops = ports.iter().map(|port| value(m, &format!("port.{port}.drop_fraction")));
            drops.filter(|share| share.is_finite()).map(|share| 1.0 - share).product::<f64>()
        };
        ways.iter().map(|ports| 1.0 - arrives(ports)).fold(0.0, f64::max)
    };
    vec![
        ("lost (%)".into(), Box::new(lost), 100.0, 1),
        (
            "least share (%)".into(),
            Box::new(|m| least(m, Use::Downloads.name()).min(least(m, Use::Uploads.name()))),
            100.0,
            0,
        ),
    ]
}

/// One of two; of one that is not known nothing is.
fn both(one: f64, other: f64, which: fn(f64, f64) -> f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { which(one, other) }
}

/// Of a time beside the least one; nothing of none.
fn least_over(least: f64, own: f64) -> f64 {
    match own.is_finite() {
        false => 0.0,
        true if own == least => 1.0,
        true => least / own,
    }
}

/// What is had beside the best.
fn part(value: f64, whole: f64) -> f64 {
    match (value.is_finite(), whole.is_finite()) {
        (_, false) => f64::NAN,
        (false, true) => 0.0,
        // Nobody gets anything.
        _ if whole == 0.0 => 1.0,
        _ => (value / whole).clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_results::{Detail, Group, Transfer};

    fn measures(of: &[(&str, f64)]) -> Measures {
        of.iter().map(|(path, value)| ((*path).to_string(), *value)).collect()
    }

    #[test]
    fn uses_are_scored_as_said() {
        let calls = Wanted::of_use(Use::Calls).scores(&[1.0, 4.0, f64::NAN]);
        // By G.107 nobody hears better than 4.41 without echo: the best score is 1, none at all is 0.
        assert!(calls[0] == 0.0 && (calls[1] - 3.0 / 3.41).abs() < 1e-2, "{calls:?}");
        // Who has no opinion where others have one has 0, and is not scored on the other uses alone.
        assert_eq!(calls[2], 0.0);
        for nobody in [f64::NAN, 0.0] {
            assert!(Wanted::of_use(Use::Games).scores(&[nobody; 2]).iter().all(|s| s.is_nan()));
        }
        // No page came: that is the worst, and no unknown.
        assert_eq!(Wanted::of_use(Use::Web).scores(&[2.0, 1.0, f64::NAN]), [0.5, 1.0, 0.0]);
        assert_eq!(Wanted::of_use(Use::Downloads).scores(&[10.0, 8.0, 0.0]), [1.0, 0.8, 0.0]);
        assert_eq!(Wanted::of_use(Use::Uploads).scores(&[0.0, 0.0]), [1.0, 1.0]);
    }

    #[test]
    fn a_call_is_as_good_as_its_worse_direction() {
        let (down, up) = ("group.speech down.datagrams.calls.mos", "group.speech up.datagrams.calls.mos");
        let mos = |of: &[(&str, f64)]| Wanted::of_use(Use::Calls).got(&measures(of));
        assert_eq!(mos(&[(down, 4.3), (up, 1.2)]), 1.2);
        assert_eq!(mos(&[(down, 2.0), (up, 4.1)]), 2.0);
        // A way that is not known is not the better one.
        assert!(mos(&[(down, 4.1)]).is_nan());
        let game = [
            ("group.game down.datagrams.delay_ms.p95", 10.0),
            ("group.game up.datagrams.delay_ms.p95", 10.0),
            ("group.game up.datagrams.loss", 0.0),
        ];
        assert!(Wanted::of_use(Use::Games).got(&measures(&game)).is_nan());
    }

    /// Who completes the small half of the pages has not the least time: those that are not complete have waited until the end.
    #[test]
    fn pages_that_never_come_count() {
        let page = |number: u32, start_s: f64, fct_s: Option<f64>| Transfer {
            group: 1,
            page: Some(number),
            bytes: 1,
            start_s,
            fct_s,
            startup_s: None,
            drops: 0,
            lost: 0,
            retransmits: 0,
        };
        let run = |transfers: Vec<Transfer>| {
            let groups =
                ["files", "pages"].map(|name| Group { name: name.into(), ..Group::default() }).into();
            let detail = Detail { transfers, ..Detail::default() };
            measured(&Run { duration_s: 60.0, warmup_s: 10.0, groups, detail, ..Run::default() })
        };
        // Three pages of two flows each; one in the warm-up counts for nothing.
        let slow = run(vec![
            page(0, 5.0, Some(1.0)),
            page(1, 20.0, Some(4.0)),
            page(1, 20.0, Some(3.0)),
            page(2, 30.0, Some(10.0)),
            page(3, 40.0, Some(12.0)),
        ]);
        let small_alone = run(vec![
            page(0, 5.0, Some(1.0)),
            page(1, 20.0, Some(2.0)),
            page(1, 20.0, Some(1.0)),
            page(2, 30.0, None),
            page(3, 40.0, None),
        ]);
        let web = Wanted::of_use(Use::Web);
        let got = [&slow, &small_alone].map(|m| web.got(m));
        assert_eq!((got, slow[WINDOW]), ([10.0, 20.0], 50.0));
        assert_eq!(web.scores(&got), [1.0, 0.5]);
        assert!(!slow.contains_key("group.files.took_s"));
        assert!(web.is_open(&small_alone) && !web.is_open(&slow));
        // All in the warm-up: there is nothing else to go by.
        let early = run(vec![page(0, 5.0, Some(1.0)), page(1, 6.0, None)]);
        assert_eq!(web.got(&early), 1.0);
    }

    /// What a flow has that is alone is no share; of two directions the worse counts.
    #[test]
    fn the_least_share_is_of_several() {
        let share = |downloads: f64, uploads: f64| {
            let of = |name: &str, flows: f64, min: f64| {
                [("flows", flows), ("flow_mbps.min", min), ("flow_mbps.max", 8.0)]
                    .map(|(what, v)| (format!("group.{name}.{what}"), v))
            };
            let m: Measures =
                of("downloads", downloads, 6.0).into_iter().chain(of("uploads", uploads, 2.0)).collect();
            beside()[1].1(&m)
        };
        assert_eq!([share(2.0, 1.0), share(1.0, 4.0), share(3.0, 4.0)], [0.75, 0.25, 0.25]);
        assert!(share(1.0, 1.0).is_nan());
    }

    /// Two players of which one stands for half of 10 s play for three quarters of the time.
    #[test]
    fn a_player_that_stands_plays_less() {
        let of = [
            ("group.video.video.bitrate_bps", 4e6),
            ("group.video.video.stalled_s", 5.0),
            ("group.video.flows", 2.0),
            (WINDOW, 10.0),
        ];
        assert_eq!(Wanted::of_use(Use::Video).got(&measures(&of)), 3e6);
    }

    #[test]
    fn a_scenario_wants_what_its_flows_are_for() {
        let of = [
            ("group.my calls.datagrams.calls.mos", 4.0),
            ("group.my calls.goodput_bps", 6e4),
            ("group.v1.5.video.chunks", 7.0),
            ("group.pages.transfers.pages.started", 3.0),
            ("group.mice.took_s", 0.1),
            ("group.bulk.goodput_bps", 9e6),
            ("group.a.goodput_bps", 5e5),
            ("group.a.flows", 1.0),
            ("group.a.video.x.goodput_bps", 1e5),
            ("group.none.goodput_bps", 0.0),
            ("group.none.flows", 0.0),
            ("group.early.took_s", 2.0),
            ("group.early.flows", 2.0),
            ("responsiveness.rpm", 900.0),
            ("responsiveness.foreign_rpm", 800.0),
            ("power", 0.9),
        ];
        let m = measures(&of);
        let groups = ["my calls", "v1.5", "pages", "mice", "bulk"].map(String::from);
        let wanted = Wanted::of_runs(&groups, [&m]);
        let each: Vec<_> = wanted.iter().map(|w| (w.name.as_str(), w.got(&m))).collect();
        assert_eq!(each[0], ("my calls", 4.0));
        assert_eq!((each[1].0, each[2].0, each[3], each[4]), ("v1.5", "pages", ("mice", 0.1), ("bulk", 9e6)));
        assert_eq!(each[5..], [("answers", 900.0), ("link", 0.9)]);
        // A name that another's begins with; a group without flows; flows that were complete before the measures began.
        let others = ["a", "a.video.x", "none", "early"].map(String::from);
        let wanted = Wanted::of_runs(&others, [&m]);
        let got: Vec<f64> = wanted.iter().map(|w| w.got(&m)).collect();
        assert_eq!((got[0], got[1], got[2].is_nan(), got[3]), (5e5, 1e5, true, 2.0));
    }
}
