//! An agent in user space: it chooses QueuePilot's action every step, in place of the policy inside the kernel.
//!
//! What a step showed is what `aqm/queuepilot.h` has counted in the kernel, read from the map of its state;
//! [`Discipline::follow`] is the rest. The clock is the kernel's own (`CLOCK_MONOTONIC`), and so are the ends of its steps.

use crate::maps::{PortMap, of_value};
use crate::port::FIRST;
use crate::record::{Record, again, alone, wait_alone};
use crate::{Error, attach, names, system};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use queuewright_aqm::{
    Discipline, POLICY_ACTIONS, POLICY_INPUTS, POLICY_OBSERVATIONS, POLICY_ONE, Spec, Value,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ONE: f64 = POLICY_ONE as f64;
/// Actions are numbers below.
const ACTIONS: u32 = POLICY_ACTIONS as u32;
/// How long a program may take for its first answer.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end when there is nothing more for it to do.
const FAREWELL: Duration = Duration::from_millis(500);
/// How often to look whether it is to stop, or what is attached is still the same.
const GLANCE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);
/// No answer is that long.
const LONGEST_LINE: usize = 256;

/// Where QueuePilot's actions come from.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "an agent has one of them")]
pub enum ActionSource<'a> {
    /// A learned policy: what is attached, with weights.
    Policy(&'a Spec),
    /// A program: a line of JSON for each step ([`AgentStep`]) to its standard input, a line with its action back.
    Program {
        /// What is started.
        command: Command,
        /// How long it may take for an answer after its first, for which it has a minute.
        patience: Duration,
    },
}

/// A step of the agent: what it was shown, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AgentStep {
    /// Number of the step, from 0, in which nothing has been seen yet; those that were missed are counted.
    pub step: u64,
    /// Packets sent, mean queue of the buffer, mean queue in steps, packets arrived and dropped, marks of the arrived.
    pub observation: [f64; POLICY_OBSERVATIONS],
    /// The action in force in it.
    pub action: u32,
    /// What it was worth, -1 to 1.
    pub reward: f64,
}

impl AgentStep {
    fn new(step: u64, inputs: &[i32; POLICY_INPUTS]) -> Self {
        let observation = std::array::from_fn(|i| f64::from(inputs[i]) / ONE);
        let action = &inputs[POLICY_OBSERVATIONS..][..POLICY_ACTIONS];
        let action = action.iter().position(|x| *x > 0).unwrap_or(0) as u32;
        AgentStep { step, observation, action, reward: f64::from(inputs[POLICY_INPUTS - 1]) / ONE }
    }
}

/// What an agent has done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// Steps in which it has chosen.
    pub steps: u64,
    /// Steps that were over before it came: the action before held on.
    pub missed: u64,
    /// From the first step's end to the last's.
    pub lasted: Duration,
    /// Sum over the steps, from a step's end to the action chosen after it.
    pub delay: Duration,
    /// Of a processor, for all of them, without what a program took.
    pub processor: Duration,
}

/// Chooses the actions of an attached QueuePilot until `stop`, or until something goes wrong. `spec` is what is attached, of
/// which `threshold` and `action` are put back at the end.
///
/// # Errors
/// If what is attached has no action to be chosen, or another agent already; if it is changed or taken off meanwhile; or what
/// the program has done wrong.
pub fn agent(
    record: &Record,
    spec: &Spec,
    agent: ActionSource<'_>,
    stop: &AtomicBool,
) -> Result<Done, Error> {
    let mut place = Place::take(record, spec)?;
    let done = place.drive(spec, agent, stop);
    let back = place.put(None).and_then(|()| place.leave());
    done.and_then(|done| back.map(|()| done))
}

/// The attached discipline, as an agent has it for itself.
struct Place<'a> {
    record: &'a Record,
    state: MapHandle,
    params: MapHandle,
    ports: MapHandle,
    /// Of the map of its state: what is attached anew has another.
    id: u32,
    /// What all that change something hold; locked only while something is changed.
    all: File,
    /// No other agent has it.
    _mine: File,
    /// Parameters as attached, and with each action alone.
    attached: Vec<u8>,
    passive: Vec<Vec<u8>>,
    /// How often parameters were changed, as this agent knows; None: somebody else has changed them to something else.
    changes: Option<(u32, u32)>,
    action: Option<u32>,
}

