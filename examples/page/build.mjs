// node build.mjs EXPORT [OUT]: a folder for any static host.
import { build } from "esbuild";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [exported, out = "dist"] = process.argv.slice(2);
if (!exported) {
  console.error("usage: npm run build -- EXPORT [OUT], where EXPORT is what export.py wrote");
  process.exit(2);
}
const litert = join(exported, "litert");
const description = readdirSync(litert).find((name) => name.endsWith(".json"));
const name = description.slice(0, -".json".length);

mkdirSync(join(out, "model"), { recursive: true });
cpSync(join(litert, description), join(out, "model", "model.json"));
cpSync(join(litert, `${name}.int8.tflite`), join(out, "model", "model.tflite"));
cpSync("node_modules/@litertjs/core/wasm", join(out, "wasm"), { recursive: true });
cpSync("index.html", join(out, "index.html"));
await build({
  entryPoints: ["page.js"],
  outfile: join(out, "page.js"),
  bundle: true,
  format: "esm",
  minify: true,
  legalComments: "eof", // the licence of LiteRT.js stays with its code
});
