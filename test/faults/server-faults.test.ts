import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { within } from "../../src/testing/within.ts";
import { smallDisk } from "./full-disk.ts";
import { killRounds } from "./kill-rounds.ts";
import { configure, expectNoProcessLeft, factsOf, mulberry32 } from "./killing.ts";
import { Crowd, completed, expectKept, mindOf, ServedHome } from "./server-load.ts";

/**
 * What the server promises under load: three teams at work, people who create, send, nudge and respond as fast as they
 * are answered, and people who look on.
 *
 * SERVER-FAULTS-1. What was answered with 200 or 201 is in the log exactly once; every fact that somebody saw is there,
 *     unchanged.
 * SERVER-FAULTS-2. The agents go on where they were: every node completes once.
 */
const ROUNDS = killRounds("server", 8, 20_270_101);
const TEAMS = 3;

test("SIGTERM under load: everything acknowledged is there, once; it ends in time, with 0; the agents go on", {
  timeout: 120_000,
}, async () => {
  await using house = await underLoad();
  const { served, crowd, teams } = house;
  for (let round = 0; round < 2; round++) {
    crowd.come(teams);
    await crowd.answered(40);
    expect(await within(10_000, served.end("SIGTERM"))).toBe(0);
    await crowd.leave();
    await expectKept(house.home, crowd);
    await served.start();
  }
  await house.finish();
  expectNodesOnce(await expectKept(house.home, crowd), teams);
});

test.each(ROUNDS)(
  "SIGKILL under load, $kills times (seed $seed): the same",
  {
    timeout: 3_600_000,
  },
  async ({ kills: KILLS, seed: SEED }) => {
    await using house = await underLoad();
    const { served, crowd, teams } = house;
    const random = mulberry32(SEED);
    for (let kills = 0; kills < KILLS; kills++) {
      crowd.come(teams);
      await crowd.answered(1 + Math.floor(random() * 60));
      expect(await served.end("SIGKILL")).toBe("SIGKILL");
      await crowd.leave();
      await expectNoProcessLeft(house.home);
      await served.start();
    }
    await house.finish();
    const logs = await expectKept(house.home, crowd);
    expectNodesOnce(logs, teams);
    console.log(`${KILLS} kills (seed ${SEED}): ${figuresOf(crowd, logs)}`);
  },
);

const canMount = await smallDisk(1).then(async (disk) => {
  if ("why" in disk) return disk.why;
  await disk[Symbol.asyncDispose]();
  return undefined;
});

test.skipIf(canMount !== undefined)(
  `a full disk under load: said and refused, nothing acknowledged is lost, and all go on when there is room${canMount ? ` (skipped: ${canMount})` : ""}`,
  { timeout: 120_000 },
  async () => {
    const disk = await smallDisk(48);
    if ("why" in disk) throw new Error(disk.why);
    await using _ = disk;
    await using house = await underLoad(disk.path);
    const { served, crowd, teams } = house;
    crowd.come(teams);
    await crowd.answered(30);
    expect(await served.health()).toEqual({ code: 200, status: "ok" });

    disk.fill();
    await crowd.answered(60);
    expect(await served.health()).toEqual({ code: 503, status: "disk_full" });
    expect(new Set(crowd.said.slice(-30).map(({ answer }) => answer))).toEqual(new Set(["507 disk_full"]));
    // Whoever looks is answered as ever.
    expect((await served.client.agents()).agents.map(({ id }) => id)).toEqual(expect.arrayContaining(teams));
    await crowd.leave();

    disk.free();
    await house.finish();
    expectNodesOnce(await expectKept(house.home, crowd), teams);
    expect(served.log()).toContain("nothing can be recorded");
    // Its log is another stream than its answers.
    await expect.poll(() => served.log()).toContain("there is space on the disk again");
  },
);

test("a thousand connections that say nothing, or a byte at a time, stop nobody and are let go", {
  timeout: 120_000,
}, async () => {
  await using house = await underLoad();
  const { served, crowd, teams } = house;
  const port = Number(new URL(served.url).port);
  const pests = Array.from({ length: 1000 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  // Not by `once`, which takes a reset for a failure: to whoever trickles, being let go may look like one.
  const ended = Promise.all(pests.map((pest) => new Promise((resolve) => pest.resume().on("close", resolve))));
  await Promise.all(pests.map((pest) => once(pest, "connect")));
  const trickle = setInterval(() => {
    for (const pest of pests.slice(0, 500))
      pest.write(pest.bytesWritten === 0 ? "POST /agents HTTP/1.1\r\nX-Slow: " : "x");
  }, 500);
  onTestFinished(() => clearInterval(trickle));

  crowd.come(teams);
  await crowd.answered(30);
  expect(crowd.said.filter(({ answer }) => answer !== "taken")).toEqual([]);
  await ended;
  await crowd.leave();
});

/** A home with teams at work, served. */
async function underLoad(at?: string) {
  const home = at === undefined ? await temporaryHome() : { path: at, remove: async () => {} };
  let goOn = true;
  const provider = await startProviderServer({
    respond: (request) => mindOf(request, goOn),
    forget: true,
    latencyMs: 5,
  });
  await configure(home.path, provider.url);
  const served = new ServedHome(home.path);
  await served.start();
  const teams: string[] = [];
  for (let team = 1; team <= TEAMS; team++) {
    const { id } = await served.client.give({ do: "create", goal: `Work under fire, team ${team}` });
    teams.push(id);
  }
  const crowd = new Crowd(served);
  return {
    home: home.path,
    served,
    crowd,
    teams,
    /** Lets the teams come to their end, and the server after them. */
    async finish() {
      goOn = false;
      crowd.come(teams, "answering");
      await Promise.all(teams.map((team) => completed(served, team)));
      await crowd.leave();
      expect(await served.end("SIGTERM")).toBe(0);
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await provider.close();
      await home.remove();
    },
  };
}

function expectNodesOnce(logs: ReadonlyMap<string, Fact[]>, teams: readonly string[]): void {
  for (const team of teams) {
    const facts = logs.get(team) ?? [];
    const made = factsOf(facts, "node.created").map(({ data }) => data.node_id);
    expect(made).toEqual(made.map((_, at) => `node-${at + 1}`));
    const ended = factsOf(facts, "node.completed").map(({ data }) => data.node_id);
    expect(ended.sort()).toEqual([...made].sort());
  }
}

function figuresOf({ said, taken, shown }: Crowd, logs: ReadonlyMap<string, Fact[]>): string {
  const facts = [...logs.values()].reduce((sum, each) => sum + each.length, 0);
  const seen = [...shown.values()].reduce((sum, each) => sum + each.size, 0);
  return `${said.length} said, ${taken.length} acknowledged, ${seen} facts shown, ${facts} in ${logs.size} logs`;
}
