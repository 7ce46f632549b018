import { expect, test } from "vitest";
import { ModelFailure, type ModelRequest } from "../models/model.ts";
import { type Entry, NO_USAGE, type ReplyEntry } from "../protocol/index.ts";
import { type ScriptedModel, script } from "./script.ts";
import { both, call, fail, hang, say } from "./script-step.ts";

test("steps are played in order, one a reply, each as a whole reply entry", async () => {
  const model = script(
    say("Let me see."),
    both("Two at once.", call("read", { path: "a" }), call("read", { path: "b" })),
    call("finish"),
  );
  const talk = conversation(model);

  expect([await talk.ask(), await talk.ask(), await talk.ask()]).toEqual([
    reply([{ type: "text", text: "Let me see." }], "stop"),
    reply(
      [
        { type: "text", text: "Two at once." },
        { type: "call", id: "call-1", name: "read", args: { path: "a" } },
        { type: "call", id: "call-2", name: "read", args: { path: "b" } },
      ],
      "tool-calls",
    ),
    reply([{ type: "call", id: "call-3", name: "finish", args: {} }], "tool-calls"),
  ]);
  model.assertDone();
});

test("a step with .after stays unplayed, and the model silent, until all its words were heard", async () => {
  const model = script(call("finish").after("node-1 completed", "node-2 completed"));
  const talk = conversation(model);

  talk.hear("node-2 completed");
  expect([await talk.words(), model.played]).toEqual(["…", 0]);
  talk.hear("Please go on.");
  expect([await talk.words(), model.played]).toEqual(["…", 0]);
  talk.result("news: node-1 completed, at last");
  expect([await talk.words(), model.played]).toEqual(["finish()", 1]);
});

test("nobody waits for what they know: a wait is passed over when the words after it were heard already", async () => {
  const steps = [call("check_messages", { wait: true }), call("finish").after("the module is done")];
  const early = script(...steps);
  const told = conversation(early);
  told.hear("the module is done");
  expect(await told.words()).toBe("finish()");
  early.assertDone();

  const talk = conversation(script(...steps));
  expect(await talk.words()).toBe("check_messages()");
  const plain = conversation(script(call("check_messages", { wait: true }), call("finish")));
  plain.hear("the module is done");
  expect(await plain.words()).toBe("check_messages()");
});

test("a row of waits is for what may come before: as many are played as it takes", async () => {
  const waits = Array.from({ length: 4 }, () => call("check_messages", { wait: true }));
  const model = script(...waits, call("finish").after("the module is done"));
  const talk = conversation(model);
  expect(await talk.words()).toBe("check_messages()");
  talk.hear("node-2 completed by Ben");
  expect([await talk.words(), model.played]).toEqual(["check_messages()", 2]);
  talk.hear("the module is done");
  expect(await talk.words()).toBe("finish()");
  model.assertDone();
});

test("what the model says itself it has not heard", async () => {
  const model = script(say("node-1 completed"), call("finish").after("node-1 completed"));
  const talk = conversation(model);
  await talk.ask();
  expect(await talk.words()).toBe("…");
});

test("what was heard stays heard when a summary hides it", async () => {
  const model = script(say("Noted."), call("finish").after("the secret word"));
  const talk = conversation(model);
  talk.hear("the secret word");
  await talk.ask();
  talk.history.splice(0, talk.history.length, { role: "summary", content: "They talked." });
  expect(await talk.words()).toBe("finish()");
});

test("a reply beyond the last step fails at once and says what was heard last; assertDone fails for it again", async () => {
  const model = script(say("Done."));
  const talk = conversation(model);
  await talk.ask();
  talk.hear("And now?");

  const problem =
    'The script of scripted/model has 1 steps, and one more reply was asked for after human said "And now?". Add a step, or let the last one end the work.';
  await expect(talk.ask()).rejects.toThrow(problem);
  expect(() => model.assertDone()).toThrow(problem);
});

test("steps left unplayed fail, and the message says which words were never heard", async () => {
  const model = script(
    say("Hello."),
    call("finish", { summary: "ok" }).after("node-1 completed", "Hello"),
    fail("server"),
  );
  const talk = conversation(model);
  talk.hear("Hello");
  await talk.ask();
  expect(() => model.assertDone()).toThrow(
    [
      'The script of scripted/model was left with 2 of 3 steps unplayed. The first of them waits for words that were never heard: "node-1 completed".',
      '  2. call("finish", {"summary":"ok"}).after("node-1 completed", "Hello")',
      '  3. fail("server")',
    ].join("\n"),
  );
});

