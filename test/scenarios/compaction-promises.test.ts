import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { estimateTokens, NEAR } from "../../src/models/tokens.ts";
import { callsOf, type Entry, type Fact, type ReplyEntry } from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { both, call, type ScriptStep, say, script, startTeam } from "../../src/testing/index.ts";
import { COMPANIES, researcher, startWeb, worth } from "./researcher.ts";
import { ALICES, assigned, assignment, BIRTH, begun, created, spawned, takenUp } from "./taken-up.ts";

test("killed at any entry of a compaction, it is taken up there: the same end, nothing lost or redone", async () => {
  const window = await smallWindow();
  const whole = await researched(begun(BIRTH), window);
  expect(whole.queries).toEqual([...COMPANIES]);
  const inCompaction = whole.conversation.flatMap((_, at) => (isInCompaction(whole.conversation, at) ? at : []));
  expect(inCompaction.length).toBeGreaterThanOrEqual(3 * 5);
  for (const at of inCompaction) {
    const before = whole.conversation.slice(0, at + 1);
    const after = await researched(before, window);
    const searched = before.flatMap((entry) => (entry.role === "tool" && entry.tool === "web_search" ? entry : []));
    expect([at, searched.length, after.queries]).toEqual([at, searched.length, COMPANIES.slice(searched.length)]);
    expect(after.analysis).toBe(whole.analysis);
    const end = whole.conversation.findIndex(({ role }, place) => place >= at && role === "summary") + 1;
    expect(after.conversation.slice(0, end).map(roleOf)).toEqual(whole.conversation.slice(0, end).map(roleOf));
    // When the next one is due may differ by a turn: what is restated tells the sizes of files, and those of a home taken
    // up here are not all the same. What is done does not differ, and what was begun is ended once.
    expect(callsIn(after.conversation)).toEqual(callsIn(whole.conversation));
    const flushes = after.conversation.filter((entry) => entry.role === "user" && entry.flush);
    expect(flushes.length).toBe(after.conversation.filter(({ role }) => role === "summary").length);
  }
}, 60_000);

/** Runs the researcher from what a killed process left of its conversation and files. */
async function researched(conversation: readonly Entry[], window: number) {
  await using web = await startWeb();
  await using left = await takenUp({
    conversations: { "conversation.jsonl": [...conversation] },
    files: filesOf(conversation),
    minds: { coordinator: researcher(window) },
    env: { SEARXNG_URL: web.url, AGIRAPH_SEARCH_MAX_USES: "50" },
  });
  await left.start();
  await left.agent.idle();
  expect(left.agent.now.agent.outcome).toEqual({
    kind: "finished",
    summary: COMPANIES.map((name) => `${name}: $${worth(name)} million`).join("\n"),
  });
  return {
    queries: [...web.queries],
    conversation: (await left.agent.log.conversation("conversation.jsonl")).map(
      ({ seq: _, ts: __, ...entry }) => entry,
    ),
    analysis: await readFile(join(left.agent.log.dir, "runs/run-1/analysis.md"), "utf8"),
  };
}

/** Room for a few turns behind the tools, however many a coordinator has. */
async function smallWindow(): Promise<number> {
  const finish = script(call("finish", { summary: "done" }));
  await using left = await takenUp({
    conversations: { "conversation.jsonl": begun(BIRTH) },
    minds: { coordinator: finish },
  });
  await left.start();
  await left.agent.idle();
  return Math.ceil((estimateTokens(JSON.stringify(finish.requests[0]?.tools)) + 1_500) / NEAR);
}

const WRITES = new Set(["write_file", "memory_write"]);

