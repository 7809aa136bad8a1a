//! A script's system calls on the simulated stack: descriptors, what waits, and epoll.

use crate::epoll::{self, Epoll};
use crate::machine::{
    Answer, EpollEvents, Machine, compare_inq, compare_ioctl, compare_option, compare_told, epoll_wanted,
    other_events,
};
use crate::packet::Packet;
use crate::script::{Call, Expr};
use crate::settings::{Counter, Settings, control};
use crate::stack::{BEGIN_NS, Out, State, Tcp, Wakes, Write};
use crate::words::{field, field_data, field_mask, number_of, vector_bytes};
use crate::{End, Options, Step};
use queuewright_sim::alone::Dropped;
use std::collections::HashMap;
use std::path::Path;

/// Most that happens between two events of a script.
const MOST_STEPS: u32 = 1_000_000;

/// `MSG_DONTWAIT`, `MSG_EOR`, `MSG_MORE`, `O_NONBLOCK`
const DONT_WAIT: i64 = 0x40;
const END_OF_RECORD: i64 = 0x80;
const MORE: i64 = 0x8000;
const NON_BLOCKING: i64 = 0o4000;

/// The flags of a call that sends.
fn flags(call: &Call) -> i64 {
    let place = match call.name.as_str() {
        "sendmsg" => 2,
        "send" | "sendto" => 3,
        _ => return 0,
    };
    call.arguments.get(place).and_then(number_of).unwrap_or(0)
}

/// A file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descriptor {
    /// The socket that listens, or one that has not begun.
    Listener,
    /// The connection.
    Connection,
    /// One of epoll.
    Epoll,
}

enum Pending {
    /// The number that the script gives the descriptor.
    Accept(Expr),
    Connect,
    Read(u32),
    /// So many bytes, of which so many were taken.
    Write(u32, u32, Write),
    /// The descriptor, what is asked of it, and what is to be told.
    Poll(Descriptor, u32, u32),
    /// The descriptor, the most that is told, and what is to be.
    Epoll(i64, usize, EpollEvents),
}

/// The simulated stack, and who uses it.
pub struct Simulated {
    settings: Settings,
    tcp: Tcp,
    descriptors: HashMap<i64, Descriptor>,
    epolls: HashMap<i64, Epoll>,
    /// A connection that is open and was not taken.
    backlog: bool,
    non_blocking: bool,
    next_descriptor: i64,
    /// What a call waits for; when that ended, and what it gave.
    waiting: Option<Pending>,
    ended: Option<(i64, Step<i64>)>,
    forced: Option<queuewright_sim::Kind>,
    /// What the kernel's counters were when they were last looked at.
    counted: Dropped,
}

impl Simulated {
    /// One with the congestion control and the ticks of these, whatever a script sets.
    pub fn new(options: &Options) -> Simulated {
        let mut settings = Settings::default();
        if let Some(cca) = options.cca {
            settings.cca = cca;
        }
        settings.tuned.hz = options.hz.unwrap_or(settings.tuned.hz);
        Simulated {
            tcp: Tcp::new(&settings),
            settings,
            descriptors: HashMap::new(),
            epolls: HashMap::new(),
            backlog: false,
            non_blocking: false,
            next_descriptor: 3,
            waiting: None,
            ended: None,
            forced: options.cca,
            counted: Dropped::default(),
        }
    }

    fn no_trouble(&mut self) -> Step<()> {
        self.tcp.trouble.take().map_or(Ok(()), |what| Err(End::Foreign(what)))
    }

    /// Tells the epoll descriptors what has woken those who wait.
    fn pass_wakes(&mut self) {
        let wakes = std::mem::take(&mut self.tcp.wakes);
        if wakes != Wakes::default() {
            self.epolls.values_mut().for_each(|e| e.wake(wakes));
        }
    }

    /// What there is to tell of a descriptor (`tcp_poll`).
    fn ready(&mut self, descriptor: Option<Descriptor>) -> u32 {
        match descriptor {
            Some(Descriptor::Listener) if self.tcp.state == State::Closed => epoll::OUT | epoll::HUP,
            Some(Descriptor::Listener) if self.backlog => epoll::with_synonyms(epoll::IN),
            Some(Descriptor::Connection) if self.tcp.established() => {
                let (sends, reads) = (!self.tcp.shut.0, !self.tcp.ended && !self.tcp.shut.1);
                let mut mask = 0;
                if self.tcp.unread > 0 || !reads {
                    mask |= epoll::IN;
                }
                if !sends || self.tcp.writeable() {
                    mask |= epoll::OUT;
                }
                mask |= if reads { 0 } else { epoll::RDHUP };
                mask |= if reads || sends { 0 } else { epoll::HUP };
                epoll::with_synonyms(mask)
            }
            _ => 0,
        }
    }

