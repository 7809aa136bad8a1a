//! What a script's command lines set: sysctls, qdiscs, offloads.

use crate::{End, Failure, Step};
use queuewright_scenario::{limits, read_text};
use queuewright_sim::Kind;
use queuewright_sim::alone::{Dropped, Sysctls};
use std::path::Path;

/// How deep scripts may call one another.
const DEEPEST: u32 = 4;

/// What is set of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `tcp_timestamps`
    pub timestamps: bool,
    /// `tcp_sack`
    pub sack: bool,
    /// `tcp_window_scaling`
    pub window_scaling: bool,
    /// `tcp_ecn`
    pub ecn: u8,
    /// `tcp_congestion_control`
    pub cca: Kind,
    /// `tcp_rmem`: the first size of the receive buffer, and the greatest.
    pub rmem: (i64, i64),
    /// `tcp_wmem`: the first size of the send buffer, and the greatest.
    pub wmem: (i64, i64),
    /// `tcp_notsent_lowat`
    pub notsent_lowat: u32,
    /// `tcp_shrink_window`
    pub shrink_window: bool,
    /// `tcp_invalid_ratelimit` (ms)
    pub invalid_ratelimit_ms: u64,
    /// What the sender's rules are tuned by.
    pub tuned: Sysctls,
    /// The device takes packets of several segments.
    pub gso: bool,
}

impl Default for Settings {
    /// As Linux begins.
    fn default() -> Settings {
        Settings {
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: 2,
            cca: Kind::Cubic,
            rmem: (131_072, 6 << 20),
            wmem: (16_384, 4 << 20),
            notsent_lowat: u32::MAX,
            shrink_window: false,
            invalid_ratelimit_ms: 500,
            tuned: Sysctls::default(),
            gso: true,
        }
    }
}

/// A counter of the kernel's that a command looks at: `nstat | grep NAME | grep -q " VALUE "`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What it is to be.
    pub value: u32,
    /// Counting begins anew (without `-s`).
    pub begins_anew: bool,
}

impl Counter {
    /// What a command looks at, if at one that is known here.
    pub fn asked(command: &str) -> Option<Counter> {
        let mut parts = command.split('|');
        let words: Vec<&str> = parts.next()?.split_whitespace().collect();
        let begins_anew = match words[..] {
            ["nstat"] => true,
            ["nstat", "-s"] => false,
            _ => return None,
        };
        let name = parts.next()?.trim().strip_prefix("grep ")?.trim().to_string();
        let value = parts.next()?.trim().strip_prefix("grep -q \" ")?.strip_suffix(" \"")?.parse().ok()?;
        let counter = Counter { name, value, begins_anew };
        (parts.next().is_none() && counter.value > 0 && counter.field(&Dropped::default()).is_some())
            .then_some(counter)
    }

    fn field(&self, all: &Dropped) -> Option<u32> {
        match self.name.as_str() {
            "TcpExtBeyondWindow" => Some(all.beyond_window),
            "TcpExtTCPZeroWindowDrop" => Some(all.zero_window),
            "TcpExtTCPRcvQDrop" => Some(all.no_memory),
            _ => None,
        }
    }

    /// Is this what it is to be?
    pub fn compare(&self, told: u32) -> Step<()> {
        if told == self.value {
            return Ok(());
        }
        let says = |n: u32| Some(format!("{} {n}", self.name));
        Err(End::Failed(Failure {
            line: 0,
            says: "a counter has another value".into(),
            expected: says(self.value),
            actual: says(told),
        }))
    }

    /// Its value among all.
    pub fn of(&self, all: &Dropped) -> u32 {
        self.field(all).unwrap_or(0)
    }
}

/// A congestion control by Linux's name or ours; not one that needs a rate, which a script has no word for.
pub fn control(name: &str) -> Option<Kind> {
    let linux = Kind::ALL.into_iter().find(|k| k.info().linux.is_some_and(|l| l.name == name));
    linux.or_else(|| Kind::from_name(name)).filter(|k| !k.info().needs_rate)
}

/// What a command line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// A sysctl, with dots in its name, has this value.
    Sysctl(String, String),
    /// The device has the fq qdisc, or one that sends as it comes.
    Paced(bool),
    /// The device takes packets of several segments, or not.
    Gso(bool),
    /// So long (microseconds) nothing happens.
    Sleep(i64),
    /// It is not known here.
    Unknown(String),
}

/// What a command line of a script in `dir` does, as far as it is known.
pub fn orders(text: &str, dir: &Path) -> Vec<Order> {
    let mut all = Vec::new();
    if let Err(what) = lines(text, dir, 0, &mut all) {
        all.push(Order::Unknown(what));
    }
    all
}

fn lines(text: &str, dir: &Path, depth: u32, all: &mut Vec<Order>) -> Result<(), String> {
    for line in text.replace("\\\n", " ").lines() {
        for part in words(line)? {
            one(&part, dir, depth, all)?;
        }
    }
    Ok(())
}

