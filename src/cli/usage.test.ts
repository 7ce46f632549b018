import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeAll, expect, test } from "vitest";
import { type TemporaryHome, temporaryHome } from "../testing/temporary-home.ts";
import { createAgiraph } from "./agiraph-command.ts";
import { Terminal } from "./terminal.ts";
import { agiraph } from "./testing/cli-process.ts";

const STREAMS = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };

let folder: TemporaryHome;

beforeAll(async () => {
  folder = await temporaryHome();
  return () => folder.remove();
});

const call = (...words: string[]) => agiraph(words, { folder: folder.path });

test("alone it prints help, and every command that help names has its own", async () => {
  const help = await call();
  expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: "" });
  const names = [...help.stdout.matchAll(/^ {2}([a-z][a-z-]*) [^\n]*? {2,}\S/gm)].map((match) => match[1]);
  // That each has its place in the help and in docs/commands.md: test/docs.test.ts.
  expect(names).toEqual(
    createAgiraph(new Terminal(STREAMS, {}, folder.path), () => {}).commands.map((each) => each.name()),
  );
  expect([...help.stdout.matchAll(/^([A-Z][^\n]*):$/gm)].map((match) => match[1])).toEqual([
    "Options",
    ...["Run and steer", "Talk", "Change the work", "Review a repository", "Look", "Server and installation", "Meshes"],
    ...["Examples", "Exit codes", "Environment variables, also read from a .env file"],
  ]);
  const helps = await Promise.all(names.map((name) => call(name ?? "", "--help")));
  for (const { code, stdout } of helps)
    expect({
      code,
      home: stdout.includes("--home <dir>"),
      json: stdout.includes("--json"),
      examples: /^Examples:\n {2}(agiraph|tx) \S/m.test(stdout),
    }).toEqual({ code: 0, home: true, json: true, examples: true });
  expect(helps[0]?.stdout).toContain("ANTHROPIC_BASE_URL, OPENAI_BASE_URL");
});

test("help is also a word, as in many programs", async () => {
  const [whole, one, asked, asOption] = await Promise.all([
    call("help"),
    call("help", "run"),
    call("--help"),
    call("run", "--help"),
  ]);
  expect([whole, one]).toEqual([asked, asOption]);
});

test("the version is the package's", async () => {
  const [long, ...others] = await Promise.all([call("--version"), call("-v"), call("version")]);
  expect(long).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" });
  expect(others).toEqual([long, long]);
});

test("wrong usage ends with 2 and says what was meant", async () => {
  const { stdout, ...rest } = await call("shwo", "x");
  expect({ stdout, ...rest }).toEqual({
    code: 2,
    stdout: "",
    stderr: '✗ There is no command "shwo". Did you mean show?\nSee: agiraph --help\n',
  });
  const helps = [call("help", "shwo"), call("shwo", "--help"), call("help", "tx", "strat")];
  expect(await Promise.all(helps)).toEqual([
    { stdout, ...rest },
    { stdout, ...rest },
    { code: 2, stdout: "", stderr: '✗ There is no command "strat". Did you mean start?\nSee: tx --help\n' },
  ]);
  expect((await call("run")).stderr).toBe('✗ The argument "goal" is missing.\nSee: agiraph run --help\n');
  const near = await Promise.all([
    call("run", "goal", "--mode", "infinit"),
    call("run", "goal", "--projct", "."),
    call("completion", "bsh"),
  ]);
  expect(near.map(({ stderr }) => /Did you mean "?([\w-]+)/.exec(stderr)?.[1])).toEqual([
    "infinite",
    "--project",
    "bash",
  ]);
  const plain = [
    [["ls", "--wat"], 'There is no option "--wat".'],
    [["run", "goal", "--projct", "."], 'There is no option "--projct". Did you mean --project?'],
    [["run", "goal", "--budget", "abc"], '--budget: "abc" is not valid. Expected an amount above 0, e.g. 2.50.'],
    [["run", "goal", "--budget"], "--budget needs a value."],
    [["logs", "x", "-n", "many"], '--limit: "many" is not valid. Expected a whole number, e.g. 120.'],
  ] as const;
  for (const [words, said] of plain) expect((await call(...words)).stderr.split("\n")[0]).toBe(`✗ ${said}`);
  const wrong = [
    ["run"],
    ["run", "goal", "--mode", "sometimes"],
    ["run", "goal", "--budget", "0"],
    ["run", "   "],
    ["logs", "x", "--after", "-1"],
    ["ls", "--wat"],
    ["completion", "tcsh"],
    ["--json", "tx", "status"],
  ];
  const ended = await Promise.all(wrong.map((words) => call(...words)));
  expect(ended.map(({ code }) => code)).toEqual(wrong.map(() => 2));
});

