//! Congestion controls.

use crate::bed::{Mistake, each_is_one_clear_error, folder, goes_to_another_process};
use queuewright_cca::own;
use queuewright_scenario::own::CONSENT;
use queuewright_scenario::spec::{RunSpec, Traffic};
use queuewright_scenario::{Flags, Scenario};
use std::fs;
use std::path::Path;

fn mine() -> String {
    own::sample("mine").expect("a name")
}

/// As a command line names it.
fn flows(flows: &str) -> Result<Vec<RunSpec>, String> {
    let flags = Flags {
        rate: Some("50mbit".into()),
        rtt: Some("20ms".into()),
        flows: Some(flows.into()),
        aqm: Some("codel".into()),
        ..Flags::default()
    };
    Scenario::from_flags(&flags).and_then(|s| s.runs()).map_err(|e| e.to_string())
}

fn file(cca: &str, aqm: &str) -> String {
    format!(
        "[link]\nrate = \"50mbit\"\n[[flows]]\ncount = 4\ncca = {cca}\nrtt = \"20ms\"\n[queue]\ndisciplines = [{aqm}]\n[run]\n\
         duration = \"2s\"\n"
    )
}

fn parse(text: &str, folder: &Path) -> Result<Scenario, String> {
    Scenario::parse(text, "s.toml", folder).map_err(|e| e.to_string())
}

fn controls(run: &RunSpec) -> Vec<&'static str> {
    let of = |traffic: &Traffic| match traffic {
        Traffic::Tcp { cca, .. } => cca.name(),
        Traffic::Datagrams { .. } => "",
    };
    run.flows.iter().map(|flow| of(&flow.traffic)).collect()
}

#[test]
fn a_file_is_a_control_with_its_name() {
    let folder = folder("controls/is");
    let path = folder.join("mine.h");
    fs::write(&path, mine()).expect("a file");
    let runs = flows(&format!("2xcubic,3x{}", path.display())).expect("one");
    assert_eq!(controls(&runs[0]), ["cubic", "cubic", "mine", "mine", "mine"]);
    let groups: Vec<_> = runs[0].groups.iter().map(|g| (&g.cca[..], g.cca_file.is_some())).collect();
    assert_eq!(groups, [("cubic", false), ("mine", true)]);
    let with = flows(&format!("{}:ecn:rtt=5ms", path.display())).expect("one");
    assert!(matches!(with[0].flows[0].traffic, Traffic::Tcp { ecn: true, .. }));
    assert_eq!(with[0].flows[0].base_rtt_ns, 5_000_000);
    // In a file, alone and with weights.
    let alone = parse(&file("\"./mine.h\"", "\"codel\""), &folder).expect("it is read");
    assert_eq!(controls(&alone.runs().expect("runs")[0]), ["mine"; 4]);
    let mix = parse(&file("{ \"./mine.h\" = 3, cubic = 1 }", "\"codel\""), &folder).expect("it is read");
    assert!(controls(&mix.runs().expect("runs")[0]).contains(&"mine"));
}

#[test]
fn what_is_in_the_file_counts_and_not_where_it_is() {
    let folder = folder("controls/hash");
    let of = |name: &str, text: &str, cca: &str| {
        let at = folder.join(name);
        fs::create_dir_all(&at).expect("a folder");
        fs::write(at.join("mine.h"), text).expect("a file");
        parse(&file(cca, "\"codel\""), &at).expect("it is read")
    };
    let changed = mine().replace("c->cwnd / 4", "c->cwnd / 5");
    for cca in ["\"./mine.h\"", "{ \"./mine.h\" = 2, cubic = 1 }"] {
        let (one, other) = (of("one", &mine(), cca), of("other", &changed, cca));
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash(), of("third", &mine(), cca).hash());
        let elsewhere = parse(&file(&cca.replace("./", "../third/"), "\"codel\""), &folder.join("one"));
        assert_eq!(one.hash(), elsewhere.expect("it is read").hash());
        // Its copy beside the scenario is all that it needs.
        let saved = folder.join("saved");
        let _ = fs::remove_dir_all(&saved);
        fs::create_dir(&saved).expect("a folder");
        one.save(&saved).expect("saved");
        let text = fs::read_to_string(saved.join("scenario.toml")).expect("it is there");
        let again = parse(&text, &saved).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.hash(), one.hash());
        assert_eq!(fs::read_to_string(saved.join("mine.h")).expect("a copy"), mine());
    }
}

#[test]
fn runs_and_drafts_go_to_another_process() {
    let folder = folder("controls/elsewhere");
    fs::write(folder.join("mine.h"), mine()).expect("a file");
    goes_to_another_process(&file("\"./mine.h\"", "\"codel\""), &folder.join("mine.h"));
}

