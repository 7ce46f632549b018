import { expect, test } from "vitest";
import { factFilter } from "./fact-filter.ts";

test("a person who has work of their own is named once among those there are", () => {
  const now = { roster: { coordinator: {}, human: {} }, board: { nodes: {} } };
  expect(() => factFilter({ worker: "Zoe" }, now as never)).toThrow(
    'There is no worker "Zoe". Choose from: coordinator, human.',
  );
});
