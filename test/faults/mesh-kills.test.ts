import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { addressName, Layout, type MeshAddress, QUEUES, type QueueName } from "../../src/mesh/files/layout.ts";
import { format } from "../../src/mesh/files/message-file.ts";
import { Message } from "../../src/mesh/files/message-operations.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { type Dice, diceOf } from "../simulation/dice.ts";
import { killRounds } from "./kill-rounds.ts";

const ROUNDS = killRounds("meshes", 25, 8);

const CONFIGS: MeshConfig[] = [
  { mesh: "plan", type: "persistent", agents: ["x/lead", "x/coder"] },
  {
    mesh: "review",
    type: "persistent",
    agents: ["y/writer", "y/critic"],
    workflow: ["writer", "critic"],
    validation_gates: ["slow"],
  },
];

const ADDRESSES: MeshAddress[] = CONFIGS.flatMap(({ mesh, agents }) => [
  { mesh, agent: null },
  ...agents.map((member) => ({ mesh, agent: member.split("/")[1] ?? "" })),
]);

test.each(ROUNDS)(
  "$kills kills during traffic (seed $seed), hands that move files and processes that come second: each message in one queue, each task completed once, each answer given once",
  {
    timeout: 3_600_000,
  },
  async ({ kills: KILLS, seed }) => {
    const world = new World(seed);
    try {
      await world.begin();
      for (let kill = 1; kill <= KILLS; kill++) {
        await world.live(kill);
        world.check();
      }
      await world.finish();
      world.check();
      expect(world.summary()).toEqual(world.expected());
      if (KILLS >= 100) expect(world.putBack).toBeGreaterThan(0);
    } finally {
      await world.end();
    }
  },
);

class World {
  readonly dir = mkdtempSync(join(tmpdir(), "mesh-kills-"));
  readonly layout = new Layout(this.dir);
  readonly sent: string[] = [];
  readonly #chance: Dice;
  readonly #pool: Child[] = [];
  /** What hands have put back to be done again, by the task as it was first called. */
  readonly #putBack = new Map<string, PutBack>();
  #aside = 0;

  constructor(seed: number) {
    this.#chance = diceOf("mesh-kills", seed);
    for (const config of CONFIGS) {
      for (const member of config.agents) {
        mkdirSync(join(this.layout.agents, member), { recursive: true });
        const name = member.split("/")[1];
        writeFileSync(join(this.layout.agents, member, "config.json"), JSON.stringify({ name }));
      }
      mkdirSync(this.layout.configs, { recursive: true });
      writeFileSync(join(this.layout.configs, `${config.mesh}.json`), JSON.stringify(config));
    }
    mkdirSync(this.layout.gates, { recursive: true });
    writeFileSync(join(this.layout.gates, "slow.sh"), "exit 0\n");
    for (const address of ADDRESSES)
      for (const queue of QUEUES) mkdirSync(this.layout.queue(address, queue), { recursive: true });
  }

  /** One file loads five times as fast as many: three hundred lives begin. */
  async begin(): Promise<void> {
    const bundle = await rolldown({ input: join(import.meta.dirname, "mesh-child.ts"), platform: "node" });
    await bundle.write({ file: join(this.dir, "child.mjs"), format: "esm" });
    this.#pool.push(new Child(this.dir), new Child(this.dir));
  }

