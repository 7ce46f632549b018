import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect } from "vitest";
import {
  both,
  call,
  type ProviderRequest,
  type ProviderTurn,
  say,
  script,
  startProviderServer,
  startTeam,
} from "../../src/testing/index.ts";
import { claudeHouse, isWork, ours, shell, withClaude } from "../outside/real-claude.ts";

/** Seed 002 §11, test 4, in full: a worker hands parts to the real Claude Code, twice, and to a model asked once. */
const GOAL = "Create a full-stack todo app: REST API in Python (FastAPI) + frontend in React + Docker setup.";
const DOCKER = "FROM python:3.14-slim\nCOPY backend /app\n";

function mind(request: ProviderRequest): ProviderTurn {
  if (!isWork(request)) return { text: "ok" };
  const isBackend = /^You are Bob\./m.test(request.system);
  const write = isBackend
    ? shell(
        "echo 'from fastapi import FastAPI\napp = FastAPI()' > main.py && python3 -m py_compile main.py && rm -r __pycache__",
      )
    : shell("echo 'export const App = () => <ul />;' > App.jsx");
  return [write, ours("publish", { summary: isBackend ? "backend" : "frontend" })][request.turn] ?? { text: "Done." };
}

withClaude(
  "a worker hands its parts to two Claude Codes and a single answer, and puts them together",
  { timeout: 120_000 },
  async () => {
    await using provider = await startProviderServer({ respond: mind });
    const part = (worker: string, task: string, more: object) => call("create_work_node", { worker, task, ...more });
    const { promise: bothAtWork, resolve: theyAre } = Promise.withResolvers<void>();
    const david = script(say(DOCKER).until(bothAtWork));
    await using team = await startTeam({
      goal: GOAL,
      ...claudeHouse(provider.url),
      coordinator: script(
        both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "David" })),
        part("Alice", "Build the todo app", { deliverables: ["backend", "frontend", "docker"] }),
        call("finish", { summary: "The app is in nodes/node-1/published." }).after("node-1 completed by Alice"),
      ),
      workers: {
        Alice: script(
          both(
            "This is big.",
            // It chooses who is to do them: nobody had hired these two.
            part("Bob", "Build FastAPI backend", { program: "claude-code", deliverables: ["main.py"] }),
            part("Carol", "Build React frontend", { program: "claude-code", deliverables: ["App.jsx"] }),
            part("David", "Write Docker config", { inference: "single", deliverables: ["Dockerfile"] }),
          ),
          call("bash", {
            command: `mkdir backend frontend docker && cd $RUN/nodes && cp node-2/published/main.py $SCRATCH/backend/ &&
            cp node-3/published/App.jsx $SCRATCH/frontend/ && cp node-4/published/Dockerfile $SCRATCH/docker/ &&
            cd $SCRATCH && grep -q FastAPI backend/main.py && chmod -R u+w . && echo it fits`,
          }).after("node-2 completed by Bob: backend", "node-3 completed by Carol: frontend", "node-4 completed"),
          call("publish", { summary: "It fits together" }).after("it fits"),
        ),
        David: david,
      },
    });
    // Sub-workers execute in parallel: the single answer comes when both programs are at work.
    const atWork = new Set<string>();
    team.agent.log.subscribe((fact) => {
      if (fact.type === "process.started") atWork.add(fact.data.worker_id);
      if (atWork.has("bob") && atWork.has("carol")) theyAre();
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "The app is in nodes/node-1/published." });
    // Work node tree is at least 2 levels deep
    expect(team.board().map(({ id, spec, status }) => [id, spec.parent_node_id, spec.inference, status])).toEqual([
      ["node-1", null, "multi", "completed"],
      ["node-2", "node-1", "multi", "completed"],
      ["node-3", "node-1", "multi", "completed"],
      // At least one single-inference node was used
      ["node-4", "node-1", "single", "completed"],
    ]);
    // At least one autonomous worker was used
    expect(Object.values(team.agent.now.roster).map(({ spawned }) => spawned.kind)).toEqual([
      ...["harnessed", "harnessed", "harnessed", "claude_code", "claude_code"],
    ]);
    // workspace/ contains backend/, frontend/, and docker files
    const app = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published");
    const found = (await readdir(app, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(found.map(({ parentPath, name }) => relative(app, join(parentPath, name))).sort()).toEqual([
      "backend/main.py",
      "docker/Dockerfile",
      "frontend/App.jsx",
    ]);
  },
);
