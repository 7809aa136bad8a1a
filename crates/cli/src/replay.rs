//! `validate --replay`: the kernel's TCP and the simulator's sender, acknowledgement by acknowledgement.

use crate::args::Validate;
use crate::compare::on_interrupt;
use crate::words::plural;
use crate::{Failure, print};
use queuewright_engine::{Step, jobs, open as open_lab, run_all};
use queuewright_lab::Whose;
use queuewright_lab::replay::IN_A_BOOT;
use queuewright_lab::replay::draw::{Draw, draw};
use queuewright_lab::replay::judge::{Divergence, Outcome, judge};
use queuewright_lab::replay::reception::{self, Heard, Path as Drawn, Reception};
use queuewright_lab::replay::record::Recording;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a kept replay's name ends with.
const KEPT: &str = "replay";
const RESULTS: &str = "results.json";
/// A mean window is off by more than this share.
const RATIO: f64 = 0.02;

/// Does it ask for replays, drawn or kept?
pub fn is_asked(asked: &Validate) -> bool {
    asked.replay.is_some() || asked.files.iter().any(|f| is_kept(f))
}

fn is_kept(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == KEPT)
}

/// Compares, prints each as it comes, then what they are in all.
pub fn replay(asked: &Validate) -> Result<(), Failure> {
    if asked.receive || asked.files.first().is_some_and(|f| fs::read(f).is_ok_and(|b| Reception::is_one(&b)))
    {
        return receive(asked);
    }
    let mut report = Report { json: asked.json, outcomes: Vec::new(), lines: String::new(), lost: 0 };
    report.head()?;
    match asked.replay {
        Some(count) => in_the_lab(asked, count, &mut report)?,
        None => {
            for file in &asked.files {
                let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
                if !is_kept(file) {
                    return Err(wrong("not a replay, and the other files are; ask for them apart".into()));
                }
                let bytes = fs::read(file).map_err(|e| wrong(e.to_string()))?;
                let recording = Recording::read(&bytes).map_err(wrong)?;
                report.one(judge(&recording).map_err(wrong)?)?;
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
fn in_the_lab(asked: &Validate, count: u64, report: &mut Report) -> Result<(), Failure> {
    let lab = open_lab(&asked.kernel, Whose::Kernels).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(dir) = &asked.out {
        fs::create_dir_all(dir).map_err(|e| Failure::Input(format!("--out: {}: {e}", dir.display())))?;
    }
    let draws: Vec<Draw> = (0..count).map(|i| draw(asked.seed, i, asked.seconds * 1000)).collect();
    let boots: Vec<&[Draw]> = draws.chunks(IN_A_BOOT).collect();
    let stop = on_interrupt()?;
    let work = |i: usize, _: &dyn Fn(f64)| {
        let mut made = Vec::new();
        let ended = lab.record(boots[i], &stop, |_, recording| {
            made.push(recording.and_then(|r| judge(&r).map(|outcome| (r, outcome))));
        });
        (made, ended)
    };
    let mut failed = None;
    run_all(boots.len(), jobs(asked.jobs), &stop, work, |i, step| {
        let Step::Done((made, ended)) = step else { return };
        report.lost += boots[i].len().saturating_sub(made.len());
        if let Err(e) = ended {
            eprintln!("{e}");
        }
        for one in made {
            let done = match one {
                Ok((recording, outcome)) => keep(asked, &recording).and_then(|()| report.one(outcome)),
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

fn keep(asked: &Validate, recording: &Recording) -> Result<(), Failure> {
    let Some(dir) = &asked.out else { return Ok(()) };
    let path = dir.join(format!("{}.{KEPT}", recording.draw.name));
    let write = || recording.write(&mut fs::File::create_new(&path)?);
    write().map_err(|e| Failure::Input(format!("--out: {}: {e}", path.display())))
}

/// What is printed.
struct Report {
    json: bool,
    outcomes: Vec<Outcome>,
    /// All of it.
    lines: String,
    /// Draws without an outcome.
    lost: usize,
}

impl Report {
    fn put(&mut self, text: &str) -> Result<(), Failure> {
        self.lines += text;
        print(text)
    }

    fn head(&mut self) -> Result<(), Failure> {
        match self.json {
            true => self.put("{\"replays\": [\n"),
            false => self.put(
                "| draw | control | ACKs | same cwnd % | cwnd ratio | first other cwnd (Linux / simulator) | first other state |\n\
                 |---|---|---|---|---|---|---|\n",
            ),
        }
    }

    fn one(&mut self, o: Outcome) -> Result<(), Failure> {
        let text = match self.json {
            true => format!("{}{}\n", if self.outcomes.is_empty() { "" } else { "," }, json!(o)),
            false => {
                let same = o.same.first().map_or(0.0, |s| 100.0 * s.1);
                let (cwnd, first) = (place(o.cwnd.as_ref()), place(o.first.as_ref()));
                format!(
                    "| {} | {} | {} | {same:.1} | {:.4} | {cwnd} | {first} |\n",
                    o.name, o.control, o.acks, o.cwnd_ratio
                )
            }
        };
        self.outcomes.push(o);
        self.put(&text)
    }

    /// How many are the same, by control, and those that are not, the worst first.
    fn foot(&mut self) -> Result<(), Failure> {
        let same = |o: &&Outcome| o.cwnd.is_none();
        let (all, alike) = (self.outcomes.len(), self.outcomes.iter().filter(same).count());
        let mut controls: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for o in &self.outcomes {
            let (n, of) = controls.entry(&o.control).or_default();
            *n += usize::from(o.cwnd.is_none());
            *of += 1;
        }
        let mut off: Vec<&Outcome> = self.outcomes.iter().filter(|o| o.cwnd.is_some()).collect();
        let miss = |o: &Outcome| (o.cwnd_ratio - 1.0).abs();
        off.sort_by(|a, b| miss(b).total_cmp(&miss(a)));
        let far = off.iter().filter(|o| miss(o) > RATIO).count();
        let text = if self.json {
            let worst: Vec<_> =
                off.iter().map(|o| json!({"name": o.name, "cwnd_ratio": o.cwnd_ratio})).collect();
            format!(
                "], \"judged\": {}}}\n",
                json!({"draws": all, "same": alike, "far": far, "controls": controls, "off": worst})
            )
        } else {
            let mut text = String::from("\n");
            for o in &off {
                text += &format!(
                    "{} {}: mean cwnd {:+.1} %, first at {}\n",
                    o.name,
                    o.control,
                    100.0 * (o.cwnd_ratio - 1.0),
                    place(o.cwnd.as_ref())
                );
            }
            for (control, (n, of)) in &controls {
                text += &format!("{control}: {n} of {of}\n");
            }
            let share = 100.0 * alike as f64 / all.max(1) as f64;
            text + &format!(
                "The same to the last acknowledgement: {alike} of {} ({share:.0} %); mean cwnd off by more than {:.0} %: {far}\n",
                plural(all, "draw"),
                100.0 * RATIO
            )
        };
        self.put(&text)
    }
}

fn place(d: Option<&Divergence>) -> String {
    d.map_or("-".into(), |d| {
        format!("{} {} / {} after {} ACKs, {:.3} s", d.what, d.linux, d.sim, d.acks, d.at_ns as f64 / 1e9)
    })
}

/// The same of connections that receive.
fn receive(asked: &Validate) -> Result<(), Failure> {
    let mut heard = Heards { json: asked.json, all: Vec::new(), lost: 0 };
    heard.head()?;
    match asked.replay {
        Some(count) => receive_in_the_lab(asked, count, &mut heard)?,
        None => {
            for file in &asked.files {
                let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
                let bytes = fs::read(file).map_err(|e| wrong(e.to_string()))?;
                heard.one(reception::judge(&Reception::read(&bytes).map_err(wrong)?))?;
            }
        }
    }
    heard.foot()?;
    match heard.lost {
        0 => Ok(()),
        n => Err(Failure::Run(format!("{} could not be recorded", plural(n, "connection")))),
    }
}

fn receive_in_the_lab(asked: &Validate, count: u64, heard: &mut Heards) -> Result<(), Failure> {
    let lab = open_lab(&asked.kernel, Whose::Kernels).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(dir) = &asked.out {
        fs::create_dir_all(dir).map_err(|e| Failure::Input(format!("--out: {}: {e}", dir.display())))?;
    }
    let paths: Vec<Drawn> =
        (0..count).map(|i| reception::draw(asked.seed, i, asked.seconds * 1000)).collect();
    let boots: Vec<&[Drawn]> = paths.chunks(IN_A_BOOT).collect();
    let stop = on_interrupt()?;
    let work = |i: usize, _: &dyn Fn(f64)| {
        let mut made = Vec::new();
        let ended = lab.record_receptions(boots[i], &stop, |_, reception| made.push(reception));
        (made, ended)
    };
    let mut failed = None;
    run_all(boots.len(), jobs(asked.jobs), &stop, work, |i, step| {
        let Step::Done((made, ended)) = step else { return };
        heard.lost += boots[i].len().saturating_sub(made.len());
        if let Err(e) = ended {
            eprintln!("{e}");
        }
        for one in made {
            let done = match one {
                Ok(r) => keep_reception(asked, &r).and_then(|()| heard.one(reception::judge(&r))),
                Err(why) => {
                    eprintln!("{why}");
                    heard.lost += 1;
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

fn keep_reception(asked: &Validate, reception: &Reception) -> Result<(), Failure> {
    let Some(dir) = &asked.out else { return Ok(()) };
    let path = dir.join(format!("{}.{KEPT}", reception.path.name));
    let write = || reception.write(&mut fs::File::create_new(&path)?);
    write().map_err(|e| Failure::Input(format!("--out: {}: {e}", path.display())))
}

/// What is printed of them.
struct Heards {
    json: bool,
    all: Vec<Heard>,
    lost: usize,
}

impl Heards {
    fn head(&self) -> Result<(), Failure> {
        match self.json {
            true => print("{\"receptions\": [\n"),
            false => print(
                "| draw | segments | ACKs | the same % | ACKs, ratio | first other (Linux / simulator) | but for windows |\n\
                 |---|---|---|---|---|---|---|\n",
            ),
        }
    }

    fn one(&mut self, h: Heard) -> Result<(), Failure> {
        let text = match self.json {
            true => format!("{}{}\n", if self.all.is_empty() { "" } else { "," }, json!(h)),
            false => format!(
                "| {} | {} | {} | {:.1} | {:.3} | {} | {} |\n",
                h.name,
                h.segments,
                h.acks,
                100.0 * h.same,
                h.ratio,
                place(h.first.as_ref()),
                place(h.but_window.as_ref())
            ),
        };
        self.all.push(h);
        print(&text)
    }

    fn foot(&self) -> Result<(), Failure> {
        let count = |of: fn(&Heard) -> bool| self.all.iter().filter(|h| of(h)).count();
        let (same, but) = (count(|h| h.first.is_none()), count(|h| h.but_window.is_none()));
        let acks: usize = self.all.iter().map(|h| h.acks).sum();
        let alike: f64 = self.all.iter().map(|h| h.same * h.acks as f64).sum();
        let share = 100.0 * alike / acks.max(1) as f64;
        let all = plural(self.all.len(), "draw");
        print(&if self.json {
            format!(
                "], \"judged\": {}}}\n",
                json!({"draws": self.all.len(), "same": same, "but_window": but, "acks_same": share})
            )
        } else {
            format!(
                "\nThe same to the last acknowledgement: {same} of {all}, but for windows {but}; of all acknowledgements {share:.1} %\n"
            )
        })
    }
}