/** What calls had written that had their answer. */
function filesOf(conversation: readonly Entry[]): Record<string, string> {
  const replies = conversation.filter((entry): entry is ReplyEntry => entry.role === "assistant");
  const calls = replies.flatMap((reply) => callsOf(reply)).filter(({ name }) => WRITES.has(name));
  const answered = new Set(conversation.flatMap((entry) => (entry.role === "tool" ? entry.call_id : [])));
  const written = calls.filter(({ id }) => answered.has(id));
  return Object.fromEntries(
    written.map(({ name, args }) => {
      const { path, content } = args as { path: string; content: string };
      if (name === "memory_write") return [`memory/${path}`, `${content}\n`];
      return [path.startsWith("agent/") ? path.slice(6) : `runs/run-1/${path}`, content];
    }),
  );
}

function isInCompaction(conversation: readonly Entry[], at: number): boolean {
  const flush = conversation.slice(0, at + 1).findLastIndex((entry) => entry.role === "user" && entry.flush);
  return flush >= 0 && !conversation.slice(flush, at).some(({ role }) => role === "summary");
}

function roleOf(entry: Entry): string {
  return entry.role === "assistant" ? `assistant ${callsOf(entry).map(({ name }) => name)}` : entry.role;
}

/** What was done, in its order, apart from what a compaction does. */
function callsIn(conversation: readonly Entry[]): string[] {
  const work = conversation.filter((_, at) => !isInCompaction(conversation, at));
  return work.flatMap((entry) => (entry.role === "assistant" ? callsOf(entry).map(({ name }) => name) : []));
}

test("after a compaction the coordinator is told the board, the people, the questions and what its human said", async () => {
  const long = "x".repeat(30_000);
  const coordinator = script(
    both(call("create_work_node", { task: "Measure chip A" }), call("create_work_node", { task: "Measure chip B" })),
    call("write_file", { path: "notes/plan.md", content: `# First A, then B\n${long}` }).after("node-1 completed"),
    call("write_file", { path: "notes/more.md", content: `# More\n${long}` }).after("Use SI units"),
    call("write_file", { path: "agent/memory/knowledge/chips.md", content: "## A is 80\n" }),
    say("Next I wait for B."),
    call("finish", { summary: "done" }).after("node-2 completed"),
  ).with({ contextWindow: 24_000 });
  await using team = await startTeam({
    goal: "Which chip is faster?",
    coordinator,
    workers: {
      Alice: script(call("write_file", { path: "scratch/a.md", content: "80" }), call("publish", { summary: "A: 80" })),
      Bob: script(
        call("ask_human", { question: "Which socket?" }),
        call("write_file", { path: "scratch/b.md", content: "95" }),
        call("publish", { summary: "B: 95" }),
      ),
    },
  });
  const compacted = told(team.agent, "memory.compacted");
  await team.until(
    ({ questions, roster }) =>
      Object.keys(questions.open).length > 0 && coordinator.played === 2 && roster.coordinator?.status === "waiting",
  );
  await team.agent.send("Use SI units");
  await compacted;
  await team.agent.respond("AM5");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

  const conversation = await team.conversation();
  const summaries = conversation.filter((entry) => entry.role === "summary");
  expect(summaries.map(({ content }) => sectionsOf(content))).toEqual([
    {
      // The prompt's date and memory are those of when the run began.
      Now: expect.stringMatching(/^It is [A-Z][a-z]+day, \d{4}-\d\d-\d\d, \d\d:\d\d \(.+\)\.$/),
      "Your goal (run-1)": "Which chip is faster?",
      "Between you and your human": "- Your human: Which chip is faster?\n- Your human: Use SI units",
      "The stage": "Stage 1 is under way.",
      "The board: what is still open": "- node-2 [running] Measure chip B — bob",
      "The board: what has ended": "- node-1 [completed] Measure chip A — alice: A: 80",
      "The people":
        "- Coordinator: busy (scripted/coordinator)\n- Alice: idle (scripted/worker)\n- Bob: waiting for human on node-2 (scripted/worker)",
      "Open questions to your human": "- question-1, asked by bob: Which socket?",
      "Your files in this run": expect.stringMatching(
        /^- _plan.md \(\d+ bytes\): # Plan\n- notes\/more.md \(30007 bytes\): # More\n- notes\/plan.md \(30018 bytes\): # First A, then B$/,
      ),
      "What your team published": "- nodes/node-1/published/a.md (2 bytes)",
      "Your memory as it is now": expect.stringContaining("- knowledge/chips.md (11 bytes): A is 80"),
      "What you noted just now": "Next I wait for B.",
      "Your last step": expect.stringContaining("write_file gave: Wrote 30007 bytes to notes/more.md."),
    },
  ]);
  // News is told once.
  const news = conversation.filter(
    ({ role, content }) => role === "user" && `${content}`.includes("node-1 completed by"),
  );
  expect(news.length).toBe(1);
});

