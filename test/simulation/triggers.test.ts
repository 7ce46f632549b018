import { expect, test } from "vitest";
import { apply, begin } from "../../src/projections/index.ts";
import { type Fact, occurrenceKey } from "../../src/protocol/index.ts";
import { TriggerWorld } from "../../src/testing/trigger-world.ts";
import { nextOccurrence } from "../../src/triggers/cron.ts";
import type { TriggerOrder } from "../../src/triggers/trigger-order.ts";
import { momentOf, occurrencesOf } from "./cron-reference.ts";
import { type Dice, diceOf } from "./dice.ts";
import { expectedFirings, type Looking, type Planned } from "./trigger-reference.ts";

/**
 * Ten years of triggers, again and again, in a world that a seed decides: zones with and without summer time, an agent
 * that is up, down, dies in the middle of what it does, and clocks that people set forward and back. The program is the
 * real one (schedule, alarms, fold); when something is due is found by looking at every minute of the ten years.
 *
 * - Nothing is missed, nothing doubled: what fires is exactly what the reference says.
 * - What fired is done, once.
 * - Snapshot and facts fold to the same.
 */
const DECADES = Number(process.env.AGIRAPH_DECADES ?? 1);
const FIRST = Number(process.env.AGIRAPH_DECADE ?? 1);

const FROM = Date.UTC(2026, 0, 1) / 1000;
const TO = Date.UTC(2036, 0, 1) / 1000;
const DAY = 86_400;

const CALENDARS = [
  // A time of day that is skipped or repeated when the clocks change, in zones that change by an hour and by half of one.
  ["30 2 * * *", "America/New_York"],
  ["30 1 * * *", "America/New_York"],
  ["30 2 * * *", "Europe/Berlin"],
  ["15 2 * * *", "Australia/Lord_Howe"],
  ["45 1 * * *", "Australia/Lord_Howe"],
  // Intervals through the same hours.
  ["*/30 1-3 * * *", "America/New_York"],
  ["*/20 0-3 * * SUN", "Europe/Berlin"],
  ["*/15 0-3 * * SUN", "Australia/Lord_Howe"],
  // Calendars proper.
  ["0 9 * * MON", "Asia/Kolkata"],
  ["5 4 * * 1-5", "America/New_York"],
  ["0 0 29 2 *", "UTC"],
  ["0 0 31 * *", "Europe/Berlin"],
  ["0 12 1 */3 *", "UTC"],
  ["0 9 13 * FRI", "Europe/Berlin"],
] as const;

const ZONES = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"] as const;

const calendar = new Map<string, number[]>();
const timesOf = (cron: string, zone: string) => {
  const key = `${cron} ${zone}`;
  const times = calendar.get(key) ?? occurrencesOf(cron, zone, FROM, TO + 400 * DAY);
  calendar.set(key, times);
  return times;
};

test("the calendar agrees with the wall, every minute of ten years", { timeout: 120_000 }, () => {
  for (const [cron, zone] of CALENDARS) {
    const found: number[] = [];
    for (let at = nextOccurrence(cron, zone, FROM - 1); at !== null && at < TO; at = nextOccurrence(cron, zone, at))
      found.push(at);
    expect({ cron, zone, found }).toEqual({ cron, zone, found: timesOf(cron, zone).filter((at) => at < TO) });
  }
});

for (let seed = FIRST; seed < FIRST + DECADES; seed++) {
  test(`ten years of triggers (AGIRAPH_DECADE=${seed}): nothing is missed and nothing doubled`, {
    timeout: 300_000,
  }, async () => {
    const dice = diceOf("triggers", seed);
    // The machine's own zone matters to nobody.
    const world = new TriggerWorld({ start: FROM * 1000, longestNapMs: 3_600_000, timeZone: dice.pick(ZONES) });
    world.dies = () => (dice.chance(0.002) ? dice.pick(["before", "after"] as const) : undefined);
    const planned: Planned[] = [];
    const lookings = await live(world, planned, dice);
    await world.stop();

    const fired = world.facts.filter((fact) => fact.type === "trigger.fired");
    for (const plan of planned) {
      const found = fired.filter((fact) => fact.data.trigger_id === plan.id).map(({ data, ts }) => [data.due, ts]);
      expect({ plan: plan.what, found }).toEqual({ plan: plan.what, found: expectedFirings(plan, lookings) });
    }
    expect(world.failures).toEqual([]);
    expect(world.done.map(({ key }) => key).sort()).toEqual(fired.map(({ data }) => occurrenceKey(data)).sort());
    expect(JSON.parse(JSON.stringify(world.now))).toEqual(JSON.parse(JSON.stringify(folded(world.facts))));
    console.log(`seed ${seed}: ${fired.length} firings, ${lookings.length} stretches, ${world.repeats} repeated`);
  });
}

