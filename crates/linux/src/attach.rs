//! A discipline to a device, and off it again.

use crate::hosts::Host;
use crate::maps::{PortMap, Settings, nth, of_value};
use crate::namespaces::Elsewhere;
use crate::objects;
use crate::port::{FIRST, LEAST_RATE, Port, out_of_range, port_map};
use crate::record::{
    self, COMPANION, Change, Ingress, Learned, OWN, Record, Stage, alone, attached, attached_as, everywhere,
    ingress_as, ingress_of, record, records,
};
use crate::{Error, before, chain, foreign, front, ingress, names, netlink, offload, own, shares, system};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object};
use queuewright_aqm::{Discipline, FRAME_BYTES, Info, Spec, Value, Weights};
use std::ffi::OsString;
use std::fs::File;

/// What cannot be.
fn check(port: &Port) -> Result<(), Error> {
    if port.front {
        front::check(port)?;
    }
    if port.police && (port.mq || port.front) {
        return Err(Error::Input("--police puts up no queue: it goes with neither --mq nor --front".into()));
    }
    if port.police && port.rate == 0 {
        return Err(Error::Input("--police needs a rate, such as 95mbit".into()));
    }
    if !(1..=1_000_000).contains(&port.limit_packets) {
        return Err(out_of_range("limit", format!("{}p", port.limit_packets), "1p to 1000000p"));
    }
    if !(-64..=256).contains(&port.overhead) {
        return Err(out_of_range("overhead", port.overhead, "-64 to 256 bytes"));
    }
    if port.rate > 0 && port.rate < LEAST_RATE {
        return Err(out_of_range("rate", format!("{}bit", port.rate), "8kbit or more"));
    }
    let least = FRAME_BYTES.max(port.rate / 8 / 1000);
    if (1..least).contains(&port.limit_bytes) {
        let why = format!("{least}b or more: a full frame, and what the rate sends in 1 ms");
        return Err(out_of_range("limit", format!("{}b", port.limit_bytes), &why));
    }
    Ok(())
}

/// What [`attach`] is to do.
#[derive(Debug)]
pub struct Plan {
    /// The device and what becomes of it.
    pub record: Record,
    spec: Spec,
    /// What its port will have.
    pub port: Port,
}

/// Looks at a device and says what attaching would do. `text` is `spec` as the operator wrote it.
///
/// # Errors
/// If it cannot be done: no such device, something is attached, classes that could not be put back, a value that is
/// not allowed.
pub fn plan(dev: &str, text: &str, spec: Spec, mut port: Port) -> Result<Plan, Error> {
    if port.police {
        return plan_police(dev, text, spec, port, false);
    }
    allow(&spec, &mut port)?;
    let (index, name) = device(dev)?;
    let dev = &*names::text_of(&name, index);
    // Where tc has put another in its place there is nothing of ours but what is remembered.
    let known = record(dev);
    if known.is_some() {
        record::pins(false)?;
    }
    let there = known.as_ref().map_or(Ok(false), is_there)?;
    if let Some(there) = known.as_ref().filter(|r| there && r.stage == Stage::Attached) {
        return Err(Error::Input(format!(
            "{} has {} already: set changes it, detach takes it off",
            names::quoted(dev),
            there.text
        )));
    }
    if front::is_there(index)? {
        // Whoever may not look does not know what is attached.
        records()?;
    }
    // Of what a command that was killed has left it is known what was there before.
    let left = known.filter(|r| r.index == index);
    if let Some(of) = left.as_ref().and_then(|record| record.ingress.as_ref()) {
        let (dev, of) = (names::quoted(dev), names::quoted(&of.called()));
        return Err(Error::Input(format!(
            "{dev} is there for what comes in on {of}: detach {of} takes it away"
        )));
    }
    let gso_max_segs = offload::gso_before(index, &port, left.as_ref().and_then(|r| r.gso_max_segs))?;
    let before = match left.filter(|_| there) {
        Some(left) => left.before,
        None => before::before(&name, index)?,
    };
    let queues = system::queues(&name);
    let link = netlink::links()?.into_iter().find(|link| link.index == index);
    let address = Some(link.ok_or_else(|| changed(dev))?.address);
    if port.mq && queues < 2 {
        return Err(Error::Input(format!("{} has one transmit queue: mq needs several", names::quoted(dev))));
    }
    let record = Record {
        address,
        instances: if port.mq { queues as u32 } else { 1 },
        before,
        gso_max_segs,
        ..new_record(dev, index, text, &spec, &port)
    };
    Ok(Plan { record, spec, port })
}

