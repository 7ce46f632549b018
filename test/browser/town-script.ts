import type { ProviderRequest, ProviderServerOptions, ProviderTurn } from "../../src/testing/index.ts";
import { chipTeam } from "./chip-team.ts";

const call = (name: string, args: unknown) => ({ name, args });

/** What each agent of the town is for; the models know them apart by these words. */
export const GOALS = {
  broke: "Read every paper there is about heat pumps.",
  unreachable: "Ask the far model about the weather.",
  refused: "Ask with a key that is not valid.",
  staged: "Find out whether a small bakery should sell online.",
  asleep: "Watch the price of copper, and say when it moves.",
  resting: "Remind me of the tax return.",
  saying: "Explain how a heat pump works.",
  waiting: "Sort the letters of the archive.",
  paused: "Translate the menu.",
  leave: "Bring the tests of the shop up to date.",
  urgent: "Book a room for the workshop.",
  card: "Draft a birthday card.",
  away: "Draft a card for the new year.",
} as const;

export const DEFAULT = "The small room";
export const ROOM = "Two rooms are free on Friday. Which one shall I take?";
export const ASSESSMENT = "The market is there, but nobody has looked at delivery.";
export const HEAT = `A heat pump moves heat, it does not make it. ${"It takes heat from outside, lifts it with a compressor, and gives it off inside. ".repeat(6)}`;

const COPPER = "# Copper\n\nWatched since Monday. It has not moved by more than one per cent.\n";
const NUMBERS = "# Market\n\nOne in three customers asked for it.\n";

/**
 * What the models of the town say. Everybody ends up somewhere and stays there, so that a picture is the same whenever it is
 * taken. Gates: `saying` holds a speech until somebody listens, `half` its second half, `waiting` a first word, `resting`
 * somebody who is to be stopped, `paused` somebody who is to be paused, `frida` her work, `fixer` an agent of a mesh.
 */
export const townScript: ProviderServerOptions = {
  turns: {
    ...chipTeam.turns,
    [GOALS.broke]: [
      {
        usage: { input: 200_000, output: 1000 },
        calls: [call("write_file", { path: "papers.md", content: "One.\n" })],
      },
    ],
    [GOALS.unreachable]: [
      { fault: { status: 503, message: "The far model does not answer." } },
      { fault: { status: 503, message: "The far model does not answer." } },
    ],
    [GOALS.refused]: [{ fault: { status: 401, message: "invalid x-api-key" } }],
    [GOALS.staged]: [
      {
        text: "First the market, then the way to the door.",
        calls: [
          call("launch_roles", {
            name: "Research",
            roles: [
              { name: "Dora", title: "Market analyst", prompt: "Ask what customers want.\nWrite market.md." },
              { name: "Emil", title: "Cost analyst", prompt: "Find out what an online shop costs a month." },
            ],
          }),
        ],
      },
    ],
    [GOALS.asleep]: [
      {
        text: "I looked, and nothing has moved.",
        calls: [call("memory_write", { path: "memory/knowledge/copper.md", content: COPPER })],
      },
      { text: "Until tomorrow." },
    ],
    [GOALS.resting]: [
      {
        calls: [
          call("schedule", {
            type: "scheduled",
            config: { cron: "0 9 1 * *" },
            time_zone: "UTC",
            action: "Tax return",
          }),
          call("schedule", { type: "delayed", config: { delay_seconds: 864_000 }, action: "Ask for the receipts" }),
          call("cancel_trigger", { trigger_id: "trigger-2" }),
        ],
      },
      { hold: "resting", text: "I remind you on the first of each month." },
    ],
    [GOALS.saying]: [{ hold: "saying", text: HEAT, holdMidway: "half" }],
    [GOALS.waiting]: [{ hold: "waiting", text: "I begin." }],
    [GOALS.paused]: [{ hold: "paused", text: "I begin with the soups." }],
    [GOALS.leave]: [
      {
        calls: [
          call("spawn_worker", { name: "Gus", program: "scripted", identity: "A program that tests" }),
          call("create_work_node", { task: "Run the tests", worker: "Gus" }),
        ],
      },
      { text: "Gus is at it." },
    ],
    [GOALS.urgent]: [
      {
        calls: [
          call("ask_human", {
            question: ROOM,
            choices: [DEFAULT, "The large room"],
            deadline_seconds: 86_400,
            default: DEFAULT,
          }),
        ],
      },
    ],
    [GOALS.card]: [{ calls: [call("finish", { summary: "The card is drafted." })] }],
    [GOALS.away]: [{ calls: [call("finish", { summary: "The card is drafted." })] }],
    "You are Dora": [
      { calls: [call("write_file", { path: "scratch/market.md", content: NUMBERS })] },
      {
        calls: [
          call("suggest_next", { suggestion: "Look at what delivery costs" }),
          call("publish", { summary: "One in three customers asked for it." }),
        ],
      },
    ],
    "You are Emil": [{ fault: { status: 401, message: "invalid x-api-key" } }],
    "You are Frida": [
      { calls: [call("write_file", { path: "scratch/delivery.md", content: "# Delivery\n" })], hold: "frida" },
    ],
    "**Agent**: reviewer": [
      {
        calls: [
          call("write_file", {
            path: "output/review.md",
            content: "### F1 (high) a.ts:3: it loses the last line\n\nRead a file without a newline at its end.\n",
          }),
          call("tx_done", { summary: "**One** high finding: `a.ts:3` loses the last line." }),
        ],
      },
    ],
    "**Agent**: verifier": [{ calls: [call("tx_done", { summary: "There is no `b.ts`.", failed: true })] }],
    "**Agent**: fixer": [{ hold: "fixer", calls: [call("tx_done", { summary: "Mended." })] }],
  },
  respond: improvise,
};

/** The bakery's second stage begins when its first has ended, in whichever order that was heard. */
function improvise(request: ProviderRequest): ProviderTurn | undefined | Promise<ProviderTurn | undefined> {
  const heard = request.messages.map(({ text }) => text).join("\n");
  if (!heard.includes(GOALS.staged)) return chipTeam.respond?.(request);
  const hasEnded = /node-1\b[^\n]*completed/.test(heard) && /node-2\b[^\n]*failed/.test(heard);
  if (!hasEnded) return { text: "I wait for both." };
  if (heard.includes("Delivery, stage two")) return { text: "Delivery is being looked at." };
  return {
    text: "Delivery, stage two.",
    calls: [
      call("reconvene", { assessment: ASSESSMENT, retire: ["Emil"] }),
      call("launch_roles", {
        name: "Delivery and everything that belongs to the way to the customer's door",
        roles: [{ name: "Frida", title: "Logistics", prompt: "Find out what delivery by bicycle costs." }],
      }),
    ],
  };
}
