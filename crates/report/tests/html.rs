//! The report: self-contained, inert to what labels hold, whole for any number.

mod sample;

use base64::prelude::{BASE64_STANDARD, Engine};
use proptest::prelude::*;
use queuewright_report::html;
use queuewright_results::{Group, Port, Results};
use serde_json::Value;
use std::io::Read;

/// The page without the source of plotly.js, and the data that its script draws.
fn parts(page: &str) -> (String, Value) {
    let (before, rest) = page.split_once("id=\"data\">").expect("data");
    let (data, rest) = rest.split_once("</script>").expect("end of data");
    let (_, rest) = rest.split_once("</script>").expect("end of plotly.js");
    let page = format!("{before}{data}{rest}");
    (page, serde_json::from_str(data).expect("data is JSON"))
}

fn sample() -> Results {
    sample::results(&["droptail", "codel", "pie", "titrate"], &[1, 2, 3], 3000)
}

#[test]
fn page_fetches_nothing() {
    let page = html(&sample(), "[link]\nrate = \"100mbit\"\n");
    // The browser itself is told to fetch nothing.
    assert!(page.contains("content=\"default-src 'none'; script-src 'unsafe-inline'; style-src"));
    let (own, _) = parts(&page);
    for word in
        ["http:", "https:", "//cdn", "src=", "url(", "@import", "<link", "<iframe", "fetch(", "import("]
    {
        assert!(!own.contains(word), "{word}");
    }
    assert!(own.matches("href=").count() == own.matches("href=\"#").count());
    let (_, rest) = page.split_once("id=\"plotly\">").expect("the library stands in the page");
    let (packed, _) = rest.split_once("</script>").expect("its end");
    let packed = BASE64_STANDARD.decode(packed).expect("base64");
    let mut library = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut library).expect("gzip");
    assert!(library.starts_with("/**\n* plotly.js (cartesian - minified) v3.0.1\n"));
    assert_eq!(
        page.matches("<script").count() - page.matches("\"<script").count(),
        page.matches("</script>").count()
    );
    assert!((600_000..1_500_000).contains(&page.len()), "{} bytes", page.len());
}

#[test]
fn page_fits_a_phone_and_says_what_it_shows() {
    let (own, data) = parts(&html(&sample(), ""));
    assert!(own.contains("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"));
    let ids: Vec<&str> =
        data["figures"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["tradeoff0", "cdf0", "queue0", "rate0", "cwnd", "senders", "flows", "goodput", "shares"]
    );
    for id in ids {
        let section = own.split(&format!("id=\"{id}-title\">")).nth(1).expect("a heading");
        let words = section.split("<div").next().unwrap();
        assert!(words.contains("<p>") && words.len() > 120, "{id} is explained");
    }
}