/// Looks at a device and says what it would do to attach to the packets that come in on it.
///
/// # Errors
/// If it cannot be done: no such device, something is attached there, others look at what comes in, the kernel cannot.
pub fn plan_ingress(dev: &str, text: &str, spec: Spec, mut port: Port) -> Result<Plan, Error> {
    if port.police {
        return plan_police(dev, text, spec, port, true);
    }
    if port.mq || port.rate == 0 {
        return Err(Error::Input(
            "--ingress: what comes in needs a rate (--ingress 480mbit), and no --mq".into(),
        ));
    }
    ingress::needs_tcx("--ingress")?;
    allow(&spec, &mut port)?;
    let (index, name) = device(dev)?;
    let dev = &*names::text_of(&name, index);
    let known = left_of(dev, ingress_of(dev)?)?;
    ingress::check(dev, index)?;
    let ifb = ingress::name_for(dev, index, &records()?)?;
    port.overhead = ingress::overhead(index, &port)?;
    let had = known.and_then(|record| record.ingress?.gro);
    let gro = offload::gro_before(index, &port, had)?;
    let record = Record {
        ingress: Some(Ingress { index, dev: dev.into(), gro }),
        // It is made when it is needed.
        ..new_record(&ifb, 0, text, &spec, &port)
    };
    Ok(Plan { record, spec, port })
}

/// The same of a policer, of what comes in or of what goes out.
fn plan_police(dev: &str, text: &str, spec: Spec, mut port: Port, incoming: bool) -> Result<Plan, Error> {
    allow(&spec, &mut port)?;
    ingress::needs_tcx("--police")?;
    let (index, name) = device(dev)?;
    let dev = &*names::text_of(&name, index);
    let known = left_of(dev, if incoming { ingress_of(dev)? } else { record(dev) })?;
    let had = known.map(|record| record.given_back()).unwrap_or_default();
    let (mut of, mut gso_max_segs) = (None, None);
    if incoming {
        let gro = offload::gro_before(index, &port, had.1)?;
        of = Some(Ingress { index, dev: dev.into(), gro });
    } else {
        gso_max_segs = offload::gso_before(index, &port, had.0)?;
    }
    let link = netlink::links()?.into_iter().find(|link| link.index == index);
    let address = Some(link.ok_or_else(|| changed(dev))?.address);
    let new = new_record(dev, index, text, &spec, &port);
    let kind = record::POLICE.into();
    let mut record = Record { kind, police: true, ingress: of, gso_max_segs, address, ..new };
    if record.is_incoming() {
        record.dev += record::INCOMING;
    }
    Ok(Plan { record, spec, port })
}

/// What is left of what a device had in one direction, if nothing is attached there. Of a device that is gone and had this name it is
/// nothing.
fn left_of(dev: &str, known: Option<Record>) -> Result<Option<Record>, Error> {
    let known = known.filter(|record| !record.is_orphaned());
    let there = known.as_ref().map_or(Ok(false), is_there)?;
    match known.as_ref().filter(|r| there && r.stage == Stage::Attached) {
        Some(there) => {
            let of = if there.ingress.is_some() { " for what comes in" } else { "" };
            let (dev, name) = (names::quoted(dev), names::quoted(&there.dev));
            Err(Error::Input(format!(
                "{dev} has {} already{of}: set {name} changes it, detach {dev} takes it off",
                there.text
            )))
        }
        None => Ok(known),
    }
}

/// What cannot be, whatever the device is.
fn allow(spec: &Spec, port: &mut Port) -> Result<(), Error> {
    let host = port.host();
    port.front = host == Host::Front;
    check(port)?;
    if spec.info.own.is_some() || !host.names().iter().any(|n| n == spec.info.name) {
        // Says why it cannot be.
        objects::open(spec.info, host, "", &Settings::of(1, 1, false))?;
    }
    writes_nothing(spec)
}

/// Number and name of a device.
fn device(dev: &str) -> Result<(u32, OsString), Error> {
    let index = system::device(dev)?;
    let gone = || system::device(dev).err().unwrap_or_else(|| changed(dev));
    Ok((index, names::name_of(index).ok_or_else(gone)?))
}

/// Of a device of which there is nothing to put back.
fn new_record(dev: &str, index: u32, text: &str, spec: &Spec, port: &Port) -> Record {
    let discipline = spec.info.name.to_string();
    let kind = if port.front { front::KIND.into() } else { kind_of(index, &discipline) };
    Record {
        dev: dev.into(),
        index,
        namespace: system::namespace(),
        address: None,
        stage: Stage::Attaching,
        text: text.into(),
        discipline,
        kind,
        slots: port.limit_packets,
        instances: 1,
        front: port.front,
        classes: classes_of(spec, port.front),
        learned: learned(spec),
        before: None,
        split_gso: port.split_gso,
        gso_max_segs: None,
        police: false,
        ingress: None,
        ids: Vec::new(),
        agent: None,
    }
}

