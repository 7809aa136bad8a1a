// The simulator as WebAssembly against the program: the same scenario and seed, the same bytes of results.
import { expect, test } from "@playwright/test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Simulator, type Finished, type Step, type Told } from "../src/simulator.ts";
import { EXAMPLES, PROGRAM, program, STORIES, timeless, WASM, wasm } from "./program.ts";

/** So much of each example: what is longer says no more, and takes longer. Of these flows begin, or parameters change, later. */
const LONGER: Record<string, string> = {
  "acc.toml": "9s",
  "cp-aqm.toml": "6s",
  "ecn.toml": "26s",
  "policing.toml": "11s",
  "shared-buffer.toml": "6s",
  "video.toml": "11s",
};
/** A page reads no files. */
const NAMES_A_FILE = ["queuepilot.toml"];

test("the simulator is small", () => {
  const packed = gzipSync(readFileSync(WASM), { level: 9 }).length;
  console.log(`the simulator: ${statSync(WASM).size} bytes, ${packed} compressed`);
  expect(packed).toBeLessThan(2 << 20);
});

for (const file of readdirSync(EXAMPLES).filter((f) => f.endsWith(".toml"))) {
  test(`examples/${file}: results are the program's, byte by byte`, async () => {
    expect(PROGRAM, "the program: cargo build -p queuewright").not.toBe("");
    const simulator = new Simulator(await wasm());
    const text = readFileSync(`${EXAMPLES}/${file}`, "utf8");
    const name = `examples/${file}`;
    const flags = { duration: LONGER[file] ?? "5s", warmup: "1s", seeds: "2" };
    const load = (): Told => simulator.json<Told>({ do: "load", text, name, flags });
    if (NAMES_A_FILE.includes(file)) {
      expect(load).toThrow("no file can be read here; run the scenario with the program");
      return;
    }
    const told = load();
    told.runs.forEach((_, run) => {
      simulator.json({ do: "open", player: 0, run });
      simulator.json<Finished>({ do: "finish", player: 0 });
    });
    const ours = simulator.text({ do: "results" });
    const theirs = program(["run", name, "--json", ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])]);
    expect(theirs.said.replace(/^note: .*\n/gm, "")).toBe("");
    expect(timeless(ours)).toBe(timeless(theirs.out));
  });
}

for (const file of readdirSync(STORIES).filter((f) => f.endsWith(".toml"))) {
  test(`stories/${file}: results are the program's, and what is watched changes nothing`, async () => {
    const simulator = new Simulator(await wasm());
    const path = `web/stories/${file}`;
    const told = simulator.json<Told>({ do: "load", text: readFileSync(`${STORIES}/${file}`, "utf8"), name: path });
    expect(told.warnings).toEqual([]);
    told.runs.forEach((_, run) => {
      simulator.json({ do: "open", player: 0, run, sums: true });
      for (let at = 0, over = false; !over; at += 3e8) {
        ({ over } = simulator.json<Step>({ do: "step", player: 0, to_ns: at }));
        simulator.bytes({ do: "series", player: 0 });
      }
      simulator.json<Finished>({ do: "finish", player: 0 });
    });
    expect(timeless(simulator.text({ do: "results" }))).toBe(timeless(program(["run", path, "--json"]).out));
  });
}

test("what is wrong is said in the program's words", async ({}, info) => {
  const simulator = new Simulator(await wasm());
  for (const text of ["[link]\nrate = \"10mbps\"\n", "not TOML", "[link]\nbufer = 1\n", "[queue]\ndisciplines = [\"codle\"]\n"]) {
    const file = info.outputPath("wrong.toml");
    writeFileSync(file, text);
    const { said } = program(["check", file]);
    let page = "";
    try {
      simulator.json({ do: "load", text, name: file });
    } catch (e) {
      page = (e as Error).message;
    }
    expect(`error: ${page}\n`).toBe(said);
  }
});
