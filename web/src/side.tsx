// The gallery of stories, the story itself, and the text of the scenario.
import { useState } from "preact/hooks";
import type { Model } from "./model.ts";
import { Message } from "./head.tsx";
import { STORIES } from "./stories.ts";

export function Gallery({ model }: { model: Model }) {
  return (
    <nav aria-label="Stories">
      <label class="story-choice">
        Story
        <select
          value={model.story?.id ?? ""}
          onChange={(e) => {
            const story = STORIES.find((s) => s.id === e.currentTarget.value);
            if (story) model.choose(story);
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
  // Where the text is long and the window small, the picture is elsewhere.
  const picture = document.querySelector("canvas.picture")?.getBoundingClientRect();
  if (!picture) return;
  const seen = Math.min(picture.bottom, window.innerHeight) - Math.max(picture.top, 0);
  if (seen < picture.height / 2) document.getElementById("pictures")?.scrollIntoView({ block: "start" });
}

export function Story({ model }: { model: Model }) {
  const { told, story } = model;
  return (
    <section class="story" aria-label="What to see">
      {story ? (
        <>
          <h2>{story.title}</h2>
          {model.isChanged() && (
            <p class="hint" role="status">
              The scenario is changed. The text is on how it was.{" "}
              <button type="button" onClick={() => model.choose(story)}>
                As it was
              </button>
            </p>
          )}
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

export function Text({ model }: { model: Model }) {
  const toml = model.told?.toml ?? "";
  const [text, set] = useState<string | undefined>(undefined);
  const tooLarge = model.lanes.map((lane) => model.runOf(lane)?.too_large).find((why) => why) ?? "";
  const open = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    // What is longer is no scenario; the simulator says so of what is shorter.
    const content = await file.slice(0, 4 << 20).text();
    set(undefined);
    await model.load(content, { written: true });
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
            void model.rewrite(text ?? toml).then((taken) => {
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
      <Message text={model.wrongText || tooLarge} wrong />
     </details>
    </section>
  );
}