fn one(words: &[String], dir: &Path, depth: u32, all: &mut Vec<Order>) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let has = |word: &str| arguments.iter().any(|a| a == word);
    match program.rsplit('/').next().unwrap_or_default() {
        _ if program.starts_with("/tmp/sysctl_restore_") => {}
        name @ ("sysctl" | "set_sysctls.py") => {
            let settings = arguments
                .iter()
                .filter(|a| name == "set_sysctls.py" || !a.starts_with('-') && !is_redirection(a));
            for setting in settings {
                let Some((name, value)) = setting.split_once('=') else {
                    return Err(format!("the sysctl '{setting}'"));
                };
                let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
                all.push(Order::Sysctl(name, value.into()));
            }
        }
        "ip" if arguments.first().is_some_and(|a| a == "tcp_metrics") => {}
        "ip" => return Err(format!("routes and devices (ip {})", arguments.first().map_or("", |a| a))),
        "tc" if arguments.last().is_some_and(|a| a == "fq") => all.push(Order::Paced(true)),
        "tc" if has("fq") => return Err("the fq qdisc with parameters".into()),
        "tc" if has("limit") => return Err("a qdisc that drops what is sent".into()),
        "tc" if has("pfifo") => all.push(Order::Paced(false)),
        "ethtool" if has("gso") || has("tso") => {
            let off = arguments.windows(2).any(|w| (w[0] == "gso" || w[0] == "tso") && w[1] == "off");
            all.push(Order::Gso(!off));
        }
        "echo" if arguments.last().is_some_and(|a| a.ends_with("hystart_detect")) && has("3") => {}
        "nstat" if arguments.iter().all(|a| a == "-n" || is_redirection(a)) => {}
        "nstat" => return Err("the kernel's counters (nstat)".into()),
        "sleep" => match arguments.first().and_then(|s| s.parse::<f64>().ok()) {
            Some(seconds) if (0.0..1e6).contains(&seconds) => all.push(Order::Sleep((seconds * 1e6) as i64)),
            _ => return Err("a sleep of no known length".into()),
        },
        "true" | ":" => {}
        name if name.ends_with(".sh") => {
            if depth >= DEEPEST {
                return Err(format!("the command {name}, which calls others so deep"));
            }
            let path = dir.join(program);
            let Ok(text) = read_text(&path, limits::SCRIPT.bytes) else {
                return Err(format!("the command {program}: it cannot be read"));
            };
            lines(&text, path.parent().unwrap_or(dir), depth + 1, all)?;
        }
        name => return Err(format!("the command {name}")),
    }
    Ok(())
}

impl Settings {
    /// Works a command line of a script in `dir` in. What it takes (microseconds).
    ///
    /// # Errors
    /// What of it is not known here.
    pub fn command(&mut self, text: &str, dir: &Path) -> Result<i64, String> {
        let mut takes = 0;
        for order in orders(text, dir) {
            match order {
                Order::Sysctl(name, value) => self.sysctl(&name, &value)?,
                Order::Paced(paced) => self.tuned.paced = paced,
                Order::Gso(gso) => self.gso = gso,
                Order::Sleep(us) => takes += us,
                Order::Unknown(what) => return Err(what),
            }
        }
        Ok(takes)
    }