test("a worker's conversation is compacted too: its assignment, its files and its notebook are restated", async () => {
  const long = "x".repeat(30_000);
  const steps = [
    call("write_file", { path: "scratch/a.md", content: `# Chip A\n${long}` }),
    call("write_file", { path: "scratch/b.md", content: `# Chip B\n${long}` }),
    call("write_file", { path: "notebook.md", content: "A is done, B is done." }),
    say("Now I publish."),
    call("publish", { summary: "both" }).after("Your assignment (node-1)", "A is done, B is done."),
  ];
  await using left = await aliceAtWork(assignment("node-1", BIRTH + 4), steps);
  const conversation = await left.agent.log.conversation(ALICES);
  const summary = conversation.find((entry) => entry.role === "summary");
  expect(sectionsOf(summary?.content ?? "")).toEqual({
    "Your assignment (node-1)": "Task of node-1",
    "Your colleagues": "- Coordinator: waiting for news (scripted/coordinator)",
    "Your files": "- scratch/a.md (30009 bytes): # Chip A\n- scratch/b.md (30009 bytes): # Chip B",
    "Your notebook (notebook.md)": "A is done, B is done.",
    "What you noted just now": "Now I publish.",
    "Your last step": expect.stringContaining("write_file gave: Wrote 30009 bytes to scratch/b.md."),
  });
  const compacted = (await left.since()).find((fact) => fact.type === "memory.compacted");
  expect(compacted?.data).toMatchObject({ worker_id: "alice", node_id: "node-1", entries: summary?.hidden });

  // Killed while it wrote things down, it has its last turn all the same: of its three it has used two.
  const noted = conversation.findIndex((entry) => entry.role === "tool" && entry.content.includes("notebook.md"));
  const before = conversation.slice(0, noted + 1).map(({ seq: _, ts: __, ...entry }) => entry);
  await using again = await aliceAtWork(before, steps.slice(3));
  expect(again.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "both" });
});

async function aliceAtWork(conversation: Entry[], steps: ScriptStep[]) {
  const alice = script(...steps).with({ contextWindow: 20_000 });
  const left = await takenUp({
    facts: [created("node-1"), spawned("alice"), ...assigned("node-1", "alice")],
    conversations: { "conversation.jsonl": begun(BIRTH), [ALICES]: conversation },
    files: alicesFiles(conversation),
    minds: { coordinator: script(call("finish", { summary: "done" }).after("node-1 completed")), alice },
    config: { max_turns: 3 },
  });
  await left.start();
  await left.agent.idle();
  alice.assertDone();
  return left;
}

function alicesFiles(conversation: readonly Entry[]): Record<string, string> {
  const files = Object.entries(filesOf(conversation));
  return Object.fromEntries(
    files.map(([path, content]) => [
      path
        .replace("run-1/scratch/", "run-1/nodes/node-1/scratch/")
        .replace("run-1/notebook", "run-1/workers/alice/notebook"),
      content,
    ]),
  );
}

function sectionsOf(summary: string): Record<string, string> {
  const parts = summary.split(/^## /m).slice(1);
  return Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n")).trim()]),
  );
}

function told(agent: Agent, type: Fact["type"]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unhear = agent.log.subscribe((fact) => {
    if (fact.type !== type) return;
    unhear();
    resolve();
  });
  return promise;
}
