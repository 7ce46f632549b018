import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { call, script, startProviderServer, startTeam } from "../src/testing/index.ts";
import { leapingClock } from "../test/outside/leaping-clock.ts";
import { holdersOf, kilobytes, sum, TICKS_A_SECOND, ticksOf, treeOf } from "./processes.mjs";

/**
 * What a night costs in which nothing happens: a team of programs, each of which has asked its person something and
 * waits. Nobody answers; then their rest is over; then the person answers them all.
 *
 * BENCH-IDLE-1. Ours is our process and whatever holds the sandboxes, all programs together; the programs' own share is
 *     beside it.
 * BENCH-IDLE-2. The night passes in a moment: the clock leaps, and is real in between.
 * BENCH-IDLE-3. It is measured after `settle` seconds: a new program's folders are counted after 8, 16, 32 … looks, which
 *     of a whole night is next to nothing.
 * BENCH-IDLE-4. As many of them as `real` says are real Claude Codes, if it is installed (scripts/prepare-agents.mjs);
 *     the others speak its protocol and do no more.
 */
export async function idleNight(home, { programs, real, settle, seconds }) {
  const clock = leapingClock();
  const claude = join(resolve(process.env.AGIRAPH_AGENTS_DIR ?? ".agents"), "claude/node_modules/.bin/claude");
  const realOnes = existsSync(claude) ? Math.min(real, programs) : 0;
  const provider = await startProviderServer({ respond: answerOf });
  const team = await startTeam({ ...planOf({ programs, realOnes, claude, url: provider.url }), home, clock });
  const begun = performance.now();
  await team.until(({ roster, board }) => waitingIn(roster) === programs || hasFailed(board));
  const start_s = (performance.now() - begun) / 1000;
  await pause(settle);

  const awake = await share(pidsOf(await team.facts()), seconds);
  clock.leap(REST_MS);
  let exits = 0;
  for await (const { type, data } of team.agent.log.follow(0, new AbortController().signal))
    if (type === "process.exited" && data.rested && ++exits === programs) break;
  const left = pidsOf(await team.facts()).filter((pid) => existsSync(`/proc/${pid}`)).length;
  const ended = await share([], Math.min(seconds, 10));

  const answered = performance.now();
  const { open } = team.agent.now.questions;
  for (const id of Object.keys(open)) await team.agent.respond("Blue.", id);
  const outcome = await team.outcome();
  const resume_s = (performance.now() - answered) / 1000;
  const done = team.board().filter(({ status }) => status === "completed").length;
  await team[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  if (outcome.kind !== "finished" || done !== programs)
    throw new Error(`${done} of ${programs} were done after the night`);
  return {
    ...{ programs, real: realOnes, start_s, left, resume_s },
    cpu_percent: awake.ours,
    theirs_percent: awake.theirs,
    ended_cpu_percent: ended.ours,
    held_mib: awake.mib,
  };
}

function planOf({ programs, realOnes, claude, url }) {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-any-000000000000000000000000" };
  const silent = join(import.meta.dirname, "idle-program.mjs");
  const names = Array.from({ length: programs }, (_, at) => `Worker ${String.fromCharCode(65 + at)}`);
  const hires = names.map((name, at) =>
    call("spawn_worker", { name, program: at < realOnes ? "claude-code" : "silent" }),
  );
  const orders = names.map((worker) => call("create_work_node", { task: "Choose a colour.", worker }));
  const ends = names.map((_, at) => `node-${at + 1} completed`);
  return {
    goal: "g",
    coordinator: script(...hires, ...orders, call("finish", { summary: "done", learned: "" }).after(...ends)),
    config: {
      max_concurrent: programs,
      programs: {
        "claude-code": { kind: "claude_code", command: [claude], set },
        silent: { kind: "claude_code", command: [process.execPath, silent] },
      },
    },
    env: { PATH: process.env.PATH },
  };
}

/** What the model of a real Claude Code says, turn by turn; its little side questions get a little answer. */
function answerOf({ tools, turn }) {
  return (tools.includes("mcp__agiraph__publish") ? TURNS[turn] : undefined) ?? { text: "ok" };
}

const TURNS = [
  { calls: [{ name: "mcp__agiraph__ask_human", args: { question: "Which colour?" } }] },
  { text: "I wait." },
  { calls: [{ name: "Bash", args: { command: "echo blue > colour.md", description: "Paint it" } }] },
  { calls: [{ name: "mcp__agiraph__publish", args: { summary: "It is blue." } }] },
];

const waitingIn = (roster) =>
  Object.values(roster).filter((worker) => worker.status === "waiting" && worker.for === "human").length;

const hasFailed = ({ nodes }) => Object.values(nodes).some(({ status }) => status === "failed");

const pidsOf = (facts) => facts.flatMap(({ type, data }) => (type === "process.started" ? [data.pid] : []));

/** Percent of a core, over so many seconds, and the memory of these processes with all below them, shared pages once. */
async function share(pids, seconds) {
  const holders = pids.flatMap(holdersOf);
  const all = pids.flatMap(treeOf);
  const programs = all.filter((pid) => !holders.includes(pid));
  const [cpu, ours, theirs] = [process.cpuUsage(), sum(holders, ticksOf), sum(programs, ticksOf)];
  await pause(seconds);
  const { user, system } = process.cpuUsage(cpu);
  const percent = (ticks) => (100 * ticks) / TICKS_A_SECOND / seconds;
  return {
    ours: (100 * (user + system)) / 1e6 / seconds + percent(sum(holders, ticksOf) - ours),
    theirs: percent(sum(programs, ticksOf) - theirs),
    mib: sum(all, (pid) => kilobytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m)) / 1024,
  };
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** After which a program at rest is ended. */
const REST_MS = 15 * 60_000 + 1;
