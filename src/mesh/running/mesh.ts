import { statSync } from "node:fs";
import type { MeshState } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import type { Layout, QueueName } from "../files/layout.ts";
import { type QueueChanges, Queues } from "../files/queue.ts";
import { UNCHANGED_MS } from "../files/queue-files.ts";
import { AgentQueues } from "./agent-queues.ts";
import { completedTasks } from "./completed-tasks.ts";
import { errorText, firstLineOf, MeshContext } from "./mesh-context.ts";
import type { MeshPorts } from "./mesh-ports.ts";
import { MeshTasks } from "./mesh-tasks.ts";
import { OwedAnswers } from "./owed-answers.ts";
import { RetryLater } from "./retry-later.ts";
import { type MeshProgress, StateFile } from "./state-file.ts";

/**
 * One running mesh: it moves messages through its queues and delivers them to its agents.
 *
 * MESH-1. What follows from a message is created before that message leaves `active`, under a name derived from it. So
 *     after a crash whatever is in `active` is processed again, and what exists already is not created twice.
 * MESH-2. One task is active in the mesh, and one for each agent; the others wait in the order they came.
 * MESH-3. Only tasks wait. A question or an answer is delivered at once, even to a busy agent: otherwise two agents
 *     that ask each other would deadlock.
 * MESH-4. A file that is not a message goes to `quarantine/` with the reason beside it; the queue goes on.
 * MESH-5. A failed write or move (a full disk) is reported once and retried; nothing is lost.
 */
export class Mesh {
  readonly queues: Queues;
  /** The queues of each agent. */
  readonly agents = new Map<string, Queues>();
  readonly #agentQueues = new Map<string, AgentQueues>();
  readonly #tasks: MeshTasks;
  readonly #context: MeshContext;
  readonly #layout: Layout;
  readonly #state: StateFile;
  #declared: DeclaredMesh;
  readonly #owed: OwedAnswers;
  /** MESH-5. */
  readonly #retry: RetryLater;
  #isMoving = false;
  #again = false;
  /** Waits until files that somebody may still be writing are old enough to be taken. */
  #lookTimer: NodeJS.Timeout | undefined;