/// What there is to remember of weights besides themselves.
fn learned(spec: &Spec) -> Option<Learned> {
    let id = spec.weights()?.id.clone();
    let actions = spec.shown().find(|(p, _)| p.name == "actions").map(|(_, shown)| shown);
    Some(Learned { id, actions: actions.unwrap_or_default() })
}

/// The queues that become classes of htb.
fn classes_of(spec: &Spec, front: bool) -> Vec<String> {
    match front && objects::by_classes(spec.info.name) {
        true => (spec.info.queue_names)(spec),
        false => Vec::new(),
    }
}

/// Characters of a qdisc's name (`IFNAMSIZ - 1`).
const NAME: usize = 15;

/// A name in tc that nobody on this machine has yet, in whatever namespace: `bpf_codel`, `bpf_codel_2`, ...
fn kind_of(index: u32, discipline: &str) -> String {
    let plain = format!("bpf_{}", discipline.replace('-', "_"));
    let here = system::namespace();
    let mut taken: Vec<String> = chain::registered().into_iter().map(|(_, kind)| kind).collect();
    for record in everywhere().map(|(all, _)| all).unwrap_or_default() {
        match (record.namespace, record.index) == (here, index) {
            // It is taken off before.
            true => taken.retain(|kind| *kind != record.kind),
            false => taken.push(record.kind),
        }
    }
    let mut names = (1..).map(|n: u32| match n {
        1 => format!("{plain:.NAME$}"),
        n => {
            let n = format!("_{n}");
            format!("{plain:.0$}{n}", NAME - n.len())
        }
    });
    names.find(|name| !taken.contains(name)).unwrap_or(plain)
}

impl Plan {
    /// What would be done, a line each.
    pub fn steps(&self) -> Vec<String> {
        let Record { dev, kind, before, text, .. } = &self.record;
        let text = names::safe(text);
        // As tc is told it.
        let dev = self.record.name().map_or_else(|| names::quoted(dev), |name| names::shown(&name));
        let mut steps = vec![
            if self.port.front || self.port.police {
                format!("load {text}")
            } else {
                format!("load {kind}: {text}")
            },
            format!("pin its maps in {}", self.record.pins().display()),
        ];
        if self.port.front {
            steps.push("at the tracepoint qdisc_dequeue, the program that sees what leaves".into());
        } else if self.spec.may_mark() && !system::sets_ce() && !self.port.police {
            steps.push(format!("at {dev}'s tcx egress hook, the program that sets CE for it"));
        }
        if let Some(segments) = self.record.gso_max_segs {
            steps
                .push(format!("ip link set dev {dev} gso_max_segs 1 (it has {segments}): packets are split"));
        }
        if let Some(of) = self.record.ingress.as_ref().filter(|of| of.gro.is_some()) {
            let from = names::quoted(&of.dev);
            steps.push(format!("ip link set dev {from} gro_max_size 1: packets are not put together"));
        }
        if self.port.police {
            let (from, hook) = match &self.record.ingress {
                Some(of) => (names::quoted(&of.dev), "ingress"),
                None => (dev, "egress"),
            };
            steps.push(format!("at {from}'s tcx {hook} hook, the program that polices"));
            return steps;
        }
        let words = tc(&self.record, &self.port);
        steps.extend(words.iter().map(|words| format!("tc {}", words.replace("{dev}", &dev))));
        if !self.record.classes.is_empty() {
            steps.push(format!(
                "leave a process that tells htb the classes' shares as they change: queuewright keep {}",
                names::quoted(&self.record.dev)
            ));
        }
        if let Some(before) = before {
            steps.push(format!("remember for detach: {before}"));
        }
        if let Some(of) = &self.record.ingress {
            let from = names::quoted(&of.dev);
            steps.push(format!("at {from}'s tcx ingress hook, the program that hands packets to {dev}"));
            // Its number it has when it is made.
            let (none, number) =
                (self.record.pins().display().to_string(), format!("{}/NUMBER", record::PINS));
            steps = steps.into_iter().map(|step| step.replace(&none, &number)).collect();
            steps.insert(0, format!("ip link add {dev} up type ifb"));
        }
        steps
    }
}

/// What tc is told, the root first.
fn tc(record: &Record, port: &Port) -> Vec<String> {
    match port.front {
        true => front::tc(record, port),
        false => record.tc().collect(),
    }
}

/// Attaches. Where queues are classes of htb, what it gives is to be the standard input of a process that is
/// [`keep`](crate::keep): as long as somebody has that, one is known to be there.
///
/// # Errors
/// If the system refuses; then everything is as it was.
pub fn attach(plan: &Plan) -> Result<Option<File>, Error> {
    let mut keepers = attach_all(std::slice::from_ref(plan))?;
    Ok(keepers.pop().map(|(_, lock)| lock))
}

