import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../src/testing/index.ts";
import { CHOICES, chipTeam, GOAL, QUESTION } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });

/** A page that is hidden and may notify: what it would show is kept, and a click on it can be made. */
const HIDDEN = `
  window.notes = [];
  window.Notification = class {
    static permission = "granted";
    constructor(title, options) { Object.assign(this, { title, ...options }); window.notes.push(this); }
  };
  Object.defineProperty(Document.prototype, "hidden", { get: () => window.isAway !== false });
`;

/** It knows who is here and what they have asked: what is asked before that is no news to it. */
const hasCome = (page: Page) => page.getByText(/^No agents yet| in total$/).waitFor();

describe.skipIf(!hasChromium)("being asked by the page, wherever one is", () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({
      turns: {
        ...chipTeam.turns,
        "Spend it all": [
          { usage: { input: 200_000, output: 1000 }, calls: [call("write_file", { path: "a.md", content: "a" })] },
          { calls: [call("finish", { summary: "Spent well." })] },
        ],
        "Ask under my eyes": [
          {
            hold: "in-sight",
            calls: [call("ask_human", { question: "Do you see me?", choices: ["Yes.", "A little."] })],
          },
        ],
        "Talk a lot, then ask": [
          ...Array.from({ length: 30 }, (_, index) => ({
            ...(index === 29 && { hold: "ask" }),
            text: `This is thought number ${index + 1}.`,
            calls: [call("write_file", { path: `thought-${index + 1}.md`, content: "x" })],
          })),
          { calls: [call("ask_human", { question: "Was that too much?", choices: ["Yes.", "A little."] })] },
        ],
      },
      respond: chipTeam.respond ?? (() => undefined),
    });
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test("while the tab is hidden the browser tells of a question, and a click on that leads to it", async () => {
    const page = await house.page();
    await page.addInitScript(HIDDEN);
    await page.reload();
    await hasCome(page);
    await house.create({ goal: GOAL, name: "From afar" });
    await page.waitForFunction(() => (globalThis as unknown as { notes: unknown[] }).notes.length > 0);
    expect(await page.evaluate("window.notes.map(({ title, body }) => [title, body])")).toEqual([
      ["Bob asks", QUESTION],
    ]);
    await page.evaluate("window.isAway = false; document.dispatchEvent(new Event('visibilitychange'))");
    await page.evaluate("window.notes[0].onclick()");
    await page.getByRole("region", { name: "Question" }).getByText(QUESTION).waitFor();
    await page.context().close();
  });

  test("a flood of questions is one toast, which goes when they are answered", async () => {
    const page = await house.page();
    await hasCome(page);
    let open = 5;
    await page.route("**/inbox?*", (route) => route.fulfill({ json: inboxOf(open) }));
    const toast = page.getByText("5 questions are waiting for you.");
    house.dropSockets();
    await toast.waitFor();
    expect(await page.getByText("Bob asks").count()).toBe(0);
    open = 0;
    house.dropSockets();
    await toast.waitFor({ state: "detached" });
    await page.context().close();
  });

  test("all that waits is to be had on the first page, also where there are no agents", async () => {
    const page = await house.page();
    await page.route("**/inbox?*", (route) => route.fulfill({ json: inboxOf(8) }));
    await page.route("**/agents?*", (route) =>
      route.fulfill({ json: { agents: [], unreadable: [], next_after: null } }),
    );
    await page.reload();
    const waiting = page.getByRole("main").getByRole("region", { name: "Waiting for you" });
    await expect.poll(() => waiting.getByRole("link").count()).toBe(8);
    await page.context().close();
  });

  test("a toast goes when its question is answered elsewhere, and when one goes to it", async () => {
    const page = await house.page();
    await hasCome(page);
    const toast = page.getByText(`Bob asks: ${QUESTION}`);
    const first = await house.create({ goal: GOAL, name: "Answered elsewhere" });
    await toast.waitFor();
    await first.respond(CHOICES[0] ?? "");
    await toast.waitFor({ state: "detached" });
    const second = await house.create({ goal: GOAL, name: "Gone to" });
    await toast.waitFor();
    await page.getByRole("region", { name: "Needs you" }).getByRole("link", { name: "Bob · Gone to" }).click();
    await toast.waitFor({ state: "detached" });
    expect(page.url()).toContain(`${second.log.id}/workers/bob`);
    await page.context().close();
  });

  test("whoever has scrolled away from a question in the same stream is told of it", async () => {
    const agent = await house.create({ goal: "Talk a lot, then ask" });
    await house.provider.reached("ask");
    const page = await house.page(`/ui/agents/${agent.log.id}`, { viewport: { width: 1440, height: 400 } });
    await page.getByText("This is thought number 29.").waitFor();
    await page.mouse.move(800, 200);
    await page.mouse.wheel(0, -150);
    await page.getByRole("button", { name: "Newest" }).waitFor();
    house.provider.release("ask");
    await page.getByText("Coordinator asks: Was that too much?").waitFor();
    // It is in the page already; but nobody answers what they do not see.
    await page.locator("[data-question]").waitFor({ state: "attached" });
    await page.keyboard.press("1");
    await page.getByRole("button", { name: "Answer" }).last().click();
    await page.getByLabel("Your answer").fill("No.");
    await page.keyboard.press("Enter");
    await page.getByText("You answered: No.").waitFor();
    await page.context().close();
  });

  test("of a question whose card is in sight there is no toast", async () => {
    const agent = await house.create({ goal: "Ask under my eyes", name: "In sight" });
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("heading", { name: "In sight", level: 1 }).waitFor();
    house.provider.release("in-sight");
    await page.getByRole("region", { name: "Question" }).getByText("Do you see me?").waitFor();
    await page.getByRole("region", { name: "Needs you" }).getByText("Do you see me?").waitFor();
    expect(await page.getByText("Coordinator asks: Do you see me?").count()).toBe(0);
    await page.keyboard.press("2");
    await page.getByText("You answered: A little.").waitFor();
    await page.context().close();
  });

  test("what ran out of money goes on with more of it, and too little is refused with both figures", async () => {
    const agent = await house.create({ goal: "Spend it all", budget_usd: 0.05 });
    await until(agent, (now) => now.agent.status === "failed");
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Resume" }).click();
    const dialog = page.getByRole("dialog", { name: "The budget is spent" });
    const field = dialog.getByLabel("Budget in USD");
    expect(Number(await field.inputValue())).toBeGreaterThan(0.6);
    await field.fill("0.10");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("alert").getByText("$0.1 is too low: $0.6150 is already spent").waitFor();
    await field.fill("5");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("log").getByText("Spent well.").waitFor();
    expect(agent.now.agent.created.budget_usd).toBe(5);
    await page.context().close();
  });

  test("by the palette anybody is found, also of an agent that is not open; where one has been comes first", async () => {
    const agent = await house.create({ goal: GOAL, name: "Far away" });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page();
    const isChosen = (name: string) => page.getByRole("option", { name, exact: true, selected: true }).waitFor();
    await page.getByRole("navigation", { name: "Agents" }).getByRole("region", { name: "Far away" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("bob far");
    await isChosen("worker Bob of Far away");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Question" }).getByText(QUESTION).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/agents/${agent.log.id}/workers/bob`);
    await choose(page, "all agents");
    await page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
    await page.keyboard.press("Control+k");
    await isChosen("worker Bob of Far away");
    // Another one of its screens, without going there first.
    await page.getByRole("combobox").fill("board far");
    await isChosen("screen Board of Far away");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/ui/agents/${agent.log.id}/board`);
    await page.context().close();
    await agent.archive("human");
  });

  test("by the palette an agent is paused and resumed; archived, it is restored from the list", async () => {
    const agent = await house.create({ goal: GOAL, name: "Steered" });
    const other = await house.create({ goal: GOAL, name: "Beside" });
    await until(other, ({ questions }) => Object.keys(questions.open).length === 1);
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await choose(page, "pause steered");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await choose(page, "resume steered");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    // Whoever is looked at stays in sight when somebody else is archived.
    await page.goto(`/ui/agents/${other.log.id}/board`);
    await page.getByRole("navigation").getByRole("region", { name: "Steered" }).waitFor();
    await choose(page, "archive steered");
    await page.getByText("Steered was stopped and archived.").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/agents/${other.log.id}/board`);
    await choose(page, "archive beside");
    await page.getByText("Beside was stopped and archived.").waitFor();
    expect(new URL(page.url()).pathname).toBe("/ui/");
    await page
      .getByRole("main")
      .getByText(/^\d+ archived agents$/)
      .click();
    await page.getByRole("button", { name: "Restore Steered" }).click();
    await page.getByRole("navigation").getByRole("region", { name: "Steered" }).waitFor();
    await page.context().close();
  });

  test("a lost connection is said on every screen, and goes by itself", async () => {
    const page = await house.page();
    await page.getByRole("heading", { name: "Agents" }).waitFor();
    const line = page.getByText("The connection is lost");
    await page.context().setOffline(true);
    house.dropSockets();
    await line.waitFor();
    await page.context().setOffline(false);
    await line.waitFor({ state: "detached" });
    await page.context().close();
  });
});

/** As many questions as are wanted, of somebody who is nowhere. */
function inboxOf(open: number) {
  const who = { agent: { id: "agent-far", name: "Far" }, from: { id: "bob", name: "Bob" } };
  const what = { kind: "question", text: "Which?", since_ts: 0, choices: [], deadline_ts: null, default: null };
  return {
    items: Array.from({ length: open }, (_, n) => ({ ...who, ...what, id: `question-${n}` })),
    next_after: null,
  };
}

async function choose(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill(words);
  await page.keyboard.press("Enter");
}
