//! Results as sheets: every column once, with its unit and what it says. CSV files, Arrow tables and
//! `docs/sheets.md` are made from these.

use crate::{
    Backlog, Calls, Datagrams, Distribution, Flow, Group, GroupHarm, Jitter, LossEvents, LossPattern, Pages,
    Port, Queue, Recovery, Responsiveness, Results, Run, Sojourn, Transfer, Transfers, Video,
};
use queuewright_aqm::REASON_NAMES;
use std::borrow::Cow;
use std::fmt::Write;

/// Rows and columns.
#[derive(Debug)]
pub struct Sheet<'a> {
    /// Name: of the file, less `.csv`, and of the table in Python.
    pub name: &'static str,
    /// What a row is of.
    pub row: &'static str,
    /// Columns, all of one length.
    pub columns: Vec<Column<'a>>,
}

/// A column.
#[derive(Debug)]
pub struct Column<'a> {
    /// Name: with its unit where it has one, such as `sojourn_ms_p99`.
    pub name: Cow<'static, str>,
    /// `ms`, `s`, `bit/s`, `bytes`, `packets`, `share` (0 to 1), `index` (0 to 1), or empty.
    pub unit: &'static str,
    /// What it says.
    pub about: Cow<'static, str>,
    /// Where in the sheet it belongs.
    pub kind: Kind,
    /// A value a row.
    pub values: Values<'a>,
}

/// Where a column belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Says of which run the row is; a file that is of one run lacks it.
    Run,
    /// What the row is about, or a measure.
    Plain,
    /// Differs from machine to machine: files of a comparison, which do not, lack it.
    Machine,
}

/// Values, one a row.
#[derive(Debug)]
pub enum Values<'a> {
    /// Names and words.
    Text(Vec<Cow<'a, str>>),
    /// Whole numbers.
    Count(Vec<u64>),
    /// Whole numbers; none where the row has nothing of that kind.
    CountIf(Vec<Option<u64>>),
    /// Numbers; one that is not finite is not known.
    Number(Vec<f64>),
}

impl Sheet<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| match &c.values {
            Values::Text(v) => v.len(),
            Values::Count(v) => v.len(),
            Values::CountIf(v) => v.len(),
            Values::Number(v) => v.len(),
        })
    }
}

/// A part of a distribution: its name and value.
type Part<T> = (&'static str, &'static str, fn(&T) -> f64);

const SOJOURN: [Part<Sojourn>; 9] = [
    ("mean", "mean", |s| s.mean),
    ("std", "standard deviation", |s| s.std),
    ("p25", "25th percentile", |s| s.p25),
    ("p50", "median", |s| s.p50),
    ("p75", "75th percentile", |s| s.p75),
    ("p95", "95th percentile", |s| s.p95),
    ("p99", "99th percentile", |s| s.p99),
    ("p99_9", "99.9th percentile", |s| s.p99_9),
    ("max", "largest", |s| s.max),
];

const DISTRIBUTION: [Part<Distribution>; 6] = [
    ("mean", "mean", |d| d.mean),
    ("p50", "median", |d| d.p50),
    ("p75", "75th percentile", |d| d.p75),
    ("p95", "95th percentile", |d| d.p95),
    ("p99", "99th percentile", |d| d.p99),
    ("max", "largest", |d| d.max),
];

const JITTER: [Part<Jitter>; 4] = [
    ("mean", "mean", |j| j.mean),
    ("p95", "95th percentile", |j| j.p95),
    ("p99", "99th percentile", |j| j.p99),
    ("max", "largest", |j| j.max),
];

/// A sheet as it grows.
struct SheetBuilder<'a, R> {
    rows: Vec<R>,
    columns: Vec<Column<'a>>,
}

impl<'a, R> SheetBuilder<'a, R> {
    /// Each sheet begins with whose run a row is of.
    fn new(rows: Vec<R>, run: impl Fn(&R) -> &'a Run) -> Self {
        let mut sheet = SheetBuilder { rows, columns: Vec::new() };
        sheet.text("discipline", "label of the run's discipline", |r| run(r).discipline.as_str().into());
        sheet.count("seed", "", "seed of the run", |r| run(r).seed);
        sheet.columns.iter_mut().for_each(|c| c.kind = Kind::Run);
        sheet
    }

    fn put(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        about: impl Into<Cow<'static, str>>,
        values: Values<'a>,
    ) {
        let (name, about) = (name.into(), about.into());
        self.columns.push(Column { name, unit, about, kind: Kind::Plain, values });
    }

