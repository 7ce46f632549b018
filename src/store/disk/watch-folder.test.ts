import { EventEmitter } from "node:events";
import type { FSWatcher, watch } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchFolder } from "./watch-folder.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const refusing = (code: string) =>
  (() => {
    throw Object.assign(new Error(code), { code });
  }) as unknown as typeof watch;

test.each(["ENOSPC", "EMFILE"])("WATCH-FOLDER-1: after %s at the start it is looked at every second", (code) => {
  const names: (string | null)[] = [];
  const folder = watchFolder("/nowhere", (name) => names.push(name), { begin: refusing(code) });
  vi.advanceTimersByTime(3_000);
  folder.close();
  vi.advanceTimersByTime(3_000);
  expect(names).toEqual([null, null, null]);
});

test("WATCH-FOLDER-1: a watch that the kernel ends goes on in the same way, and whoever listens later hears it", () => {
  const watcher = Object.assign(new EventEmitter(), { close: vi.fn() });
  const folder = watchFolder("/nowhere", undefined, { begin: (() => watcher as unknown as FSWatcher) as typeof watch });
  const names: (string | null)[] = [];
  folder.onChange = (name) => names.push(name);
  watcher.emit("error", new Error("over"));
  watcher.emit("error", new Error("over again"));
  vi.advanceTimersByTime(2_000);
  folder.close();
  vi.advanceTimersByTime(2_000);
  expect(names).toEqual([null, null]);
  expect(watcher.close).toHaveBeenCalled();
});

test("WATCH-FOLDER-1: a folder that does not exist is an error", () => {
  expect(() => watchFolder("/nowhere/at/all")).toThrow("ENOENT");
});
