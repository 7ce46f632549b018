import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createCatalog } from "../models/catalog/catalog.ts";
import { type Model, ModelFailure } from "../models/model.ts";
import type { Entry } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import { systemClock } from "../runtime/config/system-clock.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import { runDir } from "../store/paths.ts";
import { script } from "../testing/script.ts";
import { call } from "../testing/script-step.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { fileTools } from "../tools/files.ts";
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
  const expected = await readFile(join(import.meta.dirname, "fixtures/survey-of-docs.txt"), "utf8");
  expect(await demo.file("nodes/node-1/published/report.md")).toBe(expected);
  expect(demo.agent.now.agent.run?.finished).toEqual({
    kind: "finished",
    files: ["nodes/node-1/published/report.md"],
    summary: `Survey of docs:
- 7 files in 2 folders, 435 bytes; 5 read, with 21 lines and 69 words.
- Kinds: Markdown (5), JSON (1) and image (1).
- The longest texts: \`docs/README.md\` (“Lighthouse”, 31 words), \`docs/manual.md\` (“Manual of the lamp”, 28 words) and \`docs/more/data.json\` (“{"name": "lamp", "height": 42}”, 4 words).
- Worth a look: 1 broken link, 1 empty file, 1 set of identical files and 1 TODO mark.

The report: nodes/node-1/published/report.md

${GOODBYE}`,
  });
});

test("stopped at any of its replies and taken up again, it comes to the same report", async () => {
  const model = createSurveyor();
  let replies = 0;
  const counting: Model = {
    ...model,
    reply(request, signal) {
      replies += 1;
      return model.reply(request, signal);
    },
  };
  await using whole = await survey("Survey ./docs", DOCS, counting);
  const expected = await whole.file("nodes/node-1/published/report.md");
  expect(replies).toBeGreaterThan(8);

  for (let at = 1; at <= replies; at++) {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    let count = 0;
    const breaking: Model = {
      ...model,
      async reply(request, signal) {
        signal.throwIfAborted();
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
    {
      file: "runs/run-1/workers/alice/conversation.jsonl",
      tools: ["list_files", "read_file", "write_file", "publish"],
    },
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
      Array.from({ length: 6 }, (_, n) => [
        `docs/${folder}/${n}.md`,
        `# ${folder} ${n}\n\n[next](../guide/${n + 1}.md)\n`,
      ]),
    ),
  );
  files["docs/notes/5.md"] = "# notes 5\n\n[gone](../gone/0.md)\n";
  await using demo = await survey("Give me an overview of docs/", files);

  expect(demo.board()).toEqual([
    ["node-1", "completed", "Survey docs, part 1 of 3"],
    ["node-2", "completed", "Survey docs, part 2 of 3"],
    ["node-3", "completed", "Survey docs, part 3 of 3"],
    ["node-4", "completed", "Join the surveys of docs"],
  ]);
  const report = await demo.file("nodes/node-4/published/report.md");
  expect(report.match(/^- .* folders, .*$|^- Broken link .*$/gm)).toEqual([
    "- 18 files in 3 folders, 581 bytes; all read, with 54 lines and 108 words.",
    "- Broken link in `docs/api/5.md`: `../guide/6.md` is not there.",
    "- Broken link in `docs/guide/5.md`: `../guide/6.md` is not there.",
    "- Broken link in `docs/notes/5.md`: `../gone/0.md` is not there.",
  ]);
});

test("surveys too long for one look are read page by page before they are joined", async () => {
  const links = Array.from({ length: 55 }, (_, n) => `[${n}](gone-${n}.md)`).join(" ");
  const names = Array.from({ length: 120 }, (_, n) => `docs/${"abc"[n % 3]}/${n}.md`);
  await using demo = await survey("Survey ./docs", Object.fromEntries(names.map((name) => [name, links])));
  const pages = (await demo.agent.log.conversation("runs/run-1/workers/alice/conversation.jsonl")).flatMap((entry) =>
    entry.role === "assistant" ? entry.content.flatMap((part) => (part.type === "call" ? [part.args] : [])) : [],
  );
  expect(pages).toContainEqual({ path: "nodes/node-1/published/survey.json", offset: 2001 });
  expect(demo.summary()).toContain("120 files in 3 folders, 110 kB; all read, with 120 lines and 19,800 words.");
});

test("a path from elsewhere, a name in another case and a single file are found", async () => {
  const files = { "docs/API/a.md": "# A\n", "docs/b.md": "# B\n", "notes.txt": "Notes\n", "other.txt": "Other\n" };
  await using demo = await survey("Survey /home/me/work/docs/api and notes.txt", files);
  expect(demo.summary().split("\n").slice(0, 2)).toEqual([
    "Survey of docs/API and notes.txt:",
    "- 2 files in 2 folders, 10 bytes; all read, with 2 lines and 2 words.",
  ]);
  expect(demo.summary()).toContain("/home/me/work/docs/api was found as `docs/API`.");
});

test("a folder that is not there is said to be missing, and the project is surveyed instead", async () => {
  await using demo = await survey("Survey ./nowhere", { "a.md": "# A\n" });
  expect(demo.summary()).toContain(
    "There is no ./nowhere in the project folder, so the whole project was surveyed instead.",
  );
  expect(demo.summary()).toContain("1 file in 1 folder, 4 bytes; all read");
});

test("an empty project ends with a sentence and no work", async () => {
  await using demo = await survey("Survey this folder", {});
  expect(demo.board()).toEqual([]);
  expect(demo.summary()).toBe(`There are no files in the project, so there is nothing to report.\n\n${GOODBYE}`);
});

test("a goal that needs a language model is refused, with what the demo can do and what to do", async () => {
  await using demo = await survey("Compare a.csv and b.csv and write what differs", { "a.csv": "1\n", "b.csv": "2\n" });
  expect(demo.board()).toEqual([]);
  const { status, error } = demo.agent.now.agent;
  expect(status).toBe("failed");
  expect(error).toContain("demo/surveyor is the built-in demo: rules, not a language model. It can only survey files");
  expect(error).toContain("ANTHROPIC_API_KEY");
  expect(error).toContain('agiraph run "Survey the files in this folder"');
});

test("thousands of files: some are read, and what was left out is said", async () => {
  const files = Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`big/${n}.txt`, `Number ${n}.\n`]));
  await using demo = await survey("Survey big/", files);
  const report = await demo.file("nodes/node-4/published/report.md");
  expect(report.match(/^\*\*Note:.*$/gm)?.slice(0, 2)).toEqual([
    "**Note:** The list of `big` was cut off: there are more files than the ones counted here.",
    "**Note:** 380 more files were listed and not read, for want of room.",
  ]);
});

