// How components follow the model and the theme.
import { useEffect, useReducer, useState } from "preact/hooks";
import { type Theme, theme } from "./theme.ts";

/** Between two looks at numbers that change all the time, ms. */
export const CALM_MS = 150;

/** Draws again when something changes, and not too often. */
export function useChanges(model: { onChange(heard: () => void): () => void }): void {
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
export function useTheme(): [Theme, () => void] {
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
