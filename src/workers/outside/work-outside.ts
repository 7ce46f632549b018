import { hasEnded, type NodeState, openBelow, type WorkerState } from "../../projections/index.ts";
import { type NewFact, NO_USAGE, type Outcome, type ProgramProfile, type UserEntry } from "../../protocol/index.ts";
import { programHome } from "../../store/paths.ts";
import { beginAssignment } from "../assignment.ts";
import { outcomeOf } from "../carry-out.ts";
import { publishAnswer } from "../publishing.ts";
import { type Desk, takeUp } from "../taking-up.ts";
import { newsOn } from "../waiting.ts";
import type { Colleagues, Workplace } from "../workplace.ts";
import { Allowance } from "./allowance.ts";
import { Approvals } from "./approvals.ts";
import { doorToolbox, guarded } from "./door-tools.ts";
import { filesInWords, settlePast, TAKEN_UP, wordsAgain, wordsAnew } from "./first-words.ts";
import { Minutes } from "./minutes.ts";
import { modelFor, programOf } from "./programs.ts";
import { LaterAnswers } from "./questions.ts";
import type { OutsideEvent, OutsideJob, OutsideSession } from "./session.ts";

type Rested = Extract<OutsideEvent, { kind: "rested" }>;
type Exited = Extract<OutsideEvent, { kind: "exited" }>;

/** How long a program has to put its things away when it is stopped for want of money, turns or life. */
const GRACE_MS = 2000;
const SILENCE_SECONDS = 900;
const PATIENCE = 3;
const MOST_NOTES = 100;

/**
 * A program that thinks for itself works on a node, until it publishes.
 *
 * X1. Whatever it does, there is an outcome, and when there is one no process of it is left.
 * X2. What is said to it is on disk first; said once, or said again after a crash with the words that it may be known.
 * X3. It is resting or it is spoken to: a turn that ends without a publish is answered, or waits for something that is
 *     on record (an answer, a sub-node, news), and then costs nothing.
 */
export async function workOutside(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const over = new AbortController();
  let sitting: Sitting | undefined;
  const desk = await takeUp(node, worker, place, signal, async () => sitting?.letGo());
  try {
    const profile = place.outside.program(programOf(worker.spawned));
    sitting = new Sitting(node, worker, profile, desk, team, place, AbortSignal.any([signal, over.signal]));
    return await sitting.work();
  } catch (error) {
    return outcomeOf(error, signal);
  } finally {
    await sitting?.end(signal.aborted ? "at once" : "gently");
    over.abort(new Error("the work has ended"));
    desk.mailbox.close();
  }
}

class Sitting {
  readonly #node: NodeState;
  readonly #worker: WorkerState;
  readonly #profile: ProgramProfile;
  readonly #desk: Desk;
  readonly #place: Workplace;
  readonly #signal: AbortSignal;
  readonly #minutes: Minutes;
  readonly #allowance: Allowance;
  readonly #answers: LaterAnswers;
  readonly #tools: ReturnType<typeof guarded>;
  #approvals: Approvals | undefined;
  readonly #over = Promise.withResolvers<Outcome>();
  readonly #quiet = Promise.withResolvers<void>();
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

