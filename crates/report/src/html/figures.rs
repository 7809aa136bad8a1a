//! What the pictures show: plotly.js figures as JSON, and the words beside them.

use super::figure::{COLORS, Comparison, Figure, Pool, color, escape, group_color, title};
use super::over_time;
use crate::summary::{Spread, runs_of};
use crate::thin;
use queuewright_results::measures::median;
use queuewright_results::quality::ellipse::Ellipse;
use queuewright_results::{Results, Run};
use serde_json::{Value, json};

const MAX_CDF_POINTS: usize = 400;
/// Left end of a logarithmic delay axis: less than any delay that matters.
const FLOOR_MS: f64 = 0.01;

/// Everything that the page's script draws, as JSON.
pub(super) fn data(pool: &Pool, figures: &[Figure]) -> String {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let controls: Vec<Value> = figure
                .controls
                .iter()
                .map(|(label, options)| json!({"label": label, "options": options}))
                .collect();
            json!({"id": figure.id, "controls": controls, "views": figure.views})
        })
        .collect();
    format!("{{\"arrays\":[{}],\"figures\":{}}}", pool.arrays.join(","), Value::from(figures))
}

/// The pictures that these results can fill.
pub(super) fn all(results: &Results, pool: &mut Pool) -> Vec<Figure> {
    let results = &Comparison::new(results);
    let mut figures = Vec::new();
    for (i, port) in results.ports.iter().enumerate() {
        let of = if results.ports.len() > 1 { format!(" at port {port}") } else { String::new() };
        figures.push(tradeoff(results, i, port, &of));
        figures.extend(distribution(results, i, &of, pool));
        figures.extend(over_time::queue(results, pool, i, port, &of));
        figures.extend(over_time::rate(results, pool, i, port, &of));
    }
    figures.extend(over_time::windows(results, pool));
    figures.extend(senders(results, pool));
    figures.extend(flows(results, pool));
    figures.extend(over_time::goodputs(results, pool));
    figures.extend(shares(results));
    figures
}

/// A second sign beside the colour.
fn symbol(discipline: usize) -> &'static str {
    const SYMBOLS: [&str; 8] =
        ["circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "hexagon"];
    // Where the colours begin again, the symbols do not.
    SYMBOLS[(discipline + discipline / COLORS) % SYMBOLS.len()]
}

/// A logarithmic axis with plain numbers at its ticks: powers of ten, and twice and
/// five times them if the values span few.
fn log_axis(name: &str, low: f64, high: f64) -> Value {
    let digits: &[u32] = if high / low > 300.0 { &[1] } else { &[1, 2, 5] };
    let ticks: Vec<String> =
        (-3..7).flat_map(|power| digits.iter().map(move |digit| format!("{digit}e{power}"))).collect();
    let values: Vec<f64> = ticks.iter().filter_map(|tick| tick.parse().ok()).collect();
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    json!({"title": title(&format!("{name} (logarithmic)")), "type": "log", "tickmode": "array",
        "tickvals": values, "ticktext": texts})
}

/// Utilisation or goodput against delay.
fn tradeoff(results: &Comparison, port_index: usize, port: &str, of: &str) -> Figure {
    type Get = fn(&Run, &queuewright_results::Port) -> f64;
    let delays: [(&str, Get); 3] = [
        ("mean", |_, port| port.sojourn_ms.mean),
        ("95th percentile", |_, port| port.sojourn_ms.p95),
        ("99th percentile", |_, port| port.sojourn_ms.p99),
    ];
    let throughputs: [(&str, &str, Get); 2] = [
        ("utilisation", "%", |_, port| port.utilization * 100.0),
        ("goodput", "bit/s", |run, _| run.goodput_bps()),
    ];
    let mut views = Vec::new();
    for (throughput, unit, y) in throughputs {
        for (delay, x) in delays {
            views.push(tradeoff_view(results, port, (throughput, unit, &y), (delay, &x)));
        }
    }
    let mut words = String::from(
        "<p>Each mark is a discipline: to the left packets wait less, higher up the link carries more. The \
         best place is the upper left corner. No discipline can be judged by one axis alone: an endless queue \
         keeps any link busy, an empty one has no delay.</p>",
    );
    if results.seeds.len() > 1 {
        words += "<p>The bars span all seeds around their mean; the faint marks are the single runs.</p>";
    }
    Figure {
        id: format!("tradeoff{port_index}"),
        title: format!("Throughput against delay{of}"),
        words,
        controls: vec![
            ("Throughput", throughputs.iter().map(|t| t.0.to_string()).collect()),
            ("Delay", delays.iter().map(|d| d.0.to_string()).collect()),
        ],
        views,
    }
}

