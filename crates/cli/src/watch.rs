//! `watch`: attached disciplines over time, on a terminal.

use crate::Failure;
use crate::args::Watch;
use crate::linux::{now, reasons, with_unit};
use crate::since::Since;
use queuewright_linux::{Error, Status};
use queuewright_scenario::units::Unit;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Sparkline};
use ratatui::{DefaultTerminal, Frame};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Moments kept of each device: the widest terminal.
const KEPT: usize = 400;
/// Lines of a device, but for its words: the frame, and two of each picture.
const HEIGHT: u16 = 6;

/// A device over time.
struct Device {
    last: Status,
    at: Instant,
    /// Sent since the moment before, bits a second.
    rate: VecDeque<u64>,
    /// Mean sojourn time of what was sent since, us.
    sojourn: VecDeque<u64>,
    dropped: f64,
    marked: f64,
}

/// Everything that is drawn.
#[derive(Default)]
struct View {
    devices: BTreeMap<String, Device>,
    wrong: Option<String>,
}

/// The command.
pub fn watch(w: &Watch) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::Input(format!("--every {:?}: {what}", w.every));
    let every = Unit::Time.parse(&w.every).map_err(|e| wrong(&e.0))?;
    if !(10_000_000..=3_600_000_000_000).contains(&every) {
        return Err(wrong("from 10ms to 3600s"));
    }
    let (dev, every) = (w.dev.as_deref(), Duration::from_nanos(every));
    match w.web {
        true => crate::live::live(w, every),
        false => follow(every, || Ok(now(dev)?.0)),
    }
}

/// Shows what `read` tells, every `every`, until `q`, Escape or Ctrl-C.
fn follow(every: Duration, read: impl Fn() -> Result<Vec<Status>, Error>) -> Result<(), Failure> {
    let mut view = View::default();
    // What is wrong at once is said on a plain terminal.
    view.take(Instant::now(), read()?);
    let mut terminal =
        ratatui::try_init().map_err(|e| Failure::Run(format!("watch needs a terminal: {e}")))?;
    let done = show(&mut terminal, &mut view, every, &read);
    ratatui::restore();
    done.map_err(|e| Failure::Run(format!("terminal: {e}")))
}

fn show(
    terminal: &mut DefaultTerminal,
    view: &mut View,
    every: Duration,
    read: &impl Fn() -> Result<Vec<Status>, Error>,
) -> std::io::Result<()> {
    let mut due = Instant::now() + every;
    loop {
        terminal.draw(|frame| view.draw(frame))?;
        if event::poll(due.saturating_duration_since(Instant::now()))?
            && let Event::Key(key) = event::read()?
        {
            let stop = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
            if stop || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                return Ok(());
            }
        }
        if Instant::now() >= due {
            due += every;
            match read() {
                Ok(all) => view.take(Instant::now(), all),
                Err(e) => view.wrong = Some(e.to_string()),
            }
        }
    }
}

impl View {
    fn take(&mut self, now: Instant, all: Vec<Status>) {
        self.wrong = None;
        self.devices.retain(|dev, _| all.iter().any(|s| s.dev == *dev));
        for status in all {
            let known = self.devices.get_mut(&status.dev);
            let since = known
                .as_ref()
                .and_then(|d| Since::of(&d.last.stats, &status.stats, now.duration_since(d.at)));
            match known.zip(since) {
                Some((d, since)) => d.add(now, status, since),
                None => {
                    let (rate, sojourn) = (VecDeque::new(), VecDeque::new());
                    let fresh = Device { last: status, at: now, rate, sojourn, dropped: 0.0, marked: 0.0 };
                    self.devices.insert(fresh.last.dev.clone(), fresh);
                }
            }
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let lines = |d: &Device| Constraint::Length(HEIGHT + d.words());
        let mut rows: Vec<Constraint> = self.devices.values().map(lines).collect();
        rows.push(Constraint::Min(1));
        let areas = Layout::vertical(rows).split(frame.area());
        for (device, area) in self.devices.values().zip(areas.iter()) {
            device.draw(frame, *area);
        }
        let foot = match &self.wrong {
            Some(wrong) => format!("{wrong}; q quits"),
            None if self.devices.is_empty() => "nothing is attached here; q quits".into(),
            None => "q quits".into(),
        };
        frame.render_widget(Paragraph::new(foot), areas[self.devices.len()]);
    }
}

impl Device {
    fn add(&mut self, now: Instant, status: Status, since: Since) {
        self.dropped = since.drops as f64 / since.seconds;
        self.marked = since.marks as f64 / since.seconds;
        let sojourn_us = since.sojourn_ms.unwrap_or(0.0) * 1e3;
        for (over_time, value) in [(&mut self.rate, since.rate_bps), (&mut self.sojourn, sojourn_us)] {
            over_time.push_front(value as u64);
            over_time.truncate(KEPT);
        }
        (self.last, self.at) = (status, now);
    }

