import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CliProcess } from "../../src/cli/testing/cli-process.ts";
import { ApiClient } from "../../src/client/client.ts";
import { nodeDisk } from "../../src/store/disk/node-disk.ts";
import { crashFiles } from "../../src/store/home/crash-file.ts";
import { readHolder } from "../../src/store/home/home.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { sandbox } from "../try-sandbox.ts";
import { configure } from "./killing.ts";

/** The real program, with a module loaded that throws at SIGUSR2 where nobody catches. */
const HOOK = join(import.meta.dirname, "throw-on-signal.ts");
/** A command that no other process on this machine runs. */
const SLEEP = `sleep ${40_000_000 + process.pid}`;

test.skipIf(sandbox.kind !== "bubblewrap")(
  "an error that nobody caught: recorded, and the server restarts in place; its agents go on, its commands are ended",
  { timeout: 120_000 },
  async () => {
    await using house = await serveWithHook();
    const { home, program, client } = house;
    const asking = await client().give({ do: "create", goal: "Ask me" });
    const working = await client().give({ do: "create", goal: "Run a command" });
    await expect.poll(async () => (await client().questions(asking.id)).questions.length).toBe(1);
    await expect.poll(() => running(SLEEP)).toBe(true);
    const { url } = holderOf(home) ?? {};

    for (const [at, where] of (["timer", "socket", "rejection"] as const).entries()) {
      house.throwIn(where);
      await expect.poll(() => holderOf(home)?.epoch).toBe(at + 2);
      await expect.poll(() => holderOf(home)?.url).toBe(url);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect(crashFiles(home)).toHaveLength(at + 1);
      const text = readFileSync(crashFiles(home)[at] ?? "", "utf8");
      expect(text).toMatch(/Error: thrown by a test\n\s+at .*boom.*throw-on-signal/);
      expect(text).toContain(where === "rejection" ? "origin: unhandledRejection" : "origin: uncaughtException");
    }
    expect(holderOf(home)?.pid).toBe(program.pid);
    expect(running(SLEEP)).toBe(false);
    await client().give({ do: "respond", id: asking.id, response: "B" });
    await expect.poll(async () => (await client().agent(asking.id)).status).toBe("completed");
    await expect.poll(async () => (await client().agent(working.id)).status).toBe("completed");
    program.signal("SIGTERM");
    expect((await program.ended).code).toBe(0);
  },
);

test("a server that crashed five times within minutes does not restart again: exit code 1, and the reason", async () => {
  const crashes = Array.from({ length: 5 }, () => Date.now());
  await using house = await serveWithHook({ AGIRAPH_RESTARTED: JSON.stringify({ port: await freePort(), crashes }) });
  const { home, program } = house;
  house.throwIn("timer");
  const { code, stderr } = await program.ended;
  expect({ code, crashes: crashFiles(home).length }).toEqual({ code: 1, crashes: 1 });
  expect(stderr).toContain("It crashed too often, so it does not restart.");
});

test("a run that crashes says so, with exit code 1, and can be resumed", async () => {
  await using provider = await startProviderServer({ respond: mind, forget: true });
  await using home = await temporaryHome();
  await configure(home.path, provider.url);
  const { env, throwIn } = hook(home.path);
  const words = ["run", "Ask me", "--json", "--home", home.path];
  const program = new CliProcess(words, { folder: home.path, env });
  await program.saw("human.question");
  throwIn(program, "timer");
  const { code, stderr } = await program.ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The error is recorded in ${crashFiles(home.path)[0]}. What the agents did is kept.`);
  const agent = readdirSync(join(home.path, "agents"))[0] ?? "";
  const again = new CliProcess(["answer", agent, "B", "--home", home.path], { folder: home.path });
  expect(await again.ended).toMatchObject({ code: 0 });
});

function hook(folder: string) {
  const file = join(folder, "throw");
  return {
    env: { NODE_OPTIONS: `--import ${HOOK}`, AGIRAPH_TEST_THROW: file },
    throwIn(program: CliProcess, where: "timer" | "socket" | "rejection") {
      writeFileSync(file, where);
      program.signal("SIGUSR2");
    },
  };
}

async function serveWithHook(more: Record<string, string> = {}) {
  const provider = await startProviderServer({ respond: mind, forget: true });
  const home = await temporaryHome();
  await configure(home.path, provider.url);
  const { env, throwIn } = hook(home.path);
  const words = ["serve", "--json", "--port", "0", "--home", home.path];
  const program = new CliProcess(words, { folder: home.path, env: { ...env, ...more } });
  onTestFinished(() => program.signal("SIGKILL"));
  await program.saw("link");
  await expect.poll(() => holderOf(home.path)?.url).toBeDefined();
  const token = readFileSync(join(home.path, "token"), "utf8").trim();
  return {
    home: home.path,
    program,
    client: () => new ApiClient({ url: holderOf(home.path)?.url ?? "", token }),
    throwIn: (where: "timer" | "socket" | "rejection") => throwIn(program, where),
    async [Symbol.asyncDispose]() {
      program.signal("SIGKILL");
      await program.ended;
      await provider[Symbol.asyncDispose]();
      await home.remove();
    },
  };
}

function mind({ messages, tools, system }: ProviderRequest): ProviderTurn {
  const words = `${system}\n${messages.map(({ text }) => text).join("\n")}`;
  const done = { calls: [{ name: "finish", args: { summary: "Done." } }] };
  if (!tools.includes("finish")) {
    const heard = messages.map(({ text }) => text).join("\n");
    if (!heard.includes("unknown")) return { calls: [{ name: "bash", args: { command: SLEEP } }] };
    if (heard.includes("report.md")) return { calls: [{ name: "publish", args: { summary: "It was cut off." } }] };
    return { calls: [{ name: "write_file", args: { path: "scratch/report.md", content: "Cut off." } }] };
  }
  if (words.includes("Ask me"))
    return words.includes("answers: B") ? done : { calls: [{ name: "ask_human", args: { question: "Which?" } }] };
  if (words.includes("completed by")) return done;
  if (words.includes("Created node-1")) return { text: "I wait." };
  return { calls: [{ name: "create_work_node", args: { task: "Run it" } }] };
}

function running(command: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === `${command.replace(" ", "\0")}\0`;
    } catch {
      return false;
    }
  });
}

function holderOf(home: string) {
  return readHolder(nodeDisk, home);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
