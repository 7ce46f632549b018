import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { QUEUES } from "./layout.ts";
import { QueueWatcher } from "./watcher.ts";

let dir: string;
let msgs: string;
let watcher: QueueWatcher;
let notices: string[];
let looks: number;
let heard: (() => void) | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "watcher-"));
  msgs = join(dir, "msgs");
  notices = [];
  looks = 0;
  watcher = new QueueWatcher(msgs, {
    changed(queue, name) {
      notices.push(`${queue}/${name}`);
      heard?.();
    },
    look() {
      looks++;
      heard?.();
    },
  });
});

afterEach(() => {
  watcher.close();
  rmSync(dir, { recursive: true, force: true });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise<void>((resolve) => (heard = resolve));
}

/** All that the kernel has to tell has been told: this file came after it. */
async function everythingTold(): Promise<void> {
  put("archive", "last.md");
  await until(() => notices.includes("archive/last.md"));
  notices.splice(notices.indexOf("archive/last.md"), 1);
}

function put(queue: string, name: string, text = "whole"): void {
  writeFileSync(join(dir, "aside"), text);
  renameSync(join(dir, "aside"), join(msgs, queue, name));
}

test("WATCHER-1, WATCHER-2: what is renamed in is told before what was written in place a moment earlier; moved on and deleted, once each", async () => {
  writeFileSync(join(msgs, "inbox/written.md"), "text");
  put("inbox", "a.md");
  await until(() => notices.length === 2);
  expect(notices).toEqual(["inbox/a.md", "inbox/written.md"]);
  renameSync(join(msgs, "inbox/a.md"), join(msgs, "next/a.md"));
  await everythingTold();
  rmSync(join(msgs, "next/a.md"));
  await everythingTold();
  expect(notices.slice(2).toSorted()).toEqual(["inbox/a.md", "next/a.md", "next/a.md"]);
});

test("WATCHER-1: what is written in place, in parts, is told once, when it is whole", async () => {
  const file = join(msgs, "inbox/slow.md");
  writeFileSync(file, "");
  for (let part = 0; part < 200; part++) {
    appendFileSync(file, "part\n");
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(notices).toEqual([]);
  await until(() => notices.length > 0);
  await everythingTold();
  expect(notices).toEqual(["inbox/slow.md"]);
});

test("WATCHER-1: one write that opens, writes and closes is told once, when it has been quiet", async () => {
  writeFileSync(join(msgs, "inbox/a.md"), "text");
  await until(() => notices.length > 0);
  await everythingTold();
  expect(notices).toEqual(["inbox/a.md"]);
});

test("editors' temporary files, locks and backups are no messages; a link is one, for whoever reads it to refuse", async () => {
  for (const name of [
    ".a.md.swp",
    ".#a.md",
    "#a.md#",
    "a.md~",
    "a.md.tmp",
    "4913",
    ".a.md.XYZ",
    "a.txt",
    ".goutputstream-1.md",
  ])
    put("inbox", name);
  mkdirSync(join(msgs, "inbox/folder"));
  symlinkSync("/etc/passwd", join(msgs, "inbox/link.md"));
  put("quarantine", "a.reason.md");
  await until(() => notices.includes("inbox/link.md"));
  await everythingTold();
  expect(notices).toEqual(["inbox/link.md"]);
});

test("WATCHER-2, WATCHER-3: of a burst of 5,000 each is told once, and everything is looked at once more", async () => {
  for (let number = 0; number < 5_000; number++) put("inbox", `${number}.md`);
  await until(() => notices.length >= 5_000 && looks > 0);
  expect([notices.length, new Set(notices).size, notices[0], notices.at(-1)]).toEqual([
    5_000,
    5_000,
    "inbox/0.md",
    "inbox/4999.md",
  ]);
});

test.each(["inbox", ""])(
  "WATCHER-3: when %j below msgs is deleted it is made again and watched again",
  async (folder) => {
    rmSync(join(msgs, folder), { recursive: true });
    await until(() => looks > 0);
    for (const queue of QUEUES) put(queue, `${queue}.md`);
    await until(() => QUEUES.every((queue) => notices.includes(`${queue}/${queue}.md`)));
  },
);
