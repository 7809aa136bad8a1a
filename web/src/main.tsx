import { render } from "preact";
import packed from "virtual:simulator";
import { App } from "./app.tsx";
import { Live } from "./live.ts";
import { LivePage } from "./live-page.tsx";
import { Model, words } from "./model.ts";
import { unpacked } from "./simulator.ts";
import "./page.css";

declare global {
  interface Window {
    /** For tests: what is shown. */
    explorer?: Model;
  }
}

async function begin(): Promise<void> {
  const place = document.getElementById("page");
  if (!place) return;
  try {
    const module = await unpacked(packed);
    // What `queuewright watch --web` prints. Its page and this one are one file, so another token is another page, as is none.
    const named = (): string | undefined => /^#live=([\w-]+)$/.exec(location.hash)?.[1];
    const token = named();
    window.addEventListener("hashchange", () => {
      if (named() !== token) location.reload();
    });
    if (token !== undefined) {
      const live = new Live(module, token);
      render(<LivePage live={live} />, place);
      await live.listen();
      return;
    }
    const model = new Model(module);
    window.explorer = model;
    render(<App model={model} />, place);
    await model.begin();
  } catch (e) {
    place.setAttribute("role", "alert");
    place.textContent = `This browser cannot run the simulator: ${words(e)}`;
  }
}

void begin();
