import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyBundled } from "../../src/mesh/index.ts";
import { call, say, script } from "../../src/testing/index.ts";
import { TOKEN } from "../../src/testing/start-server.ts";
import { MeshHouse } from "./house.ts";

const model = (name: string) => ({ options: { model: `scripted/${name}`, runs: "harnessed" as const } });

test("a sequence of models in our loop: files, handoff, a gate that sends back once, and the record of it", async () => {
  const writer = script(
    call("write_file", { path: "output/essay.md", content: "A draft.\n" }),
    call("tx_done", { summary: "A draft is in output/essay.md." }).after("Write an essay"),
  );
  const critic = script(
    call("tx_done", { summary: "It is fine." }).after("A draft is in output/essay.md."),
    call("write_file", { path: "output/essay.md", content: "A draft, approved.\n" }).after("did not pass"),
    call("tx_done", { summary: "Now it is approved." }),
  );
  await using house = await (
    await new MeshHouse({
      meshes: [
        {
          mesh: "review",
          type: "persistent",
          agents: ["x/writer", "x/critic"],
          workflow: ["writer", "critic"],
          validation_gates: ["output-exists", "approved"],
        },
      ],
      agents: { writer: model("writer"), critic: model("critic") },
      gates: { approved: "grep -q approved essay.md || { echo 'nobody approved it'; exit 1; }\n" },
      minds: { "scripted/writer": writer, "scripted/critic": critic },
    }).open()
  ).start();
  const { name } = await house.send("review", { text: "# Write an essay\n" });
  await house.completed("review");
  const stem = name.replace(".md", "");
  expect(house.queues("review")).toEqual({ complete: [name] });
  expect(house.queues("review", "critic")).toEqual({
    complete: ["1.md", "1.result.md", "fix-1.md", "fix-1.result.md"].map((end) => `${stem}.${end}`),
  });
  expect(await house.facts("mesh.gate")).toEqual([
    { mesh: "review", gate: "output-exists", ok: true, why: "" },
    { mesh: "review", gate: "approved", ok: false, why: "It ended with 1." },
    { mesh: "review", gate: "output-exists", ok: true, why: "" },
    { mesh: "review", gate: "approved", ok: true, why: "" },
  ]);
  const view = await house.api.meshProject(house.id);
  expect(
    view.meshes.map(({ mesh, status, tasks_completed, agents }) => [
      mesh,
      status,
      tasks_completed,
      agents.map(({ runs, program, state }) => [runs, program, state]),
    ]),
  ).toEqual([
    [
      "review",
      "complete",
      1,
      [
        ["harnessed", "scripted/writer", "idle"],
        ["harnessed", "scripted/critic", "idle"],
      ],
    ],
  ]);
  writer.assertDone();
  critic.assertDone();
});

test("the tour works with the demo alone: one counts, one reads what was counted, each time", async () => {
  await using house = await new MeshHouse({ meshes: [] }).open();
  await copyBundled(house.layout, ["tour"]);
  await house.start();
  for (const bytes of [10, 1234]) {
    writeFileSync(join(house.project, "notes.txt"), "x".repeat(bytes));
    const { name } = await house.send("tour", { text: `Count ${bytes}` });
    const stem = name.replace(".md", "");
    await house.until(({ type, data }) => type === "mesh.completed" && data.agent === null && data.name === name);
    expect(house.read("tour", "counter", "complete", `${stem}.0.result.md`)).toContain("I counted the project's files");
    expect(house.read("tour", "reader", "complete", `${stem}.1.result.md`)).toMatch(
      /I read .+ It says: Counted by demo/,
    );
    const table = readFileSync(join(house.layout.output("tour"), "files.md"), "utf8");
    expect(table).toContain(`| \`text\` | 1 | ${bytes === 10 ? "10 bytes" : "1.2 kB"} |`);
  }
});

test("the demo answers a question as it is asked in a mesh", async () => {
  await using house = await new MeshHouse({ meshes: [] }).open();
  await copyBundled(house.layout, ["tour"]);
  await house.start();
  await house.send("tour", { to: "counter", type: "ask", text: "Who are you?" });
  const answer = await house.until(({ type }) => type === "message.sent");
  expect(answer.data).toMatchObject({ to: "human", text: expect.stringContaining("rules, no language model") });
});

test("a model finds the mesh's files by $RUN, by their short names and as seen from the project", async () => {
  const writer = script(
    call("bash", { command: 'cd "$RUN" && echo "A draft." > shared/output/essay.md && ls; ls "$PROJECT/meshes"' }),
    call("read_file", { path: ".ai/tx/mesh/review/shared/output/essay.md" }).after("agents\nshared\nagents\n"),
    call("read_file", { path: "project/.ai/tx/mesh/review/shared/output/essay.md" }).after("A draft."),
    call("read_file", { path: ".ai/tx/mesh/other/shared/output/essay.md" }),
    call("tx_done", { summary: "Done." }).after("It belongs to another agent."),
  );
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "review", type: "persistent", agents: ["x/writer"] }],
      agents: { writer: model("writer") },
      minds: { "scripted/writer": writer },
    }).open()
  ).start();
  await house.send("review", { text: "# Write an essay\n" });
  await house.completed("review");
  writer.assertDone();
});

