//! What a page asks for, and what it gets.

use crate::sums::Sums;
use crate::{change, knobs, markdown, rows};
use queuewright_aqm::own::SERIES;
use queuewright_aqm::{REASON_NAMES, find};
use queuewright_cca::Kind;
use queuewright_report::answer;
use queuewright_results::measures::{Better, MEASURES, Measure, by_path};
use queuewright_results::{Detail, Results, Run};
use queuewright_scenario::spec::{Rate, RunSpec};
use queuewright_scenario::units::Unit;
use queuewright_scenario::{Flags, Scenario, catalogue, header, packet};
use queuewright_sim::Playback;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a page may ask for, as JSON: `{"do": "step", "player": 0, "to_ns": 1e9}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Disciplines, congestion controls, names of reasons, and of the series that every port has.
    Catalogue,
    /// A page of the book on a discipline or congestion control, as HTML: up to its first heading.
    Explain {
        /// Its name.
        name: String,
        /// Rather what the page says of its variables.
        #[serde(default)]
        variables: bool,
    },
    /// Markdown as HTML.
    Markdown {
        /// The text.
        text: String,
    },
    /// Reads a scenario; it takes the place of the one before.
    Load {
        /// The text of a file.
        text: String,
        /// What errors call the file.
        name: String,
        /// What stands for keys of it, as on the command line.
        #[serde(default)]
        flags: BTreeMap<String, String>,
    },
    /// Changes the scenario.
    Change {
        /// What.
        path: String,
        /// To what.
        value: Value,
        /// From when on, where that can be said, ns.
        #[serde(default)]
        at_ns: f64,
    },
    /// Begins a run.
    Open {
        /// By this name of the page's.
        player: u32,
        /// Which of the scenario's.
        run: usize,
        /// The series have waiting times, drops and marks at the first port, too.
        #[serde(default)]
        sums: bool,
    },
    /// Goes on to a time, and says how far it is.
    Step {
        /// Which.
        player: u32,
        /// Until when, ns.
        to_ns: f64,
    },
    /// What becomes of packets is kept from now on.
    Watch {
        /// Which.
        player: u32,
        /// At this port.
        port: usize,
    },
    /// The samples that are new, as rows of `f64`: the time, and every column that was named when the run began.
    Series {
        /// Which.
        player: u32,
    },
    /// The packets that are new, or of which there is news: rows of 40 bytes (`rows.rs`).
    Packets {
        /// Which.
        player: u32,
    },
    /// Goes on to the end; its measures.
    Finish {
        /// Which.
        player: u32,
    },
    /// All runs that are finished, as the program's `--json` has them.
    Results,
    /// What results come to, in sentences: those of runs of one scenario.
    Answer {
        /// Each as [`Request::Results`] has it.
        results: Vec<String>,
    },
}

/// What a page gets.
#[derive(Debug)]
pub enum Reply {
    /// JSON.
    Json(Value),
    /// Rows of numbers, or a text.
    Bytes(Vec<u8>),
}

/// More packets than these take too long in a page.
const MOST_PACKETS: f64 = 60e6;
/// More memory than this a page may not get, bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// So many steps of a link's schedule a page is told at most.
const MOST_RATES: usize = 2000;

/// More flows than these, in all runs of a scenario, take too long to draw.
const MOST_FLOWS: u64 = 200_000;

/// A scenario and its runs.
#[derive(Debug)]
struct Loaded {
    scenario: Scenario,
    specs: Vec<Arc<RunSpec>>,
}

/// A run under way.
#[derive(Debug)]
struct Player {
    run: usize,
    playback: Playback,
    /// Samples that the page has.
    told: usize,
    port: usize,
    sums: Option<Sums>,
}

/// What a page has loaded.
#[derive(Debug, Default)]
pub struct Session {
    loaded: Option<Loaded>,
    players: BTreeMap<u32, Player>,
    finished: BTreeMap<usize, Run>,
}

fn ns(time: f64) -> u64 {
    // What is not a number, or before the beginning, is the beginning.
    time.max(0.0) as u64
}

impl Session {
    /// Answers.
    ///
    /// # Errors
    /// In one line: of a scenario, the program's words.
    pub fn ask(&mut self, request: &str) -> Result<Reply, String> {
        let request: Request = serde_json::from_str(request).map_err(|e| format!("no request: {e}"))?;
        match request {
            Request::Catalogue => {
                let mut all = catalogue();
                all["reasons"] = json!(REASON_NAMES);
                all["series"] = json!(SERIES);
                Ok(Reply::Json(all))
            }
            Request::Explain { name, variables } => {
                explain(&name, variables).map(|html| Reply::Bytes(html.into()))
            }
            Request::Markdown { text } => Ok(Reply::Bytes(markdown::rendered(&text).into())),
            Request::Load { text, name, flags } => {
                let mut laid = Flags::default();
                for (flag, text) in flags {
                    laid.put(&flag, text).map_err(|e| e.to_string())?;
                }
                let scenario = Scenario::parse_with(&text, &name, Path::new(""), &laid);
                self.take(scenario.map_err(|e| e.to_string())?, 0)
            }
            Request::Change { path, value, at_ns } => {
                let scenario = &self.loaded()?.scenario;
                let changed =
                    change::change(scenario, &path, &value, ns(at_ns)).map_err(|e| e.to_string())?;
                self.take(changed.scenario, changed.from_ns)
            }
            Request::Open { player, run, sums } => self.open(player, run, sums),
            Request::Step { player, to_ns } => {
                let Player { playback, sums, .. } = self.player(player)?;
                playback.run_to(ns(to_ns));
                if let Some(sums) = sums {
                    playback.watched(0, |_, one| sums.count(one));
                }
                Ok(Reply::Json(json!({ "now_ns": playback.now_ns(), "over": playback.is_over() })))
            }
            Request::Watch { player, port } => {
                let player = self.player(player)?;
                player.port = port;
                player.playback.watch(port);
                Ok(Reply::Json(Value::Null))
            }
            Request::Series { player } => {
                let player = self.player(player)?;
                let series = player.playback.series();
                let bytes = rows::samples(series, player.sums.as_ref(), player.told);
                player.told = player.playback.series().time_s.len();
                Ok(Reply::Bytes(bytes))
            }
            Request::Packets { player } => {
                let Player { playback, port, .. } = self.player(player)?;
                let mut news = Vec::new();
                playback.watched(*port, |number, one| news.push((number, *one)));
                let mut bytes = Vec::new();
                for (number, one) in news {
                    rows::packet(&mut bytes, number, &one, playback.group_of(one.flow).unwrap_or(0));
                }
                Ok(Reply::Bytes(bytes))
            }
            Request::Finish { player } => self.finish(player),
            Request::Results => {
                let runs = self.finished.values().cloned().collect();
                let results = Results { runs, ..header(&self.loaded()?.scenario) };
                Ok(Reply::Bytes(results.to_json().into()))
            }
            Request::Answer { results } => {
                let mut all: Option<Results> = None;
                for text in results {
                    let next: Results =
                        serde_json::from_str(&text).map_err(|e| format!("no results: {e}"))?;
                    match &mut all {
                        Some(all) => all.runs.extend(next.runs),
                        None => all = Some(next),
                    }
                }
                Ok(Reply::Json(json!(all.as_ref().map(answer).unwrap_or_default())))
            }
        }
    }

    fn loaded(&self) -> Result<&Loaded, String> {
        self.loaded.as_ref().ok_or_else(|| "no scenario is loaded".into())
    }

    fn player(&mut self, player: u32) -> Result<&mut Player, String> {
        self.players.get_mut(&player).ok_or_else(|| format!("no run is open as {player}"))
    }

    /// Another scenario, of which the runs are the same as those of the one before until then.
    fn take(&mut self, scenario: Scenario, from_ns: u64) -> Result<Reply, String> {
        if let Some(why) = too_many(&scenario) {
            return Err(why);
        }
        let specs: Vec<Arc<RunSpec>> =
            scenario.runs().map_err(|e| e.to_string())?.into_iter().map(Arc::new).collect();
        self.players.clear();
        self.finished.clear();
        let told = told(&scenario, &specs, from_ns);
        self.loaded = Some(Loaded { scenario, specs });
        Ok(Reply::Json(told))
    }

    fn open(&mut self, player: u32, run: usize, sums: bool) -> Result<Reply, String> {
        let specs = &self.loaded()?.specs;
        let spec = specs.get(run).ok_or_else(|| format!("there are {} runs, counted from 0", specs.len()))?;
        if let Some(why) = too_large(spec) {
            return Err(why);
        }
        let mut playback = Playback::new(spec.clone()).map_err(|e| e.to_string())?;
        let column = |name: &str, unit: &str| json!({ "name": name, "unit": unit });
        let mut columns: Vec<Value> =
            playback.series().columns.iter().map(|c| column(&c.name, &c.unit)).collect();
        let sums = sums.then(|| {
            playback.watch(0);
            columns.extend(Sums::COLUMNS.map(|(name, unit)| column(name, unit)));
            Sums::new(spec.series_interval_ns)
        });
        self.players.insert(player, Player { run, playback, told: 0, port: 0, sums });
        Ok(Reply::Json(json!({ "columns": columns })))
    }

    fn finish(&mut self, player: u32) -> Result<Reply, String> {
        let player = self.players.remove(&player).ok_or_else(|| format!("no run is open as {player}"))?;
        let mut run = player.playback.finish().map_err(|e| e.to_string())?;
        let all = by_path(&run);
        // Of several ports those of the first, which the page shows.
        let first = run.ports.first().map_or(String::new(), |port| format!("port.{}.", port.name));
        let measure = |of: &Measure, path: &str, title: &str| {
            let better = match of.better {
                Better::High => "high",
                Better::Low => "low",
                Better::Neither => "neither",
            };
            let value = all.get(path)? * of.scale;
            let port = path.starts_with("port.").then(|| &run.ports[0].name);
            Some(json!({
                "path": of.path, "title": title, "unit": of.unit, "better": better, "value": value, "port": port,
            }))
        };
        let mut measures = Vec::new();
        for of in MEASURES {
            let of_first = format!("{first}{}", of.path);
            measures.extend(measure(of, of.path, of.title).or_else(|| measure(of, &of_first, of.title)));
            // Groups may wait in queues of their own. And what those notice who talk: how the call sounds.
            if of.path == "sojourn_ms.p99" && run.groups.len() > 1 {
                for group in &run.groups {
                    for (path, title, unit, better) in [
                        ("sojourn_ms", "mean sojourn time", "ms", "low"),
                        ("datagrams.delay_ms.p99", "99th percentile of the delay", "ms", "low"),
                        ("datagrams.calls.mos", "mean opinion score", "", "high"),
                    ] {
                        let path = format!("group.{}.{path}", group.name);
                        let title = format!("{title} of {}", group.name);
                        measures.extend(all.get(&path).map(|value| {
                            json!({ "path": path, "title": title, "unit": unit, "better": better, "value": value })
                        }));
                    }
                }
            }
            if of.path == "goodput_bps" && run.groups.len() > 1 {
                for group in &run.groups {
                    let title = format!("{} of {}", of.title, group.name);
                    let told = measure(of, &format!("group.{}.{}", group.name, of.path), &title);
                    measures.extend(told.map(|mut told| {
                        told["path"] = format!("group.{}.{}", group.name, of.path).into();
                        told
                    }));
                }
            }
        }
        // The page has had the series.
        run.detail = Detail::default();
        self.finished.insert(player.run, run);
        Ok(Reply::Json(json!({ "measures": measures })))
    }
}

/// Why a scenario is none for a page: drawing all its flows would take too long.
fn too_many(scenario: &Scenario) -> Option<String> {
    let flows: u64 = scenario.flows.iter().map(|f| f.count.max).sum();
    let all = flows.saturating_mul(scenario.count() as u64);
    (all > MOST_FLOWS)
        .then(|| format!("{all} flows in all runs, and a page takes {MOST_FLOWS}; run it with the program"))
}

/// Why a run is none for a page.
fn too_large(spec: &RunSpec) -> Option<String> {
    let seconds = spec.duration_ns as f64 / 1e9;
    let packets: f64 =
        spec.ports.iter().map(|p| mean_bps(&p.rate) * seconds / 8.0 / f64::from(packet::FULL_BYTES)).sum();
    let program = "run it with the program";
    if packets > MOST_PACKETS {
        let (all, most) = (packets / 1e6, MOST_PACKETS / 1e6);
        return Some(format!(
            "about {all:.0} million packets, and a page takes {most:.0} million; {program}"
        ));
    }
    (spec.memory_bytes > MOST_MEMORY).then(|| {
        let (all, most) = (spec.memory_bytes >> 20, MOST_MEMORY >> 20);
        format!("about {all} MB of memory, and a page takes {most} MB; {program}")
    })
}

fn mean_bps(rate: &Rate) -> f64 {
    match rate {
        Rate::Constant(bps) => *bps as f64,
        Rate::Schedule(s) => s.steps.iter().map(|s| s.1 as f64).fold(0.0, f64::max),
        Rate::Trace(trace) => queuewright_scenario::trace::mean_rate(trace) as f64,
    }
}

/// A rate over a run: from when on it is how much, ns and bit/s.
fn rates(rate: &Rate, duration_ns: u64) -> Vec<(u64, u64)> {
    match rate {
        Rate::Constant(bps) => vec![(0, *bps)],
        Rate::Schedule(s) => {
            let period = s.period_ns.unwrap_or(u64::MAX);
            let rounds = (0..).map_while(|n: u64| n.checked_mul(period).filter(|at| *at < duration_ns));
            let all = rounds.flat_map(|begin| s.steps.iter().map(move |(at, bps)| (begin + at, *bps)));
            all.take_while(|(at, _)| *at < duration_ns).take(MOST_RATES).collect()
        }
        // A page reads no files.
        Rate::Trace(_) => vec![(0, mean_bps(rate) as u64)],
    }
}

/// What `attach` has for the discipline, from when on (ns).
fn words(spec: &RunSpec) -> Vec<(u64, String)> {
    let mut of = spec.discipline.clone();
    let said = |of: &queuewright_aqm::Spec| of.words(|param, value| value != param.default);
    let mut all = vec![(0, said(&of))];
    for change in spec.ports[0].changes.iter().filter(|_| !spec.ports[0].own) {
        // It was in its range when the scenario was read.
        let _ = of.set(&change.param, change.value);
        all.push((change.at_ns, said(&of)));
    }
    all
}

/// What a page is told of a scenario.
fn told(scenario: &Scenario, specs: &[Arc<RunSpec>], from_ns: u64) -> Value {
    let seeds = scenario.run.seeds.len();
    let first: Vec<&RunSpec> = specs.iter().step_by(seeds.max(1)).map(|spec| &**spec).collect();
    let runs: Vec<Value> = specs
        .iter()
        .map(|spec| {
            let discipline = &spec.discipline;
            json!({
                "label": discipline.label,
                "name": discipline.info.name,
                "words": words(spec),
                "too_large": too_large(spec),
            })
        })
        .collect();
    let spec = &specs[0];
    let ports: Vec<Value> = spec
        .ports
        .iter()
        .map(|port| {
            let rates: Vec<Value> = rates(&port.rate, spec.duration_ns)
                .into_iter()
                .map(|(at, bps)| json!([at, bps, Unit::Rate.show(bps)]))
                .collect();
            let shared = if port.shared { spec.shared_bytes } else { 0 };
            // Packets do not wait at a policer.
            let (bytes, packets) =
                if port.police { (0, 0) } else { (port.limit_bytes.max(shared), port.limit_packets) };
            json!({
                "name": port.name,
                "rates": rates,
                "limit_bytes": bytes,
                "limit_packets": packets,
                "shared": port.shared,
            })
        })
        .collect();
    let groups: Vec<Value> = spec.groups.iter().map(|g| json!({ "name": g.name })).collect();
    let flows: Vec<Value> = spec
        .flows
        .iter()
        .map(|f| json!({ "group": f.group, "rtt_ns": f.base_rtt_ns, "here": f.path.contains(&0) }))
        .collect();
    let warnings: Vec<String> = scenario.warnings().iter().map(ToString::to_string).collect();
    json!({
        "toml": scenario.to_toml(),
        "name": scenario.name,
        "description": scenario.description,
        "warnings": warnings,
        "from_ns": from_ns,
        "duration_ns": spec.duration_ns,
        "warmup_ns": spec.warmup_ns,
        "seeds": scenario.run.seeds,
        "disciplines": scenario.disciplines.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(),
        "runs": runs,
        "ports": ports,
        "groups": groups,
        "flows": flows,
        "knobs": knobs::knobs(scenario, &first),
    })
}

/// What a page of the book says first, or of the variables.
fn explain(name: &str, variables: bool) -> Result<String, String> {
    let page = match (find(name), Kind::from_name(name)) {
        (Some(info), _) => info.explain,
        (None, Some(kind)) => kind.info().explain,
        (None, None) => return Err(format!("nothing is called \"{name}\"")),
    };
    if variables {
        return Ok(markdown::rendered(of_variables(page)));
    }
    // Its heading is the caller's affair.
    let text = page.trim_start().strip_prefix("# ").and_then(|t| t.split_once('\n')).map_or(page, |(_, t)| t);
    Ok(markdown::rendered(text.split("\n## ").next().unwrap_or(text)))
}

/// The paragraph of a page on its variables; of one that has none nothing. It may lead in a table.
fn of_variables(page: &str) -> &str {
    let Some(at) = page.find("\n\nVariables over time: ") else { return "" };
    let rest = &page[at + 2..];
    rest.split("\n\n").next().unwrap_or(rest)
}
