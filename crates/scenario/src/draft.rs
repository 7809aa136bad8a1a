//! A scenario before it is checked: what a file, the command line or a program says, on which more can be laid.

use crate::data::Files;
use crate::error::{Error, Place, nearest};
use crate::flags::{DEFAULT_AQM, DEFAULT_DURATION, Flags, discipline};
use crate::model::Scenario;
use crate::node::{Node, Value, parse_toml};
use crate::renamed::{Warning, Warnings, renew, renew_path};
use crate::units::quote;
use crate::{data, json, read};
use queuewright_aqm::Info;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Largest scenario file, bytes.
const MAX_FILE: u64 = crate::limits::TOML.bytes;
/// When what comes by a pipe is to be there.
const PIPE_ENDS_WITHIN: Duration = Duration::from_secs(60);

/// What a scenario is to say, by the present names of keys. Nothing else of it is checked but that it is TOML; [`Draft::scenario`] does.
#[derive(Debug, Clone)]
pub struct Draft {
    root: Node,
    files: Files,
    warnings: Warnings,
}

/// How the names of scenario files end.
const ENDING: &str = ".toml";

/// Of a scenario file that is not there: the one that may be meant, or what scenario files its folder has, or none.
fn others_there(path: &Path) -> String {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return String::new() };
    // A folder with more names is no folder of scenarios.
    let names = std::fs::read_dir(folder).into_iter().flatten().take(1000).flatten();
    let mut there: Vec<String> = names
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(ENDING).map(String::from))
        .collect();
    there.sort();
    let shown = |other: &str| path.with_file_name(format!("{other}{ENDING}")).display().to_string();
    match nearest(name.strip_suffix(ENDING).unwrap_or(name), there.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean \"{}\"?", shown(near)),
        None if there.is_empty() => String::new(),
        None => {
            let some: Vec<_> = there.iter().take(3).map(|other| format!("{other}{ENDING}")).collect();
            format!("; beside it: {}{}", some.join(", "), if there.len() > 3 { ", ..." } else { "" })
        }
    }
}

impl Draft {
    fn of(root: Node, files: Files) -> Result<Draft, Error> {
        Draft { root, files, warnings: Warnings::default() }.renewed()
    }

    /// With none but present names of keys.
    fn renewed(mut self) -> Result<Draft, Error> {
        renew(&mut self.root, &mut self.warnings)?;
        Ok(self)
    }

