//! The report: one HTML file that needs no network.
//!
//! Pictures are plotly.js figures. Its source stands once in the page, packed (gzip, base64): of its bundles the one of plain axes,
//! `plotly.js-cartesian-dist-min` 3.0.1 as npm has it. A content security policy in the page forbids the browser every
//! fetch, whatever the page may hold.

mod figure;
mod figures;
mod over_time;

use crate::{explorer, summary};
use base64::prelude::{BASE64_STANDARD, Engine};
use figure::{COLORS, Figure, Pool, escape};
use queuewright_results::Results;
use queuewright_results::measures::Better;
use std::fmt::Write;

/// plotly.js, as `gzip -9n` packs it.
const PLOTLY: &[u8] = include_bytes!("plotly.js.gz");

/// The report as one self-contained HTML page of about 1 MB: summary, pictures with
/// their explanations, and the scenario. `scenario_toml` is echoed in it.
pub fn html(results: &Results, scenario_toml: &str) -> String {
    let mut pool = Pool::default();
    let figures = figures::all(results, &mut pool);
    let mut page = String::with_capacity(2 << 20);
    page += concat!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ",
        "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n",
        "<title>Disciplines compared</title>\n<style>\n",
        include_str!("report.css"),
        "</style>\n</head>\n<body>\n"
    );
    head(&mut page, results, &figures);
    summary_tables(&mut page, results);
    for figure in &figures {
        let _ = write!(
            page,
            "<section>\n<h2 id=\"{0}-title\">{1}</h2>\n{2}\n<div class=\"plot\" id=\"{0}\" role=\"img\" \
             aria-label=\"{1}\"></div>\n</section>\n",
            figure.id,
            escape(&figure.title),
            figure.words
        );
    }
    scenario(&mut page, results, scenario_toml);
    page += WORDS;
    page += "<script type=\"application/json\" id=\"data\">";
    page += &script_safe(&figures::data(&pool, &figures));
    page += "</script>\n<script type=\"application/gzip\" id=\"plotly\">";
    BASE64_STANDARD.encode_string(PLOTLY, &mut page);
    page += concat!("</script>\n<script>\n", include_str!("report.js"), "</script>\n</body>\n</html>\n");
    page
}

fn head(page: &mut String, results: &Results, figures: &[Figure]) {
    let text = |key: &str| results.scenario.get(key).and_then(|value| value.as_str()).map(escape);
    let _ = write!(
        page,
        "<header>\n<h1>Disciplines compared{}</h1>\n<p>{}</p>\n<p class=\"muted\">{}. Queuewright {}.</p>\n\
         <noscript><p>The pictures need JavaScript; the table below does not.</p></noscript>\n<nav>\
         <a href=\"#summary\">Summary</a>",
        text("name").map(|name| format!(": {name}")).unwrap_or_default(),
        text("description").unwrap_or_default(),
        escape(&summary::conditions(results)),
        escape(&results.version)
    );
    for figure in figures {
        let _ = write!(page, " <a href=\"#{}-title\">{}</a>", figure.id, escape(&figure.title));
    }
    *page += " <a href=\"#scenario\">Scenario</a> <a href=\"#words\">Words</a></nav>\n</header>\n";
}

