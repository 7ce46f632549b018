import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CERTIFICATE, CERTIFICATE_KEY, OTHER_CERTIFICATE } from "../server/testing/certificate.ts";
import { agiraph, CliProcess } from "./testing/cli-process.ts";
import { askHuman, finish, lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, standing } = scriptedAgent();

test("where a server holds the home, every command goes through it, and the server goes on without the terminal", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted([
    askHuman({ question: "Which colour?" }),
    finish("The house is blue."),
    askHuman({ question: "Which now?" }),
    finish("And now red."),
  ]);
  const server = await serving();
  const refused = await run("--tools", "paint_house");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('There is no tool "paint_house"')]);
  const asked = await run();
  expect({ code: asked.code, standing: await standing() }).toEqual({ code: 3, standing: ["waiting_for_human"] });
  expect(asked.stderr).toMatch(
    new RegExp(`^Agent: paint-house \\(agent-\\w{8}\\), in the server at ${server.url}$`, "m"),
  );
  const facts = new CliProcess(["logs", "paint", "-f", "--json"], options());
  onTestFinished(() => facts.signal("SIGKILL"));
  expect(lines(await call("answer", "paint", "Blue"))).toEqual(["paint-house: Answered."]);
  await facts.saw('"summary":"The house is blue."');

  expect(lines(await call("send", "paint", "Now in red"))).toEqual([
    "paint-house: paint-house takes it as its next goal.",
  ]);
  await facts.saw("Which now?");
  expect(lines(await call("pause", "paint"))).toEqual(["paint-house (ID) is paused."]);
  const resumed = await call("resume", "paint", "--detach");
  expect([resumed.code, resumed.stderr.split("\n")[0]]).toEqual([
    0,
    `paint-house is running in the server at ${server.url}.`,
  ]);
  expect((await call("pause", "paint")).code).toBe(0);
  expect((await call("resume", "paint")).code).toBe(3);
  expect(lines(await call("answer", "paint", "Red"))).toEqual(["paint-house: Answered."]);
  await facts.saw('"summary":"And now red."');
  provider.assertDone();

  expect(lines(await call("rm", "paint"))).toEqual([
    "paint-house (ID) is archived; nothing was erased. Restore it: agiraph rm ID --undo · erase it for good: agiraph rm ID --purge",
  ]);
  expect(await standing()).toEqual([]);
  await call("rm", "paint-house", "--undo");
  expect(await standing()).toEqual(["completed"]);
  server.signal("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

test("what the team says is heard through a server as it is without: all of it, once, each turn on its own lines", {
  timeout: 120_000,
}, async () => {
  const turns = [
    { text: "I look at the wall.", calls: [{ name: "list_files", args: { path: "." } }] },
    { text: "It is bare.\nI take a brush.", calls: [{ name: "list_files", args: { path: "." } }] },
    { text: "One coat is enough.", ...finish("The house is blue.") },
  ];
  const provider = await scripted([...turns, ...turns]);
  const words = async () => (await run()).stderr.split("\n").filter((line) => line.includes(" │ "));
  const alone = await words();
  const server = await serving();
  expect([alone, await words()]).toEqual([
    [
      "coordinator │ I look at the wall.",
      "coordinator │ It is bare.",
      "coordinator │ I take a brush.",
      "coordinator │ One coat is enough.",
    ],
    alone,
  ]);
  provider.assertDone();
  server.signal("SIGTERM");
  await server.ended;
});

test("who looks on at a server that is killed is told so, and how to go on", async () => {
  await scripted([{ text: "I think.", hold: "thought", calls: [] }]);
  const server = await serving();
  const looking = new CliProcess(["run", "Paint the house", "--model", "ollama/test"], options());
  onTestFinished(() => looking.signal("SIGKILL"));
  await looking.saw("in the server at");
  server.signal("SIGKILL");
  const { code, stderr } = await looking.ended;
  expect({ code, last: stderr.trimEnd().split("\n").at(-1) }).toEqual({
    code: 1,
    last: expect.stringMatching(/^✗ The server at \S+ has ended\. .* or with: agiraph resume agent-\w+$/),
  });
});

test("the token is made at the first start, for its owner's eyes; a link made with it logs a browser in", {
  timeout: 120_000,
}, async () => {
  await scripted([]);
  const server = await serving();
  const { folder } = options();
  const file = join(folder, "home", "token");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const token = (await call("token")).stdout.trim();
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(await readFile(file, "utf8")).toBe(`${token}\n`);
  const link = (await call("token", "--link")).stdout.trim();
  for (const url of [link, server.link]) {
    expect(url.startsWith(`${server.url}/login?once=`)).toBe(true);
    expect((await fetch(url, { redirect: "manual" })).status).toBe(303);
  }
  expect(await call("token", "--new")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/The server at \S+ \(pid \d+\) uses the current token\. Stop it first/),
  });
  server.signal("SIGTERM");
  expect((await server.ended).code).toBe(0);
  expect((await call("token")).stdout.trim()).toBe(token);
  expect(await call("token", "--link")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("No server is running for"),
  });
  const renewed = (await call("token", "--new")).stdout.trim();
  expect([renewed === token, renewed.length, (await stat(file)).mode & 0o777]).toEqual([false, 43, 0o600]);
});

