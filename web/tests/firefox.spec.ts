// The stories in the distribution's Firefox, which Playwright cannot drive: it has a Firefox of its own.
import { expect, test } from "@playwright/test";
import puppeteer from "puppeteer-core";
import { ADDRESS, IDS } from "./program.ts";

const FIREFOX = process.env["FIREFOX"];

test("every story runs in Firefox", async () => {
  test.skip(FIREFOX === undefined, "there is no Firefox");
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX ?? "", headless: true, protocolTimeout: 100_000 });
  try {
    for (const id of IDS) {
      const page = await browser.newPage();
      const odd: string[] = [];
      page.on("console", (message) => {
        if (["error", "warn"].includes(message.type())) odd.push(message.text());
      });
      page.on("pageerror", (e) => odd.push(String(e)));
      await page.goto(`${ADDRESS}#story=${id}`);
      const ended = (): boolean => window.explorer?.lanes.length === 2 && window.explorer.lanes.every((lane) => lane.finished ?? lane.failed);
      await page.waitForFunction(ended, { timeout: 60_000 });
      await page.waitForSelector("[data-measure]", { timeout: 60_000 });
      expect(await page.evaluate(() => [window.explorer?.error, ...(window.explorer?.lanes.map((lane) => lane.failed) ?? [])]), id).toEqual(["", "", ""]);
      expect(odd, id).toEqual([]);
      await page.close();
    }
  } finally {
    await browser.close();
  }
});
