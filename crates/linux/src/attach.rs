//! A queue manager to a device, and off it again.

use crate::maps::PortMap;
use crate::objects::{self, Host, Settings};
use crate::record::{Record, alone, attached, record, records};
use crate::{Error, front, shares, system};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Program};
use queuewright_aqm::{Discipline, Spec};
use std::fmt::Display;
use std::fs::File;
use std::os::fd::AsFd;

/// The only key of the maps that hold one value an instance, side by side.
const FIRST: [u8; 4] = [0; 4];
/// Pins of the program that sets CE in front of the qdisc, and of its place at the device.
const COMPANION: &str = "companion";
const COMPANION_LINK: &str = "companion_link";

/// What an operator decides besides the queue manager's own parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Rate of the qdisc's own shaper, bits a second; 0: none, the device sets the pace.
    pub rate: u64,
    /// Packets that may wait, 1 to 1 000 000.
    pub limit_packets: u32,
    /// Bytes that may wait; 0: no such limit.
    pub limit_bytes: u64,
    /// Bytes that the link adds to each packet, -64 to 256.
    pub overhead: i32,
    /// A queue manager for each transmit queue of the device, below `mq`, instead of one for all; the limits are of each.
    /// Without a rate: they have no common shaper.
    pub mq: bool,
    /// In front of htb, also where the kernel has BPF qdiscs; on others there is no other way.
    pub front: bool,
}

impl Default for Port {
    /// No shaper, 10 000 packets, no overhead.
    fn default() -> Self {
        Port { rate: 0, limit_packets: 10_000, limit_bytes: 0, overhead: 0, mq: false, front: false }
    }
}

impl Port {
    fn check(&self) -> Result<(), Error> {
        if self.front {
            front::check(self)?;
        }
        if !(1..=1_000_000).contains(&self.limit_packets) {
            return Err(out_of_range("limit", format!("{}p", self.limit_packets), "1p to 1000000p"));
        }
        if !(-64..=256).contains(&self.overhead) {
            return Err(out_of_range("overhead", self.overhead, "-64 to 256 bytes"));
        }
        if self.mq && self.rate > 0 {
            return Err(Error::Input(
                "a rate cannot be shared by the queues of mq: one queue manager at the root can hold it"
                    .into(),
            ));
        }
        if self.rate > 0 && self.rate < 8000 {
            return Err(out_of_range("rate", format!("{}bit", self.rate), "8kbit or more"));
        }
        Ok(())
    }

    fn to_map(self) -> PortMap {
        let Port { rate, limit_packets, limit_bytes, overhead, mq: _, front: _ } = self;
        PortMap { rate: rate / 8, limit_packets, limit_bytes, overhead, ..PortMap::default() }
    }
}

/// One of the port's settings that cannot be.
pub(crate) fn out_of_range(name: &str, value: impl Display, allowed: &str) -> Error {
    Error::Input(format!("{name} = \"{value}\": out of range; allowed: {allowed}"))
}

/// What [`attach`] is to do.
#[derive(Debug)]
pub struct Plan {
    /// The device and what becomes of it.
    pub record: Record,
    spec: Spec,
    port: Port,
}

