import { isAtWork, type Situation } from "../../projections/index.ts";
import type { CommandResult, CommandToAgent } from "../../protocol/commands.ts";
import { type Fact, HUMAN } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { asCalled, commandLine, type Invocation } from "../invocation.ts";
import { isAttended, isLive } from "../live/interactive.ts";
import { type Interrupt, onInterrupt } from "../live/interrupts.ts";
import { whenParked } from "../live/parked.ts";
import { jsonView, liveView, plainView, type TeamView } from "../live/team-view.ts";
import { watchFacts } from "../live/watch-facts.ts";
import { adviceLines } from "../wording/advice-lines.ts";
import { boardTable } from "../wording/board-table.ts";
import { costOf, count, elapsedTime, type Spent, spentIn, spentSince } from "../wording/format.ts";
import { waitingLines } from "../wording/question-text.ts";
import { branchAtEnd } from "../wording/repository-lines.ts";
import {
  restingWords,
  retryWords,
  somethingElse,
  triesAgain,
  triggersLeft,
  waitsForTriggers,
} from "../wording/resting.ts";
import { resultLines } from "../wording/result.ts";
import { raisingWords } from "../wording/resume-needs.ts";
import { undoneWords } from "../wording/undone.ts";
import { plain } from "../wording/width.ts";
import { listenToKeys, listenToLines } from "./keyboard.ts";
import { TalkLine } from "./talk-line.ts";
import type { Saying } from "./typed-line.ts";

/** A note to print if there is one; nobody waits for it. */
export type Remark = Promise<string | undefined>;

/** Whether to exit when the work ends, or to stay with a finished agent for what its triggers will do. */
export type Stay = "to_the_end" | "for_triggers";
/** An agent that is watched and talked to, in this process or another. */
export interface WatchedAgent extends Pick<Agent, "onDelta" | "idle"> {
  readonly now: Situation;
  log: Pick<Agent["log"], "seq" | "dir" | "read" | "subscribe">;
  /** Resolves once it is on disk. */
  give<C extends Saying["do"] | "stop" | "seen">(command: CommandToAgent<C>): Promise<CommandResult<C>>;
  /** The signal that came before anybody watched. */
  readonly signalled?: Interrupt | undefined;
  /** Something about the process that works on it, for the person. */
  onNote?(listener: (words: string) => void): void;
}

/** Shows an agent's team at work until it ends, stops it when asked to, and prints the outcome. */
export async function watchTeam(
  agent: WatchedAgent,
  after: number,
  call: Invocation,
  remarks: Remark[] = [],
  stay: Stay = "to_the_end",
): Promise<ExitCode> {
  const began = performance.now();
  const before = after > 0 ? spentIn(agent.now.spending.total) : undefined;
  const attended = isAttended(call);
  const { view, talk } = attended
    ? talkingView(call, agent, before)
    : { view: viewFor(call, agent, before), talk: undefined };
  const interrupted = obeyInterrupts(agent, call, view);
  // Through the view: anybody else writing to the terminal would tear the live region.
  for (const remark of remarks) void remark.then((words) => words && view.note(words));
  agent.onNote?.((words) => view.note(words));
  const unhear = agent.onDelta((delta) => view.delta(delta));
  const watching = new AbortController();
  let unwatch = () => {};
  try {
    unwatch = await watchFacts(agent.log, after, (fact) => {
      view.fact(fact);
      talk?.look();
      if (attended && isForHuman(fact)) void agent.give({ do: "seen" }).catch(() => {});
    });
    // What was asked before is not told by a fact that is still to come.
    if (after > 0) talk?.showOpen();
    // Where nobody can answer, nobody waits: the agent stays as it is, and goes on with its answer.
    const parked = attended ? [] : [whenParked(agent, watching.signal).then(() => "parked" as const)];
    for (let seq = -1; agent.log.seq > seq; ) {
      seq = agent.log.seq;
      if ((await Promise.race([ended(agent, talk), ...parked])) === "parked") break;
      // What was typed in the last moment may be its next goal.
      if (isAtWork(agent.now.agent.status)) continue;
      // As in the server: an infinite agent whose provider is away tries again, and nobody has to start it for that.
      if (triesAgain(agent.now) && !interrupted.aborted) {
        view.note(`${retryWords(agent.now)} Ctrl-C leaves.`);
        await somethingElse(agent, interrupted);
        seq = -1;
        continue;
      }
      if (stay === "to_the_end" || !waitsForTriggers(agent.now) || interrupted.aborted) break;
      view.note(`${restingWords(agent.now)} Ctrl-C leaves.`);
      await somethingElse(agent, interrupted);
      seq = -1;
    }
  } finally {
    watching.abort();
    unhear();
    unwatch();
    view.close();
  }
  if (stay === "for_triggers" && agent.now.agent.status === "completed") {
    call.terminal.say(triggersLeft(agent.now, call) ?? `${agent.now.agent.created.name} has no triggers any more.`);
    return interrupted.aborted ? EXIT.interrupted : EXIT.done;
  }
  const code = await tellEnding(agent, call, (performance.now() - began) / 1000, before);
  return interrupted.aborted && triesAgain(agent.now) ? EXIT.interrupted : code;
}

