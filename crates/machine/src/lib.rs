//! A virtual machine: QEMU's command line, and the archive of files that its guest starts from.

mod archive;

pub use archive::{Archive, DIRECTORY, FILE, Files, Folder, PROGRAM};

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What each kernel is told: to leave out what takes an emulated machine long and changes nothing here.
const LINE: &str = "console=ttyS0 mitigations=off panic=-1 rdinit=/init quiet init_on_alloc=0 audit=0 apparmor=0 selinux=0 \
                    fw_devlink=off";

/// What it is told besides where time is virtual: there the processor counts 1 GHz. What the kernel measures is 63 ppm off until
/// it measures again, a second later.
const VIRTUAL_TIME: &str = "tsc_early_khz=1000000";

/// What a machine is made of.
#[derive(Debug)]
pub struct Machine<'a> {
    /// The folder of the lab, with a QEMU of its own below `root`.
    pub lab: &'a Path,
    /// The kernel that it boots.
    pub kernel: &'a Path,
    /// The archive of its files.
    pub initrd: &'a Path,
    /// What the kernel is told beside [`LINE`]; what follows ` -- ` reaches init.
    pub line: &'a str,
    /// How many processors it has.
    pub processors: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Time is virtual: an instruction takes 2 to this power ns whatever the host does, and sleeps cost nothing. None: it is the
    /// host's, which more than one processor needs.
    pub instruction_shift: Option<u32>,
    /// Of what is random in QEMU.
    pub seed: u64,
}

impl Machine<'_> {
    /// QEMU with this machine, and no other devices; its output goes nowhere.
    pub fn command(&self) -> Command {
        let root = self.lab.join("root/usr");
        // QEMU of another distribution's release, with that release's own libraries.
        let libraries = format!("{0}:{0}/systemd", root.join("lib/x86_64-linux-gnu").display());
        let mut qemu = Command::new(root.join("lib64/ld-linux-x86-64.so.2"));
        qemu.arg("--library-path").arg(libraries).arg(root.join("bin/qemu-system-x86_64"));
        qemu.arg("-L").arg(root.join("share/qemu")).arg("-L").arg(root.join("share/seabios"));
        let (processors, memory) = (self.processors.to_string(), self.memory_mib.to_string());
        qemu.args(["-machine", "pc,accel=tcg,hpet=off", "-smp", &processors, "-m", &memory]);
        // String instructions are slow in emulation, page tables of five levels and SMAP cost for nothing.
        qemu.args(["-cpu", "max,-erms,-fsrm,-fzrm,-fsrs,-fsrc,-la57,-smap"]);
        if let Some(shift) = self.instruction_shift {
            qemu.args(["-icount", &format!("shift={shift},sleep=off")]);
        }
        qemu.args(["-seed", &self.seed.to_string(), "-rtc", "clock=vm,base=2026-01-01"]);
        qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        qemu.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initrd);
        let virtual_time = if self.instruction_shift.is_some() { VIRTUAL_TIME } else { "" };
        qemu.arg("-append").arg(format!("{LINE} {virtual_time} {}", self.line));
        qemu.stdin(Stdio::null()).stdout(Stdio::null());
        qemu
    }
}

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Owned(pub Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
