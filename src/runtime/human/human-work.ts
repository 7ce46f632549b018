import { join } from "node:path";
import { didYouMean } from "../../boundary/nearest.ts";
import { shellWord } from "../../boundary/shell-word.ts";
import {
  hasEnded,
  isAtWork,
  type NodeState,
  nodeNamed,
  type Question,
  type Situation,
} from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { type Actor, HUMAN, type NewFact, type NodeId, type RunId } from "../../protocol/index.ts";
import { nodeDir } from "../../store/paths.ts";
import { reopenPublish } from "../../store/run/node-folder.ts";
import type { AgentLog } from "../../store/store.ts";
import type { NodeChange } from "../../tools/coordination.ts";
import type { ToolOutput } from "../../tools/tool.ts";
import { askHumanToWork, DONE, nodeQuestionId } from "../../workers/human-worker.ts";
import { isTaken } from "../state/taken-node.ts";
import type { Team } from "../team/team.ts";
import { workerIdOf } from "../team/worker-names.ts";
import { checkNotArchived, HumanRefusal } from "./human-facts.ts";
import type { HumanVoice } from "./human-voice.ts";
import {
  goalAfterAll,
  moreFrom,
  notYours,
  nowAnother,
  ownerOf,
  restingAgent,
  taskAfterAll,
  whenResumed,
  whyNotGiven,
  whyNotYet,
} from "./node-words.ts";

interface HumanWorkPorts {
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  clock: Clock;
  team(run: RunId): Team;
  voice: Pick<HumanVoice, "respond">;
  /** The next run, with its first work; nobody begins with it before the agent goes on. False: another has begun. */
  openNextRun(trigger: string, first: (run: RunId) => { goal: string; facts: NewFact[] }): Promise<boolean>;
  /** Whether somebody works on the agent in this process, and so gives out work. */
  isUnderWay(): boolean;
  folderOf(node: NodeState): Promise<void>;
  /** Of an agent that writes: a person's clone for the node is there when it resolves. Where it is. */
  cloneOf: ((node: NodeState) => Promise<string>) | undefined;
}

/**
 * What the human does with the work itself: assigns it, and publishes their own nodes.
 *
 * HUMAN-WORK-1. A node that was given to the human is in their inbox and can be published, whether the agent is at work
 *     or not. While no process works on it, this code asks the question that the next start will find.
 * HUMAN-WORK-2. A person who publishes is answered, also if the agent is closed before the node is published: what they said
 *     is recorded, and the next start publishes it.
 * HUMAN-WORK-3. A person may have several nodes at once: each is in their inbox, and each can be published.
 * HUMAN-WORK-4. A node of any status but completed can be given to the human, whatever the agent does. A person who cannot
 *     have it, or not yet, is told why and what to do.
 * HUMAN-WORK-5. A run that is over stays as it is: a node of it that failed or was cancelled is the human's as a new node
 *     with the same task, in the run that is open or in the next one, which waits for them at no cost. Asked for twice,
 *     it is the same new node.
 */
export class HumanWork {
  readonly #ports: HumanWorkPorts;
  readonly #looking = new Set<() => void>();
  #isClosed = false;

  constructor(ports: HumanWorkPorts) {
    this.#ports = ports;
  }

