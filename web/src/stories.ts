// The gallery: each story is a scenario file and a text beside it, in stories/.

export interface Story {
  id: string;
  title: string;
  text: string;
  scenario: string;
  /** The moment that it begins with, s. */
  at: number;
  speed: number;
  /** The variable whose chart is shown first. */
  shows: string | undefined;
}

const scenarios = import.meta.glob<string>("../stories/*.toml", { query: "?raw", import: "default", eager: true });
const texts = import.meta.glob<string>("../stories/*.md", { query: "?raw", import: "default", eager: true });

/** `<!-- at 2s speed 0.01 shows count -->` on a text's last line says where it begins, and which variable's chart is shown first. */
const BEGIN = /<!-- at ([\d.]+)s speed ([\d.]+)(?: shows (\w+))? -->/;

function story([path, text]: [string, string]): Story {
  const file = path.replace(/\.md$/, ".toml");
  const begin = BEGIN.exec(text);
  return {
    id: path.replace(/^.*\/\d+-/, "").replace(/\.md$/, ""),
    title: text.split("\n")[0]?.replace(/^# /, "") ?? "",
    text: text.replace(BEGIN, ""),
    scenario: scenarios[file] ?? "",
    at: Number(begin?.[1] ?? 0),
    speed: Number(begin?.[2] ?? 0.01),
    shows: begin?.[3],
  };
}

export const STORIES: readonly Story[] = Object.entries(texts)
  .sort(([a], [b]) => a.localeCompare(b))
  .map(story);