/// [`attach`] of several, such as both directions of a device: all of them or none. What it gives comes with the device that it is for.
///
/// # Errors
/// As [`attach`].
pub fn attach_all(plans: &[Plan]) -> Result<Vec<(String, File)>, Error> {
    let alone = begin_alone()?;
    for plan in plans {
        settle(&alone, Some(&plan.record.dev))?;
    }
    let (mut done, mut keepers): (Vec<Record>, Vec<_>) = (Vec::new(), Vec::new());
    let mut all = || {
        for plan in plans {
            let record = begin(plan)?;
            done.push(record);
            let Some(record) = done.last_mut() else { continue };
            keepers.extend(put(&alone, plan, record)?.map(|lock| (record.dev.clone(), lock)));
        }
        // Until here it is one that is begun, of which a kill leaves nothing.
        for record in &mut done {
            record.stage = Stage::Attached;
            record.write()?;
        }
        Ok(())
    };
    if let Err(e) = all() {
        // What is there by half, and what was there before, is seen by who looks.
        done.iter().rev().for_each(|record| drop(undo(&alone, record)));
        return Err(e);
    }
    Ok(keepers)
}

/// Has the kernel give packets to what was loaded.
fn put(alone: &File, plan: &Plan, record: &mut Record) -> Result<Option<File>, Error> {
    if record.police {
        chain::attach_police(record)?;
        return Ok(None);
    }
    // Loading takes seconds, in which somebody else's tc may have made what could not be put back.
    if before::before(&record.device()?, record.index)? != record.before {
        return Err(changed(&record.dev));
    }
    // By its number each time: it may be renamed meanwhile.
    for words in tc(record, &plan.port) {
        system::tc_change(alone, &record.device()?, &words)?;
    }
    if !is_there(record)? {
        return Err(Error::System(format!(
            "{}: renamed meanwhile: look where 'tc qdisc show' has {} now, and try again",
            names::quoted(&record.dev),
            record.kind
        )));
    }
    if record.ingress.is_some() {
        ingress::load(record)?;
        chain::attach_redirect(record)?;
        if let Some(why) = ingress::passes_by(record)? {
            return Err(Error::Input(format!("what comes in cannot be managed: {why}")));
        }
    }
    if record.classes.is_empty() { Ok(None) } else { record.serve() }
}

fn changed(dev: &str) -> Error {
    Error::System(format!("{}: its root has changed meanwhile: try again", names::quoted(dev)))
}

/// Does all of [`attach`] but for the last step: it is left to tc to put the qdisc of the plan's kind there.
///
/// # Errors
/// As [`attach`].
pub fn prepare(plan: &Plan) -> Result<(), Error> {
    let alone = begin_alone()?;
    settle(&alone, Some(&plan.record.dev))?;
    let mut record = begin(plan)?;
    record.stage = Stage::Attached;
    record.write()
}

/// Nobody else changes anything until what it gives is dropped.
fn begin_alone() -> Result<File, Error> {
    system::rights()?;
    record::pins(true)?;
    alone()
}

/// Loads what is to be attached, if the plan still holds.
fn begin(plan: &Plan) -> Result<Record, Error> {
    let Plan { record: meant, spec, port } = plan;
    let now = match &meant.ingress {
        Some(of) => plan_ingress(&of.dev, &meant.text, spec.clone(), *port)?,
        None => self::plan(&meant.dev, &meant.text, spec.clone(), *port)?,
    };
    if now.record != *meant {
        return Err(changed(&meant.dev));
    }
    // One that tc has taken off since, or of a device that is gone and had this name.
    let is_old = |r: &Record| match (&meant.ingress, &r.ingress) {
        (Some(of_meant), Some(of)) => of.index == of_meant.index || r.dev == meant.dev && r.is_orphaned(),
        (Some(_), None) | (None, Some(_)) if r.police || meant.police => false,
        _ => r.is_of(meant) || r.dev == meant.dev && r.name().is_none(),
    };
    records()?.iter().filter(|r| is_old(r)).for_each(forget);
    if meant.is_broken()? {
        let dev = names::quoted(&meant.dev);
        return Err(Error::System(format!(
            "{dev} has a record that this version cannot read: queuewright doctor says what to do with it"
        )));
    }
    // Who sets CE is another program where the kernel has no function for it.
    let companion = !meant.front && !meant.police && !system::sets_ce();
    let (mut object, mut record) = load(plan, companion)?;
    if record.index == 0 {
        record.index = ingress::number();
    }
    // What is another's is neither written over nor forgotten.
    record.make_pins()?;
    let done = pin(plan, companion, &mut object, &mut record).and_then(|()| offload::split(&record));
    done.inspect_err(|_| forget(&record))?;
    Ok(record)
}

