import { expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import { both, call, say, script, startTeam } from "../../src/testing/index.ts";

/**
 * Seed 002 §8.8, message by message: the human is one of the team. Everyone plays their part strictly, so each line is
 * only said once the one before it was heard.
 */
const write = call("write_file", { path: "scratch/report.md", content: "…" });
const publish = call("publish", { summary: "done" });
/** How many steps each has played when they wait for the last thing they are told. */
const BEFORE_PRICING: Record<string, number> = { Alice: 4, Bob: 4, Carol: 2, Dave: 2 };

test("the human talks to the coordinator, a worker and everyone while the team works", async () => {
  const [nvidia, amd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hire = (name: string) => call("spawn_worker", { name });
  const node = (company: string, worker: string) => call("create_work_node", { task: `Research ${company}`, worker });
  const coordinator = script(
    both(
      say("On it. Setting up 3 researchers for NVIDIA, AMD, Intel."),
      ...["Alice", "Bob", "Carol"].map(hire),
      node("NVIDIA", "Alice"),
      node("AMD", "Bob"),
      node("Intel", "Carol"),
    ),
    both(say("Got it. Adding a 4th researcher for Qualcomm."), hire("Dave"), node("Qualcomm", "Dave")).after(
      "[Message from your human]: Also include Qualcomm",
    ),
    call("send_message", { to: "human", content: "Bob says AMD benchmarks are scarce. MLPerf data OK?" }).after(
      "[Message from Bob]: AMD MI300X benchmarks are hard to find.",
    ),
    both(
      say("I pass it on."),
      call("send_message", { to: "Bob", content: "Human says MLPerf is fine. Also try anandtech.com." }),
    ).after("[Message from your human]: Yes, MLPerf is fine. Also try anandtech.com."),
    call("reconvene", { assessment: "NVIDIA dominates training, AMD is competitive on inference." }).after(
      "Stage 1 is done",
      "[Message from your human]: Make sure the report includes pricing data too.",
    ),
    call("send_message", {
      to: "human",
      content: "Stage 1 done. NVIDIA dominates training, AMD competitive on inference. Starting synthesis.",
    }),
    call("finish", { summary: "Synthesised." }),
  );
  const pricing = "[Message from your human]: Make sure the report includes pricing data too.";
  const workers = {
    Alice: script(
      call("send_message", { to: "Human", content: "Should I focus on data center or consumer GPUs?" }).until(
        nvidia.promise,
      ),
      call("check_messages", { wait: true }),
      write.after("[Message from your human]: Data center only."),
      call("check_messages", { wait: true }),
      publish.after(pricing),
    ),
    Bob: script(
      call("send_message", { to: "coordinator", content: "AMD MI300X benchmarks are hard to find." }).until(
        amd.promise,
      ),
      call("check_messages", { wait: true }),
      write.after("[Message from Coordinator]: Human says MLPerf is fine. Also try anandtech.com."),
      call("check_messages", { wait: true }),
      publish.after(pricing),
    ),
    Carol: script(write, call("check_messages", { wait: true }), publish.after(pricing)),
    Dave: script(write, call("check_messages", { wait: true }), publish.after(pricing)),
  };
  await using team = await startTeam({
    goal: "Research AI chip companies and write a report",
    coordinator,
    workers,
  });
  const { agent } = team;
  const said = (words: string) => team.until(({ thread }) => thread.some(({ text }) => text.includes(words)));
  const isWaiting = (who: string) => team.until(({ roster }) => roster[who]?.status === "waiting");

  await said("On it. Setting up 3 researchers");
  await isWaiting("coordinator");
  await agent.send("Also include Qualcomm");
  await said("Adding a 4th researcher for Qualcomm");
  nvidia.resolve();
  await said("data center or consumer GPUs?");
  await isWaiting("alice");
  await agent.send("Data center only.", "Alice");
  await isWaiting("coordinator");
  amd.resolve();
  await said("MLPerf data OK?");
  await isWaiting("coordinator");
  await agent.send("Yes, MLPerf is fine. Also try anandtech.com.", "coordinator");
  await said("Human says MLPerf is fine.");
  // Everyone has written and waits; only the pricing is missing.
  await team.until(({ roster }) =>
    Object.entries(workers).every(
      ([name, { played }]) => played === BEFORE_PRICING[name] && roster[name.toLowerCase()]?.status === "waiting",
    ),
  );
  await isWaiting("coordinator");
  await agent.send("Make sure the report includes pricing data too.", "*");

  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Synthesised." });
  const human = (thread: Situation["thread"]) =>
    thread
      .filter(({ from, to }) => [from, to].includes("human") || to === "*" || from === "bob" || to === "bob")
      // Agiraph says that everybody waits for the human's next word.
      .filter(({ text }) => !text.startsWith("Everybody waits"));
  expect(human(agent.now.thread).map(({ from, to, text }) => `${from} → ${to}: ${text}`)).toEqual([
    "human → coordinator: Research AI chip companies and write a report",
    "coordinator → human: On it. Setting up 3 researchers for NVIDIA, AMD, Intel.",
    "human → coordinator: Also include Qualcomm",
    "coordinator → human: Got it. Adding a 4th researcher for Qualcomm.",
    "alice → human: Should I focus on data center or consumer GPUs?",
    "human → alice: Data center only.",
    "bob → coordinator: AMD MI300X benchmarks are hard to find.",
    "coordinator → human: Bob says AMD benchmarks are scarce. MLPerf data OK?",
    "human → coordinator: Yes, MLPerf is fine. Also try anandtech.com.",
    "coordinator → bob: Human says MLPerf is fine. Also try anandtech.com.",
    "human → *: Make sure the report includes pricing data too.",
    "coordinator → human: Stage 1 done. NVIDIA dominates training, AMD competitive on inference. Starting synthesis.",
    "coordinator → human: Synthesised.",
  ]);
  expect(agent.now.agent.runs).toBe(1);
});