test("a server with a certificate that nobody signed is used by the terminal like any other, and believed alone", async () => {
  await scripted([finish("The house is blue.")]);
  const { folder } = options();
  const home = join(folder, "home");
  await writeFile(join(folder, "cert.pem"), CERTIFICATE);
  await writeFile(join(folder, "key.pem"), CERTIFICATE_KEY);
  const config = { ...JSON.parse(await readFile(join(home, "config.json"), "utf8").catch(() => "{}")) };
  const server = { tls: { cert: "../cert.pem", key: "../key.pem" }, names: ["agents.example.org"] };
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "config.json"), JSON.stringify({ ...config, server }));
  const { url, link, signal, ended } = await serving();
  expect([url.replace(/\d+$/, "PORT"), link.replace(/\d+\/.*$/, "PORT")]).toEqual([
    "https://127.0.0.1:PORT",
    "https://agents.example.org:PORT",
  ]);
  expect((await run()).code).toBe(0);
  expect(await standing()).toEqual(["completed"]);
  expect((await call("token", "--link")).stdout).toMatch(/^https:\/\/agents\.example\.org:\d+\/login\?once=/);
  // As if somebody else listened there.
  await writeFile(join(folder, "cert.pem"), OTHER_CERTIFICATE);
  expect(await call("token", "--link")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot be reached: /),
  });
  signal("SIGTERM");
  expect((await ended).code).toBe(0);
});

test("config.json may be changed while a server runs; a mistake in it keeps nobody from talking to the server", {
  timeout: 120_000,
}, async () => {
  await scripted([finish("The house is blue.")]);
  const { folder, env } = options();
  const home = join(folder, "home");
  const path = join(home, "config.json");
  const server = await serving();
  await writeFile(path, '{"max_turns": "sk-ant-secret"}');
  const asked = await run();
  expect({ code: asked.code, leaks: asked.stderr.includes("sk-ant"), standing: await standing() }).toEqual({
    code: 0,
    leaks: false,
    standing: ["completed"],
  });
  expect(asked.stderr).toContain(`! ${path}:1: max_turns: expected a number`);
  expect(asked.stderr).toMatch(/The running process \(pid \d+\) still uses the last valid one\./);
  const refused = await call("run", "goal", "--model", "openai-compatible/mine/m");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("The config.json in use is an older one"),
  ]);
  const mine = { base_url: String(env?.OLLAMA_BASE_URL) };
  await writeFile(path, JSON.stringify({ providers: { mine }, server: { port: 5 } }));
  const taken = await call("run", "Paint it red", "--model", "openai-compatible/mine/m");
  expect([taken.code, taken.stdout]).toEqual([0, expect.stringContaining("The house is blue.")]);
  expect((await call("doctor")).stdout).toMatch(
    /– config\.json +server changed since the server \(pid \d+\) was started; it needs a restart\n +so: the old values stay in use\n/,
  );
  await rm(join(dirname(path), "token"));
  const lost = await call("doctor");
  expect([lost.code, lost.stderr]).toEqual([1, ""]);
  expect(lost.stdout).toMatch(/✗ token +\S+\/token is missing\n +.*no command reaches pid \d+/);
  server.signal("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

test("npm start alone serves; the program's name alone says what it can do", async () => {
  await scripted([]);
  const { folder, env } = options();
  expect((await agiraph([], { folder, ...(env && { env }) })).stdout).toContain("Usage: agiraph");
  const server = new CliProcess([], { folder, env: { ...env, AGIRAPH_PORT: "0", npm_lifecycle_event: "start" } });
  await server.saw("Another link: npm start -- token --link");
  server.signal("SIGTERM");
  expect((await server.ended).stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?once=[\w-]{43}\n$/);
});

test("what cannot be served is refused in words", async () => {
  await scripted([]);
  const server = await serving();
  const { folder, env } = options();
  const port = new URL(server.url).port;
  const second = { folder, env: { ...env, AGIRAPH_HOME: join(folder, "other") } };
  expect(lines(await agiraph(["serve", "--port", port], second))).toEqual([
    `✗ Port ${port} on 127.0.0.1 is taken. Stop the program that holds it, or pass --port.`,
  ]);
  expect(await call("serve", "--port", "0")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      new RegExp(`is served by pid \\d+ \\(.*\\) at ${server.url}; other commands use it automatically`),
    ),
  });
  expect(await agiraph(["serve", "--port", "0", "--host", "0.0.0.0"], second)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("needs TLS, or a proxy"),
  });
  expect(await agiraph(["serve", "--port", "99999"], second)).toMatchObject({ code: 2 });
  server.signal("SIGTERM");
  await server.ended;
});

async function serving() {
  const child = new CliProcess(["serve", "--port", "0", "--json"], options());
  onTestFinished(() => child.signal("SIGKILL"));
  await child.saw("Ctrl-C ends it.");
  // Its two streams do not wait for each other.
  await child.saw('"pid":');
  const { stdout } = child;
  const { url, link } = JSON.parse(stdout) as { url: string; link: string };
  return { url, link, signal: child.signal.bind(child), ended: child.ended };
}
