import { expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { exploreUntil } from "./store-exploration.ts";

test("a power failure at any instant, also while recovering, breaks no promise: many short lives", async () => {
  const { states } = await exploreUntil(openStore, 52_000, {
    firstSeed: 100,
    steps: 12,
    trouble: 2,
    budget: 30,
    nestedEvery: 200,
  });
  expect(states).toBeGreaterThanOrEqual(52_000);
}, 600_000);
