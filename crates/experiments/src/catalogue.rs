//! Which experiments there are: those in the program, and those in a folder of the user's.

use crate::nulls::Variants;
use crate::{Error, Figure, Null};
use queuewright_scenario::{Hashing, hex, limits, open, read_text};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Every file of `experiments/`, by its path there.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Files of a folder of experiments that have variants of them.
pub const VARIANTS: [&str; 2] = ["nulls.toml", "causes.toml"];

/// An experiment: a scenario and what is made of it.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Folder: the paper.
    pub paper: String,
    /// Name in it.
    pub name: String,
    /// The scenario file.
    pub scenario: String,
    /// The figure file.
    pub figure_text: String,
    /// The figure file, read.
    pub figure: Figure,
    /// Wrong variants of the paper's system, and possible causes of what does not hold.
    pub nulls: Arc<[Null]>,
    /// What stands of the paper, a few lines of Markdown.
    pub stands: Arc<str>,
    /// What the scenario may refer to, the same for all of a folder.
    files: Arc<[Data]>,
}

/// A data file of a folder of experiments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Data {
    /// From the folder.
    name: String,
    bytes: u64,
    /// SHA-256, in hexadecimal digits.
    sha256: String,
    at: At,
}

/// Where its content is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Program(&'static [u8]),
    File(PathBuf),
}

impl Data {
    /// It is hashed, not kept.
    fn new(name: String, at: At) -> std::io::Result<Data> {
        let (bytes, sha256) = {
            let mut from = Hashing::new(at.open()?);
            std::io::copy(&mut from, &mut std::io::sink())?;
            from.end()
        };
        if bytes > Files::LARGEST {
            return Err(std::io::Error::other("it grows"));
        }
        Ok(Data { name, bytes, sha256, at })
    }
}

impl At {
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            At::Program(content) => Box::new(*content),
            At::File(path) => Box::new(open(path, Files::LARGEST)?),
        })
    }
}

impl Experiment {
    /// `PAPER/NAME`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }

    /// SHA-256 of all that decides its runs and how they are kept.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.scenario.clone(), without_prose(&self.figure_text)] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        for data in self.files.iter() {
            hash.update((data.name.len() as u64).to_le_bytes());
            hash.update(&data.name);
            hash.update(data.bytes.to_le_bytes());
            hash.update(&data.sha256);
        }
        hex(&hash.finalize())
    }

    /// Does the scenario need other files?
    pub fn needs_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Has it the same data files as another, in memory as well?
    pub fn shares_files(&self, other: &Experiment) -> bool {
        self.paper == other.paper && Arc::ptr_eq(&self.files, &other.files)
    }

    /// Writes its texts and files into a folder, where the scenario then finds them.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn unpack(&self, folder: &Path) -> Result<(), Error> {
        self.unpack_texts(folder)?;
        for data in self.files.iter() {
            let path = folder.join(&data.name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                let mut file = fs::File::create(&path)?;
                std::io::copy(&mut data.at.open()?, &mut file)
            });
            made.map_err(|e| Error::Output(format!("cannot write {}: {e}", path.display())))?;
        }
        Ok(())
    }

    /// The same of its texts alone, where the files are there already.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn unpack_texts(&self, folder: &Path) -> Result<(), Error> {
        for (end, text) in [("toml", &self.scenario), ("figure.toml", &self.figure_text)] {
            let path = folder.join(format!("{}.{end}", self.name));
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, text))
                .map_err(|e| Error::Output(format!("cannot write {}: {e}", path.display())))?;
        }
        Ok(())
    }
}

/// A figure file without what is read by people or judged of runs that are there: runs do not depend on it.
fn without_prose(figure: &str) -> String {
    let Ok(mut table) = figure.parse::<toml::Table>() else { return figure.to_string() };
    for key in ["title", "figure", "source", "about", "published", "claim"] {
        table.remove(key);
    }
    table.to_string()
}

/// All experiments that can be asked for.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// By paper, then in the order of their names.
    pub experiments: Vec<Experiment>,
}

