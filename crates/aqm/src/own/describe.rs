//! What a file of a user's own declares, as an entry of the registry.

use super::table::{Help, Range, Table};
use crate::params::{Param, ParamKind, Value};
use crate::{Info, Probe};
use queuewright_own::{FILE, Form, MAX_LINES, SUM_OF, list, lower, text, upper, word};
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Largest instance, bytes.
const MAX_INSTANCE: u64 = 64 << 20;
/// What time series have of each queue, whatever manages it.
pub const SERIES: [&str; 4] = ["backlog_bytes", "rate_bps", "drops", "drops_limit"];

/// What such a file is.
pub(super) static FORM: Form = Form {
    what: "a discipline",
    headers: || HEADERS.to_vec(),
    table: ("table.h", include_str!("table.h")),
    frame: concat!(include_str!("own.c"), include_str!("checks.c"), include_str!("native.c")),
    check: include_str!("check.c"),
    such_as: "\"qw.h\", \"dice.h\" or \"codel.h\"",
    example: "late.h",
    taken: |name| crate::registry().iter().any(|info| lower(info.name) == lower(name)),
};

/// A discipline out of a file.
#[derive(Debug)]
pub struct Own {
    /// What is in the file; empty: it is known by a BPF object alone.
    pub text: Arc<str>,
    /// The file's SHA-256, hexadecimal.
    pub sha256: String,
    /// The BPF object that it is known by. Then no rule of it can be called here.
    pub object: Option<Compiled>,
    pub(super) table: &'static Table,
}

/// What a file was compiled to for the kernel.
#[derive(Debug)]
pub struct Compiled {
    /// The object; empty: it is loaded already.
    pub object: Vec<u8>,
    /// The program that the file was put into.
    pub host: String,
}

impl Own {
    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Bytes of an instance.
    pub(crate) fn size(&self) -> usize {
        self.table.size as usize
    }

    /// Where in an instance its parameters lie (or its state), and how long they are.
    pub(crate) fn part(&self, of_state: bool) -> (usize, usize) {
        let t = self.table;
        let (at, bytes) = if of_state { (t.state_at, t.state_bytes) } else { (t.params_at, t.params_bytes) };
        (at as usize, bytes as usize)
    }
}

/// The discipline that the file's name gives to it: what C calls it, with `_` for each `-`.
///
/// # Errors
/// What is wrong with the name.
pub fn name(path: &str) -> Result<&str, String> {
    FORM.name(path)
}

/// What the file declares, as an entry of the registry, which stays for good: so does what is loaded.
pub(super) fn describe(name: &str, own: Own) -> Result<Info, String> {
    let table = own.table;
    let upper = upper(name);
    if table.size > MAX_INSTANCE {
        return Err(format!("its structures have {} bytes; at most {MAX_INSTANCE} are allowed", table.size));
    }
    // SAFETY: the lists of a table end with a name of 0, and what is loaded stays.
    let (ranges, helps) = unsafe { (list(table.ranges, |r| r.name), list(table.helps, |h| h.name)) };
    if ranges.len() > MAX_LINES {
        return Err(format!("at most {MAX_LINES} parameters and {MAX_LINES} variables are allowed"));
    }
    let mut params: Vec<Param> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let macros = format!("QW_{upper}_PARAMS(P)");
        // SAFETY: a string of what has been loaded, as all of them.
        let param = unsafe { word(range.name) }.map_err(|e| format!("{macros}: {e}"))?;
        let ours = ["name", "label", "set", FILE].contains(&param) || param.ends_with(SUM_OF);
        if ours || params.iter().any(|p| p.name == param) {
            return Err(format!("{macros}: \"{param}\" is there already; give it another name"));
        }
        // SAFETY: as above.
        let help = helps.iter().find(|h| unsafe { text(h.name) }.is_ok_and(|of| of == param));
        let help = help.ok_or_else(|| format!("QW_{upper}_HELP(H) has no line for \"{param}\""))?;
        params.push(
            parameter(param, range, help).map_err(|e| format!("QW_{upper}_HELP(H), \"{param}\": {e}"))?,
        );
    }
    // SAFETY: as above.
    let probes = unsafe { queuewright_own::variables(name, table.shown, "queue", &SERIES)? };
    let probes: Vec<Probe> = probes.into_iter().map(|(name, unit)| Probe { name, unit }).collect();
    let about = match table.about.is_null() {
        true => "a discipline of your own",
        // SAFETY: as above.
        false => unsafe { text(table.about) }.map_err(|e| format!("QW_{upper}_ABOUT: {e}"))?,
    };
    let name = String::from(name).leak();
    // Another kind of parameter does not say so.
    let marks = params.iter().any(|p| p.name == "ecn" && p.kind == ParamKind::Flag);
    Ok(Info {
        name,
        title: name,
        about,
        source: "a file of your own",
        explain: format!("# {name}\n\n{about}\n").leak(),
        params: params.leak(),
        probes: probes.leak(),
        needs_random: true,
        needs_head: true,
        needs_flow: true,
        needs_hosts: true,
        needs_dscp: true,
        needs_frame: true,
        always_marks: !marks,
        own: Some(Box::leak(Box::new(own))),
        ..Info::PLAIN
    })
}

