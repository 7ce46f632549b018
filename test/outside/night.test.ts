import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { expect, vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { type Fact, type FactOf, NO_USAGE, type Usage } from "../../src/protocol/index.ts";
import type { InboxItem } from "../../src/runtime/human/inbox.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { signIn } from "../../src/testing/login-files.ts";
import { startOAuthServer } from "../../src/testing/oauth-server.ts";
import { configure } from "../faults/killing.ts";
import { type House, houseOf, processesNaming } from "./house.ts";
import { installed, whenInstalled } from "./installed.ts";
import { withClaude } from "./real-claude.ts";
import { realPrograms } from "./real-programs.ts";

/*
 * A team of programs over one night, in the real sandbox, as README.md has it: logins, keys and addresses, and nobody
 * there. A login expires again and again, a program dies, we are killed, a vendor is out of order, one program wants a
 * permission and another one asks a question. In the morning there is work done and an inbox with the rest.
 *
 * Claude Code, Codex and a plain program are always in it; Gemini CLI and opencode where they are installed (the soak
 * demands all of them).
 */

const HOUR = 3_600_000;
const USED: Usage = { ...NO_USAGE, input: 2000, output: 100 };
const isSoak = process.env.AGIRAPH_SOAK === "1";

const NAMES = ["claude-code", "codex", "gemini", "opencode"] as const;
type Name = (typeof NAMES)[number];
const WORKERS: Record<Name | "plain", { name: string; model?: string }> = {
  "claude-code": { name: "Clara", model: "claude-sonnet-4-5" },
  codex: { name: "Cody", model: "gpt-5" },
  gemini: { name: "Gemma", model: "gemini-2.5-pro" },
  opencode: { name: "Opal", model: "openai/gpt-5" },
  plain: { name: "Paul" },
};
const BINS: Record<Name, string> = {
  "claude-code": "claude",
  codex: "codex-acp",
  gemini: "gemini",
  opencode: "opencode",
};

const isHere = (name: Name) => existsSync(installed(...realPrograms[name].files));
const here = NAMES.filter(isHere);
const test = isHere("claude-code") ? whenInstalled(...realPrograms.codex.files) : withClaude;

/** What is done leaves a line in a file, and says so in words that the command itself does not contain. */
const step = (what: string, then = "") => `echo ${what} >> marks; ${then}printf 'did-%s\n' ${what}`;
const until = (file: string) => `touch at-${file}; until [ -e ${file} ]; do sleep 0.1; done; `;

/** By what its model has read: nothing else tells it where it is. */
const MINDS: Record<Name, (read: string) => ProviderTurn> = {
  "claude-code": (read) => {
    const { shell, ours } = realPrograms["claude-code"];
    if (!read.includes("You were interrupted")) return shell(step("first", until("go")));
    return read.includes("did-second") ? ours("publish", { summary: "Clara's" }) : shell(step("second"));
  },
  codex: (read) => {
    const { shell, ours } = realPrograms.codex;
    const running = runningIn(read);
    if (running) return { calls: [{ name: "write_stdin", args: { session_id: running, chars: "" } }] };
    if (!read.includes("You were interrupted")) return shell(step("first", until("go")));
    return read.includes("echo second") ? ours("publish", { summary: "Cody's" }) : shell(step("second", until("go2")));
  },
  gemini: (read) => {
    const { shell, ours } = realPrograms.gemini;
    return read.includes("did-first") ? ours("publish", { summary: "Gemma's" }) : shell(step("first"));
  },
  opencode: (read) => {
    const { shell, ours } = realPrograms.opencode;
    if (read.includes("did-first")) return ours("publish", { summary: "Opal's" });
    if (read.includes("It shall be blue")) return shell(step("first"));
    return read.includes("Which colour") ? { text: "I wait." } : ours("ask_human", { question: "Which colour?" });
  },
};

/** Codex asks its model again while a command runs for long: the number of the one that runs now. */
function runningIn(read: string): number | undefined {
  const [now = ""] = read.split("You were interrupted").slice(-1);
  const [, id] = now.match(/.*session ID (\d+)/s) ?? [];
  return id !== undefined && !now.split(`session ID ${id}`).at(-1)?.includes("Process exited") ? Number(id) : undefined;
}

/** It can be started twice, so it looks at what it left. */
const PLAIN = `[ -e marks ] || { ${step("first", until("go"))}; }; ${step("second")}; echo "Paul's" > _result.md`;

function programIn({ api, tools }: ProviderRequest): Name {
  if (api === "gemini") return "gemini";
  if (api === "anthropic") return "claude-code";
  return tools.includes("exec_command") ? "codex" : "opencode";
}

test("a team of every kind of program gets through a night, and asks in one inbox", { timeout: 240_000 }, async () => {
  if (isSoak) expect(here).toEqual(NAMES);
  await using me = await temporaryHome();
  let ahead = 0;
  await using tokens = await startOAuthServer({ now: () => Date.now() + ahead });
  await signIn(me.path, "claude", tokens.login());
  const kinds: (Name | "plain")[] = [...here, "plain"];
  const hires = kinds.map((program) => ({ name: "spawn_worker", args: { ...WORKERS[program], program } }));
  const orders = kinds.map((program) => ({
    name: "create_work_node",
    args: { task: "Write it down.", worker: WORKERS[program].name, deliverables: ["marks"] },
  }));
  const refused: string[] = [];
  let outage = 0;
  await using provider = await startProviderServer({
    respond(request) {
      const read = JSON.stringify(request.body);
      if (request.tools.includes("spawn_worker")) {
        if (kinds.every((_, at) => read.includes(`node-${at + 1} completed`)))
          return { calls: [{ name: "finish", args: { summary: "All is written.", learned: "" } }] };
        return [{ calls: hires }, { calls: orders }][request.turn] ?? { text: "I wait." };
      }
      if (!read.includes("Write it down.")) {
        // Gemini CLI asks first which model it is to ask.
        return { text: request.api === "gemini" ? '{"reasoning":"Simple.","model_choice":"flash"}' : "A title" };
      }
      if (request.api === "gemini" && request.tools.length === 0)
        return { text: '{"reasoning":"Simple.","model_choice":"flash"}' };
      const program = programIn(request);
      if (program === "claude-code" && !tokens.accepts(String(request.headers.authorization).replace("Bearer ", ""))) {
        refused.push(program);
        return { fault: { status: 401, message: "OAuth token has expired" } };
      }
      if (outage > 0 && (program === "claude-code" || program === "codex")) {
        outage -= 1;
        return { fault: { status: 503, message: "Service unavailable" } };
      }
      return { ...MINDS[program](read), usage: USED };
    },
  });
  const home = join(me.path, "agiraph");
  await mkdir(home);
  // What is quiet for an hour has not hung: its clock has leapt.
  const quiet = { silence_seconds: 100_000 };
  const programs: Config["programs"] = {
    ...Object.fromEntries(here.map((name) => [name, { ...quiet, ...(name === "gemini" && { permissions: "ask" }) }])),
    plain: { kind: "autonomous", command: ["bash", "-c", PLAIN], ...quiet },
  };
  await configure(home, provider.url, {
    // The hours that leap past count as work.
    ...{ programs, max_concurrent: 5, contract: { timeout_seconds: 86_400 } },
    models: { "openai-compatible/local/m": { prices: { input: 0, output: 0 } } },
  });
  const path = [
    ...here.map((name) => dirname(installed(realPrograms[name].files[0], `.bin/${BINS[name]}`))),
    process.env.PATH,
  ];
  const env = {
    ...{ PATH: path.join(delimiter), HOME: me.path, ANTHROPIC_BASE_URL: provider.url },
    ...{
      OPENAI_API_KEY: "sk-any",
      OPENAI_BASE_URL: provider.url,
      GEMINI_API_KEY: "any",
      GEMINI_BASE_URL: provider.url,
    },
  };
  const life = (goal?: string) =>
    houseOf("night-child.ts", JSON.stringify({ home, goal, ahead, tokens: tokens.url, env }));
  const tell = (house: House, order: object) => house.child.stdin?.write(`${JSON.stringify(order)}\n`);
  const pass = (house: House, hours: number) => {
    for (let part = 0; part < hours * 3; part += 1) {
      ahead += HOUR / 3;
      tell(house, { leap: HOUR / 3 });
    }
  };

  // In the evening: everybody is at work, or asks.
  const evening = life("Have it written down by all.");
  const { agent_id } = await evening.fact("process.started");
  const agent = join(home, `agents/${agent_id}`);
  const nodeOf = (program: Name | "plain") => join(agent, `runs/run-1/nodes/node-${kinds.indexOf(program) + 1}`);
  const reach = (program: Name | "plain", file: string) =>
    vi.waitFor(() => readFile(join(nodeOf(program), "scratch", file)), { timeout: 120_000, interval: 100 });
  const WORKING = ["claude-code", "codex", "plain"] as const;
  const ASKING = here.filter((name) => name === "gemini" || name === "opencode");
  await Promise.all(WORKING.map((program) => reach(program, "at-go")));
  const waiting = ["coordinator", ...ASKING.map((program) => WORKERS[program].name.toLowerCase())];
  await atRest(evening, waiting);
  // Each hour its login ends, and is renewed while Claude Code works. A kill between the server's answer and our writing
  // it down loses a login whose tokens rotate, whoever renews it.
  const isWritten = () => !existsSync(join(me.path, ".claude/.oauth_refresh.lock"));
  for (const renewals of [1, 2, 3]) {
    pass(evening, 1);
    await expect.poll(() => [tokens.answers.length, isWritten()]).toEqual([renewals, true]);
  }
  if (ASKING.includes("opencode")) await evening.fact("process.exited", ({ rested }) => rested === true);

  // At one o'clock the machine goes down with all of it; the vendors are out of order when it comes back.
  evening.child.kill("SIGKILL");
  await evening.over;
  await vi.waitFor(() => expect(processesNaming(agent)).toEqual([]), { timeout: 20_000 });
  outage = 3;
  const night = life();
  await night.fact("node.completed", ({ node_id }) => node_id === nodeIdOf("claude-code"));
  await night.fact("node.completed", ({ node_id }) => node_id === nodeIdOf("plain"));
  expect(outage).toBe(0);
  // Codex is in the middle of its second step, and dies.
  await reach("codex", "at-go2");
  await atRest(night, waiting);
  pass(night, 3);
  const dead = processesNaming("codex-acp").filter((pid) => isOf(agent, pid));
  expect(dead).not.toEqual([]);
  for (const pid of dead) process.kill(pid, "SIGKILL");
  await night.fact("node.completed", ({ node_id }) => node_id === nodeIdOf("codex"));

  // In the morning the person reads one inbox, and answers. Where nobody asks, all is done by then.
  if (ASKING.length > 0) {
    await atRest(night, waiting);
    pass(night, 3);
    const inbox = await inboxOf(night);
    expect(inbox.map(({ kind, from, permission }) => [kind, from.name, permission ?? false]).sort()).toEqual(
      [
        ...(ASKING.includes("gemini") ? [["question", "Gemma", true]] : []),
        ...(ASKING.includes("opencode") ? [["question", "Opal", false]] : []),
      ].sort(),
    );
    for (const { id, permission } of inbox)
      tell(night, { answer: permission ? "allow once" : "It shall be blue", question: id });
  }
  expect(await night.over).toBe(0);

  const facts = (await readFile(join(agent, "events.jsonl"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Fact);
  const marks = await Promise.all(kinds.map((program) => readFile(join(nodeOf(program), "published/marks"), "utf8")));
  const isTwoSteps = (program: string) => WORKING.some((each) => each === program);
  expect(marks).toEqual(kinds.map((program) => (isTwoSteps(program) ? "first\nsecond\n" : "first\n")));
  expect(facts.filter(({ type }) => type === "node.completed")).toHaveLength(kinds.length);
  expect(facts.filter(({ type }) => type === "human.question")).toHaveLength(ASKING.length);
  // Each refresh token was used once; Claude Code was never refused, or renewed when it was.
  expect(new Set(tokens.answers)).toEqual(new Set(["renewed"]));
  const spent = Object.fromEntries(
    kinds.map((program) => [program, spentBy(facts, WORKERS[program].name.toLowerCase())]),
  );
  if (isSoak)
    console.log(
      JSON.stringify({ spent, renewals: tokens.answers.length, refused: refused.length, facts: facts.length }),
    );
  expect(spent.plain).toEqual({ calls: 0, usd: 0, estimated: 0, unpriced: 0 });
  for (const program of here) expect(spent[program]).toMatchObject({ unpriced: 0 });
  for (const program of here) expect(spent[program]?.usd).toBeGreaterThan(0);
  // What is not told, or was cut off, is marked as estimated.
  const isEstimated = Object.fromEntries(here.map((program) => [program, (spent[program]?.estimated ?? 0) > 0]));
  expect(isEstimated).toEqual(Object.fromEntries(here.map((program) => [program, program !== "claude-code"])));
  expect(spent["claude-code"]?.usd).toBeCloseTo(3 * 0.0075, 9);
  expect(processesNaming(agent)).toEqual([]);

  function nodeIdOf(program: Name | "plain"): string {
    return `node-${kinds.indexOf(program) + 1}`;
  }
});

/** Whether a process has its home in this folder: others on this machine may run the same program. */
function isOf(folder: string, pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").includes(folder);
  } catch {
    return false;
  }
}

/**
 * Resolves when all of these wait: if time leapt while one of them is started or its model is asked, that would have
 * taken too long.
 */
async function atRest(house: House, workers: readonly string[]): Promise<void> {
  const last = (worker: string) =>
    house.facts.findLast(
      ({ type, data }) => /^worker\./.test(type) && "worker_id" in data && data.worker_id === worker,
    );
  await vi.waitFor(() => expect(workers.map((each) => last(each)?.type)).toEqual(workers.map(() => "worker.waiting")), {
    timeout: 120_000,
    interval: 50,
  });
}

async function inboxOf(house: House): Promise<InboxItem[]> {
  const before = house.facts.length;
  house.child.stdin?.write(`${JSON.stringify({ ask: "inbox" })}\n`);
  const found = () => house.facts.slice(before).find((fact) => (fact.type as string) === "inbox");
  await vi.waitFor(() => expect(found()).toBeDefined(), { timeout: 20_000, interval: 20 });
  return (found() as unknown as { data: InboxItem[] }).data;
}

function spentBy(facts: readonly Fact[], worker: string) {
  const replies = facts.filter(
    (fact): fact is FactOf<"model.responded"> => fact.type === "model.responded" && fact.data.worker_id === worker,
  );
  const calls = replies.filter(({ data }) => !data.correction);
  return {
    calls: calls.length,
    usd: replies.reduce((sum, { data }) => sum + (data.cost_usd ?? 0), 0),
    estimated: calls.filter(({ data }) => data.estimated).length,
    unpriced: calls.filter(({ data }) => data.cost_usd === null).length,
  };
}
