//! A parameter's value as a file has it.

use crate::policy::PolicyFile;
use crate::units::{self, MILLION, Size, Unit};
use queuewright_aqm as aqm;

/// A parameter's value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// A time, ns.
    Time(u64),
    /// A size; packets are full packets.
    Size(Size),
    /// Bits a second.
    Rate(u64),
    /// A number of things.
    Count(u64),
    /// A ratio or probability in millionths.
    Real(u64),
    /// True or false.
    Flag(bool),
    /// One of the parameter's words.
    Choice(&'static str),
    /// The word that stands for 0, such as `auto`.
    Zero(&'static str),
    /// A learned policy's weights.
    File(PolicyFile),
}

impl Setting {
    /// The value as a file has it, without quotes.
    pub fn show(&self) -> String {
        match self {
            Setting::Time(ns) => Unit::Time.show(*ns),
            Setting::Size(size) => size.show(),
            Setting::Rate(bits) => Unit::Rate.show(*bits),
            Setting::Count(n) => n.to_string(),
            Setting::Real(m) => units::show_millionths(*m),
            Setting::Flag(b) => b.to_string(),
            Setting::Choice(word) | Setting::Zero(word) => word.to_string(),
            Setting::File(file) => file.file.given.clone(),
        }
    }

    /// Is it a bare word in a file (a number, true or false), or in quotes?
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self, Setting::Count(_) | Setting::Real(_) | Setting::Flag(_))
    }

    /// The value for the registry; `bdp_bytes` and `packet_bytes` are what `1bdp` and
    /// `1p` come to. Of a file the registry has only that it may be given.
    pub(crate) fn resolve(&self, bdp_bytes: u64, packet_bytes: u64) -> aqm::Value {
        match *self {
            Setting::Time(n) | Setting::Rate(n) | Setting::Count(n) | Setting::Size(Size::Bytes(n)) => {
                aqm::Value::Int(n)
            }
            Setting::Size(Size::Packets(n)) => aqm::Value::Int(u64::from(n) * packet_bytes),
            Setting::Size(Size::Bdp(m)) => aqm::Value::Int(bdp_times(bdp_bytes, m)),
            Setting::Real(m) => aqm::Value::Real(m as f64 / MILLION as f64),
            Setting::Flag(b) => aqm::Value::Flag(b),
            Setting::Choice(word) => aqm::Value::Choice(word),
            Setting::Zero(_) | Setting::File(_) => aqm::Value::Int(0),
        }
    }
}

/// So many millionths of a bandwidth-delay product, bytes, rounded down.
pub(crate) fn bdp_times(bdp_bytes: u64, millionths: u64) -> u64 {
    let bytes = u128::from(bdp_bytes) * u128::from(millionths) / u128::from(MILLION);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
