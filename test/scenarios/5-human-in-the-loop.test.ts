import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProviderServer, until } from "../../src/testing/index.ts";
import { configFor, PROVIDERS, runToItsEnd, type Told } from "./over-the-wire.ts";

/** Seed 002 §11, test 5: human in the loop. */
const GOAL = "Set up a database for our project.";
const QUESTION = "Should I use PostgreSQL or SQLite? What's the use case?";
const ANSWER = "PostgreSQL, it's for a production web app";

test.each(PROVIDERS)("an agent asks its human and goes on with the answer, over $name", async ({ model }) => {
  await using provider = await startProviderServer({
    turns: [
      { calls: [{ name: "ask_human", args: { question: QUESTION } }] },
      { calls: [{ name: "write_file", args: { path: "schema.sql", content: "-- PostgreSQL\n" } }] },
      { calls: [{ name: "finish", args: { summary: "PostgreSQL is set up." } }] },
    ],
  });
  const order = {
    goal: GOAL,
    model,
    tools: ["ask_human", "bash", "write_file", "finish"],
    env: provider.env,
    config: configFor(provider),
  };
  const look = async (told: Told) => {
    // ask_human event was emitted
    const asked = told.facts.filter((fact) => fact.type === "human.question").map((fact) => fact.data.text);
    expect(asked).toEqual([QUESTION]);
    // Agent paused and resumed correctly
    expect(told.statuses).toEqual(["idle", "working", "waiting_for_human", "working", "completed"]);
    // Human response was incorporated (agent chose PostgreSQL): it was told the answer before it wrote
    expect(JSON.stringify(provider.requests[1])).toContain(ANSWER);
    expect(await readFile(join(told.run, "schema.sql"), "utf8")).toBe("-- PostgreSQL\n");
    // conversation.jsonl shows the Q&A
    const results = told.conversation
      .filter((entry) => entry.role === "tool")
      .map(({ tool, content }) => [tool, content]);
    expect(results[0]).toEqual(["ask_human", `Your human answers: ${ANSWER}`]);
    expect(JSON.stringify(told.conversation)).toContain(QUESTION);
  };
  await runToItsEnd(order, look, async (agent) => {
    await until(agent, ({ agent: { status } }) => status === "waiting_for_human");
    expect(agent.now.roster.coordinator).toMatchObject({ status: "waiting", for: "human" });
    await agent.respond(ANSWER);
  });
});