    /// Is a counter what a command says?
    fn count(&mut self, asked: &Counter) -> Step<()> {
        let (now, before) = (self.tcp.dropped(), self.counted);
        let told = asked.of(&now) - asked.of(&before);
        if asked.begins_anew {
            self.counted = now;
        }
        asked.compare(told)
    }

    fn look_as_woken(&mut self, woken: bool) {
        let now = self.now();
        self.pass_wakes();
        let Some(mut waiting) = self.waiting.take() else { return };
        match self.gives(&mut waiting, woken) {
            Some(gave) => self.ended = Some((now, gave)),
            None => self.waiting = Some(waiting),
        }
    }

    /// What a call that waits gives, if it waits no more; `woken`: there was room again in the send buffer.
    fn gives(&mut self, what: &mut Pending, woken: bool) -> Option<Step<i64>> {
        Some(Ok(match what {
            Pending::Accept(wanted) if self.backlog => self.accepted(wanted),
            Pending::Connect if self.tcp.established() => 0,
            Pending::Read(most) if self.tcp.unread > 0 || self.tcp.ended => {
                let n = (*most).min(self.tcp.unread);
                self.tcp.read(n);
                n.into()
            }
            Pending::Write(bytes, taken, how) if woken => {
                match self.tcp.write(*bytes - *taken, *how) {
                    Ok(more) => *taken += more,
                    Err(what) => return Some(Err(End::Foreign(what))),
                }
                if *taken < *bytes {
                    return None;
                }
                i64::from(*bytes)
            }
            Pending::Poll(descriptor, asked, wanted) => {
                let told = self.ready(Some(*descriptor)) & *asked;
                if told == 0 {
                    return None;
                }
                if told != *wanted {
                    return Some(Err(other_events("poll()", &[*wanted], &[told])));
                }
                1
            }
            Pending::Epoll(descriptor, most, wanted) => {
                let told = self.epoll_told(*descriptor, *most);
                if told.is_empty() {
                    return None;
                }
                match compare_told(wanted, &told) {
                    Ok(()) => told.len() as i64,
                    Err(end) => return Some(Err(end)),
                }
            }
            _ => return None,
        }))
    }

    /// The connection that waits is taken. The script says by which number it knows it.
    fn accepted(&mut self, wanted: &Expr) -> i64 {
        self.backlog = false;
        self.tcp.accepted();
        let free = wanted.int().filter(|n| *n > 2 && !self.descriptors.contains_key(n));
        let new = free.unwrap_or(self.next_descriptor);
        self.next_descriptor = self.next_descriptor.max(new + 1);
        self.descriptors.insert(new, Descriptor::Connection);
        new
    }

    fn connect(&mut self) -> Step<()> {
        if self.tcp.begun() {
            return Err(End::Foreign("several connections".into()));
        }
        for descriptor in self.descriptors.values_mut().filter(|d| **d == Descriptor::Listener) {
            *descriptor = Descriptor::Connection;
        }
        self.tcp.connect();
        Ok(())
    }

    /// How many bytes a call writes, and how.
    fn to_write(&self, call: &Call) -> Step<(u32, Write)> {
        let bytes = match call.name.as_str() {
            "sendmsg" | "writev" => vector_bytes(&call.arguments),
            _ => call.arguments.get(2).and_then(Expr::int),
        };
        let Some(bytes) = bytes.filter(|n| (0..1 << 30).contains(n)) else {
            return Err(End::Foreign(format!("a {}() of no known length", call.name)));
        };
        let flags = flags(call);
        let has = |flag| flags & flag != 0;
        Ok((bytes as u32, Write { ends_record: has(END_OF_RECORD), more: has(MORE) }))
    }

