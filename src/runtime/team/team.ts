import { STOPPED } from "../../mail/news.ts";
import {
  describeBranch,
  describePage,
  describeRoster,
  hasEnded,
  isLost,
  losersIn,
  mayNeverBegin,
  type NodeState,
  nodeNamed,
  openNodes,
  PAGE,
  rosterOf,
  runningCommandsOf,
  type WorkerState,
  waitsForAny,
} from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, type NodeId, type RunId, type WorkerId } from "../../protocol/index.ts";
import { stillRunning } from "../../tools/background.ts";
import type { CoordinationPort, NewWorker, NodeChange, Reconvening, StageOfRoles } from "../../tools/coordination.ts";
import { refusal, type ToolOutput } from "../../tools/tool.ts";
import type { NewWork } from "../../tools/work.ts";
import { CONTRACT_MET } from "../state/end-facts.ts";
import { isTaken } from "../state/taken-node.ts";
import { cancelledWords, cancelNodes } from "./cancel-nodes.ts";
import { problemHiring, spawned } from "./hiring.ts";
import { createNode } from "./node-creation.ts";
import { whyBarred } from "./not-by.ts";
import { handingOver, problemAssigning } from "./reassignment.ts";
import { TeamDirectory } from "./team-directory.ts";
import { TeamMail } from "./team-mail.ts";
import { record, type TeamPorts } from "./team-ports.ts";
import { TeamStages } from "./team-stages.ts";
import { notAPath } from "./work-order.ts";
import { choose } from "./worker-choice.ts";
import { workerIdOf } from "./worker-names.ts";

/**
 * What people in a run may ask of the runtime: work, workers, stages, messages. Everything is checked against the fold
 * and then recorded in one append; what is not possible is answered with the reason, and nothing changes.
 */
export class Team {
  readonly #ports: TeamPorts;
  readonly #directory: TeamDirectory;
  readonly #stages: TeamStages;
  readonly #mail: TeamMail;
  #nodes = 0;
  /** Nodes whose maker was not told yet who does them. */
  readonly #untold = new Map<NodeId, WorkerId>();

  constructor(run: RunId, ports: Omit<TeamPorts, "run">) {
    this.#ports = { ...ports, run };
    this.#directory = new TeamDirectory(this.#ports);
    this.#stages = new TeamStages(this.#ports, this.#directory, () => this.#nextNode());
    this.#mail = new TeamMail(this.#ports, this.#directory);
    this.recount();
  }

  /** Numbers that were given out and refused by the disk are given out again. */
  recount(): void {
    const { board } = this.#ports.pending();
    // The highest, not how many: a damaged record may have cost one of them.
    this.#nodes = Math.max(0, ...Object.keys(board.nodes).map((id) => Number(id.slice("node-".length))));
    this.#mail.recount();
  }

  async createNode(by: { worker_id: WorkerId; node_id: NodeId | null }, order: NewWork): Promise<ToolOutput> {
    if (order.worker !== undefined) await this.#admitHuman(order.worker);
    const { said, node_id, isOpen } = await createNode(by, order, {
      ports: this.#ports,
      directory: this.#directory,
      stages: this.#stages,
      nextNode: () => this.#nextNode(),
    });
    if (node_id && isOpen) this.#untold.set(node_id, by.worker_id);
    return said;
  }

  /** Who has begun what this reader handed out, where the answer could not say it: for a line with their next news. */
  begun(reader: WorkerId): string[] {
    const { board } = this.#ports.pending();
    const lines: string[] = [];
    for (const [id, by] of this.#untold) {
      const node = board.nodes[id];
      if (by !== reader || !node || node.status === "pending") continue;
      this.#untold.delete(id);
      // Of one that has ended they are told by its end.
      if (isTaken(node)) lines.push(`${id}: ${this.#nameOf(node.worker_id)} has begun.`);
    }
    return lines;
  }

