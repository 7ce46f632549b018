import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type Entry, HUMAN, textOf } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import { openRuntime } from "../../runtime/open-runtime.ts";
import { runDir } from "../../store/paths.ts";
import { fileTools } from "../../tools/files.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { type Model, ModelFailure } from "../model.ts";
import { createSurveyor } from "./surveyor.ts";

const DOCS: Record<string, string> = {
  "docs/README.md": [
    "# Lighthouse",
    "",
    "The lighthouse keeps ships away from the rocks. Every keeper lights the lamp before sunset.",
    "",
    "See the [manual](manual.md), the [old plan](plan.md) and https://example.org/lamps.",
  ].join("\n"),
  "docs/manual.md": [
    "# Manual of the lamp",
    "",
    "## Lighting",
    "",
    "The keeper fills the lamp with oil and lights it before sunset.",
    "",
    "```sh",
    "lamp --light",
    "```",
    "",
    "## Cleaning",
    "",
    "TODO: describe how the lamp is cleaned.",
  ].join("\n"),
  "docs/copy.md": "The same words.\n",
  "docs/more/copy of | it.md": "The same words.\n",
  "docs/more/empty.md": "",
  "docs/more/photo.png": "\x89PNG\r\n",
  "docs/more/data.json": '{"name": "lamp", "height": 42}\n',
};

test("a small folder is surveyed by one worker, and the report holds what the files say", async () => {
  await using demo = await survey("Survey the files in ./docs and write a report", DOCS);

  expect(demo.board()).toEqual([["node-1", "completed", "Survey docs"]]);
  expect(await demo.file("nodes/node-1/published/report.md")).toBe(REPORT);
  expect(demo.agent.now.agent.run?.finished).toEqual({
    kind: "finished",
    summary: `Survey of docs:
- 7 files in 2 folders, 472 bytes; 5 read, with 21 lines and 72 words.
- Kinds: Markdown (5), JSON (1) and image (1).
- What it talks about most: lamp, keeper, light, sunset, lighting and same.
- The longest texts: \`docs/README.md\` (“Lighthouse”, 32 words), \`docs/manual.md\` (“Manual of the lamp”, 30 words) and \`docs/more/data.json\` (“name, height”, 4 words).
- Worth a look: 1 broken link, 1 empty file, 1 set of identical files and 1 TODO mark.
The report: nodes/node-1/published/report.md

${GOODBYE}`,
  });
});

