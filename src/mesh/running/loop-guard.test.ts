import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshConfig, MeshFact } from "../../protocol/index.ts";
import { format } from "../files/message-file.ts";
import { type Script, ScriptedProject } from "../testing/scripted-project.ts";

const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

async function open(limits: Partial<MeshConfig>, agents: Record<string, Script>): Promise<ScriptedProject> {
  const project = new ScriptedProject({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], ...limits }],
    agents,
  });
  opened.push(project);
  await project.meshes.open();
  return project;
}

const isRefused = ({ type }: MeshFact) => type === "mesh.quarantined";
const headerOf = (project: ScriptedProject, agent: string, name: string) =>
  readFileSync(join(project.layout.queue({ mesh: "m", agent }, "complete"), name), "utf8").split("---\n")[1];

/** Hands every task on to the other and is done with it. */
const handsOn =
  (other: string): Script =>
  ({ name, header }, say) => {
    if (header.type !== "task") return;
    say(other, "task", "# You do it\n", { name: `${name.slice(0, -3)}-${other}.md` });
    say("mesh", "task-complete", "Handed on.\n", { "in-reply-to": name.slice(0, -3) });
  };

test("LOOP-GUARD-1, LOOP-GUARD-3: who hands a task round in a circle is stopped after max_hops, with a reason, and the human is asked", async () => {
  const project = await open({ max_hops: 4 }, { a: handsOn("b"), b: handsOn("a") });
  project.send("m", "t.md", "# T\n");
  const refused = await project.until(isRefused);
  const why =
    "It would be message 5 in a row that follow from t, each sent because of the one before; at most 4 are allowed (max_hops).";
  expect(refused).toMatchObject({ data: { agent: "a", name: "t.0-b-a-b-a-b.md", why: expect.stringContaining(why) } });
  expect(project.toHuman.map(({ name, header, body }) => [name, header.type, body.split("\n")[0]])).toEqual([
    [
      "t.a.circle.md",
      "ask",
      `May m/a and m/b continue? ${why} To let them continue, answer m/a, or raise "max_hops" in meshes/mesh-configs/m.json.`,
    ],
  ]);
  expect(headerOf(project, "b", "t.0-b-a-b.md")).toContain("thread: t\nhops: 3\n");
});

/** Asks back whatever it is asked. */
const asksBack =
  (other: string): Script =>
  ({ header }, say) => {
    if (header.type === "ask" || header.from === "human") say(other, "ask", "And you?\n");
  };

test("LOOP-GUARD-2, LOOP-GUARD-3, LOOP-GUARD-4: two who ask each other for ever are stopped after max_rounds, also over restarts; a word of the human's lets them go on", async () => {
  const project = await open({ max_hops: 1_000, max_rounds: 3 }, { a: asksBack("b"), b: asksBack("a") });
  const count = () => project.told.filter((line) => line.includes(": ask ")).length;
  const begin = format({ from: "human", to: "m/a", type: "ask", status: "pending" }, "Talk.\n");
  const third = project.next((fact) => fact.type === "mesh.told" && count() >= 3);
  project.put({ mesh: "m", agent: "a" }, "inbox", "begin.md", begin);
  await third;
  await project.reopen();
  const refused = await project.until(isRefused);
  expect(refused.data).toMatchObject({
    why: expect.stringMatching(
      /^m\/[ab] and m\/[ab] have written to each other for 3 rounds about begin; more are not/,
    ),
  });
  expect(project.toHuman.length).toBe(1);
  // Six passed between the two, and the one of the human's; what was told again after the restart was answered again.
  expect(count()).toBeGreaterThanOrEqual(7);
  const agent = "agent" in refused.data ? refused.data.agent : null;
  const again = project.next(isRefused);
  const word = { from: "human", to: `m/${agent}`, type: "ask-response", status: "complete" } as const;
  project.put({ mesh: "m", agent }, "inbox", "word.md", format(word, "Go on.\n"));
  const before = count();
  await again;
  expect(count() - before).toBeGreaterThanOrEqual(6);
  expect(project.toHuman.length).toBe(2);
});
