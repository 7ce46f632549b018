import {
  ancestorsOf,
  currentStage,
  describePage,
  describeRoster,
  isHeldUp,
  isStageDone,
  type NodeState,
  nodeNamed,
  openNodes,
  PAGE,
  pairOf,
  rosterOf,
  type Situation,
  type Stage,
  type WorkerState,
} from "../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, type NodeId, type RunId, type WorkerId } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import type { NewWorker, Reconvening, StageOfRoles } from "../tools/coordination.ts";
import { LONGEST_MESSAGE } from "../tools/mail.ts";
import type { ToolOutput } from "../tools/tool.ts";
import type { NewWork } from "../tools/work.ts";
import { checkedOrder } from "./new-work.ts";
import { idOf, readerOf } from "./people.ts";
import { agreedContract, type PartialContract, type TeamLimits } from "./team-limits.ts";

interface TeamPorts {
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  soon(): Situation;
  limits: TeamLimits;
  /** Throws, with advice, for a model that cannot be used here. */
  checkModel(id: string): void;
  /** Rejects, with advice, for a model whose price nobody knows. */
  checkPrices(...models: (string | undefined)[]): Promise<void>;
}

/**
 * What people in a run may ask of the runtime: work, workers, stages, messages. Everything is checked against the fold
 * and then becomes facts in one append; what cannot be is answered with the reason, and nothing changes.
 */
export class Team {
  readonly #run: RunId;
  readonly #ports: TeamPorts;
  #nodes = 0;
  #messages = 0;

  constructor(run: RunId, ports: TeamPorts) {
    this.#run = run;
    this.#ports = ports;
    this.recount();
  }

  /** Numbers that were given out and refused by the disk are given out again. */
  recount(): void {
    const { board, letters } = this.#ports.soon();
    // The highest, not how many: a damaged record may have cost one of them.
    this.#nodes = Math.max(0, ...Object.keys(board.nodes).map((id) => Number(id.slice("node-".length))));
    this.#messages = letters.sent;
  }