type PortValue<'a> = &'a dyn Fn(&Run, &queuewright_results::Port) -> f64;

fn tradeoff_view(
    results: &Comparison,
    port: &str,
    (throughput, unit, y): (&str, &str, PortValue),
    (delay, x): (&str, PortValue),
) -> Value {
    let mut traces = Vec::new();
    let mut means = Vec::new();
    for (i, label) in results.labels.iter().enumerate() {
        let points: Vec<(u64, f64, f64)> = runs_of(results.results, label)
            .flat_map(|run| {
                run.ports.iter().filter(|p| p.name == port).map(|p| (run.seed, x(run, p), y(run, p)))
            })
            .filter(|(_, x, y)| x.is_finite() && y.is_finite())
            .collect();
        if points.is_empty() {
            continue;
        }
        let (sx, sy) = (Spread::of(points.iter().map(|p| p.1)), Spread::of(points.iter().map(|p| p.2)));
        means.push(sx.mean);
        let bar = |s: Spread| {
            json!({"type": "data", "symmetric": false, "array": [s.max - s.mean],
                "arrayminus": [s.mean - s.min], "thickness": 1.5, "width": 5, "visible": points.len() > 1})
        };
        let name = escape(label);
        if points.len() > 1 {
            traces.push(json!({
                "type": "scatter", "mode": "markers", "name": name, "legendgroup": i, "showlegend": false,
                "x": points.iter().map(|p| p.1).collect::<Vec<_>>(),
                "y": points.iter().map(|p| p.2).collect::<Vec<_>>(),
                "text": points.iter().map(|p| format!("seed {}", p.0)).collect::<Vec<_>>(),
                "marker": {"color": color(i), "symbol": symbol(i), "size": 7, "opacity": 0.4},
                "hovertemplate": format!("{name}, %{{text}}<br>%{{x:.3~s}} ms, %{{y:.4~s}}{unit}<extra></extra>"),
            }));
        }
        traces.push(json!({
            "type": "scatter", "mode": "markers", "name": name, "legendgroup": i,
            "x": [sx.mean], "y": [sy.mean], "error_x": bar(sx), "error_y": bar(sy),
            "marker": {"color": color(i), "symbol": symbol(i), "size": 13},
            "hovertemplate": format!("<b>{name}</b><br>%{{x:.3~f}} ms, %{{y:.4~s}}{unit}<extra></extra>"),
        }));
    }
    let (low, high) = means.iter().fold((f64::INFINITY, 0.0), |(l, h), &m| (f64::min(l, m), f64::max(h, m)));
    let name = format!("{delay} sojourn time, ms");
    let axis = if low > 0.0 && high / low > 20.0 {
        log_axis(&name, low, high)
    } else {
        json!({"title": title(&name), "rangemode": "tozero"})
    };
    let y_axis = if unit == "%" {
        json!({"title": title("utilisation, %")})
    } else {
        json!({"title": title(throughput), "tickformat": ".4~s", "ticksuffix": unit})
    };
    json!({"traces": traces, "layout": {
        "height": 440, "hovermode": "closest", "uirevision": format!("{throughput} {delay}"),
        "xaxis": axis, "yaxis": y_axis,
        "annotations": [{"text": "↖ better", "xref": "paper", "yref": "paper", "x": 0.99, "y": 0.01,
            "xanchor": "right", "yanchor": "bottom", "showarrow": false, "font": {"color": "@muted"}}],
    }})
}

