//! A script as the lab's guest runs it (`crates/lab/guest/script.c`): a line for each thing that happens.

use crate::packet::{Ecn, Packet, TcpOption};
use crate::played::knows;
use crate::python::{self, Value};
use crate::run::{LONGEST_US, PATIENCE_US};
use crate::script::{Action, Call, Event, Expr, Script, When};
use crate::settings::{Counter, Order, orders, plain};
use crate::stack::BEGIN_TICKS;
use crate::words::{constant, field, field_data, field_mask, inq, number_of, vector_bytes};
use queuewright_sim::Kind;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

/// The most bytes of a packet that comes in, and of a call.
const LARGEST_PACKET: u32 = 65_000;
const LARGEST_CALL: i64 = 64 << 20;

/// What the guest is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its lines.
    pub text: String,
    /// Modules that the kernel needs for it.
    pub modules: Vec<&'static str>,
}

/// How the script of a folder is run on a real kernel.
///
/// # Errors
/// All that it asks for and the guest's program does not do.
pub fn plan(
    script: &Script,
    dir: &Path,
    cca: Option<Kind>,
    remote_isns: &[u32],
) -> Result<Plan, Vec<String>> {
    let mut planner = Planner {
        text: String::new(),
        modules: Vec::new(),
        foreign: Vec::new(),
        next: 3,
        mss: 0,
        cca,
        variables: HashMap::new(),
        remote_isns,
        sockets: 0,
        open: HashSet::new(),
    };
    for (name, value, _) in &script.options {
        match (name.as_str(), value.as_deref()) {
            ("strict_segments", _) => planner.text += "strict\n",
            ("tcp_ts_ecr_scaled", _) => planner.text += "scaled\n",
            ("mss", Some(mss)) => planner.mss = mss.parse().unwrap_or(0),
            _ => {}
        }
    }
    if let Some(linux) = cca.map(|c| c.info().linux) {
        match linux {
            Some(linux) => {
                planner.modules.extend(linux.module);
                planner.text += &format!("control {}\n", linux.name);
            }
            None => planner.lacks("a congestion control that Linux does not have"),
        }
    }
    planner.text += &format!("peer {}\n", remote_isns.first().unwrap_or(&0));
    planner.text += &format!("ticks {}\npatience {PATIENCE_US} {LONGEST_US}\n", BEGIN_TICKS);
    for (i, event) in script.events.iter().enumerate() {
        planner.event(i, event, dir);
    }
    if planner.foreign.is_empty() {
        Ok(Plan { text: planner.text, modules: planner.modules })
    } else {
        Err(planner.foreign)
    }
}

struct Planner<'a> {
    text: String,
    modules: Vec<&'static str>,
    foreign: Vec<String>,
    /// The number of the next descriptor, unless the script says another.
    next: i64,
    mss: u32,
    cca: Option<Kind>,
    variables: HashMap<String, Value>,
    /// The numbers that the peer of each connection begins with.
    remote_isns: &'a [u32],
    /// How many sockets there have been, and the descriptors of those that are open.
    sockets: usize,
    open: HashSet<i64>,
}

