import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { restHome } from "./restart.mjs";

/**
 * The server under load: so many agents, a few of them at work, clients that look on, and somebody who asks.
 *
 * V1. Server, clients and model are three processes. The server is the real one: guard, routes, sockets, metrics.
 * V2. From a fact to a client: from the fact's date to when the client has read it, on one clock. Dates are in whole
 *     milliseconds, so a figure may be half of one too low or too high.
 * V3. Memory is the heap after a collection, at the start and at the end: what it grew by is told as well.
 */
export async function serverCost(home, job) {
  await restHome(home, job.idle, job.facts);
  const server = await startServer(home, job);
  try {
    const before = await server.tell("memory");
    const file = fileURLToPath(new URL("./server-clients.mjs", import.meta.url));
    const told = JSON.stringify({ ...job, url: server.url, token: server.token, working: server.working });
    const { stdout } = await promisify(execFile)(process.execPath, [file, told]);
    const after = await server.tell("memory");
    const seen = JSON.parse(stdout);
    return { ...seen, idle_kb: server.idle_kb, grown_mb: (after.heap - before.heap) / 1e6 };
  } finally {
    server.child.kill("SIGTERM");
  }
}

async function startServer(home, job) {
  const file = fileURLToPath(new URL("./server-main.mjs", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", file, JSON.stringify({ ...job, home })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [ready] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the server exited with ${code}`))),
  ]);
  const tell = async (word) => {
    child.stdin.write(`${word}\n`);
    const [answer] = await once(lines, "line");
    return JSON.parse(answer);
  };
  return { child, tell, ...JSON.parse(ready) };
}
