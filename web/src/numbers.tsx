// What the runs come to: measures, and charts over time.
import { useMemo, useState } from "preact/hooks";
import { Chart, type Line } from "./chart.tsx";
import { column, type Lane, longest } from "./lane.ts";
import type { Model } from "./model.ts";
import type { Measure } from "./simulator.ts";
import { colourOf } from "./places.ts";
import { flowColour, type Theme } from "./theme.ts";
import { differ, fileName, figures, holds, plain, threeFigures } from "./words.ts";

/** What a measure is called here, and what it says; of a group's the part of its path behind the group's name. */
const NAMES: Record<string, [name: string, says: string]> = {
  utilization: ["link used", "The part of the link's capacity that is used (utilisation)."],
  "sojourn_ms.mean": ["mean waiting time", "How long packets wait in the queue, on average (sojourn time). Of a group, its own packets."],
  "sojourn_ms.p99": ["99 % wait less than", "The 99th percentile of the waiting time: one packet in a hundred waits longer."],
  sojourn_ms: ["mean waiting time", "How long packets wait in the queue, on average (sojourn time). Of a group, its own packets."],
  "datagrams.delay_ms.p99": ["99 % arrive within", "The 99th percentile of its packets' delay, from sender to receiver."],
  "datagrams.calls.mos": ["how it sounds (MOS)", "Mean opinion score: how people would rate the call, from 1, bad, to 4.5, the best that a telephone does."],
  drop_fraction: ["packets dropped", "The part of all packets that the queue manager or a full buffer drops."],
  mark_fraction: ["packets marked", "The part of all packets that are marked (ECN): their senders slow down, and no packet is lost."],
  goodput_bps: ["goodput", "Data that arrives, without headers and without what is sent twice."],
  jain: ["Jain's fairness index", "How evenly the flows share: 1 is even, and 1/n is one of n flows that has all."],
};

/** Words of the charts, and of what can be changed. */
const OTHERS: [name: string, says: string][] = [
  ["congestion window", "How many packets a sender has on their way at most, before it hears that one of them arrived."],
  ["pacing", "The rate at which a sender lets its packets go one by one, if it spaces them."],
  ["rtt", "Round-trip time: from a sender to its receiver and back, without the wait in the queue."],
  ["cca", "Congestion control algorithm: the rule by which a sender goes faster or slower."],
  ["ecn", "Whether a sender's packets may be marked, where others are dropped."],
  ["p, bdp", "How long a buffer is: in full packets, or as a multiple of what the link carries in one round-trip time."],
];

