import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { AgentId, Fact } from "../protocol/index.ts";
import { lookAtHome } from "../runtime/open-runtime.ts";
import { temporaryHome } from "../testing/index.ts";
import { stopOnSignals } from "./shutdown.ts";
import { EventClient } from "./testing/event-client.ts";

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s under load: everything acknowledged is there, once; exit code 0",
  async (signal) => {
    const { child, port, agent, home } = await startServer();
    const client = new EventClient(`ws://127.0.0.1:${port}/agents/${agent}/events`);
    const acknowledged: number[] = [];
    const enough = Promise.withResolvers<void>();
    const ask = async () => {
      for (;;) {
        const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST" });
        if (!answer.ok) return;
        acknowledged.push(z.object({ seq: z.int() }).parse(await answer.json()).seq);
        if (acknowledged.length === 200) enough.resolve();
      }
    };
    const asking = Array.from({ length: 10 }, () => ask().catch(() => {}));
    await enough.promise;
    child.kill(signal);
    const [code] = await once(child, "exit");
    await Promise.all(asking);

    const facts = await factsIn(home, agent);
    const asked = new Set(facts.flatMap(({ type, seq }) => (type === "model.warned" ? [seq] : [])));
    expect(code).toBe(0);
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
    expect(acknowledged.filter((seq) => !asked.has(seq))).toEqual([]);
    expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, i) => i + 1));
    // Its turn was recorded as cut off, and nobody said that the agent is to rest: the next start goes on.
    expect(facts.findLast(({ type }) => type.startsWith("worker."))?.type).toBe("worker.stopped");
    expect(facts.some(({ type }) => type === "agent.stopped")).toBe(false);
    expect(await client.closed).toEqual({ code: 1001, reason: "The server is stopping." });
  },
);

test("first what was asked is answered, then the agents stop, then the process ends", async () => {
  const { self, story, answer } = stoppable();
  self.emit("SIGTERM", "SIGTERM");
  expect(story).toEqual(["closing the door"]);
  answer();
  await once(self, "exited");
  expect(story).toEqual(["closing the door", "closing the runtime", "exit 0"]);
});

test("a second signal leaves at once", () => {
  const { self, story } = stoppable();
  self.emit("SIGINT", "SIGINT");
  self.emit("SIGTERM", "SIGTERM");
  expect(story).toEqual(["closing the door", "exit 143"]);
});

test("what does not end in time is left as a crash would leave it, and said", async () => {
  const { self, story } = stoppable({ withinMs: 20, requestsEndWithinMs: 5 });
  self.emit("SIGTERM", "SIGTERM");
  await once(self, "exited");
  expect(story).toEqual([
    "closing the door",
    "cutting connections",
    "not everything ended within 0.02 s; the rest resumes at the next start",
    "exit 1",
  ]);
});

/** A server and a process that only tell what is done with them. */
function stoppable(limits: { withinMs?: number; requestsEndWithinMs?: number } = {}) {
  const story: string[] = [];
  const answered = Promise.withResolvers<undefined>();
  const self = new EventEmitter();
  const exit = (code: number) => {
    story.push(`exit ${code}`);
    self.emit("exited");
  };
  const stop = stopOnSignals({
    app: {
      close: () => {
        story.push("closing the door");
        return answered.promise;
      },
      server: { closeAllConnections: () => story.push("cutting connections") },
    } as unknown as Parameters<typeof stopOnSignals>[0]["app"],
    runtime: {
      close: async () => {
        story.push("closing the runtime");
      },
    },
    logger: { info: () => {}, error: (what: unknown) => story.push(String(what)) },
    process: Object.assign(self, { exit }) as unknown as NodeJS.Process,
    ...limits,
  });
  onTestFinished(stop);
  return { self, story, answer: () => answered.resolve(undefined) };
}

async function startServer() {
  const home = await temporaryHome();
  const main = fileURLToPath(new URL("./testing/stopping-server.ts", import.meta.url));
  const child = spawn(process.execPath, [main, home.path], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await home.remove();
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const { port, agent }: { port: number; agent: AgentId } = JSON.parse(line);
  return { child, port, agent, home: home.path };
}

async function factsIn(home: string, agent: AgentId): Promise<Fact[]> {
  const store = await lookAtHome(home);
  const log = await store.open(agent);
  return log.read({ after: 0, limit: 1_000_000 });
}
