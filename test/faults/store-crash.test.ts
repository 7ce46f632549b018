import { expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { exploreUntil, statesToSee } from "./store-exploration.ts";

const STATES = statesToSee(52_000);

test("a power failure at any instant, also while recovering, breaks no promise: many short lives", async () => {
  const { states } = await exploreUntil(openStore, STATES, {
    firstSeed: 100,
    steps: 12,
    trouble: 2,
    budget: 30,
    nestedEvery: 200,
  });
  expect(states).toBeGreaterThanOrEqual(STATES);
}, 600_000);