const MISTAKES: &[Mistake] = &[
    // The compiler's, with their lines.
    ("s->losses++;", "s->lossess++;", "mine.h:38:"),
    ("s->losses++;", "s->lossess++;", "lossess"),
    (
        "#include \"qw_cca.h\"",
        "#include \"qw_cca.h\"\n#include <stdint.h>",
        "such as \"qw_cca.h\" or \"cubic.h\", and nothing else",
    ),
    ("s->losses++;", "extern int over(void);\n	if (over()) s->losses++;", "it calls over: it has no library"),
    ("s->losses++;", "static int n; s->losses += n++;", "it has variables of its own"),
    // What is missing, or of another form.
    (
        "#define QW_MINE_CCA(E)",
        "#define QW_MINE_CAA(E)",
        "QW_MINE_CCA(E) is missing: the events that the control wants",
    ),
    ("#define QW_MINE_FLAGS 0", "", "QW_MINE_FLAGS is missing"),
    ("#define QW_MINE_FLAGS 0", "#define QW_MINE_FLAGS 64", "QW_MINE_FLAGS has a flag that there is not"),
    (
        "#define QW_MINE_FLAGS 0",
        "#define QW_MINE_FLAGS QW_CCA_ECT1",
        "QW_CCA_ECT1 goes with QW_CCA_NEEDS_ECN",
    ),
    ("E(init) ", "", "QW_MINE_CCA(E) is to have E(init)"),
    ("E(ssthresh) ", "", "QW_MINE_CCA(E) is to have E(ssthresh)"),
    (" E(cong_avoid)", "", "QW_MINE_CCA(E) is to have E(cong_avoid) or E(cong_control)"),
    ("E(cong_avoid)", "E(cong_avoid) E(acked)", "acked"),
    ("E(cong_avoid)", "E(cong_avoid) E(pkts_acked)", "qw_mine_pkts_acked"),
    ("qw_u32 acked, qw_u64 now)", "qw_u32 acked)", "mine.h:"),
    (
        "static inline qw_u32 qw_mine_undo_cwnd",
        "static inline qw_u64 qw_mine_undo_cwnd",
        "qw_mine_undo_cwnd is to be qw_u32 (struct qw_mine *s, struct qw_conn *c)",
    ),
    ("struct qw_mine {", "struct qw_mines {", "qw_mine"),
    ("qw_u32 losses;", "qw_u32 losses, table[256];", "struct qw_mine is larger than QW_CCA_STATE bytes"),
    ("N(\"losses\", \"\")", "N(\"cwnd\", \"\")", "\"cwnd\""),
    ("N(\"losses\", \"\")", "N(\"loss es\", \"\")", "\"loss es\" is no name"),
    ("N(\"losses\", \"\")", "", "QW_MINE_PROBE_NAMES(N) is to have a line for each"),
];

#[test]
fn each_mistake_is_one_clear_error() {
    let folder = folder("controls/mistakes");
    each_is_one_clear_error(&mine(), &folder.join("mine.h"), MISTAKES, "--flows", |path| flows(path).err());
}

#[test]
fn what_is_no_such_file_is_refused() {
    let folder = folder("controls/refused");
    fs::write(folder.join("mine.h"), mine()).expect("a file");
    let refused = |said: Result<Scenario, String>, why: &str| {
        let error = said.expect_err(why);
        assert!(error.contains(why) && !error.contains('\n'), "{why}\n{error}");
    };
    let in_file = |cca: &str| parse(&file(cca, "\"codel\""), &folder);
    refused(in_file("\"mine.h\""), "write its folder, too: \"./mine.h\"");
    refused(in_file("\"./none.h\""), "no such file");
    refused(in_file("\"./Mine.h\""), "not the name of a congestion control");
    fs::write(folder.join("cubic.h"), mine()).expect("a file");
    refused(in_file("\"./cubic.h\""), "cubic is there already; give your file another name");
    // A discipline is no control, nor the other way round.
    fs::write(folder.join("late.h"), queuewright_aqm::own::sample("late").expect("a name")).expect("a file");
    refused(in_file("\"./late.h\""), "a discipline, and no congestion control");
    refused(parse(&file("\"cubic\"", "\"./mine.h\""), &folder), "a congestion control, and no discipline");
    // Two of one name.
    fs::create_dir_all(folder.join("other")).expect("a folder");
    fs::write(folder.join("other/mine.h"), mine() + "/* other */\n").expect("a file");
    let two = file("\"./mine.h\"", "\"codel\"")
        .replace("[queue]", "[[flows]]\ncca = \"./other/mine.h\"\nrtt = \"20ms\"\n[queue]");
    refused(parse(&two, &folder), "two congestion controls of one name");
    refused(
        in_file("{ \"./mine.h\" = 1, \"./other/mine.h\" = 1 }"),
        "another control of this table is called mine, too",
    );
    // Without consent nothing of a file is run.
    // SAFETY: a test is a process, and nothing else runs in it now.
    unsafe { std::env::remove_var(CONSENT) };
    refused(in_file("\"./mine.h\""), "if you trust it, set QUEUEWRIGHT_OWN=1");
    refused(in_file("{ \"./mine.h\" = 1 }"), "if you trust it, set QUEUEWRIGHT_OWN=1");
}
