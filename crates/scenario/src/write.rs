//! A scenario as JSON and as TOML, every default filled in.

use crate::arrivals::{ArrivalPattern, Arrivals, PagesFile};
use crate::data::{DataFile, hex};
use crate::datagrams::Datagrams;
use crate::keys::{DSCPS, dscp_name};
use crate::model::{
    Change, Discipline, Flows, InitialWindow, Link, LinkRate, Probes, Scenario, TrafficModel,
};
use crate::rate::Shaper;
use crate::setting::Setting;
use crate::units::{Range, Unit};
use queuewright_cca::Kind;
use queuewright_results::{Results, SCHEMA};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

impl Scenario {
    /// The scenario with every default filled in, in the keys and units of the file,
    /// and `hash`.
    pub fn to_json(&self) -> Value {
        let mut root = self.content();
        let mut hashed = root.clone();
        // Titles and the place of a file change no result.
        for key in ["name", "description"] {
            hashed.as_object_mut().map(|o| o.remove(key));
        }
        self.name_controls(&mut hashed);
        drop_of_files(&mut hashed, Half::Path);
        let mut canonical = String::new();
        write_sorted(&hashed, &mut canonical);
        root["hash"] = hex(&Sha256::digest(canonical.as_bytes())).into();
        root
    }

    /// SHA-256, hexadecimal, of what decides the results: the canonical JSON (keys
    /// sorted, no spaces) without name, description and the paths of files; a trace or
    /// policy is in it by its own SHA-256.
    pub fn hash(&self) -> String {
        self.to_json()["hash"].as_str().unwrap_or_default().to_string()
    }

    /// Has the names of controls of a user's own in the place of the paths of their files, and their hashes beside them.
    fn name_controls(&self, content: &mut Value) {
        for (entry, written) in self.flows.iter().zip(content["flows"].as_array_mut().into_iter().flatten()) {
            if let (TrafficModel::Tcp { ccas, .. }, Some(sums)) =
                (&entry.traffic, written.get("cca_sha256").cloned())
                && let Some(o) = written.as_object_mut()
            {
                o.remove("cca_sha256");
                o.insert("cca".into(), controls(ccas, |kind| kind.name()));
                o.insert("cca_files".into(), sums);
            }
        }
    }

    fn content(&self) -> Value {
        let mut root = Map::new();
        if let Some(name) = &self.name {
            root.insert("name".into(), json!(name));
        }
        if let Some(text) = &self.description {
            root.insert("description".into(), json!(text));
        }
        match self.ports.as_slice() {
            [one] if one.name == "bottleneck" && self.shared.is_none() => {
                root.insert("link".into(), link(one).into());
            }
            many => {
                let port = |p: &Link| {
                    let mut o = link(p);
                    o.remove("overhead");
                    o.insert("name".into(), json!(p.name));
                    Value::from(o)
                };
                root.insert("ports".into(), many.iter().map(port).collect());
                if let Some(size) = self.shared {
                    root.insert("shared".into(), json!({ "buffer": size.show() }));
                }
            }
        }
        let flow = |entry: &Flows| {
            let mut o = flows(entry);
            if let TrafficModel::Tcp { stack, .. } = entry.traffic
                && stack != self.run.stack
            {
                o["stack"] = json!(stack.name());
            }
            if self.ports.len() > 1 {
                let names = |path: &[u32]| -> Value {
                    path.iter().map(|&p| json!(self.ports[p as usize].name)).collect()
                };
                o["ports"] = names(&entry.path);
                if !entry.reverse_path.is_empty() {
                    o["reverse_ports"] = names(&entry.reverse_path);
                }
            }
            o
        };
        root.insert("flows".into(), self.flows.iter().map(flow).collect());
        let disciplines: Value = self.disciplines.iter().map(discipline).collect();
        root.insert("queue".into(), json!({ "disciplines": disciplines }));
        root.insert(
            "run".into(),
            json!({
                "duration": Unit::Time.show(self.run.duration_ns),
                "warmup": Unit::Time.show(self.run.warmup_ns),
                "seeds": self.run.seeds,
                "stack": self.run.stack.name(),
                "sample": Unit::Time.show(self.run.sample_ns),
                "series_flows": self.run.series_flows,
            }),
        );
        root.into()
    }

