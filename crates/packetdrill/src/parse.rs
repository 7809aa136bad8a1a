//! Reading scripts (`parser.y` of packetdrill).

use crate::Error;
use crate::lex::{Token, lex};
use crate::packet::{Ecn, Flags, Packet, TcpOption};
use crate::python::{self, Value};
use crate::script::{Action, Call, Event, Expr, Script, When};
use std::collections::HashMap;

/// How deep brackets may lie in one another.
const DEEPEST: u32 = queuewright_scenario::limits::SCRIPT.depth;

/// Reads a script.
///
/// # Errors
/// The line, and what was expected there.
pub fn parse(text: &str) -> Result<Script, Error> {
    let tokens = lex(text)?;
    let mut parser = Parser { tokens, at: 0, depth: 0, defines: Vec::new() };
    parser.script()
}

/// Characters of what was found that an error shows.
const MOST_SHOWN: usize = 60;

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    depth: u32,
    /// `--define=NAME=value`, and `-D` of a command line.
    defines: Vec<(String, Token)>,
}

/// Why an event of a kind must have a time, or not.
const TIMES: &str = "a time: +0.1, 0.25, *, 0.1~0.2 or +0.1~+0.2";

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn peek_after(&self, n: usize) -> Option<&Token> {
        self.tokens.get(self.at + n).map(|t| &t.0)
    }

    /// The line of the next word, or of the last one.
    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1)
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, Error> {
        let found = self.peek().map_or("the end".to_string(), |t| {
            let text = t.to_string();
            match text.char_indices().nth(MOST_SHOWN) {
                Some((end, _)) => format!("'{}...'", &text[..end]),
                None => format!("'{text}'"),
            }
        });
        Err(Error::syntax(self.line(), format!("found {found}; expected {expected}")))
    }

    fn bump(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).map(|t| t.0.clone());
        self.at += 1;
        token
    }

    fn is(&self, c: char) -> bool {
        self.peek() == Some(&Token::Char(c))
    }

    fn eat(&mut self, c: char) -> bool {
        let is = self.is(c);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, c: char) -> Result<(), Error> {
        if self.eat(c) { Ok(()) } else { self.wrong(&format!("'{c}'")) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    fn word(&mut self, what: &str) -> Result<String, Error> {
        match self.bump() {
            Some(Token::Word(w)) => Ok(w),
            _ => self.back(what),
        }
    }

    /// The last word was none of these.
    fn back<T>(&mut self, what: &str) -> Result<T, Error> {
        self.at = self.at.saturating_sub(1);
        self.wrong(what)
    }

    /// A number from 0 to `most`.
    fn number(&mut self, what: &str, most: i64) -> Result<i64, Error> {
        match self.peek() {
            Some(&Token::Int(n)) if (0..=most).contains(&n) => {
                self.at += 1;
                Ok(n)
            }
            _ => self.wrong(&format!("{what}, from 0 to {most}")),
        }
    }

    fn sequence(&mut self, what: &str) -> Result<u32, Error> {
        Ok(self.number(what, u32::MAX.into())? as u32)
    }

    fn script(&mut self) -> Result<Script, Error> {
        let mut script = Script::default();
        while let Some(Token::Option(name)) = self.peek().cloned() {
            let line = self.line();
            self.at += 1;
            let value = if self.eat('=') { Some(self.option_value()?) } else { None };
            if name == "define"
                && let Some((symbol, value)) = value.as_deref().and_then(|v| v.split_once('='))
            {
                let token = lex(value)?.into_iter().next().map_or(Token::Text(String::new()), |t| t.0);
                self.defines.push((symbol.to_string(), token));
            } else {
                script.options.push((name, value, line));
            }
        }
        for i in self.at..self.tokens.len() {
            if let Token::Word(word) = &self.tokens[i].0
                && let Some(define) = self.defines.iter().rfind(|d| d.0 == *word)
            {
                self.tokens[i].0 = define.1.clone();
            }
        }
        while self.peek().is_some() {
            let event = self.event()?;
            script.events.push(event);
        }
        if script.events.is_empty() {
            return self.wrong("an event: a packet, a system call, a command line or code");
        }
        Ok(script)
    }

    /// What is behind an option's `=`: whatever is on its line.
    fn option_value(&mut self) -> Result<String, Error> {
        let line = self.line();
        let mut value = String::new();
        while let Some((token, at)) = self.tokens.get(self.at)
            && *at == line
            && !matches!(token, Token::Option(_))
        {
            match token {
                Token::Command(command) => value.push_str(&format!("`{command}`")),
                Token::Code(_) => break,
                other => value.push_str(&other.to_string()),
            }
            self.at += 1;
        }
        if value.is_empty() { self.wrong("the option's value") } else { Ok(value) }
    }

    fn event(&mut self) -> Result<Event, Error> {
        let line = self.line();
        if let Some(Token::Command(command)) = self.peek().cloned() {
            self.at += 1;
            return Ok(Event { line, when: When::After(0), action: Action::Command(command) });
        }
        let when = self.when()?;
        let action = self.action()?;
        let waits =
            matches!(&action, Action::Packet(p) if !p.inbound) || matches!(action, Action::Foreign(_));
        match when {
            When::Any if !waits => {
                Err(Error::syntax(line, "any time (*) is for packets that go out".to_string()))
            }
            When::Between(..) | When::AfterBetween(..) if !waits => {
                Err(Error::syntax(line, "a range of times is for packets that go out".to_string()))
            }
            When::Between(a, b) | When::AfterBetween(a, b) if b < a => {
                Err(Error::syntax(line, "the range of times ends before it begins".to_string()))
            }
            _ => Ok(Event { line, when, action }),
        }
    }

    fn when(&mut self) -> Result<When, Error> {
        if self.eat('*') {
            return Ok(When::Any);
        }
        let relative = self.eat('+');
        let from = self.time()?;
        if !self.eat('~') {
            return Ok(if relative { When::After(from) } else { When::At(from) });
        }
        if relative {
            self.expect('+')?;
        }
        let to = self.time()?;
        Ok(if relative { When::AfterBetween(from, to) } else { When::Between(from, to) })
    }

    /// A time in seconds, as microseconds.
    fn time(&mut self) -> Result<i64, Error> {
        let seconds = match self.peek() {
            Some(Token::Int(n)) => *n as f64,
            Some(Token::Float(text)) => text.parse().unwrap_or(f64::NAN),
            _ => return self.wrong(TIMES),
        };
        if !(0.0..=1e6).contains(&seconds) {
            return self.wrong("a time from 0 to 1000000 s");
        }
        self.at += 1;
        Ok((seconds * 1e6).round() as i64)
    }

    fn action(&mut self) -> Result<Action, Error> {
        match self.peek() {
            Some(Token::Command(command)) => {
                let command = command.clone();
                self.at += 1;
                Ok(Action::Command(command))
            }
            Some(Token::Code(code)) => {
                let code = code.clone();
                let known = |_: &str| Some(Value::None);
                if let Err((below, says)) = python::read(&code, &mut HashMap::new(), &known) {
                    return Err(Error::syntax(self.line() + below, format!("code: {says}")));
                }
                self.at += 1;
                Ok(Action::Code(code))
            }
            Some(Token::Char(way @ ('<' | '>'))) => {
                let inbound = *way == '<';
                self.at += 1;
                self.packet(inbound)
            }
            Some(Token::Ellipsis | Token::Word(_)) => self.call().map(Action::Call),
            _ => self.wrong("a packet (< or >), a system call, a command line or %{ code }%"),
        }
    }

    fn packet(&mut self, inbound: bool) -> Result<Action, Error> {
        let mut foreign = Vec::new();
        let mut ecn = None;
        while self.is('[') || self.is('(') {
            let close = if self.is('[') { ']' } else { ')' };
            self.at += 1;
            loop {
                let word = self.word("noecn, ect0, ect1, ect01, ce, tos, flowlabel or ttl")?;
                match word.as_str() {
                    "noecn" => ecn = Some(Ecn::None),
                    "ect0" => ecn = Some(Ecn::Ect0),
                    "ect1" => ecn = Some(Ecn::Ect1),
                    "ect01" => ecn = Some(Ecn::Either),
                    "ce" => ecn = Some(Ecn::Ce),
                    "tos" => {
                        self.number("a type of service", 255)?;
                        foreign.push("a type of service");
                    }
                    "flowlabel" => {
                        self.number("a flow label", 0xf_ffff)?;
                        foreign.push("IPv6");
                    }
                    "ttl" => {
                        self.number("a time to live", 255)?;
                        foreign.push("a time to live");
                    }
                    _ => return self.back("noecn, ect0, ect1, ect01, ce, tos, flowlabel or ttl"),
                }
                if !self.eat(',') {
                    break;
                }
            }
            self.expect(close)?;
        }
        if self.eat_word("encap") {
            if !self.eat_word("psp") {
                return self.wrong("psp");
            }
            if !self.eat_word("spi") {
                return self.wrong("spi");
            }
            self.sequence("an index of security parameters")?;
            foreign.push("PSP");
        }
        for (word, name) in [
            ("icmp", "ICMP"),
            ("udp", "UDP"),
            ("ipv4", "tunnels"),
            ("ipv6", "IPv6"),
            ("gre", "tunnels"),
            ("GREv0", "tunnels"),
            ("mpls", "MPLS"),
        ] {
            if self.is_word(word) {
                let line = self.line();
                while self.tokens.get(self.at).is_some_and(|t| t.1 == line) {
                    self.at += 1;
                }
                return Ok(Action::Foreign(name));
            }
        }
        if let (Some(Token::Int(_)), Some(Token::Char('>'))) = (self.peek(), self.peek_after(1)) {
            self.at += 2;
            self.number("a port", 65_535)?;
            foreign.push("ports of several connections");
        }
        let flags = self.flags(&mut foreign)?;
        let seq = self.sequence("a sequence number")?;
        self.expect(':')?;
        let end = self.sequence("a sequence number")?;
        self.expect('(')?;
        let len = self.number("a payload in bytes", 65_535)? as u32;
        if seq.wrapping_add(len) != end {
            return self.back(&format!("the length from {seq} to {end}"));
        }
        self.expect(')')?;
        let ack = if self.eat_word("ack") { self.sequence("the sequence number acknowledged")? } else { 0 };
        let win = if self.eat_word("win") { Some(self.number("a window", 65_535)? as u16) } else { None };
        if self.eat_word("urg") {
            self.number("an urgent pointer", 65_535)?;
            foreign.push("urgent data");
        }
        let options = self.tcp_options(&mut foreign)?;
        Ok(Action::Packet(Packet { inbound, ecn, flags, seq, len, ack, win, options, foreign }))
    }

    fn flags(&mut self, foreign: &mut Vec<&'static str>) -> Result<Flags, Error> {
        const FLAGS: &str = "TCP's flags: of F S R P . E W U, or -";
        let mut flags = Flags::default();
        let mut letters = String::new();
        if self.eat('-') {
            return Ok(flags);
        }
        if let Some(Token::Word(word)) = self.peek().cloned() {
            self.at += 1;
            letters = word;
        }
        match self.peek() {
            Some(Token::Char('.')) => {
                self.at += 1;
                letters.push('.');
            }
            // The ACE field of Accurate ECN: a digit behind the point.
            Some(Token::Float(text)) if text.starts_with('.') => {
                self.at += 1;
                letters.push('.');
                foreign.push("Accurate ECN");
            }
            _ if letters.is_empty() => return self.wrong(FLAGS),
            _ => {}
        }
        for letter in letters.chars() {
            match letter {
                'F' => flags.fin = true,
                'S' => flags.syn = true,
                'R' => flags.rst = true,
                'P' => flags.psh = true,
                '.' => flags.ack = true,
                'E' => flags.ece = true,
                'W' | 'C' => flags.cwr = true,
                'U' => foreign.push("urgent data"),
                // `A`, and the ACE field as a digit.
                'A' | '0'..='7' => foreign.push("Accurate ECN"),
                _ => return self.back(FLAGS),
            }
        }
        Ok(flags)
    }

    fn tcp_options(&mut self, foreign: &mut Vec<&'static str>) -> Result<Option<Vec<TcpOption>>, Error> {
        let mut options = Vec::new();
        if !self.is('<') {
            return Ok(Some(options));
        }
        // An inbound packet may follow: its flags are no option.
        self.at += 1;
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.expect('>')?;
            return Ok(None);
        }
        loop {
            let option = self.tcp_option(foreign)?;
            options.push(option);
            if options.len() > 40 {
                return self.wrong("at most 40 bytes of options");
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect('>')?;
        Ok(Some(options))
    }

    fn tcp_option(&mut self, foreign: &mut Vec<&'static str>) -> Result<TcpOption, Error> {
        const OPTIONS: &str = "a TCP option: mss, nop, eol, wscale, sackOK, sack, TS, FO, FOEXP, md5 or ECN";
        let word = self.word(OPTIONS)?;
        Ok(match word.as_str() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "mss" => match self.peek() {
                Some(Token::Word(symbol)) if symbol.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    self.at += 1;
                    foreign.push("a value that packetdrill's command line defines (-D)");
                    TcpOption::Mss(0)
                }
                _ => TcpOption::Mss(self.number("a segment size", 65_535)? as u16),
            },
            "wscale" => TcpOption::WindowScale(self.number("a shift", 255)? as u8),
            "sackOK" => TcpOption::SackOk,
            "sack" => {
                let mut blocks = Vec::new();
                while blocks.is_empty() || matches!(self.peek(), Some(Token::Int(_))) {
                    let from = self.sequence("a sequence number")?;
                    self.expect(':')?;
                    blocks.push((from, self.sequence("a sequence number")?));
                    if blocks.len() > 4 {
                        return self.back("at most four blocks");
                    }
                }
                TcpOption::Sack(blocks)
            }
            "TS" => {
                if !self.eat_word("val") {
                    return self.wrong("val");
                }
                let val = self.sequence("a timestamp")?;
                if !self.eat_word("ecr") {
                    return self.wrong("ecr");
                }
                TcpOption::Timestamp(val, self.sequence("a timestamp")?)
            }
            "FO" | "FOEXP" => {
                if matches!(self.peek(), Some(Token::Word(_) | Token::Int(_))) {
                    self.at += 1;
                }
                foreign.push("TCP Fast Open");
                TcpOption::Other("FO")
            }
            "md5" => {
                self.at += 1;
                foreign.push("TCP MD5 signatures");
                TcpOption::Other("md5")
            }
            "ECN" => {
                while matches!(self.peek(), Some(Token::Word(_))) {
                    self.at += 1;
                    self.number("a counter", 0xff_ffff)?;
                }
                foreign.push("Accurate ECN");
                TcpOption::Other("ECN")
            }
            _ => return self.back(OPTIONS),
        })
    }

    fn call(&mut self) -> Result<Call, Error> {
        let end = match self.peek() {
            Some(Token::Ellipsis) => {
                self.at += 1;
                Some(self.time()?)
            }
            _ => None,
        };
        let name = self.word("the name of a system call")?;
        self.expect('(')?;
        let arguments = self.list(')')?;
        self.expect('=')?;
        let result = self.expr()?;
        let mut errno = None;
        if let Some(Token::Word(word)) = self.peek().cloned() {
            self.at += 1;
            errno = Some(word);
        }
        if self.eat('(') {
            while !self.eat(')') {
                if self.bump().is_none() {
                    return self.wrong("')'");
                }
            }
        }
        Ok(Call { end, name, arguments, result, errno })
    }

    /// What is between brackets, up to the closing one.
    fn list(&mut self, close: char) -> Result<Vec<Expr>, Error> {
        let mut list = Vec::new();
        if self.eat(close) {
            return Ok(list);
        }
        loop {
            let expr = self.expr()?;
            list.push(expr);
            if self.eat(close) {
                return Ok(list);
            }
            if !self.eat(',') {
                return self.wrong(&format!("',' or '{close}'"));
            }
        }
    }

    fn expr(&mut self) -> Result<Expr, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("fewer brackets in one another");
        }
        let first = self.single()?;
        let mut all = vec![first];
        while self.eat('|') {
            let next = self.single()?;
            all.push(next);
        }
        self.depth -= 1;
        let one = all.len() == 1;
        Ok(if one { all.swap_remove(0) } else { Expr::Or(all) })
    }

    fn single(&mut self) -> Result<Expr, Error> {
        const VALUE: &str = "a value: ..., a number, a name, a string, [a list] or {a structure}";
        match self.bump() {
            Some(Token::Ellipsis) => Ok(Expr::Any),
            Some(Token::Int(n)) => Ok(Expr::Int(n)),
            Some(Token::Text(mut text)) => {
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(&more.clone());
                    self.at += 1;
                }
                if self.peek() == Some(&Token::Ellipsis) {
                    self.at += 1;
                }
                Ok(Expr::Text(text))
            }
            Some(Token::Word(word)) => {
                if self.eat('(') {
                    return Ok(Expr::Function(word, self.list(')')?));
                }
                if self.eat('=') {
                    let value = self.expr()?;
                    return Ok(Expr::Struct(vec![(Some(word), value)]));
                }
                Ok(Expr::Word(word))
            }
            Some(Token::Char('[')) => Ok(Expr::List(self.list(']')?)),
            Some(Token::Char('{')) => self.structure(),
            _ => self.back(VALUE),
        }
    }

    fn structure(&mut self) -> Result<Expr, Error> {
        let mut fields = Vec::new();
        if self.eat('}') {
            return Ok(Expr::Struct(fields));
        }
        loop {
            let expr = self.expr()?;
            let field = match expr {
                Expr::Struct(mut one) if one.len() == 1 && one[0].0.is_some() => one.swap_remove(0),
                // name(...) = value
                Expr::Function(name, _) if self.eat('=') => (Some(name), self.expr()?),
                other => (None, other),
            };
            fields.push(field);
            if self.eat('}') {
                return Ok(Expr::Struct(fields));
            }
            if !self.eat(',') {
                return self.wrong("',' or '}'");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Event {
        let mut script = parse(text).unwrap();
        assert_eq!(script.events.len(), 1, "{script:?}");
        script.events.remove(0)
    }

    #[test]
    fn packets_are_read_and_written_alike() {
        for packet in [
            "> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>",
            "< [ce] P. 1:1001(1000) ack 1 win 257",
            "> FP. 1:5(4) ack 1 <nop,nop,TS val 100 ecr 0,nop,nop,sack 1:2 3:4>",
            "< SEW 0:0(0) win 32792 <mss 1000,sackOK>",
            "> . 1:1(0) ack 1 <...>",
            "< R 5:5(0)",
        ] {
            let Action::Packet(p) = one(&format!("+0 {packet}")).action else { panic!("{packet}") };
            assert_eq!(p.to_string(), packet);
        }
    }

    #[test]
    fn times() {
        let when = |t: &str| one(&format!("{t} > . 1:1(0) ack 1")).when;
        assert_eq!(when("+.1"), When::After(100_000));
        assert_eq!(when("2.5"), When::At(2_500_000));
        assert_eq!(when("*"), When::Any);
        assert_eq!(when("1~1.5"), When::Between(1_000_000, 1_500_000));
        assert_eq!(when("+.3~+.31"), When::AfterBetween(300_000, 310_000));
    }

    #[test]
    fn calls() {
        let Action::Call(call) = one(
            "+0...0.100 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 10}, {..., 20}], msg_flags=0}, MSG_A|MSG_B) = -1 EAGAIN (Try again)",
        )
        .action
        else {
            panic!()
        };
        assert_eq!((call.end, call.name.as_str(), call.arguments.len()), (Some(100_000), "sendmsg", 3));
        assert_eq!((call.result.int(), call.errno.as_deref()), (Some(-1), Some("EAGAIN")));
        assert_eq!(call.arguments[2].words(), ["MSG_A", "MSG_B"]);
    }

    #[test]
    fn mistakes_are_told_with_line_and_expectation() {
        for (text, line, says) in [
            ("\n+0 > X. 0:0(0)", 2, "TCP's flags"),
            ("+0 < S 0:0(5)", 1, "the length"),
            ("\n\n0 socket(1", 3, "',' or ')'"),
            ("* socket() = 3", 1, "any time"),
            ("+0 > . 1:1(0) ack 1 <mss>", 1, "a segment size"),
            ("", 1, "an event"),
            ("frob", 1, "a time"),
            ("+0 %{ assert 1 }%\n+1 %{\nx = 1\nassert x == (1\n}%", 5, "code: found the end; expected ')'"),
            ("+0 > encap . 1:1(0) ack 1", 1, "psp"),
            ("+.2~+.1 > . 1:1(0) ack 1", 1, "ends before"),
            ("+0 > `a\nb\u{1b}[7m`", 1, "found '"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
            assert_eq!(error.line(), line, "{text}: {error}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
    }
}
