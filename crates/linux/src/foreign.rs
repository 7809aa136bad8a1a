//! What of an object is not the host's. A file of a user's own adds functions and constants, and what it remembers is in the host's
//! variables. All else would be in the kernel beside these, for all instances, or after the last one: variables, maps, programs.

use crate::hosts::Host;
use queuewright_own::elf::{Elf, Section};
use std::collections::HashSet;

/// The section in which an object of a user's own says what it declares.
pub(crate) const DECLARED: &str = ".rodata.own";

/// What a host has in a section: variables, maps or programs.
fn of_host(host: Host, section: &str) -> &'static [&'static str] {
    match (host, section) {
        (_, ".bss.params") => &["params"],
        (_, ".bss.port") => &["port"],
        (_, ".bss.running") => &["running"],
        (_, ".bss.state") => &["state"],
        (_, ".bss.stats") => &["stats"],
        (_, "license") => &["LICENSE"],
        (Host::Qdisc, ".bss") => &["owed_to_all", "shared_ns"],
        (Host::Qdisc, ".maps") => &["asks", "slots"],
        (Host::Qdisc, ".struct_ops") => &["qdisc"],
        (Host::Qdisc, "struct_ops/dequeue") => &["dequeue"],
        (Host::Qdisc, "struct_ops/destroy") => &["destroy"],
        (Host::Qdisc, "struct_ops/enqueue") => &["enqueue"],
        (Host::Qdisc, "struct_ops/init") => &["init"],
        (Host::Qdisc, "struct_ops/reset") => &["reset"],
        (Host::Qdisc, "tcx/egress") => &["companion"],
        (Host::Front, ".bss.only") => &["only"],
        (Host::Front, ".maps") => &["debts", "slots"],
        (Host::Front, "raw_tp/qdisc_dequeue") => &["left"],
        (Host::Front, "tc") => &["front"],
        _ => &[],
    }
}

// Numbers of elf.h: kinds of sections, code among their flags, kinds of symbols, and the section of those that the linker makes room for.
const NULL: u64 = 0;
const PROGBITS: u64 = 1;
const STRTAB: u64 = 3;
const REL: u64 = 9;
const LLVM_ADDRSIG: u64 = 0x6fff_4c03;
const EXECINSTR: u64 = 4;
const FUNC: u8 = 2;
const SECTION: u8 = 3;
const COMMON: u64 = 0xfff2;

/// Is it one of those that are no part of what is loaded: names, places, types?
fn is_about_others(section: &Section<'_>, name: &str) -> bool {
    match section.kind {
        // libbpf goes by the name.
        NULL => name.is_empty(),
        Elf::SYMBOLS => name == ".symtab",
        STRTAB => name == ".strtab",
        REL => name.starts_with(".rel"),
        LLVM_ADDRSIG => name == ".llvm_addrsig",
        _ => matches!(name, ".BTF" | ".BTF.ext") || name.starts_with(".debug_"),
    }
}

/// Functions that programs call, and constants: a file may have its own.
fn is_free(section: &Section<'_>, name: &str) -> bool {
    match section.flags & EXECINSTR != 0 {
        true => name == ".text",
        false => name == ".rodata" || is_constants(name),
    }
}

fn is_constants(name: &str) -> bool {
    name == DECLARED || [".rodata.cst", ".rodata.str"].iter().any(|begin| name.starts_with(begin))
}

/// Is a section as a compiler makes that of a host? libbpf goes by its name alone.
fn is_as_made(section: &Section<'_>, name: &str) -> bool {
    let is_program = name.contains('/') || name == "tc";
    let kind = if name.starts_with(".bss") { Elf::ZEROS } else { PROGBITS };
    section.kind == kind && (section.flags & EXECINSTR != 0) == is_program
}

/// All helpers of the kernel's that the hosts call, by their numbers (`enum bpf_func_id`): map_lookup_elem, ktime_get_ns,
/// get_prandom_u32, get_hash_recalc, skb_pull_data, skb_ecn_set_ce, kptr_xchg.
const HELPERS: [u32; 7] = [1, 5, 7, 34, 39, 97, 194];
/// And functions of the kernel's.
const EXTERNS: [&str; 11] = [
    "bpf_cast_to_kern_ctx",
    "bpf_iter_num_destroy",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_kfree_skb",
    "bpf_qdisc_bstats_update",
    "bpf_qdisc_skb_drop",
    "bpf_qdisc_watchdog_schedule",
    "bpf_qw_skb_set_ce",
    "bpf_rdonly_cast",
    "bpf_skb_get_hash",
];

