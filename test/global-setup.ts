import { execFileSync } from "node:child_process";

/** Tests that start the real program start what people start: the built one. (Types are checked by `npm run types`.) */
export default function buildOnce(): void {
  // A home that a group may write is refused (store/home/home-modes.ts); with another umask the tests' homes would be.
  process.umask(0o022);
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
}
