//! What of a script is seen to be beyond the simulated stack before it runs.

use crate::python::{self, Value};
use crate::script::{Action, Call, Expr, Script};
use crate::settings::{Counter, Settings};
use crate::stack::{KNOWN, RECEIVE_BUFFER};
use crate::words::constant;
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
pub const ZERO_COPY: &str = "MSG_ZEROCOPY";

/// What of a system call is beyond the simulated stack.
pub fn call_foreign(call: &Call) -> Option<String> {
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
