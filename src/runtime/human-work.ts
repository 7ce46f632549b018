import { hasEnded, isAtWork, type NodeState, nodeNamed, type Question, type Situation } from "../projections/index.ts";
import { HUMAN, type RunId } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import { DONE, yoursId } from "../workers/by-human.ts";
import { type Channel, checkNotArchived, HumanRefusal } from "./human.ts";
import type { Team } from "./team.ts";
import type { Voice } from "./voice.ts";

interface HumanWorkPorts {
  log: Pick<AgentLog, "subscribe">;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  soon(): Situation;
  team(run: RunId): Team;
  voice: Pick<Voice, "respond">;
}

/** What the human does with the work itself: gives it to somebody, and publishes what is theirs. */
export class HumanWork {
  readonly #ports: HumanWorkPorts;

  constructor(ports: HumanWorkPorts) {
    this.#ports = ports;
  }

  async assign(node: string, to: string): Promise<string> {
    const { soon, team } = this.#ports;
    checkNotArchived(soon());
    this.#node(node);
    const { run, created, status } = soon().agent;
    if (!run || run.finished) throw new HumanRefusal("conflict", `${created.name} has finished: its work is over.`);
    const answer = await team(run.id).assign(node, to, HUMAN);
    if (typeof answer !== "string") throw new HumanRefusal("conflict", answer.content);
    return isAtWork(status) ? answer : `${answer} ${created.name} is ${status}: it goes on when it is resumed.`;
  }

  /** Resolves when it is published, or with what stands in the way for now; rejects with what is missing. */
  async publish(name: string, summary: string | undefined, channel: Channel): Promise<string> {
    const { now, soon, voice } = this.#ports;
    const node = this.#node(name);
    const asked = this.#questionOn(node, soon());
    if (!asked) throw new HumanRefusal("conflict", notYours(node, soon()));
    const answered = await voice.respond(summary ?? DONE, asked.id, channel);
    if (!isAtWork(soon().agent.status)) return answered;
    await this.#until(
      () => hasEnded(now().board.nodes[node.id]) || this.#asksAgain(node, asked) || !isAtWork(now().agent.status),
    );
    const again = this.#asksAgain(node, asked);
    if (again) throw new HumanRefusal("conflict", again.text.split("\n\n", 1)[0] ?? "");
    const ended = now().board.nodes[node.id];
    return ended?.status === "completed" ? `${node.id} is published.` : answered;
  }

  #node(name: string): NodeState {
    const node = nodeNamed(this.#ports.soon().board, name);
    if (!node) throw new HumanRefusal("not_found", `There is no node "${name}".`);
    return node;
  }

  #questionOn(node: NodeState, { questions }: Situation): Question | undefined {
    return Object.values(questions.open).find(
      ({ worker_id, call_id }) => worker_id === HUMAN && call_id === yoursId(node.id),
    );
  }

  #asksAgain(node: NodeState, before: Question): Question | undefined {
    const asked = this.#questionOn(node, this.#ports.now());
    return asked && asked.id !== before.id ? asked : undefined;
  }

  async #until(isSo: () => unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (isSo()) resolve();
    };
    const unhear = this.#ports.log.subscribe(look);
    look();
    await promise;
    unhear();
  }
}

/** A file of theirs goes only where it is theirs to put. */
export function checkYours(name: string, now: Situation): NodeState {
  const node = nodeNamed(now.board, name);
  if (!node) throw new HumanRefusal("not_found", `There is no node "${name}".`);
  const isYours = (node.status === "assigned" || node.status === "running") && node.worker_id === HUMAN;
  if (!isYours) throw new HumanRefusal("conflict", notYours(node, now));
  return node;
}

function notYours(node: NodeState, { roster }: Situation): string {
  if (node.status === "completed") return `${node.id} is completed.`;
  const whose = "worker_id" in node ? node.worker_id : node.reserved_for;
  const name = whose === null ? "nobody" : (roster[whose]?.spawned.name ?? whose);
  if (whose === HUMAN) return `${node.id} is ${node.status}.`;
  return `${node.id} is not yours: ${name} has it (${node.status}). Take it first: agiraph assign AGENT ${node.id} human`;
}
