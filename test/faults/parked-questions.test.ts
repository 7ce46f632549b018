import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "../../src/mail/channels/signature.ts";
import type { Config } from "../../src/protocol/config.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import { situationOf } from "../../src/runtime/state/situations.ts";
import type { AgentLog } from "../../src/store/store.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../src/testing/webhook-receiver.ts";
import { configure, conversationsOf, expectConversationsWhole, factsOf } from "./killing.ts";

/**
 * Fifty questions wait over ten agents while the process that asked them is killed with SIGKILL, twice: once when all
 * are parked, once in the middle of the answers, which come by different channels.
 *
 * PARKED-1. Every question is asked elsewhere at least once, whichever process asked it, under one delivery id.
 * PARKED-2. Whoever asked goes on exactly once, with the answer to its own question, by whatever channel it came first.
 * PARKED-3. An answer to a question that was answered is refused, by every channel and after every restart.
 */
const AGENTS = 10;
const EACH = 5;
const SECRET = "a secret of the house";

test(`${AGENTS * EACH} parked questions over ${AGENTS} agents are killed twice and answered by three channels: each resumes exactly once`, {
  timeout: 120_000,
}, async () => {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ respond: mindOf, forget: true });
  await using receiver = await startWebhookReceiver();
  const channel = { type: "webhook", url: receiver.url, secret: SECRET, listen: { port: 0 } } as const;
  const channels: Config["channels"] = { pager: channel, desk: { ...channel, to: ["questions"] } };
  await configure(home.path, provider.url, { channels, max_concurrent: EACH });

  await using first = startHouse(home.path, AGENTS);
  await first.parked(AGENTS * EACH);
  await first.kill();

  const questions = [...first.questions].sort();
  const answered = new Set<string>();
  await using second = startHouse(home.path);
  await second.parked(AGENTS * EACH);
  await askedElsewhere(receiver, questions);
  for (const [at, question] of questions.slice(0, 20).entries())
    if (await second.answer(question, at % 3)) answered.add(question);
  // Nobody knows whether these arrive before the kill.
  for (const [at, question] of questions.slice(20, 26).entries()) void second.answer(question, at % 3).catch(() => {});
  await second.kill();

  await using third = startHouse(home.path);
  await third.port;
  const again = [...answered].slice(0, 6);
  expect(await Promise.all(again.map((question, at) => third.answer(question, at % 3, "too late")))).toEqual(
    again.map(() => false),
  );
  const left = questions.filter((question) => !answered.has(question));
  await Promise.all(left.map((question, at) => third.answer(question, (at + 1) % 3)));
  await third.completed;

  const store = await lookAtHome(home.path);
  const ids = await store.agents();
  expect(ids.length).toBe(AGENTS);
  const by = await Promise.all(ids.map(async (id) => expectEachAnsweredOnce(await store.open(id))));
  expect([...new Set(by.flat())].sort()).toEqual(["terminal", "webhook:desk", "webhook:pager"]);
  await store.close();
  expectOneDeliveryIdEach(receiver, questions);
});

/** A stateless mind: what comes next follows from the conversation, as with a real model. */
function mindOf(request: ProviderRequest): ProviderTurn {
  return request.tools.includes("finish") ? coordinatorTurn(request) : workerTurn(request);
}

function coordinatorTurn({ system, messages, turn }: ProviderRequest): ProviderTurn {
  const words = `${system}\n${messages.map((message) => message.text).join("\n")}`;
  const goal = /Goal (\d+)/.exec(words)?.[1];
  if (turn === 0) {
    const tasks = Array.from({ length: EACH }, (_, at) => `Piece ${goal}.${at + 1}.`);
    return { calls: tasks.map((task) => ({ name: "create_work_node", args: { task } })) };
  }
  const ended = new Set([...words.matchAll(/node-(\d+) completed by/g)].map((match) => match[1]));
  if (ended.size < EACH) return { text: "I wait for the news." };
  return { calls: [{ name: "finish", args: { summary: `Goal ${goal} is done.` } }] };
}

function workerTurn({ messages, turn }: ProviderRequest): ProviderTurn {
  const piece = /Piece \d+\.\d+/.exec(messages[0]?.text ?? "")?.[0] ?? "";
  const write = { name: "write_file", args: { path: "scratch/report.md", content: piece } };
  const ask = { name: "ask_human", args: { question: `What of ${piece}?` } };
  const publish = { name: "publish", args: { summary: `${piece} is done.` } };
  return { calls: [[write, ask][turn] ?? publish] };
}

interface House extends AsyncDisposable {
  /** `AGENT QUESTION` of each that waits. */
  questions: ReadonlySet<string>;
  port: Promise<number>;
  completed: Promise<void>;
  parked(count: number): Promise<void>;
  /** By the terminal, or one of the webhooks. Resolves with whether it was taken. */
  answer(question: string, by: number, text?: string): Promise<boolean>;
  kill(): Promise<void>;
}

