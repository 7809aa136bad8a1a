//! What a real kernel did with a script, as the lab's guest wrote it down (`crates/lab/guest/script.c`), played back to the checks.

use crate::machine::{
    Answer, Machine, compare_inq, compare_ioctl, compare_option, compare_told, epoll_wanted, other_events,
};
use crate::packet::{Ecn, Flags, Packet, TcpOption};
use crate::script::{Call, Expr};
use crate::settings::{Counter, Order, orders};
use crate::stack::{BEGIN_NS, Out, RECEIVE_BUFFER};
use crate::words::{errno, field, field_mask, inq};
use crate::{End, Failure, Step};
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// Bytes of an entry's head (`struct entry` in script.c).
const HEAD: usize = 40;
const MALFORMED: &str = "the guest's program is not this version's: run 'scripts/setup lab'";

/// A call that returned.
#[derive(Debug)]
struct Returned {
    at: i64,
    result: i64,
    errno: u32,
    told: Vec<u8>,
}

/// What a real kernel did.
#[derive(Debug, Default)]
pub struct Played {
    now: i64,
    number: usize,
    /// What went out, with the number of its connection.
    packets: VecDeque<(usize, Out)>,
    calls: HashMap<usize, Returned>,
    infos: HashMap<usize, Vec<u8>>,
    /// `SK_MEMINFO`, and `/proc/net/netstat`.
    memories: HashMap<usize, Vec<u8>>,
    counters: HashMap<usize, String>,
    /// What they were when counting began.
    counted: String,
    /// When each event was over.
    done: HashMap<usize, i64>,
    /// The event at which the guest gave up, why, and whether it is one of those that it cannot do.
    stopped: Option<(usize, String, bool)>,
    waiting: Option<(usize, Call)>,
    /// The connection that is looked at, none before there is a socket, and the numbers that the peers of all begin with.
    connection: Option<usize>,
    remote_isns: Vec<u32>,
}

/// An entry's fields.
struct Entry<'a> {
    at_ns: u64,
    kind: u32,
    number: usize,
    errno: u32,
    result: i64,
    bytes: &'a [u8],
}

fn entries(mut log: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let mut all = Vec::new();
    while !log.is_empty() {
        let (head, rest) = log.split_at_checked(HEAD).ok_or(MALFORMED)?;
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let (bytes, rest) = rest.split_at_checked(u32_at(28) as usize).ok_or(MALFORMED)?;
        all.push(Entry {
            at_ns: u64_at(0),
            kind: u32_at(16),
            number: u32_at(20) as usize,
            errno: u32_at(24),
            result: u64_at(32) as i64,
            bytes,
        });
        log = rest;
    }
    Ok(all)
}

