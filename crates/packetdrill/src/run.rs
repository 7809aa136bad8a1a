//! Running a script: its events in order, in virtual time.

use crate::epoll::{self, Epoll};
use crate::packet::{Ecn, Packet, TcpOption};
use crate::python::{self, Stop, Value};
use crate::script::{Action, Call, Event, Expr, Script, When};
use crate::settings::{Counter, Settings, control};
use crate::stack::{BEGIN_NS, KNOWN, RECEIVE_BUFFER, State, Tcp, Wakes, Write};
use crate::{Failure, Options, Outcome};
use queuewright_sim::alone::Dropped;
use std::collections::HashMap;
use std::path::Path;

/// How long a packet is waited for behind its time (`sniff_outbound_live_packet`).
const PATIENCE_US: i64 = 2_000_000;
/// The longest that a packet of any time is waited for.
const LONGEST_US: i64 = 3_600_000_000;
/// What comes in is at TCP so much after its time: on a real machine it has to be made and to go through the device. Without it, times
/// that the kernel compares would be alike that never are.
const DELIVERY_US: i64 = 20;
/// Most that happens between two events of a script.
const MOST_STEPS: u32 = 1_000_000;

/// Why a script ended.
enum End {
    /// Something was not as it said.
    Failed(Failure),
    /// It asks for what is not known here.
    Foreign(String),
}

type Step<T> = Result<T, End>;

/// A file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descriptor {
    /// The socket that listens, or one that has not begun.
    Listener,
    /// The connection.
    Connection,
    /// One of epoll.
    Epoll,
}

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

