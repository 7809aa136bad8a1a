//! Running a script: its events in order, in virtual time.

use crate::foreign::foreign;
use crate::machine::{Answer, Machine};
use crate::packet::{Ecn, Packet, TcpOption};
use crate::python::{self, Stop, Value};
use crate::script::{Action, Call, Event, Expr, Script, When};
use crate::simulated::Simulated;
use crate::stack::BEGIN_NS;
use crate::words::constant;
use crate::{End, Failure, Options, Outcome, Step};
use std::collections::HashMap;
use std::path::Path;

/// How long a packet is waited for behind its time (`sniff_outbound_live_packet`).
pub const PATIENCE_US: i64 = 2_000_000;
/// The longest that a packet of any time is waited for.
pub const LONGEST_US: i64 = 3_600_000_000;
/// What comes in is at TCP so much after its time: on a real machine it has to be made and to go through the device. Without it, times
/// that the kernel compares would be alike that never are.
const DELIVERY_US: i64 = 20;

/// Values of a script's own options.
#[derive(Debug, Clone, PartialEq)]
struct Config {
    tolerance_us: i64,
    tolerance_percent: f64,
    strict: bool,
    tick_us: i64,
    echo_scaled: bool,
    gso_mss: Option<u32>,
}

/// Are all of a script's options known?
pub fn known(script: &Script) -> Result<(), Vec<String>> {
    config(script).map(|_| ()).map_err(|what| vec![what])
}

/// The sequence numbers with which the peers of a script's connections begin, one after the other.
pub fn remote_isns(script: &Script) -> Vec<u32> {
    let mut all = Vec::new();
    for event in &script.events {
        match &event.action {
            Action::Call(call) if call.name == "socket" => all.push(None),
            Action::Packet(p) if p.inbound && p.flags.syn => {
                if let Some(last) = all.last_mut() {
                    last.get_or_insert(p.seq);
                }
            }
            _ => {}
        }
    }
    all.into_iter().map(Option::unwrap_or_default).collect()
}

/// Runs a script that lies in `dir` on the simulated stack.
pub fn run(script: &Script, dir: &Path, options: &Options) -> Outcome {
    let mut foreign = foreign(script, dir);
    foreign.splice(0..0, config(script).err());
    if !foreign.is_empty() {
        return Outcome::NotApplicable(foreign);
    }
    run_on(Simulated::new(options), script, dir, options)
}

impl Config {
    /// How far off a time may be (`verify_time`).
    fn slack(&self, at: i64, before: i64) -> i64 {
        let share = (self.tolerance_percent / 100.0 * (at - before) as f64) as i64;
        self.tolerance_us.max(share)
    }
}

/// Whatever a call failed by is at its line.
fn at_line(end: End, line: u32) -> End {
    match end {
        End::Failed(failure) => End::Failed(Failure { line, ..failure }),
        foreign => foreign,
    }
}

fn config(script: &Script) -> Result<Config, String> {
    let mut config = Config {
        tolerance_us: 4_000,
        tolerance_percent: 12.5,
        strict: false,
        tick_us: 0,
        echo_scaled: false,
        gso_mss: None,
    };
    for (name, value, _) in &script.options {
        let value = value.as_deref();
        let number = || value.and_then(|v| v.parse::<f64>().ok()).filter(|n| (0.0..=1e9).contains(n));
        let bad = || format!("the option --{name}={}", value.unwrap_or_default());
        match name.as_str() {
            "tolerance_usecs" => config.tolerance_us = number().ok_or_else(bad)? as i64,
            "tolerance_percent" => config.tolerance_percent = number().ok_or_else(bad)?,
            "strict_segments" => config.strict = true,
            "tcp_ts_tick_usecs" => config.tick_us = number().ok_or_else(bad)? as i64,
            "tcp_ts_ecr_scaled" => config.echo_scaled = true,
            "mss" => config.gso_mss = Some(number().ok_or_else(bad)? as u32),
            "ip_version" if value == Some("ipv4") => {}
            "ip_version" => return Err("IPv6".into()),
            "psp_udp_port" => return Err("PSP".into()),
            "mtu" if value != Some("1500") => return Err("a device of another MTU".into()),
            "local_ip" | "remote_ip" if value.is_some_and(|v| v.contains(':')) => return Err("IPv6".into()),
            "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "mtu" | "verbose" | "dry_run"
            | "bind_port" | "connect_port" | "send_omit_free" | "code_command" | "code_format"
            | "code_sockopt" => {}
            _ => return Err(bad()),
        }
    }
    Ok(config)
}

/// A system call that waits.
struct Waiting {
    line: u32,
    expected: Expr,
    /// When it is to end (microseconds), and when the event before it was.
    due: i64,
    before: i64,
}

