//! Congestion controls in C: those that are there in Rust, too, do the same to the packet; and a control that is wrong ends its run.

use crate::bed::{run, specs};
use queuewright_cca::{CaState, Conn, Control, Cubic, Event, Flavour, Info, Kind, own};
use queuewright_results::Run;
use queuewright_scenario::spec::{RunSpec, Traffic};
use queuewright_sim::Error;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

/// A control in C under another name.
fn control(name: &str, text: &str) -> Kind {
    static ONCE: Once = Once::new();
    // SAFETY: a test is a process, and nothing else runs in it yet.
    ONCE.call_once(|| unsafe { std::env::set_var("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")) });
    own::load(&format!("./{name}.h"), text).unwrap_or_else(|e| panic!("{e}"))
}

/// `cca/NAME.h` as a file of a user's own, whose name is `c-NAME`.
fn in_c(name: &str) -> Kind {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cca").join(format!("{name}.h"));
    let text = std::fs::read_to_string(path).expect("it is there");
    let text = text
        .replace(&format!("qw_{name}"), &format!("qw_c_{name}"))
        .replace(&format!("QW_{}", name.to_uppercase()), &format!("QW_C_{}", name.to_uppercase()));
    control(&format!("c-{name}"), &text)
}

/// Has the one in the place of the other everywhere but in what results call it.
fn replaced(spec: &RunSpec, from: Kind, to: Kind) -> RunSpec {
    let mut spec = spec.clone();
    let groups = spec.groups.clone();
    spec.replace_control(from, to);
    spec.groups = groups;
    spec
}

/// What there is of a run but how long it took: results, and the series that both have.
fn told(mut run: Run) -> (String, Vec<(String, Vec<u64>)>) {
    run.wall_s = 0.0;
    run.packets_per_s = 0.0;
    let series = run.detail.series.columns.iter();
    let ours = |name: &str| name.ends_with(".w_max") || name.ends_with(".alpha");
    let series = series.filter(|c| !ours(&c.name));
    let series = series.map(|c| (c.name.clone(), c.values.iter().map(|v| v.to_bits()).collect())).collect();
    (serde_json::to_string(&run).expect("plain data"), series)
}

/// Runs a scenario with both.
fn same(name: &str, toml: &str) {
    let (from, to) = (Kind::from_name(name).expect("a control"), in_c(name));
    let mut some = false;
    for spec in specs(toml) {
        let theirs = replaced(&spec, from, to);
        some |= theirs != spec;
        let (ours, theirs) = (told(run(&spec)), told(run(&theirs)));
        for ((column, a), (_, b)) in ours.1.iter().zip(&theirs.1) {
            let differs = a.iter().zip(b).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{column} of {} seed {}\n{toml}", spec.discipline.label, spec.seed);
        }
        assert!(
            ours == theirs,
            "{} seed {}\n{}\n{}\n{toml}",
            spec.discipline.label,
            spec.seed,
            ours.0,
            theirs.0
        );
    }
    assert!(some, "no flow has it\n{toml}");
}

const RUN: &str =
    "[run]\nduration = \"15s\"\nwarmup = \"1s\"\nsample = \"20ms\"\nseries_flows = 4\nseeds = [1, 2]\n";

#[test]
fn cubic_is_the_same_over_rates_rtts_and_disciplines() {
    for (rate, rtt) in [("2mbit", "80ms"), ("20mbit", "20ms"), ("100mbit", "5ms"), ("200mbit", "100ms")] {
        same(
            "cubic",
            &format!(
                "[link]\nrate = \"{rate}\"\nbuffer = \"1bdp\"\n[[flows]]\ncount = 3\ncca = \"cubic\"\nrtt = \"{rtt}\"\nstart = \"0s..2s\"\n\
                 [queue]\ndisciplines = [\"droptail\", \"codel\", \"pie\", \"fq-codel\"]\n{RUN}"
            ),
        );
    }
}

