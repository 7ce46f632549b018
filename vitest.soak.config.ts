import { defineConfig } from "vitest/config";

/** The long proofs: the same tests as in CI, with more kills, states and seeds. */
// In all, over six kinds of victims: test/faults/kill-rounds.ts.
process.env.AGIRAPH_KILLS ??= "6300";
process.env.AGIRAPH_SEEDS ??= "20000";
process.env.AGIRAPH_STATES ??= "all";
process.env.AGIRAPH_DECADES ??= "100";
process.env.AGIRAPH_MUTANTS ??= "all";
process.env.AGIRAPH_MISSED ??= "720000";
process.env.AGIRAPH_FLOOD ??= "20";
process.env.AGIRAPH_SWEEP ??= "1";
process.env.AGIRAPH_YEARS ??= "10";
process.env.AGIRAPH_RENEWALS ??= "1000";
process.env.AGIRAPH_PROJECT_FOLDERS ??= "5000";
// What has no number: all of it.
process.env.AGIRAPH_SOAK ??= "1";

export default defineConfig({
  test: {
    include: [
      "src/mcp/mcp-servers.test.ts",
      "src/sandbox/process/start-program.test.ts",
      "test/browser/access.test.ts",
      "test/browser/long-watch.test.ts",
      "test/faults/egress-sweep.test.ts",
      "test/faults/floods.test.ts",
      "test/faults/hostile-program.test.ts",
      "test/faults/kill-*.test.ts",
      "test/faults/login-renewals.test.ts",
      "test/faults/mesh-*.test.ts",
      "test/faults/provider-floods.test.ts",
      "test/faults/provider-sweep.test.ts",
      "test/faults/repository-*.test.ts",
      "test/faults/server-faults.test.ts",
      "test/faults/store-*.test.ts",
      "test/memory/recall.test.ts",
      "test/mesh/{beside,other-programs,sessions,tmux,unattended}.test.ts",
      "test/mesh/topologies-claude.test.ts",
      "test/outside/{acp-misbehaving,acp-worker,as-written,autonomous,claude-code,large-project,mail-in-turn,night}.test.ts",
      "test/outside/{own-settings,programs-lead,repository-programs,skills,surroundings,swap,trial,vendor-logins}.test.ts",
      "test/scenarios/infinite-year.test.ts",
      "test/simulation/*.test.ts",
    ],
    globalSetup: ["test/global-setup.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    testTimeout: 3_600_000,
    fileParallelism: false,
    expect: { poll: { timeout: 20_000 } },
  },
});
