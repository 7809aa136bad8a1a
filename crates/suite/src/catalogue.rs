//! Which suites there are: those in the program, and folders of the user's.

use crate::Error;
use crate::findings::Finding;
use include_dir::{Dir, include_dir};
use queuewright_results::measures::{Better, better};
use queuewright_scenario::{Scenario, limits, read_text, suggest};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// What a folder says of its suite.
const ABOUT: &str = "suite.toml";
/// No suite has more scenarios.
const MOST: usize = 1000;

/// A suite of scenarios.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Name of its folder.
    pub name: String,
    /// What `suite.toml` says.
    pub about: About,
    /// Its scenarios, in the order of their names.
    pub members: Vec<Member>,
    /// Data that the scenarios of the program's own suites name.
    files: Vec<(String, &'static [u8])>,
    /// Where the scenarios find their files.
    pub folder: PathBuf,
}

/// `suite.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct About {
    /// What it is, in a line.
    pub title: String,
    /// Where it is from.
    pub source: String,
    /// The measure by which disciplines are ranked: its path in the result object, or one that `reproduce` derives
    /// (docs/experiments/README.md); default `power`. With one `*`, as in `group.*.goodput_bps`: the geometric mean of all that match.
    /// Of several, each scenario has the first that any of its runs has.
    pub score: Paths,
    /// Is less of it better?
    pub less: bool,
    /// What it is in words.
    pub score_in_words: String,
    /// How names of scenarios begin that are one section: together they count as much as another section, or as a scenario that is in none.
    pub sections: Vec<String>,
    /// How names of scenarios begin that are run and shown, and are in no score.
    pub unscored: Vec<String>,
    /// On which disciplines it is run unless others are asked for: `all` that need no port to share, or a list as
    /// `--aqm` has it. Left out, each scenario has those that its file names.
    pub aqm: Option<String>,
    /// What its source has found.
    pub finding: Vec<Finding>,
}

/// A path, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Paths {
    /// One.
    One(String),
    /// The first that there is.
    Several(Vec<String>),
}

impl Default for Paths {
    fn default() -> Paths {
        Paths::One("power".into())
    }
}

impl About {
    /// The measures by which disciplines are ranked, of which a scenario has the first that it has.
    pub fn score(&self) -> &[String] {
        match &self.score {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Several(paths) => paths,
        }
    }

    /// Is the score Kleinrock's power?
    pub(crate) fn is_power(&self) -> bool {
        self.score() == ["power"]
    }

    /// The section of a scenario of this name, itself if it is in none; none: it is in no score.
    pub(crate) fn section(&self, name: &str) -> Option<String> {
        let begins = |of: &&String| name.starts_with(of.as_str());
        if self.unscored.iter().any(|of| begins(&of)) {
            return None;
        }
        let longest = self.sections.iter().filter(begins).max_by_key(|of| of.len());
        Some(longest.map_or(name, String::as_str).to_string())
    }
}

/// A scenario of a suite.
#[derive(Debug, Clone)]
pub struct Member {
    /// Name of its file, without `.toml`.
    pub name: String,
    /// The file.
    pub text: String,
}

