// How wide the queue in the picture is, and how high a chart.

/** How wide a packet is in a queue without a limit, and at least in one with a limit where few wait, px. */
const WIDE = 12;
const LEAST = 3;

/**
 * How much of `room` (px) so many packets take, of a buffer that is full to that share: to scale, but for few, which are to be seen.
 * `most` wait in the fullest of the queues that are shown: all have one scale.
 */
export function filled(room: number, packets: number, full: number | undefined, most = packets): number {
  const each = (wide: number, within: number): number => Math.min(wide * packets, within * (packets / Math.max(most, packets, 1)));
  if (full === undefined) return each(WIDE, room);
  const seen = each(LEAST, room / 4);
  return Math.min(Math.max(room * full, seen), room);
}

/** The highest of lines; where that is more than so many times what 99 of 100 of the values are below, a third more than that. */
export function usual(lines: readonly ArrayLike<number | null | undefined>[], times: number): number {
  const all = lines.flatMap((line) => Array.from(line).filter((v) => v != null)).sort((a, b) => a - b);
  const most = all.at(-1) ?? 0;
  const nearly = all[Math.floor(0.99 * all.length)] ?? most;
  return nearly > 0 && most > times * nearly ? (4 / 3) * nearly : most;
}
