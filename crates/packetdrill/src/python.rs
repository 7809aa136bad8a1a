//! The Python of scripts: assertions about `tcp_info`, a small part of the language.

use std::collections::HashMap;
use std::fmt;
use std::num::IntErrorKind;

/// How deep expressions may nest.
const DEEPEST: u32 = 64;
/// How large a value may become, bytes of text and parts of tuples.
const LARGEST: usize = 1 << 16;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// An integer, or a truth value.
    Int(i64),
    /// A number with a point.
    Float(f64),
    /// A string.
    Text(String),
    /// A tuple.
    Tuple(Vec<Value>),
}

/// Why code did not go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// An assertion does not hold: its text, and what it has to say.
    Failed(String),
    /// It has something that is not known here: what.
    Unknown(String),
    /// It is no Python: how many lines below its first, and what was expected.
    Syntax(u32, String),
}

impl Value {
    fn size(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Tuple(parts) => parts.iter().map(Value::size).sum(),
            _ => 1,
        }
    }

    fn truth(&self) -> bool {
        match self {
            Value::None => false,
            Value::Int(n) => *n != 0,
            Value::Float(x) => *x != 0.0,
            Value::Text(s) => !s.is_empty(),
            Value::Tuple(t) => !t.is_empty(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Int(n) => n.fmt(f),
            Value::Float(x) => x.fmt(f),
            Value::Text(s) => f.write_str(s),
            Value::Tuple(t) => {
                let all: Vec<String> = t.iter().map(Value::to_string).collect();
                write!(f, "({})", all.join(", "))
            }
        }
    }
}

/// Runs code. `known` answers names that the code has not set, which are kept in `set`.
///
/// # Errors
/// [`Stop`].
pub fn run(
    code: &str,
    set: &mut HashMap<String, Value>,
    known: &dyn Fn(&str) -> Option<Value>,
) -> Result<(), Stop> {
    let tokens = tokens(code)?;
    let mut machine = Machine { code, tokens, at: 0, depth: 0, set, known, unknown: None };
    machine.run()
}

/// Reads code without running it: all names and functions in it that neither the code has set, here or before (`set`), nor `known`
/// answers, and what else of it is not known here.
///
/// # Errors
/// It is no Python: how many lines below its first, and what was expected.
pub fn read(
    code: &str,
    set: &mut HashMap<String, Value>,
    known: &dyn Fn(&str) -> Option<Value>,
) -> Result<Vec<String>, (u32, String)> {
    let tokens = match tokens(code) {
        Ok(tokens) => tokens,
        Err(Stop::Syntax(line, says)) => return Err((line, says)),
        Err(Stop::Unknown(what) | Stop::Failed(what)) => return Ok(vec![what]),
    };
    let mut machine = Machine { code, tokens, at: 0, depth: 0, set, known, unknown: Some(Vec::new()) };
    let done = machine.run();
    let mut unknown = machine.unknown.unwrap_or_default();
    match done {
        Ok(()) => {}
        Err(Stop::Syntax(line, says)) => return Err((line, says)),
        Err(Stop::Unknown(what) | Stop::Failed(what)) => unknown.push(what),
    }
    Ok(unknown)
}

