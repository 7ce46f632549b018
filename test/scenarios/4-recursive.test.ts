import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { both, call, say, script, startTeam } from "../../src/testing/index.ts";

/**
 * Seed 002 §11, test 4: recursive spawning. Scripted workers stand in for the coding agents; with real ones
 * it is in 4-recursive-claude.test.ts.
 */
const GOAL = "Create a full-stack todo app: REST API in Python (FastAPI) + frontend in React + Docker setup.";
const MODELS = "class Todo: ...\n";
const API = "from fastapi import FastAPI\nfrom models import Todo\napp = FastAPI()\n";
const APP = "export const App = () => <ul />;\n";
const DOCKER = "FROM python:3.14-slim\nCOPY backend /app\n";

test("a worker finds its node too big, hands parts down, one of them does so again, and what comes up is put together", async () => {
  const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
  const part = (worker: string, task: string, more: object) => call("create_work_node", { worker, task, ...more });
  const david = script(say(DOCKER));
  const { promise: allPartsAreMade, resolve: theyAre } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: GOAL,
    // Who waits for sub-nodes takes nobody's place: two at once are enough for a tree of any depth.
    config: { max_concurrent: 2 },
    coordinator: script(
      part("Alice", "Build the todo app", { deliverables: ["backend", "frontend", "docker"] }),
      call("finish", { summary: "The app is in nodes/node-1/published." }).after("node-1 completed by Alice"),
    ),
    workers: {
      Alice: script(
        both(
          "This is big.",
          // It chooses who is to do them: nobody had hired these.
          part("Bob", "Build FastAPI backend", { deliverables: ["main.py", "models.py"] }),
          part("Carol", "Build React frontend", { deliverables: ["App.jsx"] }),
          part("David", "Write Docker config", { inference: "single" }),
        ),
        both(
          ...["node-2/published/main.py", "node-2/published/models.py", "node-3/published/App.jsx"].map((path) =>
            call("read_file", { path: `nodes/${path}` }),
          ),
          call("read_file", { path: "nodes/node-4/published/answer.md" }),
        ).after("node-2 completed by Bob: backend", "node-3 completed", "node-4 completed"),
        both(
          written("backend/main.py", API),
          written("backend/models.py", MODELS),
          written("frontend/App.jsx", APP),
          written("docker/Dockerfile", DOCKER),
        ).after("app = FastAPI()", "class Todo", "export const App", "FROM python"),
        call("publish", { summary: "It fits together" }),
      ),
      Bob: script(
        part("Erin", "Write the data model", { deliverables: ["models.py"] }).until(allPartsAreMade),
        call("read_file", { path: "nodes/node-5/published/models.py" }).after("node-5 completed"),
        both(written("models.py", MODELS), written("main.py", API)).after("class Todo"),
        call("publish", { summary: "backend" }),
      ),
      Carol: script(written("App.jsx", APP), call("publish", { summary: "frontend" })),
      David: david,
      Erin: script(written("models.py", MODELS), call("publish", { summary: "model" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.created" && fact.data.node_id === "node-4") theyAre();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "The app is in nodes/node-1/published." });

  // Work node tree is at least 2 levels deep: here it is three
  expect(
    team.board().map(({ id, spec, children, status }) => [id, spec.task, spec.parent_node_id, children, status]),
  ).toEqual([
    ["node-1", "Build the todo app", null, ["node-2", "node-3", "node-4"], "completed"],
    ["node-2", "Build FastAPI backend", "node-1", ["node-5"], "completed"],
    ["node-3", "Build React frontend", "node-1", [], "completed"],
    ["node-4", "Write Docker config", "node-1", [], "completed"],
    ["node-5", "Write the data model", "node-2", [], "completed"],
  ]);

  // At least one autonomous worker was used: harnessed ones stand in here
  expect(new Set(Object.values(team.agent.now.roster).map((worker) => worker.spawned.kind))).toEqual(
    new Set(["harnessed"]),
  );

  // At least one single-inference node was used: one call, no tools
  expect(david.requests.map((request) => request.tools)).toEqual([[]]);
  expect(team.board().map((node) => node.spec.inference)).toEqual(["multi", "multi", "multi", "single", "multi"]);

  // workspace/ contains backend/, frontend/, and docker files
  const app = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published");
  const files = (await readdir(app, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const contents = await Promise.all(
    files.map(async ({ parentPath, name }) => [
      relative(app, join(parentPath, name)),
      await readFile(join(parentPath, name), "utf8"),
    ]),
  );
  expect(Object.fromEntries(contents)).toEqual({
    "backend/main.py": API,
    "backend/models.py": MODELS,
    "frontend/App.jsx": APP,
    "docker/Dockerfile": DOCKER,
  });

  // The coordinator heard of its own node only; a worker answers for what it handed down
  const heard = (await team.conversation()).flatMap((entry) => (entry.role === "user" ? entry.content : []));
  expect(heard.join("\n").match(/node-\d+ completed/g)).toEqual(["node-1 completed"]);
});