    fn text(&mut self, name: &'static str, about: &'static str, of: impl Fn(&R) -> Cow<'a, str>) {
        self.put(name, "", about, Values::Text(self.rows.iter().map(of).collect()));
    }

    fn count(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        about: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> u64,
    ) {
        self.put(name, unit, about, Values::Count(self.rows.iter().map(of).collect()));
    }

    fn count_if(
        &mut self,
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<u64>,
    ) {
        self.put(name, unit, about, Values::CountIf(self.rows.iter().map(of).collect()));
    }

    fn number(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        about: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> f64,
    ) {
        self.put(name, unit, about, Values::Number(self.rows.iter().map(of).collect()));
    }

    /// The parts of a distribution that are named, of nothing where a row has none.
    fn parts<T>(
        &mut self,
        name: &str,
        unit: &'static str,
        about: &str,
        parts: &[Part<T>],
        of: impl Fn(&R) -> Option<T>,
    ) {
        for (part, words, value) in parts {
            self.number(format!("{name}_{part}"), unit, format!("{words} of {about}"), |r| {
                of(r).as_ref().map_or(f64::NAN, value)
            });
        }
    }

    fn backlog(&mut self, name: &str, unit: &'static str, of: impl Fn(&R) -> Backlog) {
        let about = format!("what waits, over time, in {unit}");
        let parts: [Part<Backlog>; 2] = [("mean", "mean", |b| b.mean), ("max", "largest", |b| b.max)];
        self.parts(name, unit, &about, &parts, |r| Some(of(r)));
    }

    fn sheet(self, name: &'static str, row: &'static str) -> Sheet<'a> {
        Sheet { name, row, columns: self.columns }
    }
}

/// A row for each run and port.
pub fn runs(results: &Results) -> Sheet<'_> {
    let rows = results.runs.iter().flat_map(|run| run.ports.iter().map(move |port| (run, port)));
    let mut c = SheetBuilder::new(rows.collect(), |r: &(&Run, &Port)| r.0);
    c.text("engine", "`sim` or `linux`", |r| r.0.engine.as_str().into());
    c.text("port", "name of the port", |r| r.1.name.as_str().into());
    c.text("port_discipline", "label of the discipline at the port: the run's, or its own", |(run, port)| {
        if port.discipline.is_empty() { run.discipline.as_str() } else { port.discipline.as_str() }.into()
    });
    c.number("duration_s", "s", "length of the run, warm-up included", |r| r.0.duration_s);
    c.number("warmup_s", "s", "what of it is cut off the front of every measure", |r| r.0.warmup_s);
    c.number(
        "utilization",
        "share",
        "of the link's capacity used; above 1 only by the credit of a burst",
        |r| r.1.utilization,
    );
    c.count("packets", "packets", "sent", |r| r.1.packets);
    c.parts("sojourn_ms", "ms", "the time from enqueue to the start of transmission", &SOJOURN, |r| {
        Some(r.1.sojourn_ms)
    });
    c.backlog("backlog_packets", "packets", |r| r.1.backlog_packets);
    c.backlog("backlog_bytes", "bytes", |r| r.1.backlog_bytes);
    c.number("drop_fraction", "share", "dropped packets of those that arrived", |r| r.1.drop_fraction);
    c.number("mark_fraction", "share", "marked packets of those that arrived", |r| r.1.mark_fraction);
    // All of them, so that sheets of several scenarios go together; the first is no reason.
    for reason in &REASON_NAMES[1..] {
        let of = |r: &(&Run, &Port)| r.1.drops.get(*reason).copied().unwrap_or_default();
        c.count(format!("drops_{reason}"), "packets", format!("dropped, reason `{reason}`"), of);
    }
    for reason in &REASON_NAMES[1..] {
        let of = |r: &(&Run, &Port)| r.1.marks.get(*reason).copied().unwrap_or_default();
        c.count(format!("marks_{reason}"), "packets", format!("marked, reason `{reason}`"), of);
    }
    c.count_if(
        "lost",
        "packets",
        "lost on the link behind the port, of those sent; only of links with loss",
        |r| r.1.lost,
    );
    let events = |r: &(&Run, &Port)| r.1.loss_events;
    c.count_if("loss_events", "", "a drop and all that follow it within a mean base RTT", |r| {
        Some(r.1.loss_events?.count)
    });
    let synchronisation: [Part<LossEvents>; 2] =
        [("mean", "mean", |e| e.synchronisation), ("p50", "median", |e| e.synchronisation_p50)];
    let about = "the share of the active flows that lose packets in a loss event";
    c.parts("synchronisation", "share", about, &synchronisation, events);
    let seen = |r: &(&Run, &Port)| r.1.recovery;
    c.count_if("changes", "", "of the link's rate or of the load, after which a recovery was seen", |r| {
        Some(r.1.recovery?.changes)
    });
    let times: [(&str, &str, [Part<Recovery>; 2]); 2] = [
        (
            "recovery_queue_s",
            "the time from a change until the queue is no longer than later",
            [("mean", "mean", |r| r.queue_s.mean), ("max", "longest", |r| r.queue_s.max)],
        ),
        (
            "recovery_rate_s",
            "the time from a change until the link carries no less than later",
            [("mean", "mean", |r| r.rate_s.mean), ("max", "longest", |r| r.rate_s.max)],
        ),
    ];
    for (name, about, parts) in &times {
        c.parts(name, "s", about, parts, seen);
    }
    c.number("goodput_bps", "bit/s", "of all flows together", |r| r.0.goodput_bps());
    c.number("jain", "index", "Jain's fairness index of the flows' goodput", |r| r.0.jain);
    c.number("wall_s", "s", "that the run took on this machine", |r| r.0.wall_s);
    c.columns.last_mut().expect("just put").kind = Kind::Machine;
    c.text("parameters", "of the discipline at the port, `name=value` with spaces between", |(run, port)| {
        let all = if port.discipline.is_empty() { &run.parameters } else { &port.parameters };
        let named: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        named.join(" ").into()
    });
    c.sheet("runs", "run and port")
}

