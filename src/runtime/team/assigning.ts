import type { Situation } from "../../projections/index.ts";
import type { Fact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import type { ProgramNames } from "../../workers/outside/programs.ts";
import { strandedMail } from "./mail-routing.ts";
import { assignments, givenToHuman } from "./scheduler.ts";

interface AssigningPorts {
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  maxConcurrent: number;
  programs: ProgramNames;
  /** Nobody begins any more. */
  isOver(): boolean;
  failed(error: unknown): void;
}

/** Facts that may let a worker begin: work, a reservation, a worker, or room for one. */
const WAKES_THE_SCHEDULER = new Set<Fact["type"]>([
  "node.created",
  "node.reserved",
  "node.released",
  "node.completed",
  "node.failed",
  "node.cancelled",
  "node.reopened",
  "worker.spawned",
  "worker.idle",
  "worker.waiting",
  "worker.retired",
]);

/** Records the scheduler's decisions, one append at a time, until there is nothing left to decide. */
export class Assigning {
  readonly #ports: AssigningPorts;
  #isUnderWay = false;
  #isDue = false;

  constructor(ports: AssigningPorts) {
    this.#ports = ports;
  }

  note(fact: Fact): void {
    if (this.#isDue || !WAKES_THE_SCHEDULER.has(fact.type)) return;
    this.#isDue = true;
    // Not before all facts of the same append are known: a node and whom it is reserved for, an end and who is free.
    queueMicrotask(() => {
      this.#isDue = false;
      this.goOn();
    });
  }

  goOn(): void {
    const { log, now, pending, isOver, failed } = this.#ports;
    if (this.#isUnderWay || isOver()) return;
    // After a stop, while the coordinator decides, mail goes its way, but nobody begins except a person.
    const isDeciding = now().agent.coordinator_decides;
    const facts = [
      ...(isDeciding ? givenToHuman(pending()) : assignments(pending(), this.#ports)),
      ...strandedMail(pending()),
    ];
    if (facts.length === 0) return;
    this.#isUnderWay = true;
    log.append({ facts }).durable.then(
      () => {
        this.#isUnderWay = false;
        this.goOn();
      },
      (error: unknown) => {
        this.#isUnderWay = false;
        failed(error);
      },
    );
  }
}