  constructor(declared: DeclaredMesh, layout: Layout, ports: MeshPorts) {
    const { mesh } = declared.config;
    this.#declared = declared;
    this.#layout = layout;
    this.queues = new Queues(layout, { mesh, agent: null });
    this.#context = new MeshContext(() => this.#declared.config, layout, ports);
    this.#tasks = new MeshTasks(this.queues, declared, this.#context, this.#agentQueues, () => this.moveAll());
    this.#state = new StateFile(layout.state(mesh), new Date(ports.now()).toISOString());
    const isOpen = () => this.#context.isOpen;
    this.#owed = new OwedAnswers(() => this.#all(), isOpen);
    this.#retry = new RetryLater({
      isOpen,
      onFirstFailure: (error) =>
        this.#context.record({ type: "mesh.stalled", data: { mesh: this.name, why: firstLineOf(errorText(error)) } }),
      tryAgain: () => this.look(),
    });
  }

  get name(): string {
    return this.#declared.config.mesh;
  }

  get declared(): DeclaredMesh {
    return this.#declared;
  }

  /** Finds out what is there. Nothing moves before `begin`: other meshes may have to be open first. */
  open(): void {
    const young = this.queues.open().young;
    this.#tasks.completed = completedTasks(this.queues);
    if (this.#openAgents() || young) this.#lookSoon();
    const written = statSync(this.#layout.state(this.name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    this.#owed.owedSince(written - 60_000);
  }

  /** Takes up what is under way. */
  begin(): void {
    this.#retry.attempt(() => {
      for (const one of this.#all()) one.begin();
    });
    this.moveAll();
    void this.#giveOwedAnswers();
  }

  close(): void {
    if (!this.#context.isOpen) return;
    this.#context.isOpen = false;
    this.#retry.clear();
    clearTimeout(this.#lookTimer);
    this.#state.close();
  }

  /** The declaration may change while the mesh works; what is under way goes on by the new plan. */
  redeclare(declared: DeclaredMesh): void {
    this.#declared = declared;
    this.#tasks.redeclare(declared);
    this.moveAll();
  }

  /** The mesh's own tasks, then each agent. */
  #all(): (MeshTasks | AgentQueues)[] {
    return [this.#tasks, ...this.#agentQueues.values()];
  }

  /**
   * Opens the queues of every declared agent. The files of an agent that is not declared any more stay where they are.
   * True if some file may still be being written.
   */
  #openAgents(): boolean {
    let young = false;
    for (const agent of this.agents.keys()) {
      if (this.#declared.agents.has(agent)) continue;
      this.agents.delete(agent);
      this.#agentQueues.delete(agent);
    }
    for (const agent of this.#declared.agents.keys()) {
      if (this.agents.has(agent)) continue;
      const queues = new Queues(this.#layout, { mesh: this.name, agent });
      young = queues.open().young || young;
      this.agents.set(agent, queues);
      this.#agentQueues.set(agent, new AgentQueues(queues, agent, this.#context, () => this.moveAll()));
    }
    return young;
  }

  /** The watcher noticed that this file came or went. */
  noticed(agent: string | null, queue: QueueName, name: string): void {
    const whose = agent === null ? this.#tasks : this.#agentQueues.get(agent);
    if (!whose || !this.#context.isOpen) return;
    this.#retry.attempt(() => {
      if (!whose.queues.noticed(queue, name)) return;
      if (queue !== "inbox" && queue !== "outbox" && whose.queues.has(queue, name)) whose.byHand(queue, name);
      this.moveAll();
    });
  }

  /** Looks into every folder, because notices may have been lost. */
  look(): QueueChanges {
    const found: QueueChanges = { changed: false, young: false, byHand: [] };
    if (!this.#context.isOpen) return found;
    this.#retry.attempt(() => {
      for (const one of this.#all()) {
        const { changed, young, byHand } = one.queues.look();
        found.changed ||= changed;
        found.young ||= young;
        for (const [queue, name] of byHand) one.byHand(queue, name);
      }
      // Within the attempt: if everything is moved, nothing has to be tried again.
      this.moveAll();
    });
    if (found.young) this.#lookSoon();
    void this.#giveOwedAnswers();
    return found;
  }

  /** An agent can hear again, or is another one now: it is told everything that it has not ended. */
  tellAgain(agent: string): void {
    this.#agentQueues.get(agent)?.tellAgain();
    this.moveAll();
  }

  /** An agent was started anew: it is told what its former session had heard and not ended. */
  tellNewcomer(agent: string): void {
    this.#agentQueues.get(agent)?.tellNewcomer();
    this.moveAll();
  }

  /** Moves whatever can be moved, until nothing can. */
  moveAll(): void {
    if (!this.#context.isOpen) return;
    this.#again = true;
    if (this.#isMoving) return;
    this.#isMoving = true;
    const hasMoved = this.#retry.attempt(() => {
      // A step for an agent without queues could not be given: they come first.
      if (this.#openAgents()) this.#lookSoon();
      while (this.#again) {
        this.#again = false;
        for (const one of this.#all()) if (one.advance()) this.#again = true;
      }
    });
    this.#isMoving = false;
    if (hasMoved) this.#retry.clear();
    this.#keepState();
    if (this.#tasks.completed > 0 && this.isIdle) this.#context.ports.idle();
  }

  /** Nothing is under way and nothing waits. */
  get isIdle(): boolean {
    const live: QueueName[] = ["active", "inbox", "next", "outbox"];
    if (this.#owed.areLeft) return false;
    return [this.queues, ...this.agents.values()].every((queues) => live.every((queue) => queues.count(queue) === 0));
  }

  async #giveOwedAnswers(): Promise<void> {
    try {
      if (!(await this.#owed.give())) return;
    } catch (error) {
      this.#retry.failed(error);
    }
    this.moveAll();
  }

  #lookSoon(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.look();
    }, UNCHANGED_MS);
  }

  /** As it is now; the file may be a moment behind. */
  get state(): MeshState {
    return this.#state.of(this.#progress());
  }

  /** The files with the words that a task of the mesh itself ended with. */
  ends(task: string): ReturnType<MeshTasks["ends"]> {
    return this.#tasks.ends(task);
  }

  /** Writes `state.json` now, so that closing writes nothing. */
  writeState(): void {
    this.#state.write();
  }

  #keepState(): void {
    this.#state.keep(() => this.#progress());
  }

  #progress(): MeshProgress {
    return {
      declared: this.#declared,
      ...this.#tasks.progress(),
      isActive: this.queues.count("active") > 0,
      isWaiting: this.queues.count("inbox") + this.queues.count("next") > 0,
      tasksCompleted: this.#tasks.completed,
      now: this.#context.ports.now(),
    };
  }
}
