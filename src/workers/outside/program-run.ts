import { callsOf, type NewFact, type Outcome, type ReplyEntry, type UserEntry } from "../../protocol/index.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { Approvals } from "./approvals.ts";
import { RESUMED, recoverPast, resumeText, unheardResults } from "./first-words.ts";
import { LaterAnswers } from "./later-answers.ts";
import { LongRest } from "./long-rest.ts";
import type { ProgramStartup } from "./program-assignment.ts";
import { ProgramBudget } from "./program-budget.ts";
import { ProgramOutcome } from "./program-outcome.ts";
import { ProgramSpeech } from "./program-speech.ts";
import { recordedTools } from "./program-tools.ts";
import { ProgramTurns } from "./program-turns.ts";
import { programOf, sessionKey } from "./programs.ts";
import { Restarts } from "./restarts.ts";
import { permissionOf, reachWords } from "./session/permission-policy.ts";
import { isAllowedBy } from "./session/permission-rules.ts";
import type { OutsideEvent, OutsideSession } from "./session/session.ts";
import type { ToolRequest } from "./session/tool-request.ts";
import { SignIn } from "./sign-in.ts";
import { SilenceWatchdog } from "./silence-watchdog.ts";
import { Transcript } from "./transcript.ts";

type Exited = Extract<OutsideEvent, { kind: "exited" }>;

/** How long a program has to put its things away when it is stopped for lack of money, turns or signs of life. */
const GRACE_MS = 2000;
const SILENCE_SECONDS = 900;

/**
 * A program that thinks for itself, at work on its assignment, until there is an outcome.
 *
 * PROGRAM-RUN-1. Whatever it does, there is an outcome, and by then no process of it is left.
 * PROGRAM-RUN-2. What is said to it is on disk first; it is said once, or said again after a crash with a remark that
 *     it may be known.
 * PROGRAM-RUN-3. It is resting or it is spoken to: a turn that ends without an end of the work is answered, or waits
 *     for something that is on record (an answer, a sub-node, news), and then costs nothing.
 * PROGRAM-RUN-4. A call of our tools that was begun is carried through, even if the program dies meanwhile: a program
 *     that dies in the middle of its publish has published.
 * PROGRAM-RUN-5. A program that has rested for a long time is ended to free its memory, if its session can be resumed;
 *     what is said to it next resumes it.
 *
 * How it is started and restarted is in `restarts.ts`, what is said to it in `program-speech.ts`, its turns in
 * `program-turns.ts`, its silence in `silence-watchdog.ts`.
 */
export class ProgramRun {
  readonly #startup: ProgramStartup;
  readonly #outcome = new ProgramOutcome();
  readonly #transcript: Transcript;
  readonly #budget: ProgramBudget;
  readonly #watchdog: SilenceWatchdog;
  readonly #speech: ProgramSpeech;
  readonly #answers: LaterAnswers;
  readonly #tools: Tools;
  readonly #restarts: Restarts;
  readonly #approvals: Approvals;
  readonly #turns: ProgramTurns;
  readonly #signIn: SignIn;
  readonly #rest: LongRest;
  /** An event of it is being dealt with. */
  #isTaking = false;
  /** Why its last call by a file failed: it may have exited before it was told. */
  #refusal: string | undefined;
  #hung: string | undefined;
  /** Of the process that runs now: resolves when all that it did is on record. */
  #exit = Promise.withResolvers<void>();