/// How many lines of `code` end before a place in it.
fn lines_before(code: &str, at: usize) -> u32 {
    code[..at].matches('\n').count() as u32
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Value(Value),
    Op(&'static str),
    End,
    /// A line that does not begin in the first column.
    Indent,
}

const OPS: [&str; 37] = [
    "**=", "//=", "<<=", ">>=", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=",
    "|=", "&=", "^=", "<", ">", "+", "-", "*", "/", "%", "|", "&", "^", "~", "(", ")", "[", "]", ",", "=",
];

fn tokens(code: &str) -> Result<Vec<(Token, usize)>, Stop> {
    let mut tokens: Vec<(Token, usize)> = Vec::new();
    let mut at = 0;
    let mut brackets = 0i32;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let begin = at;
        if c == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("\\\n") {
            at += 2;
        } else if c == '\n' || c == ';' {
            at += 1;
            if brackets == 0 {
                tokens.push((Token::End, begin));
                // Blank lines and those of a comment may begin anywhere.
                let line = &code[at..];
                let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
                if c == '\n'
                    && indent > 0
                    && !line[indent..].starts_with(['#', '\n', '\r'])
                    && indent < line.len()
                {
                    tokens.push((Token::Indent, at + indent));
                }
            }
        } else if c.is_whitespace() {
            at += c.len_utf8();
        } else if c.is_ascii_alphabetic() || c == '_' {
            at += rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push((Token::Name(code[begin..at].to_string()), begin));
        } else if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            let is = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            let end = |from: usize| code[from..].find(|c| !is(c)).map_or(code.len(), |n| from + n);
            at = end(at);
            // An exponent may have a sign.
            let hex = code[begin..at].starts_with("0x") || code[begin..at].starts_with("0X");
            if !hex && code[begin..at].ends_with(['e', 'E']) && code[at..].starts_with(['+', '-']) {
                at = end(at + 1);
            }
            let value = number(&code[begin..at]).map_err(|stop| match stop {
                Stop::Syntax(_, says) => Stop::Syntax(lines_before(code, begin), says),
                other => other,
            })?;
            tokens.push((Token::Value(value), begin));
        } else if c == '"' || c == '\'' {
            if rest[1..].starts_with([c; 2].iter().collect::<String>().as_str()) {
                return Err(Stop::Unknown("a string of several lines in code".into()));
            }
            // A backslash hides what follows it.
            let mut hidden = false;
            let end = rest[1..].find(|d: char| {
                let ends = !hidden && (d == c || d == '\n');
                hidden = !hidden && d == '\\';
                ends
            });
            let Some(end) = end.filter(|&end| rest[1 + end..].starts_with(c)) else {
                let says = format!("the string does not end; expected {c}");
                return Err(Stop::Syntax(lines_before(code, begin), says));
            };
            at += end + 2;
            tokens.push((Token::Value(Value::Text(rest[1..=end].to_string())), begin));
        } else if let Some(op) = OPS.iter().find(|op| rest.starts_with(**op)) {
            at += op.len();
            brackets += i32::from(matches!(*op, "(" | "[")) - i32::from(matches!(*op, ")" | "]"));
            tokens.push((Token::Op(op), begin));
        } else {
            return Err(Stop::Unknown(format!("'{c}' in code")));
        }
    }
    tokens.push((Token::End, code.len()));
    Ok(tokens)
}

fn number(text: &str) -> Result<Value, Stop> {
    let bad = || Stop::Syntax(0, format!("found '{text}'; expected a number"));
    let plain = text.replace('_', "").to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)];
    let radix = radix.iter().find_map(|(prefix, radix)| Some((plain.strip_prefix(prefix)?, *radix)));
    let (digits, radix) = radix.unwrap_or((&plain, 10));
    if radix == 10 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) {
        // 007 would have been octal once: only zeros may follow one another.
        return if digits.bytes().all(|b| b == b'0') { Ok(Value::Int(0)) } else { Err(bad()) };
    }
    match i64::from_str_radix(digits, radix) {
        Ok(n) => Ok(Value::Int(n)),
        Err(e) if matches!(e.kind(), IntErrorKind::PosOverflow) => {
            Err(Stop::Unknown("a number of more than 63 bits in code".into()))
        }
        Err(_) if radix == 10 => plain.parse::<f64>().map(Value::Float).map_err(|_| bad()),
        Err(_) => Err(bad()),
    }
}

struct Machine<'a> {
    code: &'a str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: u32,
    set: &'a mut HashMap<String, Value>,
    known: &'a dyn Fn(&str) -> Option<Value>,
    /// What was met that is not known, if the code is only read: then nothing is worked out.
    unknown: Option<Vec<String>>,
}

