import { expect, test } from "vitest";
import { readConversation } from "./conversation.ts";
import { meshMove } from "./mesh-member.ts";

const heard = (content: string) =>
  readConversation({ system: "", history: [{ role: "user", from: "agiraph", content }] });

test("a question is answered by its id, with what it is", () => {
  const { calls } = meshMove(
    heard(
      "[tx] Question 2611-who.md from tour/counter:\n\nWho are you?\n\n(Answer: tx_send to tour/counter with answers 2611-who. Then go on with what you were doing.)",
    ),
  );
  expect(calls).toEqual([
    {
      name: "tx_send",
      args: { to: "tour/counter", answers: "2611-who", text: expect.stringContaining("no language model") },
    },
  ]);
});

test("a task is counted, what is handed on is read, and calls are named after their letter", () => {
  const task = heard("[tx] Task 2611-0001-count.0.md for tour/counter from tour: Count\n\nCount");
  const handoff = heard(
    "[tx] Task 2611-0001-count.1.md for tour/reader from tour/counter: Count\n\n# Handoff from counter to reader",
  );
  expect([task, handoff].map((one) => [one.label, meshMove(one).calls.map(({ name }) => name)])).toEqual([
    ["2611-0001-count.0", ["list_files"]],
    ["2611-0001-count.1", ["read_file"]],
  ]);
});
