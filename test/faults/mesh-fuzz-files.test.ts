import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parse } from "../../src/mesh/files/message-file.ts";
import { isEndOf, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import { type Dice, diceOf } from "../simulation/dice.ts";
import { CANARY, cutName, messageText, nameText } from "./mesh-fuzz-texts.ts";

/** All of them in the soak. */
const FILES = Number(process.env.AGIRAPH_KILLS ?? 0) >= 1_000 ? 50_000 : 4_000;
const BATCH = 1_000;

declare global {
  var meshFuzzRan: number | undefined;
}

const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

test(`${FILES} files through a real mesh: every one that is no message lies in quarantine with its reason beside it, every task is done once, nothing in them is run`, {
  timeout: 3_600_000,
}, async () => {
  const dice = diceOf("mesh-files");
  const project = await ScriptedProject.open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }],
    agents: {
      a: ({ name, header }, say) => {
        // By its name, so that it ends nothing else.
        if (header.type === "task") say("mesh", "task-complete", "Done.\n", { "in-reply-to": name.slice(0, -3) });
      },
    },
  });
  opened.push(project);
  const batches = new Batches(project, dice);
  for (let number = 0; number < FILES; number += BATCH) {
    await batches.one(number);
    batches.check();
  }
  expect([batches.good > FILES / 100, batches.bad > FILES / 2]).toEqual([true, true]);
  expect([globalThis.meshFuzzRan, existsSync(CANARY), existsSync(join(project.dir, CANARY))]).toEqual([
    undefined,
    false,
    false,
  ]);
});

class Batches {
  good = 0;
  bad = 0;
  readonly #project: ScriptedProject;
  readonly #dice: Dice;
  #wanted: { good: string[]; bad: string[] } = { good: [], bad: [] };

  constructor(project: ScriptedProject, dice: Dice) {
    this.#project = project;
    this.#dice = dice;
  }

  /** Puts a batch into the inbox, odd things among it, and waits for the last of it. */
  async one(from: number): Promise<void> {
    this.#wanted = { good: [], bad: [] };
    for (let number = from; number < from + BATCH; number++) {
      const text = messageText(this.#dice);
      // As the disk will have it: a half character is none there.
      const parsed = parse(Buffer.from(text).toString());
      if (parsed.ok && parsed.header.type !== "task") continue;
      const odd = nameText(this.#dice).replace(/[/\0]/g, "_");
      const name = `${String(number).padStart(5, "0")}${cutName(odd, parsed.ok ? 230 : 247)}.md`;
      (parsed.ok ? this.#wanted.good : this.#wanted.bad).push(name);
      this.#project.put({ mesh: "m", agent: null }, "inbox", name, text);
    }
    this.#putOdd(from);
    const last = `${from}-last.md`;
    this.#wanted.good.push(last);
    this.#project.send("m", last, "# Last\n");
    await this.#project.until(isEndOf("m", null, last));
    // What was written in place and is empty, or still young, is taken when it is quiet.
    await expect.poll(() => this.#names("inbox"), { timeout: 600_000, interval: 50 }).toEqual([]);
  }

  /** What no editor makes, and names that were there before. */
  #putOdd(from: number): void {
    const inbox = this.#dir("inbox");
    const odd = (name: string, make: (path: string) => void) => {
      this.#wanted.bad.push(name);
      make(join(inbox, name));
    };
    odd("link.md", (path) => symlinkSync("/etc/hostname", path));
    odd("nowhere.md", (path) => symlinkSync("/nowhere/at/all", path));
    odd("loop.md", (path) => symlinkSync("loop.md", path));
    odd("fifo.md", (path) => execFileSync("mkfifo", [path]));
    odd("folder.md", (path) => mkdirSync(join(path, "inner.md"), { recursive: true }));
    odd("empty.md", (path) => writeFileSync(path, ""));
    odd("bytes.md", (path) => writeFileSync(path, Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe, 0x00])));
    odd("huge.md", (path) => {
      writeFileSync(path, "---\n");
      truncateSync(path, 1024 ** 4);
    });
    odd("clash.reason.md", (path) => writeFileSync(path, `no message ${from}\n`));
    odd("clash.md", (path) => writeFileSync(path, `no message ${from}\n`));
    odd("shut.md", (path) => {
      writeFileSync(path, "no message\n");
      chmodSync(path, 0);
    });
  }

  /** Each bad one is there with its reason, each good one is complete; then the floor is swept for the next. */
  check(): void {
    const aside = this.#names("quarantine");
    const files = aside.filter((name) => !name.endsWith(".reason.md"));
    const cameAs = files.map((name) => {
      const words = readFileSync(join(this.#dir("quarantine"), `${name.slice(0, -3)}.reason.md`), "utf8");
      return /^It.{10,}\n\nIt came by inbox\/ as (.*)\. Fix it and move it back there\.\n$/s.exec(words)?.[1];
    });
    // From before the last sweep is only what clashes.
    const again = this.bad > 0 ? ["clash.reason.md", "clash.md"] : [];
    expect(cameAs.toSorted()).toEqual([...this.#wanted.bad, ...again].toSorted());
    expect(aside.length).toBe(2 * files.length);
    expect(this.#names("complete").toSorted()).toEqual(this.#wanted.good.toSorted());
    expect(this.#project.facts.filter(({ type }) => type === "mesh.stalled")).toEqual([]);
    this.good += this.#wanted.good.length;
    this.bad += this.#wanted.bad.length;
    this.#sweep(files, cameAs);
  }

  /** One pair of each name stays, so that the next batch finds it taken. */
  #sweep(files: readonly string[], cameAs: readonly (string | undefined)[]): void {
    const kept = new Set(["clash.md", "clash.reason~2.md"]);
    for (const [at, name] of files.entries()) {
      if (kept.has(name) && cameAs[at]?.startsWith("clash")) continue;
      rmSync(join(this.#dir("quarantine"), name), { recursive: true });
      rmSync(join(this.#dir("quarantine"), `${name.slice(0, -3)}.reason.md`));
    }
    for (const name of this.#names("complete")) rmSync(join(this.#dir("complete"), name));
    this.#project.facts.length = 0;
  }

  #dir(queue: "inbox" | "quarantine" | "complete"): string {
    return this.#project.layout.queue({ mesh: "m", agent: null }, queue);
  }

  #names(queue: "inbox" | "quarantine" | "complete"): string[] {
    return readdirSync(this.#dir(queue));
  }
}