impl<'a> Place<'a> {
    fn take(record: &'a Record, spec: &Spec) -> Result<Self, Error> {
        let (dev, text) = (names::quoted(&record.dev), &record.text);
        let refuse = |why: &str| {
            Err(Error::Input(format!(
                "{dev} has {text}{why}: queuewright detach {dev}, then queuewright attach {dev} queuepilot"
            )))
        };
        if record.discipline != "queuepilot" {
            return refuse(", and an agent chooses the actions of queuepilot");
        }
        if spec.weights().is_some() {
            return refuse(", which chooses for itself with its weights; an agent needs it without");
        }
        if record.instances > 1 {
            return refuse(" for each transmit queue (--mq), and an agent chooses for one");
        }
        system::rights()?;
        if !attach::is_there(record)? {
            return Err(gone(record));
        }
        let wrong = |e: &dyn std::fmt::Display| Error::System(format!("{}: {e}", record.pins().display()));
        let Some(mine) = record.serve()? else {
            return Err(Error::Input(format!("{dev} has an agent already, another queuewright agent")));
        };
        let pinned = |name| MapHandle::from_pinned_path(record.pin(name)).map_err(|e| wrong(&e));
        let state = pinned("state")?;
        let mut passive = spec.clone();
        let mut with = |action| {
            let set = [("threshold", Value::Real(0.0)), ("action", Value::Int(action))];
            set.into_iter().try_for_each(|(name, value)| passive.set(name, value))?;
            Ok(Discipline::new(&passive).params_bytes())
        };
        let passive: Result<_, queuewright_aqm::ParamError> = (0..ACTIONS.into()).map(&mut with).collect();
        let mut place = Place {
            record,
            id: state.info().map_err(|e| wrong(&e))?.info.id,
            state,
            params: pinned("params")?,
            ports: pinned("port")?,
            all: alone()?,
            _mine: mine,
            attached: Discipline::new(spec).params_bytes(),
            passive: passive.map_err(|e| wrong(&e))?,
            changes: None,
            action: None,
        };
        // What was read before this had the lock.
        if again(record).is_none_or(|now| now != *record) {
            return Err(Error::Input(format!("{dev}: it was changed meanwhile; begin the agent again")));
        }
        let port = place.port()?;
        place.changes = Some((port.retunes, port.restarts));
        // So that who comes after its death puts them back.
        let attached = Some(place.attached.clone());
        if !place.remember(attached)? {
            return Err(gone(record));
        }
        flock(&place.all, FlockOperation::Unlock).map_err(|e| wrong(&e))?;
        Ok(place)
    }

    /// Writes into the record what is to be put back, if it is still what is attached. The lock is held.
    fn remember(&self, params: Option<Vec<u8>>) -> Result<bool, Error> {
        match again(self.record).filter(|now| now.id("state") == self.record.id("state")) {
            Some(now) => Record { agent: params, ..now }.write().map(|()| true),
            None => Ok(false),
        }
    }

    /// Nothing is to be put back any more.
    fn leave(&self) -> Result<(), Error> {
        wait_alone(&self.all)?;
        let done = self.remember(None).map(drop);
        flock(&self.all, FlockOperation::Unlock).map_err(|e| Error::System(e.to_string()))?;
        done
    }

    fn drive(&mut self, spec: &Spec, agent: ActionSource<'_>, stop: &AtomicBool) -> Result<Done, Error> {
        let (mut pilot, mut program, patience) = match agent {
            ActionSource::Policy(learned) => (Discipline::new(learned), None, Duration::ZERO),
            ActionSource::Program { command, patience } => {
                (Discipline::new(spec), Some(Program::begin(command)?), patience)
            }
        };
        // The first action comes of nothing seen, as inside the kernel.
        let mut number = 0;
        let first = match &mut program {
            Some(program) => {
                let nothing = AgentStep { step: 0, observation: [0.0; 6], action: 0, reward: 0.0 };
                let Some(action) = program.ask(&nothing, START, stop)? else { return Ok(Done::default()) };
                pilot.act(action)
            }
            None => pilot.act(u32::MAX),
        };
        self.put(Some(first))?;
        let step = match spec.get("step") {
            Some(Value::Int(ns)) => ns.max(1),
            _ => return Err(self.other_version()),
        };
        // Only to know when the step under way ends.
        let (_, mut next) = self.follow(&mut pilot.clone(), now())?;
        let (begun, mut look) = (next, Instant::now() + LOOK);
        let used = duration(clock_gettime(ClockId::ThreadCPUTime));
        let mut done = Done::default();
        while sleep_until(next, stop) {
            let (inputs, end) = self.follow(&mut pilot, now())?;
            let passed = ((end.saturating_sub(next)) / step).max(1);
            number += passed;
            let action = match &mut program {
                Some(program) => match program.ask(&AgentStep::new(number, &inputs), patience, stop)? {
                    Some(action) => pilot.act(action),
                    None => break,
                },
                None => pilot.act(u32::MAX),
            };
            self.put(Some(action))?;
            done.steps += 1;
            done.missed += passed - 1;
            done.delay += Duration::from_nanos(now().saturating_sub(end.saturating_sub(step)));
            done.lasted = Duration::from_nanos(end.saturating_sub(begun));
            next = end;
            if Instant::now() >= look {
                look = Instant::now() + LOOK;
                self.still_there()?;
            }
        }
        done.processor = duration(clock_gettime(ClockId::ThreadCPUTime)).saturating_sub(used);
        Ok(done)
    }