function startHouse(home: string, count = 0): House {
  const child = spawn(process.execPath, [join(import.meta.dirname, "parked-child.ts"), home, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const questions = new Set<string>();
  const heard = new Set<(line: string) => boolean>();
  const lineOf = (isIt: (line: string) => boolean) =>
    new Promise<string>((resolve) => {
      const hear = (line: string) => {
        if (isIt(line)) resolve(line);
        return isIt(line);
      };
      heard.add(hear);
    });
  const port = lineOf((line) => line.startsWith("listener ")).then((line) => Number(line.slice("listener ".length)));
  const completed = lineOf((line) => line === "completed").then(() => {});
  if (!child.stdout || !child.stdin) throw new Error("no pipes");
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("parked ")) questions.add(line.slice(7));
    for (const hear of heard) if (hear(line)) heard.delete(hear);
  });
  const { stdin } = child;
  stdin.on("error", () => {}); // killed under our hands
  return {
    questions,
    port,
    completed,
    async parked(count) {
      if (questions.size < count) await lineOf(() => questions.size >= count);
    },
    async answer(question, by, text = answerTo(question)) {
      const [agent_id = "", question_id = ""] = question.split(" ");
      const body = JSON.stringify({ agent_id, question_id, response: text });
      if (by > 0) return answerByWebhook(await port, by === 1 ? "pager" : "desk", body);
      const told = lineOf((line) => line.endsWith(` ${question}`) && !line.startsWith("parked"));
      stdin.write(`${body}\n`);
      return (await told).startsWith("answered");
    },
    kill: () => killed(child),
    [Symbol.asyncDispose]: () => killed(child),
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

let signings = 0;

async function answerByWebhook(port: number, name: string, body: string): Promise<boolean> {
  const timestamp = ((Date.now() + ++signings) / 1000).toFixed(3);
  const { status } = await fetch(`http://127.0.0.1:${port}/webhooks/${name}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      [TIMESTAMP_HEADER]: timestamp,
      [SIGNATURE_HEADER]: signatureOf(SECRET, timestamp, body),
    },
  });
  expect([200, 409]).toContain(status);
  return status === 200;
}

function answerTo(question: string): string {
  return `the answer to ${question}`;
}

/** PARKED-1: by both channels, before anybody answers. */
async function askedElsewhere(receiver: WebhookReceiver, questions: readonly string[]): Promise<void> {
  for (let count = questions.length * 2; deliveriesOf(receiver).size < questions.length * 2; count++)
    await receiver.got(count);
}

/** What was asked elsewhere, by delivery id. */
function deliveriesOf({ received }: WebhookReceiver): Map<string, string> {
  const asked = received
    .map(({ body }) => JSON.parse(body))
    .filter(({ kind }) => kind === "question")
    .map(({ delivery, agent, question }): [string, string] => [delivery, `${agent.id} ${question.id}`]);
  return new Map(asked);
}

function expectOneDeliveryIdEach(receiver: WebhookReceiver, questions: readonly string[]): void {
  const asked = [...deliveriesOf(receiver).values()].sort();
  expect(asked).toEqual(questions.flatMap((question) => [question, question]).sort());
}

/** PARKED-2, PARKED-3. Resolves with the channels the answers came by. */
async function expectEachAnsweredOnce(log: AgentLog): Promise<string[]> {
  const facts = await log.read({ after: 0, limit: 1_000_000 });
  const conversations = await conversationsOf(log, facts);
  expectConversationsWhole(conversations);
  const questions = factsOf(facts, "human.question").map(({ data }) => data);
  expect(questions.map(({ question_id }) => question_id)).toEqual(questions.map((_, at) => `question-${at + 1}`));
  expect(questions.length).toBe(EACH);
  const responses = factsOf(facts, "human.response").map(({ data }) => data);
  expect(responses.map(({ question_id }) => question_id).sort()).toEqual(questions.map((each) => each.question_id));
  for (const { worker_id, call_id, question_id } of questions) {
    const results = (conversations.get(worker_id) ?? []).filter(
      (entry) => entry.role === "tool" && entry.call_id === call_id,
    );
    expect(results.map((entry) => "content" in entry && entry.content)).toEqual([
      `Your human answers: ${answerTo(`${log.id} ${question_id}`)}`,
    ]);
  }
  const asked = [...conversations.values()]
    .flat()
    .filter((entry) => entry.role === "tool" && entry.tool === "ask_human");
  expect(asked.length).toBe(EACH);
  const completed = factsOf(facts, "node.completed").map(({ data }) => data.node_id);
  expect(completed.sort()).toEqual(Array.from({ length: EACH }, (_, at) => `node-${at + 1}`));
  expect((await situationOf(log)).agent.status).toBe("completed");
  return responses.map(({ channel }) => channel);
}
