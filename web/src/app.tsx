import type { ComponentChildren } from "preact";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { Chart, type Line, playheads } from "./chart.tsx";
import type { Lane, Series } from "./lane.ts";
import { type Model, SPEEDS } from "./model.ts";
import { figures, Picture } from "./picture.ts";
import { FATE, type Json, type Knob, type Measure } from "./simulator.ts";
import { STORIES } from "./stories.ts";
import { flowColour, type Theme, theme } from "./theme.ts";

/** Between two looks at numbers that change all the time, ms. */
const CALM_MS = 150;

/** Draws again when the model changes, and not too often. */
function useModel(model: Model): void {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let waits = false;
    let last = 0;
    return model.onChange(() => {
      if (waits) return;
      waits = true;
      const wait = Math.max(0, CALM_MS - (performance.now() - last));
      setTimeout(() => {
        waits = false;
        last = performance.now();
        again(undefined as never);
      }, wait);
    });
  }, [model]);
}

/** The theme, and again when the reader's system changes it. */
function useTheme(): [Theme, () => void] {
  const [of, set] = useState(theme);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const heard = (): void => set(theme());
    query.addEventListener("change", heard);
    return () => query.removeEventListener("change", heard);
  }, []);
  const turn = (): void => {
    document.documentElement.dataset["theme"] = of.dark ? "light" : "dark";
    set(theme());
  };
  return [of, turn];
}

const seconds = (ns: number): string => {
  const s = ns / 1e9;
  return s >= 100 ? s.toFixed(1) : s.toFixed(s >= 10 ? 3 : 4);
};

const speedInWords = (speed: number): string => {
  if (speed === 1) return "real time";
  if (speed > 1) return `${speed} times as fast`;
  return `1/${Math.round(1 / speed)} of real time`;
};

export function App({ model }: { model: Model }) {
  useModel(model);
  const [of, turn] = useTheme();
  const { told } = model;

  useEffect(() => {
    const keys = (e: KeyboardEvent): void => {
      const at = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY|A)$/.test(at.tagName)) return;
      if (e.key === " ") model.play(!model.playing);
      else if (e.key === ".") model.step(true);
      else if (e.key === ",") model.step(false);
      else return;
      e.preventDefault();
    };
    const moved = (): void => void model.follow(location.hash);
    document.addEventListener("keydown", keys);
    window.addEventListener("hashchange", moved);
    return () => {
      document.removeEventListener("keydown", keys);
      window.removeEventListener("hashchange", moved);
    };
  }, [model]);

  return (
    <>
      <a class="skip" href="#pictures" onClick={(e) => skip(e)}>
        To the picture
      </a>
      <header>
        <h1>Queuewright explorer</h1>
        <p>Every packet of a simulated link, as the program has it.</p>
        <button type="button" class="plain" onClick={turn} aria-label={of.dark ? "Light page" : "Dark page"}>
          {of.dark ? "☀" : "☾"}
        </button>
      </header>
      {model.error && (
        <p class="message wrong" role="alert">
          {model.error}
        </p>
      )}
      {model.notice && (
        <p class="message" role="status">
          {model.notice}
        </p>
      )}
      <div class="columns">
        <div class="side">
          <Gallery model={model} />
          {told && <Story model={model} />}
          {told && <Controls model={model} />}
          {told && <Share model={model} />}
          {told && <Text model={model} />}
        </div>
        <main id="pictures" tabIndex={-1}>
          {told ? (
            <>
              <Bar model={model} />
              <Lanes model={model} theme={of} />
              <Measures model={model} />
              <Charts model={model} theme={of} />
            </>
          ) : (
            <p class="busy">The simulator starts ...</p>
          )}
        </main>
      </div>
    </>
  );
}

function skip(e: Event): void {
  e.preventDefault();
  document.getElementById("pictures")?.focus();
}

