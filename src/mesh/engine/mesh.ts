import { statSync } from "node:fs";
import type { MeshFact, MeshState } from "../../protocol/index.ts";
import { completedTasks } from "../files/completed-tasks.ts";
import type { DeclaredMesh } from "../files/config.ts";
import type { Layout, QueueName } from "../files/layout.ts";
import type { Letter } from "../files/letter.ts";
import { type Look, Queues } from "../files/queue.ts";
import { QUIET_MS } from "../files/queue-files.ts";
import { type Standing, StateFile } from "../files/state.ts";
import { Desk, isEnd } from "./agent-queues.ts";
import { gist, Office, wordsOfError } from "./mesh-context.ts";
import { Tasks } from "./mesh-tasks.ts";
import type { Directory } from "./route.ts";

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
  /** Tasks have come to their end, and nothing is left to do. */
  idle(): void;
}

/**
 * One mesh at work: it moves messages through its queues and tells its agents.
 *
 * MESH-1. What follows from a message is made before that message leaves `active`, under a name derived from it. So
 *     after a crash whatever is in `active` is taken up again, and what is there already is not made twice.
 * MESH-2. One task is active in the mesh, and one for each agent; the others wait in the order they came.
 * MESH-3. Only tasks wait. A question or an answer is told at once, also to somebody who is busy: else two who ask each
 *     other would wait for ever.
 * MESH-4. A file that is no message goes to `quarantine/` with the reason beside it; the queue goes on.
 * MESH-5. What cannot be written or moved now (a full disk) is said once and tried again; nothing is lost by it.
 */
export class Mesh {
  readonly queues: Queues;
  /** The queues of each agent. */
  readonly agents = new Map<string, Queues>();
  readonly #desks = new Map<string, Desk>();
  readonly #tasks: Tasks;
  readonly #office: Office;
  readonly #layout: Layout;
  readonly #state: StateFile;
  #declared: DeclaredMesh;
  /** What came to its end since then (milliseconds) may not be answered yet. */
  #owesSince: number | undefined;
  #isLookingBack = false;
  #isSettling = false;
  #again = false;
  #retry: { timer: NodeJS.Timeout; wait: number } | undefined;
  #young: NodeJS.Timeout | undefined;

  constructor(declared: DeclaredMesh, layout: Layout, ports: MeshPorts) {
    const { mesh } = declared.config;
    this.#declared = declared;
    this.#layout = layout;
    this.queues = new Queues(layout, { mesh, agent: null });
    this.#office = new Office(() => this.#declared.config, layout, ports);
    this.#tasks = new Tasks(this.queues, declared, this.#office, this.#desks, () => this.settle());
    this.#state = new StateFile(layout.state(mesh), new Date(ports.now()).toISOString());
  }

  get name(): string {
    return this.#declared.config.mesh;
  }

  get declared(): DeclaredMesh {
    return this.#declared;
  }

