//! Compiles `bpf/qdisc.bpf.c` once for each discipline, `bpf/front.bpf.c` for each that can stand before htb, `bpf/police.bpf.c` for each
//! that can police, and `bpf/ingress.bpf.c`. Without a clang that has BPF the program is
//! built all the same, holds no objects, and says so when one is asked for.

mod clang;
mod flags;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Compiled a second time for a test that makes recorded calls again inside the kernel.
const REPLAYED: [&str; 5] = ["codel", "pie", "titrate", "cp_aqm", "queuepilot"];

fn main() {
    let given = env::var("QUEUEWRIGHT_CLANG").ok();
    let found = clang::find(given.as_deref(), &env::var_os("PATH").unwrap_or_default(), clang::whole);
    for path in
        ["aqm", "bpf", "build.rs", "clang.rs", "flags.rs"].map(PathBuf::from).iter().chain(&found.watched)
    {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rerun-if-env-changed=QUEUEWRIGHT_CLANG");
    if found.clang.is_none() {
        println!("cargo:rerun-if-env-changed=PATH");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let all = fs::read_to_string("aqm/all.h").expect("aqm/all.h");
    let mut list = String::from("pub(crate) static OBJECTS: &[(&str, &[u8])] = &[\n");
    let mut fronts = String::from("pub(crate) static FRONTS: &[(&str, &[u8])] = &[\n");
    let at_head = names(&all, "QW_ACTS_AT_HEAD");
    let mut polices = String::from("pub(crate) static POLICES: &[(&str, &[u8])] = &[\n");
    let policing = names(&all, "QW_POLICES");
    let mut ingress = String::from("&[]");
    let mut replays = String::from("static REPLAYS: &[(&str, &[u8])] = &[\n");
    match found.clang {
        Some(clang) => {
            // What a test compiles again with.
            fs::write(out.join("compiler"), format!("{}\n{}\n", clang.display(), headers()))
                .expect("OUT_DIR can be written");
            let tunable = names(&all, "QW_TUNABLE");
            let timed = names(&all, "QW_TIMED");
            let schedulers = names(&all, "QW_SCHEDULERS");
            let by_classes = names(&all, "QW_BY_CLASSES");
            let takes_back = names(&all, "QW_TAKES_BACK");
            let single = names(&all, "QW_DISCIPLINES");
            let alarm = |name: &str| -> Vec<String> {
                timed.iter().filter(|n| *n == name).map(|_| "-DQW_ALARM".to_string()).collect()
            };
            for name in single.iter().chain(&schedulers) {
                let object = out.join(format!("bpf_{name}.o"));
                let mut defines = Vec::new();
                if tunable.contains(name) {
                    defines.push("-DQW_RETUNE".to_string());
                }
                defines.extend(alarm(name));
                for (list, define) in [("QW_SHAPES", "-DQW_SHAPER"), ("QW_READS_HEADERS", "-DQW_FURTHER")] {
                    defines
                        .extend(names(&all, list).iter().filter(|n| *n == name).map(|_| define.to_string()));
                }
                if schedulers.contains(name) {
                    defines.push(format!("-DQW_QUEUES=QW_{}_QUEUES", name.to_uppercase()));
                }
                compile(&clang, "qdisc", name, &defines, &object);
                list += &entry(name, &object);
                if policing.contains(name) {
                    let object = out.join(format!("police_{name}.o"));
                    compile(&clang, "police", name, &defines, &object);
                    polices += &entry(name, &object);
                }
                if schedulers.contains(name) && !by_classes.contains(name) || takes_back.contains(name) {
                    continue;
                }
                let object = out.join(format!("front_{name}.o"));
                compile(&clang, "front", name, &defines, &object);
                fronts += &entry(name, &object);
            }
            let object = out.join("ingress.o");
            compile(&clang, "ingress", "ingress", &[], &object);
            ingress = format!("include_bytes!({:?})", object.display().to_string());
            for name in REPLAYED {
                let object = out.join(format!("replay_{name}.o"));
                compile(&clang, "replay", name, &alarm(name), &object);
                replays += &entry(name, &object);
            }
        }
        None => {
            println!("cargo:warning=no clang that compiles for BPF: this program will hold no BPF objects")
        }
    }
    for text in [&mut list, &mut fronts, &mut polices, &mut replays] {
        *text += "];\n";
    }
    list += &fronts;
    list += &polices;
    list += &format!("#[cfg(test)]\nstatic POLICING: &[&str] = &{policing:?};\n");
    list += &format!("pub(crate) static AT_HEAD: &[&str] = &{at_head:?};\n");
    let by_classes = names(&all, "QW_BY_CLASSES");
    list += &format!("pub(crate) static BY_CLASSES: &[&str] = &{by_classes:?};\n");
    list += &format!("pub(crate) static INGRESS: &[u8] = {ingress};\n");
    list += &hosts();
    fs::write(out.join("replays.rs"), replays).expect("OUT_DIR can be written");
    fs::write(out.join("objects.rs"), list).expect("OUT_DIR can be written");
}

/// The text of the hosts' files, for a discipline that is compiled when it is named: name in the folder, and what is in it. The user's file,
/// whatever it is called, is no name of theirs.
fn hosts() -> String {
    let headers = PathBuf::from(headers());
    let folders = [(PathBuf::from("bpf"), "host/"), (headers.join("bpf"), "bpf/")];
    let mut list = String::from("pub(crate) static HOSTS: &[(&str, &str)] = &[\n");
    for (folder, below) in folders {
        let folder = fs::canonicalize(folder).expect("it is there");
        let files =
            fs::read_dir(&folder).expect("a folder").filter_map(|f| f.ok()?.file_name().into_string().ok());
        let needed = |name: &String| match below {
            "host/" => name.ends_with(".h") || HOSTS.contains(&&**name),
            _ => LIBBPF.contains(&&**name),
        };
        let mut names: Vec<String> = files.filter(needed).collect();
        names.sort();
        for name in names {
            let (name, path) = (format!("{below}{name}"), folder.join(name).display().to_string());
            list += &format!("    ({name:?}, include_str!({path:?})),\n");
        }
    }
    list + "];\n"
}

/// The hosts of a discipline that is compiled when it is named, and what of libbpf's headers they include.
const HOSTS: [&str; 2] = ["qdisc.bpf.c", "front.bpf.c"];
const LIBBPF: [&str; 4] = ["bpf_core_read.h", "bpf_helper_defs.h", "bpf_helpers.h", "bpf_tracing.h"];

/// An element of a list of objects.
fn entry(name: &str, object: &Path) -> String {
    format!("    (\"{name}\", include_bytes!({:?})),\n", object.display().to_string())
}

/// The names in one of the lists of all.h: `X(name, NAME)`.
fn names(all: &str, list: &str) -> Vec<String> {
    let begin = all.find(&format!("#define {list}(X)")).expect("all.h has the list");
    let list = all[begin..].split_once("(X)").map_or("", |(_, list)| list);
    let lines = list.lines().map(|line| line.trim_matches([' ', '\t', '\\'])).skip_while(|l| l.is_empty());
    let entries = lines.map_while(|line| line.strip_prefix("X(")?.split(',').next());
    entries.map(str::to_string).collect()
}

fn compile(clang: &Path, source: &str, name: &str, defines: &[String], object: &Path) {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let words = flags::words(source, name, defines, Path::new(&here), Path::new(&headers()));
    let done = Command::new(clang).args(words).arg(object).output().expect("clang ran a moment ago");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{} cannot compile {name} for BPF:\n{said}", clang.display());
}

/// The folder that has libbpf's headers, in one of their own.
fn headers() -> String {
    env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are")
}
