import {
  callsOf,
  type NewFact,
  type Outcome,
  type ProgramProfile,
  type ReplyEntry,
  type UserEntry,
} from "../../protocol/index.ts";
import { SandboxFailure } from "../../sandbox/sandbox.ts";
import { programHome } from "../../store/paths.ts";
import type { Workplace } from "../workplace.ts";
import { Allowance } from "./allowance.ts";
import { Approvals } from "./approvals.ts";
import { guarded } from "./door-tools.ts";
import { settlePast, TAKEN_UP, wordsAgain } from "./first-words.ts";
import { Minutes } from "./minutes.ts";
import type { Housed } from "./place.ts";
import { modelFor, sessionKey } from "./programs.ts";
import { LaterAnswers } from "./questions.ts";
import type { Seat } from "./seat.ts";
import type { OutsideEvent, OutsideJob, OutsideSession } from "./session.ts";

type Rested = Extract<OutsideEvent, { kind: "rested" }>;
type Retry = NonNullable<Extract<OutsideEvent, { kind: "noted" }>["retry"]>;
type Exited = Extract<OutsideEvent, { kind: "exited" }>;

/** How long a program has to put its things away when it is stopped for want of money, turns or life. */
const GRACE_MS = 2000;
const SILENCE_SECONDS = 900;
const MOST_NOTES = 100;
const MOST_STARTS = 3;

/**
 * A program that thinks for itself, at work on what it was given, until there is an outcome.
 *
 * X1. Whatever it does, there is an outcome, and when there is one no process of it is left.
 * X2. What is said to it is on disk first; said once, or said again after a crash with the words that it may be known.
 * X3. It is resting or it is spoken to: a turn that ends without an end of the work is answered, or waits for something
 *     that is on record (an answer, a sub-node, news), and then costs nothing.
 */
export class Sitting {
  readonly #seat: Seat;
  readonly #profile: ProgramProfile;
  readonly #place: Workplace;
  readonly #signal: AbortSignal;
  readonly #minutes: Minutes;
  readonly #allowance: Allowance;
  readonly #answers: LaterAnswers;
  readonly #tools: ReturnType<typeof guarded>;
  #approvals: Approvals | undefined;
  readonly #over = Promise.withResolvers<Outcome>();
  readonly #quiet = Promise.withResolvers<void>();
  /** It is let go, or there is an outcome. */
  readonly #ending = Promise.withResolvers<void>();
  #session: OutsideSession | undefined;
  #state: "busy" | "resting" | "gone" = "resting";
  #isOver = false;
  #hasBegun = false;
  #job: OutsideJob | undefined;
  #pid = 0;
  #underWay = 0;
  #lastSign = 0;
  #reminders = 0;
  #waitsForNews = false;
  #isSeenWaiting = false;
  #lastWords = "";
  #notes: string[] = [];
  #noted = 0;
  #turnCost = 0;
  #saying: Promise<void> = Promise.resolve();
  #beginning: Promise<void> = Promise.resolve();
  #revivals = 0;
  #hung: string | undefined;

  constructor(seat: Seat, profile: ProgramProfile, place: Workplace, signal: AbortSignal) {
    this.#seat = seat;
    this.#profile = profile;
    this.#place = place;
    this.#signal = signal;
    const { actor, begun } = seat;
    const { model } = seat.spawned;
    const fail = (error: unknown) => this.#fail(error);
    const isSpeech = profile.kind !== "autonomous";
    this.#minutes = new Minutes(actor, place, { model, turn: begun?.turn ?? 1, isSpeech });
    this.#allowance = new Allowance(model, actor, place, signal, fail);
    const tell = (words: UserEntry, facts: NewFact[]) => this.#say([words], facts);
    this.#answers = new LaterAnswers(actor, place, signal, tell, fail);
    const waits = () => {
      this.#waitsForNews = true;
    };
    const toolbox = seat.tools({ human: this.#answers.port, waits });
    this.#tools = guarded(toolbox, {
      minutes: this.#minutes,
      signal,
      isOver: () => this.#isOver,
      isGone: () => this.#state === "gone",
      busy: () => this.#busy(),
      ends: (outcome) => this.#resolve(outcome),
    });
  }