async function ended(agent: WatchedAgent, talk: TalkLine | undefined): Promise<"ended"> {
  await agent.idle();
  await talk?.said;
  return "ended";
}

function isForHuman(fact: Fact): boolean {
  return fact.type === "message.sent" && (fact.data.reader ?? fact.data.to) === HUMAN;
}

function viewFor({ json, terminal }: Invocation, agent: WatchedAgent, before: Spent | undefined): TeamView {
  if (json) return jsonView(terminal);
  const now = () => agent.now;
  return isLive(terminal) ? liveView(terminal, now, undefined, before) : plainView(terminal, now);
}

/** The team at work, and a line to talk to it. */
function talkingView(
  { terminal }: Invocation,
  agent: WatchedAgent,
  before: Spent | undefined,
): { view: TeamView; talk: TalkLine } {
  const talk: TalkLine = new TalkLine({
    now: () => agent.now,
    say: async (saying) => (await agent.give(saying)).detail,
    note: (...lines) => view.note(lines.join("\n")),
    changed: () => view.echo(),
    several: "first",
    receipts: "unexpected",
    columns: () => (isLive(terminal) ? (terminal.stderr.columns ?? 80) : undefined),
    paint: terminal.errPaint,
    command: (what) => {
      if (what === "stop") process.kill(process.pid, "SIGINT");
      else if (what === "quit") view.note("It works in this terminal: Ctrl-C stops it.");
      else
        view.note(
          boardTable(agent.now, agent.now.agent.status, terminal.stderr.columns ?? 80, terminal.errPaint).join("\n"),
        );
    },
  });
  const view: TeamView = isLive(terminal)
    ? liveView(
        terminal,
        () => agent.now,
        (columns) => talk.draw(columns),
        before,
      )
    : plainView(terminal, () => agent.now);
  const handler = { press: talk.press.bind(talk), line: talk.line.bind(talk), clear: () => talk.clear() };
  const deafen = isLive(terminal) ? listenToKeys(terminal, handler) : listenToLines(terminal.stdin, handler);
  return {
    talk,
    view: {
      ...view,
      close() {
        deafen();
        view.close();
      },
    },
  };
}

