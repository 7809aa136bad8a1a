//! The disciplines of Queuewright: a safe face over the C headers in `aqm/`.
//!
//! [`registry`] lists every discipline with its parameters (unit, range,
//! default, source); [`Spec`] is one discipline with its parameters decided;
//! [`Discipline`] is a running instance.
//!
//! ```
//! use queuewright_aqm::{Action, Discipline, Packet, Queue, Spec, Value, find};
//!
//! let mut spec = Spec::new(find("codel").unwrap());
//! spec.set("target", Value::Int(2_000_000)).unwrap();
//! let mut codel = Discipline::new(&spec);
//! let queue = Queue { limit_packets: 1000, ..Queue::default() };
//! let packet = Packet { bytes: 1500, ..Packet::default() };
//! assert_eq!(codel.enqueue(0, &queue, &packet, 0).action, Action::Pass);
//! ```
//!
//! A new discipline is a header in `aqm/` and its line in `aqm/all.h`, and a file in
//! `disciplines/` with its registry entry.

pub mod counters;
mod disciplines;
mod info;
mod network;
pub mod own;
mod params;
mod plain;
pub mod shared;

pub use info::{Beside, Info, ParamError, Probe, Rule, Spec};
pub use network::{Network, Tensor, Weights};
pub use params::{ETHERNET_BYTES, FRAME_BYTES, MTU_BYTES, Param, ParamKind, Value, WIRE_BYTES};

use std::ffi::{CString, c_char, c_int};

/// Every discipline, in the order of lists and tables.
pub fn registry() -> &'static [Info] {
    disciplines::ALL
}

/// The discipline of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    registry().iter().find(|info| info.name == name)
}

/// Names of the disciplines that need no port to share a buffer with.
pub fn alone() -> impl Iterator<Item = &'static str> {
    registry().iter().filter(|info| !info.needs_pool).map(|info| info.name)
}

/// A buffer that several ports share, as one of them sees it. See `struct qw_pool`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pool {
    /// Bytes waiting at all of its ports.
    pub bytes: u64,
    /// Bytes it can hold; 0: the port has a buffer of its own.
    pub limit_bytes: u64,
    /// Sum of the other ports' [`Discipline::threshold`].
    pub thresholds_bytes: u64,
    /// How many ports share it.
    pub ports: u32,
    /// Of those, how many are near their threshold.
    pub congested: u32,
}

/// The queue as a host shows it to a discipline. See `struct qw_queue`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// Bytes waiting, as the link counts them; not the packet in transmission.
    pub bytes: u64,
    /// Bytes the buffer can hold; 0 means no byte limit.
    pub limit_bytes: u64,
    /// Packets waiting.
    pub packets: u32,
    /// Packets the buffer can hold; 0 means no packet limit.
    pub limit_packets: u32,
    /// When the packet now at the head was enqueued (ns); 0: none, or not [`Info::needs_head`].
    pub head_ns: u64,
    /// The buffer it shares with other ports.
    pub pool: Pool,
}

/// A packet as a host shows it to a discipline. See `struct qw_packet`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packet {
    /// When it was enqueued (ns); at enqueue: now.
    pub enqueue_ns: u64,
    /// Length as the link counts it (bytes).
    pub bytes: u32,
    /// Flow hash, all of its bits well mixed.
    pub flow: u32,
    /// ECN field: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u32,
    /// Of the IP header: [`TCP`], [`UDP`]; 0: not known.
    pub protocol: u32,
    /// Hash of the host that it comes from; 0: not [`Info::needs_hosts`].
    pub source: u32,
    /// Hash of the host that it goes to, likewise.
    pub destination: u32,
    /// Of the IP header, 0 .. 63; 0: none, or not [`Info::needs_dscp`].
    pub dscp: u16,
    /// What of `bytes` is not the IP packet; 0: not [`Info::needs_frame`].
    pub frame_bytes: u16,
    /// Packets that it becomes on the link; 0: itself.
    pub segments: u32,
}

