import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * The peers live in `bench/peers/`, which git ignores; `peers.json` pins their versions.
 *
 * BENCH-PEERS-1. Nothing of theirs is installed beside the product, and none of their install scripts runs.
 * BENCH-PEERS-2. A peer is imported from inside that folder, so it finds its own dependencies and not ours.
 */
const folder = fileURLToPath(new URL("./peers/", import.meta.url));
const pinned = JSON.parse(readFileSync(new URL("./peers.json", import.meta.url), "utf8"));

export function installPeers(log) {
  const wanted = Object.entries(pinned);
  const missing = wanted.filter(([name, version]) => installedVersion(name) !== version);
  if (missing.length === 0) return;
  log(`Installing ${missing.length} pinned packages into bench/peers (once, about two minutes) …`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}package.json`, '{ "private": true }\n');
  writeFileSync(`${folder}load.mjs`, "export const load = (name) => import(name);\n");
  const packages = wanted.map(([name, version]) => `${name}@${version}`);
  const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder];
  const done = spawnSync("npm", ["install", ...flags, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
  if (done.status === 0) return;
  throw new Error("npm could not install the peers into bench/peers. Check the network, or run with --no-peers.");
}

export async function importPeer(name) {
  const { load } = await import(pathToFileURL(`${folder}load.mjs`).href);
  return load(name);
}

export function installedVersion(name) {
  try {
    return JSON.parse(readFileSync(`${folder}node_modules/${name}/package.json`, "utf8")).version;
  } catch {
    return undefined;
  }
}