impl Played {
    /// Of what the guest wrote; `remote_isns`: the numbers with which the peers of its connections begin.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(log: &[u8], remote_isns: Vec<u32>) -> Result<Played, String> {
        let all = entries(log)?;
        let zero = all.iter().find(|e| e.kind == 1).map_or(0, |e| e.at_ns);
        let us = |ns: u64| (ns as i64).wrapping_sub(zero as i64) / 1000;
        let mut played = Played { remote_isns, ..Played::default() };
        let (mut connection, mut local_isn) = (0, None);
        let mut remote_isn = played.remote_isn_of(0);
        for e in all {
            let bytes = e.bytes.to_vec();
            match e.kind {
                1 => {}
                2 => {
                    let (mut packet, raw_seq) = packet(e.bytes).ok_or(MALFORMED)?;
                    if packet.flags.syn {
                        local_isn.get_or_insert(raw_seq);
                    }
                    packet.seq = raw_seq.wrapping_sub(local_isn.unwrap_or(0));
                    if packet.flags.ack {
                        packet.ack = packet.ack.wrapping_sub(remote_isn);
                    }
                    for option in packet.options.iter_mut().flatten() {
                        if let TcpOption::Sack(blocks) = option {
                            for b in blocks {
                                *b = (b.0.wrapping_sub(remote_isn), b.1.wrapping_sub(remote_isn));
                            }
                        }
                    }
                    let at = BEGIN_NS.wrapping_add(e.at_ns.wrapping_sub(zero));
                    played.packets.push_back((connection, Out { at, packet }));
                }
                3 => {
                    let call = Returned { at: us(e.at_ns), result: e.result, errno: e.errno, told: bytes };
                    played.calls.insert(e.number, call);
                }
                4 => {
                    played.infos.insert(e.number, bytes);
                }
                5 => {
                    played.done.insert(e.number, us(e.at_ns));
                }
                6 | 7 => {
                    let why = String::from_utf8_lossy(e.bytes).into_owned();
                    played.stopped = Some((e.number, why, e.kind == 7));
                }
                8 => {
                    played.counters.insert(e.number, String::from_utf8_lossy(e.bytes).into_owned());
                }
                9 => {
                    played.memories.insert(e.number, bytes);
                }
                10 => {
                    connection += 1;
                    (local_isn, remote_isn) = (None, played.remote_isn_of(connection));
                }
                _ => return Err(MALFORMED.into()),
            }
        }
        Ok(played)
    }

    fn remote_isn_of(&self, connection: usize) -> u32 {
        self.remote_isns.get(connection).copied().unwrap_or_default()
    }

    fn fail<T>(says: String) -> Step<T> {
        Err(End::Failed(Failure { line: 0, says, expected: None, actual: None }))
    }

    fn why(&self) -> String {
        self.stopped.as_ref().map_or_else(|| "it says nothing of why".into(), |s| s.1.clone())
    }

    fn returned(&self, number: usize, call: &Call) -> Step<Answer> {
        let Some(gave) = self.calls.get(&number) else {
            return Played::fail(format!("{}() has not returned: {}", call.name, self.why()));
        };
        if gave.result < 0 {
            return Ok((Some(-1), Some(errno(gave.errno))));
        }
        let word = |i: usize| {
            let b = gave.told.get(4 * i..4 * i + 4);
            b.map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        match call.name.as_str() {
            // What is greater than an `int` is meant without a sign.
            "getsockopt" => match call.arguments.get(3).and_then(Expr::single) {
                Some(n) if n > i64::from(i32::MAX) => compare_option(call, i64::from(word(0)))?,
                _ => compare_option(call, i64::from(word(0) as i32))?,
            },
            "ioctl" => return Ok(compare_ioctl(call, i64::from(word(0) as i32))),
            "poll" => {
                let wanted = call.arguments.first().and_then(|e| match e {
                    Expr::List(list) => match list.as_slice() {
                        [Expr::Struct(fields)] => {
                            field(fields, "revents").map_or(Some(0), |_| field_mask(fields, "revents"))
                        }
                        _ => None,
                    },
                    _ => None,
                });
                let told = word(0);
                match wanted {
                    Some(wanted) if wanted != told => return Err(other_events("poll()", &[wanted], &[told])),
                    Some(_) => {}
                    None => return Err(End::Foreign("poll() of what is not known here".into())),
                }
            }
            "epoll_wait" => {
                let count = gave.told.len() / 12;
                let of = |i: usize| {
                    (word(3 * i), (u64::from(word(3 * i + 1)) | u64::from(word(3 * i + 2)) << 32) as i64)
                };
                let told: Vec<_> = (0..count).map(of).collect();
                compare_told(&epoll_wanted(call)?.2, &told)?;
            }
            _ if inq(&call.arguments).is_some() && !gave.told.is_empty() => {
                compare_inq(call, i64::from(word(0) as i32))?;
            }
            _ => {}
        }
        Ok((Some(gave.result), None))
    }
}

impl Machine for Played {
    fn now(&self) -> i64 {
        self.now
    }

    fn event(&mut self, number: usize) -> Step<()> {
        self.number = number;
        match &self.stopped {
            Some((at, why, true)) if *at <= number => Err(End::Foreign(why.clone())),
            Some((at, why, false)) if *at < number => Played::fail(format!("the run ended before: {why}")),
            None if !self.done.contains_key(&number) => Played::fail("the run ended before".into()),
            _ => Ok(()),
        }
    }

    fn look(&mut self) {
        if let Some(&at) = self.done.get(&self.number) {
            self.now = self.now.max(at);
        }
    }

    fn wait_until(&mut self, at: i64) -> Step<()> {
        self.now = self.now.max(at);
        Ok(())
    }

    fn sniff(&mut self, by: i64) -> Step<Option<Out>> {
        let at = |out: &Out| out.at.wrapping_sub(BEGIN_NS) as i64 / 1000;
        if self.packets.front().is_some_and(|(_, out)| at(out) <= by) {
            let out = self.packets.pop_front().map(|(_, out)| out);
            self.now = self.now.max(out.as_ref().map_or(0, at));
            return Ok(out);
        }
        self.now = self.now.max(by);
        Ok(None)
    }

