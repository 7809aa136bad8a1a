// Colours that readers with any kind of colour vision tell apart (after Okabe and Ito), for a light and a dark page.

export interface Theme {
  dark: boolean;
  text: string;
  quiet: string;
  faint: string;
  back: string;
  /** Of the two runs; none is a flow's. */
  lanes: [string, string];
  grey: string;
}

export const LIGHT: Theme = {
  dark: false,
  text: "#16202a",
  quiet: "#55616d",
  faint: "#c3ccd5",
  back: "#ffffff",
  lanes: ["#b3005e", "#16202a"],
  grey: "#98a2ac",
};
export const DARK: Theme = {
  dark: true,
  text: "#e8edf2",
  quiet: "#a5b1bd",
  faint: "#3b4753",
  back: "#12181e",
  lanes: ["#ff6fae", "#e8edf2"],
  grey: "#6d7883",
};

const FLOWS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7a00", "#7a5cc4"];
const FLOWS_DARK = ["#4aa8e0", "#f0b429", "#2fc79b", "#e79ac4", "#8fd3ff", "#ff7f3f", "#e8dc4a", "#b39bf2"];

/** The theme of the reader's system, unless another was chosen. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return dark ? DARK : LIGHT;
}

export function flowColour(flow: number, of: Theme): string {
  const all = of.dark ? FLOWS_DARK : FLOWS;
  return all[flow % all.length] ?? of.text;
}
