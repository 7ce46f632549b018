import { existsSync } from "node:fs";
import { join } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest is begun first, so that nothing long runs alone at the end. A fresh clone does not know how long a
 * file takes, and its size says little. Those that compute and those that wait take turns: one of three waits.
 */
const FIRST = [
  "faults/kill-agent",
  "browser/access",
  "mesh/tx",
  "mesh/tmux",
  "faults/kill-outside-points",
  "browser/endurance",
  "simulation/teams",
  "faults/kill-team",
  "faults/kill-outside",
  "mesh/seed-004-commands",
  "mesh/topologies-claude",
  "mesh/typing",
  "faults/store-crash-long",
  "faults/store-crash",
  "faults/server-faults",
  "mesh/sessions",
  "simulation/mutants",
  "faults/store-mutants",
  "outside/mcp-client",
  "outside/mcp-server",
  "simulation/triggers",
  "mesh/session-notes",
  "faults/provider-agents",
  "scenarios/9-infinite-game",
  "mesh/claude",
  "faults/mesh-gaps",
  "faults/mesh-kills",
  "memory/recall",
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
