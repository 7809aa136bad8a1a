//! A discipline of a user's own in the kernel: the host's C, which this program carries, compiled with the user's file in it when that is
//! named. What the file declares is read out of the object, so that nothing of it runs outside of the kernel.

use crate::compile::{self, Job};
use crate::foreign::{self, DECLARED};
use crate::hosts::{HOSTS, Host};
use crate::libbpf::is_text;
use crate::{Error, flags};
use queuewright_aqm::Info;
use queuewright_aqm::own::{self, Compiled, KernelSource, may_include};
use queuewright_own::elf::Elf;
use std::path::Path;

/// The end of the names of compiled files.
pub const ENDING: &str = ".bpf.o";
/// What `attach` and `set` take for the port's, or for a file of weights.
const TAKEN: [&str; 4] = ["limit", "overhead", "rate", "weights"];

impl Host {
    /// Its program, and which version of it: an object knows what is in its maps as that did.
    fn known_as(self) -> String {
        let texts: String = HOSTS.iter().map(|(_, text)| *text).collect();
        format!("{} {}", self.source(), queuewright_own::sha256(texts.as_bytes()))
    }

    /// Its program.
    fn source(self) -> &'static str {
        match self {
            Host::Qdisc => "host/qdisc.bpf.c",
            Host::Front => "host/front.bpf.c",
            Host::Police => "host/police.bpf.c",
        }
    }
}

/// Compiles the file that is named `path` and has this text, in the new folder `work`: an object for libbpf.
///
/// # Errors
/// The first thing that is wrong with it, with its line; what is missing here.
pub fn compile(path: &str, text: &str, host: Host, work: &Path) -> Result<Vec<u8>, String> {
    let source = KernelSource::of(path, text, &host.known_as())?;
    let file = format!("{}.h", source.name);
    let own = source.files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = HOSTS.iter().copied().chain(own).collect();
    let may_include = may_include();
    let job = Job {
        file: &file,
        files,
        host: host.source(),
        cpu: flags::DISCIPLINE,
        defines: flags::of(KernelSource::C_NAME, KernelSource::HEADER).into(),
        may_include: &may_include,
    };
    let object = compile::compile(&job, work)?;
    let made = info(object.clone()).map_err(|what| format!("{file}: {what}"))?;
    // `status` says whose file it is.
    if made.name != source.name || made.own.is_none_or(|own| own.sha256 != source.sha256) {
        return Err(format!("{file}: it declares another file than it is"));
    }
    Ok(object)
}

/// The discipline that is compiled into an object.
///
/// # Errors
/// What is wrong with it: what it declares, or has that it should not.
pub fn info(object: Vec<u8>) -> Result<&'static Info, String> {
    let declared = declared(&object)?.to_vec();
    let info = own::declared(&declared, object)?;
    let compiled = info.own.and_then(|own| own.object.as_ref());
    // Of another version another thing is wrong, and it is not opened.
    let host = |it: &Compiled| [Host::Qdisc, Host::Front].into_iter().find(|host| host.known_as() == it.host);
    if let Some((compiled, host)) = compiled.and_then(|it| Some((it, host(it)?))) {
        let elf = Elf::of(&compiled.object).ok_or(NO_OBJECT)?;
        foreign::check(&elf, host)?;
    }
    Ok(info)
}

/// Has it a parameter that `attach` and `set` would take for the port's, or for a file of weights?
///
/// # Errors
/// It has; the lab, which has other words for the port, takes it.
pub fn attachable(info: &Info) -> Result<(), String> {
    match info.params.iter().find(|param| TAKEN.contains(&param.name)) {
        Some(param) => Err(format!(
            "its parameter \"{}\" is called as what attach and set take for the port's ({}); give it another name",
            param.name,
            TAKEN.join(", ")
        )),
        None => Ok(()),
    }
}

const NO_OBJECT: &str = "no BPF object: it is no ELF, or another machine's";