    /// A scenario file that says the same, every default written out. A trace or policy
    /// keeps its path as given, which holds from the folder of the first file.
    pub fn to_toml(&self) -> String {
        let mut content = self.content();
        // The files speak for themselves; the file format has no key for their hashes.
        drop_of_files(&mut content, Half::Hash);
        let mut out = String::new();
        let mut top = Map::new();
        for key in ["name", "description"] {
            if let Some(value) = content.as_object_mut().and_then(|o| o.remove(key)) {
                top.insert(key.into(), value);
            }
        }
        keys(&top, &["name", "description"], &mut out);
        let ports = content.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
        let link = content.get("link").cloned();
        let tables =
            link.map(|l| ("[link]", l)).into_iter().chain(ports.into_iter().map(|p| ("[[ports]]", p)));
        for (heading, table) in tables {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(heading);
            out.push('\n');
            if let Some(table) = table.as_object() {
                keys(table, &["name", "rate", "schedule", "period", "trace"], &mut out);
            }
        }
        if let Some(shared) = content.get("shared").and_then(Value::as_object) {
            out.push_str("\n[shared]\n");
            keys(shared, &[], &mut out);
        }
        for entry in content["flows"].as_array().into_iter().flatten() {
            out.push_str("\n[[flows]]\n");
            if let Some(entry) = entry.as_object() {
                let first: Vec<&str> =
                    ["name", "count", "cca"].into_iter().chain(Datagrams::names()).collect();
                keys(entry, &first, &mut out);
            }
        }
        out.push_str("\n[queue]\ndisciplines = [\n");
        for entry in content["queue"]["disciplines"].as_array().into_iter().flatten() {
            out.push_str("  ");
            inline(entry, &["name", "label"], &mut out);
            out.push_str(",\n");
        }
        out.push_str("]\n\n[run]\n");
        if let Some(run) = content["run"].as_object() {
            keys(run, &["duration", "warmup", "seeds"], &mut out);
        }
        out
    }

    /// The scenario with the files that it reads beside it: traces as `trace.txt`,
    /// `trace-2.txt` and so on, policies as `policy.json` likewise, headers of a user's own by their names; and of which file each
    /// of these is a copy.
    pub fn standing_alone(&self) -> (Scenario, Vec<(String, DataFile)>) {
        let mut copy = self.clone();
        let mut copies = Vec::new();
        copy.each_file(|stem, ending, file| {
            let from = file.clone();
            file.given = match ending {
                OWN => name_of_own(&mut copies, stem, from),
                _ => name_of_copy(&mut copies, stem, ending, from),
            };
        });
        (copy, copies)
    }

    /// The files that it reads, each once; not those that the program has in itself.
    pub fn files(&self) -> Vec<DataFile> {
        self.standing_alone().1.into_iter().map(|(_, file)| file).collect()
    }

    /// Calls `see` with every file that it reads, and what a copy of it is called: stem and ending.
    fn each_file(&mut self, mut see: impl FnMut(&'static str, &'static str, &mut DataFile)) {
        for port in &mut self.ports {
            if let LinkRate::Trace(trace) = &mut port.rate {
                see("trace", "txt", &mut trace.file);
            }
        }
        let own = self.ports.iter_mut().filter_map(|p| p.discipline.as_mut());
        for discipline in own.chain(&mut self.disciplines) {
            if let Some(file) = &mut discipline.file {
                see(discipline.info.name, OWN, file);
            }
            for (_, setting) in &mut discipline.settings {
                if let Setting::File(policy) = setting
                    && !policy.file.path.as_os_str().is_empty()
                {
                    see("policy", "json", &mut policy.file);
                }
            }
        }
        for entry in &mut self.flows {
            if let Some(file) = &mut entry.size_file {
                see("sizes", "csv", file);
            }
            for (kind, file) in &mut entry.control_files {
                see(kind.name(), OWN, file);
            }
            if let Some(Probes { file: Some(file), .. }) = &mut entry.probes {
                see("profiles", "toml", file);
            }
            if let Some(rows) = &mut entry.rows {
                see("flows", "csv", &mut rows.file);
            }
            if let ArrivalPattern::Pages(loads) = &mut entry.arrival
                && let Some(PagesFile { file, .. }) = &mut loads.file
            {
                see("pages", "csv", file);
            }
        }
    }

