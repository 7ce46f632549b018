import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { agiraph, CliProcess } from "../src/cli/testing/cli-process.ts";
import { startProviderServer, temporaryHome } from "../src/testing/index.ts";

/** The examples as they are, over real HTTP, with the built package: Vitest would load an extension in its own way. */
const { openRuntime } = createRequire(import.meta.url)("agiraph") as typeof import("../src/index.ts");
const EXAMPLES = resolve(import.meta.dirname, "../examples");
const DONE = { calls: [{ name: "finish", args: { summary: "Done." } }] };

test("examples/tool.ts: an agent looks something up in a tracker, and hears what it can do if nothing is found", async () => {
  await using tracker = await startService(({ url, headers }) => {
    if (headers.authorization !== "Bearer token-of-the-tracker") return [401, {}];
    if (url !== "/tickets?q=login&limit=10") return [404, {}];
    return [200, [{ id: "T-7", state: "open", title: "Login fails" }]];
  });
  await using provider = await startProviderServer({
    turns: [
      { calls: [{ name: "find_tickets", args: { words: "nothing" } }] },
      { calls: [{ name: "find_tickets", args: { words: "login" } }] },
      DONE,
    ],
  });
  await using home = await homeWith("tool.ts");
  const env = { ...provider.env, TRACKER_URL: tracker.url, TRACKER_TOKEN: "token-of-the-tracker" };
  const runtime = await openRuntime({ home: home.path, env, config: {} });
  const agent = await runtime.create({ goal: "Find the ticket about the login.", model: "ollama/small" });
  await agent.idle();
  const said = await agent.log.conversation("conversation.jsonl");
  await runtime.close();
  expect(said.filter((entry) => entry.role === "tool" && entry.tool === "find_tickets")).toMatchObject([
    { ok: false, content: 'No ticket has the words "nothing". Try fewer.' },
    { ok: true, content: "T-7 (open): Login fails" },
  ]);
});

test("docs/extending.md: the extensions that it shows whole are loaded, called and told of the end", async () => {
  const page = await readFile(resolve(EXAMPLES, "../docs/extending.md"), "utf8");
  const shown = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].flatMap(([, text]) => text ?? []);
  const extensions = shown.filter((text) => text.includes("export default defineExtension"));
  await using home = await temporaryHome();
  await mkdir(join(home.path, "extensions"), { recursive: true, mode: 0o700 });
  for (const [at, text] of extensions.entries())
    await writeFile(join(home.path, "extensions", `shown-${at}.ts`), text, { mode: 0o600 });
  await using provider = await startProviderServer({
    turns: [{ calls: [{ name: "roll_dice", args: { count: 100 } }] }, DONE],
  });
  const runtime = await openRuntime({ home: home.path, env: provider.env, config: {} });
  const delivered = new Promise<void>((done) =>
    runtime.subscribe(({ type }) => (type === "channel.delivered" ? done() : undefined)),
  );
  const agent = await runtime.create({ goal: "Roll the dice.", name: "roller", model: "ollama/small" });
  await agent.idle();
  await delivered;
  const said = await agent.log.conversation("conversation.jsonl");
  await runtime.close();
  const rolled = said.flatMap((entry) => (entry.role === "tool" && entry.tool === "roll_dice" ? [entry] : []));
  expect(rolled).toMatchObject([{ ok: true, content: expect.stringMatching(/^[1-6]\d\d$/) }]);
  expect(await readFile(join(home.path, "diary.txt"), "utf8")).toContain("roller: Done.\n");
});

