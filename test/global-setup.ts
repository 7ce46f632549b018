import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

/** Tests that start the real program start what people start: the built one. (Types are checked by `npm run types`.) */
export default function buildOnce(): void {
  // A home that a group may write is refused (store/home/home-modes.ts); with another umask the tests' homes would be.
  process.umask(0o022);
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
  // A thousand processes read the same sources and the same bundle: Node keeps what it made of them for the next.
  process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, "../.scratch/compiled");
  rmSync(process.env.NODE_COMPILE_CACHE, { recursive: true, force: true });
}
