//! What `tc qdisc show` prints, as text or (`-j`) as JSON.

use crate::options::{Options, Statistics};
use queuewright_aqm::counters::reasons;
use queuewright_aqm::{Info, REASON_NAMES, Value};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Prints to tc's file, or hands over to tc's own JSON writer.
pub(crate) struct Out {
    file: *mut libc::FILE,
    json: bool,
}

/// Of tc's json_print.h: only if the output is JSON; and no colour.
const ONLY_JSON: c_int = 2;
const NO_COLOUR: c_int = 6;
const NULL: *const c_char = std::ptr::null();

/// A function of the program that loaded us; null: it has none of this name.
fn of_tc(name: &CStr) -> *mut c_void {
    // SAFETY: a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

macro_rules! json {
    ($name:literal, $type:ty, $key:expr, $value:expr) => {{
        let found = of_tc($name);
        let key = CString::new($key).unwrap_or_default();
        if !found.is_null() {
            type Print = unsafe extern "C" fn(c_int, c_int, *const c_char, *const c_char, $type) -> c_int;
            // SAFETY: this is how tc declares it; the strings live until it returns.
            unsafe {
                std::mem::transmute::<*mut c_void, Print>(found)(
                    ONLY_JSON,
                    NO_COLOUR,
                    key.as_ptr(),
                    NULL,
                    $value,
                )
            };
        }
    }};
}

impl Out {
    /// # Safety
    /// `file` is open as long as this lives.
    pub unsafe fn new(file: *mut libc::FILE) -> Self {
        let asked = of_tc(c"is_json_context");
        // SAFETY: this is how tc declares it.
        let json = !asked.is_null()
            && unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> bool>(asked)() };
        Out { file, json }
    }

    /// Text of the plain form.
    fn text(&mut self, text: &str) {
        let text = CString::new(text).unwrap_or_default();
        if !self.json {
            // SAFETY: the file is open, and a C string.
            unsafe { libc::fputs(text.as_ptr(), self.file) };
        }
    }

    fn whole(&mut self, key: &str, value: u64) {
        if self.json {
            json!(c"print_color_u64", u64, key, value);
        }
    }

    fn real(&mut self, key: &str, value: f64) {
        if self.json {
            json!(c"print_color_float", f64, key, value);
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        if self.json {
            json!(c"print_color_bool", bool, key, value);
        }
    }

    fn word(&mut self, key: &str, value: &str) {
        if self.json {
            let value = CString::new(value).unwrap_or_default();
            json!(c"print_color_string", *const c_char, key, value.as_ptr());
        }
    }
}

pub(crate) fn options(out: &mut Out, info: &Info, options: &Options) {
    if let Some(limit) = options.limit {
        out.text(&format!("limit {limit}p "));
        out.whole("limit", limit.into());
    }
    if let Some(bytes) = options.limit_bytes.filter(|bytes| *bytes > 0) {
        out.text(&format!("limit_bytes {bytes}b "));
        out.whole("limit_bytes", bytes);
    }
    for (name, number) in &options.params {
        match info.param(name).map(|p| (p, p.decode(*number))) {
            // A file's name is not kept; that there was one is.
            Some((p, _)) if p.kind == queuewright_aqm::ParamKind::File => {
                let value = if *number > 0 { "given" } else { "none" };
                out.text(&format!("{name} {value} "));
                out.word(name, value);
            }
            Some((p, value)) => {
                out.text(&format!("{name} {} ", p.display(value)));
                match value {
                    Value::Int(n) => out.whole(name, n),
                    Value::Real(x) => out.real(name, x),
                    Value::Flag(on) => out.flag(name, on),
                    Value::Choice(word) => out.word(name, word),
                }
            }
            // The module is newer than this.
            None => {
                out.text(&format!("{name} {number} "));
                out.whole(name, *number);
            }
        }
    }
}

pub(crate) fn statistics(out: &mut Out, info: &Info, s: &Statistics) {
    let ms = |ns: u64| ns as f64 / 1e6;
    out.text(&format!(
        "  arrived {} packets {} bytes, sent {} packets {} bytes\n",
        s.arrived[0], s.arrived[1], s.sent[0], s.sent[1]
    ));
    out.text(&format!("  dropped {}, marked {}\n", reasons(&s.drops, " "), reasons(&s.marks, " ")));
    out.text(&format!(
        "  sojourn mean {:.3}ms last {:.3}ms 99% below {:.3}ms",
        ms(s.mean_ns()),
        ms(s.sojourn_ns),
        ms(s.most_ns())
    ));
    for (key, value) in [
        ("arrived_packets", s.arrived[0]),
        ("arrived_bytes", s.arrived[1]),
        ("sent_packets", s.sent[0]),
        ("sent_bytes", s.sent[1]),
        ("sojourn_mean_ns", s.mean_ns()),
        ("sojourn_last_ns", s.sojourn_ns),
    ] {
        out.whole(key, value);
    }
    for (i, reason) in REASON_NAMES.iter().enumerate().skip(1) {
        out.whole(&format!("dropped_{reason}"), s.drops[i]);
        out.whole(&format!("marked_{reason}"), s.marks[i]);
    }
    let probes = info.probes.iter().zip(&s.variables);
    for (i, (probe, value)) in probes.enumerate() {
        let unit = if probe.unit.is_empty() { String::new() } else { format!(" {}", probe.unit) };
        let digits = format!("{value:.6}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        out.text(&format!("{}{} {digits}{unit}", if i == 0 { "\n  " } else { ", " }, probe.name));
        out.real(probe.name, *value);
    }
}
