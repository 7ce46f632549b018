import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/longest-first.ts";

const exclude = ["test/soak/**", "**/node_modules/**"];
/** Those that look at what their whole process holds (memory, open files, its children), or have a browser. */
const alone = ["test/faults/**/*.test.ts", "test/browser/**/*.test.ts", "bench/*.test.mjs"];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...exclude, ...alone],
          // One process for many files: reading the whole program again for each of them was a tenth of the run.
          isolate: false,
        },
      },
      { extends: true, test: { name: "alone", include: alone, exclude } },
    ],
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
