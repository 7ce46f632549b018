import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, type HeardRequest, say, script, startTeam } from "../../src/testing/index.ts";

const write = call("write_file", { path: "scratch/a.md", content: "…" });

test("a second run has a board, a plan, an output and people of its own", async () => {
  const coordinator = script(
    call("create_work_node", { task: "Measure chip A" }),
    call("finish", { summary: "A: 80" }).after("node-1 completed"),
    call("check_board", {}).after("Now chip B."),
    call("launch_roles", { name: "Again", roles: [{ name: "Alice", title: "Tester", prompt: "Measure chip B" }] }),
    call("finish", { summary: "B: 95" }).after("node-2 completed"),
  );
  const alice = script(
    write,
    call("publish", { summary: "A: 80", learned: "A is slow" }),
    write.after("Measure chip B"),
    call("publish", { summary: "B: 95" }),
  );
  await using team = await startTeam({ goal: "How fast is chip A?", coordinator, workers: { Alice: alice } });
  await team.agent.idle();
  await team.agent.send("Now chip B.");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "B: 95" });

  const told = coordinator.requests
    .at(-1)
    ?.history.find((entry) => entry.role === "tool" && entry.tool === "check_board");
  expect(told).toMatchObject({
    tool: "check_board",
    content: "The board is empty.\n\nPeople:\n- Coordinator: busy (scripted/coordinator)",
  });
  const fileOf = async (name: string) =>
    (await readFile(join(team.agent.log.dir, "runs/run-2", name), "utf8")).replace(
      /\n<!-- Written by Agiraph .*\n$/,
      "",
    );
  expect(await fileOf("_plan.md")).toBe(
    "# Plan\n\nGoal: Now chip B.\n\n- node-2 [completed] Measure chip B — alice: B: 95\n",
  );
  expect(await fileOf("_output.md")).toBe(
    "# Output\n\nGoal: Now chip B.\n\nOutcome: finished\n\nB: 95\n\n## Published files\n\n- nodes/node-2/published/a.md\n",
  );
  // She is somebody new who has the same name.
  expect(alice.requests[2]?.system).not.toContain("A is slow");
});

test("what was done in earlier runs is told in short: their words stay, results and long arguments are cut", async () => {
  const long = "x".repeat(3_000);
  const coordinator = script(
    call("write_file", { path: "output/report.md", content: long }),
    call("read_file", { path: "output/report.md" }),
    call("finish", { summary: "The first answer." }),
    call("read_file", { path: "agent/GOAL.md" }),
    call("finish", { summary: "The second answer." }),
  );
  await using team = await startTeam({ goal: "Write it", coordinator });
  await team.agent.idle();
  await team.agent.send("Now the other.");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "The second answer." });
  const said = coordinator.requests.map(({ history }) => JSON.stringify(history));
  expect(said[2]).toContain(long); // in its own run it is whole
  for (const later of said.slice(3)) {
    expect(later.length).toBeLessThan(4_000);
    expect(later).toContain("more characters are left out here");
    expect(later).toContain("output/report.md");
    expect(later).toContain("The first answer.");
  }
  // What a run adds comes after what it began with: the provider's cache holds within it.
  expect(said[4]?.startsWith(`${said[3]?.slice(0, -1)},`)).toBe(true);
});

const REPORTS = "## Reports\n\nWhole euros with a thousands separator, the best region first.";

test("what the conversation tells of earlier runs is not repeated in the prompt, also when another process goes on", async () => {
  const coordinator = script(
    both(
      call("memory_write", { path: "MEMORY.md", content: REPORTS }),
      call("finish", { summary: "125,012 euros.", learned: "The files have one header line." }),
    ),
    call("write_file", { path: "output/q2.md", content: "92,172" }),
    call("ask_human", { question: "Is that all?" }),
    call("finish", { summary: "92,172 euros." }).after("Yes."),
    call("finish", { summary: "Both." }),
  );
  await using first = await startTeam({ goal: "Sum up the first quarter", coordinator });
  await first.agent.idle();
  await first.agent.send("Now the second quarter.");
  await first.until(({ questions }) => Object.keys(questions.open).length > 0);
  await using team = await first.restart();
  await team.agent.start("recovered");
  await team.agent.respond("Yes.", undefined, "web");
  await team.agent.idle();

  const [, begun, ...later] = coordinator.requests;
  expect(begun?.system).toContain(`## MEMORY.md\n\n${REPORTS}\n\n`);
  expect(begun?.system).not.toContain("125,012");
  expect(begun?.system).not.toContain("one header line");
  expect(begun?.system).toContain("\n\n(run-1 is told below; files: agent/runs/run-1/)\n");
  expect(begun?.system).not.toMatch(/- MEMORY\.md|daily logs/);
  const said = JSON.stringify(begun?.history);
  expect(said).toContain("125,012 euros.");
  expect(said).toContain("The files have one header line.");
  expect(said).toContain('"content":"(word for word in your prompt)"');
  // Every request of the run begins with all of the one before it.
  for (const request of later.slice(0, 2)) {
    expect(request.system).toBe(begun?.system);
    expect(spoken(request).slice(0, spoken(begun).length)).toEqual(spoken(begun));
  }
});

