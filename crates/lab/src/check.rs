//! What of a scenario the Linux engine cannot do, with the place where the file asks for it.

use crate::job::{LEAST_PACKET, LEAST_SAMPLE_NS, client};
use crate::own;
use crate::qdisc::{self, QdiscOrigin};
use queuewright_scenario::keys::{FLOWS, Keys, LINK, Linux, PORTS, RUN, TOP};
use queuewright_scenario::packet::FULL_BYTES;
use queuewright_scenario::spec::{RunSpec, Stack, Traffic};
use queuewright_scenario::{ArrivalPattern, Client, Error, Flows, LinkRate, Scenario, TrafficModel};
use std::collections::BTreeMap;

/// Different round-trip times that a run may have: each is a network namespace.
pub const MOST_CLIENTS: usize = 200;
/// As the guest's program has it.
const MOST_FLOWS: usize = 2000;

/// Accepts a scenario and the runs made of it, with disciplines of this `origin`, for this machine's own kernel (`native`) or a virtual
/// machine's.
///
/// # Errors
/// The first thing that cannot run on Linux, with file, line and key.
pub fn check(scenario: &Scenario, runs: &[RunSpec], origin: QdiscOrigin, native: bool) -> Result<(), Error> {
    // A virtual machine has no module of ours.
    check_for(scenario, runs, origin, native && queuewright_linux::sets_ce())?;
    // What is wrong with a file as BPF is known before a machine is there.
    for (i, discipline) in scenario.disciplines.iter().enumerate().filter(|(_, d)| d.info.own.is_some()) {
        own::compiled(discipline.info, own::host(native, None))
            .map_err(|why| scenario.refuse(&format!("disciplines[{i}]"), why))?;
    }
    Ok(())
}

