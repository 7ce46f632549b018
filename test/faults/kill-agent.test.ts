import { expect, test } from "vitest";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import {
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
  mulberry32,
} from "./killing.ts";

/**
 * Nothing acknowledged is lost or done twice, for real: the built program is killed with SIGKILL again and again while a coordinator hands out
 * nodes and workers write, run commands and publish. What it printed it had acknowledged; in the end all of that is
 * there, once, no command ran twice, and the run has finished.
 */
const ROUNDS = killRounds("agent", 12, 20_261_115);

test.each(ROUNDS)(
  "a working agent is killed $kills times (seed $seed), loses nothing, doubles nothing, leaves no process, and finishes",
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
    await configure(home.path, provider.url);

    const random = mulberry32(SEED);
    const { agent, acknowledged } = await killAgainAndAgain(
      home.path,
      (killed) => (killed < KILLS ? { facts: Math.floor(random() * 40), lag: random() * 15 } : undefined),
      (killed) => (kills = killed),
    );

    const store = await lookAtHome(home.path);
    const log = await store.open(agent);
    const facts = await log.read({ after: 0, limit: 1_000_000 });
    expectAcknowledgedFacts(facts, acknowledged);
    await expectNodesOnce(log, facts);
    expectConversationsWhole(await conversationsOf(log, facts));
    await expectEffectsAtMostOnce(log, facts);
    expect(facts.at(-1)?.type).toBe("agent.completed");
    const nodes = factsOf(facts, "node.completed").length;
    console.log(
      `killed ${kills} times over ${facts.length} facts, ${acknowledged.size} seen before a kill, ${nodes} nodes completed`,
    );
    await store.close();
  },
);

/** A stateless mind: what comes next follows from the conversation, as with a real model. */
function mindOf(request: ProviderRequest, goOn: () => boolean): ProviderTurn {
  const words = request.messages.map((message) => message.text).join("\n");
  const last = request.messages.at(-1)?.text ?? "";
  return request.tools.some((tool) => tool === "finish") ? coordinatorTurn(words, last, goOn) : workerTurn(request);
}

function coordinatorTurn(words: string, last: string, goOn: () => boolean): ProviderTurn {
  if (last.includes("Outcome unknown")) return { calls: [{ name: "list_files", args: { path: "nodes" } }] };
  const created = highest(words, /(?:Created node-|nodes\/node-)(\d+)/g);
  const completed = highest(words, /node-(\d+) completed/g);
  if (created > completed) return { text: "I wait for the news." };
  if (goOn()) return { calls: [{ name: "create_work_node", args: { task: `Piece ${created + 1}` } }] };
  return { calls: [{ name: "finish", args: { summary: `${completed} pieces are done.` } }] };
}

function workerTurn({ turn, messages }: ProviderRequest): ProviderTurn {
  const piece = /Piece (\d+)/.exec(messages[0]?.text ?? "")?.[1];
  if (turn === 1 || turn === 3)
    return { calls: [{ name: "bash", args: { command: `echo ${piece}.${turn} >> effects.txt` } }] };
  if (turn < 4 || turn % 2 === 0)
    return { calls: [{ name: "write_file", args: { path: `scratch/${turn}.md`, content: `${piece}.${turn}` } }] };
  return { calls: [{ name: "publish", args: { summary: `Piece ${piece} is done.` } }] };
}

function highest(words: string, pattern: RegExp): number {
  return Math.max(0, ...[...words.matchAll(pattern)].map((match) => Number(match[1])));
}
