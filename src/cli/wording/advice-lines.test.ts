import { expect, test } from "vitest";
import { adviceLines } from "./advice-lines.ts";

const COMMANDS = ["What happened: agiraph logs agent-abcd1234", "Try again: agiraph resume agent-abcd1234"];

test("a command is not broken by a narrow terminal: each has a line of its own if they do not fit into one", () => {
  const one = `  1 call. ${COMMANDS.join(". ")}`;
  expect(adviceLines("  1 call", COMMANDS, undefined)).toEqual([one]);
  expect(adviceLines("  1 call", COMMANDS, one.length)).toEqual([one]);
  expect(adviceLines("  1 call", COMMANDS, one.length - 1)).toEqual([
    "  1 call.",
    "  What happened: agiraph logs agent-abcd1234",
    "  Try again: agiraph resume agent-abcd1234",
  ]);
  expect(adviceLines("Stopped after 0 model calls, $0, 0:02 (1 call, $0.0088 in all)", ["Go on with: it"], 40)).toEqual(
    ["Stopped after 0 model calls, $0, 0:02 (1", "call, $0.0088 in all).", "  Go on with: it"],
  );
  const green = "\u001b[32m✓\u001b[39m done";
  expect(adviceLines(green, ["Look: it"], "✓ done. Look: it".length + 2)).toEqual([`${green}. Look: it`]);
});
