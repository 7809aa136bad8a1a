//! A file of a user's own for the kernel's hosts: what a compiler for BPF is given, and what the object says of it then. No code of the
//! file runs in this process for that.

use super::describe::{Compiled, FORM, Own, describe, name};
use super::table::{Head, Help, Range, Table};
use crate::{Action, Info, Packet, Probe, Queue, Reason, Verdict};
use queuewright_own::{MAX_LINES, Shown, filled, sha256, stem};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};

/// Before what is checked: the file is included, so that the object names its lines.
const INCLUDES: &str = "#include \"table.h\"\n#include <@name@.h>\n";
/// The folder of what it is put into: it may have any name but those of the headers that it may include.
const FOLDER: &str = "host/";
/// Bytes of a text (`QW_OWN_TEXT`), a number, and the structures that are made of them (`qw_own_bpf_*` of `own/table.h`).
const TEXT: usize = 208;
const WORD: usize = 8;
const HEAD: usize = 3 * WORD + 4 * TEXT;
const RANGE: usize = TEXT + 5 * WORD;
const HELP: usize = 2 * TEXT + 2 * WORD;
const SHOWN: usize = 2 * TEXT;
/// Bytes of a variable's value before the state (`struct qw_own_bpf_value`).
const VALUE: usize = 3 * WORD;

/// What a compiler for BPF is given.
#[derive(Debug)]
pub struct KernelSource {
    /// The file's name without its ending.
    pub name: String,
    /// The file's SHA-256, hexadecimal.
    pub sha256: String,
    /// Files, the user's among them: name in the folder that is looked in for headers, and text. The hosts are in its folder `host`.
    pub files: Vec<(String, String)>,
}

impl KernelSource {
    /// What the hosts include, and how they call what is in it (`QW_HEADER`, `QW_NAME`).
    pub const HEADER: &str = "own.h";
    /// As above.
    pub const C_NAME: &str = "own_bpf";

    /// Of a file. `host` is the program that it is put into, which the object remembers.
    ///
    /// # Errors
    /// What is wrong with its name.
    pub fn of(path: &str, text: &str, host: &str) -> Result<KernelSource, String> {
        let name = name(path)?;
        let (file, sha256) = (format!("{name}.h"), sha256(text.as_bytes()));
        let frame = [INCLUDES, include_str!("checks.c"), include_str!("bpf.c")].concat();
        let frame = filled(&frame, &file, name, text);
        let frame = frame.replace("@name@", name).replace("@sha256@", &sha256).replace("@host@", host);
        let headers = (FORM.headers)().into_iter();
        let mut files: Vec<(String, String)> =
            headers.map(|(name, text)| (name.into(), text.into())).collect();
        let (table, of_table) = FORM.table;
        files.push((format!("{FOLDER}{table}"), of_table.into()));
        files.extend([(format!("{FOLDER}{}", Self::HEADER), frame), (file, text.into())]);
        Ok(KernelSource { name: name.into(), sha256, files })
    }
}

/// The discipline of an object, or of what is loaded (`object` is empty), by what it declares (its section `.rodata.own`). It stays
/// for good, once for each.
///
/// # Errors
/// What is wrong with a declaration; or it is of another version of this program.
pub fn declared(declared: &[u8], object: Vec<u8>) -> Result<&'static Info, String> {
    type Known = HashMap<[String; 2], Result<&'static Info, String>>;
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let key = [declared, &object].map(sha256);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // What is wrong with one is kept, too: what it declares stays for that, and may be asked for again and again.
    let known = known.get_or_insert_default().entry(key);
    known.or_insert_with(|| read(declared, object).map(|info| &*Box::leak(Box::new(info)))).clone()
}

/// A table that has no code of the file, with the places of its parameters.
#[repr(C)]
struct Placed {
    /// First: who has the table has this.
    table: Table,
    fields: Vec<Field>,
}

// SAFETY: as of the table.
unsafe impl Sync for Placed {}

struct Field {
    name: &'static CStr,
    shift: u64,
    least: u64,
    most: u64,
    at: usize,
    bytes: usize,
}

/// What is left of a section.
struct Section<'a>(&'a [u8]);

impl<'a> Section<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        // As the machine has it: BPF objects are made for the one that they run on.
        Some(u64::from_ne_bytes(self.take(WORD)?.try_into().ok()?))
    }

    /// What of a text ends with 0.
    fn text(&mut self) -> Option<&'a CStr> {
        CStr::from_bytes_until_nul(self.take(TEXT)?).ok()
    }
}

