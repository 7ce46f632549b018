import { callsOf, type Outcome, type ProgramProfile, type ReplyEntry } from "../../protocol/index.ts";
import type { Workplace } from "../workplace.ts";
import { Approvals } from "./approvals.ts";
import { RESUMED, resumeText, settlePast, unheardResults } from "./first-words.ts";
import { LaterAnswers } from "./later-answers.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import { ProgramBudget } from "./program-budget.ts";
import { ProgramSpeech } from "./program-speech.ts";
import { recordedTools } from "./program-tools.ts";
import { sessionKey } from "./programs.ts";
import { Restarts } from "./restarts.ts";
import type { OutsideEvent, OutsideSession } from "./session.ts";
import { SilenceWatchdog } from "./silence-watchdog.ts";
import { Transcript } from "./transcript.ts";

type Rested = Extract<OutsideEvent, { kind: "rested" }>;
type Exited = Extract<OutsideEvent, { kind: "exited" }>;

/** How long a program has to put its things away when it is stopped for want of money, turns or life. */
const GRACE_MS = 2000;
const SILENCE_SECONDS = 900;

/**
 * A program that thinks for itself, at work on what it was given, until there is an outcome.
 *
 * PROGRAM-RUN-1. Whatever it does, there is an outcome, and when there is one no process of it is left.
 * PROGRAM-RUN-2. What is said to it is on disk first; said once, or said again after a crash with the words that it may
 *     be known.
 * PROGRAM-RUN-3. It is resting or it is spoken to: a turn that ends without an end of the work is answered, or waits
 *     for something that is on record (an answer, a sub-node, news), and then costs nothing.
 * PROGRAM-RUN-4. A call of our tools that was begun is carried through, also where the program dies meanwhile: who dies
 *     in the middle of its publish has published.
 *
 * How it is started and taken up again is in `restarts.ts`, how it is spoken to in `voice.ts`, its silence in `silence-watchdog.ts`.
 */
export class ProgramRun {
  readonly #assignment: ProgramAssignment;
  readonly #profile: ProgramProfile;
  readonly #place: Workplace;
  readonly #signal: AbortSignal;
  readonly #transcript: Transcript;
  readonly #budget: ProgramBudget;
  readonly #watchdog: SilenceWatchdog;
  readonly #speech: ProgramSpeech;
  readonly #answers: LaterAnswers;
  readonly #tools: ReturnType<typeof recordedTools>;
  readonly #restarts: Restarts;
  #approvals: Approvals | undefined;
  readonly #over = Promise.withResolvers<Outcome>();
  readonly #quiet = Promise.withResolvers<void>();
  /** It is let go, or there is an outcome. */
  readonly #ending = Promise.withResolvers<void>();
  #isOver = false;
  #isLetGo = false;
  /** Its turn is over, and what follows from that is being decided. */
  #isAtRest = false;
  #lastWords = "";
  /** Why what it wished for last was not done: it may not have heard it any more. */
  #refusal: string | undefined;
  #hung: string | undefined;

