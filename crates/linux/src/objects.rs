//! How the object of a discipline is opened, and loaded.

use crate::compile::refusal;
use crate::hosts::{AT_HEAD, BY_CLASSES, Host};
use crate::libbpf::{listen, said, types};
use crate::maps::Settings;
use crate::{Error, foreign, own};
use libbpf_rs::btf::types::{Array, DataSec, Linkage, MemberAttr, Struct, Var};
use libbpf_rs::{
    AsRawLibbpf, Link, MapCore, Object, ObjectBuilder, OpenMap, OpenObject, Program, ProgramMut,
};
use queuewright_aqm::Info;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use zerocopy::IntoBytes;

/// Does its rule act on packets that leave, and not only on those that come?
pub(crate) fn acts_at_head(info: &Info) -> bool {
    // What a scheduler has in its queues may.
    // And nobody knows what a file of a user's own does.
    AT_HEAD.contains(&info.name.replace('-', "_").as_str()) || by_classes(info.name) || info.own.is_some()
}

/// Has it several queues, which can be classes of htb?
pub(crate) fn by_classes(name: &str) -> bool {
    BY_CLASSES.contains(&name.replace('-', "_").as_str())
}

/// Opens the object of a discipline; a qdisc of its own is to be known to tc as `id` (15 characters at most).
pub(crate) fn open(info: &Info, host: Host, id: &str, settings: &Settings) -> Result<OpenObject, Error> {
    let bytes = match own::object(info, host) {
        Some(own) => own?,
        None => brought(info, host)?,
    };
    listen();
    prepared(info, host, bytes, id, settings)
        .map_err(|e| Error::System(format!("the BPF object of {}: {e}", info.name)))
}

/// The object of a discipline that comes with the program.
fn brought(info: &Info, host: Host) -> Result<&'static [u8], Error> {
    let name = info.name.replace('-', "_");
    if let Some((_, bytes)) = host.objects().iter().find(|(n, _)| *n == name) {
        return Ok(bytes);
    }
    Err(Error::Input(match host.objects().is_empty() {
        true => {
            "this program was built without clang and holds no BPF objects: install clang-19 and build again"
                .into()
        }
        false => {
            let what = match host {
                Host::Qdisc => "attached yet",
                Host::Police => "attached with --police, as it looks at packets that have waited",
                Host::Front => {
                    "put in front of htb, which would have to serve its queues in its order, or to give back what waits"
                }
            };
            format!("{} cannot be {what}; these can: {}", info.name, host.names().join(", "))
        }
    }))
}

/// Opens an object, and writes into it what is known before it is loaded.
fn prepared(
    info: &Info,
    host: Host,
    bytes: &[u8],
    id: &str,
    settings: &Settings,
) -> Result<OpenObject, String> {
    let wrong = |e: libbpf_rs::Error| e.to_string();
    let mut object = ObjectBuilder::default().open_memory(bytes).map_err(wrong)?;
    let settings = Settings {
        needs_random: info.needs_random.into(),
        needs_head: info.needs_head.into(),
        needs_flow: info.needs_flow.into(),
        acts_at_head: acts_at_head(info).into(),
        ..*settings
    };
    // A host's macros could say so, which a file may have made others of.
    if let Some(map) = object.maps().find(pins_itself) {
        return Err(format!("map {} would pin itself", map.name().to_string_lossy()));
    }
    if info.own.is_some() {
        is_host(&object, host)?;
    }
    let places = Places::of(&object)?;
    let times_instances = |map: &str, of_one: u32| {
        let Settings { instances, .. } = settings;
        of_one
            .checked_mul(instances)
            .ok_or_else(|| format!("map {map}: {of_one} for each of {instances} is too many"))
    };
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        match map_name.as_str() {
            "debts" if !acts_at_head(info) => map.set_max_entries(1).map_err(wrong)?,
            "slots" => map.set_max_entries(times_instances("slots", settings.slots)?).map_err(wrong)?,
            "queues" => map.set_max_entries(times_instances("queues", map.max_entries())?).map_err(wrong)?,
            // One an instance.
            other if other.starts_with(".bss.") => {
                map.set_value_size(times_instances(other, map.value_size())?).map_err(wrong)?;
            }
            "qdisc" => {
                let place = places.id.clone().ok_or("no Qdisc_ops.id for the qdisc's name")?;
                let at = map.initial_value_mut().and_then(|v| v.get_mut(place));
                let at = at.ok_or("no room for the qdisc's name, Qdisc_ops.id")?;
                let id = &id.as_bytes()[..id.len().min(at.len().saturating_sub(1))];
                at.fill(0);
                at[..id.len()].copy_from_slice(id);
            }
            other if !other.starts_with('.') && other.ends_with(".rodata") => {
                let at = map.initial_value_mut().and_then(|v| v.get_mut(places.settings.clone()));
                at.and_then(|at| settings.write_to(at).ok()).ok_or("no room for its settings")?;
            }
            _ => {}
        }
    }
    Ok(object)
}

