//! What the engine cannot do is one line with file, line and key; what it can is accepted.

use queuewright_lab::{QdiscOrigin, check};
use queuewright_scenario::Scenario;
use queuewright_testing::{Lack, left_out};

const LINK: &str = "[link]\nrate = \"20mbit\"\nbuffer = \"100p\"\n";
const FLOWS: &str = "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\n";
const QUEUE: &str = "[queue]\ndisciplines = [\"codel\"]\n";
const RUN: &str = "[run]\nduration = \"10s\"\nseeds = [1]\n";

fn checked_of(text: &str, origin: QdiscOrigin) -> Result<(), String> {
    let scenario = Scenario::parse(text, "s.toml", "".as_ref()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}\n{text}"));
    check(&scenario, &runs, origin, false).map_err(|e| e.to_string())
}

fn checked(text: &str) -> Result<(), String> {
    checked_of(text, QdiscOrigin::Kernel)
}

fn refused(text: &str) -> String {
    checked(text).expect_err(text)
}

#[test]
fn what_it_cannot_do_is_named() {
    let link = |more: &str| format!("{LINK}{more}\n{FLOWS}{QUEUE}{RUN}");
    let flows = |more: &str| format!("{LINK}{FLOWS}{more}\n{QUEUE}{RUN}");
    let queue = |d: &str| format!("{LINK}{FLOWS}[queue]\ndisciplines = [{d}]\n{RUN}");
    for (text, begins) in [
        (link("loss = 0.01"), "s.toml:4: link.loss = 0.01: --engine linux cannot do this"),
        (link("overhead = \"0b\""), "s.toml:4: link.overhead = \"0b\": "),
        (flows("jitter = \"1ms\""), "s.toml:7: flows[0].jitter = \"1ms\": "),
        (flows("access = \"10mbit\""), "s.toml:7: flows[0].access = \"10mbit\": "),
        (flows("size = \"1mb\"\narrivals = \"2/s\""), "s.toml:8: flows[0].arrivals = \"2/s\": "),
        (flows("ecn = \"l4s\""), "s.toml:7: flows[0].ecn = \"l4s\": "),
        (
            queue("{ name = \"codel\", mtu = \"300b\" }"),
            "s.toml:8: queue.disciplines[0].mtu = \"300b\": in Linux's codel mtu is always 1514b",
        ),
        (
            queue("{ name = \"pie\", alpha = 0.13 }"),
            "s.toml:8: queue.disciplines[0].alpha = 0.13: Linux's pie takes it in sixteenths",
        ),
        (
            queue("{ name = \"codel\", target = \"5500ns\" }"),
            "s.toml:8: queue.disciplines[0].target = \"5500ns\": Linux's codel takes it in whole microseconds",
        ),
        (
            queue("{ name = \"sfq\", perturb = \"500ms\" }"),
            "s.toml:8: queue.disciplines[0].perturb = \"500ms\": Linux's sfq takes it in whole seconds",
        ),
        (
            queue("{ name = \"sfq\", divisor = 1000 }"),
            "s.toml:8: queue.disciplines[0].divisor = 1000: Linux's sfq takes a power of two",
        ),
        (
            queue("{ name = \"fq\", initial_quantum = \"2mb\" }"),
            "s.toml:8: queue.disciplines[0].initial_quantum = \"2mb\": Linux's fq takes at most 1048576",
        ),
        (
            queue("{ name = \"fq-codel\", memory_limit = \"4gb\" }"),
            "s.toml:8: queue.disciplines[0].memory_limit = \"4gb\": Linux's fq-codel takes at most 2147483647",
        ),
        (
            queue("{ name = \"red\", probability = 0 }"),
            "s.toml:8: queue.disciplines[0].probability = 0: tc takes no probability as small",
        ),
        (
            queue("{ name = \"red\", bandwidth = \"100gbit\" }"),
            "s.toml:8: queue.disciplines[0].bandwidth = \"100gbit\": Linux's red takes at most 34359738360",
        ),
        (
            queue("{ name = \"red\", idle_clock = \"us\" }"),
            "s.toml:8: queue.disciplines[0].idle_clock = \"us\": in Linux's red idle_clock is always never",
        ),
        (
            queue("{ name = \"red\" }")
                .replace(FLOWS, "[[flows]]\ncbr = \"1mbit\"\npacket = \"200b\"\nrtt = \"20ms\"\n"),
            "s.toml:3: link.buffer = \"100p\": --engine linux cannot do this: Linux's red counts bytes",
        ),
        (format!("{LINK}{FLOWS}{QUEUE}{RUN}stack = \"ns3\""), "s.toml:12: run.stack = \"ns3\": "),
    ] {
        let line = refused(&text);
        assert!(line.starts_with(begins), "{line}\nand not\n{begins}");
        assert!(!line.contains('\n'), "{line}");
    }
}

/// What the kernel has not runs as a BPF program of ours, and what it has when that is asked for.
#[test]
fn ours_has_limits_of_its_own() {
    if queuewright_linux::names().is_empty() {
        return left_out("ours_has_limits_of_its_own", Lack::Setup, &"this program was built without clang");
    }
    let with = |link: &str, flows: &str, d: &str| {
        format!("{LINK}{link}{FLOWS}{flows}[queue]\ndisciplines = [{d}]\n{RUN}")
    };
    let all = "\"codel\", \"titrate\", \"pi2\", { name = \"codel\", label = \"b\", mtu = \"300b\" }";
    assert_eq!(checked_of(&with("", "", all), QdiscOrigin::Bpf), Ok(()));
    assert_eq!(checked_of(&with("burst = \"10kb\"\n", "", "\"codel\""), QdiscOrigin::Kernel), Ok(()));
    let text = with("burst = \"10kb\"\n", "ecn = true\n", "{ name = \"codel\", ecn = true }");
    let line = checked_of(&text, QdiscOrigin::Bpf).expect_err(&text);
    let begins = "s.toml:4: link.burst = \"10kb\": --engine linux cannot do this: a BPF qdisc's";
    assert!(line.starts_with(begins), "{line}\nand not\n{begins}");
}

#[test]
fn the_usual_is_accepted() {
    let queues = "\"droptail\", \"codel\", \"fq-codel\", { name = \"pie\", ecn = true }, \
                  \"red\", \"sfq\"";
    let flows = "[[flows]]\ncount = 3\ncca = { cubic = 1, bbr = 1 }\nrtt = \"20ms..80ms\"\n\
                 [[flows]]\ncca = \"dctcp\"\nrtt = \"20ms\"\nsize = \"1mb\"\ninitial_window = \"20p\"\n\
                 [[flows]]\ncbr = \"1mbit\"\n[[flows]]\npoisson = \"1mbit\"\n";
    let text = format!("{LINK}{flows}[queue]\ndisciplines = [{queues}]\n{RUN}");
    assert_eq!(checked(&text), Ok(()));
}