function Gallery({ model }: { model: Model }) {
  return (
    <nav aria-label="Stories">
      <label class="story-choice">
        Story
        <select
          value={model.story?.id ?? ""}
          onChange={(e) => {
            const story = STORIES.find((s) => s.id === e.currentTarget.value);
            if (story) void model.tell(story);
          }}
        >
          {!model.story && <option value="">your own scenario</option>}
          {STORIES.map((s) => (
            <option key={s.id} value={s.id}>
              {s.title}
            </option>
          ))}
        </select>
      </label>
    </nav>
  );
}

/** `#at=2.5s` in a story's text leads to that moment. */
function jump(e: MouseEvent, model: Model): void {
  const link = (e.target as HTMLElement).closest("a");
  const at = /^#at=([\d.]+)s$/.exec(link?.getAttribute("href") ?? "");
  if (!at) return;
  e.preventDefault();
  model.seek(Number(at[1]) * 1e9);
}

function Story({ model }: { model: Model }) {
  const { told, story } = model;
  return (
    <section class="story" aria-label="What to see">
      {story ? (
        <>
          <h2>{story.title}</h2>
          {/* Made of our own texts, by our own renderer, which lets no tag through. */}
          <div onClick={(e) => jump(e, model)} dangerouslySetInnerHTML={{ __html: model.storyHtml }} />
        </>
      ) : (
        <>
          <h2>{told?.name ?? "Your scenario"}</h2>
          {told?.description && <p>{told.description}</p>}
        </>
      )}
    </section>
  );
}

function Controls({ model }: { model: Model }) {
  const shown = model.shown();
  const groups = new Map<string, Knob[]>();
  for (const knob of model.knobs()) groups.set(knob.of, [...(groups.get(knob.of) ?? []), knob]);
  return (
    <section aria-label="What you can change">
      <h2>Change it</h2>
      <p class="hint">
        What has a ● changes from the moment shown on. All else changes from the start: the whole run is made again, with the same seed.
        The run before stays as a grey line.
      </p>
      <button type="button" disabled={!model.canUndo()} onClick={() => void model.undo()}>
        Undo
      </button>
      {[...groups].map(([of, knobs]) => (
        <fieldset key={of}>
          <legend>{of === "link" ? "Link" : `Flows: ${of}`}</legend>
          {knobs.map((knob) => (
            <Slider key={knob.path} knob={knob} model={model} />
          ))}
        </fieldset>
      ))}
      {shown.map((d, i) => (
        <Parameters key={i} model={model} discipline={d} />
      ))}
      {(model.told?.seeds.length ?? 0) > 1 && (
        <label class="knob">
          seed
          <select value={model.seed} onChange={(e) => model.setSeed(Number(e.currentTarget.value))}>
            {model.told?.seeds.map((seed) => (
              <option key={seed} value={seed}>
                {seed}
              </option>
            ))}
          </select>
        </label>
      )}
    </section>
  );
}

function Parameters({ model, discipline }: { model: Model; discipline: number }) {
  const knobs = model.knobs(discipline);
  const label = model.told?.disciplines[discipline] ?? "";
  if (knobs.length === 0) return null;
  return (
    <details class="parameters">
      <summary>Parameters of {label}</summary>
      {knobs.map((knob) => (
        <Slider key={knob.path} knob={knob} model={model} />
      ))}
    </details>
  );
}

const shownValue = (value: Json | undefined): string => (value === true ? "on" : value === false ? "off" : String(value ?? ""));

/** Without Markdown's links and stress. */
const plain = (text: string): string => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/ \(\)/g, "");