test("examples/provider.ts: a run with a model of another service, listed and priced like any other", async () => {
  const requests: { key: unknown; body: { messages: object[]; tools: { name: string }[] } }[] = [];
  await using acme = await startService(({ headers }, body) => {
    requests.push({ key: headers["x-acme-key"], body: JSON.parse(body) });
    const calls = [
      [{ id: "c1", tool: "write_file", input: { path: "run/_output.md", content: "# Hello" } }],
      [{ id: "c2", tool: "finish", input: { summary: "Said hello." } }],
    ][requests.length - 1];
    return [200, { role: "model", text: "Working.", calls, tokens: { in: 1000, out: 100 } }];
  });
  await using folder = await temporaryHome();
  const env = { ACME_URL: acme.url, ACME_KEY: "key-of-acme-0123456789" };
  await addTo(join(folder.path, ".agiraph"), "provider.ts");
  const call = (...words: string[]) => agiraph(words, { folder: folder.path, env });
  const listed = (await call("models", "--json")).stdout.split("\n").filter((line) => line.includes("acme/"));
  expect(listed.map((line) => JSON.parse(line))).toMatchObject([
    { id: "acme/rocket", context_window: 128_000, price_usd_per_million: { input: 0.5, output: 2 }, missing: null },
  ]);
  const run = await call("run", "Say hello", "--model", "acme/rocket", "--budget", "1", "--json");
  expect({ code: run.code, stderr: run.stderr.includes("extension") }).toEqual({ code: 0, stderr: false });
  const costs = run.stdout.split("\n").filter((line) => line.includes('"model.responded"'));
  expect(costs.map((line) => JSON.parse(line).data.cost_usd)).toEqual([0.0007, 0.0007]);
  expect(requests.map(({ key }) => key)).toEqual([env.ACME_KEY, env.ACME_KEY]);
  expect(requests[1]?.body.tools.map(({ name }) => name)).toContain("create_work_node");
  expect(requests[1]?.body.messages.slice(-2)).toMatchObject([
    { role: "model", text: "Working.", calls: [{ id: "c1", tool: "write_file" }] },
    { role: "result", of: "c1" },
  ]);
});

test("examples/channel.ts: a question goes to Telegram, and the reply to it is the answer; strangers are not heard", async () => {
  const sent: { chat_id: string; text: string }[] = [];
  const updates: object[] = [];
  let asked = () => {};
  const question = new Promise<void>((done) => (asked = done));
  await using bot = await startService(async ({ url, socket }, body) => {
    if (url?.endsWith("/sendMessage")) {
      sent.push(JSON.parse(body));
      if (sent.at(-1)?.text.includes("question-1]")) asked();
      return [200, {}];
    }
    await question;
    const { offset } = JSON.parse(body) as { offset: number };
    // There is no more: a request for it stays open until the channel is closed.
    if (offset > 0) await new Promise((closed) => socket.once("close", closed));
    const reply_to_message = { text: sent.find(({ text }) => text.includes("question-1]"))?.text };
    updates.push(
      { update_id: 1, message: { text: "the right", chat: { id: 666 }, reply_to_message } },
      { update_id: 2, message: { text: "hello", chat: { id: 42 } } },
      { update_id: 3, message: { text: "the left", chat: { id: 42 }, reply_to_message } },
    );
    return [200, { ok: true, result: updates }];
  });
  await using provider = await startProviderServer({
    turns: [{ calls: [{ name: "ask_human", args: { question: "Left or right?" } }] }, DONE],
  });
  await using home = await homeWith("channel.ts");
  const telegram = { TELEGRAM_URL: bot.url, TELEGRAM_BOT_TOKEN: "token-of-the-bot", TELEGRAM_CHAT_ID: "42" };
  const runtime = await openRuntime({ home: home.path, env: { ...provider.env, ...telegram }, config: {} });
  await runtime.listen();
  const agent = await runtime.create({ goal: "Choose", model: "ollama/small" });
  await agent.idle();
  const { id, created } = agent.now.agent;
  const facts = await agent.log.read({ after: 0, limit: 1000 });
  await runtime.close();
  expect(facts.find(({ type }) => type === "human.response")).toMatchObject({
    data: { question_id: "question-1", text: "the left", channel: "channel:telegram" },
  });
  expect(sent[0]).toEqual({
    chat_id: "42",
    text: `Coordinator of ${created.name}\nLeft or right?\n[${id} question-1]`,
  });
  expect(sent.map(({ text }) => text)).toContain("Reply to one of my messages, so that I know which agent you mean.");
  expect(sent.map(({ text }) => text)).toContain(`${created.name} has ended\nDone.\n[${id}]`);
});

