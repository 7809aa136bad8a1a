//! What a shared object keeps: variables beside those of an instance would let runs of one scenario disturb one another.

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

/// The name of a section that holds variables; none: there is none, or it is no ELF of 64 bits.
pub(super) fn variables(object: &[u8]) -> Option<String> {
    const WRITE: u64 = 1;
    const ALLOC: u64 = 2;
    if object.get(..5) != Some(b"\x7fELF\x02") {
        return None;
    }
    let (sections, size) = (number(object, 0x28, 8)? as usize, number(object, 0x3a, 2)? as usize);
    let (count, names) = (number(object, 0x3c, 2)? as usize, number(object, 0x3e, 2)? as usize);
    let at = |i: usize| sections.checked_add(i.checked_mul(size)?);
    let names = number(object, at(names)? + 0x18, 8)? as usize;
    (0..count).find_map(|i| {
        let at = at(i)?;
        let (flags, bytes) = (number(object, at + 8, 8)?, number(object, at + 0x20, 8)?);
        let name = object.get(names.checked_add(number(object, at, 4)? as usize)?..)?;
        let name = String::from_utf8_lossy(name.split(|b| *b == 0).next()?).into_owned();
        // The others are the linker's, and pointers that are never changed.
        let holds = [".data", ".bss", ".tdata", ".tbss"].iter().any(|of| match name.strip_prefix(of) {
            Some(rest) => rest.is_empty() || (rest.starts_with('.') && !rest.starts_with(".rel.ro")),
            None => false,
        });
        (holds && bytes > 0 && flags & (WRITE | ALLOC) == WRITE | ALLOC).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn rubbish_has_none() {
        let this = std::fs::read("/proc/self/exe").expect("it is there");
        // A Rust program has some.
        assert!(variables(&this).is_some());
        assert_eq!(variables(b""), None);
        assert_eq!(variables(&this[..64]), None);
        // Whatever its header says.
        let mut head = this[..4096].to_vec();
        for at in 5..64 {
            let was = std::mem::replace(&mut head[at], 0xff);
            variables(&head);
            head[at] = was;
        }
        head[0x28..0x40].fill(0xff);
        assert_eq!(variables(&head), None);
    }
}
