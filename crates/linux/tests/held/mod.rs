//! What the kernel holds, whoever made it.

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};

/// Numbers of maps, programs and links.
pub type Held = [usize; 3];

pub fn held() -> Held {
    [MapInfoIter::default().count(), ProgInfoIter::default().count(), LinkInfoIter::default().count()]
}

/// No more than before? Others on this machine let go of theirs, too.
pub fn is_within(now: Held, before: Held) -> bool {
    now.iter().zip(before).all(|(now, before)| *now <= before)
}