    fn inbound(&mut self, _: &Packet, _: Option<u32>, _: Option<u32>) -> Step<()> {
        Ok(())
    }

    fn command(&mut self, command: &str, dir: &Path) -> Step<()> {
        let counters = self.counters.get(&self.number).cloned().unwrap_or_default();
        if let Some(asked) = Counter::asked(command) {
            let now = counter(&counters, &asked.name);
            let told = now.saturating_sub(counter(&self.counted, &asked.name));
            if asked.begins_anew {
                self.counted = counters;
            }
            return asked.compare(told);
        }
        if command.trim_start().starts_with("nstat") {
            self.counted = counters;
        }
        let takes =
            orders(command, dir).iter().map(|o| if let Order::Sleep(us) = o { *us } else { 0 }).sum::<i64>();
        self.wait_until(self.now + takes)
    }

    fn info(&self, name: &str) -> Option<i64> {
        if name == RECEIVE_BUFFER {
            // The second of its numbers (include/uapi/linux/sock_diag.h).
            return self.memories.get(&self.number)?.get(4..8).map(|b| i64::from(le(b) as u32));
        }
        info(self.infos.get(&self.number)?, name.strip_prefix("tcpi_")?)
    }

    fn answer(&mut self, call: &Call) -> Step<Answer> {
        if call.name == "socket" {
            // What the connection before has sent is not looked at any more.
            let connection = self.connection.map_or(0, |before| before + 1);
            self.connection = Some(connection);
            self.packets.retain(|of| of.0 >= connection);
        }
        self.returned(self.number, call)
    }

    fn begin(&mut self, call: &Call) -> Step<()> {
        self.waiting = Some((self.number, call.clone()));
        Ok(())
    }

    fn ended(&mut self) -> Option<(i64, Step<i64>)> {
        let (number, call) = self.waiting.clone()?;
        let at = self.calls.get(&number)?.at;
        if at > self.now {
            return None;
        }
        self.waiting = None;
        Some((at, self.returned(number, &call).map(|(result, _)| result.unwrap_or(0))))
    }

    fn open(&self) -> bool {
        false
    }

    fn remote_isn(&self) -> u32 {
        self.remote_isn_of(self.connection.unwrap_or_default())
    }
}

/// A packet that went out, and its sequence number as it is on the wire.
fn packet(ip: &[u8]) -> Option<(Packet, u32)> {
    let u16_at = |b: &[u8], at: usize| Some(u16::from_be_bytes([*b.get(at)?, *b.get(at + 1)?]));
    let u32_at = |b: &[u8], at: usize| Some(u32::from(u16_at(b, at)?) << 16 | u32::from(u16_at(b, at + 2)?));
    let tcp = ip.get(20..)?;
    let (total, head) = (u32::from(u16_at(ip, 2)?), usize::from(*tcp.get(12)? >> 4) * 4);
    let bits = *tcp.get(13)?;
    let bit = |i: u8| bits >> i & 1 != 0;
    let mut options = Vec::new();
    let mut at = 20;
    while at < head {
        let kind = *tcp.get(at)?;
        let length = if kind < 2 { 1 } else { usize::from(*tcp.get(at + 1)?).max(2) };
        let body = tcp.get(at + usize::from(kind >= 2) * 2..at + length)?;
        options.push(match (kind, body.len()) {
            (0, _) => TcpOption::Eol,
            (1, _) => TcpOption::Nop,
            (2, 2) => TcpOption::Mss(u16_at(body, 0)?),
            (3, 1) => TcpOption::WindowScale(body[0]),
            (4, 0) => TcpOption::SackOk,
            (5, n) => {
                let blocks = (0..n / 8).map(|i| Some((u32_at(body, 8 * i)?, u32_at(body, 8 * i + 4)?)));
                TcpOption::Sack(blocks.collect::<Option<_>>()?)
            }
            (8, 8) => TcpOption::Timestamp(u32_at(body, 0)?, u32_at(body, 4)?),
            _ => TcpOption::Other("another option"),
        });
        at += length;
    }
    // What is longer than IP can say has 0 there (`iph_set_totlen()`); no device here takes so much.
    let len = total.checked_sub(20 + head as u32)?;
    let ecn = [Ecn::None, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ip[1] & 3)];
    let flags =
        Flags { fin: bit(0), syn: bit(1), rst: bit(2), psh: bit(3), ack: bit(4), ece: bit(6), cwr: bit(7) };
    let packet = Packet {
        inbound: false,
        ecn: Some(ecn),
        flags,
        seq: 0,
        len,
        ack: if flags.ack { u32_at(tcp, 8)? } else { 0 },
        win: Some(u16_at(tcp, 14)?),
        options: Some(options),
        foreign: Vec::new(),
    };
    Some((packet, u32_at(tcp, 4)?))
}