/// IP's number of TCP.
pub const TCP: u32 = 6;
/// IP's number of UDP.
pub const UDP: u32 = 17;

/// A packet that a scheduler wants off a queue: see [`Discipline::overflow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// From which queue.
    pub queue: u32,
    /// The last packet instead of the first.
    pub tail: bool,
}

/// `QW_NONE` and `QW_TAIL`.
const NONE: u32 = u32::MAX;
const TAIL: u32 = 1 << 31;

/// What a discipline decides about a packet.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Let it through.
    Pass = 0,
    /// Set CE and let it through.
    Mark = 1,
    /// Discard it.
    Drop = 2,
}

/// Why a packet was marked or dropped; index into per-reason counters.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Not marked, not dropped.
    None = 0,
    /// The buffer is full.
    Limit = 1,
    /// Above a static or controlled threshold.
    Threshold = 2,
    /// CoDel's control law.
    Sojourn = 3,
    /// A random early decision.
    Early = 4,
}
/// Number of [`Reason`]s.
pub const REASONS: usize = 5;
/// Names of the reasons, as in results: `REASON_NAMES[reason as usize]`.
pub const REASON_NAMES: [&str; REASONS] = ["none", "limit", "threshold", "sojourn", "early"];

/// Action and reason.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// Which of the rules let it be dropped or marked.
    pub reason: Reason,
}

