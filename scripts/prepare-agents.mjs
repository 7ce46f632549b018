import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

// Before the tests: the programs of others that they run for real, pinned, in the ignored folder `.agents/` (or where
// AGIRAPH_AGENTS_DIR says). What is there already stays; what cannot be installed is said, and the tests that need it
// are skipped and say so. It never fails the run. About 1.5 GB, once.
//
// Pinned, and with the Node that runs this: an older one gets older versions from npm without a word.

const GROUPS = {
  claude: ["@anthropic-ai/claude-code@2.1.325"],
  acp: ["@agentclientprotocol/codex-acp@2.6.0"],
  mcp: [
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
  ],
  // A package whose tarball has its sources and its tests, and what those need: a team works on it as on a repository.
  router: ["find-my-way@9.10.0", "proxyquire@2.1.3", "rfdc@1.4.1"],
  conf2: ["@modelcontextprotocol/conformance@0.2.0-alpha.12"],
  // Large, and slow: only for `npm run soak`, which asks for all.
  ...(process.argv.includes("all") && { gemini: ["@google/gemini-cli@0.61.0"], opencode: ["opencode-ai@1.18.33"] }),
};

const root = process.env.AGIRAPH_AGENTS_DIR ?? join(import.meta.dirname, "../.agents");
const path = `${dirname(process.execPath)}:${process.env.PATH ?? ""}`;
const run = promisify(execFile);

// At once: each waits for the network most of the time.
await Promise.all(Object.entries(GROUPS).map(([group, packages]) => install(join(root, group), packages)));

async function install(folder, packages) {
  const missing = packages.filter((spec) => !isThere(folder, spec));
  if (missing.length === 0) return;
  console.log(`Installing for the tests: ${missing.join(", ")} …`);
  try {
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    await run("npm", ["install", "--no-audit", "--no-fund", "--no-progress", ...missing], {
      cwd: folder,
      env: { ...process.env, PATH: path },
      timeout: 600_000,
    });
  } catch (error) {
    const why = String(error.stderr || error.message)
      .trim()
      .split("\n")
      .slice(-3)
      .join(" ");
    console.log(`${missing.join(", ")} could not be installed, so the tests that need it are skipped: ${why}`);
  }
}

function isThere(folder, spec) {
  const at = spec.lastIndexOf("@");
  const file = join(folder, "node_modules", spec.slice(0, at), "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === spec.slice(at + 1);
}
