// A chart over time. All on the page show the same time, zoom together, and have a line where the moment is that is shown.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Theme } from "./theme.ts";
import { figures } from "./words.ts";

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
}

const KEY = "time";
const all = new Set<Shown>();
let zooming = false;

interface Shown {
  plot: uPlot;
  head: HTMLDivElement;
}

/** Puts the line of all charts where the moment is (s). */
export function playheads(t: number): void {
  for (const { plot, head } of all) {
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
function drawn({ values, scale = 1 }: Line, length: number): (number | null)[] {
  const width = together(length);
  const out = new Array<number | null>(Math.ceil(length / width)).fill(null);
  for (let i = 0; i < length; i++) {
    const v = (values[i] ?? NaN) * scale;
    const at = Math.floor(i / width);
    const known = out[at];
    if (Number.isFinite(v) && (known == null || v > known)) out[at] = v;
  }
  return out;
}

/** A third more than what 99 of 100 of the values are below, or the highest. */
function usual([, ...lines]: uPlot.AlignedData): number {
  const all = lines.flatMap((line) => [...line].filter((v) => v != null)).sort((a, b) => a - b);
  const most = all.at(-1) ?? 0;
  return Math.min(most, (4 / 3) * (all[Math.floor(0.99 * all.length)] ?? most));
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
  /** The highest hundredth of the values may be cut off: a moment's peak would make all else flat. */
  peaks?: boolean;
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
  const { title, unit, lines, theme } = props;
  const shape = JSON.stringify([lines.map((l) => [l.label, l.colour, l.width, l.dash, l.sticks]), theme.dark, unit]);

  useEffect(() => {
    const at = place.current;
    if (!at) return;
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
          y: { range: (u, _min, max) => [0, (props.peaks ? usual(u.data) : max) * 1.08 || 1] },
        },
        axes: [
          { ...axis, size: 26, values: (_u, ticks) => ticks.map((v) => `${v} s`) },
          { ...axis, size: 52 },
        ],
        series: [
          { label: "time", value: (_u, v) => (v == null ? "–" : `${figures(v)} s`) },
          ...lines.map(
            (l): uPlot.Series => ({
              label: l.label,
              stroke: l.colour,
              width: l.width ?? 1.5,
              ...(l.dash ? { dash: l.dash } : {}),
              ...(l.sticks && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [1, 3] }), fill: l.colour } : {}),
              points: { show: false },
              value: (_u, v) => (v == null ? "–" : `${figures(v)} ${unit}`),
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
    const one = { plot, head };
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
