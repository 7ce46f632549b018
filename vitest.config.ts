import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/longest-first.ts";

/** Each group has its command: `npm run test:unit` and so on. Where a test lives: CONTRIBUTING.md. */
const GROUPS = {
  unit: ["src/**/*.test.ts", "web/**/*.test.ts", "test/*.test.ts"],
  scenarios: ["test/{scenarios,habits,hosts,memory,mesh,outside,simulation}/**/*.test.ts"],
  // These look at what their whole process holds (memory, open files, its children).
  faults: ["test/faults/**/*.test.ts", "bench/*.test.mjs"],
  browser: ["test/browser/**/*.test.ts"],
};

export default defineConfig({
  test: {
    projects: Object.entries(GROUPS).map(([name, include]) => ({
      extends: true,
      test: {
        name,
        include,
        exclude: ["**/node_modules/**"],
        // One process for many files: reading the whole program again for each of them was a tenth of the run.
        isolate: name === "faults" || name === "browser",
      },
    })),
    globalSetup: ["test/global-setup.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    // By itself Vitest leaves a core free: on two that is one file at a time, where many wait rather than compute.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // A guard against what hangs, not a measure: on a busy machine everything takes several times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A test that fails is asked once more, and the end of the run names it with its first failure (docs/decisions/tests.md).
    retry: 1,
    expect: { poll: { timeout: 60_000 } },
  },
});