impl Planner<'_> {
    fn lacks(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.foreign.contains(&what) {
            self.foreign.push(what);
        }
    }

    fn event(&mut self, number: usize, event: &Event, dir: &Path) {
        let when = match event.when {
            When::At(t) => format!("{number} at {t} {t}"),
            When::Between(a, b) => format!("{number} at {a} {b}"),
            When::After(t) => format!("{number} after {t} {t}"),
            When::AfterBetween(a, b) => format!("{number} after {a} {b}"),
            When::Any => format!("{number} any 0 0"),
        };
        // What a range of times or any time leaves open is when it was.
        let exact = matches!(event.when, When::At(_) | When::After(_));
        let when = format!("{when} {}", u8::from(exact));
        let mut add = |what: String| {
            let _ = writeln!(self.text, "{when} {what}");
        };
        match &event.action {
            Action::Packet(packet) if packet.inbound => match inbound(packet, self.mss) {
                Ok(what) => add(what),
                Err(what) => what.into_iter().for_each(|w| self.lacks(w)),
            },
            Action::Packet(packet) if packet.foreign.is_empty() => {
                let stamp = packet.timestamp().map_or(-1, |t| i64::from(t.0));
                add(format!("out {} {} {} {stamp}", packet.len, u8::from(packet.flags.syn), packet.seq));
            }
            Action::Packet(packet) => packet.foreign.iter().for_each(|w| self.lacks(*w)),
            Action::Foreign(what) => self.lacks(*what),
            Action::Code(code) => {
                add("info".into());
                let known = |name: &str| (knows(name) || constant(name).is_some()).then_some(Value::Int(1));
                // That it is Python has been seen when the script was read.
                let unknown = python::read(code, &mut self.variables, &known);
                unknown.into_iter().flatten().for_each(|what| self.lacks(what));
            }
            Action::Command(command) if Counter::asked(command).is_some() => add("counters".into()),
            Action::Command(command) => {
                add(if command.trim_start().starts_with("nstat") { "counters" } else { "nothing" }.into());
                for order in orders(command, dir) {
                    match self.order(order) {
                        Ok(what) => {
                            let _ = writeln!(self.text, "{when} {what}");
                        }
                        Err(what) => self.lacks(what),
                    }
                }
            }
            Action::Call(call) => match self.call(call) {
                Ok(what) => {
                    if call.name == "socket" && self.sockets > 1 {
                        let isn = self.remote_isns.get(self.sockets - 1).unwrap_or(&0);
                        let _ = writeln!(self.text, "{when} again {isn}");
                    }
                    let waits = u8::from(call.end.is_some());
                    let _ = writeln!(self.text, "{when} call {waits} {what}");
                }
                Err(what) => self.lacks(what),
            },
        }
    }

    fn order(&mut self, order: Order) -> Result<String, String> {
        Ok(match order {
            Order::Sysctl(name, value) => {
                let value = plain(&value);
                if name == "net.ipv4.tcp_congestion_control" {
                    if self.cca.is_some() {
                        return Ok("nothing".into());
                    }
                    self.control(&value)?;
                }
                format!("sysctl {} {value}", name.replace('.', "/"))
            }
            Order::Paced(paced) => {
                if paced && !self.modules.contains(&"sch_fq") {
                    self.modules.push("sch_fq");
                }
                format!("qdisc {}", if paced { "fq" } else { "pfifo" })
            }
            Order::Gso(gso) => format!("gso {}", u8::from(gso)),
            Order::Sleep(us) => format!("sleep {us}"),
            Order::Unknown(what) => return Err(what),
        })
    }

    /// A congestion control by Linux's name: what has to be loaded for it.
    fn control(&mut self, name: &str) -> Result<(), String> {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("congestion control {name}"));
        }
        let module = crate::control(name).and_then(|kind| kind.info().linux).and_then(|linux| linux.module);
        self.modules.extend(module.filter(|m| !self.modules.contains(m)));
        Ok(())
    }

    /// The number by which the script knows a new descriptor.
    fn new_descriptor(&mut self, call: &Call) -> i64 {
        let number = call.result.int().filter(|n| *n > 2).unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        number
    }

    fn call(&mut self, call: &Call) -> Result<String, String> {
        let arguments = &call.arguments;
        let argument = |i: usize| arguments.get(i);
        let name = call.name.as_str();
        if let Some(what) = crate::foreign::call_foreign(call).filter(|w| !w.starts_with("the socket option"))
        {
            return Err(what);
        }
        let fd = argument(0).and_then(Expr::int).unwrap_or(-1);
        let number = |i: usize| {
            let e = argument(i).ok_or_else(|| format!("a {name}() with too few arguments"))?;
            number_of(e).ok_or_else(|| format!("a {name}() of what is not known here"))
        };
        let null = u8::from(argument(1).and_then(Expr::word) == Some("NULL"));
        // Bytes and flags of what is written or read.
        let vector = matches!(name, "sendmsg" | "writev" | "recvmsg" | "readv");
        let bytes = || {
            let bytes = if vector { vector_bytes(arguments) } else { argument(2).and_then(Expr::int) };
            bytes.filter(|n| (0..=LARGEST_CALL).contains(n)).ok_or(format!("a {name}() of no known length"))
        };
        let flags = || {
            let place = match name {
                "sendmsg" | "recvmsg" => 2,
                "send" | "sendto" | "recv" | "recvfrom" => 3,
                _ => return Ok(0),
            };
            number(place)
        };
        Ok(match name {
            // The guest's program knows one connection's numbers at a time.
            "socket" if !self.open.is_empty() => return Err("several connections".into()),
            "socket" => {
                let kind = number(1)?;
                let new = self.new_descriptor(call);
                self.sockets += 1;
                self.open.insert(new);
                format!("socket {new} {kind}")
            }
            "bind" | "connect" => format!("{name} {fd}"),
            "close" => {
                self.open.remove(&fd);
                format!("close {fd}")
            }
            "listen" | "shutdown" => format!("{name} {fd} {}", number(1)?),
            "accept" => {
                let new = self.new_descriptor(call);
                if call.result.int().is_none_or(|n| n >= 0) {
                    self.open.insert(new);
                }
                format!("accept {fd} {new}")
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" => {
                format!("send {fd} {} {} {null}", bytes()?, flags()?)
            }
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" => {
                let told = u8::from(inq(arguments).is_some());
                format!("recv {fd} {} {} {null} {told}", bytes()?, flags()?)
            }
            "fcntl" => format!("fcntl {fd} {} {}", number(1)?, argument(2).map_or(Ok(0), |_| number(2))?),
            "ioctl" => format!("ioctl {fd} {}", number(1)?),
            "setsockopt" => match argument(3) {
                Some(value) if argument(2).and_then(Expr::word) == Some("TCP_CONGESTION") => {
                    let name = text(value).ok_or("a congestion control of no known name")?;
                    self.control(name)?;
                    if self.cca.is_some() { "nothing".into() } else { format!("control {fd} {name}") }
                }
                Some(value) => {
                    let (level, option) = self.option(call)?;
                    let value = value.single().ok_or_else(|| self.no_number(call))?;
                    format!("set {fd} {level} {option} {value}")
                }
                None => return Err("a setsockopt() without a value".into()),
            },
            "getsockopt" => {
                if argument(3).is_some_and(|value| text(value).is_some() || matches!(value, Expr::Struct(_)))
                {
                    return Err(self.no_number(call));
                }
                let (level, option) = self.option(call)?;
                format!("get {fd} {level} {option}")
            }
            "poll" => {
                let Some(Expr::List(list)) = argument(0) else { return Err("poll()".into()) };
                let [Expr::Struct(fields)] = list.as_slice() else { return Err("poll() of several".into()) };
                let fd = field(fields, "fd").and_then(Expr::int).unwrap_or(-1);
                let asked = field_mask(fields, "events").ok_or("poll() of what is not known here")?;
                format!("poll {fd} {asked} {}", number(2)?)
            }
            "epoll_create" => format!("epoll_create {} {}", self.new_descriptor(call), number(0)?),
            "epoll_ctl" => {
                let how = match argument(1).and_then(Expr::word) {
                    Some("EPOLL_CTL_ADD") => 1,
                    Some("EPOLL_CTL_DEL") => 2,
                    Some("EPOLL_CTL_MOD") => 3,
                    _ => return Err("epoll_ctl() of no known kind".into()),
                };
                let (events, data) = match argument(3) {
                    Some(Expr::Struct(fields)) => (field_mask(fields, "events"), field_data(fields)),
                    _ => (Some(0), 0),
                };
                let events = events.ok_or("epoll_ctl() with events that are not known here")?;
                format!("epoll_ctl {fd} {how} {} {events} {data}", number(2)?)
            }
            "epoll_wait" => format!("epoll_wait {fd} {} {}", number(2)?, number(3)?),
            other => return Err(format!("{other}()")),
        })
    }

    fn option(&self, call: &Call) -> Result<(i64, i64), String> {
        let number = |i: usize| call.arguments.get(i).and_then(number_of);
        number(1).zip(number(2)).ok_or_else(|| self.no_number(call))
    }

    fn no_number(&self, call: &Call) -> String {
        let option = call.arguments.get(2).and_then(Expr::word).unwrap_or("?");
        format!("the socket option {option}")
    }
}

