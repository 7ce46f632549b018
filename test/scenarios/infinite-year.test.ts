import { expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import type { Clock } from "../../src/protocol/clock.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { script, temporaryHome, until } from "../../src/testing/index.ts";
import { scriptedCatalog } from "../../src/testing/start-team.ts";
import { diligentWorker, kindOf, YearlongMind } from "./infinite-year-mind.ts";

/** The soak lives for ten years. */
const DAYS = 365 * Number(process.env.AGIRAPH_YEARS ?? 1);
const DAY_MS = 86_400_000;
/** Of any request: the most that an infinite agent is shown, its prompt and its tools. */
const MOST_BYTES = 220_000;
/** In a cycle, by default: a year has more of them. */
const MOST_STAGES = 20;
const MOST_LOOKS = 6;
const BYTES_PER_TOKEN = 4;

test("a year of daily cycles: never failed for good, never refused, requests bounded, one call for an empty day", async () => {
  await using home = await temporaryHome();
  const clock = jumpingClock();
  const mind = new YearlongMind();
  const catalog = {
    ...scriptedCatalog({ coordinator: script() }),
    model: async (id: string) => (id === mind.id ? mind : diligentWorker),
  };
  const open = () => openRuntime({ home: home.path, env: {}, config: {} }, { catalog, clock });
  let runtime = await open();
  const order = { goal: "Watch it for a year", model: mind.id, worker_model: diligentWorker.id } as const;
  let agent = await runtime.create({ ...order, mode: "infinite", cycle_seconds: DAY_MS / 1000 });
  const refused: string[] = [];
  let outages = 0;
  let compactions = 0;
  const count = () =>
    agent.log.subscribe((fact) => {
      if (fact.type === "tool.result" && !fact.data.ok) refused.push(`${fact.data.tool}: ${fact.data.gist}`);
      if (fact.type === "memory.compacted") compactions += 1;
    });
  count();
  /** At once, on the day on which it happened: a mind that is refused goes on for ever. */
  const asleep = async () => {
    await isAsleep(agent, clock);
    const { status, error } = agent.now.agent;
    expect({ day: mind.day, status, error, refused }).toEqual({
      ...{ day: mind.day, status: "working", error: null, refused: [] },
    });
  };
  await asleep();
  for (mind.day = 1; mind.day <= DAYS; mind.day++) {
    mind.isAway = mind.day % 50 === 25;
    clock.jump(DAY_MS);
    if (mind.isAway) {
      outages += 1;
      await until(agent, ({ agent: { status } }) => status === "failed");
      mind.isAway = false;
      clock.jump(600_000);
      await until(agent, ({ agent: { status } }) => status !== "failed");
    }
    await asleep();
    if (mind.day % 45 === 20) {
      await agent.send("How is it going?");
      await asleep();
    }
    if (mind.day % 60 === 30) {
      await runtime.close();
      runtime = await open();
      agent = await runtime.agent(agent.log.id);
      count();
      await agent.start("recovered");
      await asleep();
    }
  }
  const { status, runs } = agent.now.agent;
  expect({ status, runs, outages, systems: mind.systems.size }).toEqual({
    ...{ status: "working", runs: 1, outages: Math.floor((DAYS + 25) / 50), systems: 1 },
  });
  const { team, look, book } = mind.days;
  expect([team > MOST_STAGES, look > MOST_LOOKS, book > 0]).toEqual([true, true, true]);
  const largest = mind.sizes.reduce((most, size) => Math.max(most, size), 0);
  expect(largest).toBeLessThan(MOST_BYTES);
  const quietDays = [...mind.calls.keys()].filter((day) => kindOf(day) === "quiet" && day % 45 !== 20);
  const quiet = quietDays.map((day) => mind.calls[day] ?? 0);
  // The upkeep of the memory, after a day on which something was written, is work too.
  expect(quiet.filter((calls) => calls > 1).length).toBeLessThan(DAYS / 5);
  expect(Math.min(...quiet)).toBe(1);
  const tokens = quietDays.map((day) => (mind.bytes[day] ?? 0) / BYTES_PER_TOKEN).sort((a, b) => a - b);
  const mean = tokens.reduce((sum, each) => sum + each, 0) / tokens.length;
  const ninth = tokens[Math.floor(tokens.length * 0.9)] ?? 0;
  const year = mind.bytes.reduce((sum, each) => sum + each, 0) / BYTES_PER_TOKEN;
  const { days, upkeeps } = mind;
  console.log(JSON.stringify({ days, calls: mind.sizes.length, upkeeps, compactions, largest, mean, ninth, year }));
  // The ninth decile is among the days with upkeep, which takes three calls; without a summary at waking it is 59,000.
  expect([mean < 10_000, ninth < 20_000]).toEqual([true, true]);
  expect(compactions).toBeGreaterThan(0);
  await runtime.close();
}, 3_600_000);

/** Until it sleeps until a time to come, or has failed. */
async function isAsleep(agent: Agent, clock: Clock): Promise<void> {
  const isSettled = (now: Situation) => {
    const { agent: self, roster, triggers, letters } = now;
    const lead = roster.coordinator;
    const cycle = Object.values(triggers.open).some(
      ({ created_by, when, due }) =>
        created_by === "agiraph" && when.type === "delayed" && (due ?? 0) > clock.now() / 1000,
    );
    const isHeard = Object.values(letters.queued).every(({ reader }) => reader !== "coordinator");
    const rests = lead?.status === "waiting" && lead.for === "news";
    return self.status === "working" && cycle && isHeard && rests && Object.keys(triggers.undone).length === 0;
  };
  await until(agent, (now) => isSettled(now) || now.agent.status === "failed");
}

interface JumpingClock extends Clock {
  /** As a machine that was suspended: nobody sees the time in between. */
  jump(ms: number): void;
}

/** The alarms nap a minute at most, and a year has half a million. */
function jumpingClock(): JumpingClock {
  let now = Date.UTC(2026, 0, 1, 9);
  let sleepers: { due: number; wake: () => void }[] = [];
  return {
    now: () => now,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        const sleeper = { due: now + ms, wake: resolve };
        sleepers.push(sleeper);
        signal.addEventListener("abort", () => {
          sleepers = sleepers.filter((each) => each !== sleeper);
          reject(signal.reason);
        });
      });
    },
    jump(ms) {
      now += ms;
      const due = sleepers.filter((sleeper) => sleeper.due <= now);
      sleepers = sleepers.filter((sleeper) => sleeper.due > now);
      for (const sleeper of due) sleeper.wake();
    },
  };
}
