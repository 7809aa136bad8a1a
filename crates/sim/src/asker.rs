//! Who asks, now and then, how long an answer takes on a connection that makes a load.

use queuewright_results::Request;
use std::collections::VecDeque;

/// Who asks for a byte on a connection that makes the load, one request after the other, whatever is under way.
#[derive(Debug, Default)]
pub struct Asker {
    /// When each request went out (ns).
    asked_ns: Vec<u64>,
    /// Of those that the sender knows of and that are not answered: the segment that an answer stands behind, and up to which request it
    /// is one.
    due: VecDeque<(u32, u32)>,
    /// Requests that the sender knows of.
    told: u32,
    /// How long each answer took, ns.
    took_ns: Vec<u64>,
}

impl Asker {
    /// Asks at `now`: the number of the request, from 1.
    pub fn ask(&mut self, now: u64) -> u32 {
        self.asked_ns.push(now);
        self.asked_ns.len() as u32
    }

    /// A request has come to the sender, which has written up to a segment by then; with it those before that were lost, as what is
    /// sent again is there no later. The first segment whose arrival is to be told, `u32::MAX`: of none.
    pub fn told(&mut self, number: u32, written: u32) -> u32 {
        if number > self.told {
            self.told = number;
            self.due.push_back((written, number));
        }
        self.awaited()
    }

    /// All before `next` has arrived at `at`. What is to be told then.
    pub fn answered(&mut self, at: u64, next: u32) -> u32 {
        while let Some(&(segment, upto)) = self.due.front()
            && segment < next
        {
            self.due.pop_front();
            let answered = &self.asked_ns[self.took_ns.len()..upto as usize];
            self.took_ns.extend(answered.iter().map(|asked| at - asked));
        }
        self.awaited()
    }

    fn awaited(&self) -> u32 {
        self.due.front().map_or(u32::MAX, |(segment, _)| *segment)
    }

    /// The longest that an answer took, ns.
    pub fn longest_ns(&self) -> u64 {
        self.took_ns.iter().copied().max().unwrap_or(0)
    }

    /// Every request, and how long its answer took. Of those that have none at `end`, unless nothing more is to come, those that have
    /// waited longer than `longest`: so long at least.
    pub fn requests(&self, end: Option<u64>, longest: u64) -> impl Iterator<Item = Request> {
        let waits = self.asked_ns.iter().skip(self.took_ns.len());
        let waits = waits.filter_map(move |asked| Some((asked, end?.saturating_sub(*asked))));
        let all = self.asked_ns.iter().zip(self.took_ns.iter().copied());
        all.chain(waits.filter(move |(_, took)| *took > longest))
            .map(|(asked, took)| Request { asked_s: *asked as f64 / 1e9, took_ms: took as f64 / 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(asker: &Asker, end: Option<u64>, longest: u64) -> Vec<f64> {
        asker.requests(end, longest).map(|r| r.took_ms * 1e6).collect()
    }

    /// Requests overlap; one that is lost comes with the next; one without an answer counts where it has waited longest.
    #[test]
    fn requests_overlap_and_none_is_forgotten() {
        let mut asker = Asker::default();
        assert_eq!([100, 200, 300, 400].map(|at| asker.ask(at)), [1, 2, 3, 4]);
        // The first is told when the sender has written 50 segments, the second is lost.
        assert_eq!((asker.told(1, 50), asker.told(3, 60), asker.told(2, 70)), (50, 50, 50));
        // What stands behind segment 50 is there when 51 are.
        assert_eq!((asker.answered(500, 50), asker.answered(600, 51)), (50, 60));
        assert_eq!(took(&asker, None, 0), [500.0]);
        assert_eq!(asker.answered(700, 61), u32::MAX);
        assert_eq!((took(&asker, None, 0), asker.longest_ns()), (vec![500.0, 500.0, 400.0], 500));
        // The fourth has waited for 600 at 1000.
        assert_eq!(took(&asker, Some(1000), 500), [500.0, 500.0, 400.0, 600.0]);
        assert_eq!(took(&asker, Some(1000), 600), [500.0, 500.0, 400.0]);
    }
}
