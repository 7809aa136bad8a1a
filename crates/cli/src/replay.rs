//! `validate --replay`: the kernel's TCP and the simulator's, acknowledgement by acknowledgement.

use crate::args::Validate;
use crate::compare::on_interrupt;
use crate::words::plural;
use crate::{Failure, print};
use queuewright_engine::{ItemEvent, open as open_lab, run_all};
use queuewright_lab::replay::IN_A_BOOT;
use queuewright_lab::replay::draw::{Draw, draw};
use queuewright_lab::replay::judge::{Class, Divergence, Outcome, TimingShift, judge};
use queuewright_lab::replay::reception::{self, Reception, ReceptionMatch};
use queuewright_lab::replay::record::Recording;
use queuewright_lab::{Error, Lab, QdiscOrigin};
use queuewright_scenario::{limits, read_file};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What a kept replay's name ends with.
const KEPT: &str = "replay";
const RESULTS: &str = "results.json";
/// A mean window is off by more than this share.
const RATIO: f64 = 0.02;

/// What the kernel did in a connection, beside which the simulator is judged: [`Recording`] where it sends, [`Reception`] where it
/// receives.
trait KernelTrace: Sized + Send {
    type Draw: Sync;
    type Judged: Serialize + Send;
    /// What a list of them is called in JSON.
    const LIST: &'static str;
    /// The table's head.
    const HEAD: &'static str;

    fn draw(seed: u64, number: u64, of_ms: u64) -> Self::Draw;
    /// Boots a machine that records these.
    fn record(
        lab: &Lab,
        draws: &[Self::Draw],
        stop: &AtomicBool,
        hear: impl FnMut(Result<Self, String>),
    ) -> Result<(), Error>;
    fn read(bytes: &[u8]) -> Result<Self, String>;
    fn write(&self, out: &mut fs::File) -> io::Result<()>;
    fn name(&self) -> &str;
    fn judge(&self) -> Result<Self::Judged, String>;
    /// Its row in the table.
    fn row(judged: &Self::Judged) -> String;
    /// What they are in all: as JSON, and in words.
    fn in_all(all: &[Self::Judged]) -> (Value, String);
}

/// Does it ask for replays, drawn or kept?
pub fn is_asked(asked: &Validate) -> bool {
    asked.replay.is_some() || asked.files.iter().any(|f| is_kept(f))
}

fn is_kept(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == KEPT)
}

/// Compares, prints each as it comes, then what they are in all.
pub fn replay(asked: &Validate) -> Result<(), Failure> {
    let received = |f: &std::path::PathBuf| {
        read_file(f, limits::RECORDING.bytes).is_ok_and(|bytes| Reception::is_one(&bytes))
    };
    match asked.receive || asked.files.first().is_some_and(received) {
        true => compare::<Reception>(asked),
        false => compare::<Recording>(asked),
    }
}

fn compare<K: KernelTrace>(asked: &Validate) -> Result<(), Failure> {
    let mut report = Report::<K> { json: asked.json, all: Vec::new(), lines: String::new(), lost: 0 };
    report.head()?;
    match asked.replay {
        Some(count) => in_the_lab(asked, count, &mut report)?,
        None => {
            for file in &asked.files {
                let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
                if !is_kept(file) {
                    return Err(wrong("not a replay, and the other files are; ask for them apart".into()));
                }
                let bytes = read_file(file, limits::RECORDING.bytes).map_err(|e| wrong(e.to_string()))?;
                report.one(K::read(&bytes).and_then(|kept| kept.judge()).map_err(wrong)?)?;
            }
        }
    }
    report.foot()?;
    if let (Some(dir), true) = (&asked.out, asked.json) {
        let path = dir.join(RESULTS);
        fs::write(&path, &report.lines)
            .map_err(|e| Failure::Input(format!("--out: {}: {e}", path.display())))?;
    }
    match report.lost {
        0 => Ok(()),
        n => Err(Failure::Run(format!("{} could not be recorded", plural(n, "connection")))),
    }
}

