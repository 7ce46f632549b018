import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact, StoredEntry } from "../../src/protocol/index.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import { runDir } from "../../src/store/paths.ts";
import type { AgentLog } from "../../src/store/store.ts";
import {
  type ProviderCall,
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { killRounds } from "./kill-rounds.ts";
import {
  configure,
  conversationsOf,
  expectAcknowledgedFacts,
  expectConversationsWhole,
  expectEffectsAtMostOnce,
  expectNodesOnce,
  factsOf,
  killAgainAndAgain,
  type Life,
  mulberry32,
} from "./killing.ts";

/**
 * Nothing acknowledged is lost or done twice by a whole team: the built program is killed with SIGKILL again and again while twenty workers
 * write, run commands, hand work down, write to each other and publish.
 *
 * KILL-TEAM-1. What it printed it had acknowledged: it is all there, unchanged.
 * KILL-TEAM-2. Every node is assigned once, published once and completed once, and nobody's command ran twice.
 * KILL-TEAM-3. Every message that was sent is told exactly once, by whoever it reached, and lies in `_messages/`.
 */
const ROUNDS = killRounds("team", 12, 20_261_115);
const TEAM = 20;

test.each(ROUNDS)(
  `a team of ${TEAM} is killed $kills times (seed $seed): nodes complete once, messages arrive once`,
  {
    timeout: 3_600_000,
  },
  async ({ kills: KILLS, seed: SEED }) => {
    await using home = await temporaryHome();
    let kills = 0;
    await using provider = await startProviderServer({
      respond: (request) => mindOf(request, () => kills < KILLS),
      forget: true,
    });
    await configure(home.path, provider.url, { max_concurrent: TEAM });

    const random = mulberry32(SEED);
    const { agent, acknowledged } = await killAgainAndAgain(
      home.path,
      (killed) => (killed < KILLS ? someLife(random) : undefined),
      (killed) => (kills = killed),
    );

    const store = await lookAtHome(home.path);
    const log = await store.open(agent);
    const facts = await log.read({ after: 0, limit: 1_000_000 });
    const conversations = await conversationsOf(log, facts);
    expectAcknowledgedFacts(facts, acknowledged);
    await expectNodesOnce(log, facts);
    expectConversationsWhole(conversations);
    await expectEffectsAtMostOnce(log, facts);
    await expectMessagesOnce(log, facts, conversations);
    expect(facts.at(-1)?.type).toBe("agent.completed");
    console.log(figuresOf(kills, facts, acknowledged.size));
    await store.close();
  },
);

/** Before and while it recovers (a quarter), while everybody is set to work again, and far into the work. */
function someLife(random: () => number): Life {
  const when = random();
  if (when < 0.25) return { facts: 0, lag: random() * 400 };
  return { facts: 1 + Math.floor(random() * (when < 0.6 ? 60 : 250)), lag: random() * 15 };
}

/** A stateless mind: what comes next follows from the conversation, as with a real model. */
function mindOf(request: ProviderRequest, goOn: () => boolean): ProviderTurn {
  return request.tools.includes("finish") ? coordinatorTurn(request, goOn()) : workerTurn(request);
}

/** Keeps as many nodes going as there are workers. A node whose making was cut off is heard of when it ends. */
function coordinatorTurn({ messages, turn }: ProviderRequest, goOn: boolean): ProviderTurn {
  const words = messages.map((message) => message.text).join("\n");
  const ended = numbersIn(words, /node-(\d+) completed by/g);
  const open = new Set([...numbersIn(words, /Created node-(\d+)/g)].filter((id) => !ended.has(id)));
  if (goOn && open.size < TEAM) {
    const calls = Array.from({ length: TEAM - open.size }, (_, i) => creation(`Piece ${turn}.${i}`));
    return { calls };
  }
  if (open.size > 0 || messages.at(-1)?.text.includes("Not finished")) return { text: "I wait for the news." };
  return { calls: [{ name: "finish", args: { summary: `${ended.size} pieces are done.` } }] };
}

const COLLEAGUES = "Alice Bob Carol David Erin Frank Grace Henry Iris Jack Kate Leo Mona Nina Oscar Paula".split(" ");

function workerTurn({ turn, system, messages }: ProviderRequest): ProviderTurn {
  const piece = /(?:Part of )?Piece [\d.]+/.exec(messages[0]?.text ?? "")?.[0] ?? "";
  const number = Number(piece.replaceAll(/\D/g, ""));
  const to = COLLEAGUES[number % COLLEAGUES.length] ?? "coordinator";
  const plan: (ProviderCall | undefined)[] = [
    { name: "write_file", args: { path: "scratch/report.md", content: piece } },
    { name: "send_message", args: { to: system.startsWith(`You are ${to}.`) ? "coordinator" : to, content: piece } },
    // Two processes a command: few of them, so that most of the time is the team's own.
    number % 3 === 0 ? { name: "bash", args: { command: `echo '${piece}' >> effects.txt` } } : undefined,
    number % 5 === 0 && piece.startsWith("Piece") ? creation(`Part of ${piece}`) : undefined,
  ];
  const call = plan.filter((step) => step !== undefined)[turn];
  if (call) return { calls: [call] };
  if (plan[3] && turn === plan.filter(Boolean).length) return { text: "I wait for my part." };
  // Woken by a colleague's word while the part still runs.
  if (messages.at(-1)?.text.includes("Not published")) return { text: "I wait for my part." };
  return { calls: [{ name: "publish", args: { summary: `${piece} is done.` } }] };
}

function creation(task: string): ProviderCall {
  return { name: "create_work_node", args: { task } };
}

function numbersIn(words: string, pattern: RegExp): Set<number> {
  return new Set([...words.matchAll(pattern)].map((match) => Number(match[1])));
}

/** KILL-TEAM-3. A run that is broken off lets what is left expire; this one ends well, so everything is told to somebody. */
async function expectMessagesOnce(
  log: AgentLog,
  facts: Fact[],
  conversations: ReadonlyMap<string, StoredEntry[]>,
): Promise<void> {
  const sent = factsOf(facts, "message.sent").map(({ data }) => data);
  expect(sent.map((message) => message.message_id)).toEqual(sent.map((_, at) => `msg-${at + 1}`));

  // Every piece of work is asked for once and writes once, so nothing here is there twice.
  expectEachOnce(sent.map((message) => message.text));
  expectEachOnce(factsOf(facts, "node.created").map((fact) => fact.data.task));
  const settled = [...factsOf(facts, "message.received"), ...factsOf(facts, "message.expired")];
  expect(settled.map((fact) => fact.data.message_id).sort()).toEqual(sent.map((message) => message.message_id).sort());

  const told = toldIn(conversations);
  for (const { data } of factsOf(facts, "message.received")) expect(told.get(data.message_id)).toEqual([data.by]);
  expect(factsOf(facts, "message.expired")).toEqual([]);

  expectEachOnce(factsOf(facts, "message.forwarded").map((fact) => fact.data.message_id));
  const done = facts.filter(
    (fact) => fact.type === "tool.result" && fact.data.tool === "send_message" && fact.data.ok,
  ).length;
  expect(sent.length).toBeGreaterThanOrEqual(done);
  const files = await readdir(join(runDir(log.dir, "run-1"), "_messages"));
  expect(files.map((file) => `_messages/${file}`).sort()).toEqual(sent.map((message) => message.file).sort());
}

function expectEachOnce(words: readonly string[]): void {
  expect(words).toEqual([...new Set(words)]);
}

/** Who was told which message, by what they were told with. */
function toldIn(conversations: ReadonlyMap<string, StoredEntry[]>): Map<string, string[]> {
  const told = new Map<string, string[]>();
  for (const [worker, entries] of conversations) {
    for (const entry of entries) {
      const messages = entry.role === "user" ? (entry.messages ?? []) : [];
      for (const id of messages) told.set(id, [...(told.get(id) ?? []), worker]);
    }
  }
  return told;
}

function figuresOf(kills: number, facts: Fact[], acknowledged: number): string {
  const count = (type: Fact["type"]) => facts.filter((fact) => fact.type === type).length;
  return (
    `killed ${kills} times over ${facts.length} facts, ${acknowledged} seen before a kill; ${count("worker.spawned") - 1} ` +
    `workers, ${count("node.completed")} nodes, ${count("message.sent")} messages (${count("message.forwarded")} forwarded), ` +
    `${count("process.started")} commands`
  );
}
