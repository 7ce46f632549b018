import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { putMessage } from "../../src/mesh/files/new-message.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { MeshHouse } from "./house.ts";

/** Any program as an agent without a terminal. */
async function plainHouse(script: string, more: Partial<MeshConfig> = {}): Promise<MeshHouse> {
  const house = new MeshHouse({
    meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"], ...more }],
    agents: { one: { options: { program: "mine", runs: "headless" } } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", script] } } },
  });
  return (await house.open()).start();
}

const ofMesh =
  (type: "mesh.completed" | "mesh.failed") =>
  (fact: { type: string; data: object }): boolean =>
    fact.type === type && "agent" in fact.data && fact.data.agent === null;

test("PLAIN-MEMBER-1, PLAIN-MEMBER-2: it works in a folder of its own, what it makes goes to shared/output, and _result.md ends its task", async () => {
  await using house = await plainHouse(
    'cp _task.md seen.md; mkdir parts; echo "$TX_AGENT of $TX_MESH" > parts/who.md; echo "It is made." > _result.md; sleep 1000',
    { validation_gates: ["output-exists"] },
  );
  await house.send("solo", { text: "# Make it\n\nof wood\n" });
  const { data } = await house.completed("solo");
  expect(data).toMatchObject({ gist: "It is made." });
  expect(readdirSync(house.project).toSorted()).toEqual([".ai", "meshes"]);
  const output = house.layout.output("solo");
  expect(readdirSync(output, { recursive: true }).toSorted()).toEqual(["parts", "parts/who.md", "seen.md"]);
  expect(readFileSync(join(output, "parts/who.md"), "utf8")).toBe("one of solo\n");
  expect(readFileSync(join(output, "seen.md"), "utf8")).toMatch(/^# Make it\n\nof wood\n/);
});

test("PLAIN-MEMBER-2: one that only prints has said by that what it did; the next task is another run", async () => {
  await using house = await plainHouse("echo It is 42.");
  await house.send("solo", { text: "# How much?\n" });
  expect((await house.completed("solo")).data).toMatchObject({ gist: "It is 42." });
  await house.send("solo", { text: "# And now?\n" });
  let ends = 0;
  await house.until((fact) => ofMesh("mesh.completed")(fact) && ++ends === 2);
  expect(readdirSync(house.project).toSorted()).toEqual([".ai", "meshes"]);
});

test("PLAIN-MEMBER-2: one that fails says why with its last words, and the human who sent the task is told", async () => {
  await using house = await plainHouse("echo there is no ink >&2; exit 4");
  await house.send("solo", { text: "# Write it\n" });
  await house.until(ofMesh("mesh.failed"));
  const [error] = (house.queues("solo", "one").complete ?? []).filter((name) => name.endsWith(".error.md"));
  expect(house.read("solo", "one", "complete", error ?? "")).toContain(
    "The program failed: it ended with 4.\n\nthere is no ink",
  );
  const { items } = await house.api.inbox();
  expect(items.map(({ text }) => text)).toEqual([
    "solo could not do “Write it”: one: The program failed: it ended with 4.",
  ]);
  expect((await house.api.meshProject(house.id)).meshes[0]?.last_end).toMatchObject({ failed: true });

  // Looking at whoever it was does not take it out of the inbox; that it was seen does.
  const { id = "", kind, from, mesh_task } = items[0] ?? {};
  const [name] = (house.queues("solo", null).complete ?? []).filter((one) => one.endsWith("write-it.md"));
  expect([kind, mesh_task]).toEqual(["failure", { project: house.project, mesh: "solo", agent: null, name }]);
  await house.api.give({ do: "seen", id: house.id, from: from?.id ?? "" });
  expect((await house.api.inbox()).items).toHaveLength(1);
  await house.api.give({ do: "seen", id: house.id, message_id: id });
  expect((await house.api.inbox()).items).toEqual([]);
});

test("PLAIN-MEMBER-2: what a person gave one agent alone and it could not do is in their inbox too", async () => {
  await using house = await plainHouse("exit 4");
  await house.send("solo", { to: "one", text: "# Write it\n" });
  await house.until(({ type, data }) => type === "mesh.failed" && data.agent === "one");
  const { items } = await house.api.inbox();
  expect(items.map(({ kind, text }) => [kind, text])).toEqual([
    ["failure", "solo/one could not do “Write it”: The program failed: it ended with 4."],
  ]);
});

test("two messages that come at once are two runs, one after the other", async () => {
  await using house = await plainHouse(
    "mkdir ../running || { echo Two at once. >&2; exit 3; }; sleep 0.2; rmdir ../running; echo Done.",
  );
  const solo = { mesh: "solo", agent: "one" };
  // Both lie there when the mesh begins to look.
  await house.api.give({ do: "stop_meshes", id: house.id });
  for (const text of ["Who?", "Where?"]) {
    const message = { from: "human", to: "solo/one", type: "ask", body: text } as const;
    putMessage(house.layout, solo, "inbox", new Date(), message);
  }
  await house.start();
  let told = 0;
  await house.until(({ type }) => type === "mesh.told" && ++told === 2);
  let idle = 0;
  await house.until(({ type, data }) => type === "mesh.session" && data.state === "idle" && ++idle === 2);
  expect((await house.facts("mesh.session")).filter(({ state }) => state === "dead")).toEqual([]);
});

test("PLAIN-MEMBER-3: what it is told while it runs is in its inbox, and what it writes to its outbox is the answer", async () => {
  await using house = await plainHouse(
    'until grep -q "How far" _inbox.md; do sleep 0.1; done; printf "TO: human\\nHalf of it.\\n---\\n" >> _outbox.md; until [ -f ../go ]; do sleep 0.1; done; echo Done. > _result.md',
  );
  await house.send("solo", { text: "# Make it\n" });
  await house.until(({ type, data }) => type === "mesh.told" && data.agent === "one");
  await house.send("solo", { to: "one", type: "ask", text: "How far are you?\n" });
  const { data } = await house.until(({ type }) => type === "message.sent");
  expect(data).toMatchObject({ to: "human", text: "Half of it." });
  expect(existsSync(join(house.project, "_inbox.md"))).toBe(false);
});

test("PLAIN-MEMBER-1: two that work at once and leave files of one name overwrite nothing", async () => {
  const script =
    'echo "$TX_AGENT" > who.md; echo same > same.md; until [ -e "$TX_OUTPUT/go" ]; do sleep 0.05; done; echo "I am $TX_AGENT."';
  const options = { program: "mine", runs: "headless" as const };
  const house = new MeshHouse({
    meshes: [{ mesh: "both", type: "persistent", topology: "parallel", agents: ["x/one", "x/two"] }],
    agents: { one: { options }, two: { options } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", script] } } },
  });
  await (await house.open()).start();
  await using _ = house;
  const output = house.layout.output("both");
  await house.send("both", { text: "# Who are you?\n" });
  let told = 0;
  await house.until(({ type }) => type === "mesh.told" && ++told === 2);
  writeFileSync(join(output, "go"), "");
  await house.completed("both");
  const files = readdirSync(output, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const said = files
    .filter(({ name }) => name === "who.md")
    .map(({ parentPath }) => readFileSync(join(parentPath, "who.md"), "utf8").trim());
  expect([said.toSorted(), files.map(({ name }) => name).toSorted()]).toEqual([
    ["one", "two"],
    ["go", "same.md", "stdout.txt", "stdout.txt", "who.md", "who.md"],
  ]);
});

test("what works in the sandbox can read the folder of another that works at the same time, and not write to it", async () => {
  const script =
    'for other in one two; do [ $other = $TX_AGENT ] || { cd "$TX_OUTPUT/$other"; cat kept.md; echo mine > kept.md; rm kept.md; > new.md; }; done; true';
  const options = { program: "mine", runs: "headless" as const };
  await using house = await new MeshHouse({
    meshes: [{ mesh: "both", type: "persistent", topology: "parallel", agents: ["x/one", "x/two"] }],
    agents: { one: { options }, two: { options } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", script] } } },
  }).open();
  const kept = ["one", "two"].map((name) => join(house.layout.ownOutput("both", name), "kept.md"));
  for (const file of kept) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "kept\n");
  }
  await house.start();
  await house.send("both", { text: "# Overwrite each other\n" });
  await house.completed("both");
  const [result = ""] = (house.queues("both", "one").complete ?? []).filter((name) => name.endsWith(".result.md"));
  expect(house.read("both", "one", "complete", result)).toContain("kept");
  expect(kept.map((file) => [readFileSync(file, "utf8"), readdirSync(dirname(file))])).toEqual([
    ["kept\n", ["kept.md"]],
    ["kept\n", ["kept.md"]],
  ]);
});

test("PLAIN-MEMBER-1: a file in shared/output and one of the same name in its own folder are both kept, and it is told", async () => {
  await using house = await plainHouse(
    'echo one > "$TX_OUTPUT/same.md"; echo two > same.md; echo Done. > _result.md; sleep 1000',
  );
  await house.send("solo", { text: "# Make it\n" });
  await house.completed("solo");
  const output = house.layout.output("solo");
  const files = ["same.md", "one/same.md"].map((file) => readFileSync(join(output, file), "utf8"));
  expect([files, readdirSync(output).toSorted()]).toEqual([
    ["one\n", "two\n"],
    ["one", "same.md"],
  ]);
  const [result] = (house.queues("solo", "one").complete ?? []).filter((name) => name.endsWith(".result.md"));
  expect(house.read("solo", "one", "complete", result ?? "")).toContain(
    "Done.\n\nshared/output has files of the same name that were written during this run; these of its folder are in one/same.md.",
  );
});

test("PLAIN-MEMBER-1: what finds no free name is named, and stays in its folder", async () => {
  await using house = await plainHouse(
    'for file in same.md one/same.md; do mkdir -p "$TX_OUTPUT/one"; echo "$file" > "$TX_OUTPUT/$file"; done; echo two > same.md; echo Done. > _result.md',
  );
  await house.send("solo", { text: "# Make it\n" });
  await house.completed("solo");
  const output = house.layout.output("solo");
  const files = ["same.md", "one/same.md"].map((file) => readFileSync(join(output, file), "utf8"));
  expect(files).toEqual(["same.md\n", "one/same.md\n"]);
  const [result] = (house.queues("solo", "one").complete ?? []).filter((name) => name.endsWith(".result.md"));
  expect(house.read("solo", "one", "complete", result ?? "")).toMatch(/; these stay in \S+: same\.md\.\n/);
});

test("PLAIN-MEMBER-4: if what it made cannot be taken, its task fails, its files are kept, and the human is told why", async () => {
  await using house = await plainHouse(
    'echo file > "$TX_OUTPUT/parts"; mkdir parts; echo two > parts/a.md; echo Done. > _result.md; sleep 1000',
  );
  await house.send("solo", { text: "# Make it\n" });
  await house.until(ofMesh("mesh.failed"));
  const workspace = house.layout.workspace("solo", "one");
  const [run = ""] = readdirSync(workspace);
  expect(readFileSync(join(workspace, run, "parts/a.md"), "utf8")).toBe("two\n");
  expect(house.queues("solo", "one").active ?? []).toEqual([]);
  expect((await house.api.inbox()).items.map(({ text }) => text)).toEqual([
    expect.stringContaining(
      "solo could not do “Make it”: one: What it made could not be taken (its files are kept in ",
    ),
  ]);
});

test("PLAIN-MEMBER-4: if it cannot be started, its task fails and says why", async () => {
  await using house = await plainHouse("echo Done.");
  await house.send("solo", { text: "# Make it\n" });
  await house.completed("solo");
  const workspace = house.layout.workspace("solo", "one");
  rmSync(workspace, { recursive: true });
  writeFileSync(workspace, "");
  await house.send("solo", { text: "# And again\n" });
  await house.until(ofMesh("mesh.failed"));
  expect((await house.api.inbox()).items.map(({ text }) => text)).toEqual([
    expect.stringContaining("solo could not do “And again”: one: It could not be started: "),
  ]);
});

test("a task that the run before did not end says so; one that is wanted for the first time does not", async () => {
  await using house = await plainHouse(
    'if [ -f first.md ]; then cp _task.md second.md; echo Done. > _result.md; else cp _task.md first.md; printf "TO: human\\nBegun.\\n---\\n" >> _outbox.md; fi; sleep 1000',
  );
  await house.send("solo", { text: "# Make it\n" });
  await house.until(({ type }) => type === "human.question");
  await house.restart();
  await house.completed("solo");
  const told = (file: string) =>
    readFileSync(join(house.layout.output("solo"), file), "utf8").split("\n\n## How to speak")[0];
  expect(["first.md", "second.md"].map(told)).toEqual([
    "# Make it",
    "# Make it\n\n(An earlier session of yours was given this task and ended before it was done. Look first at what is there already.)",
  ]);
});
