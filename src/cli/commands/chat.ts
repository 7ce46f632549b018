import { HeardWords } from "../../client/heard-words.ts";
import { apply, isAtWork, type Situation } from "../../projections/index.ts";
import type { DeltaFrame } from "../../protocol/api/events.ts";
import { COORDINATOR, type Fact, HUMAN } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { AgentLog } from "../../store/store.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { followElsewhere } from "../home/follow-elsewhere.ts";
import { liveHolder } from "../home/live-holder.ts";
import { lookAtAgent } from "../home/look.ts";
import { TalkPartner } from "../home/talk-partner.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { type ChatView, liveChat, plainChat } from "../live/chat-view.ts";
import { isAttended, isLive } from "../live/interactive.ts";
import { onInterrupt } from "../live/interrupts.ts";
import { whenParked } from "../live/parked.ts";
import { watchFacts } from "../live/watch-facts.ts";
import { listenToKeys, listenToLines } from "../talk/keyboard.ts";
import { TalkLine } from "../talk/talk-line.ts";
import { type Activity, applyToActivity } from "../wording/activity.ts";
import { boardTable } from "../wording/board-table.ts";
import { concernsHuman, saidIn, utteranceLines } from "../wording/chat-words.ts";
import { failureOf } from "../wording/failure.ts";
import { waitingLines } from "../wording/question-text.ts";
import { SpokenLines } from "../wording/spoken-lines.ts";
import { standingOf } from "../wording/standing.ts";

export async function chat(call: Invocation, word: string, options: { all?: boolean }): Promise<ExitCode> {
  const { settings, now, log } = await lookAtAgent(call, word);
  const partner = (onOpen: OnOpen) => new TalkPartner(call, settings, now.agent.id, onOpen);
  return new Chat(call, settings, { now, log }, partner).run(options);
}

type OnOpen = (agent: Agent) => Promise<() => void>;

/**
 * The running conversation, whichever process works on the agent: this one, or another, which is followed over its
 * event socket. While no process does, events are read from the log file.
 */
class Chat {
  readonly #call: Invocation;
  readonly #settings: Settings;
  readonly #now: Situation;
  readonly #log: AgentLog;
  readonly #partner: TalkPartner;
  readonly #talk: TalkLine;
  readonly #view: ChatView;
  readonly #activity: Activity = new Map();
  readonly #speech = new SpokenLines();
  /** Whose words are heard as they come. */
  readonly #heard = new Set<string>();
  #lastWords = "";
  #isNewTurn = true;
  readonly #ending = new AbortController();
  readonly #interrupted = new AbortController();
  readonly #isPerson: boolean;

