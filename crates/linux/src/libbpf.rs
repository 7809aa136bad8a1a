//! What libbpf says, and what an object says of its types.

use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, OpenObject, PrintLevel};
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

/// What an object says of its types.
pub(crate) fn types(object: &OpenObject) -> Option<Btf<'_>> {
    // SAFETY: the object outlives what borrows of it, and nobody changes it meanwhile.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    Btf::from_bpf_object(raw).ok().flatten()
}
