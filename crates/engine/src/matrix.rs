//! The runs of a comparison on all cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// How far an item of [`run_all`] is.
#[derive(Debug, PartialEq)]
pub enum ItemEvent<R> {
    /// It has got so far, 0..=1.
    At(f64),
    /// It is done.
    Done(R),
}

/// Runs `work` on the items 0..`count`, `jobs` at a time; once `stop` is set, no
/// more are begun. `work` is given the item and what to call, with 0..=1, as it
/// gets on; `hear` is told of that and of the results, on this thread, as they
/// come: in no order.
pub fn run_all<R: Send>(
    count: usize,
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(usize, &dyn Fn(f64)) -> R + Sync,
    mut hear: impl FnMut(usize, ItemEvent<R>),
) {
    let item = |item: usize, tell: &dyn Fn((usize, ItemEvent<R>))| {
        let result = work(item, &|at| tell((item, ItemEvent::At(at))));
        tell((item, ItemEvent::Done(result)));
    };
    share_out(count, jobs, stop, item, |(item, step)| hear(item, step));
}

/// [`run_all`] for work that tells what it likes, on any thread, and is heard on this one.
pub fn share_out<T: Send>(
    count: usize,
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(usize, &dyn Fn(T)) + Sync,
    hear: impl FnMut(T),
) {
    let next = AtomicUsize::new(0);
    let gate = Mutex::new(0);
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let asked = jobs.min(count);
        // How many of them work: known when all have begun.
        let mut workers = gate.lock().unwrap_or_else(PoisonError::into_inner);
        *workers = asked;
        for begun in 0..asked {
            let (tell, next, work, gate) = (tell.clone(), &next, &work, &gate);
            let worker = move |checked: bool| {
                if checked && begun >= *gate.lock().unwrap_or_else(PoisonError::into_inner) {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= count {
                        break;
                    }
                    // The listener outlives the workers: telling cannot fail.
                    work(item, &|what| {
                        let _ = tell.send(what);
                    });
                }
            };
            // More threads than the machine gives (`ulimit -u`, `-v`) are not to be had by asking again, and those that there are
            // have taken what memory there was: some end again, for the others' work.
            let in_a_thread = worker.clone();
            if let Err(e) = thread::Builder::new().spawn_scoped(scope, move || in_a_thread(true)) {
                *workers = begun.div_ceil(4);
                eprintln!("note: {} at a time, not {asked}: no more threads ({e})", (*workers).max(1));
                if begun == 0 {
                    // All is heard of at the end.
                    worker(false);
                }
                break;
            }
        }
        drop(workers);
        drop(tell);
        told.into_iter().for_each(hear);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::time::Duration;

    #[test]
    fn every_item_is_done_once_on_any_number_of_threads() {
        for jobs in [1, 2, 7, 1000] {
            let stop = AtomicBool::new(false);
            let mut done = BTreeMap::new();
            let mut steps = 0;
            let work = |i: usize, at: &dyn Fn(f64)| {
                // The first take longest: they finish out of order.
                thread::sleep(Duration::from_millis(if i < 3 { 20 } else { 1 }));
                at(0.5);
                i * i
            };
            run_all(20, jobs, &stop, work, |i, step| match step {
                ItemEvent::At(_) => steps += 1,
                ItemEvent::Done(r) => assert_eq!(done.insert(i, r), None),
            });
            let expected: BTreeMap<_, _> = (0..20).map(|i| (i, i * i)).collect();
            assert_eq!(done, expected, "jobs {jobs}");
            assert_eq!(steps, 20);
        }
    }

    #[test]
    fn a_stop_begins_no_more() {
        let stop = AtomicBool::new(false);
        let mut done = 0;
        let work = |i, _: &dyn Fn(f64)| stop.store(i >= 4, Ordering::Relaxed);
        run_all(100, 1, &stop, work, |_, _| done += 1);
        assert_eq!(done, 5);
    }

    #[test]
    fn nothing_to_do_is_done_at_once() {
        run_all(0, 4, &AtomicBool::new(false), |_, _| {}, |_, _| panic!("heard of nothing"));
    }
}
