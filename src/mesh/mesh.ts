import { join } from "node:path";
import type { MeshFact, MessageHeader } from "../protocol/index.ts";
import type { DeclaredMesh } from "./config.ts";
import { type Layout, nameOf, type QueueName } from "./layout.ts";
import { derivedName, type Letter, post, readLetter, stemOf } from "./letter.ts";
import { titleOf } from "./message-file.ts";
import { quarantine } from "./quarantine.ts";
import { Queues } from "./queue.ts";
import { type Directory, routeOf, senderOf } from "./route.ts";
import { writeState } from "./state.ts";
import { due, isDone, lastLeaves, leaves, type Progress, type StepPath } from "./topology.ts";

/** What a mesh needs of the world around it. */
export interface MeshPorts {
  /** Milliseconds. */
  now(): number;
  record(fact: MeshFact): void;
  /**
   * Puts a letter before an agent's eyes; resolves when it has it. Telling the same letter again is harmless: whoever has
   * it is not told twice.
   */
  tell(agent: string, letter: Letter): Promise<void>;
  /** Runs a named check; null is passed, words say what is wrong. */
  gate(name: string): Promise<string | null>;
  /** Hands a letter to the human, by its name at most once. */
  human(agent: string, letter: Letter): void;
  /** The other meshes, this one included. */
  directory(): Directory;
  queuesOf(mesh: string, agent: string | null): Queues | undefined;
  /** The queues of another mesh have changed by our doing. */
  changed(mesh: string): void;
}

/**
 * One mesh at work: it moves messages through its queues and tells its agents.
 *
 * E1. What follows from a message is made before that message leaves `active`, under a name derived from it. So after a
 *     crash whatever is in `active` is taken up again, and what is there already is not made twice.
 * E2. One task is active in the mesh, and one for each agent; the others wait in the order they came.
 * E3. Only tasks wait. A question or an answer is told at once, also to somebody who is busy: else two who ask each other
 *     would wait for ever.
 * E4. A file that is no message goes to `quarantine/` with the reason beside it; the queue goes on.
 */
export class Mesh {
  readonly queues: Queues;
  readonly agents = new Map<string, Queues>();
  #declared: DeclaredMesh;
  readonly #layout: Layout;
  readonly #ports: MeshPorts;
  readonly #told = new Set<string>();
  #checking = false;
  #tasksCompleted = 0;
  readonly #startedAt: string;

  constructor(declared: DeclaredMesh, layout: Layout, ports: MeshPorts) {
    this.#declared = declared;
    this.#layout = layout;
    this.#ports = ports;
    this.#startedAt = new Date(ports.now()).toISOString();
    this.queues = new Queues(layout, { mesh: declared.config.mesh, agent: null });
  }

  get name(): string {
    return this.#declared.config.mesh;
  }

  get declared(): DeclaredMesh {
    return this.#declared;
  }