/// Looks at a device and says what attaching would do. `text` is `spec` as the operator wrote it.
///
/// # Errors
/// If it cannot be done: no such device, something is attached, classes that could not be put back, a value that is
/// not allowed.
pub fn plan(dev: &str, text: &str, spec: Spec, mut port: Port) -> Result<Plan, Error> {
    port.front |= system::has_bpf_qdiscs() == Some(false);
    port.check()?;
    let host = if port.front { Host::Front } else { Host::Qdisc };
    if !host.names().iter().any(|n| n == spec.info.name) {
        // Says why.
        objects::open(spec.info, host, "", &Settings { instances: 1, slots: 1, companion: false })?;
    }
    system::device(dev)?;
    // Where tc has put another in its place there is nothing of ours but what is remembered.
    if let Some(there) = record(dev).filter(is_there) {
        return Err(Error::Input(format!(
            "{dev} has {} already: set changes it, detach takes it off",
            there.text
        )));
    }
    if front::is_there(dev) {
        // Whoever may not look does not know what is attached.
        records()?;
    }
    let before = system::before(dev)?;
    let queues = system::queues(dev);
    if port.mq && queues < 2 {
        return Err(Error::Input(format!("{dev} has one transmit queue: mq needs several")));
    }
    let discipline = spec.info.name.to_string();
    let kind = if port.front { front::KIND.into() } else { kind_of(dev, &discipline) };
    let record = Record {
        dev: dev.into(),
        text: text.into(),
        discipline,
        kind,
        slots: port.limit_packets,
        instances: if port.mq { queues as u32 } else { 1 },
        front: port.front,
        classes: classes_of(&spec, port.front),
        before,
    };
    Ok(Plan { record, spec, port })
}

/// The queues that become classes of htb.
fn classes_of(spec: &Spec, front: bool) -> Vec<String> {
    match front && objects::by_classes(spec.info.name) {
        true => (spec.info.queue_names)(spec),
        false => Vec::new(),
    }
}

/// A name in tc that nobody has yet: `bpf_codel`, `bpf_codel_2`, ...; 15 characters at most.
fn kind_of(dev: &str, discipline: &str) -> String {
    let plain = format!("bpf_{}", discipline.replace('-', "_"));
    let others = records().unwrap_or_default().into_iter().filter(|r| r.dev != dev);
    let taken: Vec<String> = others.map(|r| r.kind).collect();
    let mut names = (1..).map(|n| match n {
        1 => plain.clone(),
        n => format!("{plain:.12}_{n}"),
    });
    names.find(|name| !taken.contains(name)).unwrap_or(plain)
}

impl Plan {
    /// What would be done, a line each.
    pub fn steps(&self) -> Vec<String> {
        let Record { dev, kind, before, text, .. } = &self.record;
        let mut steps = vec![
            if self.port.front { format!("load {text}") } else { format!("load {kind}: {text}") },
            format!("pin its maps in {}", self.record.pins().display()),
        ];
        if self.port.front {
            steps.push("at the tracepoint qdisc_dequeue, the program that sees what leaves".into());
        } else if self.spec.may_mark() && !system::sets_ce() {
            steps.push(format!("at {dev}'s tcx egress hook, the program that sets CE for it"));
        }
        steps.extend(self.tc().iter().map(|words| format!("tc {words}")));
        if !self.record.classes.is_empty() {
            steps.push(format!(
                "leave a process that tells htb the classes' shares as they change: queuewright keep {dev}"
            ));
        }
        if let Some(before) = before {
            steps.push(format!("remember for detach: {before}"));
        }
        steps
    }

    /// What tc is told, the root first.
    fn tc(&self) -> Vec<String> {
        match self.port.front {
            true => front::tc(&self.record, &self.port),
            false => self.record.tc().collect(),
        }
    }
}

/// Attaches.
///
/// # Errors
/// If the system refuses; then everything is as it was.
pub fn attach(plan: &Plan) -> Result<(), Error> {
    let _alone = begin(plan)?;
    let words = plan.tc();
    let done = words.split_first().map_or(Ok(()), |(root, rest)| {
        system::tc(root)?;
        // From here on there is something to put back.
        let rest = rest.iter().try_for_each(|words| system::tc(words).map(drop));
        rest.inspect_err(|_| drop(put_back(&plan.record)))
    });
    done.inspect_err(|_| forget(&plan.record))
}

/// Does all of [`attach`] but for the last step: it is left to tc to put the qdisc of the plan's kind there.
///
/// # Errors
/// As [`attach`].
pub fn prepare(plan: &Plan) -> Result<(), Error> {
    begin(plan).map(drop)
}

