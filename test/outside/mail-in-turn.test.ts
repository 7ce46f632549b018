import { readFile, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  type TestTeam,
  until,
} from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { type RealProgram, realPrograms } from "./real-programs.ts";

/* What is said to the real programs while they work, in the real sandbox, with scripted models behind them. */

/** These are told nothing before their turn is over, except by a result of our tools. */
const DEAF = ["gemini", "opencode"];

const MESSAGE = "[Message from your human]: Paint it red.";

function hiring(program: string, model: string | undefined) {
  return script(
    call("spawn_worker", { name: "Cody", program, ...(model && { model }) }),
    call("create_work_node", { task: "Write it down.", worker: "Cody" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}

/** The same program, with all that it prints also in a file where it works. */
function kept(profile: ProgramProfile): ProgramProfile {
  return { ...profile, command: ["bash", "-c", 'exec "$@" > >(tee printed)', "kept", ...profile.command] };
}

const scratchOf = (team: TestTeam) => `${team.agent.log.dir}/runs/run-1/nodes/node-1/scratch`;

const isOnItsWay = (team: TestTeam) => until(team.agent, ({ letters }) => Object.keys(letters.queued).length === 0);

/** Resolves when it has what was said to it, as far as it says so: Codex does. */
async function hasTaken(name: string, team: TestTeam): Promise<void> {
  await isOnItsWay(team);
  if (name === "codex")
    await expect.poll(() => readFile(`${scratchOf(team)}/printed`, "utf8")).toContain('"outcome":"injected"');
}

async function start(name: string, { profile, model }: RealProgram, turns: readonly ProviderTurn[]) {
  const asked: ProviderRequest[] = [];
  const provider = await startProviderServer({
    respond: (request) => {
      if (!JSON.stringify(request.body).includes("Write it down.")) return { text: "A title" };
      const made = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length;
      asked[made] = request;
      return turns[made] ?? { text: "Done." };
    },
  });
  const team = await startTeam({
    goal: "g",
    coordinator: hiring(name, model),
    env: { PATH: process.env.PATH },
    config: { programs: { [name]: kept(profile(provider.url)) } },
  });
  return {
    ...{ asked, provider, team },
    async [Symbol.asyncDispose]() {
      await team[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Its calls of our tools with whether they were done, and when it received a message. */
async function order(team: TestTeam): Promise<string[]> {
  return (await team.facts()).flatMap((fact) => {
    if (fact.type === "message.received") return fact.data.by === "cody" ? ["received"] : [];
    const isOurs = fact.type === "tool.result" && fact.data.worker_id === "cody" && fact.data.tool === "publish";
    return isOurs ? [`publish ${fact.data.ok}`] : [];
  });
}

/** In its next model call, and not before. */
const NEXT = [0, 0, 1];

const timesIn = (request: ProviderRequest | undefined) =>
  JSON.stringify(request?.body).split("Paint it red.").length - 1;

for (const [name, program] of Object.entries(realPrograms)) {
  const test = whenInstalled(...program.files);
  const publishes = program.ours("publish", { summary: "It is written." });

  test(`what is said to ${name} while its model decides to publish holds that publish, and is told once`, async () => {
    const turns = [program.shell("echo hello > a.md"), { ...publishes, hold: "deciding" }, publishes];
    await using at = await start(name, program, turns);
    await at.provider.reached("deciding");
    await at.team.agent.send("Paint it red.", "Cody");
    if (!DEAF.includes(name)) await isOnItsWay(at.team);
    at.provider.release("deciding");
    expect(await at.team.outcome()).toEqual({ kind: "finished", summary: "done" });
    const told = DEAF.includes(name)
      ? ["publish false", "received", "publish true"]
      : ["received", "publish false", "publish true"];
    expect(await order(at.team)).toEqual(told);
    // Codex may drop the reply that it waits for and ask again, with the message. It does not say whether it did.
    const times = name === "codex" ? [NEXT, [0, 1, 1]] : [NEXT];
    expect(times).toContainEqual(at.asked.map(timesIn));
    expect(JSON.stringify(at.asked[2]?.body)).toContain(MESSAGE);
  });

  if (DEAF.includes(name)) continue;
  test(`what the model of ${name} has read does not hold its publish`, async () => {
    const waits = program.shell("echo hello > a.md; until [ -e go ]; do sleep 0.05; done; rm go");
    await using at = await start(name, program, [waits, { ...publishes, hold: "deciding" }]);
    const began = Promise.withResolvers<void>();
    at.team.agent.log.subscribe((fact) => {
      if (fact.type === "tool.called" && fact.data.worker_id === "cody") began.resolve();
    });
    await began.promise;
    await at.team.agent.send("Paint it red.", "Cody");
    await hasTaken(name, at.team);
    await writeFile(`${scratchOf(at.team)}/go`, "");
    await at.provider.reached("deciding");
    at.provider.release("deciding");
    expect(await at.team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect([await order(at.team), at.asked.map(timesIn)]).toEqual([
      ["received", "publish true"],
      [0, 1],
    ]);
  });
}