/// Finishes or takes back what a command that was killed has left in this network namespace. What cannot be done stays as it is, and
/// is said; it is an error for `dev`.
pub(crate) fn settle(alone: &File, dev: Option<&str>) -> Result<Vec<String>, Error> {
    let mut left = Vec::new();
    record::remove_unfinished();
    for record in records()? {
        let done = match &record.stage {
            Stage::Attached if record.agent.is_none() || record.is_served() => continue,
            // There is nothing to change where somebody has taken it off; its maps may have gone with the device.
            Stage::Attached | Stage::Changing(_) if !is_there(&record)? => Ok(()),
            Stage::Attached => land(alone, &record),
            Stage::Changing(change) => apply(alone, &record, change),
            Stage::Attaching | Stage::Detaching => undo(alone, &record),
        };
        match done {
            Ok(()) => {}
            Err(e) if dev == Some(&record.dev) => return Err(e),
            Err(e) => left.push(e.to_string()),
        }
    }
    Ok(left)
}

/// Has the parameters hold again that an agent, which is gone, was to put back.
fn land(alone: &File, record: &Record) -> Result<(), Error> {
    if let Some(params) = record.agent.clone() {
        let port = port_map(record)?;
        let port = PortMap { retunes: port.retunes.wrapping_add(1), ..port }.to_bytes();
        let change = Change {
            text: record.text.clone(),
            classes: record.classes.clone(),
            params,
            port,
            given_back: record.given_back(),
        };
        return apply(alone, &Record { agent: None, ..record.clone() }, &change);
    }
    Ok(())
}

/// Takes off as much as there is of it, puts back what was there, and forgets it.
fn undo(alone: &File, record: &Record) -> Result<(), Error> {
    // By its name alone it might be one that another has attached since; ours has its pin.
    let ours =
        || record.front || chain::pinned_id(record, "qdisc").is_some_and(|id| record.id("qdisc") == Some(id));
    // What was made for packets that come in goes as a whole.
    if record.ingress.is_none() && !record.police && is_there(record)? && ours() {
        put_back(alone, record)?;
    }
    forget(record);
    Ok(())
}

/// Forgets a record, and what is pinned for it if that is not another's by now.
pub(crate) fn forget(record: &Record) {
    let anothers = chain::is_anothers(record);
    if let Some(id) = record.id("qdisc") {
        // By its pin, where that is ours: to open a map by its number takes CAP_SYS_ADMIN.
        let pinned = (!anothers).then(|| MapHandle::from_pinned_path(record.pin("qdisc")).ok()).flatten();
        match pinned {
            Some(map) => give_back(&map),
            None => unregister(id),
        };
    }
    if anothers {
        return record.forget_file();
    }
    ingress::take_off(record);
    offload::give_back(record);
    record.forget();
}

/// Gives the name of a BPF qdisc back, by the number of its map; of other maps nothing changes. A qdisc that is in use goes on until it is
/// deleted.
pub(crate) fn unregister(id: u32) -> bool {
    MapHandle::from_map_id(id).is_ok_and(|map| give_back(&map))
}

fn give_back(map: &MapHandle) -> bool {
    map.map_type() == MapType::StructOps && map.delete(&0u32.to_ne_bytes()).is_ok()
}

/// Loads what is to be attached. The record has its numbers then.
fn load(plan: &Plan, companion: bool) -> Result<(Object, Record), Error> {
    let Plan { record, spec, port } = plan;
    let slots = match record.classes.is_empty() {
        // A scheduler lets a packet in before it says which is to go.
        true => record.slots + 1,
        // Where it cannot say that, the queue that goes first may hold as much again.
        false => record.slots * 2,
    };
    let settings = Settings::of(record.instances, slots, companion);
    let host = match record {
        Record { police: true, .. } => Host::Police,
        Record { front: true, .. } => Host::Front,
        _ => Host::Qdisc,
    };
    let object = objects::load(spec.info, objects::open(spec.info, host, &record.kind, &settings)?)?;
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.kind));
    let (params, port) = (Discipline::new(spec).params_bytes(), port.to_map().to_bytes());
    for (name, one) in [(".bss.params", params), (".bss.port", port)] {
        let all = one.repeat(record.instances as usize);
        objects::map(&object, name)?.update(&FIRST, &all, MapFlags::ANY).map_err(wrong)?;
    }
    let mut record = record.clone();
    for map in object.maps() {
        if let Some(name) = pinned_as(&record, &map.name().to_string_lossy()) {
            record.ids.push((name.into(), map.info().map_err(wrong)?.info.id));
        }
    }
    for name in [front::PROGRAM, record::POLICE] {
        if let Some(id) = objects::program_in(&object, name) {
            record.ids.push((name.into(), id));
        }
    }
    Ok((object, record))
}

