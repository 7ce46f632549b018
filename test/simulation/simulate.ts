import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createScrubber } from "../../src/boundary/scrubber.ts";
import type { Catalog } from "../../src/models/catalog/catalog.ts";
import { hasEnded, isAtWork, mayNeverBegin, type Situation } from "../../src/projections/index.ts";
import { COORDINATOR, type Fact, type StoredEntry } from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import { situationOf } from "../../src/runtime/state/situations.ts";
import { openStore } from "../../src/store/open-store.ts";
import { conversationFile } from "../../src/store/paths.ts";
import type { Store } from "../../src/store/store.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { fileTools } from "../../src/tools/files.ts";
import { type Dice, diceOf } from "./dice.ts";
import { COORDINATOR_MODEL, randomMind, WORKER_MODEL } from "./minds.ts";
import { openDescriptors } from "./orderly-fs.ts";
import { Person, type Word } from "./person.ts";
import { type Plan, planOf } from "./plan.ts";
import { Watch } from "./watch.ts";
import { turn, World } from "./world.ts";

/** Everything one seed left behind, and what was seen to be wrong on the way. */
export interface History {
  seed: number;
  plan: Plan;
  facts: Fact[];
  /** One for each worker of each run; the coordinator has one for all runs. */
  conversations: { worker: string; entries: StoredEntry[] }[];
  /** The product's own fold, read from the disk. */
  now: Situation;
  agentDir: string;
  /** What the human said, in order. */
  said: readonly Word[];
  /** What was told to be on disk, by seq, as it was told. */
  told: ReadonlyMap<number, string>;
  problems: string[];
  counts: { steps: number; crashes: number; restarts: number; stops: number; facts: number };
  /** The whole home, byte for byte. */
  bytes: string;
}

const STEP_LIMIT = 40_000;
/** So many turns of the event loop without anything new mean that nothing will come by itself. */
const QUIET = 6;
const MAX_CRASHES = 8;
const MAX_STOPS = 6;
const MAX_RESUMES = 12;
const MAX_WORDS = 12;
/** So many runs more than planned may triggers and people begin; then the human cancels what is to come. */
const MORE_RUNS = 2;

interface Life {
  store: Store;
  runtime: Runtime;
  agent: Agent | undefined;
  watch: Watch;
  /** What a human asked for and has no answer to yet. */
  asked: { what: string; done: boolean } | undefined;
}

/** Plays one seed in this folder; `judge` sees the home as it was left, before it is removed. */
export async function simulate(seed: number, root: string, judge: (history: History) => void): Promise<History> {
  const simulation = new Simulation(seed, root);
  try {
    const history = await simulation.run();
    judge(history);
    return history;
  } finally {
    simulation.world.end();
    rmSync(root, { recursive: true, force: true });
  }
}

class Simulation {
  readonly world: World;
  readonly #seed: number;
  readonly #root: string;
  readonly #dice: Dice;
  readonly #plan: Plan;
  readonly #random: Dice;
  readonly #person: Person;
  readonly #tries = new Map<string, number>();
  readonly #told = new Map<number, string>();
  readonly #problems: string[] = [];
  readonly #counts = { steps: 0, crashes: 0, restarts: 0, stops: 0, facts: 0 };
  #resumes = 0;
  #runs = 1;