test("models that work at the same time and write files of one name overwrite nothing", async () => {
  const writes = (text: string, other: string) =>
    script(
      call("write_file", { path: "output/same.md", content: text }),
      call("bash", { command: `echo "by bash: ${text}" > other.md` }),
      call("write_file", { path: `shared/output/${other}/same.md`, content: text }),
      call("tx_done", { summary: "Done." }).after(`It is the folder of ${other}, who works at the same time.`),
    );
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "both", type: "persistent", agents: ["x/one", "x/two"], topology: "parallel" }],
      agents: { one: model("one"), two: model("two") },
      minds: { "scripted/one": writes("1", "two"), "scripted/two": writes("2", "one") },
    }).open()
  ).start();
  await house.send("both", { text: "# Write\n" });
  await house.completed("both");
  const made = (path: string) => readFileSync(join(house.layout.output("both"), path), "utf8");
  expect(["one/same.md", "two/same.md", "one/other.md", "two/other.md"].map(made)).toEqual([
    "1",
    "2",
    "by bash: 1\n",
    "by bash: 2\n",
  ]);
});

test("who starts what is just being started waits for that, and is told that it runs", async () => {
  await using house = await new MeshHouse({ meshes: [{ mesh: "one", type: "persistent", agents: ["x/it"] }] }).open();
  const views = await Promise.all([1, 2, 3].map(() => house.api.give({ do: "start_meshes", project: house.project })));
  expect(new Set(views.map(({ id, status }) => `${id} ${status}`)).size).toBe(1);
  await house.start();
  const ask = () =>
    fetch(`${house.api.url}/meshes`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ project: house.project }),
    });
  const again = await ask();
  expect([again.status, again.headers.get("location"), await again.json()]).toEqual([
    200,
    null,
    await house.api.meshProject(house.id),
  ]);
  await house.api.give({ do: "stop_meshes", id: house.id });
  const anew = await ask();
  expect([anew.status, anew.headers.get("location")]).toEqual([201, `/meshes/${house.id}`]);
});

test("a question to the human waits in the inbox, over a restart; its answer comes to the asker, once", async () => {
  const planner = script(
    call("tx_ask", { to: "human", question: "Which colour?" }).after("Paint it"),
    call("tx_done", { summary: "Painted." }).after("Blue."),
  );
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "paint", type: "persistent", agents: ["x/planner"] }],
      agents: { planner: model("planner") },
      minds: { "scripted/planner": planner },
    }).open()
  ).start();
  await house.send("paint", { text: "# Paint it\n" });
  await house.until(({ type }) => type === "human.question");
  const { items } = await house.api.inbox();
  expect(items.map(({ kind, from, text }) => [kind, from, text])).toEqual([
    ["question", { id: "paint-planner", name: "paint/planner" }, "Which colour?"],
  ]);
  expect(await house.api.agent(house.id)).toMatchObject({ status: "waiting_for_human", open_questions: 1 });
  await house.restart();
  await house.api.give({ do: "respond", id: house.id, response: "Blue." });
  await house.completed("paint");
  const answers = (house.queues("paint", "planner").complete ?? []).filter((name) => name.endsWith(".answer.md"));
  expect(answers).toHaveLength(1);
  expect((await house.api.inbox()).items).toEqual([]);
  planner.assertDone();
});

test("HARNESSED-MEMBER-3: a model that waits for an answer waits on after a restart; it is asked nothing until the answer comes", async () => {
  const planner = script(
    call("tx_ask", { to: "human", question: "Which colour?" }).after("Paint it"),
    say("I wait."),
    call("tx_done", { summary: "Painted." }).after("Blue."),
  );
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "paint", type: "persistent", agents: ["x/planner"] }],
      agents: { planner: model("planner") },
      minds: { "scripted/planner": planner },
    }).open()
  ).start();
  await house.send("paint", { text: "# Paint it\n" });
  let replies = 0;
  await house.until(({ type }) => type === "model.responded" && ++replies === 2);
  await house.restart();
  let told = 0;
  await house.until(({ type }) => type === "mesh.told" && ++told === 2);
  await house.api.give({ do: "respond", id: house.id, response: "Blue." });
  await house.completed("paint");
  expect(planner.requests.map(({ history }) => history.at(-1)?.role)).toEqual(["user", "tool", "user"]);
  const [first] = planner.requests;
  expect(first?.history.at(0)).toMatchObject({
    content: expect.stringMatching(
      /\n\n\(When it is done, call tx_done\. If it cannot be done: tx_done with failed and why\.\)$/,
    ),
  });
  planner.assertDone();
});

