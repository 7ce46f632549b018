import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/longest-first.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/**/*.test.ts", "bench/*.test.mjs"],
    exclude: ["test/soak/**"],
    globalSetup: ["test/global-setup.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    // By itself Vitest leaves a core free: on two that is one file at a time, where many wait rather than compute.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A test that fails is asked once more, and the end of the run names it with its first failure (docs/decisions/tests.md).
    retry: 1,
    expect: { poll: { timeout: 20_000 } },
  },
});