/// Distribution of the sojourn time.
fn distribution(results: &Comparison, port_index: usize, of: &str, pool: &mut Pool) -> Option<Figure> {
    let mut traces = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, 0.0);
    for (i, label) in results.labels.iter().enumerate() {
        let (mut x, mut y, mut seeds) = (Vec::new(), Vec::new(), Vec::new());
        for &seed in results.shown_seeds() {
            let Some(points) =
                results.run(label, seed).and_then(|run| run.detail.sojourn_cdf.get(port_index))
            else {
                continue;
            };
            for (ms, share) in thin::curve(points, MAX_CDF_POINTS) {
                let ms = ms.max(FLOOR_MS);
                (low, high) = (f64::min(low, ms), f64::max(high, ms));
                x.push(ms);
                y.push(share * 100.0);
                seeds.push(seed.to_string());
            }
            // A gap between the curves of two seeds.
            x.push(f64::NAN);
            y.push(f64::NAN);
            seeds.push(String::new());
        }
        if x.iter().any(|x| x.is_finite()) {
            let name = escape(label);
            traces.push(json!({
                "type": "scatter", "mode": "lines", "name": name,
                "x": pool.add(x, 4), "y": pool.add(y, 5), "text": pool.add_texts(seeds),
                "line": {"color": color(i), "width": 2, "dash": if i < COLORS { "solid" } else { "dash" }},
                "hovertemplate":
                    format!("{name}, seed %{{text}}<br>%{{y:.4~f}} % wait up to %{{x:.4~f}} ms<extra></extra>"),
            }));
        }
    }
    if traces.is_empty() {
        return None;
    }
    let view = |kind: &str, axis: Value| {
        json!({"traces": traces, "layout": {
            "height": 440, "hovermode": "closest", "uirevision": kind, "xaxis": axis,
            "yaxis": {"title": title("packets that waited no longer, %"), "range": [0, 101]},
        }})
    };
    Some(Figure {
        id: format!("cdf{port_index}"),
        title: format!("Delay distribution{of}"),
        words: format!(
            "<p>For every delay: which share of the packets waited no longer. A curve further left is \
             better; a steep one means steady delay; where it nears 100 % only slowly, a few packets wait \
             very long, which is what voice and games feel. One curve for each seed. On the logarithmic axis, \
             delays under {FLOOR_MS} ms are drawn at {FLOOR_MS} ms.</p>{}",
            results.seeds_note()
        ),
        controls: vec![("Delay axis", vec!["logarithmic".into(), "linear".into()])],
        views: vec![
            view("log", log_axis("sojourn time, ms", low, high)),
            view("linear", json!({"title": title("sojourn time, ms")})),
        ],
    })
}

/// Points of a discipline that are drawn, and sides of an ellipse.
const MAX_SENDERS: usize = 300;
const SIDES: u32 = 48;

