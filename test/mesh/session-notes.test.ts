import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

const TX = join(import.meta.dirname, "../../dist/bundle/tx.js");
const LONG = { timeout: 120_000 };
/** It writes down what it is told; what is said in its session the test says, with its environment. */
const READER = 'env -0 > env; while read -r line; do echo "$line" >> taken; done';

class Session implements AsyncDisposable {
  readonly house = new MeshHouse({
    meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"] }],
    agents: { one: { options: { program: "mine", runs: "tmux" } } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", READER] } } },
  });

  /** Sends it something and resolves when it was told. */
  async tell(text: string, type: "task" | "ask" = "task"): Promise<string> {
    const { name } = await this.house.send("solo", { to: "one", type, text });
    await this.told(name);
    return name;
  }

  told(name: string): Promise<unknown> {
    return this.house.until((fact) => fact.type === "mesh.told" && fact.data.name === name);
  }

  /** What it has read, by its first words. */
  taken(): string[] {
    const lines = readFileSync(join(this.house.project, "taken"), "utf8").trimEnd().split("\n");
    return lines.map((line) => line.split(" ", 2).join(" "));
  }

  /** `tx` in its session. `begun` resolves when its process runs. */
  tx(words: readonly string[]) {
    const { project, dir } = this.house;
    const variables = readFileSync(join(project, "env"), "utf8").split("\0").filter(Boolean);
    const env = Object.fromEntries(variables.map((line) => line.split(/=(.*)/s, 2)));
    const sign = join(dir, `begun-${++this.#begun}`);
    const hook = `${sign}.mjs`;
    writeFileSync(hook, `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(sign)}, "");`);
    const child = spawn(process.execPath, ["--import", pathToFileURL(hook).href, TX, ...words], { cwd: project, env });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
      child.once("close", (code) => resolve({ code, ...said })),
    );
    return { child, ended, begun: () => expect.poll(() => existsSync(sign)).toBe(true) };
  }

  #begun = 0;

  async answered(question: string, answer: string): Promise<string> {
    const asked = await this.house.until((fact) => fact.type === "human.question" && fact.data.text === question);
    if (asked.type !== "human.question") throw new Error("It is none.");
    await this.house.api.give({
      do: "respond",
      id: this.house.id,
      response: answer,
      question_id: asked.data.question_id,
    });
    return asked.data.call_id.replace(/\.md$/, ".answer.md");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.house[Symbol.asyncDispose]();
  }
}

async function opened(): Promise<Session> {
  const session = new Session();
  await (await session.house.open()).start();
  return session;
}

withTmux(
  "SESSION-NOTES-1: tx done ends the task that the session knew of; said late, it ends no other and says so",
  LONG,
  async () => {
    await using session = await opened();
    const first = await session.tell("# One\n");
    const late = session.tx(["done", "-"]);
    await late.begun();
    expect(await session.tx(["done", "One is done."]).ended).toMatchObject({ code: 0 });
    const second = await session.tell("# Two\n");
    late.child.stdin.end("One is done, once more.");
    const refused = await late.ended;
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`${first}, the last task this session was given, has already ended`);
    expect(session.house.queues("solo", "one").active).toEqual([second]);
    expect(await session.tx(["done", "Two is done."]).ended).toMatchObject({ code: 0 });
    expect(session.house.queues("solo", "one").active).toBeUndefined();
    expect((await session.tx(["done", "Two is done, twice."]).ended).stderr).toContain(`${second}, the last task`);
  },
);

withTmux("SESSION-NOTES-1: what tx next has shown is known as well as what was typed", LONG, async () => {
  await using session = await opened();
  await session.tell("# One\n");
  await session.tx(["done", "One is done."]).ended;
  // Nobody is told it: it is in active/, as for whoever looks before it is typed.
  const told = readFileSync(join(session.house.project, "env"), "utf8");
  const notes = /TX_SESSION=([^\0]*)/.exec(told)?.[1] ?? "";
  const second = await session.tell("# Two\n");
  const before = readFileSync(join(notes, "told.ndjson"), "utf8").split("\n");
  writeFileSync(join(notes, "told.ndjson"), `${before[0]}\n`);
  expect((await session.tx(["done", "Which?"]).ended).code).toBe(1);
  expect((await session.tx(["next"]).ended).stderr).toContain(second);
  expect(await session.tx(["done", "Two is done."]).ended).toMatchObject({ code: 0 });
});

withTmux(
  "SESSION-NOTES-2: tx ask --wait prints the answer and nothing else, and it is not typed as well",
  LONG,
  async () => {
    await using session = await opened();
    await session.tell("# One\n");
    const asking = session.tx(["ask", "human", "Which colour?", "--wait"]);
    await session.told(await session.answered("Which colour?", "blue"));
    expect(await asking.ended).toMatchObject({ code: 0, stdout: "blue\n" });
    const killed = session.tx(["ask", "human", "Which size?", "--wait"]);
    await session.house.until((fact) => fact.type === "human.question" && fact.data.text === "Which size?");
    killed.child.kill("SIGKILL");
    await killed.ended;
    await session.told(await session.answered("Which size?", "large"));
    await session.tell("And?\n", "ask");
    await expect.poll(() => session.taken()).toEqual(["[tx] Task", "[tx] Answer", "[tx] Question"]);
  },
);
