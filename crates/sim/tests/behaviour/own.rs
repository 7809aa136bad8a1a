//! A file of a user's own runs as what comes with the program does: CoDel's header under another name, to the packet.

use crate::bed::run;
use queuewright_results::Run;
use queuewright_scenario::{Flags, RunSpec, Scenario};
use std::path::PathBuf;
use std::sync::Once;

/// A folder for what is made here.
fn folder() -> PathBuf {
    static KEPT: Once = Once::new();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own");
    std::fs::create_dir_all(&folder).expect("a folder");
    // SAFETY: before anything here reads it.
    KEPT.call_once(|| unsafe { std::env::set_var("XDG_CACHE_HOME", folder.join("cache")) });
    folder
}

/// A header that comes with the program, under another name, with what it does not say itself.
fn copy(of: &str, name: &str, says: &str) -> String {
    let aqm = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../aqm");
    let text = std::fs::read_to_string(aqm.join(format!("{of}.h"))).expect("a header");
    let [from, to] = [of, name].map(|n| (format!("qw_{n}"), format!("QW_{}", n.to_uppercase())));
    let path = folder().join(format!("{name}.h"));
    let text = text.replace(&from.0, &to.0).replace(&from.1, &to.1) + says;
    // Whole at any time, for whoever else makes the same.
    let part = folder().join(format!("{name}.{}", std::process::id()));
    std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path)).expect("a file");
    path.display().to_string()
}

/// CoDel's; `target` has 5 ms by itself.
fn codel(name: &str) -> String {
    let upper = name.to_uppercase();
    let says = format!(
        r#"
#define QW_{upper}_ABOUT "CoDel once more"
#define QW_{upper}_HELP(H)                                                    \
	H("target", QW_TIME, 5 * QW_NS_PER_MS, "sojourn time that is fine to stand") \
	H("interval", QW_TIME, 100 * QW_NS_PER_MS, "about the longest common RTT")   \
	H("ecn", QW_FLAG, 0, "mark instead of drop")                                 \
	H("ce_threshold", QW_TIME, 0, "mark above this")                             \
	H("mtu", QW_SIZE, 1514, "never drop while no more than this waits")
#define QW_{upper}_PROBE_NAMES(N) N("count", "") N("dropping", "")
"#
    );
    copy("codel", name, &says)
}

/// PI2's, which has random numbers, real ones and the head of the queue, and includes another header.
fn pi2(name: &str) -> String {
    let upper = name.to_uppercase();
    let says = format!(
        r#"
#define QW_{upper}_HELP(H)                                         \
	H("target", QW_TIME, 15 * QW_NS_PER_MS, "to settle at")    \
	H("tupdate", QW_TIME, 16 * QW_NS_PER_MS, "between updates") \
	H("alpha", QW_RATIO, 0.16, "gain on the distance")         \
	H("beta", QW_RATIO, 3.2, "gain on the change")             \
	H("coupling", QW_RATIO, 2.0, "k")                          \
	H("ecn", QW_FLAG, 1, "mark instead of drop")               \
	H("mtu", QW_SIZE, 1514, "two of these may wait")
#define QW_{upper}_PROBE_NAMES(N) N("base_probability", "") N("drop_probability", "") N("qdelay", "ms")
"#
    );
    copy("pi2", name, &says)
}

fn specs(aqm: &str, flows: &str, rate: &str) -> Vec<RunSpec> {
    let flags = Flags {
        rate: Some(rate.into()),
        rtt: Some("10ms..60ms".into()),
        flows: Some(flows.into()),
        aqm: Some(aqm.into()),
        duration: Some("8s".into()),
        warmup: Some("2s".into()),
        seeds: Some("1..2".into()),
        ..Flags::default()
    };
    Scenario::from_flags(&flags).and_then(|s| s.runs()).unwrap_or_else(|e| panic!("{e}"))
}

/// All of a result but how long it took and what the discipline is called.
fn nameless(spec: &RunSpec) -> String {
    let mut run = run(spec);
    assert!(run.parameters.remove("file").is_none_or(|id| id.starts_with("sha256:")));
    // A word that stands for 0 has no place in a file of one's own.
    if run.parameters.get("ce_threshold").is_some_and(|shown| shown == "off") {
        run.parameters.insert("ce_threshold".into(), "0s".into());
    }
    let run = Run { discipline: String::new(), wall_s: 0.0, packets_per_s: 0.0, ..run };
    serde_json::to_string(&(&run, &run.detail)).expect("plain data")
}

#[test]
fn codel_of_a_file_is_codel_to_the_packet() {
    let file = codel("mine");
    for (flows, rate) in
        [("8xcubic", "50mbit"), ("4xbbr,2xcubic:ecn,1xcbr:2mbit", "20mbit"), ("1xnewreno", "1gbit")]
    {
        for parameters in
            ["", ":target=1ms", ":target=20ms:interval=50ms:ecn=true", ":ce_threshold=2ms:mtu=0b"]
        {
            let [built_in, own] = [format!("codel{parameters}"), format!("{file}{parameters}")]
                .map(|aqm| specs(&aqm, flows, rate).iter().map(nameless).collect::<Vec<_>>());
            assert!(built_in.iter().any(|r| r.contains("sojourn")), "{flows}");
            assert!(built_in == own, "{flows} {parameters}\n{}\n{}", built_in[0], own[0]);
        }
    }
}

#[test]
fn pi2_of_a_file_is_pi2_to_the_packet() {
    let file = pi2("steered");
    for flows in ["8xcubic", "2xdctcp,3xcubic:ecn"] {
        for parameters in ["", ":target=5ms:alpha=0.3125:beta=2.5:coupling=1.5", ":ecn=false"] {
            let [built_in, own] = [format!("pi2{parameters}"), format!("{file}{parameters}")]
                .map(|aqm| specs(&aqm, flows, "50mbit").iter().map(nameless).collect::<Vec<_>>());
            assert!(built_in.iter().any(|r| r.contains("early")), "{flows}");
            assert!(built_in == own, "{flows} {parameters}\n{}\n{}", built_in[0], own[0]);
        }
    }
}

#[test]
fn instances_have_nothing_in_common() {
    let file = codel("mine");
    let both = format!("{file}:label=a,{file}:target=20ms:label=b");
    let together: Vec<String> = specs(&both, "8xcubic", "50mbit").iter().map(nameless).collect();
    let alone: Vec<String> = [file.clone(), format!("{file}:target=20ms")]
        .iter()
        .flat_map(|aqm| specs(aqm, "8xcubic", "50mbit"))
        .map(|spec| nameless(&spec))
        .collect();
    assert!(together == alone);
    assert!(together[0] != together[2]);
}
