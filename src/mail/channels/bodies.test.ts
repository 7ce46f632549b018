import fc from "fast-check";
import { expect, test } from "vitest";
import { discordBody } from "./discord.ts";
import { slackBody } from "./slack.ts";
import type { Utterance } from "./utterance.ts";
import { webhookBody } from "./webhook.ts";

const BODIES = { plain: webhookBody, slack: slackBody, discord: discordBody };
const bodyOf = (said: Utterance, preset: keyof typeof BODIES) => JSON.stringify(BODIES[preset](said));

const QUESTION: Utterance = {
  fact: 7,
  ts: 1_767_225_600,
  topic: "questions",
  of: "question-1",
  text: "Which one?",
  choices: ["SQLite", "PostgreSQL"],
  deadline_ts: 1_767_229_200,
  default: "SQLite",
  delivery: "agent-abcd.question-1.7.pager",
  agent: { id: "agent-abcd", name: "database" },
  from: { id: "alice", name: "Alice" },
};
const REQUEST: Utterance = {
  ...without(QUESTION),
  topic: "questions",
  text: "May it?",
  choices: ["allow", "deny"],
  permission: true,
};
const MESSAGE: Utterance = without({ ...QUESTION, topic: "messages", of: "msg-3", text: "Half is done." });
const END: Utterance = without({ ...QUESTION, topic: "ends", of: "run-1", text: "All is done.", ended: "completed" });

test("the plain body says everything there is to know", () => {
  const head = {
    version: 1,
    delivery: "agent-abcd.question-1.7.pager",
    agent: { id: "agent-abcd", name: "database" },
    from: { id: "alice", name: "Alice" },
    at: "2026-01-01T00:00:00.000Z",
  };
  expect([QUESTION, REQUEST, MESSAGE, END].map((said) => JSON.parse(bodyOf(said, "plain")))).toEqual([
    {
      ...head,
      kind: "question",
      question: {
        id: "question-1",
        text: "Which one?",
        choices: ["SQLite", "PostgreSQL"],
        deadline: "2026-01-01T01:00:00.000Z",
        default: "SQLite",
      },
    },
    {
      ...head,
      kind: "question",
      question: { id: "question-1", text: "May it?", choices: ["allow", "deny"], permission: true },
    },
    { ...head, kind: "message", message: { id: "msg-3", text: "Half is done." } },
    { ...head, kind: "end", end: { run_id: "run-1", status: "completed", text: "All is done." } },
  ]);
});

test("Slack's body is text and blocks, in which nothing is markup", () => {
  const said = { ...QUESTION, text: "<!channel> & <https://evil.example|our site> *now*" };
  const plain = (text: string) => ({ type: "plain_text", text, emoji: false });
  const words = "&lt;!channel&gt; &amp; &lt;https://evil.example|our site&gt; *now*";
  expect(JSON.parse(bodyOf(said, "slack"))).toEqual({
    text: `Alice of database asks: ${words}`,
    mrkdwn: false,
    blocks: [
      { type: "header", text: plain("Alice of database asks") },
      { type: "section", text: plain(words) },
      { type: "section", text: plain("1. SQLite\n2. PostgreSQL") },
      {
        type: "context",
        elements: [
          plain("Answer by 2026-01-01T01:00:00.000Z, otherwise: SQLite"),
          plain('Answer with: agiraph answer agent-abcd --question question-1 "…"'),
        ],
      },
    ],
  });
});

test("Discord's body is content and embeds, in which nobody is mentioned and nothing is markup", () => {
  const said = { ...MESSAGE, text: "@everyone see [our site](https://evil.example/a_b) and https://ok.example/a_b" };
  expect(JSON.parse(bodyOf(said, "discord"))).toEqual({
    content: "Alice of database says",
    embeds: [
      {
        description: "@\u200beveryone see \\[our site\\]\\(https://evil.example/a_b\\) and https://ok.example/a_b",
      },
    ],
    allowed_mentions: { parse: [] },
  });
});

