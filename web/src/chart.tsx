// A chart over time. All on the page show the same time, zoom together, and have a line where the moment is that is shown.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { CALM_MS } from "./hooks.ts";
import { until } from "./packets.ts";
import { usual } from "./scale.ts";
import type { Theme } from "./theme.ts";
import { figures, seconds } from "./words.ts";

export interface Line {
  label: string;
  colour: string;
  values: readonly number[];
  /** What they are multiplied by, to be in the chart's unit. */
  scale?: number;
  width?: number;
  dash?: number[];
  /** Sticks from 0 and not a line. */
  sticks?: boolean;
  /** This value says that there is none yet. */
  unknown?: number;
  /** What holds at a moment (s), where that may change between two samples. */
  at?: (t: number) => number;
}

const KEY = "time";
const all = new Set<Shown>();
let zooming = false;

interface Shown {
  plot: uPlot;
  head: HTMLDivElement;
  /** How many samples there are until a moment, s. */
  known: (t: number) => number;
  /** So many were there when the legend was written. */
  told?: number;
}

/** The moment that is shown, s; of a page that is about none none. */
let moment: number | undefined;
let legends = 0;

const isPointed = (plot: uPlot): boolean => (plot.cursor.left ?? -1) >= 0;

/** Puts the line of all charts where the moment is (s), and what holds then below them, unless the pointer is in one. */
export function playheads(t: number): void {
  const moved = t !== moment;
  moment = t;
  const now = performance.now();
  const is_calm = now - legends >= CALM_MS;
  if (is_calm) legends = now;
  for (const one of all) {
    const { plot, head } = one;
    const known = one.known(t);
    if (is_calm && !isPointed(plot) && known > 0 && (moved || plot.legend.idx == null || one.told !== known)) {
      const times = plot.data[0];
      plot.setLegend({ idx: Math.max(0, until(times, times.length, t) - 1) }, false);
      one.told = known;
    }
    const { min, max } = plot.scales["x"] ?? {};
    const x = plot.valToPos(t, "x");
    const is_inside = min != null && max != null && t >= min && t <= max && Number.isFinite(x);
    head.style.display = is_inside ? "" : "none";
    if (is_inside) head.style.transform = `translateX(${x}px)`;
  }
}

/** More points than these nobody sees: of so many that lie together the largest is drawn. */
const POINTS = 4000;

const together = (length: number): number => Math.max(1, Math.ceil(length / POINTS));

/** A line's values as they are drawn, without what is no number. */
function drawn({ values, scale = 1, unknown }: Line, length: number): (number | null)[] {
  const width = together(length);
  const out = new Array<number | null>(Math.ceil(length / width)).fill(null);
  for (let i = 0; i < length; i++) {
    const v = (values[i] ?? NaN) * scale;
    const at = Math.floor(i / width);
    const known = out[at];
    if (Number.isFinite(v) && values[i] !== unknown && (known == null || v > known)) out[at] = v;
  }
  return out;
}