  async spawn(order: NewWorker): Promise<ToolOutput> {
    if (order.type === "autonomous" && order.program === undefined)
      return refusal('Not hired: name the program, e.g. program: "claude-code".');
    const problem = await problemHiring([order], "is wrong", this.#ports);
    if (problem) return refusal(`Not hired: ${problem}`);
    await record(this.#ports, [spawned(order, this.#ports)]);
    return `${order.name} is hired and waits for work. Create a node with worker: "${order.name}", or let the board decide.`;
  }

  programs(): ReturnType<CoordinationPort["programs"]> {
    return this.#ports.outside.list();
  }

  /** The worker who has it is stopped, and the next one goes on from what there is. */
  async assign(nodeId: string, word: string, by: WorkerId = COORDINATOR): Promise<ToolOutput> {
    const node = this.#node(nodeId);
    if (typeof node === "string") return refusal(node);
    await this.#admitHuman(word);
    const worker = this.#directory.named(word) ?? (await this.#hiredFor(node, word));
    if (!worker) return refusal(this.#directory.nobody(word));
    if (typeof worker === "string") return refusal(worker);
    const now = this.#ports.pending();
    const parent = node.spec.parent_node_id ? now.board.nodes[node.spec.parent_node_id] : undefined;
    // A person decides over it.
    const barred = by === HUMAN || worker.id === HUMAN ? undefined : whyBarred(node.spec, worker.id, now);
    const problem = problemAssigning(node, worker, now) ?? barred ?? this.#directory.tiedUp(worker, parent);
    if (problem) return refusal(problem);
    if (isTaken(node)) await this.#ports.stopWork(node.id);
    const left = this.#ports.pending().board.nodes[node.id] ?? node;
    if (left.status === "completed") return refusal(`${node.id} was completed just now: ${left.summary}`);
    const released: NewFact[] = node.held ? [{ type: "node.released", data: { node_id: node.id } }] : [];
    if (left.status === "pending") {
      await record(this.#ports, [
        ...released,
        { type: "node.reserved", data: { node_id: node.id, worker_id: worker.id, by } },
      ]);
    } else {
      const { facts, ...said } = await handingOver(left, worker.id, by, this.#ports);
      await record(this.#ports, [...facts, ...released], said);
    }
    const { board } = this.#ports.pending();
    const waitsFor = node.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed");
    const when =
      waitsFor.length > 0
        ? `begins when ${waitsFor.join(", ")} ${waitsFor.length === 1 ? "is" : "are"} completed`
        : worker.status === "idle" || worker.id === HUMAN
          ? "begins at once"
          : `takes it when free (now ${worker.status})`;
    return `${node.id} is ${worker.spawned.name}'s, who ${when}.`;
  }

  /** The facts with which a person does the work of an earlier run after all: it is theirs, in this run. */
  doneAfterAll({ spec }: NodeState, task: string): { node_id: NodeId; facts: NewFact[] } | string {
    const { run } = this.#ports;
    const stage = this.#stages.forNewWork();
    if (!stage.ok) return stage.reason;
    const node_id = this.#nextNode();
    const { inference, deliverables, checks } = spec;
    const rest = { dependencies: [], refs: {}, parent_node_id: null, created_by: HUMAN };
    const created = { run_id: run, node_id, stage: stage.number, task, inference, deliverables, ...rest };
    return {
      node_id,
      facts: [
        ...this.#humanAdmitted(),
        ...stage.facts,
        { type: "node.created", data: { ...created, ...(checks && { checks }) } },
        { type: "node.reserved", data: { node_id, worker_id: HUMAN, by: HUMAN } },
      ],
    };
  }

  /** The facts with which the work of a node goes on as another node: its worker's, if they are in this run. */
  goesOn({ id, spec, ...node }: NodeState, task: string): { node_id: NodeId; facts: NewFact[] } | string {
    const { run } = this.#ports;
    const stage = this.#stages.forNewWork();
    if (!stage.ok) return stage.reason;
    const node_id = this.#nextNode();
    const worker = "worker_id" in node ? this.#directory.named(node.worker_id) : undefined;
    const rest = { inference: "multi" as const, dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
    const created = { run_id: run, node_id, stage: stage.number, task, ...rest, created_by: COORDINATOR, answers: id };
    const { checks, allow_red } = spec;
    const facts: NewFact[] = [
      ...stage.facts,
      { type: "node.created", data: { ...created, ...(checks && { checks }), ...(allow_red && { allow_red }) } },
    ];
    if (worker) facts.push({ type: "node.reserved", data: { node_id, worker_id: worker.id, by: HUMAN } });
    return { node_id, facts };
  }

  /** It is no longer needed, whatever its state is: ended with all that is below it. */
  async cancel(nodeId: string, reason: string, by: WorkerId = COORDINATOR): Promise<ToolOutput> {
    const node = this.#node(nodeId);
    if (typeof node === "string") return refusal(node);
    if (node.status === "completed") return refusal(`${node.id} is completed; it cannot be cancelled any more.`);
    if (node.status === "cancelled") return refusal(`${node.id} is cancelled already.`);
    const cancelled = await cancelNodes([node.id], by, reason, this.#ports);
    const { status } = this.#ports.pending().board.nodes[node.id] ?? node;
    return status === "cancelled"
      ? cancelledWords(node.id, cancelled)
      : refusal(`${node.id} was ${status} just now; it is not cancelled.`);
  }

  /** Those who lost when the contract of their stage was met by others. */
  async cancelLosers(): Promise<void> {
    const { board, stages } = this.#ports.pending();
    const losers = losersIn(stages, board, this.#ports.run);
    if (losers.length > 0) await cancelNodes(losers, "agiraph", CONTRACT_MET, this.#ports);
  }

  /** Changes what is asked, until it is published. */
  async update(nodeId: string, change: NodeChange, by: WorkerId = COORDINATOR): Promise<ToolOutput> {
    const node = this.#node(nodeId);
    if (typeof node === "string") return refusal(node);
    if (node.status === "completed" || node.status === "publishing")
      return refusal(`${node.id} is ${node.status}; it cannot be changed any more. Create a new node.`);
    const { task, deliverables, checks } = change;
    const data = {
      ...(task !== undefined && { task }),
      ...(deliverables && { deliverables }),
      ...(checks && { checks }),
    };
    if (Object.keys(data).length === 0) return refusal("Say what to change: task, deliverables or checks.");
    const problem = notAPath(deliverables ?? []);
    if (problem !== undefined) return refusal(`Not changed: ${problem}`);
    await record(this.#ports, [{ type: "node.updated", data: { node_id: node.id, by, ...data } }]);
    // What the coordinator writes into _spec.md next must not be overwritten by this change.
    await this.#ports.folderWritten(node.id);
    if (isTaken(node)) return `${node.id} is changed. ${this.#nameOf(node.worker_id)} is told.`;
    return `${node.id} is changed.${hasEnded(node) ? ` It is ${node.status}: assign_worker has it done again.` : ""}`;
  }

  #node(nodeId: string): NodeState | string {
    const { run, pending } = this.#ports;
    const node = nodeNamed(pending().board, nodeId);
    if (node?.spec.run_id === run) return node;
    return `There is no node "${nodeId}".\n${describePage(pending().board, run)}`;
  }

  #nameOf(id: WorkerId): string {
    return this.#ports.pending().roster[id]?.spawned.name ?? id;
  }

  /** A person is there from the beginning, and on the roster with the first work that is given to them. */
  async #admitHuman(word: string): Promise<void> {
    const facts = workerIdOf(word) === HUMAN ? this.#humanAdmitted() : [];
    if (facts.length > 0) await record(this.#ports, facts);
  }

  #humanAdmitted(): NewFact[] {
    if (this.#directory.named(HUMAN)) return [];
    const who = { worker_id: HUMAN, name: "Human", kind: "human", model: "human" } as const;
    return [{ type: "worker.spawned", data: { run_id: this.#ports.run, ...who } }];
  }

  /** A word that names a program: a free worker that is one, or somebody is hired; why not, in words. */
  async #hiredFor({ status, spec }: NodeState, word: string): Promise<WorkerState | string | undefined> {
    if (this.#ports.outside.kindOf(word) === undefined || status === "completed") return undefined;
    const by = { worker_id: COORDINATOR, node_id: null };
    const choice = await choose({ program: word }, by, this.#ports, this.#directory);
    const chosen = choice.ok ? choice.pick(spec.not_by ?? []) : choice;
    if (!chosen.ok) return chosen.reason;
    if (chosen.facts.length > 0) await record(this.#ports, chosen.facts);
    return chosen.id === undefined ? undefined : this.#ports.pending().roster[chosen.id];
  }

  reconvene(order: Reconvening): Promise<ToolOutput> {
    return this.#stages.reconvene(order);
  }

  launch(stage: StageOfRoles): Promise<ToolOutput> {
    return this.#stages.launch(stage);
  }

  stageStatus(): string {
    return this.#stages.status();
  }

  board(from?: number): string {
    const { run, pending } = this.#ports;
    const { agent, board, roster, repository } = pending();
    const branch = repository ? `\n\n${describeBranch(repository)}` : "";
    const decides = agent.coordinator_decides ? `\n${STOPPED}` : "";
    return `${describePage(board, run, from)}\n\nPeople:\n${describeRoster(rosterOf(roster, run), PAGE)}${branch}${decides}`;
  }

  unfinished(): string | null {
    const { run, now, pending } = this.#ports;
    const { agent, board, stages } = pending();
    // Those that have lost are cancelled without a word: also while that is still on its way to the disk.
    const losers = new Set([...losersIn(stages, board, run), ...losersIn(now().stages, now().board, run)]);
    // Whose end is not on disk yet has not been told yet either.
    const open = new Map(
      [...openNodes(pending().board, run), ...openNodes(now().board, run)].map((node) => [node.id, node]),
    );
    // What is held waits for something that may never come, and what has lost ends by itself: neither is waited for,
    // nor is what builds on either.
    const list = [...open.values()]
      .filter((node) => !mayNeverBegin(node, board) && !waitsForAny(node, losers, board))
      .map((node) => `${node.id} is ${agent.coordinator_decides && isTaken(node) ? "stopped" : node.status}`);
    if (list.length === 0) return null;
    const next = agent.coordinator_decides ? "It goes on when you wait for news" : "Wait for the news";
    return `${list.join(", ")}. ${next}, or use cancel_node for what you no longer need.`;
  }

  running(): string | null {
    return stillRunning(runningCommandsOf(this.#ports.pending().commands, COORDINATOR));
  }

  send(from: string, to: string, content: string): Promise<ToolOutput> {
    return this.#mail.send(from, to, content);
  }

  aloud(from: WorkerId, text: string): NewFact {
    return this.#mail.aloud(from, text);
  }

  toHuman(from: WorkerId, text: string): NewFact {
    return this.#mail.toHuman(from, text);
  }

  deadlock(...message: Parameters<TeamMail["deadlock"]>): NewFact {
    return this.#mail.deadlock(...message);
  }

  remind(key: string, from: string, to: string, text: string): Promise<void> {
    return this.#mail.remind(key, from, to, text);
  }

  /** A node that is held may begin; one that failed is tried again. */
  async runNode(id: NodeId): Promise<void> {
    const node = this.#ports.pending().board.nodes[id];
    if (!node) throw new Error(`There is no node "${id}".`);
    if (node.status === "completed") throw new Error(`${id} is completed.`);
    if (node.status === "cancelled") throw new Error(`${id} was cancelled: ${node.reason}`);
    if (node.status === "failed") {
      const { board } = this.#ports.pending();
      const lost = node.spec.dependencies.find((each) => isLost(board.nodes[each]));
      if (lost !== undefined)
        throw new Error(
          `${id} builds on ${lost}, which ${board.nodes[lost]?.status === "failed" ? "failed" : "was cancelled"}.`,
        );
      await record(this.#ports, [{ type: "node.reopened", data: { node_id: id, reserved_for: null, why: "trigger" } }]);
    } else if (node.held) await record(this.#ports, [{ type: "node.released", data: { node_id: id } }]);
  }

  async suggest(by: { worker_id: WorkerId; node_id: NodeId | null }, suggestion: string): Promise<ToolOutput> {
    await record(this.#ports, [{ type: "suggestion.made", data: { ...by, suggestion } }]);
    return "The coordinator has your suggestion and decides. Go on with your work.";
  }

  #nextNode(): NodeId {
    this.#nodes += 1;
    return `node-${this.#nodes}`;
  }
}