impl Catalogue {
    /// Those in the program.
    ///
    /// # Errors
    /// A broken file; the tests read them all.
    pub fn embedded() -> Result<Catalogue, Error> {
        let mut experiments = Vec::new();
        let mut papers: HashMap<&str, Arc<[Data]>> = HashMap::new();
        for (path, content) in EMBEDDED {
            let Some((paper, name)) = path.split_once('/') else { continue };
            let Some(name) = name.strip_suffix(".figure.toml") else { continue };
            let text = |wanted: &str| {
                let found = EMBEDDED.iter().find(|(p, _)| p == &wanted).map(|(_, c)| *c);
                let found =
                    found.ok_or_else(|| Error::Input(format!("{wanted}: not there, beside {path}")))?;
                String::from_utf8(found.to_vec())
                    .map_err(|_| Error::Input(format!("{wanted}: not UTF-8 text")))
            };
            let figure_text = text(path)?;
            let files = match papers.get(paper) {
                Some(files) => Arc::clone(files),
                None => {
                    let prefix = format!("{paper}/");
                    let own =
                        EMBEDDED.iter().filter(|(p, _)| p.starts_with(&prefix) && !p.ends_with(".toml"));
                    let data = own.map(|(p, c)| Data::new(p[prefix.len()..].into(), At::Program(c)));
                    let files: std::io::Result<Arc<[Data]>> = data.collect();
                    let files = files.map_err(|e| Error::Input(format!("{paper}: {e}")))?;
                    papers.insert(paper, Arc::clone(&files));
                    files
                }
            };
            debug_assert_eq!(content.len(), figure_text.len());
            let mut variants = Variants::default();
            for file in VARIANTS.map(|file| format!("{paper}/{file}")) {
                if EMBEDDED.iter().any(|(p, _)| *p == file) {
                    variants.read(&text(&file)?, &file)?;
                }
            }
            experiments.push(Experiment {
                paper: paper.into(),
                name: name.into(),
                scenario: text(&format!("{paper}/{name}.toml"))?,
                nulls: variants.all.into(),
                stands: variants.stands.into(),
                figure: Figure::parse(&figure_text, path)?,
                figure_text,
                files,
            });
        }
        experiments.sort_by_key(|e| order(&e.paper, &e.name));
        Ok(Catalogue { experiments })
    }