/// Loads what is to be attached, if the plan still holds. Nobody else begins until what it gives is dropped.
fn begin(plan: &Plan) -> Result<File, Error> {
    system::rights()?;
    system::bpf_file_system()?;
    let alone = alone()?;
    let Plan { record: meant, spec, port } = plan;
    let now = self::plan(&meant.dev, &meant.text, spec.clone(), *port)?;
    if now.record != *meant {
        return Err(Error::System(format!("{}: its root has changed meanwhile: try again", meant.dev)));
    }
    // One that tc has taken off since.
    if let Some(old) = record(&meant.dev) {
        forget(&old);
    }
    load(plan).inspect_err(|_| forget(meant))?;
    Ok(alone)
}

fn forget(record: &Record) {
    unregister(record);
    record.forget();
}

fn load(plan: &Plan) -> Result<(), Error> {
    let Plan { record, spec, port } = plan;
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.kind));
    let slots = match record.classes.is_empty() {
        // A scheduler lets a packet in before it says which is to go.
        true => record.slots + 1,
        // Where it cannot say that, the queue that goes first may hold as much again.
        false => record.slots * 2,
    };
    let settings =
        Settings { instances: record.instances, slots, companion: !record.front && !system::sets_ce() };
    let host = if record.front { Host::Front } else { Host::Qdisc };
    let mut object = objects::load(spec.info, objects::open(spec.info, host, &record.kind, &settings)?)?;
    let (params, port) = (Discipline::new(spec).params_bytes(), port.to_map().to_bytes());
    for (name, one) in [(".bss.params", params), (".bss.port", port)] {
        let all = one.repeat(record.instances as usize);
        objects::map(&object, name)?.update(&FIRST, &all, MapFlags::ANY).map_err(wrong)?;
    }
    // Before anything is changed, so that detach finds it after a crash.
    record.write()?;
    record.make_pins()?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "qdisc" {
            map.attach_struct_ops().map_err(wrong)?.disconnect();
        }
        let name = name.strip_prefix(".bss.").unwrap_or(&name);
        if ["params", "state", "port", "stats", "qdisc"].contains(&name) || record.front && name == "queues" {
            map.pin(record.pin(name)).map_err(wrong)?;
        }
    }
    if settings.companion {
        // Where no mark is to be set it only waits for `set`, and packets do not pass by it.
        let mut companion = objects::companion(&object)?;
        companion.pin(record.pin(COMPANION)).map_err(wrong)?;
        if spec.may_mark() {
            attach_companion(record)?;
        }
    }
    if record.front {
        front::install(&mut object, record)?;
    }
    Ok(())
}

/// Puts the program that sets CE before the device's qdisc, if one is needed and it is not there.
fn attach_companion(record: &Record) -> Result<(), Error> {
    let (program, link) = (record.pin(COMPANION), record.pin(COMPANION_LINK));
    if !program.exists() || link.exists() {
        return Ok(());
    }
    let wrong =
        |e: &dyn Display| Error::System(format!("{}: no program at its tcx egress hook: {e}", record.dev));
    let program = Program::fd_from_pinned_path(program).map_err(|e| wrong(&e))?;
    objects::attach_tcx(program.as_fd(), system::index(&record.dev)?, &link).map_err(|e| wrong(&e))
}

/// A qdisc that is in use goes on until it is deleted.
fn unregister(record: &Record) {
    if let Ok(map) = MapHandle::from_pinned_path(record.pin("qdisc")) {
        let _ = map.delete(&0u32.to_ne_bytes());
    }
}

/// Takes it off again and puts back what was there; what that was, in words.
///
/// # Errors
/// If nothing is attached, or tc refuses.
pub fn detach(dev: &str) -> Result<String, Error> {
    attached(dev)?;
    system::rights()?;
    let _alone = alone()?;
    let record = attached(dev)?;
    let mut back = "the kernel's own choice".to_string();
    // The device may be gone, or somebody may have put another qdisc there: then that stays.
    if is_there(&record) {
        put_back(&record)?;
        if let Some(before) = &record.before {
            back.clone_from(before);
        }
    } else {
        back = "what is there now: our qdisc was gone already".into();
    }
    forget(&record);
    Ok(back)
}