  async assign(node: string, to: string): Promise<string> {
    const { pending, team } = this.#ports;
    checkNotArchived(pending());
    const { id, spec } = this.#node(node);
    const { created, status } = pending().agent;
    const problem = whyNotGiven(this.#node(id), created.name, this.#ports.isUnderWay());
    if (problem !== undefined) throw new HumanRefusal("conflict", problem);
    const { run: current } = pending().agent;
    const run = spec.run_id;
    if (current?.id !== run || current.finished) return this.#assignEarlier(id, to);
    if (workerIdOf(to) === HUMAN && (await this.#isTheirs(id))) return this.#yours(id);
    const answer = await team(run).assign(id, to, HUMAN);
    if (typeof answer !== "string") throw new HumanRefusal("conflict", answer.content);
    if (await this.#isTheirs(id)) return this.#yours(id);
    const given = this.#node(id);
    const owner = ownerOf(given, pending());
    const rests = this.#ports.isUnderWay() ? "" : ` ${restingAgent(created.name, status)}`;
    if (owner.id === HUMAN)
      return `${id} will be yours and comes to your inbox later: ${whyNotYet(given, pending())}.${rests}`;
    return rests === "" ? answer : `${id} is ${owner.name}'s.${rests}`;
  }

  /** Its run is over: the same work is on the board of the run that is open, or of the next one. */
  async #assignEarlier(id: NodeId, to: string): Promise<string> {
    const { pending, team, log, openNextRun } = this.#ports;
    const node = this.#node(id);
    const { created, run } = pending().agent;
    if (workerIdOf(to) !== HUMAN) {
      const words = `${node.spec.run_id}, in which ${id} was, is over. You can do ${id} yourself: agiraph assign ${shellWord(created.name)} ${id} human.`;
      throw new HumanRefusal("conflict", `${words} ${moreFrom(created.name)}`);
    }
    const task = taskAfterAll(node, log.dir);
    const given = Object.values(pending().board.nodes).findLast(({ spec }) => spec.task === task);
    const isOpen = run?.finished === null;
    if (given && (given.status === "completed" || (isOpen && given.spec.run_id === run.id)))
      return `${nowAnother(id, given.id)} ${await this.assign(given.id, HUMAN)}`;
    let made: NodeId | undefined;
    const first = (run_id: RunId) => {
      const again = team(run_id).doneAfterAll(node, task);
      if (typeof again === "string") throw new HumanRefusal("conflict", again);
      made = again.node_id;
      return { goal: goalAfterAll(node, again.node_id), facts: again.facts };
    };
    if (isOpen) await log.append({ facts: first(run.id).facts }).durable;
    else if (!(await openNextRun(`assign@${id}`, first))) return this.assign(id, to);
    if (made === undefined) throw new Error(`${id} was put on no board`);
    return `${nowAnother(id, made)} ${await this.assign(made, HUMAN)}`;
  }

  /** The run whose board can still change. */
  #openRun(): RunId {
    const { run, created } = this.#ports.pending().agent;
    if (run && !run.finished) return run.id;
    const over = `${created.name} has finished, and nothing on its board changes any more.`;
    throw new HumanRefusal("conflict", `${over} ${moreFrom(created.name)}`);
  }

  async cancel(node: string, reason = "No reason was given."): Promise<string> {
    return this.#said((team) => team.cancel(node, reason, HUMAN), node);
  }

  /** Also where nobody works on the agent: the next worker is told. */
  async update(node: string, change: NodeChange): Promise<string> {
    return this.#said((team) => team.update(node, change, HUMAN), node);
  }

  async #said(ask: (team: Team) => Promise<ToolOutput>, node: string): Promise<string> {
    const { pending, team } = this.#ports;
    checkNotArchived(pending());
    this.#node(node);
    const run = this.#openRun();
    const { created } = pending().agent;
    const answer = await ask(team(run)).catch((error: unknown) => {
      if (pending().agent.run?.id === run && !pending().agent.run?.finished) throw error;
      throw new HumanRefusal("conflict", `${created.name} has just finished. ${moreFrom(created.name)}`);
    });
    if (typeof answer !== "string") throw new HumanRefusal("conflict", answer.content);
    return answer;
  }

  /** Whether they have it from now on. Where nobody gives out work, it is put before them here. */
  async #isTheirs(id: NodeId): Promise<boolean> {
    const { log, pending, isUnderWay, folderOf } = this.#ports;
    const given = pending().board.nodes[id];
    if (!given || !isGivenToHuman(given, pending())) return false;
    if (isUnderWay()) return true;
    await folderOf(given);
    // What was published of it in part is work again, before the human puts something beside it.
    if (given.reopened) await reopenPublish(nodeDir(log.dir, given.spec.run_id, id));
    const who = { worker_id: HUMAN, node_id: id };
    if (given.status === "pending")
      await log.append({
        facts: [
          { type: "node.assigned", data: who },
          { type: "worker.busy", data: who },
        ],
      }).durable;
    const node = pending().board.nodes[id];
    if (node && isTaken(node)) await askHumanToWork(node, this.#ports);
    return true;
  }

  async #yours(id: NodeId): Promise<string> {
    const { log, pending, cloneOf } = this.#ports;
    const node = this.#node(id);
    const how = cloneOf
      ? `Change the files in its clone, ${await cloneOf(node)}`
      : `Put the files into ${join(nodeDir(log.dir, node.spec.run_id, id), "scratch")}`;
    return `${id} is yours. ${how}, then: agiraph publish ${shellWord(pending().agent.created.name)} ${id}`;
  }