/// Under which name a map is pinned, if it is.
fn pinned_as<'a>(record: &Record, map: &'a str) -> Option<&'a str> {
    let short = if map == foreign::DECLARED { OWN } else { map.strip_prefix(".bss.").unwrap_or(map) };
    let pinned = ["params", "state", "port", "stats", "qdisc", OWN].contains(&short);
    (pinned || record.front && short == "queues").then_some(short)
}

/// Writes the record, and pins what was loaded.
fn pin(plan: &Plan, companion: bool, object: &mut Object, record: &mut Record) -> Result<(), Error> {
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", plan.record.kind));
    // Before anything is changed, so that whoever comes next finds it after a crash, with the numbers by which it is known that
    // something is not another's.
    record.write()?;
    if record.ingress.is_some() && !record.police {
        ingress::make(record)?;
    }
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if let Some(short) = pinned_as(record, &name) {
            map.pin(record.pin(short)).map_err(wrong)?;
        }
        // The kernel has its name from here on, and would have it without the pin: by that it is given back.
        if name == "qdisc" {
            let mut attached = map.attach_struct_ops().map_err(|e| match e.kind() {
                // Without CAP_SYS_ADMIN nobody sees which there are.
                libbpf_rs::ErrorKind::AlreadyExists => Error::System(format!(
                    "the kernel has a qdisc {} already, of which this process may not have known: try again as root",
                    plan.record.kind
                )),
                _ => wrong(e),
            })?;
            attached.disconnect();
        }
    }
    if companion {
        // Where no mark is to be set it only waits for `set`, and packets do not pass by it.
        let mut companion = objects::companion(object)?;
        companion.pin(record.pin(COMPANION)).map_err(wrong)?;
        if plan.spec.may_mark() {
            chain::attach_companion(record)?;
        }
    }
    if record.front {
        front::install(object, record)?;
    }
    if record.police {
        for mut program in object.progs_mut() {
            program.pin(record.pin(record::POLICE)).map_err(wrong)?;
        }
    }
    Ok(())
}

/// A program of BPF cannot write into packets, as washing does.
fn writes_nothing(spec: &Spec) -> Result<(), Error> {
    match spec.get("wash") {
        Some(Value::Flag(true)) => Err(Error::Input(format!(
            "{}: wash = true: a BPF qdisc cannot set the DSCP; Queuewright's kernel module can",
            spec.info.name
        ))),
        _ => Ok(()),
    }
}

/// Takes it off again, in both directions, and puts back what was there; what that was, in words.
///
/// # Errors
/// If nothing is attached, or tc refuses.
pub fn detach(dev: &str) -> Result<String, Error> {
    if ingress_as(dev)?.is_none() {
        attached_as(dev)?;
    }
    system::rights()?;
    let alone = alone()?;
    let incoming = ingress_as(dev)?.map(|record| take_off(&alone, record, dev)).transpose()?;
    let outgoing = match attached_as(dev) {
        Ok(record) => take_off(&alone, record, dev).map(Some)?,
        // Somebody has taken off that direction.
        Err(_) if incoming.is_some() => None,
        Err(e) => return Err(e),
    };
    settle(&alone, None)?;
    // Nobody need wait while it is looked for.
    drop(alone);
    let said = [incoming, outgoing].into_iter().flatten().map(|(record, back)| match record.name() {
        None if record.ingress.is_none() => format!("{back}: {}", Elsewhere::default().words(&record)),
        _ => back,
    });
    Ok(said.collect::<Vec<_>>().join("; "))
}

/// Takes one direction off: what was there is there again; in words.
fn take_off(alone: &File, mut record: Record, dev: &str) -> Result<(Record, String), Error> {
    let renamed = (record.dev != dev && record.name().is_some()).then(|| names::quoted(&record.dev));
    let given_back = record.to_give_back();
    record = record.giving_back(given_back);
    // It keeps what it was set to.
    let lost = match (record.name(), given_back.0) {
        (None, Some(segments)) => {
            format!(" (should it come again: ip link set dev DEV gso_max_segs {segments})")
        }
        _ => String::new(),
    };
    let there = is_there(&record)?;
    // Of the others; this one is taken off whatever was done to it.
    record.stage = Stage::Detaching;
    // Without room for that it is taken off all the same: after a kill it is then one that somebody else has taken off.
    drop(record.write());
    let mut back = "the kernel's own choice".to_string();
    // The device may be gone, or somebody may have put another qdisc there: then that stays.
    if record.police {
        back = match &record.ingress {
            Some(of) => format!("what comes in on {} is not policed any more", names::quoted(&of.called())),
            None => "not policed any more".into(),
        };
    } else if let Some(of) = &record.ingress {
        back = format!("what comes in on {} does not wait any more", names::quoted(&of.called()));
        if record.name().is_none() {
            back = format!("{back}; {}: {}", names::quoted(&record.dev), Elsewhere::default().words(&record));
        }
    } else if there {
        let same = put_back(alone, &record).inspect_err(|_| {
            // It has not been killed, and goes on.
            record.stage = Stage::Attached;
            drop(record.write());
        })?;
        if let Some(before) = &record.before {
            back = before.to_string();
            if !same {
                back += ", which is not all as it was: compare it with tc qdisc show";
            }
        }
    } else if record.name().is_none() {
        back = "forgotten, as its device is not here".into();
    } else {
        back = "what is there now: our qdisc was gone already".into();
    }
    forget(&record);
    let back = back + &lost;
    let back = match renamed.filter(|_| record.ingress.is_none()) {
        Some(now) => format!("called {now} now; {back}"),
        None => back,
    };
    Ok((record, back))
}

