//! What the lab's own programs are made of, to be compared with what `scripts/setup lab` has compiled; and what their headers
//! say of what they write, in Rust: numbers, and where in a record what is.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

/// Where records are declared that a guest writes.
const DECLARED: [&str; 5] = ["lab.h", "packet.h", "replay.h", "ring.h", "queue.bpf.c"];

fn main() {
    println!("cargo::rerun-if-changed=guest");
    let mut files: Vec<PathBuf> =
        fs::read_dir("guest").expect("crates/lab/guest").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "c" || e == "h"));
    files.sort();
    let sources: Vec<u8> = files.iter().flat_map(|file| fs::read(file).expect("a source")).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo's OUT_DIR"));
    fs::write(out.join("sources"), sources).expect("OUT_DIR can be written");
    let mut layout = Layout::default();
    for file in DECLARED {
        let text = fs::read_to_string(format!("guest/{file}")).expect("a source");
        layout.read(&without_comments(&text));
    }
    fs::write(out.join("layout.rs"), layout.rust).expect("OUT_DIR can be written");
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_string();
    parts.filter_map(|part| part.split_once("*/")).fold(first, |all, (_, rest)| all + rest)
}

/// What has been read, and the same in Rust.
#[derive(Default)]
struct Layout {
    numbers: BTreeMap<String, u64>,
    /// Size and alignment of each type.
    types: BTreeMap<String, (u64, u64)>,
    rust: String,
}

impl Layout {
    fn read(&mut self, text: &str) {
        for (name, size) in [
            ("char", 1),
            ("unsigned char", 1),
            ("int", 4),
            ("unsigned int", 4),
            ("unsigned long long", 8),
            ("uint16_t", 2),
            ("uint32_t", 4),
            ("uint64_t", 8),
            ("__u16", 2),
            ("__u32", 4),
            ("__u64", 8),
        ] {
            self.types.insert(name.into(), (size, size));
        }
        for line in text.lines() {
            let Some((name, value)) = line.strip_prefix("#define ").and_then(|l| l.split_once(' ')) else {
                continue;
            };
            if let Some(value) = number(value) {
                self.number(name, value);
            }
        }
        for (head, body) in blocks(text) {
            match head.split_whitespace().collect::<Vec<_>>()[..] {
                ["enum", ..] => {
                    let mut next = 0;
                    for item in body.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                        let (name, value) =
                            item.split_once('=').map_or((item, None), |(n, v)| (n.trim(), number(v)));
                        self.number(name, value.unwrap_or(next));
                        next = self.numbers[name] + 1;
                    }
                }
                ["struct", name] => self.structure(name, body),
                _ => {}
            }
        }
    }

    fn number(&mut self, name: &str, value: u64) {
        let _ = writeln!(self.rust, "pub const {name}: u32 = {value};");
        self.numbers.insert(name.into(), value);
    }

    /// One of numbers alone: others stay in the guest.
    fn structure(&mut self, name: &str, body: &str) {
        let (mut at, mut align, mut fields) = (0u64, 1, String::new());
        for declared in body.split(';').map(str::trim).filter(|declared| !declared.is_empty()) {
            // The type is all but the last word before the first comma.
            let first = declared.split(',').next().unwrap_or_default().trim_end();
            let Some((kind, _)) = first.rsplit_once(char::is_whitespace) else { return };
            let kind: Vec<&str> = kind.split_whitespace().collect();
            let kind = kind.join(" ");
            let Some(&(size, aligned)) = self.types.get(&kind) else { return };
            align = align.max(aligned);
            for field in declared
                [first.len() - first.rsplit(char::is_whitespace).next().unwrap_or_default().len()..]
                .split(',')
            {
                let (field, count) = match field.trim().trim_end_matches(']').split_once('[') {
                    None => (field.trim(), Some(1)),
                    Some((field, count)) => (field, number(count).or(self.numbers.get(count).copied())),
                };
                let Some(count) = count else { return };
                at = at.next_multiple_of(aligned);
                let _ = writeln!(fields, "    pub const {}: usize = {at};", field.to_uppercase());
                at += size * count;
            }
        }
        let size = at.next_multiple_of(align);
        self.types.insert(format!("struct {name}"), (size, align));
        let _ = writeln!(self.rust, "pub mod {name} {{\n    pub const SIZE: usize = {size};\n{fields}}}");
    }
}

/// What is declared at the beginnings of lines: `struct NAME` and what is in its braces.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n};").filter_map(|part| {
        let (before, body) = part.rsplit_once(" {\n")?;
        Some((before.rsplit('\n').next()?, body))
    })
}

/// `12`, `0x5157`, `12u`, `(1u << 12)`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    if let Some((one, by)) = text.split_once(" << ") {
        return Some(number(one)? << number(by)?);
    }
    let digits = text.trim_end_matches(['u', 'l', 'U', 'L']);
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}
