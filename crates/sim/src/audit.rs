//! The books of a run: nothing is lost or made up on the way.

use crate::Error;
use crate::net::Net;
use crate::port::Port;
use crate::traffic::Traffic;
use crate::wheel::EventKind;
use queuewright_scenario::spec::RunSpec;

/// Every packet emitted was received, was dropped, or is in a queue or on a link; bytes likewise at each port.
pub(crate) fn conserved(
    spec: &RunSpec,
    ports: &[Port],
    net: &mut Net,
    traffic: &Traffic,
) -> Result<(), Error> {
    for (port, p) in ports.iter().zip(&spec.ports) {
        let t = port.measure.total;
        let q = port.queue();
        if t.arrived != t.dropped + t.sent + u64::from(q.packets)
            || t.arrived_bytes != t.dropped_bytes + t.sent_bytes + q.bytes
        {
            return Err(Error::NotConserved(format!("port {}: {t:?}, queue {q:?}", p.name)));
        }
    }
    let mut under_way = 0;
    while let Some(event) = net.wheel.pop() {
        if event.kind == EventKind::Arrive {
            under_way += event.packets();
        }
    }
    let (gone_emitted, gone_received) = traffic.gone();
    // A slot that is free still has the counts of the flow that has gone.
    let there = || (0..net.flows.len()).filter(|i| !traffic.is_free(*i as u32));
    let sent = |i: usize| net.flows[i].up.emitted + net.flows[i].acks_under_way().0;
    let came = |i: usize| net.waits[i].received + net.flows[i].acks_under_way().1;
    let emitted = gone_emitted + there().map(sent).sum::<u64>();
    let received = gone_received + there().map(came).sum::<u64>();
    let dropped: u64 = ports.iter().map(|p| p.measure.total.dropped).sum();
    let here: u64 = ports.iter().map(Port::here).sum();
    let lost: u64 = net.channels.iter().map(|c| c.lost).sum();
    if emitted != received + dropped + here + under_way + lost {
        return Err(Error::NotConserved(format!(
            "{emitted} packets emitted; {received} received, {dropped} dropped, {here} at ports, {under_way} under way, {lost} lost",
        )));
    }
    Ok(())
}