impl Machine<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |t| &t.0)
    }

    fn eat(&mut self, op: &str) -> bool {
        let is = matches!(self.peek(), Token::Op(o) if *o == op);
        self.at += usize::from(is);
        is
    }

    fn eat_name(&mut self, name: &str) -> bool {
        let is = matches!(self.peek(), Token::Name(n) if n == name);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, op: &str) -> Result<(), Stop> {
        if self.eat(op) { Ok(()) } else { Err(self.wrong(&format!("'{op}'"))) }
    }

    fn wrong(&self, expected: &str) -> Stop {
        // What Python has and this has not is no mistake.
        match self.peek() {
            Token::Name(name) if ["if", "else", "in", "is", "lambda", "for"].contains(&name.as_str()) => {
                return Stop::Unknown(format!("Python's {name}"));
            }
            Token::Op(op @ ("[" | "**")) => return Stop::Unknown(format!("Python's {op}")),
            Token::Value(Value::Text(_)) => {
                return Stop::Unknown("a string with a prefix in code".into());
            }
            _ => {}
        }
        let at = self.tokens.get(self.at).map_or(self.code.len(), |t| t.1);
        let found = match self.code[at..].lines().next().unwrap_or_default().trim() {
            "" => "the end".to_string(),
            rest => format!("'{rest}'"),
        };
        Stop::Syntax(lines_before(self.code, at), format!("found {found}; expected {expected}"))
    }

    /// What only running the code would give; while it is read, anything.
    fn made(&self, make: impl FnOnce() -> Result<Value, Stop>) -> Result<Value, Stop> {
        if self.unknown.is_some() { Ok(Value::Int(1)) } else { make() }
    }

    /// The code from a word to the present one.
    fn text(&self, from: usize) -> &str {
        let begin = self.tokens.get(from).map_or(0, |t| t.1);
        let end = self.tokens.get(self.at).map_or(self.code.len(), |t| t.1);
        self.code[begin..end.max(begin)].trim()
    }

    fn run(&mut self) -> Result<(), Stop> {
        while self.at < self.tokens.len() {
            if *self.peek() == Token::End {
                self.at += 1;
                continue;
            }
            self.statement()?;
            if *self.peek() != Token::End {
                return Err(self.wrong("the end of the statement"));
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), Stop> {
        const OTHERS: [&str; 15] = [
            "if", "for", "while", "def", "import", "from", "class", "with", "try", "global", "del", "raise",
            "async", "nonlocal", "return",
        ];
        if *self.peek() == Token::Indent {
            return Err(self.wrong("a line that begins in the first column"));
        }
        if let Token::Name(name) = self.peek().clone() {
            if OTHERS.contains(&name.as_str()) {
                return Err(Stop::Unknown(format!("Python's {name}")));
            }
            if self.eat_name("assert") {
                let from = self.at;
                let holds = self.expression()?.truth();
                let text = self.text(from).to_string();
                let says = if self.eat(",") { Some(self.expression()?) } else { None };
                if holds || self.unknown.is_some() {
                    return Ok(());
                }
                let says = says.map_or(String::new(), |v| format!(": {v}"));
                return Err(Stop::Failed(format!("assert {text}{says}")));
            }
            if name == "pass" {
                self.at += 1;
                return Ok(());
            }
            let assign = match self.tokens.get(self.at + 1).map(|t| &t.0) {
                Some(Token::Op("=")) => Some(None),
                Some(Token::Op(op)) => {
                    op.strip_suffix('=').filter(|o| !matches!(*o, "=" | "!" | "<" | ">")).map(Some)
                }
                _ => None,
            };
            if let Some(op) = assign {
                self.at += 2;
                let value = self.expression()?;
                let value = match op {
                    None => value,
                    Some(op) => {
                        let before = self.lookup(&name)?;
                        self.made(|| binary(op, before, value))?
                    }
                };
                if let Token::Op(op @ ("=" | ",")) = self.peek() {
                    return Err(Stop::Unknown(format!("Python's assignment with a second '{op}'")));
                }
                self.set.insert(name, value);
                return Ok(());
            }
        }
        self.expression().map(drop)
    }

    fn lookup(&mut self, name: &str) -> Result<Value, Stop> {
        if let Some(value) = self.set.get(name) {
            return Ok(value.clone());
        }
        match name {
            "True" => Ok(Value::Int(1)),
            "False" => Ok(Value::Int(0)),
            "None" => Ok(Value::None),
            _ => match ((self.known)(name), &mut self.unknown) {
                (Some(value), _) => Ok(value),
                (None, None) => Err(Stop::Unknown(name.to_string())),
                (None, Some(unknown)) => {
                    unknown.push(name.to_string());
                    Ok(Value::Int(1))
                }
            },
        }
    }

    fn expression(&mut self) -> Result<Value, Stop> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Stop::Unknown("code that is nested so deep".into()));
        }
        let value = self.or();
        self.depth -= 1;
        value
    }

    /// What does not count is only read: nothing of it is worked out.
    fn unless(
        &mut self,
        decided: bool,
        side: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        if !decided || self.unknown.is_some() {
            return side(self);
        }
        self.unknown = Some(Vec::new());
        let value = side(self);
        self.unknown = None;
        value
    }

    fn or(&mut self) -> Result<Value, Stop> {
        let mut left = self.and()?;
        while self.eat_name("or") {
            let decided = left.truth();
            let right = self.unless(decided, Self::and)?;
            left = if decided { left } else { right };
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Value, Stop> {
        let mut left = self.not()?;
        while self.eat_name("and") {
            let decided = !left.truth();
            let right = self.unless(decided, Self::not)?;
            left = if decided { left } else { right };
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Value, Stop> {
        let mut turned = 0;
        while self.eat_name("not") {
            turned += 1;
        }
        let value = self.comparison()?;
        match turned {
            0 => Ok(value),
            n => Ok(Value::Int(i64::from(value.truth() == (n % 2 == 0)))),
        }
    }

    fn comparison(&mut self) -> Result<Value, Stop> {
        const COMPARE: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
        let mut left = self.arithmetic(0)?;
        let mut holds = None;
        while let Token::Op(op) = *self.peek()
            && COMPARE.contains(&op)
        {
            self.at += 1;
            let right = self.arithmetic(0)?;
            let is = self.made(|| compare(op, &left, &right).map(|holds| Value::Int(holds.into())))?;
            holds = Some(holds.unwrap_or(true) && is.truth());
            left = right;
        }
        Ok(holds.map_or(left, |h| Value::Int(h.into())))
    }

    /// Operators of a precedence, the weakest first.
    fn arithmetic(&mut self, level: usize) -> Result<Value, Stop> {
        const LEVELS: [&[&str]; 6] =
            [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.arithmetic(level + 1)?;
        while let Token::Op(op) = *self.peek()
            && ops.contains(&op)
        {
            self.at += 1;
            let right = self.arithmetic(level + 1)?;
            left = self.made(|| binary(op, left, right))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Value, Stop> {
        let mut signs = Vec::new();
        while let Token::Op(op @ ("-" | "+" | "~")) = *self.peek() {
            self.at += 1;
            signs.push(op);
        }
        let mut value = self.atom()?;
        for op in signs.into_iter().rev() {
            value = self.made(|| match (op, value) {
                ("-", Value::Int(n)) => Ok(Value::Int(n.wrapping_neg())),
                ("-", Value::Float(x)) => Ok(Value::Float(-x)),
                ("~", Value::Int(n)) => Ok(Value::Int(!n)),
                ("+", v @ (Value::Int(_) | Value::Float(_))) => Ok(v),
                (op, _) => Err(Stop::Unknown(format!("'{op}' before what is no number"))),
            })?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Value, Stop> {
        match self.peek().clone() {
            Token::Value(mut value) => {
                self.at += 1;
                while let (Value::Text(text), Token::Value(Value::Text(more))) =
                    (&mut value, self.peek().clone())
                {
                    text.push_str(&more);
                    self.at += 1;
                }
                Ok(value)
            }
            Token::Name(name) => {
                self.at += 1;
                if self.eat("(") {
                    let arguments = self.arguments()?;
                    if let Some(unknown) = &mut self.unknown
                        && !FUNCTIONS.contains(&name.as_str())
                    {
                        unknown.push(format!("{name}() in code"));
                    }
                    return self.made(|| call(&name, &arguments));
                }
                if ["lambda", "yield", "await"].contains(&name.as_str()) {
                    return Err(Stop::Unknown(format!("Python's {name}")));
                }
                self.lookup(&name)
            }
            Token::Op("(") => {
                self.at += 1;
                if self.eat(")") {
                    return Ok(Value::Tuple(Vec::new()));
                }
                let first = self.expression()?;
                if self.eat(")") {
                    return Ok(first);
                }
                if !self.eat(",") {
                    return Err(self.wrong("')'"));
                }
                let mut all = vec![first];
                all.extend(self.arguments()?);
                self.made(|| bounded(Value::Tuple(all)))
            }
            _ => Err(self.wrong("an expression")),
        }
    }

    /// What is between commas, up to `)`.
    fn arguments(&mut self) -> Result<Vec<Value>, Stop> {
        let mut all = Vec::new();
        while !self.eat(")") {
            let value = self.expression()?;
            all.push(value);
            if *self.peek() == Token::Op("=") {
                return Err(Stop::Unknown("an argument with a name in code".into()));
            }
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(all)
    }
}

fn compare(op: &str, a: &Value, b: &Value) -> Result<bool, Stop> {
    let order = match (a.number(), b.number()) {
        (Some(x), Some(y)) => x.partial_cmp(&y),
        _ => match (a, b, op) {
            (Value::Text(x), Value::Text(y), _) => Some(x.cmp(y)),
            (_, _, "==") => return Ok(a == b),
            (_, _, "!=") => return Ok(a != b),
            _ => return Err(Stop::Unknown("a comparison of what are no numbers".into())),
        },
    };
    Ok(match op {
        "==" => order == Some(std::cmp::Ordering::Equal),
        "!=" => order != Some(std::cmp::Ordering::Equal),
        "<" => order.is_some_and(|o| o.is_lt()),
        "<=" => order.is_some_and(|o| o.is_le()),
        ">" => order.is_some_and(|o| o.is_gt()),
        _ => order.is_some_and(|o| o.is_ge()),
    })
}

/// A value, if it is none that code has made to grow without end.
fn bounded(value: Value) -> Result<Value, Stop> {
    if value.size() > LARGEST {
        Err(Stop::Unknown("a value of more than 64 KiB in code".into()))
    } else {
        Ok(value)
    }
}

fn binary(op: &str, a: Value, b: Value) -> Result<Value, Stop> {
    let no = || Stop::Unknown(format!("'{op}' between these"));
    if let (Value::Int(x), Value::Int(y)) = (&a, &b) {
        let (x, y) = (*x, *y);
        return Ok(Value::Int(match op {
            "+" => x.wrapping_add(y),
            "-" => x.wrapping_sub(y),
            "*" => x.wrapping_mul(y),
            "|" => x | y,
            "&" => x & y,
            "^" => x ^ y,
            "<<" if (0..63).contains(&y) => x.wrapping_shl(y as u32),
            ">>" if (0..63).contains(&y) => x >> y,
            "/" if y != 0 => return Ok(Value::Float(x as f64 / y as f64)),
            "//" if y != 0 => (x as f64 / y as f64).floor() as i64,
            "%" if y != 0 => x.wrapping_rem(y).wrapping_add(y).wrapping_rem(y),
            _ => return Err(no()),
        }));
    }
    match (op, &a, &b) {
        ("%", Value::Text(format), _) => bounded(Value::Text(formatted(format, &b))),
        ("+", Value::Text(x), Value::Text(y)) => bounded(Value::Text(format!("{x}{y}"))),
        _ => {
            let (Some(x), Some(y)) = (a.number(), b.number()) else { return Err(no()) };
            Ok(Value::Float(match op {
                "+" => x + y,
                "-" => x - y,
                "*" => x * y,
                "/" => x / y,
                "//" => (x / y).floor(),
                "%" => x.rem_euclid(y),
                _ => return Err(no()),
            }))
        }
    }
}

/// `format % values`, each with the places that it takes by itself.
fn formatted(format: &str, values: &Value) -> String {
    let all = match values {
        Value::Tuple(all) => all.clone(),
        one => vec![one.clone()],
    };
    let mut values = all.into_iter();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let kind = chars.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '%');
        match (kind, values.len()) {
            (Some('%'), _) | (None, _) | (_, 0) => out.push('%'),
            (Some('x'), _) => match values.next() {
                Some(Value::Int(n)) => out.push_str(&format!("{n:x}")),
                other => out.push_str(&other.map_or(String::new(), |v| v.to_string())),
            },
            _ => out.push_str(&values.next().map_or(String::new(), |v| v.to_string())),
        }
    }
    out
}

/// The functions that code may call.
const FUNCTIONS: [&str; 8] = ["print", "abs", "int", "float", "round", "str", "min", "max"];

fn call(name: &str, arguments: &[Value]) -> Result<Value, Stop> {
    let least = |less: bool| {
        let mut all = arguments.iter();
        let mut best = all.next()?;
        for value in all {
            let (x, y) = (best.number()?, value.number()?);
            if (y < x) == less && y != x {
                best = value;
            }
        }
        Some(best.clone())
    };
    let made = match (name, arguments) {
        ("print", _) => Some(Value::None),
        ("abs", [Value::Int(n)]) => Some(Value::Int(n.wrapping_abs())),
        ("abs", [Value::Float(x)]) => Some(Value::Float(x.abs())),
        ("int", [v]) => v.number().map(|x| Value::Int(x as i64)),
        ("float", [v]) => v.number().map(Value::Float),
        ("round", [v]) => v.number().map(|x| Value::Int(x.round_ties_even() as i64)),
        ("str", [v]) => Some(Value::Text(v.to_string())),
        ("min", [_, ..]) => least(true),
        ("max", [_, ..]) => least(false),
        _ => None,
    };
    made.ok_or_else(|| Stop::Unknown(format!("{name}() in code")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_it(code: &str) -> Result<(), Stop> {
        let known = |name: &str| match name {
            "tcpi_snd_cwnd" => Some(Value::Int(10)),
            "TCP_CA_Open" => Some(Value::Int(0)),
            _ => None,
        };
        run(code, &mut HashMap::new(), &known)
    }

    #[test]
    fn what_holds_holds() {
        for code in [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "cwnd = 9; cwnd += 1; assert cwnd == tcpi_snd_cwnd",
            "print(tcpi_snd_cwnd)\nassert 1 < 2 <= 2, 'no' # yes",
            "assert not 1 == 2 and (3 or 0)",
            "assert (tcpi_snd_cwnd & 2) == 2 and abs(-3) == 3 and 7 // 2 == 3 and -7 % 3 == 2",
            "assert TCP_CA_Open == 0x0, 'cwnd=%d' % tcpi_snd_cwnd",
            "assert max(1, 3, 2) == 3 and min(2, 1.5) == 1.5 and 1 << 3 | 1 == 9",
            "assert (\n  1 == 1\n)",
            "assert 1 == \\\n   1\n\n   # no statement\n   \nassert 1",
            // The side that does not count is not worked out.
            "assert not (0 and 1 // 0) and (1 or 1 / 0) == 1 and (0 or 2) == 2 and (1 and 3) == 3",
        ] {
            assert_eq!(try_it(code), Ok(()), "{code}");
        }
    }

    #[test]
    fn what_does_not_says_so() {
        assert_eq!(
            try_it("assert tcpi_snd_cwnd == 11, 'cwnd=%d of %s' % (tcpi_snd_cwnd, 11)"),
            Err(Stop::Failed("assert tcpi_snd_cwnd == 11: cwnd=10 of 11".into()))
        );
        assert_eq!(try_it("assert 0 and 1"), Err(Stop::Failed("assert 0 and 1".into())));
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        let tuples = format!("x = (1, 1)\n{}", "x = (x, x)\n".repeat(60));
        let texts = format!("x = 'ab'\n{}", "x = x + x\n".repeat(60));
        let named = format!("x = 'ab'\n{}", "x = '%s %s' % (x, x)\n".repeat(60));
        for code in [tuples, texts, named] {
            let refused = Err(Stop::Unknown("a value of more than 64 KiB in code".into()));
            assert_eq!(try_it(&code), refused);
            assert_eq!(read_it(&code), Ok(Vec::new()));
        }
    }

    #[test]
    fn numbers_are_pythons() {
        for (one, other) in [
            ("1e-3", ".001"),
            ("2E+1", "20"),
            ("0e-1", "0"),
            ("0b101", "5"),
            ("0o17", "15"),
            ("000", "0"),
            ("007.5", "7.5"),
            ("0xff", "2_55"),
            ("0x1e - 1", "29"),
            ("1e2 - 1", "99"),
        ] {
            assert_eq!(try_it(&format!("assert {one} == {other}")), Ok(()));
        }
        let beyond = Err(Stop::Unknown("a number of more than 63 bits in code".into()));
        assert_eq!(try_it("x = 0xffffffffffffffff"), beyond);
    }

    #[test]
    fn what_is_not_known_is_named() {
        assert_eq!(try_it("assert tcpi_new == 1"), Err(Stop::Unknown("tcpi_new".into())));
        assert_eq!(try_it("import os"), Err(Stop::Unknown("Python's import".into())));
        assert!(matches!(try_it("assert (1"), Err(Stop::Syntax(..))));
        assert!(matches!(try_it("assert 1 1"), Err(Stop::Syntax(..))));
    }

    /// All of the code, whatever it would do.
    fn read_it(code: &str) -> Result<Vec<String>, (u32, String)> {
        let known = |name: &str| (name == "tcpi_snd_cwnd").then_some(Value::Int(10));
        read(code, &mut HashMap::new(), &known)
    }

    #[test]
    fn reading_finds_what_running_would_not_reach() {
        for (code, line, says) in [
            ("assert 1 == 2\nassert (1", 1, "found the end; expected ')'"),
            ("x = 1\n\nx = 2 +", 2, "found the end; expected an expression"),
            ("assert tcpi_snd_cwnd = 10", 0, "found '= 10'; expected the end of the statement"),
            ("assert 1 == 12fe", 0, "found '12fe'; expected a number"),
            ("\nassert 'a == 1", 1, "the string does not end; expected '"),
            ("assert 1 == 007", 0, "found '007'; expected a number"),
            (
                "\n  assert 1\nassert (1",
                1,
                "found 'assert 1'; expected a line that begins in the first column",
            ),
            ("assert 1 and (0 or (2 +))", 0, "found '))'; expected an expression"),
            ("assert 0, 1, 2", 0, "found ', 2'; expected the end of the statement"),
        ] {
            assert_eq!(read_it(code), Err((line, says.to_string())), "{code}");
        }
    }

    #[test]
    fn reading_names_all_that_is_not_known() {
        for (code, names) in [
            ("x = 1; assert x == tcpi_snd_cwnd, 'it\\'s'", &[][..]),
            ("assert tcpi_a == 1 and tcpi_b == len('')", &["tcpi_a", "tcpi_b", "len() in code"]),
            ("assert x[0] == 1", &["x", "Python's ["]),
            ("assert 1 if 2 else 3", &["Python's if"]),
            ("a = b = 1", &["b", "Python's assignment with a second '='"]),
            ("print('', end='')", &["end", "an argument with a name in code"]),
            ("assert -'' + 1 < '' and abs(()) == 1", &[]),
        ] {
            assert_eq!(read_it(code).unwrap(), names, "{code}");
        }
    }
}