  /** Sees what is there. Nothing moves before `begin`: others may have to be there first. */
  open(): void {
    const young = this.queues.open().young;
    this.#tasks.completed = completedTasks(this.queues);
    if (this.#furnish() || young) this.#lookSoon();
    const written = statSync(this.#layout.state(this.name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    this.#owesSince = written - 60_000;
  }

  /** Takes up what is under way. */
  begin(): void {
    this.#guard(() => {
      for (const whose of [this.#tasks, ...this.#desks.values()]) whose.begin();
    });
    this.settle();
    void this.#answerWhatIsOwed();
  }

  close(): void {
    if (!this.#office.isOpen) return;
    this.#office.isOpen = false;
    clearTimeout(this.#retry?.timer);
    clearTimeout(this.#young);
    this.#state.close();
  }

  /** What is declared may change while it works; what is under way goes on by the new plan. */
  redeclare(declared: DeclaredMesh): void {
    this.#declared = declared;
    this.#tasks.redeclare(declared);
    this.#guard(() => {
      if (this.#furnish()) this.#lookSoon();
    });
    this.settle();
  }

  /** A desk for each declared agent. What lies on the desk of one who is none any more stays there. */
  #furnish(): boolean {
    let young = false;
    for (const agent of this.agents.keys()) {
      if (this.#declared.agents.has(agent)) continue;
      this.agents.delete(agent);
      this.#desks.delete(agent);
    }
    for (const agent of this.#declared.agents.keys()) {
      if (this.agents.has(agent)) continue;
      const queues = new Queues(this.#layout, { mesh: this.name, agent });
      young = queues.open().young || young;
      this.agents.set(agent, queues);
      this.#desks.set(agent, new Desk(queues, agent, this.#office, () => this.settle()));
    }
    return young;
  }

  /** Somebody said that this file came or went. */
  noticed(agent: string | null, queue: QueueName, name: string): void {
    const whose = agent === null ? this.#tasks : this.#desks.get(agent);
    if (!whose || !this.#office.isOpen) return;
    this.#guard(() => {
      if (!whose.queues.noticed(queue, name)) return;
      if (queue !== "inbox" && queue !== "outbox" && whose.queues.has(queue, name)) whose.byHand(queue, name);
      this.settle();
    });
  }

  /** Looks into every folder: when notices may have been lost. */
  look(): Look {
    const found: Look = { changed: false, young: false, byHand: [] };
    if (!this.#office.isOpen) return found;
    this.#guard(() => {
      for (const whose of [this.#tasks, ...this.#desks.values()]) {
        const { changed, young, byHand } = whose.queues.look();
        found.changed ||= changed;
        found.young ||= young;
        for (const [queue, name] of byHand) whose.byHand(queue, name);
      }
    });
    if (found.young) this.#lookSoon();
    this.settle();
    void this.#answerWhatIsOwed();
    return found;
  }

  /** An agent can hear again, or is somebody else now: what it has not ended is told again. */
  tellAgain(agent: string): void {
    this.#desks.get(agent)?.tellAgain();
    this.settle();
  }

  /** An agent is begun anew: what the one before had heard and not ended is told again. */
  tellNewcomer(agent: string): void {
    this.#desks.get(agent)?.tellNewcomer();
    this.settle();
  }

  /** Moves whatever can be moved, until nothing can. */
  settle(): void {
    if (!this.#office.isOpen) return;
    this.#again = true;
    if (this.#isSettling) return;
    this.#isSettling = true;
    const isWhole = this.#guard(() => {
      while (this.#again) {
        this.#again = false;
        if (this.#tasks.advance()) this.#again = true;
        for (const desk of this.#desks.values()) if (desk.advance()) this.#again = true;
      }
    });
    this.#isSettling = false;
    if (isWhole) this.#calmDown();
    this.#keepState();
    if (this.#tasks.completed > 0 && this.isIdle) this.#office.ports.idle();
  }

  /** Nothing is under way and nothing waits. */
  get isIdle(): boolean {
    const live: QueueName[] = ["active", "inbox", "next", "outbox"];
    if (this.#owesSince !== undefined) return false;
    return [this.queues, ...this.agents.values()].every((queues) => live.every((queue) => queues.count(queue) === 0));
  }

  /**
   * Tasks that were moved to where they are over while nobody was there, or whose answers a power failure has emptied.
   * What was over before `state.json` was last written was answered then. There may be any number: nobody waits for it.
   */
  async #answerWhatIsOwed(): Promise<void> {
    const since = this.#owesSince;
    if (since === undefined || this.#isLookingBack) return;
    this.#isLookingBack = true;
    try {
      for (const queue of ["complete", "archive"] as const) {
        for (const whose of [this.#tasks, ...this.#desks.values()]) {
          for (const name of await whose.queues.since(queue, since)) {
            if (isEnd(name)) continue;
            await new Promise(setImmediate);
            if (!this.#office.isOpen) return;
            whose.owed(queue, name);
          }
        }
      }
      this.#owesSince = undefined;
    } catch (error) {
      this.#stalled(error);
    } finally {
      this.#isLookingBack = false;
    }
    this.settle();
  }

  /** MESH-5. False when it did not work. */
  #guard(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#stalled(error);
      return false;
    }
  }

  #stalled(error: unknown): void {
    if (!this.#office.isOpen) return;
    if (!this.#retry) {
      const why = gist(wordsOfError(error));
      this.#office.record({ type: "mesh.stalled", data: { mesh: this.name, why } });
    }
    const wait = Math.min((this.#retry?.wait ?? FIRST_RETRY_MS / 2) * 2, LAST_RETRY_MS);
    clearTimeout(this.#retry?.timer);
    const timer = setTimeout(() => this.look(), wait);
    timer.unref();
    this.#retry = { timer, wait };
  }

  #calmDown(): void {
    clearTimeout(this.#retry?.timer);
    this.#retry = undefined;
  }

  #lookSoon(): void {
    this.#young ??= setTimeout(() => {
      this.#young = undefined;
      this.look();
    }, QUIET_MS);
  }

  /** As it is now; the file of it may be a moment behind. */
  get state(): MeshState {
    return this.#state.of(this.#standing());
  }

  /** Where the words lie with which a task of the mesh itself ended. */
  ends(task: string): ReturnType<Tasks["ends"]> {
    return this.#tasks.ends(task);
  }

  #keepState(): void {
    this.#state.keep(() => this.#standing());
  }

  #standing(): Standing {
    return {
      declared: this.#declared,
      progress: this.#tasks.progress(),
      isActive: this.queues.count("active") > 0,
      isWaiting: this.queues.count("inbox") + this.queues.count("next") > 0,
      tasksCompleted: this.#tasks.completed,
      now: this.#office.ports.now(),
    };
  }
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;