/** What a provider is sent; read from disk, entries have a number and a time too. */
function spoken(request: HeardRequest | undefined) {
  return (request?.history ?? []).map((entry) => ({ ...entry, seq: 0, ts: 0 }));
}

test("what a compaction hides is in its summary, and in the prompt of the next run again", async () => {
  const long = call("write_file", { path: "notes/long.md", content: "x".repeat(30_000) });
  const coordinator = script(
    call("finish", { summary: "125,012 euros." }),
    ...[long, long, say("Nothing to write down.")],
    call("finish", { summary: "92,172 euros." }),
    call("finish", { summary: "Both." }),
  ).with({ contextWindow: 24_000 });
  await using team = await startTeam({ goal: "Sum up the first quarter", coordinator });
  await team.agent.idle();
  await team.agent.send("Now the second quarter.");
  await team.agent.idle();
  await team.agent.send("Which was better?");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Both." });

  const note = 'Finished "Sum up the first quarter" (run-1): 125,012 euros.';
  expect(coordinator.requests[1]?.system).not.toContain(note);
  const summaries = (await team.conversation()).filter((entry) => entry.role === "summary");
  expect(summaries.map(({ content }) => content.includes(note))).toEqual([true]);
  expect(coordinator.requests.at(-1)?.system).toContain(note);
});

test("how often two have written to each other counts within a run", async () => {
  const talk = both(
    ...Array.from({ length: 60 }, (_, at) => call("send_message", { to: "coordinator", content: `Word ${at + 1}.` })),
  );
  const finish = (words: string) => call("finish", { summary: "done", learned: "" }).after(words);
  const coordinator = script(
    call("create_work_node", { task: "Talk" }),
    finish("node-1 completed"),
    call("launch_roles", { name: "Again", roles: [{ name: "Alice", title: "Talker", prompt: "Say hello" }] }),
    finish("node-2 completed"),
  );
  const alice = script(
    talk,
    call("send_message", { to: "coordinator", content: "One too many." }),
    write.after("have written to each other 60 times"),
    call("publish", { summary: "talked" }),
    call("send_message", { to: "coordinator", content: "Hello." }).after("Say hello"),
    write.after("Sent to coordinator."),
    call("publish", { summary: "said" }),
  );
  await using team = await startTeam({ goal: "Go", coordinator, workers: { Alice: alice } });
  await team.agent.idle();
  await team.agent.send("Once more.");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const last = (await team.facts()).findLast((fact) => fact.type === "message.sent" && fact.data.from === "alice");
  expect(last?.data).toMatchObject({ text: "Hello.", hops: 1 });
});

test("a file of the run before is missed by its short name, and found by the one that the error names", async () => {
  const coordinator = script(
    both(
      call("write_file", { path: "output/report.md", content: "80" }),
      call("write_file", { path: "notes/a/b.md", content: "deep" }),
    ),
    call("finish", { summary: "A: 80" }),
    both(
      call("read_file", { path: "output/report.md" }),
      call("list_files", { path: "notes/a" }),
      call("read_file", { path: "output/other.md" }),
    ),
    call("read_file", { path: "agent/runs/run-1/output/report.md" }).after(
      "There is no output/report.md. An earlier run has it: agent/runs/run-1/output/report.md.",
      "There is no notes/a. An earlier run has it: agent/runs/run-1/notes/a.",
      "There is no output/other.md. There is nothing in output.",
    ),
    call("finish", { summary: "As before." }).after("1\t80"),
  );
  await using team = await startTeam({ goal: "Write it", coordinator });
  await team.agent.idle();
  await team.agent.send("What did you write?");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "As before." });
});