    fn write(&mut self, call: &Call) -> Step<Answer> {
        let (bytes, how) = self.to_write(call)?;
        if call.arguments.get(1).and_then(Expr::word) == Some("NULL") {
            return Ok((Some(-1), Some("EFAULT")));
        }
        if self.tcp.shut.0 {
            return Ok((Some(-1), Some("EPIPE")));
        }
        if !self.tcp.established() {
            return Ok((Some(-1), Some("EAGAIN")));
        }
        let taken = self.tcp.write(bytes, how).map_err(End::Foreign)?;
        let waits = !self.non_blocking && flags(call) & DONT_WAIT == 0;
        match taken {
            n if n < bytes && waits => Err(End::Foreign(format!("a {}() that would wait", call.name))),
            0 if bytes > 0 => Ok((Some(-1), Some("EAGAIN"))),
            n => Ok((Some(n.into()), None)),
        }
    }

    fn read(&mut self, call: &Call) -> Step<Answer> {
        let most = match call.name.as_str() {
            "recvmsg" | "readv" => vector_bytes(&call.arguments),
            _ => call.arguments.get(2).and_then(Expr::int),
        };
        let Some(most) = most.filter(|n| (0..1 << 30).contains(n)) else {
            return Err(End::Foreign(format!("a {}() of no known length", call.name)));
        };
        if self.tcp.unread == 0 {
            return match (self.tcp.ended || self.tcp.shut.1, self.non_blocking) {
                (true, _) => Ok((Some(0), None)),
                (false, true) => Ok((Some(-1), Some("EAGAIN"))),
                _ => Err(End::Foreign(format!("a {}() that would wait", call.name))),
            };
        }
        if call.arguments.get(1).and_then(Expr::word) == Some("NULL") {
            return Ok((Some(-1), Some("EFAULT")));
        }
        let n = self.tcp.unread.min(most as u32);
        self.tcp.read(n);
        // What is left to read (`TCP_INQ`), the end counted as one.
        let left = i64::from(self.tcp.unread + u32::from(self.tcp.ended && self.tcp.unread == 0));
        compare_inq(call, left)?;
        Ok((Some(n.into()), None))
    }

    fn set_option(&mut self, call: &Call) -> Step<Answer> {
        let value = call.arguments.get(3);
        let number = value.and_then(Expr::single);
        match (call.arguments.get(2).and_then(Expr::word).unwrap_or_default(), number) {
            ("SO_RCVBUF", Some(n)) => self.tcp.set_receive_buffer(n.clamp(0, 1 << 30) as u32),
            ("SO_SNDBUF", Some(n)) => self.tcp.set_send_buffer(n.clamp(0, 1 << 30) as u32),
            ("TCP_NODELAY", Some(n)) => {
                self.tcp.no_delay = n != 0;
                self.tcp.pushed(n != 0);
            }
            ("TCP_CORK", Some(n)) => {
                self.tcp.cork = n != 0;
                self.tcp.pushed(n == 0 && self.tcp.no_delay);
            }
            ("TCP_CONGESTION", _) => {
                let text = |e: &Expr| match e {
                    Expr::Text(t) => Some(t.clone()),
                    Expr::List(l) => {
                        l.iter().find_map(|e| if let Expr::Text(t) = e { Some(t.clone()) } else { None })
                    }
                    _ => None,
                };
                let Some(name) = value.and_then(text) else {
                    return Err(End::Foreign("a congestion control of no known name".into()));
                };
                let Some(cca) = control(&name) else {
                    return Err(End::Foreign(format!("congestion control {name}")));
                };
                if self.forced.is_none() {
                    self.settings.cca = cca;
                    self.tcp.set_control(cca).map_err(End::Foreign)?;
                }
            }
            ("TCP_NOTSENT_LOWAT", Some(n)) => self.tcp.notsent_lowat = n as u32,
            ("TCP_WINDOW_CLAMP", Some(n)) => {
                if !self.tcp.set_window_clamp(n.clamp(0, 1 << 30) as u32) {
                    return Ok((Some(-1), Some("EINVAL")));
                }
            }
            ("TCP_MAXSEG", Some(n)) => {
                // `TCP_MIN_MSS`, `MAX_TCP_WINDOW`
                if n != 0 && !(88..=32_767).contains(&n) {
                    return Ok((Some(-1), Some("EINVAL")));
                }
                if self.tcp.begun() {
                    return Err(End::Foreign("TCP_MAXSEG of an open connection".into()));
                }
                self.tcp.user_mss = u32::try_from(n).ok().filter(|&n| n > 0);
            }
            ("SO_REUSEADDR" | "TCP_INQ" | "SO_ZEROCOPY", _) => {}
            (option, _) => return Err(End::Foreign(format!("the socket option {option}"))),
        }
        Ok((Some(0), None))
    }

