import { defineConfig } from "@playwright/test";

// The distribution's Chromium; nothing is downloaded. A test waits for states, and each wait has an end.
export default defineConfig({
  testDir: "tests",
  fullyParallel: true,
  workers: 2,
  timeout: 120_000,
  globalTimeout: 1_780_000,
  expect: { timeout: 60_000 },
  forbidOnly: true,
  reporter: [["line"], ["json", { outputFile: "test-results/results.json" }]],
  use: {
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    },
    viewport: { width: 1280, height: 900 },
    actionTimeout: 60_000,
    navigationTimeout: 60_000,
  },
});