/// A row for each run and queue, of disciplines with several queues that are measured apart.
pub fn queues(results: &Results) -> Sheet<'_> {
    let mut rows: Vec<(&Run, &Port, &Queue)> = Vec::new();
    for run in &results.runs {
        for port in &run.ports {
            rows.extend(port.queues.iter().map(|queue| (run, port, queue)));
        }
    }
    let mut c = SheetBuilder::new(rows, |r| r.0);
    c.text("port", "name of the port", |r| r.1.name.as_str().into());
    c.text("queue", "name of the queue", |r| r.2.name.as_str().into());
    c.number("rate_bps", "bit/s", "sent, as the link counts", |r| r.2.rate_bps);
    c.count("packets", "packets", "sent", |r| r.2.packets);
    c.parts("sojourn_ms", "ms", "the time from enqueue to the start of transmission", &SOJOURN, |r| {
        Some(r.2.sojourn_ms)
    });
    c.backlog("backlog_packets", "packets", |r| r.2.backlog_packets);
    c.backlog("backlog_bytes", "bytes", |r| r.2.backlog_bytes);
    c.number("drop_fraction", "share", "dropped packets of those that arrived", |r| r.2.drop_fraction);
    c.number("mark_fraction", "share", "marked packets of those that arrived", |r| r.2.mark_fraction);
    c.sheet("queues", "run, port and queue, of disciplines with several queues")
}

