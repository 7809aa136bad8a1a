// One folder of static files that works from a disk: pages from there may load no modules and no files of their own, so the script is a
// classic one, the worker is a part of it, and so is the simulator, compressed.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const WASM = fileURLToPath(new URL("../build/web.wasm", import.meta.url));
const SIMULATOR = "virtual:simulator";

function simulator(): Plugin {
  return {
    name: "simulator",
    resolveId: (id) => (id === SIMULATOR ? `\0${SIMULATOR}` : null),
    load(id) {
      if (id !== `\0${SIMULATOR}`) return null;
      const packed = gzipSync(readFileSync(WASM), { level: 9 });
      return `export default ${JSON.stringify(packed.toString("base64"))};`;
    },
  };
}

/** The licences of what is in the bundle beside our own. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const own = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { dependencies: Record<string, string> };
      const texts = Object.keys(own.dependencies).map((name) => {
        const text = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
        return `${name}\n\n${text.trim()}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join("\n\n") });
    },
  };
}

function classicScript(): Plugin {
  return {
    name: "classic-script",
    enforce: "post",
    transformIndexHtml: (html) =>
      html.replace(/<script type="module" crossorigin/g, "<script defer").replace(/<link rel="stylesheet" crossorigin/g, '<link rel="stylesheet"'),
  };
}

export default defineConfig({
  base: "./",
  plugins: [simulator(), licences(), classicScript()],
  worker: { format: "iife" },
  build: {
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 4000,
    reportCompressedSize: false,
    rollupOptions: { output: { format: "iife" } },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
