// A simulator at work beside the page. It answers what is asked, and in between goes on with what it was told to do: a run to its end
// (player WHOLE), and one whose packets are watched as far as the page has come (player SEEN).
import { type Column, type Finished, Simulator, type Request, type Step } from "./simulator.ts";

const WHOLE = 0;
const SEEN = 1;
/** Work between two looks at what the page wants, ms. */
const SLICE_MS = 12;

export type ToWorker =
  | { kind: "begin"; module: WebAssembly.Module }
  | { kind: "ask"; id: number; how: "json" | "bytes" | "text"; request: Request }
  /** Makes a run of the scenario that is loaded, whole. */
  | { kind: "whole"; job: number; run: number }
  /** Watches packets of a run, at its first port, from a time on. */
  | { kind: "watch"; job: number; run: number; from_ns: number }
  /** Goes on watching until then. */
  | { kind: "ahead"; to_ns: number };

export type FromWorker =
  | { kind: "answer"; id: number; value: unknown }
  | { kind: "wrong"; id: number; message: string }
  | { kind: "columns"; job: number; columns: Column[] }
  | { kind: "series"; job: number; rows: ArrayBuffer; now_ns: number }
  | { kind: "finished"; job: number; finished: Finished }
  | { kind: "watching"; job: number }
  | { kind: "packets"; job: number; rows: ArrayBuffer; ready_ns: number }
  | { kind: "failed"; job: number; message: string };

let simulator: Simulator | undefined;
let whole: { job: number; at: number; step: number } | undefined;
let seen: { job: number; at: number; step: number; from: number; want: number; watching: boolean } | undefined;
const pause = new MessageChannel();
let pending = false;

const post = (message: FromWorker, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });

function soon(): void {
  if (pending) return;
  pending = true;
  pause.port2.postMessage(null);
}

/** Goes on with a player for a slice; virtual time that fits is learned. */
function slice(sim: Simulator, player: number, of: { at: number; step: number }, until: number): Step {
  const begun = performance.now();
  for (;;) {
    const to = Math.min(of.at + of.step, until);
    const before = performance.now();
    const step = sim.json<Step>({ do: "step", player, to_ns: to });
    const took = performance.now() - before;
    of.at = to;
    if (took < SLICE_MS / 4) of.step *= 2;
    if (took > SLICE_MS) of.step = Math.max(of.step / 2, 1e5);
    if (step.over || to >= until || performance.now() - begun > SLICE_MS) return step;
  }
}

function workOnSeen(sim: Simulator): boolean {
  if (!seen) return false;
  if (!seen.watching) {
    slice(sim, SEEN, seen, seen.from);
    if (seen.at < seen.from) return true;
    sim.json({ do: "watch", player: SEEN, port: 0 });
    seen.watching = true;
    post({ kind: "watching", job: seen.job });
  }
  if (seen.at >= seen.want) return false;
  const step = slice(sim, SEEN, seen, seen.want);
  const rows = sim.bytes({ do: "packets", player: SEEN });
  const ready = step.over ? Infinity : step.now_ns;
  post({ kind: "packets", job: seen.job, rows, ready_ns: ready }, [rows]);
  if (step.over) seen.want = seen.at;
  return seen.at < seen.want;
}

function workOnWhole(sim: Simulator): boolean {
  if (!whole) return false;
  const step = slice(sim, WHOLE, whole, Infinity);
  const rows = sim.bytes({ do: "series", player: WHOLE });
  const { job } = whole;
  post({ kind: "series", job, rows, now_ns: step.now_ns }, [rows]);
  if (!step.over) return true;
  whole = undefined;
  post({ kind: "finished", job, finished: sim.json<Finished>({ do: "finish", player: WHOLE }) });
  return false;
}

pause.port1.onmessage = (): void => {
  pending = false;
  if (!simulator) return;
  const job = seen?.job ?? whole?.job ?? 0;
  try {
    // What is looked at goes first.
    const more = workOnSeen(simulator) || workOnWhole(simulator);
    if (more || whole) soon();
  } catch (e) {
    whole = seen = undefined;
    post({ kind: "failed", job, message: words(e) });
  }
};

const words = (e: unknown): string => (e instanceof Error ? e.message : String(e));

function answer(sim: Simulator, message: Extract<ToWorker, { kind: "ask" }>): void {
  try {
    const { request, how, id } = message;
    if (request.do === "load" || request.do === "change") whole = seen = undefined;
    post({ kind: "answer", id, value: sim[how](request) });
  } catch (e) {
    post({ kind: "wrong", id: message.id, message: words(e) });
  }
}

self.onmessage = ({ data }: MessageEvent<ToWorker>): void => {
  if (data.kind === "begin") {
    simulator = new Simulator(data.module);
    return;
  }
  if (!simulator) return;
  try {
    switch (data.kind) {
      case "ask":
        answer(simulator, data);
        return;
      case "whole": {
        const { columns } = simulator.json<{ columns: Column[] }>({ do: "open", player: WHOLE, run: data.run, sums: true });
        whole = { job: data.job, at: 0, step: 1e8 };
        post({ kind: "columns", job: data.job, columns });
        break;
      }
      case "watch":
        simulator.json({ do: "open", player: SEEN, run: data.run });
        seen = { job: data.job, at: 0, step: 1e8, from: data.from_ns, want: data.from_ns, watching: false };
        break;
      case "ahead":
        if (seen) seen.want = Math.max(seen.want, data.to_ns);
        break;
    }
    soon();
  } catch (e) {
    const job = "job" in data ? data.job : 0;
    post({ kind: "failed", job, message: words(e) });
  }
};
