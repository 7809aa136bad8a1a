// The page's side of the border to the simulator: crates/web/src/border.rs moves the bytes, session.rs says what can be asked.

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export type Request =
  | { do: "catalogue" }
  | { do: "explain"; name: string; variables?: boolean }
  | { do: "markdown"; text: string }
  | { do: "load"; text: string; name: string; flags?: Record<string, string> }
  | { do: "change"; path: string; value: Json; at_ns?: number }
  | { do: "open"; player: number; run: number; sums?: boolean }
  | { do: "step"; player: number; to_ns: number }
  | { do: "watch"; player: number; port: number }
  | { do: "series"; player: number }
  | { do: "packets"; player: number }
  | { do: "finish"; player: number }
  | { do: "results" }
  | { do: "answer"; results: string[] };

/** Something of a scenario that can be changed. */
export interface Knob {
  path: string;
  of: string;
  name: string;
  about: string;
  values: Json[];
  /** Which of them it is when the run begins. */
  now: number;
  /** From when on (ns) it is which of them; of what stays as it is nothing. */
  over_time: [number, number][];
  /** Why it cannot be changed. */
  fixed: string | null;
  ordered: boolean;
  live: boolean;
  discipline: number | null;
}

export interface Port {
  name: string;
  /** From when on (ns) it is how much: bit/s, and as a file has it. */
  rates: [number, number, string][];
  /** Its buffer; 0: no such limit. */
  limit_bytes: number;
  limit_packets: number;
  /** Ports share the buffer. */
  shared: boolean;
}

/** One run of a scenario. */
export interface RunTold {
  label: string;
  name: string;
  /** From when on (ns) `attach` has which words for it. */
  words: [number, string][];
  too_large: string | null;
}

/** What is known of a scenario that was read. */
export interface Told {
  toml: string;
  name: string | null;
  description: string | null;
  warnings: string[];
  from_ns: number;
  duration_ns: number;
  warmup_ns: number;
  seeds: number[];
  disciplines: string[];
  runs: RunTold[];
  ports: Port[];
  groups: { name: string }[];
  /** Of each its group, its round-trip time without queues, and whether it comes through the port that is shown. */
  flows: { group: number; rtt_ns: number; here: boolean }[];
  knobs: Knob[];
}

export interface Column {
  name: string;
  unit: string;
}

export interface Step {
  now_ns: number;
  over: boolean;
}

export interface Measure {
  path: string;
  title: string;
  unit: string;
  better: "high" | "low" | "neither";
  value: number;
  /** Of several ports the one that it is of. */
  port: string | null;
}

export interface Finished {
  measures: Measure[];
}

/** What has become of a packet: `Fate` of the simulator. */
export const FATE = { waits: 0, sent: 1, refused: 2, dropped: 3 } as const;

interface Exports {
  memory: WebAssembly.Memory;
  qw_room(bytes: number): number;
  qw_ask(): number;
  qw_answer(): number;
}

const HEAD = 8;

/** A simulator: one instance of the WebAssembly. */
export class Simulator {
  #exports: Exports;
  readonly #module: WebAssembly.Module;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#exports = Simulator.#begin(module);
  }

  static #begin(module: WebAssembly.Module): Exports {
    return new WebAssembly.Instance(module, {}).exports as unknown as Exports;
  }

  /** Asks; throws what is wrong, in one line. */
  #ask(request: Request): [json: boolean, bytes: Uint8Array<ArrayBuffer>] {
    const { memory, qw_room, qw_ask, qw_answer } = this.#exports;
    let length: number;
    try {
      const text = new TextEncoder().encode(JSON.stringify(request));
      // Room may move the memory: its buffer is asked for behind it.
      const room = qw_room(text.length);
      new Uint8Array(memory.buffer, room, text.length).set(text);
      length = qw_ask();
    } catch (trap) {
      // A bug of the simulator, or no memory left: what it said of it, and another instance.
      const said = this.#read(qw_answer(), 4096);
      this.#exports = Simulator.#begin(this.#module);
      const words = said[0] === 0 ? new TextDecoder().decode(said.subarray(HEAD)).split("\0")[0] : "";
      throw new Error(words || `the simulator has failed: ${String(trap)}`);
    }
    const at = qw_answer();
    const kind = new Uint8Array(memory.buffer, at, HEAD)[0];
    const bytes = this.#read(at + HEAD, length - HEAD);
    if (kind === 0) throw new Error(new TextDecoder().decode(bytes));
    return [kind === 1, bytes];
  }

  #read(at: number, length: number): Uint8Array<ArrayBuffer> {
    const all = this.#exports.memory.buffer;
    return new Uint8Array(all.slice(at, Math.min(at + length, all.byteLength)) as ArrayBuffer);
  }

  /** What comes as JSON. */
  json<T>(request: Request): T {
    return JSON.parse(new TextDecoder().decode(this.#ask(request)[1])) as T;
  }

  /** What comes as rows of numbers. */
  bytes(request: Request): ArrayBuffer {
    return this.#ask(request)[1].buffer;
  }

  /** What comes as text. */
  text(request: Request): string {
    return new TextDecoder().decode(this.#ask(request)[1]);
  }
}

/** Unpacks the simulator that is a part of the page. */
export async function unpacked(packed: string): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