    /// Writes the scenario as `scenario.toml` into a folder, with copies of the files
    /// that it reads beside it: the folder then stands alone.
    ///
    /// # Errors
    /// What writing and copying can fail with; a file already there
    /// ([`AlreadyExists`](std::io::ErrorKind::AlreadyExists)).
    pub fn save(&self, folder: &Path) -> std::io::Result<()> {
        let (copy, files) = self.standing_alone();
        for (name, file) in files {
            let mut to = std::fs::File::create_new(folder.join(name))?;
            std::io::copy(&mut file.open()?, &mut to)?;
        }
        let mut file = std::fs::File::create_new(folder.join("scenario.toml"))?;
        std::io::Write::write_all(&mut file, copy.to_toml().as_bytes())
    }
}

/// Results of a scenario, without any run yet.
pub fn header(scenario: &Scenario) -> Results {
    Results {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.to_json(),
        runs: Vec::new(),
    }
}

/// How files of a user's own end.
const OWN: &str = "h";

/// The name of a copy of a user's own header, which says what the discipline is called: none has that of another. It is written
/// with its folder.
fn name_of_own(copies: &mut Vec<(String, DataFile)>, stem: &str, file: DataFile) -> String {
    let name = format!("{stem}.{OWN}");
    let written = format!("./{name}");
    if !copies.iter().any(|(known, _)| *known == name) {
        copies.push((name, file));
    }
    written
}

/// The name of a copy among copies, each file once.
fn name_of_copy(copies: &mut Vec<(String, DataFile)>, stem: &str, ending: &str, file: DataFile) -> String {
    let of_kind = |name: &str| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(['.', '-']));
    if let Some((name, _)) = copies.iter().find(|(name, known)| of_kind(name) && known.path == file.path) {
        return name.clone();
    }
    let number = match copies.iter().filter(|(name, _)| of_kind(name)).count() {
        0 => String::new(),
        n => format!("-{}", n + 1),
    };
    let name = format!("{stem}{number}.{ending}");
    copies.push((name.clone(), file));
    name
}

/// A file is there as two keys: `trace` is its path, `trace_sha256` its hash.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Path,
    Hash,
}

/// Takes one half of every file's keys away, in tables however deep.
fn drop_of_files(value: &mut Value, half: Half) {
    match value {
        Value::Object(table) => {
            let hashes: Vec<String> = table.keys().filter(|k| k.ends_with("_sha256")).cloned().collect();
            for hash in &hashes {
                let path = hash.trim_end_matches("_sha256");
                table.remove(if half == Half::Hash { hash.as_str() } else { path });
            }
            table.values_mut().for_each(|v| drop_of_files(v, half));
        }
        Value::Array(items) => items.iter_mut().for_each(|v| drop_of_files(v, half)),
        _ => {}
    }
}

fn whole(range: Range) -> Value {
    if range.min == range.max { json!(range.min) } else { json!(format!("{}..{}", range.min, range.max)) }
}

/// One congestion control, or several with their weights.
fn controls<'a>(ccas: &[(Kind, u32)], name: impl Fn(Kind) -> &'a str) -> Value {
    match ccas {
        [(kind, _)] => json!(name(*kind)),
        many => many.iter().map(|(kind, weight)| (name(*kind), json!(weight))).collect(),
    }
}

