import { expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { exploreUntil, statesToSee } from "./store-exploration.ts";

const STATES = statesToSee(50_000);

/** Beside store-crash.test.ts, so that two cores share the work. */
test("a power failure at any instant, also while recovering, breaks no promise: a few longer lives", async () => {
  const { states } = await exploreUntil(openStore, STATES, {
    firstSeed: 500,
    steps: 25,
    trouble: 1,
    budget: 30,
    nestedEvery: 200,
  });
  expect(states).toBeGreaterThanOrEqual(STATES);
}, 600_000);
