//! Which events poll() and epoll tell of (`include/uapi/linux/eventpoll.h`), and what an epoll descriptor remembers (`fs/eventpoll.c`).

use crate::stack::Wakes;

pub const IN: u32 = 0x1;
pub const OUT: u32 = 0x4;
pub const RDHUP: u32 = 0x2000;
pub const HUP: u32 = 0x10;
/// They are told whether asked for or not: of an error, and of both ends' close.
const ALWAYS: u32 = 0x8 | HUP;
const RDNORM: u32 = 0x40;
const WRNORM: u32 = 0x100;
const EXCLUSIVE: u32 = 1 << 28;
const WAKEUP: u32 = 1 << 29;
const ONESHOT: u32 = 1 << 30;
const EDGE: u32 = 1 << 31;
/// How it is told, and not of what (`EP_PRIVATE_BITS`).
const PRIVATE: u32 = EXCLUSIVE | WAKEUP | ONESHOT | EDGE;

/// The events of the names, without the leading `E` that epoll's have; none: one is not known.
pub fn mask(names: &[&str]) -> Option<u32> {
    names.iter().try_fold(0, |all, name| {
        Some(
            all | if *name == "0" {
                0
            } else {
                NAMES.iter().find(|n| name.trim_start_matches('E') == n.0)?.1
            },
        )
    })
}

/// The names of events.
pub fn names(mask: u32) -> String {
    let names: Vec<_> = NAMES.iter().filter(|n| mask & n.1 != 0).map(|n| n.0).collect();
    if names.is_empty() { "0".into() } else { names.join("|") }
}

const NAMES: [(&str, u32); 12] = [
    ("POLLIN", IN),
    ("POLLPRI", 0x2),
    ("POLLOUT", OUT),
    ("POLLERR", 0x8),
    ("POLLHUP", HUP),
    ("POLLRDNORM", RDNORM),
    ("POLLWRNORM", WRNORM),
    ("POLLRDHUP", RDHUP),
    ("POLLEXCLUSIVE", EXCLUSIVE),
    ("POLLWAKEUP", WAKEUP),
    ("POLLONESHOT", ONESHOT),
    ("POLLET", EDGE),
];

/// With what is the same by another name.
pub fn with_synonyms(mask: u32) -> u32 {
    mask | if mask & IN != 0 { RDNORM } else { 0 } | if mask & OUT != 0 { WRNORM } else { 0 }
}

/// What is watched of a descriptor (`struct epitem`).
#[derive(Debug, Clone, Copy)]
struct Item {
    descriptor: i64,
    events: u32,
    data: i64,
    /// It is on the list of those that may have something to tell.
    ready: bool,
}

/// What an epoll descriptor watches.
#[derive(Debug, Clone, Default)]
pub struct Epoll {
    items: Vec<Item>,
}

impl Epoll {
    /// `EPOLL_CTL_ADD` (`ep_insert`) or `EPOLL_CTL_MOD` (`ep_modify`) of a descriptor whose state now is `now`.
    ///
    /// # Errors
    /// The error that the call gives.
    pub fn set(
        &mut self,
        adds: bool,
        descriptor: i64,
        events: u32,
        data: i64,
        now: u32,
    ) -> Result<(), &'static str> {
        let at = self.items.iter().position(|i| i.descriptor == descriptor);
        let events = events | ALWAYS;
        let item = Item { descriptor, events, data, ready: now & events != 0 };
        match (adds, at) {
            (true, Some(_)) => return Err("EEXIST"),
            (false, None) => return Err("ENOENT"),
            (true, None) => self.items.push(item),
            // `ep_modify` takes nothing off the list.
            (false, Some(at)) => self.items[at] = Item { ready: item.ready || self.items[at].ready, ..item },
        }
        Ok(())
    }

    /// `EPOLL_CTL_DEL`, and what a close does. Was it watched?
    pub fn remove(&mut self, descriptor: i64) -> bool {
        let before = self.items.len();
        self.items.retain(|i| i.descriptor != descriptor);
        self.items.len() < before
    }

    /// Who waits has been woken (`ep_poll_callback`).
    pub fn wake(&mut self, wakes: Wakes) {
        let mut told = if wakes.input { with_synonyms(IN) } else { 0 };
        told |= if wakes.output { with_synonyms(OUT) } else { 0 };
        for item in &mut self.items {
            let asleep = item.events & !PRIVATE == 0;
            item.ready |= !asleep && (wakes.state || told & item.events != 0);
        }
    }

    /// What it tells now, at most so many of them: events and data (`ep_send_events`). `now`: the state of a descriptor.
    pub fn tell(&mut self, most: usize, mut now: impl FnMut(i64) -> u32) -> Vec<(u32, i64)> {
        let mut told = Vec::new();
        let mut again = Vec::new();
        let mut at = 0;
        while at < self.items.len() && told.len() < most {
            let item = &mut self.items[at];
            let events = if item.ready { now(item.descriptor) & item.events & !PRIVATE } else { 0 };
            item.ready = false;
            if events == 0 {
                at += 1;
                continue;
            }
            told.push((events, item.data));
            if item.events & ONESHOT != 0 {
                item.events &= PRIVATE;
                at += 1;
            } else if item.events & EDGE == 0 {
                // Looked at again the next time, behind the others.
                let mut item = self.items.remove(at);
                item.ready = true;
                again.push(item);
            } else {
                at += 1;
            }
        }
        self.items.extend(again);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(epoll: &mut Epoll, now: u32) -> Vec<u32> {
        epoll.tell(8, |_| now).iter().map(|t| t.0).collect()
    }

    const INPUT: Wakes = Wakes { input: true, output: false, state: false };

    #[test]
    fn an_edge_is_told_once_and_a_level_as_long_as_it_lasts() {
        for (how, again) in [(EDGE, vec![]), (0, vec![IN])] {
            let mut epoll = Epoll::default();
            epoll.set(true, 4, IN | how, 4, IN).unwrap();
            assert_eq!(told(&mut epoll, IN), [IN]);
            assert_eq!(told(&mut epoll, IN), again);
            assert_eq!(told(&mut epoll, 0), [0; 0]);
            epoll.wake(INPUT);
            assert_eq!(told(&mut epoll, IN | OUT), [IN]);
        }
    }

    #[test]
    fn one_shot_sleeps_until_it_is_set_again() {
        let mut epoll = Epoll::default();
        epoll.set(true, 4, IN | OUT | ONESHOT, 4, OUT).unwrap();
        assert_eq!(told(&mut epoll, OUT), [OUT]);
        epoll.wake(INPUT);
        assert_eq!(told(&mut epoll, IN | OUT), [0; 0]);
        epoll.set(false, 4, IN | ONESHOT, 4, IN | OUT).unwrap();
        assert_eq!(told(&mut epoll, IN | OUT), [IN]);
        assert_eq!(epoll.set(true, 4, IN, 4, 0), Err("EEXIST"));
        assert!(epoll.remove(4) && !epoll.remove(4));
        assert_eq!(epoll.set(false, 4, IN, 4, 0), Err("ENOENT"));
    }

    #[test]
    fn names_and_masks() {
        assert_eq!(mask(&["EPOLLIN", "POLLOUT", "EPOLLET"]), Some(IN | OUT | EDGE));
        assert_eq!(mask(&["EPOLLFROB"]), None);
        assert_eq!((names(IN | RDHUP), names(0)), ("POLLIN|POLLRDHUP".into(), "0".into()));
    }
}
