import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { notesOf } from "../../src/mesh/terminal/terminal-home.ts";
import { tmuxSocket } from "../../src/mesh/terminal/tmux-server.ts";
import type { Config } from "../../src/protocol/config.ts";
import type { Fact } from "../../src/protocol/index.ts";
import { MESH_RUN } from "../../src/runtime/meshes/mesh-record.ts";
import { programHome } from "../../src/store/paths.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

/** Terminals that nobody looks after: what stops, dies or asks is begun again, reminded, or found in the inbox. */
const CLAUDE = installed("claude", ".bin/claude");
const withClaude = withTmux === test ? whenInstalled("claude", ".bin/claude") : test.skip;
const LONG = { timeout: 120_000 };

const bash = (command: string): ProviderTurn => ({
  calls: [{ name: "Bash", args: { command, description: "Run it" } }],
});

/** One Claude Code, whose model says this. */
async function claudeHouse(url: string, more: object = { permissions: "allow" }): Promise<MeshHouse> {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  const claude = { kind: "claude_code" as const, command: [CLAUDE], set, quirks: "claude" as const, ...more };
  return oneAgent("coder", { programs: { "claude-code": claude } });
}

async function oneAgent(name: string, config: Config, options?: object): Promise<MeshHouse> {
  const house = new MeshHouse({
    meshes: [{ mesh: "line", type: "persistent", agents: [`x/${name}`] }],
    ...(options && { agents: { [name]: { options } } }),
    config,
  });
  return (await house.open()).start();
}

const isWork = ({ body }: ProviderRequest) => Array.isArray(body.tools) && body.tools.length > 0;
const hears = ({ messages }: ProviderRequest, words: string) => messages.some(({ text }) => text.includes(words));
const isState =
  (...states: string[]) =>
  ({ type, data }: Fact) =>
    type === "mesh.session" && states.includes(data.state);
const isWaiting = ({ type, data }: Fact) => type === "message.sent" && data.mesh_session !== undefined;

function tmux(house: MeshHouse, ...words: string[]): string {
  return execFileSync("tmux", ["-S", tmuxSocket(house.home, house.project), ...words], { encoding: "utf8" });
}

function killProgram(house: MeshHouse): void {
  process.kill(Number(tmux(house, "list-panes", "-a", "-F", "#{pane_pid}").trim()), "SIGKILL");
}

withClaude(
  "TMUX-MEMBER-6: Claude Code that ends its turn without tx done is reminded, and ends its task",
  LONG,
  async () => {
    let isEnded = false;
    await using provider = await startProviderServer({
      respond: (request) => {
        if (!isWork(request) || isEnded || !hears(request, "[tx] Reminder 1 of 3: your task"))
          return { text: "I am done." };
        isEnded = true;
        return bash('tx done "Really done."');
      },
    });
    await using house = await claudeHouse(provider.url);
    await house.send("line", { text: "# Work\n" });
    expect((await house.completed("line")).data).toMatchObject({ gist: "Really done." });
  },
);

withClaude("who has asked somebody and ends its turn is not reminded: it waits for the answer", LONG, async () => {
  const heard: string[] = [];
  await using provider = await startProviderServer({
    respond: (request) => {
      if (!isWork(request)) return { text: "ok" };
      heard.push(...request.messages.map(({ text }) => text).filter((text) => text.includes("[tx] Reminder")));
      if (request.turn === 0) return bash('tx ask human "Which colour?"');
      if (hears(request, "[tx] Answer")) return bash('tx done "Blue."');
      return { text: "I wait." };
    },
  });
  await using house = await claudeHouse(provider.url);
  await house.send("line", { text: "# Paint\n" });
  const asked = await house.until(({ type }) => type === "human.question");
  await house.until(isState("idle"));
  // That is what TASK-WATCH-2 goes by.
  const agent = await house.runtime.agent(house.id);
  const notes = notesOf(programHome(agent.log.dir, MESH_RUN, "line-coder"));
  expect(notes.isWaiting()).toBe(true);
  const question = asked.type === "human.question" ? asked.data.question_id : "";
  await agent.respond("Blue", question, "api");
  await house.completed("line");
  expect([heard, notes.isWaiting()]).toEqual([[], false]);
});

/** A model that runs a command until it is killed, and ends its task when it hears this; the requests in which it did. */
function killedAtWork(words: string): { heard: ProviderRequest[]; respond(request: ProviderRequest): ProviderTurn } {
  const heard: ProviderRequest[] = [];
  return {
    heard,
    respond: (request) => {
      if (!isWork(request)) return { text: "ok" };
      if (!hears(request, words)) return bash("touch begun; sleep 1000");
      heard.push(request);
      return heard.length === 1 ? bash('tx done "After all."') : { text: "Said." };
    },
  };
}

/** Sends it a task and resolves when its command runs. Claude Code saves its conversation at about that time. */
async function beginsToWork(house: MeshHouse): Promise<{ saved(): string; conversations: string }> {
  await house.send("line", { text: "# Work\n" });
  await expect.poll(() => existsSync(join(house.project, "begun")), { timeout: 120_000 }).toBe(true);
  const { log } = await house.runtime.agent(house.id);
  const conversations = join(programHome(log.dir, MESH_RUN, "line-coder"), ".claude", "projects");
  const files = () => readdirSync(conversations, { recursive: true, encoding: "utf8" });
  const saved = () =>
    files()
      .filter((file) => file.endsWith(".jsonl"))
      .map((file) => readFileSync(join(conversations, file), "utf8"))
      .join("");
  return { saved, conversations };
}

const starts = async (house: MeshHouse) =>
  (await house.facts("mesh.session")).filter(({ state }) => state === "starting").length;