/// A row for each run and group of flows.
pub fn groups(results: &Results) -> Sheet<'_> {
    let rows = results.runs.iter().flat_map(|run| run.groups.iter().map(move |g| (run, g)));
    let mut c = SheetBuilder::new(rows.collect(), |r: &(&Run, &Group)| r.0);
    c.text("group", "name of the group", |r| r.1.name.as_str().into());
    c.text("cca", "congestion control, or the key of its UDP traffic, such as `cbr`", |r| {
        r.1.cca.as_str().into()
    });
    c.count("flows", "flows", "those that came and went included", |r| r.1.flows.into());
    c.number("goodput_bps", "bit/s", "of its flows together", |r| r.1.goodput_bps);

    fn datagrams<'a>(r: &(&'a Run, &'a Group)) -> Option<&'a Datagrams> {
        r.1.datagrams.as_ref()
    }
    c.count_if("datagrams_received", "packets", "datagrams that arrived", |r| Some(datagrams(r)?.received));
    c.count_if("datagrams_lost", "packets", "datagrams that queues dropped or links lost", |r| {
        Some(datagrams(r)?.lost)
    });
    c.number("loss", "share", "lost datagrams of those that were lost or arrived", |r| {
        datagrams(r).map_or(f64::NAN, |d| d.loss)
    });
    c.parts("delay_ms", "ms", "a datagram's time from sender to receiver", &SOJOURN, |r| {
        Some(datagrams(r)?.delay_ms)
    });
    c.parts("jitter_ms", "ms", "how much later a datagram comes than its flow's quickest", &JITTER, |r| {
        Some(datagrams(r)?.jitter_ms)
    });
    fn pattern(r: &(&Run, &Group)) -> Option<LossPattern> {
        datagrams(r)?.loss_pattern
    }
    c.count_if("loss_periods", "", "runs of lost datagrams", |r| Some(pattern(r)?.periods));
    c.number("loss_period_packets", "packets", "mean length of such a run", |r| {
        pattern(r).map_or(f64::NAN, |p| p.period_packets)
    });
    c.number("loss_noticeable_rate", "share", "of lost datagrams: those lost within 99 after another", |r| {
        pattern(r).map_or(f64::NAN, |p| p.noticeable_rate)
    });
    c.number("burst_r", "", "mean length of a run of losses over that of random loss", |r| {
        pattern(r).map_or(f64::NAN, |p| p.burst_r)
    });
    let calls: [Part<Calls>; 4] = [
        ("mos", "mean opinion score of telephone calls, 1 to 4.5, mean", |c| c.mos),
        ("mos_worst", "the same of the worst call", |c| c.mos_worst),
        ("r", "transmission rating of telephone calls, mean", |c| c.r),
        ("r_worst", "the same of the worst call", |c| c.r_worst),
    ];
    for (name, about, value) in calls {
        c.number(name, "", about, |r| datagrams(r).and_then(|d| d.calls.as_ref()).map_or(f64::NAN, value));
    }

    fn transfers<'a>(r: &(&'a Run, &'a Group)) -> Option<&'a Transfers> {
        r.1.transfers.as_ref()
    }
    c.count_if("started", "flows", "with an end, started after the warm-up", |r| Some(transfers(r)?.started));
    c.count_if("completed", "flows", "of these, complete when the run ended", |r| {
        Some(transfers(r)?.completed)
    });
    c.count_if("drops", "packets", "of these, that queues dropped, without acknowledgements", |r| {
        Some(transfers(r)?.drops)
    });
    c.count_if("lost", "packets", "of these, that links lost, without acknowledgements", |r| {
        Some(transfers(r)?.lost)
    });
    c.count_if("retransmits", "segments", "that these sent again", |r| Some(transfers(r)?.retransmits));
    let fct = |r: &(&Run, &Group)| transfers(r)?.fct_s.get("all").copied();
    c.parts("fct_s", "s", "the time from a flow's SYN to its last byte's arrival", &DISTRIBUTION, fct);
    let about = "the time from a flow's SYN, or its client's request, to its first data byte's arrival";
    c.parts("startup_s", "s", about, &DISTRIBUTION, |r| Some(transfers(r)?.startup_s));
    fn pages<'a>(r: &(&'a Run, &'a Group)) -> Option<&'a Pages> {
        transfers(r)?.pages.as_ref()
    }
    c.count_if("pages_started", "pages", "started after the warm-up", |r| Some(pages(r)?.started));
    c.count_if("pages_completed", "pages", "of these, complete when the run ended", |r| {
        Some(pages(r)?.completed)
    });
    c.parts(
        "plt_s",
        "s",
        "the page load time, from its start to the last byte of its last flow",
        &DISTRIBUTION,
        |r| Some(pages(r)?.plt_s),
    );

    c.parts("page_drops", "packets", "a page's packets that queues dropped", &DISTRIBUTION, |r| {
        Some(pages(r)?.drops)
    });

    let video = |r: &(&Run, &Group)| r.1.video;
    c.count_if("video_chunks", "chunks", "of video that arrived", |r| Some(video(r)?.chunks));
    c.number("video_bitrate_bps", "bit/s", "mean over the chunks", |r| {
        video(r).map_or(f64::NAN, |v| v.bitrate_bps)
    });
    c.count_if("video_switches", "", "changes of the bitrate", |r| Some(video(r)?.switches));
    c.count_if("video_stalls", "", "how often players stood still for lack of data", |r| {
        Some(video(r)?.stalls)
    });
    c.number("video_stalled_s", "s", "for how long, all players together", |r| {
        video(r).map_or(f64::NAN, |v| v.stalled_s)
    });
    c.number("video_startup_s", "s", "from the SYN to the first picture, mean over players", |r| {
        video(r).map_or(f64::NAN, |v| v.startup_s)
    });
    let quality: [Part<Video>; 2] = [
        ("video_linear_qoe", "linear quality of experience per chunk", |v| v.linear_qoe),
        ("video_stalling_index", "stalling index, 1 (none) towards 0, mean over players", |v| {
            v.stalling_index
        }),
    ];
    for (name, about, value) in quality {
        let unit = if name == "video_linear_qoe" { "Mbit/s" } else { "" };
        c.number(name, unit, about, |r| video(r).as_ref().map_or(f64::NAN, value));
    }
    fn harm<'a>(r: &(&'a Run, &'a Group)) -> Option<&'a GroupHarm> {
        r.1.harm.as_ref()
    }
    let harms: [Part<GroupHarm>; 6] = [
        (
            "harm_goodput",
            "of its goodput without the groups of `--without`: what it loses beside them",
            |h| h.goodput,
        ),
        ("harm_delay", "the same of its packets' base round-trip time and waiting", |h| h.delay),
        ("harm_completed", "the same of its complete transfers", |h| h.completed),
        ("harm_fct", "the same of the 95th percentile of its completion times", |h| h.fct),
        ("harm_plt", "the same of its median page load time", |h| h.plt),
        ("harm_delivered", "the same of what is delivered of its datagrams", |h| h.delivered),
    ];
    for (name, about, value) in harms {
        c.number(name, "share", about, |r| harm(r).map_or(f64::NAN, value));
    }
    c.number("fair_bps", "bit/s", "its max-min fair share of goodput beside these groups", |r| {
        harm(r).map_or(f64::NAN, |h| h.fair_bps)
    });
    c.sheet("groups", "run and group of flows")
}

