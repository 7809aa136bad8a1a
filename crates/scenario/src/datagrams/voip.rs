//! Voice over IP: packets of 20 ms of speech, as long as the call lasts.

use super::{Gaps, Given, Source};
use crate::codec::{Codec, PACKETS_PER_S};
use crate::error::Error;
use crate::form::{Form, Key, Without, key};
use crate::units::Range;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One way of a telephone call over RTP and UDP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Voip(Codec);

/// IPv4, UDP and RTP headers, bytes (RFC 791, 768, 3550).
const HEADERS: u32 = 20 + 8 + 12;

const CODECS: Form = Form::Word(&[Codec::G711.name(), Codec::G729.name()]);

impl Voip {
    /// What speech is encoded with.
    pub fn codec(&self) -> Codec {
        self.0
    }
}

impl Source for Voip {
    const KEY: Key = key("voip", CODECS, Without::Says(""), "[calls](#calls)").never("calls");
    const SUCH_AS: &'static str = Codec::G711.name();
    const MAY_BE_BARE: bool = true;

    fn read(t: &dyn Given) -> Result<Voip, Error> {
        t.not_with(&["packet", "rate"], "follows from the codec; leave it out")?;
        let codec = t.word(Self::KEY.name, "a codec")?;
        Ok(Voip(Codec::ALL.into_iter().find(|c| c.name() == codec).unwrap_or(Codec::G711)))
    }

    fn show(&self) -> Vec<(&'static str, Value)> {
        vec![(Self::KEY.name, self.0.name().into())]
    }

    fn bps(&self) -> Range {
        Range::one(u64::from(self.packet_bytes()) * 8 * PACKETS_PER_S)
    }

    fn packet_bytes(&self) -> u32 {
        HEADERS + self.0.speech()
    }

    fn gaps(&self) -> Gaps {
        Gaps::Even
    }

    /// People do not pick up in step: somewhere within a packet's time.
    fn late_ns(&self) -> u64 {
        Codec::PACKET_NS
    }

    fn words(&self) -> String {
        format!("calls, one way, of {}", self.0.name())
    }
}
