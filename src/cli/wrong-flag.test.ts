import { expect, test } from "vitest";
import { ApiError } from "../client/transport.ts";
import { WrongField } from "../runtime/agent-order.ts";
import { UsageError } from "./exit-code.ts";
import { asUsageError, sourcesOf } from "./wrong-flag.ts";

test("a model that does not exist is wrong usage, here and through another process; one without a key is not", () => {
  const detail = { field: "model", problem: "There is no model a/b." };
  const here = (code: string) => new WrongField(detail.field, detail.problem, code);
  const there = (code: string) => new ApiError(400, code, "model: There is no model a/b.", [detail]);
  for (const unknown of [here("unknown_model"), there("unknown_model")]) {
    expect(() => asUsageError(sourcesOf({ model: "a/b" }))(unknown)).toThrow(
      new UsageError("--model: There is no model a/b."),
    );
    expect(() => asUsageError(sourcesOf({}, { model: "AGIRAPH_MODEL" }))(unknown)).toThrow(
      new UsageError("AGIRAPH_MODEL: There is no model a/b."),
    );
    expect(() => asUsageError(sourcesOf({}))(unknown)).toThrow(new UsageError("There is no model a/b."));
  }
  for (const unusable of [here("unusable_model"), there("unusable_model")])
    expect(() => asUsageError(sourcesOf({}))(unusable)).toThrow(unusable);
});
