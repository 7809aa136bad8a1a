// The page as the README shows it: node web/picture.mjs FILE. Needs build/web and Chromium.
import { chromium } from "@playwright/test";

const page = new URL("../build/web/index.html#story=bufferbloat", import.meta.url).href;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const tab = await browser.newPage({ viewport: { width: 1280, height: 960 }, colorScheme: "light" });
await tab.goto(page);
await tab.waitForFunction(() => window.explorer?.answer.length > 0 && window.explorer.lanes.every((lane) => lane.packets.ready >= window.explorer.t), null, { timeout: 60_000 });
await tab.locator(".answer").waitFor({ timeout: 20_000 });
await tab.screenshot({ path: process.argv[2] });
await browser.close();
