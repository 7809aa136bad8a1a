// The picture of a moment: senders, the queue, the link, and packets on their way through them.
import { column, type Lane } from "./lane.ts";
import type { Model } from "./model.ts";
import { until } from "./packets.ts";
import { colourOf, type Places, placesOf } from "./places.ts";
import { filled } from "./scale.ts";
import { FATE, type Told } from "./simulator.ts";
import { flowColour, type Theme } from "./theme.ts";
import { figures, percent } from "./words.ts";

/** How far beside a packet a pointer or a finger still hits it, px: a place of 44 px in all. */
const REACH = 22;
/** Packets on one way that are drawn, so that a frame stays short. */
const MOST = 600;

interface Drawn {
  x: number;
  y: number;
  wide: number;
  tall: number;
  packet: number;
}

export class Picture {
  readonly #canvas: HTMLCanvasElement;
  readonly #drawn: Drawn[] = [];
  readonly #waiting: number[] = [];
  readonly #gone: number[] = [];
  #lane: Lane | undefined;
  #told: Told | undefined;
  /** What was drawn last. */
  #look: readonly unknown[] = [];
  /** The packet that was clicked. */
  chosen: number | undefined;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** The packet nearest to a place in the picture. */
  nearest(x: number, y: number): number | undefined {
    let best: Drawn | undefined;
    const beside = (d: Drawn): number => Math.hypot(Math.max(0, Math.abs(d.x - x) - d.wide / 2), Math.max(0, Math.abs(d.y - y) - d.tall / 2));
    for (const one of this.#drawn) if (!best || beside(one) < beside(best)) best = one;
    return best && beside(best) <= REACH ? best.packet : undefined;
  }

  /** Draws a moment; in the fullest of the queues that are shown wait `fullest`. */
  draw(lane: Lane, model: Model, theme: Theme, fullest: number): void {
    const canvas = this.#canvas;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (w === 0 || h === 0) return;
    const { packets } = lane;
    const t = model.t;
    const window_ns = model.window();
    const known = [packets.from, packets.ready, packets.count, lane.series.time.length];
    const look: readonly unknown[] = [w, h, scale, theme, model.told, lane, lane.job, lane.failed, t, window_ns, ...known, fullest, this.chosen];
    // While nothing plays, all frames are the same.
    if (look.every((part, i) => part === this.#look[i])) return;
    this.#look = look;
    if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
      canvas.width = Math.round(w * scale);
      canvas.height = Math.round(h * scale);
    }
    const g = canvas.getContext("2d");
    if (!g) return;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = "12px system-ui, sans-serif";
    this.#drawn.length = 0;
    this.#lane = lane;
    this.#told = model.told;

    const y = h * 0.44;
    const places: Places = model.told ? placesOf(model.told) : { of: [], count: 1, names: [], shared: undefined };
    const { count: senders, names, shared } = places;
    // Names stand in a column of their own, so that they cover nothing.
    const wide = Math.min(0.2 * w, Math.max(0, ...names.map(([, name]) => g.measureText(name).width)));
    const left = wide + 16;
    const [queueLeft, queueRight] = [Math.max(w * 0.3, left + 50), w * 0.68];
    const right = w - 14;
    const tall = 26;
    const placeY = (place: number): number => (senders === 1 ? y : 34 + ((h - 66) * place) / (senders - 1));
    // Flows that come and go have numbers behind those that are known.
    const senderY = (flow: number): number => placeY(Math.max(places.of[flow] ?? senders - 1, 0));

    // The ways, the queue, the ends.
    g.strokeStyle = theme.faint;
    g.lineWidth = 1;
    for (let f = 0; f < senders; f++) line(g, left + 8, placeY(f), queueLeft, y);
    g.lineWidth = 3;
    line(g, queueRight, y, right - 8, y);
    g.lineWidth = 1.5;
    g.strokeStyle = theme.text;
    g.beginPath();
    g.moveTo(queueLeft, y - tall);
    g.lineTo(queueRight, y - tall);
    g.moveTo(queueLeft, y + tall);
    g.lineTo(queueRight, y + tall);
    g.stroke();
    for (let f = 0; f < senders; f++) dot(g, left, placeY(f), 6, f === shared ? theme.grey : flowColour(f, theme));
    g.fillStyle = theme.quiet;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const [f, name] of names) g.fillText(name, left - 10, placeY(f), wide);
    g.fillStyle = theme.text;
    g.fillRect(right - 8, y - 12, 8, 24);

    if (lane.failed || packets.from > t + window_ns) return;
    packets.around(t, window_ns, this.#waiting, this.#gone);

    // On the way to the queue: those that come within the window.
    const first = packets.until(t);
    for (let i = first, n = 0; i < packets.count && n < MOST; i++, n++) {
      const due = (packets.came[i] ?? 0) - t;
      if (due > window_ns) break;
      const flow = packets.flow[i] ?? 0;
      const share = 1 - due / window_ns;
      const from = senderY(flow);
      this.#packet(g, theme, i, left + 8 + (queueLeft - left - 12) * share, from + (y - from) * share, 7, 7);
    }
    // In the queue, the first at the right end.
    const waiting = this.#waiting;
    const room = queueRight - queueLeft;
    const port = model.told?.ports[0];
    const [most, mostBytes] = [port?.limit_packets ?? 0, port?.limit_bytes ?? 0];
    const bytes = waiting.reduce((sum, i) => sum + (packets.bytes[i] ?? 0), 0);
    const full = most ? waiting.length / most : mostBytes ? bytes / mostBytes : undefined;
    const width = filled(room, waiting.length, full, fullest) / Math.max(waiting.length, 1);
    const every = Math.max(1, Math.ceil(waiting.length / ((queueRight - queueLeft) * 1.5)));
    for (let k = 0; k < waiting.length; k += every) {
      const i = waiting[k] ?? 0;
      const x = queueRight - (k + 0.5) * width;
      this.#packet(g, theme, i, x, y, Math.max(width - (width > 3 ? Math.min(1.5, width / 4) : 0), 1), 2 * tall - 10);
    }
    // Behind it: on the link, or dropped.
    for (const i of this.#gone.slice(-MOST)) {
      const gone = (t - (packets.left[i] ?? 0)) / window_ns;
      const fate = packets.fate(i);
      if (fate === FATE.sent) {
        this.#packet(g, theme, i, queueRight + (right - 14 - queueRight) * gone, y, 7, 7);
      } else {
        const x = fate === FATE.refused ? queueLeft : queueRight;
        this.#cross(g, theme, i, x + (fate === FATE.refused ? -10 : 10) * gone, y + tall + 4 + (h - y - tall - 30) * gone * gone);
      }
    }
    const others = port?.shared ? elsewhere(lane, model) / mostBytes : 0;
    // How full the buffer is: to scale in any case.
    if (full !== undefined) {
      let end = queueRight;
      const part = (share: number, colour: string): void => {
        const wide = Math.min(room * share, end - queueLeft);
        g.fillStyle = colour;
        g.fillRect(end - wide, y + tall + 3, wide, 5);
        end -= wide;
      };
      part(full, theme.text);
      part(others, theme.grey);
      part(1, theme.faint);
    }
    g.fillStyle = theme.text;
    g.textAlign = "center";
    g.textBaseline = "top";
    const oldest = waiting.length ? (t - (packets.came[waiting[0] ?? 0] ?? t)) / 1e6 : 0;
    const text = waiting.length ? `${waits(waiting.length, most)}, the first for ${figures(oldest)} ms` : "nobody waits";
    // Above all that moves.
    const half = g.measureText(text).width / 2;
    g.fillText(text, Math.min(Math.max((queueLeft + queueRight) / 2, half + 2), w - half - 2), 2);
    g.fillStyle = theme.quiet;
    g.textBaseline = "top";
    g.textAlign = "right";
    g.fillText("receivers", w - 4, y + 16);
    g.textAlign = "center";
    const used = full === undefined ? "queue" : `${percent(full)} of the buffer${port?.shared ? `, other ports ${percent(others)}` : ""}`;
    g.textAlign = "left";
    g.fillText(used, queueLeft + 8, y + tall + 12, w - queueLeft - 12);
    g.textAlign = "center";
    if (packets.ready < t && model.told && t < model.told.duration_ns) {
      g.fillText("looking for this moment ...", (queueLeft + queueRight) / 2, h - 18);
    }
  }

  #packet(g: CanvasRenderingContext2D, theme: Theme, i: number, x: number, y: number, wide: number, tall: number): void {
    const packets = this.#lane?.packets;
    if (!packets) return;
    g.fillStyle = colourOf(this.#told, packets.flow[i] ?? 0, theme);
    g.fillRect(x - wide / 2, y - tall / 2, wide, tall);
    // A mark is a shape, not a colour alone.
    if (packets.marked(i)) {
      g.fillStyle = theme.text;
      g.beginPath();
      g.moveTo(x, y - 6);
      g.lineTo(x + 5, y);
      g.lineTo(x, y + 6);
      g.lineTo(x - 5, y);
      g.fill();
    }
    if (i === this.chosen) frame(g, theme, x, y, wide, tall);
    this.#drawn.push({ x, y, wide, tall, packet: i });
  }

  #cross(g: CanvasRenderingContext2D, theme: Theme, i: number, x: number, y: number): void {
    const packets = this.#lane?.packets;
    if (!packets) return;
    g.strokeStyle = colourOf(this.#told, packets.flow[i] ?? 0, theme);
    g.lineWidth = 3;
    line(g, x - 5, y - 5, x + 5, y + 5);
    line(g, x - 5, y + 5, x + 5, y - 5);
    if (i === this.chosen) frame(g, theme, x, y, 10, 10);
    this.#drawn.push({ x, y, wide: 10, tall: 10, packet: i });
  }
}

/** How many wait, of how many that may (0: nobody says). */
export function waits(packets: number, most: number): string {
  const one = packets === 1;
  return `${packets}${most ? ` of ${most}` : ""} packet${one && !most ? "" : "s"} wait${one ? "s" : ""}`;
}

/** What waits at the ports that share the buffer with the first one, bytes: as it was sampled last. */
function elsewhere(lane: Lane, model: Model): number {
  const { series } = lane;
  const at = until(series.time, series.time.length, model.t / 1e9) - 1;
  const others = model.told?.ports.slice(1).filter((port) => port.shared) ?? [];
  return others.reduce((sum, port) => sum + (column(series, `${port.name}.backlog_bytes`)?.[at] ?? 0), 0);
}

function line(g: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  g.stroke();
}

/** Around the packet that was chosen. */
function frame(g: CanvasRenderingContext2D, theme: Theme, x: number, y: number, wide: number, tall: number): void {
  g.strokeStyle = theme.text;
  g.lineWidth = 2;
  g.strokeRect(x - wide / 2 - 3, y - tall / 2 - 3, wide + 6, tall + 6);
}

function dot(g: CanvasRenderingContext2D, x: number, y: number, r: number, colour: string): void {
  g.fillStyle = colour;
  g.beginPath();
  g.arc(x, y, r, 0, 2 * Math.PI);
  g.fill();
}
