//! Tables and sheets of made-up results.

mod sample;

use queuewright_report::*;
use queuewright_results::{Port, Queue, Results, Run};

const FOUR: [&str; 4] = ["droptail", "codel", "pie", "titrate"];

#[test]
fn table_is_readable_without_color() {
    let results = sample::results(&FOUR, &[1, 2, 3], 0);
    insta::assert_snapshot!(table(&results, TableStyle::default()));
}

#[test]
fn narrow_terminal_drops_the_ranges() {
    let results = sample::results(&FOUR, &[1, 5], 0);
    let style = TableStyle { width: Some(100), ..TableStyle::default() };
    let text = table(&results, style);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn color_only_adds_bold() {
    let results = sample::results(&FOUR, &[1], 0);
    let plain = table(&results, TableStyle::default());
    let color = table(&results, TableStyle { color: true, width: None });
    assert!(!plain.contains('\u{1b}'));
    assert!(color.contains("\u{1b}[1m"));
    let stripped = color.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let lines: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(lines, plain.lines().collect::<Vec<_>>());
}

#[test]
fn nothing_is_best_alone_or_among_equals() {
    let one = sample::results(&["codel"], &[1], 0);
    assert!(!table(&one, TableStyle::default()).contains('*'));
    let mut two = sample::results(&["codel", "pie"], &[1], 0);
    two.runs[1] = Run { discipline: "pie".into(), ..two.runs[0].clone() };
    assert!(!table(&two, TableStyle::default()).contains('*'));
}

/// Any measure by its path, in the order asked for; of any group with one `*`. What nobody has is named, with what there is.
#[test]
fn a_table_is_of_the_measures_that_are_asked_for() {
    let results = sample::results(&FOUR, &[1, 2, 3], 0);
    let of = |paths: &[&str], style| {
        table_of(&results, &paths.iter().map(|p| p.to_string()).collect::<Vec<_>>(), style)
    };
    let paths = ["sojourn_ms.p99", "group.*.datagrams.loss", "jain"];
    let (text, unmeasured) = of(&paths, TableStyle::default());
    assert_eq!(unmeasured, Vec::<String>::new());
    let heading: String = text.lines().skip(1).take_while(|l| !l.starts_with('─')).collect();
    let places = ["sojourn_ms.", "group.", "jain"].map(|word| heading.find(word));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    let droptail = text.lines().find(|l| l.trim_start().starts_with("droptail")).expect("a row");
    // Voice alone has datagrams: 500 of 50,500 with every seed.
    assert!(droptail.contains("0.009901 ±0.000000"), "{text}");
    assert_eq!(text.matches('±').count(), 4 * 3 + 1, "{text}");
    // As in the usual table.
    let usual = table(&results, TableStyle::default());
    let p99 = droptail.split_whitespace().nth(1).expect("a value");
    assert!(
        usual.lines().any(|l| l.trim_start().starts_with("droptail") && l.contains(p99)),
        "{usual}{text}"
    );
    let narrow = TableStyle { width: Some(40), ..TableStyle::default() };
    assert!(!of(&["sojourn_ms.p99", "jain"], narrow).0.contains('±'));
    // What nobody has is a column without values.
    let (text, unmeasured) = of(&["jain", "sojourn_ms.p98"], TableStyle::default());
    assert_eq!(unmeasured, ["sojourn_ms.p98"]);
    assert!(
        text.lines().any(|l| l.trim_start().starts_with("codel") && l.trim_end().ends_with('-')),
        "{text}"
    );
}

#[test]
fn odd_results_have_a_table() {
    let empty = Results { runs: Vec::new(), ..sample::results(&[], &[], 0) };
    assert!(table(&empty, TableStyle::default()).contains("no finished run"));
    let mut odd = sample::results(&["a\u{1b}[31m\nb"], &[1, 2], 0);
    odd.runs[0].ports[0].sojourn_ms.mean = f64::NAN;
    odd.runs[1].ports[0].sojourn_ms.mean = f64::INFINITY;
    odd.runs[0].ports.push(Port { name: "second".into(), ..Port::default() });
    let text = table(&odd, TableStyle::default());
    assert!(text.contains("port second") && !text.contains('\u{1b}'));
    for sheet in [csv::runs(&odd), csv::cdf(&odd), html(&odd, "")] {
        assert!(!sheet.contains("NaN") || sheet.contains("<script"));
    }
}

/// A port that has its own discipline, whatever is compared, says so; in the sheet each port says what it has.
#[test]
fn ports_with_a_discipline_of_their_own_say_so() {
    let mut results = sample::results(&["codel", "pie"], &[1], 0);
    for run in &mut results.runs {
        let access = Port { name: "access".into(), discipline: "fi<fo".into(), ..run.ports[0].clone() };
        run.ports.insert(0, access);
    }
    let text = table(&results, TableStyle::default());
    assert!(text.contains("port access, always fi<fo\n") && text.contains("port bottleneck\n"), "{text}");
    let page = html(&results, "");
    assert!(page.contains("<caption>Port access, always fi&lt;fo</caption>"));
    assert!(page.contains("<caption>Port bottleneck</caption>"));
    let sheet = csv::runs(&results);
    assert!(
        sheet.contains("pie,1,sim,access,fi<fo,") && sheet.contains("pie,1,sim,bottleneck,pie,"),
        "{sheet}"
    );
}

/// Disciplines with several queues have these under the port's table, in a sheet and in the page.
#[test]
fn queues_have_rows_of_their_own() {
    let mut results = sample::results(&["codel", "santa"], &[1, 2], 0);
    let plain = [table(&results, TableStyle::default()), html(&results, "")];
    assert!(plain.iter().all(|t| !t.contains("mice")));
    for (i, run) in results.runs.iter_mut().filter(|r| r.discipline == "santa").enumerate() {
        run.ports[0].queues = [("mice", 2e5), ("q1", 4e7)]
            .map(|(name, rate_bps)| Queue {
                name: name.into(),
                rate_bps: rate_bps + 2e4 * i as f64,
                drop_fraction: 0.01,
                mark_fraction: f64::NAN,
                ..Queue::default()
            })
            .to_vec();
    }
    let text = table(&results, TableStyle::default());
    let rows: Vec<&str> = text.lines().filter(|l| l.contains("mice") || l.contains("q1")).collect();
    insta::assert_snapshot!(rows.join("\n"));
    assert!(html(&results, "").contains("<td>mice</td>"));
    let sheet = csv::queues(&results);
    assert!(sheet.starts_with("discipline,seed,port,queue,rate_bps,packets,sojourn_ms_mean"));
    assert_eq!(sheet.lines().count(), 5);
    assert!(sheet.contains("santa,2,bottleneck,q1,40020000,"), "{sheet}");
}

#[test]
fn sheets() {
    let results = sample::results(&["droptail", "co\"d,el"], &[7], 3);
    let head = |text: &str| text.lines().take(4).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(
        [
            csv::runs(&results),
            csv::groups(&results),
            head(&csv::flows(&results)),
            head(&csv::cdf(&results)),
            csv::series(&results.runs[1]),
        ]
        .join("\n\n")
    );
}

#[test]
fn unknown_values_are_empty_fields() {
    let mut results = sample::results(&["codel"], &[1], 30);
    results.runs[0].ports[0].utilization = f64::NAN;
    results.runs[0].detail.series.columns[0].values = vec![1.0, f64::INFINITY];
    let series = csv::series(&results.runs[0]);
    let field = |line: usize| series.lines().nth(line).unwrap().split(',').nth(1).unwrap();
    assert_eq!((field(1), field(2), field(30)), ("1", "", ""));
    assert!(csv::runs(&results).lines().nth(1).unwrap().contains(",10,,400001,"));
}
