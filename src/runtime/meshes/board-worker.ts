import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { readMesh } from "../../mesh/declaration/declared-mesh.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import { clipped, type MeshMessage } from "../../mesh/files/mesh-message.ts";
import { titleOf } from "../../mesh/files/message-file.ts";
import { stemOf } from "../../mesh/files/message-names.ts";
import { MeshFileClient } from "../../mesh/running/mesh-file-client.ts";
import type { Clock } from "../../protocol/clock.ts";
import { type AgentId, COORDINATOR, NO_USAGE } from "../../protocol/index.ts";
import { putFile } from "../../store/disk/foreign-folder.ts";
import { ignoreInClone } from "../../store/run/clone-excludes.ts";
import { PROTOCOL_FILES } from "../../store/run/publish.ts";
import { resumeText } from "../../workers/outside/first-words.ts";
import { EventQueue } from "../../workers/outside/session/event-queue.ts";
import type { Adapter, OutsideEvent, OutsideSession, SessionSetup } from "../../workers/outside/session/session.ts";
import { bringRefs } from "./board-refs.ts";
import { cloneText, HOW_TO_ANSWER, IN_REPOSITORY, STOP } from "./board-words.ts";
import { copyFiles } from "./output-files.ts";

/**
 * A mesh as a worker on a board: its entry agent gets the node's spec and refs as a task, and its result is published.
 *
 * MESH-WORKER-1. A task is named after the agent and its node: after a restart it is found by that name and never sent
 *     twice. Its end message waits in the mesh's outbox until the end of the node is recorded (`takeEnds`).
 * MESH-WORKER-2. What the mesh wrote to shared/output since it began is copied into the node's folder before its end is
 *     reported. Where the node has a clone of the repository, the mesh works in that, and this is beside it; if the mesh is
 *     at work in another home, it cannot reach the clone, and what it wrote to shared/output is copied there.
 * MESH-WORKER-3. Its messages to `agiraph` go to the team, once; messages of the team go to its entry agent as
 *     questions.
 * MESH-WORKER-4. A node whose result is refused goes back to the mesh as another task, a few times.
 * MESH-WORKER-5. The mesh runs independently: closing this only stops listening. Its task continues, and is resumed
 *     later.
 */
export function meshAdapter({ agent, layout, host, problemOf, clock }: BoardWorkerPorts): Adapter {
  return async (setup) => {
    const [name = ""] = setup.profile.command;
    const mesh = new MeshFileClient(layout, readMesh(layout, name));
    const isHere = await host();
    // It was trusted when it was hired, and may have changed since.
    const problem = problemOf(name);
    if (problem !== null) throw new Error(problem);
    const worksInClone = isHere && setup.scratch !== undefined;
    // Of instructions that name the mesh's folder by its path in the project.
    if (worksInClone) await ignoreInClone(setup.cwd, [".ai/"]);
    const session = new BoardSession(mesh, setup, { agent, layout, clock, worksInClone });
    await session.begin();
    return session;
  };
}

/** The end of a node is recorded: the mesh's end messages for it have been handled and can be removed. */
export async function takeEnds(layout: Layout, name: string, agent: AgentId, node: string): Promise<void> {
  const mesh = new MeshFileClient(layout, readMesh(layout, name));
  const first = stemOf(taskName(agent, node, 1));
  mesh.takeEnds((task) => task === first || task.startsWith(`${first}-`));
}

/** The node was cancelled: a mesh that has its task, or has yet to begin it, is told to end it. */
export function withdraw(layout: Layout, name: string, agent: AgentId, node: string, now: Date): void {
  const mesh = new MeshFileClient(layout, readMesh(layout, name));
  let round = 1;
  while (mesh.find(taskName(agent, node, round + 1)) !== undefined) round++;
  const task = taskName(agent, node, round);
  if (["inbox", "next", "active"].includes(mesh.find(task) ?? "")) mesh.ask(task, STOP, now);
}

function taskName(agent: AgentId, node: string, round: number): string {
  return `${agent}-${node}${round === 1 ? "" : `-${round}`}.md`;
}

export interface BoardWorkerPorts {
  agent: AgentId;
  /** The layout of the agent's project. */
  layout: Layout;
  /** Makes sure that a process moves the messages of this project: this one (true), or another that does already. */
  host(): Promise<boolean>;
  /** Why nothing of this mesh may run now; null if it may. */
  problemOf(mesh: string): string | null;
  clock: Clock;
}

const contextSchema = z.object({
  node_id: z.string(),
  task: z.string(),
  deliverables: z.array(z.string()),
  refs: z.record(z.string(), z.string()),
});