/// Does code call or name nothing of the kernel's but what the hosts do? (Instructions of 8 bytes: `struct bpf_insn`.)
fn calls(code: &[u8]) -> Result<(), String> {
    const CALL: u8 = 0x85;
    const CALL_BY_REGISTER: u8 = 0x8d;
    const LOAD_64_BITS: u8 = 0x18;
    /// Where a call leads to: a helper of this number, or a function that the loader finds.
    const HELPER: u8 = 0;
    const FUNCTION: u8 = 1;
    let mut all = code.chunks_exact(8);
    while let Some(one) = all.next() {
        // `src_reg`
        let how = if cfg!(target_endian = "little") { one[1] >> 4 } else { one[1] & 0xf };
        let number = u32::from_ne_bytes([one[4], one[5], one[6], one[7]]);
        match one[0] {
            CALL if how == FUNCTION || how == HELPER && HELPERS.contains(&number) => {}
            CALL | CALL_BY_REGISTER => {
                return Err(format!(
                    "it calls a function of the kernel's (number {number}): it has no library"
                ));
            }
            LOAD_64_BITS if how != 0 => {
                return Err("it names a map or a variable of the kernel's by its number".into());
            }
            LOAD_64_BITS => drop(all.next()),
            _ => {}
        }
    }
    Ok(())
}

/// Is it one of the maps that libbpf makes of a host, and of a file's constants?
pub(crate) fn is_map(host: Host, name: &str) -> bool {
    // Of the sections `.rodata` and `.bss` it begins with a part of the object's name.
    if !name.starts_with('.') {
        let sections = [".maps", ".struct_ops"].iter().any(|section| of_host(host, section).contains(&name));
        let bss = !of_host(host, ".bss").is_empty() && name.ends_with(".bss");
        return sections || bss || name.ends_with(".rodata");
    }
    !of_host(host, name).is_empty() || is_constants(name)
}

/// Is it a program of a host's?
pub(crate) fn is_program(host: Host, section: &str, name: &str) -> bool {
    of_host(host, section).contains(&name)
}

/// Has a file of a user's own nothing but functions and constants in this object, in which it is put into that host?
///
/// # Errors
/// The first other thing; or it is broken.
pub(crate) fn check(elf: &Elf<'_>, host: Host) -> Result<(), String> {
    let broken = || "no BPF object: its symbols cannot be read".to_string();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let symbols = elf.symbols(Elf::SYMBOLS).ok_or_else(broken)?;
    for symbol in &symbols {
        let name = text(symbol.name);
        match symbol.section {
            0 if !name.is_empty() && !EXTERNS.contains(&&*name) => {
                return Err(format!("it calls {name}: it has no library"));
            }
            COMMON => return Err(variable(&name)),
            _ => {}
        }
    }
    let mut seen = HashSet::new();
    for (number, section) in elf.sections.iter().enumerate().filter(|(_, section)| section.size > 0) {
        let within = text(section.name);
        if section.flags & EXECINSTR != 0 {
            calls(section.data)?;
        }
        if is_about_others(section, &within) {
            continue;
        }
        // Of constants to be merged there are several.
        let once = seen.insert(within.clone())
            || within.starts_with(".rodata.cst")
            || within.starts_with(".rodata.str");
        if once && is_free(section, &within) {
            continue;
        }
        let code = section.flags & EXECINSTR != 0;
        let of_host = of_host(host, &within);
        let here = symbols.iter().filter(|symbol| symbol.section == number as u64);
        // Places in code have names, too.
        let here = here.filter(|symbol| if code { symbol.kind == FUNC } else { symbol.kind != SECTION });
        let (mut named, mut other) = (0u64, None);
        for symbol in here {
            let name = text(symbol.name);
            named = named.saturating_add(symbol.size);
            other = other.or((!of_host.contains(&&*name)).then_some(name));
        }
        // Of code only what has a name is loaded.
        let is_host = once && !of_host.is_empty() && is_as_made(section, &within);
        if is_host && other.is_none() && (code || named == section.size) {
            continue;
        }
        let name = other.unwrap_or_else(|| within.clone());
        return Err(match &*within {
            s if s.starts_with(".bss") || s.starts_with(".data") => variable(&name),
            ".maps" => format!("it has a map of its own ({name}); {STATE}"),
            _ if code => format!("it has a program of its own ({name}): it is a part of the host's"),
            _ => format!("it has a section of its own ({within}); {STATE}"),
        });
    }
    Ok(())
}

const STATE: &str = "what it remembers belongs in its state";

fn variable(name: &str) -> String {
    format!("it has variables of its own ({name}; static, or outside of all functions); {STATE}")
}