test("an end says how it ended", () => {
  expect(JSON.parse(bodyOf(END, "discord"))).toMatchObject({ content: "database has finished" });
  expect(JSON.parse(bodyOf({ ...END, ended: "failed" }, "slack"))).toMatchObject({
    text: "database has failed: All is done.",
  });
});

test("characters that hide or turn what follows are written out", () => {
  const said = { ...MESSAGE, text: "a\u202eb\u0007c\u2066d\r\ne\ud800" };
  expect(JSON.parse(bodyOf(said, "slack"))).toMatchObject({
    text: "Alice of database says: a⟨U+202E⟩b⟨U+0007⟩c⟨U+2066⟩d\ne\ufffd",
  });
});

test.each([
  ["a".repeat(3000), "a".repeat(3000)],
  ["a".repeat(3001), `${"a".repeat(2970)}… (31 more characters)`],
  ["&".repeat(601), `${"&amp;".repeat(594)}… (7 more characters)`],
  ["😀".repeat(1501), `${"😀".repeat(1485)}… (16 more characters)`],
])("what is too long is cut between characters, and says how much is missing", (text, shown) => {
  const [, section] = JSON.parse(bodyOf({ ...MESSAGE, text }, "slack")).blocks;
  expect(section.text.text).toBe(shown);
});

const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 5000 }),
  fc.string({
    unit: fc.constantFrom(..."<>&@!|*_`[]()\\ \n#a😀", "@everyone", "@here", "<!here>", "<@1>", "https://x.y/_"),
    maxLength: 6000,
  }),
);

test("whatever is said, Slack reads no mention or link in it, and takes its length", () => {
  fc.assert(
    fc.property(words, words, (text, choice) => {
      const body = JSON.parse(bodyOf({ ...QUESTION, text, choices: [choice, "b"] }, "slack"));
      expect(body.text.length).toBeLessThanOrEqual(3000);
      for (const [each, limit] of slackTexts(body)) {
        expect(each.length).toBeGreaterThan(0);
        expect(each.length).toBeLessThanOrEqual(limit);
        expect(each).not.toMatch(/[<>]|&(?!(amp|lt|gt);)/);
        expect(each.isWellFormed()).toBe(true);
      }
    }),
  );
});

test("whatever is said, Discord reads no mention or markup in it, and takes its length", () => {
  fc.assert(
    fc.property(words, words, (text, choice) => {
      const body = JSON.parse(bodyOf({ ...QUESTION, text, choices: [choice, "b"] }, "discord"));
      const [embed] = body.embeds;
      const all: [string, number][] = [
        [body.content, 2000],
        [embed.description, 4096],
        ...embed.fields.map(({ value }: { value: string }): [string, number] => [value, 1024]),
      ];
      expect(all.reduce((sum, [each]) => sum + each.length, 100)).toBeLessThanOrEqual(6000);
      for (const [each, limit] of all) {
        expect(each.length).toBeGreaterThan(0);
        expect(each.length).toBeLessThanOrEqual(limit);
        expect(each).not.toMatch(/@(everyone|here|[!&]?\d)/);
        const outside = each.replaceAll(/\\[^0-9A-Za-z\s]/g, "").replaceAll(/https?:\/\/[^\s<>()[\]{}"'`|*\\@]+/g, "");
        expect(outside).not.toMatch(/[\\`*_~|<>[\]]/);
        expect(each.isWellFormed()).toBe(true);
      }
      expect(body.allowed_mentions).toEqual({ parse: [] });
    }),
  );
});

function slackTexts(body: { blocks: SlackBlock[] }): [string, number][] {
  const limits: Record<string, number> = { header: 150, section: 3000, context: 3000 };
  return body.blocks.flatMap(({ type, text, elements = [] }) =>
    [...(text ? [text] : []), ...elements].map((each): [string, number] => {
      expect(each.type).toBe("plain_text");
      return [each.text, limits[type] ?? 0];
    }),
  );
}

interface SlackBlock {
  type: string;
  text?: { type: string; text: string };
  elements?: { type: string; text: string }[];
}

function without({ choices: _c, deadline_ts: _d, default: _f, ...said }: Utterance): Utterance {
  return said;
}
