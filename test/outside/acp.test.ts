import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { putFile } from "../../src/store/disk/foreign-folder.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { acpAdapter } from "../../src/workers/outside/acp/acp.ts";
import { acpLaunch } from "../../src/workers/outside/acp/acp-launch.ts";
import type { OutsideEvent } from "../../src/workers/outside/session/session.ts";
import { openDoor } from "./door.ts";
import { whenInstalled } from "./installed.ts";
import { acpProfile, realAgents } from "./real-acp.ts";
import { isKept } from "./real-claude.ts";
import { heard, sessionSetup, withoutDeltas } from "./session-setup.ts";

/* The real agents, as they are installed, against a scripted provider; without a sandbox around them. */

const adapter = acpAdapter(systemClock);
const SYSTEM = "You are Bob, and these are the rules of the house.";

for (const name of ["codex", "claude", "gemini", "opencode"] as const) {
  const agent = realAgents[name];
  whenInstalled(...agent.files)(
    `${name} is told who it is, publishes by our tool without asking, and rests`,
    async () => {
      await using home = await temporaryHome();
      await using door = await openDoor();
      await using provider = await startProviderServer({
        respond: ({ body }) =>
          !JSON.stringify(body).includes("rules of the house")
            ? { text: "A title" }
            : JSON.stringify(body).includes("Published.")
              ? { text: "It is published." }
              : { text: "Publishing.", calls: [{ name: agent.ours("publish"), args: { summary: "80 m" } }] },
      });
      const setup = await sessionSetup(home.path, acpProfile(name, provider.url), {
        door,
        system: SYSTEM,
        words: "Measure the bridge.",
        model: agent.model,
      });
      const session = await adapter(setup);
      const events = await heard(session, async ({ kind }) => {
        if (kind === "rested") await session.close();
      });
      expect(withoutDeltas(events)).toEqual([
        { kind: "begun", session_id: expect.any(String), model: agent.model, about: expect.any(String) },
        { kind: "said", text: "Publishing." },
        expect.objectContaining({ kind: "used", estimated: true }),
        { kind: "said", text: "It is published." },
        ...(name === "opencode" ? [] : [expect.objectContaining({ kind: "used", estimated: true })]),
        {
          kind: "used",
          ...{ model: expect.any(String), usage: expect.any(Object), cost_usd: expect.toSatisfy(isCost) },
          // What opencode says is of the last model call only.
          ...(name === "opencode" ? {} : { corrects: true }),
        },
        { kind: "rested", how: "done", words: "It is published." },
        expect.objectContaining({ kind: "exited" }),
      ]);
      expect(door.calls).toEqual([{ summary: "80 m" }]);
    },
    60_000,
  );
}

const withCodex = whenInstalled(...realAgents.codex.files);

withCodex(
  "a word said to Codex in the middle of its turn is in its next model call",
  async () => {
    await using home = await temporaryHome();
    await using door = await openDoor();
    await using provider = await startProviderServer({
      respond: ({ turn }) =>
        turn === 0
          ? { text: "Thinking.", calls: [{ name: "exec_command", args: { cmd: "true" } }], hold: "first" }
          : { text: "Heard." },
    });
    const session = await adapter(
      await sessionSetup(home.path, acpProfile("codex", provider.url), { door, model: "gpt-5.5" }),
    );
    const ended = heard(session, async (event) => {
      if (event.kind === "asked_permission") await session.decide(event.id, { allow: true });
      if (event.kind === "rested") await session.close();
    });
    await provider.reached("first");
    await session.say("Alice says: the bridge is closed.");
    provider.release("first");
    const events = await ended;
    const next = provider.requests.find(({ turn }) => turn === 1);
    expect(JSON.stringify(next?.body)).toContain("Alice says: the bridge is closed.");
    expect(events.filter(({ kind }) => kind === "rested")).toEqual([{ kind: "rested", how: "done", words: "Heard." }]);
  },
  60_000,
);

