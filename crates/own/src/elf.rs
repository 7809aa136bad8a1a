//! Object files (ELF): their sections and symbols, and what a shared object has that it should not. It holds code and constants. Variables
//! beside those of an instance would let runs of one scenario disturb one another. Code that runs when it is loaded, and functions of
//! libraries, are nothing that a queue manager or a congestion control needs.

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

/// What of a table of texts begins there.
fn text(table: &[u8], at: u64) -> Option<&[u8]> {
    table.get(usize::try_from(at).ok()?..)?.split(|b| *b == 0).next()
}

/// An object file of this machine's kind: 64 bits, and its order of bytes.
#[derive(Debug)]
pub struct Elf<'a> {
    /// For which processor it is (`EM_*`).
    pub machine: u64,
    /// All of its sections; symbols name them by their place.
    pub sections: Vec<Section<'a>>,
}

/// A section.
#[derive(Debug)]
pub struct Section<'a> {
    /// Its name, which may be no text.
    pub name: &'a [u8],
    /// Its kind (`SHT_*`).
    pub kind: u64,
    /// May it be written to, is it code, ... (`SHF_*`).
    pub flags: u64,
    /// Bytes that it has in memory.
    pub size: u64,
    /// What is in it, if the file has that.
    pub data: &'a [u8],
    /// Of a table of symbols the section with their names.
    link: u64,
}

/// A name for a place in a section.
#[derive(Debug)]
pub struct Symbol<'a> {
    /// The name, which may be no text; empty: none.
    pub name: &'a [u8],
    /// What is there (`STT_*`).
    pub kind: u8,
    /// In which section; 0: it is to be found elsewhere.
    pub section: u64,
    /// Bytes.
    pub size: u64,
}

impl<'a> Elf<'a> {
    /// The kind of section that has all symbols, and of that with those that the loader looks at.
    pub const SYMBOLS: u64 = 2;
    const LOADERS: u64 = 11;
    /// The kind of one that has nothing in the file.
    pub const ZEROS: u64 = 8;

    /// None: it is no such file, or says what it has not.
    pub fn of(object: &'a [u8]) -> Option<Elf<'a>> {
        /// Bytes of a section's header.
        const HEADER: u64 = 64;
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        if object.get(..6)? != [0x7f, b'E', b'L', b'F', 2, order] {
            return None;
        }
        let part = |at: u64, bytes: u64| {
            object.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(bytes)?).ok()?)
        };
        // Of files with more sections than 16 bits count these are 0, or name none.
        let (count, names) = (number(object, 0x3c, 2)?, number(object, 0x3e, 2)? as usize);
        if number(object, 0x3a, 2)? != HEADER {
            return None;
        }
        let headers = part(number(object, 0x28, 8)?, count * HEADER)?.chunks_exact(HEADER as usize);
        let one = |header: &[u8]| {
            let (kind, size) = (number(header, 4, 4)?, number(header, 0x20, 8)?);
            let data = match kind {
                0 | Elf::ZEROS => &[],
                _ => part(number(header, 0x18, 8)?, size)?,
            };
            let (flags, link) = (number(header, 8, 8)?, number(header, 0x28, 4)?);
            Some((number(header, 0, 4)?, Section { name: &[], kind, flags, size, data, link }))
        };
        let (places, mut sections): (Vec<u64>, Vec<Section<'a>>) =
            headers.map(one).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let names = sections.get(names)?.data;
        for (section, at) in sections.iter_mut().zip(places) {
            section.name = text(names, at)?;
        }
        Some(Elf { machine: number(object, 0x12, 2)?, sections })
    }

    /// The symbols of tables of this kind; None: one is broken.
    pub fn symbols(&self, kind: u64) -> Option<Vec<Symbol<'a>>> {
        /// Bytes of a symbol.
        const SYMBOL: usize = 24;
        let mut all = Vec::new();
        for table in self.sections.iter().filter(|section| section.kind == kind) {
            let names = self.sections.get(usize::try_from(table.link).ok()?)?.data;
            for symbol in table.data.chunks_exact(SYMBOL) {
                all.push(Symbol {
                    name: text(names, number(symbol, 0, 4)?)?,
                    kind: symbol[4] & 0xf,
                    section: number(symbol, 6, 2)?,
                    size: number(symbol, 16, 8)?,
                });
            }
        }
        Some(all)
    }
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
    let elf = Elf::of(object)?;
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for symbol in elf.symbols(Elf::LOADERS)? {
        let name = name(symbol.name);
        if symbol.section == 0 && !name.is_empty() && !COMPILERS.contains(&name.as_str()) {
            return Some(Odd::Calls(name));
        }
    }
    elf.sections.iter().filter(|section| section.size > 0 && section.flags & ALLOC != 0).find_map(|section| {
        let name = name(section.name);
        if [".init", ".fini", ".preinit", ".ctors", ".dtors"].iter().any(|of| name.starts_with(of)) {
            return Some(Odd::Constructor(name));
        }
        let linkers = LINKERS.contains(&name.as_str()) || name.starts_with(".data.rel.ro.");
        (section.flags & WRITE != 0 && !linkers).then_some(Odd::Variables(name))
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
