//! The programs of a discipline, and the objects of them that this program carries, one a discipline.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Which of the programs of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// A qdisc of its own.
    Qdisc,
    /// The classifier of htb.
    Front,
    /// A policer: no packet waits.
    Police,
}

impl Host {
    pub(crate) fn objects(self) -> &'static [(&'static str, &'static [u8])] {
        match self {
            Host::Qdisc => OBJECTS,
            Host::Front => FRONTS,
            Host::Police => POLICES,
        }
    }

    /// The first Linux that has it, so that the version can be compared.
    pub const fn since(self) -> (u32, u32) {
        match self {
            Host::Qdisc => (6, 16),
            Host::Front => (6, 4),
            Host::Police => (6, 6),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One list is the programs', the other the simulator's.
    #[test]
    fn who_polices_in_the_simulator_does_so_here() {
        let registry = queuewright_aqm::registry().iter().filter(|info| info.polices).map(|info| info.name);
        let mut there: Vec<String> = registry.map(|name| name.replace('-', "_")).collect();
        let mut here: Vec<String> = POLICING.iter().map(|name| (*name).to_string()).collect();
        there.sort();
        here.sort();
        assert_eq!(there, here);
        assert!(POLICES.is_empty() || POLICES.len() == here.len());
    }
}
