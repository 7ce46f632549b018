import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Entry, NO_USAGE, type Part, type ReplyEntry, type ResultEntry } from "../../protocol/index.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { defineTool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { filesText, projectLine, RESUMED, recoverPast, resumeText, unheardResults } from "./first-words.ts";
import type { Transcript } from "./transcript.ts";

const { signal } = new AbortController();
const shape = { description: "", parameters: z.object({}) };
const publish = defineTool({
  ...shape,
  name: "publish",
  repeatable: true,
  run: async () => ({ content: "Published.", ending: { kind: "published", summary: "done" } as const }),
});
const send = defineTool({ ...shape, name: "send_message", repeatable: false, run: async () => "Sent." });
const tools = new Toolbox([publish, send]);

function reply(...names: string[]): Entry {
  const content: Part[] = names.map((name) => ({ type: "call", id: name, name, args: {} }));
  return { role: "assistant", content, model: "m", usage: NO_USAGE, cost_usd: 0, finish: "tool-calls" };
}

async function recovered(...history: Entry[]) {
  const results: ResultEntry[] = [];
  const transcript = { result: async (result: ResultEntry) => void results.push(result) } as unknown as Transcript;
  const { ending, recovered } = await recoverPast(history, tools, transcript, signal);
  return {
    ending,
    told: unheardResults([...history, ...recovered], tools),
    results: results.map(({ tool, ok }) => [tool, ok]),
  };
}

test("a publish that was cut off is done, and ends the work", async () => {
  expect(await recovered(reply("publish"))).toEqual({
    ending: { kind: "published", summary: "done" },
    told: ["Your call of publish: Published."],
    results: [["publish", true]],
  });
});

test("what must not be done twice is not, and it is told so; its own calls are closed", async () => {
  expect(await recovered(reply("send_message", "Bash"))).toEqual({
    ending: undefined,
    told: [
      expect.stringContaining("Your call of send_message: Outcome unknown"),
      "You were interrupted while this ran: Bash {}. Nobody knows how far it came: look at what it has done before you do it again.",
    ],
    results: [
      ["send_message", false],
      ["Bash", false],
    ],
  });
});

test("an ending that nobody saw is seen; one of the try before is not", async () => {
  const ended: Entry = {
    role: "tool",
    call_id: "publish",
    tool: "publish",
    ok: true,
    content: "",
    ending: { kind: "published", summary: "done" },
  };
  const again: Entry = { role: "user", from: "agiraph", content: "Once more.", again: true };
  expect((await recovered(reply("publish"), ended)).ending).toEqual({ kind: "published", summary: "done" });
  expect((await recovered(reply("publish"), ended, again)).ending).toBeUndefined();
});

test("a result that is on record and may not have been heard is told again, until two replies have followed it", () => {
  const sent: Entry = { role: "tool", call_id: "send_message", tool: "send_message", ok: true, content: "Sent." };
  const again = ["Your call of send_message: Sent."];
  expect([
    unheardResults([reply("send_message"), sent], tools),
    unheardResults([reply("send_message"), sent, reply("Bash")], tools),
    unheardResults([reply("send_message"), sent, reply("Bash"), reply("Bash")], tools),
    unheardResults([reply("Bash"), { ...sent, call_id: "Bash", tool: "Bash" }], tools),
  ]).toEqual([again, again, [], []]);
});

test("what may not have been heard is said again: one reply after it proves nothing, two do", () => {
  const said = (content: string): Entry => ({ role: "user", from: "human", content });
  const thought: Entry = { ...(reply("Bash") as ReplyEntry), usage: { ...NO_USAGE, output: 1 } };
  const again = (...history: Entry[]) => resumeText(history, []).includes("Hurry.");
  expect([
    again(thought, said("Hurry.")),
    again(thought, said("Hurry."), thought),
    again(thought, said("Hurry."), thought, reply("publish")),
    again(thought, said("Hurry."), thought, thought),
  ]).toEqual([true, true, true, false]);
  // Its own words about the interruption are not said again and again.
  expect(resumeText([said("Hurry."), said(RESUMED), said(RESUMED)], []).split(RESUMED)).toHaveLength(2);
});

test("a program is told where the project says something to agents, where it does", async () => {
  await using project = await temporaryHome();
  const seen = "Names that begin with a dot are left out, and what changes there while you run may not be seen.";
  expect(await projectLine(project.path)).toBe(`- To read: the user's own files, ${project.path}. ${seen}`);
  for (const name of ["CLAUDE.md", "AGENTS.md"]) await writeFile(join(project.path, name), "Use tabs.");
  const [agents, claude] = ["AGENTS.md", "CLAUDE.md"].map((name) => join(project.path, name));
  expect(await projectLine(project.path, ["Some is left out."])).toBe(
    `- To read: the user's own files, ${project.path}. What the project asks of agents is in ${agents} and ${claude}: read it first. ${seen} Some is left out.`,
  );
});

test("a program in a clone is told which files of the repository are for agents: it knows only one name for them", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "AGENTS.md"), "Use tabs.");
  const scope = { cwd: home.path, named: { PROJECT: home.path } };
  const now = () => ({ agent: { created: { project: home.path } } });
  const work = {
    node: { id: "node-1", spec: { run_id: "run-1" } },
    ...{ self: { worker_id: "ann" }, scope, workplace: { log: { dir: home.path }, now } },
  };
  const text = await filesText(work as unknown as Parameters<typeof filesText>[0]);
  expect(text).toContain(`your own clone of the repository, for node-1.`);
  expect(text).toContain(`What the project asks of agents is in ${home.path}/AGENTS.md: read it first.`);
});
