import { type AgentState, isAtWork, type Situation } from "../projections/index.ts";
import type { NewFact, RunId } from "../protocol/index.ts";
import { isForWantOfRoom } from "../store/disk/disk.ts";
import { StoreError } from "../store/errors.ts";
import { UnpricedModel } from "./agent-order.ts";
import type { AgentServices } from "./agent-services.ts";
import { checkNotArchived, checkThinks } from "./human/human-facts.ts";
import type { MeshHosting } from "./mesh-hosting.ts";
import { modelChange, type NewModels } from "./model-change.ts";
import { onItsOwn } from "./state/acting.ts";
import type { AgentFiles } from "./state/agent-files.ts";
import { checkPricesToGoOn, TooLittleMoney, whyTooLittle } from "./state/budget-raise.ts";
import { unheardGoal } from "./state/end-facts.ts";
import type { GoalFile } from "./state/goal-file.ts";
import type { LiveSituation } from "./state/live-situation.ts";
import { type AgentStart, nextRunId, startOf, type WhyStarted } from "./state/start-facts.ts";
import type { Workforce } from "./team/workforce.ts";

interface AgentWorkPorts {
  situation: LiveSituation;
  services: Pick<
    AgentServices,
    "checkModel" | "checkPrices" | "hadNoRoom" | "kindOf" | "model" | "pid" | "programFor" | "prompts"
  >;
  files: AgentFiles;
  goalFile: GoalFile;
  workforce: Workforce;
  meshes: MeshHosting;
  /** Of an agent that writes. */
  repository: { prepare(): Promise<void> } | undefined;
  /** From the first start on, what is due happens. */
  keepTime(): void;
}

/**
 * An agent's work in this process: how it starts, continues, rests and fails. An agent with a model has a team; an
 * agent that is the record of a project's meshes runs those.
 */
export class AgentWork {
  readonly #ports: AgentWorkPorts;
  #starting: Promise<void> | undefined;
  /** Somebody wants it to rest: nothing begins by itself. */
  #isHalting = false;
  #isClosed = false;
  #changing: Promise<unknown> | undefined;
  #broken: unknown;

  constructor(ports: AgentWorkPorts) {
    this.#ports = ports;
  }

  /** A start that is under way; rejects when it fails. */
  get starting(): Promise<void> | undefined {
    return this.#starting;
  }

  get isUnderWay(): boolean {
    return this.#ports.workforce.isUnderWay || this.#ports.meshes.hosted !== undefined;
  }

  start(why: WhyStarted, order: AgentStart = {}): Promise<void> {
    const { id } = this.#ports.situation.log;
    // A trigger or a message may come just then: nobody begins what would have to be stopped at once.
    if (this.#isClosed) return Promise.reject(new Error(`${id} is being closed.`));
    if (this.isUnderWay) return Promise.reject(new Error(`${id} is already at work.`));
    this.#starting = this.#start(why, order)
      .catch((error: unknown) => {
        if (isForWantOfRoom(error)) this.fail(error);
        throw error;
      })
      .finally(() => {
        this.#starting = undefined;
      });
    return this.#starting;
  }

  async #start(why: WhyStarted, order: AgentStart): Promise<void> {
    const { situation, meshes } = this.#ports;
    checkNotArchived(situation.pending());
    this.#broken = undefined;
    if (situation.now().agent.created.meshes) return meshes.start(why);
    await this.#checkMoney(situation.now(), why, order);
    return this.#startTeam(why, order);
  }

  async #checkMoney(now: Situation, why: WhyStarted, order: AgentStart): Promise<void> {
    if (why === "created") return;
    const refusal = whyTooLittle(now, order, why);
    if (refusal) throw new TooLittleMoney(refusal);
    await checkPricesToGoOn(now, order.budget_usd, this.#ports.services.checkPrices);
  }

