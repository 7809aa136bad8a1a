//! A constant rate: packet after packet in the same time.

use super::{Gaps, Given, Source, Stream};
use crate::error::Error;
use crate::form::{Key, RATES, Without, key};
use crate::units::{Range, Unit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// UDP at a constant rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cbr(Stream);

impl Source for Cbr {
    const KEY: Key = key("cbr", RATES, Without::Says(""), "UDP at a constant rate of IP packets");
    const SUCH_AS: &'static str = "2mbit";

    fn read(t: &dyn Given) -> Result<Cbr, Error> {
        Stream::read(&Self::KEY, t).map(Cbr)
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
        Gaps::Even
    }

    fn words(&self) -> String {
        let Stream { bps, packet_bytes } = self.0;
        format!("UDP at a constant {} in packets of {packet_bytes}b", Unit::Rate.show_range(bps))
    }
}