/// With a kernel that lets a BPF qdisc mark the packet itself, or not.
fn check_for(scenario: &Scenario, runs: &[RunSpec], origin: QdiscOrigin, sets_ce: bool) -> Result<(), Error> {
    let refuse = |what: &str, why: &str| {
        Err(scenario.refuse(what, format!("--engine linux cannot do this: {why}; the simulator can")))
    };
    // Of a key that is there the reason is in its declaration.
    let refuse_first =
        |of: &Keys, at: &str, keys: &[(&str, bool)]| match keys.iter().find(|(_, there)| *there) {
            Some((key, _)) => refuse(&format!("{at}{key}"), of.not_on_linux(key)),
            None => Ok(()),
        };
    let run = &scenario.run;
    refuse_first(
        &RUN,
        "run.",
        &[("stack", run.stack != Stack::Linux), ("sample", run.sample_ns < LEAST_SAMPLE_NS)],
    )?;
    if scenario.ports.len() > 1 {
        return refuse("ports[1]", TOP.not_on_linux("ports"));
    }
    let port = &scenario.ports[0];
    refuse_first(
        &LINK,
        "ports[0].",
        &[
            ("schedule", matches!(port.rate, LinkRate::Schedule(_))),
            ("trace", matches!(port.rate, LinkRate::Trace(_))),
            ("police", port.police),
            ("overhead", port.overhead_bytes != Stack::Linux.overhead_bytes()),
        ],
    )?;
    for key in port.impairments.keys() {
        refuse_first(&LINK, "ports[0].", &[(key.as_str(), true)])?;
    }
    refuse_first(&TOP, "", &[("shared", scenario.shared.is_some() || port.buffer.is_none())])?;
    refuse_first(&PORTS, "ports[0].", &[("discipline", port.discipline.is_some())])?;
    for (i, flows) in scenario.flows.iter().enumerate() {
        let (mut cca, mut ecn, mut requests, mut video, mut other_stack) =
            (false, false, false, false, false);
        if let TrafficModel::Tcp { stack, ccas, l4s, client, .. } = &flows.traffic {
            other_stack = *stack != Stack::Linux;
            cca = ccas.iter().any(|(kind, _)| crate::control::linux_name(*kind).is_none());
            ecn = *l4s;
            requests = matches!(client, Some(Client::Requests(_)));
            video = matches!(client, Some(Client::Video(_)));
        }
        let (kind, short) = match &flows.traffic {
            TrafficModel::Datagrams(d) => (Some(d.key()), d.packet_bytes() < LEAST_PACKET),
            TrafficModel::Tcp { .. } => (None, false),
        };
        let never = kind.filter(|key| matches!(key.linux, Linux::Never(_)));
        refuse_first(
            &FLOWS,
            &format!("flows[{i}]."),
            &[
                ("repeat", matches!(flows.arrival, ArrivalPattern::Repeat(_))),
                ("arrivals", matches!(flows.arrival, ArrivalPattern::Arrive(_))),
                ("pages", matches!(flows.arrival, ArrivalPattern::Pages(_))),
                ("reverse_ports", !flows.reverse_path.is_empty()),
                ("access", flows.access_bps.is_some()),
                ("jitter", flows.jitter_ns.max > 0),
                ("requests", requests),
                ("video", video),
                ("probes", flows.probes.is_some()),
                ("stack", other_stack),
                ("ecn", ecn),
                ("cca", cca),
                (never.map_or("", |key| key.name), never.is_some()),
                ("packet", short),
            ],
        )?;
    }
    for (i, discipline) in scenario.disciplines.iter().enumerate() {
        if !discipline.changes.is_empty() {
            return refuse(&format!("disciplines[{i}].set"), "parameters that change during a run");
        }
        let Some(run) = runs.iter().find(|r| r.discipline.label == discipline.label) else { continue };
        let refused = |key: String, why| Err(scenario.refuse(&format!("disciplines[{i}]{key}"), why));
        match qdisc::qdisc(&run.ports[0], origin) {
            Err((Some(param), why)) => return refused(format!(".{param}"), why),
            Err((None, why)) => return refused(String::new(), why),
            Ok(qdisc) if qdisc.ours && run.ports[0].burst_bytes.is_some() => {
                return refuse("ports[0].burst", LINK.not_on_linux("burst"));
            }
            Ok(qdisc) if port.late_marks.is_some_and(|late| late != (qdisc.ours && !sets_ce)) => {
                return refuse("ports[0].late_marks", LINK.not_on_linux("late_marks"));
            }
            // What is turned into the qdisc's own unit is right for full packets alone.
            Ok(qdisc) if qdisc.converts && other_packets(run) => {
                let (unit, such) = match run.ports[0].limit_packets {
                    0 => ("packets", "200p"),
                    _ => ("bytes", "300kb"),
                };
                let name = run.discipline.info.name;
                let why = format!(
                    "Linux's {name} counts {unit}, and not all packets here are of {FULL_BYTES} bytes; a buffer in {unit}, such as \
                     \"{such}\", would do"
                );
                return refuse("ports[0].buffer", &why);
            }
            Ok(_) => {}
        }
    }
    for run in runs {
        let mut hosts = BTreeMap::new();
        for flow in run.flows.iter().filter(|f| f.header.source > 0) {
            let host = flow.header.source;
            if *hosts.entry(host).or_insert_with(|| client(flow)) != client(flow) {
                let says = |f: &Flows| {
                    f.header.source.is_some_and(|r| r.min <= host.into() && u64::from(host) <= r.max)
                };
                let entry = scenario.flows.iter().rposition(says).unwrap_or(0);
                return refuse(&format!("flows[{entry}].source"), FLOWS.not_on_linux("source"));
            }
        }
    }
    for run in runs {
        if !run.sources.is_empty() {
            return refuse("flows", "flows that come and go");
        }
        if run.flows.len() > MOST_FLOWS {
            return refuse("flows", &format!("it has at most {MOST_FLOWS} flows"));
        }
        if crate::job::clients(run).len() > MOST_CLIENTS {
            return refuse(
                "flows[0].rtt",
                &format!("it has at most {MOST_CLIENTS} different round-trip times"),
            );
        }
    }
    Ok(())
}

/// Does a flow send UDP packets that are not full ones?
fn other_packets(run: &RunSpec) -> bool {
    run.flows.iter().any(|f| match f.traffic {
        Traffic::Tcp { .. } => false,
        Traffic::Datagrams { packet_bytes, .. } => packet_bytes != FULL_BYTES,
    })
}

#[cfg(test)]
mod tests;
