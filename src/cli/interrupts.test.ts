import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { onInterrupt } from "./interrupts.ts";

test("the first signal asks to stop, the second to leave, and afterwards nobody listens", () => {
  const source = new EventEmitter();
  const asked: string[] = [];
  const end = onInterrupt(source, { first: () => asked.push("stop"), second: () => asked.push("leave") });
  source.emit("SIGINT");
  source.emit("SIGTERM");
  end();
  source.emit("SIGINT");
  expect(asked).toEqual(["stop", "leave"]);
});