  constructor(
    node: NodeState,
    worker: WorkerState,
    profile: ProgramProfile,
    desk: Desk,
    team: Colleagues,
    place: Workplace,
    signal: AbortSignal,
  ) {
    this.#node = node;
    this.#worker = worker;
    this.#profile = profile;
    this.#desk = desk;
    this.#place = place;
    this.#signal = signal;
    const { model } = worker.spawned;
    const fail = (error: unknown) => this.#fail(error);
    this.#minutes = new Minutes(desk.actor, place, { model, turn: desk.begun?.turn ?? 1 });
    this.#allowance = new Allowance(model, desk.actor, place, signal, fail);
    const tell = (words: UserEntry, facts: NewFact[]) => this.#say([words], facts);
    this.#answers = new LaterAnswers(desk.actor, place, signal, tell, fail);
    const waits = () => {
      this.#waitsForNews = true;
    };
    const toolbox = doorToolbox(node, worker, desk, { human: this.#answers.port, waits }, team, place);
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
    const { begun } = this.#desk;
    const { ending, told } = await settlePast(begun?.history ?? [], this.#tools, this.#minutes, this.#signal);
    if (ending) return ending;
    if (this.#isOutOfTurns()) return { kind: "exhausted", turns: this.#place.maxTurns };
    const { system, words } = await this.#firstWords(told);
    await this.#allowance.begin();
    // What it spends nobody knows: it must not keep others from the money meanwhile.
    if (this.#profile.kind === "autonomous" || this.#profile.kind === "mesh") await this.#allowance.rest();
    this.#signal.addEventListener("abort", () => this.#fail(this.#signal.reason), { once: true });
    await this.#begin({ ...this.#jobFor(system), words, resume: begun ? this.#sessionBefore() : null });
    this.#answers.takeUp();
    this.#listen().catch((error: unknown) => this.#fail(error));
    this.#watch().catch(() => {});
    return this.#over.promise;
  }

  /** Its files are about to be published: from here on nobody writes them. */
  async letGo(): Promise<void> {
    this.#state = "gone";
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

  #context(): Record<string, unknown> {
    const { id, spec } = this.#node;
    const { run_id, task, deliverables, refs, role } = spec;
    const { name } = this.#worker.spawned;
    return { run_id, node_id: id, worker: name, ...(role !== undefined && { role }), task, deliverables, refs };
  }

  get #home(): string {
    return programHome(this.#place.log.dir, this.#node.spec.run_id, this.#worker.id);
  }

  #jobFor(system: string): Omit<OutsideJob, "words" | "resume"> {
    const { scope } = this.#desk;
    return {
      profile: this.#profile,
      system,
      model: modelFor(this.#worker.spawned),
      context: this.#context(),
      cwd: scope.cwd,
      home: this.#home,
      start: (launch) => this.#start(launch),
    };
  }

  async #start(launch: Parameters<OutsideJob["start"]>[0]) {
    const { scope, actor } = this.#desk;
    const { cwd, ...binds } = scope.binds();
    const stay = {
      profile: this.#profile,
      tools: this.#tools,
      binds,
      cwd,
      home: this.#home,
      launch,
      signal: this.#signal,
    };
    const running = await this.#place.outside.start(stay);
    this.#pid = running.pid;
    const usual = running.sandbox === "unsafe" ? "ask" : "allow";
    const policy = this.#profile.permissions ?? usual;
    this.#approvals ??= new Approvals(policy, this.#worker.spawned.name, actor, this.#place);
    const { worker_id, node_id } = actor;
    const command = this.#profile.command.join(" ");
    const started = { worker_id, node_id, pid: running.pid, command, sandbox: running.sandbox };
    await this.#minutes.note({ type: "process.started", data: started });
    return running;
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
    const { begun, scope, actor, cursor } = this.#desk;
    const node = this.#node;
    if (!begun) {
      const files = filesInWords(node, this.#desk, this.#place);
      const how = { rules: "outside-rules", files } as const;
      const tools = this.#tools;
      const { system } = await beginAssignment(node, this.#worker, scope, tools, actor, cursor, this.#place, how);
      return { system, words: node.spec.task };
    }
    const { system, history } = begun;
    const words = this.#sessionBefore() === null ? wordsAnew(node, history, told) : wordsAgain(history, told);
    await this.#minutes.heard([{ role: "user", from: "agiraph", content: TAKEN_UP }]);
    return { system, words };
  }

  #sessionBefore(): string | null {
    const session = this.#place.now().outside.sessions[this.#node.id];
    return session?.worker_id === this.#worker.id ? session.session_id : null;
  }

  async #follow(session: OutsideSession): Promise<void> {
    for await (const event of session.events) {
      if (session !== this.#session) return;
      this.#alive();
      await this.#take(event);
    }
  }

  async #take(event: OutsideEvent): Promise<void> {
    const minutes = this.#minutes;
    const { worker_id, node_id } = this.#desk.actor;
    switch (event.kind) {
      case "begun": {
        this.#hasBegun = true;
        const session_id = event.session_id;
        if (session_id !== null && session_id !== this.#sessionBefore())
          await minutes.note({ type: "worker.session", data: { worker_id, node_id: this.#node.id, session_id } });
        return;
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
        return this.#note(event.text);
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
    const id = `${this.#node.id}-${wish ?? this.#place.soon().seq}`;
    // Wished for again after a crash: it was dealt with.
    if (this.#desk.begun?.history.some((entry) => entry.role === "tool" && entry.call_id === id)) return;
    const result = await this.#tools.run({ type: "call", id, name: tool, args }, this.#signal);
    if (result.ok) return;
    this.#notes.push(result.content);
    await this.#say([{ role: "user", from: "agiraph", content: result.content }], []);
  }

  async #used({ model, usage, cost_usd }: Extract<OutsideEvent, { kind: "used" }>): Promise<void> {
    const usd = cost_usd ?? (await this.#place.outside.price(model, usage));
    this.#turnCost += usd ?? 0;
    await this.#minutes.used(model, usage, usd);
    this.#allowance.spent({ usd, tokens: usage.input + usage.output });
    if (this.#isOutOfTurns()) this.#resolve({ kind: "exhausted", turns: this.#place.maxTurns });
  }

  /** The contract bounds all tries together, but a try that nobody could begin would be none. */
  #isOutOfTurns(): boolean {
    return this.#minutes.turn > Math.max(this.#place.maxTurns, (this.#desk.begun?.tried ?? 0) + 1);
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
    await this.#minutes.used(this.#worker.spawned.model, NO_USAGE, rest);
    this.#allowance.spent({ usd: rest, tokens: 0 });
  }

  async #failure({ words, how, retryable = false }: Rested): Promise<Outcome> {
    const { worker_id, node_id } = this.#desk.actor;
    const message = words.trim() || "The program failed and did not say why.";
    const reason = how === "refused" ? "refused" : "outside";
    const failure = { model: this.#worker.spawned.model, turn: this.#minutes.turn, reason, message, retry_in_ms: null };
    await this.#minutes.note({ type: "model.failed", data: { worker_id, node_id, ...failure } });
    return how === "refused" && !retryable ? { kind: "abandoned", error: message } : { kind: "failed", error: message };
  }

  /** Its turn is over and the node is not: it is told the news, waits for something, or is reminded. */
  async #next(): Promise<void> {
    if (this.#desk.mailbox.waiting > 0) return this.#tell();
    const { worker_id, node_id } = this.#desk.actor;
    const reason = this.#answers.areOpen
      ? "human"
      : openBelow(this.#node, this.#place.soon().board).length > 0
        ? "children"
        : this.#waitsForNews
          ? "news"
          : null;
    if (reason !== null) {
      this.#isSeenWaiting = true;
      return this.#minutes.note({ type: "worker.waiting", data: { worker_id, node_id, for: reason } });
    }
    if (this.#node.spec.inference === "single") return this.#resolve(await this.#publishWords());
    this.#reminders += 1;
    if (this.#reminders > PATIENCE) return this.#resolve(await this.#publishAsItIs());
    const content =
      "Your turn is over and nothing is published. If the work is done, call publish of the agiraph server; otherwise go on.";
    await this.#say([{ role: "user", from: "agiraph", content }], []);
  }

  async #publishWords(): Promise<Outcome> {
    const content = [{ type: "text" as const, text: this.#lastWords }];
    const details = { model: this.#worker.spawned.model, usage: NO_USAGE, cost_usd: 0, finish: "stop" };
    const publish = publishAnswer(this.#node, this.#desk.scope, this.#desk.port);
    return publish({ reply: { role: "assistant", content, ...details }, inARow: 1 });
  }

  /** It will not publish, however often it is asked; what there is may be all the same what was wanted. */
  async #publishAsItIs(): Promise<Outcome> {
    const summary = this.#lastWords.trim().slice(0, 2000) || "(no words)";
    const published = await this.#desk.port.publish(summary, "", "must have ended");
    if (published.ok) return { kind: "published", summary };
    return {
      kind: "failed",
      error: `It ended its turn ${PATIENCE + 1} times and never published: ${published.reason}`,
    };
  }

  async #exited({ code, signal, exceeded }: Exited): Promise<void> {
    await this.#minutes.flush();
    const { worker_id, node_id } = this.#desk.actor;
    await this.#minutes.note({ type: "process.exited", data: { worker_id, node_id, pid: this.#pid, code, signal } });
    this.#quiet.resolve();
    if (this.#state === "gone" || this.#isOver) return;
    this.#state = "gone";
    const job = this.#job;
    if (job && !this.#hasBegun && job.resume !== null) {
      // Its session cannot be taken up any more: another one begins, with all that it needs to know.
      const words = wordsAnew(this.#node, this.#desk.begun?.history ?? [], []);
      return this.#begin({ ...job, words, resume: null });
    }
    const how = exceeded ? `it took more ${exceeded} than it may` : signal ? `signal ${signal}` : `exit code ${code}`;
    const notes = this.#notes.slice(-3).join("\n");
    this.#resolve({
      kind: "failed",
      error: `The program ended (${how}) without publishing.${notes && ` It said: ${notes}`}`,
    });
  }

  async #note(text: string): Promise<void> {
    this.#notes = [...this.#notes.slice(-9), text.slice(0, 500)];
    if (++this.#noted > MOST_NOTES) return;
    const { worker_id, node_id } = this.#desk.actor;
    const message = text.slice(0, 500);
    await this.#minutes.note({
      type: "model.warned",
      data: { worker_id, node_id, model: this.#worker.spawned.model, message },
    });
  }

  /** Mail is told as soon as it is there, whatever the program does. */
  async #listen(): Promise<void> {
    while (!this.#isOver) {
      await this.#desk.mailbox.arrived(this.#signal);
      if (hasEnded(this.#place.soon().board.nodes[this.#node.id])) return;
      await this.#tell();
    }
  }

  async #tell(): Promise<void> {
    await this.#say(() => newsOn(this.#node, this.#desk.mailbox, this.#place), []);
  }

  /** One after the other: what is taken from the mailbox is said before anything else is taken. */
  #say(what: UserEntry[] | (() => UserEntry[]), facts: NewFact[]): Promise<void> {
    const said = this.#saying.then(async () => {
      if (this.#isOver || this.#state === "gone") return;
      if (this.#state === "resting") await this.#allowance.begin();
      const entries = typeof what === "function" ? what() : what;
      if (entries.length === 0) return this.#state === "resting" ? this.#allowance.rest() : undefined;
      const { worker_id, node_id } = this.#desk.actor;
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
      if (left <= 0) return this.#resolve({ kind: "failed", error: `It gave no sign of life for ${seconds} s.` });
      await clock.sleep(left, this.#signal);
    }
  }

  #resolve(outcome: Outcome): void {
    this.#isOver = true;
    this.#over.resolve(outcome);
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#over.promise.catch(() => {});
    this.#over.reject(error);
  }
}