test("stopped at any of its replies and taken up again, it comes to the same report", async () => {
  const model = createSurveyor();
  let replies = 0;
  const counting: Model = { ...model, reply: (...args) => (replies++, model.reply(...args)) };
  await using whole = await survey("Survey ./docs", DOCS, counting);
  const expected = await whole.file("nodes/node-1/published/report.md");
  expect(replies).toBeGreaterThan(8);

  for (let at = 1; at <= replies; at++) {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    let count = 0;
    const breaking: Model = {
      ...model,
      reply(request, signal) {
        if (++count < at) return model.reply(request, signal);
        resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    await using demo = await survey("Survey ./docs", DOCS, breaking, reached);
    await demo.takeUpAgain(model);
    expect([at, await demo.file("nodes/node-1/published/report.md")]).toEqual([at, expected]);
    expect(demo.agent.now.agent.status).toBe("completed");
  }
});

test("the same history always has the same reply, word for word and id for id", async () => {
  await using demo = await survey("Survey ./docs", DOCS);
  const conversations = [
    { file: "conversation.jsonl", tools: ["list_files", "read_file", "create_work_node", "finish"] },
    { file: "runs/run-1/workers/alice/conversation.jsonl", tools: ["list_files", "read_file", "write_file", "publish"] },
  ];
  for (const { file, tools } of conversations) {
    const entries = (await demo.agent.log.conversation(file)).map(({ seq: _, ts: __, ...entry }) => entry as Entry);
    const history = entries.filter((entry) => entry.role !== "system");
    for (const [at, entry] of history.entries()) {
      if (entry.role === "assistant") expect(await replyTo(history.slice(0, at), tools)).toEqual(entry);
    }
  }
});

test("a larger folder is shared out among three workers, and a fourth joins what they found", async () => {
  const files = Object.fromEntries(
    ["api", "guide", "notes"].flatMap((folder) =>
      Array.from({ length: 6 }, (_, n) => [`docs/${folder}/${n}.md`, `# ${folder} ${n}\n\n[next](../guide/${n + 1}.md)\n`]),
    ),
  );
  await using demo = await survey("Give me an overview of docs/", files);

  expect(demo.board()).toEqual([
    ["node-1", "completed", "Survey docs, part 1 of 3"],
    ["node-2", "completed", "Survey docs, part 2 of 3"],
    ["node-3", "completed", "Survey docs, part 3 of 3"],
    ["node-4", "completed", "Join the surveys of docs"],
  ]);
  const report = await demo.file("nodes/node-4/published/report.md");
  expect(report.match(/^- .* folders, .*$|^- Broken link .*$/gm)).toEqual([
    "- 18 files in 3 folders, 598 bytes; all read, with 54 lines and 198 words.",
    "- Broken link in `docs/api/5.md`: `../guide/6.md` is not there.",
    "- Broken link in `docs/guide/5.md`: `../guide/6.md` is not there.",
    "- Broken link in `docs/notes/5.md`: `../guide/6.md` is not there.",
  ]);
});

test("a folder that is not there is said to be missing, and the project is surveyed instead", async () => {
  await using demo = await survey("Survey ./nowhere", { "a.md": "# A\n" });
  expect(demo.summary()).toContain("There is no ./nowhere in the project folder, so the whole project was surveyed instead.");
  expect(demo.summary()).toContain("1 file in 1 folder, 4 bytes; all read");
});

test("an empty project ends with a sentence and no work", async () => {
  await using demo = await survey("Survey this folder", {});
  expect(demo.board()).toEqual([]);
  expect(demo.summary()).toBe(`There are no files in the project, so there is nothing to report.\n\n${GOODBYE}`);
});

test("a goal that needs a language model is answered honestly, with what the demo can do", async () => {
  await using demo = await survey("write me a poem", { "a.md": "# A\n" });
  expect(demo.summary()).toBe(`This goal needs a language model, and I am only the demo: I can survey files, nothing else. So that you see a team at work, I survey the project folder briefly.

Survey of the project:
- 1 file in 1 folder, 4 bytes; all read, with 1 line and 1 word.
- Kind: Markdown (1).
- The longest texts: \`a.md\` (“A”, 1 word).
- Nothing odd was found.
The report: nodes/node-1/published/report.md

${GOODBYE}`);
});

test("thousands of files: some are read, and what was left out is said", async () => {
  const files = Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`big/${n}.txt`, `Number ${n}.\n`]));
  await using demo = await survey("Survey big/", files);
  const report = await demo.file("nodes/node-1/published/report.md");
  expect(report.slice(report.indexOf("## What was left out"))).toBe(`## What was left out

- The list of \`big\` was cut off: there are more files than the ones counted here.
- 460 files were listed and not read, for want of room.
`);
});

test("a file that only pretends to be text is told from one that is", async () => {
  await using demo = await survey("Survey this project", { "a.md": "\0\0binary", "b.md": `${"long ".repeat(1000)}\n` });
  const report = await demo.file("nodes/node-1/published/report.md");
  expect(report.match(/^- Not text.*$|^- Only the first part.*$/gm)).toEqual([
    "- Not text, so not read: `a.md`.",
    "- Only the first part was read of `b.md`.",
  ]);
});

test("after a crash in the middle of create_work_node it looks on the board before it asks again", async () => {
  const files = { role: "tool", call_id: "demo-run-1-1", tool: "list_files", ok: true, content: "project/a.md (4 bytes)" } as const;
  const goal = { role: "user", from: HUMAN, content: "Survey this project", run_id: "run-1" } as const;
  const tools = ["list_files", "read_file", "create_work_node", "finish"];
  const look = await replyTo([goal], tools);
  const create = await replyTo([goal, look, files], tools);
  const call = create.content.find((part) => part.type === "call");
  const task = call?.type === "call" && typeof call.args === "object" && call.args ? Object.values(call.args)[0] : "";
  const unknown = { role: "tool", call_id: "demo-run-1-2", tool: "create_work_node", ok: false, content: "Outcome unknown: …" } as const;
  const history: Entry[] = [goal, look, files, create, unknown];

  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["list_files", { path: "nodes", recursive: false }]]);
  history.push({ role: "tool", call_id: "demo-run-1-3", tool: "list_files", ok: true, content: "nodes/node-1/" });
  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["read_file", { path: "nodes/node-1/_spec.md" }]]);

  const spec = { role: "tool", call_id: "demo-run-1-4", tool: "read_file", ok: true } as const;
  const isThere = await replyTo([...history, { ...spec, content: `# node-1\n\n${task}\n` }], tools);
  expect(textOf(isThere)).toBe("[demo] I wait for node-1.");
  const isNot = await replyTo([...history, { ...spec, content: "# node-1\n\nSomething else\n" }], tools);
  expect(callsIn([isNot])).toEqual([["create_work_node", call?.type === "call" ? call.args : undefined]]);
});

