//! TCP packets as scripts write them.

use std::fmt;

/// A TCP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Which way.
    pub inbound: bool,
    /// What is asked of the ECN field of the IP header, or is in it.
    pub ecn: Option<Ecn>,
    /// Its flags.
    pub flags: Flags,
    /// Its first sequence number.
    pub seq: u32,
    /// Its payload (bytes).
    pub len: u32,
    /// What it acknowledges.
    pub ack: u32,
    /// Its window, as it is in the header; none: not asked.
    pub win: Option<u16>,
    /// Its options; none: not asked (`<...>`).
    pub options: Option<Vec<TcpOption>>,
    /// What else it has, that the simulated stack does not.
    pub foreign: Vec<&'static str>,
}

/// Values of the ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// `noecn`
    None,
    /// `ect0`
    Ect0,
    /// `ect1`
    Ect1,
    /// `ect01`: either.
    Either,
    /// `ce`
    Ce,
}

/// TCP's flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub struct Flags {
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub ece: bool,
    pub cwr: bool,
}

/// A TCP option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// `eol`
    Eol,
    /// `nop`
    Nop,
    /// `mss`
    Mss(u16),
    /// `wscale`
    WindowScale(u8),
    /// `sackOK`
    SackOk,
    /// `sack`: blocks.
    Sack(Vec<(u32, u32)>),
    /// `TS val ecr`
    Timestamp(u32, u32),
    /// Another one: its name.
    Other(&'static str),
}

impl Packet {
    /// Sequence numbers that it takes.
    pub fn length(&self) -> u32 {
        self.len + u32::from(self.flags.syn) + u32::from(self.flags.fin)
    }

    /// The option that a question has an answer for.
    pub fn option<T>(&self, of: impl Fn(&TcpOption) -> Option<T>) -> Option<T> {
        self.options.iter().flatten().find_map(of)
    }

    /// Its SACK blocks.
    pub fn sacks(&self) -> &[(u32, u32)] {
        let mut options = self.options.iter().flatten();
        options
            .find_map(|o| if let TcpOption::Sack(b) = o { Some(b.as_slice()) } else { None })
            .unwrap_or(&[])
    }

    /// Its timestamp: value and echo.
    pub fn timestamp(&self) -> Option<(u32, u32)> {
        self.option(|o| if let TcpOption::Timestamp(val, ecr) = o { Some((*val, *ecr)) } else { None })
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut none = true;
        let letters = [
            (self.fin, 'F'),
            (self.syn, 'S'),
            (self.rst, 'R'),
            (self.psh, 'P'),
            (self.ack, '.'),
            (self.ece, 'E'),
            (self.cwr, 'W'),
        ];
        for (_, letter) in letters.into_iter().filter(|l| l.0) {
            none = false;
            write!(f, "{letter}")?;
        }
        if none { f.write_str("-") } else { Ok(()) }
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::Eol => f.write_str("eol"),
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::SackOk => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(from, to)| write!(f, " {from}:{to}"))
            }
            TcpOption::Timestamp(val, ecr) => write!(f, "TS val {val} ecr {ecr}"),
            TcpOption::Other(name) => f.write_str(name),
        }
    }
}

/// In packetdrill's own form, without the time.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ecn = match self.ecn {
            None => "",
            Some(Ecn::None) => "[noecn] ",
            Some(Ecn::Ect0) => "[ect0] ",
            Some(Ecn::Ect1) => "[ect1] ",
            Some(Ecn::Either) => "[ect01] ",
            Some(Ecn::Ce) => "[ce] ",
        };
        let way = if self.inbound { '<' } else { '>' };
        let end = u64::from(self.seq) + u64::from(self.len);
        write!(f, "{way} {ecn}{} {}:{end}({})", self.flags, self.seq, self.len)?;
        if self.flags.ack {
            write!(f, " ack {}", self.ack)?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        match self.options.as_deref() {
            None => f.write_str(" <...>"),
            Some([]) => Ok(()),
            Some(options) => {
                let words: Vec<String> = options.iter().map(TcpOption::to_string).collect();
                write!(f, " <{}>", words.join(","))
            }
        }
    }
}
