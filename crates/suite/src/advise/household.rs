//! Households on a line, drawn at random: what `advise` tries disciplines on.
//!
//! Each draw is a scenario file with the ports `down` and `up`, each with the discipline in question; where a device shapes what comes in,
//! it has met the provider's queue before, the port `isp`. Calls, games, video, web, downloads and
//! uploads are there in each; how much of them, the round-trip times and the congestion controls are drawn.

use crate::Error;
use queuewright_scenario::suggest;
use queuewright_scenario::units::Unit;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::fmt::Write;

/// Room that a household's device has, packets.
pub(crate) const ROOM: u32 = 1000;

/// What somebody wants of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Speech and pictures, both ways.
    Calls,
    /// Small packets, 60 a second, both ways.
    Games,
    /// Players that choose their bitrate.
    Video,
    /// Pages.
    Web,
    /// Files that are fetched as fast as it goes.
    Downloads,
    /// Files that are sent as fast as it goes.
    Uploads,
}

impl Use {
    /// All of them.
    pub const ALL: [Use; 6] = [Use::Calls, Use::Games, Use::Video, Use::Web, Use::Downloads, Use::Uploads];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Use::Calls => "calls",
            Use::Games => "games",
            Use::Video => "video",
            Use::Web => "web",
            Use::Downloads => "downloads",
            Use::Uploads => "uploads",
        }
    }

    /// Of a list of words.
    ///
    /// # Errors
    /// A word that is none, with those that are.
    pub fn list(text: &str) -> Result<Vec<Use>, Error> {
        let mut uses = Vec::new();
        for word in text.split(',').map(str::trim) {
            let Some(one) = Use::ALL.into_iter().find(|u| u.name() == word) else {
                let all: Vec<_> = Use::ALL.iter().map(|u| u.name()).collect();
                return Err(Error(format!(
                    "--for: {word:?} is no use of a line. Allowed: {}",
                    all.join(", ")
                )));
            };
            if !uses.contains(&one) {
                uses.push(one);
            }
        }
        uses.sort_unstable();
        Ok(uses)
    }
}

/// A kind of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A cable modem, whose queue for uploads takes 250 ms without AQM (Comcast, arXiv 2107.13968).
    Cable,
    /// A line whose modem has Linux's usual queue of 1,000 packets.
    Dsl,
    /// The same.
    Fibre,
}

impl Access {
    /// Of its word.
    ///
    /// # Errors
    /// A word that is none; a kind of line of which no queue of one's own decides.
    pub fn read(word: &str) -> Result<Access, Error> {
        match word {
            "cable" => Ok(Access::Cable),
            "dsl" => Ok(Access::Dsl),
            "fibre" => Ok(Access::Fibre),
            "lte" | "starlink" | "wifi" => Err(Error(format!(
                "--access {word}: no answer: its rate changes by itself, and packets wait in its modem, wherever your device has its queue; \
                 measure the lowest rate that it keeps, and write that as --rate with --access fibre"
            ))),
            "datacenter" => {
                Err(Error("--access datacenter: no household; write queuewright suite datacenter".into()))
            }
            _ => Err(Error(format!(
                "--access {word:?}: not a kind of line{}",
                suggest(word, ["cable", "dsl", "fibre"])
            ))),
        }
    }

    /// The queue that is there now, as a scenario's `buffer`.
    fn buffer(self, bps: u64) -> String {
        match self {
            // In packets of 1,500 bytes, as a modem counts.
            Access::Cable => format!("{}p", (bps as f64 * 0.25 / 8.0 / 1500.0).ceil().max(2.0)),
            Access::Dsl | Access::Fibre => "1000p".into(),
        }
    }
}

/// A line and what it is used for.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its rate to the household, bits a second.
    pub down_bps: u64,
    /// Its rate from it.
    pub up_bps: u64,
    /// Round-trip times of servers without queues, ms: the shortest and the longest.
    pub rtt_ms: (f64, f64),
    /// Its kind.
    pub access: Access,
    /// What is wanted of it; the household does all of [`Use::ALL`].
    pub uses: Vec<Use>,
    /// Of the rate to the household the share that a device shapes to, per cent: one of [`SHARES`].
    pub down_percent: u64,
}

