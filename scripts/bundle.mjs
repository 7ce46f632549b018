// Few files load faster than many: what people start is bundled, with the parts of zod that we use (all of zod is
// 95 files). `tsc` gives the types. What code finds by its path lies flat beside the bundles: what opens ports in a
// sandbox, the threads that read web pages and long logs and match patterns, the prompts.
import { chmodSync, cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { builtinsWithoutImport, partsOf } from "./bundle-plugins.mjs";

const INLINED = new Set(["zod", "croner"]);

export default async function bundle(root) {
  const { rolldown } = await import("rolldown");
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const external = Object.keys(dependencies).filter((name) => !INLINED.has(name));
  const into = join(root, "dist/bundle");
  rmSync(into, { recursive: true, force: true });
  const { reader, groups } = partsOfRuntime(root);
  const programs = await rolldown({
    cwd: root,
    input: INPUT,
    platform: "node",
    plugins: [reader, builtinsWithoutImport],
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
  });
  await programs.write({ dir: into, format: "esm", chunkFileNames: "[name]-[hash].js", codeSplitting: { groups } });
  cpSync(join(root, "src/workers/prompts"), join(into, "prompts"), { recursive: true });
  // `npm link` sets this only once, and the next build would take it away.
  for (const program of ["main", "tx"]) chmodSync(join(into, `${program}.js`), 0o755);
}

function partsOfRuntime(root) {
  const at = (path) => join(root, path);
  return partsOf({
    entry: at(INPUT.index),
    opens: at("src/runtime/open-runtime.ts"),
    programs: {
      interface: at(INPUT.client),
      line: at("src/cli/agiraph-command.ts"),
      folds: at(INPUT["catch-up-thread"]),
    },
    commandsIn: at("src/cli/"),
  });
}

const INPUT = {
  main: "src/cli/main.ts",
  tx: "src/cli/tx.ts",
  index: "src/index.ts",
  server: "src/server/index.ts",
  client: "src/client/client.ts",
  testing: "src/testing/index.ts",
  "inner-ports": "src/sandbox/network/inner-ports.ts",
  "mcp-bridge": "src/workers/outside/acp/mcp-bridge.ts",
  "web-page-thread": "src/tools/web-page-thread.ts",
  "grep-thread": "src/tools/grep-thread.ts",
  "catch-up-thread": "src/runtime/views/catch-up-thread.ts",
};