fn read(declared: &[u8], object: Vec<u8>) -> Result<Info, String> {
    let other = || "it was compiled by another version of this program".to_string();
    let long = || "a text is too long, or what it declares is of another version of this program".to_string();
    let word = |nth: usize| Some(u64::from_ne_bytes(*declared.get(nth * WORD..)?.first_chunk()?));
    let head = [word(0), word(1), word(2)];
    let [Some(params_bytes), Some(params), Some(variables)] = head else { return Err(other()) };
    let most = MAX_LINES as u64;
    let (params_bytes, params, variables) =
        match params <= most && variables <= most && params_bytes < 1 << 26 {
            true => (params_bytes as usize, params as usize, variables as usize),
            false => {
                return Err(format!("at most {MAX_LINES} parameters and {MAX_LINES} variables are allowed"));
            }
        };
    if declared.len() != HEAD + params * (RANGE + HELP) + variables * SHOWN {
        return Err(other());
    }
    let mut section = Section(&declared[3 * WORD..]);
    let mut text = || section.text().ok_or_else(long)?.to_str().map_err(|_| other());
    let [name, sha256, host] = [text()?, text()?, text()?];
    // Whoever made it, it is to be what this program would have made. What runs already may have a name that has been taken since.
    let file = format!("./{name}.h");
    let named = stem(&file) == Some(name) && (object.is_empty() || self::name(&file).is_ok());
    let summed = sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit());
    if !named || !summed {
        return Err(other());
    }
    let mut section = Section(Vec::leak(section.0.to_vec()));
    let about = section.text().ok_or_else(long)?;
    let (mut fields, mut ranges, mut helps, mut shown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..params {
        let name = section.text().ok_or_else(long)?;
        let words: Option<Vec<u64>> = (0..5).map(|_| section.word()).collect();
        let Some([shift, least, most, at, bytes]) = words.as_deref() else { return Err(other()) };
        let (shift, least, most) = (*shift, *least, *most);
        let end = at.checked_add(*bytes).filter(|end| *end <= params_bytes as u64);
        if end.is_none() || ![1, 2, 4, 8].contains(bytes) {
            return Err(other());
        }
        ranges.push(Range { name: name.as_ptr(), shift, least, most });
        fields.push(Field { name, shift, least, most, at: *at as usize, bytes: *bytes as usize });
    }
    for _ in 0..params {
        let (Some(name), Some(about)) = (section.text(), section.text()) else { return Err(long()) };
        let (Some(start), Some(kind)) = (section.word(), section.word()) else { return Err(other()) };
        helps.push(Help { name: name.as_ptr(), about: about.as_ptr(), start: f64::from_bits(start), kind });
    }
    for _ in 0..variables {
        let (Some(name), Some(unit)) = (section.text(), section.text()) else { return Err(long()) };
        shown.push(Shown { name: name.as_ptr(), unit: unit.as_ptr() });
    }
    let none = std::ptr::null();
    ranges.push(Range { name: none, shift: 0, least: 0, most: 0 });
    helps.push(Help { name: none, about: none, start: 0.0, kind: 0 });
    shown.push(Shown { name: none, unit: none });
    let params_at = size_of::<Head>();
    let state_at = params_at + params_bytes.next_multiple_of(WORD);
    let table = Table {
        size: state_at as u64,
        params_at: params_at as u64,
        params_bytes: params_bytes as u64,
        state_at: state_at as u64,
        state_bytes: 0,
        about: if about.is_empty() { none } else { about.as_ptr() },
        ranges: Vec::leak(ranges).as_ptr(),
        helps: Vec::leak(helps).as_ptr(),
        shown: Vec::leak(shown).as_ptr(),
        set,
        init: no_time,
        enqueue: no_arrival,
        dequeue: no_departure,
        idle: no_time,
        probe: no_value,
    };
    let placed: &'static Placed = Box::leak(Box::new(Placed { table, fields }));
    let object = Some(Compiled { object, host: host.into() });
    describe(name, Own { text: "".into(), sha256: sha256.into(), object, table: &placed.table })
}

/// Its rules run in the kernel alone.
const NO_RULE: Verdict = Verdict { action: Action::Drop, reason: Reason::None };

extern "C" fn no_time(_: *mut Head, _: u64) {}

extern "C" fn no_arrival(_: *mut Head, _: u64, _: *const Queue, _: *const Packet, _: u32) -> Verdict {
    NO_RULE
}

extern "C" fn no_departure(_: *mut Head, _: u64, _: *const Queue, _: *const Packet) -> Verdict {
    NO_RULE
}

extern "C" fn no_value(_: *const Head, _: u64) -> f64 {
    0.0
}

/// As `qw_own_set` of native.c.
extern "C" fn set(head: *mut Head, name: *const c_char, value: u64) -> c_int {
    // SAFETY: C gives its instance, whose table is the first of a `Placed` that stays; the name is a C string.
    let (placed, name) = unsafe { (&*(*head).of.cast::<Placed>(), CStr::from_ptr(name)) };
    let Some(field) = placed.fields.iter().find(|field| field.name == name) else { return 0 };
    let value = value >> field.shift;
    if !(field.least..=field.most).contains(&value) {
        return -1;
    }
    let bytes = value.to_ne_bytes();
    let bytes =
        if cfg!(target_endian = "little") { &bytes[..field.bytes] } else { &bytes[WORD - field.bytes..] };
    let at = placed.table.params_at as usize + field.at;
    // SAFETY: the instance has the table's size, and the field is in its parameters.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), head.cast::<u8>().add(at), bytes.len()) };
    1
}

/// The variables of a file in the state that a host in the kernel has of it; None: that is too short for them.
pub fn variables(info: &'static Info, state: &[u8]) -> Option<Vec<(&'static Probe, f64)>> {
    let values = state.get(..info.probes.len() * VALUE)?.chunks_exact(VALUE);
    let number = |value: &[u8]| {
        let word =
            |nth: usize| u64::from_ne_bytes(value[nth * WORD..][..WORD].try_into().unwrap_or_default());
        let whole = if word(2) != 0 { word(0).cast_signed() as f64 } else { word(0) as f64 };
        // Before anything is attached there is no unit yet.
        if word(1) == 0 { 0.0 } else { whole / word(1) as f64 }
    };
    Some(info.probes.iter().zip(values.map(number)).collect())
}

/// `QW_OWN_TEXT` and the structures' sizes, which `qw_shim_layout` has of C's.
#[cfg(test)]
pub(crate) const LAYOUT: [usize; 5] = [TEXT, HEAD, RANGE, HELP, SHOWN];
