//! Disciplines as files of a user's own: compiled on the host, as a guest has no compiler.

use crate::vm;
use queuewright_aqm::{Info, Spec, Value, find, own};
use queuewright_linux as linux;
use queuewright_testing::as_own;
use std::fs;

/// CoDel under another name, and the file to begin with.
pub const NAMES: [&str; 2] = ["mycodel", "mylate"];

fn text(name: &str) -> String {
    let sample = || own::sample(name).unwrap_or_else(|e| panic!("{e}"));
    let sojourn = "\ts->sojourn_ns = now - k->enqueue_ns;\n";
    let with = |more: &str| sample().replacen(sojourn, &format!("{sojourn}\t{more}\n"), 1);
    match name {
        "mycodel" => {
            as_own(&fs::read_to_string("../../aqm/codel.h").expect("a header"), "codel", "mycodel", 2)
        }
        "reads" => with("s->sojourn_ns += *(qw_u64 *)(k->bytes * 8ULL);"),
        "outside" => with("s->sojourn_ns += (&s->sojourn_ns)[k->bytes];"),
        "loops" => with("while (s->sojourn_ns < now)\n\t\ts->sojourn_ns += k->bytes;"),
        _ => sample(),
    }
}

/// Those that the verifier refuses, and a word of why.
pub const REFUSED: [(&str, &str); 3] =
    [("reads", "invalid mem access"), ("outside", "unbounded memory access"), ("loops", "loop")];

fn compiled(name: &str, host: linux::Host) -> Vec<u8> {
    let work = tempfile::tempdir().expect("a folder");
    let text = text(name);
    linux::own::compile(&format!("./{name}.h"), &text, host, work.path()).unwrap_or_else(|e| panic!("{e}"))
}

/// All of them as files of a guest.
pub fn files(host: linux::Host) -> Vec<vm::File> {
    let names = NAMES.into_iter().chain(REFUSED.map(|(name, _)| name));
    names
        .map(|name| vm::File(format!("{name}{}", linux::own::ENDING), 0o100_644, compiled(name, host)))
        .collect()
}

fn own(name: &str, host: linux::Host) -> &'static Info {
    let object = match vm::is_inside() {
        true => fs::read(format!("/{name}{}", linux::own::ENDING)).expect("it came with the machine"),
        false => compiled(name, host),
    };
    linux::own::info(object).unwrap_or_else(|e| panic!("{e}"))
}

/// A discipline of the registry with its defaults, or one of these.
pub fn spec(name: &str, host: linux::Host) -> Spec {
    let mut spec = Spec::new(find(name).unwrap_or_else(|| own(name, host)));
    if name == "mycodel" {
        for (param, value) in [("target", 5_000_000), ("interval", 100_000_000), ("mtu", 1514)] {
            spec.set(param, Value::Int(value)).expect("it has that");
        }
    }
    spec
}

/// What the kernel refuses is a line of the file, and nothing is left.
pub fn refused(port: linux::Port) {
    for (name, has) in REFUSED {
        let plan = linux::plan("lo", name, spec(name, port.host()), port).unwrap_or_else(|e| panic!("{e}"));
        let Err(linux::Error::Input(said)) = linux::attach(&plan) else { panic!("{name} is attached") };
        println!("machine: {said}");
        // The file to begin with has 54 lines before.
        assert!(said.starts_with(&format!("{name}.h:5")) && said.contains(has), "{said}");
        assert!(said.contains("the kernel's verifier refuses it: ") && !said.contains('\n'), "{said}");
        assert!(linux::records().expect("root may look").is_empty());
        let left = fs::read_dir("/sys/fs/bpf/queuewright").map_or(0, Iterator::count);
        assert_eq!(left, 0, "pins are left");
    }
}
