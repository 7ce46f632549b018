import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type FactOf, NO_USAGE, type ProgramProfile } from "../../src/protocol/index.ts";
import {
  call,
  type ProviderRequest,
  type ProviderServer,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  type TestTeam,
} from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { acpProfile, ourStep, realAgents, shellStep } from "./real-acp.ts";

/* The real ACP agents as workers in the real sandbox, as a person has them who has configured nothing. */

const NAMES = ["codex", "gemini", "opencode"] as const;
type Name = (typeof NAMES)[number];

/** One step after the other, by how many calls its model has made; side questions of the program get a word. */
function steps(...turns: ProviderTurn[]): (request: ProviderRequest) => ProviderTurn {
  return (request) => {
    if (!JSON.stringify(request.body).includes("Write it down.")) return { text: "A title" };
    const made = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
    return { usage: { input: 1000, output: 100 }, ...(turns[made.length] ?? { text: "Done." }) };
  };
}

function hiring(name: Name) {
  return script(
    call("spawn_worker", { name: "Cody", program: name, model: realAgents[name].model }),
    call("create_work_node", { task: "Write it down.", deliverables: ["a.md"], worker: "Cody" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}

function plan(name: Name, provider: ProviderServer, more: Partial<ProgramProfile> = {}) {
  const config = { programs: { [name]: acpProfile(name, provider.url, more) } };
  return { goal: "g", coordinator: hiring(name), env: { PATH: process.env.PATH }, config };
}

async function callsOf(team: TestTeam): Promise<[gist: string, ok: boolean, result: string][]> {
  const facts = (await team.facts()).filter((fact) => "worker_id" in fact.data && fact.data.worker_id === "cody");
  return facts
    .filter((fact): fact is FactOf<"tool.called"> => fact.type === "tool.called")
    .map(({ data: { call_id, gist } }) => {
      const result = facts.find((fact) => fact.type === "tool.result" && fact.data.call_id === call_id);
      return result?.type === "tool.result" ? [gist, result.data.ok, result.data.gist] : [gist, false, "none"];
    });
}

for (const name of NAMES) {
  const test = whenInstalled(...realAgents[name].files);

  test(`${name} works without a word about permissions: its commands run, and are on record with what they wrote`, async () => {
    await using provider = await startProviderServer({
      respond: steps(
        shellStep(name, "echo hello > a.md; sleep 0.5; echo written"),
        ourStep(name, "publish", { summary: "It is written." }),
      ),
    });
    await using team = await startTeam(plan(name, provider));
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    const published = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/a.md");
    expect(await readFile(published, "utf8")).toBe("hello\n");
    const [command] = await callsOf(team);
    expect(command).toEqual([expect.stringContaining("echo hello > a.md"), true, expect.stringContaining("written")]);
    const { calls, usage, estimated_calls } = team.agent.now.spending.by_worker.cody ?? {};
    // Codex says what it used when it is ended for its publish; of the others it is estimated.
    if (name === "codex")
      expect({ usage, estimated_calls }).toEqual({ usage: { ...NO_USAGE, input: 2000, output: 200 } });
    else expect([calls, estimated_calls]).toEqual([2, 2]);
  }, 90_000);

  test(`a command of ${name} is on record while it runs`, async () => {
    await using provider = await startProviderServer({
      respond: steps(
        shellStep(name, "echo hello > a.md; until [ -e go ]; do sleep 0.05; done"),
        ourStep(name, "publish", { summary: "It is written." }),
      ),
    });
    await using team = await startTeam(plan(name, provider));
    const { promise, resolve } = Promise.withResolvers<string>();
    team.agent.log.subscribe((fact) => {
      if (fact.type === "tool.called" && fact.data.worker_id === "cody") resolve(fact.data.gist);
    });
    expect(await promise).toContain("until [ -e go ]");
    await team.agent.stop("human");
  }, 90_000);
}