/** A group's name, and the part of a path that [`NAMES`] has. */
function parted(path: string): [group: string, measure: string] {
  const measure = Object.keys(NAMES).find((key) => path === key || (path.startsWith("group.") && path.endsWith(`.${key}`)));
  return path.startsWith("group.") && measure ? [path.slice("group.".length, -measure.length - 1), measure] : ["", measure ?? path];
}

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
    if (!differ(a, b)) return undefined;
    return a < b === (m.better === "low") ? 0 : 1;
  };
  const { told } = model;
  const [begin, end] = [(told?.warmup_ns ?? 0) / 1e9, (told?.duration_ns ?? 0) / 1e9];
  // The program's sentence on chance has a command that is of no use here.
  const answer = model.answer.filter((sentence) => !sentence.includes("--seeds"));
  const words = new Map(rows.flatMap((m) => (NAMES[parted(m.path)[1]] ? [NAMES[parted(m.path)[1]] ?? ["", ""]] : [])));
  return (
    <section aria-label="Measures">
      {answer.length > 0 && <p class="answer">{plain(answer.join(" "))}</p>}
      <table class="measures">
        <caption>
          {begin > 0
            ? `From ${figures(begin)} s to ${figures(end)} s. What came before is warm-up.`
            : "Over the whole run."}
        </caption>
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
              <th scope="row">{named(m)}</th>
              {model.lanes.map((_, i) => {
                const v = value(i, m.path)?.value;
                return (
                  <td key={i} class={best(m) === i ? "best" : ""} data-measure={m.path} data-value={v}>
                    {v === undefined ? "–" : `${threeFigures(v)} ${m.unit}`}
                    {best(m) === i && <span class="hidden"> (better)</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <details class="meanings">
        <summary>What these words mean</summary>
        <dl>
          {begin > 0 && (
            <div>
              <dt>warm-up</dt>
              <dd>The first {figures(begin)} s. There the senders only begin, so the table leaves it out.</dd>
            </div>
          )}
          {[...words, ...OTHERS].map(([name, says]) => (
            <div key={says}>
              <dt>{name}</dt>
              <dd>{says}</dd>
            </div>
          ))}
        </dl>
      </details>
      <p class="hint">
        This is one run of each, of one seed. How much of a difference is chance? Choose another <i>seed</i> below <i>Change it</i>. Or
        save the scenario, and let the program make five runs:{" "}
        <code>queuewright run {fileName(told?.name ?? null)} --seeds 1..5</code>
      </p>
    </section>
  );
}

function named(m: Measure): string {
  const [group, key] = parted(m.path);
  const name = NAMES[key]?.[0] ?? m.title;
  return group ? `${group}: ${name}` : m.port !== null ? `port ${m.port}: ${name}` : name;
}

/** Measures that people understand, by their paths in results. */
const SHOWN = ["sojourn_ms.mean", "sojourn_ms.p99", "utilization", "goodput_bps", "drop_fraction", "mark_fraction", "jain"];

const NO_RATES: [number, number, string][] = [];

export function Charts({ model, theme: of }: { model: Model; theme: Theme }) {
  const { told } = model;
  const time = longest([...model.lanes.map((lane) => lane.series), ...model.lanes.map((lane) => lane.before)]);
  const rates = told?.ports[0]?.rates ?? NO_RATES;
  const rate = useMemo(() => time.map((t) => holds(rates, t * 1e9)?.[1] ?? NaN), [rates, time, time.length]);
  if (!told) return null;
  const port = told.ports[0]?.name ?? "";
  const end = told.duration_ns / 1e9;
  const seek = (t: number): void => model.seek(t * 1e9);

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
      {rates.length > 1 && (
        <Chart
          {...common}
          title="Rate of the link"
          unit="Mbit/s"
          lines={[{ label: "rate", colour: of.text, values: rate, scale: 1e-6, at: (t) => holds(rates, Math.round(t * 1e9))?.[1] ?? NaN }]}
        />
      )}
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
    return [{ label: `${group}, flow ${flow}`, colour: charted(model, Number(flow), common.theme), values, scale, width: 1 }];
  });
  if (lines.length === 0) return null;
  return <Chart {...common} title={`${title}, ${lane.label}`} unit={unit} lines={lines.slice(0, 8)} {...(of === "pacing_bps" ? { peaks: 4 / 3 } : {})} />;
}

/** A flow's colour in the picture, or one to tell lines apart. */
function charted(model: Model, flow: number, of: Theme): string {
  const colour = colourOf(model.told, flow, of);
  return colour === of.grey ? flowColour(flow, of) : colour;
}

/** Thresholds that a packet sets are 0 before the first one comes: that is no threshold. */
export const isYetUnknown = (variable: string, value: number | undefined): boolean => variable === "threshold_bytes" && value === 0;

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
  const shown = all.find((c) => c.short === wanted) ?? all.find((c) => c.short === model.story?.shows) ?? all[0];
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
      <Chart {...common} title={`${lane.label}: ${shown.short}`} unit={shown.unit} peaks={4} lines={[{ label: shown.short, colour, values: shown.values, ...(isYetUnknown(shown.short, 0) ? { unknown: 0 } : {}) }]} />
    </>
  );
}