/// A long path, on which slow start ends without a loss.
#[test]
fn cubic_is_the_same_on_a_long_path() {
    for rtt in ["100ms", "250ms"] {
        same(
            "cubic",
            &format!(
                "[link]\nrate = \"40mbit\"\nbuffer = \"3bdp\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"{rtt}\"\n\
                 [queue]\ndisciplines = [\"droptail\"]\n{}",
                RUN.replace("15s", "60s")
            ),
        );
    }
}

#[test]
fn cubic_is_the_same_with_marks_losses_and_others() {
    let flows = "[[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"30ms\"\necn = true\n[[flows]]\ncca = \"bbr\"\nrtt = \"40ms\"\n\
                 [[flows]]\ncca = \"cubic\"\nrtt = \"100ms\"\nstart = \"4s\"\nstop = \"12s\"\n";
    let marks = "[queue]\ndisciplines = [{ name = \"codel\", ecn = true }, { name = \"red\", ecn = true }]\n";
    same("cubic", &format!("[link]\nrate = \"30mbit\"\nbuffer = \"200p\"\n{flows}{marks}{RUN}"));
    // Random losses, many of them: timeouts and probes.
    for loss in ["0.5%", "5%", "20%"] {
        same(
            "cubic",
            &format!(
                "[link]\nrate = \"10mbit\"\nbuffer = \"60p\"\nloss = \"{loss}\"\n{flows}[queue]\ndisciplines = [\"droptail\"]\n{RUN}"
            ),
        );
    }
    // Packets that overtake others: reductions that are undone.
    same(
        "cubic",
        &format!(
            "[link]\nrate = \"10mbit\"\nbuffer = \"60p\"\nreorder = {{ share = \"2%\", by = \"15ms\" }}\n{flows}[queue]\ndisciplines = [\"droptail\"]\n{RUN}"
        ),
    );
}

#[test]
fn cubic_is_the_same_where_the_application_rests() {
    // Flows that come, rest, and ask: idle times, windows that are not full, ends in slow start.
    let flows = "[[flows]]\ncca = \"cubic\"\nrtt = \"40ms\"\nsize = \"5kb..500kb\"\narrivals = \"4/s\"\n\
                 [[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"60ms\"\nrequests = \"400ms\"\nsize = \"20kb..200kb\"\n\
                 [[flows]]\ncca = \"cubic\"\nrtt = \"25ms\"\naccess = \"4mbit\"\njitter = \"2ms\"\n";
    same(
        "cubic",
        &format!(
            "[link]\nrate = \"20mbit\"\nbuffer = \"100p\"\n{flows}[queue]\ndisciplines = [\"droptail\", \"codel\"]\n{RUN}"
        ),
    );
    // A rate that changes, and flows that follow one another.
    let changes = "[link]\nschedule = [[\"0s\", \"40mbit\"], [\"5s\", \"3mbit\"], [\"9s\", \"60mbit\"]]\nbuffer = \"300p\"\n";
    let flows = "[[flows]]\ncount = 4\ncca = \"cubic\"\nrtt = \"10ms..90ms\"\nsize = \"100kb..4mb\"\nrepeat = \"200ms\"\n";
    same("cubic", &format!("{changes}{flows}[queue]\ndisciplines = [\"droptail\", \"pie\"]\n{RUN}"));
}

#[test]
fn dctcp_is_the_same() {
    let step = "[queue]\ndisciplines = [{ name = \"red\", ecn = true }, { name = \"codel\", ecn = true }, \"dualpi2\"]\n";
    for (rate, rtt, more) in [
        ("1gbit", "500us", ""),
        ("100mbit", "10ms", "[[flows]]\ncca = \"cubic\"\nrtt = \"20ms\"\nstart = \"1s\"\n"),
        (
            "20mbit",
            "40ms",
            "[[flows]]\ncca = \"dctcp\"\nrtt = \"5ms\"\nsize = \"10kb..1mb\"\narrivals = \"3/s\"\necn = \"l4s\"\n",
        ),
    ] {
        let flows =
            format!("[[flows]]\ncount = 3\ncca = \"dctcp\"\nrtt = \"{rtt}\"\nstart = \"0s..1s\"\n{more}");
        let run = RUN.replace("15s", "6s");
        same("dctcp", &format!("[link]\nrate = \"{rate}\"\nbuffer = \"400p\"\n{flows}{step}{run}"));
        same(
            "dctcp",
            &format!("[link]\nrate = \"{rate}\"\nbuffer = \"60p\"\nloss = \"2%\"\n{flows}{step}{run}"),
        );
    }
}

