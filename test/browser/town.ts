import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { copyBundled, Layout } from "../../src/mesh/index.ts";
import { isAsleep } from "../../src/projections/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import type { ProviderServer } from "../../src/testing/index.ts";
import { trustMeshes, until } from "../../src/testing/index.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { CHOICES, GOAL, NAME } from "./chip-team.ts";
import { type House, MODEL, openHouse } from "./house.ts";
import { GOALS, townScript } from "./town-script.ts";

/** The others come when they are to be heard: nobody waits for them longer than that. */
type Resident = Exclude<keyof typeof GOALS, "saying" | "urgent">;

/** A house in which somebody is in every state that the page can show. */
export interface Town extends AsyncDisposable {
  readonly house: House;
  /** Addresses of the page, by who lives there. */
  readonly at: Readonly<Record<Resident | "chips" | "finished" | "demo", string>>;
  /**
   * The mesh `review` in `shop`, where a task is under way and another has failed; `research` there, where nothing is;
   * `tour`, where all is done; and one that rests.
   */
  readonly mesh: Readonly<Record<"review" | "research" | "tour" | "stopped", string>>;
}

const PICTURE = chipPicture(240, 150);

export async function openTown(): Promise<Town> {
  const house = await openHouse(townScript, { isPatient: true, outside: gusAlone() });
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "agiraph-town-")));
  const { provider } = house;
  provider.release("alice");

  const chips = await house.create({ goal: GOAL, name: NAME, budget_usd: 5 });
  const finished = await house.create({ goal: GOAL, name: "Chips, compared" });
  const made = {
    broke: await house.create({ goal: GOALS.broke, name: "Heat pumps", budget_usd: 0.05 }),
    unreachable: await house.create({ goal: GOALS.unreachable, name: "Weather" }),
    refused: await house.create({ goal: GOALS.refused, name: "Wrong key" }),
    staged: await house.create({ goal: GOALS.staged, name: "The bakery on the corner goes online" }),
    asleep: await house.create({ goal: GOALS.asleep, name: "Copper", mode: "infinite", cycle_seconds: 86_400 }),
    resting: await house.create({ goal: GOALS.resting, name: "Tax return" }),
    waiting: await house.create({ goal: GOALS.waiting, name: "Archive" }),
    paused: await house.create({ goal: GOALS.paused, name: "Menu" }),
    leave: await house.create({ goal: GOALS.leave, name: "Tests" }),
    card: await house.create({ goal: GOALS.card, name: "Birthday card" }),
    away: await house.create({ goal: GOALS.away, name: "New year's card" }),
  };
  const demo = await house.create({ goal: "Survey the files", name: "Docs survey", model: "demo/surveyor" });
  await Promise.all([settleChips(chips), finish(finished), settle(made, provider), hasEnded(demo)]);
  leaveFiles(join(house.home, "agents", chips.log.id));
  leaveUnreadable(join(house.home, "agents", "agent-torn"));

  const mesh = await openMeshes(house, dir);
  const at = (agent: Agent) => `/ui/agents/${agent.log.id}`;
  const of = Object.entries({ ...made, chips, finished, demo }).map(([who, agent]) => [who, at(agent)]);
  return {
    house,
    at: Object.fromEntries(of) as Town["at"],
    mesh,
    [Symbol.asyncDispose]: async () => {
      await house[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true });
    },
  };
}

/** The one program in town: it wants to run something, and waits to be let. */
function gusAlone(): ReturnType<typeof scriptedPrograms> {
  const programs = scriptedPrograms(async (program) => {
    program.emit({ kind: "begun", session_id: "gus-1" });
    await program.want("Bash", { command: "npm test" }, "npm test");
  });
  programs.profile = { ...programs.profile, permissions: "ask" };
  return {
    ...programs,
    program(name) {
      if (name === "scripted") return programs.profile;
      throw new Error(`The program ${name} is not installed here.`);
    },
  };
}

const hasEnded = (agent: Agent) => until(agent, (now) => now.agent.status === "completed");

/** Alice is done, Bob asks. */
const settleChips = (agent: Agent) =>
  until(
    agent,
    ({ questions, board }) => Object.keys(questions.open).length === 1 && board.nodes["node-1"]?.status === "completed",
  );

async function finish(agent: Agent): Promise<void> {
  await settleChips(agent);
  await agent.respond(CHOICES[1] ?? "");
  await hasEnded(agent);
}

