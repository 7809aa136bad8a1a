//! This program as a file of the guest, with the libraries that it needs.

use crate::Error;
use queuewright_linux::command;
use std::fs;
use std::path::{Path, PathBuf};

/// A program for the guest.
pub struct Program {
    /// What of its file the kernel loads.
    pub content: Vec<u8>,
    /// Shared libraries: name, where this machine has them.
    pub libraries: Vec<(String, PathBuf)>,
}

impl Program {
    pub fn read(path: &Path) -> Result<Program, Error> {
        let wrong = |e: &dyn std::fmt::Display| Error::Machine(format!("{}: {e}", path.display()));
        let mut content = fs::read(path).map_err(|e| wrong(&e))?;
        trim(&mut content);
        let listed = command("ldd").arg(path).output().map_err(|e| wrong(&format!("ldd: {e}")))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_string());
        let mut libraries: Vec<(String, PathBuf)> = listed
            .split_whitespace()
            .filter(|word| word.starts_with('/') && !word.contains("/ld-linux"))
            .filter_map(|word| Some((name(Path::new(word))?, word.into())))
            .collect();
        libraries.sort();
        libraries.dedup();
        Ok(Program { content, libraries })
    }
}

/// Cuts off what no segment of a 64-bit ELF file has, which is debug information for the most part, and the table of
/// sections, which nothing needs to run it.
fn trim(file: &mut Vec<u8>) {
    let number = |at: usize, n: usize| {
        let bytes = file.get(at..at + n)?;
        Some(bytes.iter().rev().fold(0usize, |x, b| x << 8 | usize::from(*b)))
    };
    // e_phoff, e_phentsize, e_phnum; p_offset, p_filesz
    let end = || {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let ends = (0..count).map(|i| {
            let at = table + i * size;
            number(at + 8, 8)?.checked_add(number(at + 32, 8)?)
        });
        ends.chain([Some(table + count * size)]).try_fold(0, |most, end| Some(most.max(end?)))
    };
    if file.get(..5) != Some(b"\x7fELF\x02") {
        return;
    }
    if let Some(end) = end().filter(|end| *end <= file.len()) {
        file.truncate(end);
        // e_shoff; e_shentsize, e_shnum, e_shstrndx
        file[40..48].fill(0);
        file[58..64].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_its_sections_is_smaller_and_begins_the_same() {
        let me = std::env::current_exe().expect("a path");
        let whole = fs::read(&me).expect("a file");
        let program = Program::read(&me).expect("an ELF file");
        let kept = program.content.len();
        assert!(kept > 10_000 && kept < whole.len(), "{kept} of {}", whole.len());
        assert_eq!(program.content[64..kept], whole[64..kept]);
        assert!(
            program.libraries.iter().any(|(name, _)| name.starts_with("libc.so")),
            "{:?}",
            program.libraries
        );
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        for bytes in [&b""[..], b"#!/bin/sh", b"\x7fELF\x02 and no more", &[0x7f, b'E', b'L', b'F', 2, 255]] {
            let mut file = bytes.to_vec();
            trim(&mut file);
            assert_eq!(file, bytes);
        }
    }
}
