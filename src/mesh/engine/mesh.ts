import { statSync } from "node:fs";
import type { MeshState } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import type { Layout, QueueName } from "../files/layout.ts";
import { type QueueChanges, Queues } from "../files/queue.ts";
import { QUIET_MS } from "../files/queue-files.ts";
import { AgentQueues, isEnd } from "./agent-queues.ts";
import { completedTasks } from "./completed-tasks.ts";
import { errorText, gist, MeshContext } from "./mesh-context.ts";
import type { MeshPorts } from "./mesh-ports.ts";
import { MeshTasks } from "./mesh-tasks.ts";
import { type MeshProgress, StateFile } from "./state-file.ts";

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
  readonly #agentQueues = new Map<string, AgentQueues>();
  readonly #tasks: MeshTasks;
  readonly #context: MeshContext;
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
    this.#context = new MeshContext(() => this.#declared.config, layout, ports);
    this.#tasks = new MeshTasks(this.queues, declared, this.#context, this.#agentQueues, () => this.settle());
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
      for (const whose of [this.#tasks, ...this.#agentQueues.values()]) whose.begin();
    });
    this.settle();
    void this.#answerWhatIsOwed();
  }

  close(): void {
    if (!this.#context.isOpen) return;
    this.#context.isOpen = false;
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
      this.#agentQueues.delete(agent);
    }
    for (const agent of this.#declared.agents.keys()) {
      if (this.agents.has(agent)) continue;
      const queues = new Queues(this.#layout, { mesh: this.name, agent });
      young = queues.open().young || young;
      this.agents.set(agent, queues);
      this.#agentQueues.set(agent, new AgentQueues(queues, agent, this.#context, () => this.settle()));
    }
    return young;
  }

  /** Somebody said that this file came or went. */
  noticed(agent: string | null, queue: QueueName, name: string): void {
    const whose = agent === null ? this.#tasks : this.#agentQueues.get(agent);
    if (!whose || !this.#context.isOpen) return;
    this.#guard(() => {
      if (!whose.queues.noticed(queue, name)) return;
      if (queue !== "inbox" && queue !== "outbox" && whose.queues.has(queue, name)) whose.byHand(queue, name);
      this.settle();
    });
  }

  /** Looks into every folder: when notices may have been lost. */
  look(): QueueChanges {
    const found: QueueChanges = { changed: false, young: false, byHand: [] };
    if (!this.#context.isOpen) return found;
    this.#guard(() => {
      for (const whose of [this.#tasks, ...this.#agentQueues.values()]) {
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
    this.#agentQueues.get(agent)?.tellAgain();
    this.settle();
  }

  /** An agent is begun anew: what the one before had heard and not ended is told again. */
  tellNewcomer(agent: string): void {
    this.#agentQueues.get(agent)?.tellNewcomer();
    this.settle();
  }

  /** Moves whatever can be moved, until nothing can. */
  settle(): void {
    if (!this.#context.isOpen) return;
    this.#again = true;
    if (this.#isSettling) return;
    this.#isSettling = true;
    const isWhole = this.#guard(() => {
      while (this.#again) {
        this.#again = false;
        if (this.#tasks.advance()) this.#again = true;
        for (const desk of this.#agentQueues.values()) if (desk.advance()) this.#again = true;
      }
    });
    this.#isSettling = false;
    if (isWhole) this.#calmDown();
    this.#keepState();
    if (this.#tasks.completed > 0 && this.isIdle) this.#context.ports.idle();
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
        for (const whose of [this.#tasks, ...this.#agentQueues.values()]) {
          for (const name of await whose.queues.since(queue, since)) {
            if (isEnd(name)) continue;
            await new Promise(setImmediate);
            if (!this.#context.isOpen) return;
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
    if (!this.#context.isOpen) return;
    if (!this.#retry) {
      const why = gist(errorText(error));
      this.#context.record({ type: "mesh.stalled", data: { mesh: this.name, why } });
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
  ends(task: string): ReturnType<MeshTasks["ends"]> {
    return this.#tasks.ends(task);
  }

  #keepState(): void {
    this.#state.keep(() => this.#standing());
  }

  #standing(): MeshProgress {
    return {
      declared: this.#declared,
      progress: this.#tasks.progress(),
      isActive: this.queues.count("active") > 0,
      isWaiting: this.queues.count("inbox") + this.queues.count("next") > 0,
      tasksCompleted: this.#tasks.completed,
      now: this.#context.ports.now(),
    };
  }
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;