fn flows(entry: &Flows) -> Value {
    let mut o = Map::new();
    let mut put = |key: &str, value: Value| o.insert(key.into(), value);
    let range = |unit: Unit, range: Range| json!(unit.show_range(range));
    if let Some(name) = &entry.name {
        put("name", json!(name));
    }
    let arrivals = |a: &Arrivals| json!(a.rate.show());
    match &entry.arrival {
        ArrivalPattern::Once => drop(put("count", whole(entry.count))),
        ArrivalPattern::Repeat(pause) => {
            put("count", whole(entry.count));
            put("repeat", pause.show());
        }
        ArrivalPattern::Arrive(a) => drop(put("arrivals", arrivals(a))),
        ArrivalPattern::Pages(loads) => {
            put("pages", loads.show());
            if let Some(a) = &loads.arrivals {
                put("arrivals", arrivals(a));
            }
        }
    }
    match &entry.traffic {
        TrafficModel::Tcp { stack: _, ccas, size, initial_window, ecn, l4s, bps, send_buffer, client } => {
            put("cca", controls(ccas, |kind| entry.written(kind)));
            if !entry.control_files.is_empty() {
                let sums = entry.control_files.iter().map(|(kind, file)| (kind.name(), json!(file.sha256)));
                put("cca_sha256", sums.collect());
            }
            put("ecn", if *l4s { json!("l4s") } else { json!(ecn) });
            if let Some(bps) = bps {
                put("rate", range(Unit::Rate, *bps));
            }
            if let Some(size) = size {
                put("size", size.show(entry.size_file.as_ref()));
            }
            match initial_window {
                None => {}
                Some(InitialWindow::All) => drop(put("initial_window", json!("all"))),
                Some(InitialWindow::Packets(n)) => drop(put("initial_window", json!(format!("{n}p")))),
            }
            for (key, bytes) in
                [("wmem", send_buffer.wmem_bytes), ("notsent_lowat", send_buffer.notsent_lowat_bytes)]
            {
                if let Some(bytes) = bytes {
                    put(key, json!(Unit::Bytes.show(bytes.into())));
                }
            }
            if let Some(client) = client {
                let (key, value) = client.show();
                put(key, value);
            }
            if let Some(probes) = &entry.probes {
                put("probes", probes.show());
            }
        }
        TrafficModel::Datagrams(datagrams) => {
            for (key, value) in datagrams.show() {
                put(key, value);
            }
        }
    }
    // UDP over a link without delay needs no round-trip time, and 0 is not one.
    if entry.rtt_ns.max > 0 {
        put("rtt", range(Unit::Time, entry.rtt_ns));
    }
    put("start", range(Unit::Time, entry.start_ns));
    if let Some(stop) = entry.stop_ns {
        put("stop", range(Unit::Time, stop));
    }
    if let Some(duration) = entry.duration {
        put("duration", duration.show());
    }
    if let Some(access) = entry.access_bps {
        put("access", range(Unit::Rate, access));
    }
    put("jitter", range(Unit::Time, entry.jitter_ns));
    for (key, hosts) in [("source", entry.header.source), ("destination", entry.header.destination)] {
        if let Some(hosts) = hosts {
            put(key, whole(hosts));
        }
    }
    if entry.header.dscp > 0 {
        let named = DSCPS.1.contains(&entry.header.dscp);
        put("dscp", if named { json!(dscp_name(entry.header.dscp)) } else { json!(entry.header.dscp) });
    }
    if let Some(rows) = &entry.rows {
        put("file", json!(rows.file.given));
        put("file_sha256", json!(rows.file.sha256));
        // What its lines say is not said here, nor how many they are.
        for key in rows.columns.iter().chain(&["count"]) {
            o.remove(*key);
        }
    }
    o.into()
}

fn discipline(entry: &Discipline) -> Value {
    let mut o = Map::new();
    o.insert("name".into(), json!(entry.written()));
    if let Some(file) = &entry.file {
        o.insert("name_sha256".into(), json!(file.sha256));
    }
    o.insert("label".into(), json!(entry.label));
    settings(&entry.settings, &mut o);
    if !entry.changes.is_empty() {
        let change = |c: &Change| {
            let mut o = Map::new();
            o.insert("at".into(), json!(Unit::Time.show(c.at_ns)));
            settings(&c.settings, &mut o);
            Value::from(o)
        };
        o.insert("set".into(), entry.changes.iter().map(change).collect());
    }
    o.into()
}