/// A row for each run and flow.
pub fn flows(results: &Results) -> Sheet<'_> {
    let rows = results.runs.iter().flat_map(|run| run.flows.iter().map(move |f| (run, f)));
    let mut c = SheetBuilder::new(rows.collect(), |r: &(&Run, &Flow)| r.0);
    c.count("flow", "", "number of the flow, from 0", |r| r.1.id.into());
    c.text("group", "name of its group", |r| r.1.group.as_str().into());
    c.text("cca", "congestion control, or the key of its UDP traffic, such as `cbr`", |r| {
        r.1.cca.as_str().into()
    });
    c.number("base_rtt_ms", "ms", "round-trip time without queues", |r| r.1.base_rtt_ms);
    c.number("goodput_bps", "bit/s", "payload that arrived, over the flow's time", |r| r.1.goodput_bps);
    c.number("sojourn_ms", "ms", "mean time that its packets waited in queues", |r| r.1.sojourn_ms);
    c.number("srtt_ms", "ms", "mean smoothed round-trip time; not of UDP", |r| {
        r.1.srtt_ms.unwrap_or(f64::NAN)
    });
    c.count("retransmits", "segments", "sent again", |r| r.1.retransmits);
    c.count("timeouts", "", "of retransmission", |r| r.1.timeouts);
    c.number("fct_s", "s", "from the SYN to the last byte's arrival; unknown if it did not finish", |r| {
        r.1.fct_s.unwrap_or(f64::NAN)
    });
    c.sheet("flows", "run and flow")
}

/// A row for each run and entry of flows that probes measure the network beside.
pub fn responsiveness(results: &Results) -> Sheet<'_> {
    let rows = results.runs.iter().flat_map(|run| run.responsiveness.iter().map(move |r| (run, r)));
    let rows: Vec<(&Run, &Responsiveness)> = rows.collect();
    let named = crate::quality::qoo::named().into_iter().map(|profile| profile.name);
    let mut profiles: Vec<String> = named.collect();
    for name in rows.iter().flat_map(|(_, r)| r.qoo.keys()) {
        if !profiles.contains(name) {
            profiles.push(name.clone());
        }
    }
    let mut c = SheetBuilder::new(rows, |r: &(&Run, &Responsiveness)| r.0);
    c.text("load", "name of the entry whose flows make the load", |r| r.1.load.as_str().into());
    c.number("rpm", "1/min", "responsiveness: the mean of the next two", |r| r.1.rpm);
    c.number("foreign_rpm", "1/min", "round trips on connections of their own", |r| r.1.foreign_rpm);
    c.number("loaded_rpm", "1/min", "round trips on the connections that make the load", |r| r.1.loaded_rpm);
    c.number("idle_rpm", "1/min", "round trips on connections of their own where nothing else is", |r| {
        r.1.idle_rpm
    });
    c.text("confidence", "how far `rpm` can be relied on: `low`, `medium`, `high`", |r| {
        r.1.confidence.as_str().into()
    });
    c.parts("rtt_ms", "ms", "the round-trip time on connections of their own", &DISTRIBUTION, |r| {
        Some(r.1.rtt_ms)
    });
    c.number("idle_rtt_ms", "ms", "mean of the same where nothing else is", |r| r.1.idle_rtt_ms);
    c.number("loss", "share", "of the packets of these connections that were lost", |r| r.1.loss);
    c.text("grade", "letter of a bufferbloat test, `A+` to `F`", |r| {
        r.1.grade.as_deref().unwrap_or("").into()
    });
    for name in profiles {
        c.number(
            format!("qoo_{}", name.replace('-', "_")),
            "",
            format!("Quality of Outcome of `{name}`, 0 to 100"),
            |r| r.1.qoo.get(&name).copied().flatten().unwrap_or(f64::NAN),
        );
    }
    c.sheet("responsiveness", "run and entry of flows with probes")
}

