//! The results folder: dated, never overwritten, readable at every moment.

use crate::{csv, html, thin};
use queuewright_results::{Results, Run};
use queuewright_scenario::{Hashing, limits};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Samples of a time series that stay in memory for the pictures; the CSV has all.
const KEPT_SAMPLES: usize = limits::SHOWN_SAMPLES;

/// A file or folder could not be written.
#[derive(Debug)]
pub struct Error {
    /// What was tried, such as `create`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.path.display(), self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A results folder that is being filled:
///
/// ```text
/// <base>/latest -> the newest folder
/// <base>/<YYYY-MM-DD>-<HHMMSS>-<name>[-n]/
///     manifest.json   version, scenario hash, when, which runs, every file with size and SHA-256
///     scenario.toml   the scenario as given
///     results.json    the result object
///     runs.csv groups.csv flows.csv cdf.csv series/<label>-seed<k>.csv
///     transfers/<label>-seed<k>.csv   where flows have an end
///     report.html     the pictures
/// ```
///
/// Each file is written beside its name and renamed, so it is whole at every
/// moment; only `report.html` waits for [`Folder::finish`].
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder itself: whoever may change the one above it may put another in its place.
    held: OpenFolder,
    name: String,
    created: String,
    scenario_toml: String,
    total: usize,
    results: Results,
    /// Place in the scenario of each run in `results`, rising.
    places: Vec<usize>,
    /// Size and SHA-256 of every file, by path inside the folder.
    files: BTreeMap<String, (u64, String)>,
    /// Runs that the sheets on disk lack.
    pending: usize,
}

impl Folder {
    /// Makes a new folder under `base` (made if missing), dated in local time, and
    /// points `latest` at it. `header` gives version and scenario; runs in it are
    /// ignored. `total` is the number of runs to come.
    ///
    /// # Errors
    /// When a folder or file cannot be made.
    pub fn create(
        base: &Path,
        name: &str,
        scenario_toml: &str,
        header: &Results,
        total: usize,
    ) -> Result<Folder, Error> {
        let now = local_now();
        let path = dated(base, name, &now)?;
        let held = OpenFolder::new(&path).map_err(error("open", &path))?;
        fs::create_dir(held.at("series")).map_err(error("create", &path.join("series")))?;
        let mut folder = Folder {
            name: name.into(),
            created: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            scenario_toml: scenario_toml.into(),
            total,
            results: Results { runs: Vec::new(), ..header.clone() },
            places: Vec::with_capacity(total),
            files: BTreeMap::new(),
            pending: 0,
            path,
            held,
        };
        folder.write("scenario.toml", scenario_toml.as_bytes())?;
        folder.write_sheets()?;
        link_latest(base, &folder.path);
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The runs so far, in scenario order. Their time series are thinned to what
    /// pictures need.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Keeps a file that the scenario needs, such as a link's trace, under `name` (a
    /// plain file name). The manifest lists it from the next writing on.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_file(&mut self, name: &str, content: impl Read) -> Result<(), Error> {
        self.write(&file_name(name), content)
    }

    /// Adds a finished run. `place` is its place in the scenario's order (a run
    /// added again at its place replaces the first). Its series is written at once;
    /// the sheets, `results.json` and the manifest too for the first 15 runs, then
    /// whenever more than a sixteenth of the runs is new.
    ///
    /// # Errors
    /// When a file cannot be written; the run is part of the results nevertheless.
    pub fn add_run(&mut self, place: usize, mut run: Run) -> Result<(), Error> {
        let series = csv::series(&run);
        let transfers = (!run.detail.transfers.is_empty()).then(|| csv::transfers(&run));
        // There may be millions: their file has them.
        run.detail.transfers = Vec::new();
        let has_series = !run.detail.series.time_s.is_empty();
        let label = file_name(&run.discipline);
        let seed = run.seed;
        match self.has_pictures(seed) {
            true => thin::series(&mut run.detail.series, KEPT_SAMPLES),
            false => run.detail.series = Default::default(),
        }
        match self.places.binary_search(&place) {
            Ok(i) => self.results.runs[i] = run,
            Err(i) => {
                self.places.insert(i, place);
                self.results.runs.insert(i, run);
            }
        }
        if has_series {
            self.write_of_run("series", &label, seed, &series)?;
        }
        if let Some(transfers) = transfers {
            let made = fs::create_dir_all(self.held.at("transfers"));
            made.map_err(error("create", &self.path.join("transfers")))?;
            self.write_of_run("transfers", &label, seed, &transfers)?;
        }
        // Every run at first; of many, when a sixteenth is new: each writing holds them all.
        self.pending += 1;
        if self.pending > self.results.runs.len() / 16 { self.write_sheets() } else { Ok(()) }
    }