/** Lives through the ten years; tells in which stretches of time somebody looked at the clock. */
async function live(world: TriggerWorld, planned: Planned[], dice: Dice): Promise<Looking[]> {
  const lookings: Looking[] = [];
  let isUp = false;
  const up = () => {
    world.start();
    isUp = true;
    // Who dies at once, at what was left undone, has not looked at the clock.
    if (world.died === undefined) lookings.push({ from: world.at, to: world.at });
  };
  up();
  await world.drained();
  await plan(world, planned, lookings, dice, CALENDARS.length);
  while (world.time.now() / 1000 < TO) {
    const diedAtOnce = world.died !== undefined;
    if (isUp) {
      if (dice.chance(0.3)) await plan(world, planned, lookings, dice, 1);
      await world.pass(dice.between(1, 60 * DAY));
      const looking = lookings.at(-1);
      if (looking && !diedAtOnce) looking.to = world.died ?? world.at;
    }
    switch (world.died !== undefined ? "dies" : dice.weighed({ goes: 4, forward: 1, back: 1 })) {
      case "dies":
      case "goes":
        await world.stop();
        isUp = false;
        await world.pass(dice.chance(0.5) ? dice.between(1, 600) : dice.between(1, 20 * DAY));
        if (dice.chance(0.2)) world.jump(dice.between(-3 * DAY, 3 * DAY));
        up();
        await world.drained();
        break;
      case "forward":
        jump(world, lookings, dice.chance(0.5) ? dice.between(1, 7200) : dice.between(1, 10 * DAY));
        break;
      case "back":
        jump(world, lookings, -(dice.chance(0.5) ? dice.between(1, 7200) : dice.between(1, 10 * DAY)));
        break;
    }
  }
  // Whatever died last is started once more.
  await world.stop();
  world.dies = () => undefined;
  up();
  await world.drained();
  await world.pass(1);
  const last = lookings.at(-1);
  if (last) last.to = world.at;
  return lookings;
}

/** Nobody notices before whoever sleeps wakes from the nap. */
function jump(world: TriggerWorld, lookings: Looking[], seconds: number): void {
  world.jump(seconds);
  const [wakes] = world.time.due;
  const from = world.at + (wakes === undefined ? 0 : (wakes - world.time.now()) / 1000);
  lookings.push({ from, to: from });
}

async function plan(
  world: TriggerWorld,
  planned: Planned[],
  lookings: Looking[],
  dice: Dice,
  count: number,
): Promise<void> {
  for (let each = 0; each < count && world.died === undefined; each++) {
    const { order, what, times } = orderFor(planned.length, world.at, dice);
    // Whatever is scheduled makes the alarms look, also if they had not noticed yet that the clock was set.
    const looking = lookings.at(-1);
    if (looking && looking.from > world.at) looking.from = world.at;
    const missed = dice.pick(["once", "skip"] as const);
    const [id, stretch] = [`trigger-${planned.length + 1}`, lookings.length - 1];
    planned.push({ id, what: `${what}, ${missed}`, created: world.at, stretch, missed, times });
    expect(await world.schedule.create("test", { ...order, missed })).toMatch(`Scheduled ${id} `);
    await world.drained();
  }
}

function orderFor(number: number, now: number, dice: Dice): { order: TriggerOrder; what: string; times: number[] } {
  const [cron, time_zone] = CALENDARS[number] ?? [];
  if (cron && time_zone) {
    const order = { type: "scheduled", config: { cron, time_zone }, action: "go" } as const;
    return { order, what: `${cron} ${time_zone}`, times: timesOf(cron, time_zone) };
  }
  if (dice.chance(0.5)) {
    // Up to ten years: far more than a timer can hold.
    const delay_seconds = dice.between(1, (TO - FROM) / dice.pick([1, 10, 1000]));
    const order = { type: "delayed", config: { delay_seconds }, action: "go" } as const;
    return { order, what: `in ${delay_seconds} s`, times: [now + delay_seconds] };
  }
  const zone = dice.pick(ZONES);
  const at = someTime(now, dice);
  const order = { type: "at_time", config: { at }, time_zone: zone, action: "go" } as const;
  return { order, what: `at ${at} ${zone}`, times: [momentOf(at, zone)] };
}

/** Within three years; half of them on Sundays in the hours in which clocks change. */
function someTime(now: number, dice: Dice): string {
  const date = new Date((now + dice.between(2 * DAY, 1000 * DAY)) * 1000);
  if (dice.chance(0.5)) {
    date.setUTCMonth(dice.pick([2, 3, 9, 10]));
    date.setUTCDate(dice.between(1, 4) * 7);
    date.setUTCDate(date.getUTCDate() - date.getUTCDay());
    date.setUTCHours(dice.between(1, 3));
    if (date.getTime() / 1000 < now + 2 * DAY) date.setUTCFullYear(date.getUTCFullYear() + 1);
  }
  return `${date.toISOString().slice(0, 16)}:00`;
}

function folded(facts: readonly Fact[]) {
  const [first, ...rest] = facts;
  if (!first) throw new Error("There is no log.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}
