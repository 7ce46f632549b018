import { expect, test } from "vitest";
import { resumedModels } from "./resumed-models.ts";

const MODEL = "ollama/one";
const PROGRAM = "claude-code/sonnet";

const models = (created: { model: string; meshes?: true }, AGIRAPH_MODEL: string, AGIRAPH_WORKER_MODEL = "") =>
  resumedModels({}, { home: "", env: { AGIRAPH_MODEL, AGIRAPH_WORKER_MODEL }, config: {} }, created);

test("variables apply to the agents they can be meant for", () => {
  expect(models({ model: MODEL }, "ollama/two", "ollama/three")).toEqual({
    model: "ollama/two",
    worker_model: "ollama/three",
  });
  const none = { model: undefined, worker_model: undefined };
  expect(models({ model: MODEL }, PROGRAM, PROGRAM)).toEqual(none);
  expect(models({ model: PROGRAM }, "ollama/two")).toEqual(none);
  expect(models({ model: PROGRAM }, PROGRAM, "ollama/three")).toEqual({ ...none, worker_model: "ollama/three" });
  expect(models({ model: "none", meshes: true }, "ollama/two", "ollama/three")).toEqual(none);
});

test("flags are given as they are, and go before the variables", () => {
  const settings = { home: "", env: { AGIRAPH_MODEL: "ollama/two", AGIRAPH_WORKER_MODEL: "ollama/three" }, config: {} };
  expect(resumedModels({ model: PROGRAM, workerModel: "ollama/four" }, settings, { model: MODEL })).toEqual({
    model: PROGRAM,
    worker_model: "ollama/four",
  });
});