    fn sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        let unknown = || format!("{name}={value}");
        let numbers: Vec<i64> = value.split_whitespace().map_while(number).collect();
        let first = numbers.first().copied();
        let Some(tcp) = name.strip_prefix("net.ipv4.tcp_") else { return Err(unknown()) };
        // What must be as it is here.
        let only =
            |wanted: &[i64]| if first.is_some_and(|n| wanted.contains(&n)) { Ok(()) } else { Err(unknown()) };
        match (tcp, first) {
            ("rmem", _) => match numbers[..] {
                [_, begin, most] => self.rmem = (begin, most),
                _ => return Err(unknown()),
            },
            ("wmem", _) => match numbers[..] {
                [_, begin, most] => self.wmem = (begin, most),
                _ => return Err(unknown()),
            },
            ("timestamps", Some(n)) => self.timestamps = n != 0,
            ("sack", Some(n)) => self.sack = n != 0,
            ("window_scaling", Some(n)) => self.window_scaling = n != 0,
            ("ecn", Some(n @ 0..=2)) => self.ecn = n as u8,
            ("ecn", _) => return Err("Accurate ECN".into()),
            ("congestion_control", None) => {
                self.cca = control(value.trim()).ok_or_else(|| format!("congestion control {value}"))?;
            }
            ("slow_start_after_idle", Some(n)) => self.tuned.idle_restart = n != 0,
            ("shrink_window", Some(n)) => self.shrink_window = n != 0,
            ("min_tso_segs", Some(n @ 1..=255)) => self.tuned.min_tso_segs = n as u32,
            ("tso_win_divisor", Some(n @ 1..=10_000)) => self.tuned.tso_win_divisor = n as u32,
            ("early_retrans", Some(n)) => self.tuned.probes = n == 3 || n == 4,
            ("dsack" | "recovery", _) => return only(&[1]),
            ("frto", _) => return only(&[2]),
            ("reordering", _) => return only(&[3]),
            ("fack" | "mtu_probing", _) => return only(&[0]),
            ("pacing_ss_ratio", _) => return only(&[200]),
            ("pacing_ca_ratio", _) => return only(&[120]),
            ("notsent_lowat", Some(n)) if u32::try_from(n).is_ok() => self.notsent_lowat = n as u32,
            // Of these nothing is felt before what they are about is used, which is told where it is.
            (
                "syn_retries" | "synack_retries" | "syncookies" | "metrics_save" | "ecn_option"
                | "ecn_fallback",
                Some(_),
            ) => {}
            ("invalid_ratelimit", Some(n @ 0..=1_000_000)) => self.invalid_ratelimit_ms = n as u64,
            (fast_open, _) if fast_open.starts_with("fastopen") => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

fn is_redirection(word: &str) -> bool {
    word.contains('>') || word == "/dev/null" || word == "2&1" || word == "||"
}

/// A sysctl's value as the kernel takes it, with the products in it made.
pub fn plain(value: &str) -> String {
    let made: Vec<String> =
        value.split_whitespace().map(|w| number(w).map_or_else(|| w.into(), |n| n.to_string())).collect();
    made.join(" ")
}

/// A number, or a product in `$(( ))`.
fn number(text: &str) -> Option<i64> {
    if let Some(product) = text.strip_prefix("$((").and_then(|t| t.strip_suffix("))")) {
        return product.split('*').try_fold(1i64, |all, factor| all.checked_mul(number(factor.trim())?));
    }
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The commands of a line, a list of words each.
fn words(line: &str) -> Result<Vec<Vec<String>>, String> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut depth = 0;
    let mut all = line.chars().peekable();
    while let Some(c) = all.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            // `2>&1`, `&>`
            (None, '&')
                if depth == 0
                    && (word.as_ref().is_some_and(|w| w.ends_with('>')) || all.peek() == Some(&'>')) =>
            {
                word.get_or_insert_default().push(c);
            }
            (None, '&') if depth == 0 && all.next_if_eq(&'&').is_none() => {
                return Err("a command in the background".into());
            }
            // After `&&`, too, as what is before it succeeds.
            (None, ';' | '&') if depth == 0 => {
                commands.last_mut().into_iter().for_each(|c| c.extend(word.take()));
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() && depth == 0 => {
                commands.last_mut().into_iter().for_each(|c| c.extend(word.take()));
            }
            (None, '|') if depth == 0 => return Err("a pipe of commands".into()),
            (None, c) => {
                depth += i32::from(c == '(') - i32::from(c == ')');
                word.get_or_insert_default().push(c);
            }
        }
    }
    commands.last_mut().into_iter().for_each(|c| c.extend(word.take()));
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        settings.command(text, Path::new(".")).map(|_| settings)
    }

    #[test]
    fn sysctls_are_known_by_what_they_do() {
        let s = set("sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\" # more\n\
                     sysctl -q net.ipv4.tcp_ecn=1 net/ipv4/tcp_timestamps=0; tc qdisc add dev tun0 root pfifo\n\
                     ../x/set_sysctls.py /proc/sys/net/ipv4/tcp_slow_start_after_idle=0 \\\n /proc/sys/net/ipv4/tcp_min_tso_segs=10")
        .unwrap();
        assert_eq!((s.rmem, s.ecn, s.timestamps), ((540_000, 15 << 20), 1, false));
        assert_eq!((s.tuned.idle_restart, s.tuned.min_tso_segs), (false, 10));
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (text, says) in [
            ("sysctl -q net.ipv4.tcp_ecn=3", "Accurate ECN"),
            ("sysctl -q net.ipv4.tcp_frto=0", "net.ipv4.tcp_frto=0"),
            ("tc qdisc replace dev tun0 root fq maxrate 1mbit", "the fq qdisc with parameters"),
            ("nstat | grep X", "a pipe of commands"),
            ("rm -f x", "the command rm"),
            ("true && rm x", "the command rm"),
            ("sleep 0.1&&rm x", "the command rm"),
            ("tc qdisc add dev tun0 root pfifo && rm x", "the command rm"),
            ("ip tcp_metrics flush all > /dev/null 2>&1 && rm x", "the command rm"),
            ("true & rm x", "a command in the background"),
            ("./none.sh", "the command ./none.sh: it cannot be read"),
        ] {
            assert_eq!(set(text).unwrap_err(), says, "{text}");
        }
    }
}