test("who forgets the quotes around a text is shown where they belong", async () => {
  const loose = [
    ["run", "Survey", "the", "files"],
    ["run", "Survey", "the", "files", "--budget", "2"],
    ["send", "survey", "Leave", "the", "tests", "out"],
    ["answer", "survey", "the", "second"],
    ["nudge", "survey", "It", "costs", "$5"],
    ["cancel", "survey", "node-4", "not", "needed"],
    ["tx", "send", "review", "Look", "again"],
  ];
  const ended = await Promise.all(loose.map((words) => call(...words)));
  expect(ended.map(({ code, stdout, stderr }) => [code, stdout, stderr.split("\n")[0]])).toEqual(
    [
      'goal in quotes: agiraph run "Survey the files"',
      'goal in quotes: agiraph run "Survey the files" …',
      'message in quotes: agiraph send survey "Leave the tests out"',
      'answer in quotes: agiraph answer survey "the second"',
      "hint in quotes: agiraph nudge survey 'It costs $5'",
      'reason in quotes: agiraph cancel survey node-4 "not needed"',
      'message in quotes: tx send review "Look again"',
    ].map((words) => [2, "", `✗ Put the ${words}`]),
  );
  const asData = await call("run", "Survey", "files", "--json");
  expect(JSON.parse(asData.stdout)).toEqual({
    error: { code: "usage", message: 'Put the goal in quotes: agiraph run "Survey files" …' },
  });
  expect((await call("show", "survey", "files")).stderr).toMatch(
    /^✗ Too many arguments for "show"\. Expected 1 argument but got 2/,
  );
});

test("with --json an error is one JSON object on stdout and a sentence on stderr, never a stack", async () => {
  const { code, stdout, stderr } = await call("show", "nobody", "--json");
  expect({ code, error: JSON.parse(stdout), stack: /^ +at /m.test(stderr) }).toEqual({
    code: 1,
    error: { error: { code: "not_found", message: expect.stringContaining("There is no Agiraph home at") } },
    stack: false,
  });
  expect(JSON.parse((await call("run", "--json")).stdout)).toEqual({
    error: { code: "usage", message: 'The argument "goal" is missing.' },
  });
});

test("a home that is not there yet has no agents, and looking does not make it", async () => {
  const nowhere = join(folder.path, "nowhere");
  expect(await call("ls", "--home", nowhere)).toEqual({
    code: 0,
    stdout: "",
    stderr: `No agents yet: there is no home at ${nowhere}. Begin with: agiraph run --home ${nowhere} "your goal"\n`,
  });
  const looks = await Promise.all(["show", "resume", "stop"].map((name) => call(name, "x", "--home", nowhere)));
  for (const { code, stdout, stderr } of looks)
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: `✗ There is no Agiraph home at ${nowhere}. Run an agent first, or pass --home.\n`,
    });
  expect((await call("doctor", "--home", nowhere)).stdout).toContain(`${nowhere} (created by the first run)`);
});

test("a home that is a file is wrong usage, whatever is asked of it", async () => {
  const file = join(folder.path, "file");
  await writeFile(file, "no home");
  const asked = [["ls"], ["show", "x"], ["run", "goal"], ["resume", "x"], ["stop", "x"], ["models"]];
  const ended = await Promise.all(asked.map((words) => call(...words, "--home", file)));
  expect(ended).toEqual(
    asked.map(() => ({
      code: 2,
      stdout: "",
      stderr: `✗ The home ${file} is a file, not a folder. Name a folder with --home or AGIRAPH_HOME.\n`,
    })),
  );
});

test("a home that cannot be created is wrong usage", async () => {
  const file = join(folder.path, "a-file");
  await writeFile(file, "no home");
  const homes = [
    ["/proc/x", "ENOENT"],
    [join(file, "x"), "ENOTDIR"],
  ] as const;
  const ended = await Promise.all(
    homes.map(([home]) => call("run", "goal", "--model", "demo/surveyor", "--home", home)),
  );
  expect(ended).toEqual(
    homes.map(([home, code]) => ({
      code: 2,
      stdout: "",
      stderr: `✗ The home ${home} cannot be created (${code}). Name another folder with --home or AGIRAPH_HOME.\n`,
    })),
  );
});

