//! A link that loses packets or delays some more than others, and netem: what comes to a simulated port is sent through the kernel's netem, set as the
//! link is. netem draws from a stream of its own, which nobody sees, so that both are alike in distribution, not packet by packet.

use crate::job::{Job, Lines};
use crate::machine::{self, GuestEvent};
use crate::qdisc::Qdisc;
use crate::queues::Play;
use crate::stream::{Event, Seen};
use crate::{Error, Lab};
use queuewright_scenario::spec::{JitterLaw, PortSpec, RunSpec, Shaper};
use std::sync::atomic::AtomicBool;

/// As packets have been sent, each one's time on the link, ns; none: it was lost.
pub type Transits = Vec<Option<u64>>;

/// netem's words for a port's link.
fn words(port: &PortSpec) -> Result<String, String> {
    let of = port.impairments;
    // The same draws each time.
    let mut words = "netem limit 1000000 seed 1".to_string();
    let percent = |millionths: u32| f64::from(millionths) / 1e4;
    let most = |ns: u64| match ns <= i32::MAX as u64 {
        true => Ok(ns),
        false => Err("netem's jitter ends at 2.147 s".to_string()),
    };
    // netem's jitter goes both ways from its delay; what it sends out of order it sends at once.
    match (of.jitter, of.reorder) {
        (None, None) if port.delay_ns == 0 => {}
        (None, None) => words += &format!(" delay {}ns", port.delay_ns),
        (Some(jitter), None) if jitter.overtaking => match jitter.law {
            JitterLaw::Uniform(whole) => {
                let half = most(whole / 2)?;
                words += &format!(" delay {}ns {half}ns", port.delay_ns + half);
            }
            JitterLaw::Normal(deviation) => {
                words += &format!(" delay {}ns {}ns distribution normal", port.delay_ns, most(deviation)?);
            }
        },
        (None, Some(reorder)) if port.delay_ns == 0 => {
            let at_once = 100.0 - percent(reorder.share);
            words += &format!(" delay {}ns reorder {at_once}%", reorder.by_ns);
        }
        _ => return Err("netem has no such link".into()),
    }
    if of.loss > 0 {
        words += &format!(" loss {}%", percent(of.loss));
    }
    Ok(words)
}

impl Lab {
    /// Sends the packets of each run's first port through netem, all in one machine, and through the link.
    ///
    /// # Errors
    /// netem has no such link, or the machine did not do it.
    pub fn carry(&self, runs: &[RunSpec], stop: &AtomicBool) -> Result<Vec<[Transits; 2]>, Error> {
        let mut job = Job::empty(vec!["dummy", "sch_netem"]);
        let table = "usr/lib/x86_64-linux-gnu/tc/normal.dist";
        let at = self.root.join("root").join(table);
        let content = std::fs::read(&at).map_err(|e| Error::Missing(format!("{}: {e}", at.display())))?;
        job.files.insert(table.into(), content);
        let mut out = Lines::default();
        let mut packets = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            let (play, port) = (Play::new(run, stop)?, &run.ports[0]);
            let words = words(port).map_err(Error::Machine)?;
            out.add(format!("run {i}"));
            out.sink();
            out.bottleneck(&Qdisc { words, root: true, ..Qdisc::default() }, Shaper::Htb, 0, 0);
            // All have come by then.
            out.add(format!("play r /list.{i} {}", 100_000_000 + longest_ns(port)));
            out.add("end");
            job.files.insert(format!("list.{i}"), play.list());
            packets.push(play.packets());
        }
        job.text = Job::watched() + &out.0;
        let mut done: Vec<Option<Result<_, Error>>> = runs.iter().map(|_| None).collect();
        machine::work(self, &job, 1, stop, |i, heard| {
            let heard = match heard {
                GuestEvent::At(_) => return,
                GuestEvent::Failed(why) => Err(Error::Machine(why)),
                GuestEvent::Measured(raw) => transits(&raw.events, packets[i]).map_err(Error::Machine),
            };
            done[i].get_or_insert(heard);
        })?;
        let ended = || Error::Machine("the machine ended before the run was complete".into());
        let all = done.into_iter().zip(runs).map(|(one, run)| {
            let (came, netem) = one.ok_or_else(ended)??;
            let ours = queuewright_sim::carried(run, &came);
            let ours = ours.iter().zip(&came).map(|(at, came)| at.map(|at| at - came)).collect();
            Ok([netem, ours])
        });
        all.collect()
    }
}

/// The longest that a packet is to take, ns, but for a chance of one in a million.
fn longest_ns(port: &PortSpec) -> u64 {
    let jitter = port.impairments.jitter.map_or(0, |j| match j.law {
        JitterLaw::Uniform(most) => most,
        JitterLaw::Normal(deviation) => 6 * deviation,
    });
    port.delay_ns + jitter + port.impairments.reorder.map_or(0, |r| r.by_ns)
}

/// When each packet came to netem, and how long it was there.
fn transits(events: &[Event], packets: usize) -> Result<(Vec<u64>, Transits), String> {
    let mut came: Vec<Option<u64>> = vec![None; packets];
    let mut took: Vec<Option<Option<u64>>> = vec![None; packets];
    for event in events {
        let at = event.number as usize;
        let known = || format!("packet {at} was never sent");
        match event.seen {
            Seen::Arrives { .. } => *came.get_mut(at).ok_or_else(known)? = Some(event.at_ns),
            Seen::Leaves { .. } => {
                let came = came.get(at).copied().flatten().ok_or_else(known)?;
                took[at] = Some(Some(event.at_ns.saturating_sub(came)));
            }
            Seen::Dropped => *took.get_mut(at).ok_or_else(known)? = Some(None),
            Seen::Admitted | Seen::Draws(_) | Seen::Ticks => {}
        }
    }
    let come: Option<Vec<u64>> = came.into_iter().collect();
    let gone: Option<Transits> = took.into_iter().collect();
    match (come, gone) {
        (Some(come), Some(gone)) => Ok((come, gone)),
        _ => Err("not every packet came to netem and left it, or was lost".into()),
    }
}
