//! What `tc` loads for a qdisc that it does not know.
//!
//! For `tc qdisc add dev eth0 root qw_codel target 2ms` it opens `q_qw_codel.so` in its folder of plugins and looks up
//! `qw_codel_qdisc_util` there: one library, with a link for each name, serves them all. The words are those of scenario
//! files, so that the registry says what there is, in which unit and range.
//!
//! Of a BPF qdisc, `tc qdisc replace dev eth0 root bpf_codel rate 95mbit`, the kernel knows nothing until it is loaded: that
//! is done here, as `queuewright attach` does it, before tc goes on to put it there.

mod options;
mod print;
mod words;

use queuewright_linux::Port;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::ptr;
use words::QdiscRequest;

/// How tc knows a kind of qdisc: `struct qdisc_util` of its plugins' interface.
#[repr(C)]
#[derive(Debug)]
pub struct Util {
    /// The next in tc's own list; tc writes it.
    next: UnsafeCell<*mut c_void>,
    id: *const c_char,
    parse_options: Option<Parse>,
    print_options: Option<Print>,
    print_statistics: Option<Print>,
    /// Classes: these qdiscs have none.
    parse_class: Option<Parse>,
    print_class: Option<Print>,
}

/// Qdisc, count of words, words, request, device.
type Parse = unsafe extern "C" fn(*const Util, c_int, *const *const c_char, *mut u8, *const c_char) -> c_int;
/// Qdisc, file, attribute.
type Print = unsafe extern "C" fn(*const Util, *mut libc::FILE, *const u8) -> c_int;

// SAFETY: tc has one thread; the rest is never written.
unsafe impl Sync for Util {}

impl Util {
    const fn new(id: &'static CStr) -> Self {
        Util {
            next: UnsafeCell::new(ptr::null_mut()),
            id: id.as_ptr(),
            parse_options: Some(parse_options),
            print_options: Some(print_options),
            print_statistics: Some(print_statistics),
            parse_class: None,
            print_class: None,
        }
    }
}

#[allow(non_upper_case_globals, missing_docs)]
mod symbols {
    use super::Util;
    include!(concat!(env!("OUT_DIR"), "/symbols.rs"));
}
pub use symbols::*;

/// A kind of qdisc, and the discipline that it is: `fq-codel` of `qw_fq_codel`.
///
/// # Safety
/// `util` is one of ours.
unsafe fn info(util: *const Util) -> Option<(&'static str, &'static queuewright_aqm::Info)> {
    // SAFETY: see above; `id` is a C string that is never gone.
    let id: &'static CStr = unsafe { CStr::from_ptr((*util).id) };
    let kind = id.to_str().ok()?;
    let name = kind.strip_prefix("qw_").or(kind.strip_prefix(BPF))?.replace('_', "-");
    queuewright_aqm::find(&name).map(|info| (kind, info))
}

/// Begins the kinds that are BPF programs.
const BPF: &str = "bpf_";

/// Has the kernel know the BPF qdisc that tc is about to put at a device.
fn load(wish: QdiscRequest, request: &mut options::Request, device: &str) -> Result<(), String> {
    if !request.creates() {
        return Err(format!("what runs is changed by: queuewright set {device} NAME=VALUE"));
    }
    if !request.is_root() {
        return Err(format!(
            "below mq tc cannot load one for each queue: queuewright attach {device} {} --mq",
            wish.text
        ));
    }
    let QdiscRequest { limit, limit_bytes, rate, overhead, text, spec, .. } = wish;
    let plain = Port::default();
    let port = Port {
        rate,
        overhead,
        limit_packets: limit.unwrap_or(plain.limit_packets),
        limit_bytes: limit_bytes.unwrap_or(plain.limit_bytes),
        ..plain
    };
    let spec = spec.ok_or("it is no discipline")?;
    let plan = queuewright_linux::plan(device, &text, spec, port).map_err(|e| e.to_string())?;
    if plan.record.front {
        return Err(format!(
            "this kernel has no BPF qdiscs; in front of htb: queuewright attach {device} {text} --rate {rate}bit"
        ));
    }
    request.set_kind(&plan.record.kind)?;
    queuewright_linux::prepare(&plan).map_err(|e| e.to_string())
}

/// # Safety
/// As tc calls it: `request` is a netlink message in a buffer of 64 KiB, `words` has `count` C strings.
unsafe extern "C" fn parse_options(
    util: *const Util,
    count: c_int,
    words: *const *const c_char,
    request: *mut u8,
    device: *const c_char,
) -> c_int {
    let words: Vec<String> = (0..usize::try_from(count).unwrap_or(0))
        // SAFETY: see above.
        .map(|i| unsafe { CStr::from_ptr(*words.add(i)) }.to_string_lossy().into_owned())
        .collect();
    // SAFETY: see above.
    let (Some((kind, info)), mut request) =
        (unsafe { info(util) }, unsafe { options::Request::new(request) })
    else {
        return -1;
    };
    let bpf = kind.starts_with(BPF);
    if words.iter().any(|word| word == "help") {
        let _ = write!(std::io::stderr(), "{}", words::help(info, kind, bpf));
        return -1;
    }
    let done = words::read(info, &words, request.creates(), bpf).and_then(|wish| match bpf {
        // SAFETY: see above; tc does not ask for options without a device.
        true if !device.is_null() => {
            load(wish, &mut request, &unsafe { CStr::from_ptr(device) }.to_string_lossy())
        }
        true => Err(format!("{kind} needs a device")),
        false => request.put(&wish),
    });
    match done {
        Ok(()) => 0,
        Err(why) => {
            // tc adds nothing of its own.
            let _ = writeln!(std::io::stderr(), "Error: {why}");
            -1
        }
    }
}

/// # Safety
/// As tc calls it: `attribute` is null or a netlink attribute, `file` is open.
unsafe extern "C" fn print_options(util: *const Util, file: *mut libc::FILE, attribute: *const u8) -> c_int {
    // SAFETY: see above.
    let (Some((_, info)), Some(bytes)) = (unsafe { info(util) }, unsafe { options::payload(attribute) })
    else {
        return 0;
    };
    // SAFETY: see above.
    print::options(&mut unsafe { print::Out::new(file) }, info, &options::read(bytes));
    0
}

/// # Safety
/// As [`print_options`].
unsafe extern "C" fn print_statistics(
    util: *const Util,
    file: *mut libc::FILE,
    attribute: *const u8,
) -> c_int {
    // SAFETY: see above.
    let (Some((_, info)), Some(bytes)) = (unsafe { info(util) }, unsafe { options::payload(attribute) })
    else {
        return 0;
    };
    if let Some(statistics) = options::Statistics::read(bytes) {
        // SAFETY: see above.
        print::statistics(&mut unsafe { print::Out::new(file) }, info, &statistics);
    }
    0
}