fn settings(settings: &[(&'static str, Setting)], o: &mut Map<String, Value>) {
    for (name, setting) in settings {
        let text = setting.show();
        let value = if setting.is_bare() {
            // Whole numbers, decimals, true and false are JSON as they stand.
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        } else {
            Value::String(text)
        };
        o.insert((*name).into(), value);
        if let Setting::File(file) = setting {
            o.insert(format!("{name}_sha256"), json!(file.file.sha256));
        }
    }
}

/// The keys of a link.
fn link(link: &Link) -> Map<String, Value> {
    let mut o = Map::new();
    match &link.rate {
        LinkRate::Constant(bps) => {
            o.insert("rate".into(), json!(Unit::Rate.show(*bps)));
        }
        LinkRate::Schedule(s) => {
            let step = |(at, bps): &(u64, u64)| json!([Unit::Time.show(*at), Unit::Rate.show(*bps)]);
            o.insert("schedule".into(), s.steps.iter().map(step).collect());
            if let Some(period) = s.period_ns {
                o.insert("period".into(), json!(Unit::Time.show(period)));
            }
        }
        LinkRate::Trace(file) => {
            o.insert("trace".into(), json!(file.file.given));
            o.insert("trace_sha256".into(), json!(file.file.sha256));
        }
    }
    if let Some(burst) = link.burst_bytes {
        o.insert("burst".into(), json!(Unit::Bytes.show(burst)));
    }
    if link.shaper == Shaper::Tbf {
        o.insert("shaper".into(), json!("tbf"));
    }
    if link.police {
        o.insert("police".into(), json!(true));
    }
    if let Some(late) = link.late_marks {
        o.insert("late_marks".into(), json!(late));
    }
    o.insert("delay".into(), json!(Unit::Time.show(link.delay_ns)));
    link.impairments.show(&mut o);
    if let Some(buffer) = link.buffer {
        o.insert("buffer".into(), json!(buffer.show()));
    }
    o.insert("overhead".into(), json!(Unit::Bytes.show(link.overhead_bytes.into())));
    if let Some(own) = &link.discipline {
        o.insert("discipline".into(), discipline(own));
    }
    o
}

/// `key = value` lines: first the keys named, then the others by name.
fn keys(table: &Map<String, Value>, first: &[&str], out: &mut String) {
    for key in ordered(table, first) {
        out.push_str(key);
        out.push_str(" = ");
        inline(&table[key], &[], out);
        out.push('\n');
    }
}

fn ordered<'a>(table: &'a Map<String, Value>, first: &[&str]) -> Vec<&'a str> {
    let mut keys: Vec<&str> = table.keys().map(String::as_str).collect();
    keys.sort_by_key(|k| (first.iter().position(|f| f == k).unwrap_or(first.len()), *k));
    keys
}

/// A value in one line of TOML.
fn inline(value: &Value, first: &[&str], out: &mut String) {
    match value {
        Value::Object(table) => {
            out.push_str("{ ");
            for (i, key) in ordered(table, first).into_iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                match key.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-') {
                    // The path of a file.
                    true => inline(&Value::from(key), &[], out),
                    false => out.push_str(key),
                }
                out.push_str(" = ");
                inline(&table[key], &[], out);
            }
            out.push_str(" }");
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                inline(item, &[], out);
            }
            out.push(']');
        }
        // JSON's escapes are TOML's too, but for DEL, which TOML wants escaped.
        Value::String(_) => out.push_str(&value.to_string().replace('\u{7f}', "\\u007F")),
        _ => out.push_str(&value.to_string()),
    }
}

/// JSON with sorted keys and no spaces, whatever map the JSON library was built with.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(table) => {
            out.push('{');
            for (i, key) in ordered(table, &[]).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&json!(key).to_string());
                out.push(':');
                write_sorted(&table[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        _ => out.push_str(&value.to_string()),
    }
}
