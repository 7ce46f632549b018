import { execFileSync } from "node:child_process";

/** Tests that start the real program start what people start: the built one. */
export default function buildOnce(): void {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: ["ignore", "inherit", "inherit"] });
}