/// A parameter: its range is the field's, its default and kind what the file says.
fn parameter(name: &'static str, range: &Range, help: &Help) -> Result<Param, String> {
    // SAFETY: a string of what has been loaded.
    let about = unsafe { text(help.about)? };
    let of = "its file";
    let real = |field: u64| field as f64 * (range.shift as f64).exp2() / (1u64 << 32) as f64;
    let whole = |unit: u64| -> Result<[u64; 3], String> {
        if help.start < 0.0 || help.start.fract() != 0.0 || help.start > (1u64 << 53) as f64 {
            return Err(format!("{} is no default of this kind; write a whole number", help.start));
        }
        let times = |n: u64| n.saturating_mul(unit);
        Ok([times(help.start as u64), times(range.least), times(range.most)])
    };
    if range.shift > 32 || range.least > range.most {
        return Err("a range that holds nothing, or a shift above 32".into());
    }
    let param = match help.kind {
        0 => whole(1).map(|[start, least, most]| Param::time(name, about, start, least, most, of))?,
        1 => whole(1).map(|[start, least, most]| Param::size(name, about, start, least, most, of))?,
        // A header has bytes a second.
        2 => whole(8).map(|[start, least, most]| Param::rate(name, about, start, least, most, of))?,
        3 => Param::count(name, "", about, whole(1)?, of),
        4 if help.start != 0.0 && help.start != 1.0 => {
            return Err(format!("{} is no default of a QW_FLAG; write 0 or 1", help.start));
        }
        4 if (range.least, range.most) == (0, 1) => Param::flag(name, about, help.start != 0.0, of),
        4 => return Err("a QW_FLAG has the range 0, 1".into()),
        5 | 6 => {
            let (least, most) = (real(range.least), real(range.most));
            let param = Param::ratio(name, "", about, help.start, least, most, of);
            match help.kind {
                5 if most > 1.0 => return Err("a QW_SHARE is 1 at most, 1 << (32 - shift)".into()),
                5 => Param { kind: ParamKind::Probability, ..param },
                _ => param,
            }
        }
        kind => {
            return Err(format!(
                "{kind} is no kind; write QW_TIME, QW_SIZE, QW_RATE, QW_COUNT, QW_FLAG, QW_SHARE or QW_RATIO"
            ));
        }
    };
    let real = matches!(param.default, Value::Real(_));
    if range.shift != 0 && !real {
        return Err("only a QW_SHARE or QW_RATIO has a shift".into());
    }
    match param.check(param.default) {
        Some(_) => Ok(param),
        None => Err(format!(
            "its default {} is out of its range {}",
            param.display(param.default),
            param.allowed()
        )),
    }
}
