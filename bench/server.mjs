import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { restHome } from "./restart.mjs";

/**
 * The server under load: so many agents, a few of them at work, clients that look on, and somebody who asks.
 *
 * BENCH-SERVER-1. Server and clients are two processes. The server is the real one: guard, routes, sockets, metrics.
 *     The model is in it, and does nothing but wait.
 * BENCH-SERVER-2. From a fact to a client: from the fact's date to when the client has read it, on one clock. Dates are
 *     in whole milliseconds, so a figure may be half of one too low or too high.
 * BENCH-SERVER-3. Everybody works from the beginning to the end, or there are no figures.
 * BENCH-SERVER-4. Memory is the heap after a collection. While the same clients look on and nobody works it stays as it
 *     is. While somebody works it grows: by the conversation, which the next request needs, and up to 2,000 of its
 *     newest facts. What a turn adds is told beside the bytes that it adds to the conversation's file. When they are
 *     stopped the heap is as it was when they were stopped after their first turns.
 */
export async function serverCost(home, job) {
  await restHome(home, job.idle, job.facts);
  const server = await startServer(home, job);
  try {
    const lookOn = (at, seconds) => clients(server, { ...job, working: at, seconds });
    // The first time things are loaded and compiled, which stays.
    await lookOn(server.idle, job.seconds / 4);
    const quiet = await server.tell("look");
    await lookOn(server.idle, job.seconds / 4);
    const stillQuiet = await server.tell("look");
    await server.tell("work");
    const atRest = await server.tell("rest");
    const begun = await server.tell("work");
    const seen = await lookOn(begun.working, job.seconds);
    const after = await server.tell("look");
    if (after.working.length < job.working) throw new Error(`only ${after.working.length} still worked at the end`);
    const stopped = await server.tell("rest");
    const turns = after.turns - begun.turns;
    return {
      ...seen,
      idle_kb: server.idle_kb,
      turns_a_second: turns / job.seconds,
      turn_kb: (after.heap - begun.heap) / turns / 1024,
      said_kb: (after.said - begun.said) / turns / 1024,
      quiet_heap: stillQuiet.heap / quiet.heap,
      stopped_heap: stopped.heap / atRest.heap,
    };
  } finally {
    server.child.kill("SIGTERM");
  }
}

async function clients({ url, token }, job) {
  const file = fileURLToPath(new URL("./server-clients.mjs", import.meta.url));
  const told = JSON.stringify({ ...job, url, token });
  const { stdout } = await promisify(execFile)(process.execPath, [file, told]);
  return JSON.parse(stdout);
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
