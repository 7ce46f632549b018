import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import type { AgentId, Fact } from "../../src/protocol/index.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { processesNaming } from "../outside/house.ts";
import { skipped } from "../try-sandbox.ts";
import { killRounds } from "./kill-rounds.ts";
import { configure, expectNodesOnce, factsOf, mulberry32 } from "./killing.ts";

/**
 * The real server is killed with SIGKILL again and again while programs work for it: two that speak Claude Code's
 * protocol and one that knows only files, each in its sandbox.
 *
 * Six kills in CI; the soak does its share of all. The instants that matter, one by one: kill-outside-points.test.ts.
 *
 * KILL-OUTSIDE-1. No process of theirs is left behind, ever.
 * KILL-OUTSIDE-2. Every node is assigned, published and completed once, with all its files: no result is lost, none is
 *     made twice.
 * KILL-OUTSIDE-3. A session that has done something is taken up again, never begun anew.
 */
const ROUNDS = killRounds("programs", 6, 20_261_115);
const MAIN = join(import.meta.dirname, "../../dist/bundle/main.js");
const FAKE = join(import.meta.dirname, "fake-claude.ts");
const TEAM = { Clara: "claude-code", Carl: "claude-code", Paul: "plain" };

const PLAIN = `for step in one two three; do [ -e $step ] || { sleep 0.04; : > $step; }; done; echo 'Published by files.' > _result.md`;

describe.skipIf(skipped)(`programs at work ${skipped}`, () => {
  test.each(ROUNDS)(
    "their server is killed $kills times (seed $seed)",
    {
      timeout: 3_600_000,
    },
    async ({ kills: KILLS, seed: SEED }) => {
      await using home = await keptOnFailure();
      let kills = 0;
      await using provider = await startProviderServer({
        respond: (request) => coordinatorTurn(request, kills < KILLS),
        forget: true,
      });
      const marker = `marker-${process.pid}-${SEED}`;
      const programs: Config["programs"] = {
        "claude-code": { kind: "claude_code", command: [process.execPath, FAKE, marker] },
        plain: { kind: "autonomous", command: ["bash", "-c", PLAIN, marker] },
      };
      await configure(home.path, provider.url, { programs });
      const random = mulberry32(SEED);
      let agent: AgentId | undefined;
      for (; kills < KILLS; kills++) {
        const server = await serve(home.path);
        agent ??= await create(server.url, home.path);
        await someLife(random, () => processesNaming(marker).length > 0);
        await killed(server.child);
        // KILL-OUTSIDE-1, each time.
        await vi.waitFor(() => expect(processesNaming(marker)).toEqual([]), { timeout: 120_000, interval: 5 });
      }
      const server = await serve(home.path);
      if (!agent) throw new Error("Nobody was killed.");
      const token = await readFile(join(home.path, "token"), "utf8");
      await vi.waitFor(
        async () => {
          const answer = await fetch(`${server.url}/agents/${agent}`, {
            headers: { authorization: `Bearer ${token.trim()}` },
          });
          expect(await answer.json()).toMatchObject({ status: "completed" });
        },
        { timeout: 120_000, interval: 50 },
      );
      await killed(server.child);
      await vi.waitFor(() => expect(processesNaming(marker)).toEqual([]), { timeout: 120_000, interval: 5 });

      const store = await lookAtHome(home.path);
      const log = await store.open(agent);
      const facts = await log.read({ after: 0, limit: 1_000_000 });
      await expectNodesOnce(log, facts);
      expect(factsOf(facts, "node.retried").map(({ data }) => data.error)).toEqual([]);
      // All three steps of each, and none of them twice.
      for (const { data } of factsOf(facts, "node.published"))
        expect([data.node_id, data.files.map(({ path }) => path)]).toEqual([data.node_id, ["one", "three", "two"]]);
      console.log(figuresOf(kills, facts));
      await store.close();
      home.passed();
    },
  );
});

/** What went wrong is in there. */
async function keptOnFailure() {
  const home = await temporaryHome();
  let isNeeded = true;
  return {
    path: home.path,
    passed: () => (isNeeded = false),
    async [Symbol.asyncDispose]() {
      if (isNeeded) console.error(`The home is kept: ${home.path}`);
      else await home.remove();
    },
  };
}

/** While it takes everybody up (a quarter), and once somebody is at work, for however long that takes here. */
async function someLife(random: () => number, isAtWork: () => boolean): Promise<void> {
  const isShort = random() < 0.25;
  if (!isShort) await vi.waitFor(() => expect(isAtWork()).toBe(true), { timeout: 120_000, interval: 10 });
  await setTimeout(random() * (isShort ? 300 : 900));
}

interface Serving {
  child: ChildProcess;
  url: string;
}

async function serve(home: string): Promise<Serving> {
  const words = [MAIN, "serve", "--json", "--port", "0", "--home", home];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "ignore"], cwd: home });
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, "line");
  return { child, url: JSON.parse(line).url };
}

async function create(url: string, home: string): Promise<AgentId> {
  const token = await readFile(join(home, "token"), "utf8");
  const response = await fetch(`${url}/agents`, {
    method: "POST",
    headers: { authorization: `Bearer ${token.trim()}`, "content-type": "application/json" },
    body: JSON.stringify({ goal: "Work under fire" }),
  });
  const { id } = (await response.json()) as { id: AgentId };
  return id;
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** A stateless mind: keeps everybody at work until there were enough kills. */
function coordinatorTurn({ messages, turn }: ProviderRequest, goOn: boolean): ProviderTurn {
  const words = messages.map((message) => message.text).join("\n");
  const unhired = Object.entries(TEAM).filter(
    ([name]) => !words.includes(`${name} is hired`) && !words.includes(`${name} is taken`),
  );
  if (unhired.length > 0)
    return { calls: unhired.map(([name, program]) => ({ name: "spawn_worker", args: { name, program } })) };
  const ended = new Set([...words.matchAll(/node-(\d+) completed by/g)].map(([, id]) => id));
  const open = new Set([...words.matchAll(/Created node-(\d+)/g)].map(([, id]) => id).filter((id) => !ended.has(id)));
  if (goOn && open.size < 3) {
    const calls = Object.keys(TEAM).map((worker, at) => ({
      name: "create_work_node",
      args: { task: `Piece ${turn}.${at}`, worker, deliverables: ["one", "two", "three"] },
    }));
    return { calls };
  }
  if (open.size > 0 || messages.at(-1)?.text.includes("Not finished")) return { text: "I wait for the news." };
  return { calls: [{ name: "finish", args: { summary: `${ended.size} pieces are done.`, learned: "" } }] };
}

function figuresOf(kills: number, facts: Fact[]): string {
  const count = (type: Fact["type"]) => factsOf(facts, type).length;
  return `killed ${kills} times over ${facts.length} facts; ${count("node.completed")} nodes, ${count("process.started")} starts of programs, ${count("worker.session")} sessions`;
}
