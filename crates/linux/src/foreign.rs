//! What of an object is not the host's. A file of a user's own adds functions and constants, and what it remembers is in the host's
//! variables. All else would be in the kernel beside these, for all instances, or after the last one: variables, maps, programs.

use crate::hosts::{HOSTS, Host};
use queuewright_own::elf::{Elf, Section};
use std::collections::HashSet;

/// What a host has in a section: variables, maps or programs.
fn of_host(host: Host, section: &str) -> &'static [&'static str] {
    match (host, section) {
        (_, ".bss.params") => &["params"],
        (_, ".bss.port") => &["port"],
        (_, ".bss.running") => &["running"],
        (_, ".bss.state") => &["state"],
        (_, ".bss.stats") => &["stats"],
        (_, "license") => &["LICENSE"],
        (Host::Qdisc, ".bss") => &["owed_to_all"],
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
        NULL => true,
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
        false => {
            let merged = [".rodata.cst", ".rodata.str"].iter().any(|begin| name.starts_with(begin));
            matches!(name, ".rodata" | ".rodata.own") || merged
        }
    }
}

/// Has a file of a user's own nothing but functions and constants in this object, in which it is put into that host?
///
/// # Errors
/// The first other thing; or it is broken.
pub(crate) fn check(elf: &Elf<'_>, host: Host) -> Result<(), String> {
    let broken = || "no BPF object: its symbols cannot be read".to_string();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let symbols = elf.symbols(Elf::SYMBOLS).ok_or_else(broken)?;
    let words =
        HOSTS.iter().flat_map(|(_, text)| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let declared: HashSet<&str> = words.collect();
    for symbol in &symbols {
        let name = text(symbol.name);
        match symbol.section {
            0 if !name.is_empty() && !declared.contains(&*name) => {
                return Err(format!("it calls {name}: it has no library"));
            }
            COMMON => return Err(variable(&name)),
            _ => {}
        }
    }
    for (number, section) in elf.sections.iter().enumerate().filter(|(_, section)| section.size > 0) {
        let within = text(section.name);
        if is_about_others(section, &within) || is_free(section, &within) {
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
        if other.is_none() && !of_host.is_empty() && (code || named == section.size) {
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
