import { createHash } from "node:crypto";
import type { Layout } from "../../mesh/files/layout.ts";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import { format } from "../../mesh/files/message-file.ts";
import { derivedName } from "../../mesh/files/message-names.ts";
import { putMessageFile, queueOf } from "../../mesh/files/new-message.ts";
import { type FailedTask, failureId, type Question, questionOf, type Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { type Fact, HUMAN, type MeshFact, type NewFact, type RunId, workerIdSchema } from "../../protocol/index.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import { permissionQuestion } from "../../workers/outside/permission-question.ts";
import { requestKey, type ToolRequest } from "../../workers/outside/session/tool-request.ts";
import { currentActor, onItsOwn } from "../state/acting.ts";
import type { PendingLog } from "../state/pending-log.ts";
import { ExpectedFacts } from "./expected-facts.ts";

/** The record of a project's meshes: an agent's log. */
export interface MeshRecordPorts {
  log: PendingLog;
  now(): Situation;
  pending(): Situation;
  clock: Clock;
  live(delta: Delta): void;
}

/** A failed task, as it is shown to the person who sent it. */
export interface FailureView {
  agent: string | null;
  task: string;
  text: string;
  at: number;
}

/** The record of a project's meshes has one run, which is never started: the mesh agents are its workers. */
export const MESH_RUN: RunId = "run-1";
/** The most open requests for permission of one agent; more are denied. */
const MOST_REQUESTS = 20;

/**
 * Records what happens in the meshes of a project, in the log of the agent that is their record.
 *
 * MESH-RECORD-1. Facts keep their order; those that come while the disk is busy are combined in the next append.
 * MESH-RECORD-2. A question to the human is asked once, by the name of its message, and its answer comes to the asker
 *     once.
 * MESH-RECORD-3. A fact has the actor of the command in which it was recorded, or that expected it; facts that are
 *     appended with it do not.
 */
export class MeshRecord {
  readonly #ports: MeshRecordPorts;
  readonly #layout: Layout;
  #waiting: NewFact[] = [];
  #writing: Promise<void> | undefined;
  readonly #unhear: () => void;
  /** Facts that a command asked for, and that are recorded later. */
  readonly expected = new ExpectedFacts();

  constructor(layout: Layout, ports: MeshRecordPorts) {
    this.#layout = layout;
    this.#ports = ports;
    this.#unhear = ports.log.subscribe((fact) => this.#hear(fact));
  }

  record(fact: MeshFact | NewFact): void {
    const actor = currentActor() ?? this.expected.takeActor(fact as NewFact);
    this.#waiting.push((actor ? { ...fact, actor } : fact) as NewFact);
    this.#writing ??= onItsOwn(() => this.#write());
  }

  /** Resolves when what was recorded so far is on disk, or the disk refuses it. */
  async drained(): Promise<void> {
    await this.#writing;
  }

  /** Adds the agents of a mesh to the roster, as workers of this kind. */
  introduce(mesh: string, agents: ReadonlyMap<string, string>): void {
    const { roster } = this.#ports.pending();
    for (const [agent, model] of agents) {
      const worker_id = memberIdOf(mesh, agent);
      const isKnown = Object.hasOwn(roster, worker_id) || this.#introduced.has(worker_id);
      this.#introduced.add(worker_id);
      if (isKnown) continue;
      const data = { run_id: MESH_RUN, worker_id, name: `${mesh}/${agent}`, kind: "mesh" as const, model };
      this.record({ type: "worker.spawned", data });
    }
  }

  readonly #introduced = new Set<string>();

  /** A question waits in the human's inbox; anything else is a message to them. */
  toHuman(mesh: string, agent: string, { name, header, body }: MeshMessage): void {
    const worker_id = memberIdOf(mesh, agent);
    const { questions, letters } = this.#ports.pending();
    if (header.type === "ask") {
      const before = questionOf(questions, worker_id, name) ?? settledQuestion(questions, worker_id, name);
      if (before || this.#asked.has(`${worker_id} ${name}`)) return;
      this.#asked.add(`${worker_id} ${name}`);
      const asked = {
        question_id: `question-${this.#nextQuestion()}`,
        worker_id,
        node_id: null,
        call_id: name,
        text: body.trim(),
      };
      this.record({ type: "human.question", data: asked });
      return;
    }
    const message_id = `${worker_id}:${name}`;
    if (letters.queued[message_id] || letters.settled.some(({ id }) => id === message_id)) return;
    const file = `${mesh}/agents/${agent}/msgs/complete/${name}`;
    const data = { message_id, from: worker_id, to: HUMAN, text: body.trim(), file, hops: 1 };
    this.record({ type: "message.sent", data });
  }

  readonly #asked = new Set<string>();

  /** Something that a person should know, and that no agent of the mesh says. */
  tellHuman(mesh: string, agent: string, text: string): void {
    this.record({ type: "message.sent", data: this.#words({ mesh, agent }, text) });
  }

  /** A session needs a person: it waits in their inbox until the session is in another state, or they have seen it. */
  tellWaiting(mesh_session: { mesh: string; agent: string }, text: string): void {
    this.record({ type: "message.sent", data: { ...this.#words(mesh_session, text), mesh_session } });
  }

  #words({ mesh, agent }: { mesh: string; agent: string }, text: string) {
    const worker_id = memberIdOf(mesh, agent);
    const message_id = `${worker_id}:${this.#ports.log.seq + this.#waiting.length + 1}`;
    return { message_id, from: worker_id, to: HUMAN, text, file: `${mesh}/agents/${agent}`, hops: 1 };
  }

  /** A task from a person failed, and no agent of the mesh says so: it waits in the person's inbox. */
  tellFailure(failed_task: FailedTask, worker: string, text: string): void {
    const { mesh, agent, name } = failed_task;
    const file = `${agent === null ? mesh : `${mesh}/agents/${agent}`}/msgs/complete/${name}`;
    const message_id = failureId(failed_task);
    const data = { message_id, from: memberIdOf(mesh, worker), to: HUMAN, text, file, hops: 1, failed_task };
    this.record({ type: "message.sent", data });
  }

  failuresOf(mesh: string): FailureView[] {
    return Object.values(this.#ports.pending().letters.queued).flatMap(({ failed_task: task, text, sent_ts: at }) =>
      task?.mesh === mesh ? [{ agent: task.agent, task: task.name, text, at }] : [],
    );
  }

  /** Asks a person, once for each content of a mesh, whether they trust it. */
  askTrust(worker_id: string, { mesh, hash }: { mesh: string; hash: string }, text: string, choices: string[]): void {
    const call_id = `${TRUST}${mesh}-${hash}`;
    const { questions } = this.#ports.pending();
    const before = questionOf(questions, worker_id, call_id) ?? settledQuestion(questions, worker_id, call_id);
    if (before || this.#asked.has(call_id)) return;
    this.#asked.add(call_id);
    const permission = { tool: `mesh/${mesh}`, key: hash };
    const about = { choices, only_choices: true, permission, mesh_trust: { mesh, hash } };
    const question_id = `question-${this.#nextQuestion()}`;
    const asked = { question_id, worker_id, node_id: null, call_id, text, ...about };
    this.record({ type: "human.question", data: asked });
  }

  /** The question needs no answer any more: the mesh is trusted, has another content now, or is gone. */
  settleTrust(mesh: string, isOver: (hash: string) => boolean): void {
    for (const { worker_id, call_id } of Object.values(this.#ports.pending().questions.open)) {
      const asked = trustCall(call_id);
      if (asked?.mesh !== mesh || !isOver(asked.hash)) continue;
      this.#asked.delete(call_id);
      this.#settle(worker_id, call_id);
    }
  }

  /** What a person answered. */
  onTrust: (about: { mesh: string; hash: string }, answer: string) => void = () => {};

  /** Asks a person for permission to do something: the question waits in the inbox. */
  async askPermission(worker_id: string, request: ToolRequest): Promise<boolean> {
    if (this.#hasMany(worker_id)) return false;
    const { log, now } = this.#ports;
    const who = now().roster[worker_id]?.spawned.name ?? worker_id;
    const text = await permissionQuestion(who, request, log.dir);
    if (text === undefined || this.#hasMany(worker_id)) return false;
    const number = this.#nextQuestion();
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#permissions.set(`question-${number}`, { worker_id, answer: resolve });
    const permission = { tool: request.tool, key: requestKey(request) };
    const offered = { choices: ["allow", "deny"], only_choices: true, permission };
    const asked = { worker_id, node_id: null, call_id: `${PERMISSION}${number}`, text, ...offered };
    this.record({ type: "human.question", data: { question_id: `question-${number}`, ...asked } });
    return /^(allow|yes|1)\b/i.test((await promise).trim());
  }

  #hasMany(worker_id: string): boolean {
    return [...this.#permissions.values()].filter((each) => each.worker_id === worker_id).length >= MOST_REQUESTS;
  }

  readonly #permissions = new Map<string, { worker_id: string; answer(text: string): void }>();

  #nextQuestion(): number {
    const { asked } = this.#ports.pending().questions;
    return asked + this.#waiting.filter(({ type }) => type === "human.question").length + 1;
  }

  /** After a start: delivers answers that have not reached the asker. */
  deliverAnswers(): void {
    for (const question of Object.values(this.#ports.now().questions.answered)) this.#deliverAnswer(question);
  }

  async close(): Promise<void> {
    this.#unhear();
    await this.#writing;
  }

  #hear(fact: Fact): void {
    if (fact.type !== "human.response") return;
    // The fold may hear it after us; by the next round it has the question.
    setImmediate(() => {
      const question = this.#ports.now().questions.answered[fact.data.question_id];
      if (question) this.#deliverAnswer(question);
    });
  }

  /** Its name follows from that of the question, so it arrives once; then the question is settled. */
  #deliverAnswer({ id, worker_id, call_id, text, answer }: Question): void {
    if (call_id.startsWith(PERMISSION)) {
      this.#permissions.get(id)?.answer(answer?.text ?? "");
      this.#permissions.delete(id);
      this.#settle(worker_id, call_id);
      return;
    }
    const about = trustCall(call_id);
    if (about) {
      this.#settle(worker_id, call_id);
      if (answer) this.onTrust(about, answer.text);
      return;
    }
    const [mesh = "", agent = ""] = this.#ports.now().roster[worker_id]?.spawned.name.split("/") ?? [];
    if (!answer || agent === "") return;
    const address = { mesh, agent };
    const name = derivedName(call_id, "answer");
    if (queueOf(this.#layout, address, name) === undefined) {
      const body = `${answer.text.trim()}\n\n(You had asked: ${text.split("\n", 1)[0]})\n`;
      const header = {
        from: HUMAN,
        to: `${mesh}/${agent}`,
        type: "ask-response" as const,
        status: "complete" as const,
        timestamp: new Date(this.#ports.clock.now()).toISOString(),
        "in-reply-to": call_id.replace(/\.md$/, ""),
      };
      putMessageFile(this.#layout, address, "inbox", name, format(header, body));
    }
    this.#settle(worker_id, call_id);
  }

  /** The asker has the answer. */
  #settle(worker_id: string, call_id: string): void {
    const result = { worker_id, node_id: null, call_id, tool: "tx ask", ok: true, ms: 0, gist: "answered" };
    this.record({ type: "tool.result", data: result });
  }

  async #write(): Promise<void> {
    // What is recorded in the same moment is written together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const facts = this.#waiting;
      this.#waiting = [];
      try {
        await this.#ports.log.append({ facts }).durable;
      } catch {
        // The log reports the failure; these facts are written when there is room again.
        this.#waiting = [...facts, ...this.#waiting].slice(-MOST_WAITING);
        break;
      }
    }
    this.#writing = undefined;
  }
}

const MOST_WAITING = 10_000;
/** Logs of earlier versions hold it too. */
const PERMISSION = "leave-";
const TRUST = "trust-";

/** Messages of agents are named `….md`, so none of their questions is taken for one about trust. */
function trustCall(call_id: string): { mesh: string; hash: string } | undefined {
  const [, mesh, hash] = /^trust-([a-z0-9][a-z0-9_-]*)-([0-9a-f]{64})$/.exec(call_id) ?? [];
  return mesh !== undefined && hash !== undefined ? { mesh, hash } : undefined;
}

function settledQuestion(questions: Situation["questions"], worker_id: string, call_id: string): Question | undefined {
  return questions.settled.find((each) => each.worker_id === worker_id && each.call_id === call_id);
}

/** `{mesh}-{agent}`, or a shorter id if that is not a valid one. */
export function memberIdOf(mesh: string, agent: string): string {
  const id = `${mesh}-${agent}`;
  if (workerIdSchema.safeParse(id).success) return id;
  return `m-${agent.slice(0, 20)}-${createHash("sha256").update(`${mesh}/${agent}`).digest("hex").slice(0, 12)}`;
}
