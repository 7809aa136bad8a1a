//! Names of devices, which are bytes that others choose: how they are written where text is needed, and shown.
//!
//! A device whose name is no UTF-8 is called by its number, `if:7`: no name has a colon in it, so that it cannot be
//! another's.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Before the number of a device in the place of its name.
const BY_NUMBER: &str = "if:";

/// What a device is called here: its name, or its number where that is no UTF-8.
pub(crate) fn text_of(name: &OsStr, index: u32) -> String {
    name.to_str().map_or_else(|| format!("{BY_NUMBER}{index}"), Into::into)
}

/// What a device is called that somebody has named by any bytes, as on a command line.
pub fn called(name: &OsStr) -> String {
    match (name.to_str(), number_of(name)) {
        (Some(text), _) => text.into(),
        (None, Some(index)) => text_of(name, index),
        // It is no device's.
        (None, None) => format!("{BY_NUMBER}{}", shown(name)),
    }
}

/// What a device is called, with its own name where that is another.
pub fn with_name(dev: &str) -> String {
    let name = dev.strip_prefix(BY_NUMBER).and_then(|_| name_of(index(dev)?));
    match name {
        Some(name) => format!("{} ({})", quoted(dev), shown(&name)),
        None => quoted(dev),
    }
}

/// Number of the device with this name in this network namespace.
fn number_of(name: &OsStr) -> Option<u32> {
    // Asked for eth0:1 the kernel tells of eth0.
    if name.as_bytes().contains(&b':') {
        return None;
    }
    let name = CString::new(name.as_bytes()).ok()?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

/// Number of the device of this network namespace that is called so.
pub(crate) fn index(dev: &str) -> Option<u32> {
    match dev.strip_prefix(BY_NUMBER) {
        Some(number) => number.parse().ok().filter(|index| name_of(*index).is_some()),
        None => number_of(dev.as_ref()),
    }
}

/// Name of the device with this number.
pub(crate) fn name_of(index: u32) -> Option<OsString> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: a place of the size that it asks for, in which it leaves a C string.
    unsafe {
        let found = libc::if_indextoname(index, name.as_mut_ptr());
        (!found.is_null()).then(|| OsString::from_vec(CStr::from_ptr(found).to_bytes().to_vec()))
    }
}

/// A name as a terminal and a shell may have it: devices' names hold any bytes but spaces, colons and slashes.
pub fn quoted(name: &str) -> String {
    shown(name.as_ref())
}

/// The same of one that may be no text. What is not plain is in the form of a shell's `$'...'`, in which nothing is run.
pub(crate) fn shown(name: &OsStr) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:+%,=/".contains(c);
    if let Some(text) = name.to_str().filter(|text| !text.is_empty() && text.chars().all(plain)) {
        return text.into();
    }
    let mut out = String::from("$'");
    for chunk in name.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut bytes = [0; 4];
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                ' '..='~' => out.push(c),
                _ if c.is_alphanumeric() => out.push(c),
                // What changes how a line is shown may be no control character.
                _ => hexadecimal(c.encode_utf8(&mut bytes).as_bytes(), &mut out),
            }
        }
        hexadecimal(chunk.invalid(), &mut out);
    }
    out + "'"
}

fn hexadecimal(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Into a string it does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Text of others' with nothing in it that a terminal would obey.
pub fn safe(text: &str) -> String {
    let one = |c: char| if is_obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(one).collect()
}

/// A control character, or one that is not seen and changes how those beside it are shown: it turns them round, or ends the line.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Is it a name in tc that this program gives to a qdisc of its own: `bpf_codel`, `bpf_codel_2`, ...?
pub(crate) fn is_kind(kind: &str) -> bool {
    let names = queuewright_aqm::registry().iter().map(|info| format!("bpf_{}", info.name.replace('-', "_")));
    names.into_iter().any(|plain| {
        let numbered = kind.rsplit_once('_').filter(|(_, n)| n.parse::<u32>().is_ok_and(|n| n > 1));
        kind == plain
            || numbered.is_some_and(|(head, n)| format!("{plain:.0$}", 14 - n.len().min(14)) == head)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What is shown is what a shell reads, and runs nothing.
    #[test]
    fn shown_names_can_be_pasted() {
        let names: [&[u8]; 9] = [
            b"eth0",
            b"",
            b"q'$(id)\"`!\\",
            b"\xff\xfe\x1b7",
            b"a\xc3\xa9b\xe2\x80\xae\x07",
            b"{dev}*?~#",
            b"\\x41",
            b"/run/a b\nc",
            b"\xc3",
        ];
        for name in names {
            let shown = shown(OsStr::from_bytes(name));
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
            let done = Command::new("bash").arg("-c").arg(format!("printf %s {shown}")).output();
            let Ok(done) = done else { return };
            assert_eq!(done.stdout, name, "{shown}");
        }
        assert_eq!((quoted("eth0.5"), quoted("a b")), ("eth0.5".into(), "$'a b'".into()));
        assert_eq!(safe("5 µs\u{1b}[2J\u{202e}\u{2028}é"), r"5 µs\u{1b}[2J\u{202e}\u{2028}é");
    }

    #[test]
    fn a_number_is_no_other_devices_name() {
        let lo = index("lo").expect("a loopback");
        assert_eq!(index(&format!("if:{lo}")), Some(lo));
        assert_eq!(text_of("lo".as_ref(), lo), "lo");
        assert_eq!(text_of(OsStr::from_bytes(b"\xff"), 7), "if:7");
        assert_eq!((index("if:0"), index("if:x"), index("if:"), index("lo:1")), (None, None, None, None));
        // What nobody is called is nobody, whatever it looks like as text.
        assert_eq!(index(&called(OsStr::from_bytes(b"\xff"))), None);
    }

    #[test]
    fn kinds_of_other_programs_are_not_ours() {
        for ours in ["bpf_codel", "bpf_fq_codel", "bpf_fq_codel_2", "bpf_queuepil_12", "bpf_cp_aqm_3"] {
            assert!(is_kind(ours), "{ours}");
        }
        for other in
            ["bpf_foo", "bpf_codel_1", "bpf_codel_x", "bpf_code", "codel", "bpf_", "bpf__2", "bpf_fifo"]
        {
            assert!(!is_kind(other), "{other}");
        }
    }
}