    /// Lines of words: queues have one of their own.
    fn words(&self) -> u16 {
        3 + u16::from(!self.last.classes.is_empty())
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let s = &self.last;
        let gone = if s.there { "" } else { crate::linux::GONE };
        let block = Block::bordered().title(format!(
            " {}: {}{gone} ",
            queuewright_linux::with_name(&s.dev),
            s.discipline
        ));
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let [words, rates, waits] =
            Layout::vertical([self.words(), 2, 2].map(Constraint::Length)).areas(inner);
        let variables =
            s.variables.iter().map(|(name, unit, value)| format!("{name} {}", with_unit(*value, unit)));
        let queues = s.classes.iter().map(|c| format!("{} {} packets", c.name, c.backlog_packets));
        let variables: Vec<String> = variables.collect();
        let queues: Vec<String> = queues.collect();
        let mut text = vec![
            Line::from(format!(
                "waiting {} packets, {} bytes; dropped {:.0}/s ({} in all); marked {:.0}/s ({})",
                s.stats.backlog_packets,
                s.stats.backlog_bytes,
                self.dropped,
                reasons(&s.stats.drops),
                self.marked,
                reasons(&s.stats.marks)
            )),
            Line::from(variables.join(", ")),
            Line::from(format!(
                "rate {:.2} Mbit/s, sojourn {:.3} ms (99 % of all below {:.3} ms)",
                self.rate.front().copied().unwrap_or(0) as f64 / 1e6,
                self.sojourn.front().copied().unwrap_or(0) as f64 / 1e3,
                s.stats.sojourn_below_ns(0.99) as f64 / 1e6
            )),
        ];
        if !queues.is_empty() {
            text.push(Line::from(format!("waiting: {}", queues.join(", "))));
        }
        frame.render_widget(Paragraph::new(text), words);
        for (title, over_time, area) in [("rate    ", &self.rate, rates), ("sojourn ", &self.sojourn, waits)]
        {
            let [name, line] =
                Layout::horizontal([Constraint::Length(title.len() as u16), Constraint::Min(1)]).areas(area);
            frame.render_widget(Paragraph::new(title), name);
            // The newest at the right end.
            let mut shown: Vec<u64> = over_time.iter().take(line.width as usize).copied().collect();
            shown.reverse();
            frame.render_widget(Sparkline::default().data(shown), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_linux::Stats;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn status(sent: u64, drops: u64) -> Status {
        Status {
            ingress_of: None,
            police: false,
            dev: "eth0".into(),
            there: true,
            missing: Vec::new(),
            mend: None,
            discipline: "codel:target=10ms".into(),
            file: None,
            kind: "bpf_codel".into(),
            rate: 0,
            limit_packets: 1000,
            limit_bytes: 0,
            overhead: 0,
            stats: Stats {
                sent_packets: sent,
                sent_bytes: sent * 1250,
                sojourn_sum_ns: sent * 3_000_000,
                drops: [0, 0, 0, drops, 0],
                sojourns: [0; 40],
                ..Stats::default()
            },
            variables: vec![("count".into(), "".into(), 2.0), ("dropping".into(), "".into(), 0.0)],
            queues: Vec::new(),
            classes: Vec::new(),
        }
    }

    fn drawn(view: &View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 12)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn rates_are_those_since_the_moment_before() {
        let (mut view, start) = (View::default(), Instant::now());
        view.take(start, vec![status(1000, 4)]);
        view.take(start + Duration::from_secs(2), vec![status(3000, 10)]);
        let text = drawn(&view);
        assert!(text.contains("eth0: codel:target=10ms"), "{text}");
        // 2000 packets of 1250 bytes in 2 s.
        assert!(text.contains("rate 10.00 Mbit/s, sojourn 3.000 ms"), "{text}");
        assert!(text.contains("dropped 3/s (10 sojourn in all)"), "{text}");
        assert!(text.contains("count 2, dropping 0 ") && !text.contains("waiting: "), "{text}");
    }

    #[test]
    fn queues_have_a_line_of_their_own() {
        let mut view = View::default();
        let class = |name: &str, backlog_packets| queuewright_linux::Class {
            name: name.into(),
            class: "7177:10".into(),
            sent_packets: 0,
            sent_bytes: 0,
            dropped: 0,
            sojourn_sum_ns: 0,
            backlog_packets,
            backlog_bytes: 0,
            share: None,
        };
        view.take(
            Instant::now(),
            vec![Status { classes: vec![class("mice", 0), class("q1", 7)], ..status(1, 0) }],
        );
        let text = drawn(&view);
        assert!(text.contains("waiting: mice 0 packets, q1 7 packets"), "{text}");
        assert!(text.contains("sojourn "), "{text}");
    }

    #[test]
    fn what_is_gone_or_begun_anew_does_not_count_on() {
        let (mut view, start) = (View::default(), Instant::now());
        view.take(start, vec![status(1000, 4)]);
        view.take(start + Duration::from_secs(1), vec![status(10, 0)]);
        assert!(drawn(&view).contains("rate 0.00 Mbit/s"), "{}", drawn(&view));
        view.take(start + Duration::from_secs(2), Vec::new());
        assert!(drawn(&view).contains("nothing is attached here"), "{}", drawn(&view));
    }

    #[test]
    fn the_smallest_terminal_is_no_crash() {
        let mut view = View::default();
        view.take(Instant::now(), vec![status(1, 0)]);
        for (width, height) in [(1, 1), (3, 2), (10, 5)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| view.draw(frame)).unwrap();
        }
    }
}
