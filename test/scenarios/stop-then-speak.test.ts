import { expect, test } from "vitest";
import { both, call, hang, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const made = (task: string) => call("create_work_node", { task });
const worked = (name: string) => [
  call("write_file", { path: `scratch/${name}.md`, content: name }),
  call("publish", { summary: name }),
];
const statuses = (team: TestTeam) => team.board().map(({ id, status }) => `${id} ${status}`);

/** Two at work, a third that waits for a place; then the person stops them. */
function stoppedTeam(...more: Parameters<typeof script>): Promise<TestTeam> {
  return stopped(script(both(made("One"), made("Two"), made("Three")), ...more));
}

async function stopped(coordinator: ReturnType<typeof script>): Promise<TestTeam> {
  const team = await startTeam({
    goal: "Work",
    config: { max_concurrent: 2 },
    coordinator,
    workers: { Alice: stoppable("a", "c"), Bob: stoppable("b", "c") },
  });
  const isUnderWay = (id: "node-1" | "node-2") => team.until(({ board }) => board.nodes[id]?.status === "running");
  await Promise.all([isUnderWay("node-1"), isUnderWay("node-2")]);
  await team.until(({ roster }) => roster.coordinator?.status === "waiting");
  await team.agent.stop("human");
  return team;
}

/** Thinks until it is stopped, and works when it is asked again. */
function stoppable(...names: string[]): ReturnType<typeof script> {
  const model = script(hang(), ...names.flatMap(worked));
  const reply = model.reply.bind(model);
  model.reply = async (request, signal) => {
    try {
      return await reply(request, signal);
    } catch (error) {
      if (signal.aborted) model.played++;
      throw error;
    }
  };
  return model;
}

/** Which nodes somebody was on, or began with, after this fact. */
async function workedOn(team: TestTeam, after: number): Promise<Set<string>> {
  const facts = (await team.facts()).filter(({ seq }) => seq > after);
  return new Set(
    facts.flatMap((fact) => (fact.type === "model.called" && fact.data.node_id ? [fact.data.node_id] : [])),
  );
}

test("after a stop and a word of the person nobody goes on before the coordinator has decided", async () => {
  const looked = Promise.withResolvers<void>();
  await using team = await stoppedTeam(
    call("check_board").after(
      "[Message from your human]: Do not go on with node-1!",
      "Your human had stopped the work and speaks to you now.",
      "It goes on when you next wait for news",
    ),
    call("cancel_node", { node_id: "node-1", reason: "They asked for it." }).until(looked.promise),
    call("finish", { summary: "without it" }).after("node-2 completed", "node-3 completed"),
  );
  const { seq } = team.agent.now;
  await team.agent.send("Do not go on with node-1!");
  await team.until(({ agent }) => agent.coordinator_decides);
  await team.until(({ spending }) => (spending.by_worker.coordinator?.calls ?? 0) >= 3);
  expect([...(await workedOn(team, seq))]).toEqual([]);
  expect(team.agent.now.roster.alice?.status).toBe("stopped");
  looked.resolve();
  await team.agent.idle();
  expect([team.agent.now.agent.status, ...statuses(team)]).toEqual([
    "completed",
    "node-1 cancelled",
    "node-2 completed",
    "node-3 completed",
  ]);
  expect((await workedOn(team, seq)).has("node-1")).toBe(false);
});

test("nor does it decide with a wait for everybody that the stop cut off", async () => {
  const wait = call("check_messages", { wait: true, all: true });
  const looked = Promise.withResolvers<void>();
  await using team = await stopped(
    script(
      both(made("One"), made("Two"), made("Three"), wait),
      call("check_board").after("[Message from your human]: Do not go on with node-1!"),
      call("cancel_node", { node_id: "node-1", reason: "They asked for it." }).until(looked.promise),
      wait,
      call("finish", { summary: "without it" }).after("node-2 completed", "node-3 completed"),
    ),
  );
  const { seq } = team.agent.now;
  await team.agent.send("Do not go on with node-1!");
  await team.until(({ spending }) => (spending.by_worker.coordinator?.calls ?? 0) >= 2);
  expect([...(await workedOn(team, seq)), team.agent.now.agent.coordinator_decides]).toEqual([true]);
  looked.resolve();
  await team.agent.idle();
  expect(statuses(team)).toEqual(["node-1 cancelled", "node-2 completed", "node-3 completed"]);
});

test("finish is not taken before what is stopped was cancelled or has gone on", async () => {
  await using team = await stoppedTeam(
    call("finish", { summary: "too early" }).after("[Message from your human]: Go on."),
    call("finish", { summary: "all" }).after(
      "node-1 is stopped, node-2 is stopped, node-3 is pending. It goes on when you wait for news, or use cancel_node",
      "node-1 completed",
      "node-2 completed",
      "node-3 completed",
    ),
  );
  await team.agent.send("Go on.");
  await team.agent.idle();
  expect([team.agent.now.agent.summary, ...statuses(team)]).toEqual([
    "all",
    "node-1 completed",
    "node-2 completed",
    "node-3 completed",
  ]);
});

test("what was said to one whose node is cancelled while the coordinator decides, the coordinator hears", async () => {
  const cancelled = (node_id: string) => call("cancel_node", { node_id, reason: "Enough." });
  await using team = await stoppedTeam(
    both(cancelled("node-3"), cancelled("node-2"), cancelled("node-1")).after("Your human had stopped the work"),
    call("check_board"),
    call("finish", { summary: "none" }),
  );
  await team.agent.send("Keep your draft, please.", "Alice");
  await team.agent.idle();
  expect(JSON.stringify(await team.conversation())).toContain(
    "[Message from your human for Alice, who has finished]: Keep your draft, please.",
  );
  expect([team.agent.now.agent.summary, ...statuses(team)]).toEqual([
    "none",
    "node-1 cancelled",
    "node-2 cancelled",
    "node-3 cancelled",
  ]);
});

test("a crash while the coordinator decides changes nothing about it", async () => {
  await using first = await stoppedTeam(
    hang().after("[Message from your human]: Wait."),
    call("finish", { summary: "all" }).after("node-1 completed", "node-2 completed", "node-3 completed"),
  );
  await first.agent.send("Wait.");
  await first.until(({ agent }) => agent.coordinator_decides);
  const { seq } = first.agent.now;
  const team = await first.restart();
  await team.agent.start("recovered");
  expect([...(await workedOn(team, seq)), team.agent.now.agent.coordinator_decides]).toEqual([true]);
  await team.runtime.close();
});

test("resumed without a word, everything goes on at once", async () => {
  await using team = await stoppedTeam(
    call("finish", { summary: "all" }).after(
      "Your human had stopped the work. It goes on now.",
      "node-1 completed",
      "node-2 completed",
      "node-3 completed",
    ),
  );
  await team.agent.start("resumed");
  expect(team.agent.now.roster.alice?.status).toBe("busy");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "all" });
});