pub(crate) fn is_there(record: &Record) -> bool {
    match record.front {
        true => front::is_there(&record.dev),
        false => system::has(&record.dev, &record.kind),
    }
}

/// Makes the root qdisc what it was.
fn put_back(record: &Record) -> Result<(), Error> {
    let dev = &record.dev;
    let words = match &record.before {
        Some(before) => format!("qdisc replace dev {dev} root {before}"),
        None => format!("qdisc del dev {dev} root"),
    };
    system::tc(&words).map(drop).map_err(|e| {
        Error::System(format!("{e}; tc qdisc del dev {dev} root takes ours off, and detach then forgets it"))
    })
}

/// Changes what runs. `change` is given what the port has now; `spec` and `text` are the queue manager with all of
/// its parameters, the changed ones among them; `fresh` if it is to begin anew, as not all of them can change
/// while it runs.
///
/// # Errors
/// If nothing is attached, or a value is not allowed.
pub fn set(
    record: &Record,
    spec: &Spec,
    text: &str,
    fresh: bool,
    change: impl FnOnce(&mut Port),
) -> Result<(), Error> {
    system::rights()?;
    let _alone = alone()?;
    if !is_there(record) {
        return Err(Error::Input(format!(
            "{}: {} is no longer there, as somebody else has taken it off or the device has gone: detach forgets it",
            record.dev, record.text
        )));
    }
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.kind));
    let ports = MapHandle::from_pinned_path(record.pin("port")).map_err(wrong)?;
    let bytes = ports.lookup(&FIRST, MapFlags::ANY).map_err(wrong)?.unwrap_or_default();
    let Some(old) = PortMap::from_bytes(&bytes) else {
        return Err(Error::System(format!("{}: its map is of another version of this program", record.kind)));
    };
    let mut port = Port {
        rate: old.rate * 8,
        limit_packets: old.limit_packets,
        limit_bytes: old.limit_bytes,
        overhead: old.overhead,
        mq: record.instances > 1,
        front: record.front,
    };
    change(&mut port);
    port.check()?;
    if port.limit_packets > record.slots {
        return Err(out_of_range(
            "limit",
            format!("{}p", port.limit_packets),
            &format!("1p to {}p, with which it was attached", record.slots),
        ));
    }
    if spec.may_mark() {
        attach_companion(record)?;
    }
    let new = Record { text: text.into(), classes: classes_of(spec, record.front), ..record.clone() };
    if record.front {
        let queues = MapHandle::from_pinned_path(record.pin("queues")).ok();
        let queues = queues.and_then(|map| shares::read(&map, new.classes.len())).unwrap_or_default();
        let shares: Vec<u32> = queues.iter().map(|q| q.share).collect();
        let words = front::classes("replace", &new, &port, &shares);
        words.iter().chain(&front::leaves("replace", &new)).try_for_each(|w| system::tc(w).map(drop))?;
    }
    let all = |one: Vec<u8>| one.repeat(record.instances as usize);
    let params = MapHandle::from_pinned_path(record.pin("params")).map_err(wrong)?;
    params.update(&FIRST, &all(Discipline::new(spec).params_bytes()), MapFlags::ANY).map_err(wrong)?;
    // The qdisc looks at these two for whether something is new: they come last.
    let retunes = old.retunes.wrapping_add(1);
    let restarts = old.restarts.wrapping_add(fresh.into());
    let port = PortMap { retunes, restarts, ..port.to_map() };
    ports.update(&FIRST, &all(port.to_bytes()), MapFlags::ANY).map_err(wrong)?;
    new.write()
}
