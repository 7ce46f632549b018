import { randomUUID } from "node:crypto";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { World } from "../../src/repository/testing/world.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  startTeam,
  temporaryHome,
} from "../../src/testing/index.ts";
import { within } from "../../src/testing/within.ts";
import { configure } from "../faults/killing.ts";
import { processesNaming, startHouse } from "./house.ts";
import { hiring, PROGRAMS, steps, TASK, type Tried } from "./tried-programs.ts";

/*
 * What is promised for every program, tried with each of the real ones and with a plain shell script: it can be stopped,
 * a kill of ours repeats nothing, and nothing of the person's is within its reach. That it works, hears, asks and counts
 * is in acp-worker, claude-code, mail-in-turn and any-program.
 */

const isSoak = process.env.AGIRAPH_SOAK === "1";

for (const [name, tried] of Object.entries(PROGRAMS)) {
  const { test, profile, turns } = tried;

  test(`${name} that is stopped in a command that ignores signals is gone in 5 s, with all it started`, async () => {
    const mark = `98765${Object.keys(PROGRAMS).indexOf(name)}`;
    const deaf = `trap '' TERM INT HUP; touch deaf; (setsid sleep ${mark} &); while :; do sleep 0.1; done`;
    await using provider = await startProviderServer({ respond: steps(turns(deaf)) });
    await using team = await startTeam({
      goal: "g",
      coordinator: hiring(name, tried),
      env: { PATH: process.env.PATH },
      config: { programs: { [name]: profile(provider.url, deaf) } },
    });
    const scratch = join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch");
    await vi.waitFor(() => access(join(scratch, "deaf")), { timeout: 120_000 });
    expect(processesNaming(mark)).not.toEqual([]);
    const left = () => [processesNaming(mark), processesNaming(team.agent.log.dir)];
    const isGone = () => vi.waitFor(() => expect(left()).toEqual([[], []]), { timeout: 60_000, interval: 20 });
    await within(5000, team.agent.stop("human").then(isGone));
  });

  test(`${name} reads neither the person's home, nor the hidden files of the project, nor our variables`, async () => {
    // Made here: this file itself may be within its reach, beside the program.
    const canary = randomUUID();
    await using me = await temporaryHome();
    await mkdir(join(me.path, "project/src"), { recursive: true });
    await mkdir(join(me.path, ".ssh"));
    await writeFile(join(me.path, ".ssh/id_rsa"), `${canary}-1`);
    await writeFile(join(me.path, "project/.env"), `KEY=${canary}-2`);
    await writeFile(join(me.path, "project/src/.env"), `KEY=${canary}-3`);
    await writeFile(join(me.path, "project/src/a.ts"), "export const seen = 1;");
    const look = [
      `cat ${me.path}/.ssh/id_rsa ${me.path}/project/.env ${me.path}/project/src/.env`,
      `cat ${me.path}/project/src/a.ts; env; cat /proc/[0-9]*/environ`,
      `echo x > ${me.path}/project/written; grep -rs ${canary} ${me.path} /tmp /root /home`,
    ].join("; ");
    const command = `(${look}) > seen.txt 2>&1; true`;
    await using provider = await startProviderServer({ respond: steps(turns(command)) });
    await using team = await startTeam({
      goal: "g",
      coordinator: hiring(name, tried),
      project: join(me.path, "project"),
      env: { PATH: process.env.PATH, HOME: me.path, MY_TOKEN: `${canary}-4` },
      config: { programs: { [name]: profile(provider.url, command) } },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    const seen = await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/seen.txt"), "utf8");
    expect(seen).toContain("export const seen = 1;");
    expect([1, 2, 3, 4].filter((each) => seen.includes(`${canary}-${each}`))).toEqual([]);
    await expect(access(join(me.path, "project/written"))).rejects.toThrow();
  });

  // In a clone, the real ones but Claude Code in the soak alone.
  const places = isSoak || name === "claude-code" || name === "plain" ? (["folder", "clone"] as const) : ["folder"];
  for (const place of places) {
    test(`${name} that is killed with us in its ${place} does nothing twice`, () => killedWithUs(name, tried, place));
  }
}

async function killedWithUs(name: string, tried: Tried, place: string): Promise<void> {
  const once = "echo once >> marks; until [ -e go ]; do sleep 0.05; done";
  // A program without a session looks at what it left, as any program must that can be started twice.
  const command = name === "plain" ? `[ -e marks ] || { ${once}; }` : once;
  const seen: ProviderRequest[] = [];
  await using provider = await startProviderServer({ respond: killedMind(name, tried, command, seen) });
  await using world = await World.open();
  const home = join(world.path, "home");
  await mkdir(home);
  const config: Config = { programs: { [name]: tried.profile(provider.url, command) } };
  await configure(home, provider.url, config);
  const isClone = place === "clone";
  const first = await startHouse(home, "Have it written.", isClone ? world.person : undefined);
  const { agent_id: agent } = await first.fact("process.started");
  const node = join(home, `agents/${agent}/runs/run-1/nodes/node-1`);
  // The file is there before its line is.
  const written = () => readFile(join(node, isClone ? "repo" : "scratch", "marks"), "utf8").catch(() => "");
  await expect.poll(written, { timeout: 120_000 }).toBe("once\n");
  first.child.kill("SIGKILL");
  await first.over;
  await vi.waitFor(() => expect(processesNaming(join(home, "agents"))).toEqual([]), { timeout: 120_000 });
  const second = await startHouse(home);
  await second.fact("node.completed");
  expect(await second.over).toBe(0);
  if (isClone) {
    const branch = ["--git-dir", join(home, `agents/${agent}/repo.git`), "show"];
    expect(world.plain("person", ...branch, `agiraph/${agent}:marks`)).toBe("once");
    expect(world.plain("person", ...branch, "--format=", "--name-only", `agiraph/${agent}`)).toBe("marks");
  } else expect(await readFile(join(node, "published/marks"), "utf8")).toBe("once\n");
  // Whatever it remembers by itself, its model knows that the command was begun.
  if (name !== "plain") expect(JSON.stringify(seen.find(isAgain)?.body)).toContain("echo once >> marks");
}

const isAgain = ({ body }: ProviderRequest) => JSON.stringify(body).includes("You were interrupted");

/** Those of the coordinator and of the program, which publishes once it was interrupted. */
function killedMind(name: string, { model, turns }: Tried, command: string, seen: ProviderRequest[]) {
  const coordinator: ProviderTurn[] = [
    { calls: [{ name: "spawn_worker", args: { name: "Cody", program: name, ...(model && { model }) } }] },
    { calls: [{ name: "create_work_node", args: { task: TASK, worker: "Cody" } }] },
    { text: "I wait." },
  ];
  return (request: ProviderRequest): ProviderTurn => {
    if (request.tools.includes("spawn_worker"))
      return JSON.stringify(request.body).includes("node-1 completed")
        ? { calls: [{ name: "finish", args: { summary: "done", learned: "" } }] }
        : (coordinator[request.turn] ?? { text: "I wait." });
    const [runs, publishes] = turns(command);
    if (!isAgain(request)) return steps([runs ?? {}], seen)(request);
    seen.push(request);
    return publishes ?? {};
  };
}
