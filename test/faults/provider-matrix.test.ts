import { describe, expect, test } from "vitest";
import { ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { callsOf, type ReplyEntry, textOf } from "../../src/protocol/index.ts";
import { type ProviderServer, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { type Adapter, adapters, modelOf } from "./provider-adapters.ts";

/**
 * Every bad answer × every adapter. What must hold for all of them: a reply is whole or it is a failure with the right
 * reason; the number of requests is bounded; a wait is as long as the provider asked; an attempt that is made again is
 * the same request to the byte; nothing is left hanging.
 */
interface Case {
  /** What successive attempts get; the last stays. */
  attempts: readonly ProviderTurn[];
  expected: Seen;
  /** Where a vendor's wire, or its client, makes something else of it. */
  but?: Partial<Record<Adapter, Seen>>;
  /** Who can tell that something was passed over, and says so. */
  warns?: readonly Adapter[];
}

interface Seen {
  /** Words, calls and finish of the reply, or reason, status and wish of the failure. */
  outcome:
    | { text: string; calls: [string, unknown][]; finish: string }
    | { failed: string; status?: number; retryAfterMs?: number };
  /** Every failed attempt as it was told, and the wait before the next; null when there is no next. */
  told: [reason: string, waitMs: number | null][];
  requests: number;
}

const NOW = Date.UTC(2026, 0, 1);
const good: ProviderTurn = { text: "Reading it.", calls: [{ name: "read_file", args: { path: "a.md" } }] };
const wellRead = {
  text: "Reading it.",
  calls: [["read_file", { path: "a.md" }]] as [string, unknown][],
  finish: "tool-calls",
};

/** It went wrong once for this reason, and well after that. */
function recovered(reason: string, waitMs = 500): Seen {
  return { outcome: wellRead, told: [[reason, waitMs]], requests: 2 };
}

/** It was given up at once. */
function refused(reason: string, status?: number): Seen {
  return { outcome: { failed: reason, ...(status !== undefined && { status }) }, told: [[reason, null]], requests: 1 };
}

/** It was given up after so many tries, each wait twice the one before. */
function exhausted(reason: string, tries: number, status?: number): Seen {
  const told = Array.from({ length: tries }, (_, at): [string, number | null] => [
    reason,
    at + 1 < tries ? 500 * 2 ** at : null,
  ]);
  return { outcome: { failed: reason, ...(status !== undefined && { status }) }, told, requests: tries };
}

const cases: Record<string, Case> = {
  "a good reply": { attempts: [good], expected: { outcome: wellRead, told: [], requests: 1 } },
  "a good reply in pieces of seven bytes": {
    attempts: [{ ...good, fault: { shredded: true } }],
    expected: { outcome: wellRead, told: [], requests: 1 },
  },

  "429 with retry-after in seconds": {
    attempts: [{ fault: { status: 429, retryAfter: 7 } }, good],
    expected: recovered("rate_limited", 7_000),
  },
  "503 with retry-after as a date": {
    attempts: [{ fault: { status: 503, retryAfter: new Date(NOW + 20_000).toUTCString() } }, good],
    expected: recovered("server", 20_000),
  },
  "529 with retry-after": {
    attempts: [{ fault: { status: 529, retryAfter: 3 } }, good],
    expected: recovered("rate_limited", 3_000),
  },
  "429 without retry-after, again and again": {
    attempts: [{ fault: { status: 429 } }],
    expected: exhausted("rate_limited", 6, 429),
  },
  "429 with a retry-after of an hour": {
    attempts: [{ fault: { status: 429, retryAfter: 3_600 } }],
    expected: {
      outcome: { failed: "rate_limited", status: 429, retryAfterMs: 3_600_000 },
      told: [["rate_limited", null]],
      requests: 1,
    },
  },
  "500 once": { attempts: [{ fault: { status: 500 } }, good], expected: recovered("server") },
  "502 with a proxy's page": {
    attempts: [{ fault: { status: 502, body: "<html>Bad gateway</html>" } }, good],
    expected: recovered("server"),
  },
  "503 for ever": { attempts: [{ fault: { status: 503 } }], expected: exhausted("server", 6, 503) },
  "400": { attempts: [{ fault: { status: 400 } }], expected: refused("bad_request", 400) },
  "401": { attempts: [{ fault: { status: 401 } }], expected: refused("auth", 401) },
  "403": { attempts: [{ fault: { status: 403 } }], expected: refused("auth", 403) },
  "404": { attempts: [{ fault: { status: 404 } }], expected: refused("bad_request", 404) },
  "400 because the conversation is too long": {
    attempts: [{ fault: { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" } }],
    expected: refused("context_too_long", 400),
  },

  "an error in the stream: overloaded": {
    attempts: [{ ...good, fault: { streamError: "overloaded" } }, good],
    expected: recovered("rate_limited"),
  },
  "an error in the stream: server": {
    attempts: [{ ...good, fault: { streamError: "server" } }, good],
    expected: recovered("server"),
  },
  "truncated midway": {
    attempts: [{ ...good, fault: { truncate: "midway" } }, good],
    expected: recovered("truncated"),
  },
  "truncated after its whole call": {
    attempts: [{ ...good, fault: { truncate: "before_finish" } }, good],
    expected: recovered("truncated"),
  },
  "truncated before its first word": {
    attempts: [{ fault: { truncate: "midway" } }, good],
    expected: recovered("truncated"),
  },
  "truncated for ever": {
    attempts: [{ ...good, fault: { truncate: "before_finish" } }],
    expected: exhausted("truncated", 3),
  },
  "reset before an answer": {
    attempts: [{ fault: { reset: "before_headers" } }, good],
    expected: recovered("connection"),
  },
  "reset midway": { attempts: [{ ...good, fault: { reset: "midway" } }, good], expected: recovered("connection") },
  "reset for ever": { attempts: [{ fault: { reset: "before_headers" } }], expected: exhausted("connection", 6) },
  "a line that is not JSON": {
    attempts: [{ ...good, fault: { badJson: true } }, good],
    expected: recovered("unreadable"),
  },
  "a web page instead of a reply": {
    attempts: [{ fault: { webPage: true } }, good],
    expected: recovered("unreadable"),
  },

  "an empty reply": { attempts: [{}, good], expected: recovered("empty") },
  "empty replies for ever": { attempts: [{}], expected: exhausted("empty", 3) },
  "thoughts and nothing else": { attempts: [{ thinking: "Hm." }, good], expected: recovered("empty") },
  "a reply of 3 MB": { attempts: [{ text: "x".repeat(3_000_000) }], expected: refused("unreadable") },
  "a reply that ran out of tokens": {
    attempts: [{ text: "Once upon a", finish: "length" }],
    expected: { outcome: { text: "Once upon a", calls: [], finish: "length" }, told: [], requests: 1 },
  },
  "a reply that a filter ended": {
    attempts: [{ text: "Well,", finish: "content-filter" }],
    expected: { outcome: { text: "Well,", calls: [], finish: "content-filter" }, told: [], requests: 1 },
  },
  "a block that nobody knows": {
    attempts: [{ ...good, unknownBlock: true }],
    expected: { outcome: wellRead, told: [], requests: 1 },
    // The other vendors' clients let what they do not know pass without a word.
    warns: ["anthropic"],
  },

  "a call whose arguments are not JSON": {
    attempts: [{ calls: [{ name: "read_file", rawArgs: '{"path": "a.m' }] }],
    expected: {
      outcome: { text: "", calls: [["read_file", '{"path": "a.m']], finish: "tool-calls" },
      told: [],
      requests: 1,
    },
    // Gemini parses the arguments itself and ends such a reply with an error of its own.
    but: { google: exhausted("unreadable", 3) },
  },
  "a call of a tool that nobody has": {
    attempts: [{ calls: [{ name: "fly_to_moon", args: { seats: 2 } }] }],
    expected: {
      outcome: { text: "", calls: [["fly_to_moon", { seats: 2 }]], finish: "tool-calls" },
      told: [],
      requests: 1,
    },
  },
  "a call without arguments": {
    attempts: [{ calls: [{ name: "read_file", args: {} }] }],
    expected: { outcome: { text: "", calls: [["read_file", {}]], finish: "tool-calls" }, told: [], requests: 1 },
  },
  "several calls at once, one of them bad": {
    attempts: [
      {
        calls: [
          { name: "read_file", args: { path: "a" } },
          { name: "read_file", rawArgs: "oops" },
          { name: "nope", args: {} },
        ],
      },
    ],
    expected: {
      outcome: {
        text: "",
        calls: [
          ["read_file", { path: "a" }],
          ["read_file", "oops"],
          ["nope", {}],
        ],
        finish: "tool-calls",
      },
      told: [],
      requests: 1,
    },
    but: { google: exhausted("unreadable", 3) },
  },
};

describe.each(adapters)("%s", (adapter) => {
  test.each(Object.entries(cases))("%s", async (_, { attempts, expected, but, warns = [] }) => {
    await using server = await startProviderServer({ turns: [attempts] });
    const { warnings, waits, ...seen } = await ask(adapter, server);

    expect(seen).toEqual(but?.[adapter] ?? (adapter === "text fallback" ? asText(expected) : expected));
    expect({ waits, warned: warnings.length > 0 }).toEqual({
      waits: seen.told.flatMap(([, wait]) => (wait === null ? [] : [wait])),
      warned: warns.includes(adapter),
    });
    const [first] = server.requests;
    expect(server.requests.map(({ stream, body }) => ({ stream, body }))).toEqual(
      server.requests.map(() => ({ stream: true, body: first?.body })),
    );
    server.assertDone();
  });
});

/** One reply asked for, and everything that can be seen of it from outside. */
async function ask(adapter: Adapter, server: ProviderServer): Promise<Seen & { warnings: string[]; waits: number[] }> {
  const waits: number[] = [];
  const warnings: string[] = [];
  const told: Seen["told"] = [];
  const model = await modelOf(adapter, server, { sleep: async (ms) => void waits.push(ms), now: () => NOW });
  const request: ModelRequest = {
    system: "You read files.",
    history: [{ role: "user", from: "human", content: "What does a.md say?" }],
    tools,
    onFailure: (failure, retryInMs) => told.push([failure.reason, retryInMs]),
    onWarning: (message) => warnings.push(message),
  };
  const outcome = await model.reply(request, new AbortController().signal).then(replySeen, failureSeen);
  return { outcome, told, requests: server.requests.length, warnings, waits };
}

const tools: ModelRequest["tools"] = [
  {
    name: "read_file",
    description: "Reads a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

/** Where calls are text, the provider knows nothing of them: its reply just stops. */
function asText({ outcome, ...rest }: Seen): Seen {
  const stops = "finish" in outcome && outcome.finish === "tool-calls";
  return { outcome: stops ? { ...outcome, finish: "stop" } : outcome, ...rest };
}

function replySeen(reply: ReplyEntry): Seen["outcome"] {
  const calls = callsOf(reply).map(({ name, args }): [string, unknown] => [name, args]);
  return { text: textOf(reply).trimEnd(), calls, finish: reply.finish };
}

function failureSeen(error: unknown): Seen["outcome"] {
  if (!(error instanceof ModelFailure)) throw error;
  const { reason, status, retryAfterMs } = error;
  return {
    failed: reason,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