// The functions of `shim.c`. `block` is an instance: memory of `qw_shim_size`
// bytes, aligned to 8, zeroed before `qw_shim_create`.
unsafe extern "C" {
    safe fn qw_shim_size(kind: c_int) -> usize;
    safe fn qw_shim_queues(kind: c_int) -> u32;
    safe fn qw_shim_part(kind: c_int, of_state: c_int, bytes: &mut usize) -> usize;
    fn qw_shim_weights(kind: c_int, block: *mut u64, weights: *const i16) -> usize;
    fn qw_shim_find(name: *const c_char) -> c_int;
    fn qw_shim_create(block: *mut u64, kind: c_int);
    fn qw_shim_create_own(block: *mut u64, of: &'static own::Table);
    fn qw_shim_set(block: *mut u64, name: *const c_char, value: u64) -> c_int;
    fn qw_shim_init(block: *mut u64, now: u64);
    fn qw_shim_observe(block: *mut u64, now: u64, inputs: &mut [i32; POLICY_INPUTS]) -> usize;
    fn qw_shim_act(block: *mut u64, action: u32) -> u32;
    fn qw_shim_follow(block: *mut u64, state: *const u8, now: u64, inputs: &mut [i32; POLICY_INPUTS]) -> u64;
    fn qw_shim_retune(block: *mut u64);
    fn qw_shim_enqueue(
        block: *mut u64,
        now: u64,
        queue: &Queue,
        packet: &Packet,
        random: u32,
        index: &mut u32,
    ) -> Verdict;
    fn qw_shim_dequeue(block: *mut u64, now: u64, queue: &Queue, packet: &Packet, index: u32) -> Verdict;
    fn qw_shim_next(block: *mut u64, now: u64, queue: &Queue) -> u32;
    fn qw_shim_ready(block: *const u64) -> u64;
    fn qw_shim_washes(block: *const u64) -> c_int;
    fn qw_shim_overflow(block: *mut u64, now: u64, queue: &Queue) -> u32;
    fn qw_shim_evicted(block: *mut u64, now: u64, queue: &Queue, packet: &Packet, index: u32);
    fn qw_shim_claim(block: *const u64, now: u64) -> u64;
    fn qw_shim_threshold(block: *const u64) -> u64;
    fn qw_shim_idle(block: *mut u64, now: u64);
    fn qw_shim_tick(block: *mut u64, now: u64, backlog: u64) -> c_int;
    fn qw_shim_tell(block: *mut u64, random: u32) -> c_int;
    fn qw_shim_probe(block: *const u64, i: usize) -> f64;
}

/// [`Network::observations`] of a learned policy (`QW_QUEUEPILOT_OBSERVATIONS`).
pub const POLICY_OBSERVATIONS: usize = 6;
/// Its actions, one of [`Network::actions_percent`] (`QW_QUEUEPILOT_ACTIONS`).
pub const POLICY_ACTIONS: usize = 6;
/// Inputs of its network (`QW_QUEUEPILOT_INPUTS`): the observations, the last action as one of so many, and the last reward.
pub const POLICY_INPUTS: usize = POLICY_OBSERVATIONS + POLICY_ACTIONS + 1;
/// What stands for an input of 1 (`QW_QUEUEPILOT_ONE`).
pub const POLICY_ONE: u32 = 32_768;

/// A running discipline: parameters and state.
///
/// The host holds the packets; see the contract in `aqm/qw.h`. `now` never runs
/// backwards between calls. No call allocates.
#[derive(Debug, Clone)]
pub struct Discipline {
    info: &'static Info,
    queues: u32,
    /// The C side's instance; written by it alone.
    block: Box<[u64]>,
}

impl Discipline {
    /// An instance whose clock starts at 0.
    pub fn new(spec: &Spec) -> Self {
        Discipline::made_before(spec, 0)
    }

    /// An instance that was made so long (ns) before its clock shows 0: what is due a time after that comes so much earlier.
    pub fn made_before(spec: &Spec, ago_ns: u64) -> Self {
        // The panics below mean that the registry and the headers disagree: a mistake
        // in this crate, which its tests rule out.
        let c = |name: &str| CString::new(name).expect("names have no NUL");
        let mut block = created(spec.info);
        for (param, value) in spec.iter().filter(|(p, _)| p.kind != ParamKind::File) {
            // SAFETY: a created block and a C string.
            let set = unsafe { qw_shim_set(block.as_mut_ptr(), c(param.name).as_ptr(), param.encode(value)) };
            assert!(set != 0, "the header lacks {}.{}", spec.info.name, param.name);
            assert!(set > 0, "the header refuses {}.{} = {value}", spec.info.name, param.name);
        }
        if let Some(weights) = spec.weights() {
            // SAFETY: a created block; `Spec` has seen to the length.
            unsafe { qw_shim_weights(kind_of(spec.info), block.as_mut_ptr(), weights.values.as_ptr()) };
        }
        // SAFETY: a created block.
        unsafe { qw_shim_init(block.as_mut_ptr(), 0u64.wrapping_sub(ago_ns)) };
        Discipline { info: spec.info, queues: Discipline::queues_of(spec.info), block }
    }

    /// Bytes of any instance, of which what it does not touch takes no memory, and its queues.
    pub fn size_of(info: &Info) -> (usize, u32) {
        (size_of_instance(info), Discipline::queues_of(info))
    }

    /// [`Discipline::queues`] of any instance.
    pub fn queues_of(info: &Info) -> u32 {
        qw_shim_queues(kind_of(info))
    }

    /// The parameters as `struct qw_X_params` has them: what another host of the same header, such as a BPF
    /// qdisc, is given.
    pub fn params_bytes(&self) -> Vec<u8> {
        self.bytes(false)
    }

    /// The state as `struct qw_X` has it: what [`Seen::of`] and [`Discipline::follow`] are given.
    pub fn state_bytes(&self) -> Vec<u8> {
        self.bytes(true)
    }

    fn bytes(&self, of_state: bool) -> Vec<u8> {
        let (at, bytes) = self.part(of_state);
        let whole = self.block.iter().flat_map(|word| word.to_ne_bytes());
        whole.skip(at).take(bytes).collect()
    }

    /// Bytes of the state, `struct qw_X`.
    pub fn state_size(&self) -> usize {
        self.part(true).1
    }

    /// Where in the block and how long.
    fn part(&self, of_state: bool) -> (usize, usize) {
        if let Some(own) = self.info.own {
            return own.part(of_state);
        }
        let mut bytes = 0;
        let at = qw_shim_part(self.block[0] as c_int, of_state.into(), &mut bytes);
        (at, bytes)
    }

    /// Which discipline it is.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// How many first-in-first-out queues the host is to hold for it, if it is a scheduler
    /// (one that chooses between several); 0: it is none, and there is one queue.
    #[inline]
    pub fn queues(&self) -> u32 {
        self.queues
    }

    /// A packet arrives at `now` (ns). `queue` is as it stands before the packet is
    /// added; `packet.enqueue_ns` is not read. `random` is a fresh uniform number; 0
    /// will do unless [`Info::needs_random`].
    ///
    /// On [`Action::Mark`] set CE and queue it; on [`Action::Drop`] discard it.
    #[inline]
    pub fn enqueue(&mut self, now: u64, queue: &Queue, packet: &Packet, random: u32) -> Verdict {
        self.enqueue_to(now, queue, packet, random).0
    }

    /// [`Discipline::enqueue`] for a scheduler too: also says which queue the packet joins.
    /// After one that joined, see to [`Discipline::overflow`].
    #[inline]
    pub fn enqueue_to(&mut self, now: u64, queue: &Queue, packet: &Packet, random: u32) -> (Verdict, u32) {
        let mut index = 0;
        // SAFETY: `block` is an initialised instance; C keeps no reference.
        let verdict =
            unsafe { qw_shim_enqueue(self.block.as_mut_ptr(), now, queue, packet, random, &mut index) };
        (verdict, index)
    }

    /// `packet` has left the head of the queue at `now` (ns) to be sent. `queue` is as
    /// it stands after that.
    ///
    /// On [`Action::Drop`] discard it and go on with the next head at the same `now`, or
    /// with [`Discipline::idle`] if there is none.
    #[inline]
    pub fn dequeue(&mut self, now: u64, queue: &Queue, packet: &Packet) -> Verdict {
        self.dequeue_from(now, queue, packet, 0)
    }

    /// [`Discipline::dequeue`] from one of a scheduler's queues, the one that
    /// [`Discipline::next`] named.
    #[inline]
    pub fn dequeue_from(&mut self, now: u64, queue: &Queue, packet: &Packet, index: u32) -> Verdict {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_dequeue(self.block.as_mut_ptr(), now, queue, packet, index) }
    }

    /// The queue that a scheduler wants served at `now` (ns), while packets wait. `None` with
    /// packets waiting: none is to leave before [`Discipline::ready`].
    #[inline]
    pub fn next(&mut self, now: u64, queue: &Queue) -> Option<u32> {
        // SAFETY: as in `enqueue_to`.
        let index = unsafe { qw_shim_next(self.block.as_mut_ptr(), now, queue) };
        (index != NONE).then_some(index)
    }

    /// When a scheduler that held packets back is to be asked again (ns); of one without a shaper of its own `u64::MAX`.
    pub fn ready(&self) -> u64 {
        // SAFETY: `block` is an initialised instance, only read.
        unsafe { qw_shim_ready(self.block.as_ptr()) }
    }

    /// Is the DSCP of what it lets in to be set to 0?
    pub fn washes(&self) -> bool {
        // SAFETY: `block` is an initialised instance, only read.
        unsafe { qw_shim_washes(self.block.as_ptr()) != 0 }
    }

    /// A packet that a scheduler wants off a queue, as the buffer holds more than it may. To be
    /// asked after each enqueue, and again after [`Discipline::evicted`], until `None`.
    #[inline]
    pub fn overflow(&mut self, now: u64, queue: &Queue) -> Option<Eviction> {
        // SAFETY: as in `enqueue_to`.
        let index = unsafe { qw_shim_overflow(self.block.as_mut_ptr(), now, queue) };
        (index != NONE).then_some(Eviction { queue: index & !TAIL, tail: index & TAIL != 0 })
    }

    /// `packet` is off the queue that [`Discipline::overflow`] named.
    #[inline]
    pub fn evicted(&mut self, now: u64, queue: &Queue, packet: &Packet, index: u32) {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_evicted(self.block.as_mut_ptr(), now, queue, packet, index) }
    }

    /// What other ports are to leave it of a shared buffer at `now` (bytes), of disciplines that divide it by
    /// claims; else 0. For [`Pool::thresholds_bytes`].
    #[inline]
    pub fn claim(&self, now: u64) -> u64 {
        // SAFETY: `block` is an initialised instance, only read.
        unsafe { qw_shim_claim(self.block.as_ptr(), now) }
    }

    /// The threshold found last (bytes), of disciplines that keep a queue below one; else 0. A port at nine
    /// tenths of it is congested: [`Pool::congested`].
    #[inline]
    pub fn threshold(&self) -> u64 {
        // SAFETY: `block` is an initialised instance, only read.
        unsafe { qw_shim_threshold(self.block.as_ptr()) }
    }

    /// The link could send at `now` (ns) and found the queue empty. To be called once
    /// each time that happens.
    #[inline]
    pub fn idle(&mut self, now: u64) {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_idle(self.block.as_mut_ptr(), now) }
    }

    /// A timer of the host's fires at `now` (ns) while so many bytes wait: PIE updates its probability, and FQ-PIE all of its own,
    /// due or not, and again a `tupdate` later. False if it is neither.
    pub fn tick(&mut self, now: u64, backlog_bytes: u64) -> bool {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_tick(self.block.as_mut_ptr(), now, backlog_bytes) != 0 }
    }

    /// A random number that the packet which comes next may draw beside the one that [`Discipline::enqueue`] is given, as a replay
    /// of Linux knows it; CHOKe draws up to four, and makes of the first what it is not told. False if it never draws another.
    pub fn tell(&mut self, random: u32) -> bool {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_tell(self.block.as_mut_ptr(), random) != 0 }
    }

    /// Changes a parameter while the discipline runs; the state stays. It counts from the next
    /// arrival on.
    ///
    /// # Errors
    /// As [`Spec::set`]; and if the parameter is not [`Param::tunable`]. Nothing changes then.
    pub fn set(&mut self, param: &str, value: Value) -> Result<(), ParamError> {
        let (i, value) = self.info.check(param, value)?;
        let param = &self.info.params[i];
        if !param.tunable {
            return Err(ParamError::Fixed {
                discipline: self.info.name,
                param: param.name,
                tunable: self.info.params.iter().filter(|p| p.tunable).map(|p| p.name).collect(),
            });
        }
        let name = CString::new(param.name).expect("names have no NUL");
        // SAFETY: `block` is an initialised instance, and a C string.
        unsafe {
            qw_shim_set(self.block.as_mut_ptr(), name.as_ptr(), param.encode(value));
            qw_shim_retune(self.block.as_mut_ptr());
        }
        Ok(())
    }

    /// What a learned policy is shown of the step that ends at `now` (ns), in Q15: see [`POLICY_INPUTS`]. To be asked at the
    /// end of each step, before anything else of that time; the policy's own choice follows at once, and
    /// [`Discipline::act`] may put another in its place. `None` if it has no learned policy.
    pub fn observe(&mut self, now: u64) -> Option<[i32; POLICY_INPUTS]> {
        let mut inputs = [0; POLICY_INPUTS];
        // SAFETY: as in `enqueue_to`; C writes as many inputs as there are.
        let n = unsafe { qw_shim_observe(self.block.as_mut_ptr(), now, &mut inputs) };
        (n == POLICY_INPUTS).then_some(inputs)
    }

    /// A learned policy's action from now on, in place of its own choice: an index into
    /// [`Network::actions_percent`]; beyond its end nothing changes. Returns the one in force.
    pub fn act(&mut self, action: u32) -> u32 {
        // SAFETY: as in `enqueue_to`.
        unsafe { qw_shim_act(self.block.as_mut_ptr(), action) }
    }

    /// A step of an agent for another host of the same header, such as a BPF qdisc, whose own policy is passive: scripted with
    /// `threshold = 0`, so that its `action` is always in force. `state` is that host's, as `struct qw_X` has it, at `now`
    /// (ns) by its clock, once a step has ended. This instance has the other's parameters; its policy, if it has a learned
    /// one, acts on what the step showed as if it were there. What that was, in Q15 ([`POLICY_INPUTS`]), and when the next
    /// step ends (ns); [`Discipline::act`] says what was chosen. `None`, and nothing is done, if it has no such policy or the
    /// state is not of its size.
    pub fn follow(&mut self, state: &[u8], now: u64) -> Option<([i32; POLICY_INPUTS], u64)> {
        if state.len() != self.state_size() {
            return None;
        }
        let mut inputs = [0; POLICY_INPUTS];
        // SAFETY: as in `enqueue_to`; of `state` C reads the bytes of its own structure. It takes counters and inputs out of it, which
        // may have any bits: what it divides by is looked at for 0 first (`qw_queuepilot_share`) or cannot be 0
        // (`qw_queuepilot_capacity`, the root of a number from 2^30 on), and none is an index.
        let next = unsafe { qw_shim_follow(self.block.as_mut_ptr(), state.as_ptr(), now, &mut inputs) };
        (next > 0).then_some((inputs, next))
    }

    /// Does [`Discipline::enqueue`] read its random number?
    #[inline]
    pub fn needs_random(&self) -> bool {
        self.info.needs_random
    }

    /// The variables that [`Discipline::probe`] reads.
    pub fn probes(&self) -> &'static [Probe] {
        self.info.probes
    }

    /// The i-th of [`Discipline::probes`], as of the last call; 0 beyond their end.
    pub fn probe(&self, i: usize) -> f64 {
        if i >= self.info.probes.len() {
            return 0.0;
        }
        // SAFETY: `block` is an instance, only read. Of parameters and state that it has of others ([`Seen`]) C may read any bits:
        // no probe divides by them, shifts by them or takes them for an index without a bound of its own (aqm/tests/fuzz.c).
        unsafe { qw_shim_probe(self.block.as_ptr(), i) }
    }
}