/// Is its root qdisc there?
///
/// # Errors
/// If the kernel does not say.
pub(crate) fn is_there(record: &Record) -> Result<bool, Error> {
    Ok(chain::root_among(record, &chain::shown(record)?))
}

/// Makes the root qdisc what it was. Is it so?
fn put_back(alone: &File, record: &Record) -> Result<bool, Error> {
    let dev = record.device()?;
    let done = match &record.before {
        Some(before) => before.put_back(record.index),
        None => system::tc_change(alone, &dev, "qdisc del dev {dev} root").map(|()| true),
    };
    done.map_err(|e| {
        let dev = names::shown(&dev);
        Error::System(format!("{e}; tc qdisc del dev {dev} root takes ours off, and detach then forgets it"))
    })
}

/// What is attached to a device, for one command alone until this is dropped: whatever is read, it is what is changed.
#[derive(Debug)]
pub struct LockedPort {
    /// What is attached.
    pub record: Record,
    /// What the port has now.
    pub port: Port,
    old: PortMap,
    alone: File,
}

/// Takes what is attached to a device for this command alone.
///
/// # Errors
/// If nothing is, or not all of it is there any more.
pub fn hold(dev: &str) -> Result<LockedPort, Error> {
    attached(dev)?;
    system::rights()?;
    let alone = alone()?;
    settle(&alone, Some(dev))?;
    let record = attached(dev)?;
    let shown = chain::shown(&record)?;
    let elsewhere = Elsewhere::default();
    if !chain::root_among(&record, &shown) {
        drop(alone);
        let why = match record.name() {
            None => format!("nor is its device: {}", elsewhere.words(&record)),
            Some(_) => "as somebody else has taken it off".into(),
        };
        return Err(Error::Input(format!(
            "{}: {} is no longer there, {why}: detach forgets it",
            names::quoted(&record.dev),
            record.text
        )));
    }
    let mut missing = chain::missing_of(&record, &shown, true, &elsewhere)?;
    missing.extend(record.unserved());
    if !missing.is_empty() {
        return Err(chain::by_half(&record, &missing));
    }
    let old = port_map(&record)?;
    Ok(LockedPort { port: Port::from_map(&old, &record), old, record, alone })
}

impl LockedPort {
    /// The discipline.
    ///
    /// # Errors
    /// If this version of the program does not know it.
    pub fn info(&self) -> Result<&'static Info, Error> {
        info_of(&self.record)
    }

    /// The weights of the policy that it has, as the kernel holds them: whatever has become of their file.
    ///
    /// # Errors
    /// If its map cannot be read.
    pub fn weights(&self) -> Result<Option<Weights>, Error> {
        let Some(learned) = &self.record.learned else { return Ok(None) };
        let params = params_of(&self.record)?;
        let values = queuewright_aqm::weights_in(self.info()?, &params);
        let pin = self.record.pin("params");
        let other = || Error::System(format!("{}: of another version of this program", pin.display()));
        let values = values.ok_or_else(other)?;
        Ok(Some(Weights { values: values.into(), id: learned.id.clone() }))
    }

    /// Changes what runs. `change` is given what the port has now; `spec` and `text` are the discipline with all of
    /// its parameters, the changed ones among them; `fresh` if it is to begin anew, as not all of them can change
    /// while it runs.
    ///
    /// # Errors
    /// If a value is not allowed.
    pub fn set(
        self,
        spec: &Spec,
        text: &str,
        fresh: bool,
        change: impl FnOnce(&mut Port),
    ) -> Result<(), Error> {
        let LockedPort { mut record, mut port, old, alone } = self;
        change(&mut port);
        check(&port)?;
        writes_nothing(spec)?;
        if port.limit_packets > record.slots {
            return Err(out_of_range(
                "limit",
                format!("{}p", port.limit_packets),
                &format!("1p to {}p, with which it was attached", record.slots),
            ));
        }
        let before = record.clone();
        let was = Change {
            text: before.text.clone(),
            classes: before.classes.clone(),
            params: params_of(&before)?,
            port: PortMap { retunes: old.retunes.wrapping_add(2), ..old }.to_bytes(),
            given_back: before.given_back(),
        };
        if spec.may_mark() {
            chain::attach_companion(&mut record)?;
        }
        record.learned = learned(spec);
        let given_back = match &record.ingress {
            Some(of) => (None, offload::gro_before(of.index, &port, of.gro)?),
            None => (offload::gso_before(record.index, &port, record.gso_max_segs)?, None),
        };
        let change = Change {
            text: text.into(),
            classes: classes_of(spec, record.front),
            params: Discipline::new(spec).params_bytes(),
            port: PortMap {
                retunes: old.retunes.wrapping_add(1),
                restarts: old.restarts.wrapping_add(fresh.into()),
                ..port.to_map()
            }
            .to_bytes(),
            given_back,
        };
        // An agent beside it has these come back.
        record.agent = record.agent.map(|_| change.params.clone());
        record.stage = Stage::Changing(change.clone());
        record.write()?;
        apply(&alone, &record, &change).inspect_err(|_| {
            // It has not been killed: what could not be done is not done later either, and what was done goes back.
            let before = Record { ids: record.ids.clone(), ..before };
            if before.given_back() == Default::default() {
                offload::give_back(&record.giving_back(given_back));
            }
            if apply(&alone, &before, &was).is_err() {
                drop(before.write());
            }
        })
    }
}