/// Shares of the rate to the household that are tried, per cent, the largest first. What comes in waits at the provider's end until what is sent
/// has slowed down; the less of the line a device lets through, the sooner that queue is empty.
pub const SHARES: [u64; 4] = [95, 90, 85, 80];
/// That of the rate from the household, whose packets no queue holds before.
const UP_PERCENT: u64 = 95;

impl Line {
    /// `--rate DOWN/UP` (or one rate for both), `--rtt TIME..TIME`.
    ///
    /// # Errors
    /// What is no rate or time, or out of range.
    pub fn new(rate: &str, rtt: &str, access: Access, uses: Vec<Use>) -> Result<Line, Error> {
        let bps = |text: &str| {
            let bps = Unit::Rate.parse(text).map_err(|e| Error(format!("--rate = {text:?}: {}", e.0)))?;
            match (1_000_000..=1_000_000_000).contains(&bps) {
                true => Ok(bps),
                false => Err(Error(format!("--rate = {text:?}: out of range; allowed: 1mbit to 1gbit"))),
            }
        };
        let (down, up) = rate.split_once('/').unwrap_or((rate, rate));
        let ms = |text: &str| {
            let ns = Unit::Time.parse(text).map_err(|e| Error(format!("--rtt = {text:?}: {}", e.0)))?;
            match (1_000_000..=1_000_000_000).contains(&ns) {
                true => Ok(ns as f64 / 1e6),
                false => Err(Error(format!("--rtt = {text:?}: out of range; allowed: 1ms to 1s"))),
            }
        };
        let (short, long) = rtt.split_once("..").unwrap_or((rtt, rtt));
        let rtt_ms = (ms(short)?, ms(long)?);
        if rtt_ms.0 > rtt_ms.1 {
            return Err(Error(format!(
                "--rtt = {rtt:?}: the longer time comes first; write {long}..{short}"
            )));
        }
        if uses.is_empty() {
            return Err(Error("--for: empty; write what is wanted of the line, such as calls,web".into()));
        }
        Ok(Line { down_bps: bps(down)?, up_bps: bps(up)?, rtt_ms, access, uses, down_percent: SHARES[0] })
    }

    /// The rates that a device shapes to, so that packets wait in its own queue.
    pub fn shaped(&self) -> (u64, u64) {
        (self.down_bps * self.down_percent / 100, self.up_bps * UP_PERCENT / 100)
    }

    /// The faster direction, bits a second.
    fn fastest_bps(&self) -> u64 {
        self.down_bps.max(self.up_bps)
    }

    /// Households that the best are tried on at a time, and that check the advice at a time: fewer where their runs take long.
    pub fn households(&self) -> u64 {
        if self.fastest_bps() > FAST_BPS { 8 } else { 16 }
    }
}

/// Web pages of desktop computers: the median one has 2,652 KB of 1,024 bytes (HTTP Archive's Web Almanac 2024), the tenth largest 3.2 times as much (that of
/// 2019: 6 MB of 1.9), so that of a log-normal size this is the deviation.
const PAGE_BYTES: f64 = 2_652.0 * 1024.0;
const PAGE_SIGMA: f64 = 0.9;
/// A page comes from so many hosts (Grigorik, CACM 56, 2013), over a connection each.
const PAGE_HOSTS: usize = 15;
/// Of a page's bytes hosts have very different parts: a deviation of their logarithms with which the largest has 30 % on average.
const HOSTS_SIGMA: f64 = 1.2;
/// Payload of a full packet, bytes, as a scenario's file of pages counts them.
const PAYLOAD: f64 = 1448.0;
/// Pages in a household's file, and for how long one is looked at, s: an assumption of ours.
const PAGES: usize = 40;
const LOOKED_AT_S: f64 = 20.0;
/// Pages that come while a run on a fast line is measured, on average.
const PAGES_AT_LEAST: f64 = 3.0;

/// A number of the standard normal distribution (Box and Muller) from two of the uniform one.
fn normal(uniform: &mut impl FnMut() -> f64) -> f64 {
    let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
    radius * (uniform() * std::f64::consts::TAU).cos()
}

