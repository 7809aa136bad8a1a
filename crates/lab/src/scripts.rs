//! packetdrill's scripts on the kernel's own TCP: the guest follows a plan (`guest/script.c`), and what came of it is checked as the
//! simulated stack is.

use crate::job::{Job, Lines};
use crate::machine;
use crate::{Error, Lab};
use queuewright_packetdrill::{Failure, Options, Outcome, Plan, Script, check, plan};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Scripts that share a boot.
const IN_A_BOOT: usize = 50;
/// The longest that a script may take by the host's clock, which goes on if the machine's stands still. They take a second.
const LONGEST: Duration = Duration::from_secs(300);

/// A script, and the folder that it lies in.
pub type Placed = (Script, PathBuf);

impl Lab {
    /// Runs these scripts, one after the other, in machines of their own; `hear` is told of each, by its place, in any order.
    /// One that has no end after five minutes has failed. Once `stop` is set the machine is ended.
    ///
    /// # Errors
    /// Why a machine ended before all were heard of.
    pub fn scripts(
        &self,
        scripts: &[Placed],
        options: &Options,
        stop: &AtomicBool,
        hear: impl FnMut(usize, Result<Outcome, String>),
    ) -> Result<(), Error> {
        self.scripts_within(LONGEST, scripts, options, stop, hear)
    }

    /// The same, each within another time.
    ///
    /// # Errors
    /// As [`Lab::scripts`].
    pub fn scripts_within(
        &self,
        longest: Duration,
        scripts: &[Placed],
        options: &Options,
        stop: &AtomicBool,
        mut hear: impl FnMut(usize, Result<Outcome, String>),
    ) -> Result<(), Error> {
        if self.native {
            return Err(Error::Machine("scripts run in virtual machines only".into()));
        }
        let mut planned = Vec::new();
        for (i, (script, dir)) in scripts.iter().enumerate() {
            match plan(script, dir, options) {
                Ok(plan) => planned.push((i, plan)),
                Err(features) => hear(i, Ok(Outcome::NotApplicable(features))),
            }
        }
        let mut left = planned.as_slice();
        while !left.is_empty() {
            let (batch, rest) = left.split_at(left.len().min(IN_A_BOOT));
            let mut waiting = vec![true; batch.len()];
            let ended = machine::work(self, &job(batch, longest), 1, stop, |number, heard| {
                let Some((i, _)) = batch.get(number).filter(|_| std::mem::take(&mut waiting[number])) else {
                    return;
                };
                let (script, dir) = &scripts[*i];
                match heard {
                    machine::GuestEvent::At(_) => waiting[number] = true,
                    machine::GuestEvent::Failed(why) => hear(*i, Err(why)),
                    machine::GuestEvent::Measured(raw) => hear(*i, check(script, dir, options, &raw.replay)),
                }
            });
            let first = waiting.iter().position(|w| *w);
            left = rest;
            match (ended, first) {
                // The machine did not end after the last script, and was ended.
                (Err(Error::Late(_)), None) => {}
                (Err(Error::Late(doing)), Some(number)) => {
                    let i = batch[number].0;
                    hear(i, Ok(Outcome::Failed(late(&scripts[i].0, &doing, longest))));
                    left = &planned[planned.len() - rest.len() - batch.len() + number + 1..];
                }
                (ended, _) => {
                    ended?;
                    for ((i, _), _) in batch.iter().zip(waiting).filter(|w| w.1) {
                        hear(*i, Err("the machine ended before the script did".into()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a script waited for that has no end, by what the guest said last: an event's number, and what of it.
fn late(script: &Script, doing: &str, longest: Duration) -> Failure {
    let (number, what) = doing.split_once(' ').unwrap_or(("", ""));
    let line = number.parse().ok().and_then(|number| script.line_of(number)).unwrap_or(1);
    let what = match what {
        "" => "its begin".into(),
        "time" => "its time".into(),
        "out" => "a packet to go out".into(),
        "call" => "a call to return".into(),
        "in" => "a packet to come in".into(),
        "end" => "the end of its program".into(),
        other => format!("the end of '{other}'"),
    };
    let says = format!("it still waits for {what} after {} s of the host's", longest.as_secs());
    Failure { line, says, expected: None, actual: None }
}

/// A machine's job: these, one after the other.
fn job(batch: &[(usize, Plan)], longest: Duration) -> Job {
    let mut job = Job::empty(vec!["tun"]);
    job.longest = Some(longest);
    for (number, (_, plan)) in batch.iter().enumerate() {
        plan.modules.iter().for_each(|module| job.need(Some(module)));
        job.files.insert(format!("script-{number}"), plan.text.clone().into_bytes());
        job.text += &commands(number);
    }
    job
}

/// What the guest is to do for a script.
fn commands(number: usize) -> String {
    let mut l = Lines::with_device(number, "device", None, "txqueuelen 10000");
    l.add(format!("script k /script-{number}"));
    l.add("end");
    l.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_packetdrill::parse;

    #[test]
    fn what_a_late_script_waits_for_is_told() {
        let script =
            parse("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\n+0 > S 0:0(0)\n").expect("a script");
        let told = |doing: &str| {
            let failure = late(&script, doing, Duration::from_secs(300));
            (failure.line, failure.says)
        };
        assert_eq!(
            told("1 out"),
            (3, "it still waits for a packet to go out after 300 s of the host's".into())
        );
        assert_eq!(
            told("0 sleep"),
            (1, "it still waits for the end of 'sleep' after 300 s of the host's".into())
        );
        assert_eq!(told("4294967295 end").0, 1);
        assert_eq!(told(""), (1, "it still waits for its begin after 300 s of the host's".into()));
    }
}