  async createNode(by: { worker_id: WorkerId; node_id: NodeId | null }, order: NewWork): Promise<ToolOutput> {
    const now = this.#ports.soon();
    const parent = by.node_id ? now.board.nodes[by.node_id] : undefined;
    const checked = checkedOrder(order, now, this.#run, parent, this.#ports.limits);
    if (!checked.ok) return refused(`Not created: ${checked.reason}`);
    const worker = order.worker === undefined ? undefined : this.#worker(order.worker);
    if (order.worker !== undefined && !worker) return refused(`Not created: ${this.#nobody(order.worker)}`);
    const tied = worker && this.#tiedUp(worker, parent);
    if (tied) return refused(`Not created: ${tied}`);
    const stage = this.#stage();
    if (!stage.ok) return refused(`Not created: ${stage.reason}`);
    const node_id = this.#nextNode();
    const facts: NewFact[] = [
      ...stage.facts,
      {
        type: "node.created",
        data: {
          run_id: this.#run,
          node_id,
          stage: stage.number,
          task: order.task,
          inference: order.inference,
          dependencies: checked.dependencies,
          refs: checked.refs,
          deliverables: order.deliverables,
          parent_node_id: by.node_id,
          created_by: by.worker_id,
          ...(order.hold && { held: true as const }),
          ...(order.checks.length > 0 && { checks: order.checks }),
          ...(order.budget_usd !== undefined && { budget_usd: order.budget_usd }),
        },
      },
    ];
    if (worker) facts.push({ type: "node.reserved", data: { node_id, worker_id: worker.id } });
    await this.#append(facts);
    return order.hold
      ? `Created ${node_id}. It is held: run it with a trigger, or assign it.`
      : `Created ${node_id}. You will be told when it ends.`;
  }

  async spawn(order: NewWorker): Promise<ToolOutput> {
    const problem = await this.#problemHiring([order], "is wrong");
    if (problem) return refused(`Not hired: ${problem}`);
    await this.#append([this.#spawned(order)]);
    return `${order.name} is hired and waits for work. Create a node with worker: "${order.name}", or let the board decide.`;
  }

  async assign(nodeId: string, word: string): Promise<ToolOutput> {
    const node = nodeNamed(this.#ports.soon().board, nodeId);
    if (!node) return refused(`There is no node "${nodeId}".\n${describePage(this.#ports.soon().board, this.#run)}`);
    if (node.status !== "pending") return refused(`${node.id} is ${node.status}; only waiting nodes can be assigned.`);
    const worker = this.#worker(word);
    if (!worker) return refused(this.#nobody(word));
    const reserved: NewFact = { type: "node.reserved", data: { node_id: node.id, worker_id: worker.id } };
    const released: NewFact[] = node.held ? [{ type: "node.released", data: { node_id: node.id } }] : [];
    await this.#append([...released, reserved]);
    const { board } = this.#ports.soon();
    const waitsFor = node.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed");
    const when =
      waitsFor.length > 0
        ? `begins when ${waitsFor.join(", ")} ${waitsFor.length === 1 ? "is" : "are"} completed`
        : worker.status === "idle"
          ? "begins at once"
          : `takes it when free (now ${worker.status})`;
    return `${node.id} is ${worker.spawned.name}'s, who ${when}.`;
  }

  async reconvene({ assessment, retire, briefs, contract }: Reconvening): Promise<ToolOutput> {
    const now = this.#ports.soon();
    const stage = currentStage(now.stages, this.#run);
    const last = now.stages.findLast((each) => each.run_id === this.#run);
    // Asked again after a crash or an approval: it was done.
    if (!stage && last?.assessment === assessment) return closed(last, now);
    if (!stage) return refused("There is no stage to end: nothing was handed out since the last one.");
    if (!isStageDone(stage, now.board)) return refused(`Stage ${stage.number} is not done.\n${this.stageStatus()}`);
    if (contract && stage.number >= this.#ports.limits.maxStages) return refused(this.#noMoreStages());
    const unknown = [...retire, ...Object.keys(briefs)].find((word) => !this.#worker(word));
    if (unknown !== undefined) return refused(this.#nobody(unknown));
    const needed = retire.map((word) => this.#neededFor(word)).find((reason) => reason !== undefined);
    if (needed) return refused(needed);
    const at = { run_id: this.#run, stage: stage.number };
    const facts: NewFact[] = [{ type: "stage.reconvened", data: { ...at, assessment } }];
    for (const word of retire) facts.push(...this.#retired(word));
    for (const [word, identity] of Object.entries(briefs)) {
      const worker = this.#worker(word);
      if (worker) facts.push({ type: "worker.briefed", data: { worker_id: worker.id, identity } });
    }
    facts.push({ type: "stage.completed", data: at });
    if (contract) facts.push(...this.#nextStage(stage.number + 1, undefined, contract));
    await this.#append(facts);
    return closed(stage, this.#ports.soon());
  }

  /** Seed 000's stage in one call: nodes, workers and who does what. All of it or nothing. */
  async launch({ name, roles, contract }: StageOfRoles): Promise<ToolOutput> {
    // First, since it takes a while: what is decided from here on is decided at once.
    const problem = await this.#problemHiring(roles, "may stay");
    const now = this.#ports.soon();
    const open = currentStage(now.stages, this.#run);
    if (open && open.nodes.length > 0 && !isStageDone(open, now.board))
      return refused(`Stage ${open.number} is not done.\n${this.stageStatus()}`);
    const number = now.stages.filter((stage) => stage.run_id === this.#run).length + 1;
    if (number > this.#ports.limits.maxStages) return refused(this.#noMoreStages());
    const names = roles.map((role) => idOf(role.name));
    const twice = roles.find((role, at) => names.indexOf(idOf(role.name)) !== at);
    if (twice) return refused(`Two roles are named ${twice.name}; names are unique in a run.`);
    if (problem) return refused(`Not launched: ${problem}`);
    const leaving = this.#team().filter((worker) => !names.includes(worker.id));
    const needed = leaving.map((worker) => this.#neededFor(worker.id)).find((reason) => reason !== undefined);
    if (needed) return refused(`Not launched: ${needed}`);
    const facts: NewFact[] = [];
    if (open) facts.push({ type: "stage.completed", data: { run_id: this.#run, stage: open.number } });
    facts.push(...this.#nextStage(number, name, contract ?? {}));
    for (const worker of leaving) facts.push(...this.#retired(worker.id));
    for (const role of roles) facts.push(...this.#launched(role, number));
    await this.#append(facts);
    return `Stage ${number}, ${name}: ${roles.map((role) => role.name).join(", ")} have begun. You will be told when they end.`;
  }

  stageStatus(): string {
    const now = this.#ports.soon();
    const stage = currentStage(now.stages, this.#run);
    if (!stage) return "No stage is under way.";
    const lines = stage.nodes.map((id) => lineOf(now.board.nodes[id], now));
    const done = isStageDone(stage, now.board) ? "done" : "not done";
    return `Stage ${stage.number}, ${stage.name} (${stage.contract.checkpoint_policy}) is ${done}:\n${lines.join("\n")}`;
  }

  board(from?: number): string {
    const now = this.#ports.soon();
    return `${describePage(now.board, this.#run, from)}\n\nPeople:\n${describeRoster(rosterOf(now.roster, this.#run), PAGE)}`;
  }

  unfinished(): string | null {
    const { now, soon } = this.#ports;
    // Whose end is not on disk yet has not been told yet either.
    const open = new Map(
      [...openNodes(soon().board, this.#run), ...openNodes(now().board, this.#run)].map((node) => [node.id, node]),
    );
    // What is held waits for something that may never come: it keeps nobody from finishing.
    const list = [...open.values()]
      .filter((node) => !isHeldUp(node, soon().board))
      .map((node) => `${node.id} is ${node.status}`);
    return list.length > 0 ? `${list.join(", ")}. Wait for the news.` : null;
  }

  async send(from: string, word: string, content: string): Promise<ToolOutput> {
    const to = this.#addressee(word);
    if (to === undefined) return refused(this.#nobody(word));
    if (to === from) return refused("That is you.");
    const { letters } = this.#ports.soon();
    const last = letters.lastBetween[pairOf(from, to)];
    const hops = this.#hops(from, to);
    const { maxHops, maxThread } = this.#ports.limits;
    // Nobody limits people; what they say ends a ping-pong.
    const isBetweenWorkers = from !== HUMAN && to !== HUMAN;
    if (isBetweenWorkers && (hops > maxHops || (last?.count ?? 0) >= maxThread)) {
      const advice = [from, to].includes(COORDINATOR) ? "." : ", or ask the coordinator.";
      return refused(
        `You and ${word} have written to each other ${last?.count ?? 0} times. Decide with what you have${advice}`,
      );
    }
    if (to === "*" && !this.#hasListeners(from)) return refused("Nobody else is at work: nobody would read it.");
    const reader = readerOf(to, this.#ports.soon());
    if (reader === from) return refused(`${word} has no work now. Put it into the task you give them.`);
    await this.#append([this.#message(from, to, content, reader === to ? {} : { reader })]);
    return reader === to ? `Sent to ${word}.` : `${word} has no work now; the coordinator got it.`;
  }

  /** Said in answer to the human, without a tool. */
  aloud(from: WorkerId, text: string): NewFact {
    const words = text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)} …` : text;
    return this.#message(from, HUMAN, words, { aloud: true });
  }

  /** What a trigger says, known by its occurrence: said again after a crash, it is still the same message. */
  async remind(key: string, from: string, word: string, text: string): Promise<void> {
    const to = this.#addressee(word);
    if (to === undefined) throw new Error(this.#nobody(word));
    const { letters } = this.#ports.soon();
    if (letters.queued[key] || letters.settled.some(({ id }) => id === key)) return;
    const reader = readerOf(to, this.#ports.soon());
    const fact = this.#message(from, to, text, reader === to ? {} : { reader });
    await this.#ports.log.append({ facts: [{ ...fact, data: { ...fact.data, message_id: key } }] }).durable;
  }

  /** A node that is held may begin; one that failed is tried again. */
  async runNode(id: NodeId): Promise<void> {
    const node = this.#ports.soon().board.nodes[id];
    if (!node) throw new Error(`There is no node "${id}".`);
    if (node.status === "completed") throw new Error(`${id} is completed.`);
    if (node.status === "failed") {
      const { board } = this.#ports.soon();
      const lost = node.spec.dependencies.find((each) => board.nodes[each]?.status === "failed");
      if (lost !== undefined) throw new Error(`${id} builds on ${lost}, which failed.`);
      await this.#append([{ type: "node.reopened", data: { node_id: id, reserved_for: null, why: "trigger" } }]);
    } else if (node.held) await this.#append([{ type: "node.released", data: { node_id: id } }]);
  }

  async suggest(actor: { worker_id: WorkerId; node_id: NodeId | null }, suggestion: string): Promise<ToolOutput> {
    await this.#append([{ type: "suggestion.made", data: { ...actor, suggestion } }]);
    return "The coordinator has your suggestion and decides. Go on with your work.";
  }

  #message(
    from: string,
    to: string,
    text: string,
    more: { reader?: string; aloud?: true },
  ): Extract<NewFact, { type: "message.sent" }> {
    const number = ++this.#messages;
    const file = `_messages/${String(number).padStart(4, "0")}_${from}_to_${to === "*" ? "all" : to}.md`;
    const hops = this.#hops(from, to);
    return { type: "message.sent", data: { message_id: `msg-${number}`, from, to, text, file, hops, ...more } };
  }

  /** How many messages this one would answer in a row. */
  #hops(from: string, to: string): number {
    const last = this.#ports.soon().letters.lastBetween[pairOf(from, to)];
    return last && last.from !== from ? last.hops + 1 : 1;
  }

  #append(facts: NewFact[]): Promise<void> {
    const { run } = this.#ports.soon().agent;
    if (run?.id !== this.#run || run.finished) throw new Error("the run has ended.");
    return this.#ports.log.append({ facts }).durable;
  }

  #nextNode(): NodeId {
    this.#nodes += 1;
    return `node-${this.#nodes}`;
  }

  /** The stage that new work belongs to; one begins by itself when none is under way. */
  #stage(): { ok: true; number: number; facts: NewFact[] } | { ok: false; reason: string } {
    const { stages } = this.#ports.soon();
    const open = currentStage(stages, this.#run);
    if (open) return { ok: true, number: open.number, facts: [] };
    const number = stages.filter((stage) => stage.run_id === this.#run).length + 1;
    if (number > this.#ports.limits.maxStages) return { ok: false, reason: this.#noMoreStages() };
    return { ok: true, number, facts: this.#nextStage(number, undefined, {}) };
  }

  #nextStage(stage: number, name: string | undefined, contract: PartialContract): NewFact[] {
    const agreed = agreedContract(contract, this.#ports.limits.contract);
    return [
      { type: "stage.started", data: { run_id: this.#run, stage, name: name ?? `Stage ${stage}`, contract: agreed } },
    ];
  }

  #noMoreStages(): string {
    return `All ${this.#ports.limits.maxStages} stages are used. Finish with what there is.`;
  }

  #spawned({
    name,
    identity,
    model,
    tools,
    memory,
  }: {
    name: string;
    identity: string;
    model?: string | undefined;
    tools?: string[] | undefined;
    memory?: string;
  }): NewFact {
    const { worker_model } = this.#ports.soon().agent.created;
    return {
      type: "worker.spawned",
      data: {
        run_id: this.#run,
        worker_id: idOf(name),
        name,
        kind: "harnessed",
        model: model ?? worker_model,
        ...(identity && { identity }),
        ...(memory && { memory }),
        ...(tools && { tools }),
      },
    };
  }

  #launched(role: StageOfRoles["roles"][number], stage: number): NewFact[] {
    const identity = `${role.title}.`;
    const worker = this.#worker(role.name);
    const worker_id = worker?.id ?? idOf(role.name);
    const node_id = this.#nextNode();
    const theirs = { ...(role.model && { model: role.model }), ...(role.tools && { tools: role.tools }) };
    const who: NewFact = worker
      ? { type: "worker.briefed", data: { worker_id, identity, ...theirs } }
      : this.#spawned({ name: role.name, identity, model: role.model, tools: role.tools });
    const work = {
      run_id: this.#run,
      node_id,
      stage,
      task: role.prompt,
      inference: "multi",
      role: role.title,
    } as const;
    const rest = { dependencies: [], refs: {}, deliverables: [], parent_node_id: null, created_by: COORDINATOR };
    return [
      who,
      { type: "node.created", data: { ...work, ...rest } },
      { type: "node.reserved", data: { node_id, worker_id } },
    ];
  }

  #retired(word: string): NewFact[] {
    const worker = this.#worker(word);
    return worker ? [{ type: "worker.retired", data: { worker_id: worker.id } }] : [];
  }

  /** Why somebody cannot be let go yet: what waits for them would wait for ever. */
  #neededFor(word: string): string | undefined {
    const worker = this.#worker(word);
    const node = Object.values(this.#ports.soon().board.nodes).find(
      (each) => each.status === "pending" && each.reserved_for === worker?.id,
    );
    return worker && node
      ? `${node.id} waits for ${worker.spawned.name}. Give it to somebody else first (assign_worker).`
      : undefined;
  }

  /** Whoever waits for this very work can never begin it. */
  #tiedUp(worker: WorkerState, parent: NodeState | undefined): string | undefined {
    const { board } = this.#ports.soon();
    const holds = [...ancestorsOf(board, parent)].find((id) => {
      const node = board.nodes[id];
      return node && "worker_id" in node && node.worker_id === worker.id;
    });
    return holds ? `${worker.spawned.name} works on ${holds}, which waits for this. Name somebody else.` : undefined;
  }

  /** Why one of them cannot be hired: their name or model, or that a budget could not be kept with it. */
  async #problemHiring(
    people: readonly { name: string; model?: string | undefined }[],
    taken: "may stay" | "is wrong",
  ): Promise<string | undefined> {
    const problem = () => {
      for (const { name, model } of people) {
        const found = this.#problemWith(name, model, taken);
        if (found !== undefined) return found;
      }
      return undefined;
    };
    if (problem() === undefined && this.#ports.soon().agent.created.budget_usd !== null) {
      try {
        await this.#ports.checkPrices(...people.map(({ model }) => model));
      } catch (error) {
        return messageOf(error);
      }
    }
    return problem();
  }

  #problemWith(name: string, model: string | undefined, taken: "may stay" | "is wrong"): string | undefined {
    const id = idOf(name);
    if (id === COORDINATOR || id === HUMAN || id in {}) return `${name} is taken.`;
    const there = this.#ports.soon().roster[id];
    const isHere = there?.spawned.run_id === this.#run;
    if (there && isHere && (taken === "is wrong" || there.status === "retired")) {
      return `${name} is taken${there.status === "retired" ? " (retired)" : ""}; names are unique in a run.`;
    }
    if (model === undefined) return undefined;
    try {
      this.#ports.checkModel(model);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  #team(): WorkerState[] {
    return Object.values(this.#ports.soon().roster).filter(
      (worker) => worker.id !== COORDINATOR && worker.spawned.run_id === this.#run && worker.status !== "retired",
    );
  }

  #worker(word: string): WorkerState | undefined {
    return this.#team().find((worker) => worker.id === idOf(word) || worker.spawned.name === word);
  }

  #addressee(word: string): string | undefined {
    const id = idOf(word);
    if (word === "*" || id === COORDINATOR || id === HUMAN) return id;
    // Somebody who has left is still a name: their mail reaches the coordinator.
    const { roster } = this.#ports.soon();
    return Object.hasOwn(roster, id) ? id : undefined;
  }

  /** Whether somebody reads what is said to all: whoever is at work, and the coordinator. */
  #hasListeners(from: string): boolean {
    const isAtWork = (worker: WorkerState) =>
      worker.status === "busy" || worker.status === "waiting" || (worker.status === "retired" && worker.still !== null);
    const { roster } = this.#ports.soon();
    return from !== COORDINATOR || Object.values(roster).some((worker) => worker.id !== from && isAtWork(worker));
  }

  #nobody(word: string): string {
    const names = this.#team().map((worker) => worker.spawned.name);
    return `There is nobody named "${word}". There are: ${[...names, "coordinator"].join(", ")}.`;
  }
}

function closed(stage: Stage, now: Situation): string {
  return `Stage ${stage.number} is closed.\n${outputsOf(stage, now)}\nWrite what you learned for good to memory (memory_write). Then create what is next, or finish.`;
}

function outputsOf(stage: Stage, now: Situation): string {
  return stage.nodes.map((id) => lineOf(now.board.nodes[id], now)).join("\n");
}

function lineOf(node: NodeState | undefined, now: Situation): string {
  if (!node) return "";
  const who = "worker_id" in node ? (now.roster[node.worker_id]?.spawned.name ?? node.worker_id) : "nobody yet";
  const files = "files" in node ? node.files.map((file) => `nodes/${node.id}/published/${file.path}`).join(", ") : "";
  const summary = "summary" in node ? `: ${node.summary}` : "";
  return `- ${node.id} [${node.status}] ${who}${summary}${files ? ` → ${files}` : ""}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function refused(content: string): ToolOutput {
  return { ok: false, content };
}
