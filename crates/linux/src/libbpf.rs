//! What libbpf may be given, and what it says.

use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, OpenObject, PrintLevel};
use queuewright_own::elf::Elf;
use std::sync::Mutex;

/// What libbpf and the verifier said last.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(_: PrintLevel, text: String) {
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&text);
    }
}

/// From here on what libbpf and the verifier say is heard.
pub(crate) fn listen() {
    if let Ok(mut said) = SAID.lock() {
        said.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
}

/// What they have said.
pub(crate) fn said() -> String {
    SAID.lock().map(|said| said.clone()).unwrap_or_default()
}

/// Are all names in it UTF-8? Where libbpf prints one that is not, libbpf-rs ends the process.
pub(crate) fn is_text(elf: &Elf<'_>) -> bool {
    let Some(symbols) = elf.symbols(Elf::SYMBOLS) else { return false };
    let names = elf.sections.iter().map(|section| section.name).chain(symbols.iter().map(|one| one.name));
    let types = elf.sections.iter().filter(|section| section.name == b".BTF");
    let mut texts = names.map(Some).chain(types.map(|section| texts_of(section.data)));
    texts.all(|text| text.is_some_and(|text| std::str::from_utf8(text).is_ok()))
}

/// The texts of a section of types, by its header (`struct btf_header` of Linux).
fn texts_of(types: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_ne_bytes(*types.get(at..)?.first_chunk()?) as usize);
    let begin = word(4)?.checked_add(word(16)?)?;
    types.get(begin..begin.checked_add(word(20)?)?)
}

/// What an object says of its types.
pub(crate) fn types(object: &OpenObject) -> Option<Btf<'_>> {
    // SAFETY: the object outlives what borrows of it, and nobody changes it meanwhile.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    Btf::from_bpf_object(raw).ok().flatten()
}
