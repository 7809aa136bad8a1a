//! What a shared object has beside functions and constants: variables beside those of an instance would let runs of one scenario disturb
//! one another; code that runs when it is loaded, and functions of libraries, are nothing that a queue manager or a congestion control needs.

/// A number of a header's, of 2, 4 or 8 bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(size)?)?;
    let mut whole = [0; 8];
    match cfg!(target_endian = "little") {
        true => whole[..size].copy_from_slice(part),
        false => whole[8 - size..].copy_from_slice(part),
    }
    Some(u64::from_ne_bytes(whole))
}

/// What it should not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Odd {
    /// A section that can be written to.
    Variables(String),
    /// A section of code that runs when it is loaded.
    Constructor(String),
    /// A function that is to be found elsewhere.
    Calls(String),
}

/// Sections that may be written to until it runs, and are the linker's.
const LINKERS: [&str; 6] =
    [".dynamic", ".got", ".got.plt", ".data.rel.ro", ".tm_clone_table", ".relro_padding"];
/// What compilers call by themselves.
const COMPILERS: [&str; 9] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "__stack_chk_fail",
    "__cxa_finalize",
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
];

/// The first thing that it should not have; none: there is none, or it is no ELF of 64 bits.
pub(crate) fn odd(object: &[u8]) -> Option<Odd> {
    const WRITE: u64 = 1;
    const ALLOC: u64 = 2;
    /// The type of the section with the symbols that the loader looks at.
    const DYNSYM: u64 = 11;
    /// Bytes of a symbol.
    const SYMBOL: usize = 24;
    if object.get(..5) != Some(b"\x7fELF\x02") {
        return None;
    }
    let (sections, size) = (number(object, 0x28, 8)? as usize, number(object, 0x3a, 2)? as usize);
    let (count, names) = (number(object, 0x3c, 2)? as usize, number(object, 0x3e, 2)? as usize);
    let at = |i: usize| sections.checked_add(i.checked_mul(size)?);
    let field = |section: usize, at: usize, size: usize| number(object, section.checked_add(at)?, size);
    let text = |table: usize, at: u64| {
        let text = object.get(table.checked_add(at as usize)?..)?;
        Some(String::from_utf8_lossy(text.split(|b| *b == 0).next()?).into_owned())
    };
    let names = field(at(names)?, 0x18, 8)? as usize;
    (0..count).find_map(|i| {
        let section = at(i)?;
        let (kind, flags) = (field(section, 4, 4)?, field(section, 8, 8)?);
        let (begins, bytes) = (field(section, 0x18, 8)? as usize, field(section, 0x20, 8)?);
        let name = text(names, field(section, 0, 4)?)?;
        if kind == DYNSYM {
            let strings = field(at(field(section, 0x28, 4)? as usize)?, 0x18, 8)? as usize;
            return (0..bytes as usize / SYMBOL).find_map(|j| {
                let symbol = begins.checked_add(j.checked_mul(SYMBOL)?)?;
                let (name, defined) = (text(strings, field(symbol, 0, 4)?)?, field(symbol, 6, 2)? != 0);
                let known = defined || name.is_empty() || COMPILERS.contains(&name.as_str());
                (!known).then_some(Odd::Calls(name))
            });
        }
        if bytes == 0 || flags & ALLOC == 0 {
            return None;
        }
        if [".init", ".fini", ".preinit", ".ctors", ".dtors"].iter().any(|of| name.starts_with(of)) {
            return Some(Odd::Constructor(name));
        }
        let linkers = LINKERS.contains(&name.as_str()) || name.starts_with(".data.rel.ro.");
        (flags & WRITE != 0 && !linkers).then_some(Odd::Variables(name))
    })
}

#[cfg(test)]
mod tests {
    use super::{Odd, odd};

    #[test]
    fn rubbish_has_none() {
        let this = std::fs::read("/proc/self/exe").expect("it is there");
        // A Rust program has some.
        assert!(odd(&this).is_some());
        assert_eq!(odd(b""), None);
        assert_eq!(odd(&this[..64]), None);
        // Whatever its header says.
        let mut head = this[..4096].to_vec();
        for at in 5..64 {
            let was = std::mem::replace(&mut head[at], 0xff);
            odd(&head);
            head[at] = was;
        }
        head[0x28..0x40].fill(0xff);
        assert_eq!(odd(&head), None::<Odd>);
    }
}
