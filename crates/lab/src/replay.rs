//! The kernel's TCP as an oracle, acknowledgement by acknowledgement: connections over drawn paths ([`draw`](draw::draw)) that the
//! lab records ([`record`]), and the simulator's sender that gets the very same ([`judge`]).

pub mod draw;
mod file;
pub mod judge;
pub mod reception;
pub mod record;

use crate::job::Job;
use crate::machine;
use crate::{Error, Lab};
use draw::Draw;
use reception::{Path, Reception};
use record::Recording;
use std::sync::atomic::AtomicBool;

/// Draws that share a boot.
pub const IN_A_BOOT: usize = 20;

impl Lab {
    /// Records these draws, one after the other, in one machine; `hear` is told of each, by its place. Once `stop` is set the
    /// machine is ended.
    ///
    /// # Errors
    /// Why the machine ended before all were heard of.
    pub fn record(
        &self,
        draws: &[Draw],
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Recording, String>),
    ) -> Result<(), Error> {
        let mut job = job();
        for (i, draw) in draws.iter().enumerate() {
            let linux = draw.kind().and_then(|k| k.info().linux).ok_or_else(|| {
                Error::Machine(format!("draw {}: Linux has no {}", draw.name, draw.control))
            })?;
            job.need(linux.module);
            job.text += &draw.commands(i, linux.name);
        }
        self.follow(&job, draws.first().map_or(1, |d| d.chance), stop, |i, raw| {
            if let Some(draw) = draws.get(i) {
                hear(i, raw.and_then(|raw| Recording::of_guest(draw, &raw)));
            }
        })
    }

    /// The same of connections that receive.
    ///
    /// # Errors
    /// As [`Lab::record`].
    pub fn record_receptions(
        &self,
        paths: &[Path],
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Reception, String>),
    ) -> Result<(), Error> {
        let mut job = job();
        for (i, path) in paths.iter().enumerate() {
            job.need(path.control().info().linux.and_then(|linux| linux.module));
            job.text += &path.commands(i);
        }
        self.follow(&job, paths.first().map_or(1, |p| p.chance), stop, |i, raw| {
            if let Some(path) = paths.get(i) {
                hear(i, raw.and_then(|raw| Reception::of_guest(path, &raw)));
            }
        })
    }

    fn follow(
        &self,
        job: &Job,
        chance: u64,
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Vec<u8>, String>),
    ) -> Result<(), Error> {
        // An instruction takes 1 ns: what the kernel does in between should take little time.
        machine::work(self, job, chance & 0xffff_ffff, stop, |i, heard| match heard {
            machine::GuestEvent::At(_) => {}
            machine::GuestEvent::Failed(why) => hear(i, Err(why)),
            machine::GuestEvent::Measured(raw) => hear(i, Ok(raw.replay)),
        })
    }
}

/// One that has the trace programs, and nothing to do yet.
fn job() -> Job {
    let mut job = Job::empty(vec!["tun"]);
    job.text = "do bpftool prog loadall /replay.bpf.o /sys/fs/bpf/programs pinmaps /sys/fs/bpf/maps\n\
                watch-replay\n"
        .into();
    job
}
