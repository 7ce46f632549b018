#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ProviderTurns } from "./provider-script.ts";
import { startProviderServer } from "./provider-server.ts";

/**
 * The scripted provider as a process of its own:
 * `node src/testing/provider-server-main.ts --turns turns.json [--latency MS] [--port N]`.
 * Prints one line, `{"port":N}`, when it listens, and ends by SIGINT or SIGTERM.
 */
const { values } = parseArgs({
  options: { turns: { type: "string" }, latency: { type: "string" }, port: { type: "string" } },
});

if (values.turns === undefined) {
  console.error(
    "No script was given. Pass --turns FILE: a JSON array of turns, or an object of such arrays by conversation.",
  );
  process.exit(2);
}

const turns: ProviderTurns = JSON.parse(readFileSync(values.turns, "utf8"));
const server = await startProviderServer({
  turns,
  forget: true,
  latencyMs: Number(values.latency ?? 0),
  port: Number(values.port ?? 0),
});
console.log(JSON.stringify({ port: server.port }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
