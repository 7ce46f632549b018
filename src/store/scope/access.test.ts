import { expect, test } from "vitest";
import { AccessTable } from "./access.ts";

test("a name stands for itself alone, and a star for a part of one name", () => {
  const table = new AccessTable([
    { at: "nodes/node-1/**", access: "write", why: "" },
    { at: "nodes/*/published/**", access: "read", why: "" },
    { at: "notes.md", access: "read", why: "" },
    { at: "*.jsonl", access: "read", why: "" },
  ]);
  const accessTo = (path: string) => table.judge(path.split("/")).access;

  expect({
    own: accessTo("nodes/node-1/draft.md"),
    itsNeighbour: accessTo("nodes/node-10/draft.md"),
    itsBeginning: accessTo("nodes/node-/draft.md"),
    anybodysResults: accessTo("nodes/node-10/published/a.md"),
    likeResults: accessTo("nodes/node-10/published2/a.md"),
    notes: accessTo("notes.md"),
    likeNotes: accessTo("notes-md"),
    otherCase: accessTo("Notes.md"),
    record: accessTo("events.jsonl"),
    deeper: accessTo("runs/events.jsonl"),
  }).toEqual({
    own: "write",
    itsNeighbour: "none",
    itsBeginning: "none",
    anybodysResults: "read",
    likeResults: "none",
    notes: "read",
    likeNotes: "none",
    otherCase: "none",
    record: "read",
    deeper: "none",
  });
});
