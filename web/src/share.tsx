// Links, files and commands.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { longest } from "./lane.ts";
import type { Model } from "./model.ts";
import { theme } from "./theme.ts";
import { fileName, holds, seconds } from "./words.ts";

export function Share({ model }: { model: Model }) {
  const { told } = model;
  const [said, say] = useState("");
  if (!told) return null;
  const name = fileName(told.name);
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
  const rates = told.ports[0]?.rates ?? [];
  const [, bps = 0, rate = ""] = holds(rates, model.t) ?? [];
  // What is attached has one rate.
  const when = rates.length > 1 ? `, with the rate at ${seconds(model.t)} s` : "";
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
        <button type="button" onClick={() => picture(name.replace(/toml$/, "png"), model)}>
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
          const words = holds(model.runOf(lane)?.words ?? [], model.t)?.[1] ?? lane.discipline;
          return <AttachCommand key={i} label={`${lane.label} on your own device${when}`} text={`queuewright attach eth0 ${words}${bps > 0 ? ` --rate ${rate}` : ""}`} />;
        })}
      </dl>
    </section>
  );
}

function AttachCommand({ label, text }: { label: string; text: string }): ComponentChildren {
  return (
    <>
      <dt>{label}</dt>
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
  const rows = longest(lanes).map((t, k) => [t, ...lanes.flatMap((s) => s.values.map((v) => v[k] ?? ""))].join(","));
  return [["time_s", ...heads].join(","), ...rows, ""].join("\n");
}

/** The pictures of the moment, one below the other, each with its queue manager's name above it. */
export function picture(name: string, { lanes, t }: Model): void {
  const all = [...document.querySelectorAll<HTMLCanvasElement>("canvas.picture")];
  const of = theme();
  const scale = (all[0]?.width ?? 1) / Math.max(all[0]?.clientWidth ?? 1, 1);
  const head = Math.round(28 * scale);
  const out = document.createElement("canvas");
  out.width = Math.max(...all.map((c) => c.width));
  out.height = all.reduce((sum, c) => sum + head + c.height, 0);
  const g = out.getContext("2d");
  if (!g) return;
  g.fillStyle = of.back;
  g.fillRect(0, 0, out.width, out.height);
  g.fillStyle = of.text;
  g.font = `600 ${Math.round(14 * scale)}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  let y = 0;
  all.forEach((c, i) => {
    g.fillText(`${lanes[i]?.label ?? ""}, ${seconds(t)} s`, Math.round(8 * scale), y + head / 2);
    g.drawImage(c, 0, y + head);
    y += head + c.height;
  });
  out.toBlob((blob) => blob && saved(name, blob, "image/png"));
}
