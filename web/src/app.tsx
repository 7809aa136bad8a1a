// The page.
import { useEffect } from "preact/hooks";
import { Controls } from "./controls.tsx";
import { Head, Message } from "./head.tsx";
import { useChanges, useTheme } from "./hooks.ts";
import { Bar, Lanes } from "./lanes.tsx";
import type { Model } from "./model.ts";
import { Charts, Measures } from "./numbers.tsx";
import { Share } from "./share.tsx";
import { Gallery, Story, Text } from "./side.tsx";

export function App({ model }: { model: Model }) {
  useChanges(model);
  const [of, turn] = useTheme();
  const { told } = model;

  useEffect(() => {
    const keys = (e: KeyboardEvent): void => {
      const at = e.target as HTMLElement;
      // A slider has no use for these keys.
      const is_slider = at instanceof HTMLInputElement && at.type === "range";
      if (e.ctrlKey || e.metaKey || e.altKey || (!is_slider && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName))) return;
      // Space is theirs.
      if (e.key === " " && /^(BUTTON|SUMMARY|A)$/.test(at.tagName)) return;
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
      <Head what="Every packet of a simulated link, as the program has it." theme={of} turn={turn} />
      <div class="stays">
        <Message text={model.error} wrong />
      </div>
      <Message text={model.notice} />
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
  const at = document.getElementById("pictures");
  // It is taller than a small window, of which focus alone would show the middle.
  at?.focus({ preventScroll: true });
  at?.scrollIntoView({ block: "start" });
}