    fn get_option(&mut self, call: &Call) -> Step<Answer> {
        let told = match call.arguments.get(2).and_then(Expr::word).unwrap_or_default() {
            "SO_ERROR" => 0,
            "SO_RCVBUF" => i64::from(self.tcp.receive_bytes()),
            "SO_SNDBUF" => i64::from(self.tcp.send_room()),
            "TCP_NOTSENT_LOWAT" => i64::from(self.tcp.notsent_lowat),
            "TCP_WINDOW_CLAMP" => i64::from(self.tcp.window_clamp()),
            "TCP_MAXSEG" => match self.tcp.user_mss.filter(|_| !self.tcp.begun()) {
                Some(mss) => mss.into(),
                None => self.tcp.mss().into(),
            },
            "TCP_NODELAY" => i64::from(self.tcp.no_delay),
            option => return Err(End::Foreign(format!("the socket option {option}"))),
        };
        compare_option(call, told)?;
        Ok((Some(0), None))
    }

    /// The descriptor that poll() is asked of, what is asked, and what it is to tell.
    fn polled(&self, call: &Call) -> Step<(Descriptor, u32, u32)> {
        let Some(Expr::List(list)) = call.arguments.first() else {
            return Err(End::Foreign("poll()".into()));
        };
        let [Expr::Struct(fields)] = list.as_slice() else {
            return Err(End::Foreign("poll() of several".into()));
        };
        let descriptor = field(fields, "fd").and_then(Expr::int).and_then(|n| self.descriptors.get(&n));
        let (Some(&descriptor), Some(asked), Some(told)) =
            (descriptor, field_mask(fields, "events"), field_mask(fields, "revents"))
        else {
            return Err(End::Foreign("poll() of what is not known here".into()));
        };
        Ok((descriptor, asked | epoll::HUP, told))
    }

    /// One descriptor's events, without waiting.
    fn poll(&mut self, call: &Call) -> Step<Answer> {
        let (descriptor, asked, wanted) = self.polled(call)?;
        let told = self.ready(Some(descriptor)) & asked;
        if told == 0 && call.arguments.get(2).and_then(Expr::int) != Some(0) {
            return Err(End::Foreign("a poll() that waits".into()));
        }
        if told != wanted {
            return Err(other_events("poll()", &[wanted], &[told]));
        }
        Ok((Some(i64::from(told != 0)), None))
    }

    fn epoll_ctl(&mut self, call: &Call) -> Step<Answer> {
        let number = |i: usize| call.arguments.get(i).and_then(Expr::int).unwrap_or(-1);
        let (descriptor, watched) = (number(0), number(2));
        let Some(&of) = self.descriptors.get(&watched) else { return Ok((Some(-1), Some("EBADF"))) };
        let now = self.ready(Some(of));
        let Some(epoll) = self.epolls.get_mut(&descriptor) else { return Ok((Some(-1), Some("EINVAL"))) };
        let how = call.arguments.get(1).and_then(Expr::word).unwrap_or_default();
        let done = match (how, call.arguments.get(3)) {
            ("EPOLL_CTL_DEL", _) => {
                if epoll.remove(watched) {
                    Ok(())
                } else {
                    Err("ENOENT")
                }
            }
            ("EPOLL_CTL_ADD" | "EPOLL_CTL_MOD", Some(Expr::Struct(fields))) => {
                let Some(events) = field_mask(fields, "events") else {
                    return Err(End::Foreign("epoll_ctl() with events that are not known here".into()));
                };
                epoll.set(how == "EPOLL_CTL_ADD", watched, events, field_data(fields), now)
            }
            _ => return Err(End::Foreign("epoll_ctl() of no known kind".into())),
        };
        Ok(match done {
            Ok(()) => (Some(0), None),
            Err(errno) => (Some(-1), Some(errno)),
        })
    }

    /// What epoll_wait() tells now.
    fn epoll_told(&mut self, descriptor: i64, most: usize) -> EpollEvents {
        self.pass_wakes();
        let Some(mut epoll) = self.epolls.remove(&descriptor) else { return Vec::new() };
        let told = epoll.tell(most, |watched| self.ready(self.descriptors.get(&watched).copied()));
        self.epolls.insert(descriptor, epoll);
        told
    }
}

impl Machine for Simulated {
    fn now(&self) -> i64 {
        ((self.tcp.now - BEGIN_NS) / 1000) as i64
    }

