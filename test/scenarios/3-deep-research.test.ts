import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, type ScriptStep, script, startTeam } from "../../src/testing/index.ts";

/** Seed 002 §11, test 3: multi-agent collaboration, deep research. */
const GOAL =
  "Research the current state of AI hardware — compare NVIDIA, AMD, and Intel's latest AI chips. " +
  "Produce a structured report with technical specs, market position, and recommendation.";
const SONNET = "anthropic/claude-sonnet-4-5";
const GPT = "openai/gpt-4o";
const TOOLS = ["web_search", "web_fetch", "read_ref", "write_file", "send_message", "check_messages"];
const REPORT = "# AI chips\n\nNVIDIA leads, AMD follows, Intel is cheap.\n";

test("a coordinator hires researchers of different models, reads what they found, and has it made into one report", async () => {
  await using engine = await searchEngine();
  const { promise: allHaveSearched, resolve: theyHave } = Promise.withResolvers<void>();
  const hire = (name: string, model: string) =>
    call("spawn_worker", { name, model, tools: TOOLS, identity: "A careful researcher." });
  const research = (worker: string, company: string) =>
    call("create_work_node", { worker, task: `Research ${company} AI chips`, deliverables: ["findings.md"] });
  const researcher = (company: string, model: string): ScriptStep[] => [
    call("web_search", { query: `${company} AI chips` }),
    // Nobody goes on before all three are at work.
    call("check_messages", {}).after(`All about ${company} AI chips`).until(allHaveSearched),
    call("write_file", { path: "scratch/findings.md", content: `${company}, as ${model} sees it.` }).after(
      "[Message from Coordinator]: Mind the prices.",
    ),
    call("checkpoint", { summary: `${company} is written down` }),
    call("publish", { summary: `${company} done` }),
  ];
  const workers = {
    Alice: script(...researcher("NVIDIA", SONNET)).with({ id: SONNET }),
    Bob: script(...researcher("AMD", GPT)).with({ id: GPT }),
    Carol: script(...researcher("Intel", SONNET)).with({ id: SONNET }),
    Dora: script(
      both(...["nvidia", "amd", "intel"].map((ref_name) => call("read_ref", { ref_name }))),
      call("write_file", { path: "scratch/report.md", content: REPORT }).after(
        `NVIDIA, as ${SONNET} sees it.`,
        `AMD, as ${GPT} sees it.`,
        `Intel, as ${SONNET} sees it.`,
      ),
      call("publish", { summary: "The report" }),
    ).with({ id: GPT }),
  };
  await using team = await startTeam({
    goal: GOAL,
    env: { SEARXNG_URL: engine.url },
    workers,
    coordinator: script(
      both(hire("Alice", SONNET), hire("Bob", GPT), hire("Carol", SONNET)),
      both(research("Alice", "NVIDIA"), research("Bob", "AMD"), research("Carol", "Intel")),
      both(...["Alice", "Bob", "Carol"].map((to) => call("send_message", { to, content: "Mind the prices." }))),
      both(...[1, 2, 3].map((node) => call("read_file", { path: `nodes/node-${node}/published/findings.md` }))).after(
        "Alice reports: NVIDIA is written down",
        "Bob reports: AMD is written down",
        "Carol reports: Intel is written down",
        "Stage 1 is done.",
      ),
      call("reconvene", { assessment: "Three findings, one report to write.", retire: ["Alice", "Bob", "Carol"] }),
      hire("Dora", GPT),
      call("create_work_node", {
        worker: "Dora",
        task: "Synthesize findings into comparison report",
        deliverables: ["report.md"],
        refs: {
          nvidia: "node-1/published/findings.md",
          amd: "node-2/published/findings.md",
          intel: "node-3/published/findings.md",
        },
      }),
      call("read_file", { path: "nodes/node-4/published/report.md" }).after("node-4 completed by Dora"),
      call("finish", { summary: "See nodes/node-4/published/report.md." }).after("NVIDIA leads"),
    ),
  });
  let searches = 0;
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.result" && fact.data.tool === "web_search" && ++searches === 3) theyHave();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "See nodes/node-4/published/report.md." });
  const facts = await team.facts();

  // 3+ workers ran in parallel
  const order = facts.flatMap((fact) =>
    fact.type === "node.started" || fact.type === "node.completed" ? `${fact.data.node_id} ${fact.type}` : [],
  );
  expect(order.slice(0, 3).toSorted()).toEqual(["node-1 node.started", "node-2 node.started", "node-3 node.started"]);
  expect(engine.queries.toSorted()).toEqual(["AMD AI chips", "Intel AI chips", "NVIDIA AI chips"]);

  // Each worker's workspace directory has research files
  const inRun = (path: string) => join(team.agent.log.dir, "runs/run-1", path);
  for (const [node, company, model] of [
    [1, "NVIDIA", SONNET],
    [2, "AMD", GPT],
    [3, "Intel", SONNET],
  ]) {
    expect(await readdir(inRun(`nodes/node-${node}/published`))).toEqual(["findings.md"]);
    expect(await readFile(inRun(`nodes/node-${node}/published/findings.md`), "utf8")).toBe(
      `${company}, as ${model} sees it.`,
    );
  }

  // Messages were exchanged (at least coordinator → workers)
  expect(team.agent.now.letters.settled.map(({ from, to, status }) => [from, to, status]).toSorted()).toEqual([
    ["coordinator", "alice", "seen"],
    ["coordinator", "bob", "seen"],
    ["coordinator", "carol", "seen"],
  ]);

  // Final report references all three companies
  const report = await readFile(inRun("nodes/node-4/published/report.md"), "utf8");
  expect(["NVIDIA", "AMD", "Intel"].filter((company) => report.includes(company))).toEqual(["NVIDIA", "AMD", "Intel"]);

  // Stage reconvene happened at least once
  expect(
    team.agent.now.stages.map(({ number, nodes, status, assessment }) => [number, nodes, status, assessment]),
  ).toEqual([
    [1, ["node-1", "node-2", "node-3"], "completed", "Three findings, one report to write."],
    [2, ["node-4"], "completed", null],
  ]);

  // Different models were used for different workers
  const answered = facts.filter((fact) => fact.type === "model.responded" && fact.data.node_id !== null);
  const models = new Set(
    answered.map((fact) => fact.type === "model.responded" && `${fact.data.worker_id}: ${fact.data.model}`),
  );
  expect([...models].toSorted()).toEqual([`alice: ${SONNET}`, `bob: ${GPT}`, `carol: ${SONNET}`, `dora: ${GPT}`]);
  expect(Object.values(team.agent.now.roster).map(({ id, spawned, status }) => [id, spawned.model, status])).toEqual([
    ["coordinator", "scripted/coordinator", "idle"],
    ["alice", SONNET, "retired"],
    ["bob", GPT, "retired"],
    ["carol", SONNET, "retired"],
    ["dora", GPT, "idle"],
  ]);
});

/** A SearXNG that has a page about everything. */
async function searchEngine() {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "/", "http://localhost").searchParams.get("q") ?? "";
    queries.push(query);
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ results: [{ title: `All about ${query}`, url: "https://example.org", content: "" }] }),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    queries,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