/// Every view stands, every array that it names is there, x and y are of one length.
#[test]
fn views_are_whole() {
    let (_, data) = parts(&html(&sample(), ""));
    let arrays = data["arrays"].as_array().unwrap();
    let length = |value: &Value| match value.get("ref").and_then(Value::as_u64) {
        Some(n) => arrays[n as usize].as_array().unwrap().len(),
        None => value.as_array().expect("an array or a reference").len(),
    };
    for figure in data["figures"].as_array().unwrap() {
        let combinations: usize = figure["controls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|control| control["options"].as_array().unwrap().len())
            .product();
        let views = figure["views"].as_array().unwrap();
        assert_eq!(views.len(), combinations, "{}", figure["id"]);
        for view in views {
            let traces = view["traces"].as_array().unwrap();
            assert!(!traces.is_empty());
            for trace in traces {
                assert_eq!(length(&trace["x"]), length(&trace["y"]), "{}", figure["id"]);
            }
        }
    }
    assert!(arrays.iter().all(|array| array.as_array().unwrap().len() <= 1200));
}

#[test]
fn labels_are_inert() {
    let evil = "<script>alert(1)</script><!--\u{2028}\"'><img src=x onerror=alert(2)>";
    let mut results = sample::results(&[evil, "codel"], &[1, 2], 50);
    results.scenario = serde_json::json!({ "name": evil, "description": evil, "hash": evil });
    results.version = evil.into();
    for run in &mut results.runs {
        run.parameters.insert(evil.into(), evil.into());
        run.engine = evil.into();
        run.ports[0].name = evil.into();
        run.ports.push(Port { name: "second".into(), ..Port::default() });
        run.groups[0].name = evil.into();
        for flow in &mut run.flows {
            flow.group = evil.into();
            flow.cca = evil.into();
        }
        run.detail.series.columns[0].name = format!("{evil}.backlog_bytes");
        run.detail.series.columns[2].name = format!("flow{evil}.cwnd");
    }
    let (own, data) = parts(&html(&results, evil));
    assert!(!own.contains("<script>alert") && !own.contains("<img") && !own.contains("<!--"));
    // Plotly reads a subset of HTML in its texts: nothing of the label is left in it.
    let texts = data.to_string();
    assert!(texts.contains("&lt;script&gt;"));
    assert!(!texts.contains("<script") && !texts.contains("<img"));
}

/// The report has every measure, as the result object names it; of very many the first.
#[test]
fn every_measure_is_in_it() {
    let mut results = sample();
    let (own, _) = parts(&html(&results, ""));
    for path in queuewright_results::measures::by_path(&results.runs[0]).keys() {
        assert!(own.contains(&format!("<th scope=\"row\">{path}</th>")), "{path}");
    }
    let group = results.runs[0].groups[0].clone();
    results.runs[0].groups = (0..2000).map(|i| Group { name: format!("g{i}"), ..group.clone() }).collect();
    let (own, _) = parts(&html(&results, ""));
    assert!(own.contains("The first 2000; results.json has "));
}

#[test]
fn odd_results_have_a_page() {
    let mut empty = sample();
    empty.runs.clear();
    let (own, data) = parts(&html(&empty, ""));
    assert!(own.contains("no finished run"));
    assert_eq!(data["figures"], serde_json::json!([]));
    // As read back from results.json: no distributions, no series.
    let back = Results::from_json(&sample().to_json()).unwrap();
    let (_, data) = parts(&html(&back, ""));
    assert_eq!(data["figures"].as_array().unwrap().len(), 4);
    // Interrupted: the second discipline lacks a seed.
    let mut cut = sample();
    cut.runs.truncate(4);
    parts(&html(&cut, ""));
}

#[test]
fn many_seeds_stay_small() {
    let seeds: Vec<u64> = (1..=30).collect();
    let page = html(&sample::results(&["codel", "pie"], &seeds, 5000), "");
    assert!(page.contains("The first 5 of 30 seeds"));
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_number_makes_a_page(
        values in prop::collection::vec(prop::num::f64::ANY, 40),
        mean in prop::num::f64::ANY,
        utilization in prop::num::f64::ANY,
        goodput in prop::num::f64::ANY,
    ) {
        let mut results = sample::results(&["codel", "pie"], &[1, 2], 40);
        for run in &mut results.runs {
            for column in &mut run.detail.series.columns {
                column.values.clone_from(&values);
            }
            run.detail.series.time_s[7] = mean;
            run.detail.sojourn_cdf[0][3] = (mean, utilization);
            run.ports[0].sojourn_ms.mean = mean;
            run.ports[0].utilization = utilization;
            run.groups[0].goodput_bps = goodput;
            run.flows[0].goodput_bps = goodput;
        }
        let (own, data) = parts(&html(&results, ""));
        prop_assert!(!own.contains("NaN") && !own.contains("Infinity"));
        prop_assert_eq!(data["figures"].as_array().unwrap().len(), 9);
        // The values come through with five figures, gaps where there is none.
        let close = |a: &Value, b: f64| match a.as_f64() {
            Some(a) => (a - b).abs() <= b.abs() * 1e-4,
            // Rounding may take the largest of all numbers past the end.
            None => !b.is_finite() || b.abs() > 1e308,
        };
        let arrays = data["arrays"].as_array().unwrap();
        let found = arrays.iter().filter_map(Value::as_array).any(|array| {
            array.len() == values.len() && array.iter().zip(&values).all(|(a, &b)| close(a, b))
        });
        prop_assert!(found);
    }
}

/// Relative luminance, WCAG 2.2.
fn luminance(color: &str) -> f64 {
    let part = |i: usize| {
        let c = f64::from(u8::from_str_radix(&color[i..i + 2], 16).unwrap()) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

/// Lines and marks need 3:1 against the ground, text 4.5:1 (WCAG 2.2, 1.4.11 and 1.4.3).
#[test]
fn colors_stand_out_on_light_and_dark() {
    let css = include_str!("../src/html/report.css");
    let (light, dark) = css.split_once("@media (prefers-color-scheme: dark)").unwrap();
    for theme in [light, dark] {
        let value = |name: &str| {
            let (_, rest) = theme.split_once(&format!("--{name}: ")).expect(name);
            luminance(rest.split(';').next().unwrap())
        };
        let ratio = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        let marks = (0..8).map(|i| format!("c{i}")).chain((0..6).map(|i| format!("g{i}")));
        for (name, least) in marks.map(|m| (m, 3.0)).chain([("ink".into(), 7.0), ("muted".into(), 4.5)]) {
            let contrast = ratio(value(&name), value("ground"));
            assert!(contrast >= least, "--{name}: {contrast:.2}");
        }
        assert!(ratio(value("ink"), value("best")) >= 4.5);
    }
}