/// The file of pages that a household loads, in turn: [`pages_file`] is its name.
pub fn pages(number: u64) -> String {
    let mut random = Pcg32::new(number, 0x9a9e);
    let mut unit = || f64::from(random.next_u32()) / 2f64.powi(32);
    let mut out = String::from("trace,flow,packets\n");
    for page in 0..PAGES {
        // At most ten times the median: a video is no page.
        let bytes = (PAGE_BYTES * (PAGE_SIGMA * normal(&mut unit)).exp()).min(10.0 * PAGE_BYTES);
        let parts: Vec<f64> = (0..PAGE_HOSTS).map(|_| (HOSTS_SIGMA * normal(&mut unit)).exp()).collect();
        let all: f64 = parts.iter().sum();
        for (host, part) in parts.iter().enumerate() {
            let packets = (bytes * part / all / PAYLOAD).ceil().max(1.0);
            let _ = writeln!(out, "{page},{host},{packets}");
        }
    }
    out
}

/// The name of the file of [`pages`].
pub fn pages_file(number: u64) -> String {
    format!("{number}-pages.csv")
}

/// Above it senders take long to have the line, and runs have many packets.
const FAST_BPS: u64 = 400_000_000;

/// The households with which all disciplines are tried, and the shares of the line: 1 to this.
pub const FIRST: u64 = 8;

/// How long a run is, and what of it does not count, s: on slow lines pages come seldom, on fast ones packets are many. The first households,
/// which only choose what is tried on the others, are shorter.
fn length(line: &Line, number: u64) -> (u32, u32) {
    let (all, first) = match line.fastest_bps() {
        ..=30_000_000 => ((60, 10), (40, 10)),
        30_000_001..=150_000_000 => ((40, 10), (26, 8)),
        150_000_001..=FAST_BPS => ((18, 6), (12, 5)),
        _ => ((14, 5), (6, 3)),
    };
    if number <= FIRST { first } else { all }
}

