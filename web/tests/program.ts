// The program beside the page.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const target = process.env["CARGO_TARGET_DIR"] ?? `${root}target`;

/** The program, as it was built last. */
export const PROGRAM =
  process.env["QUEUEWRIGHT_PROGRAM"] ?? [`${target}/debug/queuewright`, `${target}/release/queuewright`].find((path) => existsSync(path)) ?? "";
export const EXAMPLES = `${root}examples`;
export const STORIES = `${root}web/stories`;
export const PAGE = `${root}build/web/index.html`;
export const ADDRESS = pathToFileURL(PAGE).href;
/** The stories' names. */
export const IDS = readdirSync(STORIES)
  .filter((f) => f.endsWith(".md"))
  .map((f) => f.replace(/^\d+-/, "").replace(/\.md$/, ""));
export const WASM = `${root}build/web.wasm`;

/** What the program prints; of an error, what it says. */
export function program(args: string[]): { out: string; said: string } {
  try {
    const out = execFileSync(PROGRAM, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], timeout: 50_000 });
    return { out, said: "" };
  } catch (e) {
    const { stdout, stderr } = e as { stdout?: string; stderr?: string };
    return { out: stdout ?? "", said: stderr ?? String(e) };
  }
}

/** Results but for how long they took, which no two runs have in common. */
export const timeless = (json: string): string => json.replace(/("(?:wall_s|packets_per_s)": )[-+.\deE]+/g, "$10");

export const wasm = (): Promise<WebAssembly.Module> => WebAssembly.compile(readFileSync(WASM));

/** The accessibility checker, as a script for a page. */
export const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