  open(): void {
    this.queues.open();
    this.#tasksCompleted = this.queues.count("complete");
    this.redeclare(this.#declared);
  }

  /** What is declared may change while it works; what is under way goes on by the new plan. */
  redeclare(declared: DeclaredMesh): void {
    this.#declared = declared;
    for (const agent of declared.agents.keys()) {
      if (this.agents.has(agent)) continue;
      const queues = new Queues(this.#layout, { mesh: this.name, agent });
      queues.open();
      this.agents.set(agent, queues);
    }
    this.settle();
  }

  /** Somebody said that this file came or went. */
  noticed(agent: string | null, queue: QueueName, name: string): void {
    const queues = agent === null ? this.queues : this.agents.get(agent);
    if (queues?.noticed(queue, name)) this.settle();
  }

  /** Looks into every folder: when notices may have been lost. */
  look(): void {
    for (const queues of [this.queues, ...this.agents.values()]) queues.look();
    this.settle();
  }

  /** Moves whatever can be moved, until nothing can. */
  settle(): void {
    let moved = true;
    while (moved) {
      moved = this.#advanceMesh();
      for (const [agent, queues] of this.agents) moved = this.#advanceAgent(agent, queues) || moved;
    }
    this.#keepState();
  }

  /** Nothing is under way and nothing waits. */
  get isIdle(): boolean {
    const live: QueueName[] = ["inbox", "next", "active", "outbox"];
    return [this.queues, ...this.agents.values()].every((queues) => live.every((queue) => queues.count(queue) === 0));
  }

  // The mesh's own queues.

  #advanceMesh(): boolean {
    let moved = this.#takeIn(this.queues, (letter) => this.#forEntry(letter));
    const next = this.queues.first("next");
    if (next !== undefined && this.queues.count("active") === 0) {
      const name = this.queues.move(next, "next", "active");
      if (name !== undefined) this.#record({ type: "mesh.activated", data: { ...this.#here(null), name } });
      moved = true;
    }
    const active = this.queues.first("active");
    return active !== undefined ? this.#advanceTask(active) || moved : moved;
  }

  /** A question to the mesh as a whole is for whoever stands at its entry; an answer to it is for nobody in particular. */
  #forEntry(letter: Letter): boolean {
    const entry = this.agents.get(this.#declared.entry);
    if (letter.header.type !== "ask" || !entry) return this.queues.move(letter.name, "inbox", "complete") !== undefined;
    return this.queues.moveTo(letter.name, "inbox", entry, "inbox") !== undefined;
  }

  #advanceTask(name: string): boolean {
    const { plan } = this.#declared;
    const progress = this.#progress(name);
    const task = readLetter(this.queues, "active", name);
    if (task === undefined) return this.queues.noticed("active", name);
    if ("reason" in task) return this.#quarantine(this.queues, "active", name, task.reason);
    if (this.#isFailed(name)) return this.#endTask(task, "error", this.#failureOf(name));
    let gave = false;
    for (const step of due(plan, progress)) {
      this.#give(task, step.at, step.agent, step.from);
      gave = true;
    }
    if (!gave && isDone(plan, progress) && !this.#checking) this.#check(task);
    return gave;
  }

  #progress(task: string): Progress {
    const progress = new Map<StepPath, "given" | "done">();
    for (const { at, agent } of leaves(this.#declared.plan)) {
      const queue = this.agents.get(agent)?.find(derivedName(task, at));
      if (queue !== undefined) progress.set(at, isOver(queue) ? "done" : "given");
    }
    return progress;
  }

  #give(task: Letter, at: StepPath, agent: string, from: readonly StepPath[]): void {
    const before = this.#stepsOf(from);
    const [only] = before;
    const header: MessageHeader = {
      from: before.length === 1 && only ? nameOf({ mesh: this.name, agent: only.agent }) : this.name,
      to: nameOf({ mesh: this.name, agent }),
      type: "task",
      status: before.length > 0 ? "handoff" : "pending",
      task: stemOf(task.name),
      step: at,
    };
    const body = before.length === 0 ? task.body : this.#handoff(task, agent, before);
    this.#post(this.agents.get(agent), derivedName(task.name, at), header, body);
  }

  #stepsOf(paths: readonly StepPath[]) {
    const all = leaves(this.#declared.plan);
    return paths.flatMap((path) => all.find(({ at }) => at === path) ?? []);
  }

  /** The seed's template, with the task itself below: whoever comes third should know what it is all about. */
  #handoff(task: Letter, agent: string, before: readonly { agent: string; at: StepPath }[]): string {
    const words = before.map((step) => {
      const text = this.#resultOf(step.agent, derivedName(task.name, step.at));
      return before.length === 1 ? text : `### ${step.agent}\n\n${text}`;
    });
    const who = before.map((step) => step.agent).join(", ");
    return `# Handoff from ${who} to ${agent}\n\n## Previous Work\n\n${words.join("\n\n")}\n\n## The Task\n\n${task.body.trim()}\n`;
  }

