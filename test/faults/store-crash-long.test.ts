import { expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { exploreUntil } from "./store-exploration.ts";

/** Beside store-crash.test.ts, so that two cores share the work. */
test("a power failure at any instant, also while recovering, breaks no promise: a few longer lives", async () => {
  const { states } = await exploreUntil(openStore, 50_000, {
    firstSeed: 500,
    steps: 25,
    trouble: 1,
    budget: 30,
    nestedEvery: 200,
  });
  expect(states).toBeGreaterThanOrEqual(50_000);
}, 600_000);
