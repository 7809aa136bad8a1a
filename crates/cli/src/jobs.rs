//! What commands of this user that take their time have done so far: each in a file of its own, which `watch --web` reads.

use indicatif::ProgressBar;
use queuewright_own::Folder;
use queuewright_results::Run;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Below the user's cache.
const FOLDER: &str = "jobs";
/// Between two writes.
const EVERY: Duration = Duration::from_millis(500);
/// Most that is read of a job, bytes, and of how many.
const MOST: u64 = 64 << 10;
const JOBS: usize = 64;
/// Longest command line that is told, characters.
const WORDS: usize = 300;

/// This process's command line.
static COMMAND: OnceLock<String> = OnceLock::new();

/// Remembers the command line, of which the first word is the program's name. (The process's own has Python's words, too.)
pub fn called(args: &[OsString]) {
    let words: Vec<_> = args.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    COMMAND.get_or_init(|| words.join(" ").chars().take(WORDS).collect());
}

/// How far a command is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its process, and when that began, ticks since the machine did.
    pub pid: u32,
    pub begun: u64,
    /// The command line.
    pub words: String,
    /// Runs that are done, and all.
    pub done: usize,
    pub total: usize,
    /// The part of all that is done, runs under way included, 0 to 1.
    pub share: f64,
    /// Since it began, s.
    pub seconds: f64,
    /// Of each discipline that has runs, what they come to so far.
    pub seen: Vec<SeenSoFar>,
}

/// Means over the runs of a discipline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenSoFar {
    pub label: String,
    pub runs: usize,
    /// Of the first port: the used part of the link, 0 to 1, and the sojourn time.
    pub utilization: f64,
    pub sojourn_ms: f64,
}

/// Tells of this process as long as it is there.
pub struct Told {
    /// None where there is no place for it: nobody is told then.
    folder: Option<Folder>,
    job: Job,
    since: Instant,
    written: Option<Instant>,
}

impl Told {
    pub fn begin(total: usize) -> Told {
        let pid = std::process::id();
        let words = COMMAND.get().cloned().unwrap_or_default();
        let job = Job { pid, begun: begun(pid).unwrap_or(0), words, total, ..Job::default() };
        let mut told = Told { folder: Folder::open(FOLDER), job, since: Instant::now(), written: None };
        // Those that were killed have left theirs.
        if let Some(folder) = &told.folder {
            for (name, _) in all_in(folder).filter(|(_, job)| job.as_ref().is_none_or(|job| !job.is_alive()))
            {
                let _ = std::fs::remove_file(folder.at(name));
            }
        }
        told.write();
        told
    }

    pub fn more(&mut self, runs: usize) {
        self.job.total += runs;
    }

    /// So much of all is done as the bar has it.
    pub fn at(&mut self, bar: &ProgressBar) {
        self.job.share = (bar.position() as f64 / bar.length().unwrap_or(0).max(1) as f64).min(1.0);
        if self.written.is_none_or(|at| at.elapsed() >= EVERY) {
            self.write();
        }
    }

    /// A run is.
    pub fn done(&mut self, run: Option<&Run>) {
        self.job.done += 1;
        let Some((run, port)) = run.and_then(|run| Some((run, run.ports.first()?))) else { return };
        let seen = &mut self.job.seen;
        let at = seen.iter().position(|one| one.label == run.discipline).unwrap_or_else(|| {
            let (label, runs) = (run.discipline.clone(), 0);
            seen.push(SeenSoFar { label, runs, utilization: 0.0, sojourn_ms: 0.0 });
            seen.len() - 1
        });
        let one = &mut seen[at];
        one.runs += 1;
        let part = 1.0 / one.runs as f64;
        one.utilization += (port.utilization - one.utilization) * part;
        one.sojourn_ms += (port.sojourn_ms.mean - one.sojourn_ms) * part;
    }

    fn write(&mut self) {
        self.written = Some(Instant::now());
        self.job.seconds = self.since.elapsed().as_secs_f64();
        if let (Some(folder), Ok(bytes)) = (&self.folder, serde_json::to_vec(&self.job)) {
            let _ = folder.write(&bytes, &name(self.job.pid));
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_file(folder.at(name(self.job.pid)));
        }
    }
}

impl Job {
    /// Is it still at it?
    fn is_alive(&self) -> bool {
        begun(self.pid) == Some(self.begun)
    }
}

fn name(pid: u32) -> String {
    format!("{pid}.json")
}

/// When a process began, ticks since the machine did (`proc_pid_stat(5)`, field 22); none: there is none.
fn begun(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in brackets, may have anything in it.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The files of the folder, and what each says; none: it is no job's.
fn all_in(folder: &Folder) -> impl Iterator<Item = (String, Option<Job>)> {
    let entries = std::fs::read_dir(folder.at("")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with('.')).map(|name| {
        let job = folder.read(&name, MOST).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        (name, job)
    })
}

/// What this user has under way, the first first.
pub fn all() -> Vec<Job> {
    let Some(folder) = Folder::open(FOLDER) else { return Vec::new() };
    let mut jobs: Vec<Job> =
        all_in(&folder).take(JOBS).filter_map(|(_, job)| job).filter(Job::is_alive).collect();
    jobs.sort_by_key(|job| (job.begun, job.pid));
    jobs
}