/// What an object of a user's own file declares (`own/bpf.c` of the disciplines).
fn declared(object: &[u8]) -> Result<&[u8], String> {
    /// BPF (`e_machine` of elf.h).
    const BPF: u64 = 247;
    /// `SHF_COMPRESSED`: libelf would unpack it, and see other names than stand there.
    const COMPRESSED: u64 = 0x800;
    let elf = Elf::of(object).filter(|elf| elf.machine == BPF);
    let elf = elf.ok_or(NO_OBJECT)?;
    if elf.sections.iter().any(|section| section.flags & COMPRESSED != 0) {
        return Err("no BPF object: a section of it is compressed".into());
    }
    if !is_text(&elf) {
        return Err("no BPF object: a name in it is no UTF-8".into());
    }
    let section = elf.sections.iter().find(|section| section.name == DECLARED.as_bytes());
    Ok(section.ok_or_else(|| format!("no discipline: it has no {DECLARED}"))?.data)
}

/// The one that runs under a record's pins, by what it declares.
pub(crate) fn attached(declared: &[u8]) -> Result<&'static Info, String> {
    own::declared(declared, Vec::new())
}

/// Its object, if it is one for a host of this kind; None: it is no file of a user's own.
pub(crate) fn object(info: &Info, host: Host) -> Option<Result<&'static [u8], Error>> {
    let declared = info.own?.object.as_ref()?;
    let wrong = |why: &str| Some(Err(Error::Input(format!("{}: {why}", info.name))));
    match declared.host.split_once(' ') {
        _ if declared.host == host.known_as() => Some(Ok(&declared.object)),
        Some((source, _)) if source == host.source() => {
            wrong("it was compiled by another version of this program: compile it again")
        }
        _ => match host {
            Host::Qdisc => {
                wrong("it was compiled for the front of htb: attach it with --front, or compile it again")
            }
            Host::Front => wrong(
                "it was compiled for BPF qdiscs, and not for the front of htb: compile it again, here or with --front",
            ),
            Host::Police => wrong("a file of your own cannot police yet"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::Settings;
    use crate::objects;
    use queuewright_aqm::{Discipline, Spec, Value, registry};
    use queuewright_testing::{Lack, as_own, left_out};
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn compiled(name: &str, text: &str, host: Host) -> Result<&'static Info, String> {
        let work = tempfile::tempdir().expect("a folder");
        compile(&format!("./{name}.h"), text, host, work.path()).and_then(info)
    }

    /// Is there a clang for BPF?
    fn can(what: &str) -> bool {
        let can = !crate::names().is_empty();
        if !can {
            left_out(what, Lack::Setup, &"built without a clang that has BPF");
        }
        can
    }

    /// A file to begin with, with something else in a place.
    fn sample(name: &str, from: &str, to: &str) -> String {
        let text = own::sample(name).unwrap_or_else(|e| panic!("{e}"));
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1)
    }

    #[test]
    fn every_header_with_one_queue_compiles_as_a_file_of_ones_own() {
        if !can("headers as files of one's own") {
            return;
        }
        let all: Vec<&Info> = registry().iter().filter(|info| Discipline::queues_of(info) == 0).collect();
        let fronts = Host::Front.names();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(info) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let name = info.name.replace('-', "_");
                        let text = fs::read_to_string(format!("../../aqm/{name}.h")).expect("a header");
                        let (mine, text) = (
                            format!("my_{name}"),
                            as_own(&text, &name, &format!("my_{name}"), info.probes.len()),
                        );
                        let hosts = [Host::Qdisc, Host::Front];
                        for host in hosts
                            .into_iter()
                            .filter(|h| *h == Host::Qdisc || fronts.contains(&info.name.into()))
                        {
                            let made = compiled(&mine, &text, host).unwrap_or_else(|e| panic!("{e}"));
                            assert_eq!(made.probes.len(), info.probes.len(), "{mine}");
                        }
                    }
                });
            }
        });
    }

    /// What the object declares is what the simulator has of the same file.
    #[test]
    fn an_object_declares_what_is_in_the_file() {
        if !can("what an object declares") {
            return;
        }
        let text = sample(
            "declared",
            "P(\"ecn\", ecn, 0, 0, 1)",
            "P(\"ecn\", ecn, 0, 0, 1) P(\"share\", b, 16, 0, 1 << 16)",
        );
        let text = text.replace("\tqw_u32 ecn;", "\tqw_u8 odd;\n\tqw_u32 b, ecn;");
        let text = text.replace(
            "\"mark instead of drop where the sender allows\")",
            "\"e\") H(\"share\", QW_SHARE, 0.25, \"s\")",
        );
        let [here, there] = [
            own::load("./declared.h", &text).unwrap_or_else(|e| panic!("{e}")),
            compiled("declared", &text, Host::Qdisc).unwrap_or_else(|e| panic!("{e}")),
        ];
        let said = |info: &Info| {
            let params = info
                .params
                .iter()
                .map(|p| format!("{} {} {} {}", p.name, p.about, p.allowed(), p.display(p.default)));
            (
                info.name,
                info.about,
                params.collect::<Vec<_>>(),
                info.probes,
                info.own.map(|own| own.sha256.clone()),
            )
        };
        assert_eq!(said(here), said(there));
        let bytes = |info| {
            let mut spec = Spec::new(info);
            spec.set("target", Value::Int(7_000_001)).expect("in range");
            spec.set("share", Value::Real(0.75)).expect("in range");
            spec.set("ecn", Value::Flag(true)).expect("in range");
            Discipline::new(&spec).params_bytes()
        };
        assert_eq!(bytes(here), bytes(there));
        // Three words before the state: 5 of -2, of a divisor of 4.
        let state: Vec<u8> = [(-2i64).cast_unsigned(), 4, 1].into_iter().flat_map(u64::to_ne_bytes).collect();
        let seen = crate::variables(there, &[], &state).expect("long enough");
        assert_eq!(seen.iter().map(|(p, value)| (p.name, *value)).collect::<Vec<_>>(), [("sojourn", -0.5)]);
        assert!(crate::variables(there, &[], &state[1..]).is_none());
        // Of another version.
        let object = &there.own.and_then(|own| own.object.as_ref()).expect("it has one").object;
        let declared = declared(object).expect("a moment ago");
        for wrong in [&declared[1..], &[], &[0xff; 4000]] {
            own::declared(wrong, Vec::new()).expect_err("too short, or nonsense");
        }
        // Behind three numbers: texts.
        let with = |text: usize, word: &[u8]| {
            let (mut other, at) = (declared.to_vec(), 24 + 208 * text);
            other[at..at + word.len()].copy_from_slice(word);
            other
        };
        let (codel, no_sum) = (with(0, b"codel\0"), with(1, b"x"));
        let said = own::declared(&codel, object.clone()).expect_err("it comes with the program");
        assert_eq!(said, "it was compiled by another version of this program");
        // What runs may have been attached by a version that had none.
        assert_eq!(attached(&codel).map(|info| info.name), Ok("codel"));
        assert_eq!(attached(&no_sum).map(|info| info.name), Err(said.clone()));
        assert_eq!(attached(&with(0, b"a/b\0")).map(|info| info.name), Err(said));
        assert!(info(b"no ELF".to_vec()).expect_err("no object").starts_with("no BPF object"));
        // Of a symbol, of a section, and what only types say.
        for name in ["owed_to_all", "struct_ops/init", "sojourn_ns"] {
            let mut other = object.clone();
            let at = other.windows(name.len()).enumerate().filter(|(_, part)| *part == name.as_bytes());
            let at: Vec<usize> = at.map(|(at, _)| at).collect();
            at.iter().for_each(|at| other[*at] = 0xff);
            assert!(!at.is_empty(), "no {name}");
            let said = info(other).expect_err(name);
            assert_eq!(said, "no BPF object: a name in it is no UTF-8", "{name}");
        }
    }

    /// Macros of the host's are those of the file once it has made them others.
    #[test]
    fn no_map_pins_itself() {
        if !can("maps that pin themselves") {
            return;
        }
        let map = "#undef MAP\n#define MAP(name, entries, of) struct { __uint(type, 2); __uint(max_entries, entries); \
                   __type(key, qw_u32); __type(value, of); __uint(pinning, 1); } name __attribute__((section(\".maps\")))";
        let text = sample("pins", "#include \"qw.h\"\n", &format!("#include \"qw.h\"\n{map}\n"));
        let info = compiled("pins", &text, Host::Qdisc).unwrap_or_else(|e| panic!("{e}"));
        let said = objects::open(info, Host::Qdisc, "bpf_pins", &Settings::of(1, 64, true));
        let said = said.map(drop).expect_err("it pins itself").to_string();
        assert!(said.contains(": map ") && said.ends_with(" would pin itself"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_a_line() {
        if !can("errors of files of one's own") {
            return;
        }
        let sojourn = "\ts->sojourn_ns = now - k->enqueue_ns;\n";
        let rule = |more: &str| (sojourn, format!("{sojourn}\t{more}\n"));
        let top = |more: &str| ("#include \"qw.h\"\n", format!("#include \"qw.h\"\n{more}\n"));
        let wrong = [
            (
                "a double",
                rule("s->sojourn_ns = (qw_u64)((double)s->sojourn_ns * 0.3);"),
                "a.h:55:",
                "BPF has no floating point",
            ),
            ("a library", rule("printf(\"x\");"), "a.h:55:2: as BPF: ", "'printf'"),
            (
                "a library that is declared",
                top(
                    "void ext(void);\nstatic inline void c(void) { ext(); }\n#define qw_drop(r) (c(), qw_drop(r))",
                ),
                "a.h: ",
                "it calls ext: it has no library",
            ),
            (
                "a variable",
                top("static qw_u64 n;\n#define qw_drop(r) (n++, qw_drop(r))"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "a variable that is set",
                top("static qw_u64 n = 1;\n#define qw_drop(r) (n++, qw_drop(r))"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "a variable without a type for debuggers",
                top("__attribute__((nodebug)) static qw_u64 n;\n#define qw_drop(r) (n++, qw_drop(r))"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "variables in a section of theirs",
                top("__attribute__((section(\".data.mine\"))) qw_u64 n = 1;"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "the same without a value",
                top("__attribute__((section(\".bss.mine\"))) qw_u64 n;"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "one beside the host's",
                top("__attribute__((section(\".bss.stats\"))) qw_u64 n;"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "a map, in a section that says that it is none",
                top("#ifdef __bpf__\n__asm__(\".section .maps,\\\"aw\\\",@0\\n.text\");\n\
                     struct { int (*type)[1]; int (*max_entries)[7]; qw_u32 *key; qw_u64 *value; }\n\
                     mine __attribute__((section(\".maps\")));\n#endif"),
                "a.h: it has a map of its own (mine)",
                "belongs in its state",
            ),
            (
                "a variable in a section that says that it is code",
                top("#ifdef __bpf__\n__asm__(\".section .bss.running,\\\"awx\\\",@nobits\\n.globl mine\\n\
                     .type mine,@object\\n.size mine,8\\nmine: .space 8\\n.text\");\n#endif"),
                "a.h: it has variables of its own (",
                "belongs in its state",
            ),
            (
                "a helper of the kernel's",
                rule("((long (*)(int))109)(9);"),
                "a.h: it calls a function of the kernel's (number 109)",
                "it has no library",
            ),
            (
                "a map by its number",
                rule("__asm__ volatile(\".byte 0x18,0x11,0,0; .long 3; .quad 0\" ::: \"r1\");"),
                "a.h: it names a map or a variable of the kernel's by its number",
                "",
            ),
            (
                "what the kernel was configured with",
                (
                    sojourn,
                    format!(
                        "{sojourn}#ifdef __bpf__\n\tif (LINUX_HAS_SYSCALL_WRAPPER)\n\t\ts->sojourn_ns++;\n#endif\n"
                    ),
                ),
                "a.h:",
                "LINUX_HAS_SYSCALL_WRAPPER",
            ),
            (
                "another file's declaration",
                top(
                    "#ifdef __bpf__\n__asm__(\".section .rodata.own,\\\"a\\\",@progbits,unique,7\\n.space 2632\\n.text\");\n\
                     #endif",
                ),
                "a.h: ",
                "",
            ),
            (
                "one without a name",
                top("__asm__(\".section .bss.stats,\\\"aw\\\",@nobits\\n.space 8\\n.text\");"),
                "a.h: it has variables of its own (.bss.stats;",
                "belongs in its state",
            ),
            (
                "one that the linker makes room for",
                top("__attribute__((common)) qw_u64 n;"),
                "a.h: it has variables of its own (n;",
                "belongs in its state",
            ),
            (
                "a constructor",
                top("__attribute__((constructor)) static void f(void) { __asm__ volatile(\"\"); }"),
                "a.h: it has a section of its own (.init_array",
                "belongs in its state",
            ),
            (
                "a map that pins itself",
                top(
                    "struct { int (*type)[2]; int (*max_entries)[1]; qw_u32 *key; qw_u64 *value; int (*pinning)[1]; } mine \
                     __attribute__((section(\".maps\")));",
                ),
                "a.h: it has a map of its own (mine)",
                "belongs in its state",
            ),
            (
                "a program",
                top("__attribute__((section(\"xdp\"))) int mine(void *c) { return 2; }"),
                "a.h: it has a program of its own (mine)",
                "part of the host's",
            ),
            (
                "a program beside the host's",
                top("__attribute__((section(\"struct_ops/init\"))) int mine(void *c) { return 0; }"),
                "a.h: it has a program of its own (mine)",
                "part of the host's",
            ),
            (
                "a file of this machine, in a section of its own",
                top("__asm__(\".section .mine,\\\"a\\\"\\n.incbin \\\"/dev/null\\\"\\n.space 1\\n.text\");"),
                "a.h: it has a section of its own (.mine)",
                "belongs in its state",
            ),
            (
                "a name that is no text",
                top("qw_u64 n __asm__(\"\\xff\\xfe\");"),
                "a.h: no BPF object: ",
                "a name in it is no UTF-8",
            ),
            (
                "an include",
                top("#include <stdio.h>"),
                "a.h:15:10: ",
                "file not found; it may include what comes with the program, such as",
            ),
            (
                "a file of this machine",
                top("#include \"/dev/null\""),
                "a.h",
                "it may include what comes with the program",
            ),
            ("the host's", top("#include \"kernel.h\""), "a.h:15:10: ", "file not found"),
            ("a name", ("p->target_ns", "p->targt_ns".into()), "a.h:56:", "did you mean 'target_ns'"),
            (
                "signs",
                rule("s->sojourn_ns = (qw_u64)((long long)now / ((int)k->bytes + 1));"),
                "a.h:55:",
                "unsupported signed division",
            ),
            (
                "several queues",
                top("#define QW_A_QUEUES 4"),
                "a.h:85:2: ",
                "a file of your own has one queue",
            ),
            (
                "no help",
                ("H(\"ecn\", QW_FLAG, 0, \"mark instead of drop where the sender allows\")", String::new()),
                "a.h:84:",
                "QW_A_HELP(H) is to have a line for each",
            ),
            (
                "a default",
                ("20 * QW_NS_PER_MS", "20 * QW_NS_PER_SEC".into()),
                "a.h: ",
                "its default 20s is out of its range",
            ),
        ];
        for (what, (from, to), begin, has) in wrong {
            let said = compiled("a", &sample("a", from, &to), Host::Qdisc).expect_err(what);
            println!("{said}");
            assert!(said.starts_with(begin) && said.contains(has) && !said.contains('\n'), "{what}: {said}");
        }
        // libelf would unpack what says that it is compressed, and see other names.
        let (from, to) = rule("");
        let object = compiled("a", &sample("a", from, &to), Host::Qdisc).expect("right");
        let mut object = object.own.and_then(|own| own.object.as_ref()).expect("compiled").object.clone();
        let headers = u64::from_ne_bytes(*object[0x28..].first_chunk().expect("a header")) as usize;
        object[headers + 64 + 9] |= 0x08;
        assert_eq!(info(object).expect_err("compressed"), "no BPF object: a section of it is compressed");
        // The simulator and the lab have no port beside it.
        for taken in TAKEN {
            let text = sample("taken", "P(\"ecn\", ", &format!("P(\"{taken}\", "))
                .replace("H(\"ecn\", ", &format!("H(\"{taken}\", "));
            own::load("./taken.h", &text).unwrap_or_else(|e| panic!("{e}"));
            let info = compiled("taken", &text, Host::Qdisc).unwrap_or_else(|e| panic!("{e}"));
            let said = attachable(info).expect_err(taken);
            assert!(said.starts_with(&format!("its parameter \"{taken}\" is called as ")), "{said}");
        }
        // What one host has is not the other's.
        for (host, variable) in [
            (Host::Front, "qw_u32 owed_to_all;"),
            (Host::Qdisc, "qw_u32 only __attribute__((section(\".bss.only\")));"),
        ] {
            let text = sample("a", "#include \"qw.h\"\n", &format!("#include \"qw.h\"\n{variable}\n"));
            let said = compiled("a", &text, host).expect_err(variable);
            assert!(said.starts_with("a.h: it has variables of its own (o"), "{said}");
        }
        // Names that the hosts' files have are free.
        for name in ["kernel", "host", "packet-x", "waiting"] {
            compiled(name, &sample(name, sojourn, sojourn), Host::Front).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
