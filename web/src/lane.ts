// One run beside another: its worker, what is known of it so far, and what is to be seen of its packets.
import { Packets } from "./packets.ts";
import type { Column, Finished, Request } from "./simulator.ts";
import type { FromWorker, ToWorker } from "./worker.ts";
import Beside from "./worker.ts?worker&inline";

/** Rows of a packet's that are kept, so that memory has an end. */
const MOST_PACKETS = 1_500_000;

/** Time series so far: each column beside the times. */
export interface Series {
  columns: Column[];
  /** Seconds. */
  time: number[];
  values: number[][];
}

export const none = (): Series => ({ columns: [], time: [], values: [] });

/** A column by its name. */
export const column = (series: Series | undefined, name: string): number[] | undefined =>
  series?.values[series.columns.findIndex((c) => c.name === name)];

/** The times of the longest. */
export const longest = (all: (Series | undefined)[]): number[] =>
  all.reduce<number[]>((most, series) => (series && series.time.length > most.length ? series.time : most), []);

/** A worker that is asked. */
export class Desk {
  readonly #worker: Worker;
  #next = 0;
  readonly #open = new Map<number, { done: (value: never) => void; wrong: (e: Error) => void }>();

  constructor(module: WebAssembly.Module) {
    this.#worker = new Beside();
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>): void => this.heard(data);
    this.send({ kind: "begin", module });
  }

  send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  protected heard(message: FromWorker): void {
    if (message.kind !== "answer" && message.kind !== "wrong") return;
    const open = this.#open.get(message.id);
    this.#open.delete(message.id);
    if (message.kind === "answer") open?.done(message.value as never);
    else open?.wrong(new Error(message.message));
  }

  #ask<T>(how: "json" | "bytes" | "text", request: Request): Promise<T> {
    const id = this.#next++;
    this.send({ kind: "ask", id, how, request });
    return new Promise<T>((done, wrong) => this.#open.set(id, { done, wrong }));
  }

  json<T>(request: Request): Promise<T> {
    return this.#ask("json", request);
  }

  text(request: Request): Promise<string> {
    return this.#ask("text", request);
  }

  end(): void {
    this.#worker.terminate();
  }
}

export class Lane extends Desk {
  series = none();
  /** The run before the last change. */
  before: Series | undefined;
  finished: Finished | undefined;
  failed = "";
  /** Virtual time that the whole run has reached, ns. */
  reached = 0;
  readonly packets = new Packets();
  label = "";
  /** The discipline's name in the registry. */
  discipline = "";
  run = 0;
  /** Which of its runs this is. */
  job = 0;
  #watching = false;
  readonly #changed: () => void;

  constructor(module: WebAssembly.Module, changed: () => void) {
    super(module);
    this.#changed = changed;
  }

  /** Begins a run of a scenario anew. */
  async begin(toml: string, run: number, at: number, keep: boolean): Promise<void> {
    const before = keep && this.series.time.length > 1 ? this.series : undefined;
    const job = ++this.job;
    // At once: what the run before came to is not this one's.
    this.run = run;
    this.finished = undefined;
    this.failed = "";
    this.reached = 0;
    await this.json({ do: "load", text: toml, name: "scenario.toml" });
    if (job !== this.job) return;
    this.before = before;
    this.series = none();
    this.send({ kind: "whole", job, run });
    this.watch(at);
  }

  /** Watches packets from a time on. */
  watch(from: number): void {
    this.packets.clear(from);
    this.#watching = false;
    this.send({ kind: "watch", job: this.job, run: this.run, from_ns: from });
  }

  /** Sees to it that packets are known around a time, and ahead of it. */
  need(t: number, ahead: number): void {
    const { packets } = this;
    const is_before = t < packets.from;
    // Rather begin anew there than watch all that is in between.
    const is_far = packets.ready !== Infinity && t > packets.ready + Math.max(20 * ahead, 2e9);
    if (this.#watching && (is_before || is_far || packets.count > MOST_PACKETS)) {
      this.watch(Math.max(0, t - ahead));
      return;
    }
    if (packets.ready < t + ahead) this.send({ kind: "ahead", to_ns: t + 2 * ahead });
  }

  protected override heard(message: FromWorker): void {
    if (message.kind === "answer" || message.kind === "wrong") {
      super.heard(message);
      return;
    }
    if (message.job !== this.job) return;
    switch (message.kind) {
      case "columns":
        this.series = { columns: message.columns, time: [], values: message.columns.map(() => []) };
        break;
      case "series":
        this.#append(new Float64Array(message.rows));
        this.reached = message.now_ns;
        break;
      case "finished":
        this.finished = message.finished;
        break;
      case "watching":
        this.#watching = true;
        break;
      case "packets":
        this.packets.take(message.rows, message.ready_ns);
        break;
      case "failed":
        this.failed = message.message;
        break;
    }
    this.#changed();
  }

  #append(rows: Float64Array): void {
    const { time, values } = this.series;
    const width = values.length + 1;
    for (let at = 0; at + width <= rows.length; at += width) {
      time.push(rows[at] ?? 0);
      for (let c = 0; c < values.length; c++) values[c]?.push(rows[at + 1 + c] ?? NaN);
    }
  }
}
