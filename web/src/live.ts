// What the program tells of attached devices (`queuewright watch --web`), look by look.
import { Desk } from "./lane.ts";
import { words } from "./model.ts";

/** As `queuewright status --json` has it; here, what the page shows of it. */
export interface Status {
  dev: string;
  there: boolean;
  missing: string[];
  mend: string | null;
  discipline: string;
  kind: string;
  rate: number;
  stats: { drops: Record<string, number>; marks: Record<string, number>; sent_packets: number; backlog_bytes: number; backlog_packets: number };
  variables: [name: string, unit: string, value: number][];
}

interface Seen {
  status: Status;
  since: { seconds: number; rate_bps: number; sojourn_ms: number | null; drops: number; marks: number } | null;
  p99_ms: number;
  name: string;
}

/** A command that is under way. */
export interface Job {
  pid: number;
  words: string;
  done: number;
  total: number;
  share: number;
  seconds: number;
  seen: { label: string; runs: number; utilization: number; sojourn_ms: number }[];
}

interface Look {
  t: number;
  set: boolean;
  devices: Seen[];
  jobs: Job[];
  wrong: string[];
}

/** Looks that are kept. */
const KEPT = 1200;
/** Until the program is asked again, ms. */
const AGAIN_MS = 1000;
/** Longest look, characters: more is none. */
const LONGEST = 4 << 20;

/** A device over time: columns beside the times. */
export class Device {
  name = "";
  status: Status;
  p99_ms = 0;
  readonly time: number[] = [];
  readonly columns = new Map<string, number[]>();

  constructor(status: Status) {
    this.status = status;
  }

  column(name: string): number[] {
    const known = this.columns.get(name);
    if (known) return known;
    const fresh = this.time.map(() => NaN);
    this.columns.set(name, fresh);
    return fresh;
  }

  take(t: number, { status, since, p99_ms, name }: Seen): void {
    this.status = status;
    this.name = name;
    this.p99_ms = p99_ms;
    const values = new Map<string, number>([
      ["rate", since?.rate_bps ?? NaN],
      ["sojourn", since?.sojourn_ms ?? NaN],
      ["drops", since?.drops ?? NaN],
      ["marks", since?.marks ?? NaN],
      ["backlog", status.stats.backlog_bytes],
      ...status.variables.map(([variable, , value]): [string, number] => [`variable ${variable}`, value]),
    ]);
    for (const column of values.keys()) this.column(column);
    this.time.push(t);
    for (const [column, all] of this.columns) all.push(values.get(column) ?? NaN);
    if (this.time.length > KEPT) for (const all of [this.time, ...this.columns.values()]) all.shift();
  }
}

export class Live {
  readonly #desk: Desk;
  readonly #token: string;
  readonly #heard = new Set<() => void>();
  readonly #ideas = new Map<string, string>();
  devices: Device[] = [];
  jobs: Job[] = [];
  /** May this page change something? */
  set = false;
  /** Why nothing, or some of it, is seen. */
  wrong: string[] = [];
  /** Is the program there? */
  told = false;
  connection = "Asking the program ...";
  notice = "";
  t = 0;

  constructor(module: WebAssembly.Module, token: string) {
    this.#desk = new Desk(module);
    this.#token = token;
  }

  onChange(heard: () => void): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  #changed(): void {
    for (const heard of this.#heard) heard();
  }

  /** Listens, and asks again where it ends, until the token is refused. */
  async listen(): Promise<void> {
    for (;;) {
      try {
        const answer = await fetch("/live/events", { headers: { Authorization: `Bearer ${this.#token}` } });
        if (answer.status === 401) {
          this.told = false;
          this.connection = "This address is of an earlier start. Take the one that queuewright watch --web has printed now.";
          this.#changed();
          return;
        }
        if (!answer.ok || !answer.body) throw new Error(`the program answers ${answer.status}`);
        this.told = true;
        this.connection = "";
        await this.#read(answer.body.getReader());
        this.connection = "The program has ended. The page asks again.";
      } catch (e) {
        this.connection = `The program cannot be reached (${words(e)}). The page asks again.`;
      }
      this.told = false;
      this.#changed();
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      if (text.length > LONGEST) throw new Error("what it says has no end");
      for (const event of events) if (event.startsWith("data: ")) this.#take(JSON.parse(event.slice(6)) as Look);
    }
  }

  #take(look: Look): void {
    this.t = look.t;
    this.set = look.set;
    this.wrong = look.wrong;
    this.jobs = look.jobs;
    this.devices = look.devices.map((seen) => {
      const known = this.devices.find((d) => d.status.dev === seen.status.dev);
      // After a new start of the program, or of the qdisc, time and counters begin anew.
      const goes_on = known && (known.time.at(-1) ?? 0) < look.t && known.status.kind === seen.status.kind;
      const device = goes_on ? known : new Device(seen.status);
      device.take(look.t, seen);
      return device;
    });
    this.#changed();
  }

  /** The idea of a discipline, once it is there. */
  idea(name: string): string {
    const known = this.#ideas.get(name);
    if (known !== undefined) return known;
    this.#ideas.set(name, "");
    void this.#desk
      .text({ do: "explain", name })
      .then((text) => {
        this.#ideas.set(name, text);
        this.#changed();
      })
      // A discipline of somebody's own has no page.
      .catch(() => undefined);
    return "";
  }

  /** Changes what is attached, in the words of `queuewright set`. */
  async change(dev: string, text: string): Promise<void> {
    // It may have to wait for another command.
    this.notice = `Asked for ${text} ...`;
    this.#changed();
    try {
      const answer = await fetch("/live/set", {
        method: "POST",
        headers: { Authorization: `Bearer ${this.#token}` },
        body: JSON.stringify({ dev, changes: text.split(/\s+/).filter((part) => part !== "") }),
      });
      const said = (await answer.text()).trim();
      this.notice = answer.ok ? `Set. ${said}` : `Not set: ${said}`;
    } catch (e) {
      this.notice = `Not set: ${words(e)}`;
    }
    this.#changed();
  }
}
