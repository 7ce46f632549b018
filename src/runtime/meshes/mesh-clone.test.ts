import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { cloneFor, type GivingAgent } from "./mesh-clone.ts";

test("MESH-CLONE-1: a message opens the clone of the node that was given to this very mesh, and no other", async () => {
  await using home = await temporaryHome();
  const project = join(realpathSync(home.path), "project");
  mkdirSync(project);
  const node = (status: string, worker_id: string) => ({ id: "node-1", status, worker_id, spec: { run_id: "run-1" } });
  const spawned = { clara: { kind: "mesh", program: "mesh/pair" }, paul: { kind: "mesh", program: "mine" } };
  const alice = { kind: "harnessed" };
  const giving = (nodes: object, more: object = {}) =>
    ({
      log: { dir: "/home/agents/agent-onexxxxx" },
      now: {
        ...{ board: { nodes }, repository: {}, agent: { created: { project } }, ...more },
        roster: { clara: { spawned: spawned.clara }, paul: { spawned: spawned.paul }, alice: { spawned: alice } },
      },
    }) as unknown as GivingAgent;
  const meshOf = (program: string) => ({ "mesh/pair": "pair", mine: "pair" })[program];
  const found = (name: string, header: object, agent: GivingAgent | undefined, mesh = "pair") =>
    cloneFor({ name, header } as never, { mesh, project, meshOf }, async (id) =>
      id === "agent-onexxxxx" ? agent : undefined,
    );

  const open = giving({ "node-1": node("running", "clara") });
  const clone = {
    folder: "/home/agents/agent-onexxxxx/runs/run-1/nodes/node-1/repo",
    repository: "/home/agents/agent-onexxxxx/repo.git",
  };
  for (const [name, header] of [
    ["agent-onexxxxx-node-1.md", {}],
    ["agent-onexxxxx-node-1-2.md", {}],
    ["agent-onexxxxx-node-1.1.md", { task: "agent-onexxxxx-node-1", step: "1" }],
    ["2611190900-0001-review-it.md", { thread: "agent-onexxxxx-node-1" }],
  ] as const)
    expect(await found(name, header, open)).toEqual(clone);
  expect(await found("agent-onexxxxx-node-1.md", {}, giving({ "node-1": node("running", "paul") }))).toEqual(clone);

  const refused = [
    found("agent-twoxxxxx-node-1.md", {}, open),
    found("agent-onexxxxx-node-2.md", {}, open),
    found("2611190900-0001-agent-onexxxxx-node-1.md", {}, open),
    found("agent-onexxxxx-node-1.md", {}, open, "other"),
    found("agent-onexxxxx-node-1.md", {}, giving({ "node-1": node("running", "alice") })),
    found("agent-onexxxxx-node-1.md", {}, giving({ "node-1": node("completed", "clara") })),
    found("agent-onexxxxx-node-1.md", {}, giving({ "node-1": node("running", "clara") }, { repository: undefined })),
    found(
      "agent-onexxxxx-node-1.md",
      {},
      giving({ "node-1": node("running", "clara") }, { agent: { created: { project: home.path } } }),
    ),
  ];
  expect(await Promise.all(refused)).toEqual(refused.map(() => undefined));
});
