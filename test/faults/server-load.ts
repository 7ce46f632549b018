import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { ApiClient, ApiError } from "../../src/client/client.ts";
import type { AgentId, Fact } from "../../src/protocol/index.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import { EventClient } from "../../src/server/testing/event-client.ts";
import type { ProviderCall, ProviderRequest, ProviderTurn } from "../../src/testing/index.ts";

const MAIN = join(import.meta.dirname, "../../dist/bundle/main.js");

/** The built program, serving a home. Its log goes to a file, which may lie on a disk that gets full. */
export class ServedHome {
  readonly #home: string;
  readonly logFile: string;
  #child: ChildProcess | undefined;
  url = "";

  constructor(home: string, logFile = join(home, "server.log")) {
    this.#home = home;
    this.logFile = logFile;
  }

  async start(): Promise<void> {
    const log = openSync(this.logFile, "a");
    const child = spawn(process.execPath, [MAIN, "serve", "--json", "--port", "0", "--home", this.#home], {
      stdio: ["ignore", "pipe", log],
      cwd: this.#home,
    });
    closeSync(log);
    this.#child = child;
    if (!child.stdout) throw new Error("no pipe");
    const line = await Promise.race([
      once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text)),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`It ended with ${code}: ${this.log()}`))),
    ]);
    this.url = (JSON.parse(line) as { url: string }).url;
  }

  /** How it ended: its exit code, or the signal that ended it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | string> {
    const child = this.#child;
    if (!child) throw new Error("not started");
    this.#child = undefined;
    if (child.exitCode !== null) throw new Error(`It had ended with ${child.exitCode}: ${this.log()}`);
    const ended = once(child, "exit");
    child.kill(signal);
    const [code, by] = await ended;
    return code ?? by;
  }

  get token(): string {
    return readFileSync(join(this.#home, "token"), "utf8").trim();
  }

  get client(): ApiClient {
    return new ApiClient({ url: this.url, token: this.token });
  }

  async health(): Promise<{ code: number; status: unknown }> {
    const answer = await fetch(`${this.url}/healthz`);
    const { status } = (await answer.json()) as { status: unknown };
    return { code: answer.status, status };
  }

  log(): string {
    return readFileSync(this.logFile, "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child && this.#child.exitCode === null) await this.end("SIGKILL");
  }
}

/** Something that was said, and how the server answered: "cut" when it ended before it did. */
export interface Said {
  agent: string;
  text: string;
  answer: "taken" | "cut" | `${number} ${string}`;
}

/** People who create, send, nudge and respond as fast as they are answered, and look on. */
export class Crowd {
  readonly said: Said[] = [];
  /** Every fact that somebody was shown, by agent and number. */
  readonly shown = new Map<string, Map<number, unknown>>();
  readonly #served: ServedHome;
  #isOver = false;
  #number = 0;
  readonly #waiting = new Set<() => void>();
  readonly #followers = new Set<EventClient>();
  #people: Promise<void>[] = [];

  constructor(served: ServedHome) {
    this.#served = served;
  }

  get taken(): Said[] {
    return this.said.filter(({ answer }) => answer === "taken");
  }

  /** They come and go on until the server ends, or they are sent away. */
  come(agents: readonly string[], doing: "everything" | "answering" = "everything"): void {
    this.#isOver = false;
    this.#people.push(...agents.map((agent) => this.#lookOn(agent)));
    if (doing === "answering") return;
    this.#people.push(...agents.map((agent) => this.#speak(agent)), this.#create());
  }

