// `npm start`: runs the program in this very process, built anew if its sources have changed.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isBuilt } from "./build.mjs";

if (!isBuilt()) execFileSync(process.execPath, [join(import.meta.dirname, "build.mjs")], { stdio: "inherit" });
const main = join(import.meta.dirname, "../dist/bundle/main.js");
// The program starts itself again by this path (`--detach`).
process.argv[1] = main;
await import(pathToFileURL(main).href);
