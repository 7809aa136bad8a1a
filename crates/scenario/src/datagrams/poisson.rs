//! A Poisson process: packets that know nothing of one another.

use super::{Gaps, Given, Source, Stream};
use crate::error::Error;
use crate::form::{Key, RATES, Without, key};
use crate::units::{Range, Unit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// UDP with exponential gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Poisson(Stream);

impl Source for Poisson {
    const KEY: Key =
        key("poisson", RATES, Without::Says(""), "UDP with exponential gaps, this rate on average");
    const SUCH_AS: &'static str = "2mbit";

    fn read(t: &dyn Given) -> Result<Poisson, Error> {
        Stream::read(&Self::KEY, t).map(Poisson)
    }

    fn show(&self) -> Vec<(&'static str, Value)> {
        self.0.show(&Self::KEY)
    }

    fn bps(&self) -> Range {
        self.0.bps
    }

    fn packet_bytes(&self) -> u32 {
        self.0.packet_bytes
    }

    fn gaps(&self) -> Gaps {
        Gaps::Exponential
    }

    fn words(&self) -> String {
        let Stream { bps, packet_bytes } = self.0;
        let bps = Unit::Rate.show_range(bps);
        format!("UDP with exponential gaps, {bps} on average in packets of {packet_bytes}b")
    }
}