/// Is all that libbpf makes of it the host's, each once? Its sections have been looked at; this is how libbpf reads them.
fn is_host(object: &OpenObject, host: Host) -> Result<(), String> {
    let mut seen = HashSet::new();
    for map in object.maps() {
        let name = map.name().to_string_lossy().into_owned();
        if !foreign::is_map(host, &name) || !seen.insert(name.clone()) {
            return Err(format!("map {name} is not the host's"));
        }
    }
    for program in object.progs() {
        let (name, section) = (program.name().to_string_lossy(), program.section().to_string_lossy());
        if !foreign::is_program(host, &section, &name) || !seen.insert(format!("{section} {name}")) {
            return Err(format!("program {name} is not the host's"));
        }
    }
    Ok(())
}

/// Would libbpf pin it as it is loaded, in a folder of its own choice?
fn pins_itself(map: &OpenMap<'_>) -> bool {
    // SAFETY: a map of an object that is open.
    !unsafe { libbpf_sys::bpf_map__pin_path(map.as_libbpf_object().as_ptr()) }.is_null()
}

/// Where in an object what is written into it lies, by what its own types (BTF) say.
struct Places {
    /// `settings` in its constants.
    settings: Range<usize>,
    /// The name of the qdisc in the kernel's table of its functions, if it has one.
    id: Option<Range<usize>>,
}

impl Places {
    /// Or what its types lack.
    fn of(object: &OpenObject) -> Result<Places, String> {
        let types = types(object).ok_or("no types (BTF)")?;
        let constants = types.type_by_name::<DataSec<'_>>(".rodata").ok_or("no constants (.rodata)")?;
        // libbpf says where a global one lies; of another the place may be any.
        let global = |id, name: &str| {
            let var = types.type_by_id::<Var<'_>>(id);
            var.is_some_and(|v| v.linkage() == Linkage::Global && v.name().is_some_and(|n| n == name))
        };
        let settings = constants.iter().find(|var| global(var.ty, "settings"));
        let settings = settings.ok_or("no global constant settings")?;
        let settings = settings.offset as usize..(settings.offset as usize + settings.size);
        if settings.len() != size_of::<Settings>() {
            return Err(format!("settings of {} bytes, not {}", settings.len(), size_of::<Settings>()));
        }
        let id = types.type_by_name::<Struct<'_>>("Qdisc_ops").and_then(|table| {
            let id = table.iter().find(|member| member.name.is_some_and(|n| n == "id"))?;
            let MemberAttr::Normal { offset } = id.attr else { return None };
            let characters = types.type_by_id::<Array<'_>>(id.ty)?.capacity();
            Some(offset as usize / 8..offset as usize / 8 + characters)
        });
        Ok(Places { settings, id })
    }
}

/// Every object of a host, by name.
#[cfg(test)]
pub(crate) fn opened(host: Host) -> Vec<(&'static str, OpenObject)> {
    let open = |bytes| ObjectBuilder::default().open_memory(bytes).expect("it was compiled a moment ago");
    host.objects().iter().map(|(name, bytes)| (*name, open(bytes))).collect()
}

/// Bytes of the verifier's log of a program of a user's own: its end, where a kernel keeps that.
const LOG: usize = 64 << 10;

