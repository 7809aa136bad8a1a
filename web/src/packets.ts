// What became of each packet that was watched, in the order in which they came: columns that grow.
import { FATE } from "./simulator.ts";

const ROW = 40;

/** How many of the first `count` times, which rise, are no later than one. */
export function until(times: ArrayLike<number>, count: number, t: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const mid = (low + high) >> 1;
    if ((times[mid] ?? 0) <= t) low = mid + 1;
    else high = mid;
  }
  return low;
}

export interface Packet {
  flow: number;
  seq: number;
  bytes: number;
  came: number;
  left: number;
  fate: number;
  marked: boolean;
  again: boolean;
  reason: number;
  ahead: number;
  group: number;
}

export class Packets {
  /** All that happened until then is known, ns. */
  ready = 0;
  /** Packets that came before are not known, ns. */
  from = 0;
  count = 0;
  came = new Float64Array(1 << 12);
  left = new Float64Array(1 << 12);
  flow = new Uint32Array(1 << 12);
  seq = new Uint32Array(1 << 12);
  ahead = new Uint32Array(1 << 12);
  group = new Uint16Array(1 << 12);
  bytes = new Uint16Array(1 << 12);
  what = new Uint8Array(1 << 12);
  reason = new Uint8Array(1 << 12);

  clear(from: number): void {
    this.count = 0;
    this.from = this.ready = from;
  }

  #grow(to: number): void {
    let size = this.came.length;
    if (to <= size) return;
    while (size < to) size *= 2;
    const larger = <T extends Float64Array | Uint32Array | Uint16Array | Uint8Array>(old: T): T => {
      const next = new (old.constructor as new (n: number) => T)(size);
      next.set(old as never);
      return next;
    };
    this.came = larger(this.came);
    this.left = larger(this.left);
    this.flow = larger(this.flow);
    this.seq = larger(this.seq);
    this.ahead = larger(this.ahead);
    this.group = larger(this.group);
    this.bytes = larger(this.bytes);
    this.what = larger(this.what);
    this.reason = larger(this.reason);
  }

  /** Takes rows of the simulator's. */
  take(rows: ArrayBuffer, ready: number): void {
    const view = new DataView(rows);
    for (let at = 0; at + ROW <= rows.byteLength; at += ROW) {
      const i = view.getUint32(at + 16, true);
      this.#grow(i + 1);
      this.count = Math.max(this.count, i + 1);
      this.came[i] = view.getFloat64(at, true);
      this.left[i] = view.getFloat64(at + 8, true);
      this.flow[i] = view.getUint32(at + 20, true);
      this.seq[i] = view.getUint32(at + 24, true);
      this.bytes[i] = view.getUint16(at + 28, true);
      this.what[i] = view.getUint8(at + 30);
      this.reason[i] = view.getUint8(at + 31);
      this.ahead[i] = view.getUint32(at + 32, true);
      this.group[i] = view.getUint32(at + 36, true);
    }
    this.ready = ready;
  }

  fate(i: number): number {
    return (this.what[i] ?? 0) & 15;
  }

  marked(i: number): boolean {
    return ((this.what[i] ?? 0) & 16) !== 0;
  }

  at(i: number): Packet {
    return {
      flow: this.flow[i] ?? 0,
      seq: this.seq[i] ?? 0,
      bytes: this.bytes[i] ?? 0,
      came: this.came[i] ?? 0,
      left: this.left[i] ?? Infinity,
      fate: this.fate(i),
      marked: this.marked(i),
      again: ((this.what[i] ?? 0) & 32) !== 0,
      reason: this.reason[i] ?? 0,
      ahead: this.ahead[i] ?? 0,
      group: this.group[i] ?? 0,
    };
  }

  /** The packet in which the sender sent this one's data again; none: nothing is known of one. */
  againOf(i: number): number | undefined {
    for (let k = i + 1; k < this.count; k++) {
      if (this.flow[k] === this.flow[i] && this.seq[k] === this.seq[i] && ((this.what[k] ?? 0) & 32) !== 0) return k;
    }
    return undefined;
  }

  #waits = { key: "", waiting: [] as number[], gone: [] as number[] };

  /** Those that wait at a time, the first first. */
  waiting(t: number): readonly number[] {
    const key = `${t} ${this.from} ${this.ready} ${this.count}`;
    const known = this.#waits;
    if (known.key !== key) {
      known.key = key;
      this.around(t, 0, known.waiting, known.gone);
    }
    return known.waiting;
  }

  /** How many came until a time. */
  until(t: number): number {
    return until(this.came, this.count, t);
  }

  /**
   * Those that wait at a time, the first first, and those that left within `window` before it. Queues that serve flows in turn let later
   * packets out first, so the look back ends where many in a row have long left.
   */
  around(t: number, window: number, waiting: number[], gone: number[]): void {
    waiting.length = gone.length = 0;
    let long = 0;
    for (let i = this.until(t) - 1; i >= 0 && long < 2000; i--) {
      const left = this.left[i] ?? Infinity;
      if (left > t) {
        waiting.push(i);
        long = 0;
      } else if (left > t - window) {
        gone.push(i);
        long = 0;
      } else {
        long += this.fate(i) === FATE.refused ? 0 : 1;
      }
    }
    waiting.reverse();
  }

  /** The next moment at which a packet comes or leaves after a time; none: nothing is known of one. */
  next(t: number): number | undefined {
    const i = this.until(t);
    let best = i < this.count ? (this.came[i] ?? Infinity) : Infinity;
    for (let k = i - 1, seen = 0; k >= 0 && seen < 4000; k--, seen++) {
      const left = this.left[k] ?? Infinity;
      if (left > t && left < best) best = left;
    }
    return best === Infinity ? undefined : best;
  }

  /** The moment before a time at which a packet came or left. */
  before(t: number): number | undefined {
    let i = this.until(t) - 1;
    while (i >= 0 && (this.came[i] ?? 0) >= t) i--;
    let best = i >= 0 ? (this.came[i] ?? -1) : -1;
    for (let k = i, seen = 0; k >= 0 && seen < 4000; k--, seen++) {
      const left = this.left[k] ?? Infinity;
      if (left < t && left > best) best = left;
    }
    return best < 0 ? undefined : best;
  }
}