    /// The step that has ended by `now`, and the policy's own action, if it has one.
    fn follow(&self, pilot: &mut Discipline, now: u64) -> Result<([i32; POLICY_INPUTS], u64), Error> {
        // The kernel may write while we read: the first field is the end of its step, and what comes after it changes as a
        // whole only with that one. So the first of two that agree is whole.
        let mut state = read(&self.state)?;
        loop {
            let again = read(&self.state)?;
            if again.get(..8) == state.get(..8) {
                break;
            }
            state = again;
        }
        pilot.follow(&state, now).ok_or_else(|| self.other_version())
    }

    /// Has an action in force from now on, and nothing else; None: what was attached. What was set beside an agent stays.
    fn put(&mut self, action: Option<u32>) -> Result<(), Error> {
        wait_alone(&self.all)?;
        let done = self.put_alone(action);
        flock(&self.all, FlockOperation::Unlock).map_err(|e| Error::System(e.to_string()))?;
        done
    }

    fn put_alone(&mut self, action: Option<u32>) -> Result<(), Error> {
        let Some(changes) = self.changes else { return Ok(()) };
        let port = self.port()?;
        if (port.retunes, port.restarts) != changes {
            // `set` writes all parameters, also for a rate.
            if read(&self.params)? != self.attached {
                self.changes = None;
                let (dev, text) = (names::quoted(&self.record.dev), &self.record.text);
                return Err(Error::Input(format!(
                    "{dev}: the parameters of {text} were set anew, and hold now; begin the agent again"
                )));
            }
        } else if action.is_some() && action == self.action {
            return Ok(());
        }
        let params = match action {
            Some(action) => self.passive.get(action as usize).unwrap_or(&self.attached),
            None => &self.attached,
        };
        let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", names::quoted(&self.record.dev)));
        self.params.update(&FIRST, params, MapFlags::ANY).map_err(wrong)?;
        // The kernel looks at this for whether something is new: it comes last.
        let port = PortMap { retunes: port.retunes.wrapping_add(1), ..port };
        self.ports.update(&FIRST, &port.to_bytes(), MapFlags::ANY).map_err(wrong)?;
        self.changes = Some((port.retunes, port.restarts));
        self.action = action;
        Ok(())
    }

    fn port(&self) -> Result<PortMap, Error> {
        of_value(&read(&self.ports)?).ok_or_else(|| self.other_version())
    }

    fn still_there(&self) -> Result<(), Error> {
        let pinned = MapHandle::from_pinned_path(self.record.pin("state")).and_then(|map| map.info());
        match pinned {
            Ok(map) if map.info.id == self.id => Ok(()),
            _ => Err(gone(self.record)),
        }
    }

    fn other_version(&self) -> Error {
        Error::System(format!(
            "{}: its maps are of another version of this program",
            names::quoted(&self.record.dev)
        ))
    }
}

fn gone(record: &Record) -> Error {
    Error::System(format!(
        "{}: {} is no longer there, as somebody else has taken it off or the device has gone",
        names::quoted(&record.dev),
        record.text
    ))
}

fn read(map: &MapHandle) -> Result<Vec<u8>, Error> {
    let found = map.lookup(&FIRST, MapFlags::ANY).map_err(|e| Error::System(e.to_string()))?;
    Ok(found.unwrap_or_default())
}

/// The clock that BPF programs read, ns.
fn now() -> u64 {
    duration(clock_gettime(ClockId::Monotonic)).as_nanos() as u64
}

fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// False: it is to stop.
fn sleep_until(ns: u64, stop: &AtomicBool) -> bool {
    let until = timespec(Duration::from_nanos(ns));
    while !stop.load(Ordering::Relaxed) {
        match clock_nanosleep_absolute(ClockId::Monotonic, &until) {
            Err(Errno::INTR) => {}
            _ => return !stop.load(Ordering::Relaxed),
        }
    }
    false
}

