//! The disciplines of `aqm/` as qdiscs of Linux.
//!
//! `bpf/qdisc.bpf.c` is the host of a header inside the kernel, compiled once for each discipline and held by this
//! crate as an object. [`attach`] loads one, gives it the parameters of the registry in the header's own layout and makes
//! it the root qdisc of a device; for kernels without BPF qdiscs `bpf/front.bpf.c` is one in front of htb; [`status`] reads its counters and its controller's variables; [`set`] changes
//! parameters while it runs, and [`agent`] chooses QueuePilot's actions; [`detach`] puts back what was there. [`doctor`] says beforehand what will work.

mod agent;
mod attach;
mod before;
mod chain;
mod compile;
mod confine;
pub mod control;
mod doctor;
mod export;
#[path = "../flags.rs"]
mod flags;
mod folder;
mod foreign;
mod front;
mod hosts;
pub mod http;
mod ingress;
mod libbpf;
mod maps;
mod mounts;
mod names;
mod namespaces;
pub mod netlink;
mod objects;
mod offload;
pub mod own;
mod pins;
mod port;
mod record;
mod repair;
mod shares;
mod status;
mod system;
mod trust;

pub use agent::{ActionSource, AgentStep, Done, agent};
pub use attach::{LockedPort, Plan, attach, attach_all, detach, hold, plan, plan_ingress, prepare, set};
pub use before::Before;
pub use confine::confine;
pub use doctor::{Finding, doctor};
pub use export::{All, openmetrics, read_each, serve};
pub use hosts::{Host, names};
pub use maps::Stats;
pub use names::{called, quoted, safe, with_name};
pub use objects::verify;
pub use offload::SPLIT_BELOW;
pub use port::{LEAST_RATE, Port};
pub use record::{
    Change, Ingress, Learned, PINS, RUN, Record, Stage, attached, broken, ingress_of, record, records,
};
pub use repair::{Fault, faults, repair};
pub use shares::keep;
pub use status::{Class, Queue, Status, Variable, status, statuses, variables};
pub use system::{apart, capable, command, has_bpf_qdiscs, host, qdiscs, sets_ce, with_sudo};
pub use trust::{scratch, trusted};

/// Why something could not be done.
#[derive(Debug)]
pub enum Error {
    /// What was asked cannot be: a device that is not there, a value that is not allowed.
    Input(String),
    /// The system does not let it: rights, the kernel, tc.
    System(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Error::Input(text) | Error::System(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