  constructor(seed: number, root: string) {
    this.#seed = seed;
    this.#root = root;
    this.#dice = diceOf(seed, "world");
    this.#random = diceOf(seed, "ids");
    this.#plan = planOf(diceOf(seed, "plan"));
    this.#person = new Person(diceOf(seed, "person"));
    this.world = new World(this.#dice);
  }

  async run(): Promise<History> {
    mkdirSync(this.#root, { recursive: true });
    let life = await this.#drive("opening the home", this.#open());
    this.#askForWork(life);
    for (let quiet = 0; ; ) {
      await turn();
      this.#counts.steps += 1;
      if (this.#counts.steps > STEP_LIMIT) throw new Error("It never came to rest.");
      const wish = this.#wish(life);
      if (wish === "crash" || wish === "restart") {
        life = await this.#again(life, wish);
        quiet = 0;
      } else if (wish === "stop" || wish === "word") {
        if (wish === "stop") this.#stop(life);
        else this.#bePerson(life, (person, agent) => person.act(agent));
        quiet = 0;
      } else if (wish === "time") await this.world.clock.advance(this.#dice.int(30_000));
      else if (this.world.step()) quiet = 0;
      else if (++quiet > QUIET) {
        const [due] = this.world.clock.due;
        quiet = 0;
        this.#expectNobodyKeptWaiting(life);
        if (this.#hasHadEnough(life)) this.#bePerson(life, (person, agent) => person.cancel(agent, 100));
        else if (due !== undefined) await this.world.clock.advance(due - this.world.clock.now());
        else if (!this.#goOn(life)) break;
      }
    }
    return this.#history(life);
  }

  /** What the world and its people come up with now. */
  #wish({ agent, asked }: Life): "crash" | "restart" | "stop" | "word" | "time" | "nothing" {
    const { crash, restart, stop, talk, timePasses } = this.#plan;
    const dice = this.#dice;
    const { crashes, restarts, stops } = this.#counts;
    if (crashes < MAX_CRASHES && dice.chance(crash)) return "crash";
    if (!asked && agent && restarts < MAX_CRASHES && dice.chance(restart)) return "restart";
    if (!asked && agent && isAtWork(agent.now.agent.status) && stops < MAX_STOPS && dice.chance(stop)) return "stop";
    if (!asked && agent && this.#person.said.length < MAX_WORDS && dice.chance(talk)) return "word";
    return dice.chance(timePasses) ? "time" : "nothing";
  }

  async #again(life: Life, how: "crash" | "restart"): Promise<Life> {
    if (how === "restart") {
      this.#counts.restarts += 1;
      await this.#drive("closing the home", life.runtime.close());
      this.#expectNothingOpen();
    } else this.#counts.crashes += 1;
    await this.world.crash();
    const next = await this.#drive("opening the home again", this.#open());
    this.#askForWork(next);
    return next;
  }

  async #open(): Promise<Life> {
    const { world } = this;
    const store = await openStore({
      root: this.#root,
      disk: world.disk.process(),
      clock: { now: () => world.clock.now() },
      journalLimit: 96 * 1024,
    });
    const watch = new Watch(this.#plan.config.max_concurrent, this.#told, this.#problems);
    const runtime = new Runtime(
      { home: this.#root, env: {}, config: this.#plan.config },
      {
        store: watch.over(store),
        catalog: this.#catalog(),
        clock: { now: () => world.clock.now(), sleep: (ms, signal) => world.clock.sleep(ms, signal) },
        random: this.#random.random,
        scrubber: createScrubber([]),
        tools: (scope) => fileTools(scope),
        foreignTools: async () => () => [],
        sandbox: () => Promise.reject(new Error("Nobody runs a command here.")),
        machine: async () => ({ loop: "", program: "" }),
        check: (command, _, signal) => world.answer(signal, () => (command === "true" ? null : "exit 1")),
        look: () => Promise.reject(new Error("Nobody looks at anything here.")),
        callbacks: {},
        outside: scriptedPrograms(),
        pid: 1,
        channels: [],
        addedTools: [],
        extensions: [],
      },
    );
    return { store, runtime, agent: undefined, watch, asked: undefined };
  }

  #catalog(): Catalog {
    const of = (id: string) => randomMind(id, this.#seed, this.#plan, this.world, this.#tries);
    return {
      model: async (id) => of(id),
      list: async () => [],
      programOf: () => undefined,
      chooseDefault: async () => ({ model: COORDINATOR_MODEL, why: "simulated" }),
      cost: async () => 0,
      resolve: (id) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
    };
  }

  /** Whoever comes to the home: begins, or goes on with what is there. */
  #askForWork(life: Life): void {
    this.#ask(life, "to begin", async () => {
      const [id] = await life.store.agents();
      if (id === undefined) {
        const budget = this.#plan.budget_usd;
        const models = { model: COORDINATOR_MODEL, worker_model: WORKER_MODEL };
        life.agent = await life.runtime.create({ goal: "Go", ...models, ...(budget && { budget_usd: budget }) });
        return;
      }
      const agent = await life.runtime.agent(id);
      life.agent = agent;
      const { status } = agent.now.agent;
      if (isAtWork(status) || status === "idle") await agent.start("recovered");
      else agent.keepTime();
    });
  }

  #stop(life: Life): void {
    this.#counts.stops += 1;
    if (this.#dice.chance(0.5)) this.#ask(life, "to stop", async () => life.agent?.stop("human"));
    else this.#ask(life, "to pause", async () => life.agent?.pause("human"));
  }

  #bePerson(life: Life, act: (person: Person, agent: Agent) => Promise<void>): void {
    const { agent } = life;
    if (agent) this.#ask(life, "something by the human", () => act(this.#person, agent));
  }

  #hasHadEnough({ agent, asked }: Life): boolean {
    if (!agent || asked || Object.keys(agent.now.triggers.open).length === 0) return false;
    return agent.now.agent.runs > this.#plan.runs + MORE_RUNS;
  }

  #ask(life: Life, what: string, act: () => Promise<void>): void {
    const asked = { what, done: false };
    life.asked = asked;
    const settle = () => {
      asked.done = true;
      if (life.asked === asked) life.asked = undefined;
    };
    act().then(settle, (error: unknown) => {
      this.#problems.push(`TEAM-0: asked ${what}, it threw: ${error instanceof Error ? error.stack : error}`);
      settle();
    });
  }

