// Completes package-lock.json. Run it after each change of dependencies.
//  1. Names every optional platform package: `npm ci` of npm 11 refuses a lock that leaves any out.
//  2. Gives every entry the hash that the registry has for it, so that `npm ci` installs these bytes or nothing.
//  3. Leaves out where a package was downloaded from.
// Ends with exit code 1 when the registry does not have one of them: choose versions that it has for all platforms.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const file = "package-lock.json";
const lock = JSON.parse(readFileSync(file, "utf8"));
let added = 0;
for (const owner of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    if (Object.keys(lock.packages).some((path) => path.endsWith(place))) continue;
    lock.packages[place] = { version, ...platformOf(name), ...(owner.dev && { dev: true }), optional: true };
    added++;
  }
}
const missing = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!entry.link) delete entry.resolved;
  // Ours, or part of a package whose hash covers it.
  if (!path.includes("node_modules/") || entry.link || entry.inBundle || entry.integrity) continue;
  const name = `${path.split("node_modules/").at(-1)}@${entry.version}`;
  const integrity = integrityOf(name);
  if (integrity.startsWith("sha512-")) entry.integrity = integrity;
  else missing.push(name);
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages added to ${file}`);
if (missing.length > 0) {
  console.error(`The registry has no hash for ${missing.join(", ")}.`);
  process.exitCode = 1;
}

function integrityOf(name) {
  try {
    const options = { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync("npm", ["view", name, "dist.integrity"], options).trim();
  } catch {
    return "";
  }
}

/** From names like `cli-linux-arm64-musl`, `binding-win32-x64-msvc`, `binding-wasm32-wasi`. */
function platformOf(name) {
  const parts = name.split("/").at(-1).split("-").slice(1);
  if (parts.includes("wasm32")) return { cpu: ["wasm32"] };
  const [os, cpu] = parts;
  const libc = parts.includes("musl") ? "musl" : parts.includes("gnu") ? "glibc" : undefined;
  return { cpu: [cpu], ...(libc && { libc: [libc] }), os: [os] };
}