struct Run<'a, M> {
    dir: &'a Path,
    config: Config,
    machine: M,
    waiting: Option<Waiting>,
    variables: HashMap<String, Value>,
    /// Time of the last event (microseconds), and whether it was a packet that came in.
    last: i64,
    last_inbound: bool,
    last_absolute: bool,
    local_isn: u32,
    /// Timestamps of the script's and ours that belong to each other, and the first of them.
    stamps: HashMap<u32, u32>,
    first_stamp: Option<(u32, u32)>,
}

/// Runs a script that lies in `dir` on a machine.
pub fn run_on(machine: impl Machine, script: &Script, dir: &Path, options: &Options) -> Outcome {
    let config = match config(script) {
        Ok(config) => config,
        Err(what) => return Outcome::NotApplicable(vec![what]),
    };
    let mut run = Run {
        dir,
        config: Config { tolerance_us: options.tolerance_us.unwrap_or(config.tolerance_us), ..config },
        machine,
        waiting: None,
        variables: HashMap::new(),
        last: 0,
        last_inbound: false,
        last_absolute: false,
        local_isn: 0,
        stamps: HashMap::new(),
        first_stamp: None,
    };
    let mut events = script.events.iter().enumerate();
    match events.try_for_each(|(i, event)| run.event(i, event)).and_then(|()| run.end()) {
        Ok(()) => Outcome::Passed,
        Err(End::Failed(failure)) => Outcome::Failed(failure),
        Err(End::Foreign(what)) => Outcome::NotApplicable(vec![what]),
    }
}

