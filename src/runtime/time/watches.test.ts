import { expect, test } from "vitest";
import { DiskFullError } from "../../store/errors.ts";
import type { Batch } from "../../store/store.ts";
import { TriggerWorld } from "../../testing/trigger-world.ts";
import { type Sight, sightOf } from "../../triggers/change.ts";
import { Watches } from "./watches.ts";

test("WATCHES-5. a change that the disk had no room for is told, whole, once there is room", async () => {
  const world = new TriggerWorld();
  let text = "a";
  let isFull = false;
  const failures: unknown[] = [];
  const watches = new Watches({
    log: {
      append: (batch) =>
        isFull ? { facts: [], durable: Promise.reject(new DiskFullError("the home", undefined)) } : world.append(batch),
      subscribe: () => () => {},
    },
    pending: () => world.now,
    clock: world.clock,
    look: async () => sightOf(text, text),
    failed: (error) => failures.push(error),
  });
  const order = { path: "data.csv", every_seconds: 60 };
  await world.schedule.create("coordinator", { type: "on_change", config: order, action: "Look." });
  watches.start();
  await world.pass(60);
  const firedBefore = world.told("trigger.fired").length; // that it is there at all

  text = "a\nb";
  isFull = true;
  await world.pass(60);
  expect(failures).toHaveLength(1);
  isFull = false;
  await world.pass(600);
  expect(world.told("trigger.fired")).toHaveLength(firedBefore);

  watches.start(); // as when somebody has made room
  await world.pass(60);
  expect(world.told("trigger.fired").slice(firedBefore)).toMatchObject([
    { data: { news: expect.stringContaining("+ b") } },
  ]);
  await world.pass(600);
  expect(world.told("trigger.fired")).toHaveLength(firedBefore + 1);
  watches.stop();
});

test("WATCHES-1. a look that is under way when the process ends records nothing; the next process notices the change once", async () => {
  const world = new TriggerWorld();
  const order = { path: "data.csv", every_seconds: 60 };
  await world.schedule.create("coordinator", { type: "on_change", config: order, action: "Look." });
  const { promise: seen, resolve: see } = Promise.withResolvers<Sight>();
  const watchesOf = (look: () => Promise<Sight>) => {
    const log = { append: (batch: Batch) => world.append(batch), subscribe: () => () => {} };
    return new Watches({ log, pending: () => world.now, clock: world.clock, look, failed: () => {} });
  };
  const first = watchesOf(() => seen);
  first.start();
  first.stop();
  see(sightOf("new", "new"));
  await world.pass(0);
  expect(world.told("trigger.fired")).toEqual([]);

  const second = watchesOf(async () => sightOf("new", "new"));
  second.start();
  await world.pass(600);
  expect(world.told("trigger.fired")).toHaveLength(1);
  second.stop();
});