/// A program that chooses.
struct Program {
    child: Child,
    /// None: it has been told all.
    to: Option<ChildStdin>,
    from: ChildStdout,
    /// What it has said and nobody has taken.
    said: Vec<u8>,
}

impl Program {
    fn begin(mut command: Command) -> Result<Self, Error> {
        // Ctrl-C is not meant for it: it ends with its input.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let wrong = |e: std::io::Error| Error::Input(format!("the agent {name:?} does not begin: {e}"));
        let mut child = command.spawn().map_err(wrong)?;
        match (child.stdin.take(), child.stdout.take()) {
            (to, Some(from)) => {
                if let Some(to) = &to {
                    ioctl_fionbio(to, true).map_err(|e| wrong(e.into()))?;
                }
                Ok(Program { child, to, from, said: Vec::new() })
            }
            _ => Err(Error::System(format!("the agent {name:?} has no output"))),
        }
    }

    /// Its action; None: it is to stop.
    fn ask(&mut self, step: &AgentStep, patience: Duration, stop: &AtomicBool) -> Result<Option<u32>, Error> {
        let number = step.step;
        let wrong = |what: String| Error::System(format!("the agent has {what}"));
        if !self.said.is_empty() {
            return Err(wrong(format!("answered more than once before step {number}")));
        }
        let mut line = serde_json::to_vec(step).unwrap_or_default();
        line.push(b'\n');
        let until = Instant::now() + patience;
        let mut rest = &line[..];
        while !rest.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(wrong(format!("not read step {number} within {} s", patience.as_secs())));
            }
            match self.to.as_mut().map(|to| to.write(rest)) {
                Some(Ok(n)) => rest = &rest[n..],
                // It reads nothing, and the pipe is full.
                Some(Err(e)) if e.kind() == ErrorKind::WouldBlock => {
                    let wait = timespec(left.min(GLANCE));
                    if let Some(to) = &self.to {
                        let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&wait));
                    }
                }
                Some(Err(e)) if e.kind() == ErrorKind::Interrupted => {}
                Some(Err(_)) | None => {
                    return Err(wrong(format!("ended ({}) before step {number}", self.end())));
                }
            }
        }
        let end = loop {
            if let Some(end) = self.said.iter().position(|b| *b == b'\n') {
                break end;
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(wrong(format!("not answered step {number} within {} s", patience.as_secs())));
            }
            if self.said.len() > LONGEST_LINE {
                return Err(wrong(format!(
                    "answered step {number} with {} bytes and no line",
                    self.said.len()
                )));
            }
            let wait = timespec(left.min(GLANCE));
            if poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&wait)).unwrap_or(0) == 0 {
                continue;
            }
            let mut some = [0; LONGEST_LINE];
            match self.from.read(&mut some) {
                Ok(0) | Err(_) => {
                    return Err(wrong(format!("ended ({}) without an answer to step {number}", self.end())));
                }
                Ok(n) => self.said.extend(&some[..n]),
            }
        };
        let line: Vec<u8> = self.said.drain(..=end).collect();
        let text = String::from_utf8_lossy(&line);
        match text.trim().parse() {
            Ok(action) if action < ACTIONS => Ok(Some(action)),
            _ => Err(wrong(format!(
                "answered step {number} with {:?}; allowed: a line with 0 to 5",
                text.trim()
            ))),
        }
    }

    /// Has it end; how it did.
    fn end(&mut self) -> String {
        self.to = None;
        let until = Instant::now() + FAREWELL;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if Instant::now() < until => std::thread::sleep(FAREWELL / 50),
                _ => break,
            }
        }
        let _ = self.child.kill();
        self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that reads nothing: its pipe is full after some hundred steps.
    #[test]
    fn a_program_that_does_not_read_is_not_waited_for() {
        let begin = || {
            let mut command = Command::new("sleep");
            command.arg("600");
            let mut program = Program::begin(command).expect("it begins");
            let to = program.to.as_mut().expect("a pipe");
            // Until there is no room.
            while to.write(&[b' '; 4096]).is_ok() {}
            program
        };
        let step = AgentStep { step: 7, observation: [0.0; 6], action: 0, reward: 0.0 };
        let said = begin().ask(&step, Duration::from_millis(200), &AtomicBool::new(false));
        let said = said.expect_err("its patience is over").to_string();
        assert!(said.contains("not read step 7"), "{said}");
        let stopped = begin().ask(&step, Duration::from_secs(600), &AtomicBool::new(true));
        assert_eq!(stopped.expect("no fault"), None);
    }
}