async function settle(made: Record<Resident, Agent>, provider: ProviderServer): Promise<void> {
  await until(made.broke, (now) => now.agent.status === "failed");
  await until(made.refused, (now) => now.agent.status === "failed");
  await until(made.staged, ({ board }) => board.nodes["node-3"]?.status === "running");
  await until(made.asleep, isAsleep);
  await provider.reached("resting");
  await made.resting.stop("human");
  await provider.reached("paused");
  await made.paused.pause("human");
  await until(made.leave, ({ questions }) => Object.keys(questions.open).length === 1);
  await hasEnded(made.card);
  await hasEnded(made.away);
  await made.away.archive("human");
  await provider.reached("waiting");
  await provider.reached("frida");
}

/** Files of every kind that the preview knows, beside what the team has written. */
function leaveFiles(agent: string): void {
  const run = join(agent, "runs", "run-1");
  writeFileSync(join(run, "chip.png"), PICTURE);
  writeFileSync(join(run, "firmware.bin"), Buffer.from([0, 1, 2, 3, 0, 255]));
  writeFileSync(join(run, "nothing.txt"), "");
  writeFileSync(join(run, "measurements.csv"), `second,TOPS\n${"1,80\n".repeat(60_000)}`);
}

/** Its log begins in the middle of nothing. */
function leaveUnreadable(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "events.jsonl"), '{"seq": 7}\n');
}

async function openMeshes(house: House, dir: string): Promise<Town["mesh"]> {
  const layout = new Layout(join(dir, "shop"));
  mkdirSync(layout.project);
  await copyBundled(layout, ["research", "review", "tour"]);
  // The others of `research` are programs that are not here.
  for (const path of ["review/reviewer", "review/fixer", "review/verifier", "research/searcher-broad"]) {
    const name = basename(path);
    const config = { name, description: `The ${name}`, options: { model: MODEL, runs: "harnessed" } };
    writeFileSync(join(layout.agents, path, "config.json"), JSON.stringify(config));
  }
  writeFileSync(join(layout.configs, "broken.json"), '{ "mesh": "broken" }');
  await trustMeshes(house.home, layout.project);
  const shop = await house.runtime.meshRecord(layout.project);
  await shop.start("created");

  const attic = join(dir, "attic");
  mkdirSync(attic);
  await copyBundled(new Layout(attic), ["research"]);
  const stopped = await house.runtime.meshRecord(attic);
  await stopped.start("created");
  await stopped.stop("human");

  const send = (mesh: string, to: string | null, text: string) =>
    fetch(`${house.url}/meshes/${shop.log.id}/${mesh}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${house.token}`, "content-type": "application/json" },
      body: JSON.stringify({ to, type: "task", text }),
    });
  await send("review", null, "# Review `a.ts`");
  await send("review", "verifier", "# Verify `b.ts`");
  await send("tour", null, "# Count the files");
  await house.provider.reached("fixer");
  await until(shop, ({ letters }) => Object.values(letters.queued).some(({ failed_task }) => failed_task));
  await untilDone(shop, "tour");
  // As by hand: written elsewhere, then moved.
  writeFileSync(join(dir, "bad.md"), "no header\n");
  renameSync(join(dir, "bad.md"), join(layout.queue({ mesh: "review", agent: null }, "inbox"), "bad.md"));
  return {
    review: `/ui/meshes/${shop.log.id}/review`,
    research: `/ui/meshes/${shop.log.id}/research`,
    tour: `/ui/meshes/${shop.log.id}/tour`,
    stopped: `/ui/meshes/${stopped.log.id}/research`,
  };
}

/** A picture that one can see: a chip on its board, as a PNG. */
function chipPicture(width: number, height: number): Buffer {
  const rows = Array.from({ length: height }, (_, y) => {
    const pixels = Array.from({ length: width }, (_, x) => {
      const isChip = Math.abs(x - width / 2) < width / 4 && Math.abs(y - height / 2) < height / 4;
      const isPin = Math.abs(y - height / 2) < height / 3 && x % 12 < 5;
      return isChip ? [40, 44, 60] : isPin ? [214, 170, 60] : [30 + x / 4, 110, 90 + y / 4];
    });
    return Buffer.from([0, ...pixels.flat()]);
  });
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", Buffer.concat([size, Buffer.from([8, 2, 0, 0, 0])])),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

async function untilDone({ log }: Agent, mesh: string): Promise<void> {
  for await (const { type, data } of log.follow(0, new AbortController().signal))
    if (type === "mesh.completed" && data.mesh === mesh && data.agent === null) return;
}