/// A row for each run, port and point of the distribution of the sojourn time.
pub fn cdf(results: &Results) -> Sheet<'_> {
    let mut rows: Vec<(&Run, &Port, (f64, f64))> = Vec::new();
    for run in &results.runs {
        for (port, points) in run.ports.iter().zip(&run.detail.sojourn_cdf) {
            rows.extend(points.iter().map(|point| (run, port, *point)));
        }
    }
    let mut c = SheetBuilder::new(rows, |r| r.0);
    c.text("port", "name of the port", |r| r.1.name.as_str().into());
    c.number("sojourn_ms", "ms", "a time from enqueue to the start of transmission", |r| r.2.0);
    c.number("share", "share", "of the packets that waited no longer", |r| r.2.1);
    c.sheet("cdf", "run, port and point of the distribution")
}

/// A row for each flow of these runs that had an end, or came and went, by their starts, the warm-up's included.
pub fn transfers(runs: &[Run]) -> Sheet<'_> {
    let rows = runs.iter().flat_map(|run| run.detail.transfers.iter().map(move |t| (run, t)));
    let mut c = SheetBuilder::new(rows.collect(), |r: &(&Run, &Transfer)| r.0);
    c.text("group", "name of its group", |(run, t)| {
        run.groups.get(t.group as usize).map_or("", |g| g.name.as_str()).into()
    });
    c.count_if("page", "", "number of its page, from 0", |r| r.1.page.map(u64::from));
    c.count("bytes", "bytes", "payload", |r| r.1.bytes);
    c.number("start_s", "s", "start", |r| r.1.start_s);
    c.number("fct_s", "s", "from the SYN to the last byte's arrival; unknown if it did not finish", |r| {
        r.1.fct_s.unwrap_or(f64::NAN)
    });
    c.number("startup_s", "s", "from the SYN, or the request, to the first data byte's arrival", |r| {
        r.1.startup_s.unwrap_or(f64::NAN)
    });
    c.count("drops", "packets", "that queues dropped, without acknowledgements", |r| r.1.drops);
    c.count("lost", "packets", "that links lost, without acknowledgements", |r| r.1.lost);
    c.count("retransmits", "segments", "sent again", |r| r.1.retransmits);
    c.sheet("transfers", "flow that had an end, or came and went")
}

/// The page of all columns, as kept in `docs/sheets.md`.
pub fn page() -> String {
    let none = Results {
        schema: crate::SCHEMA,
        version: String::new(),
        scenario: serde_json::Value::Null,
        runs: Vec::new(),
    };
    let mut page = String::from(
        "# The sheets' columns\n\n\
         What each column of the CSV sheets in a [results folder](results.md#the-folder) is, with its unit. [Python](python.md#results)\n\
         has tables of the same names. Measures leave out the warm-up. What is not known is an empty field, and null in Python. A share\n\
         is 0 to 1. [Results](results.md#the-result-object-schema-2) says how measures are computed.\n",
    );
    for sheet in [
        runs(&none),
        queues(&none),
        groups(&none),
        flows(&none),
        responsiveness(&none),
        cdf(&none),
        transfers(&[]),
    ] {
        let _ = write!(
            page,
            "\n## {}\n\nA row for each {}.\n\n| column | unit | |\n|---|---|---|\n",
            sheet.name, sheet.row
        );
        for c in &sheet.columns {
            let only = match c.kind {
                Kind::Plain => "",
                Kind::Run if sheet.name == "transfers" => "; in Python alone, as a file is of one run",
                Kind::Run => "",
                Kind::Machine => "; in Python alone",
            };
            let _ = writeln!(page, "| `{}` | {} | {}{only} |", c.name, c.unit, c.about);
        }
    }
    page
}