function Slider({ knob, model }: { knob: Knob; model: Model }) {
  const [at, set] = useState<number | undefined>(undefined);
  const place = at ?? knob.now;
  const done = (index: number): void => {
    set(undefined);
    const value = knob.values[index];
    if (value !== undefined && index !== knob.now) void model.change(knob.path, value);
  };
  const title = (
    <span class="knob-name" title={plain(knob.about)}>
      {knob.name}
      {knob.live && (
        <abbr class="live" title="changes from the moment shown on">
          ●
        </abbr>
      )}
    </span>
  );
  if (!knob.ordered) {
    return (
      <label class="knob">
        {title}
        <select data-path={knob.path} value={String(knob.now)} onChange={(e) => done(Number(e.currentTarget.value))}>
          {knob.values.map((value, i) => (
            <option key={i} value={String(i)}>
              {shownValue(value)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <label class="knob">
      {title}
      <output>{shownValue(knob.values[place])}</output>
      <input
        type="range"
        data-path={knob.path}
        min={0}
        max={knob.values.length - 1}
        step={1}
        value={place}
        aria-valuetext={shownValue(knob.values[place])}
        onInput={(e) => set(Number(e.currentTarget.value))}
        onChange={(e) => done(Number(e.currentTarget.value))}
      />
    </label>
  );
}

function Bar({ model }: { model: Model }) {
  const { told } = model;
  const end = told?.duration_ns ?? 0;
  return (
    <div class="bar" role="group" aria-label="Time">
      <button type="button" class="main" onClick={() => model.play(!model.playing)} aria-keyshortcuts="Space">
        {model.playing ? "Pause" : "Play"}
      </button>
      <button type="button" onClick={() => model.step(false)} aria-keyshortcuts="," title="to the packet before (,)">
        ◂ packet
      </button>
      <button type="button" onClick={() => model.step(true)} aria-keyshortcuts="." title="to the next packet (.)">
        packet ▸
      </button>
      <label>
        Speed
        <select
          value={String(model.speed)}
          onChange={(e) => {
            model.speed = Number(e.currentTarget.value);
            model.changed();
          }}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {speedInWords(speed)}
            </option>
          ))}
        </select>
      </label>
      <input
        type="range"
        class="scrub"
        aria-label="Moment"
        aria-valuetext={`${seconds(model.t)} s`}
        min={0}
        max={1000}
        step={1}
        value={end > 0 ? Math.round((model.t / end) * 1000) : 0}
        onInput={(e) => model.seek((Number(e.currentTarget.value) / 1000) * end)}
      />
      <output class="now">{seconds(model.t)} s</output>
    </div>
  );
}

function Lanes({ model, theme: of }: { model: Model; theme: Theme }) {
  const { told } = model;
  const pictures = useRef<(Picture | undefined)[]>([]);
  const colours = useRef(of);
  colours.current = of;

  useEffect(() => {
    let last = performance.now();
    let id = 0;
    let said = 0;
    const frame = (now: number): void => {
      model.frame((now - last) / 1000);
      last = now;
      model.lanes.forEach((lane, i) => pictures.current[i]?.draw(lane, model, colours.current));
      playheads(model.t / 1e9);
      // Numbers beside the picture move more calmly.
      if (model.playing && now - said > CALM_MS) {
        said = now;
        model.changed();
      }
      id = requestAnimationFrame(frame);
    };
    id = requestAnimationFrame(frame);
    return () => cancelAnimationFrame(id);
  }, [model]);

  if (!told) return null;
  const shown = model.shown();
  const replaced = (lane: number, name: string): void => {
    const at = told.disciplines.indexOf(name);
    if (at >= 0) model.show(shown.map((d, i) => (i === lane ? at : d)));
    else void model.change(`queue.disciplines[${shown[lane] ?? 0}]`, name);
  };
  return (
    <div class={`lanes of-${model.lanes.length}`}>
      {model.lanes.map((lane, i) => (
        <section key={i} class="lane" aria-label={`Run ${i + 1}: ${lane.label}`}>
          <div class="lane-head">
            <span class="swatch" style={{ background: of.lanes[i] ?? of.text }} />
            <label>
              <span class="hidden">Queue manager {i + 1}</span>
              <select class="discipline" value={lane.label} onChange={(e) => replaced(i, e.currentTarget.value)}>
                <optgroup label="In this scenario">
                  {told.disciplines.map((label) => (
                    <option key={label} value={label}>
                      {label}
                    </option>
                  ))}
                </optgroup>
                <optgroup label="Others">
                  {told.choices
                    .filter((name) => !told.disciplines.includes(name))
                    .map((name) => (
                      <option key={name} value={name}>
                        {name}
                      </option>
                    ))}
                </optgroup>
              </select>
            </label>
            <Progress lane={lane} end={told.duration_ns} />
            {model.lanes.length === 2 && (
              <button type="button" class="plain" aria-label={`Without ${lane.label}`} onClick={() => model.show(shown.filter((_, k) => k !== i))}>
                ×
              </button>
            )}
          </div>
          <LanePicture lane={lane} model={model} put={(picture) => (pictures.current[i] = picture)} />
          <details class="idea">
            <summary>How {model.catalogue.disciplines.find((d) => d.name === lane.discipline)?.title ?? lane.discipline} works</summary>
            <div dangerouslySetInnerHTML={{ __html: model.ideas[i] ?? "" }} />
          </details>
        </section>
      ))}
      {model.lanes.length === 1 && told.disciplines.length > 1 && (
        <button
          type="button"
          class="beside"
          onClick={() => model.show([...shown, told.disciplines.findIndex((_, d) => !shown.includes(d))])}
        >
          Another beside it
        </button>
      )}
    </div>
  );
}

function Progress({ lane, end }: { lane: Lane; end: number }) {
  if (lane.failed) return null;
  if (lane.finished) return null;
  return <progress aria-label={`How much of ${lane.label} is known`} max={end} value={lane.reached} />;
}

function LanePicture({ lane, model, put }: { lane: Lane; model: Model; put: (picture: Picture | undefined) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | undefined>(undefined);
  const [chosen, choose] = useState<number | undefined>(undefined);
  useEffect(() => {
    if (canvas.current) picture.current = new Picture(canvas.current);
    put(picture.current);
    return () => put(undefined);
  }, []);
  if (picture.current) picture.current.chosen = chosen;
  const run = model.runOf(lane);
  return (
    <>
      {(lane.failed || run?.too_large) && (
        <p class="message wrong" role="alert">
          {lane.failed || run?.too_large}
        </p>
      )}
      <canvas
        ref={canvas}
        class="picture"
        role="img"
        aria-label={inWords(lane, model)}
        onClick={(e) => choose(picture.current?.nearest(e.offsetX, e.offsetY))}
      />
      {chosen !== undefined && chosen < lane.packets.count && <Way lane={lane} model={model} packet={chosen} close={() => choose(undefined)} />}
    </>
  );
}

/** The picture for those who do not see it. */
function inWords(lane: Lane, model: Model): string {
  const waiting: number[] = [];
  lane.packets.around(model.t, 0, waiting, []);
  const drops = countUntil(lane.series, "drops", model.t);
  const marks = countUntil(lane.series, "marks", model.t);
  return `${lane.label} at ${seconds(model.t)} s: ${waiting.length} packets wait, ${drops} dropped so far, ${marks} marked`;
}

function countUntil(series: Series, name: string, t: number): number {
  const at = series.columns.findIndex((c) => c.name === name);
  const values = series.values[at] ?? [];
  let sum = 0;
  for (let i = 0; i < values.length && (series.time[i] ?? 0) * 1e9 <= t; i++) sum += values[i] ?? 0;
  return sum;
}

/** What became of a packet. */
function Way({ lane, model, packet, close }: { lane: Lane; model: Model; packet: number; close: () => void }) {
  const p = lane.packets.at(packet);
  const reason = model.catalogue.reasons[p.reason] ?? "";
  const waited = (p.left - p.came) / 1e6;
  const parts = [
    `Packet ${p.seq} of flow ${p.flow} (${model.told?.groups[p.group]?.name ?? ""}), ${p.bytes} bytes${p.again ? ", sent again" : ""}.`,
    `It came at ${seconds(p.came)} s and found ${p.ahead} before it.`,
  ];
  if (p.fate === FATE.refused) parts.push(`It was dropped at once (${reason}).`);
  if (p.fate === FATE.dropped) parts.push(`It was dropped after ${figures(waited)} ms (${reason}).`);
  if (p.fate === FATE.sent) parts.push(`It left after ${figures(waited)} ms${p.marked ? `, marked (${reason})` : ""}.`);
  return (
    <p class="way" role="status">
      <span class="swatch" style={{ background: flowColour(p.flow, theme()) }} /> {parts.join(" ")}{" "}
      <button type="button" class="plain" aria-label="Close" onClick={close}>
        ×
      </button>
    </p>
  );
}

function Measures({ model }: { model: Model }) {
  const done = model.lanes.map((lane) => lane.finished);
  const first = done.find((d) => d !== undefined);
  if (!first) return null;
  const rows = first.measures.filter((m) => SHOWN.includes(m.path) || m.path.startsWith("group."));
  const value = (i: number, path: string): Measure | undefined => done[i]?.measures.find((m) => m.path === path);
  const best = (m: Measure): number | undefined => {
    const all = model.lanes.map((_, i) => value(i, m.path)?.value ?? NaN);
    if (all.length < 2 || m.better === "neither" || all.some((v) => Number.isNaN(v))) return undefined;
    const [a = 0, b = 0] = all;
    if (Math.abs(a - b) <= 0.01 * Math.max(Math.abs(a), Math.abs(b))) return undefined;
    return a < b === (m.better === "low") ? 0 : 1;
  };
  return (
    <section aria-label="Measures">
      {model.answer.length > 0 && <p class="answer">{plain(model.answer.join(" "))}</p>}
      <table class="measures">
        <caption>Over the whole run, after {figures((model.told?.warmup_ns ?? 0) / 1e9)} s of warm-up</caption>
        <thead>
          <tr>
            <td />
            {model.lanes.map((lane, i) => (
              <th key={i} scope="col">
                {lane.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((m) => (
            <tr key={m.path}>
              <th scope="row">{m.title}</th>
              {model.lanes.map((_, i) => {
                const v = value(i, m.path)?.value;
                return (
                  <td key={i} class={best(m) === i ? "best" : ""} data-measure={m.path} data-value={v}>
                    {v === undefined ? "–" : `${figures(v)} ${m.unit}`}
                    {best(m) === i && <span class="hidden"> (better)</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Measures that people understand, by their paths in results. */
const SHOWN = ["sojourn_ms.mean", "sojourn_ms.p99", "utilization", "goodput_bps", "drop_fraction", "mark_fraction", "jain"];

function Charts({ model, theme: of }: { model: Model; theme: Theme }) {
  const { told } = model;
  if (!told) return null;
  const port = told.ports[0]?.name ?? "";
  const end = told.duration_ns / 1e9;
  const seek = (t: number): void => model.seek(t * 1e9);
  const column = (series: Series | undefined, name: string): number[] | undefined =>
    series?.values[series.columns.findIndex((c) => c.name === name)];
  const time = model.lanes.reduce<number[]>((longest, lane) => (lane.series.time.length > longest.length ? lane.series.time : longest), []);
  const before = model.lanes.reduce<number[]>((longest, lane) => ((lane.before?.time.length ?? 0) > longest.length ? (lane.before?.time ?? []) : longest), []);
  const axis = before.length > time.length ? before : time;

  /** One column of each run, and of the run before the last change. */
  const both = (name: string, scale: number, sticks = false): Line[] => {
    const scaled = (values: number[] | undefined): number[] => (scale === 1 ? (values ?? []) : (values ?? []).map((v) => v * scale));
    const old = model.lanes.flatMap((lane, i): Line[] =>
      lane.before && !sticks
        ? [{ label: `${lane.label} before`, colour: of.grey, values: scaled(column(lane.before, name)), width: 1, dash: i === 1 ? [4, 3] : [] }]
        : [],
    );
    const now = model.lanes.map((lane, i): Line => ({ label: lane.label, colour: of.lanes[i] ?? of.text, values: scaled(column(lane.series, name)), sticks }));
    return [...old, ...now];
  };
  const common = { time: axis, end, theme: of, seek };
  const has = (name: string): boolean => model.lanes.some((lane) => (column(lane.series, name) ?? []).some((v) => v > 0));
  return (
    <section aria-label="Over time" class="charts">
      <Chart {...common} title="Queue" unit="kB" lines={both(`${port}.backlog_bytes`, 1e-3)} />
      <Chart {...common} title="Waiting time" unit="ms" lines={both("sojourn", 1)} />
      <Chart {...common} title="Drops" unit="packets" lines={both("drops", 1, true)} />
      {has("marks") && <Chart {...common} title="Marks" unit="packets" lines={both("marks", 1, true)} />}
      <div class="beside-charts">
        {model.lanes.map((lane, i) => (
          <div key={i}>
            <Windows {...common} lane={lane} model={model} />
            <Variables {...common} lane={lane} port={port} colour={of.lanes[i] ?? of.text} />
          </div>
        ))}
      </div>
      <p class="hint">Click into a chart to go to that moment. Drag to zoom into all of them; a double click shows all again.</p>
    </section>
  );
}

interface Common {
  time: number[];
  end: number;
  theme: Theme;
  seek: (t: number) => void;
}

/** The congestion windows of a run's first flows. */
function Windows({ lane, model, ...common }: Common & { lane: Lane; model: Model }) {
  const lines = lane.series.columns.flatMap((c, i): Line[] => {
    const flow = /^flow(\d+)\.cwnd$/.exec(c.name);
    if (!flow) return [];
    const group = model.told?.groups[model.told.flows[Number(flow[1])]?.group ?? -1]?.name ?? "flow";
    return [{ label: `${group}, flow ${flow[1]}`, colour: flowColour(Number(flow[1]), common.theme), values: lane.series.values[i] ?? [], width: 1 }];
  });
  if (lines.length === 0) return null;
  return <Chart {...common} title={`Congestion windows, ${lane.label}`} unit="packets" lines={lines.slice(0, 8)} />;
}

/** What a port's series have beside the discipline's own variables. */
const OF_EVERY_PORT = ["backlog_bytes", "rate_bps", "drops_total", "drops_limit", "drops"];

/** A variable of a run's discipline, as its page calls it. */
function Variables({ lane, port, colour, ...common }: Common & { lane: Lane; port: string; colour: string }) {
  const [wanted, want] = useState("");
  const all = lane.series.columns
    .map((c, i) => ({ ...c, short: c.name.slice(port.length + 1), values: lane.series.values[i] ?? [] }))
    .filter((c) => c.name.startsWith(`${port}.`) && !OF_EVERY_PORT.includes(c.short));
  const shown = all.find((c) => c.short === wanted) ?? all[0];
  if (!shown) return null;
  return (
    <>
      {all.length > 1 && (
        <label class="variable">
          Variable
          <select value={shown.short} onChange={(e) => want(e.currentTarget.value)}>
            {all.map((c) => (
              <option key={c.short} value={c.short}>
                {c.short}
              </option>
            ))}
          </select>
        </label>
      )}
      <Chart {...common} title={`${lane.label}: ${shown.short}`} unit={shown.unit} lines={[{ label: shown.short, colour, values: shown.values }]} />
    </>
  );
}

function Share({ model }: { model: Model }) {
  const { told } = model;
  const [said, say] = useState("");
  if (!told) return null;
  const name = `${(told.name ?? "scenario").replace(/[^a-z0-9-]+/gi, "-")}.toml`;
  const save = (): void => saved(name, told.toml, "application/toml");
  const copy = async (): Promise<void> => {
    const link = await model.link();
    try {
      history.replaceState(null, "", link);
    } catch {
      // A page from a disk may not everywhere.
    }
    try {
      await navigator.clipboard.writeText(link);
      say("The link is copied.");
    } catch {
      say("The link stands in the address bar.");
    }
  };
  const rate = told.ports[0]?.steps.at(-1)?.[1];
  return (
    <section aria-label="Take it with you">
      <h2>Take it with you</h2>
      <p class="buttons">
        <button type="button" onClick={() => void copy()}>
          Copy link
        </button>
        <button type="button" onClick={save}>
          Save as TOML
        </button>
        <button type="button" onClick={() => saved(name.replace(/toml$/, "csv"), csv(model), "text/csv")}>
          Save CSV
        </button>
        <button type="button" onClick={() => picture(name.replace(/toml$/, "png"))}>
          Save picture
        </button>
      </p>
      <p class="hint" role="status">
        {said}
      </p>
      <dl class="commands">
        <dt>The same in the program</dt>
        <Command text={`queuewright run ${name}`} />
        <dt>On a real kernel, in a virtual machine</dt>
        <Command text={`queuewright run ${name} --engine linux`} />
        {model.lanes.map((lane, i) => {
          const words = model.runOf(lane)?.words ?? lane.discipline;
          return <AttachCommand key={i} label={lane.label} text={`queuewright attach eth0 ${words}${rate ? ` --rate ${bits(rate)}` : ""}`} />;
        })}
      </dl>
    </section>
  );
}

function AttachCommand({ label, text }: { label: string; text: string }): ComponentChildren {
  return (
    <>
      <dt>{label} on your own device</dt>
      <Command text={text} />
    </>
  );
}

function Command({ text }: { text: string }) {
  return (
    <dd>
      <code>{text}</code>
    </dd>
  );
}

const bits = (bps: number): string => {
  for (const [unit, size] of [["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3]] as const) if (bps >= size) return `${bps / size}${unit}`;
  return `${bps}bit`;
};

function saved(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** All that the charts show, a line for each sample. */
function csv(model: Model): string {
  const lanes = model.lanes.map((lane) => lane.series);
  const heads = lanes.flatMap((s, i) => s.columns.map((c) => `"${model.lanes[i]?.label ?? ""}: ${c.name} (${c.unit})"`));
  const time = lanes.reduce<number[]>((longest, s) => (s.time.length > longest.length ? s.time : longest), []);
  const rows = time.map((t, k) => [t, ...lanes.flatMap((s) => s.values.map((v) => v[k] ?? ""))].join(","));
  return [["time_s", ...heads].join(","), ...rows, ""].join("\n");
}

/** The pictures of the moment, one below the other. */
function picture(name: string): void {
  const all = [...document.querySelectorAll<HTMLCanvasElement>("canvas.picture")];
  const out = document.createElement("canvas");
  out.width = Math.max(...all.map((c) => c.width));
  out.height = all.reduce((sum, c) => sum + c.height, 0);
  const g = out.getContext("2d");
  if (!g) return;
  g.fillStyle = theme().back;
  g.fillRect(0, 0, out.width, out.height);
  let y = 0;
  for (const c of all) {
    g.drawImage(c, 0, y);
    y += c.height;
  }
  out.toBlob((blob) => blob && saved(name, blob, "image/png"));
}

function Text({ model }: { model: Model }) {
  const toml = model.told?.toml ?? "";
  const [text, set] = useState<string | undefined>(undefined);
  const open = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    // What is longer is no scenario; the simulator says so of what is shorter.
    const content = await file.slice(0, 4 << 20).text();
    set(undefined);
    await model.load(content);
  };
  return (
    <section aria-label="The scenario's text">
     <details class="text">
      <summary>The scenario's text</summary>
      <textarea
        aria-label="The scenario's text"
        spellcheck={false}
        rows={18}
        value={text ?? toml}
        onInput={(e) => set(e.currentTarget.value)}
      />
      <p class="buttons">
        <button
          type="button"
          onClick={() => {
            void model.load(text ?? toml).then((taken) => {
              if (taken) set(undefined);
            });
          }}
        >
          Run this
        </button>
        <label class="file">
          Open a file
          <input type="file" accept=".toml,text/plain" onChange={(e) => void open(e.currentTarget.files?.[0])} />
        </label>
      </p>
     </details>
    </section>
  );
}