class BoardSession implements OutsideSession {
  readonly events = new EventQueue((event) => this.#onHandled(event));
  readonly #mesh: MeshFileClient;
  readonly #setup: SessionSetup;
  readonly #spec: z.infer<typeof contextSchema>;
  readonly #agent: AgentId;
  readonly #layout: Layout;
  readonly #clock: Clock;
  /** The agents of the mesh reach the node's clone. */
  readonly #worksInClone: boolean;
  readonly #after = new Map<OutsideEvent, () => void>();
  readonly #seen = new Set<string>();
  /** How many times the mesh was given the node. */
  #round = 1;
  #hasEnded = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(
    mesh: MeshFileClient,
    setup: SessionSetup,
    {
      agent,
      layout,
      clock,
      worksInClone,
    }: Pick<BoardWorkerPorts, "agent" | "layout" | "clock"> & {
      worksInClone: boolean;
    },
  ) {
    this.#worksInClone = worksInClone;
    this.#mesh = mesh;
    this.#setup = setup;
    this.#spec = contextSchema.parse(setup.context);
    this.#agent = agent;
    this.#layout = layout;
    this.#clock = clock;
  }

  get #task(): string {
    return taskName(this.#agent, this.#spec.node_id, this.#round);
  }

  async begin(): Promise<void> {
    while (this.#mesh.find(taskName(this.#agent, this.#spec.node_id, this.#round + 1)) !== undefined) this.#round++;
    // Its end was dealt with: perhaps by another process, or before the node was opened again.
    if (this.#isOver(this.#task)) this.#round++;
    const queue = this.#mesh.find(this.#task);
    this.events.push({ kind: "begun", session_id: stemOf(this.#task), about: `the mesh ${this.#mesh.name}` });
    this.#mesh.watch(() => this.#look());
    if (queue === undefined) await this.#give(await this.#taskWords());
    // What may not have been passed on is passed on now, as long as the task is not over.
    else if (queue !== "complete" && this.#setup.resume !== null && this.#setup.words !== resumeText([], []))
      await this.say(this.#setup.words);
    this.#look();
  }

  async say(text: string): Promise<void> {
    if (this.events.ended) return;
    if (this.#hasEnded) return this.#giveBack(text);
    const body = `# About ${titleOf(this.#spec.task)}\n\n${text.trim()}\n\n${HOW_TO_ANSWER}\n`;
    this.#mesh.ask(this.#task, body, this.#now);
    this.#noteDown(`Passed on to the mesh ${this.#mesh.name}.`);
  }

  /** Permissions are asked for and decided within the mesh. */
  async decide(): Promise<void> {}

  async interrupt(): Promise<void> {
    if (!this.#hasEnded && this.#mesh.find(this.#task) !== undefined) this.#mesh.ask(this.#task, STOP, this.#now);
  }

  async close(): Promise<void> {
    this.#mesh.close();
    this.events.stopWaiting();
    this.events.end({ kind: "exited", code: 0, signal: null, exceeded: null });
  }

  get #now(): Date {
    return new Date(this.#clock.now());
  }

  #isOver(task: string): boolean {
    const queue = this.#mesh.find(task);
    if (queue !== "complete" && queue !== "archive") return false;
    return !this.#mesh.said().some((message) => this.#mesh.isEndOf(task, message));
  }

  async #give(body: string): Promise<void> {
    this.#hasEnded = false;
    this.#mesh.give(this.#task, body, this.#now);
    this.#noteDown(`Given to the mesh ${this.#mesh.name} as ${stemOf(this.#task)}.`);
  }

  /** MESH-WORKER-4. */
  async #giveBack(why: string): Promise<void> {
    if (this.#round >= MOST_ROUNDS) return this.#failed(`It was refused ${MOST_ROUNDS} times. ${why}`);
    const before = this.#task;
    this.#round++;
    this.#mesh.watch(() => this.#look());
    await this.#give(`# Not done yet: ${titleOf(this.#spec.task)}\n\n${why.trim()}\n\n${await this.#taskWords()}`);
    this.#mesh.takeEnds((task) => task === stemOf(before));
  }

  /** Recorded at once, so that a restart knows what was passed on. */
  #noteDown(text: string): void {
    const { name } = this.#mesh;
    this.events.push({ kind: "said", text }, { kind: "used", model: `mesh/${name}`, usage: NO_USAGE, cost_usd: 0 });
  }

  #look(): void {
    this.#looking = this.#looking
      .then(() => this.#lookNow())
      .catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        this.events.push({ kind: "noted", text: `What the mesh has said could not be read: ${why}` });
      });
  }

  async #lookNow(): Promise<void> {
    if (this.events.ended || this.#hasEnded) return;
    const task = this.#task;
    const messages = this.#mesh.said().filter(({ name }) => !this.#seen.has(name));
    const end = messages.find((message) => this.#mesh.isEndOf(task, message));
    for (const message of messages) if (message !== end && this.#isOurs(message)) this.#passOn(message);
    if (end) await this.#end(end);
    else if (this.#mesh.find(task) === "quarantine") this.#failed(`${task} was put into quarantine.`);
  }

  /** A mesh has one task at a time, so what it says without naming one is about that. */
  #isOurs({ header: { "in-reply-to": about, type, from } }: MeshMessage): boolean {
    if (from === this.#mesh.name && (type === "task-complete" || type === "error")) return false;
    if (about !== undefined) return about === stemOf(this.#task) || about.startsWith(`${stemOf(this.#task)}.`);
    return ["active", "complete"].includes(this.#mesh.find(this.#task) ?? "");
  }

  /** MESH-WORKER-3. The first line may say to whom. */
  #passOn(message: MeshMessage): void {
    this.#seen.add(message.name);
    const body = message.body.trim();
    const [line, name] = /^TO: *(\S.*)\n/.exec(body) ?? ["", COORDINATOR];
    const content = `${message.header.from}: ${body.slice(line.length).trim()}`;
    const event: OutsideEvent = {
      kind: "requested_call",
      tool: "send_message",
      args: { to: name?.trim(), content },
      id: `letter-${stemOf(message.name)}`,
    };
    this.#after.set(event, () => this.#mesh.take(message));
    this.events.push(event);
  }

  async #end(message: MeshMessage): Promise<void> {
    this.#seen.add(message.name);
    this.#hasEnded = true;
    const words = message.body.replace(/^# .*\n+/, "").trim() || "(no words)";
    if (message.header.type === "error") return this.#failed(words);
    await this.#copyOutput(words);
    this.events.push({ kind: "requested_call", tool: "publish", args: { summary: clipped(words, MOST_WORDS) } });
  }

  #failed(words: string): void {
    this.#hasEnded = true;
    this.events.push({ kind: "rested", how: "refused", words });
  }

  #onHandled(event: OutsideEvent): void {
    this.#after.get(event)?.();
    this.#after.delete(event);
  }

  /** MESH-WORKER-2. No link is followed; older files belong to another task. */
  async #copyOutput(words: string): Promise<void> {
    const { cwd, scratch = cwd } = this.#setup;
    const to = this.#worksInClone ? scratch : cwd;
    const copied = await copyFiles(this.#layout.output(this.#mesh.name), to, {
      since: this.#mesh.began(this.#task) - GRAIN_MS,
      note: (text) => this.events.push({ kind: "noted", text }),
    });
    const there = (await readdir(scratch)).filter((name) => !PROTOCOL_FILES.includes(name));
    // If its answer is all of the work, that is published.
    if (there.length + copied.length === 0) await putFile(scratch, "result.md", `${words}\n`);
  }

  async #taskWords(): Promise<string> {
    const { task, deliverables } = this.#spec;
    const run = resolve(this.#setup.cwd, "../../..");
    const refs = await bringRefs(this.#spec.refs, run, this.#layout, {
      mesh: this.#mesh.name,
      task: stemOf(this.#task),
    });
    const where = this.#worksInClone ? "In the repository or in shared/output/" : "In shared/output/";
    const parts = [
      task.trim().startsWith("# ") ? task.trim() : `# ${titleOf(task)}\n\n${task.trim()}`,
      this.#worksInClone && cloneText(this.#setup.cwd),
      deliverables.length > 0 &&
        `## What has to be delivered\n\n${where}, under exactly these names:\n\n${deliverables.map((name) => `- ${name}`).join("\n")}`,
      this.#setup.scratch !== undefined && !this.#worksInClone && IN_REPOSITORY,
      refs.length > 0 && `## What it builds on\n\n${refs.map((ref) => `- ${ref}`).join("\n")}`,
      `## Who gave it\n\nThis is a node of a larger piece of work. ${HOW_TO_ANSWER}`,
    ];
    return `${parts.filter(Boolean).join("\n\n")}\n`;
  }
}

const MOST_ROUNDS = 3;
/** A summary is short; the rest is in the files. */
const MOST_WORDS = 3_900;
/** The resolution of file times. */
const GRAIN_MS = 20;
