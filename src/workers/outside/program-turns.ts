import { NO_USAGE, type Outcome, type Usage, type UserEntry, usageMinus, usagePlus } from "../../protocol/index.ts";
import type { Workplace } from "../workplace.ts";
import type { Approvals } from "./approvals.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import type { ProgramBudget } from "./program-budget.ts";
import type { ProgramOutcome } from "./program-outcome.ts";
import type { ProgramSpeech } from "./program-speech.ts";
import { type OutsideEvent, UNKNOWN_MODEL } from "./session/session.ts";
import type { SignIn } from "./sign-in.ts";
import type { SilenceWatchdog } from "./silence-watchdog.ts";
import type { Transcript } from "./transcript.ts";

type Rested = Extract<OutsideEvent, { kind: "rested" }>;
type Used = Extract<OutsideEvent, { kind: "used" }>;

const SAMPLE: Usage = { ...NO_USAGE, input: 1000, output: 1000 };

export interface TurnPorts {
  workplace: Workplace;
  outcome: ProgramOutcome;
  transcript: Transcript;
  budget: ProgramBudget;
  watchdog: SilenceWatchdog;
  speech: ProgramSpeech;
  approvals: Approvals;
  signIn: SignIn;
  /** Ends its process and resumes its session in another one, with these words. */
  beginAnew(entry: UserEntry): void;
}

/** Whatever it was about to do, it knows; it only has to be told that it can. */
const SIGNED_IN_AGAIN = "Your login was renewed: your last turn failed because it had ended. Go on where you were.";

/** The turns of a program: what they cost, how many it may take, and what follows when one is over. */
export class ProgramTurns {
  readonly #assignment: ProgramAssignment;
  readonly #ports: TurnPorts;
  readonly #idle = Promise.withResolvers<void>();
  #lastWords = "";
  /** Of the turn under way. */
  readonly #estimated: { usd: number | null; usage: Usage }[] = [];
  #isDeciding = false;

  constructor(assignment: ProgramAssignment, ports: TurnPorts) {
    this.#assignment = assignment;
    this.#ports = ports;
  }

  /** A turn is over, and what follows from it is being decided. */
  get isDeciding(): boolean {
    return this.#isDeciding;
  }

  /** Resolves when the program has ended a turn or has exited. */
  get idle(): Promise<void> {
    return this.#idle.promise;
  }

  /** The contract limits all tries together, but each try gets at least one turn. */
  get areUsedUp(): boolean {
    const { begun } = this.#assignment;
    return this.#ports.transcript.turn > Math.max(this.#assignment.mostTurns(), (begun?.tried ?? 0) + 1);
  }

  /** Ends the run when its turns are used up. Called after everything the program does: it may report little of it. */
  count(): void {
    const { outcome, workplace } = this.#ports;
    if (!outcome.isOver && this.areUsedUp) outcome.resolve({ kind: "exhausted", turns: workplace.maxTurns });
  }

  /** Before it works, with the model that it uses, if it has one: a budget that nobody can keep is said. */
  async begins(model: string | null | undefined): Promise<void> {
    const { workplace, transcript } = this.#ports;
    const { spawned, self } = this.#assignment;
    const { board, agent } = workplace.now();
    const share = self.node_id === null ? undefined : board.nodes[self.node_id]?.spec.budget_usd;
    const hasBudget = agent.created.budget_usd !== null || share !== undefined;
    if (!hasBudget || model === undefined) return;
    if (model === null)
      return transcript.warned(`${spawned.name} does not say what it spends: the budget is not kept for it.`);
    if ((await workplace.outside.price(model, SAMPLE)) !== null) return;
    if (model === UNKNOWN_MODEL)
      return transcript.warned(`${spawned.name} does not say which model it uses: the budget is not kept for it.`);
    const advice = `Add it to config.json ("models": {"${model}": {"prices": {"input": …, "output": …}}}).`;
    await transcript.warned(`No price is known for ${model}: the budget is not kept for ${spawned.name}. ${advice}`);
  }

  said(text: string): void {
    this.#lastWords = text;
  }

  async used({ model, usage, cost_usd, estimated, corrects, aside }: Used): Promise<void> {
    const { workplace, transcript, budget } = this.#ports;
    const usd = cost_usd ?? (await workplace.outside.price(model, usage));
    if (corrects) return this.#correctEstimates(usd, usage);
    if (aside) {
      await transcript.corrects(usd ?? 0, usage);
      return budget.spent({ usd, tokens: usage.input + usage.output });
    }
    if (estimated) this.#estimated.push({ usd, usage });
    await transcript.used(model, usage, usd, estimated);
    budget.spent({ usd, tokens: usage.input + usage.output });
  }

  /** What calls of this turn really took that were estimated. */
  async #correctEstimates(usd: number | null, usage: Usage): Promise<void> {
    const { transcript, budget } = this.#ports;
    const { estimates, counted } = this.#takeEstimates();
    const more = usageMinus(usage, counted);
    // A price that is not known now was not known before.
    const rest = usd === null ? 0 : usd - estimates;
    await transcript.flush();
    await transcript.corrects(rest, more);
    budget.spent({ usd: rest, tokens: more.input + more.output });
  }

  #takeEstimates(): { estimates: number; counted: Usage } {
    const taken = this.#estimated.splice(0);
    const estimates = taken.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
    return { estimates, counted: taken.reduce((sum, { usage }) => usagePlus(sum, usage), NO_USAGE) };
  }

  async rested(event: Rested): Promise<void> {
    const { outcome, transcript, budget, watchdog, speech, approvals } = this.#ports;
    await transcript.flush();
    const facts = approvals.settledByRest();
    if (facts.length > 0) await transcript.note(...facts);
    const correction = budget.turnCost(event.cost_usd);
    if (correction !== 0) await transcript.corrects(correction);
    this.#estimated.length = 0;
    await budget.rest();
    if (watchdog.state === "busy") watchdog.state = "resting";
    this.#idle.resolve();
    // It was ended for its publish: the work is over, whatever it says.
    if (outcome.isOver || (outcome.isStoppedForPublish && !this.#isDeciding)) return;
    if (event.words.trim() !== "") this.#lastWords = event.words;
    const isFailure = event.how === "failed" || event.how === "refused";
    this.#isDeciding = true;
    const end = isFailure ? await this.#failure(event) : await speech.next(this.#lastWords);
    this.#isDeciding = false;
    if (end) outcome.resolve(end);
  }

  exited(): void {
    this.#idle.resolve();
  }

  async #failure({ words, how, retryable = false }: Rested): Promise<Outcome | undefined> {
    const { transcript, signIn, speech } = this.#ports;
    if (how === "failed" && (await signIn.recovers(words))) {
      const entry = { role: "user", from: "agiraph", content: SIGNED_IN_AGAIN } as const;
      if (signIn.isRefusedAgain) this.#ports.beginAnew(entry);
      else await speech.say([entry], []);
      return undefined;
    }
    const { self, spawned } = this.#assignment;
    const { worker_id, node_id } = self;
    const message = words.trim() || "The program failed and did not say why.";
    const reason = how === "refused" ? "refused" : "outside";
    const failure = { model: spawned.model, turn: transcript.turn, reason, message, retry_in_ms: null };
    await transcript.note({ type: "model.failed", data: { worker_id, node_id, ...failure } });
    return how === "refused" && !retryable ? { kind: "abandoned", error: message } : { kind: "failed", error: message };
  }
}