/// Runs a script that lies in `dir`.
pub fn run(script: &Script, dir: &Path, options: &Options) -> Outcome {
    let foreign = foreign(script, dir);
    if !foreign.is_empty() {
        return Outcome::NotApplicable(foreign);
    }
    let mut run = match Run::new(script, dir, options) {
        Ok(run) => run,
        Err(what) => return Outcome::NotApplicable(vec![what]),
    };
    let done = script.events.iter().try_for_each(|event| run.event(event)).and_then(|()| run.end());
    match done {
        Ok(()) => Outcome::Passed,
        Err(End::Failed(failure)) => Outcome::Failed(failure),
        Err(End::Foreign(what)) => Outcome::NotApplicable(vec![what]),
    }
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

fn other_events(call: &str, wanted: &[u32], told: &[u32]) -> End {
    let text = |all: &[u32]| match all {
        [] => "none".into(),
        all => all.iter().map(|&m| epoll::names(m)).collect::<Vec<_>>().join(", "),
    };
    End::Failed(Failure {
        line: 0,
        says: format!("{call} tells other events"),
        expected: Some(text(wanted)),
        actual: Some(text(told)),
    })
}

/// Are the events and data of epoll_wait() those that the script has?
fn compare_told(wanted: &[(u32, i64)], told: &[(u32, i64)]) -> Step<()> {
    if wanted == told {
        return Ok(());
    }
    let events = |all: &[(u32, i64)]| all.iter().map(|t| t.0).collect::<Vec<_>>();
    Err(other_events("epoll_wait()", &events(wanted), &events(told)))
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

/// All of a script that is seen to be beyond the simulated stack before it runs.
fn foreign(script: &Script, dir: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |what: String| {
        if !all.contains(&what) {
            all.push(what);
        }
    };
    config(script).err().into_iter().for_each(&mut add);
    let mut settings = Settings::default();
    let mut set = HashMap::new();
    for event in &script.events {
        match &event.action {
            Action::Packet(packet) => packet.foreign.iter().for_each(|f| add(f.to_string())),
            Action::Foreign(what) => add(what.to_string()),
            Action::Command(command) if Counter::asked(command).is_some() => {}
            Action::Command(command) => settings.command(command, dir).err().into_iter().for_each(&mut add),
            Action::Call(call) => call_foreign(call).into_iter().for_each(&mut add),
            Action::Code(code) => {
                let known = |name: &str| {
                    let told = name.strip_prefix("tcpi_").is_some_and(|n| KNOWN.contains(&n));
                    (told || name == RECEIVE_BUFFER || constant(name).is_some()).then_some(Value::Int(1))
                };
                // That it is Python has been seen when the script was read.
                python::read(code, &mut set, &known).into_iter().flatten().for_each(&mut add);
            }
        }
    }
    // What is sent without a copy goes as everything does: only who asks whether it is gone would see it.
    let asks = |call: &Call| {
        matches!(call.name.as_str(), "poll" | "epoll_wait")
            || call.arguments.iter().any(|a| a.words().contains(&"MSG_ERRQUEUE"))
    };
    if !script.events.iter().any(|e| matches!(&e.action, Action::Call(call) if asks(call))) {
        all.retain(|what| what != ZERO_COPY);
    }
    all
}

/// Why a script that sends without a copy cannot be run.
const ZERO_COPY: &str = "MSG_ZEROCOPY";

/// What of a system call is beyond the simulated stack.
fn call_foreign(call: &Call) -> Option<String> {
    let words: Vec<&str> = call.arguments.iter().flat_map(Expr::words).collect();
    let has = |word: &str| words.contains(&word);
    let flagged = |flag: &str| words.iter().any(|w| w.starts_with(flag));
    match call.name.as_str() {
        _ if has("SOCK_DGRAM") || has("SOCK_RAW") => Some("sockets of other kinds than TCP".into()),
        _ if has("AF_INET6") => Some("IPv6".into()),
        _ if flagged("MSG_ZEROCOPY") => Some(ZERO_COPY.into()),
        _ if flagged("MSG_FASTOPEN") => Some("TCP Fast Open".into()),
        _ if flagged("MSG_ERRQUEUE") => {
            Some("the error queue (timestamps of what was sent, zero-copy)".into())
        }
        _ if flagged("MSG_OOB") => Some("urgent data".into()),
        "setsockopt" | "getsockopt" => match call.arguments.get(2).and_then(Expr::word).unwrap_or("?") {
            "SO_REUSEADDR" | "SO_SNDBUF" | "SO_RCVBUF" | "TCP_NODELAY" | "TCP_CONGESTION" | "SO_ERROR"
            | "TCP_MAXSEG" | "TCP_CORK" | "TCP_INQ" | "TCP_NOTSENT_LOWAT" | "TCP_WINDOW_CLAMP" => None,
            option if option.starts_with("TCP_FASTOPEN") => Some("TCP Fast Open".into()),
            "SO_ZEROCOPY" => Some(ZERO_COPY.into()),
            "SO_TIMESTAMPING" => Some("the error queue (timestamps of what was sent, zero-copy)".into()),
            option => Some(format!("the socket option {option}")),
        },
        "ioctl" => {
            let what = call.arguments.get(1).and_then(Expr::word).unwrap_or("?");
            (!matches!(what, "SIOCINQ" | "FIONREAD")).then(|| format!("ioctl {what}"))
        }
        name if name.starts_with("psp_") => Some("PSP".into()),
        "splice" | "sendfile" | "pipe" | "open" => Some(format!("{}()", call.name)),
        "socket" | "bind" | "listen" | "accept" | "connect" | "write" | "send" | "sendto" | "read"
        | "recv" | "recvfrom" | "fcntl" | "close" | "shutdown" | "poll" | "epoll_create" | "epoll_ctl"
        | "epoll_wait" => None,
        "sendmsg" | "recvmsg" | "writev" | "readv" => {
            let control =
                mentions(&call.arguments, "msg_control") && !mentions(&call.arguments, "TCP_CM_INQ");
            control.then(|| "control messages".into())
        }
        name => Some(format!("{name}()")),
    }
}

/// Does a name occur anywhere?
fn mentions(all: &[Expr], name: &str) -> bool {
    all.iter().any(|e| match e {
        Expr::Word(w) => w == name,
        Expr::List(l) | Expr::Or(l) | Expr::Function(_, l) => mentions(l, name),
        Expr::Struct(fields) => {
            fields.iter().any(|(n, v)| n.as_deref() == Some(name) || mentions(std::slice::from_ref(v), name))
        }
        _ => false,
    })
}

/// A system call that waits.
struct Waiting {
    line: u32,
    what: Pending,
    expected: Expr,
    /// When it is to end (microseconds), and when the event before it was.
    due: i64,
    before: i64,
    /// When it ended, and what it gave.
    ended: Option<(i64, Step<i64>)>,
}

/// Events and data that epoll_wait() tells.
type Told = Vec<(u32, i64)>;

enum Pending {
    /// The number that the script gives the descriptor.
    Accept(Expr),
    Connect,
    Read(u32),
    /// So many bytes, of which so many were taken.
    Write(u32, u32, Write),
    /// The descriptor, what is asked of it, and what is to be told.
    Poll(Descriptor, u32, u32),
    /// The descriptor, the most that is told, and what is to be.
    Epoll(i64, usize, Told),
}

struct Run<'a> {
    dir: &'a Path,
    config: Config,
    settings: Settings,
    tcp: Tcp,
    descriptors: HashMap<i64, Descriptor>,
    epolls: HashMap<i64, Epoll>,
    /// A connection that is open and was not taken.
    backlog: bool,
    non_blocking: bool,
    next_descriptor: i64,
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
    forced: Option<queuewright_sim::Kind>,
    /// What the kernel's counters were when they were last looked at.
    counted: Dropped,
}

impl<'a> Run<'a> {
    fn new(script: &'a Script, dir: &'a Path, options: &Options) -> Result<Run<'a>, String> {
        let config = config(script)?;
        let mut settings = Settings::default();
        if let Some(cca) = options.cca {
            settings.cca = cca;
        }
        settings.tuned.hz = options.hz.unwrap_or(settings.tuned.hz);
        Ok(Run {
            dir,
            config: Config { tolerance_us: options.tolerance_us.unwrap_or(config.tolerance_us), ..config },
            tcp: Tcp::new(&settings),
            settings,
            descriptors: HashMap::new(),
            epolls: HashMap::new(),
            backlog: false,
            non_blocking: false,
            next_descriptor: 3,
            waiting: None,
            variables: HashMap::new(),
            last: 0,
            last_inbound: false,
            last_absolute: false,
            local_isn: 0,
            stamps: HashMap::new(),
            first_stamp: None,
            forced: options.cca,
            counted: Dropped::default(),
        })
    }

    /// Microseconds since the script began.
    fn now(&self) -> i64 {
        ((self.tcp.now - BEGIN_NS) / 1000) as i64
    }

    fn fail<T>(&self, line: u32, says: String) -> Step<T> {
        Err(End::Failed(Failure { line, says, expected: None, actual: None }))
    }

    /// Lets time pass to that of the script (microseconds).
    fn wait_until(&mut self, at: i64) -> Step<()> {
        let to = BEGIN_NS + at.max(0) as u64 * 1000;
        for _ in 0..MOST_STEPS {
            if !self.tcp.step(to) {
                return Ok(());
            }
            self.no_trouble()?;
            self.look_at_waiting();
        }
        Err(End::Foreign("a connection that never rests".into()))
    }

    fn no_trouble(&mut self) -> Step<()> {
        self.tcp.trouble.take().map_or(Ok(()), |what| Err(End::Foreign(what)))
    }

    fn event(&mut self, event: &Event) -> Step<()> {
        let inbound = matches!(&event.action, Action::Packet(p) if p.inbound);
        let offset = if self.last_inbound && inbound { self.last } else { self.now() };
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
            Action::Packet(packet) if !packet.inbound => self.outbound(event, packet, from, to, before)?,
            action => {
                self.wait_until(from)?;
                self.done_in_time()?;
                match action {
                    Action::Packet(packet) => {
                        self.wait_until(from + DELIVERY_US)?;
                        self.inbound(event.line, packet)?;
                    }
                    Action::Call(call) => self.call(event.line, call, offset)?,
                    Action::Command(command) if Counter::asked(command).is_some() => {
                        self.count(event.line, command)?;
                    }
                    Action::Command(command) => {
                        if command.trim_start().starts_with("nstat") {
                            self.counted = self.tcp.dropped();
                        }
                        let takes = self.settings.command(command, self.dir).map_err(End::Foreign)?;
                        if let Some(cca) = self.forced {
                            self.settings.cca = cca;
                        }
                        self.tcp.set(&self.settings).map_err(End::Foreign)?;
                        self.wait_until(from + takes)?;
                    }
                    Action::Code(code) => self.code(event.line, code)?,
                    Action::Foreign(what) => return Err(End::Foreign((*what).into())),
                }
            }
        }
        self.look_at_waiting();
        self.last = match event.when {
            When::Any | When::AfterBetween(..) | When::Between(..) => self.now(),
            _ => from,
        };
        (self.last_inbound, self.last_absolute) = (inbound, absolute);
        Ok(())
    }

    /// Is a counter what a command says?
    fn count(&mut self, line: u32, command: &str) -> Step<()> {
        let Some(asked) = Counter::asked(command) else { return Ok(()) };
        let (now, before) = (self.tcp.dropped(), self.counted);
        let told = asked.of(&now) - asked.of(&before);
        if asked.begins_anew {
            self.counted = now;
        }
        if told == asked.value {
            return Ok(());
        }
        let says = |n: u32| Some(format!("{} {n}", asked.name));
        Err(End::Failed(Failure {
            line,
            says: "a counter has another value".into(),
            expected: says(asked.value),
            actual: says(told),
        }))
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
        if packet.flags.ack {
            packet.ack = packet.ack.wrapping_sub(self.local_isn);
        }
        for option in packet.options.iter_mut().flatten() {
            if let TcpOption::Sack(blocks) = option {
                for block in blocks {
                    *block = (block.0.wrapping_sub(self.local_isn), block.1.wrapping_sub(self.local_isn));
                }
            }
        }
        let was = self.tcp.state;
        self.tcp.gso_mss = self.config.gso_mss;
        self.tcp.inbound(&packet, echo).map_err(End::Foreign)?;
        if self.tcp.broken && (self.waiting.is_some() || !self.epolls.is_empty()) {
            return Err(End::Foreign("a reset (RST) that somebody waits for".into()));
        }
        if was == State::SynReceived && self.tcp.established() {
            self.backlog = true;
        }
        Ok(())
    }

    /// The next packet that goes out by then (microseconds).
    fn sniff(&mut self, by: i64) -> Step<Option<crate::stack::Out>> {
        let to = BEGIN_NS + by.max(0) as u64 * 1000;
        for _ in 0..MOST_STEPS {
            if let Some(out) = self.tcp.out.pop_front() {
                return Ok(Some(out));
            }
            if !self.tcp.step(to) {
                return Ok(None);
            }
            self.no_trouble()?;
            self.look_at_waiting();
        }
        Err(End::Foreign("a connection that never rests".into()))
    }

    fn outbound(&mut self, event: &Event, expected: &Packet, from: i64, to: i64, before: i64) -> Step<()> {
        let line = event.line;
        let wanted = |says: String, actual: Option<String>| {
            let expected = Some(format!("{} {expected}", seconds(from)));
            Err(End::Failed(Failure { line, says, expected, actual }))
        };
        if expected.flags.syn && !(expected.flags.ack && self.tcp.state == State::Established) {
            self.local_isn = expected.seq;
        }
        let by = if event.when == When::Any { self.now() + LONGEST_US } else { to + PATIENCE_US };
        let Some(first) = self.sniff(by)? else {
            return wanted("no packet went out".into(), None);
        };
        let (at, mut actual) = (first.at, first.packet);
        // What the script calls one packet may have gone as several, of equal size but the last.
        let size = actual.len;
        let mut last_size = size;
        while actual.len < expected.len && !self.config.strict && last_size == size && size > 0 {
            let Some(next) = self.sniff(by)? else { break };
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
        packet.seq = packet.seq.wrapping_add(self.local_isn);
        let remote = self.tcp.remote_isn;
        if packet.flags.ack {
            packet.ack = packet.ack.wrapping_add(remote);
        }
        for option in packet.options.iter_mut().flatten() {
            match option {
                TcpOption::Sack(blocks) => {
                    blocks.iter_mut().for_each(|b| *b = (b.0.wrapping_add(remote), b.1.wrapping_add(remote)));
                }
                TcpOption::Timestamp(val, _) => {
                    if let Some((script, live)) = self.first_stamp {
                        *val = val.wrapping_sub(live).wrapping_add(script);
                    }
                }
                _ => {}
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
                        off <= self.config.tolerance_us.max(self.now() / 8)
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
        let tcp = &self.tcp;
        let known = |name: &str| match constant(name) {
            Some(n) => Some(Value::Int(n)),
            None => tcp.info(name).map(Value::Int),
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
        let (result, errno) = self.answer(call).map_err(|end| at_line(end, line))?;
        self.compare(line, call, result, errno)
    }

    fn compare(&self, line: u32, call: &Call, result: Option<i64>, errno: Option<&'static str>) -> Step<()> {
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
        let what = match call.name.as_str() {
            "accept" => Pending::Accept(call.result.clone()),
            "connect" => {
                self.open()?;
                Pending::Connect
            }
            "read" | "recv" => {
                Pending::Read(call.arguments.get(2).and_then(Expr::int).unwrap_or(0).clamp(0, 1 << 30) as u32)
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" if self.tcp.established() => {
                let (bytes, how) = self.to_write(call)?;
                Pending::Write(bytes, 0, how)
            }
            "poll" => {
                let (descriptor, asked, told) = self.polled(call)?;
                Pending::Poll(descriptor, asked, told)
            }
            "epoll_wait" => {
                let (descriptor, most, told) = Run::epoll_wanted(call)?;
                Pending::Epoll(descriptor, most, told)
            }
            name => return Err(End::Foreign(format!("a {name}() that waits"))),
        };
        let before = self.last;
        self.waiting = Some(Waiting { line, what, expected: call.result.clone(), due, before, ended: None });
        // A write begins whether it is woken or not.
        self.look_as_woken(true);
        Ok(())
    }

    /// Tells the epoll descriptors what has woken those who wait.
    fn pass_wakes(&mut self) {
        let wakes = std::mem::take(&mut self.tcp.wakes);
        if wakes != Wakes::default() {
            self.epolls.values_mut().for_each(|e| e.wake(wakes));
        }
    }

    /// What there is to tell of a descriptor (`tcp_poll`).
    fn ready(&mut self, descriptor: Option<Descriptor>) -> u32 {
        match descriptor {
            Some(Descriptor::Listener) if self.tcp.state == State::Closed => epoll::OUT | epoll::HUP,
            Some(Descriptor::Listener) if self.backlog => epoll::with_synonyms(epoll::IN),
            Some(Descriptor::Connection) if self.tcp.established() => {
                let (sends, reads) = (!self.tcp.shut.0, !self.tcp.ended && !self.tcp.shut.1);
                let mut mask = 0;
                if self.tcp.unread > 0 || !reads {
                    mask |= epoll::IN;
                }
                if !sends || self.tcp.writeable() {
                    mask |= epoll::OUT;
                }
                mask |= if reads { 0 } else { epoll::RDHUP };
                mask |= if reads || sends { 0 } else { epoll::HUP };
                epoll::with_synonyms(mask)
            }
            _ => 0,
        }
    }

    /// Has what is waited for come?
    fn look_at_waiting(&mut self) {
        self.look_as_woken(self.tcp.wakes.output);
    }

    fn look_as_woken(&mut self, woken: bool) {
        let now = self.now();
        self.pass_wakes();
        let Some(mut waiting) = self.waiting.take() else { return };
        if waiting.ended.is_none() {
            waiting.ended = self.gives(&mut waiting.what, woken).map(|gave| (now, gave));
        }
        self.waiting = Some(waiting);
    }

    /// What a call that waits gives, if it waits no more; `woken`: there was room again in the send buffer.
    fn gives(&mut self, what: &mut Pending, woken: bool) -> Option<Step<i64>> {
        Some(Ok(match what {
            Pending::Accept(wanted) if self.backlog => self.accepted(wanted),
            Pending::Connect if self.tcp.established() => 0,
            Pending::Read(most) if self.tcp.unread > 0 || self.tcp.ended => {
                let n = (*most).min(self.tcp.unread);
                self.tcp.read(n);
                n.into()
            }
            Pending::Write(bytes, taken, how) if woken => {
                match self.tcp.write(*bytes - *taken, *how) {
                    Ok(more) => *taken += more,
                    Err(what) => return Some(Err(End::Foreign(what))),
                }
                if *taken < *bytes {
                    return None;
                }
                i64::from(*bytes)
            }
            Pending::Poll(descriptor, asked, wanted) => {
                let told = self.ready(Some(*descriptor)) & *asked;
                if told == 0 {
                    return None;
                }
                if told != *wanted {
                    return Some(Err(other_events("poll()", &[*wanted], &[told])));
                }
                1
            }
            Pending::Epoll(descriptor, most, wanted) => {
                let told = self.epoll_told(*descriptor, *most);
                if told.is_empty() {
                    return None;
                }
                match compare_told(wanted, &told) {
                    Ok(()) => told.len() as i64,
                    Err(end) => return Some(Err(end)),
                }
            }
            _ => return None,
        }))
    }

    /// A call that waited and has ended, or should have: was it in time, with the right result?
    fn done_in_time(&mut self) -> Step<()> {
        let Some(Waiting { line, due, before, ref mut ended, ref expected, .. }) = self.waiting else {
            return Ok(());
        };
        let slack = self.config.slack(due, before);
        let Some((at, gave)) = ended.take() else {
            if self.now() > due + slack {
                return self.fail(line, format!("the call still waits at {} s", seconds(self.now())));
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
            let over = self.now() > by;
            self.wait_until(by.max(self.now()) + 1)?;
            self.look_at_waiting();
            self.done_in_time()?;
            if over {
                break;
            }
        }
        Ok(())
    }

    /// The connection that waits is taken. The script says by which number it knows it.
    fn accepted(&mut self, wanted: &Expr) -> i64 {
        self.backlog = false;
        self.tcp.accepted();
        let free = wanted.int().filter(|n| *n > 2 && !self.descriptors.contains_key(n));
        let new = free.unwrap_or(self.next_descriptor);
        self.next_descriptor = self.next_descriptor.max(new + 1);
        self.descriptors.insert(new, Descriptor::Connection);
        new
    }

    fn open(&mut self) -> Step<()> {
        if self.tcp.begun() {
            return Err(End::Foreign("several connections".into()));
        }
        for descriptor in self.descriptors.values_mut().filter(|d| **d == Descriptor::Listener) {
            *descriptor = Descriptor::Connection;
        }
        self.tcp.connect();
        Ok(())
    }

    /// What a call gives: its result, none if whatever is told is right, and its error.
    fn answer(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let number = |i: usize| call.arguments.get(i).and_then(Expr::int);
        let words = |i: usize| call.arguments.get(i).map(Expr::words).unwrap_or_default();
        let ok = Ok((Some(0), None));
        let no = |errno| Ok((Some(-1), Some(errno)));
        let descriptor = number(0).and_then(|n| self.descriptors.get(&n).copied());
        if !matches!(call.name.as_str(), "socket" | "poll" | "epoll_create") && descriptor.is_none() {
            return no("EBADF");
        }
        let connection = descriptor == Some(Descriptor::Connection) && self.tcp.begun();
        if self.tcp.broken && !matches!(call.name.as_str(), "socket" | "close" | "fcntl") {
            return Err(End::Foreign("a call on a connection that a reset (RST) has ended".into()));
        }
        self.pass_wakes();
        match call.name.as_str() {
            "socket" => {
                if self.descriptors.values().any(|d| *d != Descriptor::Epoll) {
                    return Err(End::Foreign("several connections".into()));
                }
                if !self.tcp.is_fresh() {
                    // What the one before still sends is not looked at any more.
                    self.tcp = self.tcp.again();
                    self.stamps.clear();
                    (self.first_stamp, self.backlog, self.local_isn) = (None, false, 0);
                }
                // The script says from which number its descriptors count.
                let first = call.result.int().unwrap_or(3);
                self.next_descriptor = first + 1;
                self.descriptors.insert(first, Descriptor::Listener);
                self.non_blocking = call.arguments.iter().any(|a| a.words().contains(&"SOCK_NONBLOCK"));
                Ok((Some(first), None))
            }
            "bind" => ok,
            "listen" => {
                self.tcp.state = State::Listen;
                ok
            }
            "accept" => {
                if !self.backlog {
                    return if self.non_blocking {
                        no("EAGAIN")
                    } else {
                        Err(End::Foreign("an accept() that would wait".into()))
                    };
                }
                self.non_blocking = false;
                Ok((Some(self.accepted(&call.result)), None))
            }
            "connect" => {
                if self.tcp.begun() {
                    return match self.tcp.established() {
                        true => no("EISCONN"),
                        false => no("EALREADY"),
                    };
                }
                if !self.non_blocking {
                    return Err(End::Foreign("a connect() that would wait".into()));
                }
                self.open()?;
                no("EINPROGRESS")
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" if connection => self.write(call),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" if connection => self.read(call),
            "write" | "send" | "sendto" | "sendmsg" | "writev" => no("EPIPE"),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" => no("ENOTCONN"),
            "close" => {
                self.descriptors.retain(|&n, _| Some(n) != number(0));
                self.epolls.retain(|&n, _| Some(n) != number(0));
                self.epolls.values_mut().for_each(|e| {
                    e.remove(number(0).unwrap_or_default());
                });
                if !connection {
                    return ok;
                }
                if self.tcp.unread > 0 && self.tcp.established() {
                    self.tcp.reset();
                    return ok;
                }
                if self.tcp.state == State::SynSent {
                    self.tcp.give_up();
                    return ok;
                }
                if !self.tcp.established() {
                    return Err(End::Foreign("a close() before the connection is open".into()));
                }
                self.tcp.shut.1 = true;
                self.tcp.end();
                ok
            }
            "shutdown" if connection => {
                if !self.tcp.established() {
                    return Err(End::Foreign("a shutdown() before the connection is open".into()));
                }
                let how = words(1);
                self.tcp.shut.1 |= how.contains(&"SHUT_RD") || how.contains(&"SHUT_RDWR");
                if how.contains(&"SHUT_WR") || how.contains(&"SHUT_RDWR") {
                    self.tcp.end();
                }
                ok
            }
            "fcntl" => {
                if words(1).contains(&"F_SETFL") {
                    self.non_blocking = words(2).contains(&"O_NONBLOCK");
                    return ok;
                }
                Ok((Some(if self.non_blocking { 0x802 } else { 2 }), None))
            }
            "ioctl" => {
                let expected = call.arguments.get(2).and_then(Expr::single);
                let told = i64::from(self.tcp.unread);
                match expected {
                    Some(n) if n != told => Ok((Some(told), None)),
                    _ => ok,
                }
            }
            "setsockopt" => self.set_option(call),
            "getsockopt" => self.get_option(call),
            "poll" => self.poll(call),
            "epoll_create" => {
                let new = call.result.int().unwrap_or(self.next_descriptor);
                if number(0).is_some_and(|n| n <= 0) {
                    return no("EINVAL");
                }
                if self.descriptors.contains_key(&new) {
                    return Err(End::Foreign("a descriptor that is in use".into()));
                }
                self.next_descriptor = self.next_descriptor.max(new + 1);
                self.descriptors.insert(new, Descriptor::Epoll);
                self.epolls.insert(new, Epoll::default());
                Ok((Some(new), None))
            }
            "epoll_ctl" => self.epoll_ctl(call),
            "epoll_wait" => {
                let (descriptor, most, wanted) = Run::epoll_wanted(call)?;
                if !self.epolls.contains_key(&descriptor) {
                    return no("EINVAL");
                }
                if number(3) != Some(0) && call.result.int() == Some(0) {
                    return Err(End::Foreign("an epoll_wait() that waits".into()));
                }
                let told = self.epoll_told(descriptor, most);
                compare_told(&wanted, &told)?;
                Ok((Some(told.len() as i64), None))
            }
            name => Err(End::Foreign(format!("{name}() on a socket without connection"))),
        }
    }

    /// How many bytes a call writes, and how.
    fn to_write(&self, call: &Call) -> Step<(u32, Write)> {
        let bytes = match call.name.as_str() {
            "sendmsg" | "writev" => vector_bytes(&call.arguments),
            _ => call.arguments.get(2).and_then(Expr::int),
        };
        let Some(bytes) = bytes.filter(|n| (0..1 << 30).contains(n)) else {
            return Err(End::Foreign(format!("a {}() of no known length", call.name)));
        };
        let flags: Vec<&str> =
            call.arguments.iter().flat_map(Expr::words).filter(|w| w.starts_with("MSG_")).collect();
        if let Some(flag) = flags.iter().find(|f| {
            !matches!(**f, "MSG_DONTWAIT" | "MSG_NOSIGNAL" | "MSG_EOR" | "MSG_MORE" | "MSG_ZEROCOPY")
        }) {
            return Err(End::Foreign(flag.to_string()));
        }
        let has = |flag| flags.contains(&flag);
        Ok((bytes as u32, Write { ends_record: has("MSG_EOR"), more: has("MSG_MORE") }))
    }

    fn write(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let (bytes, how) = self.to_write(call)?;
        if call.arguments.get(1).and_then(Expr::word) == Some("NULL") {
            return Ok((Some(-1), Some("EFAULT")));
        }
        if self.tcp.shut.0 {
            return Ok((Some(-1), Some("EPIPE")));
        }
        if !self.tcp.established() {
            return Ok((Some(-1), Some("EAGAIN")));
        }
        let taken = self.tcp.write(bytes, how).map_err(End::Foreign)?;
        let waits = !self.non_blocking && !call.arguments.iter().any(|a| a.words().contains(&"MSG_DONTWAIT"));
        match taken {
            n if n < bytes && waits => Err(End::Foreign(format!("a {}() that would wait", call.name))),
            0 if bytes > 0 => Ok((Some(-1), Some("EAGAIN"))),
            n => Ok((Some(n.into()), None)),
        }
    }

    fn read(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let most = match call.name.as_str() {
            "recvmsg" | "readv" => vector_bytes(&call.arguments),
            _ => call.arguments.get(2).and_then(Expr::int),
        };
        let Some(most) = most.filter(|n| (0..1 << 30).contains(n)) else {
            return Err(End::Foreign(format!("a {}() of no known length", call.name)));
        };
        let peeks = call.arguments.iter().any(|a| a.words().contains(&"MSG_PEEK"));
        if peeks {
            return Err(End::Foreign("MSG_PEEK".into()));
        }
        if self.tcp.unread == 0 {
            return match (self.tcp.ended || self.tcp.shut.1, self.non_blocking) {
                (true, _) => Ok((Some(0), None)),
                (false, true) => Ok((Some(-1), Some("EAGAIN"))),
                _ => Err(End::Foreign(format!("a {}() that would wait", call.name))),
            };
        }
        if call.arguments.get(1).and_then(Expr::word) == Some("NULL") {
            return Ok((Some(-1), Some("EFAULT")));
        }
        let n = self.tcp.unread.min(most as u32);
        self.tcp.read(n);
        if let Some(told) = inq(&call.arguments) {
            // What is left to read (`TCP_INQ`), the end counted as one.
            let left = i64::from(self.tcp.unread + u32::from(self.tcp.ended && self.tcp.unread == 0));
            if told != left {
                return Err(End::Failed(Failure {
                    line: 0,
                    says: "the control message is another".into(),
                    expected: Some(format!("TCP_CM_INQ {told}")),
                    actual: Some(format!("TCP_CM_INQ {left}")),
                }));
            }
        }
        Ok((Some(n.into()), None))
    }

    fn set_option(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let value = call.arguments.get(3);
        let number = value.and_then(Expr::single);
        match (call.arguments.get(2).and_then(Expr::word).unwrap_or_default(), number) {
            ("SO_RCVBUF", Some(n)) => self.tcp.set_receive_buffer(n.clamp(0, 1 << 30) as u32),
            ("SO_SNDBUF", Some(n)) => self.tcp.set_send_buffer(n.clamp(0, 1 << 30) as u32),
            ("TCP_NODELAY", Some(n)) => {
                self.tcp.no_delay = n != 0;
                self.tcp.pushed(n != 0);
            }
            ("TCP_CORK", Some(n)) => {
                self.tcp.cork = n != 0;
                self.tcp.pushed(n == 0 && self.tcp.no_delay);
            }
            ("TCP_CONGESTION", _) => {
                let text = |e: &Expr| match e {
                    Expr::Text(t) => Some(t.clone()),
                    Expr::List(l) => {
                        l.iter().find_map(|e| if let Expr::Text(t) = e { Some(t.clone()) } else { None })
                    }
                    _ => None,
                };
                let Some(name) = value.and_then(text) else {
                    return Err(End::Foreign("a congestion control of no known name".into()));
                };
                let Some(cca) = control(&name) else {
                    return Err(End::Foreign(format!("congestion control {name}")));
                };
                if self.forced.is_none() {
                    self.settings.cca = cca;
                    self.tcp.set_control(cca).map_err(End::Foreign)?;
                }
            }
            ("TCP_NOTSENT_LOWAT", Some(n)) => self.tcp.notsent_lowat = n as u32,
            ("TCP_WINDOW_CLAMP", Some(n)) => {
                if !self.tcp.set_window_clamp(n.clamp(0, 1 << 30) as u32) {
                    return Ok((Some(-1), Some("EINVAL")));
                }
            }
            ("TCP_MAXSEG", Some(n)) => {
                // `TCP_MIN_MSS`, `MAX_TCP_WINDOW`
                if n != 0 && !(88..=32_767).contains(&n) {
                    return Ok((Some(-1), Some("EINVAL")));
                }
                if self.tcp.begun() {
                    return Err(End::Foreign("TCP_MAXSEG of an open connection".into()));
                }
                self.tcp.user_mss = u32::try_from(n).ok().filter(|&n| n > 0);
            }
            ("SO_REUSEADDR" | "TCP_INQ" | "SO_ZEROCOPY", _) => {}
            (option, _) => return Err(End::Foreign(format!("the socket option {option}"))),
        }
        Ok((Some(0), None))
    }

    fn get_option(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let wanted = call.arguments.get(3).and_then(Expr::single);
        let told = match call.arguments.get(2).and_then(Expr::word).unwrap_or_default() {
            "SO_ERROR" => 0,
            "SO_RCVBUF" => i64::from(self.tcp.receive_bytes()),
            "SO_SNDBUF" => i64::from(self.tcp.send_room()),
            "TCP_NOTSENT_LOWAT" => i64::from(self.tcp.notsent_lowat),
            "TCP_WINDOW_CLAMP" => i64::from(self.tcp.window_clamp()),
            "TCP_MAXSEG" => match self.tcp.user_mss.filter(|_| !self.tcp.begun()) {
                Some(mss) => mss.into(),
                None => self.tcp.mss().into(),
            },
            "TCP_NODELAY" => i64::from(self.tcp.no_delay),
            option => return Err(End::Foreign(format!("the socket option {option}"))),
        };
        match wanted {
            Some(n) if n != told => {
                let option = call.arguments.get(2).and_then(Expr::word).unwrap_or_default();
                Err(End::Failed(Failure {
                    line: 0,
                    says: "a socket option has another value".into(),
                    expected: Some(format!("{option} {n}")),
                    actual: Some(format!("{option} {told}")),
                }))
            }
            _ => Ok((Some(0), None)),
        }
    }

    /// The descriptor that poll() is asked of, what is asked, and what it is to tell.
    fn polled(&self, call: &Call) -> Step<(Descriptor, u32, u32)> {
        let Some(Expr::List(list)) = call.arguments.first() else {
            return Err(End::Foreign("poll()".into()));
        };
        let [Expr::Struct(fields)] = list.as_slice() else {
            return Err(End::Foreign("poll() of several".into()));
        };
        let descriptor = field(fields, "fd").and_then(Expr::int).and_then(|n| self.descriptors.get(&n));
        let (Some(&descriptor), Some(asked), Some(told)) =
            (descriptor, field_mask(fields, "events"), field_mask(fields, "revents"))
        else {
            return Err(End::Foreign("poll() of what is not known here".into()));
        };
        Ok((descriptor, asked | epoll::HUP, told))
    }

    /// One descriptor's events, without waiting.
    fn poll(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let (descriptor, asked, wanted) = self.polled(call)?;
        let told = self.ready(Some(descriptor)) & asked;
        if told == 0 && call.arguments.get(2).and_then(Expr::int) != Some(0) {
            return Err(End::Foreign("a poll() that waits".into()));
        }
        if told != wanted {
            return Err(other_events("poll()", &[wanted], &[told]));
        }
        Ok((Some(i64::from(told != 0)), None))
    }

    fn epoll_ctl(&mut self, call: &Call) -> Step<(Option<i64>, Option<&'static str>)> {
        let number = |i: usize| call.arguments.get(i).and_then(Expr::int).unwrap_or(-1);
        let (descriptor, watched) = (number(0), number(2));
        let Some(&of) = self.descriptors.get(&watched) else { return Ok((Some(-1), Some("EBADF"))) };
        let now = self.ready(Some(of));
        let Some(epoll) = self.epolls.get_mut(&descriptor) else { return Ok((Some(-1), Some("EINVAL"))) };
        let how = call.arguments.get(1).and_then(Expr::word).unwrap_or_default();
        let done = match (how, call.arguments.get(3)) {
            ("EPOLL_CTL_DEL", _) => {
                if epoll.remove(watched) {
                    Ok(())
                } else {
                    Err("ENOENT")
                }
            }
            ("EPOLL_CTL_ADD" | "EPOLL_CTL_MOD", Some(Expr::Struct(fields))) => {
                let Some(events) = field_mask(fields, "events") else {
                    return Err(End::Foreign("epoll_ctl() with events that are not known here".into()));
                };
                epoll.set(how == "EPOLL_CTL_ADD", watched, events, field_data(fields), now)
            }
            _ => return Err(End::Foreign("epoll_ctl() of no known kind".into())),
        };
        Ok(match done {
            Ok(()) => (Some(0), None),
            Err(errno) => (Some(-1), Some(errno)),
        })
    }

    /// The descriptor of an epoll_wait(), the most that it may tell, and what it is to tell.
    fn epoll_wanted(call: &Call) -> Step<(i64, usize, Told)> {
        let number = |i: usize| call.arguments.get(i).and_then(Expr::int);
        let none = call.result.int().is_none_or(|n| n <= 0);
        let events = match call.arguments.get(1) {
            _ if none => Vec::new(),
            Some(Expr::Struct(fields)) => {
                field_mask(fields, "events").map(|m| (m, field_data(fields))).into_iter().collect()
            }
            _ => Vec::new(),
        };
        if events.is_empty() && !none {
            return Err(End::Foreign("epoll_wait() with events that are not known here".into()));
        }
        Ok((number(0).unwrap_or(-1), number(2).unwrap_or(1).clamp(1, 64) as usize, events))
    }

    /// What epoll_wait() tells now.
    fn epoll_told(&mut self, descriptor: i64, most: usize) -> Told {
        self.pass_wakes();
        let Some(mut epoll) = self.epolls.remove(&descriptor) else { return Vec::new() };
        let told = epoll.tell(most, |watched| self.ready(self.descriptors.get(&watched).copied()));
        self.epolls.insert(descriptor, epoll);
        told
    }
}

/// A field of a structure.
fn field<'e>(fields: &'e [(Option<String>, Expr)], name: &str) -> Option<&'e Expr> {
    fields.iter().find(|f| f.0.as_deref() == Some(name)).map(|f| &f.1)
}

/// The events of a field.
fn field_mask(fields: &[(Option<String>, Expr)], name: &str) -> Option<u32> {
    match field(fields, name)? {
        Expr::Int(n) => u32::try_from(*n).ok(),
        other => epoll::mask(&other.words()),
    }
}

/// What epoll gives back with events.
fn field_data(fields: &[(Option<String>, Expr)]) -> i64 {
    ["fd", "ptr", "u32", "u64"].iter().find_map(|n| field(fields, n)).and_then(Expr::int).unwrap_or(0)
}

/// What a control message says of bytes left to read.
fn inq(all: &[Expr]) -> Option<i64> {
    all.iter().find_map(|e| match e {
        Expr::Struct(fields) => {
            let of = |name: &str| fields.iter().find(|f| f.0.as_deref() == Some(name)).map(|f| &f.1);
            match (of("cmsg_type").and_then(Expr::word), of("cmsg_data")) {
                (Some("TCP_CM_INQ"), Some(data)) => data.int(),
                _ => fields.iter().find_map(|f| inq(std::slice::from_ref(&f.1))),
            }
        }
        Expr::List(list) => inq(list),
        _ => None,
    })
}

/// Bytes of the vectors in the arguments: `{..., 1000}`.
fn vector_bytes(all: &[Expr]) -> Option<i64> {
    let mut sum = None;
    for e in all {
        let more = match e {
            Expr::Struct(fields) => match fields.as_slice() {
                [(None, Expr::Any), (None, Expr::Int(n))] => Some(*n),
                fields if fields.iter().any(|f| f.0.as_deref() == Some("cmsg_type")) => None,
                fields => fields
                    .iter()
                    .filter_map(|f| vector_bytes(std::slice::from_ref(&f.1)))
                    .reduce(|a, b| a.saturating_add(b)),
            },
            Expr::List(list) => vector_bytes(list),
            _ => None,
        };
        if let Some(n) = more {
            sum = Some(sum.unwrap_or(0i64).saturating_add(n));
        }
    }
    sum
}

/// A time of the stack's as seconds since the script began.
fn told_at(ns: u64) -> String {
    seconds(((ns - BEGIN_NS) / 1000) as i64)
}

/// Microseconds as seconds.
fn seconds(us: i64) -> String {
    format!("{:.6}", us as f64 / 1e6)
}

/// Names that packetdrill sets for code.
fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_ESTABLISHED" => 1,
        "TCP_SYN_SENT" => 2,
        "TCP_SYN_RECV" => 3,
        "TCP_FIN_WAIT1" => 4,
        "TCP_FIN_WAIT2" => 5,
        "TCP_TIME_WAIT" => 6,
        "TCP_CLOSE" => 7,
        "TCP_CLOSE_WAIT" => 8,
        "TCP_LAST_ACK" => 9,
        "TCP_LISTEN" => 10,
        "TCP_CLOSING" => 11,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCPI_OPT_ECN_SEEN" => 16,
        "TCPI_OPT_SYN_DATA" => 32,
        _ => return None,
    })
}