/// The string that an argument is.
fn text(e: &Expr) -> Option<&str> {
    match e {
        Expr::Text(t) => Some(t),
        Expr::List(list) => list.iter().find_map(text),
        _ => None,
    }
}

/// A packet for the guest, which puts in ports, and turns numbers and echoes of the script's into those of the kernel.
fn inbound(packet: &Packet, mss: u32) -> Result<String, Vec<String>> {
    if !packet.foreign.is_empty() {
        return Err(packet.foreign.iter().map(|f| f.to_string()).collect());
    }
    if packet.len > LARGEST_PACKET {
        return Err(vec!["a packet that is too large for IP".into()]);
    }
    let f = packet.flags;
    let bits = [f.fin, f.syn, f.rst, f.psh, f.ack, false, f.ece, f.cwr];
    let flags = bits.iter().enumerate().fold(0u8, |all, (i, set)| all | u8::from(*set) << i);
    let mut tcp = vec![0; 4];
    tcp.extend(packet.seq.to_be_bytes());
    tcp.extend(if f.ack { packet.ack } else { 0 }.to_be_bytes());
    tcp.extend([0, flags]);
    tcp.extend(packet.win.unwrap_or(0).to_be_bytes());
    tcp.extend([0; 4]);
    for option in packet.options.iter().flatten() {
        match option {
            TcpOption::Eol => tcp.push(0),
            TcpOption::Nop => tcp.push(1),
            TcpOption::Mss(mss) => {
                tcp.extend([2, 4]);
                tcp.extend(mss.to_be_bytes());
            }
            TcpOption::WindowScale(shift) => tcp.extend([3, 3, *shift]),
            TcpOption::SackOk => tcp.extend([4, 2]),
            TcpOption::Sack(blocks) => {
                tcp.extend([5, 2 + 8 * blocks.len() as u8]);
                for (from, to) in blocks {
                    tcp.extend(from.to_be_bytes());
                    tcp.extend(to.to_be_bytes());
                }
            }
            TcpOption::Timestamp(val, echo) => {
                tcp.extend([8, 10]);
                tcp.extend(val.to_be_bytes());
                tcp.extend(echo.to_be_bytes());
            }
            TcpOption::Other(name) => return Err(vec![format!("the TCP option {name}")]),
        }
    }
    while !tcp.len().is_multiple_of(4) {
        tcp.push(0);
    }
    if tcp.len() > 60 {
        return Err(vec!["more options than TCP has room for".into()]);
    }
    tcp[12] = ((tcp.len() / 4) << 4) as u8;
    let ecn = match packet.ecn {
        None | Some(Ecn::None) => 0,
        Some(Ecn::Ect1) => 1,
        Some(Ecn::Ect0 | Ecn::Either) => 2,
        Some(Ecn::Ce) => 3,
    };
    let of = if mss > 0 && packet.len > mss { mss } else { 0 };
    let hex: String = tcp.iter().map(|b| format!("{b:02x}")).collect();
    Ok(format!("in {ecn} {} {of} {hex}", packet.len))
}
