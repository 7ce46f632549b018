import fc from "fast-check";
import { expect, test } from "vitest";
import { createScrubber } from "./scrubber.ts";
import { secretsIn } from "./secrets.ts";

const KEY = 'sk-a"b/c&d+e f1234567';
const scrubber = createScrubber([{ name: "KEY", value: KEY }]);

test.each([
  ["as it is", KEY],
  ["in JSON", JSON.stringify(KEY)],
  ["in JSON within JSON", JSON.stringify(JSON.stringify({ KEY }))],
  ["in a URL", `https://h/?key=${encodeURIComponent(KEY)}`],
  ["in a form", `key=${new URLSearchParams({ KEY }).toString()}`.replace("key=KEY=", "key=")],
  ["in HTML", KEY.replaceAll("&", "&amp;").replaceAll('"', "&quot;")],
  ...[0, 1, 2, 3].map((before) => [
    `in base64 behind ${before} bytes`,
    Buffer.from(`${"x".repeat(before)}${KEY}yz`).toString("base64"),
  ]),
  ["in base64url", Buffer.from(KEY).toString("base64url")],
])("SCRUB-1. a secret is taken out %s", (_, text) => {
  expect(scrubber.text(`<${text}>`)).toContain("[redacted: KEY]");
});

test("SCRUB-2. what holds no secret comes back as the same object; names of fields are looked at too", () => {
  const clean = { a: ["sk-a", { b: null, c: 1 }], d: "plain" };
  expect(scrubber.value(clean)).toBe(clean);
  expect(scrubber.value({ a: [{ [KEY]: [`x${KEY}`] }], b: clean })).toEqual({
    a: [{ "[redacted: KEY]": ["x[redacted: KEY]"] }],
    b: clean,
  });
  const hostile = JSON.parse(`{"__proto__": {"x": ${JSON.stringify(KEY)}}}`);
  expect(JSON.stringify(scrubber.value(hostile))).toBe('{"__proto__":{"x":"[redacted: KEY]"}}');
});

test("what is nested without end neither throws nor keeps its secret", () => {
  let deep: unknown = KEY;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(JSON.stringify(scrubber.value(deep))).not.toContain(KEY);
});

test("SCRUB-3. however streamed words are cut, no secret is passed on and nothing else is lost", () => {
  const secrets = ["abcabcabc123", "abcabcabc123456", "zzzz-9999-zzzz"];
  const several = createScrubber(secrets.map((value) => ({ name: "S", value })));
  const word = fc.constantFrom(...secrets, "abc", "abcabc", "z", "zzzz-", " ", "plain ", "123", "-9999");
  fc.assert(
    fc.property(fc.array(word), fc.array(fc.nat(200)), (words, cuts) => {
      const text = words.join("");
      const borders = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const stream = several.stream();
      const heard = borders.slice(1).map((end, at) => stream.push(text.slice(borders[at], end)));
      const whole = [...heard, stream.end()].join("");
      expect(secrets.filter((secret) => whole.includes(secret))).toEqual([]);
      expect(whole).toBe(several.text(text));
    }),
  );
});

test("words that are no secret are passed on at once", () => {
  const stream = scrubber.stream();
  expect([stream.push("Hello "), stream.push("world, s"), stream.push("k"), stream.push("ill."), stream.end()]).toEqual(
    ["Hello ", "world, ", "", "skill.", ""],
  );
});

test("short values and the words people set where no key is needed are left alone", () => {
  const values = ["", "none", "ollama", "lm-studio", "not-needed", "abc1234"];
  const lenient = createScrubber(values.map((value) => ({ name: "KEY", value })));
  expect(lenient.text(values.join(" "))).toBe(values.join(" "));
  expect(createScrubber([{ name: "KEY", value: "abcd1234" }]).text("abcd1234")).toBe("[redacted: KEY]");
});

test("secrets are found by the names of variables, in addresses, and where config.json names or holds them", () => {
  const found = secretsIn({
    env: {
      PATH: "/usr/bin",
      GOOGLE_APPLICATION_CREDENTIALS: "/home/me/google key.json",
      ANTHROPIC_API_KEY: " sk-1 ",
      GITHUB_TOKEN: "gh-1",
      DB_PASSWORD_2: "db-1",
      DATABASE_URL: "postgres://me:p%40ss@host/db",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20otel-1,x=y",
      LOCAL: "local-1",
      HOOK: "hook-1",
      WEB: "Bearer web-1",
    },
    config: {
      providers: { local: { base_url: "http://h", api_key_env: "LOCAL" } },
      channels: {
        pager: { type: "webhook", url: "https://h/x", secret: "written-1" },
        door: { type: "webhook", url: "https://h/x", secret_env: "HOOK" },
        chat: { type: "webhook", url: "https://hooks.slack.com/services/T/B/x", preset: "slack" },
      },
      mcp_servers: {
        web: { url: "https://h", headers_env: { authorization: "WEB" } },
        own: { command: ["x"], set: { OWN_TOKEN: "own-1", LEVEL: "debug" } },
      },
    },
  });
  expect(Object.fromEntries(found.map(({ name, value }) => [value, name]))).toEqual({
    "sk-1": "ANTHROPIC_API_KEY",
    "gh-1": "GITHUB_TOKEN",
    "db-1": "DB_PASSWORD_2",
    "p%40ss": "DATABASE_URL",
    "p@ss": "DATABASE_URL",
    "otel-1": "OTEL_EXPORTER_OTLP_HEADERS",
    y: "OTEL_EXPORTER_OTLP_HEADERS",
    "local-1": "LOCAL",
    "hook-1": "HOOK",
    "web-1": "WEB",
    "written-1": "channels.pager.secret",
    "/services/T/B/x": "channels.chat.url",
    "own-1": "own.set.OWN_TOKEN",
  });
});