  /** Nothing happens by itself any more: is that as it should be, and what do people do about it? False: it is over. */
  #goOn(life: Life): boolean {
    if (life.asked) {
      this.#problems.push(`TEAM-9: asked ${life.asked.what} and nobody ever answered`);
      return false;
    }
    const { agent } = life;
    if (!agent) throw new Error("There is no agent and nobody is making one.");
    const { status, run } = agent.now.agent;
    if (isAtWork(status) && Object.keys(agent.now.questions.open).length > 0) {
      this.#bePerson(life, (person) => person.answer(agent));
      return true;
    }
    if (++this.#resumes > MAX_RESUMES) return false;
    if (isAtWork(status)) {
      // Someone who waits for a word is woken by one, or by the human's stop and resume.
      this.#problems.push(...deadlockIn(agent.now, life.watch));
      if (this.#problems.length > 0) return false;
      if (this.#dice.chance(0.5)) this.#bePerson(life, (person) => person.speak(agent));
      else this.#stop(life);
      return true;
    }
    if (run?.finished && this.#runs >= this.#plan.runs) return false;
    if (run?.finished) this.#runs += 1;
    if (this.#dice.chance(0.3)) {
      this.#bePerson(life, (person) => person.speak(agent));
      return true;
    }
    const budget = agent.now.agent.created.budget_usd;
    const spent = agent.now.spending.total.cost_usd;
    // Without money nobody can think, and going on is refused.
    const more =
      budget !== null && (this.#dice.chance(0.5) || spent >= budget) ? Math.max(budget, spent) + 0.05 : undefined;
    this.#ask(life, "to resume", () => agent.start("resumed", { budget_usd: more }));
    return true;
  }

  /** TEAM-4, the other way round: with room for one more, nothing that is ready waits. */
  #expectNobodyKeptWaiting({ agent, asked, watch }: Life): void {
    if (!agent || asked || !isAtWork(agent.now.agent.status) || agent.now.agent.coordinator_decides) return;
    const { board, roster, agent: me } = agent.now;
    const ready = Object.values(board.nodes).find(
      ({ status, spec, reserved_for, held }) =>
        status === "pending" &&
        !held &&
        spec.run_id === me.run?.id &&
        spec.dependencies.every((id) => board.nodes[id]?.status === "completed") &&
        (reserved_for === null || roster[reserved_for]?.status === "idle"),
    );
    if (ready && watch.working < this.#plan.config.max_concurrent)
      this.#problems.push(`TEAM-4: ${ready.id} is ready, ${watch.working} work, and nobody begins it`);
  }

  async #history(life: Life): Promise<History> {
    const { agent, runtime } = life;
    if (agent && this.#problems.length === 0) await this.#drive("the end", agent.idle());
    await this.#drive("closing the home", runtime.close());
    this.#expectNothingOpen();
    const { store } = await this.#drive("looking at the home", this.#open());
    const [id] = await store.agents();
    if (!id) throw new Error("The agent is gone.");
    const log = await this.#drive("reading", store.open(id));
    const facts = await this.#drive("reading", log.read({ after: 0, limit: 1_000_000 }));
    const conversations: History["conversations"] = [];
    for (const fact of facts) {
      if (fact.type !== "worker.spawned") continue;
      const { worker_id, run_id } = fact.data;
      const file = conversationFile(worker_id === COORDINATOR ? "run-1" : run_id, worker_id);
      conversations.push({ worker: worker_id, entries: await this.#drive("reading", log.conversation(file)) });
    }
    const now = await this.#drive("folding", situationOf(log));
    // What a crash left half written is named by process and number, so that two never meet: the name is chance.
    const bytes = JSON.stringify([this.world.disk.files(this.#root), treeOf(this.#root)]).replaceAll(
      /(\.agiraph-unfinished)-\d+-\d+/g,
      "$1",
    );
    const counts = { ...this.#counts, facts: facts.length };
    const { dir: agentDir } = log;
    const [seed, plan, told, problems] = [this.#seed, this.#plan, this.#told, this.#problems];
    const { said } = this.#person;
    return { seed, plan, facts, conversations, now, agentDir, said, told, problems, counts, bytes };
  }

  /** Lets the world go on until this has come true. */
  async #drive<T>(what: string, promise: Promise<T>): Promise<T> {
    let settled = false;
    promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    for (let quiet = 0; !settled; ) {
      await turn();
      if (this.world.step()) quiet = 0;
      else if (++quiet > QUIET * 4) throw new Error(`${what} never ended.`);
    }
    return promise;
  }

  #expectNothingOpen(): void {
    const left = openDescriptors();
    if (left.length > 0) this.#problems.push(`TEAM-0: ${left.length} files were left open`);
  }
}

/** TEAM-9. At rest with a run under way, only one thing is right: all work has ended and the coordinator waits for a word. */
function deadlockIn(now: Situation, watch: Watch): string[] {
  const run = now.agent.run?.id;
  const open = Object.values(now.board.nodes).filter(
    (node) => node.spec.run_id === run && !hasEnded(node) && !mayNeverBegin(node, now.board),
  );
  const problems = open.map((node) => `TEAM-9: at rest, and ${node.id} is ${node.status} for ever`);
  const coordinator = now.roster[COORDINATOR];
  if (coordinator?.status !== "waiting")
    problems.push(`TEAM-9: at rest, and the coordinator is ${coordinator?.status ?? "nowhere"}`);
  else if (!watch.waitsByWish)
    problems.push("TEAM-9: at rest, and the coordinator waits for news that nobody can bring");
  for (const letter of Object.values(now.letters.queued)) {
    if (letter.reader !== "human" && letter.reader !== "*")
      problems.push(`TEAM-6: at rest, and ${letter.id} waits for ${letter.reader}`);
  }
  return problems;
}

function treeOf(dir: string): Record<string, unknown> {
  return Object.fromEntries(
    readdirSync(dir, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((entry) => {
        const path = join(dir, entry.name);
        return [entry.name, entry.isDirectory() ? treeOf(path) : readFileSync(path, "utf8")];
      }),
  );
}
