//! What the kernel holds, whoever made it.

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;

/// Maps, programs and links by the kernel's numbers, of which none comes again before all have been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held([BTreeSet<u32>; 3]);

pub fn held() -> Held {
    Held([
        MapInfoIter::default().map(|map| map.id).collect(),
        ProgInfoIter::default().map(|program| program.id).collect(),
        LinkInfoIter::default().map(|link| link.id).collect(),
    ])
}

impl Held {
    /// What is held that was not before: to the last one, also where others on this machine have let go of theirs meanwhile.
    #[allow(dead_code, reason = "not every test needs it")]
    pub fn new_since(&self, before: &Held) -> Held {
        Held([0, 1, 2].map(|kind| &self.0[kind] - &before.0[kind]))
    }

    /// Is there nothing of it?
    pub fn is_none(&self) -> bool {
        self.0.iter().all(BTreeSet::is_empty)
    }
}
