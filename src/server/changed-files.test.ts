import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, script } from "../testing/index.ts";
import { startServer, type TestServer } from "../testing/start-server.ts";

const PUBLISHED = "runs/run-1/nodes/node-1/published";

test("a published file that was changed on disk is refused by the API, and marked where it is listed", async () => {
  await using house = await startServer({
    coordinator: script(
      call("create_work_node", { task: "Write" }),
      call("finish", { summary: "written" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/a.md", content: "before" }),
        call("write_file", { path: "scratch/b.md", content: "as it was" }),
        call("publish", { summary: "written" }),
      ),
    },
  });
  const { id, dir } = await agentAfter(house);
  expect((await house.get(`/agents/${id}/workspace/${PUBLISHED}/a.md`)).body).toBe("before");

  await chmod(join(dir, PUBLISHED, "a.md"), 0o600);
  await writeFile(join(dir, PUBLISHED, "a.md"), "after!");
  await writeFile(join(dir, PUBLISHED, "c.md"), "added");

  const answers = await Promise.all(
    ["a.md", "b.md", "c.md", "?archive=zip"].map((path) =>
      house.get(`/agents/${id}/workspace/${PUBLISHED}${path.startsWith("?") ? path : `/${path}`}`),
    ),
  );
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [409, { error: { code: "changed", message: expect.stringContaining("was changed after it was published") } }],
    [200, "as it was"],
    [409, { error: { code: "changed", message: expect.stringContaining("was put there after the publish") } }],
    [409, { error: { code: "changed", message: expect.stringContaining("a.md was changed") } }],
  ]);
  expect((await house.get(`/agents/${id}/board/node-1`)).body).toMatchObject({
    published: [
      { path: `${PUBLISHED}/a.md`, kind: "file", bytes: 6, changed: true },
      { path: `${PUBLISHED}/b.md`, kind: "file", bytes: 9 },
      { path: `${PUBLISHED}/c.md`, kind: "file", bytes: 5, changed: true },
    ],
  });
});

async function agentAfter(house: TestServer): Promise<{ id: string; dir: string }> {
  const { body } = await house.post("/agents", { goal: "Write", worker_model: "scripted/worker" });
  const { id } = body as { id: string };
  await house.until(id, ({ agent }) => agent.status === "completed");
  const [known] = await house.runtime.store.agents();
  if (!known) throw new Error("There is no agent.");
  return { id, dir: (await house.runtime.store.open(known)).dir };
}
