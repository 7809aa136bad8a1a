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

/** Three figures of a number. */
export function figures(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.01) return value.toFixed(2);
  return value.toPrecision(2);
}
