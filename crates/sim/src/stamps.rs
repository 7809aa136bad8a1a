//! What controls in C may want to know of each segment in flight beside its rate tag; a ring of its own, which others do not have.

/// What there was when a segment was last sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamp {
    /// Packets in flight, it included.
    pub tx_in_flight: u32,
    /// Packets marked lost until then.
    pub lost: u32,
    /// Packets delivered until then that were echoed as marked.
    pub delivered_ce: u32,
    /// The application limited the connection.
    pub app_limited: bool,
}

/// Segments of the shortest ring.
const INITIAL: u32 = 32;

/// A ring over the segments in flight. It grows to twice the largest window ever had, never per packet.
#[derive(Debug)]
pub struct Stamps(Box<[Stamp]>);

impl Default for Stamps {
    fn default() -> Stamps {
        Stamps(vec![Stamp::default(); INITIAL as usize].into())
    }
}

impl Stamps {
    fn at(&self, seq: u32) -> usize {
        seq as usize & (self.0.len() - 1)
    }

    /// Makes room for segments `una..end`, of which those below `nxt` have been sent.
    #[inline]
    pub fn reserve(&mut self, una: u32, nxt: u32, end: u32) {
        if (end - una) as usize > self.0.len() {
            self.grow(una, nxt, end);
        }
    }

    #[cold]
    fn grow(&mut self, una: u32, nxt: u32, end: u32) {
        let size = ((end - una) * 2).next_power_of_two() as usize;
        let mut other = Stamps(vec![Stamp::default(); size].into());
        for seq in una..nxt {
            let to = other.at(seq);
            other.0[to] = self.get(seq);
        }
        *self = other;
    }

    /// A segment is sent.
    #[inline]
    pub fn set(&mut self, seq: u32, stamp: Stamp) {
        let at = self.at(seq);
        self.0[at] = stamp;
    }

    /// The stamp of one that is in flight, or was until this acknowledgement.
    #[inline]
    pub fn get(&self, seq: u32) -> Stamp {
        self.0[self.at(seq)]
    }
}
