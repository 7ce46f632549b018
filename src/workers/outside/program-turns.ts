import type { Outcome } from "../../protocol/index.ts";
import type { Workplace } from "../workplace.ts";
import type { Approvals } from "./approvals.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import type { ProgramBudget } from "./program-budget.ts";
import type { ProgramOutcome } from "./program-outcome.ts";
import type { ProgramSpeech } from "./program-speech.ts";
import type { OutsideEvent } from "./session/session.ts";
import type { SignIn } from "./sign-in.ts";
import type { SilenceWatchdog } from "./silence-watchdog.ts";
import type { Transcript } from "./transcript.ts";

type Rested = Extract<OutsideEvent, { kind: "rested" }>;
type Used = Extract<OutsideEvent, { kind: "used" }>;

export interface TurnPorts {
  place: Workplace;
  outcome: ProgramOutcome;
  transcript: Transcript;
  budget: ProgramBudget;
  watchdog: SilenceWatchdog;
  speech: ProgramSpeech;
  approvals: Approvals;
  signIn: SignIn;
}

/** Whatever it was about to do, it knows; it only has to be told that it can. */
const SIGNED_IN_AGAIN = "Your login was renewed: your last turn failed because it had ended. Go on where you were.";

/** The turns of a program: what they cost, how many it may take, and what follows when one is over. */
export class ProgramTurns {
  readonly #assignment: ProgramAssignment;
  readonly #ports: TurnPorts;
  readonly #idle = Promise.withResolvers<void>();
  #lastWords = "";
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
    const { outcome, place } = this.#ports;
    if (!outcome.isOver && this.areUsedUp) outcome.resolve({ kind: "exhausted", turns: place.maxTurns });
  }

  said(text: string): void {
    this.#lastWords = text;
  }

  async used({ model, usage, cost_usd }: Used): Promise<void> {
    const { place, transcript, budget } = this.#ports;
    const usd = cost_usd ?? (await place.outside.price(model, usage));
    await transcript.used(model, usage, usd);
    budget.spent({ usd, tokens: usage.input + usage.output });
  }

  async rested(event: Rested): Promise<void> {
    const { outcome, transcript, budget, watchdog, speech, approvals } = this.#ports;
    await transcript.flush();
    const facts = approvals.settledByRest();
    if (facts.length > 0) await transcript.note(...facts);
    const correction = budget.turnCost(event.cost_usd);
    if (correction !== 0) await transcript.corrects(correction);
    await budget.rest();
    if (watchdog.state === "busy") watchdog.state = "resting";
    this.#idle.resolve();
    if (outcome.isOver) return;
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
      await speech.say([{ role: "user", from: "agiraph", content: SIGNED_IN_AGAIN }], []);
      return undefined;
    }
    const { actor, spawned } = this.#assignment;
    const { worker_id, node_id } = actor;
    const message = words.trim() || "The program failed and did not say why.";
    const reason = how === "refused" ? "refused" : "outside";
    const failure = { model: spawned.model, turn: transcript.turn, reason, message, retry_in_ms: null };
    await transcript.note({ type: "model.failed", data: { worker_id, node_id, ...failure } });
    return how === "refused" && !retryable ? { kind: "abandoned", error: message } : { kind: "failed", error: message };
  }
}
