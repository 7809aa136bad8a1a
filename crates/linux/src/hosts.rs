//! The two programs of a discipline, and the objects of them that this program carries, one a discipline.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Which of the two programs of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// A qdisc of its own.
    Qdisc,
    /// The classifier of htb.
    Front,
}

impl Host {
    pub(crate) fn objects(self) -> &'static [(&'static str, &'static [u8])] {
        match self {
            Host::Qdisc => OBJECTS,
            Host::Front => FRONTS,
        }
    }

    /// The first Linux that has it, so that the version can be compared.
    pub const fn since(self) -> (u32, u32) {
        match self {
            Host::Qdisc => (6, 16),
            Host::Front => (6, 4),
        }
    }

    /// The same as people write it.
    pub fn first_linux(self) -> String {
        let (major, minor) = self.since();
        format!("{major}.{minor}")
    }

    /// Names of the disciplines that it has.
    pub fn names(self) -> Vec<String> {
        self.objects().iter().map(|(name, _)| name.replace('_', "-")).collect()
    }
}

/// Names of the disciplines that can be attached.
pub fn names() -> Vec<String> {
    Host::Qdisc.names()
}
