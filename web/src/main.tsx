import { render } from "preact";
import packed from "virtual:simulator";
import { App } from "./app.tsx";
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
    const model = new Model(await unpacked(packed));
    window.explorer = model;
    render(<App model={model} />, place);
    await model.begin();
  } catch (e) {
    place.setAttribute("role", "alert");
    place.textContent = `This browser cannot run the simulator: ${words(e)}`;
  }
}

void begin();