    /// Those of a folder: each `NAME.figure.toml` in it with its `NAME.toml`.
    ///
    /// # Errors
    /// A folder without experiments, a file that cannot be read or is broken.
    pub fn folder(folder: &Path) -> Result<Catalogue, Error> {
        let fail = |e: std::io::Error, path: &Path| Error::Input(format!("{}: {e}", path.display()));
        let (mut names, mut others) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder).map_err(|e| fail(e, folder))? {
            let path = entry.map_err(|e| fail(e, folder))?.path();
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
            if let Some(name) = name.strip_suffix(".figure.toml") {
                names.push(name.to_string());
            } else if !name.ends_with(".toml") {
                others.push((name.to_string(), path));
            }
        }
        // Only then is anything else of the folder read.
        if names.is_empty() {
            let message = "no experiment: a folder of experiments has files NAME.toml and NAME.figure.toml";
            return Err(Error::Input(format!("{}: {message}", folder.display())));
        }
        let mut files = Files::default();
        for (name, path) in others {
            files.add(&path, &name, 0)?;
        }
        files.all.sort();
        let data: Arc<[Data]> = std::mem::take(&mut files.all).into();
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let paper = whole.file_name().map_or("own".into(), |n| n.to_string_lossy().into_owned());
        let mut text = |path: PathBuf| {
            let text = read_text(&path, limits::TOML.bytes).map_err(|e| fail(e, &path))?;
            files.count(&path, text.len() as u64)?;
            Ok::<String, Error>(text)
        };
        let mut variants = Variants::default();
        for path in VARIANTS.map(|file| folder.join(file)) {
            let shown = path.display().to_string();
            if path.exists() {
                variants.read(&text(path)?, &shown)?;
            }
        }
        let (nulls, stands): (Arc<[Null]>, Arc<str>) = (variants.all.into(), variants.stands.into());
        let mut experiments = Vec::new();
        for name in names {
            let path = folder.join(format!("{name}.figure.toml"));
            let shown = path.display().to_string();
            let figure_text = text(path)?;
            experiments.push(Experiment {
                paper: paper.clone(),
                scenario: text(folder.join(format!("{name}.toml")))?,
                figure: Figure::parse(&figure_text, &shown)?,
                name,
                figure_text,
                nulls: Arc::clone(&nulls),
                stands: Arc::clone(&stands),
                files: Arc::clone(&data),
            });
        }
        experiments.sort_by_key(|e| order(&e.paper, &e.name));
        Ok(Catalogue { experiments })
    }

    /// The experiments of these names: `PAPER/NAME`, `PAPER`, a folder, or `FOLDER/NAME`. Each once, in order of the catalogue.
    ///
    /// # Errors
    /// A name that nothing has, with a suggestion.
    pub fn select(&self, names: &[String]) -> Result<Vec<Experiment>, Error> {
        let mut chosen: Vec<Experiment> = Vec::new();
        for name in names {
            let plain = name.trim_end_matches('/');
            let mut found: Vec<Experiment> =
                self.experiments.iter().filter(|e| e.paper == plain || e.id() == plain).cloned().collect();
            if found.is_empty() && Path::new(name).is_dir() {
                found = Catalogue::folder(Path::new(name))?.experiments;
            }
            // One of a folder's, as its page calls it.
            if let (true, Some((folder, one))) = (found.is_empty(), figure_of(plain)) {
                found = Catalogue::folder(folder)?.experiments;
                found.retain(|e| e.name == one);
            }
            if found.is_empty() {
                return Err(self.unknown(name));
            }
            for e in found {
                if !chosen.iter().any(|c| c.id() == e.id()) {
                    chosen.push(e);
                }
            }
        }
        Ok(chosen)
    }

    fn unknown(&self, name: &str) -> Error {
        let mut known: Vec<String> =
            self.experiments.iter().flat_map(|e| [e.paper.clone(), e.id()]).collect();
        known.sort();
        known.dedup();
        let lower = name.to_lowercase();
        let near = known
            .iter()
            .filter(|_| name.len() <= 64)
            .map(|k| (strsim::damerau_levenshtein(&lower, k), k))
            .filter(|(d, k)| *d <= 1 + k.len() / 3)
            .min();
        // `fig2` alone is a name that a paper has.
        let inside = known.iter().find(|k| k.split('/').nth(1) == Some(lower.as_str()));
        let hint = match inside.or(near.map(|(_, k)| k)) {
            Some(k) => format!("did you mean \"{k}\"?"),
            None => "queuewright reproduce lists them".into(),
        };
        Error::Input(format!("no experiment and no folder \"{}\"; {hint}", name.escape_debug()))
    }
}

/// Numbers in names count as numbers: fig2 before fig10.
fn order(paper: &str, name: &str) -> (String, String, u64, String) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (head, rest) = name.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (paper.into(), head.into(), rest[..end].parse().unwrap_or(0), rest[end..].into())
}

/// Data files of a folder of experiments, and how many files that it has were counted, and their bytes.
#[derive(Debug, Default)]
struct Files {
    all: Vec<Data>,
    count: usize,
    bytes: u64,
}

impl Files {
    /// Bytes of one file, and of all; files; how deep folders lie in one another.
    const LARGEST: u64 = limits::DATA.bytes;
    const MOST_BYTES: u64 = limits::EXPERIMENTS.bytes;
    const MOST_FILES: usize = limits::EXPERIMENTS.items.0 as usize;
    const DEEPEST: usize = limits::EXPERIMENTS.depth as usize;

