import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

/**
 * As little of Claude Code as speaks its protocol: a session that is kept in its home, three steps of work that each may
 * be done once, and a publish by our door. Who is asked to take up a session that is not there says so and ends; a step
 * that was done before leaves the file `again`.
 *
 * `hold:WHERE` among its arguments: there it says so on its standard error, and goes no further. `die:N`: the first N
 * times that it takes its session up it dies before it has begun, without a word.
 */
const words = process.argv;
const option = (name: string) => words[words.indexOf(name) + 1] ?? "";
const isResumed = words.includes("--resume");
const id = isResumed ? option("--resume") : option("--session-id");
const home = process.env.HOME ?? "";
const sessions = join(home, "sessions");
const file = join(sessions, `${id}.json`);
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
mkdirSync(sessions, { recursive: true });

/** Whole or not at all: it may be killed at any moment. */
function keep(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

async function at(where: string): Promise<void> {
  if (!words.includes(`hold:${where}`)) return;
  console.error(`at ${where}`);
  await new Promise(() => {});
}

/** As the real one says it: in both streams. */
function loses(): never {
  const lost = `No conversation found with session ID: ${id}`;
  console.error(lost);
  say({ type: "result", subtype: "error_during_execution", is_error: true, errors: [lost] });
  process.exit(1);
}

function diesEarly(): boolean {
  const path = join(home, "deaths");
  const deaths = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  if (deaths >= Number(words.find((word) => word.startsWith("die:"))?.slice(4) ?? 0)) return false;
  keep(path, String(deaths + 1));
  return true;
}

async function work(task: string): Promise<void> {
  await at(isResumed ? "resume" : "start");
  if (isResumed && diesEarly()) process.exit(1);
  if (isResumed && !existsSync(file)) return loses();
  if (!isResumed) keep(file, "[]");
  const done: string[] = JSON.parse(readFileSync(file, "utf8"));
  keep(join(home, "told"), task);
  say({
    type: "system",
    subtype: "init",
    session_id: id,
    model: "fake",
    mcp_servers: [{ name: "agiraph", status: "connected" }],
  });
  await at("begun");
  for (const step of ["one", "two", "three"]) {
    if (done.includes(step)) continue;
    // The intent is kept before the deed: whoever finds both has done it.
    if (existsSync(step) && !existsSync(`${file}.${step}`)) writeFileSync("again", step);
    keep(`${file}.${step}`, "");
    writeFileSync(step, "");
    done.push(step);
    keep(file, JSON.stringify(done));
    await at(step);
    const message = { id: `m-${step}`, model: "fake", content: [{ type: "text", text: `Step ${step}.` }] };
    say({ type: "assistant", message });
    await setTimeout(40);
  }
  await at("publish");
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
  const { type, message, uuid } = JSON.parse(line);
  if (type !== "user") return;
  // As the real one does for what its model reads: what it has not echoed holds its publish back.
  say({ type, message, uuid, session_id: id, isReplay: true });
  if (isBegun) return;
  isBegun = true;
  void work(message.content);
});
