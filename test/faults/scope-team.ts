import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createAgentFolder,
  createNodeFolder,
  createRunFolder,
  createWorkerFolder,
} from "../../src/store/run/node-folder.ts";
import type { Scope } from "../../src/store/scope/scope.ts";
import { coordinatorScope, workerScope } from "../../src/store/scope/team-scopes.ts";
import { temporaryHome } from "../../src/testing/temporary-home.ts";

/** An agent with two workers at two nodes, an older run, a neighbour, and a user's project. Every file says its own name. */
export interface ScopeTeam extends AsyncDisposable {
  /** Everything is in here. */
  base: string;
  home: string;
  agentDir: string;
  runDir: string;
  project: string;
  coordinator: Scope;
  /** Works at node-1. Bob works at node-2. */
  alice: Scope;
}

export async function scopeTeam(): Promise<ScopeTeam> {
  const temporary = await temporaryHome();
  const base = temporary.path;
  const [home, project] = [join(base, "home"), join(base, "project")];
  const agentDir = join(home, "agents", "agent-test");
  const runDir = join(agentDir, "runs", "run-1");
  await createAgentFolder(agentDir, { soul: "calm", goal: "measure" });
  for (const run of ["run-1", "run-2"]) {
    const dir = join(agentDir, "runs", run);
    await createRunFolder(dir);
    for (const id of ["node-1", "node-2"])
      await createNodeFolder(join(dir, "nodes", id), { id, task: "t", deliverables: [], refs: {} });
    for (const id of ["alice", "bob"]) await createWorkerFolder(join(dir, "workers", id), { name: id, identity: id });
  }
  for (const file of filesOf()) {
    mkdirSync(join(base, file, ".."), { recursive: true });
    writeFileSync(join(base, file), canaryOf(file));
  }
  const runId = "run-1" as const;
  return {
    base,
    home,
    agentDir,
    runDir,
    project,
    coordinator: coordinatorScope({ agentDir, runId, project }),
    alice: workerScope({ agentDir, runId, nodeId: "node-1", workerId: "alice", project }),
    [Symbol.asyncDispose]: () => temporary.remove(),
  };
}

export const canaryOf = (file: string): string => `CANARY ${file}`;

/** Every file of the team, from its base. */
export function filesOf(): string[] {
  const agent = "home/agents/agent-test";
  const node = [
    "_spec.md",
    "_refs.json",
    "_status.md",
    "log.jsonl",
    "scratch/draft.md",
    "scratch/deep/data.jsonl",
    "published/report.md",
  ];
  const worker = ["identity.md", "memory.md", "notebook.md", "history.json", "conversation.jsonl"];
  const run = [
    "_plan.md",
    "_output.md",
    "_messages/0001.md",
    "notes/idea.md",
    ...["node-1", "node-2"].flatMap((id) => node.map((file) => `nodes/${id}/${file}`)),
    ...["alice", "bob"].flatMap((id) => worker.map((file) => `workers/${id}/${file}`)),
  ];
  return [
    ...[
      "SOUL.md",
      "GOAL.md",
      "MEMORY.md",
      "memory/facts.md",
      "conversation.jsonl",
      "events.jsonl",
      "triggers.json",
      "snapshots/board.json",
    ].map((file) => `${agent}/${file}`),
    ...["run-1", "run-2"].flatMap((id) => run.map((file) => `${agent}/runs/${id}/${file}`)),
    "home/token",
    "home/agents/agent-other/MEMORY.md",
    "project/README.md",
    "project/src/main.ts",
    "project/.env",
    "project/.git/config",
    "project/src/.secret/key",
    "outside.txt",
  ];
}