fn summary_tables(page: &mut String, results: &Results) {
    *page += "<section>\n<h2 id=\"summary\">Summary</h2>\n";
    let answer = crate::answer(results);
    if !answer.is_empty() {
        let _ = writeln!(page, "<p class=\"answer\">{}</p>", escape(&answer.join(" ")));
    }
    *page += "<p>One row for each discipline. A good one \
              keeps the link busy (high utilisation) while packets wait little (low sojourn time). Each \
              value is the mean over the seeds";
    if summary::seeds(results).len() > 1 {
        *page += " ± half of the range they span: differences smaller than that may be luck";
    }
    *page += ". The best of a column is tinted and starred.</p>\n";
    let labels = summary::labels(results);
    let ports = summary::ports(results);
    for port in &ports {
        let columns = summary::columns(results, port);
        *page += "<div class=\"scroll\"><table>";
        if ports.len() > 1 {
            let own = summary::own_discipline(results, port);
            let own = own.map_or(String::new(), |d| format!(", always {}", escape(d)));
            let _ = write!(page, "<caption>Port {}{own}</caption>", escape(port));
        }
        *page += "<thead><tr><th scope=\"col\">discipline</th>";
        for column in &columns {
            let _ = write!(
                page,
                "<th scope=\"col\">{} {}<br><small>{}</small></th>",
                column.measure.name,
                column.measure.part,
                match (column.unit, column.measure.better()) {
                    ("", Better::High) => "of 1, high is good".into(),
                    (unit, Better::High) => format!("{unit}, high is good"),
                    (unit, Better::Low) => format!("{unit}, low is good"),
                    (unit, Better::Neither) => unit.to_string(),
                }
            );
        }
        *page += "</tr></thead>\n<tbody>\n";
        for (i, label) in labels.iter().enumerate() {
            let _ = write!(
                page,
                "<tr><th scope=\"row\"><span class=\"swatch\" style=\"background:var(--c{})\"></span>{}</th>",
                i % COLORS,
                escape(label)
            );
            for column in &columns {
                let cell = &column.cells[i];
                let _ = write!(
                    page,
                    "<td{}>{}{}",
                    if cell.best { " class=\"best\"" } else { "" },
                    cell.mean,
                    if cell.best { " ★" } else { "" }
                );
                if !cell.plus_minus.is_empty() {
                    let _ = write!(page, "<br><small>±{}</small>", cell.plus_minus);
                }
                *page += "</td>";
            }
            *page += "</tr>\n";
        }
        *page += "</tbody></table></div>\n";
        queue_table(page, &summary::queues(results, port));
    }
    for of_groups in summary::group_tables(results) {
        group_table(page, &of_groups);
    }
    every_measure(page, results);
    *page += "</section>\n";
}

/// Most measures that the table of all has: hundreds of groups have each some fifty.
const MOST_MEASURES: usize = 2000;

/// Every measure of every discipline, behind a line that opens it.
fn every_measure(page: &mut String, results: &Results) {
    let mut more = 0;
    let chosen = summary::chosen(results, |all| {
        more = all.len().saturating_sub(MOST_MEASURES);
        // What there may be very many of, last.
        let mut all: Vec<String> = all.iter().cloned().collect();
        all.sort_by_key(|path| path.starts_with("group."));
        all.truncate(MOST_MEASURES);
        all
    });
    if chosen.paths.is_empty() {
        return;
    }
    *page += "<details><summary>Every measure, as --columns names it</summary>\n";
    if more > 0 {
        let _ = writeln!(page, "<p>The first {MOST_MEASURES}; results.json has {more} more.</p>");
    }
    *page += "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">measure</th>";
    for label in summary::labels(results) {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escape(label));
    }
    *page += "</tr></thead>\n<tbody>\n";
    for (i, path) in chosen.paths.iter().enumerate() {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(path));
        for cell in chosen.rows.iter().map(|row| &row[i]) {
            let _ = write!(page, "<td>{}", cell.mean);
            if !cell.plus_minus.is_empty() {
                let _ = write!(page, " <small>±{}</small>", cell.plus_minus);
            }
            *page += "</td>";
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div></details>\n";
}

