//! A scenario as JSON and as TOML, every default filled in.

use crate::model::{Discipline, Flows, LinkRate, Scenario, Sends};
use crate::spec::Stack;
use crate::trace::hex;
use crate::units::{Range, Unit};
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
        hashed["link"].as_object_mut().map(|o| o.remove("trace"));
        let mut canonical = String::new();
        write_sorted(&hashed, &mut canonical);
        root["hash"] = hex(&Sha256::digest(canonical.as_bytes())).into();
        root
    }

    /// SHA-256, hexadecimal, of what decides the results: the canonical JSON (keys
    /// sorted, no spaces) without name, description and the trace's path; the trace
    /// itself is in it by its own SHA-256.
    pub fn hash(&self) -> String {
        self.to_json()["hash"].as_str().unwrap_or_default().to_string()
    }

    fn content(&self) -> Value {
        let mut root = Map::new();
        if let Some(name) = &self.name {
            root.insert("name".into(), json!(name));
        }
        if let Some(text) = &self.description {
            root.insert("description".into(), json!(text));
        }
        let mut link = Map::new();
        match &self.link.rate {
            LinkRate::Constant(bps) => {
                link.insert("rate".into(), json!(Unit::Rate.show(*bps)));
            }
            LinkRate::Schedule(steps) => {
                let steps: Vec<_> = steps
                    .iter()
                    .map(|(at, bps)| json!([Unit::Time.show(*at), Unit::Rate.show(*bps)]))
                    .collect();
                link.insert("schedule".into(), json!(steps));
            }
            LinkRate::Trace(file) => {
                link.insert("trace".into(), json!(file.given));
                link.insert("trace_sha256".into(), json!(file.sha256));
            }
        }
        link.insert("delay".into(), json!(Unit::Time.show(self.link.delay_ns)));
        link.insert("buffer".into(), json!(self.link.buffer.show()));
        link.insert("overhead".into(), json!(Unit::Bytes.show(self.link.overhead_bytes.into())));
        root.insert("link".into(), link.into());
        root.insert("flows".into(), self.flows.iter().map(flows).collect());
        let disciplines: Value = self.disciplines.iter().map(discipline).collect();
        root.insert("queue".into(), json!({ "disciplines": disciplines }));
        root.insert(
            "run".into(),
            json!({
                "duration": Unit::Time.show(self.run.duration_ns),
                "warmup": Unit::Time.show(self.run.warmup_ns),
                "seeds": self.run.seeds,
                "stack": match self.run.stack { Stack::Linux => "linux", Stack::Ns3 => "ns3" },
                "sample": Unit::Time.show(self.run.sample_ns),
                "series_flows": self.run.series_flows,
            }),
        );
        root.into()
    }

    /// A scenario file that says the same, every default written out. A trace keeps
    /// its path as given, which holds from the folder of the first file.
    pub fn to_toml(&self) -> String {
        let mut content = self.content();
        let mut out = String::new();
        let mut top = Map::new();
        for key in ["name", "description"] {
            if let Some(value) = content.as_object_mut().and_then(|o| o.remove(key)) {
                top.insert(key.into(), value);
            }
        }
        keys(&top, &["name", "description"], &mut out);
        if let Some(link) = content["link"].as_object_mut() {
            // The trace speaks for itself; the file format has no key for its hash.
            link.remove("trace_sha256");
            out.push_str(if out.is_empty() { "[link]\n" } else { "\n[link]\n" });
            keys(link, &["rate", "schedule", "trace"], &mut out);
        }
        for entry in content["flows"].as_array().into_iter().flatten() {
            out.push_str("\n[[flows]]\n");
            if let Some(entry) = entry.as_object() {
                keys(entry, &["name", "count", "cca", "cbr", "poisson"], &mut out);
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

    /// Writes the scenario as `scenario.toml` into a folder, with a copy of its
    /// trace, if it has one, beside it as `trace.txt`: the folder then stands alone.
    ///
    /// # Errors
    /// What writing and copying can fail with; a file already there
    /// ([`AlreadyExists`](std::io::ErrorKind::AlreadyExists)).
    pub fn save(&self, folder: &Path) -> std::io::Result<()> {
        let mut copy = self.clone();
        if let LinkRate::Trace(file) = &mut copy.link.rate {
            let mut from = std::fs::File::open(&file.path)?;
            let mut to = std::fs::File::create_new(folder.join("trace.txt"))?;
            std::io::copy(&mut from, &mut to)?;
            file.given = "trace.txt".into();
        }
        let mut file = std::fs::File::create_new(folder.join("scenario.toml"))?;
        std::io::Write::write_all(&mut file, copy.to_toml().as_bytes())
    }
}

fn whole(range: Range) -> Value {
    if range.min == range.max { json!(range.min) } else { json!(format!("{}..{}", range.min, range.max)) }
}

fn flows(entry: &Flows) -> Value {
    let mut o = Map::new();
    let mut put = |key: &str, value: Value| o.insert(key.into(), value);
    let range = |unit: Unit, range: Range| json!(unit.show_range(range));
    if let Some(name) = &entry.name {
        put("name", json!(name));
    }
    put("count", whole(entry.count));
    match &entry.sends {
        Sends::Tcp { ccas, size_bytes, ecn } => {
            let cca = match ccas.as_slice() {
                [(kind, _)] => json!(kind.name()),
                many => many.iter().map(|(kind, w)| (kind.name(), json!(w))).collect(),
            };
            put("cca", cca);
            put("ecn", json!(ecn));
            if let Some(size) = size_bytes {
                put("size", range(Unit::Bytes, *size));
            }
        }
        Sends::Cbr { bps, packet_bytes } | Sends::Poisson { bps, packet_bytes } => {
            let key = match entry.sends {
                Sends::Cbr { .. } => "cbr",
                _ => "poisson",
            };
            put(key, range(Unit::Rate, *bps));
            put("packet", json!(Unit::Bytes.show((*packet_bytes).into())));
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
    if let Some(access) = entry.access_bps {
        put("access", range(Unit::Rate, access));
    }
    put("jitter", range(Unit::Time, entry.jitter_ns));
    o.into()
}

fn discipline(entry: &Discipline) -> Value {
    let mut o = Map::new();
    o.insert("name".into(), json!(entry.name));
    o.insert("label".into(), json!(entry.label));
    for (name, setting) in &entry.settings {
        let text = setting.show();
        let value = if setting.is_bare() {
            // Whole numbers, decimals, true and false are JSON as they stand.
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        } else {
            Value::String(text)
        };
        o.insert((*name).into(), value);
    }
    o.into()
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
                out.push_str(key);
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