  /** One life, to its kill at a random instant: while it opens, or later. */
  async live(kill: number): Promise<void> {
    const child = this.#next();
    await child.ready;
    if (this.#chance.chance(0.3)) this.#send();
    child.go();
    if (this.#chance.chance(0.85)) await child.opened;
    if (kill % 25 === 0) await this.#second(child);
    for (let doings = this.#chance.int(4); doings > 0; doings--) {
      await child.lives(this.#chance.between(0, 12));
      if (this.#chance.chance(0.2)) this.#send();
      else this.#moveByHand();
    }
    await child.kill();
    // Also while nobody is there.
    if (this.#chance.chance(0.3)) this.#moveByHand();
    expect(child.trouble).toEqual([]);
  }

  /** Whoever comes second is refused, and told by whom. */
  async #second(first: Child): Promise<void> {
    await first.opened;
    const child = this.#next();
    await child.ready;
    child.go();
    expect(await child.refused).toBe(`locked ${first.pid}`);
    await child.kill();
  }

  /** The last one lives until all is done. */
  async finish(): Promise<void> {
    const child = this.#next();
    this.#pool.push(child);
    await child.ready;
    child.go();
    const live = ["inbox", "next", "active", "outbox"] as const;
    const left = () =>
      ADDRESSES.flatMap((address) => live.flatMap((queue) => readdirSync(this.layout.queue(address, queue))));
    // What was put back late outlasts the task it is a part of. A guard against what hangs: the rest of a busy machine counts.
    await expect.poll(left, { timeout: 1_800_000, interval: 20 }).toEqual([]);
    expect(child.trouble).toEqual([]);
    await child.kill();
  }

  async end(): Promise<void> {
    await Promise.all(this.#pool.map((child) => child.kill()));
    rmSync(this.dir, { recursive: true, force: true });
  }

  #next(): Child {
    this.#pool.push(new Child(this.dir));
    return this.#pool.shift() as Child;
  }

  #send(): void {
    const name = `t-${String(this.sent.length + 1).padStart(4, "0")}.md`;
    this.sent.push(name);
    const aside = join(this.dir, `aside-${++this.#aside}.md`);
    writeFileSync(aside, format({ from: "human", to: "plan", type: "task", status: "pending" }, `# ${name}\n`));
    renameSync(aside, join(this.layout.queue({ mesh: "plan", agent: null }, "inbox"), name));
  }

  /** Forward, back, past the line; a part of the coder's that somebody ends for it; one that is over, once more. */
  #moveByHand(): void {
    const [address, from, to] = this.#chance.pick(MOVES);
    const names = readdirSync(this.layout.queue(address, from)).filter((one) => !/\.(done|result)/.test(one));
    const name = names.length > 0 ? this.#chance.pick(names) : undefined;
    if (name === undefined || existsSync(join(this.layout.queue(address, to), name))) return;
    let there: string | undefined;
    try {
      there = Message.moveMessage(this.layout, address, name, from, to);
    } catch (error) {
      // The mesh was quicker.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    if (there !== undefined) this.#note(address, name, from, to);
  }

  /**
   * The journal by which second answers are right or wrong. What was over is to be done, and answered, once more: unless a
   * hand ends it again before anybody sees it, or it was put back so soon that the clock of the files cannot tell. What
   * has its words already, or was answered, and is about to be over, may be: who comes first is chance. Looked at after
   * the move: what has no words then was moved before its end.
   */
  #note(address: MeshAddress, name: string, from: QueueName, to: QueueName): void {
    if (!isAnswered(address)) return;
    const stem = name.slice(0, -3);
    const done = `${stem}.${addressName(address).replace("/", ".")}.done.md`;
    const isSaid = QUEUES.some((queue) => existsSync(join(this.layout.queue(LEAD, queue), done)));
    const [words, now] = [
      join(this.layout.queue(address, "complete"), `${stem}.result.md`),
      this.layout.queue(address, to),
    ].map((path, at) => statSync(at === 0 ? path : join(path, name), { bigint: true, throwIfNoEntry: false })?.ctimeNs);
    const noted = this.#putBack.get(first(stem)) ?? { ...NEVER, moves: [] };
    noted.moves.push(`${name}: ${from} → ${to}, words ${words}, there ${now}${isSaid ? ", answered" : ""}`);
    const isLater = words === undefined || (now !== undefined && now > words);
    if (from === "complete" && isSaid && isLater) noted.surely++;
    else if (isOver(to) && isSaid && noted.surely > 0)
      Object.assign(noted, { surely: noted.surely - 1, perhaps: noted.perhaps + 1 });
    else if (isSaid || words !== undefined || from === "complete") noted.perhaps++;
    this.#putBack.set(first(stem), noted);
  }

  /** At this instant nobody moves anything: each message is in one queue, and none is in quarantine. */
  check(): void {
    const all = ADDRESSES.flatMap((address) =>
      QUEUES.flatMap((queue) =>
        readdirSync(this.layout.queue(address, queue)).map((name) => ({ address: addressName(address), queue, name })),
      ),
    );
    const seen = new Map<string, string>();
    for (const { address, queue, name } of all) {
      const key = `${address} ${name}`;
      expect([key, seen.get(key), queue]).toEqual([key, undefined, queue]);
      seen.set(key, queue);
    }
    expect(all.filter(({ queue }) => queue === "quarantine")).toEqual([]);
    const roots = all
      .filter(({ address }) => address === "plan")
      .map(({ address, queue, name }) => this.#titleOf(address, queue, name));
    expect(roots.toSorted()).toEqual(this.sent.map((name) => `# ${name}`));
  }

  #titleOf(address: string, queue: QueueName, name: string): string {
    const [mesh = "", agent = null] = address.split("/");
    const text = readFileSync(join(this.layout.queue({ mesh, agent }, queue), name), "utf8");
    return text.split("\n").find((line) => line.startsWith("# ")) ?? "";
  }

  /** What was completed, and how often each was answered. */
  summary() {
    const over = (mesh: string, agent: string | null) => readdirSync(this.layout.queue({ mesh, agent }, "complete"));
    const stems = (names: string[]) => names.map((name) => first(name.slice(0, -3))).toSorted();
    const answers = over("plan", "lead").filter((name) => name.includes(".done"));
    const answered = (stem: string) => answers.filter((name) => first(name.replace(/\.(plan|review).*$/, "")) === stem);
    const parts = stems(over("plan", "coder").filter((name) => !name.includes(".result")));
    const checks = stems(over("review", null));
    return {
      tasks: over("plan", null)
        .map((name) => this.#titleOf("plan", "complete", name))
        .toSorted(),
      parts,
      checks,
      wronglyAnswered: [...parts, ...checks].flatMap((stem) => {
        const { surely, perhaps, moves } = this.#putBack.get(stem) ?? NEVER;
        const found = answered(stem);
        const isRight = found.length >= 1 + surely && found.length <= 1 + surely + perhaps;
        return isRight ? [] : [{ stem, surely, perhaps, found, moves }];
      }),
      /** Under a numbered name is only what a hand put back. */
      wronglyRenamed: [...over("plan", "coder"), ...over("review", null)].filter((name) => {
        const { surely, perhaps } = this.#putBack.get(first(name.replace(/(\.result.*)?\.md$/, ""))) ?? NEVER;
        return name.includes("~") && surely + perhaps === 0;
      }),
    };
  }

  expected() {
    const stems = this.sent.map((name) => name.slice(0, -3));
    return {
      tasks: this.sent.map((name) => `# ${name}`),
      parts: stems.map((stem) => `${stem}.0.part`),
      checks: stems.map((stem) => `${stem}.0.check`),
      wronglyAnswered: [],
      wronglyRenamed: [],
    };
  }

  /** How often something was put back that was over. */
  get putBack(): number {
    return [...this.#putBack.values()].reduce((sum, { surely }) => sum + surely, 0);
  }
}

interface PutBack {
  surely: number;
  perhaps: number;
  /** What hands did, for whoever has to find out why a count is wrong. */
  moves: string[];
}

const NEVER: PutBack = { surely: 0, perhaps: 0, moves: [] };
const LEAD: MeshAddress = { mesh: "plan", agent: "lead" };

/** Whose tasks the lead is answered. */
function isAnswered({ mesh, agent }: MeshAddress): boolean {
  return (mesh === "plan" && agent === "coder") || (mesh === "review" && agent === null);
}

function isOver(queue: QueueName): boolean {
  return queue === "complete" || queue === "archive";
}

/** As a task was called before it was done again. */
function first(stem: string): string {
  return stem.replace(/(?:~\d+)+$/, "");
}

const MOVES: [MeshAddress, QueueName, QueueName][] = [
  [{ mesh: "plan", agent: null }, "inbox", "next"],
  [{ mesh: "plan", agent: null }, "next", "inbox"],
  [{ mesh: "plan", agent: "coder" }, "inbox", "active"],
  [{ mesh: "plan", agent: "coder" }, "active", "inbox"],
  [{ mesh: "plan", agent: "coder" }, "active", "complete"],
  [{ mesh: "plan", agent: "lead" }, "active", "next"],
  [{ mesh: "plan", agent: "coder" }, "complete", "inbox"],
  [{ mesh: "plan", agent: "coder" }, "complete", "active"],
  [{ mesh: "review", agent: null }, "next", "inbox"],
  [{ mesh: "review", agent: null }, "complete", "inbox"],
  [{ mesh: "review", agent: "writer" }, "active", "inbox"],
  [{ mesh: "review", agent: "critic" }, "inbox", "next"],
];

class Child {
  readonly ready: Promise<string>;
  readonly opened: Promise<string>;
  readonly refused: Promise<string>;
  readonly trouble: string[] = [];
  readonly #process: ChildProcess;
  readonly #exit: Promise<unknown>;
  #isKilled = false;

  constructor(dir: string) {
    const file = join(dir, "child.mjs");
    const env = { ...process.env, NODE_COMPILE_CACHE: join(dir, ".cache") };
    this.#process = spawn(process.execPath, [file, dir], { stdio: ["pipe", "pipe", "pipe"], env });
    this.#exit = once(this.#process, "exit");
    this.#process.stdin?.on("error", () => {});
    this.#process.stderr?.on("data", (text) => this.trouble.push(String(text)));
    const died = this.#exit.then(() => {
      if (!this.#isKilled) throw new Error(`The process ended by itself: ${this.trouble.join("")}`);
      return new Promise<never>(() => {});
    });
    died.catch(() => {});
    const heard = (matches: (line: string) => boolean) => {
      const line = new Promise<string>((resolve) => lines.on("line", (said) => matches(said) && resolve(said)));
      const first = Promise.race([line, died]);
      first.catch(() => {});
      return first;
    };
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => {
      if (line.startsWith("trouble")) this.trouble.push(line);
    });
    this.ready = heard((line) => line === "ready");
    this.opened = heard((line) => line === "open");
    this.refused = heard((line) => line.startsWith("locked"));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  go(): void {
    this.#process.stdin?.write("go\n");
  }

  /** For so many milliseconds. */
  lives(span: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, span));
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#process.kill("SIGKILL");
    await this.#exit;
  }
}