impl<M: Machine> Run<'_, M> {
    fn fail<T>(&self, line: u32, says: String) -> Step<T> {
        Err(End::Failed(Failure { line, says, expected: None, actual: None }))
    }

    fn event(&mut self, number: usize, event: &Event) -> Step<()> {
        let inbound = matches!(&event.action, Action::Packet(p) if p.inbound);
        let offset = if self.last_inbound && inbound { self.last } else { self.machine.now() };
        let (from, to) = match event.when {
            When::At(t) => (t, t),
            When::Between(a, b) => (a, b),
            When::After(t) => (t + offset, t + offset),
            When::AfterBetween(a, b) => (a + offset, b + offset),
            When::Any => (offset, offset),
        };
        let before = self.last;
        // What is told after another may be a little early: what came before it was.
        let absolute = matches!(event.when, When::At(_) | When::Between(..));
        if from < before && absolute && self.last_absolute {
            return self.fail(event.line, "the time lies before that of the event before".into());
        }
        match &event.action {
            Action::Packet(packet) if !packet.inbound => {
                self.machine.event(number).map_err(|end| at_line(end, event.line))?;
                self.outbound(event, packet, from, to, before)?;
            }
            action => {
                self.machine.wait_until(from)?;
                self.done_in_time()?;
                self.machine.event(number).map_err(|end| at_line(end, event.line))?;
                match action {
                    Action::Packet(packet) => {
                        self.machine.wait_until(from + DELIVERY_US)?;
                        self.inbound(event.line, packet)?;
                    }
                    Action::Call(call) => self.call(event.line, call, offset)?,
                    Action::Command(command) => {
                        self.machine.command(command, self.dir).map_err(|end| at_line(end, event.line))?;
                    }
                    Action::Code(code) => self.code(event.line, code)?,
                    Action::Foreign(what) => return Err(End::Foreign((*what).into())),
                }
            }
        }
        self.machine.look();
        self.last = match event.when {
            When::Any | When::AfterBetween(..) | When::Between(..) => self.machine.now(),
            _ => from,
        };
        (self.last_inbound, self.last_absolute) = (inbound, absolute);
        Ok(())
    }

    // Packets.

    fn inbound(&mut self, line: u32, packet: &Packet) -> Step<()> {
        let mut packet = packet.clone();
        let echo = match packet.timestamp() {
            Some((_, echo)) if packet.flags.ack => Some(match self.stamps.get(&echo) {
                Some(live) => *live,
                None => match self.first_stamp.filter(|_| self.config.echo_scaled) {
                    Some((script, live)) => echo.wrapping_sub(script).wrapping_add(live),
                    None => {
                        return self
                            .fail(line, format!("no packet had the timestamp {echo} that this echoes"));
                    }
                },
            }),
            _ => None,
        };
        // Only SYNs have the numbers that the ends begin with: all others count from there (`remote_seq_script_to_live_offset`).
        if !packet.flags.syn {
            packet.seq = packet.seq.wrapping_add(self.machine.remote_isn());
        } else if packet.flags.ack {
            packet.ack = packet.ack.wrapping_sub(self.local_isn);
        }
        self.machine.inbound(&packet, echo, self.config.gso_mss)
    }

    fn outbound(&mut self, event: &Event, expected: &Packet, from: i64, to: i64, before: i64) -> Step<()> {
        let line = event.line;
        let wanted = |says: String, actual: Option<String>| {
            let expected = Some(format!("{} {expected}", seconds(from)));
            Err(End::Failed(Failure { line, says, expected, actual }))
        };
        if expected.flags.syn && !(expected.flags.ack && self.machine.open()) {
            self.local_isn = expected.seq;
        }
        let by = if event.when == When::Any { self.machine.now() + LONGEST_US } else { to + PATIENCE_US };
        let Some(first) = self.machine.sniff(by)? else {
            return wanted("no packet went out".into(), None);
        };
        let (at, mut actual) = (first.at, first.packet);
        // What the script calls one packet may have gone as several, of equal size but the last.
        let size = actual.len;
        let mut last_size = size;
        while actual.len < expected.len && !self.config.strict && last_size == size && size > 0 {
            let Some(next) = self.machine.sniff(by)? else { break };
            let joins = next.packet.seq == actual.seq + actual.len
                && next.packet.flags.syn == actual.flags.syn
                && next.packet.flags.ece == actual.flags.ece
                && next.packet.ack == actual.ack
                && next.packet.len <= expected.len - actual.len;
            if !joins {
                let says = format!("{} went out before the packet was complete", next.packet);
                return wanted(says, Some(self.shown(at, &actual)));
            }
            last_size = next.packet.len;
            actual.len += last_size;
            (actual.flags.psh, actual.flags.fin) = (next.packet.flags.psh, next.packet.flags.fin);
        }
        self.learn_stamp(expected, &actual);
        let shown = format!("{} {}", told_at(at), self.mapped(&actual, Some(expected)));
        if let Some(what) = self.differs(expected, &actual) {
            return wanted(format!("{what} is another"), Some(shown));
        }
        if event.when == When::Any {
            return Ok(());
        }
        let at = ((at - BEGIN_NS) / 1000) as i64;
        let slack = self.config.slack(from, before);
        if at < from - slack || at > to + slack {
            return wanted(
                format!("it went out at {} s, not within {} ms", seconds(at), slack as f64 / 1e3),
                Some(shown),
            );
        }
        Ok(())
    }

    fn learn_stamp(&mut self, expected: &Packet, actual: &Packet) {
        if let (Some((script, _)), Some((live, _))) = (expected.timestamp(), actual.timestamp()) {
            self.stamps.insert(script, live);
            self.first_stamp.get_or_insert((script, live));
        }
    }

    /// A packet as the script would have it.
    fn mapped(&self, actual: &Packet, expected: Option<&Packet>) -> Packet {
        let mut packet = actual.clone();
        if packet.flags.syn {
            packet.seq = packet.seq.wrapping_add(self.local_isn);
            if packet.flags.ack {
                packet.ack = packet.ack.wrapping_add(self.machine.remote_isn());
            }
        }
        for option in packet.options.iter_mut().flatten() {
            if let (TcpOption::Timestamp(val, _), Some((script, live))) = (option, self.first_stamp) {
                *val = val.wrapping_sub(live).wrapping_add(script);
            }
        }
        if expected.is_none_or(|e| e.ecn.is_none()) {
            packet.ecn = None;
        }
        if expected.is_none_or(|e| e.win.is_none()) {
            packet.win = None;
        }
        packet
    }

    fn shown(&self, at: u64, actual: &Packet) -> String {
        format!("{} {}", told_at(at), self.mapped(actual, None))
    }

    /// What of a packet is not as the script has it, if anything.
    fn differs(&self, expected: &Packet, live: &Packet) -> Option<&'static str> {
        let actual = self.mapped(live, Some(expected));
        let ecn = match (expected.ecn, actual.ecn) {
            (None, _) => true,
            (Some(Ecn::Either), Some(e)) => matches!(e, Ecn::Ect0 | Ecn::Ect1),
            (e, a) => e == a,
        };
        if actual.flags != expected.flags {
            return Some("a flag");
        }
        if actual.seq != expected.seq {
            return Some("the sequence number");
        }
        if actual.len != expected.len {
            return Some("the length");
        }
        if expected.flags.ack && actual.ack != expected.ack {
            return Some("what is acknowledged");
        }
        if !ecn {
            return Some("the ECN field");
        }
        if let Some(wanted) = &expected.options {
            let options = actual.options.unwrap_or_default();
            let same = wanted.len() == options.len()
                && wanted.iter().zip(&options).all(|(e, a)| match (e, a) {
                    // The echo is not asked, and the value only where the script says how fine it is.
                    (TcpOption::Timestamp(e, _), TcpOption::Timestamp(a, _)) => {
                        let off = i64::from(e.wrapping_sub(*a) as i32).abs() * self.config.tick_us;
                        off <= self.config.tolerance_us.max(self.machine.now() / 8)
                    }
                    (e, a) => e == a,
                });
            if !same {
                return Some("an option");
            }
        }
        expected.win.filter(|_| expected.win != actual.win).map(|_| "the window")
    }

    // Code.

    fn code(&mut self, line: u32, code: &str) -> Step<()> {
        let machine = &self.machine;
        let known = |name: &str| match constant(name) {
            Some(n) => Some(Value::Int(n)),
            None => machine.info(name).map(Value::Int),
        };
        match python::run(code, &mut self.variables, &known) {
            Ok(()) => Ok(()),
            Err(Stop::Unknown(what)) => Err(End::Foreign(what)),
            Err(Stop::Failed(says)) => self.fail(line, says),
            // It has been read before: no script gets here.
            Err(Stop::Syntax(below, says)) => self.fail(line + below, format!("code: {says}")),
        }
    }

    // System calls.

    fn call(&mut self, line: u32, call: &Call, offset: i64) -> Step<()> {
        if let Some(end) = call.end {
            return self.begin_waiting(line, call, end + offset);
        }
        let answer = self.machine.answer(call).map_err(|end| at_line(end, line))?;
        if call.name == "socket" {
            // Another connection has other numbers.
            self.stamps.clear();
            (self.first_stamp, self.local_isn) = (None, 0);
        }
        self.compare(line, call, answer)
    }

    fn compare(&self, line: u32, call: &Call, (result, errno): Answer) -> Step<()> {
        let wanted = match &call.result {
            Expr::Any => return Ok(()),
            Expr::Int(n) => *n,
            Expr::Function(..) | Expr::Word(_) => {
                return Err(End::Foreign(format!("the result of {}()", call.name)));
            }
            _ => return Err(End::Foreign(format!("the result of {}()", call.name))),
        };
        let Some(result) = result else { return Ok(()) };
        if result != wanted || (result < 0 && call.errno.as_deref().is_some_and(|e| Some(e) != errno)) {
            let text = |n: i64, e: Option<&str>| {
                format!("{}() = {n}{}", call.name, e.map_or(String::new(), |e| format!(" {e}")))
            };
            return Err(End::Failed(Failure {
                line,
                says: format!("{}() gives something else", call.name),
                expected: Some(text(wanted, call.errno.as_deref())),
                actual: Some(text(result, errno)),
            }));
        }
        Ok(())
    }

    fn begin_waiting(&mut self, line: u32, call: &Call, due: i64) -> Step<()> {
        if self.waiting.is_some() {
            return Err(End::Foreign("two calls that wait at once".into()));
        }
        self.machine.begin(call)?;
        let before = self.last;
        self.waiting = Some(Waiting { line, expected: call.result.clone(), due, before });
        Ok(())
    }

    /// A call that waited and has ended, or should have: was it in time, with the right result?
    fn done_in_time(&mut self) -> Step<()> {
        let Some(Waiting { line, due, before, ref expected }) = self.waiting else {
            return Ok(());
        };
        let slack = self.config.slack(due, before);
        let Some((at, gave)) = self.machine.ended() else {
            if self.machine.now() > due + slack {
                return self.fail(line, format!("the call still waits at {} s", seconds(self.machine.now())));
            }
            return Ok(());
        };
        let gave = gave.map_err(|end| at_line(end, line))?;
        if at < due - slack || at > due + slack {
            return self
                .fail(line, format!("the call ended at {} s, not at {} s", seconds(at), seconds(due)));
        }
        if let Some(wanted) = expected.int().filter(|&wanted| wanted != gave) {
            return self.fail(line, format!("the call gave {gave}, not {wanted}"));
        }
        self.waiting = None;
        Ok(())
    }

    /// The script is over: what still waits has to end in its time.
    fn end(&mut self) -> Step<()> {
        while let Some(waiting) = &self.waiting {
            let by = waiting.due + self.config.slack(waiting.due, waiting.before);
            let over = self.machine.now() > by;
            self.machine.wait_until(by.max(self.machine.now()) + 1)?;
            self.machine.look();
            self.done_in_time()?;
            if over {
                break;
            }
        }
        Ok(())
    }
}

/// A time of the stack's as seconds since the script began.
fn told_at(ns: u64) -> String {
    seconds(((ns - BEGIN_NS) / 1000) as i64)
}

/// Microseconds as seconds.
fn seconds(us: i64) -> String {
    format!("{:.6}", us as f64 / 1e6)
}
