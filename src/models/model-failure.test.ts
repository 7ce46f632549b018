import { expect, test } from "vitest";
import { modelFailureOf } from "./model-failure.ts";

const NOW = Date.parse("Sun, 15 Nov 2026 12:00:00 GMT");

test.each([
  [{ statusCode: 429 }, "rate_limited", true],
  [{ statusCode: 529 }, "rate_limited", true],
  [{ statusCode: 429, responseBody: '{"error":{"code":"insufficient_quota"}}' }, "rate_limited", false],
  [{ statusCode: 500 }, "server", true],
  [{ statusCode: 408 }, "server", true],
  [{ statusCode: 401 }, "auth", false],
  [{ statusCode: 403 }, "auth", false],
  [{ statusCode: 400 }, "bad_request", false],
  [{ statusCode: 404 }, "bad_request", false],
  [{ statusCode: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" }, "context_too_long", false],
  [{ statusCode: 400, message: "This model's maximum context length is 8192 tokens" }, "context_too_long", false],
  [{ statusCode: 400, responseBody: '{"error":{"code":"context_length_exceeded"}}' }, "context_too_long", false],
  [
    { statusCode: 400, message: "The input token count (1200000) exceeds the maximum number of tokens allowed" },
    "context_too_long",
    false,
  ],
  [{ cause: { code: "ECONNREFUSED" } }, "connection", true],
  [{ statusCode: 200, cause: { cause: { code: "UND_ERR_SOCKET" } } }, "connection", true],
  [{ name: "AI_JSONParseError" }, "unreadable", true],
  [{ name: "AI_InvalidPromptError" }, "bad_request", false],
  [{ type: "overloaded_error" }, "rate_limited", true],
  [{ type: "server_error" }, "server", true],
])("%o is %s, worth another try: %s", (error, reason, retryable) => {
  expect(modelFailureOf(error, "p/m", NOW)).toMatchObject({ reason, retryable });
});

test.each([
  [{ "retry-after": "7" }, "", 7_000],
  [{ "retry-after": "Sun, 15 Nov 2026 12:01:30 GMT" }, "", 90_000],
  [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, "", 0],
  [{ "retry-after-ms": "250", "retry-after": "7" }, "", 250],
  [{ "retry-after": "soon" }, "", undefined],
  [{}, '{"error":{"details":[{"retryDelay":"36s"}]}}', 36_000],
  [{}, "", undefined],
])("%o %s asks for %s ms", (responseHeaders, responseBody, expected) => {
  expect(modelFailureOf({ statusCode: 429, responseHeaders, responseBody }, "p/m", NOW).retryAfterMs).toBe(expected);
});

test("it says what happened, to what, and what to do next, and does not keep the conversation that was sent", () => {
  const failure = modelFailureOf(
    { statusCode: 401, message: "invalid\n x-api-key.", requestBodyValues: {} },
    "anthropic/m",
    NOW,
  );
  const known = modelFailureOf({ statusCode: 403, message: "no" }, "anthropic/m", NOW, {
    keyVariable: "ANTHROPIC_API_KEY",
  });

  expect(known.message).toBe("anthropic/m answered 403: no. Check the key in ANTHROPIC_API_KEY.");
  expect({ message: failure.message, cause: failure.cause, status: failure.status }).toEqual({
    message: "anthropic/m answered 401: invalid x-api-key. Check the provider's key.",
    cause: undefined,
    status: 401,
  });
});

test("a connection that breaks off, and a server that is not there, are named as such", () => {
  const address = { origin: "http://127.0.0.1:11434", setting: "OLLAMA_BASE_URL" };
  const messageOf = (error: object) => modelFailureOf(error, "ollama/m", NOW, { address }).message;
  const broken = {
    name: "AI_APICallError",
    message: "Failed to process successful response",
    statusCode: 200,
    cause: { code: "UND_ERR_SOCKET" },
  };
  const refused = { message: "connect ECONNREFUSED 127.0.0.1:11434", cause: { code: "ECONNREFUSED" } };
  expect([messageOf(broken), messageOf(refused)]).toEqual([
    "ollama/m failed: the connection broke off in the middle of the reply. Check the network and the base URL.",
    "ollama/m failed: nothing listens at http://127.0.0.1:11434 (connect ECONNREFUSED 127.0.0.1:11434). Start the server there, or correct OLLAMA_BASE_URL. Check the network and the base URL.",
  ]);
});