/// Parameters and state that another host of the same header has, such as a BPF qdisc: to look at. No rule runs on them, as who wrote
/// them may be another version or anybody; what there is to show follows from whatever bits they have.
#[derive(Debug)]
pub struct Seen(Discipline);

impl Seen {
    /// Of a discipline; none if they are not of its sizes.
    pub fn of(info: &'static Info, params: &[u8], state: &[u8]) -> Option<Seen> {
        let mut inside = Discipline::new(&Spec::new(info));
        for (of_state, bytes) in [(false, params), (true, state)] {
            let (at, size) = inside.part(of_state);
            if size != bytes.len() {
                return None;
            }
            for (i, byte) in (at..).zip(bytes) {
                let word = &mut inside.block[i / 8];
                let mut copy = word.to_ne_bytes();
                copy[i % 8] = *byte;
                *word = u64::from_ne_bytes(copy);
            }
        }
        Some(Seen(inside))
    }

    /// Its variables, as [`Discipline::probe`] has them.
    pub fn variables(&self) -> impl Iterator<Item = (&'static Probe, f64)> {
        self.0.probes().iter().enumerate().map(|(i, probe)| (probe, self.0.probe(i)))
    }
}

/// How many weights a discipline's learned policy has; 0: it has none.
pub(crate) fn weights_of(info: &Info) -> usize {
    // SAFETY: no block is touched.
    unsafe { qw_shim_weights(kind_of(info), std::ptr::null_mut(), std::ptr::null()) }
}

