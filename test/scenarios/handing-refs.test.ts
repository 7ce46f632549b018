import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  both,
  call,
  type ScriptedModel,
  script,
  startTeam,
  type TestTeam,
  temporaryHome,
} from "../../src/testing/index.ts";

const wrote = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const published = (summary: string) => call("publish", { summary });
const finished = call("finish", { summary: "done" });
const works = (name = "a.md") => [wrote(name, "x"), published("ok")];
const firstWords = (model: ScriptedModel, at = 0) => model.requests[at]?.history.at(0)?.content;

async function answersTo(team: TestTeam, tool: string, file?: string): Promise<string[]> {
  const entries = await team.conversation(file);
  return entries.flatMap((entry) => (entry.role === "tool" && entry.tool === tool ? entry.content : []));
}

describe("refs", () => {
  test("lead to notes, results and the project: copies in the node's own folder, pinned by their hash", async () => {
    await using folder = await temporaryHome();
    await writeFile(join(folder.path, "data.csv"), "a,1\n");
    const refs = { notes: "notes/plan.md", all: "./output/", table: "project/data.csv", "odd name/": "notes" };
    const alice = script(
      both(call("read_ref", { ref_name: "notes" }), call("list_files", { path: "nodes" })),
      call("read_file", { path: "notes/plan.md" }),
      ...works(),
    );
    await using team = await startTeam({
      goal: "g",
      project: folder.path,
      coordinator: script(
        call("write_file", { path: "notes/plan.md", content: "Measure twice.\n" }),
        call("write_file", { path: "output/sub/r.md", content: "It is 80.\n" }),
        made("Use them.", { refs }),
        // What was given along is what it was then.
        call("write_file", { path: "notes/plan.md", content: "Changed.\n" }),
        finished.after("node-1 completed"),
      ),
      workers: { Alice: alice },
    });
    await team.outcome();
    const node = team.agent.now.board.nodes["node-1"];
    expect(node?.spec.refs).toEqual({
      notes: "node-1/inputs/notes/plan.md",
      all: "node-1/inputs/all",
      table: "node-1/inputs/table/data.csv",
      "odd name/": "node-1/inputs/odd-name-",
    });
    const handed = (node?.spec.inputs ?? []).map(({ name, from, files }) => [
      name,
      from,
      files.map(({ path }) => path),
    ]);
    expect(handed).toEqual([
      ["notes", "notes/plan.md", ["notes/plan.md"]],
      ["all", "./output/", ["all/sub/r.md"]],
      ["table", "project/data.csv", ["table/data.csv"]],
      ["odd name/", "notes", ["odd-name-/plan.md"]],
    ]);
    expect(firstWords(alice)).toContain('path="nodes/node-1/inputs/notes/plan.md">\nMeasure twice.\n</input>');
    expect(firstWords(alice)).toContain("a,1");
    const alices = "runs/run-1/workers/alice/conversation.jsonl";
    expect(await answersTo(team, "read_ref", alices)).toEqual(["1\tMeasure twice."]);
    // Exactly these, and nothing else of where they come from.
    expect((await answersTo(team, "read_file", alices)).join()).toMatch(/^You may not read notes\/plan\.md/);
    const started = (await team.facts()).find((fact) => fact.type === "node.started");
    const pins = JSON.parse(await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/_refs.json"), "utf8"));
    expect(pins.notes).toEqual({
      path: "nodes/node-1/inputs/notes/plan.md",
      sha256: node?.spec.inputs?.[0]?.files[0]?.sha256,
      from: "notes/plan.md",
    });
    expect(started).toMatchObject({ data: { refs: { notes: pins.notes.sha256 } } });
  });

  test("lead to what an earlier run published, whatever way it is written", async () => {
    const bob = script(...works());
    await using team = await startTeam({
      goal: "first",
      coordinator: script(
        made("Measure."),
        finished.after("node-1 completed"),
        made("Compare.", {
          refs: {
            old: "node-1/published/a.md",
            path: "agent/runs/run-1/nodes/node-1/published",
          },
        }).after("second"),
        call("finish", { summary: "again" }).after("node-2 completed"),
      ),
      workers: { Alice: script(wrote("a.md", "A: 80\n"), published("ok")), Bob: bob },
    });
    await team.outcome().catch(() => {}); // the rest of the script belongs to the second run
    await team.agent.send("second");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "again" });
    expect(firstWords(bob)).toContain('name="old" path="nodes/node-2/inputs/old/a.md">\nA: 80\n</input>');
    expect(firstWords(bob)).toContain('name="path" path="nodes/node-2/inputs/path/a.md">\nA: 80\n</input>');
  });

  test("a worker gives files of its own scratch folder along, and nothing that only the coordinator has", async () => {
    const bob = script(...works());
    const alice = script(
      wrote("half.md", "Half of it.\n"),
      made("Other half.", { refs: { half: "notes/plan.md" } }),
      made("Other half.", { refs: { half: "notebook.md" } }).after("give along what a node published"),
      made("Other half.", { refs: { half: "scratch/half.md" } }),
      published("both").after("node-2 completed"),
    );
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("write_file", { path: "notes/plan.md", content: "p" }),
        made("All of it."),
        finished.after("node-1 completed"),
      ),
      workers: { Alice: alice, Bob: bob },
    });
    await team.outcome();
    expect(firstWords(bob)).toContain("Half of it.");
  });

  test("memory, private files and unpublished work are refused, and what is not there with what comes near", async () => {
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        both(
          call("write_file", { path: "notes/findings.md", content: "f" }),
          call("write_file", { path: "agent/memory/knowledge/secret.md", content: "s" }),
          made("Hold.", { hold: true }),
        ),
        both(
          made("t", { refs: { r: "agent/memory/knowledge/secret.md" } }),
          made("t", { refs: { r: "agent/MEMORY.md" } }),
          made("t", { refs: { r: "workers/alice/notebook.md" } }),
          made("t", { refs: { r: "agent/runs/run-1/nodes/node-1/scratch/x.md" } }),
          made("t", { refs: { r: "notes/finding.md" } }),
          made("t", { refs: { r: "notes/../agent/MEMORY.md" } }),
        ),
        finished,
      ),
    });
    await team.outcome();
    const memory = "the agent's memory and folder stay yours. Copy what is needed to notes/ and refer to that.";
    expect((await answersTo(team, "create_work_node")).slice(1)).toEqual([
      `Not created: ref "r" is "agent/memory/knowledge/secret.md": ${memory}`,
      `Not created: ref "r" is "agent/MEMORY.md": ${memory}`,
      expect.stringContaining("of workers and messages nothing"),
      expect.stringContaining("must point at the published files of another node"),
      'Not created: ref "r": There is no notes/finding.md. In notes there is: findings.md.',
      expect.stringMatching(/^Not created: ref "r": .*\.\./),
    ]);
    expect(team.board().map(({ id }) => id)).toEqual(["node-1"]);
  });

  test("a copy that was changed on disk before its node began is refused", async () => {
    const { promise: tampered, resolve: tamper } = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("write_file", { path: "notes/plan.md", content: "Measure." }),
        made("Use it.", { refs: { notes: "notes/plan.md" }, hold: true }),
        call("spawn_worker", { name: "Alice" }).until(tampered),
        call("assign_worker", { node_id: "node-1", worker_id: "Alice" }),
        finished.after("node-1 failed: What it builds on was changed", "nodes/node-1/inputs/notes/plan.md"),
      ),
      workers: { Alice: script() },
    });
    await team.until(({ board }) => board.nodes["node-1"] !== undefined);
    const copy = join(team.agent.log.dir, "runs/run-1/nodes/node-1/inputs/notes/plan.md");
    await chmod(copy, 0o600);
    await writeFile(copy, "Tampered.");
    tamper();
    await team.outcome();
  });
});
