import { linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TOKEN } from "../../src/testing/start-server.ts";
import { MeshHouse } from "./house.ts";

/** Two programs in a row; the first gives up where the task says "Fail". */
async function relay(gates: Record<string, string> = {}): Promise<MeshHouse> {
  const program = (script: string) => ({ kind: "autonomous" as const, command: ["sh", "-c", script] });
  const house = new MeshHouse({
    meshes: [
      {
        mesh: "relay",
        type: "persistent",
        agents: ["x/first", "x/second"],
        workflow: ["first", "second"],
        validation_gates: Object.keys(gates),
      },
    ],
    gates,
    agents: {
      first: { options: { program: "draft", runs: "headless" } },
      second: { options: { program: "proof", runs: "headless" } },
    },
    config: {
      programs: {
        draft: program(
          "grep -q Fail _task.md && { echo There is no ink. >&2; exit 4; }; mkdir notes; echo Draft. > notes/draft.md; echo Drafted. > _result.md",
        ),
        proof: program("echo It reads well. > read.md; cp read.md _result.md"),
      },
    },
  });
  return (await house.open()).start();
}

const fetched = async (house: MeshHouse, path: string) => {
  const url = `${house.api.url}/meshes/${house.id}/relay/output/${path}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
  return [response.status, response.ok ? await response.text() : ""];
};

test("MESH-RESULTS-1, MESH-RESULTS-2: the last words of a mesh and its files with who wrote them are to be had, over a restart too", async () => {
  await using house = await relay();
  const empty = { mesh: "relay", last: null, output: ".ai/tx/mesh/relay/shared/output", files: [], more: false };
  expect(await house.api.meshResults(house.id, "relay")).toEqual(empty);
  const { name } = await house.send("relay", { text: "# Write it\n" });
  await house.completed("relay");
  const expected = {
    ...empty,
    last: {
      name,
      from: "human",
      title: "Write it",
      at: expect.any(Number),
      refused: null,
      ends: [{ agent: "second", failed: false, words: "It reads well." }],
    },
    files: [
      { path: "read.md", bytes: 15, at: expect.any(Number), by: "second" },
      { path: "notes/draft.md", bytes: 7, at: expect.any(Number), by: "first" },
    ],
  };
  expect(await house.api.meshResults(house.id, "relay")).toEqual(expected);
  expect(await fetched(house, "notes/draft.md")).toEqual([200, "Draft.\n"]);
  await house.restart();
  expect(await house.api.meshResults(house.id, "relay")).toEqual(expected);

  // Of what was changed when nobody had a task, nobody is named.
  const output = house.layout.output("relay");
  utimesSync(join(output, "read.md"), 1, 1);
  const { files } = await house.api.meshResults(house.id, "relay");
  expect(files.find(({ path }) => path === "read.md")).toMatchObject({ at: 1, by: null });
});

test("of a task that failed the words of whoever gave up are told", async () => {
  await using house = await relay();
  await house.send("relay", { text: "# Fail\n" });
  await house.until(({ type, data }) => type === "mesh.failed" && data.agent === null);
  const { last } = await house.api.meshResults(house.id, "relay");
  expect(last?.ends).toEqual([
    { agent: "first", failed: true, words: "The program failed: it ended with 4.\n\nThere is no ink." },
  ]);
});

test("MESH-RESULTS-1: that a task did not pass its gates is told, over a restart too", async () => {
  await using house = await relay({ never: "echo Too short.; exit 1\n" });
  const { name } = await house.send("relay", { text: "# Write it\n" });
  await house.until(({ type, data }) => type === "mesh.failed" && data.agent === null);
  const told = async () => {
    const { last } = await house.api.meshResults(house.id, "relay");
    const [own] = (await house.api.meshQueues(house.id, "relay")).places;
    const over = own?.queues.complete.messages.map((message) => [message.name, message.failed]);
    return [last?.refused, over, (await house.api.meshProject(house.id)).meshes[0]?.last_end?.failed];
  };
  const expected = [expect.stringContaining("It did not pass after 3 corrections."), [[name, true]], true];
  expect(await told()).toEqual(expected);
  await house.restart();
  expect(await told()).toEqual(expected);
});

test("nothing that lies elsewhere is to be had by way of a mesh's files", async () => {
  await using house = await relay();
  const output = house.layout.output("relay");
  mkdirSync(output, { recursive: true });
  writeFileSync(join(house.project, "secret.txt"), "secret");
  symlinkSync(join(house.project, "secret.txt"), join(output, "link.txt"));
  symlinkSync(house.project, join(output, "folder"));
  linkSync(join(house.project, "secret.txt"), join(output, "hard.txt"));
  writeFileSync(join(output, "own.txt"), "own");
  const { files } = await house.api.meshResults(house.id, "relay");
  expect(files.map(({ path }) => path).toSorted()).toEqual(["hard.txt", "own.txt"]);
  const elsewhere = ["link.txt", "folder/secret.txt", "hard.txt", "..%2f..%2fstate.json"];
  const seen = await Promise.all(["own.txt", ...elsewhere, "nowhere.txt"].map((path) => fetched(house, path)));
  expect(seen).toEqual([[200, "own"], ...elsewhere.map(() => [403, ""]), [404, ""]]);
});
