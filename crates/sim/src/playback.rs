//! A run that is looked at while it goes on: up to any time, with its time series so far and what became of each packet, and at its end
//! with the results that [`crate::run`] gives.

use crate::Error;
use crate::watch::Watched;
use crate::world::World;
use queuewright_results::{Run, Series};
use queuewright_scenario::spec::RunSpec;
use std::sync::Arc;

/// A run under way.
#[derive(Debug)]
pub struct Playback {
    world: World<Arc<RunSpec>>,
    spec: Arc<RunSpec>,
    now_ns: u64,
}

impl Playback {
    /// A run about to begin, at time 0.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn new(spec: Arc<RunSpec>) -> Result<Playback, Error> {
        Ok(Playback { world: World::begin(spec.clone())?, spec, now_ns: 0 })
    }

    /// All happens that happens up to and at a time, or to the end if that comes first. Times past are no step.
    pub fn run_to(&mut self, to_ns: u64) {
        let to_ns = to_ns.min(self.spec.duration_ns);
        if to_ns >= self.now_ns {
            self.world.advance(to_ns, &mut |_| true);
            self.now_ns = to_ns;
        }
    }

    /// The time reached, ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// It has reached its end.
    pub fn is_over(&self) -> bool {
        self.now_ns == self.spec.duration_ns
    }

    /// The time series so far.
    pub fn series(&self) -> &Series {
        self.world.series()
    }

    /// The group that a flow belongs to; flows that come and go take the place of others that have ended.
    pub fn group_of(&self, flow: u32) -> Option<u32> {
        self.world.flows().get(flow as usize).map(|f| f.group)
    }

    /// From now on what becomes of each packet that waits at a port, or comes to it, is kept, to be taken by [`Playback::watched`].
    pub fn watch(&mut self, port: usize) {
        if let Some(port) = self.world.port(port) {
            port.watch();
        }
    }

    /// Gives `see` each packet at a watched port of which there is news since the last call, with its number from 0, and forgets those
    /// that have left.
    pub fn watched(&mut self, port: usize, see: impl FnMut(u32, &Watched)) {
        if let Some(watch) = self.world.port(port).and_then(|port| port.watch.as_deref_mut()) {
            watch.news(see);
        }
    }

    /// Goes on to the end: the results.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn finish(mut self) -> Result<Run, Error> {
        self.run_to(self.spec.duration_ns);
        self.world.finish()
    }
}
