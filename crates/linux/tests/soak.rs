//! Random operations on the kernel module's qdiscs, right and wrong ones, under traffic (`module/tests/soak.c` says which, and
//! what is looked at in the end). Alone a short one on the lab's kernel; `-- KERNEL OPERATIONS [SEED] [PROCESSORS]` runs
//! another one on `lab` or on one of the kernels that `scripts/setup module-kernels` unpacks, as `make module-matrix` does.

#[allow(dead_code, reason = "it has an init of its own")]
mod vm;

use queuewright_machine::Files;
use queuewright_testing::{Lack, left_out, only_test};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use vm::{Machines, Outcome};

/// Of `make test`: about 15 s of a core.
const SHORT: &str = "1000";
/// The kernel of module/tests/checked.config, and the word that init gets for it.
const CHECKED: &str = "checked";
/// What a kernel may have built in.
const NEEDED: [&str; 5] = [
    "net/sched/sch_htb",
    "net/sched/sch_prio",
    "net/sched/sch_tbf",
    "net/sched/sch_netem",
    "drivers/net/veth",
];

fn main() {
    let Some(words) = only_test("soak") else { return };
    // A sender's fault does not end the machine.
    assert!(vm::passed("machine: 9 operations\nmachine: passed\n"));
    assert!(!vm::passed("machine: FAILED: AF_PACKET\nmachine: passed\n") && !vm::passed(""));
    let word = |i: usize, other: &str| words.get(i).cloned().unwrap_or_else(|| other.into());
    let processors = word(3, "1").parse().expect("a number of processors");
    let kernel = word(0, "lab");
    let mut said = vec![word(1, SHORT), word(2, "1")];
    // It has to look for all that it can be asked to.
    if kernel == CHECKED {
        said.push(CHECKED.into());
    }
    let before = if words.is_empty() { fails_without_checks() } else { Ok(()) };
    match before.and_then(|()| soak(&kernel, &said, processors)) {
        Ok(()) => println!("test soak ... ok"),
        Err(Outcome::LeftOut(why)) if words.is_empty() => {
            left_out("random operations on the kernel module", Lack::Setup, &why);
        }
        Err(Outcome::LeftOut(why) | Outcome::Failed(why)) => panic!("{why}"),
    }
}

/// The lab's kernel looks for few faults: as one that has to look for all of them it is refused.
fn fails_without_checks() -> Result<(), Outcome> {
    match soak("lab", &["1", "1", CHECKED].map(String::from), 1) {
        Err(Outcome::Failed(why)) if why.contains("is to have memory that can be refused") => Ok(()),
        Err(other) => Err(other),
        Ok(()) => Err(Outcome::Failed("what cannot be looked at is no failure".into())),
    }
}

fn soak(kernel: &str, words: &[String], processors: u32) -> Result<(), Outcome> {
    let lab = vm::lab();
    let on_lab = kernel == "lab";
    let other = lab.join("../kernels").join(kernel);
    let image = if on_lab { vm::kernel_of(&lab)? } else { other.join("vmlinuz") };
    let built = if on_lab { lab.join("module") } else { other.join("module") };
    let (Ok(module), Ok(program)) = (fs::read(built.join("sch_queuewright.ko")), fs::read(lab.join("soak")))
    else {
        let goal = if on_lab { "module" } else { "module-kernels" };
        return Err(Outcome::LeftOut(format!("it is not compiled: run scripts/setup {goal}")));
    };
    let dir = tempfile::tempdir()?;
    let initrd = dir.path().join("initrd");
    let mut archive = vm::archive(&initrd)?;
    archive.program("init", &program)?;
    // Whom the kernel asks for a module.
    archive.folder("sbin")?;
    archive.entry("sbin/modprobe", 0o120_777, b"/init")?;
    archive.file("sch_queuewright.ko", &without_lines(&module, dir.path())?)?;
    if on_lab {
        for path in NEEDED {
            let vm::File(name, mode, content) = vm::module_of(&lab, path)?;
            archive.entry(&name, mode, &content)?;
        }
    } else {
        for entry in fs::read_dir(other.join("modules"))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            archive.file(&name, &fs::read(entry.path())?)?;
        }
    }
    archive.finish()?;
    let operations: u64 = words[0].parse().expect("a number of operations");
    // A kernel that looks for faults takes half a second an operation on a host that is busy.
    let patience = Duration::from_secs(1200 + operations / 2);
    vm::boot(&lab, &image, &initrd, words, &Machines { processors, patience })
}

/// The module without what only a debugger reads: ten of its fifteen MB, which would be loaded over and over.
fn without_lines(module: &[u8], dir: &Path) -> Result<Vec<u8>, Outcome> {
    let path = dir.join("module.ko");
    fs::write(&path, module)?;
    let done = Command::new("strip").arg("-g").arg(&path).output()?;
    match done.status.success() {
        true => Ok(fs::read(&path)?),
        false => Err(Outcome::Failed(String::from_utf8_lossy(&done.stderr).into_owned())),
    }
}