const ONE: &str = "[link]\nrate = \"10mbit\"\nbuffer = \"60p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"30ms\"\n[queue]\ndisciplines = [\"droptail\"]\n\
                   [run]\nduration = \"8s\"\nwarmup = \"1s\"\nseries_flows = 1\nseeds = [1]\n";

fn sample(name: &str, piece: &str, instead: &str) -> Kind {
    let text = own::sample(name).expect("a name");
    assert!(text.contains(piece), "{piece}");
    control(name, &text.replace(piece, instead))
}

/// A window of 0, no rate, no threshold: the run ends, and says whose fault it is.
#[test]
fn a_control_that_leaves_nothing_to_go_on_with_ends_its_run() {
    let grow = "qw_cong_avoid_ai(c, c->cwnd, acked);";
    for (name, piece, instead, said) in [
        (
            "none",
            grow,
            "c->cwnd = 0;",
            "none.h: after qw_none_cong_avoid there is a window (cwnd) of 0 packets",
        ),
        ("slow", grow, "c->pacing_rate = 0;", "slow.h: after qw_slow_cong_avoid there is a pacing_rate of 0"),
        (
            "low",
            "return left < 2 ? 2 : left;",
            "return 1;",
            "low.h: after qw_low_ssthresh there is an ssthresh below 2",
        ),
        (
            "un-do",
            "s->losses = 0;",
            "c->cwnd = 0;",
            "un-do.h: after qw_un_do_init there is a window (cwnd) of 0",
        ),
    ] {
        let spec = replaced(&specs(ONE)[0], Kind::Cubic, sample(name, piece, instead));
        let ended = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ());
        match ended {
            Err(Error::Control(what)) => assert!(what.starts_with(said), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    // Of a flow that has gone meanwhile, too.
    let comes = ONE.replace("rtt = \"30ms\"\n", "rtt = \"30ms\"\nsize = \"30kb\"\narrivals = \"20/s\"\n");
    let spec = replaced(&specs(&comes)[0], Kind::Cubic, sample("none", "s->losses = 0;", "c->cwnd = 0;"));
    let ended = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ());
    assert!(matches!(ended, Err(Error::Control(_))), "{ended:?}");
}

/// What it may not write is put back, and a window of any size is a window.
#[test]
fn what_is_not_its_own_it_cannot_change() {
    let piece = "(void)s;\n\t(void)now;\n\t/* A window";
    let wild = "(void)s;\n(void)now;\nc->packets_out = 7; c->sacked_out = 9; c->snd_una += 5; c->snd_nxt = 0; c->mss = 0; c->srtt_us = 0; \
                c->delivered = 0; c->ca_state = 77; c->is_cwnd_limited = 5; c->clock.hz = 0; c->pacing = 0;\n/* A window";
    let tame = replaced(&specs(ONE)[0], Kind::Cubic, sample("tame", piece, piece));
    let wild = replaced(&specs(ONE)[0], Kind::Cubic, sample("tame", piece, wild));
    assert!(told(run(&tame)) == told(run(&wild)));
    for window in [
        "c->cwnd = 0xffffffff;",
        "c->cwnd_cnt = 0xffffffff; c->ssthresh = 0xffffffff;",
        "c->app_limited = 5;",
        "c->pacing = 200;",
    ] {
        let spec = replaced(
            &specs(ONE)[0],
            Kind::Cubic,
            sample("huge", "\t/* One packet more", &format!("{window}\n\t/* One")),
        );
        run(&spec);
    }
}

/// Variables are not read before their control has begun: what they divide by may be 0 until then.
#[test]
fn variables_begin_with_their_control() {
    let late = ONE.replace("rtt = \"30ms\"\n", "rtt = \"30ms\"\nstart = \"2s\"\n");
    let shown = sample("shown", "PROBES(V) V(s->losses, 1)", "PROBES(V) V(100 / c->delivered, 1)");
    let run = run(&replaced(&specs(&late)[0], Kind::Cubic, shown));
    let column = run.detail.series.columns.iter().find(|c| c.name == "flow0.losses").expect("a probe");
    assert!(column.values[0].is_nan());
    assert_eq!(column.values.last(), Some(&0.0));
}

/// Whatever `undo_cwnd` answers, no window is above the largest; and without `cong_control`, too, a control sees when something was
/// delivered. It ends the run itself if not.
#[test]
fn windows_have_an_end_and_deliveries_a_time() {
    let text = own::sample("undone")
        .expect("a name")
        .replace("return qw_undo_cwnd(c);", "(void)c; return 0xffffffffu;")
        .replace(
            "\t/* A window that",
            "\tif (c->cwnd > (1u << 26) || now - c->delivered_ns > QW_NS_PER_SEC) {\n\t\tc->cwnd = 0;\n\t\treturn;\n\t}\n\t/* A window that",
        );
    assert!(text.contains("0xffffffffu") && text.contains("delivered_ns"));
    let late =
        ONE.replace("buffer = \"60p\"\n", "buffer = \"60p\"\nreorder = { share = \"2%\", by = \"15ms\" }\n");
    run(&replaced(&specs(&late)[0], Kind::Cubic, control("undone", &text)));
}

/// Stamps: what was in flight, lost and marked when a packet was sent. The control looks itself whether they can be right, and falls
/// to a window of 1 packet if not.
#[test]
fn stamps_and_losses_are_what_they_say() {
    let text = r#"
#include "qw_cca.h"
struct qw_stamped { qw_u32 lost, told, acked, tlp, most, samples; };
static inline void qw_stamped_init(struct qw_stamped *s, struct qw_conn *c, qw_u64 now) { (void)c; (void)now; s->lost = 0; }
static inline qw_u32 qw_stamped_ssthresh(struct qw_stamped *s, struct qw_conn *c, qw_u64 now) { (void)s; (void)now; return c->cwnd / 2 < 2 ? 2 : c->cwnd / 2; }
static inline qw_u32 qw_stamped_undo_cwnd(struct qw_stamped *s, struct qw_conn *c) { (void)s; return qw_undo_cwnd(c); }
static inline void qw_stamped_lost(struct qw_stamped *s, struct qw_conn *c, const struct qw_lost *l, qw_u64 now)
{
	(void)now;
	s->lost += l->packets;
	/* It is among those lost since it was sent, and was one of those in flight. */
	if (l->packets != 1 || !l->lost || !l->tx_in_flight || s->lost != c->lost)
		c->cwnd = 0;
}
static inline void qw_stamped_cong_control(struct qw_stamped *s, struct qw_conn *c, const struct qw_rate_sample *rs, qw_u64 now, qw_u32 random)
{
	(void)now; (void)random;
	s->tlp += rs->is_tlp;
	if (rs->delivered > 0) {
		s->samples++;
		if (rs->tx_in_flight > s->most)
			s->most = rs->tx_in_flight;
		if (!rs->tx_in_flight || rs->tx_in_flight > 200 || rs->lost > c->lost || rs->lost < rs->losses || rs->delivered_ce > (qw_u32)rs->delivered)
			c->cwnd = 0;
	}
	if (c->cwnd)
		c->cwnd = 100;
}
#define QW_STAMPED_FLAGS QW_CCA_STAMPS
#define QW_STAMPED_CCA(E) E(init) E(ssthresh) E(undo_cwnd) E(cong_control) E(lost)
#define QW_STAMPED_PROBES(V) V(s->lost, 1) V(s->most, 1) V(s->tlp, 1) V(s->samples, 1)
"#;
    let with = "[link]\nrate = \"10mbit\"\nbuffer = \"60p\"\nloss = \"3%\"\n[[flows]]\ncca = \"cubic\"\necn = true\nrtt = \"30ms\"\n\
                [queue]\ndisciplines = [{ name = \"codel\", ecn = true }]\n[run]\nduration = \"8s\"\nwarmup = \"1s\"\nseries_flows = 1\nseeds = [1]\n";
    let stamped = control("stamped", text);
    let last = |run: &Run, name: &str| {
        let column = run.detail.series.columns.iter().find(|c| c.name == format!("flow0.{name}"));
        *column.expect("a probe").values.last().expect("a value")
    };
    let of = replaced(&specs(with)[0], Kind::Cubic, stamped);
    let of = run(&of);
    assert!(last(&of, "lost") > 50.0 && last(&of, "samples") > 500.0, "{}", last(&of, "lost"));
    // The window is 100 packets, and retransmissions go beside what is lost.
    assert!((90.0..=101.0).contains(&last(&of, "most")), "{}", last(&of, "most"));
    // Without the flag they are 0: the first sample ends the run.
    let blind = control("stamped", &text.replace("QW_CCA_STAMPS", "0"));
    let spec = replaced(&specs(with)[0], Kind::Cubic, blind);
    let ended = queuewright_sim::run(&spec, &AtomicBool::new(false), &|_| ());
    assert!(matches!(&ended, Err(Error::Control(what)) if what.contains("cong_control")), "{ended:?}");
}

/// ECT(1) is the control's: an L4S queue has its packets in the queue for them.
#[test]
fn a_control_may_say_ect1() {
    let toml = "[link]\nrate = \"20mbit\"\nbuffer = \"500p\"\n[[flows]]\ncca = \"./scal.h\"\nrtt = \"20ms\"\n[queue]\ndisciplines = [\"dualpi2\"]\n\
                [run]\nduration = \"4s\"\nwarmup = \"1s\"\nseeds = [1]\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ect1");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cca/dctcp.h");
    let text = std::fs::read_to_string(path)
        .expect("it is there")
        .replace("qw_dctcp", "qw_scal")
        .replace("QW_DCTCP", "QW_SCAL");
    let flags = "QW_SCAL_FLAGS QW_CCA_NEEDS_ECN";
    std::fs::write(folder.join("scal.h"), text.replace(flags, &format!("{flags} | QW_CCA_ECT1")))
        .expect("a file");
    // SAFETY: a test is a process, and nothing else runs in it yet.
    unsafe {
        std::env::set_var("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        std::env::set_var("QUEUEWRIGHT_OWN", "1");
    }
    let scenario =
        queuewright_scenario::Scenario::parse(toml, "s.toml", &folder).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.runs().unwrap_or_else(|e| panic!("{e}"));
    let Traffic::Tcp { ecn, l4s, .. } = runs[0].flows[0].traffic else { panic!("TCP") };
    assert!(ecn && l4s);
    let run = run(&runs[0]);
    let [classic, l4s] = &run.ports[0].queues[..] else { panic!("two queues") };
    assert!(l4s.packets > 1000 && classic.packets == 0, "{} and {}", l4s.packets, classic.packets);
    assert_eq!(run.groups[0].cca, "scal");
    assert_eq!(run.groups[0].cca_file.as_deref().map(|sum| sum.len()), Some("sha256:".len() + 64));
}

/// With AccECN a sender knows in the end how many packets were marked, though a third of the acknowledgements are lost (RFC 9768 section 3.2.2.5). An
/// echo of each mark (RFC 8257) does not tell that.
#[test]
fn accurate_ecn_counts_every_mark() {
    let text = r#"
#include "qw_cca.h"
struct qw_counter { qw_u32 acks; };
static inline void qw_counter_init(struct qw_counter *s, struct qw_conn *c, qw_u64 now) { (void)c; (void)now; s->acks = 0; }
static inline qw_u32 qw_counter_ssthresh(struct qw_counter *s, struct qw_conn *c, qw_u64 now) { (void)s; (void)c; (void)now; return 60; }
static inline qw_u32 qw_counter_undo_cwnd(struct qw_counter *s, struct qw_conn *c) { (void)s; return qw_undo_cwnd(c); }
static inline void qw_counter_cong_control(struct qw_counter *s, struct qw_conn *c, const struct qw_rate_sample *rs, qw_u64 now, qw_u32 random)
{
	(void)rs; (void)now; (void)random;
	/* A window that swings about the threshold: some packets are marked, and some not. */
	s->acks++;
	c->cwnd = s->acks % 400 < 200 ? 30 : 60;
}
#define QW_COUNTER_FLAGS QW_CCA_NEEDS_ECN
#define QW_COUNTER_CCA(E) E(init) E(ssthresh) E(undo_cwnd) E(cong_control)
#define QW_COUNTER_PROBES(V) V(c->delivered_ce, 1)
#define QW_COUNTER_PROBE_NAMES(N) N("told", "packets")
"#;
    let counter = control("counter", text);
    // What the sender was told, beside what was marked.
    let runs = |ecn: &str, loss: &str| -> Vec<(f64, f64)> {
        let toml = format!(
            "[[ports]]\nname = \"down\"\nrate = \"20mbit\"\nbuffer = \"200p\"\n[[ports]]\nname = \"up\"\nrate = \"100mbit\"\nloss = \"{loss}\"\n\
             [[flows]]\ncca = \"cubic\"\necn = {ecn}\nsize = \"6mb\"\nports = [\"down\"]\nreverse_ports = [\"up\"]\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [{{ name = \"codel\", ecn = true, ce_threshold = \"8ms\" }}]\n\
             [run]\nduration = \"6s\"\nwarmup = \"0s\"\nseries_flows = 1\nseeds = \"1..12\"\n"
        );
        let of = |spec: &RunSpec| {
            let run = run(&replaced(spec, Kind::Cubic, counter));
            let column = run.detail.series.columns.iter().find(|c| c.name == "flow0.told").expect("a probe");
            let told = column.values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
            let marked = run.ports[0].marks.values().sum::<u64>() as f64;
            (told, marked)
        };
        // Where the answer to the first SYN was lost no ECN is negotiated.
        let all: Vec<_> = specs(&toml).iter().map(of).filter(|(_, marked)| *marked > 0.0).collect();
        assert!(all.len() >= 4 && all.iter().all(|(_, marked)| *marked > 500.0), "{all:?}");
        all
    };
    for loss in ["0%", "35%"] {
        for (told, marked) in runs("\"l4s\"", loss) {
            assert!(told == marked, "{told} of {marked}, {loss} lost");
        }
    }
    let each = runs("true", "35%");
    assert!(each.iter().any(|(told, marked)| told != marked), "{each:?}");
}

/// A control says how many of its windows the send buffer holds (`sndbuf_expand`): of one not all is in flight at all times, as the
/// application writes more only when a third is free; without the event it is two.
#[test]
fn a_control_sizes_the_send_buffer() {
    let text = r#"
#include "qw_cca.h"
struct qw_sized { qw_u32 acks; };
static inline void qw_sized_init(struct qw_sized *s, struct qw_conn *c, qw_u64 now) { (void)s; (void)now; c->cwnd = 100; }
static inline qw_u32 qw_sized_ssthresh(struct qw_sized *s, struct qw_conn *c, qw_u64 now) { (void)s; (void)c; (void)now; return 100; }
static inline qw_u32 qw_sized_undo_cwnd(struct qw_sized *s, struct qw_conn *c) { (void)s; return qw_undo_cwnd(c); }
static inline void qw_sized_cong_control(struct qw_sized *s, struct qw_conn *c, const struct qw_rate_sample *rs, qw_u64 now, qw_u32 random)
{ (void)s; (void)rs; (void)now; (void)random; c->cwnd = 100; }
static inline qw_u32 qw_sized_sndbuf_expand(struct qw_sized *s, struct qw_conn *c) { (void)s; (void)c; return WINDOWS; }
#define QW_SIZED_FLAGS 0
#define QW_SIZED_CCA(E) E(init) E(ssthresh) E(undo_cwnd) E(cong_control) E(sndbuf_expand)
"#;
    // Half of what the window could fill.
    let toml = "[link]\nrate = \"50mbit\"\nbuffer = \"400p\"\n[[flows]]\ncca = \"cubic\"\nrtt = \"48ms\"\n\
                [queue]\ndisciplines = [\"droptail\"]\n[run]\nduration = \"6s\"\nwarmup = \"2s\"\nseeds = [1]\n";
    let bps = |windows: Option<&str>| {
        let text = match windows {
            Some(n) => text.replace("WINDOWS", n),
            None => text.replace("WINDOWS", "0").replace(" E(sndbuf_expand)", ""),
        };
        run(&replaced(&specs(toml)[0], Kind::Cubic, control("sized", &text))).flows[0].goodput_bps
    };
    let (one, two, three, without) = (bps(Some("1")), bps(Some("2")), bps(Some("3")), bps(None));
    assert!(two == without && three > 0.99 * two && one < 0.99 * two, "{one} {two} {three} {without}");
}

/// A Rust type of a program's own is told and asked what the program's are: one that passes each call on to CUBIC has CUBIC's results to the
/// packet; that is no more than its own rule says with another.
#[test]
fn a_control_may_be_a_type() {
    #[derive(Debug, Clone)]
    struct Passes(Cubic);
    impl Control for Passes {
        const INFO: Info = Info { name: "passes", ..Info::PLAIN };
        fn start(flavour: Flavour, c: &mut Conn, now_ns: u64) -> Passes {
            Passes(Control::start(flavour, c, now_ns))
        }
        fn ssthresh(&mut self, c: &mut Conn, now_ns: u64) -> u32 {
            Control::ssthresh(&mut self.0, c, now_ns)
        }
        fn cong_avoid(&mut self, c: &mut Conn, acked: u32, now_ns: u64) {
            Control::cong_avoid(&mut self.0, c, acked, now_ns);
        }
        fn pkts_acked(&mut self, c: &mut Conn, acked: u32, rtt_us: u32, now_ns: u64) {
            Control::pkts_acked(&mut self.0, c, acked, rtt_us, now_ns);
        }
        fn set_state(&mut self, c: &mut Conn, new: CaState, now_ns: u64) {
            Control::set_state(&mut self.0, c, new, now_ns);
        }
        fn event(&mut self, c: &mut Conn, event: Event, now_ns: u64) {
            Control::event(&mut self.0, c, event, now_ns);
        }
        fn undo_cwnd(&mut self, c: &mut Conn) -> u32 {
            Control::undo_cwnd(&mut self.0, c)
        }
    }
    let toml = format!(
        "[link]\nrate = \"30mbit\"\nbuffer = \"1bdp\"\nloss = \"0.1%\"\n[[flows]]\ncount = 3\ncca = \"cubic\"\nrtt = \"30ms\"\n\
         [[flows]]\ncca = \"cubic\"\nsize = \"50kb\"\narrivals = \"3/s\"\nrtt = \"20ms\"\n\
         [queue]\ndisciplines = [\"droptail\", \"codel\", \"fq-codel\"]\n{RUN}"
    );
    for spec in specs(&toml) {
        let (ours, theirs) = (run(&spec), run(&replaced(&spec, Kind::Cubic, Kind::of::<Passes>())));
        assert_eq!(told(ours).0, told(theirs).0);
        let mut named = spec.clone();
        named.replace_control(Kind::Cubic, Kind::of::<Passes>());
        assert!(run(&named).groups.iter().all(|group| group.cca == "passes"));
    }
}