/// A scenario of the household with this number. `managed`: the device shapes to [`Line::shaped`], with 1,000 packets of room, what comes in
/// behind the provider's queue; else it is the line as it is. The same number is the same household both times. [`pages`] are to be beside it.
pub fn scenario(line: &Line, number: u64, managed: bool) -> String {
    let mut random = Pcg32::new(number, 0xad);
    let mut unit = || f64::from(random.next_u32()) / 2f64.powi(32);
    let (low, high) = line.rtt_ms;
    // All is drawn in any case, so that one use more changes no other.
    // What people use most is near.
    let near = format!("{:.1}ms", low + (high - low) * 0.4 * unit());
    let video_rtt = format!("{:.1}ms", low + (high - low) * unit());
    let players = 1 + (unit() * 2.0) as u32;
    // One or two people, who look at a page after it has come. Alone on the line it would take this long.
    let alone_s = PAGE_BYTES * (PAGE_SIGMA * PAGE_SIGMA / 2.0).exp() * 8.0 / line.down_bps as f64;
    let (duration, warmup) = length(line, number);
    // On fast lines, whose runs are short, so many that some come.
    let some = PAGES_AT_LEAST / f64::from(duration - warmup);
    let page_rate = ((1.0 + unit()) / (LOOKED_AT_S + alone_s)).max(if alone_s < 1.0 { some } else { 0.0 });
    let mut of_files = |bbr: [u64; 3]| {
        (1 + (unit() * 4.0) as u32, if bbr.contains(&(number % 10)) { "bbr" } else { "cubic" })
    };
    // Three in ten of any ten in a row, so that few households have them, too; one in ten both.
    let files = [of_files([0, 3, 6]), of_files([2, 6, 9])];
    let (down, up) = if managed { line.shaped() } else { (line.down_bps, line.up_bps) };
    let mut out = String::new();
    if managed {
        let _ = write!(
            out,
            "[[ports]]\nname = \"isp\"\nrate = \"{}bit\"\nbuffer = \"{}\"\ndiscipline = \"droptail\"\n\n",
            line.down_bps,
            line.access.buffer(line.down_bps)
        );
    }
    let through = |way: &str| match way {
        "down" if managed => "[\"isp\", \"down\"]".to_string(),
        way => format!("[\"{way}\"]"),
    };
    for (name, bps) in [("down", down), ("up", up)] {
        let buffer = if managed { format!("{ROOM}p") } else { line.access.buffer(bps) };
        let _ = write!(out, "[[ports]]\nname = \"{name}\"\nrate = \"{bps}bit\"\nbuffer = \"{buffer}\"\n\n");
    }
    let flow = |out: &mut String, name: &str, keys: &str| {
        let _ = write!(out, "[[flows]]\nname = \"{name}\"\n{keys}\n\n");
    };
    // Pictures take what the slower direction has to spare, as a call's sender does.
    let pictures = (line.up_bps.min(line.down_bps) / 5).min(1_500_000);
    for way in ["down", "up"] {
        flow(
            &mut out,
            &format!("speech {way}"),
            &format!("voip = \"g711\"\nrtt = \"{near}\"\nports = {}", through(way)),
        );
        flow(
            &mut out,
            &format!("pictures {way}"),
            &format!(
                "cbr = \"{pictures}bit\"\npacket = \"1200b\"\nrtt = \"{near}\"\nports = {}",
                through(way)
            ),
        );
    }
    for (way, keys) in
        [("down", "cbr = \"120kbit\"\npacket = \"250b\""), ("up", "cbr = \"48kbit\"\npacket = \"100b\"")]
    {
        flow(
            &mut out,
            &format!("game {way}"),
            &format!("{keys}\nrtt = \"{near}\"\nports = {}", through(way)),
        );
    }
    let range = format!("{low}ms..{high}ms");
    flow(
        &mut out,
        "video",
        &format!(
            "count = {players}\ncca = \"cubic\"\nrtt = \"{video_rtt}\"\nstart = \"0s..2s\"\nvideo = {{}}\nports = {}\nreverse_ports = [\"up\"]",
            through("down")
        ),
    );
    flow(
        &mut out,
        "pages",
        &format!(
            "cca = \"cubic\"\nrtt = \"{range}\"\npages = {{ file = \"{}\" }}\narrivals = \"{page_rate:.3}/s\"\nports = {}\nreverse_ports = [\"up\"]",
            pages_file(number),
            through("down")
        ),
    );
    let ways = [(Use::Downloads.name(), "down", "up"), (Use::Uploads.name(), "up", "down")];
    for ((name, way, back), (count, cca)) in ways.into_iter().zip(files) {
        flow(
            &mut out,
            name,
            &format!(
                "count = {count}\ncca = \"{cca}\"\nrtt = \"{range}\"\nstart = \"0s..2s\"\nprobes = true\nports = {}\nreverse_ports = {}",
                through(way),
                through(back)
            ),
        );
    }
    let _ = write!(
        out,
        "[queue]\ndisciplines = [\"droptail\"]\n\n[run]\nduration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nseeds = [{number}]\n"
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_scenario::Scenario;

    fn line(rate: &str, rtt: &str, uses: &str) -> Result<Line, Error> {
        Line::new(rate, rtt, Access::read("cable")?, Use::list(uses)?)
    }

    #[test]
    fn every_household_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        for rate in ["1mbit", "20mbit/5mbit", "1gbit/1mbit"] {
            for uses in ["calls", "games,web", "calls,games,video,web,downloads,uploads"] {
                let line = line(rate, "15ms..80ms", uses).unwrap();
                for number in 1..=20 {
                    for managed in [false, true] {
                        std::fs::write(folder.path().join(pages_file(number)), pages(number)).unwrap();
                        let text = scenario(&line, number, managed);
                        let read = Scenario::parse(&text, "draw.toml", folder.path());
                        let runs = read.and_then(|s| s.runs()).unwrap_or_else(|e| panic!("{e}\n{text}"));
                        assert_eq!((runs.len(), runs[0].ports.len()), (1, 2 + usize::from(managed)));
                    }
                }
            }
        }
    }

    /// The household does not change with who manages the queue, nor with what is wanted.
    #[test]
    fn a_number_is_one_household() {
        let all = line("20mbit/5mbit", "15ms..80ms", "calls,games,video,web,downloads,uploads").unwrap();
        // But for the provider's queue, which what comes in meets before the device.
        let flows =
            |text: &str| text[text.find("[[flows]]").unwrap()..].replace("[\"isp\", \"down\"]", "[\"down\"]");
        assert_eq!(flows(&scenario(&all, 7, true)), flows(&scenario(&all, 7, false)));
        assert_ne!(flows(&scenario(&all, 7, true)), flows(&scenario(&all, 8, true)));
        let calls = line("20mbit/5mbit", "15ms..80ms", "calls").unwrap();
        assert_eq!(scenario(&all, 7, true), scenario(&calls, 7, true));
        // Of ten in a row three have BBR downloads, three uploads.
        for way in ["downloads", "uploads"] {
            let with_bbr = |n: &u64| {
                let text = scenario(&all, *n, true);
                let entry = &text[text.find(&format!("name = \"{way}\"")).unwrap()..];
                entry[..entry.find("\n\n").unwrap()].contains("bbr")
            };
            assert_eq!((1..=10).filter(with_bbr).count(), 3, "{way}");
            assert!((1..=8).any(|n| with_bbr(&n)), "{way}");
        }
        // 95 % where it is managed; 250 ms of a cable modem's 5 Mbit/s are 105 packets where it is not.
        assert!(scenario(&all, 7, true).contains("rate = \"4750000bit\"\nbuffer = \"1000p\""));
        let less = Line { down_percent: 80, ..all.clone() };
        assert_eq!(less.shaped(), (16_000_000, 4_750_000));
        // The provider's queue has the line's rate and what is there without a device.
        let isp = "name = \"isp\"\nrate = \"20000000bit\"\nbuffer = \"417p\"\ndiscipline = \"droptail\"";
        assert!(scenario(&less, 7, true).contains(isp), "{}", scenario(&less, 7, true));
        assert!(scenario(&all, 7, false).contains("rate = \"5000000bit\"\nbuffer = \"105p\""));
    }

    /// Pages are as large as the Web Almanac has them, and no household on a slow line loads more than the line carries.
    #[test]
    fn pages_are_as_people_load_them() {
        let mut totals: Vec<f64> = (1..=500)
            .flat_map(|number| {
                let text = pages(number);
                let mut of_page = vec![0.0; PAGES];
                for line in text.lines().skip(1) {
                    let of: Vec<usize> = line.split(',').map(|v| v.parse().unwrap()).collect();
                    of_page[of[0]] += of[2] as f64 * PAYLOAD;
                }
                of_page
            })
            .collect();
        totals.sort_by(f64::total_cmp);
        let at = |share: f64| totals[(totals.len() as f64 * share) as usize];
        assert!((at(0.5) / PAGE_BYTES - 1.0).abs() < 0.03, "{}", at(0.5));
        assert!((at(0.9) / at(0.5) / 3.2 - 1.0).abs() < 0.05, "{}", at(0.9) / at(0.5));
        for (rate, most) in [("1mbit", 1.0), ("5mbit", 0.7), ("20mbit", 0.3), ("100mbit", 0.1)] {
            let line = line(rate, "20ms", "web").unwrap();
            let of = |number: u64| {
                let text = scenario(&line, number, true);
                let arrivals = text.split("arrivals = \"").nth(1).unwrap().split('/').next().unwrap();
                let mean = totals.iter().sum::<f64>() / totals.len() as f64;
                arrivals.parse::<f64>().unwrap() * mean * 8.0 / line.down_bps as f64
            };
            let shares: Vec<f64> = (1..=100).map(of).collect();
            let mean = shares.iter().sum::<f64>() / 100.0;
            assert!(mean < most, "{rate}: {mean}");
        }
    }

    #[test]
    fn wrong_words_are_one_clear_error() {
        for (rate, rtt, uses, said) in [
            ("20", "9ms", "web", "--rate = \"20\": "),
            ("2gbit", "9ms", "web", "--rate = \"2gbit\": out of range; allowed: 1mbit to 1gbit"),
            ("20mbit/0bit", "9ms", "web", "--rate = \"0bit\": "),
            ("20mbit", "9", "web", "--rtt = \"9\": "),
            (
                "20mbit",
                "80ms..20ms",
                "web",
                "--rtt = \"80ms..20ms\": the longer time comes first; write 20ms..80ms",
            ),
            ("20mbit", "9ms", "web,mail", "--for: \"mail\" is no use of a line. Allowed: calls, games, "),
        ] {
            let error = line(rate, rtt, uses).expect_err("it is wrong").0;
            assert!(error.starts_with(said), "{error}");
        }
        assert!(
            Access::read("lte").expect_err("no answer").0.contains("no answer: its rate changes by itself")
        );
        assert!(Access::read("copper").expect_err("none").0.ends_with("Allowed: cable, dsl, fibre"));
    }
}
