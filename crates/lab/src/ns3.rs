//! The same scenario in ns-3, for a program that `scripts/peers/ns3-row.cc` is the source of: what it is told.

use queuewright_aqm::Value;
use queuewright_scenario::spec::{
    FlowSpec, Impairments, PortSpec, Rate, RunSpec, SendBuffer, Shaper, Stack, Traffic,
};

/// Parameters that the program can set; another one must have its default.
const SET: [&str; 2] = ["ecn", "ce_threshold"];

/// Words for the program; none: ns-3 has not what the run asks for.
pub fn arguments(run: &RunSpec) -> Option<Vec<String>> {
    let [port] = run.ports.as_slice() else { return None };
    let Rate::Constant(bps) = port.rate else { return None };
    let flows: Option<Vec<(String, bool)>> = run.flows.iter().map(flow).collect();
    let (flows, ecn): (Vec<String>, Vec<bool>) = flows?.into_iter().unzip();
    // It is one switch for all of its flows.
    let tcp_ecn = *ecn.first()?;
    if ecn.iter().any(|e| *e != tcp_ecn) || !run.sources.is_empty() {
        return None;
    }
    let mut words = queue(port)?;
    words.extend([
        format!("--rate={bps}"),
        format!("--tcpEcn={}", u8::from(tcp_ecn)),
        format!("--flows={}", flows.join(";")),
        format!("--seconds={}", run.duration_ns as f64 / 1e9),
        format!("--warmup={}", run.warmup_ns as f64 / 1e9),
        format!("--seed={}", run.seed),
    ]);
    Some(words)
}

fn flow(f: &FlowSpec) -> Option<(String, bool)> {
    let Traffic::Tcp {
        stack: Stack::Linux | Stack::Ns3,
        cca,
        size_bytes: None,
        initial_window: None,
        ecn,
        l4s: false,
        client: None,
        ..
    } = f.traffic
    else {
        return None;
    };
    let plain = f.send_buffer == SendBuffer::default()
        && f.access_bps.is_none()
        && f.jitter_ns == 0
        && f.stop_ns.is_none()
        && f.reverse_path.is_empty();
    let name = Some(cca.name()).filter(|_| plain && cca.info().ns3)?;
    Some((format!("{name},{},{},{}", f.base_rtt_ns, f.start_ns, f.group), ecn))
}

fn queue(port: &PortSpec) -> Option<Vec<String>> {
    // Every field by name: one that is new has to be said here or refused.
    let PortSpec {
        name: _,
        discipline: spec,
        own: _,
        timers: _,
        changes,
        rate: _,
        // The lab's bucket, which stands for a wire.
        burst_bytes: _,
        shaper,
        police,
        late_marks,
        delay_ns,
        impairments,
        limit_bytes,
        limit_packets,
        shared,
    } = port;
    let name = Some(spec.info.name).filter(|_| spec.info.ns3)?;
    let own = spec.iter().any(|(p, value)| !SET.contains(&p.name) && value != p.default);
    let plain = *delay_ns == 0 && *impairments == Impairments::default();
    if own || !plain || *shaper == Shaper::Tbf || *police || *late_marks || *shared || !changes.is_empty() {
        return None;
    }
    let limit = match (name, spec.get("limit"), limit_packets, limit_bytes) {
        ("fq-codel", Some(Value::Int(own)), _, _) => format!("{own}p"),
        (_, _, 0, 0) => return None,
        (_, _, 0, bytes) => format!("{bytes}B"),
        (_, _, packets, _) => format!("{packets}p"),
    };
    let mut words = vec![format!("--queue={name}"), format!("--limit={limit}")];
    words.push(format!("--queueEcn={}", u8::from(spec.get("ecn") == Some(Value::Flag(true)))));
    if let Some(Value::Int(ns)) = spec.get("ce_threshold").filter(|v| *v != Value::Int(0)) {
        words.push(format!("--ceThreshold={ns}ns"));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_scenario::Scenario;

    fn words(flows: &str, queue: &str) -> Option<String> {
        let text = format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"100p\"\n{flows}[queue]\ndisciplines = [{queue}]\n\
             [run]\nduration = \"10s\"\nwarmup = \"2s\"\nseeds = [3]\n"
        );
        let runs = Scenario::parse(&text, "t.toml", "".as_ref()).and_then(|s| s.runs());
        arguments(&runs.unwrap_or_else(|e| panic!("{e}"))[0]).map(|words| words.join(" "))
    }

    #[test]
    fn a_run_in_words() {
        let two = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n[[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\nstart = \"1s\"\n";
        assert_eq!(
            words(two, "\"codel\"").as_deref(),
            Some(
                "--queue=codel --limit=100p --queueEcn=0 --rate=10000000 --tcpEcn=0 \
                 --flows=cubic,20000000,0,0;bbr,40000000,1000000000,1 --seconds=10 --warmup=2 --seed=3"
            )
        );
        let marks = words(two, "{ name = \"codel\", ecn = true, ce_threshold = \"1ms\" }");
        assert!(marks.is_some_and(|w| w.contains("--queueEcn=1 --ceThreshold=1000000ns")));
    }

    #[test]
    fn what_it_has_not_is_no_run_of_it() {
        let one = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n";
        assert!(words(one, "\"pie\"").is_some());
        assert_eq!(words(one, "\"titrate\""), None);
        assert_eq!(words(one, "{ name = \"pie\", target = \"20ms\" }"), None);
        let sized = format!("{one}size = \"1mb\"\n");
        assert_eq!(words(&sized, "\"pie\""), None);
        let mixed = format!("{one}ecn = true\n{one}");
        assert_eq!(words(&mixed, "\"pie\""), None);
        for link in ["late_marks = true", "loss = \"1%\"", "jitter = \"2ms\""] {
            assert_eq!(words(&format!("{link}\n{one}"), "\"pie\""), None, "{link}");
        }
    }
}
