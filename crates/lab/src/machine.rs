//! The machine until it has done its job: QEMU with virtual time, or, asked for, this one in namespaces of its own.

use crate::job::{Job, MEMORY_MIB, PROGRAM};
use crate::modules::{module, modules};
use crate::place::scratch;
use crate::program::Program;
use crate::qdisc::COMPILED;
use crate::stream::{Raw, Stream};
use crate::{Error, Lab};
use queuewright_linux::command;
use queuewright_machine::{Archive, Files, Folder, Machine, Owned};
use std::fs::{self, File};
use std::io::{BufWriter, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What the guest tells of a run.
pub enum GuestEvent {
    /// So many seconds of it have passed.
    At(f64),
    /// It is complete.
    Measured(Box<Raw>),
    /// It failed.
    Failed(String),
}

/// What the guest writes.
const OUTPUT: &str = "output";
/// How often the host looks.
const LOOK: Duration = Duration::from_millis(100);
/// A guest that says nothing for so long hangs, however busy the host is: it tells of every program that it starts and of
/// every second of its own time.
const SILENCE: Duration = Duration::from_secs(600);

/// Boots, hears, and waits for the end.
pub fn work(
    lab: &Lab,
    job: &Job,
    seed: u64,
    stop: &AtomicBool,
    mut hear: impl FnMut(usize, GuestEvent),
) -> Result<(), Error> {
    let wrong = |e: std::io::Error| Error::Machine(format!("the lab's files: {e}"));
    let dir = scratch("queuewright-lab")?;
    let (root, initrd, console) =
        (dir.path().join("root"), dir.path().join("initrd"), dir.path().join("console"));
    let (complaints, doing) = (dir.path().join("complaints"), dir.path().join("doing"));
    let output = if lab.native { root.join(OUTPUT) } else { dir.path().join(OUTPUT) };
    if lab.native {
        load_modules(job);
        let mut files = Folder(&root);
        files.folder("").and_then(|()| fill(lab, job, &[], &mut files)).map_err(wrong)?;
    } else {
        initramfs(lab, job, &initrd)?;
    }
    for file in [&console, &output] {
        File::create(file).map_err(wrong)?;
    }
    let mut machine = Owned(match lab.native {
        true => start_native(&root, &console)?,
        false => {
            let doing = job.longest.is_some().then_some(&*doing);
            start(lab, seed, &initrd, &console, &output, doing, File::create(&complaints).map_err(wrong)?)?
        }
    });
    let (mut said, mut wrote) = (Tail::open(&console).map_err(wrong)?, Tail::open(&output).map_err(wrong)?);
    let mut stream = Stream::default();
    let (mut run, mut line) = (0, String::new());
    let mut heard_at = Instant::now();
    // When the run began, and how long the text of what it does was.
    let mut began = None;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let ended = machine.0.try_wait().map_err(wrong)?;
        let text = said.more().map_err(wrong)?;
        let bytes = wrote.more().map_err(wrong)?;
        if !text.is_empty() || !bytes.is_empty() {
            heard_at = Instant::now();
        }
        for c in String::from_utf8_lossy(&text).chars() {
            if c != '\n' {
                line.push(c);
                continue;
            }
            if let Some(number) = line.trim().strip_prefix("lab: run ") {
                run = number.parse().unwrap_or(run);
                began = Some((Instant::now(), fs::metadata(&doing).map_or(0, |m| m.len() as usize)));
            } else if let Some(at) = line.trim().strip_prefix("lab: at ") {
                hear(run, GuestEvent::At(at.parse().unwrap_or(0.0)));
            }
            line.clear();
        }
        for done in stream.push(&bytes).map_err(Error::Machine)? {
            match done {
                (number, Ok(raw)) => hear(number, GuestEvent::Measured(raw)),
                (number, Err(why)) => hear(number, GuestEvent::Failed(why)),
            }
        }
        if let Some(status) = ended {
            // What was written between the last look and the end has been read: it ended before this look.
            let tail = fs::read(&console).unwrap_or_default();
            let last = String::from_utf8_lossy(&tail[tail.len().saturating_sub(600)..]).into_owned();
            let stderr = fs::read_to_string(&complaints).unwrap_or_default();
            if status.success() && stream.complete() > 0 {
                return Ok(());
            }
            let what = if lab.native { "the lab's program" } else { "QEMU" };
            return Err(Error::Machine(format!("{what} ended ({status}) {} {}", stderr.trim(), last.trim())));
        }
        if heard_at.elapsed() > SILENCE {
            return Err(Error::Machine("the guest has said nothing for ten minutes".into()));
        }
        if let (Some(longest), Some((began_at, from))) = (job.longest, began)
            && began_at.elapsed() > longest
        {
            let said = fs::read(&doing).unwrap_or_default();
            let said = String::from_utf8_lossy(said.get(from..).unwrap_or_default()).into_owned();
            // The last line that is whole.
            return Err(Error::Late(said.rsplit('\n').nth(1).unwrap_or_default().into()));
        }
        thread::sleep(LOOK);
    }
}

/// A file that another process writes.
struct Tail(File);

