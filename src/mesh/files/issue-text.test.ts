import { expect, test } from "vitest";
import { meshAgentConfigSchema, meshConfigSchema, messageHeaderSchema } from "../../protocol/index.ts";
import { fieldIssueWords } from "./issue-text.ts";

const said = (
  schema: typeof meshConfigSchema | typeof meshAgentConfigSchema | typeof messageHeaderSchema,
  value: unknown,
) => {
  const { error } = schema.safeParse(value);
  return error && fieldIssueWords(error, value, schema);
};

test("headers: what is missing, wrong or unknown is said by its name, with what there is", () => {
  const good = { from: "human", to: "pair", type: "task" };
  const { from: _, ...withoutFrom } = good;
  expect([
    said(messageHeaderSchema, withoutFrom),
    said(messageHeaderSchema, { ...good, type: "tsk" }),
    said(messageHeaderSchema, { ...good, colour: "red" }),
    said(messageHeaderSchema, { ...good, stauts: "pending" }),
    said(messageHeaderSchema, { ...good, to: "" }),
    said(messageHeaderSchema, { ...good, to: "x".repeat(300) }),
    said(messageHeaderSchema, { ...good, timestamp: "yesterday" }),
  ]).toEqual([
    '"from": it is missing',
    '"type": there is no tsk. Did you mean task? Choose from: task, ask, ask-response, task-complete, error',
    'there is no field "colour". Choose from: from, to, type, status, msg-id, timestamp, task, step, in-reply-to, thread, hops, turn',
    'there is no field "stauts". Did you mean "status"? Choose from: from, to, type, status, msg-id, timestamp, task, step, in-reply-to, thread, hops, turn',
    '"to": it is empty',
    '"to": it is too long; at most 200 characters are allowed',
    '"timestamp": expected a time such as 2026-11-16T09:00:00Z, and it is yesterday',
  ]);
});

test("configs: types, lists and nested fields", () => {
  const good = { mesh: "m", type: "task", agents: ["a/b"] };
  expect([
    said(meshConfigSchema, { ...good, agents: [] }),
    said(meshConfigSchema, { ...good, agents: "a/b" }),
    said(meshConfigSchema, { mesh: "m", agents: ["a/b"] }),
    said(meshConfigSchema, { ...good, mesh: "Not Plain" }),
    said(meshConfigSchema, { ...good, storage: { shraed: true } }),
    said(meshConfigSchema, { ...good, workflow: 7 }),
    said(meshConfigSchema, []),
    said(meshAgentConfigSchema, { name: "b", options: { runs: "tmxu" } }),
  ]).toEqual([
    '"agents": it is empty',
    '"agents": expected a list, and it is a/b',
    '"type": it is missing; one of persistent, ephemeral, task, sequential, parallel, map-reduce, hierarchical is needed',
    '"mesh": expected a-z, 0-9, - and _, at most 48 characters',
    '"storage": there is no field "shraed". Did you mean "shared"? Choose from: shared, concepts_path',
    '"workflow": 7 has none of the allowed forms',
    "expected fields in braces, and it is []",
    '"options.runs": there is no tmxu. Did you mean tmux? Choose from: tmux, headless, harnessed',
  ]);
});
