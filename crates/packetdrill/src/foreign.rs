//! What of a script is seen to be beyond the simulated stack before it runs.

use crate::python::{self, Value};
use crate::script::{Action, Call, Expr, Script};
use crate::settings::{Counter, Settings};
use crate::stack::{KNOWN, RECEIVE_BUFFER};
use crate::words::{NUMBERS, constant, number_of};
use std::collections::HashMap;
use std::path::Path;

/// All of a script that is seen to be beyond the simulated stack before it runs.
pub fn foreign(script: &Script, dir: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |what: String| {
        if !all.contains(&what) {
            all.push(what);
        }
    };
    let mut settings = Settings::default();
    let mut set = HashMap::new();
    for event in &script.events {
        match &event.action {
            Action::Packet(packet) => packet.foreign.iter().for_each(|f| add(f.to_string())),
            Action::Foreign(what) => add(what.to_string()),
            Action::Command(command) if Counter::asked(command).is_some() => {}
            Action::Command(command) => settings.command(command, dir).err().into_iter().for_each(&mut add),
            Action::Call(call) => {
                call_foreign(call).or_else(|| not_simulated(call)).into_iter().for_each(&mut add);
            }
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

/// `MSG_FASTOPEN`
const FAST_OPEN: i64 = 0x2000_0000;

/// Why a script that sends without a copy cannot be run.
pub const ZERO_COPY: &str = "MSG_ZEROCOPY";

/// What of a system call is beyond the simulated stack.
pub fn call_foreign(call: &Call) -> Option<String> {
    let words: Vec<&str> = call.arguments.iter().flat_map(Expr::words).collect();
    let has = |word: &str| words.contains(&word);
    let flagged = |flag: &str| words.iter().any(|w| w.starts_with(flag));
    if let Some((_, least, most)) = ARGUMENTS.iter().find(|a| a.0 == call.name)
        && !(*least..=*most).contains(&call.arguments.len())
    {
        return Some(format!("a {}() of {} arguments", call.name, call.arguments.len()));
    }
    match call.name.as_str() {
        _ if has("SOCK_DGRAM") || has("SOCK_RAW") => Some("sockets of other kinds than TCP".into()),
        _ if has("AF_INET6") => Some("IPv6".into()),
        _ if flagged("MSG_ZEROCOPY") => Some(ZERO_COPY.into()),
        _ if flagged("MSG_FASTOPEN") => Some("TCP Fast Open".into()),
        "send" | "sendto"
            if call.arguments.get(3).and_then(number_of).is_some_and(|n| n & FAST_OPEN != 0) =>
        {
            Some("TCP Fast Open".into())
        }
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

/// How many arguments calls have, at least and at most.
const ARGUMENTS: [(&str, usize, usize); 24] = [
    ("socket", 3, 3),
    ("bind", 3, 3),
    ("listen", 2, 2),
    ("accept", 3, 3),
    ("connect", 3, 3),
    ("write", 3, 3),
    ("send", 4, 4),
    ("sendto", 6, 6),
    ("sendmsg", 3, 3),
    ("writev", 3, 3),
    ("read", 3, 3),
    ("recv", 4, 4),
    ("recvfrom", 6, 6),
    ("recvmsg", 3, 3),
    ("readv", 3, 3),
    ("fcntl", 2, 3),
    ("close", 1, 1),
    ("shutdown", 2, 2),
    ("poll", 3, 3),
    ("epoll_create", 1, 1),
    ("epoll_ctl", 4, 4),
    ("epoll_wait", 4, 4),
    ("setsockopt", 5, 5),
    ("getsockopt", 5, 5),
];

/// Flags of calls that send, and of those that read, which are simulated or change nothing.
const SENDS: [&str; 5] = ["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_EOR", "MSG_MORE", "MSG_ZEROCOPY"];
const READS: [&str; 1] = ["MSG_NOSIGNAL"];
/// Fields of what calls are given.
const POLL_FIELDS: [&str; 3] = ["fd", "events", "revents"];
const EPOLL_FIELDS: [&str; 5] = ["events", "fd", "ptr", "u32", "u64"];
const MESSAGE_FIELDS: [&str; 10] = [
    "msg_name",
    "msg_namelen",
    "msg_iov",
    "msg_iovlen",
    "msg_flags",
    "msg_control",
    "msg_controllen",
    "cmsg_level",
    "cmsg_type",
    "cmsg_data",
];

/// What of a call no simulated stack knows: words, numbers and fields that would be passed over.
fn not_simulated(call: &Call) -> Option<String> {
    let name = call.name.as_str();
    let argument = |i: usize| call.arguments.get(i);
    let of = |what: &str| Some(format!("a {name}() with {what}"));
    // Flags by words or numbers, all of which are among those.
    let flags = |i: usize, known: &[&str]| {
        let all = argument(i)?;
        let bits = known.iter().filter_map(|k| NUMBERS.iter().find(|n| n.0 == *k)).fold(0, |b, n| b | n.1);
        match number_of(all) {
            Some(n) if n & !bits == 0 => None,
            Some(_) => {
                let strange = all.words().into_iter().find(|w| !known.contains(w));
                of(strange.unwrap_or("flags that are not known here"))
            }
            None => {
                of(all.words().into_iter().find(|w| !known.contains(w)).unwrap_or("what is not known here"))
            }
        }
    };
    let one_of = |i: usize, known: &[&str]| {
        let number = argument(i).and_then(number_of);
        let known = known.iter().any(|k| NUMBERS.iter().any(|n| n.0 == *k && Some(n.1) == number));
        (!known).then(|| argument(i).and_then(Expr::word).unwrap_or("what is not known here")).and_then(of)
    };
    match name {
        "send" | "sendto" => flags(3, &SENDS),
        "sendmsg" => {
            flags(2, &SENDS).or_else(|| strange_field(&call.arguments, &MESSAGE_FIELDS).and_then(of))
        }
        "recv" | "recvfrom" => flags(3, &READS),
        "recvmsg" => {
            flags(2, &READS).or_else(|| strange_field(&call.arguments, &MESSAGE_FIELDS).and_then(of))
        }
        "shutdown" => one_of(1, &["SHUT_RD", "SHUT_WR", "SHUT_RDWR"]),
        "fcntl" => one_of(1, &["F_GETFL", "F_SETFL"])
            .or_else(|| flags(2, &["O_RDONLY", "O_WRONLY", "O_RDWR", "O_NONBLOCK"])),
        "setsockopt" | "getsockopt" => {
            let option = argument(2).and_then(Expr::word).unwrap_or_default();
            let level = if option.starts_with("SO_") { "SOL_SOCKET" } else { "SOL_TCP" };
            one_of(1, &[level])
        }
        "bind" | "connect" => {
            argument(1).filter(|a| matches!(a, Expr::Struct(_))).and_then(|_| of("an address"))
        }
        "listen" => {
            argument(1).and_then(number_of).is_none().then_some("what is not known here").and_then(of)
        }
        "poll" => strange_field(&call.arguments, &POLL_FIELDS).and_then(of),
        "epoll_ctl" => strange_field(&call.arguments, &EPOLL_FIELDS).and_then(of),
        _ => None,
    }
}

/// A field that is none of these, anywhere.
fn strange_field<'e>(all: &'e [Expr], known: &[&str]) -> Option<&'e str> {
    all.iter().find_map(|e| match e {
        Expr::List(l) | Expr::Or(l) | Expr::Function(_, l) => strange_field(l, known),
        Expr::Struct(fields) => fields.iter().find_map(|(name, value)| match name.as_deref() {
            Some(name) if !known.contains(&name) => Some(name),
            _ => strange_field(std::slice::from_ref(value), known),
        }),
        _ => None,
    })
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
