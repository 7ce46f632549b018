// Builds the page into dist/web, unless nothing it is made of has changed since: `npm start` should not wait for it.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const SOURCES = ["web", "src/protocol", "src/projections", "package-lock.json"];
const BUILT = "dist/web/index.html";

if (!existsSync(BUILT) || newest(SOURCES) > statSync(BUILT).mtimeMs) {
  // Whoever calls, tests too, gets the page that people get.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  await build({ configFile: "web/vite.config.ts", logLevel: "warn" });
}

function newest(paths) {
  return Math.max(...paths.map(changed));
}

function changed(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => changed(join(path, name))));
}