    /// What it should say otherwise: keys by their old names.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings.0
    }

    /// A scenario file. Paths in it start from its folder. What comes by a pipe that this process was given (`/dev/fd/N` of a
    /// shell's `<(COMMAND)`, or `-`) starts them from the working folder.
    ///
    /// # Errors
    /// A file that cannot be read, or is no TOML.
    pub fn read(path: &Path) -> Result<Draft, Error> {
        let name = path.display().to_string();
        let fail = |message: String| {
            let place = Place::File { name: name.clone(), line: 0 };
            Error::new(place, "", message)
        };
        let pipe = data::given_pipe(path);
        let bytes = match &pipe {
            Some(at) => data::read_pipe(at, MAX_FILE, PIPE_ENDS_WITHIN),
            None => data::read_file(path, MAX_FILE),
        };
        let bytes = bytes.map_err(|e| match e.kind() {
            ErrorKind::FileTooLarge => fail(format!("{e}: not a scenario")),
            ErrorKind::NotFound if pipe.is_none() => {
                fail(format!("{}{}", data::unreadable(&e), others_there(path)))
            }
            _ => fail(data::unreadable(&e)),
        })?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let line =
                1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
            let place = Place::File { name: name.clone(), line };
            Error::new(place, "", "not UTF-8 text")
        })?;
        let folder = path.parent().filter(|_| pipe.is_none());
        Draft::parse(&text, &name, folder.unwrap_or(Path::new("")))
    }

    /// The text of a scenario file. `file_name` is for errors; paths in the text start from `base_dir`.
    ///
    /// # Errors
    /// What is no TOML, or a key by its old name and the new one, with its line.
    pub fn parse(text: &str, file_name: &str, base_dir: &Path) -> Result<Draft, Error> {
        let files = Files::new(base_dir.into(), BTreeMap::new());
        Draft::of(parse_toml(text, file_name)?, files)
    }

    /// What the command line says alone, with its defaults.
    ///
    /// # Errors
    /// The first thing wrong, with the flag's name.
    pub fn from_flags(flags: &Flags) -> Result<Draft, Error> {
        Draft::of(flags.tree()?, Files::default())
    }

    /// With one more discipline that is known by its name, such as one of a user's own that is compiled for a kernel.
    #[must_use]
    pub fn knowing(mut self, info: &'static Info) -> Draft {
        self.files.also = Some(info);
        self
    }

    /// What a program says, as JSON: an object with the tables of a scenario file. Disciplines and a duration that
    /// it lacks are as [`Draft::from_flags`] has them. Paths start from the working folder.
    ///
    /// # Errors
    /// If it is no object.
    pub fn from_json(text: &str) -> Result<Draft, Error> {
        let mut root = node("", text)?;
        let Value::Table(_) = root.value else {
            return Err(root.error("not a scenario; write its tables: link, flows, queue, run"));
        };
        root.remove("hash");
        without_hashes(&mut root);
        let text = |key: &str, text: &str| Node::new(key, Place::Value, Value::Text(text.into()));
        if root.get("queue").is_none() {
            let names = DEFAULT_AQM.split(',').map(|name| text("queue.disciplines", name)).collect();
            root.put_in(
                "queue",
                "disciplines",
                Node::new("queue.disciplines", Place::Value, Value::List(names)),
            );
        }
        if root
            .get("run")
            .is_none_or(|run| matches!(run.value, Value::Table(_)) && run.get("duration").is_none())
        {
            root.put_in("run", "duration", text("run.duration", DEFAULT_DURATION));
        }
        Draft::of(root, Files::default())
    }

    /// As if it said what the flags say: see [`Scenario::read_with`].
    ///
    /// # Errors
    /// A flag that is not written as it should be.
    pub fn with(mut self, flags: &Flags) -> Result<Draft, Error> {
        flags.lay_over(&mut self.root)?;
        self.renewed()
    }

    /// With these disciplines instead of its own, a JSON list: each as `--aqm` has it (`"codel:target=10ms"`), or the
    /// table that a file has.
    ///
    /// # Errors
    /// A text that is not written as `--aqm` wants it.
    pub fn with_disciplines(mut self, json: &str) -> Result<Draft, Error> {
        let mut all = node("--aqm", json)?;
        if let Value::List(items) = &mut all.value {
            for item in items {
                if let Value::Text(text) = &item.value {
                    let text = Value::Text(text.trim().into());
                    *item = discipline(Node::new(&item.key, Place::Flag, text))?;
                }
            }
        }
        self.root.put_in("queue", "disciplines", all);
        self.renewed()
    }

    /// With a value, JSON, at a path such as `link.rate`, `flows[0].rtt`, or `flows.rtt`, which is that of all flows. A table
    /// that is not there is made. A link has one of `rate`, `schedule` and `trace`: the others go, and with a schedule its `period`.
    ///
    /// # Errors
    /// A path that leads nowhere.
    pub fn put(mut self, path: &str, json: &str) -> Result<Draft, Error> {
        let now = renew_path(path, &mut self.warnings);
        put(&mut self.root, path, &now, &node(path, json)?)?;
        self.renewed()
    }

    /// Checks all of it.
    ///
    /// # Errors
    /// The first thing wrong, with its place.
    pub fn scenario(&self) -> Result<Scenario, Error> {
        let scenario = read::scenario(&self.root, &self.files)?;
        Ok(Scenario { warnings: self.warnings.clone(), ..scenario })
    }

    /// As JSON for [`Draft::unpack`], on this machine or another: with each value's place, which errors name, and without what is
    /// in the files that it names ([`Scenario::files`]).
    ///
    /// # Errors
    /// A folder whose name is not Unicode.
    pub fn pack(&self) -> Result<String, Error> {
        serde_json::to_string(&(&self.root, &self.files.base_dir))
            .map_err(|e| Error::new(Place::Value, "", format!("cannot be packed: {e}")))
    }

    /// What [`Draft::pack`] packed, and what is in the files that it names, by path: these are not looked for on this machine.
    ///
    /// # Errors
    /// A text that is something else.
    pub fn unpack(text: &str, files: impl IntoIterator<Item = (PathBuf, Arc<[u8]>)>) -> Result<Draft, Error> {
        let (root, base_dir) = serde_json::from_str(text)
            .map_err(|e| Error::new(Place::Value, "", format!("not a packed scenario: {e}")))?;
        Draft::of(root, Files::new(base_dir, files.into_iter().collect()))
    }
}

