//! The words of a script (`lexer.l` of packetdrill).

use crate::Error;

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A name, or letters and digits of any kind.
    Word(String),
    /// A decimal or hexadecimal number.
    Int(i64),
    /// A number with a point, as it is written.
    Float(String),
    /// In double quotes.
    Text(String),
    /// In back-quotes: a command line.
    Command(String),
    /// In `%{ }%`: Python.
    Code(String),
    /// `--name`
    Option(String),
    /// `...`
    Ellipsis,
    /// Any other character.
    Char(char),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) | Token::Float(word) => f.write_str(word),
            Token::Int(number) => number.fmt(f),
            Token::Text(text) => write!(f, "\"{text}\""),
            Token::Command(_) => f.write_str("a command line in back-quotes"),
            Token::Code(_) => f.write_str("%{ code }%"),
            Token::Option(name) => write!(f, "--{name}"),
            Token::Ellipsis => f.write_str("..."),
            Token::Char(c) => c.fmt(f),
        }
    }
}

/// The words of a script, each with its line.
///
/// # Errors
/// A quotation, comment or code that does not end; a number that is too long.
pub fn lex(text: &str) -> Result<Vec<(Token, u32)>, Error> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Takes so many bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Takes what begins with `open` and ends with the first `close` after it: what lies between.
    fn between(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, Error> {
        let line = self.line;
        let Some(end) = self.rest[open.len()..].find(close) else {
            return Err(Error::syntax(line, format!("{what} does not end; expected {close}")));
        };
        let all = self.take(open.len() + end + close.len());
        Ok(&all[open.len()..open.len() + end])
    }

    /// Takes a quotation, in which a backslash hides a quote.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String, Error> {
        let mut escaped = false;
        for (i, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return Ok(self.take(i + 1)[1..i].to_string()),
                _ => {}
            }
        }
        Err(Error::syntax(self.line, format!("{what} does not end; expected {quote}")))
    }

    fn next(&mut self) -> Result<Option<(Token, u32)>, Error> {
        loop {
            let rest = self.rest;
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.take(blank);
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.take(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.between("/*", "*/", "the comment")?;
            } else {
                break;
            }
        }
        let (rest, line) = (self.rest, self.line);
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let second = rest[first.len_utf8()..].chars().next();
        let token = match first {
            '%' if second == Some('{') => {
                Token::Code(self.between("%{", "}%", "the code")?.trim_matches([' ', '\t']).to_string())
            }
            '"' => Token::Text(self.quoted('"', "the string")?),
            '`' => Token::Command(self.quoted('`', "the command line")?),
            '-' if rest.starts_with("--") && rest[2..].starts_with(is_word) => {
                let end = rest[2..].find(|c| !is_word(c)).map_or(rest.len(), |n| n + 2);
                Token::Option(self.take(end)[2..].to_string())
            }
            '.' if rest.starts_with("...") => {
                self.take(3);
                Token::Ellipsis
            }
            c if is_word(c) || ((c == '-' || c == '.') && number_follows(&rest[1..], c)) => {
                self.word(line)?
            }
            c => {
                self.take(c.len_utf8());
                Token::Char(c)
            }
        };
        Ok(Some((token, line)))
    }

    /// A word or a number: whatever is longest.
    fn word(&mut self, line: u32) -> Result<Token, Error> {
        let rest = self.rest;
        let sign = usize::from(rest.starts_with('-'));
        let digits = sign + count(&rest[sign..], |c| c.is_ascii_digit());
        let fraction = match rest[digits..].strip_prefix('.') {
            Some(after) => count(after, |c| c.is_ascii_digit()),
            None => 0,
        };
        let word = sign + count(&rest[sign..], is_word);
        let bad = |text: &str| Error::syntax(line, format!("the number {text} is too long"));
        if fraction > 0 && digits == word {
            return Ok(Token::Float(self.take(digits + 1 + fraction).to_string()));
        }
        let text = self.take(word);
        if digits == word {
            return text.parse().map(Token::Int).map_err(|_| bad(text));
        }
        if let Some(hex) =
            text.strip_prefix("0x").filter(|h| h.chars().all(|c| c.is_ascii_hexdigit()) && !h.is_empty())
        {
            return u64::from_str_radix(hex, 16).map(|n| Token::Int(n as i64)).map_err(|_| bad(text));
        }
        Ok(Token::Word(text.to_string()))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// After a sign or a point, does a number go on?
fn number_follows(rest: &str, before: char) -> bool {
    let digit = |s: &str| s.starts_with(|c: char| c.is_ascii_digit());
    digit(rest) || (before == '-' && rest.strip_prefix('.').is_some_and(digit))
}

fn count(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        lex(text).unwrap().iter().map(|t| t.0.to_string()).collect()
    }

    #[test]
    fn numbers_points_and_words() {
        assert_eq!(
            words("+.1~+.25 1:1001(1000)"),
            ["+", ".1", "~", "+", ".25", "1", ":", "1001", "(", "1000", ")"]
        );
        assert_eq!(words("+0...0.100 accept"), ["+", "0", "...", "0.100", "accept"]);
        assert_eq!(
            words("> S. 0:0(0) -1 0x10 // no\n/* none */ F."),
            [">", "S", ".", "0", ":", "0", "(", "0", ")", "-1", "16", "F", "."]
        );
        assert_eq!(words(r#"--mss=1000 "a\"b""#), ["--mss", "=", "1000", r#""a\"b""#]);
    }

    #[test]
    fn lines_are_counted_and_ends_are_missed() {
        let tokens = lex("`a\nb`\n%{ x }% # c\n  z").unwrap();
        assert_eq!(tokens.iter().map(|t| t.1).collect::<Vec<_>>(), [1, 3, 4]);
        for open in ["\n`a", "\n\"a", "\n%{ a", "\n/* a"] {
            assert_eq!(lex(open).unwrap_err().line(), 2, "{open}");
        }
    }
}