test("a key that could not be sent is named as malformed by doctor and models, and never shown", async () => {
  const env = {
    ANTHROPIC_API_KEY: "sk-secret secret",
    OPENAI_API_KEY: " ",
    GEMINI_API_KEY: "schlüssel",
    PATH: "/nowhere",
  };
  const doctor = await agiraph(["doctor", "--json"], { folder: folder.path, env });
  const { checks }: { checks: { name: string }[] } = JSON.parse(doctor.stdout);
  expect({ code: doctor.code, keys: checks.filter(({ name }) => name === "model keys") }).toEqual({
    code: 1,
    keys: [
      {
        name: "model keys",
        state: "broken",
        detail:
          "malformed: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY (empty, or with a space, a line break or a non-ASCII letter)",
        costs: "requests that need one fail until it is set again",
      },
    ],
  });
  const models = await agiraph(["models"], { folder: folder.path, env });
  const said = ["anthropic/", "openai/", "google/", "openrouter/"].map((provider) => {
    const lines = models.stdout.split("\n").filter((line) => line.startsWith(provider));
    return [...new Set(lines.map((line) => line.split(/ {2,}/).at(-1)))];
  });
  expect(said).toEqual([
    ["ANTHROPIC_API_KEY is malformed"],
    ["OPENAI_API_KEY is malformed"],
    ["GEMINI_API_KEY is malformed"],
    ["needs OPENROUTER_API_KEY"],
  ]);
  expect(models.stderr).toContain("(ANTHROPIC_API_KEY is set, but malformed)");
  const run = await agiraph(["run", "goal"], { folder: folder.path, env });
  expect({ code: run.code, stderr: run.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("✗ ANTHROPIC_API_KEY is malformed: "),
  });
  expect(doctor.stdout + models.stdout + run.stderr).not.toContain("secret");
});

test("a damaged config.json is named with its line, and nothing else is done", async () => {
  const home = join(folder.path, "damaged");
  await mkdir(home);
  await writeFile(join(home, "config.json"), '{\n  "model": 7\n}\n');
  const { code, stderr, stdout } = await call("run", "goal", "--home", home);
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(`${home}/config.json:2: model: `),
  });
  const doctor = await call("doctor", "--home", home);
  expect({ code: doctor.code, told: doctor.stdout.includes("config.json:2") }).toEqual({ code: 1, told: true });
});

test("a malformed line of .env is named without its value, by every command and the doctor; the others are used", async () => {
  const home = join(folder.path, "malformed");
  await mkdir(home);
  await writeFile(join(home, ".env"), "ANTHROPIC_API_KEY sk-ant-secret\nBRAVE_API_KEY=b-secret\n", { mode: 0o600 });
  const line = `${home}/.env:1: this line is ignored, because it has no "=". Write NAME=value, or begin the line with # to make it a comment.`;
  const inbox = await call("inbox", "--home", home);
  expect([inbox.code, inbox.stderr.split(line).length - 1]).toEqual([0, 1]);
  const doctor = await call("doctor", "--home", home);
  expect(doctor.stdout).toContain(`✗ .env         ${line}\n`);
  expect(doctor.stdout).toMatch(/search keys +BRAVE_API_KEY\n/);
  expect(doctor.stderr).not.toContain(".env:1");
  expect([inbox, doctor].map(({ stdout, stderr }) => stdout + stderr).join()).not.toContain("secret");
});

