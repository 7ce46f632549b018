#!/usr/bin/env node
// Only dynamic imports here: an older Node must get as far as this sentence before it meets what it cannot read.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `tx needs Node 22.18 or newer; this is ${process.versions.node} (${process.execPath}). Install a newer one: https://nodejs.org`,
  );
  process.exitCode = 1;
} else {
  const [{ enableCompileCache }, { homedir }, { join }] = await Promise.all([
    import("node:module"),
    import("node:os"),
    import("node:path"),
  ]);
  enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "agiraph"));
  const [{ runProgram }, { createTx }] = await Promise.all([import("./program.ts"), import("./tx-program.ts")]);
  await runProgram(process, createTx);
}

export {};