/// The weights of a learned policy in parameters as [`Discipline::params_bytes`] has them; None: it has no such policy, or
/// they are of another size.
pub fn weights_in(info: &'static Info, params: &[u8]) -> Option<Vec<i16>> {
    let with = |weight: i16| {
        let mut spec = Spec::new(info);
        let values = vec![weight; weights_of(info)].into();
        spec.set_weights(Weights { values, id: String::new() }).ok()?;
        Some(Discipline::new(&spec).params_bytes())
    };
    // They are where the bytes differ of those with all bits clear and with all set.
    let (none, all) = (with(0)?, with(-1)?);
    if params.len() != none.len() {
        return None;
    }
    let differ = none.iter().zip(&all).map(|(a, b)| a != b);
    let bytes: Vec<u8> = params.iter().zip(differ).filter_map(|(b, differs)| differs.then_some(*b)).collect();
    let (pairs, rest) = bytes.as_chunks();
    (rest.is_empty() && pairs.len() == weights_of(info))
        .then(|| pairs.iter().map(|b| i16::from_ne_bytes(*b)).collect())
}

/// Which of the headers it is; -1: none of them, as it is of a file.
fn kind_of(info: &Info) -> c_int {
    let name = match info.own {
        None => CString::new(info.name.replace('-', "_")).unwrap_or_default(),
        Some(_) => CString::default(),
    };
    // SAFETY: a C string.
    unsafe { qw_shim_find(name.as_ptr()) }
}