test("the name of a model that does not exist is reported with the place where it was set", async () => {
  const home = join(folder.path, "misnamed");
  await mkdir(home);
  const said = async (config: object, env: Record<string, string>, ...flags: string[]) => {
    await writeFile(join(home, "config.json"), JSON.stringify(config));
    const { code, stderr } = await agiraph(["run", "goal", "--home", home, ...flags], { folder: folder.path, env });
    return [code, /^✗ (.*?): /m.exec(stderr)?.[1]];
  };
  const both = { model: "nope", worker_model: "nope" };
  const variables = { AGIRAPH_MODEL: "nope", AGIRAPH_WORKER_MODEL: "nope" };
  expect([
    await said(both, {}),
    await said(both, variables),
    await said(both, variables, "--model", "nope"),
    await said(both, {}, "--model", "demo/surveyor"),
    await said(both, variables, "--model", "demo/surveyor"),
    await said(both, variables, "--model", "demo/surveyor", "--worker-model", "nope"),
  ]).toEqual(
    [
      '"model" in config.json',
      "AGIRAPH_MODEL",
      "--model",
      '"worker_model" in config.json',
      "AGIRAPH_WORKER_MODEL",
      "--worker-model",
    ].map((source) => [2, source]),
  );
});

test("doctor names the channels, and the one whose secret is missing", async () => {
  const home = join(folder.path, "home");
  await mkdir(home, { recursive: true });
  const channel = { type: "webhook", url: "https://example.org/x", secret_env: "PAGER_SECRET", to: ["ends"] };
  await writeFile(join(home, "config.json"), JSON.stringify({ channels: { pager: channel } }));
  const seen = async (env: Record<string, string>) => {
    const { code, stdout } = await agiraph(["doctor", "--json", "--home", home], { folder: folder.path, env });
    const { checks }: { checks: { name: string }[] } = JSON.parse(stdout);
    return { code, channels: checks.filter(({ name }) => name === "channels") };
  };
  expect([await seen({}), await seen({ PAGER_SECRET: "0123456789abcdef" })]).toEqual([
    {
      code: 1,
      channels: [
        {
          name: "channels",
          state: "broken",
          detail:
            "The channel pager takes its secret from PAGER_SECRET, which is not set. Set it, or remove the channel from config.json.",
          costs: "nothing runs until it is fixed",
        },
      ],
    },
    { code: 0, channels: [{ name: "channels", state: "ok", detail: "pager (ends)" }] },
  ]);
});

test("doctor names keys, never shows them, and ends with 0 when only optional things are missing", async () => {
  const env = { ANTHROPIC_API_KEY: "sk-secret-secret", PATH: "/nowhere" };
  const { code, stdout } = await agiraph(["doctor", "--json"], { folder: folder.path, env });
  const { ok, checks }: { ok: boolean; checks: { name: string; state: string }[] } = JSON.parse(stdout);
  expect({ code, ok, secret: stdout.includes("secret-secret") }).toEqual({ code: 0, ok: true, secret: false });
  const state = Object.fromEntries(checks.map((check) => [check.name, check.state]));
  expect(state).toEqual({
    node: "ok",
    home: "ok",
    disk: "ok",
    "model keys": "ok",
    "search keys": "missing",
    ollama: "missing",
    claude: "missing",
    codex: "missing",
    gemini: "missing",
    opencode: "missing",
    tmux: "missing",
    git: "missing",
    sandbox: expect.stringMatching(/^(ok|missing)$/),
  });
});

test("models says which can be used and what the others need", async () => {
  const { code, stdout } = await agiraph(["models", "--json"], { folder: folder.path, env: { OPENAI_API_KEY: "x" } });
  const models: { id: string; missing: string | null }[] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const missing = (prefix: string) => [
    ...new Set(models.filter(({ id }) => id.startsWith(prefix)).map((model) => model.missing)),
  ];
  expect({ code, openai: missing("openai/"), anthropic: missing("anthropic/"), demo: missing("demo/") }).toEqual({
    code: 0,
    openai: [null],
    anthropic: ["ANTHROPIC_API_KEY"],
    demo: [null],
  });
});

test("completion scripts name every command, and bash completes with its own", async () => {
  const [bash, zsh, fish] = await Promise.all(["bash", "zsh", "fish"].map((shell) => call("completion", shell)));
  expect([zsh?.stdout, fish?.stdout].map((script) => script?.includes("resume"))).toEqual([true, true]);
  const script = `${bash?.stdout}
complete() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agiraph; echo "\${COMPREPLY[@]}"; }
complete agiraph resu
complete agiraph run --wo
complete agiraph run --to`;
  const { stdout } = spawnSync("bash", ["--norc"], { input: script, encoding: "utf8" });
  expect(stdout).toBe("resume\n--worker-model\n--tools\n");
  expect(JSON.parse((await call("completion", "bash", "--json")).stdout)).toEqual({
    shell: "bash",
    script: bash?.stdout,
  });
});
