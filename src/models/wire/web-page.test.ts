import { expect, test } from "vitest";
import { modelFailureOf, WebPageAnswer } from "../failure.ts";

test("a web page and a garbled stream are named as such, with what to check", () => {
  expect(modelFailureOf(new WebPageAnswer(), "openai/x", 0).message).toBe(
    "openai/x failed: the address answered with a web page, not with a model's reply: check the base URL, or sign in to the network.",
  );
  const page = Object.assign(new Error("Network Authentication Required"), {
    name: "AI_APICallError",
    statusCode: 511,
    responseBody: "<!doctype html><html>Welcome to the hotel</html>",
  });
  expect(modelFailureOf(page, "openai/x", 0).message).toContain(
    "answered 511: Network Authentication Required (with a web page, not with a model's reply: check the base URL, or sign in to the network).",
  );
  const garbage = Object.assign(new Error("JSON parsing failed: Text: %$#."), { name: "AI_JSONParseError" });
  expect(modelFailureOf(garbage, "openai/x", 0).message).toBe(
    "openai/x failed: JSON parsing failed: Text: %$#. That is not a model's reply; if it goes on, check the base URL.",
  );
  const ours = new SyntaxError("Unexpected token 'x' is not valid JSON");
  expect(modelFailureOf(ours, "openai/x", 0).message).toBe(
    "openai/x failed: Unexpected token 'x' is not valid JSON. That is not a model's reply; if it goes on, check the base URL.",
  );
});
