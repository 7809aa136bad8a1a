//! What a script is run on: the simulated stack, or what a real kernel did.

use crate::epoll;
use crate::packet::Packet;
use crate::script::{Call, Expr};
use crate::stack::Out;
use crate::words::{field_data, field_mask, inq};
use crate::{End, Failure, Step};
use std::path::Path;

/// What a call gives: its result, none if whatever is told is right, and its error.
pub type Answer = (Option<i64>, Option<&'static str>);

/// One that a script is run on. Times are in microseconds since the script began.
pub trait Machine {
    /// The time.
    fn now(&self) -> i64;

    /// The event of this number begins.
    fn event(&mut self, _number: usize) -> Step<()> {
        Ok(())
    }

    /// The event is over: has what a call waits for come?
    fn look(&mut self);

    /// Lets time pass.
    fn wait_until(&mut self, at: i64) -> Step<()>;

    /// The next packet that goes out by then.
    fn sniff(&mut self, by: i64) -> Step<Option<Out>>;

    /// A packet comes in that echoes this timestamp, in segments of this size.
    fn inbound(&mut self, packet: &Packet, echo: Option<u32>, gso_mss: Option<u32>) -> Step<()>;

    /// A command line of a script in a folder is run.
    fn command(&mut self, command: &str, dir: &Path) -> Step<()>;

    /// A value of `tcp_info`; none: it is not known here.
    fn info(&self, name: &str) -> Option<i64>;

    /// A call that does not wait.
    fn answer(&mut self, call: &Call) -> Step<Answer>;

    /// A call that may wait begins.
    fn begin(&mut self, call: &Call) -> Step<()>;

    /// When the call that waits ended, and what it gave, once.
    fn ended(&mut self) -> Option<(i64, Step<i64>)>;

    /// Is the connection open, and no end of it closed?
    fn open(&self) -> bool;

    /// The sequence number that the peer began with.
    fn remote_isn(&self) -> u32;
}

pub fn other_events(call: &str, wanted: &[u32], told: &[u32]) -> End {
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
pub fn compare_told(wanted: &[(u32, i64)], told: &[(u32, i64)]) -> Step<()> {
    if wanted == told {
        return Ok(());
    }
    let events = |all: &[(u32, i64)]| all.iter().map(|t| t.0).collect::<Vec<_>>();
    Err(other_events("epoll_wait()", &events(wanted), &events(told)))
}

/// Events and data that epoll_wait() tells.
pub type EpollEvents = Vec<(u32, i64)>;

/// The descriptor of an epoll_wait(), the most that it may tell, and what it is to tell.
pub fn epoll_wanted(call: &Call) -> Step<(i64, usize, EpollEvents)> {
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

/// Is a socket option as the script has it?
pub fn compare_option(call: &Call, told: i64) -> Step<()> {
    match call.arguments.get(3).and_then(Expr::single) {
        Some(n) if n != told => {
            let option = call.arguments.get(2).and_then(Expr::word).unwrap_or_default();
            Err(End::Failed(Failure {
                line: 0,
                says: "a socket option has another value".into(),
                expected: Some(format!("{option} {n}")),
                actual: Some(format!("{option} {told}")),
            }))
        }
        _ => Ok(()),
    }
}

/// Is what is left to read (`TCP_INQ`) as the control message of the script says, if it has one?
pub fn compare_inq(call: &Call, left: i64) -> Step<()> {
    match inq(&call.arguments) {
        Some(wanted) if wanted != left => Err(End::Failed(Failure {
            line: 0,
            says: "the control message is another".into(),
            expected: Some(format!("TCP_CM_INQ {wanted}")),
            actual: Some(format!("TCP_CM_INQ {left}")),
        })),
        _ => Ok(()),
    }
}

/// What `ioctl(SIOCINQ)` gives.
pub fn compare_ioctl(call: &Call, told: i64) -> Answer {
    match call.arguments.get(2).and_then(Expr::single) {
        Some(n) if n != told => (Some(told), None),
        _ => (Some(0), None),
    }
}