  async work(): Promise<Outcome> {
    const { begun } = this.#seat;
    const { ending, told } = await settlePast(begun?.history ?? [], this.#tools, this.#minutes, this.#signal);
    if (ending) return ending;
    this.#notes.push(...told);
    if (this.#isOutOfTurns()) return { kind: "exhausted", turns: this.#place.maxTurns };
    const { system, words } = await this.#firstWords(told);
    await this.#allowance.begin();
    // What it spends nobody knows: it must not keep others from the money meanwhile.
    if (this.#profile.kind === "autonomous" || this.#profile.kind === "mesh") await this.#allowance.rest();
    this.#signal.addEventListener("abort", () => this.#fail(this.#signal.reason), { once: true });
    await this.#begin({ ...this.#jobFor(system), words, resume: this.#seat.resume });
    this.#answers.takeUp();
    this.#listen().catch((error: unknown) => this.#fail(error));
    this.#watch().catch(() => {});
    return this.#over.promise;
  }

  /** Its files are about to be published: from here on nobody writes them. */
  async letGo(): Promise<void> {
    this.#state = "gone";
    this.#ending.resolve();
    await this.#session?.close();
  }

  async end(how: "gently" | "at once"): Promise<void> {
    this.#isOver = true;
    if (how === "gently" && this.#state === "busy" && this.#session) {
      const hurry = new AbortController();
      const stopped = this.#session.interrupt().then(() => this.#quiet.promise);
      await Promise.race([stopped, this.#place.clock.sleep(GRACE_MS, hurry.signal)]).catch(() => {});
      hurry.abort();
    }
    await this.#session?.close();
    await this.#minutes.flush();
    await this.#allowance.rest();
  }

  get #home(): string {
    return programHome(this.#place.log.dir, this.#seat.run_id, this.#seat.actor.worker_id);
  }

  #jobFor(system: string): Omit<OutsideJob, "words" | "resume"> {
    const { spawned, context, assigned, cwd } = this.#seat;
    return {
      profile: this.#profile,
      system,
      model: modelFor(spawned),
      context,
      assigned,
      cwd,
      home: this.#home,
      named: (session_id) => this.#named(session_id),
      start: (launch) => this.#start(launch),
    };
  }

  async #start(launch: Parameters<OutsideJob["start"]>[0]) {
    const { actor } = this.#seat;
    const running = await this.#confined(launch);
    this.#pid = running.pid;
    const usual = running.sandbox === "unsafe" ? "ask" : "allow";
    const policy = this.#profile.permissions ?? usual;
    this.#approvals ??= new Approvals(policy, this.#seat.spawned.name, actor, this.#place);
    const { worker_id, node_id } = actor;
    const command = this.#profile.command.join(" ");
    const started = { worker_id, node_id, pid: running.pid, command, sandbox: running.sandbox };
    await this.#minutes.note({ type: "process.started", data: started });
    return running;
  }

  /** What it may see is looked up anew each time: a colleague may publish, by a rename, while it is being bound. */
  async #confined(launch: Parameters<OutsideJob["start"]>[0]): Promise<Housed> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#place.outside.start({
          profile: this.#profile,
          tools: this.#tools,
          binds: this.#seat.binds(),
          cwd: this.#seat.cwd,
          home: this.#home,
          launch,
          signal: this.#signal,
        });
      } catch (error) {
        if (!(error instanceof SandboxFailure) || tries === MOST_STARTS || this.#signal.aborted) throw error;
      }
    }
  }

  async #begin(job: OutsideJob): Promise<void> {
    this.#job = job;
    this.#hasBegun = false;
    this.#state = "busy";
    this.#alive();
    const adapter = await this.#place.outside.adapter(this.#profile.kind);
    await this.#place.outside.makeHome(this.#profile, this.#home);
    this.#signal.throwIfAborted();
    this.#session = await adapter(job);
    this.#minutes.thinks();
    this.#follow(this.#session).catch((error: unknown) => this.#fail(error));
  }

  async #firstWords(told: readonly string[]): Promise<{ system: string; words: string }> {
    const { begun, resume } = this.#seat;
    if (!begun) return this.#seat.begin(this.#tools);
    const words = resume === null ? await this.#seat.anew(told) : wordsAgain(begun.history, told);
    await this.#minutes.heard([{ role: "user", from: "agiraph", content: TAKEN_UP }]);
    return { system: begun.system, words };
  }

  async #named(session_id: string): Promise<void> {
    const { worker_id, node_id } = this.#seat.actor;
    if (session_id !== this.#sessionId)
      await this.#minutes.note({ type: "worker.session", data: { worker_id, node_id, session_id } });
  }

  /** The one it has now, as far as the record knows. */
  get #sessionId(): string | null {
    const { actor } = this.#seat;
    const session = this.#place.now().outside.sessions[sessionKey(actor)];
    return session?.worker_id === actor.worker_id ? session.session_id : null;
  }

  async #follow(session: OutsideSession): Promise<void> {
    for await (const event of session.events) {
      if (session !== this.#session) return;
      this.#alive();
      await this.#take(event);
      this.#countTurns();
    }
  }

  async #take(event: OutsideEvent): Promise<void> {
    const minutes = this.#minutes;
    const { worker_id, node_id } = this.#seat.actor;
    switch (event.kind) {
      case "begun": {
        this.#hasBegun = true;
        return event.session_id === null ? undefined : this.#named(event.session_id);
      }
      case "delta":
        minutes.thinks();
        return this.#place.live({ worker_id, node_id, kind: event.of, text: event.text });
      case "said":
        this.#lastWords = event.text;
        return minutes.said(event.text);
      case "called":
        this.#reminders = 0;
        return minutes.called(event.call_id, event.tool, event.args);
      case "answered": {
        const settled = this.#approvals?.settledBy(event.call_id) ?? [];
        return minutes.answered(event.call_id, event.ok, event.content, settled);
      }
      case "wants":
        this.#decide(event).catch((error: unknown) => this.#fail(error));
        return;
      case "wishes":
        return this.#grant(event);
      case "used":
        return this.#used(event);
      case "rested":
        return this.#rested(event);
      case "noted":
        return event.retry ? this.#retries(event.text, event.retry) : this.#note(event.text);
      case "exited":
        return this.#exited(event);
    }
  }

  async #decide(wish: Extract<OutsideEvent, { kind: "wants" }>): Promise<void> {
    const decision = (await this.#approvals?.decide(wish, this.#signal)) ?? { allow: false };
    this.#alive();
    await this.#session?.decide(wish.id, decision);
  }

  /** It has none of our tools at hand, and asked for one by a file. */
  async #grant({ tool, args, id: wish }: Extract<OutsideEvent, { kind: "wishes" }>): Promise<void> {
    const { actor, assigned } = this.#seat;
    const id = `${sessionKey(actor)}-${assigned}-${wish ?? this.#place.soon().seq}`;
    // Wished for again after a crash: it was dealt with, then or when its past was settled.
    if (this.#seat.begun?.history.some((entry) => entry.role === "assistant" && hasCall(entry, id))) return;
    const running = this.#tools.run({ type: "call", id, name: tool, args }, this.#signal);
    running.catch((error: unknown) => this.#fail(error));
    // One that ends the work is never answered, and how the program ends is still to be heard.
    const result = await Promise.race([running, this.#ending.promise]);
    if (!result || result.ok) return;
    this.#notes.push(result.content);
    await this.#say([{ role: "user", from: "agiraph", content: result.content }], []);
  }

  async #used({ model, usage, cost_usd }: Extract<OutsideEvent, { kind: "used" }>): Promise<void> {
    const usd = cost_usd ?? (await this.#place.outside.price(model, usage));
    this.#turnCost += usd ?? 0;
    this.#revivals = 0;
    await this.#minutes.used(model, usage, usd);
    this.#allowance.spent({ usd, tokens: usage.input + usage.output });
  }

  /** Whatever it does, and however little it tells of it. */
  #countTurns(): void {
    if (!this.#isOver && this.#isOutOfTurns()) this.#resolve({ kind: "exhausted", turns: this.#place.maxTurns });
  }

  /** The contract bounds all tries together, but a try that nobody could begin would be none. */
  #isOutOfTurns(): boolean {
    return this.#minutes.turn > Math.max(this.#seat.mostTurns(), (this.#seat.begun?.tried ?? 0) + 1);
  }

  async #rested(event: Rested): Promise<void> {
    await this.#minutes.flush();
    const facts = this.#approvals?.settledByRest() ?? [];
    if (facts.length > 0) await this.#minutes.note(...facts);
    await this.#payTheRest(event);
    await this.#allowance.rest();
    if (this.#state === "busy") this.#state = "resting";
    this.#quiet.resolve();
    if (this.#isOver) return;
    if (event.words.trim() !== "") this.#lastWords = event.words;
    if (event.how === "failed" || event.how === "refused") return this.#resolve(await this.#failure(event));
    await this.#next();
  }

  /** A program may know better than we what its turn has cost. */
  async #payTheRest({ cost_usd }: Rested): Promise<void> {
    const rest = cost_usd === undefined ? 0 : cost_usd - this.#turnCost;
    this.#turnCost = 0;
    if (Math.abs(rest) < 1e-9) return;
    await this.#minutes.corrects(rest);
    this.#allowance.spent({ usd: rest, tokens: 0 });
  }

  /** It asks its model again by itself: that is said, or it would look busy. */
  async #retries(message: string, { in_ms: retry_in_ms, ...failure }: Retry): Promise<void> {
    this.#notes = [...this.#notes.slice(-9), message];
    if (++this.#noted > MOST_NOTES) return;
    const { worker_id, node_id } = this.#seat.actor;
    const what = { model: this.#seat.spawned.model, turn: this.#minutes.turn, ...failure, message, retry_in_ms };
    await this.#minutes.note({ type: "model.failed", data: { worker_id, node_id, ...what } });
  }

  async #failure({ words, how, retryable = false }: Rested): Promise<Outcome> {
    const { worker_id, node_id } = this.#seat.actor;
    const message = words.trim() || "The program failed and did not say why.";
    const reason = how === "refused" ? "refused" : "outside";
    const failure = { model: this.#seat.spawned.model, turn: this.#minutes.turn, reason, message, retry_in_ms: null };
    await this.#minutes.note({ type: "model.failed", data: { worker_id, node_id, ...failure } });
    return how === "refused" && !retryable ? { kind: "abandoned", error: message } : { kind: "failed", error: message };
  }

  /** Its turn is over and the node is not: it is told the news, waits for something, or is reminded. */
  async #next(): Promise<void> {
    if (this.#seat.mailbox.waiting > 0) return this.#tell();
    const { worker_id, node_id } = this.#seat.actor;
    const reason = this.#answers.areOpen
      ? "human"
      : ((await this.#seat.waitsFor()) ?? (this.#waitsForNews ? "news" : null));
    if (reason !== null) {
      this.#isSeenWaiting = true;
      await this.#minutes.note({ type: "worker.waiting", data: { worker_id, node_id, for: reason } });
      // It may have come while that was decided.
      return this.#seat.mailbox.waiting > 0 ? this.#tell() : undefined;
    }
    this.#reminders += 1;
    const next = await this.#seat.onSilence(this.#lastWords, this.#reminders);
    if (Array.isArray(next)) await this.#say(next, []);
    else this.#resolve(next);
  }

  async #exited({ code, signal, exceeded }: Exited): Promise<void> {
    await this.#minutes.flush();
    const { worker_id, node_id } = this.#seat.actor;
    await this.#minutes.note({ type: "process.exited", data: { worker_id, node_id, pid: this.#pid, code, signal } });
    this.#quiet.resolve();
    if (this.#state === "gone" || this.#isOver) return;
    this.#state = "gone";
    const how = exceeded ? `it took more ${exceeded} than it may` : signal ? `signal ${signal}` : `exit code ${code}`;
    const isLost = !this.#hasBegun && this.#job?.resume !== null;
    const mayReturn = exceeded === null && this.#revivals < this.#seat.lives;
    if (this.#job && (isLost || mayReturn)) {
      // What is said meanwhile waits until there is somebody to hear it.
      this.#beginning = this.#beginAgain(this.#job, isLost).catch((error: unknown) => this.#fail(error));
      return this.#beginning;
    }
    const notes = this.#notes.slice(-3).join("\n");
    this.#resolve({
      kind: "failed",
      error: `${this.#hung ?? `The program ended (${how}) without ${this.#seat.endsBy}.`}${notes && ` It said: ${notes}`}`,
    });
  }

  /** The session goes on, or, where it cannot be taken up any more, another one begins with all that it needs to know. */
  async #beginAgain(job: OutsideJob, isLost: boolean): Promise<void> {
    this.#state = "busy";
    this.#hung = undefined;
    const { actor } = this.#seat;
    if (!isLost) this.#revivals += 1;
    await this.#minutes.cutOff((tool) => this.#tools.specs.some(({ name }) => name === tool));
    const resume = isLost ? null : this.#sessionId;
    const words =
      resume === null
        ? await this.#seat.anew([])
        : wordsAgain(await this.#place.log.conversation(actor.conversation), []);
    await this.#begin({ ...job, words, resume });
    this.#answers.takeUp();
  }

  async #note(text: string): Promise<void> {
    this.#notes = [...this.#notes.slice(-9), text.slice(0, 500)];
    if (++this.#noted > MOST_NOTES) return;
    const { worker_id, node_id } = this.#seat.actor;
    const message = text.slice(0, 500);
    await this.#minutes.note({
      type: "model.warned",
      data: { worker_id, node_id, model: this.#seat.spawned.model, message },
    });
  }

  /** Mail is told as soon as it is there, whatever the program does. */
  async #listen(): Promise<void> {
    while (!this.#isOver) {
      await this.#seat.mailbox.arrived(this.#signal);
      if (this.#seat.hasEnded()) return;
      await this.#tell();
    }
  }

  async #tell(): Promise<void> {
    await this.#say(() => this.#seat.news(), []);
  }

  /** One after the other: what is taken from the mailbox is said before anything else is taken. */
  #say(what: UserEntry[] | (() => UserEntry[]), facts: NewFact[]): Promise<void> {
    const said = this.#saying.then(async () => {
      await this.#beginning;
      if (this.#isOver || this.#state === "gone") return;
      if (this.#state === "resting") await this.#allowance.begin();
      const entries = typeof what === "function" ? what() : what;
      if (entries.length === 0) return this.#state === "resting" ? this.#allowance.rest() : undefined;
      const { worker_id, node_id } = this.#seat.actor;
      const busy: NewFact[] = this.#isSeenWaiting ? [{ type: "worker.busy", data: { worker_id, node_id } }] : [];
      this.#isSeenWaiting = false;
      this.#waitsForNews = false;
      this.#state = "busy";
      this.#alive();
      await this.#minutes.heard(entries, [...busy, ...facts]);
      this.#minutes.thinks();
      await this.#session?.say(entries.map(({ content }) => content).join("\n\n"));
    });
    this.#saying = said.catch(() => {});
    return said;
  }

  #busy(): () => void {
    this.#underWay += 1;
    this.#reminders = 0;
    return () => {
      this.#underWay -= 1;
      this.#alive();
      this.#countTurns();
    };
  }

  #alive(): void {
    this.#lastSign = this.#place.clock.now();
  }

  async #watch(): Promise<void> {
    const { clock } = this.#place;
    const seconds = this.#profile.silence_seconds ?? SILENCE_SECONDS;
    for (;;) {
      const mayBeSilent = this.#state !== "busy" || this.#underWay > 0 || (this.#approvals?.areOpen ?? false);
      const left = seconds * 1000 - (mayBeSilent ? 0 : clock.now() - this.#lastSign);
      if (left <= 0) {
        this.#hung = `It gave no sign of life for ${seconds} s.`;
        if (this.#revivals >= this.#seat.lives) return this.#resolve({ kind: "failed", error: this.#hung });
        this.#alive();
        await this.#session?.close();
      } else await clock.sleep(left, this.#signal);
    }
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
