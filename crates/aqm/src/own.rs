//! Files of a user's own: a header in the form of `aqm/*.h`, compiled when it is named, kept, loaded. `docs/own.md` has its form.
//!
//! Naming one runs what is in it, with the rights of who names it.

mod describe;
mod kernel;
mod table;

use crate::Info;
pub use describe::{Compiled, Own, SERIES, name};
use describe::{FORM, describe};
pub use kernel::{KernelSource, declared, variables};
pub(crate) use queuewright_own::FILE;
pub use queuewright_own::{MAX_BYTES, hex, is_file};
use queuewright_own::{defines, sha256};
pub(crate) use table::Table;
#[cfg(test)]
use table::{Help, Range};

/// Sizes and places that `qw_shim_layout` has of C's.
#[cfg(test)]
pub(crate) const LAYOUT: [usize; 15] = [
    size_of::<Range>(),
    size_of::<Help>(),
    size_of::<queuewright_own::Shown>(),
    size_of::<Table>(),
    std::mem::offset_of!(Table, about),
    std::mem::offset_of!(Table, shown),
    std::mem::offset_of!(Table, probe),
    size_of::<table::Head>(),
    std::mem::offset_of!(table::Head, of),
    // The last kind of `parameter`.
    6,
    kernel::LAYOUT[0],
    kernel::LAYOUT[1],
    kernel::LAYOUT[2],
    kernel::LAYOUT[3],
    kernel::LAYOUT[4],
];

/// Is what is in the file meant to be a discipline?
pub fn is_discipline(path: &str, text: &str) -> bool {
    let declared = |name| ["PARAMS", "HELP", "PROBES"].iter().any(|what| defines(name, text, what));
    queuewright_own::stem(path).is_some_and(declared)
}

/// A file to begin with, for a discipline of this name.
///
/// # Errors
/// What is wrong with the name.
pub fn sample(name: &str) -> Result<String, String> {
    FORM.sample(name, include_str!("own/sample.h"))
}

/// The discipline of a file: compiled, or as it was compiled before. `path` is how it was named, `text` what is in it.
///
/// # Errors
/// What is wrong with its name or with what is in it, with its line; what is missing here to compile it.
pub fn load(path: &str, text: &str) -> Result<&'static Info, String> {
    let name = name(path)?;
    if defines(name, text, "CCA") && !defines(name, text, "PARAMS") {
        return Err(
            "a congestion control, and no discipline; name it where a congestion control is named".into()
        );
    }
    // SAFETY: so the frame has it.
    unsafe {
        FORM.load(path, text, |name, table| {
            describe(name, Own { text: text.into(), sha256: sha256(text.as_bytes()), object: None, table })
        })
    }
}

/// What such a file may include, in words.
pub fn may_include() -> String {
    FORM.may_include()
}

/// Looks at a file: what the compiler warns of, and random operations on it, in a process of its own. How many there were, and what came of
/// them, in words.
///
/// # Errors
/// As [`load`]; what the compiler warns of, and the first thing that went wrong.
pub fn check(path: &str, text: &str) -> Result<String, String> {
    load(path, text)?;
    FORM.check(path, text)
}
