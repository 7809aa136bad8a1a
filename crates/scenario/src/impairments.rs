//! What a link does to packets beyond delaying them alike: it loses some, delays some more than others.

use crate::error::Error;
use crate::keys::{JITTER, REORDER};
use crate::node::{Node, Table, Value};
use crate::units::{self, Unit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Millionths in all of something.
const ALL: u64 = 1_000_000;

/// Imperfections of a link. They come after the queue and the transmission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impairments {
    /// Share of packets lost, each by itself, millionths.
    pub loss: u32,
    /// Variation of the delay.
    pub jitter: Option<Jitter>,
    /// Packets that come later than others.
    pub reorder: Option<Reorder>,
}

/// How a link's delay varies from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// What is drawn for each packet.
    pub law: JitterLaw,
    /// A packet may arrive before one sent earlier; else it arrives with that one.
    pub overtaking: bool,
}

/// A distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JitterLaw {
    /// Uniform from the link's delay to this much more, ns.
    Uniform(u64),
    /// Normal around the link's delay with this standard deviation, ns; never below 0.
    Normal(u64),
}

/// A share of the packets is delayed by so much more, and overtaken meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reorder {
    /// How many of the packets, millionths.
    pub share: u32,
    /// Extra delay, ns.
    pub by_ns: u64,
}

impl Impairments {
    /// Are there any?
    pub fn any(&self) -> bool {
        *self != Impairments::default()
    }

    /// May a packet arrive before one that left earlier?
    pub fn overtakes(&self) -> bool {
        self.reorder.is_some() || self.jitter.is_some_and(|j| j.overtaking)
    }

    pub(crate) fn read(t: &Table<'_>) -> Result<Impairments, Error> {
        let loss = t.get("loss").map_or(Ok(0), share)?;
        if let Some(n) = t.get("loss").filter(|_| u64::from(loss) == ALL) {
            return Err(n.error("nothing would arrive; write less than 100%"));
        }
        Ok(Impairments {
            loss,
            jitter: t.get("jitter").map(|n| jitter(n, t)).transpose()?.flatten(),
            reorder: t.get("reorder").map(reorder).transpose()?.flatten(),
        })
    }

    /// The keys that say which there are.
    pub fn keys(&self) -> Vec<String> {
        let mut shown = Map::new();
        self.show(&mut shown);
        shown.into_iter().map(|(key, _)| key).collect()
    }

    pub(crate) fn show(&self, o: &mut Map<String, Json>) {
        if self.loss > 0 {
            o.insert("loss".into(), json!(percent(self.loss)));
        }
        if let Some(Jitter { law, overtaking }) = self.jitter {
            let (name, ns) = match law {
                JitterLaw::Uniform(ns) => ("uniform", ns),
                JitterLaw::Normal(ns) => ("normal", ns),
            };
            o.insert("jitter".into(), json!({ name: Unit::Time.show(ns), "overtaking": overtaking }));
        }
        if let Some(Reorder { share, by_ns }) = self.reorder {
            o.insert("reorder".into(), json!({ "share": percent(share), "by": Unit::Time.show(by_ns) }));
        }
    }

    /// In words, for people; empty: there are none.
    pub fn describe(&self) -> String {
        let mut words = Vec::new();
        if self.loss > 0 {
            words.push(format!("loses {}", percent(self.loss)));
        }
        if let Some(j) = self.jitter {
            let law = match j.law {
                JitterLaw::Uniform(ns) => format!("jitter up to {}", Unit::Time.show(ns)),
                JitterLaw::Normal(ns) => format!("normal jitter of {}", Unit::Time.show(ns)),
            };
            words.push(law + if j.overtaking { " with overtaking" } else { "" });
        }
        if let Some(r) = self.reorder {
            words.push(format!("{} come {} later", percent(r.share), Unit::Time.show(r.by_ns)));
        }
        words.join(", ")
    }
}

fn percent(millionths: u32) -> String {
    format!("{}%", units::show_millionths(u64::from(millionths) * 100))
}

/// A share in millionths: per cents in quotes, or a decimal number.
fn share(n: &Node) -> Result<u32, Error> {
    const FORM: &str = "not a share; write per cents in quotes, such as \"0.1%\", or a number such as 0.001";
    let m = match &n.value {
        Value::Text(text) => {
            let digits = text.strip_suffix('%').ok_or_else(|| n.error(FORM))?;
            let m = units::parse_millionths(digits).map_err(|_| n.error(FORM))?;
            if m % 100 != 0 {
                return Err(n.error("not a whole number of millionths"));
            }
            m / 100
        }
        Value::Number(digits) => units::parse_millionths(digits).map_err(|_| n.error(FORM))?,
        _ => return Err(n.error(FORM)),
    };
    match u32::try_from(m) {
        Ok(share) if m <= ALL => Ok(share),
        _ => Err(n.error("out of range; allowed: 0% to 100%")),
    }
}

fn jitter(n: &Node, link: &Table<'_>) -> Result<Option<Jitter>, Error> {
    let Value::Table(_) = n.value else {
        let ns = link.one("jitter")?;
        return Ok((ns > 0).then_some(Jitter { law: JitterLaw::Uniform(ns), overtaking: false }));
    };
    let t = n.table(&JITTER)?;
    let (ns, law): (u64, fn(u64) -> JitterLaw) = match (t.get("uniform"), t.get("normal")) {
        (Some(_), None) => (t.one("uniform")?, JitterLaw::Uniform),
        (None, Some(_)) => (t.one("normal")?, JitterLaw::Normal),
        (Some(_), Some(n)) => return Err(n.key_error("a jitter is uniform or normal; write one of the two")),
        (None, None) => {
            return Err(t.missing("normal", "the standard deviation, such as \"2ms\" (or uniform, the most)"));
        }
    };
    let overtaking = t.flag("overtaking")?;
    Ok((ns > 0).then_some(Jitter { law: law(ns), overtaking }))
}

fn reorder(n: &Node) -> Result<Option<Reorder>, Error> {
    let t = n.table(&REORDER)?;
    let (share, by_ns) = (share(t.need("share")?)?, t.one("by")?);
    Ok((share > 0).then_some(Reorder { share, by_ns }))
}
