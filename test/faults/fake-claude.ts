import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

/**
 * As little of Claude Code as speaks its protocol: a session that is kept in its home, three steps of work that each may
 * be done once, and a publish by our door. Who is asked to take up a session that is not there says so and ends; a step
 * that was done before leaves the file `again`.
 */
const words = process.argv;
const option = (name: string) => words[words.indexOf(name) + 1] ?? "";
const isResumed = words.includes("--resume");
const id = isResumed ? option("--resume") : option("--session-id");
const sessions = join(process.env.HOME ?? "", "sessions");
const file = join(sessions, `${id}.json`);
if (isResumed && !existsSync(file)) {
  console.error(`No conversation found with session ID: ${id}`);
  process.exit(1);
}
mkdirSync(sessions, { recursive: true });
const done: string[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function work(): Promise<void> {
  if (!isResumed) writeFileSync(file, "[]");
  say({
    type: "system",
    subtype: "init",
    session_id: id,
    model: "fake",
    mcp_servers: [{ name: "agiraph", status: "connected" }],
  });
  for (const step of ["one", "two", "three"]) {
    if (done.includes(step)) continue;
    // The intent is kept before the deed: whoever finds both has done it.
    if (existsSync(step) && !existsSync(`${file}.${step}`)) writeFileSync("again", step);
    writeFileSync(`${file}.${step}`, "");
    writeFileSync(step, "");
    done.push(step);
    writeFileSync(file, JSON.stringify(done));
    const message = { id: `m-${step}`, model: "fake", content: [{ type: "text", text: `Step ${step}.` }] };
    say({ type: "assistant", message });
    await setTimeout(40);
  }
  await publish();
}

async function publish(): Promise<void> {
  const call = { name: "publish", arguments: { summary: `Published by ${id}.` } };
  const response = await fetch(process.env.AGIRAPH_DOOR_URL ?? "", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      authorization: `Bearer ${process.env.AGIRAPH_DOOR_TOKEN}`,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
  });
  // A publish that succeeds ends us before it is answered.
  say({ type: "result", subtype: "success", is_error: false, result: await response.text() });
}

let isBegun = false;
createInterface({ input: process.stdin }).on("line", (line) => {
  if (JSON.parse(line).type !== "user" || isBegun) return;
  isBegun = true;
  void work();
});
