import { expect, test } from "vitest";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
} from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "../scenarios/over-the-wire.ts";
import { HABITS, type Habit } from "./habits.ts";

/** One for each wire format: the other providers speak chat completions too. */
const WIRES = PROVIDERS.filter(({ name }) => name !== "OpenRouter" && name !== "Ollama");

for (const { name, model } of WIRES) {
  const shown = Object.entries(HABITS).filter(([, habit]) => !habit.not?.includes(name));
  test.each(shown)(`over ${name}, a model that %s`, async (_, habit) => {
    const life = await lifeOf(habit, model);
    expect({ ...life, requests: undefined, texts: undefined }).toEqual({
      status: habit.ends,
      summary: habit.ends === "completed" ? habit.summary : null,
      error: habit.error ? expect.stringMatching(habit.error) : null,
    });
    expect(life.requests).toBeLessThanOrEqual(habit.within);
    if (habit.hears) expect(life.texts.some((text) => habit.hears?.test(text))).toBe(true);
  });
}

test("in text mode the answer to a plain tag shows the right form, with this conversation's nonce", async () => {
  const { texts } = await lifeOf(HABITS["writes a plain tag, then calls"] as Habit, "openai-compatible/words/small");
  const [, nonce = "none"] = /<tool_call-(\w+)>/.exec(texts.join("\n")) ?? [];
  expect(texts.find((text) => text.startsWith("Nothing was run"))).toContain(
    `<tool_call-${nonce}>{"name": "tool_name"`,
  );
});

interface Life {
  status: string;
  summary: string | null;
  error: string | null;
  requests: number;
  /** What was said to a model, results included. */
  texts: string[];
}

async function lifeOf(habit: Habit, model: string): Promise<Life> {
  await using home = await temporaryHome();
  const script = new Played(habit);
  await using provider = await startProviderServer({ respond: (request) => script.answer(request) });
  const settings = { home: home.path, env: provider.env, config: configFor(provider) };
  // Nobody waits: what would be slept between tries is skipped.
  const catalog = createCatalog({ ...settings, sleep: async () => {}, random: () => 0 });
  const runtime = await openRuntime(settings, { catalog });
  try {
    const agent = await runtime.create({ goal: "Lead: look around.", model });
    if (habit.said !== undefined) {
      await script.began;
      await agent.send(habit.said);
      script.goOn();
    }
    await agent.idle();
    const { status, summary, error } = agent.now.agent;
    const texts = provider.requests.flatMap(({ messages }) => messages.map(({ text }) => text));
    return { status, summary, error, requests: provider.requests.length, texts };
  } finally {
    await runtime.close();
  }
}

/** Answers by how far a conversation is; the last turn of a habit is repeated for ever. */
class Played {
  readonly #habit: Habit;
  readonly #began = Promise.withResolvers<void>();
  readonly #goOn = Promise.withResolvers<void>();
  readonly #polled = Promise.withResolvers<void>();

  constructor(habit: Habit) {
    this.#habit = habit;
    if (habit.said === undefined) this.goOn();
    if (habit.workerWaitsFor === undefined) this.#polled.resolve();
  }

  get began(): Promise<void> {
    return this.#began.promise;
  }

  goOn(): void {
    this.#goOn.resolve();
  }

  async answer({ messages, turn }: ProviderRequest): Promise<ProviderTurn | undefined> {
    const { turns, workerWaitsFor = 0 } = this.#habit;
    const isLead = messages.find(({ role }) => role === "user")?.text.includes("Lead: look around.") ?? false;
    this.#began.resolve();
    if (isLead) await this.#goOn.promise;
    else await this.#polled.promise;
    if (isLead && turn >= workerWaitsFor) this.#polled.resolve();
    const own = "coordinator" in turns ? (isLead ? turns.coordinator : turns.worker) : turns;
    return own[Math.min(turn, own.length - 1)];
  }
}