    /// Is this seed among those that the pictures show? Of the others no series stays in memory.
    fn has_pictures(&self, seed: u64) -> bool {
        let seeds = self.results.scenario["run"]["seeds"].as_array();
        seeds.is_none_or(|all| all.iter().take(limits::SHOWN_SEEDS).any(|shown| *shown == json!(seed)))
    }

    /// Writes a run's own file into a folder of such.
    fn write_of_run(&mut self, folder: &str, label: &str, seed: u64, content: &str) -> Result<(), Error> {
        let mut file = format!("{folder}/{label}-seed{seed}.csv");
        // Labels that differ only in what file names cannot hold.
        let mut n = 2;
        while self.files.contains_key(&file) {
            file = format!("{folder}/{label}-seed{seed}-{n}.csv");
            n += 1;
        }
        self.write(&file, content.as_bytes())
    }

    /// Writes everything for the last time, the report too, and returns the
    /// report's path. To be called after an interrupt as well: the manifest then
    /// says that the folder is not complete.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self) -> Result<PathBuf, Error> {
        let page = html(&self.results, &self.scenario_toml);
        self.write("report.html", page.as_bytes())?;
        self.write_sheets()?;
        Ok(self.path.join("report.html"))
    }

    fn write_sheets(&mut self) -> Result<(), Error> {
        self.write("results.json", self.results.to_json().as_bytes())?;
        self.write("runs.csv", csv::runs(&self.results).as_bytes())?;
        if self.results.runs.iter().flat_map(|r| &r.ports).any(|p| !p.queues.is_empty()) {
            self.write("queues.csv", csv::queues(&self.results).as_bytes())?;
        }
        self.write("groups.csv", csv::groups(&self.results).as_bytes())?;
        self.write("flows.csv", csv::flows(&self.results).as_bytes())?;
        if self.results.runs.iter().any(|run| !run.responsiveness.is_empty()) {
            self.write("responsiveness.csv", csv::responsiveness(&self.results).as_bytes())?;
        }
        self.write("cdf.csv", csv::cdf(&self.results).as_bytes())?;
        self.write_manifest()?;
        self.pending = 0;
        Ok(())
    }

    fn write_manifest(&mut self) -> Result<(), Error> {
        let files: Vec<_> = self
            .files
            .iter()
            .map(|(path, (bytes, sha256))| json!({"path": path, "bytes": bytes, "sha256": sha256}))
            .collect();
        let runs: Vec<_> = self
            .results
            .runs
            .iter()
            .map(|run| json!({"discipline": run.discipline, "seed": run.seed}))
            .collect();
        let manifest = json!({
            "schema": 1,
            "name": self.name,
            "version": self.results.version,
            "created": self.created,
            "scenario_hash": self.results.scenario.get("hash"),
            "complete": runs.len() >= self.total,
            "runs_total": self.total,
            "runs_finished": runs.len(),
            "runs": runs,
            "files": files,
        });
        self.replace("manifest.json", format!("{manifest:#}\n").as_bytes())
    }

    fn write(&mut self, file: &str, content: impl Read) -> Result<(), Error> {
        let mut content = Hashing::new(content);
        self.replace(file, &mut content)?;
        self.files.insert(file.into(), content.end());
        Ok(())
    }

    fn replace(&self, file: &str, content: impl Read) -> Result<(), Error> {
        whole(&self.held.at(file), content).map_err(error("write", &self.path.join(file)))
    }
}

/// An open folder, whatever becomes of its name.
#[derive(Debug)]
struct OpenFolder {
    #[cfg(target_os = "linux")]
    file: fs::File,
    #[cfg(not(target_os = "linux"))]
    path: PathBuf,
}