  constructor(
    call: Invocation,
    settings: Settings,
    { now, log }: { now: Situation; log: AgentLog },
    partner: (onOpen: OnOpen) => TalkPartner,
  ) {
    const { terminal } = call;
    this.#call = call;
    this.#settings = settings;
    this.#now = now;
    this.#log = log;
    this.#isPerson = isAttended(call) && isLive(terminal) && terminal.stdout.isTTY === true;
    this.#partner = partner((agent) => this.#follow(agent));
    this.#talk = new TalkLine({
      now: () => now,
      say: (saying) => this.#partner.say(saying),
      note: (...lines) => this.#view.note(...lines),
      changed: () => this.#view.echo(),
      command: (what) => this.#obey(what),
      several: "named",
      receipts: this.#isPerson ? "unexpected" : "all",
      columns: () => (this.#isPerson ? (terminal.stderr.columns ?? 80) : undefined),
      paint: terminal.errPaint,
    });
    const { id, created } = now.agent;
    if (this.#isPerson) terminal.say(terminal.errPaint.dim(`${created.name} (${id})`));
    this.#view = this.#isPerson
      ? liveChat(
          terminal,
          () => now,
          () => (this.#partner.here ? now.agent.status : standingOf(now, liveHolder(settings.home))),
          this.#activity,
          (columns) => this.#talk.draw(columns),
        )
      : plainChat(terminal);
  }

  async run({ all }: { all?: boolean }): Promise<ExitCode> {
    onInterrupt(process, {
      first: () => {
        this.#interrupted.abort();
        this.#ending.abort();
      },
      second: () => {
        this.#view.close();
        process.exit(EXIT.interrupted);
      },
    });
    this.#call.terminal.readerLeft.addEventListener("abort", () => this.#ending.abort(), { once: true });
    // At once: what is typed before that is echoed by the terminal itself, and tears the view.
    const keys = this.#isPerson ? this.#listen() : undefined;
    await (all ? this.#tellAll() : this.#tellLast());
    const following = this.#followOthers().catch((error: unknown) => this.#wrong(error));
    this.#noteSeen();
    const deafen = keys ?? this.#listen();
    await aborted(this.#ending.signal);
    await this.#talk.said;
    const code = this.#isPerson ? EXIT.done : await this.#waitForTheEnd();
    deafen();
    await this.#leave();
    await following;
    return this.#interrupted.signal.aborted ? EXIT.interrupted : code;
  }

  async #tellLast(): Promise<void> {
    const said = this.#now.thread.filter(concernsHuman);
    const shown = said.slice(-LAST);
    if (said.length > shown.length && !this.#call.json)
      this.#view.note(
        `(${said.length - shown.length} older: ${commandLine(this.#call, "chat", this.#now.agent.id, "--all")})`,
      );
    for (const each of shown) {
      if (this.#call.json) await this.#call.terminal.printJson(each);
      else this.#view.tell(utteranceLines(each, this.#now));
    }
  }

  async #tellAll(): Promise<void> {
    for (let after = 0; !this.#ending.signal.aborted; ) {
      const page = await this.#log.read({ after, limit: PAGE });
      for (const fact of page) if (fact.seq <= this.#now.seq) await this.#tell(fact);
      const newest = page.at(-1);
      if (!newest || page.length < PAGE) return;
      after = newest.seq;
    }
  }

  #followOthers(): Promise<void> {
    const words = new HeardWords();
    const hearer = {
      after: () => this.#now.seq,
      fact: (fact: Fact) => {
        words.note(fact);
        void this.#onFact(fact);
      },
      delta: (delta: DeltaFrame) => this.#hear({ ...delta, text: words.hear(delta) }),
      lost: () => this.#heard.clear(),
    };
    return followElsewhere(this.#settings, this.#log, hearer, this.#ending.signal);
  }

  #hear({ worker_id, kind, text }: Pick<Delta, "worker_id" | "kind" | "text">): void {
    if (worker_id !== COORDINATOR || kind !== "text" || text === "" || this.#call.json) return;
    this.#heard.add(worker_id);
    this.#lastWords = this.#isNewTurn ? text : this.#lastWords + text;
    this.#isNewTurn = false;
    this.#say(worker_id, this.#speech.hear(worker_id, text));
  }

  /** It works here: its facts come sooner than by the file, and its words as they are said. */
  async #follow(agent: Agent): Promise<() => void> {
    const unhear = agent.onDelta((delta) => this.#hear(delta));
    const unwatch = await watchFacts(agent.log, this.#now.seq, (fact) => void this.#onFact(fact));
    return () => {
      unhear();
      unwatch();
      this.#heard.clear();
    };
  }

  /** By whichever way it comes first; the other one is too late (`seq`). */
  async #onFact(fact: Fact): Promise<void> {
    if (fact.seq !== this.#now.seq + 1) return;
    apply(this.#now, fact);
    applyToActivity(this.#activity, fact);
    if (fact.type === "model.responded") {
      this.#say(fact.data.worker_id, this.#speech.pause(fact.data.worker_id));
      if (fact.data.worker_id === COORDINATOR) this.#isNewTurn = true;
    }
    if (fact.type === "model.failed") {
      const { worker_id } = fact.data;
      this.#say(
        worker_id,
        this.#speech.pause(worker_id).map((text) => `${text} … (broke off)`),
      );
      if (worker_id === COORDINATOR) this.#isNewTurn = true;
    }
    if (!this.#wasHeard(fact)) await this.#tell(fact);
    this.#talk.look();
    if (fact.type === "message.sent" && fact.data.to === HUMAN) this.#noteSeen();
    this.#view.refresh();
  }

  /** Words that were shown while they were being said are not shown again as a message, or as the end. */
  #wasHeard(fact: Fact): boolean {
    if (fact.type === "message.sent") return fact.data.aloud === true && this.#heard.has(fact.data.from);
    return fact.type === "agent.completed" && this.#heard.has(COORDINATOR) && fact.data.summary === this.#lastWords;
  }

  async #tell(fact: Fact): Promise<void> {
    const said = saidIn(fact);
    if (said && this.#call.json) await this.#call.terminal.printJson(said);
    else if (said) this.#view.tell(utteranceLines(said, this.#now));
  }

  #say(id: string, lines: string[]): void {
    const who = id === COORDINATOR ? "coordinator" : id;
    this.#view.tell(lines.map((text) => ({ who, mark: "to_you", text })));
  }

  /** What a person has before their eyes is read. */
  #noteSeen(): void {
    if (!this.#isPerson || !Object.values(this.#now.letters.queued).some(({ reader }) => reader === HUMAN)) return;
    this.#partner.seen().catch(() => {});
  }

  #listen(): () => void {
    const { terminal } = this.#call;
    const handler = {
      press: this.#talk.press.bind(this.#talk),
      line: this.#talk.line.bind(this.#talk),
      clear: () => this.#talk.clear(),
      end: () => this.#ending.abort(),
    };
    return this.#isPerson ? listenToKeys(terminal, handler) : listenToLines(terminal.stdin, handler);
  }

  #obey(what: "board" | "stop" | "quit"): void {
    const { stderr, errPaint } = this.#call.terminal;
    if (what === "quit") this.#ending.abort();
    else if (what === "board")
      this.#view.note(...boardTable(this.#now, this.#now.agent.status, stderr.columns ?? 80, errPaint));
    else
      void this.#partner.stop().then(
        (words) => this.#view.note(words),
        (error: unknown) => this.#wrong(error),
      );
  }

  /** Everything was said; what works here works on until it ends, or until only a person could go on. */
  async #waitForTheEnd(): Promise<ExitCode> {
    const agent = this.#partner.here;
    if (!agent) return EXIT.done;
    const watching = new AbortController();
    const parked = whenParked(agent, watching.signal);
    await Promise.race([this.#partner.rested(), parked, aborted(this.#interrupted.signal)]);
    watching.abort();
    const { status } = agent.now.agent;
    if (status === "failed") return EXIT.failed;
    if (!isAtWork(status) || this.#interrupted.signal.aborted) return EXIT.done;
    this.#view.note(...waitingLines(this.#call, agent.now));
    return EXIT.waiting;
  }

  /** A person who leaves stops what works here, since nobody would go on with it; what waits for them waits on. */
  async #leave(): Promise<void> {
    const agent = this.#partner.here;
    const isWaiting = agent?.now.agent.status === "waiting_for_human";
    if (agent && isWaiting) await agent.halt();
    else await agent?.stop("human");
    await this.#partner.rested();
    this.#view.close();
    if (agent && !isWaiting) {
      this.#call.terminal.say(`Stopped. Continue with: ${commandLine(this.#call, "resume", agent.now.agent.id)}`);
    }
  }

  #wrong(error: unknown): void {
    this.#view.note(`${this.#call.terminal.errPaint.red("✗")} ${failureOf(error).message}`);
  }
}

const LAST = 20;
const PAGE = 1000;

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
