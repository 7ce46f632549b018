import { currentStage, isStageDone, type NodeState, type Situation, type Stage } from "../../projections/index.ts";
import { COORDINATOR, type NewFact, type NodeId } from "../../protocol/index.ts";
import type { Reconvening, StageOfRoles } from "../../tools/coordination.ts";
import { refusal, type ToolOutput } from "../../tools/tool.ts";
import { hiredAs } from "../../workers/outside/programs.ts";
import { problemHiring, spawned } from "./hiring.ts";
import { GivenToRole, type RoleWork } from "./role-work.ts";
import type { TeamDirectory } from "./team-directory.ts";
import { agreedContract, type PartialContract } from "./team-limits.ts";
import { record, type TeamPorts } from "./team-ports.ts";
import { workerIdOf } from "./worker-names.ts";

/** The stages of a run: which one new work belongs to, how one ends and the next begins, and with which workers. */
export class TeamStages {
  readonly #ports: TeamPorts;
  readonly #directory: TeamDirectory;
  readonly #nextNode: () => NodeId;

  constructor(ports: TeamPorts, directory: TeamDirectory, nextNode: () => NodeId) {
    this.#ports = ports;
    this.#directory = directory;
    this.#nextNode = nextNode;
  }

  async reconvene({ assessment, retire, briefs, next, contract }: Reconvening): Promise<ToolOutput> {
    const now = this.#ports.pending();
    const stage = currentStage(now.stages, this.#ports.run);
    const last = now.stages.findLast((each) => each.run_id === this.#ports.run);
    // Asked again after a crash or an approval: it was done.
    if (!stage && last?.assessment === assessment) return closed(last, now);
    if (!stage) return refusal("There is no stage to end: nothing was handed out since the last one.");
    if (!isStageDone(stage, now.board)) return refusal(this.#notDone(stage));
    const begins = contract !== undefined || next !== undefined;
    if (begins && this.#isLast(contract)) return refusal(this.#noMoreStages(contract));
    const unknown = [...retire, ...Object.keys(briefs)].find((word) => !this.#directory.named(word));
    if (unknown !== undefined) return refusal(this.#directory.nobody(unknown));
    const needed = retire.map((word) => this.#directory.neededFor(word)).find((reason) => reason !== undefined);
    if (needed) return refusal(needed);
    const at = { run_id: this.#ports.run, stage: stage.number };
    const facts: NewFact[] = [{ type: "stage.reconvened", data: { ...at, assessment } }];
    for (const word of retire) facts.push(...this.#retired(word));
    for (const [word, identity] of Object.entries(briefs)) {
      const worker = this.#directory.named(word);
      if (worker) facts.push({ type: "worker.briefed", data: { worker_id: worker.id, identity } });
    }
    facts.push({ type: "stage.completed", data: at });
    if (begins) facts.push(...this.#nextStage(stage.number + 1, next, contract ?? {}));
    await record(this.#ports, facts);
    return closed(stage, this.#ports.pending());
  }

  /** Seed 000's stage in one call: nodes, workers and who does what. All of it or nothing. */
  async launch(order: StageOfRoles): Promise<ToolOutput> {
    const { roles } = order;
    const given: GivenToRole[] = [];
    for (const role of roles) {
      const found = await GivenToRole.find(role, this.#ports);
      if ("ok" in found) return refusal(`Not launched: ${role.name}: ${found.reason}`);
      given.push(found);
    }
    // These take a while: what is decided after each is decided at once.
    const first = this.#planned(order, given, await problemHiring(roles, "may stay", this.#ports));
    if (!first.ok) return refusal(first.reason);
    const ids = roles.map(() => this.#nextNode());
    const hasCopies = given.some((each) => each.hasCopies);
    if (hasCopies) for (const [at, id] of ids.entries()) await given[at]?.copyFor(id);
    const planned = hasCopies
      ? this.#planned(order, given, await problemHiring(roles, "may stay", this.#ports))
      : first;
    if (!planned.ok) return refusal(planned.reason);
    const { number, work } = planned;
    const begin = roles.flatMap((role, at) => {
      const [id, own] = [ids[at], work[at]];
      return id && own ? this.#launched(role, number, id, own) : [];
    });
    await record(this.#ports, [...planned.facts, ...begin]);
    const who = roles.map((role, at) => `${role.name} (${ids[at]})`).join(", ");
    return `Stage ${number}, ${order.name}: ${who} ${roles.length === 1 ? "has" : "have"} begun. You will be told when they end.`;
  }

  /** Which stage it is, what becomes of the one before and of those who go, and what each role is given. */
  #planned(
    { name, roles, contract }: StageOfRoles,
    given: readonly GivenToRole[],
    problem: string | undefined,
  ): { ok: true; number: number; facts: NewFact[]; work: RoleWork[] } | { ok: false; reason: string } {
    const now = this.#ports.pending();
    const open = currentStage(now.stages, this.#ports.run);
    // Reconvening has announced it: it is this one.
    const announced = open?.nodes.length === 0 ? open : undefined;
    const wrong = (reason: string) => ({ ok: false as const, reason });
    if (open && !announced && !isStageDone(open, now.board)) return wrong(this.#notDone(open));
    if (!announced && this.#isLast(contract)) return wrong(this.#noMoreStages(contract));
    const names = roles.map((role) => workerIdOf(role.name));
    const twice = roles.find((role, at) => names.indexOf(workerIdOf(role.name)) !== at);
    if (twice) return wrong(`Two roles are named ${twice.name}; names are unique in a run.`);
    if (problem) return wrong(`Not launched: ${problem}`);
    const leaving = this.#directory
      .all()
      .filter(({ id, spawned: { kind } }) => !names.includes(id) && kind !== "human");
    const needed = leaving.map((worker) => this.#directory.neededFor(worker.id)).find((reason) => reason !== undefined);
    if (needed) return wrong(`Not launched: ${needed}`);
    const work: RoleWork[] = [];
    for (const [at, each] of given.entries()) {
      const checked = each.check(
        now,
        roles.map(({ name }) => name),
      );
      if (!checked.ok) return wrong(`Not launched: ${roles[at]?.name}: ${checked.reason}`);
      work.push(checked.work);
    }
    const before = now.stages.filter((stage) => stage.run_id === this.#ports.run).length;
    const number = announced?.number ?? before + 1;
    const ends: NewFact[] =
      open && !announced ? [{ type: "stage.completed", data: { run_id: this.#ports.run, stage: open.number } }] : [];
    const begins = this.#nextStage(number, name, contract ?? announced?.contract ?? {});
    return { ok: true, number, work, facts: [...ends, ...begins, ...leaving.flatMap(({ id }) => this.#retired(id))] };
  }

  status(): string {
    const now = this.#ports.pending();
    const stage = currentStage(now.stages, this.#ports.run);
    if (!stage) return "No stage is under way.";
    const lines = stage.nodes.map((id) => lineOf(now.board.nodes[id], now));
    const done = isStageDone(stage, now.board) ? "done" : "not done";
    return `Stage ${stage.number}, ${stage.name} (${stage.contract.checkpoint_policy}) is ${done}:\n${lines.join("\n")}`;
  }

  /** The stage that new work belongs to; one begins by itself when none is under way. */
  forNewWork(): { ok: true; number: number; facts: NewFact[] } | { ok: false; reason: string } {
    const { stages } = this.#ports.pending();
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
    const { stages, agent } = this.#ports.pending();
    return stages.filter(({ run_id, started_seq }) => run_id === this.#ports.run && started_seq > agent.cycle_seq);
  }

  /** By the config, and by what the contracts of this run say, if they say less. */
  #mostStages(wanted?: PartialContract): number {
    const { limits } = this.#ports;
    const agreed = [...this.#counted().map(({ contract }) => contract), limits.contract, wanted ?? {}];
    return Math.min(limits.maxStages, ...agreed.flatMap(({ max_stages }) => max_stages ?? []));
  }

  #noMoreStages(wanted?: PartialContract): string {
    const { mode } = this.#ports.pending().agent.created;
    const rest = mode === "infinite" ? "of this cycle are used. Checkpoint" : "are used. Finish";
    return `All ${this.#mostStages(wanted)} stages ${rest} with what there is.`;
  }

  #notDone({ number }: Stage): string {
    return `Stage ${number} is not done.\n${this.status()}\nWait for the news, or cancel_node what you no longer need.`;
  }

  #launched(role: StageOfRoles["roles"][number], stage: number, node_id: NodeId, given: RoleWork): NewFact[] {
    const identity = `${role.title}.`;
    const worker = this.#directory.named(role.name);
    const worker_id = worker?.id ?? workerIdOf(role.name);
    const { programFor } = this.#ports;
    const asked = { program: worker?.spawned.program, model: role.model ?? "" };
    const model = role.model && hiredAs(asked, { programFor, kindOf: () => "acp" }).model;
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
    const rest = { ...given, parent_node_id: null, created_by: COORDINATOR };
    return [
      who,
      { type: "node.created", data: { ...work, ...rest } },
      { type: "node.reserved", data: { node_id, worker_id } },
    ];
  }

  #retired(word: string): NewFact[] {
    const worker = this.#directory.named(word);
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
