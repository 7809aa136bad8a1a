//! Traffic that nothing answers: UDP. A kind is a file in `datagrams/` and a line in the list below.

use crate::error::{Error, listed};
use crate::form::{Form, Key};
use crate::units::{Range, Unit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How datagrams follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gaps {
    /// All gaps are the same.
    Even,
    /// Gaps are exponentially distributed.
    Exponential,
}

/// The entry of `[[flows]]` that a kind is read from.
pub(crate) trait Given {
    /// A number of this key that is needed or has a default, in its base unit.
    fn one(&self, key: &str) -> Result<u64, Error>;

    /// The same of a range.
    fn span(&self, key: &str) -> Result<Range, Error>;

    /// A word of those that the key takes; `what` it is.
    fn word(&self, key: &str, what: &str) -> Result<&'static str, Error>;

    /// An error if one of these keys is there: why it may not be.
    fn not_with(&self, keys: &[&str], why: &str) -> Result<(), Error>;
}

/// What a kind says of itself.
pub(crate) trait Source: Sized {
    /// Its key in `[[flows]]`, whose name its groups have, too.
    const KEY: Key;
    /// A value of the key.
    const SUCH_AS: &'static str;
    /// Has the command line this value where it says none?
    const MAY_BE_BARE: bool = false;

    /// Reads the key's value, and what goes with it.
    fn read(t: &dyn Given) -> Result<Self, Error>;

    /// What [`Source::read`] reads, by key.
    fn show(&self) -> Vec<(&'static str, Value)>;

    /// Bits a second of IP packets, on average; drawn per flow.
    fn bps(&self) -> Range;

    /// IP length of a packet.
    fn packet_bytes(&self) -> u32;

    /// How its packets follow one another.
    fn gaps(&self) -> Gaps;

    /// Each flow begins by a uniform time below this (ns) later.
    fn late_ns(&self) -> u64 {
        0
    }

    /// What `check` says of it, after the number of flows.
    fn words(&self) -> String;
}

macro_rules! sources {
    ($($module:ident $Kind:ident,)*) => {
        $(mod $module;)*
        $(pub use $module::$Kind;)*

        /// A kind of datagrams.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum Datagrams {
            $(
                #[expect(missing_docs, reason = "its file says what it is")]
                $Kind($Kind),
            )*
        }

        impl Datagrams {
            /// The key of each kind.
            pub const KEYS: &'static [Key] = &[$($Kind::KEY,)*];

            /// Of each kind its key, a value such as it has, and may that be left out on the command line?
            pub(crate) const WRITTEN: &'static [(&'static str, &'static str, bool)] =
                &[$(($Kind::KEY.name, $Kind::SUCH_AS, $Kind::MAY_BE_BARE),)*];

            /// The kind whose key is there.
            pub(crate) fn read(key: &str, t: &dyn Given) -> Result<Option<Datagrams>, Error> {
                $(
                    if key == $Kind::KEY.name {
                        return $Kind::read(t).map(|kind| Some(Datagrams::$Kind(kind)));
                    }
                )*
                Ok(None)
            }

            /// Its key in a scenario file.
            pub fn key(&self) -> &'static Key {
                match self {
                    $(Datagrams::$Kind(_) => &$Kind::KEY,)*
                }
            }

            /// As a scenario file has it.
            pub(crate) fn show(&self) -> Vec<(&'static str, Value)> {
                match self {
                    $(Datagrams::$Kind(kind) => kind.show(),)*
                }
            }

            /// Bits a second of IP packets, on average; drawn per flow.
            pub fn bps(&self) -> Range {
                match self {
                    $(Datagrams::$Kind(kind) => kind.bps(),)*
                }
            }

            /// IP length of a packet.
            pub fn packet_bytes(&self) -> u32 {
                match self {
                    $(Datagrams::$Kind(kind) => kind.packet_bytes(),)*
                }
            }

            /// How its packets follow one another.
            pub(crate) fn gaps(&self) -> Gaps {
                match self {
                    $(Datagrams::$Kind(kind) => kind.gaps(),)*
                }
            }

            /// Each flow begins by a uniform time below this (ns) later.
            pub(crate) fn late_ns(&self) -> u64 {
                match self {
                    $(Datagrams::$Kind(kind) => kind.late_ns(),)*
                }
            }

            /// What it is, in words that follow the number of flows.
            pub fn words(&self) -> String {
                match self {
                    $(Datagrams::$Kind(kind) => kind.words(),)*
                }
            }
        }
    };
}

sources! {
    // A file each, in the order of the file format's page.
    cbr Cbr,
    poisson Poisson,
    voip Voip,
}

impl Datagrams {
    /// Its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        self.key().name
    }

    /// The names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Datagrams::KEYS.iter().map(|key| key.name)
    }

    /// The names of those whose key has a rate.
    pub fn with_rate() -> impl Iterator<Item = &'static str> {
        let rated = |key: &&Key| matches!(key.form, Form::Quantity { unit: Unit::Rate, .. });
        Datagrams::KEYS.iter().filter(rated).map(|key| key.name)
    }
}

/// The rate that a kind's key has, and its packets, which is all there is to several kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Bits a second of IP packets, drawn per flow.
    pub bps: Range,
    /// IP length of a packet.
    pub packet_bytes: u32,
}

impl Stream {
    fn read(key: &Key, t: &dyn Given) -> Result<Stream, Error> {
        let why = format!(
            "belongs to TCP flows (cca); a UDP flow's rate is written with {}",
            listed(Datagrams::with_rate(), "or")
        );
        t.not_with(&["rate"], &why)?;
        Ok(Stream { bps: t.span(key.name)?, packet_bytes: t.one("packet")? as u32 })
    }

    fn show(&self, key: &Key) -> Vec<(&'static str, Value)> {
        let packet = Unit::Bytes.show(self.packet_bytes.into());
        vec![(key.name, Unit::Rate.show_range(self.bps).into()), ("packet", packet.into())]
    }
}