/// Every flow of every seed in the plane of wait and goodput, with the median and the 1-sigma ellipse of each discipline (RFC 7928, section 2.7).
fn senders(results: &Comparison, pool: &mut Pool) -> Option<Figure> {
    if results.results.runs.iter().all(|run| run.flows.len() < 2) {
        return None;
    }
    let mut groups: Vec<Option<&str>> = vec![None];
    if results.groups.len() > 1 {
        groups.extend(results.groups.iter().map(|group| Some(*group)));
    }
    let mut named = Vec::new();
    for group in groups {
        let mut traces = Vec::new();
        for (i, label) in results.labels.iter().enumerate() {
            let flows = runs_of(results.results, label).flat_map(|run| &run.flows);
            let points: Vec<(f64, f64)> = flows
                .filter(|flow| group.is_none_or(|group| flow.group == group))
                .map(|flow| (flow.sojourn_ms, flow.goodput_bps))
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .collect();
            let Some(ellipse) = Ellipse::of(&points) else { continue };
            let name = escape(label);
            let xy = |of: &[(f64, f64)], pool: &mut Pool| {
                (pool.add(of.iter().map(|p| p.0), 4), pool.add(of.iter().map(|p| p.1), 4))
            };
            let each = points.len().div_ceil(MAX_SENDERS);
            let (x, y) = xy(&points.iter().copied().step_by(each).collect::<Vec<_>>(), pool);
            traces.push(json!({
                "type": "scatter", "mode": "markers", "name": name, "legendgroup": i, "showlegend": false,
                "x": x, "y": y, "hoverinfo": "skip",
                "marker": {"color": color(i), "symbol": symbol(i), "size": 5, "opacity": 0.3},
            }));
            let (x, y) = xy(&ellipse.outline(SIDES), pool);
            traces.push(json!({
                "type": "scatter", "mode": "lines", "name": name, "legendgroup": i, "showlegend": false,
                "x": x, "y": y, "hoverinfo": "skip", "line": {"color": color(i), "width": 1.5},
            }));
            traces.push(json!({
                "type": "scatter", "mode": "markers", "name": name, "legendgroup": i,
                "x": [median(points.iter().map(|p| p.0))], "y": [median(points.iter().map(|p| p.1))],
                "marker": {"color": color(i), "symbol": symbol(i), "size": 12},
                "hovertemplate": format!(
                    "<b>{name}</b><br>%{{x:.3~f}} ms, %{{y:.4~s}}bit/s, {} flows<extra></extra>",
                    points.len()
                ),
            }));
        }
        if !traces.is_empty() {
            let view = json!({"traces": traces, "layout": {
                "height": 440, "hovermode": "closest", "uirevision": group.map(escape).unwrap_or_default(),
                "xaxis": {"title": title("mean wait of a flow's packets, ms"), "rangemode": "tozero"},
                "yaxis": {"title": title("goodput of a flow"), "tickformat": ".4~s", "ticksuffix": "bit/s", "rangemode": "tozero"},
                "annotations": [{"text": "↖ better", "xref": "paper", "yref": "paper", "x": 0.99, "y": 0.01,
                    "xanchor": "right", "yanchor": "bottom", "showarrow": false, "font": {"color": "@muted"}}],
            }});
            // A menu shows it as it is; nothing in the data looks like an element.
            named.push((group.unwrap_or("all").replace('<', "\u{2039}").replace('>', "\u{203a}"), view));
        }
    }
    let (names, views): (Vec<String>, Vec<Value>) = named.into_iter().unzip();
    (!views.is_empty()).then(|| Figure {
        id: "senders".into(),
        title: "Goodput against wait, flow by flow".into(),
        words: "<p>Each faint point is a flow of a seed (of more than 300 some are drawn). Each mark is the median of a discipline's flows, and each curve their 1-sigma \
                ellipse, as RFC 7928 (section 2.7) has it. A wide one says that the wait varies from flow to flow or from seed to seed, a high one that goodput does. \
                Sloping down to the right: who waits longer gets less.</p>"
            .into(),
        controls: vec![("Flows", names)],
        views,
    })
}

/// Forms of a symbol for the groups of flows, in their order.
const GROUP_VARIANTS: [&str; 4] = ["", "-open", "-dot", "-open-dot"];

/// Goodput of the single flows.
fn flows(results: &Comparison, pool: &mut Pool) -> Option<Figure> {
    let mut views = Vec::new();
    for &seed in results.shown_seeds() {
        let (mut by_group, mut by_rtt) = (Vec::new(), Vec::new());
        for (i, label) in results.labels.iter().enumerate() {
            let Some(run) = results.run(label, seed).filter(|run| !run.flows.is_empty()) else { continue };
            let name = escape(label);
            let y = pool.add(run.flows.iter().map(|flow| flow.goodput_bps), 5);
            let text = pool.add_texts(run.flows.iter().map(|flow| {
                format!(
                    "flow {} ({})<br>base RTT {:.4} ms, {} retransmits",
                    flow.id,
                    escape(&flow.cca),
                    flow.base_rtt_ms,
                    flow.retransmits
                )
            }));
            let groups = pool.add_texts(run.flows.iter().map(|flow| escape(&flow.group)));
            let hover = format!("{name}, %{{text}}<br>%{{y:.4~s}}bit/s<extra></extra>");
            let marker = json!({"color": color(i), "symbol": symbol(i), "size": 7, "opacity": 0.8});
            by_group.push(json!({
                "type": "box", "name": name, "x": groups, "y": y, "text": text, "marker": marker,
                "line": {"width": 1.2}, "boxpoints": "all", "jitter": 0.5, "pointpos": 0,
                "fillcolor": "rgba(0,0,0,0)", "hoveron": "points", "hovertemplate": hover,
            }));
            let variants = run.flows.iter().map(|flow| {
                let group = results.groups.iter().position(|g| *g == flow.group).unwrap_or(0);
                format!("{}{}", symbol(i), GROUP_VARIANTS[group % GROUP_VARIANTS.len()])
            });
            let mut marker = marker.clone();
            marker["symbol"] = pool.add_texts(variants);
            by_rtt.push(json!({
                "type": "scatter", "mode": "markers", "name": name, "y": y, "text": text, "marker": marker,
                "x": pool.add(run.flows.iter().map(|flow| flow.base_rtt_ms), 5), "hovertemplate": hover,
            }));
        }
        let y_axis = json!({"title": title("goodput"), "tickformat": ".3~s", "ticksuffix": "bit/s",
            "rangemode": "tozero"});
        views.push(json!({"traces": by_group, "layout": {
            "height": 460, "boxmode": "group", "hovermode": "closest", "uirevision": "group", "yaxis": y_axis,
            "xaxis": {"title": title("group"), "type": "category"},
        }}));
        views.push(json!({"traces": by_rtt, "layout": {
            "height": 460, "hovermode": "closest", "uirevision": "rtt", "yaxis": y_axis,
            "xaxis": {"title": title("base round-trip time, ms"), "rangemode": "tozero"},
        }}));
    }
    let any = views.iter().any(|view| view["traces"].as_array().is_some_and(|traces| !traces.is_empty()));
    any.then(|| Figure {
        id: "flows".into(),
        title: "Goodput of each flow".into(),
        words: format!(
            "<p>Each point is a flow, each box the middle half of a group under one discipline. Points close \
             together share the link alike; a group far below another is crowded out. Against the base \
             round-trip time: flows with a short way often win, a fair discipline makes the picture flat; \
             there the first group's marks are full, the second's hollow, the third's dotted, the fourth's \
             both.</p>{}",
            results.seeds_note()
        ),
        controls: vec![
            results.seed_control(),
            ("Along", vec!["group".into(), "base round-trip time".into()]),
        ],
        views,
    })
}