  #resultOf(agent: string, message: string, end: (typeof ENDS)[number] = "result"): string {
    const queues = this.agents.get(agent);
    const result = queues && readLetter(queues, "complete", derivedName(message, end));
    if (!result || "reason" in result) return `(${agent} left no words; what it made is in shared/output/.)`;
    return result.body.trim();
  }

  /** The gates, one after the other; what does not pass goes back to whoever comes last, a few times. */
  #check(task: Letter): void {
    const { config } = this.#declared;
    const fixes = this.#fixes(task.name);
    if (fixes.some((fix) => !fix.done)) return;
    const gates = config.validation_gates ?? [];
    if (gates.length === 0) {
      this.#endTask(task, "task-complete", this.#wordsOf(task));
      return;
    }
    this.#checking = true;
    void this.#firstProblem(gates)
      .then((problem) => {
        if (!this.queues.has("active", task.name)) return;
        if (problem === null) this.#endTask(task, "task-complete", this.#wordsOf(task));
        else if (fixes.length < MOST_FIXES) this.#sendBack(task, problem, fixes.length + 1);
        else this.#endTask(task, "error", `It did not pass after ${MOST_FIXES} corrections. ${problem}`);
      })
      .finally(() => {
        this.#checking = false;
        this.settle();
      });
  }

  async #firstProblem(gates: readonly string[]): Promise<string | null> {
    for (const gate of gates) {
      const why = await this.#ports
        .gate(gate)
        .catch((error: unknown) => `The gate itself failed: ${error instanceof Error ? error.message : error}`);
      this.#record({ type: "mesh.gate", data: { mesh: this.name, gate, ok: why === null, why: gist(why ?? "") } });
      if (why !== null) return `The gate ${gate} did not pass:\n\n${why}`;
    }
    return null;
  }

  #fixes(task: string): { done: boolean }[] {
    const queues = this.agents.get(this.#lastAgent());
    const found: { done: boolean }[] = [];
    for (let number = 1; ; number++) {
      const queue = queues?.find(derivedName(task, `fix-${number}`));
      if (queue === undefined) return found;
      found.push({ done: isOver(queue) });
    }
  }

  #sendBack(task: Letter, problem: string, number: number): void {
    const agent = this.#lastAgent();
    const header: MessageHeader = {
      from: this.name,
      to: nameOf({ mesh: this.name, agent }),
      type: "task",
      status: "pending",
      task: stemOf(task.name),
      step: `fix-${number}`,
    };
    const body = `# Correct what did not pass\n\n${problem}\n\n## The Task\n\n${task.body.trim()}\n`;
    this.#post(this.agents.get(agent), derivedName(task.name, `fix-${number}`), header, body);
  }

  #lastAgent(): string {
    const { config, plan, entry } = this.#declared;
    return config.completion_agent ?? leaves(plan).at(-1)?.agent ?? entry;
  }

  #wordsOf(task: Letter): string {
    const last = this.#stepsOf(lastLeaves(this.#declared.plan));
    return last.map((step) => this.#resultOf(step.agent, derivedName(task.name, step.at))).join("\n\n");
  }

  /** E1: the answer first, then the task leaves `active`. */
  #endTask(task: Letter, type: "task-complete" | "error", words: string): boolean {
    this.#answer(task, type, words, this.name);
    if (this.queues.move(task.name, "active", "complete") === undefined) return true;
    this.#tasksCompleted++;
    const where = { ...this.#here(null), name: task.name };
    this.#record(
      type === "error"
        ? { type: "mesh.failed", data: { ...where, why: gist(words) } }
        : { type: "mesh.completed", data: { ...where, gist: gist(words) } },
    );
    return true;
  }

  // One agent's queues.

  #advanceAgent(agent: string, queues: Queues): boolean {
    let moved = this.#takeIn(queues, (letter) => this.#tellNews(agent, queues, letter));
    for (const name of queues.list("outbox")) moved = this.#takeOut(agent, queues, name) || moved;
    const active = queues.first("active");
    // Cut off between its words and its end: E1.
    const end = active === undefined ? undefined : ENDS.find((one) => queues.has("complete", derivedName(active, one)));
    if (active !== undefined && end !== undefined) return this.#endAgentTask(agent, queues, active, end) || moved;
    if (active !== undefined) {
      this.#tellTask(agent, queues, active);
      return moved;
    }
    const next = queues.first("next");
    if (next === undefined) return moved;
    const name = queues.move(next, "next", "active");
    if (name !== undefined) this.#record({ type: "mesh.activated", data: { ...this.#here(agent), name } });
    return true;
  }

  /** Tasks move up one by one; everything else is dealt with at once, wherever it stands in the line. */
  #takeIn(queues: Queues, news: (letter: Letter) => boolean): boolean {
    let moved = false;
    const { agent } = queues.place;
    for (const name of queues.list("inbox")) {
      if (this.#told.has(keyOf(agent, name))) continue;
      const isFree = queues.count("next") === 0;
      // A line of tasks is not read again and again.
      if (!isFree && this.#waits.has(keyOf(agent, name))) continue;
      const letter = readLetter(queues, "inbox", name);
      if (letter === undefined) moved = queues.noticed("inbox", name) || moved;
      else if ("reason" in letter) moved = this.#quarantine(queues, "inbox", name, letter.reason) || moved;
      else if (letter.header.type !== "task") moved = news(letter) || moved;
      else moved = this.#moveUp(queues, letter, isFree) || moved;
    }
    return moved;
  }

  readonly #waits = new Set<string>();

  #moveUp(queues: Queues, letter: Letter, isFree: boolean): boolean {
    const { agent } = queues.place;
    const key = keyOf(agent, letter.name);
    if (!this.#waits.has(key)) {
      const { type, from } = letter.header;
      this.#record({
        type: "mesh.received",
        data: { ...this.#here(agent), name: letter.name, type, from, title: titleOf(letter.body) },
      });
      this.#waits.add(key);
    }
    if (!isFree) return false;
    this.#waits.delete(key);
    return queues.move(letter.name, "inbox", "next", { unlike: ["complete", "archive", "active"] }) !== undefined;
  }

  /** It stays in the inbox until the agent has it: told twice after a crash rather than never. */
  #tellNews(agent: string, queues: Queues, letter: Letter): boolean {
    const key = keyOf(agent, letter.name);
    this.#told.add(key);
    const { type, from } = letter.header;
    const where = { ...this.#here(agent), name: letter.name };
    this.#record({ type: "mesh.received", data: { ...where, type, from, title: titleOf(letter.body) } });
    this.#ports.tell(agent, letter).then(
      () => {
        this.#record({ type: "mesh.told", data: where });
        queues.move(letter.name, "inbox", "complete");
        this.#told.delete(key);
        this.settle();
      },
      (error: unknown) =>
        this.#record({ type: "mesh.undelivered", data: { ...where, why: gist(wordsOfError(error)) } }),
    );
    return false;
  }

  #tellTask(agent: string, queues: Queues, name: string): void {
    const key = keyOf(agent, name);
    if (this.#told.has(key)) return;
    const letter = readLetter(queues, "active", name);
    if (letter === undefined || "reason" in letter) {
      if (letter) this.#quarantine(queues, "active", name, letter.reason);
      return;
    }
    this.#told.add(key);
    const where = { ...this.#here(agent), name };
    this.#ports.tell(agent, letter).then(
      () => this.#record({ type: "mesh.told", data: where }),
      (error: unknown) =>
        this.#record({ type: "mesh.undelivered", data: { ...where, why: gist(wordsOfError(error)) } }),
    );
  }

  /** Somebody can hear again: what could not be told is told now. */
  tellAgain(agent: string): void {
    for (const key of [...this.#told]) if (key.startsWith(`${agent} `)) this.#told.delete(key);
    this.settle();
  }

  #takeOut(agent: string, queues: Queues, name: string): boolean {
    const letter = readLetter(queues, "outbox", name);
    if (letter === undefined) return queues.noticed("outbox", name);
    if ("reason" in letter) return this.#quarantine(queues, "outbox", name, letter.reason);
    const own = nameOf(queues.place);
    // Who sends is told by the folder; whoever says otherwise is not believed.
    if (letter.header.from !== own && letter.header.from !== agent) {
      return this.#quarantine(
        queues,
        "outbox",
        name,
        `"from" says ${letter.header.from}, but it lies in the outbox of ${own}.`,
      );
    }
    const route = routeOf(letter.header, queues.place, this.#ports.directory());
    switch (route.kind) {
      case "nowhere":
        return this.#quarantine(queues, "outbox", name, route.reason);
      case "done":
      case "failed":
        return this.#takeResult(queues, letter, route.kind);
      case "human":
        this.#ports.human(agent, letter);
        return queues.move(name, "outbox", "complete") !== undefined;
      case "agent":
      case "mesh": {
        const to = this.#ports.queuesOf(route.mesh, route.kind === "agent" ? route.agent : null);
        if (!to) return this.#quarantine(queues, "outbox", name, `${letter.header.to} is not there any more.`);
        const moved = queues.moveTo(name, "outbox", to, "inbox") !== undefined;
        if (route.mesh !== this.name) this.#ports.changed(route.mesh);
        return moved;
      }
    }
  }

  #takeResult(queues: Queues, letter: Letter, kind: "done" | "failed"): boolean {
    const active = queues.first("active");
    if (active === undefined) {
      const why = "There is nothing in active/ that this could be the end of.";
      return this.#quarantine(queues, "outbox", letter.name, why);
    }
    return queues.moveAs(letter.name, "outbox", "complete", derivedName(active, kind === "done" ? "result" : "error"));
  }

  #endAgentTask(agent: string, queues: Queues, name: string, end: (typeof ENDS)[number]): boolean {
    const task = readLetter(queues, "active", name);
    if (task === undefined) return queues.noticed("active", name);
    const words = this.#resultOf(agent, name, end);
    const isStep = !("reason" in task) && task.header.step !== undefined;
    if (!("reason" in task) && !isStep) {
      this.#answer(task, end === "error" ? "error" : "task-complete", words, nameOf(queues.place));
    }
    queues.move(name, "active", "complete");
    this.#told.delete(keyOf(agent, name));
    const where = { ...this.#here(agent), name };
    this.#record(
      end === "error"
        ? { type: "mesh.failed", data: { ...where, why: gist(words) } }
        : { type: "mesh.completed", data: { ...where, gist: gist(words) } },
    );
    return true;
  }

  // Both.

  /** Whoever asked for it hears of its end, once. */
  #answer(task: Letter, type: "task-complete" | "error", words: string, from: string): void {
    const sender = senderOf(task.header.from, this.#ports.directory());
    if (sender === null || sender === "human") return;
    const to = this.#ports.queuesOf(sender.mesh, sender.agent);
    const name = derivedName(task.name, "done");
    if (!to || to === this.queues || to.find(name) !== undefined) return;
    const header: MessageHeader = {
      from,
      to: nameOf(sender),
      type,
      status: "complete",
      "in-reply-to": stemOf(task.name),
    };
    this.#post(to, name, header, `# ${type === "error" ? "Failed" : "Done"}: ${titleOf(task.body)}\n\n${words}\n`);
    if (sender.mesh !== this.name) this.#ports.changed(sender.mesh);
  }

  #post(queues: Queues | undefined, name: string, header: MessageHeader, body: string): void {
    if (!queues) return;
    const dated: MessageHeader = {
      ...header,
      "msg-id": stemOf(name),
      timestamp: new Date(this.#ports.now()).toISOString(),
    };
    post(queues, "inbox", name, dated, body, join(this.#layout.running, "tmp"));
  }

  #isFailed(task: string): boolean {
    return this.#failedStep(task) !== undefined;
  }

  #failureOf(task: string): string {
    const step = this.#failedStep(task);
    return step ? `${step.agent}: ${this.#resultOf(step.agent, derivedName(task, step.at), "error")}` : "";
  }

  #failedStep(task: string) {
    return leaves(this.#declared.plan).find(({ at, agent }) =>
      this.agents.get(agent)?.has("complete", derivedName(derivedName(task, at), "error")),
    );
  }

  #quarantine(queues: Queues, from: QueueName, name: string, why: string): boolean {
    const aside = quarantine(queues, from, name, why);
    if (aside === undefined) return true;
    this.#record({
      type: "mesh.quarantined",
      data: { ...this.#here(queues.place.agent), name: aside, why: gist(why) },
    });
    return true;
  }

  /** Once for all that is moved in one breath; what is moved meanwhile is in it. */
  #keepState(): void {
    if (this.#stateIsDue) return;
    this.#stateIsDue = true;
    setImmediate(() => {
      this.#stateIsDue = false;
      this.#writeState();
    });
  }

  #stateIsDue = false;

  #writeState(): void {
    const active = this.queues.first("active");
    const progress = active === undefined ? new Map() : this.#progress(active);
    writeState(this.#layout, {
      declared: this.#declared,
      progress,
      isActive: active !== undefined,
      isWaiting: this.queues.count("inbox") + this.queues.count("next") > 0,
      tasksCompleted: this.#tasksCompleted,
      startedAt: this.#startedAt,
      now: this.#ports.now(),
    });
  }

  #here(agent: string | null) {
    return { mesh: this.name, agent };
  }

  #record(fact: MeshFact): void {
    this.#ports.record(fact);
  }
}

const MOST_FIXES = 3;

/** The words with which an agent ended its task lie beside it in `complete`, under its name. */
const ENDS = ["result", "error"] as const;

function isOver(queue: QueueName): boolean {
  return queue === "complete" || queue === "archive";
}

function keyOf(agent: string | null, name: string): string {
  return `${agent ?? ""} ${name}`;
}

function gist(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

function wordsOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
