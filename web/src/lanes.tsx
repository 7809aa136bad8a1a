// Time, and the runs side by side: their pictures, and the way of a packet.
import { useEffect, useRef, useState } from "preact/hooks";
import { playheads } from "./chart.tsx";
import { CALM_MS } from "./hooks.ts";
import { column, type Lane, type Series } from "./lane.ts";
import { type Model, SPEEDS } from "./model.ts";
import { isYetUnknown, variablesOf } from "./numbers.tsx";
import { until } from "./packets.ts";
import { Picture, waits } from "./picture.ts";
import { colourOf } from "./places.ts";
import { FATE } from "./simulator.ts";
import { type Theme, theme } from "./theme.ts";
import { figures, seconds, speedInWords } from "./words.ts";

export function Bar({ model }: { model: Model }) {
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

export function Lanes({ model, theme: of }: { model: Model; theme: Theme }) {
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
      const fullest = Math.max(0, ...model.lanes.map((lane) => (lane.failed ? 0 : lane.packets.waiting(model.t).length)));
      model.lanes.forEach((lane, i) => pictures.current[i]?.draw(lane, model, colours.current, fullest));
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
            <span class="swatch of-run" style={{ background: of.lanes[i] ?? of.text }} />
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
                  {model.catalogue.disciplines
                    .filter(({ name }) => !told.disciplines.includes(name))
                    .map(({ name }) => (
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
          <Now lane={lane} model={model} says={model.ideas[i]?.variables ?? ""} />
          <details class="idea">
            <summary>How {entitled(model, lane)} works</summary>
            <div dangerouslySetInnerHTML={{ __html: model.ideas[i]?.idea ?? "" }} />
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

/** A discipline's name, and its title where that is another. */
function entitled(model: Model, { discipline }: Lane): string {
  const title = model.catalogue.disciplines.find((d) => d.name === discipline)?.title ?? "";
  return title === "" || title.toLowerCase() === discipline ? discipline : `${discipline} (${title})`;
}

/** What the discipline's variables are at the moment that is shown, and what they say. */
function Now({ lane, model, says }: { lane: Lane; model: Model; says: string }) {
  const all = variablesOf(lane, model);
  const at = sampleAt(lane.series, model.t / 1e9);
  if (all.length === 0 || at < 0) return null;
  return (
    <>
      <p class="now">
        {all.map((v) => (
          <span key={v.short}>
            {v.short} <b>{figures(isYetUnknown(v.short, v.values[at]) ? NaN : (v.values[at] ?? NaN))}</b> {v.unit}
          </span>
        ))}
      </p>
      {says && (
        <details class="idea">
          <summary>What {all.length === 1 ? "this variable says" : "these variables say"}</summary>
          <div dangerouslySetInnerHTML={{ __html: says }} />
        </details>
      )}
    </>
  );
}

/** The last of a run's samples that is no later than a time, s; -1: all are. */
const sampleAt = ({ time }: Series, t: number): number => until(time, time.length, t) - 1;

function Progress({ lane, end }: { lane: Lane; end: number }) {
  if (lane.failed || lane.finished) return null;
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
  // Watched from elsewhere on, packets have other numbers.
  useEffect(() => choose(undefined), [lane.job, lane.packets.from]);
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
  const waiting = lane.packets.waiting(model.t);
  const drops = countUntil(lane.series, "drops", model.t);
  const marks = countUntil(lane.series, "marks", model.t);
  return `${lane.label} at ${seconds(model.t)} s: ${waits(waiting.length, model.told?.ports[0]?.limit_packets ?? 0)}, ${drops} dropped so far, ${marks} marked`;
}

function countUntil(series: Series, name: string, t: number): number {
  const values = column(series, name) ?? [];
  let sum = 0;
  for (let i = 0; i < values.length && (series.time[i] ?? 0) * 1e9 <= t; i++) sum += values[i] ?? 0;
  return sum;
}

/** What the sender did when it heard of that. */
function heard(lane: Lane, model: Model, packet: number): string[] {
  const p = lane.packets.at(packet);
  if (p.fate === FATE.waits) return [];
  const parts: string[] = [];
  const is_lost = p.fate !== FATE.sent;
  const again = is_lost ? lane.packets.againOf(packet) : undefined;
  if (again !== undefined) {
    const { came } = lane.packets.at(again);
    parts.push(`The sender sent it again: that came at ${seconds(came)} s, ${figures((came - p.left) / 1e6)} ms later.`);
  }
  // Of the first flows alone there are samples. A sender hears of a packet within a round trip, queue and all.
  const windows = column(lane.series, `flow${p.flow}.cwnd`);
  const at = sampleAt(lane.series, p.left / 1e9);
  const measured = column(lane.series, `flow${p.flow}.srtt_ms`)?.[at] ?? 0;
  const round_trip = Math.max((model.told?.flows[p.flow]?.rtt_ns ?? 0) + (p.left - p.came), measured * 1e6 || 0);
  const by = sampleAt(lane.series, (p.left + 2 * round_trip) / 1e9);
  const [then, later] = [windows?.[at], windows?.slice(at, by + 1)];
  if (then === undefined || !later || !(then > 0)) return parts;
  const least = Math.min(...later.filter((w) => w > 0));
  if (!is_lost && !p.marked) parts.push(`The receiver acknowledges it. The sender's window was ${figures(then)} packets.`);
  else if (least < then && figures(least) !== figures(then)) parts.push(`The sender's window fell from ${figures(then)} to ${figures(least)} packets within two round trips.`);
  else parts.push(`The sender's window did not fall: ${figures(then)} packets.`);
  return parts;
}

/** What became of a packet. */
function Way({ lane, model, packet, close }: { lane: Lane; model: Model; packet: number; close: () => void }) {
  const p = lane.packets.at(packet);
  const reason = model.catalogue.reasons[p.reason] ?? "";
  const waited = (p.left - p.came) / 1e6;
  const parts = [
    `Packet ${p.seq} of flow ${p.flow} (${model.told?.groups[p.group]?.name ?? ""}), ${p.bytes} bytes${p.again ? ", sent again" : ""}.`,
    // Of those that waited when packets began to be watched nobody knows what they found.
    `It came at ${seconds(p.came)} s${p.came >= lane.packets.from ? ` and found ${p.ahead} before it` : ""}.`,
  ];
  // What is known of it may be later than the moment that is shown.
  const waits = p.came <= model.t && model.t < p.left;
  if (waits) {
    const before = Math.max(0, lane.packets.waiting(model.t).indexOf(packet));
    parts.push(`It still waits, ${figures((model.t - p.came) / 1e6)} ms so far, with ${before} before it.`);
  }
  const [left, was] = p.left > model.t ? ["leaves", "is"] : ["left", "was"];
  if (p.fate === FATE.refused) parts.push(`It ${was} dropped at once (${reason}).`);
  if (p.fate === FATE.dropped) parts.push(`It ${was} dropped after ${figures(waited)} ms (${reason}).`);
  if (p.fate === FATE.sent) parts.push(`It ${left} after ${figures(waited)} ms${p.marked ? `, marked (${reason})` : ""}.`);
  parts.push(...heard(lane, model, packet));
  return (
    <p class="way" role="status">
      <span class="swatch" style={{ background: colourOf(model.told, p.flow, theme()) }} /> {parts.join(" ")}{" "}
      <button type="button" class="plain" aria-label="Close" onClick={close}>
        ×
      </button>
    </p>
  );
}
