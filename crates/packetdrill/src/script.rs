//! A script as it was read.

use crate::packet::Packet;

/// A script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Its `--name=value` lines.
    pub options: Vec<(String, Option<String>, u32)>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

impl Script {
    /// The line of an event, by its number.
    pub fn line_of(&self, number: usize) -> Option<u32> {
        self.events.get(number).map(|e| e.line)
    }
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its line.
    pub line: u32,
    /// When it is to happen.
    pub when: When,
    /// What is to happen.
    pub action: Action,
}

/// When something happens; microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At a time since the script began.
    At(i64),
    /// So long after what was before.
    After(i64),
    /// Between two times since the script began.
    Between(i64, i64),
    /// Between two times after what was before.
    AfterBetween(i64, i64),
    /// At any time.
    Any,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A packet comes in, or is to go out.
    Packet(Packet),
    /// A packet of another kind than TCP over IPv4: which.
    Foreign(&'static str),
    /// A system call.
    Call(Call),
    /// A command line.
    Command(String),
    /// Python's assertions about `tcp_info`, run at that time.
    Code(String),
}

/// A system call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// When it ends, if it may wait (microseconds, as its beginning is told).
    pub end: Option<i64>,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// What it is to return.
    pub result: Expr,
    /// The error that it is to give.
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// `...`
    Any,
    /// A number.
    Int(i64),
    /// A name.
    Word(String),
    /// A string, and whether more follows it.
    Text(String),
    /// Flags joined by `|`.
    Or(Vec<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a = 1, b(2) = 3, c}`: names and values.
    Struct(Vec<(Option<String>, Expr)>),
    /// `name(arguments)`
    Function(String, Vec<Expr>),
}

impl Expr {
    /// The number that it is.
    pub fn int(&self) -> Option<i64> {
        match self {
            Expr::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The number that it is, or that the only element of the list is.
    pub fn single(&self) -> Option<i64> {
        match self {
            Expr::List(list) if list.len() == 1 => list[0].int(),
            other => other.int(),
        }
    }

    /// The name that it is.
    pub fn word(&self) -> Option<&str> {
        match self {
            Expr::Word(w) => Some(w),
            _ => None,
        }
    }

    /// The names that it joins.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Expr::Word(w) => vec![w],
            Expr::Or(list) => list.iter().flat_map(Expr::words).collect(),
            _ => Vec::new(),
        }
    }
}
