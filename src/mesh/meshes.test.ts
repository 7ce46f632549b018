import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshConfig, MeshFact } from "../protocol/index.ts";
import { Layout, QUEUES } from "./layout.ts";
import type { Letter } from "./letter.ts";
import { Meshes } from "./meshes.ts";
import { format } from "./message-file.ts";

const opened: { meshes: Meshes; dir: string }[] = [];
afterEach(async () => {
  for (const { meshes, dir } of opened.splice(0)) {
    await meshes.close();
    rmSync(dir, { recursive: true });
  }
});

/** A project that declares these meshes, whose agents do what they are told by these functions. */
async function project(configs: MeshConfig[], agents: Record<string, (letter: Letter, say: Say) => void>) {
  const dir = mkdtempSync(join(tmpdir(), "mesh-"));
  const layout = new Layout(dir);
  mkdirSync(layout.configs, { recursive: true });
  for (const config of configs) {
    writeFileSync(join(layout.configs, `${config.mesh}.json`), JSON.stringify(config));
    for (const member of config.agents) {
      mkdirSync(join(layout.agents, member), { recursive: true });
      writeFileSync(join(layout.agents, member, "config.json"), JSON.stringify({ name: member.split("/")[1] }));
    }
  }
  const facts: MeshFact[] = [];
  const waiting: { until: (fact: MeshFact) => boolean; resolve: () => void }[] = [];
  let count = 0;
  const meshes = new Meshes(layout, {
    now: () => 1_760_000_000_000,
    record(fact) {
      facts.push(fact);
      for (const one of waiting.filter(({ until }) => until(fact))) one.resolve();
    },
    member: (mesh, agent) => ({
      async tell(letter) {
        const place = { mesh: mesh.config.mesh, agent: agent.name };
        const say: Say = (to, type, body) => {
          const aside = join(dir, `said-${++count}.md`);
          writeFileSync(aside, format({ from: `${place.mesh}/${place.agent}`, to, type, status: "pending" }, body));
          renameSync(aside, join(layout.queue(place, "outbox"), `${count}-${to.replace("/", "-")}.md`));
        };
        agents[agent.name]?.(letter, say);
      },
      async close() {},
    }),
    gate: async () => null,
    human: () => {},
  });
  opened.push({ meshes, dir });
  await meshes.open();
  const until = (matches: (fact: MeshFact) => boolean) =>
    new Promise<void>((resolve) => {
      if (facts.some(matches)) resolve();
      else waiting.push({ until: matches, resolve });
    });
  const send = (mesh: string, name: string, body: string) => {
    writeFileSync(join(dir, name), format({ from: "human", to: mesh, type: "task", status: "pending" }, body));
    renameSync(join(dir, name), join(layout.queue({ mesh, agent: null }, "inbox"), name));
  };
  const queues = (mesh: string, agent: string | null = null) =>
    Object.fromEntries(
      QUEUES.flatMap((queue) => {
        const found = readdirSync(layout.queue({ mesh, agent }, queue)).toSorted();
        return found.length > 0 ? [[queue, found]] : [];
      }),
    );
  return { layout, meshes, facts, until, send, queues };
}

type Say = (to: string, type: "task" | "ask" | "ask-response" | "task-complete" | "error", body: string) => void;

const isDone = (mesh: string) => (fact: MeshFact) =>
  fact.type === "mesh.completed" && fact.data.mesh === mesh && fact.data.agent === null;

test("sequential: a task goes from one to the next with what was done before, and every message is in one place", async () => {
  const heard: string[] = [];
  const { send, until, queues } = await project(
    [{ mesh: "review", type: "persistent", agents: ["x/writer", "x/critic"], workflow: ["writer", "critic"] }],
    {
      writer(letter, say) {
        heard.push(letter.body);
        say("mesh", "task-complete", "A draft.\n");
      },
      critic(letter, say) {
        heard.push(letter.body);
        say("mesh", "task-complete", "It is good.\n");
      },
    },
  );
  send("review", "essay.md", "# Write an essay\n");
  await until(isDone("review"));
  expect(heard).toEqual([
    "# Write an essay\n",
    "# Handoff from writer to critic\n\n## Previous Work\n\nA draft.\n\n## The Task\n\n# Write an essay\n",
  ]);
  expect([queues("review"), queues("review", "writer"), queues("review", "critic")]).toEqual([
    { complete: ["essay.md"] },
    { complete: ["essay.0.md", "essay.0.result.md"] },
    { complete: ["essay.1.md", "essay.1.result.md"] },
  ]);
});

test("hierarchical: one hands parts on, hears of each end, and ends the whole; a question is answered meanwhile", async () => {
  const told: string[] = [];
  const { send, until } = await project([{ mesh: "plan", type: "task", agents: ["x/lead", "x/coder"] }], {
    lead(letter, say) {
      told.push(`lead: ${letter.header.type} from ${letter.header.from}`);
      if (letter.header.type === "task") say("coder", "task", "# Code it\n");
      if (letter.header.type === "ask") say("coder", "ask-response", "In Rust.\n");
      if (letter.header.type === "task-complete") say("mesh", "task-complete", "All done.\n");
    },
    coder(letter, say) {
      told.push(`coder: ${letter.header.type} from ${letter.header.from}`);
      if (letter.header.type === "task") say("lead", "ask", "In which language?\n");
      else say("mesh", "task-complete", "Coded.\n");
    },
  });
  send("plan", "go.md", "# Build\n");
  await until(isDone("plan"));
  expect(told).toEqual([
    "lead: task from plan",
    "coder: task from plan/lead",
    "lead: ask from plan/coder",
    "coder: ask-response from plan/lead",
    "lead: task-complete from plan/coder",
  ]);
});
