import { didYouMean } from "../../boundary/nearest.ts";
import { ancestorsOf, type NodeState, type WorkerState } from "../../projections/index.ts";
import { COORDINATOR, HUMAN } from "../../protocol/index.ts";
import type { TeamPorts } from "./team-ports.ts";
import { workerIdOf } from "./worker-names.ts";

/** Those in a run who can be given work or written to, by the names that people use for them. */
export class TeamDirectory {
  readonly #ports: Pick<TeamPorts, "run" | "pending">;

  constructor(ports: Pick<TeamPorts, "run" | "pending">) {
    this.#ports = ports;
  }

  all(): WorkerState[] {
    return Object.values(this.#ports.pending().roster).filter(
      (worker) => worker.id !== COORDINATOR && worker.spawned.run_id === this.#ports.run && worker.status !== "retired",
    );
  }

  named(word: string): WorkerState | undefined {
    return this.all().find((worker) => worker.id === workerIdOf(word) || worker.spawned.name === word);
  }

  addressee(word: string): string | undefined {
    const id = workerIdOf(word);
    if (word === "*" || id === COORDINATOR || id === HUMAN) return id;
    // Somebody who has left is still a name: their mail reaches the coordinator.
    const { roster } = this.#ports.pending();
    return Object.hasOwn(roster, id) ? id : undefined;
  }

  /** Whether somebody reads what is said to all: those at work, and the coordinator. */
  hasListeners(from: string): boolean {
    const isAtWork = (worker: WorkerState) =>
      worker.status === "busy" || worker.status === "waiting" || (worker.status === "retired" && worker.still !== null);
    const { roster } = this.#ports.pending();
    return from !== COORDINATOR || Object.values(roster).some((worker) => worker.id !== from && isAtWork(worker));
  }

  nobody(word: string): string {
    const names = this.all().map((worker) => worker.spawned.name);
    const known = [...names, "coordinator"];
    return `There is nobody named "${word}".${didYouMean(word, known)} Choose from: ${known.join(", ")}.`;
  }

  /** Why somebody cannot be let go yet: what waits for them would wait for ever. */
  neededFor(word: string): string | undefined {
    const worker = this.named(word);
    const node = Object.values(this.#ports.pending().board.nodes).find(
      (each) => each.status === "pending" && each.reserved_for === worker?.id,
    );
    return worker && node
      ? `${node.id} waits for ${worker.spawned.name}. Give it to somebody else first (assign_worker).`
      : undefined;
  }

  /** A worker who waits for this very work can never begin it. */
  tiedUp(worker: WorkerState, parent: NodeState | undefined): string | undefined {
    const { board } = this.#ports.pending();
    const holds = [...ancestorsOf(board, parent)].find((id) => {
      const node = board.nodes[id];
      return node && "worker_id" in node && node.worker_id === worker.id;
    });
    return holds ? `${worker.spawned.name} works on ${holds}, which waits for this. Name somebody else.` : undefined;
  }
}