impl Tail {
    fn open(path: &Path) -> std::io::Result<Tail> {
        File::open(path).map(Tail)
    }

    fn more(&mut self) -> std::io::Result<Vec<u8>> {
        let mut new = Vec::new();
        self.0.read_to_end(&mut new)?;
        Ok(new)
    }
}

fn initramfs(lab: &Lab, job: &Job, path: &Path) -> Result<(), Error> {
    let modules = modules(&job.modules, |name| match module(&lab.modules, name)? {
        None if name.strip_prefix("sch_").is_some_and(|of| COMPILED.contains(&of)) => {
            lab.compiled(name).map(Some)
        }
        found => Ok(found),
    })?;
    let write = || -> std::io::Result<()> {
        let mut a = Archive::new(BufWriter::new(File::create(path)?));
        fill(lab, job, &modules, &mut a)?;
        a.finish()
    };
    write().map_err(|e| Error::Machine(format!("the initramfs: {e}")))
}

/// What stands in the guest: its program, tools, the job and what that needs.
fn fill(lab: &Lab, job: &Job, modules: &[(String, Vec<u8>)], a: &mut impl Files) -> std::io::Result<()> {
    for folder in ["dev", "proc", "sys", "run", "tmp", "modules", "var"] {
        a.folder(folder)?;
    }
    a.tree(&lab.root.join("guest"), "")?;
    a.program("init", &fs::read(lab.root.join("agent"))?)?;
    for name in ["trace.bpf.o", "queue.bpf.o", "replay.bpf.o", "ect1.bpf.o"] {
        a.file(name, &fs::read(lab.root.join(name))?)?;
    }
    if job.attaches {
        let Some(path) = &lab.program else {
            return Err(std::io::Error::other(
                "there is no program that attaches disciplines; set QUEUEWRIGHT_PROGRAM to a queuewright",
            ));
        };
        let program = Program::read(path).map_err(|e| std::io::Error::other(e.to_string()))?;
        a.program(PROGRAM, &program.content)?;
        for (name, library) in &program.libraries {
            // What the guest has is newer.
            if !lab.root.join("guest/lib").join(name).exists() {
                a.program(&format!("lib/{name}"), &fs::read(library)?)?;
            }
        }
    }
    for (name, content) in &job.files {
        for (at, _) in name.match_indices('/') {
            a.folder(&name[..at])?;
        }
        a.file(name, content)?;
    }
    let mut text = String::new();
    for (name, content) in modules {
        a.file(&format!("modules/{name}.ko"), content)?;
        text += &format!("module {name}\n");
    }
    a.file("job", (text + &job.text).as_bytes())
}

/// This machine's kernel has its own modules. What it does not find is built in or missing: then tc or the socket says so.
fn load_modules(job: &Job) {
    for name in &job.modules {
        let _ = command("modprobe").args(["--quiet", name]).output();
    }
}

/// The guest's program in namespaces of its own (network, mounts, processes) on this machine, with `root` as its root. All of
/// it is gone when the program ends, or its owner.
fn start_native(root: &Path, console: &Path) -> Result<Child, Error> {
    let wrong = |e: std::io::Error| Error::Machine(format!("the lab's program cannot be started: {e}"));
    let said = File::options().append(true).open(console).map_err(wrong)?;
    let mut unshare = command("unshare");
    unshare.args(["--net", "--mount", "--pid", "--fork", "--kill-child"]).arg(root.join("init"));
    unshare.arg("native").args([root, &Path::new("/").join(OUTPUT)]);
    unshare.stdin(Stdio::null()).stdout(said.try_clone().map_err(wrong)?).stderr(said);
    unshare.spawn().map_err(wrong)
}

/// One processor, virtual time of 1 ns an instruction, a fixed date and seed: the same bytes again, on a quiet host. `doing`: where
/// the guest says on a port what it does; `complaints`: QEMU's own, in a file, as a full pipe would hold it up.
fn start(
    lab: &Lab,
    seed: u64,
    initrd: &Path,
    console: &Path,
    output: &Path,
    doing: Option<&Path>,
    complaints: File,
) -> Result<Child, Error> {
    let machine = Machine {
        lab: &lab.root,
        kernel: &lab.kernel,
        initrd,
        line: "nokaslr nowatchdog net.ifnames=0 ipv6.disable=1",
        processors: 1,
        memory_mib: MEMORY_MIB,
        instruction_shift: Some(0),
        seed,
    };
    let mut qemu = machine.command();
    // Files, not pipes: a reader that is slow would be seen inside.
    qemu.arg("-serial").arg(file_of("file:", console));
    qemu.args(["-device", "virtio-serial-pci", "-chardev"]);
    qemu.arg(file_of("file,id=out,path=", output));
    qemu.args(["-device", "virtserialport,chardev=out,name=out"]);
    if let Some(doing) = doing {
        qemu.arg("-chardev").arg(file_of("file,id=doing,path=", doing));
        qemu.args(["-device", "isa-debugcon,iobase=0xe9,chardev=doing"]);
    }
    qemu.stderr(complaints).spawn().map_err(|e| Error::Machine(format!("QEMU cannot be started: {e}")))
}

fn file_of(option: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(option);
    text.push(path);
    text
}