impl OpenFolder {
    /// Opens one that this process has made.
    #[cfg(target_os = "linux")]
    fn new(path: &Path) -> io::Result<OpenFolder> {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        match file.metadata()?.uid() == rustix::process::geteuid().as_raw() {
            true => Ok(OpenFolder { file }),
            false => Err(io::Error::other("somebody else has put another folder in its place")),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn new(path: &Path) -> io::Result<OpenFolder> {
        Ok(OpenFolder { path: path.into() })
    }

    /// The path of something in it, for this process alone.
    #[cfg(target_os = "linux")]
    fn at(&self, name: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        Path::new("/proc/self/fd").join(self.file.as_raw_fd().to_string()).join(name)
    }

    #[cfg(not(target_os = "linux"))]
    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Makes a new folder under `base` (made if missing), named by the local time and `name`, and points
/// `base/latest` at it.
///
/// # Errors
/// When it cannot be made.
pub fn new_folder(base: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = dated(base, name, &local_now())?;
    link_latest(base, &path);
    Ok(path)
}

/// The local time; UTC where the zone would be read from what is no file of a zone. `TZ` may name any file, a device without an end too.
fn local_now() -> jiff::Zoned {
    let zone = std::env::var_os("TZ").unwrap_or_default();
    let zone = zone.to_string_lossy();
    let zone = Path::new(zone.strip_prefix(':').unwrap_or(&zone));
    let places = [zone.to_path_buf(), Path::new("/usr/share/zoneinfo").join(zone), "/etc/localtime".into()];
    let is_zone = |path: &PathBuf| match fs::metadata(path) {
        Ok(meta) => meta.is_dir() || (meta.is_file() && meta.len() <= 1 << 20),
        Err(_) => true,
    };
    match places.iter().all(is_zone) {
        true => jiff::Zoned::now(),
        false => jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC),
    }
}

fn dated(base: &Path, name: &str, now: &jiff::Zoned) -> Result<PathBuf, Error> {
    let stem = format!("{}-{}", now.strftime("%Y-%m-%d-%H%M%S"), file_name(name));
    fs::create_dir_all(base).map_err(error("create", base))?;
    create_new(base, &stem)
}

/// Points `base/latest` at a folder in `base`. A convenience: file systems without links
/// and a `latest` that is not a link are left alone.
fn link_latest(base: &Path, path: &Path) {
    let (Some(own), link) = (path.file_name(), base.join("latest")) else {
        return;
    };
    if link.symlink_metadata().is_ok_and(|m| !m.is_symlink()) {
        return;
    }
    let fresh = base.join(format!(".latest-{}", own.to_string_lossy()));
    #[cfg(unix)]
    if std::os::unix::fs::symlink(own, &fresh).is_ok() && fs::rename(&fresh, &link).is_err() {
        let _ = fs::remove_file(&fresh);
    }
}

fn error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error { action, path, source }
}

/// Makes `base/stem`, or `base/stem-2`, `-3`, ... if that is taken.
fn create_new(base: &Path, stem: &str) -> Result<PathBuf, Error> {
    let mut path = base.join(stem);
    for n in 2.. {
        match fs::create_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                path = base.join(format!("{stem}-{n}"));
            }
            made => {
                made.map_err(error("create", &path))?;
                break;
            }
        }
    }
    Ok(path)
}

/// Writes a file whole or not at all: a reader sees the old or the new content.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, content: impl Read) -> Result<(), Error> {
    whole(path, content).map_err(error("write", path))
}

fn whole(path: &Path, mut content: impl Read) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".part");
    let fresh = PathBuf::from(fresh);
    // What a kill has left; a link of that name is not followed.
    match fs::remove_file(&fresh) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let written = fs::File::create_new(&fresh).and_then(|mut file| io::copy(&mut content, &mut file));
    written.and_then(|_| fs::rename(&fresh, path)).inspect_err(|_| {
        // A full disk leaves no half of a file.
        let _ = fs::remove_file(&fresh);
    })
}

/// A name as part of a file name: letters, digits, `.`, `_`, `-`; at most 60.
pub fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => c,
            _ => '-',
        })
        .take(60)
        .collect();
    // Not hidden, not a parent folder, not an option on a command line.
    let plain = plain.trim_start_matches(['.', '-']);
    if plain.is_empty() { "run".into() } else { plain.into() }
}
