//! The compiled programs, one object a queue manager, and how one is loaded.

use crate::{Error, system};
use libbpf_rs::{AsRawLibbpf, Link, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel};
use queuewright_aqm::Info;
use std::io;
use std::ptr::NonNull;
use std::sync::Mutex;

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Names of the disciplines that can be attached.
pub fn names() -> Vec<String> {
    OBJECTS.iter().map(|(name, _)| name.replace('_', "-")).collect()
}

/// What is fixed once a program is loaded: `struct qw_bpf_settings`.
pub(crate) struct Settings {
    /// Qdiscs that share the object.
    pub instances: u32,
    /// Packets that each can hold.
    pub slots: u32,
    /// A program in front of the qdisc sets CE.
    pub companion: bool,
}

/// What libbpf and the verifier said last.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(_: PrintLevel, text: String) {
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&text);
    }
}

/// Opens the object of a discipline, to be known to tc as `id` (15 characters at most).
pub(crate) fn open(info: &Info, id: &str, settings: &Settings) -> Result<OpenObject, Error> {
    let name = info.name.replace('-', "_");
    let Some((_, bytes)) = OBJECTS.iter().find(|(n, _)| *n == name) else {
        return Err(Error::Input(match OBJECTS.is_empty() {
            true => "this program was built without clang and holds no BPF objects: install clang-19 and build again".into(),
            false => format!("{} cannot be attached yet; these can: {}", info.name, names().join(", ")),
        }));
    };
    if let Ok(mut said) = SAID.lock() {
        said.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
    let wrong = |e: libbpf_rs::Error| Error::System(format!("the BPF object of {}: {e}", info.name));
    let mut object = ObjectBuilder::default().open_memory(bytes).map_err(wrong)?;
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        match map_name.as_str() {
            "slots" => map.set_max_entries(settings.slots * settings.instances).map_err(wrong)?,
            "queues" => map.set_max_entries(map.max_entries() * settings.instances).map_err(wrong)?,
            "running" | "params" | "state" | "port" | "stats" => {
                map.set_max_entries(settings.instances).map_err(wrong)?;
            }
            "qdisc" => {
                // struct Qdisc_ops of bpf/kernel.h: five pointers, then the name.
                if let Some(at) = map.initial_value_mut().and_then(|v| v.get_mut(40..56)) {
                    at.fill(0);
                    let bytes = &id.as_bytes()[..id.len().min(15)];
                    at[..bytes.len()].copy_from_slice(bytes);
                }
            }
            other if other.ends_with(".rodata") => {
                let fields = [
                    settings.instances,
                    settings.slots,
                    info.needs_random.into(),
                    info.needs_head.into(),
                    info.needs_flow.into(),
                    settings.companion.into(),
                ];
                if let Some(at) = map.initial_value_mut().and_then(|v| v.get_mut(..24)) {
                    at.copy_from_slice(&fields.map(u32::to_ne_bytes).concat());
                }
            }
            _ => {}
        }
    }
    Ok(object)
}

/// Loads it: the kernel's verifier looks at every program.
pub(crate) fn load(info: &Info, object: OpenObject) -> Result<Object, Error> {
    object.load().map_err(|e| {
        let said = SAID.lock().map(|s| s.clone()).unwrap_or_default();
        // The verifier's last words before its count of instructions.
        let mut lines =
            said.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("libbpf: prog"));
        let last = lines.rfind(|l| {
            !l.starts_with("processed") && !l.starts_with("--") && !l.starts_with("libbpf: failed")
        });
        Error::System(format!("the kernel refuses {}: {e}: {}", info.name, last.unwrap_or("no reason given")))
    })
}

/// Has the kernel look at a discipline's programs, and lets them go again.
///
/// # Errors
/// What the kernel says against them.
pub fn verify(info: &Info) -> Result<(), Error> {
    load(info, open(info, "bpf_verify", &Settings { instances: 1, slots: 64, companion: true })?).map(drop)
}

/// Puts the program that sets CE before a device's qdisc.
pub(crate) fn attach_companion(object: &Object, dev: &str) -> Result<Link, Error> {
    let wrong = |why: String| Error::System(format!("{dev}: no program at its tcx egress hook: {why}"));
    let program = object.progs_mut().find(|p| p.name() == "companion");
    let program = program.ok_or_else(|| wrong("the BPF object has none".into()))?;
    let index = system::index(dev)?;
    // SAFETY: a program of a loaded object, and no options; libbpf gives a link or null, with errno set.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, std::ptr::null())
    };
    let link = NonNull::new(link).ok_or_else(|| wrong(io::Error::last_os_error().to_string()))?;
    // SAFETY: nobody else has it.
    Ok(unsafe { Link::from_ptr(link) })
}

/// A map of a loaded object.
pub(crate) fn map<'a>(object: &'a Object, name: &str) -> Result<libbpf_rs::Map<'a>, Error> {
    let found = object.maps().find(|m| m.name().to_string_lossy() == name);
    found.ok_or_else(|| Error::System(format!("the BPF object lacks its map {name}")))
}