  constructor(startup: ProgramStartup) {
    const { assignment, profile, workplace, signal } = startup;
    const { self, begun, spawned } = assignment;
    const outcome = this.#outcome;
    const fail = (error: unknown) => outcome.reject(error);
    const isOver = () => outcome.isOver;
    this.#startup = startup;
    const watchdog = new SilenceWatchdog(workplace.clock);
    const isSpeech = profile.kind !== "autonomous";
    const transcript = new Transcript(self, workplace, { model: spawned.model, turn: begun?.turn ?? 1, isSpeech });
    // What it spent before it published does not take the result from it.
    const onSpent = (error: unknown) => (outcome.isStoppedForPublish ? undefined : fail(error));
    const budget = new ProgramBudget(spawned.model, self, workplace, signal, onSpent);
    this.#watchdog = watchdog;
    this.#transcript = transcript;
    this.#budget = budget;
    const speech = new ProgramSpeech(assignment, {
      ...{ transcript, budget, watchdog, signal, isOver },
      waitsForHuman: () => this.#answers.areOpen,
      hears: () => this.#restarts.session?.hears?.() ?? true,
      speak: (words) => this.#speak(words),
    });
    this.#speech = speech;
    this.#answers = new LaterAnswers(self, workplace, signal, (words, facts) => speech.say([words], facts), fail);
    const toolbox = assignment.tools({ human: this.#answers.port, waits: (all) => speech.waits(all) });
    this.#tools = recordedTools(toolbox, {
      ...{ transcript, signal, isOver },
      // While the end of a turn is decided we may publish in its place: then no call of the program has to.
      isStoppedForPublish: () => outcome.isStoppedForPublish && !this.#turns.isDeciding,
      hasNews: () => speech.hasUntold,
      news: () => speech.withResult(),
      // What is on record as received is said first.
      unread: (tool) => speech.between(async () => (await this.#restarts.session?.takeUnread?.(tool)) ?? null),
      busy: () => this.#callBegins(),
      ends: (end) => outcome.resolve(end),
    });
    this.#restarts = new Restarts(startup, { transcript, tools: this.#tools });
    const policy = () => permissionOf(profile, reachWords(this.#restarts.isConfined));
    const isAllowed = (request: ToolRequest) => isAllowedBy(profile.allow ?? [], request, assignment.cwd);
    const approvals = new Approvals({ policy, isAllowed, name: spawned.name }, self, workplace);
    this.#approvals = approvals;
    const login = workplace.outside.login?.(programOf(spawned), profile, this.#restarts.home);
    this.#signIn = new SignIn(login, self, workplace, signal);
    const signIn = this.#signIn;
    const { clock } = workplace;
    const mayEnd = () => this.#restsLong;
    const end = () => this.#failing(this.#leave());
    this.#rest = new LongRest({ clock, seconds: profile.rest_seconds, signal, mayEnd, end });
    this.#turns = new ProgramTurns(assignment, {
      workplace,
      signIn,
      outcome,
      transcript,
      budget,
      watchdog,
      speech,
      approvals,
      beginAnew: (entry) => this.#failing(this.#beginAnew(entry)),
    });
  }

  async work(): Promise<Outcome> {
    const { assignment, workplace, signal } = this.#startup;
    const past = assignment.begun?.history ?? [];
    const { ending, recovered } = await recoverPast(past, this.#tools, this.#transcript, signal);
    if (ending) return ending;
    const told = unheardResults(this.#speaksByFiles ? recovered : [...past, ...recovered], this.#tools);
    if (this.#turns.areUsedUp) return { kind: "exhausted", turns: workplace.maxTurns };
    const { system, words } = await this.#firstWords(told);
    signal.addEventListener("abort", () => this.#outcome.reject(signal.reason), { once: true });
    await this.#signIn.usable();
    await this.#budget.begin();
    // What it spends is unknown: it must not keep others from the money meanwhile.
    if (this.#speaksByFiles) await this.#budget.rest();
    if (this.#speaksByFiles) await this.#turns.begins(null);
    this.#watchdog.starts();
    this.#follow(await this.#signedIn(() => this.#restarts.start(system, words)));
    this.#answers.resume();
    this.#failing(this.#speech.listen());
    this.#watch();
    return this.#outcome.promise;
  }

  /** Its files are about to be published: from here on nothing writes them. */
  async stopForPublish(): Promise<void> {
    const isBusy = this.#watchdog.state === "busy";
    this.#watchdog.state = "gone";
    this.#outcome.stopForPublish();
    const { session } = this.#restarts;
    if (isBusy && session?.endTurn) await this.#within(session.endTurn());
    await session?.close();
    // What its turn has cost comes last, and belongs to this work. While the end of a turn is decided it has come.
    if (session && !this.#turns.isDeciding) await this.#exit.promise;
  }

  async end(how: "gently" | "at once"): Promise<void> {
    this.#outcome.close();
    const { session } = this.#restarts;
    if (how === "gently" && this.#watchdog.state === "busy" && session) {
      await this.#within(session.interrupt().then(() => this.#turns.idle));
    }
    await this.#restarts.session?.close();
    await this.#transcript.flush();
    await this.#budget.rest();
  }

  /** Waits for it, at most for the time that a program has to put its things away. */
  async #within(work: Promise<unknown>): Promise<void> {
    const hurry = new AbortController();
    const grace = this.#startup.workplace.clock.sleep(GRACE_MS, hurry.signal);
    await Promise.race([work, grace]).catch(() => {});
    hurry.abort();
  }

  /** Starts it; again where its login was not accepted and is another one now. */
  async #signedIn(start: () => Promise<OutsideSession>): Promise<OutsideSession> {
    for (;;) {
      try {
        return await start();
      } catch (error) {
        if (!(error instanceof Error) || !(await this.#signIn.recovers(error.message))) throw error;
      }
    }
  }

  /** It cannot call our tools: what it requests is called on its behalf, and the result is not an answer to a call. */
  get #speaksByFiles(): boolean {
    const { kind } = this.#startup.profile;
    return kind === "autonomous" || kind === "mesh";
  }

  #failing(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#outcome.reject(error));
  }

  async #firstWords(told: readonly string[]): Promise<{ system: string; words: string }> {
    const { assignment } = this.#startup;
    const { begun, resume } = assignment;
    if (!begun) return assignment.begin(this.#tools);
    const isLost = resume === null;
    const words = isLost ? await assignment.newSessionText(begun.history, told) : resumeText(begun.history, told);
    await this.#transcript.heard([{ role: "user", from: "agiraph", content: RESUMED }]);
    return { system: begun.system, words };
  }

  #follow(session: OutsideSession): void {
    this.#exit = Promise.withResolvers();
    const follow = async () => {
      for await (const event of session.events) {
        if (session !== this.#restarts.session) return;
        // Nobody asked for a turn that ends while it is being ended: there is nothing to decide.
        if (this.#restarts.isAway && event.kind === "rested") continue;
        this.#isTaking = true;
        this.#watchdog.signOfLife();
        await this.#take(event);
        this.#turns.count();
        this.#isTaking = false;
        this.#rest.begins();
      }
    };
    this.#failing(follow().finally(() => this.#exit.resolve()));
  }

  async #take(event: OutsideEvent): Promise<void> {
    const transcript = this.#transcript;
    const { worker_id, node_id } = this.#startup.assignment.self;
    switch (event.kind) {
      case "begun":
        await this.#turns.begins(event.model);
        return this.#restarts.begun(event.session_id);
      case "delta":
        transcript.thinks();
        return this.#startup.workplace.live({ worker_id, node_id, kind: event.of, text: event.text });
      case "said":
        this.#turns.said(event.text);
        return transcript.said(event.text);
      case "called":
        this.#speech.acts();
        return transcript.called(event.call_id, event.tool, event.args, event.isBegun);
      case "answered":
        return transcript.answered(event.call_id, event.ok, event.content, this.#approvals.settledBy(event.call_id));
      case "asked_permission":
        // Whatever is allowed is on record first: after a kill it must not be done again.
        await transcript.begins();
        return this.#failing(this.#decide(event));
      case "requested_call":
        return this.#callFor(event);
      case "used":
        this.#restarts.madeProgress();
        this.#signIn.accepted();
        return this.#turns.used(event);
      case "rested":
        return this.#turns.rested(event);
      case "noted":
        if (event.retry?.reason === "auth") this.#signIn.refused();
        return transcript.warned(event.text, event.retry);
      case "lost":
        this.#restarts.sessionLost();
        return transcript.warned(`Its session cannot be resumed: ${event.why}`);
      case "exited":
        return this.#exited(event);
    }
  }

  async #decide(request: Extract<OutsideEvent, { kind: "asked_permission" }>): Promise<void> {
    const { session } = this.#restarts;
    const decision = await this.#approvals.decide(request, this.#startup.signal);
    // Each process numbers its requests by itself: an answer to an earlier one must not decide a request of this one.
    if (session !== this.#restarts.session) return;
    this.#watchdog.signOfLife();
    await session?.decide(request.id, decision);
  }

  /** It has none of our tools at hand, and requested a call by a file. */
  async #callFor({ tool, args, id: request }: Extract<OutsideEvent, { kind: "requested_call" }>): Promise<void> {
    const { assignment, workplace, signal } = this.#startup;
    const id = `${sessionKey(assignment.self)}-${assignment.assigned}-${request ?? workplace.pending().seq}`;
    // Requested again after a crash: it was dealt with, then or when the past was recovered.
    if (assignment.begun?.history.some((entry) => entry.role === "assistant" && hasCall(entry, id))) return;
    const running = this.#tools.run({ type: "call", id, name: tool, args }, signal);
    this.#failing(running);
    // A call that ends the work is never answered, and how the program ends is still to be heard.
    const result = await Promise.race([running, this.#outcome.ending]);
    if (!result || result.ok) return;
    this.#refusal = result.content;
    await this.#speech.say([{ role: "user", from: "agiraph", content: result.content }], []);
  }

  async #exited(event: Exited): Promise<void> {
    await this.#transcript.flush();
    const mayRestart = await this.#restarts.exited(event);
    this.#turns.exited();
    this.#exit.resolve();
    if (this.#restarts.isAway) return;
    await this.#watchdog.whenNoCalls();
    if (this.#outcome.isStoppedForPublish || this.#outcome.isOver) return;
    if (mayRestart) return this.#restart();
    this.#watchdog.state = "gone";
    this.#outcome.resolve({ kind: "failed", error: this.#whyEnded(event) });
  }

  #whyEnded({ exceeded, signal, code }: Exited): string {
    const how = exceeded ? `it took more ${exceeded} than it may` : signal ? `signal ${signal}` : `exit code ${code}`;
    const notes = [...this.#transcript.warnings, ...(this.#refusal ? [this.#refusal] : [])].join("\n");
    const { endsBy } = this.#startup.assignment;
    return `${this.#hung ?? `The program ended (${how}) without ${endsBy}.`}${notes && ` It said: ${notes}`}`;
  }

  async #restart(): Promise<void> {
    this.#watchdog.starts();
    const facts = [...this.#whyRestarted(), ...this.#approvals.withdraw()];
    this.#hung = undefined;
    if (facts.length > 0) await this.#transcript.note(...facts);
    await this.#speech.between(async () => {
      if (this.#outcome.isOver) return;
      const waited = this.#watchdog.callBegins();
      await this.#signIn.usable();
      if (!this.#speaksByFiles) await this.#budget.begin();
      waited();
      this.#follow(await this.#signedIn(() => this.#restarts.restart()));
    });
    this.#answers.resume();
  }

  /** Not by `warned`, which keeps what the program itself said. */
  #whyRestarted(): NewFact[] {
    if (this.#hung === undefined) return [];
    const { self, spawned } = this.#startup.assignment;
    const { worker_id, node_id } = self;
    const message = `${this.#hung} It is being restarted.`;
    return [{ type: "model.warned", data: { worker_id, node_id, model: spawned.model, message } }];
  }

  /** It waits for something that is on record, and can be resumed when that comes: PROGRAM-RUN-5. */
  get #restsLong(): boolean {
    const isOver = this.#outcome.isOver || this.#outcome.isStoppedForPublish;
    const isAtRest = this.#watchdog.state === "resting" && !this.#watchdog.isAwaited && !this.#isTaking;
    return isAtRest && !isOver && !this.#approvals.areOpen && this.#restarts.canLeave;
  }

  #leave(): Promise<void> {
    return this.#speech.between(async () => {
      if (!this.#restsLong) return;
      await this.#restarts.leave();
      await this.#exit.promise;
    });
  }

  async #beginAnew(entry: UserEntry): Promise<void> {
    await this.#speech.between(async () => {
      if (this.#outcome.isOver || !this.#restarts.canLeave) return;
      await this.#restarts.leave();
      await this.#exit.promise;
    });
    await this.#speech.say([entry], []);
  }

  async #speak(words: string): Promise<void> {
    if (!this.#restarts.isAway) return this.#restarts.session?.say(words);
    const waited = this.#watchdog.callBegins();
    await this.#signIn.usable();
    waited();
    this.#follow(await this.#signedIn(() => this.#restarts.comeBack(words)));
  }

  #callBegins(): () => void {
    const done = this.#watchdog.callBegins();
    this.#speech.acts();
    return () => {
      done();
      this.#turns.count();
    };
  }

  #watch(): void {
    const { profile, signal } = this.#startup;
    const seconds = profile.silence_seconds ?? SILENCE_SECONDS;
    const mayBeSilent = () => this.#outcome.isOver || this.#approvals.areOpen || this.#signIn.isAwaited;
    const onSilence = () => {
      this.#hung = `It gave no sign of life for ${seconds} s.`;
      if (this.#restarts.hasMore) this.#failing(this.#restarts.session?.close() ?? Promise.resolve());
      else this.#outcome.resolve({ kind: "failed", error: this.#hung });
    };
    this.#watchdog.watch(seconds, mayBeSilent, onSilence, signal).catch(() => {});
  }
}

function hasCall(reply: ReplyEntry, id: string): boolean {
  return callsOf(reply).some((call) => call.id === id);
}
