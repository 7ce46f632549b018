import Fastify from "fastify";
import { expect, test } from "vitest";
import { createLogger, requestId } from "./logs.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const KEY = 'sk-"quoted"-key';

test("requests are logged with their id, and no token, cookie or one-time link in any of their disguises", async () => {
  const { lines, logger } = journal({ ANTHROPIC_API_KEY: KEY, HOME: "/somewhere" });
  const app = Fastify({ loggerInstance: logger, genReqId: requestId });
  app.get("/login", async (request) => {
    request.log.warn({ headers: request.headers, token: TOKEN, deep: { api_key: "anything" } }, `the key is ${KEY}`);
    request.log.error(new Error(`Refused: ${TOKEN} at /somewhere`));
    return "in";
  });
  await app.inject({
    url: "/login?once=one-time-secret&next=/ui",
    headers: {
      authorization: `Bearer ${TOKEN}`,
      cookie: "agiraph=cookie-secret",
      "sec-websocket-protocol": `bearer.${TOKEN}`,
    },
  });
  await app.close();

  const all = lines.join("");
  expect(
    [TOKEN, JSON.stringify(KEY).slice(1, -1), "cookie-secret", "one-time-secret", "anything"].filter((secret) =>
      all.includes(secret),
    ),
  ).toEqual([]);
  const [incoming, warning, error, completed] = lines.map((line) => JSON.parse(line));
  expect(incoming).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    reqId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}$/),
    req: { method: "GET", url: "/login?once=[redacted]&next=/ui", host: "localhost:80", from: "127.0.0.1" },
    msg: "incoming request",
  });
  expect([warning.msg, error.err.message]).toEqual([
    "the key is [redacted: ANTHROPIC_API_KEY]",
    "Refused: [redacted: token] at /somewhere",
  ]);
  expect(completed).toMatchObject({ reqId: incoming.reqId, res: { status: 200 }, msg: "request completed" });
});

test("how much is said is up to AGIRAPH_LOG_LEVEL, then to whether a person reads along", () => {
  const said = (env: Record<string, string>, isTerminal: boolean) => {
    const { lines, logger } = journal(env, isTerminal);
    logger.debug("debug");
    logger.info("info");
    logger.warn("warn");
    return lines.map((line) => JSON.parse(line).msg);
  };
  expect([
    said({}, false),
    said({}, true),
    said({ AGIRAPH_LOG_LEVEL: "DEBUG" }, true),
    said({ AGIRAPH_LOG_LEVEL: "silent" }, false),
  ]).toEqual([["info", "warn"], ["warn"], ["debug", "info", "warn"], []]);
  expect(() => journal({ AGIRAPH_LOG_LEVEL: "loud" })).toThrow(
    'AGIRAPH_LOG_LEVEL is "loud". It can be fatal, error, warn, info, debug, trace, silent.',
  );
});

function journal(env: Record<string, string>, isTerminal = false) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, logger: createLogger({ settings: { env }, secrets: [TOKEN], destination, isTerminal }) };
}
