// Numbers and values in words.
import type { Json } from "./simulator.ts";

export const seconds = (ns: number): string => {
  const s = ns / 1e9;
  return s >= 100 ? s.toFixed(1) : s.toFixed(s >= 10 ? 3 : 4);
};

export const speedInWords = (speed: number): string => {
  if (speed === 1) return "real time";
  if (speed > 1) return `${speed} times as fast`;
  return `1/${Math.round(1 / speed)} of real time`;
};

export const shownValue = (value: Json | undefined): string => (value === true ? "on" : value === false ? "off" : String(value ?? ""));

/** Without Markdown's links and stress. */
export const plain = (text: string): string => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/ \(\)/g, "");

/** Of steps over time the one that holds at a moment, ns. */
export const holds = <T extends [number, ...unknown[]]>(steps: readonly T[], t: number): T | undefined =>
  steps.findLast(([from]) => from <= t) ?? steps[0];

/** Do two values differ, by more than a hundredth and as they are shown? */
export const differ = (a: number, b: number): boolean =>
  Math.abs(a - b) > 0.01 * Math.max(Math.abs(a), Math.abs(b)) && threeFigures(a) !== threeFigures(b);

/** A share in percent, where all or nothing is said of just that. */
export function percent(share: number): string {
  const of = Math.round(100 * share);
  if (share > 0 && of < 1) return "less than 1 %";
  if (share < 1 && of > 99) return "more than 99 %";
  return `${of} %`;
}

/** What a saved scenario is called. */
export const fileName = (name: string | null): string => `${(name ?? "scenario").replace(/[^a-z0-9-]+/gi, "-")}.toml`;

/** Three figures of a number; a whole one, as counts are, as it is, with commas as in the charts from 10,000 on. */
export const figures = (value: number): string =>
  Number.isInteger(value) ? value.toLocaleString("en", { useGrouping: Math.abs(value) >= 1e4 }) : threeFigures(value);

/** Three figures of a number; of a larger one all before its point, with commas from 10,000 on. */
export function threeFigures(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e4) return figures(Math.round(value));
  if (size >= 100 || value === 0) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.01) return value.toFixed(2);
  return value.toPrecision(2);
}