/// The program's own suites, by name.
///
/// # Errors
/// A broken file; the tests read them all.
pub fn list() -> Result<Vec<Suite>, Error> {
    let mut all = Vec::new();
    for dir in EMBEDDED.dirs() {
        let named = dir.files().filter_map(|f| Some((f.path().file_name()?.to_str()?.to_string(), f)));
        let (texts, files): (Vec<_>, Vec<_>) = named.partition(|(name, _)| name.ends_with(".toml"));
        let texts = texts.into_iter().filter_map(|(name, f)| Some((name, f.contents_utf8()?.to_string())));
        let name = dir.path().to_string_lossy().into_owned();
        let suite = Suite::of(name, texts.collect(), PathBuf::new())?;
        let files = files.into_iter().filter(|(name, _)| !name.ends_with(".md"));
        all.push(Suite { files: files.map(|(name, f)| (name, f.contents())).collect(), ..suite });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

impl Suite {
    /// The suite of this name, or that of a folder.
    ///
    /// # Errors
    /// A name that neither has, a folder without scenarios, a file that cannot be read.
    pub fn open(name: &str) -> Result<Suite, Error> {
        let plain = name.trim_end_matches('/');
        let mut own = list()?;
        if let Some(at) = own.iter().position(|s| s.name == plain) {
            return Ok(own.swap_remove(at));
        }
        let path = Path::new(name);
        if path.is_dir() {
            return Suite::folder(path);
        }
        let names: Vec<&str> = own.iter().map(|s| s.name.as_str()).collect();
        let allowed = suggest(plain, names.iter().copied());
        Err(Error(format!("no suite and no folder \"{}\"{allowed}, or a folder", name.escape_debug())))
    }

    fn folder(path: &Path) -> Result<Suite, Error> {
        let fail = |e: std::io::Error, path: &Path| Error(format!("{}: {e}", path.display()));
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(|e| fail(e, path))? {
            let path = entry.map_err(|e| fail(e, path))?.path();
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
            if name.ends_with(".toml") {
                if files.len() > MOST {
                    return Err(Error(format!("{}: more than {MOST} scenarios", path.display())));
                }
                let text = read_text(&path, limits::TOML.bytes).map_err(|e| fail(e, &path))?;
                files.push((name.to_string(), text));
            }
        }
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let name = whole.file_name().map_or("own".into(), |n| n.to_string_lossy().into_owned());
        Suite::of(name, files, path.to_path_buf())
    }

    fn of(name: String, files: Vec<(String, String)>, folder: PathBuf) -> Result<Suite, Error> {
        let mut about = About::default();
        let mut members = Vec::new();
        for (file, text) in files {
            if file == ABOUT {
                let why = |e: toml::de::Error| Error(format!("{name}/{ABOUT}: {}", e.message()));
                about = toml::from_str(&text).map_err(why)?;
            } else if let Some(stem) = file.strip_suffix(".toml") {
                members.push(Member { name: stem.into(), text });
            }
        }
        if members.is_empty() {
            return Err(Error(format!(
                "{name}: no scenario in it; a suite is a folder of scenario files (.toml)"
            )));
        }
        members.sort_by_cached_key(|m| sorted(&m.name));
        for (key, starts) in [("sections", &about.sections), ("unscored", &about.unscored)] {
            if let Some(none) = starts.iter().find(|of| !members.iter().any(|m| m.name.starts_with(*of))) {
                return Err(Error(format!("{name}/{ABOUT}: {key}: no scenario's name begins with {none:?}")));
            }
        }
        // What less is better of. (A suite may want less of anything else, as of what an attacker gets.)
        if let Some(path) = about.score().iter().find(|path| better(path) == Better::Low && !about.less) {
            return Err(Error(format!(
                "{name}/{ABOUT}: score = {path:?}: less of it is better: write less = true"
            )));
        }
        for finding in &about.finding {
            finding.check().map_err(|why| Error(format!("{name}/{ABOUT}: {why}")))?;
            if let Some(none) =
                finding.scenarios.iter().find(|of| !members.iter().any(|m| m.name.starts_with(*of)))
            {
                let says = &finding.says;
                return Err(Error(format!(
                    "{name}/{ABOUT}: finding {says:?}: scenarios: no scenario's name begins with {none:?}"
                )));
            }
        }
        if about.title.is_empty() {
            about.title = format!("{} scenarios", members.len());
        }
        Ok(Suite { name, about, members, files: Vec::new(), folder })
    }

    /// Findings name groups and ports of their scenarios alone.
    pub(crate) fn check_findings(&self, scenarios: &[Scenario]) -> Result<(), Error> {
        for finding in &self.about.finding {
            let mut names: Vec<String> = Vec::new();
            for (member, scenario) in self.members.iter().zip(scenarios) {
                if !finding.scenarios.iter().any(|begin| member.name.starts_with(begin)) {
                    continue;
                }
                let runs = scenario.runs().map_err(|e| Error(format!("{}: {e}", member.name)))?;
                if let Some(run) = runs.first() {
                    names.extend(run.groups.iter().map(|g| format!("group.{}.", g.name)));
                    names.extend(run.ports.iter().map(|p| format!("port.{}.", p.name)));
                }
            }
            let of_one = |path: &&String| path.starts_with("group.") || path.starts_with("port.");
            for path in finding.of.iter().chain(&finding.over).filter(of_one) {
                if !names.iter().any(|name| path.starts_with(name)) {
                    let (name, says) = (&self.name, &finding.says);
                    return Err(Error(format!(
                        "{name}/{ABOUT}: finding {says:?}: {path:?}: its scenarios have no such group or port"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Writes its scenarios into a folder, and what data they name if it is one of the program's own. These are then
    /// found there.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn unpack(&mut self, folder: &Path) -> Result<(), std::io::Error> {
        fs::create_dir_all(folder)?;
        for member in &self.members {
            fs::write(folder.join(format!("{}.toml", member.name)), &member.text)?;
        }
        for (name, content) in &self.files {
            fs::write(folder.join(name), content)?;
        }
        if !self.files.is_empty() {
            self.folder = folder.to_path_buf();
        }
        Ok(())
    }
}

/// Numbers in names count as numbers: 5.2 before 5.10.
fn sorted(name: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let words = after.bytes().take_while(|b| !b.is_ascii_digit()).count();
        let (word, after) = after.split_at(words);
        parts.push((number.parse().unwrap_or(u64::MAX), word.to_string()));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["6.2-rtt-100ms", "6.2-rtt-20ms", "10.2-a", "5.1.1-b", "home"];
        names.sort_by_cached_key(|n| sorted(n));
        assert_eq!(names, ["5.1.1-b", "6.2-rtt-20ms", "6.2-rtt-100ms", "10.2-a", "home"]);
    }

    /// The longest beginning decides, and what is in no section is one of its own.
    #[test]
    fn sections_are_beginnings_of_names() {
        let list = |of: &[&str]| of.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let about = About {
            sections: list(&["5.1-", "5.1.1-", "5.1"]),
            unscored: list(&["4.5-"]),
            ..About::default()
        };
        let of: Vec<_> =
            ["5.1-a", "5.1.1-b", "5.1.2-c", "4.5-ecn", "6.2-rtt"].map(|n| about.section(n)).into();
        let want = [Some("5.1-"), Some("5.1.1-"), Some("5.1"), None, Some("6.2-rtt")];
        assert_eq!(of, want.map(|s| s.map(String::from)));
    }

    #[test]
    fn a_folder_without_scenarios_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Suite::open(&folder.path().display().to_string()).expect_err("it is empty");
        assert!(error.0.contains("no scenario in it"), "{error}");
        let error = Suite::open("rfc7928x").expect_err("there is none");
        assert!(
            error.0.starts_with("no suite and no folder \"rfc7928x\"; did you mean \"rfc7928\"? Allowed: "),
            "{error}"
        );
        fs::write(folder.path().join("suite.toml"), "titel = \"x\"").expect("written");
        let error = Suite::open(&folder.path().display().to_string()).expect_err("no such key");
        assert!(error.0.contains("suite.toml: unknown field `titel`"), "{error}");
        fs::write(folder.path().join("suite.toml"), "sections = [\"x\", \"y\"]").expect("written");
        fs::write(folder.path().join("x-1.toml"), "").expect("written");
        let error = Suite::open(&folder.path().display().to_string()).expect_err("nothing begins so");
        assert!(error.0.ends_with("suite.toml: sections: no scenario's name begins with \"y\""), "{error}");
        // A score that would have the worst first.
        for (about, why) in [
            ("score = \"port.x.sojourn_ms.p95\"", Some("less of it is better: write less = true")),
            ("score = \"sojourn_ms.p95\"\nless = true", None),
            (
                "score = \"group.web.transfers.pages.plt_s.p50\"",
                Some("less of it is better: write less = true"),
            ),
            ("score = \"group.x.goodput_bps\"\nless = true", None),
            ("score = \"mark_fraction\"", None),
        ] {
            std::fs::write(folder.path().join("suite.toml"), about).expect("written");
            let opened = Suite::open(&folder.path().display().to_string()).map_err(|e| e.0);
            assert_eq!(opened.err().map(|e| e.ends_with(why.unwrap_or("?"))), why.map(|_| true), "{about}");
        }
    }
}
