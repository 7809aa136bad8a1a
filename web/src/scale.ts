// How wide the queue in the picture is.

/** How wide a packet is in a queue without a limit, and at least in one with a limit where few wait, px. */
const WIDE = 12;
const LEAST = 3;

/** How much of `room` (px) so many packets take, of a buffer that is full to that share: to scale, but for few, which are to be seen. */
export function filled(room: number, packets: number, full: number | undefined): number {
  if (full === undefined) return Math.min(WIDE * packets, room);
  const seen = Math.min(LEAST * packets, room / 4);
  return Math.min(Math.max(room * full, seen), room);
}
