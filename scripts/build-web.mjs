// Builds the page into dist/web.
import { join } from "node:path";

export default async function buildWeb(root) {
  // The page that people get, also where a test asks for it.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  await build({ root: join(root, "web"), configFile: join(root, "web/vite.config.ts"), logLevel: "warn" });
}