/// How the groups split the goodput.
fn shares(results: &Comparison) -> Option<Figure> {
    let groups = &results.groups;
    if groups.len() < 2 {
        return None;
    }
    const PATTERNS: [&str; 6] = ["", "/", ".", "\\", "x", "-"];
    let share = |label: &str, group: &str, of: &dyn Fn(&queuewright_results::Group) -> f64| {
        let mean = Spread::of(runs_of(results.results, label).map(|run| {
            let all: f64 = run.groups.iter().map(of).sum();
            run.groups.iter().filter(|g| g.name == group).map(of).sum::<f64>() / all * 100.0
        }))
        .mean;
        if mean.is_finite() { Value::from(mean) } else { Value::Null }
    };
    let mut rows: Vec<String> = results.labels.iter().map(|label| escape(label)).collect();
    rows.push("<i>if all flows<br>were equal</i>".into());
    let first = results.labels.first()?;
    let traces: Vec<Value> = groups
        .iter()
        .enumerate()
        .map(|(i, group)| {
            let mut shares: Vec<Value> =
                results.labels.iter().map(|label| share(label, group, &|g| g.goodput_bps)).collect();
            shares.push(share(first, group, &|g| f64::from(g.flows)));
            json!({
                "type": "bar", "orientation": "h", "name": escape(group), "x": shares, "y": rows,
                "marker": {"color": group_color(i), "line": {"color": "@ground", "width": 1},
                    "pattern": {"shape": PATTERNS[i % 6], "fillmode": "overlay", "fgopacity": 0.35}},
                "texttemplate": "%{x:.0f} %", "textposition": "inside", "insidetextanchor": "middle",
                "insidetextfont": {"color": "@ground"}, "textangle": 0,
                "hovertemplate": format!("%{{y}}<br>{}: %{{x:.1f}} %<extra></extra>", escape(group)),
            })
        })
        .collect();
    Some(Figure {
        id: "shares".into(),
        title: "Share of each group".into(),
        words: "<p>How the groups of flows (here the colours are groups) divide the goodput, as a mean over \
                the seeds. The last bar is the share that each group has of the number of flows: a discipline \
                whose bar is like it lets no congestion control push others aside. A group that sends at a \
                rate of its own, such as a call, takes only what it needs.</p>"
            .into(),
        controls: Vec::new(),
        views: vec![json!({"traces": traces, "layout": {
            "height": 130 + 52 * rows.len(), "barmode": "stack", "hovermode": "closest",
            "uniformtext": {"mode": "hide", "minsize": 9},
            "xaxis": {"title": title("share of the goodput, %"), "range": [0, 100]},
            "yaxis": {"autorange": "reversed", "type": "category"},
            "legend": {"traceorder": "normal"},
        }})],
    })
}