/// Boots machines, each of which records some draws.
fn in_the_lab<K: KernelTrace>(asked: &Validate, count: u64, report: &mut Report<K>) -> Result<(), Failure> {
    let lab = open_lab(&asked.kernel, QdiscOrigin::Kernel).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(dir) = &asked.out {
        fs::create_dir_all(dir).map_err(|e| Failure::Input(format!("--out: {}: {e}", dir.display())))?;
    }
    let draws: Vec<K::Draw> = (0..count).map(|i| K::draw(asked.seed, i, asked.seconds * 1000)).collect();
    let boots: Vec<&[K::Draw]> = draws.chunks(IN_A_BOOT).collect();
    let stop = on_interrupt()?;
    let work = |i: usize, _: &dyn Fn(f64)| {
        let mut made = Vec::new();
        let ended = K::record(&lab, boots[i], &stop, |kept| {
            made.push(kept.and_then(|k| k.judge().map(|judged| (k, judged))));
        });
        (made, ended)
    };
    let mut failed = None;
    run_all(boots.len(), asked.jobs.count(), &stop, work, |i, step| {
        let ItemEvent::Done((made, ended)) = step else { return };
        report.lost += boots[i].len().saturating_sub(made.len());
        if let Err(e) = ended {
            eprintln!("{e}");
        }
        for one in made {
            let done = match one {
                Ok((kept, judged)) => keep(asked, &kept).and_then(|()| report.one(judged)),
                Err(why) => {
                    eprintln!("{why}");
                    report.lost += 1;
                    Ok(())
                }
            };
            if let (None, Err(e)) = (&failed, done) {
                failed = Some(e);
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

fn keep<K: KernelTrace>(asked: &Validate, kept: &K) -> Result<(), Failure> {
    let Some(dir) = &asked.out else { return Ok(()) };
    let path = dir.join(format!("{}.{KEPT}", kept.name()));
    let write = || kept.write(&mut fs::File::create_new(&path)?);
    write().map_err(|e| Failure::Input(format!("--out: {}: {e}", path.display())))
}

/// What is printed.
struct Report<K: KernelTrace> {
    json: bool,
    all: Vec<K::Judged>,
    /// All of it.
    lines: String,
    /// Draws without an outcome.
    lost: usize,
}

impl<K: KernelTrace> Report<K> {
    fn put(&mut self, text: &str) -> Result<(), Failure> {
        self.lines += text;
        print(text)
    }

    fn head(&mut self) -> Result<(), Failure> {
        match self.json {
            true => self.put(&format!("{{\"{}\": [\n", K::LIST)),
            false => self.put(K::HEAD),
        }
    }

    fn one(&mut self, judged: K::Judged) -> Result<(), Failure> {
        let text = match self.json {
            true => format!("{}{}\n", if self.all.is_empty() { "" } else { "," }, json!(judged)),
            false => K::row(&judged),
        };
        self.all.push(judged);
        self.put(&text)
    }

    fn foot(&mut self) -> Result<(), Failure> {
        let (value, words) = K::in_all(&self.all);
        match self.json {
            true => self.put(&format!("], \"judged\": {value}}}\n")),
            false => self.put(&format!("\n{words}")),
        }
    }
}

impl KernelTrace for Recording {
    type Draw = Draw;
    type Judged = Outcome;
    const LIST: &'static str = "replays";
    const HEAD: &'static str = "| draw | control | ACKs | cwnd ratio | ACKs with the same cwnd, ssthresh, state, pacing rate, in flight (%) | first other (Linux / simulator) |\n\
         |---|---|---|---|---|---|\n";

    fn draw(seed: u64, number: u64, of_ms: u64) -> Draw {
        draw(seed, number, of_ms)
    }

    fn record(
        lab: &Lab,
        draws: &[Draw],
        stop: &AtomicBool,
        mut hear: impl FnMut(Result<Self, String>),
    ) -> Result<(), Error> {
        lab.record(draws, stop, |_, recording| hear(recording))
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        Recording::read(bytes)
    }

    fn write(&self, out: &mut fs::File) -> io::Result<()> {
        Recording::write(self, out)
    }

    fn name(&self) -> &str {
        &self.draw.name
    }

    fn judge(&self) -> Result<Outcome, String> {
        judge(self)
    }

    fn row(o: &Outcome) -> String {
        let shares: Vec<String> = SHARES
            .iter()
            .filter_map(|name| o.same.iter().find(|s| s.0 == *name))
            .map(|s| format!("{:.1}", 100.0 * s.1))
            .collect();
        let first = match &o.rounding {
            Some(nudges) => format!("{}; {}", place(o.first.as_ref()), rounded(nudges)),
            None => place(o.first.as_ref()),
        };
        let shares = shares.join(", ");
        format!("| {} | {} | {} | {:.4} | {shares} | {first} |\n", o.name, o.control, o.acks, o.cwnd_ratio)
    }

    /// How many are the same, by control, and those that are not, the worst first.
    fn in_all(all: &[Outcome]) -> (Value, String) {
        let of = |class: Class| all.iter().filter(|o| o.class() == class).count();
        let (same, rounding) = (of(Class::Same), of(Class::Rounding));
        // Of each control: the same, the same but for rounding, all.
        let mut controls: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for o in all {
            let n = controls.entry(&o.control).or_default();
            n[0] += usize::from(o.class() == Class::Same);
            n[1] += usize::from(o.class() == Class::Rounding);
            n[2] += 1;
        }
        let mut off: Vec<&Outcome> = all.iter().filter(|o| o.class() == Class::Other).collect();
        let miss = |o: &Outcome| (o.cwnd_ratio - 1.0).abs();
        off.sort_by(|a, b| miss(b).total_cmp(&miss(a)));
        let far = all.iter().filter(|o| miss(o) > RATIO).count();
        let same_cwnd = all.iter().filter(|o| o.cwnd.is_none()).count();
        let worst: Vec<_> = off.iter().map(|o| json!({"name": o.name, "cwnd_ratio": o.cwnd_ratio})).collect();
        let value = json!({
            "draws": all.len(), "same": same, "rounding": rounding, "same_cwnd": same_cwnd, "far": far,
            "controls": controls, "off": worst,
        });
        let mut words = String::new();
        for o in &off {
            words += &format!(
                "{} {}: mean cwnd {:+.1} %, first at {}\n",
                o.name,
                o.control,
                100.0 * (o.cwnd_ratio - 1.0),
                place(o.first.as_ref())
            );
            words += &around(o.first.as_ref());
        }
        for (control, [same, rounding, all]) in &controls {
            words += &format!("{control}: {same} the same, {rounding} but for rounding, of {all}\n");
        }
        let share = |n: usize| 100.0 * n as f64 / all.len().max(1) as f64;
        words += &format!(
            "The same to the last acknowledgement in all that is judged: {same} of {} ({:.0} %), but for rounding of time {} ({:.0} %); \
             the same cwnd: {same_cwnd}; of all a mean cwnd off by more than {:.0} %: {far}\n",
            plural(all.len(), "draw"),
            share(same),
            same + rounding,
            share(same + rounding),
            100.0 * RATIO
        );
        (value, words)
    }
}

/// Of what a row has the share of acknowledgements before which it was the same.
const SHARES: [&str; 5] = ["cwnd", "ssthresh", "ca_state", "pacing_rate", "in_flight"];

/// How much later or earlier the host has to be for both to be the same.
fn rounded(nudges: &[TimingShift]) -> String {
    let most = nudges.iter().map(|n| n.ns.unsigned_abs()).max().unwrap_or(0);
    format!("rounding: {} of at most {} us", plural(nudges.len(), "time"), most / 1000)
}

/// The states around a divergence: what differs before the acknowledgement before it, and before its own.
fn around(d: Option<&Divergence>) -> String {
    let mut words = String::new();
    for moment in d.map_or(&[][..], |d| &d.states) {
        let other: Vec<String> =
            moment.other().map(|(name, linux, sim)| format!("{name} {linux} / {sim}")).collect();
        let other = if other.is_empty() { "all the same".into() } else { other.join(", ") };
        words += &format!("    after {} ACKs: {other}", moment.acks);
        if moment.linux_sent != moment.sim_sent {
            words += &format!("; sent {} / {}", ranges(&moment.linux_sent), ranges(&moment.sim_sent));
        }
        words += "\n";
    }
    words
}

/// Segments as ranges: 3..7 9..10.
fn ranges(segments: &[u32]) -> String {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for &s in segments {
        match all.last_mut() {
            Some(last) if last.1 == s => last.1 += 1,
            _ => all.push((s, s + 1)),
        }
    }
    match all.is_empty() {
        true => "nothing".into(),
        false => all.iter().map(|(a, b)| format!("{a}..{b}")).collect::<Vec<_>>().join(" "),
    }
}

impl KernelTrace for Reception {
    type Draw = reception::Path;
    type Judged = ReceptionMatch;
    const LIST: &'static str = "receptions";
    const HEAD: &'static str = "| draw | segments | ACKs | the same % | ACKs, ratio | first other (Linux / simulator) | but for windows |\n\
         |---|---|---|---|---|---|---|\n";

    fn draw(seed: u64, number: u64, of_ms: u64) -> reception::Path {
        reception::draw(seed, number, of_ms)
    }

    fn record(
        lab: &Lab,
        paths: &[reception::Path],
        stop: &AtomicBool,
        mut hear: impl FnMut(Result<Self, String>),
    ) -> Result<(), Error> {
        lab.record_receptions(paths, stop, |_, reception| hear(reception))
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        Reception::read(bytes)
    }

    fn write(&self, out: &mut fs::File) -> io::Result<()> {
        Reception::write(self, out)
    }

    fn name(&self) -> &str {
        &self.path.name
    }

    fn judge(&self) -> Result<ReceptionMatch, String> {
        Ok(reception::judge(self))
    }

    fn row(h: &ReceptionMatch) -> String {
        format!(
            "| {} | {} | {} | {:.1} | {:.3} | {} | {} |\n",
            h.name,
            h.segments,
            h.acks,
            100.0 * h.same,
            h.ratio,
            place(h.first.as_ref()),
            place(h.but_window.as_ref())
        )
    }

    fn in_all(all: &[ReceptionMatch]) -> (Value, String) {
        let count = |of: fn(&ReceptionMatch) -> bool| all.iter().filter(|h| of(h)).count();
        let (same, but) = (count(|h| h.first.is_none()), count(|h| h.but_window.is_none()));
        let acks: usize = all.iter().map(|h| h.acks).sum();
        let alike: f64 = all.iter().map(|h| h.same * h.acks as f64).sum();
        let share = 100.0 * alike / acks.max(1) as f64;
        let words = format!(
            "The same to the last acknowledgement: {same} of {}, but for windows {but}; of all acknowledgements {share:.1} %\n",
            plural(all.len(), "draw")
        );
        (json!({"draws": all.len(), "same": same, "but_window": but, "acks_same": share}), words)
    }
}

fn place(d: Option<&Divergence>) -> String {
    d.map_or("-".into(), |d| {
        format!("{} {} / {} after {} ACKs, {:.3} s", d.what, d.linux, d.sim, d.acks, d.at_ns as f64 / 1e9)
    })
}
