#!/usr/bin/env node
// Only dynamic imports here: an older Node must get as far as this before it meets what it cannot read.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  const [{ runOnRightNode }, { fileURLToPath }] = await Promise.all([
    import("./start/right-node.ts"),
    import("node:url"),
  ]);
  runOnRightNode("tx", fileURLToPath(import.meta.url));
} else {
  const [{ enableCompileCache }, { homedir }, { join }] = await Promise.all([
    import("node:module"),
    import("node:os"),
    import("node:path"),
  ]);
  enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "agiraph"));
  const [{ runCommandLine }, { createTx }] = await Promise.all([
    import("./agiraph-command.ts"),
    import("./tx-command.ts"),
  ]);
  await runCommandLine(process, createTx);
}

export {};