/// What a program gave, as a tree; `key` is its name.
fn node(key: &str, text: &str) -> Result<Node, Error> {
    fn place(node: &mut Node) {
        node.place = Place::Value;
        match &mut node.value {
            Value::List(items) => items.iter_mut().for_each(place),
            Value::Table(entries) => entries.iter_mut().for_each(|(_, n)| place(n)),
            _ => {}
        }
    }
    let mut root = json::parse_value(text, key)?;
    place(&mut root);
    Ok(root)
}

/// Without the hashes of files, which results have beside their names ([`Scenario::to_json`]): they follow from the rest.
fn without_hashes(node: &mut Node) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(without_hashes),
        Value::Table(entries) => {
            let names: Vec<String> = entries.iter().map(|(name, _)| format!("{name}_sha256")).collect();
            entries.retain(|(name, _)| !names.contains(name));
            entries.iter_mut().for_each(|(_, inner)| without_hashes(inner));
        }
        _ => {}
    }
}

/// The rates that a link may have, of which it has one.
const RATES: [&str; 3] = ["rate", "schedule", "trace"];

fn put(at: &mut Node, path: &str, rest: &str, value: &Node) -> Result<(), Error> {
    let wrong = |message: String| Error::new(Place::Value, quote(path), message);
    let (part, rest) = rest.split_once('.').map_or((rest, None), |(part, rest)| (part, Some(rest)));
    let (name, index) = match part.split_once('[') {
        None => (part, None),
        Some((name, index)) => {
            let index = index.strip_suffix(']').and_then(|i| i.parse::<usize>().ok());
            let index = index.ok_or_else(|| wrong("not a path; write flows[0].rtt, or link.rate".into()))?;
            (name, Some(index))
        }
    };
    if name.is_empty() || !matches!(at.value, Value::Table(_)) {
        return Err(wrong("not a path; write flows[0].rtt, or link.rate".into()));
    }
    let (Some(rest), index) = (rest, index) else {
        if index.is_some() {
            return Err(wrong("not a path to a value; write flows[0].rtt, or link.rate".into()));
        }
        if RATES.contains(&name) {
            RATES.iter().for_each(|other| at.remove(other));
            if name != "schedule" {
                at.remove("period");
            }
        }
        at.put(name, value.clone());
        return Ok(());
    };
    let inner = match at.open(name) {
        Some(inner) => inner,
        None => return Err(wrong("not a path; write flows[0].rtt, or link.rate".into())),
    };
    match (&mut inner.value, index) {
        (Value::List(items), Some(index)) => match items.get_mut(index) {
            Some(item) => put(item, path, rest, value),
            None => Err(wrong(format!("there are {} of {}, counted from 0", items.len(), quote(name)))),
        },
        (Value::List(items), None) => items.iter_mut().try_for_each(|item| put(item, path, rest, value)),
        (_, Some(_)) => Err(wrong(format!("{} is no list", quote(name)))),
        (_, None) => put(inner, path, rest, value),
    }
}
