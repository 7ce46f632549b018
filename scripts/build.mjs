// Builds what people start: the programs (dist/bundle) and the page (dist/web). A part is built only if its sources
// have changed since, so `npm start` and the tests begin at once. Types for the package come from `tsc` (npm run build).
//
// BUILD-1. A part counts as built only when its build has ended: one that was interrupted is built again.
// BUILD-2. The sources are looked at before the build: what changes meanwhile is built the next time.
// BUILD-3. Two at once do not disturb each other: the second waits, and then finds everything built.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const STAMPS = "dist/.built.json";
const LOCK = "dist/.building";

/** What each part is made of. The page may import these rooms of `src` and no others (test/architecture.test.ts). */
export const PAGE_ROOMS = ["src/protocol", "src/projections", "src/wording", "src/client"];
const SETTINGS = ["package.json", "package-lock.json", "tsconfig.json", "scripts"];
const PARTS = [
  { name: "the program", result: "dist/bundle/main.js", sources: ["src", ...SETTINGS], script: "./bundle.mjs" },
  {
    name: "the page",
    result: "dist/web/index.html",
    sources: ["web", ...PAGE_ROOMS, ...SETTINGS],
    script: "./build-web.mjs",
  },
];

/** Whether everything is as its sources are now. */
export function isBuilt(root = ROOT) {
  return staleParts(root).length === 0;
}

/** Builds what has changed, and says what. */
async function buildChanged(root) {
  if (isBuilt(root)) return;
  const unlock = await lock(root);
  try {
    // Somebody else may have built them while we waited.
    for (const { name, script, fingerprint } of staleParts(root)) {
      console.error(`Building ${name} …`);
      writeStamps(root, { [name]: undefined });
      await (await import(script)).default(root);
      writeStamps(root, { [name]: fingerprint });
    }
  } finally {
    unlock();
  }
}

function staleParts(root) {
  const stamps = readStamps(root);
  return PARTS.flatMap((part) => {
    const fingerprint = fingerprintOf(root, part.sources);
    const isBuilt = stamps[part.name] === fingerprint && existsSync(join(root, part.result));
    return isBuilt ? [] : [{ ...part, fingerprint }];
  });
}

/** Names, sizes and times of all files: a change that keeps all three is not noticed, and no tool makes one. */
function fingerprintOf(root, sources) {
  const hash = createHash("sha256");
  const add = (path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isDirectory()) {
      if (!/\.test\.tsx?$/.test(path)) hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
      return;
    }
    for (const name of readdirSync(join(root, path)).sort()) if (name !== "node_modules") add(join(path, name));
  };
  for (const source of sources) add(source);
  return hash.digest("hex");
}

function readStamps(root) {
  try {
    return JSON.parse(readFileSync(join(root, STAMPS), "utf8"));
  } catch {
    return {};
  }
}

function writeStamps(root, changes) {
  mkdirSync(join(root, "dist"), { recursive: true });
  const file = join(root, STAMPS);
  writeFileSync(`${file}.${process.pid}`, JSON.stringify({ ...readStamps(root), ...changes }));
  renameSync(`${file}.${process.pid}`, file);
}

async function lock(root) {
  const file = join(root, LOCK);
  mkdirSync(join(root, "dist"), { recursive: true });
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (isGone(file)) rmSync(file, { force: true });
    else await new Promise((done) => setTimeout(done, 100));
  }
}

/** Its holder was killed. */
function isGone(file) {
  try {
    process.kill(Number(readFileSync(file, "utf8")) || process.pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

if (process.argv[1] === import.meta.filename) await buildChanged(resolve(process.argv[2] ?? ROOT));
