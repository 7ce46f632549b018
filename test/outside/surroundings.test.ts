import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { loadSettings } from "../../src/runtime/config/settings.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  type TeamPlan,
  temporaryHome,
  until,
} from "../../src/testing/index.ts";
import { configure } from "../faults/killing.ts";
import { whenInstalled } from "./installed.ts";
import { type RealProgram, realPrograms } from "./real-programs.ts";

/*
 * What the real programs find around them, in the real sandbox: the person's name for git, hosts that every command may
 * reach, what the project asks of agents, rules that ask nobody, and a budget. Their skills and their own settings are in
 * skills and own-settings.
 */

const LONG = { timeout: 120_000 };
const TASK = "Write it down.";

/** How many calls its model has made; undefined where it is asked something beside the work. */
function callsIn({ body, tools, messages }: ProviderRequest): number | undefined {
  if (tools.length === 0 || !JSON.stringify(body).includes(TASK)) return undefined;
  return messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length;
}

/** Gemini CLI asks which model it is to ask, others for a title. */
const ASIDE = { text: '{"reasoning":"Simple.","model_choice":"flash"}' };

/** A team whose one worker is this program, and whose model makes these turns; `asked` is what it was told. */
async function working(
  name: string,
  program: RealProgram,
  turns: readonly ProviderTurn[],
  { profile, ...plan }: Partial<TeamPlan> & { profile?: Partial<ProgramProfile> },
) {
  const asked: string[] = [];
  const provider = await startProviderServer({
    respond: (request) => {
      const made = callsIn(request);
      if (made === undefined) return ASIDE;
      asked.push(JSON.stringify(request.body));
      return turns[made] ?? { text: "Done." };
    },
  });
  const team = await startTeam({
    goal: "g",
    coordinator: script(
      call("spawn_worker", { name: "Cody", program: name, ...(program.model && { model: program.model }) }),
      call("create_work_node", { task: TASK, worker: "Cody" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    env: { PATH: process.env.PATH },
    ...plan,
    config: { ...plan.config, programs: { [name]: program.profile(provider.url, profile) } },
  });
  return {
    ...{ team, asked },
    node: join(team.agent.log.dir, "runs/run-1/nodes/node-1"),
    async [Symbol.asyncDispose]() {
      await team[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** A site on this machine, at `127.0.0.1:PORT`. */
async function site() {
  const server = createServer((_, response) => void response.end("It rains in Lisbon.\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const fetching = (port: number) =>
  `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;

for (const [name, program] of Object.entries(realPrograms)) {
  const test = whenInstalled(...program.files);
  const publishes = program.ours("publish", { summary: "It is written." });

  test(
    `${name} commits in its person's name, reaches what every command may reach, and hears what the project asks`,
    LONG,
    async () => {
      await using me = await temporaryHome();
      const project = join(me.path, "project");
      await mkdir(project);
      await writeFile(join(me.path, ".gitconfig"), "[user]\n\tname = Ann O'Hara\n\temail = ann@example.org\n");
      await writeFile(join(project, "AGENTS.md"), "Write in Portuguese.\n");
      await using listed = await site();
      await using other = await site();
      const reads = (port: number) => `(bash -c "${fetching(port)}" || echo refused) >> a.md 2>&1`;
      const looks = [
        "git init -q $HOME/here && git -C $HOME/here commit -q --allow-empty -m x",
        "git -C $HOME/here log --format='%an <%ae>' > a.md",
        ...[listed.port, other.port].map(reads),
        `cat ${project}/AGENTS.md >> a.md`,
      ].join("; ");
      await using at = await working(name, program, [program.shell(looks), publishes], {
        project,
        env: { PATH: process.env.PATH, HOME: me.path },
        config: { network: { allow: [`127.0.0.1:${listed.port}`] } },
      });
      expect(await at.team.outcome()).toEqual({ kind: "finished", summary: "done" });
      const lines = (await readFile(join(at.node, "published/a.md"), "utf8")).split("\n");
      expect(lines[0]).toBe("Ann O'Hara <ann@example.org>");
      expect(lines.filter((line) => line === "It rains in Lisbon.")).toHaveLength(1);
      expect(lines.slice(-3)).toEqual(["refused", "Write in Portuguese.", ""]);
      expect(at.asked[0]).toContain(`What the project asks of agents is in ${project}/AGENTS.md: read it first.`);
    },
  );

  test(`${name} asks nobody about a command that a rule of its person allows, and about any other`, LONG, async () => {
    const turns = [program.asks("wc -w _task.md a.md"), program.asks("touch a.md"), publishes];
    await using at = await working(name, program, turns, {
      profile: { permissions: "ask", allow: ["Bash(wc -w:*)"] },
    });
    await at.team.until(({ questions }) => questions.asked === 1);
    const [question] = Object.values(at.team.agent.now.questions.open);
    expect(question?.text).toContain("touch a.md");
    await at.team.agent.respond("allow once", question?.id);
    expect(await at.team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(at.team.agent.now.questions.asked).toBe(1);
    // The first one ran.
    expect(at.asked[1]).toMatch(/No such file|total/);
  });

  // For Claude Code, and its sub-agents: claude-cost.test.ts.
  if (name === "claude-code") continue;
  test(`${name} is stopped when its budget is spent, in the middle of its turn`, LONG, async () => {
    const again = Array.from({ length: 40 }, (_, turn) => ({
      ...program.shell(`echo ${turn} >> a.md`),
      usage: { input: 20_000, output: 2000 },
    }));
    const asked: number[] = [];
    const orders: ProviderTurn[] = [
      {
        calls: [{ name: "spawn_worker", args: { name: "Cody", program: name, model: program.model } }],
      },
      { calls: [{ name: "create_work_node", args: { task: TASK, worker: "Cody" } }] },
    ];
    await using provider = await startProviderServer({
      respond: (request) => {
        if (request.tools.includes("spawn_worker")) return orders[request.turn] ?? { text: "I wait." };
        const made = callsIn(request);
        if (made === undefined) return ASIDE;
        asked.push(made);
        return again[made] ?? { text: "Done." };
      },
    });
    await using home = await temporaryHome();
    // Each call is more than the budget, also where it is estimated.
    const dear = { prices: { input: 1000, output: 1000 } };
    const models = ["openai/gpt-5.5", "google/gemini-2.5-pro", "scripted/some-model"];
    await configure(home.path, provider.url, {
      programs: { [name]: program.profile(provider.url) },
      models: {
        "openai-compatible/local/m": { prices: { input: 0, output: 0 } },
        ...Object.fromEntries(models.map((model) => [model, dear])),
      },
    });
    const settings = await loadSettings({ home: home.path }, { PATH: process.env.PATH }, home.path);
    const runtime = await openRuntime(settings);
    onTestFinished(() => runtime.close());
    const agent = await runtime.create({ goal: "g", model: settings.config.model ?? "", budget_usd: 5 });
    await until(agent, ({ agent: { outcome } }) => outcome !== null);
    expect(agent.now.agent.outcome).toMatchObject({ kind: "budget_exhausted" });
    expect(Math.max(...asked)).toBeLessThan(5);
  });
}
