import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { onInterrupt } from "./interrupts.ts";

test("the first signal asks to stop, every other to leave at once", () => {
  const source = new EventEmitter();
  const asked: string[] = [];
  onInterrupt(source, { first: (signal) => asked.push(`stop by ${signal}`), second: () => asked.push("leave") });
  source.emit("SIGINT");
  source.emit("SIGTERM");
  source.emit("SIGHUP");
  expect(asked).toEqual(["stop by SIGINT", "leave", "leave"]);
});

test("a signal that came before anybody listened asks to stop; the next one leaves at once", () => {
  const source = new EventEmitter();
  const asked: string[] = [];
  const heard = { first: (signal: string) => asked.push(`stop by ${signal}`), second: () => asked.push("leave") };
  onInterrupt(source, heard, "SIGHUP");
  source.emit("SIGINT");
  expect(asked).toEqual(["stop by SIGHUP", "leave"]);
});