/// Bytes of an instance.
fn size_of_instance(info: &Info) -> usize {
    info.own.map_or_else(|| qw_shim_size(kind_of(info)), own::Own::size)
}

/// An instance whose parameters are still to be set.
fn created(info: &Info) -> Box<[u64]> {
    // Zeroed by the system: what a scheduler does not touch costs nothing.
    let mut block = vec![0u64; size_of_instance(info).div_ceil(8)].into_boxed_slice();
    if let Some(own) = info.own {
        // SAFETY: the block is zeroed, aligned and of the size that the table says.
        unsafe { qw_shim_create_own(block.as_mut_ptr(), own.table()) };
        return block;
    }
    let kind = kind_of(info);
    assert!(kind >= 0, "aqm/all.h lacks discipline {}", info.name);
    // SAFETY: the block is zeroed, aligned and of the size that C asked for.
    unsafe { qw_shim_create(block.as_mut_ptr(), kind) };
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structures_are_those_of_c() {
        unsafe extern "C" {
            static qw_shim_layout: [usize; 0];
            static qw_shim_layouts: usize;
        }
        // SAFETY: C says how many there are.
        let theirs = unsafe { std::slice::from_raw_parts(qw_shim_layout.as_ptr(), qw_shim_layouts) };
        let ours = [
            size_of::<Pool>(),
            offset_of!(Pool, bytes),
            offset_of!(Pool, limit_bytes),
            offset_of!(Pool, thresholds_bytes),
            offset_of!(Pool, ports),
            offset_of!(Pool, congested),
            size_of::<Queue>(),
            offset_of!(Queue, bytes),
            offset_of!(Queue, limit_bytes),
            offset_of!(Queue, packets),
            offset_of!(Queue, limit_packets),
            offset_of!(Queue, head_ns),
            offset_of!(Queue, pool),
            size_of::<Packet>(),
            offset_of!(Packet, enqueue_ns),
            offset_of!(Packet, bytes),
            offset_of!(Packet, flow),
            offset_of!(Packet, ecn),
            offset_of!(Packet, protocol),
            offset_of!(Packet, source),
            offset_of!(Packet, destination),
            offset_of!(Packet, dscp),
            offset_of!(Packet, frame_bytes),
            offset_of!(Packet, segments),
            size_of::<Verdict>(),
            offset_of!(Verdict, action),
            offset_of!(Verdict, reason),
            REASONS,
            POLICY_OBSERVATIONS,
            POLICY_ACTIONS,
            POLICY_INPUTS,
            POLICY_ONE as usize,
            MTU_BYTES as usize,
        ];
        assert_eq!(theirs, [&ours[..], &own::LAYOUT].concat());
    }
}
