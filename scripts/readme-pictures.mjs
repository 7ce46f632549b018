// `npm run pictures`: the pictures in README.md, of the page as it is built: a real server, a real team, scripted words.
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { openRuntime } from "../src/runtime/open-runtime.ts";
import { buildServer } from "../src/server/server.ts";
import { startProviderServer, temporaryHome, until } from "../src/testing/index.ts";

const ROOT = resolve(import.meta.dirname, "..");
const MODEL = "anthropic/claude-sonnet-4-5";
const GOAL = "Which of the three chips should a small lab buy? Measure, compare, and say it in one page.";
const QUESTION = "Chip B throttles after ten minutes. Which figure should count?";
const WISH = "Also say what each result costs in watts.";
const TEAM = [
  ["Alice", "Measures throughput"],
  ["Bob", "Measures under load"],
  ["Carol", "Measures power"],
  ["Dora", "Writes for the lab"],
];
const call = (name, args) => ({ name, args });
const file = (path, content) => call("write_file", { path: `scratch/${path}`, content });

const turns = {
  [GOAL]: [
    {
      text: "Three measure, one each; the fourth writes when they are done.",
      calls: [
        ...TEAM.map(([name, identity]) => call("spawn_worker", { name, identity })),
        ...["A", "B", "C"].map((chip, index) =>
          call("create_work_node", {
            task: `Measure chip ${chip}: throughput and power\nTwice, with the method.`,
            deliverables: ["report.md"],
            worker: TEAM[index][0],
          }),
        ),
        call("create_work_node", {
          task: "Compare the three for a small lab, on one page",
          dependencies: ["node-1", "node-2", "node-3"],
          refs: { a: "node-1/published/report.md" },
          worker: "Dora",
        }),
        call("send_message", {
          to: "human",
          content: "The team is **at work**: Alice, Bob and Carol measure one chip each, Dora writes the page.",
        }),
      ],
    },
  ],
  "You are Alice": [
    {
      calls: [
        file("bench.ts", "export const runs = 2;\n"),
        file("report.md", "# Chip A\n\n| TOPS | W |\n|---|---|\n| 80 | 12 |\n"),
        call("offer_insight", {
          title: "Warm a chip up before measuring",
          content: "The first minute reads 8 % high.",
        }),
      ],
    },
    { calls: [call("publish", { summary: "Chip A: **80 TOPS** at 12 W, two runs within 3 %." })] },
  ],
  "You are Bob": [
    { calls: [file("report.md", "# Chip B\n")] },
    {
      text: "It throttles. That changes the answer.",
      calls: [
        call("ask_human", {
          question: QUESTION,
          choices: ["The first ten minutes", "The steady state", "Both, side by side"],
        }),
      ],
    },
  ],
  "You are Carol": [{ gate: "never", text: "Done." }],
};

/** What the coordinator says when it is told something. */
function answer({ messages }) {
  const told = messages.findLast(({ role }) => role === "user")?.text ?? "";
  if (told.includes(WISH))
    return {
      text: "Good point: I have **power per result** added to the comparison. Bob measures it already; Carol does too.",
      midGate: "never",
    };
  if (told.includes("node-1")) return { text: "Chip A is in: 80 TOPS at 12 W. Two are to come." };
  return { text: "I wait for the measurements." };
}

await using home = await temporaryHome();
await using provider = await startProviderServer({ turns, respond: answer });
const settings = { home: home.path, env: { ...provider.env, PATH: process.env.PATH ?? "" }, config: {} };
const runtime = await openRuntime(settings);
const app = await buildServer({ runtime, settings, token: "x".repeat(40), webDir: join(ROOT, "dist/web") });
const url = await app.listen({ port: 0, host: "127.0.0.1" });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const survey = await runtime.create({
    goal: "Survey the docs",
    name: "Docs survey",
    model: "demo/surveyor",
    project: join(ROOT, "docs"),
  });
  await until(survey, ({ agent }) => agent.status === "completed");
  const chips = await runtime.create({ goal: GOAL, name: "Chip comparison", model: MODEL, budget_usd: 5 });
  await until(chips, ({ questions }) => Object.keys(questions.open).length === 1);
  await until(chips, ({ board }) => board.nodes["node-1"]?.status === "completed");
  await provider.reached("never");

  const at = `/ui/agents/${chips.log.id}`;
  // Streamed words are heard by whoever looks on.
  const say = () => chips.send(WISH);
  await take("page.png", { path: at, ready: "Good point", scheme: "light", width: 1280, say });
  await take("page-board.png", {
    path: `${at}/board/node-1`,
    ready: "two runs within 3 %",
    scheme: "dark",
    width: 1280,
  });
  await take("page-question.png", { path: `${at}/workers/bob`, ready: QUESTION, scheme: "light", width: 390 });
} finally {
  await browser.close();
  await app.close();
  await runtime.close();
}

async function take(name, { path, ready, scheme, width, say }) {
  const viewport = { width, height: width === 390 ? 760 : 800 };
  const context = await browser.newContext({ baseURL: url, viewport, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`/login?once=${app.credentials.newLink().once}`);
  await page.goto(path);
  await page.getByRole("log").or(page.getByRole("complementary")).first().waitFor();
  await say?.();
  await page.getByRole("main").getByText(ready).first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(ROOT, "docs", name) });
  await context.close();
  // Colours of a page are few: a palette holds them in a third of the bytes. Without the program they are as they are.
  spawnSync("pngquant", ["--force", "--ext", ".png", join(ROOT, "docs", name)]);
}
