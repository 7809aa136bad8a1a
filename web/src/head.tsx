// The head of a page.
import type { ComponentChildren } from "preact";
import type { Theme } from "./theme.ts";

export function Head({ what, theme, turn, children }: { what: string; theme: Theme; turn: () => void; children?: ComponentChildren }) {
  return (
    <header>
      <h1>Queuewright explorer</h1>
      <p>{what}</p>
      {children}
      <button type="button" class="plain" onClick={turn} aria-label={theme.dark ? "Light page" : "Dark page"}>
        {theme.dark ? "☀" : "☾"}
      </button>
    </header>
  );
}

/** A line for the reader; none: nothing is to be said. */
export function Message({ text, wrong = false }: { text: string; wrong?: boolean }) {
  if (!text) return null;
  return (
    <p class={wrong ? "message wrong" : "message"} role={wrong ? "alert" : "status"}>
      {text}
    </p>
  );
}