test("a file that only pretends to be text is told from one that is", async () => {
  await using demo = await survey("Survey this project", { "a.md": "\0\0binary", "b.md": `${"long ".repeat(1000)}\n` });
  const report = await demo.file("nodes/node-1/published/report.md");
  expect(report.match(/^- Not text.*$|^- Only the first part.*$/gm)).toEqual([
    "- Not text, so not read: `a.md`.",
    "- Only the first part was read: `b.md`.",
  ]);
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
  expect(demo.summary()).toBe(
    `The survey did not come about. node-1 (the project) failed: The lights went out.\n\n${GOODBYE}`,
  );
});

test("a worker of somebody else's team surveys what the task names, and delivers the files that were asked for", async () => {
  const order = { task: "Describe the docs folder for newcomers.", deliverables: ["overview.md", "findings.json"] };
  const coordinator = script(
    call("create_work_node", order),
    call("finish", { summary: "ok" }).after("node-1 completed"),
  );
  await using demo = await survey("Whatever", DOCS, asWorkerOf(coordinator));

  coordinator.assertDone();
  const overview = await demo.file("nodes/node-1/published/overview.md");
  expect(overview).toBe(await readFile(join(import.meta.dirname, "fixtures/survey-of-docs.txt"), "utf8"));
  expect(JSON.parse(await demo.file("nodes/node-1/published/findings.json")).subject).toBe("docs");
});

test.each([
  ["with a team", undefined],
  ["alone", ["list_files", "read_file", "write_file", "finish"]],
])("DEMO-SURVEY-4, %s: of a goal that is a survey only in part it never claims the whole", async (_, tools) => {
  const goal = "Survey ./docs, then compare the manuals and tell me which is better.";
  await using demo = await survey(goal, DOCS, createSurveyor(), undefined, tools);
  const partly =
    "Only part of the goal is done: the survey of the files. Not done, because it needs a language model: “compare the manuals” and “tell me which is better”.";
  expect(demo.summary()?.startsWith(partly)).toBe(true);
  const path = tools ? "report.md" : "nodes/node-1/published/report.md";
  expect(await demo.file(path)).toContain(`**Note:** ${partly}\n`);
  for (const node of Object.values(demo.agent.now.board.nodes))
    expect(node).toMatchObject({
      status: "completed",
      summary: expect.stringMatching(/^Only part of the goal is done/),
    });
});

test("without create_work_node it surveys by itself", async () => {
  await using demo = await survey("Survey ./docs", DOCS, createSurveyor(), undefined, [
    "list_files",
    "read_file",
    "write_file",
    "finish",
  ]);
  expect(demo.board()).toEqual([]);
  expect(await demo.file("report.md")).toBe(
    await readFile(join(import.meta.dirname, "fixtures/survey-of-docs.txt"), "utf8"),
  );
  expect(demo.summary()).toContain("The report: report.md");
});

const GOODBYE =
  "This was demo/surveyor, the built-in demo without a language model: it can only count, list and quote files. For a real model set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local one) and start again.";

/** The real runtime on a real home and a real project folder, with the surveyor as everybody's model. */
async function survey(
  goal: string,
  files: Record<string, string>,
  model = createSurveyor(),
  until?: Promise<void>,
  tools?: string[],
) {
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
        catalog: {
          ...createCatalog({ env: {}, config: {}, sleep: systemClock.sleep, random: () => 0 }),
          model: async () => model,
        },
        tools: (scope) => fileTools(scope),
      },
    );
  let runtime = await open(model);
  let agent: Agent = await runtime.create({ goal, model: model.id, project, ...(tools ? { tools } : {}) });
  await Promise.race([agent.idle(), ...(until ? [until] : [])]);
  return {
    get agent() {
      return agent;
    },
    board: () =>
      Object.values(agent.now.board.nodes).map(({ id, status, spec }) => [id, status, spec.task.split("\n", 1)[0]]),
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

/** The surveyor in the hands of another mind. */
function asWorkerOf(coordinator: Model): Model {
  const surveyor = createSurveyor();
  const mind = (names: readonly { name: string }[]) =>
    names.some(({ name }) => name === "publish") ? surveyor : coordinator;
  return { ...surveyor, reply: (request, signal) => mind(request.tools).reply(request, signal) };
}

function replyTo(history: readonly Entry[], tools: readonly string[]) {
  return createSurveyor().reply({ system: "", history, tools: specs(tools) }, new AbortController().signal);
}

function specs(names: readonly string[]) {
  return names.map((name) => ({ name, description: "", parameters: {} }));
}
