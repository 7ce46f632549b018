import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type MeshAddress, QUEUES } from "../../src/mesh/files/layout.ts";
import { ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import { forgetGaps, type Gaps, watchGaps } from "./mesh-gaps-disk.ts";
import { type Play, SCENARIOS, type Scenario } from "./mesh-gaps-scenarios.ts";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const { withGaps } = await import("./mesh-gaps-disk.ts");
  return { ...real, ...withGaps(real) };
});

/** Every sixth gap in CI, every one in the soak. */
const EVERY = Number(process.env.AGIRAPH_KILLS ?? 0) >= 1_000 ? 1 : 6;
const AT_ONCE = 8;

const CASES = SCENARIOS.flatMap((scenario) => scenario.hows.map((how) => ({ how, scenario, name: scenario.name })));

test.each(CASES)(
  "$name: $how before any one change to the disk: each message in one place, each task done once, nothing lost, each reason beside its file",
  { timeout: 300_000 },
  async ({ scenario, how }) => {
    const whole = await run(scenario, Number.POSITIVE_INFINITY, how);
    expect(whole.listing).toMatchObject(scenario.ends);
    let isOver = false;
    let next = 1;
    const work = async () => {
      while (!isOver) {
        const at = next;
        next += EVERY;
        const { change, listing } = await run(scenario, at, how);
        if (change === undefined) isOver = true;
        expect({ at, change, listing }).toEqual({ at, change, listing: whole.listing });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(next).toBeGreaterThan(scenario.gaps);
  },
);

/** One run to its end, with something happening before one change; then once more from the start, which changes nothing. */
async function run(scenario: Scenario, at: number, how: "kill" | "fail") {
  const world = new World(scenario.begin(), at, how);
  try {
    await world.live();
    const listing = world.listing();
    if (how === "kill") await world.liveAgain();
    expect(world.listing()).toEqual(listing);
    return { change: world.change, listing };
  } catch (error) {
    const what = `${scenario.name}: ${how} ${at}: ${world.change}\n${JSON.stringify(world.listing(), null, 1)}`;
    throw new Error(`${what}\n${error}`, { cause: error });
  } finally {
    await world.end();
  }
}

class World {
  readonly #play: Play;
  readonly #project: ScriptedProject;
  readonly #gaps: Gaps;

  constructor(play: Play, at: number, how: "kill" | "fail") {
    this.#play = play;
    this.#project = new ScriptedProject(play.options);
    this.#gaps = watchGaps(this.#project.dir);
    Object.assign(this.#gaps, { at, how });
  }

  get change(): string | undefined {
    return this.#gaps.change;
  }

  /** The first life, and where it was ended the second. */
  async live(): Promise<void> {
    const { promise: death, resolve: die } = Promise.withResolvers<"dead">();
    this.#gaps.happened = () => this.#gaps.isDead && die("dead");
    const { at } = this.#gaps;
    // Folders are made one like the other: only one scenario looks between them.
    if (!this.#play.fromTheStart) this.#gaps.at = Number.POSITIVE_INFINITY;
    const opening = this.#project.meshes.open();
    const life = opening.then(() => {
      Object.assign(this.#gaps, this.#play.fromTheStart ? {} : { count: 0, at });
      return this.#toItsEnd("last");
    });
    life.catch(() => {});
    if ((await Promise.race([life, death])) !== "dead") return;
    this.#checkInstant();
    await opening.catch(() => {});
    await this.#project.meshes.close();
    this.#gaps.isDead = false;
    await this.#project.reopen();
    await this.#toItsEnd("last");
  }

  async liveAgain(): Promise<void> {
    this.#gaps.at = Number.POSITIVE_INFINITY;
    await this.#project.reopen();
    await this.#toItsEnd("again");
  }

  async end(): Promise<void> {
    this.#gaps.isDead = false;
    await this.#project.close();
    forgetGaps(this.#project.dir);
  }

  /** A last task goes through every mesh, behind all that went before. */
  async #toItsEnd(word: string): Promise<void> {
    const { people } = this.#play;
    const life = ++this.#lives;
    for (let act = people[0]; act; act = people[0]) {
      this.#gaps.isByHand = true;
      const acting = act(this.#project);
      this.#gaps.isByHand = false;
      // What is done is done once. What was waited for may be over when a later life has gone on: it waits for itself.
      if (acting instanceof Promise) await acting;
      if (life !== this.#lives) return;
      people.shift();
    }
    for (const { mesh } of this.#play.options.configs) {
      const name = `zz-${word}.md`;
      const done = join(this.#project.layout.queue({ mesh, agent: null }, "complete"), name);
      if (!this.#sent.has(done)) this.#project.send(mesh, name, "# Last\n");
      this.#sent.add(done);
      await expect.poll(() => existsSync(done), PATIENT).toBe(true);
    }
    await expect.poll(() => this.#live(), PATIENT).toEqual([]);
    this.#checkInstant();
  }

  readonly #sent = new Set<string>();
  #lives = 0;

  /** What lies where something is still to happen. */
  #live(): string[] {
    const live = ["inbox", "next", "active", "outbox"] as const;
    return this.#addresses().flatMap((address) => live.flatMap((queue) => this.#names(address, queue)));
  }

  /** What lies where, without the last tasks. */
  listing(): Record<string, string[]> {
    return Object.fromEntries(
      this.#addresses().flatMap((address) =>
        QUEUES.flatMap((queue) => {
          const names = this.#names(address, queue).filter((name) => !name.startsWith("zz-"));
          return names.length > 0 ? [[`${address.mesh}/${address.agent ?? ""} ${queue}`, names]] : [];
        }),
      ),
    );
  }

  /** At any instant: nothing in two places, no file put aside without its reason. */
  #checkInstant(): void {
    const seen = new Map<string, string>();
    for (const address of this.#addresses()) {
      for (const queue of QUEUES) {
        for (const name of this.#names(address, queue)) {
          const path = join(this.#project.layout.queue(address, queue), name);
          const isAside = queue === "quarantine";
          if (isAside && name.endsWith(".reason.md")) continue;
          // Another one of that name may lie aside.
          const named = isAside ? [] : [`${address.mesh}/${address.agent} ${name}`];
          for (const key of [...named, `inode ${lstatSync(path).ino}`]) {
            expect([key, seen.get(key), path]).toEqual([key, undefined, path]);
            seen.set(key, path);
          }
          if (isAside) expect([path, existsSync(path.replace(/\.md$/, ".reason.md"))]).toEqual([path, true]);
        }
      }
    }
  }

  #addresses(): MeshAddress[] {
    return this.#play.options.configs.flatMap(({ mesh, agents }) => [
      { mesh, agent: null },
      ...agents.map((member) => ({ mesh, agent: member.split("/")[1] ?? "" })),
    ]);
  }

  #names(address: MeshAddress, queue: (typeof QUEUES)[number]): string[] {
    const dir = this.#project.layout.queue(address, queue);
    return existsSync(dir) ? readdirSync(dir).toSorted() : [];
  }
}

/** A busy machine takes its time. */
const PATIENT = { timeout: 120_000, interval: 20 };