/** To the end of the process: anyone who presses Ctrl-C while it is closing its files means to leave it too. */
function obeyInterrupts(agent: WatchedAgent, call: Invocation, view: TeamView): AbortSignal {
  const { terminal } = call;
  const interrupted = new AbortController();
  // When stopping fails, so does waiting for the end, and that is reported.
  const stop = (because?: "terminal_closed" | "terminated" | "reader_left") => {
    interrupted.abort();
    agent.give({ do: "stop", ...(because && { because }) }).catch(() => {});
  };
  terminal.readerLeft.addEventListener("abort", () => stop("reader_left"), { once: true });
  const first = (signal: Interrupt) => {
    if (isAtWork(agent.now.agent.status)) view.note("Stopping … (Ctrl-C again quits at once)");
    stop(signal === "SIGINT" ? undefined : signal === "SIGHUP" ? "terminal_closed" : "terminated");
  };
  const second = () => {
    view.close();
    terminal.say(`Detached. Continue with: ${commandLine(call, "resume", agent.now.agent.id)}`);
    const leave = () => process.exit(EXIT.interrupted);
    setTimeout(leave, LEAVE_AT_ONCE_MS);
    void terminal.drained().then(leave);
  };
  onInterrupt(process, { first, second }, agent.signalled);
  return interrupted.signal;
}

/** A reader that is stuck must not hold back somebody who pressed Ctrl-C twice. */
const LEAVE_AT_ONCE_MS = 200;

/** What this call of the program had done, and what the agent spent in all where that is more. */
function figuresOf(total: Spent, before: Spent | undefined, seconds: number): string {
  const { calls, inAll, ...cost } = spentSince(before, total);
  return `${count(calls, "model call")}, ${costOf(cost)}, ${elapsedTime(seconds)}${inAll}`;
}

function advise({ terminal }: Invocation, words: string, ...commands: string[]): void {
  const { isTTY, columns = 80 } = terminal.stderr;
  for (const line of adviceLines(words, commands, isTTY ? columns : undefined)) terminal.say(line);
}

async function tellEnding(
  agent: WatchedAgent,
  call: Invocation,
  seconds: number,
  before: Spent | undefined,
): Promise<ExitCode> {
  const code = await tellStatus(agent, call, seconds, before);
  const branch = code === EXIT.waiting ? undefined : branchAtEnd(agent.now, (...words) => commandLine(call, ...words));
  if (branch) advise(call, branch.words, ...branch.commands);
  return code;
}

async function tellStatus(
  { now, log }: WatchedAgent,
  call: Invocation,
  seconds: number,
  before: Spent | undefined,
): Promise<ExitCode> {
  const { terminal, json } = call;
  const { agent, spending } = now;
  const paint = terminal.errPaint;
  const id = agent.id;
  if (!json) await terminal.printLines(await resultLines(now, log.dir, terminal.columns));
  const figures = figuresOf(spentIn(spending.total), before, seconds);
  const undone = undoneWords(now);
  switch (agent.status) {
    case "completed": {
      const mark = undone === "" ? paint.green("✓") : paint.yellow("✓");
      const done = undone === "" ? "has finished" : `has finished, but ${undone}`;
      advise(call, `${mark} ${agent.created.name} ${done}: ${figures}`, `Details: ${commandLine(call, "show", id)}`);
      const left = triggersLeft(now, call);
      if (left) terminal.say(left);
      return EXIT.done;
    }
    case "paused":
      advise(call, `Paused after ${figures}`, `Continue with: ${commandLine(call, "resume", id)}`);
      return EXIT.interrupted;
    case "stopped":
      advise(call, `Stopped after ${figures}`, `Continue with: ${commandLine(call, "resume", id)}`);
      return EXIT.interrupted;
    case "waiting_for_human":
      terminal.say(`${paint.yellow("?")} ${agent.created.name} waits for you after ${figures}.`);
      for (const line of waitingLines(call, now)) terminal.say(line);
      return EXIT.waiting;
    case "failed":
      terminal.say(
        `${paint.red("✗")} ${agent.created.name} failed: ${plain(asCalled(agent.error ?? "no reason was given", terminal.env))}`,
      );
      if (undone !== "") terminal.say(`  ${undone}.`);
      advise(
        call,
        `  ${figures}`,
        `What happened: ${commandLine(call, "logs", id)}`,
        `Try again: ${commandLine(call, "resume", id)}${raisingWords(now)}`,
      );
      return EXIT.failed;
    default:
      terminal.say(`${agent.created.name} is ${agent.status}. Continue with: ${commandLine(call, "resume", id)}`);
      return EXIT.failed;
  }
}