/// What is attached: by its name, or by what its object declares, as a file of a user's own may be another by now.
pub(crate) fn info_of(record: &Record) -> Result<&'static Info, Error> {
    let other = || {
        Error::System(format!("{}: {} is of another version of this program", record.dev, record.discipline))
    };
    if record.id(OWN).is_none() {
        return queuewright_aqm::find(&record.discipline).ok_or_else(other);
    }
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pin(OWN).display()));
    let map = MapHandle::from_pinned_path(record.pin(OWN)).map_err(wrong)?;
    let declared = map.lookup(&FIRST, MapFlags::ANY).map_err(wrong)?.unwrap_or_default();
    own::attached(&declared)
        .map_err(|why| Error::System(format!("{}: {}: {why}", names::quoted(&record.dev), record.discipline)))
}

/// The parameters that its map has, of one instance.
fn params_of(record: &Record) -> Result<Vec<u8>, Error> {
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.pin("params").display()));
    let map = MapHandle::from_pinned_path(record.pin("params")).map_err(wrong)?;
    let all = map.lookup(&FIRST, MapFlags::ANY).map_err(wrong)?.unwrap_or_default();
    Ok(nth(&all, 0, record.instances).to_vec())
}

/// Writes all that a change has, from its beginning, however often.
fn apply(alone: &File, record: &Record, change: &Change) -> Result<(), Error> {
    let wrong = |e: libbpf_rs::Error| Error::System(format!("{}: {e}", record.kind));
    let new = Record {
        text: change.text.clone(),
        classes: change.classes.clone(),
        stage: Stage::Attached,
        ..record.clone().giving_back(change.given_back)
    };
    match change.given_back == Default::default() {
        true => offload::give_back(record),
        false => offload::split(&new)?,
    }
    if record.front {
        let dev = record.device()?;
        let port = of_value(&change.port).ok_or_else(|| {
            Error::System(format!(
                "{}: what is to be set is of another version of this program",
                names::quoted(&record.dev)
            ))
        })?;
        shares::restore(alone, &dev, &new, &Port::from_map(&port, record))?;
    }
    let all = |one: &[u8]| one.repeat(record.instances as usize);
    let params = MapHandle::from_pinned_path(record.pin("params")).map_err(wrong)?;
    params.update(&FIRST, &all(&change.params), MapFlags::ANY).map_err(wrong)?;
    // The qdisc looks at these two for whether something is new: they come last.
    let ports = MapHandle::from_pinned_path(record.pin("port")).map_err(wrong)?;
    ports.update(&FIRST, &all(&change.port), MapFlags::ANY).map_err(wrong)?;
    new.write()
}

/// [`LockedPort::set`] of what was read before: refused if something else is attached by now.
///
/// # Errors
/// As [`hold`] and [`LockedPort::set`].
pub fn set(
    record: &Record,
    spec: &Spec,
    text: &str,
    fresh: bool,
    change: impl FnOnce(&mut Port),
) -> Result<(), Error> {
    let held = hold(&record.dev)?;
    if !held.record.is_of(record) || held.record.ids != record.ids || spec.info.name != record.discipline {
        return Err(Error::Input(format!(
            "{}: what is attached is {} now: try again",
            names::quoted(&record.dev),
            held.record.text
        )));
    }
    held.set(spec, text, fresh, change)
}