  async leave(): Promise<void> {
    this.#isOver = true;
    this.#tell();
    for (const { socket } of this.#followers) socket.terminate();
    await Promise.all(this.#people);
    this.#people = [];
  }

  /** Resolves when so many more have been answered, however. */
  answered(count: number): Promise<void> {
    const target = this.said.length + count;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.said.length < target && !this.#isOver) return;
      this.#waiting.delete(look);
      resolve();
    };
    this.#waiting.add(look);
    look();
    return promise;
  }

  async #speak(agent: string): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const deed = turn % 3 === 0 ? "nudge" : "send";
      await this.#say(agent, (text) => this.#served.client.give({ do: deed, id: agent, message: text }));
    }
  }

  /** Those that are open, then each as it is asked. */
  async #answer(agent: string, follower: EventClient): Promise<void> {
    const asked = new Set<string>();
    const answer = async (id: string) => {
      if (asked.has(id)) return;
      asked.add(id);
      await this.#say(agent, (text) =>
        this.#served.client.give({ do: "respond", id: agent, response: text, question_id: id }),
      );
    };
    follower.socket.on("message", (bytes) => {
      const { type, data } = JSON.parse(String(bytes)) as Fact;
      if (type === "human.question") void answer(data.question_id);
    });
    const { questions } = await this.#served.client.questions(agent).catch(() => ({ questions: [] }));
    for (const { id } of questions) await answer(id);
  }

  /** Small agents that end at once: one after another, for as long as somebody else speaks. */
  async #create(): Promise<void> {
    while (!this.#isOver) {
      await this.#say("", async (text) => (await this.#served.client.give({ do: "create", goal: text })).id);
      await this.answered(10);
    }
  }

  /** One who says a thing says it once: what was cut off may have been heard. */
  async #say(agent: string, say: (text: string) => Promise<unknown>): Promise<void> {
    const text = `word-${++this.#number}.`;
    const told: Said = { agent, text, answer: "cut" };
    try {
      const answer = await say(text);
      told.answer = "taken";
      if (agent === "") told.agent = String(answer);
    } catch (error) {
      if (error instanceof ApiError) told.answer = `${error.status} ${error.code}`;
      else this.#isOver = true; // the server is gone
    }
    this.said.push(told);
    this.#tell();
  }

  #tell(): void {
    for (const look of [...this.#waiting]) look();
  }

  async #lookOn(agent: string): Promise<void> {
    const { url, token } = this.#served;
    const seen = this.shown.get(agent) ?? new Map<number, unknown>();
    this.shown.set(agent, seen);
    const after = Math.max(0, ...seen.keys());
    const follower = new EventClient(`${url.replace("http", "ws")}/agents/${agent}/events?after=${after}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    this.#followers.add(follower);
    await this.#answer(agent, follower);
    await follower.closed;
    this.#followers.delete(follower);
    for (const frame of follower.frames) if (frame.seq !== undefined) seen.set(frame.seq, frame);
  }
}

/**
 * What was taken is in the log exactly once, what was refused is not there, what was cut off is there at most once;
 * every fact that somebody was shown is there unchanged; and the numbers have no holes.
 */
export async function expectKept(home: string, { said, shown }: Crowd): Promise<Map<string, Fact[]>> {
  const store = await lookAtHome(home);
  const logs = new Map<string, Fact[]>();
  for (const id of await store.agents())
    logs.set(id, await (await store.open(id)).read({ after: 0, limit: 1_000_000 }));
  const words = [...logs].flatMap(([agent, facts]) =>
    facts.flatMap((fact) => wordsIn(fact).map((text) => ({ agent, text }))),
  );
  const times = Map.groupBy(words, ({ text }) => text);
  const wrong = said.filter(({ agent, text, answer }) => {
    const found = times.get(text) ?? [];
    if (answer === "taken") return found.length !== 1 || found[0]?.agent !== agent;
    return found.length > (answer === "cut" ? 1 : 0);
  });
  expect(wrong).toEqual([]);
  for (const facts of logs.values()) expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, at) => at + 1));
  for (const [agent, facts] of shown) {
    const bySeq = new Map(logs.get(agent)?.map((fact) => [fact.seq, fact]));
    expect([...facts].filter(([seq, fact]) => JSON.stringify(bySeq.get(seq)) !== JSON.stringify(fact))).toEqual([]);
  }
  await store.close();
  return logs;
}

function wordsIn({ type, data }: Fact): string[] {
  if (type === "message.sent") return data.from === "human" ? [data.text] : [];
  if (type === "human.nudge" || type === "human.response") return [data.text];
  return type === "agent.created" ? [data.goal] : [];
}

export const OPEN_NODES = 3;

/** A stateless mind: teams that never run out of work until they are to end, and small agents that end at once. */
export function mindOf({ messages, tools, system, turn }: ProviderRequest, goOn: boolean): ProviderTurn {
  if (!tools.includes("finish")) return workerTurn(messages[0]?.text ?? "", turn);
  const words = messages.map((message) => message.text).join("\n");
  if (!`${system}\n${words}`.includes("Work under fire"))
    return { calls: [{ name: "finish", args: { summary: "Done." } }] };
  const ended = numbersIn(words, /node-(\d+) completed by/g);
  const open = [...numbersIn(words, /Created node-(\d+)/g)].filter((id) => !ended.has(id));
  if (goOn && open.length < OPEN_NODES)
    return { calls: Array.from({ length: OPEN_NODES - open.length }, (_, i) => creation(`Piece ${turn}.${i}`)) };
  if (open.length > 0 || messages.at(-1)?.text.includes("Not finished")) return { text: "I wait for the news." };
  return { calls: [{ name: "finish", args: { summary: `${ended.size} pieces are done.` } }] };
}

/** A file, for a third of them a question to the human, and the result. */
function workerTurn(task: string, turn: number): ProviderTurn {
  const piece = /Piece [\d.]+/.exec(task)?.[0] ?? "";
  const plan: ProviderCall[] = [{ name: "write_file", args: { path: "scratch/report.md", content: piece } }];
  if (piece.endsWith(".0")) plan.push({ name: "ask_human", args: { question: `May I go on with ${piece}?` } });
  plan.push({ name: "publish", args: { summary: `${piece} is done.` } });
  return { calls: [plan[turn] ?? { name: "publish", args: { summary: `${piece} is done.` } }] };
}

function creation(task: string): ProviderCall {
  return { name: "create_work_node", args: { task } };
}

function numbersIn(words: string, pattern: RegExp): Set<number> {
  return new Set([...words.matchAll(pattern)].map((match) => Number(match[1])));
}

/** Resolves when the agent has ended its work, as somebody who looks on sees it. */
export async function completed(served: ServedHome, agent: AgentId | string): Promise<void> {
  const follower = new EventClient(`${served.url.replace("http", "ws")}/agents/${agent}/events`, {
    headers: { authorization: `Bearer ${served.token}` },
  });
  await follower.until((frames) => frames.at(-1)?.type === "agent.completed");
  follower.socket.terminate();
}
