import { expect, test } from "vitest";
import type { AgentId } from "../protocol/index.ts";
import { DiskFullRecovery, ENOUGH_ROOM } from "./disk-full-recovery.ts";

const MEGABYTE = 1024 * 1024;

test("agents go on when there is enough room, and not before", async () => {
  const { story, recovery, play } = watched([0, MEGABYTE, ENOUGH_ROOM]);
  recovery.waitForRoom("agent-aaaa");
  recovery.waitForRoom("agent-bbbb");
  expect(recovery.isWaiting).toBe(true);
  await play();
  expect(story).toEqual([
    "1 s",
    "0 MB free",
    "1 s",
    "1 MB free",
    "1 s",
    "16 MB free",
    "agent-aaaa goes on",
    "agent-bbbb goes on",
  ]);
  expect(recovery.isWaiting).toBe(false);
});

test("where there seems to be room and is none, they are tried ever more rarely", async () => {
  const { story, recovery, play } = watched(Array(9).fill(ENOUGH_ROOM), 8);
  recovery.waitForRoom("agent-aaaa");
  await play();
  expect(story.filter((line) => line.endsWith(" s"))).toEqual(
    [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => `${seconds} s`),
  );
});

test("a recovery that closes looks no more", async () => {
  const { story, recovery } = watched([0], 0, () => new Promise(() => {}));
  recovery.waitForRoom("agent-aaaa");
  await recovery.close();
  recovery.waitForRoom("agent-bbbb");
  expect(story).toEqual(["1 s"]);
});

/** Told how much is free at each look, and how often whoever goes on stops again for want of room. */
function watched(free: number[], stops = 0, sleeping: () => Promise<void> = async () => {}) {
  const story: string[] = [];
  const isDone = Promise.withResolvers<void>();
  const recovery: DiskFullRecovery = new DiskFullRecovery({
    room() {
      const bytes = free.shift() ?? 0;
      story.push(`${bytes / MEGABYTE} MB free`);
      return bytes;
    },
    async sleep(ms, signal) {
      story.push(`${ms / 1000} s`);
      await Promise.race([
        sleeping(),
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ]);
    },
    async recover(id: AgentId) {
      story.push(`${id} goes on`);
      if (stops-- > 0) recovery.waitForRoom(id);
      else if (free.length === 0) setImmediate(isDone.resolve);
    },
  });
  return { story, recovery, play: () => isDone.promise };
}
