import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Channel } from "../mail/channels/channel.ts";
import type { Utterance } from "../mail/channels/utterance.ts";
import { defineProvider } from "../models/catalog/model-provider.ts";
import { call, script, startTeam, temporaryHome, until } from "../testing/index.ts";
import * as z from "../tools/schema.ts";
import { defineTool } from "../tools/tool.ts";
import { SettingsError } from "./config/settings.ts";
import type { Additions } from "./extensions/additions.ts";
import { openRuntime } from "./open-runtime.ts";

const tool = (name: string, close = async () => {}) =>
  defineTool({
    name,
    description: "Adds.",
    repeatable: true,
    parameters: z.object({}),
    run: async () => "done",
    close,
  });

/** One of each kind, that note when they are closed. */
function additions(closed: string[]): Required<Additions> {
  const close = (what: string) => async () => void closed.push(what);
  return {
    tools: [tool("add", close("tool"))],
    providers: [defineProvider({ name: "acme", model: () => ({ reply: say("Hi.") }), close: close("provider") })],
    channels: [{ name: "pager", deliver: async () => ({ kind: "delivered" }), close: close("channel") }],
  };
}

const say = (words: string) => async () => ({ content: [{ type: "text" as const, text: words }] });

test("OPEN-1: what cannot be added is refused before anything is opened", async () => {
  await using home = await temporaryHome();
  const open = (more: Additions, config = {}) => openRuntime({ home: home.path, env: {}, config, ...more });
  const pager: Channel = { name: "pager", deliver: async () => ({ kind: "delivered" }) };
  const channels = { pager: { type: "webhook", url: "https://example.org", secret: "0123456789abcdef" } };
  await expect(open({ tools: [tool("bash")] })).rejects.toThrow(
    new SettingsError('The tool "bash" is built in. Give yours another name.'),
  );
  await expect(open({ tools: [tool("tx_done")] })).rejects.toThrow('The tool "tx_done" is built in.');
  await expect(open({ tools: [tool("a"), tool("a")] })).rejects.toThrow('The tool "a" is defined twice.');
  await expect(open({ channels: [pager] }, { channels })).rejects.toThrow(
    'The channel "pager" already exists (config.json). Rename one of them.',
  );
  for (const name of ["terminal", "web"])
    await expect(open({ channels: [{ ...pager, name }] })).rejects.toThrow(
      `The channel "${name}" is built in. Give yours another name.`,
    );
  const provider = { name: "gemini", model: () => ({ reply: say("Hi.") }) };
  await expect(open({ providers: [provider] })).rejects.toThrow('The provider "gemini" is built in.');
  await expect(open({ channels: [{ ...pager, name: "No Name" }] })).rejects.toThrow(
    '"No Name" cannot be a channel\'s name. Use lower-case letters, digits, - and _, at most 40.',
  );
  await (await open(additions([]))).close();
});

test("OPEN-2: whoever opens a runtime closes one thing, once; one that fails to close keeps nothing open", async () => {
  await using home = await temporaryHome();
  const closed: string[] = [];
  const { tools, providers, channels } = additions(closed);
  const bad = tool("bad", () => Promise.reject(new Error("cannot close")));
  const runtime = await openRuntime({
    ...{ home: home.path, env: {}, config: {} },
    ...{ tools: [bad, ...tools], providers, channels },
  });
  const agent = await runtime.create({ goal: "Say hi.", model: "acme/any" });
  await agent.idle();
  expect(closed).toEqual([]);
  await runtime.close();
  expect(closed).toEqual(["tool", "provider", "channel"]);
});

test("OPEN-2: what was added is closed, and the home is free again, where the opening fails", async () => {
  await using home = await temporaryHome();
  const closed: string[] = [];
  const config = { memory: { embeddings: "nobody/knows" } };
  await expect(openRuntime({ home: home.path, env: {}, config, ...additions(closed) })).rejects.toThrow(
    "memory.embeddings in config.json",
  );
  expect(closed).toEqual(["tool", "provider", "channel"]);
  await (await openRuntime({ home: home.path, env: {}, config: {} })).close();
});

test("OPEN-2: what was added is closed also where the home cannot be opened, or a name is taken", async () => {
  await using home = await temporaryHome();
  const file = join(home.path, "file");
  await writeFile(file, "");
  const closed: string[] = [];
  const { tools, ...others } = additions(closed);
  await expect(openRuntime({ home: file, env: {}, config: {}, ...additions(closed) })).rejects.toThrow(
    /cannot be used: it is.* a file, or is below one\. Choose another/,
  );
  const given = { tools: [tool("bash"), ...tools], ...others };
  await expect(openRuntime({ home: home.path, env: {}, config: {}, ...given })).rejects.toThrow("is built in");
  expect(closed).toEqual(["tool", "provider", "channel", "tool", "provider", "channel"]);
});

test("a channel that was added delivers what it is for, and what it hands in is the human's word", async () => {
  const heard: Utterance[] = [];
  let receive: Parameters<NonNullable<Channel["listen"]>>[0] | undefined;
  const events: string[] = [];
  const pager: Channel = {
    name: "pager",
    to: ["questions"],
    async deliver(said) {
      heard.push(said);
      return { kind: "delivered" };
    },
    async listen(given) {
      receive = given;
      return { close: () => void events.push("deaf") };
    },
    close: async () => void events.push("closed"),
  };
  const deaf: Channel = {
    name: "deaf",
    deliver: async () => ({ kind: "delivered" }),
    listen: () => Promise.reject(new Error("no port")),
  };
  await using team = await startTeam({
    goal: "Choose",
    coordinator: script(
      call("ask_human", { question: "Which?" }),
      call("finish", { summary: "Done." }).after("the left"),
    ),
    added: { channels: [pager, deaf] },
  });
  await team.runtime.listen();
  expect(team.runtime.deafChannels).toEqual([{ channel: "deaf", why: "no port" }]);
  await until(team.agent, ({ outbox }) => Object.keys(outbox.open).length === 2 && heard.length === 1);
  const [asked] = heard;
  expect(asked).toMatchObject({ topic: "questions", text: "Which?", of: "question-1", agent: { name: "choose" } });
  const words = { agent_id: asked?.agent.id ?? "", question_id: "question-1", response: "the left" };
  await expect(receive?.({ ...words, question_id: "question-9" })).rejects.toThrow(
    'There is no question "question-9".',
  );
  await expect(receive?.({ agent_id: "x", message: "" })).rejects.toThrow(/agent_id: .*Expected \{agent_id, /);
  await receive?.(words);
  await team.outcome();
  const facts = await team.facts();
  await team.runtime.close();
  expect(events).toEqual(["deaf", "closed"]);
  expect(facts.find(({ type }) => type === "human.response")).toMatchObject({ data: { channel: "channel:pager" } });
});
