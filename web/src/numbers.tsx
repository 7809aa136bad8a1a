// What the runs come to: measures, and charts over time.
import { useState } from "preact/hooks";
import { Chart, type Line } from "./chart.tsx";
import { column, type Lane, longest } from "./lane.ts";
import type { Model } from "./model.ts";
import type { Measure } from "./simulator.ts";
import { flowColour, type Theme } from "./theme.ts";
import { figures, plain } from "./words.ts";

export function Measures({ model }: { model: Model }) {
  const done = model.lanes.map((lane) => lane.finished);
  const first = done.find((d) => d !== undefined);
  if (!first) return null;
  const rows = first.measures.filter((m) => SHOWN.includes(m.path) || m.path.startsWith("group."));
  const value = (i: number, path: string): Measure | undefined => done[i]?.measures.find((m) => m.path === path);
  const best = (m: Measure): number | undefined => {
    const all = model.lanes.map((_, i) => value(i, m.path)?.value ?? NaN);
    if (all.length < 2 || m.better === "neither" || all.some((v) => Number.isNaN(v))) return undefined;
    const [a = 0, b = 0] = all;
    if (Math.abs(a - b) <= 0.01 * Math.max(Math.abs(a), Math.abs(b))) return undefined;
    return a < b === (m.better === "low") ? 0 : 1;
  };
  return (
    <section aria-label="Measures">
      {model.answer.length > 0 && <p class="answer">{plain(model.answer.join(" "))}</p>}
      <table class="measures">
        <caption>Over the whole run, after {figures((model.told?.warmup_ns ?? 0) / 1e9)} s of warm-up</caption>
        <thead>
          <tr>
            <td />
            {model.lanes.map((lane, i) => (
              <th key={i} scope="col">
                {lane.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((m) => (
            <tr key={m.path}>
              <th scope="row">{m.title}</th>
              {model.lanes.map((_, i) => {
                const v = value(i, m.path)?.value;
                return (
                  <td key={i} class={best(m) === i ? "best" : ""} data-measure={m.path} data-value={v}>
                    {v === undefined ? "–" : `${figures(v)} ${m.unit}`}
                    {best(m) === i && <span class="hidden"> (better)</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Measures that people understand, by their paths in results. */
const SHOWN = ["sojourn_ms.mean", "sojourn_ms.p99", "utilization", "goodput_bps", "drop_fraction", "mark_fraction", "jain"];

export function Charts({ model, theme: of }: { model: Model; theme: Theme }) {
  const { told } = model;
  if (!told) return null;
  const port = told.ports[0]?.name ?? "";
  const end = told.duration_ns / 1e9;
  const seek = (t: number): void => model.seek(t * 1e9);
  const time = longest([...model.lanes.map((lane) => lane.series), ...model.lanes.map((lane) => lane.before)]);

  /** One column of each run, and of the run before the last change. */
  const both = (name: string, scale: number, sticks = false): Line[] => {
    const old = model.lanes.flatMap((lane, i): Line[] =>
      lane.before && !sticks
        ? [{ label: `${lane.label} before`, colour: of.grey, values: column(lane.before, name) ?? [], scale, width: 1, dash: i === 1 ? [4, 3] : [] }]
        : [],
    );
    const now = model.lanes.map((lane, i): Line => ({ label: lane.label, colour: of.lanes[i] ?? of.text, values: column(lane.series, name) ?? [], scale, sticks }));
    return [...old, ...now];
  };
  const common = { time, end, theme: of, seek };
  const has = (name: string): boolean => model.lanes.some((lane) => (column(lane.series, name) ?? []).some((v) => v > 0));
  return (
    <section aria-label="Over time" class="charts">
      <Chart {...common} title="Queue" unit="kB" lines={both(`${port}.backlog_bytes`, 1e-3)} />
      <Chart {...common} title="Waiting time" unit="ms" lines={both("sojourn", 1)} />
      <Chart {...common} title="Drops" unit="packets" lines={both("drops", 1, true)} />
      {has("marks") && <Chart {...common} title="Marks" unit="packets" lines={both("marks", 1, true)} />}
      <div class="beside-charts">
        {model.lanes.map((lane, i) => (
          <div key={i}>
            <Flows {...common} lane={lane} model={model} of="cwnd" title="Congestion windows" unit="packets" />
            <Flows {...common} lane={lane} model={model} of="pacing_bps" title="Pacing" unit="Mbit/s" scale={1e-6} />
            <Variables {...common} lane={lane} model={model} colour={of.lanes[i] ?? of.text} />
          </div>
        ))}
      </div>
      <p class="hint">Click into a chart to go to that moment. Drag to zoom into all of them; a double click shows all again.</p>
    </section>
  );
}

interface Common {
  time: number[];
  end: number;
  theme: Theme;
  seek: (t: number) => void;
}

/** Something of a run's first flows, of those that have it. */
function Flows({
  lane,
  model,
  of,
  title,
  unit,
  scale = 1,
  ...common
}: Common & { lane: Lane; model: Model; of: string; title: string; unit: string; scale?: number }) {
  const lines = lane.series.columns.flatMap((c, i): Line[] => {
    const [flow, what] = /^flow(\d+)\.(\w+)$/.exec(c.name)?.slice(1) ?? [];
    const values = lane.series.values[i] ?? [];
    if (what !== of || !values.some((v) => v > 0)) return [];
    const group = model.told?.groups[model.told.flows[Number(flow)]?.group ?? -1]?.name ?? "flow";
    return [{ label: `${group}, flow ${flow}`, colour: flowColour(Number(flow), common.theme), values, scale, width: 1 }];
  });
  if (lines.length === 0) return null;
  return <Chart {...common} title={`${title}, ${lane.label}`} unit={unit} lines={lines.slice(0, 8)} peaks={of === "pacing_bps"} />;
}

/** The variables of a run's discipline, as its page calls them. */
export function variablesOf(lane: Lane, model: Model): { short: string; unit: string; values: number[] }[] {
  const port = model.told?.ports[0]?.name ?? "";
  return lane.series.columns
    .map((c, i) => ({ ...c, short: c.name.slice(port.length + 1), values: lane.series.values[i] ?? [] }))
    .filter((c) => c.name.startsWith(`${port}.`) && !model.catalogue.series.includes(c.short));
}

function Variables({ lane, model, colour, ...common }: Common & { lane: Lane; model: Model; colour: string }) {
  const [wanted, want] = useState("");
  const all = variablesOf(lane, model);
  const shown = all.find((c) => c.short === wanted) ?? all[0];
  if (!shown) return null;
  return (
    <>
      {all.length > 1 && (
        <label class="variable">
          Variable
          <select value={shown.short} onChange={(e) => want(e.currentTarget.value)}>
            {all.map((c) => (
              <option key={c.short} value={c.short}>
                {c.short}
              </option>
            ))}
          </select>
        </label>
      )}
      <Chart {...common} title={`${lane.label}: ${shown.short}`} unit={shown.unit} lines={[{ label: shown.short, colour, values: shown.values }]} />
    </>
  );
}
