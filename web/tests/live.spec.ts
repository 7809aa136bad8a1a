// What is attached to a device, in the page: with the program, in a network of its own that scripts/test makes.
import { expect, test } from "@playwright/test";
import { execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { PROGRAM, axe, program } from "./program.ts";

const DEVICE = process.env["QUEUEWRIGHT_DEVICE"];
const ip = (...args: string[]): string => execFileSync("ip", args, { encoding: "utf8", timeout: 50_000 });

test("a device is shown, changed, and gone", async ({ page }) => {
  test.skip(DEVICE === undefined, "scripts/test gives it a device");
  const dev = DEVICE ?? "";
  ip("addr", "replace", "192.0.2.1/24", "dev", dev);
  ip("link", "set", dev, "up");
  ip("neigh", "replace", "192.0.2.2", "lladdr", "02:00:00:00:00:02", "dev", dev, "nud", "permanent");
  expect(program(["attach", dev, "codel", "--rate", "20mbit", "--front"]).said).toBe("");
  const watch = spawn(PROGRAM, ["watch", "--web", "--every", "50ms", "--allow-set"], { stdio: ["ignore", "pipe", "pipe"] });
  try {
    const [line] = (await once(watch.stdout, "data")) as [Buffer];
    const address = line.toString().trim();
    const odd: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) odd.push(message.text());
    });
    page.on("pageerror", (e) => odd.push(e.message));
    await page.goto(address);
    const heading = page.getByRole("heading", { level: 2 }).filter({ hasText: `${dev}:` });
    await expect(heading).toHaveText(`${dev}: codel, 20 Mbit/s`);
    await expect(page.getByRole("group", { name: "Waiting time, ms, over time" })).toBeVisible();
    await expect(page.getByText("How codel works")).toBeVisible();

    // As many as are sent are seen.
    const before = Number(await page.locator("[data-now=sent]").textContent());
    const socket = createSocket("udp4");
    for (let i = 0; i < 50; i++) await new Promise((done) => socket.send(Buffer.alloc(1000), 9, "192.0.2.2", done));
    socket.close();
    await expect(async () => expect(Number(await page.locator("[data-now=sent]").textContent())).toBeGreaterThanOrEqual(before + 50)).toPass({ timeout: 60_000 });

    await page.evaluate(axe);
    const wrong = await page.evaluate(async () => {
      const { violations } = await (window as unknown as { axe: { run(): Promise<{ violations: { id: string }[] }> } }).axe.run();
      return violations.map((v) => v.id);
    });
    expect(wrong).toEqual([]);
    await page.getByLabel("Variable").selectOption("dropping");
    await expect(page.getByText(/^dropping, now /)).toBeVisible();

    // What is under way is there as long as it is.
    const job = spawn(PROGRAM, ["compare", "--rate", "100mbit", "--rtt", "40ms", "--flows", "2xcubic", "--duration", "60s", "--seeds", "1..1000", "--json"], { stdio: "ignore" });
    const under_way = page.getByText(/^queuewright compare --rate 100mbit .*: \d+ of \d+ runs in /);
    try {
      await expect(under_way).toBeVisible();
      await expect(page.getByRole("progressbar")).toBeVisible();
      await expect(page.getByRole("cell", { name: / %$/ }).first()).toBeVisible();
      if (process.env["SHOT"]) await page.screenshot({ path: process.env["SHOT"].replace(".png", "-jobs.png"), fullPage: true });
    } finally {
      job.kill("SIGKILL");
    }
    await expect(under_way).toBeHidden();

    await page.getByLabel("Change it").fill("rate=9mbit target=7ms");
    await page.getByRole("button", { name: "Set" }).click();
    await expect(heading).toHaveText(`${dev}: codel:target=7ms, 9 Mbit/s`);
    await expect(page.getByText(/^Set\. /)).toBeVisible();
    expect(program(["status", dev]).out).toContain("9mbit");
    expect(odd).toEqual([]);
    await page.getByLabel("Change it").fill("target=-1");
    await page.getByRole("button", { name: "Set" }).click();
    await expect(page.getByText(/^Not set: .*target/)).toBeVisible();
    if (process.env["SHOT"]) await page.screenshot({ path: process.env["SHOT"], fullPage: true });

    expect(program(["detach", dev]).said).toBe("");
    await expect(page.getByText(/^Nothing is attached here\./)).toBeVisible();
    watch.kill();
    await expect(page.getByText(/cannot be reached|has ended/)).toBeVisible();
  } finally {
    watch.kill("SIGKILL");
    program(["detach", dev]);
  }
});