export function Chart(props: {
  title: string;
  unit: string;
  time: readonly number[];
  /** What is shown of the time where nothing is zoomed, s. */
  begin?: number;
  end: number;
  lines: Line[];
  theme: Theme;
  /** The highest hundredth of the values may be cut off, if they go so many times higher: a moment's peak would make all else flat. */
  peaks?: number;
  /** What a click does. */
  seek?: (t: number) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<Shown | undefined>(undefined);
  /** What was shown when nothing was zoomed. */
  const full = useRef<{ min: number; max: number } | undefined>(undefined);
  const { begin = 0, end } = props;
  const seek = useRef(props.seek);
  seek.current = props.seek;
  const latest = useRef(props);
  latest.current = props;
  const { title, unit, lines, theme } = props;
  const shape = JSON.stringify([lines.map((l) => [l.label, l.colour, l.width, l.dash, l.sticks]), theme.dark, unit]);

  useEffect(() => {
    const at = place.current;
    if (!at) return;
    const known = (t: number): number => until(latest.current.time, latest.current.time.length, t);
    // What is drawn is the most of several samples.
    const sample = (i: number, t: number): number | undefined => {
      const of = latest.current.lines[i];
      const value = of?.at?.(t) ?? of?.values[known(t) - 1] ?? NaN;
      return of && (value === of.unknown ? NaN : value * (of.scale ?? 1));
    };
    const axis: uPlot.Axis = {
      stroke: theme.quiet,
      grid: { stroke: theme.faint, width: 0.5 },
      ticks: { stroke: theme.faint, width: 0.5 },
      font: "11px system-ui, sans-serif",
    };
    const plot = new uPlot(
      {
        width: Math.max(at.clientWidth, 50),
        height: 120,
        legend: { live: true },
        cursor: { sync: { key: KEY }, drag: { x: true, y: false }, points: { show: false } },
        scales: {
          x: { time: false },
          y: { range: (u, _min, max) => [0, (props.peaks ? usual(u.data.slice(1), props.peaks) : max) * 1.08 || 1] },
        },
        axes: [
          { ...axis, size: 26, values: (_u, ticks) => ticks.map((v) => `${v} s`) },
          // As wide as its longest number.
          { ...axis, size: (_u, ticks) => Math.max(52, 18 + 7 * Math.max(...(ticks ?? []).map((v) => v.length))) },
        ],
        series: [
          { label: "time", value: (u, v) => (v == null ? "–" : `${seconds((isPointed(u) ? v : (moment ?? v)) * 1e9)} s`) },
          ...lines.map(
            (l): uPlot.Series => ({
              label: l.label,
              stroke: l.colour,
              width: l.width ?? 1.5,
              ...(l.dash ? { dash: l.dash } : {}),
              ...(l.sticks && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [1, 3] }), fill: l.colour } : {}),
              points: { show: false },
              value: (u, v: number | null, i) => {
                const exact = isPointed(u) || moment === undefined ? v : sample(i - 1, moment);
                return exact == null || !Number.isFinite(exact) ? "–" : `${figures(exact)} ${unit}`;
              },
            }),
          ),
        ],
        hooks: {
          setScale: [
            (u, key): void => {
              if (key !== "x" || zooming) return;
              const { min, max } = u.scales["x"] ?? {};
              if (min == null || max == null) return;
              zooming = true;
              for (const other of all) if (other.plot !== u) other.plot.setScale("x", { min, max });
              zooming = false;
            },
          ],
        },
      },
      [[], ...lines.map(() => [])] as uPlot.AlignedData,
      at,
    );
    const head = document.createElement("div");
    head.className = "playhead";
    head.style.display = "none";
    plot.over.append(head);
    let down = 0;
    plot.over.addEventListener("pointerdown", (e) => (down = e.clientX));
    plot.over.addEventListener("click", (e) => {
      if (Math.abs(e.clientX - down) < 4) seek.current?.(plot.posToVal(e.offsetX, "x"));
    });
    const one: Shown = { plot, head, known };
    shown.current = one;
    all.add(one);
    const resized = new ResizeObserver(() => {
      const width = Math.floor(at.clientWidth);
      if (width > 50 && width !== plot.width) plot.setSize({ width, height: 120 });
    });
    resized.observe(at);
    return () => {
      resized.disconnect();
      all.delete(one);
      plot.destroy();
      shown.current = undefined;
    };
  }, [shape]);

  useEffect(() => {
    const plot = shown.current?.plot;
    if (!plot) return;
    const length = props.time.length;
    const { min, max } = plot.scales["x"] ?? {};
    const last = full.current ?? { min: begin, max: end };
    const zoomed = min != null && max != null && (min > last.min || max < last.max) && max > min;
    zooming = true;
    const width = together(length);
    const time = props.time.filter((_, i) => i % width === 0);
    plot.setData([time, ...lines.map((l) => drawn(l, length))] as uPlot.AlignedData, true);
    full.current = { min: begin, max: end };
    plot.setScale("x", zoomed ? { min, max } : full.current);
    zooming = false;
    // Columns grow in place. Without these the chart would be drawn again whenever the moment shown moves.
  }, [shape, begin, end, props.time, props.time.length, ...lines.flatMap((l): unknown[] => [l.values, l.values.length])]);

  return (
    <div class="chart" role="group" aria-label={`${title}, ${unit}, over time`}>
      <p class="chart-title">
        {title} <span class="unit">{unit}</span>
      </p>
      <div ref={place} />
    </div>
  );
}