  constructor(assignment: ProgramAssignment, profile: ProgramProfile, place: Workplace, signal: AbortSignal) {
    this.#assignment = assignment;
    this.#profile = profile;
    this.#place = place;
    this.#signal = signal;
    const { actor, begun } = assignment;
    const { model } = assignment.spawned;
    const fail = (error: unknown) => this.#fail(error);
    const isOver = () => this.#isOver;
    const isSpeech = profile.kind !== "autonomous";
    this.#watchdog = new SilenceWatchdog(place.clock);
    this.#transcript = new Transcript(actor, place, { model, turn: begun?.turn ?? 1, isSpeech });
    this.#budget = new ProgramBudget(model, actor, place, signal, fail);
    this.#speech = new ProgramSpeech(assignment, {
      ...{ transcript: this.#transcript, budget: this.#budget, watchdog: this.#watchdog, signal, isOver },
      waitsForHuman: () => this.#answers.areOpen,
      speak: async (words) => this.#restarts.session?.say(words),
    });
    this.#answers = new LaterAnswers(actor, place, signal, (words, facts) => this.#speech.say([words], facts), fail);
    const toolbox = assignment.tools({ human: this.#answers.port, waits: (all) => this.#speech.waits(all) });
    this.#tools = recordedTools(toolbox, {
      ...{ transcript: this.#transcript, signal, isOver },
      // Where we publish in its place, no call of it has to.
      isStoppedForPublish: () => this.#isLetGo && !this.#isAtRest,
      busy: () => this.#busy(),
      ends: (outcome) => this.#resolve(outcome),
    });
    this.#restarts = new Restarts(assignment, profile, place, signal, {
      transcript: this.#transcript,
      tools: this.#tools,
    });
  }

  async work(): Promise<Outcome> {
    const past = this.#assignment.begun?.history ?? [];
    const { ending, settled } = await settlePast(past, this.#tools, this.#transcript, this.#signal);
    if (ending) return ending;
    const told = unheardResults(this.#isHeardByFiles ? settled : [...past, ...settled], this.#tools);
    if (this.#isOutOfTurns()) return { kind: "exhausted", turns: this.#place.maxTurns };
    const { system, words } = await this.#firstWords(told);
    await this.#budget.begin();
    // What it spends nobody knows: it must not keep others from the money meanwhile.
    if (this.#isHeardByFiles) await this.#budget.rest();
    this.#signal.addEventListener("abort", () => this.#fail(this.#signal.reason), { once: true });
    this.#startsToWork();
    this.#follow(await this.#restarts.begin(system, words));
    this.#answers.resume();
    this.#speech.listen().catch((error: unknown) => this.#fail(error));
    this.#watch();
    return this.#over.promise;
  }

  /** Its files are about to be published: from here on nobody writes them. */
  async stopForPublish(): Promise<void> {
    this.#watchdog.state = "gone";
    this.#isLetGo = true;
    this.#ending.resolve();
    await this.#restarts.session?.close();
  }

  async end(how: "gently" | "at once"): Promise<void> {
    this.#isOver = true;
    const { session } = this.#restarts;
    if (how === "gently" && this.#watchdog.state === "busy" && session) {
      const hurry = new AbortController();
      const stopped = session.interrupt().then(() => this.#quiet.promise);
      await Promise.race([stopped, this.#place.clock.sleep(GRACE_MS, hurry.signal)]).catch(() => {});
      hurry.abort();
    }
    await this.#restarts.session?.close();
    await this.#transcript.flush();
    await this.#budget.rest();
  }

  /** It has no door: what it wishes for is done on its behalf, and what became of it is no answer to a call of its own. */
  get #isHeardByFiles(): boolean {
    return this.#profile.kind === "autonomous" || this.#profile.kind === "mesh";
  }

  #startsToWork(): void {
    this.#watchdog.state = "busy";
    this.#watchdog.signOfLife();
  }

  async #firstWords(told: readonly string[]): Promise<{ system: string; words: string }> {
    const { begun, resume } = this.#assignment;
    if (!begun) return this.#assignment.begin(this.#tools);
    const words =
      resume === null ? await this.#assignment.newSessionText(begun.history, told) : resumeText(begun.history, told);
    await this.#transcript.heard([{ role: "user", from: "agiraph", content: RESUMED }]);
    return { system: begun.system, words };
  }

  #follow(session: OutsideSession): void {
    const follow = async () => {
      for await (const event of session.events) {
        if (session !== this.#restarts.session) return;
        this.#watchdog.signOfLife();
        await this.#take(event);
        this.#countTurns();
      }
    };
    follow().catch((error: unknown) => this.#fail(error));
  }

  async #take(event: OutsideEvent): Promise<void> {
    const transcript = this.#transcript;
    const { worker_id, node_id } = this.#assignment.actor;
    switch (event.kind) {
      case "begun":
        return this.#restarts.begun(event.session_id);
      case "delta":
        transcript.thinks();
        return this.#place.live({ worker_id, node_id, kind: event.of, text: event.text });
      case "said":
        this.#lastWords = event.text;
        return transcript.said(event.text);
      case "called":
        this.#speech.acts();
        return transcript.called(event.call_id, event.tool, event.args);
      case "answered": {
        const settled = this.#approvals?.settledBy(event.call_id) ?? [];
        return transcript.answered(event.call_id, event.ok, event.content, settled);
      }
      case "asked_permission":
        this.#decide(event).catch((error: unknown) => this.#fail(error));
        return;
      case "requested_call":
        return this.#grant(event);
      case "used":
        return this.#used(event);
      case "rested":
        return this.#rested(event);
      case "noted":
        return transcript.warned(event.text, event.retry);
      case "lost":
        this.#restarts.saidLost();
        return transcript.warned(`Its session cannot be taken up: ${event.why}`);
      case "exited":
        return this.#exited(event);
    }
  }

  async #decide(wish: Extract<OutsideEvent, { kind: "asked_permission" }>): Promise<void> {
    const { session } = this.#restarts;
    const policy = this.#profile.permissions ?? (this.#restarts.isConfined ? "allow" : "ask");
    this.#approvals ??= new Approvals(policy, this.#assignment.spawned.name, this.#assignment.actor, this.#place);
    const decision = await this.#approvals.decide(wish, this.#signal);
    // Each life numbers its wishes by itself: what was asked in another one must not decide one of this.
    if (session !== this.#restarts.session) return;
    this.#watchdog.signOfLife();
    await session?.decide(wish.id, decision);
  }

  /** It has none of our tools at hand, and asked for one by a file. */
  async #grant({ tool, args, id: wish }: Extract<OutsideEvent, { kind: "requested_call" }>): Promise<void> {
    const { actor, assigned } = this.#assignment;
    const id = `${sessionKey(actor)}-${assigned}-${wish ?? this.#place.pending().seq}`;
    // Wished for again after a crash: it was dealt with, then or when its past was settled.
    if (this.#assignment.begun?.history.some((entry) => entry.role === "assistant" && hasCall(entry, id))) return;
    const running = this.#tools.run({ type: "call", id, name: tool, args }, this.#signal);
    running.catch((error: unknown) => this.#fail(error));
    // One that ends the work is never answered, and how the program ends is still to be heard.
    const result = await Promise.race([running, this.#ending.promise]);
    if (!result || result.ok) return;
    this.#refusal = result.content;
    await this.#speech.say([{ role: "user", from: "agiraph", content: result.content }], []);
  }

  async #used({ model, usage, cost_usd }: Extract<OutsideEvent, { kind: "used" }>): Promise<void> {
    const usd = cost_usd ?? (await this.#place.outside.price(model, usage));
    this.#restarts.thrives();
    await this.#transcript.used(model, usage, usd);
    this.#budget.spent({ usd, tokens: usage.input + usage.output });
  }

  /** Whatever it does, and however little it tells of it. */
  #countTurns(): void {
    if (!this.#isOver && this.#isOutOfTurns()) this.#resolve({ kind: "exhausted", turns: this.#place.maxTurns });
  }

  /** The contract bounds all tries together, but a try that nobody could begin would be none. */
  #isOutOfTurns(): boolean {
    return this.#transcript.turn > Math.max(this.#assignment.mostTurns(), (this.#assignment.begun?.tried ?? 0) + 1);
  }

  async #rested(event: Rested): Promise<void> {
    await this.#transcript.flush();
    const facts = this.#approvals?.settledByRest() ?? [];
    if (facts.length > 0) await this.#transcript.note(...facts);
    const correction = this.#budget.turnCost(event.cost_usd);
    if (correction !== 0) await this.#transcript.corrects(correction);
    await this.#budget.rest();
    if (this.#watchdog.state === "busy") this.#watchdog.state = "resting";
    this.#quiet.resolve();
    if (this.#isOver) return;
    if (event.words.trim() !== "") this.#lastWords = event.words;
    const isFailure = event.how === "failed" || event.how === "refused";
    this.#isAtRest = true;
    const outcome = isFailure ? await this.#failure(event) : await this.#speech.next(this.#lastWords);
    this.#isAtRest = false;
    if (outcome) this.#resolve(outcome);
  }

  async #failure({ words, how, retryable = false }: Rested): Promise<Outcome> {
    const { worker_id, node_id } = this.#assignment.actor;
    const message = words.trim() || "The program failed and did not say why.";
    const reason = how === "refused" ? "refused" : "outside";
    const failure = {
      model: this.#assignment.spawned.model,
      turn: this.#transcript.turn,
      reason,
      message,
      retry_in_ms: null,
    };
    await this.#transcript.note({ type: "model.failed", data: { worker_id, node_id, ...failure } });
    return how === "refused" && !retryable ? { kind: "abandoned", error: message } : { kind: "failed", error: message };
  }

  async #exited(event: Exited): Promise<void> {
    await this.#transcript.flush();
    const livesAgain = await this.#restarts.ended(event);
    this.#quiet.resolve();
    await this.#watchdog.whenNoCalls();
    if (this.#isLetGo || this.#isOver) return;
    if (livesAgain) return this.#liveAgain();
    this.#watchdog.state = "gone";
    const { exceeded, signal, code } = event;
    const how = exceeded ? `it took more ${exceeded} than it may` : signal ? `signal ${signal}` : `exit code ${code}`;
    const notes = [...this.#transcript.warnings, ...(this.#refusal ? [this.#refusal] : [])].join("\n");
    this.#resolve({
      kind: "failed",
      error: `${this.#hung ?? `The program ended (${how}) without ${this.#assignment.endsBy}.`}${notes && ` It said: ${notes}`}`,
    });
  }

  async #liveAgain(): Promise<void> {
    this.#startsToWork();
    this.#hung = undefined;
    const facts = this.#approvals?.withdraw() ?? [];
    if (facts.length > 0) await this.#transcript.note(...facts);
    await this.#speech.between(async () => {
      if (this.#isOver) return;
      if (!this.#isHeardByFiles) await this.#budget.begin();
      this.#follow(await this.#restarts.again());
    });
    this.#answers.resume();
  }

  #busy(): () => void {
    const done = this.#watchdog.callBegins();
    this.#speech.acts();
    return () => {
      done();
      this.#countTurns();
    };
  }

  #watch(): void {
    const seconds = this.#profile.silence_seconds ?? SILENCE_SECONDS;
    const mayBeSilent = () => this.#isOver || (this.#approvals?.areOpen ?? false);
    const onSilence = () => {
      this.#hung = `It gave no sign of life for ${seconds} s.`;
      if (this.#restarts.hasMore) this.#restarts.session?.close().catch((error: unknown) => this.#fail(error));
      else this.#resolve({ kind: "failed", error: this.#hung });
    };
    this.#watchdog.watch(seconds, mayBeSilent, onSilence, this.#signal).catch(() => {});
  }

  #resolve(outcome: Outcome): void {
    this.#isOver = true;
    this.#ending.resolve();
    this.#over.resolve(outcome);
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#ending.resolve();
    this.#over.promise.catch(() => {});
    this.#over.reject(error);
  }
}

function hasCall(reply: ReplyEntry, id: string): boolean {
  return callsOf(reply).some((call) => call.id === id);
}
