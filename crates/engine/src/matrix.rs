//! The runs of a comparison on all cores.

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
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
    mut hear: impl FnMut(T),
) {
    let next = AtomicUsize::new(0);
    let behind = Behind::default();
    let (tell, told) = mpsc::channel();
    let asked = jobs.min(count);
    let begun = asked.min(room());
    let fewer =
        |threads: usize, why: &dyn Display| eprintln!("note: {threads} at a time, not {asked}: {why}");
    if begun < asked {
        fewer(begun, &"ulimit -v leaves no room for more");
    }
    thread::scope(|scope| {
        for i in 0..begun {
            let (tell, next, work, behind) = (tell.clone(), &next, &work, &behind);
            let worker = move |most: usize| {
                while !stop.load(Ordering::Relaxed) {
                    behind.wait_until_below(most);
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= count {
                        break;
                    }
                    // The listener outlives the workers: telling cannot fail.
                    work(item, &|what| {
                        let _ = tell.send(Some(what));
                    });
                    behind.add(1);
                    let _ = tell.send(None);
                }
            };
            let here = worker.clone();
            let worker = move || worker(begun);
            // More threads than the machine gives (`ulimit -u`) are not to be had by asking again.
            if let Err(e) = thread::Builder::new().spawn_scoped(scope, worker) {
                fewer(i.max(1), &e);
                if i == 0 {
                    // All is heard of at the end.
                    here(usize::MAX);
                }
                break;
            }
        }
        drop(tell);
        // Should the listener panic, nobody waits for it.
        let _open = Open(&behind);
        for what in told {
            match what {
                Some(what) => hear(what),
                None => behind.add(-1),
            }
        }
    });
}

/// Items that are done and not heard of. Their results are large: who makes them waits for a listener that is slower.
#[derive(Default)]
struct Behind(Mutex<isize>, Condvar);

impl Behind {
    fn add(&self, n: isize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += n;
        self.1.notify_all();
    }

    fn wait_until_below(&self, most: usize) {
        let behind = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let many = |behind: &mut isize| usize::try_from(*behind).is_ok_and(|n| n >= most);
        drop(self.1.wait_while(behind, many).unwrap_or_else(PoisonError::into_inner));
    }
}

struct Open<'a>(&'a Behind);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.add(isize::MIN / 2);
    }
}

/// Addresses that a thread takes with a small run: 2 MiB of stack, and its part of the heap. Where not even its second stack is to be
/// had, Rust's library ends the process.
const THREAD: u64 = 16 << 20;

/// How many of `jobs` runs at a time the machine's memory holds, where each may need so many bytes; one at least. If these are fewer than
/// would run, standard error has a word.
pub fn fitting(jobs: usize, count: usize, bytes: u64) -> usize {
    let Some(most) = memory() else { return jobs };
    let fit = (most / bytes.max(1)).max(1).try_into().unwrap_or(usize::MAX);
    let wanted = jobs.min(count);
    if fit < wanted {
        let mb = |bytes: u64| bytes >> 20;
        eprintln!(
            "note: {fit} at a time, not {wanted}: each may need {} MB of memory, of {} MB",
            mb(bytes),
            mb(most)
        );
    }
    jobs.min(fit)
}

/// Memory that this process may have, bytes: the machine's, its control group's or that of `ulimit -v`; none: nothing says.
fn memory() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let kilobytes = |text: String| {
        text.lines()
            .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok())
    };
    let machine = text("/proc/meminfo").and_then(kilobytes).map(|kb| kb << 10);
    let group = text("/proc/self/cgroup")
        .and_then(|groups| groups.lines().find_map(|line| line.strip_prefix("0::").map(String::from)))
        .and_then(|group| text(&format!("/sys/fs/cgroup{group}/memory.max")))
        .and_then(|most| most.trim().parse().ok());
    [machine, group, getrlimit(Resource::As).current].into_iter().flatten().min()
}

/// For how many threads `ulimit -v` leaves addresses; one at least.
fn room() -> usize {
    let Some(most) = getrlimit(Resource::As).current else { return usize::MAX };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let left = most.saturating_sub(pages * page_size() as u64);
    ((left / THREAD) as usize).max(1)
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
    fn a_slow_listener_is_waited_for() {
        let (made, mut heard) = (AtomicUsize::new(0), 0);
        let work = |_, _: &dyn Fn(f64)| made.fetch_add(1, Ordering::Relaxed);
        run_all(100, 2, &AtomicBool::new(false), work, |_, _| {
            thread::sleep(Duration::from_millis(2));
            heard += 1;
            // Two that wait, two that are made, and the one that is heard.
            assert!(made.load(Ordering::Relaxed) <= heard + 5);
        });
        assert_eq!(heard, 100);
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