/// Loads it: the kernel's verifier looks at every program.
pub(crate) fn load(info: &Info, mut object: OpenObject) -> Result<Object, Error> {
    // By itself libbpf has a loop without an end looked at again and again, each time with room for a longer log: minutes.
    let mut logs: Vec<Vec<u8>> = Vec::new();
    if info.own.is_some() {
        for program in object.progs_mut() {
            let mut log = vec![0; LOG];
            // SAFETY: a live program, and memory of that size, which stays where it is until the program is gone.
            unsafe {
                let program = program.as_libbpf_object().as_ptr();
                libbpf_sys::bpf_program__set_log_buf(program, log.as_mut_ptr().cast(), LOG as u64);
            }
            logs.push(log);
        }
    }
    object.load().map_err(|e| {
        let said = said();
        let mut written = logs.iter().filter_map(|log| CStr::from_bytes_until_nul(log).ok());
        if let Some(log) = written.rfind(|log| !log.is_empty()) {
            return Error::Input(refusal(&format!("{}.h", info.name), &log.to_string_lossy()));
        }
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
pub fn verify(info: &Info, host: Host) -> Result<(), Error> {
    load(info, open(info, host, "bpf_verify", &Settings::of(1, 64, true))?).map(drop)
}

/// The program of a loaded object that sets CE in front of the qdisc.
pub(crate) fn companion(object: &Object) -> Result<ProgramMut<'_>, Error> {
    let found = object.progs_mut().find(|p| p.name() == "companion");
    found.ok_or_else(|| Error::System("the BPF object lacks its program companion".into()))
}

/// Where a program meets the packets of a device (tcx).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    Ingress,
    Egress,
}

impl Hook {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Hook::Ingress => "ingress",
            Hook::Egress => "egress",
        }
    }
}

/// Puts a program at a tcx hook of the device with this index, pinned at `pin`: it stays while the pin does. One that lets a packet
/// pass (`TC_ACT_OK`) ends the row. At egress ours is therefore the first; at ingress, where the others would see nothing after
/// it, the last.
pub(crate) fn attach_tcx(program: BorrowedFd<'_>, index: i32, hook: Hook, pin: &Path) -> io::Result<()> {
    let pin = CString::new(pin.as_os_str().as_bytes())?;
    let (kind, flags) = match hook {
        Hook::Ingress => (libbpf_sys::BPF_TCX_INGRESS, libbpf_sys::BPF_F_AFTER),
        Hook::Egress => (libbpf_sys::BPF_TCX_EGRESS, libbpf_sys::BPF_F_BEFORE),
    };
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags,
        ..Default::default()
    };
    // SAFETY: a program, an index and options that say how long they are; a new descriptor comes back, or the error's number below 0.
    let fd = unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), index, kind, &raw const options) };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: nobody else has it.
    let link = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: a link and a path that ends in 0.
    match unsafe { libbpf_sys::bpf_obj_pin(link.as_raw_fd(), pin.as_ptr()) } {
        0 => Ok(()),
        e => Err(io::Error::from_raw_os_error(-e)),
    }
}

/// The kernel's number of a pinned program.
pub(crate) fn program_id(pin: &Path) -> Option<u32> {
    number_of(Program::fd_from_pinned_path(pin).ok()?.as_fd())
}

/// What a pinned program says of a packet (some zeros) of the device with this number: it is run once, and the packet goes nowhere. None: it
/// cannot be asked.
pub(crate) fn verdict_at(pin: &Path, index: u32) -> Option<u32> {
    let program = Program::fd_from_pinned_path(pin).ok()?;
    let packet = [0u8; 64];
    // `struct __sk_buff` of linux/bpf.h: only its device is said.
    let mut context = [0u32; 48];
    *context.get_mut(INDEX_IN_CONTEXT)? = index;
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: packet.as_ptr().cast(),
        data_size_in: packet.len() as u32,
        ctx_in: context.as_ptr().cast(),
        ctx_size_in: size_of_val(&context) as u32,
        ..Default::default()
    };
    // SAFETY: a program, and options that say how long what they point to is, which outlives the call.
    let rc = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    (rc == 0).then_some(options.retval)
}

/// Where `struct __sk_buff` has `ifindex`, in words.
const INDEX_IN_CONTEXT: usize = 10;

/// The kernel's number of a program of a loaded object, if that has it.
pub(crate) fn program_in(object: &Object, name: &str) -> Option<u32> {
    number_of(object.progs().find(|p| p.name() == name)?.as_fd())
}

/// The kernel's number of a program.
pub(crate) fn number_of(program: BorrowedFd<'_>) -> Option<u32> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    // SAFETY: a program, and a structure of the size that is named.
    let rc = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(program.as_raw_fd(), (&raw mut info).cast(), &raw mut size)
    };
    (rc == 0).then_some(info.id)
}

