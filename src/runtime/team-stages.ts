import { currentStage, isStageDone, type NodeState, type Situation, type Stage } from "../projections/index.ts";
import { COORDINATOR, type NewFact, type NodeId } from "../protocol/index.ts";
import type { Reconvening, StageOfRoles } from "../tools/coordination.ts";
import { refusal, type ToolOutput } from "../tools/tool.ts";
import { hiredAs } from "../workers/outside/programs.ts";
import { problemHiring, spawned } from "./hiring.ts";
import type { Members } from "./members.ts";
import { idOf } from "./names.ts";
import { agreedContract, type PartialContract } from "./team-limits.ts";
import { record, type TeamPorts } from "./team-ports.ts";

/** The stages of a run: which one new work belongs to, how one ends and the next begins, with whom. */
export class TeamStages {
  readonly #ports: TeamPorts;
  readonly #members: Members;
  readonly #nextNode: () => NodeId;

  constructor(ports: TeamPorts, members: Members, nextNode: () => NodeId) {
    this.#ports = ports;
    this.#members = members;
    this.#nextNode = nextNode;
  }

  async reconvene({ assessment, retire, briefs, next, contract }: Reconvening): Promise<ToolOutput> {
    const now = this.#ports.soon();
    const stage = currentStage(now.stages, this.#ports.run);
    const last = now.stages.findLast((each) => each.run_id === this.#ports.run);
    // Asked again after a crash or an approval: it was done.
    if (!stage && last?.assessment === assessment) return closed(last, now);
    if (!stage) return refusal("There is no stage to end: nothing was handed out since the last one.");
    if (!isStageDone(stage, now.board)) return refusal(this.#notDone(stage));
    const begins = contract !== undefined || next !== undefined;
    if (begins && this.#isLast(contract)) return refusal(this.#noMoreStages(contract));
    const unknown = [...retire, ...Object.keys(briefs)].find((word) => !this.#members.named(word));
    if (unknown !== undefined) return refusal(this.#members.nobody(unknown));
    const needed = retire.map((word) => this.#members.neededFor(word)).find((reason) => reason !== undefined);
    if (needed) return refusal(needed);
    const at = { run_id: this.#ports.run, stage: stage.number };
    const facts: NewFact[] = [{ type: "stage.reconvened", data: { ...at, assessment } }];
    for (const word of retire) facts.push(...this.#retired(word));
    for (const [word, identity] of Object.entries(briefs)) {
      const worker = this.#members.named(word);
      if (worker) facts.push({ type: "worker.briefed", data: { worker_id: worker.id, identity } });
    }
    facts.push({ type: "stage.completed", data: at });
    if (begins) facts.push(...this.#nextStage(stage.number + 1, next, contract ?? {}));
    await record(this.#ports, facts);
    return closed(stage, this.#ports.soon());
  }

  /** Seed 000's stage in one call: nodes, workers and who does what. All of it or nothing. */
  async launch({ name, roles, contract }: StageOfRoles): Promise<ToolOutput> {
    // First, since it takes a while: what is decided from here on is decided at once.
    const problem = await problemHiring(roles, "may stay", this.#ports);
    const now = this.#ports.soon();
    const open = currentStage(now.stages, this.#ports.run);
    if (open && open.nodes.length > 0 && !isStageDone(open, now.board)) return refusal(this.#notDone(open));
    const number = now.stages.filter((stage) => stage.run_id === this.#ports.run).length + 1;
    if (this.#isLast(contract)) return refusal(this.#noMoreStages(contract));
    const names = roles.map((role) => idOf(role.name));
    const twice = roles.find((role, at) => names.indexOf(idOf(role.name)) !== at);
    if (twice) return refusal(`Two roles are named ${twice.name}; names are unique in a run.`);
    if (problem) return refusal(`Not launched: ${problem}`);
    const leaving = this.#members.all().filter(({ id, spawned: { kind } }) => !names.includes(id) && kind !== "human");
    const needed = leaving.map((worker) => this.#members.neededFor(worker.id)).find((reason) => reason !== undefined);
    if (needed) return refusal(`Not launched: ${needed}`);
    const facts: NewFact[] = [];
    if (open) facts.push({ type: "stage.completed", data: { run_id: this.#ports.run, stage: open.number } });
    facts.push(...this.#nextStage(number, name, contract ?? {}));
    for (const worker of leaving) facts.push(...this.#retired(worker.id));
    for (const role of roles) facts.push(...this.#launched(role, number));
    await record(this.#ports, facts);
    return `Stage ${number}, ${name}: ${roles.map((role) => role.name).join(", ")} have begun. You will be told when they end.`;
  }

  status(): string {
    const now = this.#ports.soon();
    const stage = currentStage(now.stages, this.#ports.run);
    if (!stage) return "No stage is under way.";
    const lines = stage.nodes.map((id) => lineOf(now.board.nodes[id], now));
    const done = isStageDone(stage, now.board) ? "done" : "not done";
    return `Stage ${stage.number}, ${stage.name} (${stage.contract.checkpoint_policy}) is ${done}:\n${lines.join("\n")}`;
  }

  /** The stage that new work belongs to; one begins by itself when none is under way. */
  forNewWork(): { ok: true; number: number; facts: NewFact[] } | { ok: false; reason: string } {
    const { stages } = this.#ports.soon();
    const open = currentStage(stages, this.#ports.run);
    if (open) return { ok: true, number: open.number, facts: [] };
    const number = stages.filter((stage) => stage.run_id === this.#ports.run).length + 1;
    if (this.#isLast()) return { ok: false, reason: this.#noMoreStages() };
    return { ok: true, number, facts: this.#nextStage(number, undefined, {}) };
  }

  #nextStage(stage: number, name: string | undefined, contract: PartialContract): NewFact[] {
    const agreed = agreedContract(contract, this.#ports.limits.contract);
    const at = { run_id: this.#ports.run, stage };
    return [{ type: "stage.started", data: { ...at, name: name ?? `Stage ${stage}`, contract: agreed } }];
  }

  /** Whether no further stage may begin in this run, or in this cycle of an infinite agent. */
  #isLast(wanted?: PartialContract): boolean {
    return this.#counted().length >= this.#mostStages(wanted);
  }

  #counted(): Stage[] {
    const { stages, agent } = this.#ports.soon();
    return stages.filter(({ run_id, started_seq }) => run_id === this.#ports.run && started_seq > agent.cycle_seq);
  }

  /** By the config, and by what the contracts of this run say, if they say less. */
  #mostStages(wanted?: PartialContract): number {
    const { limits } = this.#ports;
    const agreed = [...this.#counted().map(({ contract }) => contract), limits.contract, wanted ?? {}];
    return Math.min(limits.maxStages, ...agreed.flatMap(({ max_stages }) => max_stages ?? []));
  }

  #noMoreStages(wanted?: PartialContract): string {
    const { mode } = this.#ports.soon().agent.created;
    const rest = mode === "infinite" ? "of this cycle are used. Checkpoint" : "are used. Finish";
    return `All ${this.#mostStages(wanted)} stages ${rest} with what there is.`;
  }

  #notDone({ number }: Stage): string {
    return `Stage ${number} is not done.\n${this.status()}\nWait for the news, or cancel_node what you no longer need.`;
  }

  #launched(role: StageOfRoles["roles"][number], stage: number): NewFact[] {
    const identity = `${role.title}.`;
    const worker = this.#members.named(role.name);
    const worker_id = worker?.id ?? idOf(role.name);
    const node_id = this.#nextNode();
    const model = role.model && hiredAs({ program: worker?.spawned.program, model: role.model }, () => "acp").model;
    const theirs = { ...(model && { model }), ...(role.tools && { tools: role.tools }) };
    const who: NewFact = worker
      ? { type: "worker.briefed", data: { worker_id, identity, ...theirs } }
      : spawned({ ...role, identity }, this.#ports);
    const work = {
      run_id: this.#ports.run,
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
    const worker = this.#members.named(word);
    return worker ? [{ type: "worker.retired", data: { worker_id: worker.id } }] : [];
  }
}

/** Its results were told as they came: they are named, not repeated. */
function closed(stage: Stage, { board }: Situation): string {
  const ended = stage.nodes.map((id) => `${id} ${board.nodes[id]?.status ?? ""}`).join(", ");
  return `Stage ${stage.number} is closed${ended ? `: ${ended}` : ""}.\nWrite what you learned for good to memory (memory_write). Then create what is next, or finish.`;
}

function lineOf(node: NodeState | undefined, now: Situation): string {
  if (!node) return "";
  const who = "worker_id" in node ? (now.roster[node.worker_id]?.spawned.name ?? node.worker_id) : "nobody yet";
  const files = "files" in node ? node.files.map((file) => `nodes/${node.id}/published/${file.path}`).join(", ") : "";
  const summary = "summary" in node ? `: ${node.summary}` : "";
  return `- ${node.id} [${node.status}] ${who}${summary}${files ? ` → ${files}` : ""}`;
}