/// A number of at most eight bytes, the least first.
fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b))
}

/// A counter of `/proc/net/netstat` by nstat's name: the first line of a kind has the names, the second the values.
fn counter(text: &str, name: &str) -> u32 {
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    let value = lines.chunks(2).find_map(|pair| {
        let [names, values] = pair else { return None };
        let name = name.strip_prefix(names.first()?.trim_end_matches(':'))?;
        values.get(names.iter().position(|n| *n == name)?)?.parse().ok()
    });
    value.unwrap_or_default()
}

/// A value of the kernel's `struct tcp_info`, which may be longer or shorter than the one known here.
fn info(bytes: &[u8], name: &str) -> Option<i64> {
    let byte = |at: usize| bytes.get(at).map(|b| i64::from(*b));
    match name {
        // Bits of two bytes.
        "snd_wscale" => return Some(byte(6)? & 15),
        "rcv_wscale" => return Some(byte(6)? >> 4),
        "delivery_rate_app_limited" => return Some(byte(7)? & 1),
        _ => {}
    }
    let &(_, at, size) = INFO.iter().find(|field| field.0 == name)?;
    i64::try_from(le(bytes.get(at..at + size)?)).ok()
}

/// Is there such a value?
pub fn knows(name: &str) -> bool {
    name == RECEIVE_BUFFER || name.strip_prefix("tcpi_").is_some_and(|name| info(&[0; 256], name).is_some())
}

/// Place and size of the fields of `struct tcp_info` (include/uapi/linux/tcp.h).
const INFO: [(&str, usize, usize); 54] = [
    ("state", 0, 1),
    ("ca_state", 1, 1),
    ("retransmits", 2, 1),
    ("probes", 3, 1),
    ("backoff", 4, 1),
    ("options", 5, 1),
    ("rto", 8, 4),
    ("ato", 12, 4),
    ("snd_mss", 16, 4),
    ("rcv_mss", 20, 4),
    ("unacked", 24, 4),
    ("sacked", 28, 4),
    ("lost", 32, 4),
    ("retrans", 36, 4),
    ("fackets", 40, 4),
    ("last_data_sent", 44, 4),
    ("last_ack_sent", 48, 4),
    ("last_data_recv", 52, 4),
    ("last_ack_recv", 56, 4),
    ("pmtu", 60, 4),
    ("rcv_ssthresh", 64, 4),
    ("rtt", 68, 4),
    ("rttvar", 72, 4),
    ("snd_ssthresh", 76, 4),
    ("snd_cwnd", 80, 4),
    ("advmss", 84, 4),
    ("reordering", 88, 4),
    ("rcv_rtt", 92, 4),
    ("rcv_space", 96, 4),
    ("total_retrans", 100, 4),
    ("pacing_rate", 104, 8),
    ("max_pacing_rate", 112, 8),
    ("bytes_acked", 120, 8),
    ("bytes_received", 128, 8),
    ("segs_out", 136, 4),
    ("segs_in", 140, 4),
    ("notsent_bytes", 144, 4),
    ("min_rtt", 148, 4),
    ("data_segs_in", 152, 4),
    ("data_segs_out", 156, 4),
    ("delivery_rate", 160, 8),
    ("busy_time", 168, 8),
    ("rwnd_limited", 176, 8),
    ("sndbuf_limited", 184, 8),
    ("delivered", 192, 4),
    ("delivered_ce", 196, 4),
    ("bytes_sent", 200, 8),
    ("bytes_retrans", 208, 8),
    ("dsack_dups", 216, 4),
    ("reord_seen", 220, 4),
    ("rcv_ooopack", 224, 4),
    ("snd_wnd", 228, 4),
    ("rcv_wnd", 232, 4),
    ("rehash", 236, 4),
];
