import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Layout, type MeshAddress, QUEUES } from "../../src/mesh/files/layout.ts";
import { ProjectLockedError } from "../../src/mesh/files/lock.ts";
import type { MeshMessage } from "../../src/mesh/files/mesh-message.ts";
import { format } from "../../src/mesh/files/message-file.ts";
import { Meshes } from "../../src/mesh/running/meshes.ts";

/**
 * One life of a process that runs the meshes of `mesh-kills.test.ts`. It says `ready` when it is loaded, begins at the
 * word `go`, and is killed. Its agents keep nothing in mind: what they have said and heard they read from the files, so
 * that being told again after a kill makes them say nothing twice.
 */
const layout = new Layout(process.argv[2] ?? "");
const say = (line: string) => process.stdout.write(`${line}\n`);
let count = 0;

const lead: MeshAddress = { mesh: "plan", agent: "lead" };
const coder: MeshAddress = { mesh: "plan", agent: "coder" };
const review: MeshAddress = { mesh: "review", agent: null };

function names(address: MeshAddress, queues: readonly (typeof QUEUES)[number][] = QUEUES): string[] {
  return queues.flatMap((queue) => readdirSync(layout.queue(address, queue)));
}

function put(from: MeshAddress, name: string, to: string, type: "task" | "task-complete", about?: string): void {
  const tmp = join(layout.running, "said");
  mkdirSync(tmp, { recursive: true });
  const aside = join(tmp, `${process.pid}-${++count}.md`);
  const header = { from: `${from.mesh}/${from.agent}`, to, type, status: "pending" } as const;
  writeFileSync(aside, format({ ...header, ...(about && { "in-reply-to": about }) }, `# ${name}\n`));
  renameSync(aside, join(layout.queue(from, "outbox"), name));
}

/** Ends a task, unless it has said so already. */
function end(address: MeshAddress, stem: string): void {
  // What a hand has put back to be done again has its words in the archive.
  const said = names(address, ["outbox", "complete"]);
  if (said.includes(`${stem}.end.md`) || said.includes(`${stem}.result.md`)) return;
  put(address, `${stem}.end.md`, "mesh", "task-complete", stem);
}

/** Hands one part to the coder and one to the other mesh; ends when both are answered. */
function leadDoes(): void {
  for (const file of readdirSync(layout.queue(lead, "active"))) {
    const stem = file.slice(0, -3);
    const out = readdirSync(layout.queue(lead, "outbox"));
    // By how they begin: what a hand has put back to be done again has a number.
    const isSent = (part: string, to: MeshAddress) =>
      [...out, ...names(to)].some((name) => name.startsWith(`${stem}.${part}`));
    if (!isSent("part", coder)) put(lead, `${stem}.part.md`, "coder", "task");
    if (!isSent("check", review)) put(lead, `${stem}.check.md`, "review", "task");
    const heard = names(lead, ["inbox", "complete"]);
    const isAnswered = (part: string) =>
      heard.some((name) => name.startsWith(`${stem}.${part}`) && name.endsWith(".done.md"));
    if (isAnswered("part") && isAnswered("check")) end(lead, stem);
  }
}

const meshes = new Meshes(layout, {
  now: () => Date.now(),
  record: ({ type, data }) => {
    if ("agent" in data && data.agent === null && type === "mesh.completed" && data.mesh === "plan") say("completed");
    if (type === "mesh.quarantined" || type === "mesh.stalled" || type === "mesh.undelivered")
      say(`trouble ${JSON.stringify({ type, data })}`);
  },
  member: ({ config: { mesh } }, { name: agent }) => ({
    async tell(message: MeshMessage) {
      if (agent === "lead") leadDoes();
      else if (message.header.type === "task") end({ mesh, agent }, message.name.slice(0, -3));
    },
    async close() {},
  }),
  isTrusted: () => true,
  gate: () => new Promise((resolve) => setImmediate(() => resolve(null))),
  human() {},
});

say("ready");
const [word] = await new Promise<string[]>((resolve) =>
  createInterface({ input: process.stdin }).once("line", (line) => resolve([line])),
);
if (word === "go") {
  try {
    await meshes.open();
    say("open");
  } catch (error) {
    if (!(error instanceof ProjectLockedError)) throw error;
    say(`locked ${error.pid}`);
    process.exit(0);
  }
}
