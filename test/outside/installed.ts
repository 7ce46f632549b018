import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type TestAPI, test } from "vitest";

/** Where the pinned programs of others are: `AGIRAPH_AGENTS_DIR`, or the ignored folder `.agents/` (scripts/prepare-agents.mjs). */
export function agentsDir(): string {
  return resolve(process.env.AGIRAPH_AGENTS_DIR ?? join(import.meta.dirname, "../../.agents"));
}

/** A file of an installed package: `installed("mcp", "@modelcontextprotocol/server-everything/dist/index.js")`. */
export function installed(group: string, file: string): string {
  return join(agentsDir(), group, "node_modules", file);
}

/** `test`, or where the package is not installed a test that is skipped and says so. */
export function whenInstalled(group: string, ...packages: string[]): TestAPI | TestAPI["skip"] {
  const missing = packages.filter((name) => !existsSync(installed(group, name)));
  if (missing.length === 0) return test;
  console.warn(`Skipped: ${missing.join(", ")} not installed in .agents/${group} (node scripts/prepare-agents.mjs).`);
  return test.skip;
}