withClaude("TMUX-MEMBER-5: Claude Code that is killed goes on with its conversation and its task", LONG, async () => {
  const { heard, respond } = killedAtWork("was started again with this conversation");
  await using provider = await startProviderServer({ respond });
  await using house = await claudeHouse(provider.url);
  const { saved } = await beginsToWork(house);
  await expect.poll(saved, { timeout: 120_000 }).toContain("touch begun; sleep 1000");
  killProgram(house);
  expect((await house.completed("line")).data).toMatchObject({ gist: "After all." });
  // Its conversation, not only its task: what it had done stands there.
  expect(JSON.stringify(heard[0]?.body)).toContain("touch begun; sleep 1000");
  expect(await starts(house)).toBe(2);
});

withClaude("TMUX-MEMBER-5: one killed before it has saved its conversation hears that it had begun", LONG, async () => {
  const { heard, respond } = killedAtWork("An earlier session of yours was given this task");
  await using provider = await startProviderServer({ respond });
  await using house = await claudeHouse(provider.url);
  const { conversations } = await beginsToWork(house);
  killProgram(house);
  rmSync(conversations, { recursive: true });
  expect((await house.completed("line")).data).toMatchObject({ gist: "After all." });
  expect(JSON.stringify(heard[0]?.body)).not.toContain("touch begun; sleep 1000");
  // The second start could not resume it.
  expect(await starts(house)).toBe(3);
});

withClaude("a dialog that nobody answers waits in the inbox with what to do, until it is answered", LONG, async () => {
  let isAnswered = false;
  await using provider = await startProviderServer({
    respond: (request) => {
      if (!isWork(request)) return { text: "ok" };
      if (request.turn === 0) return bash("touch made.txt");
      if (isAnswered) return { text: "Said." };
      isAnswered = true;
      return bash('tx done "Made."');
    },
  });
  await using house = await claudeHouse(provider.url, { permissions: "ask" });
  await house.send("line", { text: "# Make it\n" });
  await house.until(isWaiting);
  const { items } = await house.api.inbox();
  expect(items.map(({ kind, mesh_session, text }) => ({ kind, mesh_session, text }))).toEqual([
    {
      kind: "approval",
      mesh_session: { project: house.project, mesh: "line", agent: "coder" },
      text: expect.stringMatching(
        /^line\/coder waits for you: it asks something:.*touch made\.txt.*Do you want to.*To see it: tx attach line coder$/s,
      ),
    },
  ]);
  await vi.waitFor(
    () => {
      const shown = tmux(house, "capture-pane", "-p", "-t", "=line-coder:");
      if (shown.includes("Do you want to")) tmux(house, "send-keys", "-t", "=line-coder:", "1");
      expect(shown).not.toContain("Do you want to");
    },
    { timeout: 120_000, interval: 300 },
  );
  await house.completed("line");
  expect((await house.api.inbox()).items).toEqual([]);
});

const WRITES_DOWN = 'while read -r line; do echo "$line" >> taken; done';

withTmux(
  "TMUX-MEMBER-5: who dies again and again at the same task is broken, and waits in the inbox",
  LONG,
  async () => {
    const dies =
      'while read -r line; do echo "$line" >> taken; [ -f well ] && tx done "Well."; [ -f well ] || exit 7; done';
    const programs = { mine: { kind: "autonomous" as const, command: ["sh", "-c", dies] } };
    await using house = await oneAgent("one", { programs }, { program: "mine", runs: "tmux" });
    await house.send("line", { text: "# Work\n" });
    await house.until(isState("broken"));
    const taken = () => readFileSync(join(house.project, "taken"), "utf8").trim().split("\n");
    expect(taken().map((line) => line.includes("An earlier session of yours was given this task"))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    const { items } = await house.api.inbox();
    expect(items.map(({ kind, text }) => [kind, text])).toEqual([
      [
        "approval",
        expect.stringMatching(
          /^line\/one cannot work: It ended 4 times while it worked on \S+; the last time: it ended with 7.* start it: tx spawn line one$/,
        ),
      ],
    ]);
    execFileSync("touch", [join(house.project, "well")]);
    await house.spawn("line", "one");
    await house.completed("line");
    expect((await house.api.inbox()).items).toEqual([]);
  },
);

withTmux("SESSION-NOTES-4: a session that dies before it is told anything hides no earlier one", LONG, async () => {
  // The first dies at its task, the second at once.
  const dies = `echo >> starts; case $(wc -l < starts) in 1) read -r line; exit 7;; 2) exit 8;; *) ${WRITES_DOWN};; esac`;
  const programs = { mine: { kind: "autonomous" as const, command: ["sh", "-c", dies] } };
  await using house = await oneAgent("one", { programs }, { program: "mine", runs: "tmux" });
  await house.send("line", { text: "# Work\n" });
  const taken = () => readFileSync(join(house.project, "taken"), "utf8");
  await expect.poll(() => existsSync(join(house.project, "taken")), { timeout: 120_000 }).toBe(true);
  expect(taken()).toContain("An earlier session of yours was given this task");
});

withTmux(
  "the death of the tmux server is that of every terminal: whoever has a task is begun again",
  LONG,
  async () => {
    const programs = { mine: { kind: "autonomous" as const, command: ["sh", "-c", WRITES_DOWN] } };
    await using house = await oneAgent("one", { programs }, { program: "mine", runs: "tmux" });
    await house.send("line", { text: "# Work\n" });
    await house.until(({ type }) => type === "mesh.told");
    tmux(house, "kill-server");
    let told = 0;
    await house.until(({ type }) => type === "mesh.told" && ++told === 2);
    expect(readFileSync(join(house.project, "taken"), "utf8").match(/\[tx\] Task/g)).toHaveLength(2);
  },
);
