//! Packets that do not end, for tests of what happens to a discipline under them.

use queuewright_testing::wait_for;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

/// Something that sends without end, and how often it has.
pub struct Traffic(Arc<AtomicBool>, Arc<AtomicU64>, Option<JoinHandle<()>>);

impl Traffic {
    pub fn begin(mut send: impl FnMut() + Send + 'static) -> Traffic {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (until, count) = (stop.clone(), sent.clone());
        let thread = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                send();
                // Up to 4,000 a second: a machine of one processor has time left for what it is asked.
                if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(4) {
                    sleep(Duration::from_millis(1));
                }
            }
        });
        Traffic(stop, sent, Some(thread))
    }

    /// Waits until so many more were sent.
    #[track_caller]
    pub fn wait(&self, more: u64) {
        let from = self.1.load(Ordering::Relaxed);
        wait_for(&format!("{more} more packets to be sent"), || {
            assert!(self.2.as_ref().is_some_and(|thread| !thread.is_finished()), "the sender has ended");
            self.1.load(Ordering::Relaxed) >= from + more
        });
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.2.take() {
            let _ = thread.join();
        }
    }
}