  /** Resolves when it is published, or with what stands in the way for now; rejects with what is missing. */
  async publish(name: string, summary: string | undefined, via: Actor["via"]): Promise<string> {
    const { now, pending, voice } = this.#ports;
    checkNotArchived(pending());
    const node = this.#node(name);
    if (!this.#questionOn(node, pending()) && (await this.#isTheirs(node.id)))
      await this.#until(() => this.#questionOn(node, now()) || !this.#isOnItsWay(node.id));
    const asked = this.#questionOn(node, pending());
    if (!asked && this.#isSaid(node.id)) return whenResumed(node.id, pending());
    if (!asked) throw new HumanRefusal("conflict", notYours(node, pending()));
    await voice.respond(summary ?? DONE, asked.id, via);
    const { status, created } = pending().agent;
    if (!isAtWork(status)) return whenResumed(node.id, pending());
    await this.#until(
      () => hasEnded(now().board.nodes[node.id]) || this.#asksAgain(node, asked) || !isAtWork(now().agent.status),
    );
    const again = this.#asksAgain(node, asked);
    if (again) throw new HumanRefusal("conflict", again.text.split("\n\n", 1)[0] ?? "");
    const ended = now().board.nodes[node.id];
    if (ended?.status === "completed") return `${node.id} is published.`;
    if (hasEnded(ended)) return `What you said is recorded, but ${node.id} is ${ended.status}.`;
    if (!isAtWork(now().agent.status)) return whenResumed(node.id, now());
    return `What you said is recorded, but ${created.name} was closed before ${node.id} was published. It is published when ${created.name} continues: agiraph resume ${shellWord(created.name)}`;
  }

  /** Theirs, with their answer on record, while nobody works on the agent: it failed again before it was published. */
  #isSaid(id: NodeId): boolean {
    const node = this.#node(id);
    return isTaken(node) && node.worker_id === HUMAN && !this.#ports.isUnderWay();
  }

  /** Given to the human just now: those who work are about to put it before them. */
  #isOnItsWay(id: NodeId): boolean {
    const { pending, isUnderWay } = this.#ports;
    const node = pending().board.nodes[id];
    return isUnderWay() && node !== undefined && isGivenToHuman(node, pending());
  }

  /** Nobody works on the agent any more in this process: those who still wait are told so. */
  close(): void {
    this.#isClosed = true;
    for (const look of this.#looking) look();
  }

  #node(name: string): NodeState {
    return nodeOf(this.#ports.pending(), name);
  }

  #questionOn(node: NodeState, { questions }: Situation): Question | undefined {
    return Object.values(questions.open).find(
      ({ worker_id, call_id }) => worker_id === HUMAN && call_id === nodeQuestionId(node.id),
    );
  }

  #asksAgain(node: NodeState, before: Question): Question | undefined {
    const asked = this.#questionOn(node, this.#ports.now());
    return asked && asked.id !== before.id ? asked : undefined;
  }

  /** Or until it is closed. */
  async #until(isSo: () => unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.#isClosed || isSo()) resolve();
    };
    this.#looking.add(look);
    const unhear = this.#ports.log.subscribe(look);
    look();
    await promise;
    unhear();
    this.#looking.delete(look);
  }
}

/** It is theirs already, or could be taken by them at once. */
function isGivenToHuman(node: NodeState, { board }: Situation): boolean {
  if (isTaken(node)) return node.status !== "publishing" && node.worker_id === HUMAN;
  const isReady = node.spec.dependencies.every((id) => board.nodes[id]?.status === "completed");
  return node.status === "pending" && node.reserved_for === HUMAN && !node.held && isReady;
}

/** People may put files only into nodes that are theirs. */
export function checkYours(name: string, now: Situation): NodeState {
  const node = nodeOf(now, name);
  const isYours = (node.status === "assigned" || node.status === "running") && node.worker_id === HUMAN;
  if (!isYours) throw new HumanRefusal("conflict", notYours(node, now));
  return node;
}

/** Refused with the nearest name where there is none. */
export function nodeOf({ agent, board }: Situation, name: string): NodeState {
  const node = nodeNamed(board, name);
  if (node) return node;
  const ids = Object.keys(board.nodes);
  const list = ids.length === 0 ? "There are none yet." : `Choose from: ${ids.slice(-MOST_NAMED).join(", ")}.`;
  throw new HumanRefusal("not_found", `${agent.created.name} has no node "${name}".${didYouMean(name, ids)} ${list}`);
}

const MOST_NAMED = 12;