test("a failure rejects as the model's own, and is told to the listener as the last attempt", async () => {
  const model = script(fail("auth", { status: 401, message: "No such key." }), say("Back."));
  const told: unknown[] = [];
  const asked = conversation(model).ask({ onFailure: (failure, retryInMs) => told.push([failure.message, retryInMs]) });

  await expect(asked).rejects.toEqual(new ModelFailure("auth", "No such key.", { retryable: false, status: 401 }));
  expect(told).toEqual([["No such key.", null]]);
});

test("a failure that the model gets over is told to the listener, and the next step follows in the same reply", async () => {
  const model = script(
    fail("rate_limited", { status: 429, retriedInMs: 2_000 }),
    fail("server", { retriedInMs: 4_000 }),
    say("Here I am."),
  );
  const told: unknown[] = [];
  const answer = await conversation(model).ask({
    onFailure: ({ reason, status }, retryInMs) => told.push({ reason, status, retryInMs }),
  });

  expect(answer).toEqual(reply([{ type: "text", text: "Here I am." }], "stop"));
  expect(told).toEqual([
    { reason: "rate_limited", status: 429, retryInMs: 2_000 },
    { reason: "server", status: undefined, retryInMs: 4_000 },
  ]);
  model.assertDone();
});

test("usage, cost and thoughts are the step's, the window and the name the script's", async () => {
  const model = script(say("Hm.").with({ usage: { input: 900, output: 10 }, cost_usd: 0.25, thinking: "Is it?" })).with(
    {
      id: "anthropic/claude-sonnet-4-5",
      contextWindow: 1_000,
    },
  );
  expect({ reply: await conversation(model).ask(), window: model.contextWindow }).toEqual({
    reply: {
      ...reply(
        [
          { type: "reasoning", text: "Is it?" },
          { type: "text", text: "Hm." },
        ],
        "stop",
      ),
      model: "anthropic/claude-sonnet-4-5",
      usage: { ...NO_USAGE, input: 900, output: 10 },
      cost_usd: 0.25,
    },
    window: 1_000,
  });
});

test("words stream to the listener and add up to the reply", async () => {
  const heard: string[] = [];
  await conversation(script(say("one  two\nthree "))).ask({ onDelta: ({ text }) => heard.push(text) });
  expect([heard, heard.join("")]).toEqual([["one", "  two", "\nthree "], "one  two\nthree "]);
});

test("a model that hangs ends with the signal's reason", async () => {
  const stop = new AbortController();
  const hanging = conversation(script(hang())).ask({}, stop.signal);
  stop.abort("the human said stop");
  await expect(hanging).rejects.toBe("the human said stop");
});

test("a step held by a promise is played when it resolves", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const model = script(say("Now.").until(promise));
  const talk = conversation(model);
  const asked = talk.words();
  expect(model.played).toBe(0);
  resolve();
  expect([await asked, model.played]).toEqual(["Now.", 1]);
});

test("requests are kept as they were, although the history grows on", async () => {
  const model = script(say("A"), say("B"));
  const talk = conversation(model);
  talk.hear("first");
  await talk.ask();
  talk.hear("second");
  await talk.ask();
  expect(model.requests.map(({ system, history, tools }) => [system, history.length, tools])).toEqual([
    ["You are a test.", 1, []],
    ["You are a test.", 3, []],
  ]);
});

test("a fresh script on an older conversation never uses a call id twice", async () => {
  const history = conversation(script(call("read"))).history;
  await conversation(script(call("read")), history).ask();
  await conversation(script(call("read")), history).ask();
  expect(history).toEqual([
    reply([{ type: "call", id: "call-1", name: "read", args: {} }], "tool-calls"),
    reply([{ type: "call", id: "call-2", name: "read", args: {} }], "tool-calls"),
  ]);
});

test("mistakes in a script are told when it is written", () => {
  expect(() => both(say("x"), fail("server"))).toThrow("both() joins say and call; a failure stands alone.");
  expect(() => fail("server").with({ cost_usd: 1 })).toThrow(
    "A failure has no usage, no cost and no thoughts: put .with() on a reply.",
  );
});

function reply(content: ReplyEntry["content"], finish: string): ReplyEntry {
  return { role: "assistant", content, model: "scripted/model", usage: NO_USAGE, cost_usd: 0, finish };
}

function conversation(model: ScriptedModel, history: Entry[] = []) {
  async function ask(more: Partial<ModelRequest> = {}, signal = new AbortController().signal) {
    const answer = await model.reply({ system: "You are a test.", history, tools: [], ...more }, signal);
    history.push(answer);
    return answer;
  }
  return {
    history,
    ask,
    words: async () =>
      (await ask()).content
        .map((part) => (part.type === "call" ? `${part.name}()` : "text" in part ? part.text : ""))
        .join(" "),
    hear: (content: string) => history.push({ role: "user", from: "human", content }),
    result: (content: string) => history.push({ role: "tool", call_id: "call-0", tool: "wait", content, ok: true }),
  };
}
