//! A page of Markdown for who reads it: as it is, or laid out for a terminal.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::io::{self, IsTerminal};
use terminal_size::{Width, terminal_size};
use textwrap::{Options as Wrapping, WordSplitter, fill};

/// Lines are no longer than this where the terminal is wider: they are to be read.
const WIDEST: u16 = 100;

/// What `explain` prints of a page: to a terminal laid out, without colours where `NO_COLOR` is set, else the Markdown itself.
pub fn shown(page: &str) -> String {
    if !io::stdout().is_terminal() {
        return page.into();
    }
    let width = terminal_size().map_or(80, |(Width(columns), _)| columns);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    laid_out(page, width.min(WIDEST), plain)
}

/// Paragraphs filled, tables drawn, links as their words, and no pictures.
fn laid_out(page: &str, width: u16, plain: bool) -> String {
    let mut layout = Layout { width: width.into(), plain, ..Layout::default() };
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        layout.take(event);
    }
    layout.out
}

#[derive(Default)]
struct Layout {
    width: usize,
    plain: bool,
    out: String,
    /// Of the block that is being read.
    text: String,
    /// The number of the next item of each list that is open, if it has numbers.
    lists: Vec<Option<u64>>,
    /// What stands in front of the item that has begun.
    bullet: Option<String>,
    in_picture: bool,
    rows: Vec<Vec<String>>,
}

impl Layout {
    fn take(&mut self, event: Event) {
        match event {
            Event::Text(text) | Event::Code(text) if !self.in_picture => self.text.push_str(&text),
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Start(Tag::Image { .. }) => self.in_picture = true,
            Event::End(TagEnd::Image) => self.in_picture = false,
            Event::End(TagEnd::Heading(_)) => self.heading(),
            Event::Start(Tag::CodeBlock(_)) => self.block(),
            Event::Start(Tag::List(first)) => {
                self.block();
                self.lists.push(first);
            }
            Event::End(TagEnd::List(_)) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            Event::Start(Tag::Item) => {
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".into(),
                });
            }
            Event::End(TagEnd::Item) => self.block(),
            Event::End(TagEnd::Paragraph) => {
                self.block();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                for line in std::mem::take(&mut self.text).lines() {
                    self.out.push_str(&format!("    {line}\n"));
                }
                self.blank();
            }
            Event::End(TagEnd::TableCell) => {
                let cell = std::mem::take(&mut self.text);
                self.rows.last_mut().expect("in a row").push(cell);
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::End(TagEnd::Table) => self.table(),
            _ => {}
        }
    }

    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Names with hyphens stay whole.
    fn wrapping<'a>(&self) -> Wrapping<'a> {
        Wrapping::new(self.width).word_splitter(WordSplitter::NoHyphenation)
    }

    fn heading(&mut self) {
        self.blank();
        let text = std::mem::take(&mut self.text);
        let lines = fill(&text, self.wrapping());
        let (on, off) = if self.plain { ("", "") } else { ("\x1b[1m", "\x1b[0m") };
        self.out.push_str(&format!("{on}{lines}{off}\n\n"));
    }

    /// A paragraph, or what an item has said so far.
    fn block(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        let outside = "  ".repeat(self.lists.len().saturating_sub(1));
        let hanging = match self.lists.last() {
            None => "",
            Some(None) => "  ",
            Some(Some(_)) => "   ",
        };
        let inside = format!("{outside}{hanging}");
        let first = self.bullet.take().map_or(inside.clone(), |bullet| outside + &bullet);
        let wrapping = self.wrapping().initial_indent(&first).subsequent_indent(&inside);
        self.out.push_str(&fill(text.trim(), wrapping));
        self.out.push('\n');
    }

    fn table(&mut self) {
        let width = u16::try_from(self.width).unwrap_or(u16::MAX);
        let table = queuewright_report::words(std::mem::take(&mut self.rows), width);
        self.out.push_str(&format!("{table}\n\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_laid_out() {
        let page = "# A [b](c.md) d\n\n![a picture](x.png)\nsee\n[e](f) and `g`, a[0]\n\n- one\n  more\n- two\n  1. x\n  2. y\n\n\
            ```\n[k](l)\n```\n\n| a | b |\n|---|---|\n| c [d](e) | f |\n\nend\n";
        let out = laid_out(page, 40, true);
        let (text, rest) = out.split_once("    [k](l)\n\n").expect("code as it is");
        assert_eq!(text, "A b d\n\nsee e and g, a[0]\n\n- one more\n- two\n  1. x\n  2. y\n\n");
        assert!(rest.contains(" a ") && rest.contains("c d") && rest.ends_with("\n\nend\n\n"), "{rest}");
    }

    /// Every page fits, and keeps its words.
    #[test]
    fn pages_fit_a_terminal() {
        for info in queuewright_aqm::registry() {
            for width in [60, 80, 100] {
                let out = laid_out(info.explain, width, true);
                for line in out.lines().filter(|line| !line.starts_with("    ")) {
                    assert!(line.chars().count() <= usize::from(width), "{}: {width}: {line}", info.name);
                }
                assert!(!out.contains("](") && out.contains("Parameters"), "{}: {out}", info.name);
            }
        }
    }
}