/// Has the program `left` of front.bpf.c see what leaves any qdisc.
pub(crate) fn attach_left(object: &Object) -> Result<Link, Error> {
    let program = object.progs_mut().find(|p| p.name() == "left");
    let program =
        program.ok_or_else(|| Error::System("the BPF object has no program for what leaves".into()))?;
    program
        .attach_raw_tracepoint("qdisc_dequeue")
        .map_err(|e| Error::System(format!("the kernel's tracepoint qdisc_dequeue: {e}")))
}

/// A map of a loaded object.
pub(crate) fn map<'a>(object: &'a Object, name: &str) -> Result<libbpf_rs::Map<'a>, Error> {
    let found = object.maps().find(|m| m.name().to_string_lossy() == name);
    found.ok_or_else(|| Error::System(format!("the BPF object lacks its map {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::OBJECTS;
    use queuewright_testing::{Lack, left_out};

    /// An object of codel, if there is one.
    fn codel() -> Option<(&'static Info, &'static [u8])> {
        let found = OBJECTS.iter().find(|(name, _)| *name == "codel");
        if found.is_none() {
            let what = "what an object must have";
            left_out(what, Lack::Setup, &"built without a clang that has BPF");
        }
        Some((queuewright_aqm::find("codel")?, found?.1))
    }

    /// With another word of the same length in place of one.
    fn with(bytes: &[u8], word: &[u8], other: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        let at: Vec<usize> = (0..out.len()).filter(|at| out[*at..].starts_with(word)).collect();
        assert!(!at.is_empty() && word.len() == other.len());
        at.into_iter().for_each(|at| out[at..at + other.len()].copy_from_slice(other));
        out
    }

    fn position(bytes: &[u8], part: &[u8]) -> usize {
        bytes.windows(part.len()).position(|window| window == part).expect("it is there")
    }

    /// The same with `settings` static, by the layout of BTF (Documentation/bpf/btf.rst of Linux).
    fn with_static_settings(bytes: &[u8]) -> Vec<u8> {
        // Magic number, version and flags; then the header's length, and where types and names are after it.
        let head = position(bytes, &[0x9f, 0xeb, 1, 0]);
        let word = |nth: usize| {
            let word = bytes[head + 4 * nth..].first_chunk().expect("a header");
            u32::from_ne_bytes(*word) as usize
        };
        let part = |at: usize, length: usize| head + word(1) + at..head + word(1) + at + length;
        let (types, names) = (part(word(2), word(3)), part(word(4), word(5)));
        let name = position(&bytes[names], b"\0settings\0") as u32 + 1;
        // A variable (14): its name, kind, type, linkage.
        let variable: Vec<u8> = [name, 14 << 24].into_iter().flat_map(u32::to_ne_bytes).collect();
        let linkage = types.start + position(&bytes[types], &variable) + 12;
        let mut out = bytes.to_vec();
        assert_eq!(out[linkage], Linkage::Global as u8);
        out[linkage] = Linkage::Static as u8;
        out
    }

    /// The error's text; empty if there is none.
    fn refused(info: &Info, bytes: &[u8]) -> String {
        refused_with(info, bytes, &Settings::of(1, 64, true))
    }

    fn refused_with(info: &Info, bytes: &[u8], settings: &Settings) -> String {
        prepared(info, Host::Qdisc, bytes, "bpf_codel", settings).err().unwrap_or_default()
    }

    #[test]
    fn an_object_without_a_place_for_what_is_written_into_it_is_refused() {
        let Some((info, bytes)) = codel() else { return };
        assert_eq!(refused(info, bytes), "");
        let other = with(bytes, b"Qdisc_ops\0", b"Qdisc_0ps\0");
        assert_eq!(refused(info, &other), "no Qdisc_ops.id for the qdisc's name");
        let other = with(bytes, b"\0settings\0", b"\0settin9s\0");
        assert_eq!(refused(info, &other), "no global constant settings");
        assert_eq!(refused(info, &with_static_settings(bytes)), "no global constant settings");
    }

    #[test]
    fn maps_of_more_than_can_be_counted_are_refused() {
        let Some((info, bytes)) = codel() else { return };
        let said = refused_with(info, bytes, &Settings::of(1 << 16, 1 << 16, true));
        assert!(said.ends_with("for each of 65536 is too many"), "{said}");
    }
}
