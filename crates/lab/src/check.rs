//! What of a scenario the Linux engine cannot do, with the place where the file asks for it.

use crate::job::{LEAST_PACKET, LEAST_SAMPLE_NS};
use crate::qdisc::{self, Whose};
use queuewright_scenario::spec::{RunSpec, Stack, Traffic};
use queuewright_scenario::{Client, Comes, Error, LinkRate, Scenario, Sends};

/// Different round-trip times that a run may have: each is a network namespace.
pub const MOST_CLIENTS: usize = 200;
/// As the guest's program has it.
const MOST_FLOWS: usize = 2000;

/// Accepts a scenario and the runs made of it, with the queue managers of `whose`.
///
/// # Errors
/// The first thing that cannot run on Linux, with file, line and key.
pub fn check(scenario: &Scenario, runs: &[RunSpec], whose: Whose) -> Result<(), Error> {
    let refuse = |what: &str, why: &str| {
        Err(scenario.refuse(what, format!("--engine linux cannot do this: {why}; the simulator can")))
    };
    if scenario.run.stack != Stack::Linux {
        return refuse("run.stack", "its TCP is Linux's");
    }
    if scenario.run.sample_ns < LEAST_SAMPLE_NS {
        let least = LEAST_SAMPLE_NS / 1_000_000;
        return refuse(
            "run.sample",
            &format!("samples take its one processor's time; at least {least}ms lie between"),
        );
    }
    if scenario.ports.len() > 1 {
        return refuse("ports[1]", "it has one bottleneck");
    }
    let port = &scenario.ports[0];
    match port.rate {
        LinkRate::Constant(_) => {}
        LinkRate::Schedule(_) => return refuse("ports[0].schedule", "its link has one rate"),
        LinkRate::Trace(_) => return refuse("ports[0].trace", "its link has one rate"),
    }
    if port.police {
        return refuse("ports[0].police", "its packets wait");
    }
    let flaws = &port.flaws;
    for (key, there) in
        [("loss", flaws.loss > 0), ("jitter", flaws.jitter.is_some()), ("reorder", flaws.reorder.is_some())]
    {
        if there {
            return refuse(&format!("ports[0].{key}"), "its link loses and delays nothing");
        }
    }
    if port.overhead_bytes != 14 {
        return refuse("ports[0].overhead", "it counts Ethernet's 14 bytes");
    }
    if scenario.shared.is_some() || port.buffer.is_none() {
        return refuse("shared", "its buffer is the bottleneck's own");
    }
    if port.discipline.is_some() {
        return refuse("ports[0].discipline", "its one port has the disciplines that are compared");
    }
    for (i, flows) in scenario.flows.iter().enumerate() {
        let at = |key: &str| format!("flows[{i}].{key}");
        if let Some(key) = match &flows.comes {
            Comes::Once => None,
            Comes::Repeat(_) => Some("repeat"),
            Comes::Arrive(_) => Some("arrivals"),
            Comes::Pages(_) => Some("burst"),
        } {
            return refuse(&at(key), "flows that come and go");
        }
        if !flows.back.is_empty() {
            return refuse(&at("back"), "acknowledgements meet no queue");
        }
        if flows.access_bps.is_some() {
            return refuse(&at("access"), "access links have no limit");
        }
        if flows.jitter_ns.max > 0 {
            return refuse(&at("jitter"), "access links do not delay");
        }
        match &flows.sends {
            Sends::Tcp { client: Some(Client::Requests(_)), .. } => {
                return refuse(&at("requests"), "clients that ask");
            }
            Sends::Tcp { client: Some(Client::Video(_)), .. } => {
                return refuse(&at("video"), "clients that ask");
            }
            Sends::Tcp { l4s: true, .. } => {
                return refuse(&at("ecn"), "Linux has no sender of ECT(1)");
            }
            Sends::Tcp { ccas, .. } if ccas.iter().any(|(kind, _)| kind.info().linux.is_none()) => {
                return refuse(&at("cca"), "Linux has no such congestion control");
            }
            Sends::Voip(_) => return refuse(&at("voip"), "calls"),
            Sends::Cbr { packet_bytes, .. } | Sends::Poisson { packet_bytes, .. }
                if *packet_bytes < LEAST_PACKET =>
            {
                return refuse(
                    &at("packet"),
                    &format!("its datagrams carry a stamp: at least {LEAST_PACKET}b"),
                );
            }
            Sends::Tcp { .. } | Sends::Cbr { .. } | Sends::Poisson { .. } => {}
        }
    }
    for (i, discipline) in scenario.disciplines.iter().enumerate() {
        if !discipline.changes.is_empty() {
            return refuse(&format!("disciplines[{i}].changes"), "parameters that change during a run");
        }
        let Some(run) = runs.iter().find(|r| r.discipline.label == discipline.label) else { continue };
        let refused = |key: String, why| Err(scenario.refuse(&format!("disciplines[{i}]{key}"), why));
        match qdisc::qdisc(&run.ports[0], whose) {
            Err((Some(param), why)) => return refused(format!(".{param}"), why),
            Err((None, why)) => return refused(String::new(), why),
            Ok(qdisc) if qdisc.ours && run.ports[0].burst_bytes.is_some() => {
                return refuse("ports[0].burst", "a BPF qdisc's own shaper has no bucket");
            }
            // What is turned into the qdisc's own unit is right for full packets alone.
            Ok(qdisc) if qdisc.converts && other_packets(run) => {
                let (unit, such) = match run.ports[0].limit_packets {
                    0 => ("packets", "200p"),
                    _ => ("bytes", "300kb"),
                };
                let name = run.discipline.info.name;
                let why = format!(
                    "Linux's {name} counts {unit}, and not all packets here are of 1500 bytes; a buffer in {unit}, such as \
                     \"{such}\", would do"
                );
                return refuse("ports[0].buffer", &why);
            }
            Ok(_) => {}
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
        Traffic::Cbr { packet_bytes, .. } | Traffic::Poisson { packet_bytes, .. } => packet_bytes != 1500,
    })
}

#[cfg(test)]
mod tests;