    /// The data file, or all those of the folder, at `path`. A link to a folder is not followed: it may lead back. A file that is larger
    /// than any that scenarios read is left out.
    fn add(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), Error> {
        let fail = |e: std::io::Error| Error::Input(format!("{}: {e}", path.display()));
        let is_link = fs::symlink_metadata(path).map_err(fail)?.is_symlink();
        let meta = match fs::metadata(path) {
            Ok(meta) => meta,
            // A link to nothing is no data.
            Err(_) if is_link => return Ok(()),
            Err(e) => return Err(fail(e)),
        };
        if meta.is_dir() {
            if is_link {
                return Ok(());
            }
            if depth == Files::DEEPEST {
                return Err(much(path, format!("folders more than {} deep", Files::DEEPEST)));
            }
            for entry in fs::read_dir(path).map_err(fail)? {
                let path = entry.map_err(fail)?.path();
                if let Some(part) = path.file_name().and_then(|n| n.to_str()) {
                    self.add(&path, &format!("{name}/{part}"), depth + 1)?;
                }
            }
        } else if meta.len() <= Files::LARGEST {
            self.count(path, meta.len())?;
            self.all.push(Data::new(name.into(), At::File(path.into())).map_err(fail)?);
        }
        Ok(())
    }

    /// Counts a file of so many bytes.
    fn count(&mut self, path: &Path, bytes: u64) -> Result<(), Error> {
        self.bytes += bytes;
        self.count += 1;
        match () {
            () if self.bytes > Files::MOST_BYTES => {
                Err(much(path, format!("more than {} MB of files", Files::MOST_BYTES >> 20)))
            }
            () if self.count > Files::MOST_FILES => {
                Err(much(path, format!("more than {} files", Files::MOST_FILES)))
            }
            () => Ok(()),
        }
    }
}

/// The folder of one's own, and the figure in it, that a name such as `my-figures/flows` says.
pub fn figure_of(name: &str) -> Option<(&Path, &str)> {
    let (folder, one) = name.trim_end_matches('/').rsplit_once('/')?;
    let folder = Path::new(folder);
    folder.join(format!("{one}.figure.toml")).is_file().then_some((folder, one))
}

fn much(path: &Path, what: String) -> Error {
    Error::Input(format!("{}: {what} in a folder of experiments; keep its data alone there", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["fig10", "fig2", "table1", "fig2b"];
        names.sort_by_key(|n| order("p", n));
        assert_eq!(names, ["fig2", "fig2b", "fig10", "table1"]);
    }

    #[test]
    fn runs_outlive_a_change_of_words_but_not_of_measures() {
        let catalogue = Catalogue::embedded().unwrap();
        let e = catalogue.select(&["cp-aqm/fig2".into()]).unwrap().remove(0);
        let with = |from: &str, to: &str| {
            assert!(e.figure_text.contains(from), "{from}");
            Experiment { figure_text: e.figure_text.replace(from, to), ..e.clone() }.hash()
        };
        assert_eq!(with("title = \"CP-AQM under", "title = \"Under"), e.hash());
        assert_eq!(with("why = \"\"\"", "why = \"\"\"So: "), e.hash());
        assert_eq!(with("at_least = 99.5", "at_least = 99.4"), e.hash());
        assert_ne!(with("half_width = 0.02", "half_width = 0.01"), e.hash());
        assert_ne!(with("backlog_packets.mean", "backlog_packets.max"), e.hash());
        assert_ne!(Experiment { scenario: e.scenario.clone() + "\n", ..e.clone() }.hash(), e.hash());
    }

    #[test]
    fn a_name_that_nothing_has_gets_a_suggestion() {
        let all = Catalogue::embedded().unwrap();
        let error = |name: &str| all.select(&[name.into()]).unwrap_err().to_string();
        assert!(error("cp-aqm/fg1").contains("did you mean \"cp-aqm/fig1\"?"), "{}", error("cp-aqm/fg1"));
        assert!(error("fig1").contains("/fig1\"?"), "{}", error("fig1"));
        assert!(error("nothing at all like it").contains("lists them"));
    }
}
