import { existsSync } from "node:fs";
import { join } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest is begun first, so that nothing long runs alone at the end. A fresh clone does not know how long a
 * file takes, and its size says little. Those that compute and those that wait take turns.
 */
const FIRST = [
  "browser/access",
  "browser/meshes",
  "browser/reach",
  "faults/server-faults",
  "faults/repository-kills",
  "faults/repository-branches",
  "mesh/tx",
  "mesh/unattended",
  "../src/cli/new-user",
  "../src/cli/serving",
  "faults/kill-outside-points",
  "outside/night",
  "../src/cli/talking",
  "habits/habits",
  "faults/mesh-gaps",
  "memory/recall",
  "../src/cli/infinite",
  "mesh/topologies-claude",
  "../src/cli/run",
  "browser/steady",
  "outside/mcp-client",
  "browser/adrift",
  "browser/attention",
  "../src/cli/triggers",
  "faults/mesh-fuzz",
  "browser/long-watch",
  "../src/cli/interruption",
  "memory/year-of-memory",
  "examples",
  "../src/cli/usage",
  "faults/kill-agent",
  "faults/escapes/resources",
  "mesh/tmux",
  "simulation/triggers",
  "simulation/teams",
  "mesh/seed-004-commands",
  "faults/kill-team",
  "browser/at-hand",
  "faults/kill-outside",
  "browser/endurance",
  "faults/store-crash-long",
  "mesh/typing",
  "simulation/mutants",
  "faults/store-mutants",
  "mesh/sessions",
  "mesh/tx-results",
  "outside/as-written",
  "faults/repository-kills",
  "../src/repository/deliver",
  "outside/trial",
  "../src/cli/repository",
  "browser/first-look",
  "outside/mcp-server",
].map((name) => join(import.meta.dirname, `${name}.test.ts`));

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = FIRST.filter((file) => !existsSync(file));
    if (gone.length > 0) throw new Error(`Named in test/longest-first.ts and not there any more: ${gone.join(", ")}`);
    const rank = ({ moduleId }: TestSpecification) => (FIRST.indexOf(moduleId) + 1 || Infinity) - 1;
    const place = new Map((await super.sort(files)).map((file, at) => [file, Math.min(rank(file), FIRST.length + at)]));
    return files.toSorted((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0));
  }
}
