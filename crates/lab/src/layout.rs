//! What the guest's headers say of what it writes: numbers, and the size of each record and where in it what is. Made by
//! `build.rs` of `guest/lab.h`, `packet.h`, `replay.h`, `ring.h` and `queue.bpf.c`.

#![allow(dead_code, missing_docs, reason = "all that is declared there is here")]

include!(concat!(env!("OUT_DIR"), "/layout.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// A C compiler finds the same sizes and places.
    #[test]
    fn it_is_as_c_lays_it_out() {
        let rust = include_str!(concat!(env!("OUT_DIR"), "/layout.rs"));
        let guest = concat!(env!("CARGO_MANIFEST_DIR"), "/guest");
        let (mut within, mut count) = (None, 0);
        let mut c = String::from("#include \"lab.h\"\n#include \"replay.h\"\n");
        for line in rust.lines() {
            if let Some(name) = line.strip_prefix("pub mod ").and_then(|l| l.strip_suffix(" {")) {
                // That one is in a program for BPF.
                within = (name != "record").then_some(name);
            }
            let place = line.strip_prefix("    pub const ").and_then(|l| l.split_once(": usize = "));
            let (Some(name), Some((field, value))) = (within, place) else { continue };
            let value = value.trim_end_matches(';');
            let found = match field {
                "SIZE" => format!("sizeof(struct {name})"),
                field => format!("offsetof(struct {name}, {})", field.to_lowercase()),
            };
            c += &format!("_Static_assert({found} == {value}, \"{name} {field}\");\n");
            count += 1;
        }
        assert!(count > 120, "{count}");
        assert_eq!((record::SIZE, event::STATE), (packet::SIZE, event::HEADER + HEADER as usize + 4));
        let words = ["-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-xc", "-I", guest, "-"];
        let mut cc = Command::new("cc").args(words).stdin(Stdio::piped()).spawn().expect("a C compiler");
        cc.stdin.take().expect("piped").write_all(c.as_bytes()).expect("it reads");
        assert!(cc.wait().expect("it ends").success());
    }
}
