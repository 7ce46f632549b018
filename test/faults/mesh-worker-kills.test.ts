import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import type { Fact } from "../../src/protocol/index.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
  trustMeshes,
} from "../../src/testing/index.ts";

const MODEL = "anthropic/claude-sonnet-4-5";

/** Hires the mesh, waits, and finishes when it has heard of the end. */
function coordinator({ messages }: ProviderRequest): ProviderTurn {
  const heard = messages.map(({ text }) => text).join("\n");
  if (/node-1 (completed|failed)/.test(heard)) return { calls: [{ name: "finish", args: { summary: "done" } }] };
  if (messages.some(({ role }) => role === "assistant")) return { text: "I wait." };
  return {
    calls: [
      { name: "spawn_worker", args: { name: "Clara", program: "mesh/pair" } },
      {
        name: "create_work_node",
        args: { task: "Write an essay.", deliverables: ["essay.md"], worker: "Clara" },
      },
    ],
  };
}

const isPublish = (fact: Fact) => fact.type === "tool.called" && fact.data.tool === "publish";
const is = (type: Fact["type"]) => (fact: Fact) => fact.type === type;

test("killed wherever it hurts, an agent gives its mesh the node once and publishes its result once", {
  timeout: 250_000,
}, async () => {
  const held = Promise.withResolvers<void>();
  const project: ScriptedProject = await ScriptedProject.open({
    configs: [{ mesh: "pair", type: "persistent", agents: ["x/writer"], workflow: ["writer"] }],
    agents: {
      async writer(_, say) {
        await held.promise;
        writeFileSync(join(project.layout.output("pair"), "essay.md"), "An essay.\n");
        say("mesh", "task-complete", "Written.\n");
      },
    },
  });
  await using home = await temporaryHome();
  await trustMeshes(home.path, project.dir);
  await using provider = await startProviderServer({ respond: coordinator });

  /** Until this is on record, or was so in the life before: then SIGKILL. Else to its end. */
  const live = async (until?: (fact: Fact) => boolean): Promise<string | number> => {
    const words = [join(import.meta.dirname, "../mesh/board-child.ts"), home.path, project.dir, MODEL];
    const env = { ...provider.env, PATH: process.env.PATH, HOME: home.path };
    const child = spawn(process.execPath, words, { env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.endsWith("}") && until?.(JSON.parse(line))) child.kill("SIGKILL");
    });
    const [code, signal]: (string | number)[] = await once(child, "exit");
    return signal ?? code ?? "gone";
  };

  const ends = [await live(is("node.started")), await live(is("worker.session")), await live(is("model.responded"))];
  await project.until((fact) => fact.type === "mesh.received" && fact.data.agent === "writer");
  held.resolve();
  ends.push(await live(isPublish), await live(is("node.published")), await live(is("node.completed")), await live());
  expect(ends.at(-1)).toBe(0);
  expect(ends.filter((end) => end === "SIGKILL").length).toBeGreaterThanOrEqual(4);

  const runtime = await openRuntime({ home: home.path, env: {}, config: {} });
  const known = (await runtime.summaries()).find(({ name }) => name === "Board");
  const { log, now } = await runtime.agent(known?.id ?? "agent-none");
  const facts = await log.read({ after: 0, limit: 100_000 });
  expect(now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "Written." });
  expect(facts.filter(is("node.published"))).toHaveLength(1);
  expect(readFileSync(join(log.dir, "runs/run-1/nodes/node-1/published/essay.md"), "utf8")).toBe("An essay.\n");
  await runtime.close();
  const tasks = project.heard
    .filter(({ message }) => message.header.type === "task")
    .map(({ message }) => message.name);
  expect(tasks).toEqual([`${log.id}-node-1.0.md`]);
  await project.close();
});
