// What can be changed: each knob of the scenario.
import { useState } from "preact/hooks";
import type { Model } from "./model.ts";
import type { Knob } from "./simulator.ts";
import { figures, holds, plain, shownValue } from "./words.ts";

/** What can be chosen beside a scenario's own. */
const SEEDS = [1, 2, 3, 4, 5];

export function Controls({ model }: { model: Model }) {
  const shown = model.shown();
  const groups = new Map<string, Knob[]>();
  for (const knob of model.knobs()) groups.set(knob.of, [...(groups.get(knob.of) ?? []), knob]);
  return (
    <section aria-label="What you can change">
      <h2>Change it</h2>
      <p class="hint">
        What has a ● changes from the moment shown on, and shows what holds now. All else changes from the start: the whole run is made again, with the same seed.
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
      <label class="knob">
        <span class="knob-name" title="which chance: each seed gives another run, the same each time">
          seed
        </span>
        <select data-path="run.seeds" value={model.seed} onChange={(e) => void model.setSeed(Number(e.currentTarget.value))}>
          {[...new Set([...(model.told?.seeds ?? []), model.seed, ...SEEDS])]
            .sort((a, b) => a - b)
            .map((seed) => (
              <option key={seed} value={seed}>
                {seed}
              </option>
            ))}
        </select>
      </label>
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

function Slider({ knob, model }: { knob: Knob; model: Model }) {
  const [at, set] = useState<number | undefined>(undefined);
  // What holds at the moment shown.
  const now = holds(knob.over_time, model.t)?.[1] ?? knob.now;
  const place = at ?? now;
  const done = (index: number): void => {
    set(undefined);
    const value = knob.values[index];
    if (value !== undefined && index !== now) void model.change(knob.path, value);
  };
  const id = `why-${knob.path}`;
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
  if (knob.fixed !== null) {
    return (
      <>
        <label class="knob">
          {title}
          <select data-path={knob.path} disabled aria-describedby={id}>
            <option>{knob.values.length > 0 ? shownValue(knob.values[knob.now]) : (holds(model.told?.ports[0]?.rates ?? [], model.t)?.[2] ?? "")}</option>
          </select>
        </label>
        <p class="hint" id={id}>
          {knob.fixed}
        </p>
      </>
    );
  }
  if (!knob.ordered) {
    return (
      <label class="knob">
        {title}
        <select data-path={knob.path} value={String(now)} onChange={(e) => done(Number(e.currentTarget.value))}>
          {knob.values.map((value, i) => (
            <option key={i} value={String(i)}>
              {shownValue(value)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  // Of parameters a move is the last word; of a link's rate the schedule's next step is.
  const next = knob.path === "link.rate" ? knob.over_time.find(([from]) => from > model.t) : undefined;
  return (
    <>
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
        aria-describedby={next && id}
        onInput={(e) => set(Number(e.currentTarget.value))}
        onChange={(e) => done(Number(e.currentTarget.value))}
      />
    </label>
    {next && (
      <p class="hint" id={id}>
        This rate holds until {figures(next[0] / 1e9)} s. Then it is {shownValue(knob.values[next[1]])}.
      </p>
    )}
    </>
  );
}
