// `queuewright explore`: the page over HTTP, on this machine alone.
import { expect, test } from "@playwright/test";
import { spawn, type ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { PAGE, PROGRAM, program, STORIES } from "./program.ts";

/** Starts it; where it serves. */
async function explore(args: string[]): Promise<{ address: string; child: ChildProcess }> {
  const child = spawn(PROGRAM, ["explore", "--no-open", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise<string>((done, wrong) => {
    let said = "";
    child.stdout?.on("data", (data: Buffer) => {
      said += data.toString();
      if (said.includes("\n")) done(said.split("\n")[0] ?? "");
    });
    child.once("exit", (code) => wrong(new Error(`it ended: ${code}`)));
  });
  return { address, child };
}

test("the page with a scenario in it, and nothing else", async ({ page }) => {
  const { address, child } = await explore([`${STORIES}/02-codel.toml`]);
  try {
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const odd: string[] = [];
    page.on("console", (m) => odd.push(m.text()));
    page.on("request", (r) => {
      if (!r.url().startsWith(address) && !/^(blob|data):/.test(r.url())) odd.push(r.url());
    });
    await page.goto(address);
    await expect(page.locator("section.lane")).toHaveCount(2);
    await page.waitForFunction(() => window.explorer?.lanes.every((lane) => lane.finished !== undefined));
    expect(await page.evaluate(() => window.explorer?.told?.name)).toBe("codel");
    expect(odd).toEqual([]);
    for (const [path, status] of [
      ["index.html", 200],
      ["../Cargo.toml", 404],
      ["%2e%2e/%2e%2e/Cargo.toml", 404],
      ["assets/../../web.wasm", 404],
      ["", 200],
    ] as const) {
      expect((await page.request.get(address + path)).status(), path).toBe(status);
    }
    expect((await page.request.post(address)).status()).toBe(405);
    const host = new URL(address).host;
    const raw = (path: string, by: string): Promise<string> =>
      new Promise((done) => {
        const socket = connect(Number(new URL(address).port), "127.0.0.1", () =>
          socket.write(`GET ${path} HTTP/1.1\r\nHost: ${by}\r\nConnection: close\r\n\r\n`),
        );
        let said = "";
        socket.on("data", (data: Buffer) => (said += data.toString()));
        socket.on("close", () => done(said));
      });
    expect(await raw("/../Cargo.toml", host)).toMatch(/^HTTP\/1\.1 404 /);
    // By another name, as a page of elsewhere has it, nothing.
    expect(await raw("/", "elsewhere.example")).toMatch(/^HTTP\/1\.1 421 /);
  } finally {
    child.kill();
  }
});

test("what cannot be explored is said in one line", () => {
  const of = (args: string[]): string => program(["explore", "--no-open", ...args]).said;
  expect(of(["nothing.toml"])).toContain("no such file");
  expect(of(["examples/queuepilot.toml"])).toBe(
    "error: examples/queuepilot.toml: it names threshold-policy.json, and a page reads no files\n",
  );
  expect(PAGE).toContain("build/web");
});