test("examples/run-agent.ts: a script runs an agent with a tool of its own and follows its facts", async () => {
  await using provider = await startProviderServer({
    turns: [{ calls: [{ name: "what_time_is_it", args: {} }] }, DONE],
  });
  await using folder = await temporaryHome();
  const script = new CliProcess(["Tell the time", "ollama/small"], {
    folder: folder.path,
    env: provider.env,
    program: join(EXAMPLES, "run-agent.ts"),
  });
  const { code, stdout, stderr } = await script.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^\d+ tool\.called: coordinator calls what_time_is_it$/m);
  expect(stdout).toMatch(/^\d+ model\.responded: \d+ tokens in, \d+ out$/m);
  expect(stdout).toMatch(/^completed \{ kind: 'finished', summary: 'Done\.' \}$/m);
});

test("examples/page: a page of one's own, logged in by a link, starts an agent and follows it", async () => {
  await using provider = await startProviderServer({ turns: [DONE] });
  await using folder = await temporaryHome();
  const env = { ...provider.env, AGIRAPH_MODEL: "ollama/small" };
  const server = new CliProcess(["0"], { folder: folder.path, env, program: join(EXAMPLES, "page/serve.ts") });
  await server.saw("/login?once=");
  const link = server.stdout.trim();
  const { origin } = new URL(link);
  const page = await (await fetch(`${origin}/`)).text();
  expect(page).toContain("<h1>My agents</h1>");
  const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
  for (const path of assets) expect((await fetch(`${origin}${path}`)).status).toBe(200);
  expect((await fetch(`${origin}/agents`)).status).toBe(401);
  const login = await fetch(link, { redirect: "manual" });
  const cookie = login.headers
    .getSetCookie()
    .map((each) => each.split(";", 1)[0])
    .join("; ");
  const created = await fetch(`${origin}/agents`, {
    method: "POST",
    headers: { cookie, origin, "content-type": "application/json" },
    body: JSON.stringify({ goal: "Say hello" }),
  });
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as { id: string };
  const types: string[] = [];
  const socket = new WebSocket(`${origin.replace("http", "ws")}/agents/${id}/events?after=0`, {
    headers: { cookie, origin },
  });
  await new Promise<void>((done, failed) => {
    socket.on("error", failed);
    socket.on("message", (data) => {
      types.push(JSON.parse(String(data)).type);
      if (types.includes("agent.completed")) done();
    });
  });
  socket.close();
  expect(types[0]).toBe("agent.created");
  server.signal("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

test("what a person sees of extensions: doctor lists them, and run names one that was not loaded", async () => {
  await using provider = await startProviderServer({ turns: [DONE] });
  await using folder = await temporaryHome();
  await addTo(join(folder.path, ".agiraph"), "tool.ts", "channel.ts");
  const call = (...words: string[]) => agiraph(words, { folder: folder.path, env: provider.env });
  const problem = "extensions/channel.ts was not loaded: Set TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID.";
  const run = await call("run", "Say hello", "--model", "ollama/small");
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: expect.stringContaining(problem) });
  const doctor = await call("doctor", "--json");
  const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string }[] };
  expect({ code: doctor.code, found: checks.filter(({ name }) => name === "extension") }).toEqual({
    code: 1,
    found: [
      {
        name: "extension",
        state: "broken",
        detail: "extensions/channel.ts: Set TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID.",
        costs: "its additions are missing; the rest works",
      },
      { name: "extension", state: "ok", detail: "extensions/tool.ts: tools find_tickets" },
    ],
  });
});

async function homeWith(...examples: string[]) {
  const home = await temporaryHome();
  await addTo(home.path, ...examples);
  return home;
}

async function addTo(home: string, ...examples: string[]): Promise<void> {
  await mkdir(join(home, "extensions"), { recursive: true });
  for (const name of examples) await cp(join(EXAMPLES, name), join(home, "extensions", name));
}

type Answer = [status: number, body: unknown];

/** Somebody else's service on a port of this machine. */
async function startService(answer: (request: IncomingMessage, body: string) => Answer | Promise<Answer>) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const [status, body] = await answer(request, Buffer.concat(chunks).toString("utf8"));
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  };
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}
