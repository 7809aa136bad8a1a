// What the page is about: a scenario, one or two of its runs side by side, and a moment of them.
import { Desk, Lane } from "./lane.ts";
import type { Json, Knob, RunTold, Told } from "./simulator.ts";
import { STORIES, type Story } from "./stories.ts";
import { type Link, packed, unpacked } from "./link.ts";

export interface DisciplineInfo {
  name: string;
  title: string;
  about: string;
}

interface Catalogue {
  disciplines: DisciplineInfo[];
  reasons: string[];
  /** What a port's series have beside its discipline's variables. */
  series: string[];
}

/** From a ten-thousandth of real time to a hundredfold. */
export const SPEEDS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100] as const;

/** What the picture shows of the way before and behind the queue, in seconds of the reader's. */
const WAY_S = 0.7;

export class Model {
  readonly #module: WebAssembly.Module;
  readonly #desk: Desk;
  readonly lanes: Lane[] = [];
  told: Told | undefined;
  story: Story | undefined;
  storyHtml = "";
  /** What is said of the disciplines that are shown, and of their variables. */
  ideas: { idea: string; variables: string }[] = [];
  /** What the runs come to, in sentences. */
  answer: string[] = [];
  #answered = "";
  catalogue: Catalogue = { disciplines: [], reasons: [], series: [] };
  /** What is wrong, or what was done, in one line. */
  error = "";
  notice = "";
  /** What is wrong with the text that was to be run. */
  wrongText = "";
  /** The moment that is shown, ns. */
  t = 0;
  playing = false;
  speed = 0.01;
  seed = 0;
  /** From when on the grey lines are another run, ns. */
  changedAt: number | undefined;
  /** The scenario before each change since it was loaded. */
  readonly #past: { toml: string; seed: number }[] = [];
  /** The scenario as its story has it, or as it was loaded. */
  #own = "";
  readonly #heard = new Set<() => void>();
  #asked = 0;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#desk = new Desk(module);
  }

  onChange(heard: () => void): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  readonly changed = (): void => {
    void this.#conclude();
    for (const heard of this.#heard) heard();
  };

  async begin(): Promise<void> {
    this.catalogue = await this.#desk.json<Catalogue>({ do: "catalogue" });
    await this.follow(location.hash);
  }

  /** Shows what a permalink says. */
  async follow(hash: string): Promise<void> {
    let link: Link | undefined;
    try {
      link = await unpacked(hash);
      const story = link?.story === undefined ? undefined : STORIES.find((s) => s.id === link?.story);
      if (link?.story !== undefined && !story) throw new Error(`there is no story "${link.story}"`);
      if (link?.text !== undefined) {
        const speed = story ? { story, speed: story.speed } : {};
        await this.load(link.text, { seed: link.seed, t: link.t, shown: link.shown, ...speed });
        return;
      }
      if (story) {
        await this.tell(story, link);
        return;
      }
    } catch (e) {
      this.error = `This link does not work: ${words(e)}`;
    }
    const first = STORIES[0];
    // Back to where the page began.
    if (first && (!this.told || hash.length < 2)) await this.tell(first, undefined, this.error);
  }

  /** Goes to a story: the address has it, so that Back and reload do as everywhere. */
  choose(story: Story): void {
    const hash = `#story=${story.id}`;
    if (location.hash === hash) void this.tell(story);
    else location.hash = hash;
  }

  async tell(story: Story, link?: Link, error = ""): Promise<void> {
    await this.load(story.scenario, { t: link?.t ?? story.at * 1e9, speed: story.speed, story });
    if (error) this.error = error;
    this.changed();
  }

  /** Reads a scenario and begins its runs. */
  async load(
    text: string,
    how: {
      seed?: number | undefined;
      t?: number | undefined;
      shown?: number[] | undefined;
      speed?: number;
      story?: Story;
      /** The reader has written it. */
      written?: boolean;
    } = {},
  ): Promise<boolean> {
    const asked = ++this.#asked;
    try {
      const told = await this.#desk.json<Told>({ do: "load", text, name: "scenario.toml" });
      const html = how.story ? await this.#desk.text({ do: "markdown", text: how.story.text }) : "";
      if (asked !== this.#asked) return false;
      const own = how.story && text !== how.story.scenario ? await this.#canonical(how.story.scenario, text) : told.toml;
      if (asked !== this.#asked) return false;
      this.#past.length = 0;
      this.#own = own;
      this.story = how.story;
      this.storyHtml = html;
      this.seed = how.seed !== undefined && told.seeds.includes(how.seed) ? how.seed : (told.seeds[0] ?? 0);
      if (how.speed !== undefined) this.speed = how.speed;
      this.t = Math.min(Math.max(how.t ?? 0, 0), told.duration_ns);
      this.playing = false;
      this.notice = told.warnings.join(" ");
      const shown = (how.shown ?? [0, 1]).filter((d) => d < told.disciplines.length).slice(0, 2);
      this.#show(told, shown.length ? shown : [0], false);
      return true;
    } catch (e) {
      if (asked === this.#asked) this[how.written ? "wrongText" : "error"] = words(e);
      this.changed();
      return false;
    }
  }

  /** A scenario as the simulator writes it; then it has `then` again. */
  async #canonical(text: string, then: string): Promise<string> {
    const { toml } = await this.#desk.json<Told>({ do: "load", text, name: "scenario.toml" });
    await this.#desk.json<Told>({ do: "load", text: then, name: "scenario.toml" });
    return toml;
  }

  /** Takes another text for the scenario. One of another name is another scenario. */
  async rewrite(text: string): Promise<boolean> {
    const asked = ++this.#asked;
    const { told } = this;
    try {
      const next = await this.#desk.json<Told>({ do: "load", text, name: "scenario.toml" });
      if (asked !== this.#asked) return false;
      if (!told || next.name !== told.name) return await this.load(text, { written: true });
      this.#past.push({ toml: told.toml, seed: this.seed });
      this.changedAt = 0;
      this.notice = next.warnings.join(" ");
      this.t = Math.min(this.t, next.duration_ns);
      const shown = this.shown().filter((d) => d < next.disciplines.length);
      this.#show(next, shown.length ? shown : [0], true);
      return true;
    } catch (e) {
      if (asked === this.#asked) this.wrongText = words(e);
      this.changed();
      return false;
    }
  }

  /** Changes the scenario: from this moment on, where it can be said so. */
  async change(path: string, value: Json): Promise<void> {
    const asked = ++this.#asked;
    const { told } = this;
    if (!told) return;
    try {
      // The desk may have been asked for another that was wrong.
      const next = await this.#desk.json<Told>({ do: "change", path, value, at_ns: Math.round(this.t) });
      if (asked !== this.#asked) return;
      this.#past.push({ toml: told.toml, seed: this.seed });
      this.changedAt = next.from_ns;
      steady(next, told);
      this.#show(next, this.shown(), true);
    } catch (e) {
      this.error = words(e);
      this.changed();
    }
  }

  canUndo(): boolean {
    return this.#past.length > 0;
  }

  /** Takes the last change back. */
  async undo(): Promise<void> {
    const before = this.#past.pop();
    if (before === undefined) return;
    const asked = ++this.#asked;
    const told = await this.#desk.json<Told>({ do: "load", text: before.toml, name: "scenario.toml" });
    if (asked !== this.#asked) return;
    this.seed = before.seed;
    this.changedAt = this.canUndo() ? 0 : undefined;
    steady(told, this.told);
    this.#show(told, this.shown(), true);
  }

  /** Which disciplines of the scenario are shown. */
  shown(): number[] {
    const { told } = this;
    return told ? this.lanes.map((lane) => Math.floor(lane.run / told.seeds.length)) : [];
  }

  show(shown: number[]): void {
    if (this.told) this.#show(this.told, shown, false);
  }

  async setSeed(seed: number): Promise<void> {
    if (this.told?.seeds.includes(seed)) {
      this.seed = seed;
      this.show(this.shown());
    } else await this.change("run.seeds", [seed]);
  }

  #show(told: Told, shown: number[], keep: boolean): void {
    this.error = this.wrongText = "";
    this.told = told;
    if (!told.seeds.includes(this.seed)) this.seed = told.seeds[0] ?? 0;
    if (!keep) this.changedAt = undefined;
    while (this.lanes.length > shown.length) this.lanes.pop()?.end();
    while (this.lanes.length < shown.length) this.lanes.push(new Lane(this.#module, this.changed));
    const seed = Math.max(0, told.seeds.indexOf(this.seed));
    this.lanes.forEach((lane, i) => {
      const run = (shown[i] ?? 0) * told.seeds.length + seed;
      const of = told.runs[run];
      if (!of) return;
      lane.label = of.label;
      lane.discipline = of.name;
      // Before this moment packets come that wait now.
      lane
        .begin(told.toml, run, Math.max(0, this.t - this.window()), keep)
        .catch((e: unknown) => {
          lane.failed = words(e);
          this.changed();
        });
    });
    void this.#explain();
    this.changed();
  }

  async #explain(): Promise<void> {
    const names = this.lanes.map((lane) => lane.discipline);
    const said = (name: string, variables: boolean): Promise<string> => this.#desk.text({ do: "explain", name, variables }).catch(() => "");
    const ideas = await Promise.all(names.map(async (name) => ({ idea: await said(name, false), variables: await said(name, true) })));
    if (names.every((name, i) => this.lanes[i]?.discipline === name)) {
      this.ideas = ideas;
      this.changed();
    }
  }

  runOf(lane: Lane): RunTold | undefined {
    return this.told?.runs[lane.run];
  }

  /** Knobs of the link and of traffic, and those of a lane's discipline. */
  knobs(discipline?: number): Knob[] {
    return (this.told?.knobs ?? []).filter((knob) => (discipline === undefined ? knob.discipline === null : knob.discipline === discipline));
  }

  /** How much virtual time the picture shows before and behind the queue, ns. */
  window(): number {
    return Math.max(WAY_S * Math.min(this.speed, 10) * 1e9, 1e5);
  }

  /** A frame after so many seconds of the reader's. Is there more to come? */
  frame(seconds: number): void {
    const { told } = this;
    if (!told) return;
    if (this.playing) {
      const step = Math.min(seconds, 0.1) * this.speed * 1e9;
      // No further than all lanes can be seen.
      const known = Math.min(...this.lanes.map((lane) => (lane.failed ? Infinity : lane.packets.ready)));
      this.t = Math.min(this.t + step, Math.max(known, this.t), told.duration_ns);
      if (this.t >= told.duration_ns) {
        this.playing = false;
        this.changed();
      }
    }
    for (const lane of this.lanes) {
      if (!lane.failed) lane.need(this.t, this.window());
    }
  }

  seek(t: number): void {
    this.t = Math.min(Math.max(t, 0), this.told?.duration_ns ?? 0);
    this.changed();
  }

  play(playing: boolean): void {
    if (playing && this.told && this.t >= this.told.duration_ns) this.t = 0;
    this.playing = playing;
    this.changed();
  }

  /** To the next packet that comes or leaves, or the one before. */
  step(forward: boolean): void {
    this.playing = false;
    const times = this.lanes.map((lane) => (forward ? lane.packets.next(this.t) : lane.packets.before(this.t)));
    const known = times.filter((t) => t !== undefined);
    if (known.length) this.seek(forward ? Math.min(...known) : Math.max(...known));
    else this.changed();
  }

  /** The address of what is shown. */
  async link(): Promise<string> {
    const { told, story } = this;
    const of = story ? { story: story.id } : {};
    const link: Link =
      story && told && !this.isChanged()
        ? { ...of, t: Math.round(this.t) }
        : { ...of, text: told?.toml ?? "", seed: this.seed, t: Math.round(this.t), shown: this.shown() };
    return location.href.split("#")[0] + (await packed(link));
  }

  /** Is the scenario another than its story's, or than the one that was loaded? */
  isChanged(): boolean {
    return this.told !== undefined && this.told.toml !== this.#own;
  }

  /** Asks what the runs come to, once all are finished. */
  async #conclude(): Promise<void> {
    const which = this.lanes.map((lane) => `${lane.job}:${lane.finished !== undefined}`).join();
    if (which === this.#answered) return;
    this.#answered = which;
    this.answer = [];
    if (this.lanes.length < 2 || !this.lanes.every((lane) => lane.finished)) return;
    try {
      const results = await Promise.all(this.lanes.map((lane) => lane.text({ do: "results" })));
      const answer = await this.#desk.json<string[]>({ do: "answer", results });
      if (which !== this.#answered) return;
      this.answer = answer;
      this.changed();
    } catch {
      // Another scenario has been loaded meanwhile.
    }
  }
}

/** Sliders keep the values that they had: others would move them under the reader's hand. */
function steady(next: Told, before: Told | undefined): void {
  for (const knob of next.knobs) {
    const was = before?.knobs.find((old) => old.path === knob.path && old.about === knob.about);
    if (!was || !knob.ordered) continue;
    const place = (i: number): number => was.values.indexOf(knob.values[i] ?? null);
    const now = place(knob.now);
    const over_time = knob.over_time.map(([from, i]): [number, number] => [from, place(i)]);
    if (now < 0 || over_time.some(([, i]) => i < 0)) continue;
    Object.assign(knob, { values: was.values, now, over_time });
  }
}

export const words = (e: unknown): string => (e instanceof Error ? e.message : String(e));
