// Names every optional platform package in package-lock.json, also those that the registry at hand does not carry:
// `npm ci` of npm 11 refuses a lock that leaves any out. Run it after each change of dependencies.
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
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
if (added > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages added to ${file}`);

/** From names like `cli-linux-arm64-musl`, `binding-win32-x64-msvc`, `binding-wasm32-wasi`. */
function platformOf(name) {
  const parts = name.split("/").at(-1).split("-").slice(1);
  if (parts.includes("wasm32")) return { cpu: ["wasm32"] };
  const [os, cpu] = parts;
  const libc = parts.includes("musl") ? "musl" : parts.includes("gnu") ? "glibc" : undefined;
  return { cpu: [cpu], ...(libc && { libc: [libc] }), os: [os] };
}