test("a node that failed is reported as failed", async () => {
  const model = createSurveyor();
  const failing: Model = {
    ...model,
    async reply(request, signal) {
      const isWorker = request.tools.some(({ name }) => name === "publish");
      if (isWorker) throw new ModelFailure("server", "The lights went out.", { retryable: false });
      return model.reply(request, signal);
    },
  };
  await using demo = await survey("Survey this project", { "a.md": "# A\n" }, failing);
  expect(demo.board()).toEqual([["node-1", "failed", "Survey the project"]]);
  expect(demo.summary()).toBe(`The survey did not come about. node-1 (the project) failed: The lights went out..\n\n${GOODBYE}`);
});

test("whoever writes to it gets an honest answer, and its words arrive in pieces", async () => {
  const pieces: string[] = [];
  const goal: Entry = { role: "user", from: HUMAN, content: "Survey this project", run_id: "run-1" };
  const message: Entry = { role: "user", from: "agiraph", content: "[Message from human]: faster *please*", upto: 3 };
  const reply = await createSurveyor().reply(
    { system: "", history: [goal, message], tools: specs(["list_files", "read_file", "finish"]), onDelta: ({ text }) => pieces.push(text) },
    new AbortController().signal,
  );
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join("")).toBe(textOf(reply));
  expect(textOf(reply)).toBe(
    "[demo] I am demo/surveyor, the built-in demo: rules, no language model. You wrote “faster \\*please\\*”; I read it, but I am rules only and cannot act on it. I look at the project first.",
  );
});

const GOODBYE =
  "This was demo/surveyor, the built-in demo without a language model. For a real model set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local one) and start again.";

const REPORT = `TO BE FILLED`;

/** The real runtime on a real home and a real project folder, with the surveyor as everybody's model. */
async function survey(goal: string, files: Record<string, string>, model = createSurveyor(), until?: Promise<void>) {
  const folder = await temporaryHome();
  const project = join(folder.path, "project");
  await mkdir(project);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), content, "latin1");
  }
  const open = (model: Model) =>
    openRuntime(
      { home: join(folder.path, "home"), env: {}, config: {} },
      {
        catalog: { model: async () => model, list: () => [], chooseDefault: async () => ({ model: model.id, why: "" }), cost: async () => 0 },
        tools: (scope) => fileTools(scope),
      },
    );
  let runtime = await open(model);
  let agent: Agent = await runtime.create({ goal, model: model.id, project });
  await Promise.race([agent.idle(), ...(until ? [until] : [])]);
  return {
    get agent() {
      return agent;
    },
    board: () => Object.values(agent.now.board.nodes).map(({ id, status, spec }) => [id, status, spec.task.split("\n", 1)[0]]),
    summary: () => {
      const outcome = agent.now.agent.run?.finished;
      return outcome?.kind === "finished" ? outcome.summary : `not finished: ${JSON.stringify(outcome)}`;
    },
    file: (path: string) => readFile(join(runDir(agent.log.dir, "run-1"), path), "utf8"),
    /** As after a kill: everything is read again from the disk. */
    async takeUpAgain(next: Model) {
      await runtime.close();
      runtime = await open(next);
      agent = await runtime.agent(agent.log.id);
      await agent.start("recovered");
      await agent.idle();
    },
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await folder.remove();
    },
  };
}

function replyTo(history: readonly Entry[], tools: readonly string[]) {
  return createSurveyor().reply({ system: "", history, tools: specs(tools) }, new AbortController().signal);
}

function specs(names: readonly string[]) {
  return names.map((name) => ({ name, description: "", parameters: {}, guidance: "" }));
}

function callsIn(history: readonly Entry[]) {
  const last = history.at(-1);
  return last?.role === "assistant" ? last.content.flatMap((part) => (part.type === "call" ? [[part.name, part.args]] : [])) : [];
}