    fn wait_until(&mut self, at: i64) -> Step<()> {
        let to = BEGIN_NS + at.max(0) as u64 * 1000;
        for _ in 0..MOST_STEPS {
            if !self.tcp.step(to) {
                return Ok(());
            }
            self.no_trouble()?;
            self.look();
        }
        Err(End::Foreign("a connection that never rests".into()))
    }

    fn sniff(&mut self, by: i64) -> Step<Option<Out>> {
        let to = BEGIN_NS + by.max(0) as u64 * 1000;
        for _ in 0..MOST_STEPS {
            if let Some(out) = self.tcp.out.pop_front() {
                return Ok(Some(out));
            }
            if !self.tcp.step(to) {
                return Ok(None);
            }
            self.no_trouble()?;
            self.look();
        }
        Err(End::Foreign("a connection that never rests".into()))
    }

    fn answer(&mut self, call: &Call) -> Step<Answer> {
        let number = |i: usize| call.arguments.get(i).and_then(Expr::int);
        let ok = Ok((Some(0), None));
        let no = |errno| Ok((Some(-1), Some(errno)));
        let descriptor = number(0).and_then(|n| self.descriptors.get(&n).copied());
        if !matches!(call.name.as_str(), "socket" | "poll" | "epoll_create") && descriptor.is_none() {
            return no("EBADF");
        }
        let connection = descriptor == Some(Descriptor::Connection) && self.tcp.begun();
        if self.tcp.broken && !matches!(call.name.as_str(), "socket" | "close" | "fcntl") {
            return Err(End::Foreign("a call on a connection that a reset (RST) has ended".into()));
        }
        self.pass_wakes();
        match call.name.as_str() {
            "socket" => {
                if self.descriptors.values().any(|d| *d != Descriptor::Epoll) {
                    return Err(End::Foreign("several connections".into()));
                }
                if !self.tcp.is_fresh() {
                    // What the one before still sends is not looked at any more.
                    self.tcp = self.tcp.again();
                    self.backlog = false;
                }
                // The script says from which number its descriptors count.
                let first = call.result.int().unwrap_or(3);
                self.next_descriptor = first + 1;
                self.descriptors.insert(first, Descriptor::Listener);
                self.non_blocking = call.arguments.iter().any(|a| a.words().contains(&"SOCK_NONBLOCK"));
                Ok((Some(first), None))
            }
            "bind" => ok,
            "listen" => {
                self.tcp.state = State::Listen;
                ok
            }
            "accept" => {
                if !self.backlog {
                    return if self.non_blocking {
                        no("EAGAIN")
                    } else {
                        Err(End::Foreign("an accept() that would wait".into()))
                    };
                }
                self.non_blocking = false;
                Ok((Some(self.accepted(&call.result)), None))
            }
            "connect" => {
                if self.tcp.begun() {
                    return match self.tcp.established() {
                        true => no("EISCONN"),
                        false => no("EALREADY"),
                    };
                }
                if !self.non_blocking {
                    return Err(End::Foreign("a connect() that would wait".into()));
                }
                self.connect()?;
                no("EINPROGRESS")
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" if connection => self.write(call),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" if connection => self.read(call),
            "write" | "send" | "sendto" | "sendmsg" | "writev" => no("EPIPE"),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" => no("ENOTCONN"),
            "close" => {
                self.descriptors.retain(|&n, _| Some(n) != number(0));
                self.epolls.retain(|&n, _| Some(n) != number(0));
                self.epolls.values_mut().for_each(|e| {
                    e.remove(number(0).unwrap_or_default());
                });
                if !connection {
                    return ok;
                }
                if self.tcp.unread > 0 && self.tcp.established() {
                    self.tcp.reset();
                    return ok;
                }
                if self.tcp.state == State::SynSent {
                    self.tcp.give_up();
                    return ok;
                }
                if !self.tcp.established() {
                    return Err(End::Foreign("a close() before the connection is open".into()));
                }
                self.tcp.shut.1 = true;
                self.tcp.end();
                ok
            }
            "shutdown" if connection => {
                if !self.tcp.established() {
                    return Err(End::Foreign("a shutdown() before the connection is open".into()));
                }
                // `SHUT_RD`, `SHUT_WR`, and both.
                let how = call.arguments.get(1).and_then(number_of);
                self.tcp.shut.1 |= how != Some(1);
                if how != Some(0) {
                    self.tcp.end();
                }
                ok
            }
            "fcntl" => {
                // `F_SETFL`
                if call.arguments.get(1).and_then(number_of) == Some(4) {
                    let flags = call.arguments.get(2).and_then(number_of).unwrap_or(0);
                    self.non_blocking = flags & NON_BLOCKING != 0;
                    return ok;
                }
                Ok((Some(if self.non_blocking { 0x802 } else { 2 }), None))
            }
            "ioctl" => Ok(compare_ioctl(call, self.tcp.unread.into())),
            "setsockopt" => self.set_option(call),
            "getsockopt" => self.get_option(call),
            "poll" => self.poll(call),
            "epoll_create" => {
                let new = call.result.int().unwrap_or(self.next_descriptor);
                if number(0).is_some_and(|n| n <= 0) {
                    return no("EINVAL");
                }
                if self.descriptors.contains_key(&new) {
                    return Err(End::Foreign("a descriptor that is in use".into()));
                }
                self.next_descriptor = self.next_descriptor.max(new + 1);
                self.descriptors.insert(new, Descriptor::Epoll);
                self.epolls.insert(new, Epoll::default());
                Ok((Some(new), None))
            }
            "epoll_ctl" => self.epoll_ctl(call),
            "epoll_wait" => {
                let (descriptor, most, wanted) = epoll_wanted(call)?;
                if !self.epolls.contains_key(&descriptor) {
                    return no("EINVAL");
                }
                if number(3) != Some(0) && call.result.int() == Some(0) {
                    return Err(End::Foreign("an epoll_wait() that waits".into()));
                }
                let told = self.epoll_told(descriptor, most);
                compare_told(&wanted, &told)?;
                Ok((Some(told.len() as i64), None))
            }
            name => Err(End::Foreign(format!("{name}() on a socket without connection"))),
        }
    }

    fn look(&mut self) {
        self.look_as_woken(self.tcp.wakes.output);
    }

    fn inbound(&mut self, packet: &Packet, echo: Option<u32>, gso_mss: Option<u32>) -> Step<()> {
        let was = self.tcp.state;
        self.tcp.gso_mss = gso_mss;
        self.tcp.inbound(packet, echo).map_err(End::Foreign)?;
        if self.tcp.broken && (self.waiting.is_some() || !self.epolls.is_empty()) {
            return Err(End::Foreign("a reset (RST) that somebody waits for".into()));
        }
        if was == State::SynReceived && self.tcp.established() {
            self.backlog = true;
        }
        Ok(())
    }

    fn command(&mut self, command: &str, dir: &Path) -> Step<()> {
        if let Some(counter) = Counter::asked(command) {
            return self.count(&counter);
        }
        if command.trim_start().starts_with("nstat") {
            self.counted = self.tcp.dropped();
        }
        let begun = self.now();
        let takes = self.settings.command(command, dir).map_err(End::Foreign)?;
        if let Some(cca) = self.forced {
            self.settings.cca = cca;
        }
        self.tcp.set(&self.settings).map_err(End::Foreign)?;
        self.wait_until(begun + takes)
    }

    fn info(&self, name: &str) -> Option<i64> {
        self.tcp.info(name)
    }

    fn begin(&mut self, call: &Call) -> Step<()> {
        let what = match call.name.as_str() {
            "accept" => Pending::Accept(call.result.clone()),
            "connect" => {
                self.connect()?;
                Pending::Connect
            }
            "read" | "recv" => {
                Pending::Read(call.arguments.get(2).and_then(Expr::int).unwrap_or(0).clamp(0, 1 << 30) as u32)
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" if self.tcp.established() => {
                let (bytes, how) = self.to_write(call)?;
                Pending::Write(bytes, 0, how)
            }
            "poll" => {
                let (descriptor, asked, told) = self.polled(call)?;
                Pending::Poll(descriptor, asked, told)
            }
            "epoll_wait" => {
                let (descriptor, most, told) = epoll_wanted(call)?;
                Pending::Epoll(descriptor, most, told)
            }
            name => return Err(End::Foreign(format!("a {name}() that waits"))),
        };
        self.waiting = Some(what);
        // A write begins whether it is woken or not.
        self.look_as_woken(true);
        Ok(())
    }

    fn ended(&mut self) -> Option<(i64, Step<i64>)> {
        self.ended.take()
    }

    fn open(&self) -> bool {
        self.tcp.state == State::Established
    }

    fn remote_isn(&self) -> u32 {
        self.tcp.remote_isn
    }
}
