//! packetdrill's scripts on the kernel's own TCP: the guest follows a plan (`guest/script.c`), and what came of it is checked as the
//! simulated stack is.

use crate::job::{Job, Lines};
use crate::machine;
use crate::{Error, Lab};
use queuewright_packetdrill::{Options, Outcome, Script, check, plan};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Scripts that share a boot.
const IN_A_BOOT: usize = 50;

/// A script, and the folder that it lies in.
pub type Placed = (Script, PathBuf);

impl Lab {
    /// Runs these scripts, one after the other, in machines of their own; `hear` is told of each, by its place, in any order.
    /// Once `stop` is set the machine is ended.
    ///
    /// # Errors
    /// Why a machine ended before all were heard of.
    pub fn scripts(
        &self,
        scripts: &[Placed],
        options: &Options,
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Outcome, String>),
    ) -> Result<(), Error> {
        let mut planned = Vec::new();
        for (i, (script, dir)) in scripts.iter().enumerate() {
            match plan(script, dir, options) {
                Ok(plan) => planned.push((i, plan)),
                Err(features) => hear(i, Ok(Outcome::NotApplicable(features))),
            }
        }
        for batch in planned.chunks(IN_A_BOOT) {
            let mut job = Job::empty(vec!["tun"]);
            for (number, (_, plan)) in batch.iter().enumerate() {
                plan.modules.iter().for_each(|module| job.need(Some(module)));
                job.files.insert(format!("script-{number}"), plan.text.clone().into_bytes());
                job.text += &commands(number);
            }
            let mut waiting = vec![true; batch.len()];
            machine::work(self, &job, 1, stop, |number, heard| {
                let Some((i, _)) = batch.get(number).filter(|_| std::mem::take(&mut waiting[number])) else {
                    return;
                };
                let (script, dir) = &scripts[*i];
                match heard {
                    machine::Heard::At(_) => waiting[number] = true,
                    machine::Heard::Failed(why) => hear(*i, Err(why)),
                    machine::Heard::Measured(raw) => hear(*i, check(script, dir, options, &raw.replay)),
                }
            })?;
            for ((i, _), _) in batch.iter().zip(waiting).filter(|w| w.1) {
                hear(*i, Err("the machine ended before the script did".into()));
            }
        }
        Ok(())
    }
}

/// What the guest is to do for a script.
fn commands(number: usize) -> String {
    let mut l = Lines::default();
    l.add(format!("run {number}"));
    l.add("do ip netns add k");
    l.add("device k");
    l.add("note addr add 10.255.0.2/24 dev tun0");
    l.add("note link set tun0 txqueuelen 10000 up");
    l.add("batch k ip");
    l.add(format!("script k /script-{number}"));
    l.add("end");
    l.0
}