/// The queues of the disciplines that have several.
fn queue_table(page: &mut String, queues: &summary::QueueTable<'_>) {
    if queues.rows.is_empty() {
        return;
    }
    *page += "<div class=\"scroll\"><table><caption>Queues of the disciplines that have several</caption>\
              <thead><tr><th scope=\"col\">discipline</th><th scope=\"col\">queue</th>";
    for (m, unit) in summary::QUEUE_MEASURES.iter().zip(&queues.units) {
        let _ = write!(page, "<th scope=\"col\">{} {}<br><small>{unit}</small></th>", m.name, m.part);
    }
    *page += "</tr></thead>\n<tbody>\n";
    for (label, queue, values) in &queues.rows {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th><td>{}</td>", escape(label), escape(queue));
        for value in values {
            let _ = write!(page, "<td>{value}</td>");
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div>\n";
}

/// What groups have to tell beside their goodput.
fn group_table(page: &mut String, of_groups: &summary::GroupTable<'_>) {
    let caption = of_groups.caption;
    let _ = write!(page, "<div class=\"scroll\"><table><caption>{caption}</caption><thead><tr>");
    for key in of_groups.keys {
        let _ = write!(page, "<th scope=\"col\">{key}</th>");
    }
    for (name, part, unit) in &of_groups.headings {
        let _ = write!(page, "<th scope=\"col\">{name} {}<br><small>{unit}</small></th>", escape(part));
    }
    *page += "</tr></thead>\n<tbody>\n";
    for (names, values) in &of_groups.rows {
        *page += "<tr>";
        for (i, name) in names.iter().enumerate() {
            let name = escape(name);
            let _ = match i {
                0 => write!(page, "<th scope=\"row\">{name}</th>"),
                _ => write!(page, "<td>{name}</td>"),
            };
        }
        for value in values {
            let _ = write!(page, "<td>{value}</td>");
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div>\n";
}

fn scenario(page: &mut String, results: &Results, scenario_toml: &str) {
    *page += "<section>\n<h2 id=\"scenario\">Scenario</h2>\n<p>What was run. The same scenario and seeds give \
              the same results on any machine.</p>\n";
    if !scenario_toml.trim().is_empty() {
        let _ = writeln!(
            page,
            "<details open><summary>Scenario file</summary><pre>{}</pre></details>",
            escape(scenario_toml)
        );
    }
    if let Some(address) = explorer::address(scenario_toml) {
        let _ = writeln!(
            page,
            "<p><a href=\"{}\">See it packet by packet</a> in the explorer, while <code>queuewright explore</code> \
             runs on this machine.</p>",
            escape(&address)
        );
    }
    let _ = writeln!(
        page,
        "<details><summary>The same as JSON, with its hash</summary><pre>{}</pre></details>",
        escape(&format!("{:#}", results.scenario))
    );
    *page += "<details><summary>Parameters of the disciplines</summary><div class=\"scroll\"><table>\n";
    for label in summary::labels(results) {
        let Some(run) = summary::runs_of(results, label).next() else { continue };
        let parameters: Vec<String> =
            run.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"words\">{}</td></tr>",
            escape(label),
            escape(&parameters.join(", "))
        );
    }
    *page += "</table></div></details>\n</section>\n";
}

/// What the words mean, for a first reader.
const WORDS: &str = "<section>\n<h2 id=\"words\">Words</h2>\n<dl>\n\
<dt>Discipline, discipline</dt><dd>The rule by which a port decides which waiting packets to send, to mark \
or to drop.</dd>\n\
<dt>Utilisation</dt><dd>The share of the link's capacity that carried packets.</dd>\n\
<dt>Sojourn time</dt><dd>How long a packet waited in the queue, from its arrival to the start of its \
transmission. p95: 95 % of the packets waited no longer than this; p99: 99 %.</dd>\n\
<dt>Drops, marks</dt><dd>The share of the arriving packets that was thrown away, or marked to ask the sender \
to slow down (ECN).</dd>\n\
<dt>Goodput</dt><dd>Data that reached the applications, each byte counted once.</dd>\n\
<dt>Jain's index</dt><dd>Fairness among the flows: 1 if all have the same goodput, 1/n if one of n has it \
all.</dd>\n\
<dt>Completion time</dt><dd>From the start of a flow (its first SYN) to the arrival of its last byte; of a page: to that \
of its last flow. Only flows that started after the warm-up count.</dd>\n\
<dt>Warm-up</dt><dd>The front of every run, in which flows start; it is in the pictures over time but not in \
any number.</dd>\n\
<dt>Seed</dt><dd>A number that fixes every random choice of a run. Several seeds show how much of a \
difference is luck.</dd>\n\
</dl>\n</section>\n";

/// JSON that cannot end a script element or open a comment in it.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c")
}