withCodex(
  "what Codex asks permission for waits for the decision, and the same call goes on, or does not",
  async () => {
    await using home = await temporaryHome();
    await using door = await openDoor();
    const touch = (file: string) => ({
      name: "exec_command",
      args: { cmd: `echo here > ${file}`, sandbox_permissions: "require_escalated", justification: "May I?" },
    });
    await using provider = await startProviderServer({
      respond: ({ body }) => {
        const said = JSON.stringify(body);
        if (said.includes("ask somebody else")) return { text: "I shall." };
        if (said.includes("Touch b")) return { calls: [touch("b.txt")] };
        return said.includes("exec_command_output") || said.includes("function_call_output")
          ? { text: "Touched." }
          : { calls: [touch("a.txt")] };
      },
    });
    const setup = await sessionSetup(home.path, acpProfile("codex", provider.url), {
      words: "Touch a.",
      model: "gpt-5.5",
      door,
    });
    const session = await adapter(setup);
    let rests = 0;
    const events = await heard(session, async (event) => {
      if (event.kind === "asked_permission") {
        expect(existsSync(join(setup.cwd, rests === 0 ? "a.txt" : "b.txt"))).toBe(false);
        await session.decide(event.id, rests === 0 ? { allow: true } : { allow: false, why: "ask somebody else." });
      }
      if (event.kind === "rested") await (++rests === 1 ? session.say("Touch b.") : session.close());
    });
    expect(await readFile(join(setup.cwd, "a.txt"), "utf8")).toBe("here\n");
    expect(existsSync(join(setup.cwd, "b.txt"))).toBe(false);
    expect(events.flatMap((event) => (event.kind === "answered" ? [[event.ok, event.content]] : []))).toEqual([
      [true, ""],
      [false, "Not run: permission was not given."],
    ]);
    expect(events.findLast(({ kind }) => kind === "rested")).toMatchObject({ how: "done", words: "I shall." });
  },
  60_000,
);

withCodex(
  "Codex killed in the middle of a turn is taken up again, with all it was told",
  async () => {
    await using home = await temporaryHome();
    await using door = await openDoor();
    await using provider = await startProviderServer({
      respond: ({ body }) =>
        JSON.stringify(body).includes("Go on")
          ? { text: "Where was I?" }
          : { text: "One moment.", holdMidway: "never" },
    });
    const setup = await sessionSetup(home.path, acpProfile("codex", provider.url), {
      words: "Measure the bridge.",
      model: "gpt-5.5",
      door,
    });
    let pid = 0;
    const first = await adapter({
      ...setup,
      async start(launch) {
        const running = await setup.start(launch);
        pid = running.pid;
        return running;
      },
    });
    let resume = "none";
    const before = await heard(first, async (event) => {
      if (event.kind === "begun") resume = event.session_id ?? resume;
      if (event.kind !== "delta" || pid === 0) return;
      await isKept(setup.home, resume, "Measure the bridge.");
      process.kill(-pid, "SIGKILL");
      pid = 0;
    });
    const second = await adapter({ ...setup, resume, words: "Go on." });
    const after = await heard(second, async ({ kind }) => {
      if (kind === "rested") await second.close();
    });
    expect(before.at(-1)).toEqual({ kind: "exited", code: null, signal: "SIGKILL", exceeded: null });
    expect(rests(after)).toEqual([{ kind: "rested", how: "done", words: "Where was I?" }]);
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("Measure the bridge.");
  },
  60_000,
);

withCodex(
  "a provider that refuses makes Codex's turn a failed one, although Codex says otherwise",
  async () => {
    await using home = await temporaryHome();
    await using door = await openDoor();
    await using provider = await startProviderServer({
      respond: () => ({ fault: { status: 400, message: "no such thing" } }),
    });
    const session = await adapter(
      await sessionSetup(home.path, acpProfile("codex", provider.url), { door, model: "gpt-5.5" }),
    );
    const events = await heard(session, async ({ kind }) => {
      if (kind === "rested") await session.close();
    });
    expect(rests(events)).toEqual([
      { kind: "rested", how: "failed", words: expect.stringContaining("no such thing"), retryable: false },
    ]);
  },
  60_000,
);

test("Gemini is told to use its person's login where that is lent to it, which happens as it is started", async () => {
  await using home = await temporaryHome();
  const authOf = async (folder: string) => {
    const settings = JSON.parse(await readFile(join(folder, "home/.gemini/settings.json"), "utf8"));
    return settings.security.auth.selectedType;
  };
  for (const how of ["gemini-api-key", "oauth-personal"]) {
    const folder = join(home.path, how);
    const agent = join(import.meta.dirname, "fake-acp-agent.ts");
    const setup = await sessionSetup(folder, { kind: "acp", quirks: "gemini", command: [process.execPath, agent] });
    const session = await adapter({
      ...setup,
      async start(launch) {
        if (how === "oauth-personal") await putFile(setup.home, ".gemini/oauth_creds.json", "{}");
        return setup.start(launch);
      },
    });
    await session.close();
    expect(await authOf(folder)).toBe(how);
  }
});

test("each agent that we know has a profile by which it is started", () => {
  expect(Object.entries(acpLaunch).map(([name, { profile }]) => [name, profile.kind, profile.quirks])).toEqual(
    (["claude", "codex", "gemini", "opencode"] as const).map((name) => [name, "acp", name]),
  );
});

function isCost(cost: unknown): boolean {
  return cost === null || typeof cost === "number";
}

function rests(events: readonly OutsideEvent[]): OutsideEvent[] {
  return events.filter(({ kind }) => kind === "rested");
}