test("what was started goes on when the server is started again; what was stopped does not", async () => {
  const first = script(
    call("tx_done", { summary: "One." }).after("First"),
    call("tx_done", { summary: "Two." }).after("Second"),
  );
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
      agents: { one: model("one") },
      minds: { "scripted/one": first },
    }).open()
  ).start();
  await house.send("line", { text: "# First\n" });
  await house.completed("line");
  await house.restart();
  await house.send("line", { text: "# Second\n" });
  await house.until(({ type, data }) => type === "mesh.completed" && data.agent === null && data.gist === "Two.");
  expect(await house.api.give({ do: "stop_meshes", id: house.id })).toMatchObject({ status: "stopped", meshes: [] });
  await house.restart();
  expect(await house.api.meshProject(house.id)).toMatchObject({ status: "stopped", meshes: [] });
  await expect(house.send("line", { text: "x" })).rejects.toMatchObject({ code: "not_started" });
  expect(await house.api.give({ do: "start_meshes", project: house.project })).toMatchObject({
    id: house.id,
    status: "working",
  });
  first.assertDone();
  const { log } = await house.runtime.agent(house.id);
  const facts = await log.read({ after: 0, limit: 10_000 });
  const steered = facts.filter(({ type }) => /^agent\.(created|started|stopped)$/.test(type));
  const human = { kind: "human", via: "web" };
  expect(steered.map(({ type, actor }) => [type, actor])).toEqual([
    ["agent.created", human],
    ["agent.started", human],
    ["agent.started", undefined],
    ["agent.stopped", human],
    ["agent.started", human],
  ]);
});

test("a model that stops without ending its task is asked, and then the task has failed", async () => {
  const idle = script(...["I am done.", "Really.", "Yes.", "Bye."].map((words) => say(words)));
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "lazy", type: "persistent", agents: ["x/idle"] }],
      agents: { idle: model("idle") },
      minds: { "scripted/idle": idle },
    }).open()
  ).start();
  await house.send("lazy", { text: "# Work\n" });
  const failed = await house.until(({ type, data }) => type === "mesh.failed" && data.agent === null);
  expect(failed.data).toMatchObject({ why: "idle: It stopped without tx_done. Its last words: Bye." });
});

test("messages are seen and read through the API, and what leads elsewhere is not there", async () => {
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "quiet", type: "persistent", agents: ["x/nobody"] }],
      agents: { nobody: { options: { program: "claude-code", runs: "tmux" } } },
      config: { programs: { "claude-code": { kind: "claude_code", command: ["no-such-program"] } } },
    }).open()
  ).start();
  const { name } = await house.send("quiet", { to: "nobody", text: "# Hello\n\nthere\n" });
  await house.until(({ type }) => type === "mesh.undelivered");
  const { places } = await house.api.meshQueues(house.id, "quiet");
  expect(
    places.map(({ agent, queues }) => [
      agent,
      queues.active.messages.map(({ title, from, type }) => [title, from, type]),
    ]),
  ).toEqual([
    [null, []],
    ["nobody", [["Hello", "human", "task"]]],
  ]);
  const message = await house.api.meshMessage(house.id, "quiet", "active", name, { agent: "nobody" });
  expect(message.text).toContain("# Hello\n\nthere\n");
  for (const elsewhere of ["../../../../state.json", "..%2fstate.json", ".hidden.md", "none.md"])
    await expect(house.api.meshMessage(house.id, "quiet", "inbox", elsewhere)).rejects.toMatchObject({ status: 404 });
  await expect(house.api.give({ do: "start_meshes", project: "/no/such/folder" })).rejects.toMatchObject({
    status: 400,
  });
  await expect(house.api.give({ do: "send", id: house.id, message: "hello?" })).rejects.toMatchObject({
    message: expect.stringContaining("tx send MESH"),
  });
  expect(existsSync(join(house.project, ".claude"))).toBe(false);
});

test("a project that another home runs is refused with words that say whose it is", async () => {
  const plan = { meshes: [{ mesh: "line", type: "persistent" as const, agents: ["x/one"] }] };
  await using house = await (await new MeshHouse(plan).open()).start();
  await using other = await new MeshHouse(plan).open();
  await expect(other.api.give({ do: "start_meshes", project: house.project })).rejects.toMatchObject({
    status: 409,
    message: `The meshes of ${house.project} are already run by pid ${process.pid}. Use that process (tx status --home ${house.home}), or stop it first (tx stop --home ${house.home}).`,
  });
});