  async #startTeam(why: WhyStarted, order: AgentStart): Promise<void> {
    const { situation, services, files, goalFile, workforce, repository, keepTime } = this.#ports;
    const { log, now } = situation;
    await repository?.prepare();
    const goal_changes = await goalFile.changesAtStart(why, order);
    const { facts, goingOn } = startOf(now(), why, { ...order, goal_changes }, services);
    workforce.renew();
    await log.append({ facts }).durable;
    keepTime();
    await files.repair();
    const { run } = now().agent;
    if (!run) throw new Error(`${log.id} has no run after a start.`);
    await files.prepareRun(run, why, services.prompts);
    onItsOwn(() => workforce.begin(run, goingOn));
  }

  /** There is room on the disk again: work that stopped for want of it goes on, and what is due happens. */
  async recover(): Promise<void> {
    await this.#allEnded();
    const { status, run, archived_ts, created } = this.#agent;
    if (this.#isClosed || this.isUnderWay || archived_ts !== null) return;
    if (isAtWork(status) || (run === null && !created.meshes)) await this.start("recovered");
    else this.#ports.keepTime();
  }

  /** An agent that is spoken to goes on, unless the human paused it. Resolves with what keeps it from that, in words. */
  async goOn(): Promise<string> {
    const { status, created } = this.#agent;
    if (status === "paused") return ` ${created.name} is paused and gets it when it is resumed.`;
    await this.#starting;
    // Those who were stopped may still be putting their things away.
    if (!isAtWork(this.#agent.status)) await this.#allEnded();
    const isOpen = this.#agent.run?.finished === null; // it may have ended meanwhile, and another begun
    if (!isOpen || this.isUnderWay) return "";
    const why = isAtWork(this.#agent.status) ? "recovered" : "resumed";
    // A person who stopped it and now speaks may want something else: first the coordinator hears it.
    const coordinator_decides = this.#agent.status === "stopped";
    return this.start(why, { coordinator_decides }).then(
      () => "",
      (error: unknown) => {
        // What was said is recorded: to have it said again would be to have it twice.
        if (isForWantOfRoom(error)) return ` ${created.name} continues when there is space on the disk again.`;
        throw error;
      },
    );
  }

  /** The same for words that are recorded: refusing them would have them said twice. */
  goOnOrSay(): Promise<string> {
    return this.goOn().catch((error: unknown) => {
      if (error instanceof TooLittleMoney || error instanceof UnpricedModel) return ` ${error.message}`;
      if (this.#isClosed) return ` ${this.#agent.created.name} is being closed, and gets it when it continues.`;
      throw error;
    });
  }

  /** The next run, once those of the last have put their things away; false: another has begun meanwhile. */
  async startNextRun(order: AgentStart): Promise<boolean> {
    await this.#untilRunIsOver();
    if (this.#agent.run?.finished === null) return false;
    await this.start("new_goal", order);
    return true;
  }

  /** The next run, with its first work; nobody begins with it before the agent goes on. False: another has begun. */
  async openNextRun(trigger: string, first: (run: RunId) => { goal: string; facts: NewFact[] }): Promise<boolean> {
    await this.#untilRunIsOver();
    const { run } = this.#agent;
    if (!run?.finished) return false;
    const run_id = nextRunId({ run });
    const { goal, facts } = first(run_id);
    const started: NewFact = { type: "run.started", data: { run_id, goal, trigger } };
    await this.#ports.situation.log.append({ facts: [started, ...facts] }).durable;
    return true;
  }

  /** What the human said in the moment of the end is the next goal. */
  async startUnheardGoal(): Promise<void> {
    const { pending } = this.#ports.situation;
    if (!unheardGoal(pending())) return;
    // Those who were stopped with the run may still be putting their things away.
    await this.#allEnded();
    const next = this.#starting || this.#isHalting ? undefined : unheardGoal(pending());
    if (!next) return;
    await this.start("new_goal", next).catch((error: unknown) => {
      // Without money, say, it waits, and is heard with the next run.
      if (error instanceof StoreError) this.fail(error);
    });
  }

  /** Ends the work in this process; the run stays open for the next start. */
  async halt(how: "leaves" | "ends"): Promise<void> {
    const { workforce, meshes } = this.#ports;
    const before = this.#broken;
    this.#isHalting = true;
    try {
      // A worker that is just beginning would not hear it.
      await this.#starting?.catch(() => {});
      workforce.abort(new Error("stopped"));
      await meshes.close(how);
      await this.#atRest().catch((error: unknown) => {
        // What had gone wrong before was told when it happened.
        if (error !== before) throw error;
      });
    } finally {
      this.#isHalting = false;
    }
  }

  /** Resolves when nobody works any more, nor is about to after a change. Rejects when the record could not be kept. */
  async idle(): Promise<void> {
    await this.#atRest();
    while (this.#changing) {
      await this.#changing;
      await this.#atRest();
    }
  }

  /** `idle` waits for this change too: it may stop the work for a moment. */
  changeModels(order: NewModels): Promise<string> {
    const change = this.#changeModels(order);
    const changing = change.then(
      () => {},
      () => {},
    );
    this.#changing = changing;
    void changing.then(() => {
      if (this.#changing === changing) this.#changing = undefined;
    });
    return change;
  }

  async #changeModels(order: NewModels): Promise<string> {
    const { situation, services } = this.#ports;
    checkNotArchived(situation.pending());
    checkThinks(situation.pending());
    const { name } = situation.pending().agent.created;
    const data = await modelChange(situation.pending(), order, services);
    if (!data) return `${name} already uses these models.`;
    await this.#starting?.catch(() => {});
    const isAtWorkHere = this.isUnderWay && isAtWork(situation.pending().agent.status);
    if (isAtWorkHere) await this.halt("leaves");
    await situation.log.append({ facts: [{ type: "model.set", data }] }).durable;
    if (isAtWorkHere) await this.start("recovered");
    return `${name} continues with ${data.model}, no longer with ${data.was.model}.`;
  }

  /** The record could not be kept, or we have a bug: stop everything, lose nothing, say so. */
  fail(error: unknown): void {
    const { situation, services, workforce } = this.#ports;
    this.#broken ??= error;
    workforce.abort(error);
    if (isForWantOfRoom(error) && !this.#isClosed) services.hadNoRoom(situation.log.id);
  }

  /** Nothing starts any more. */
  close(): void {
    this.#isClosed = true;
  }

  get #agent(): AgentState {
    return this.#ports.situation.pending().agent;
  }

  /** Those of the last run have put their things away; or another is open, which may take for ever. */
  async #untilRunIsOver(): Promise<void> {
    while (this.isUnderWay && this.#agent.run?.finished !== null) await this.#allEnded();
  }

  /** Those who work now have ended, and a start that is under way has succeeded or failed. */
  async #allEnded(): Promise<void> {
    await Promise.allSettled([...this.#ports.workforce.ends, this.#starting]);
  }

  async #atRest(): Promise<void> {
    const { situation, files, workforce } = this.#ports;
    for (let awaited: unknown; awaited !== workforce.cancelling || workforce.isUnderWay; ) {
      awaited = workforce.cancelling;
      await Promise.all([...workforce.ends, this.#starting, awaited]);
    }
    await files.settle();
    situation.forgetRecent();
    if (this.#broken) throw this.#broken;
  }
}
