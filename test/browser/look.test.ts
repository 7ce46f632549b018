import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { CHOICES, chipTeam, GOAL, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

/** The smallest picture there is: four pixels. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFElEQVQI12P4z8DAwMDAxAADCAAADgMBAfsAyW4AAAAASUVORK5CYII=",
  "base64",
);

describe.skipIf(!hasChromium)("looking at a team's work in the page", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    page = await house.page(`/ui/agents/${agent.log.id}/board`);
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });

  const at = (screen: string) => `/ui/agents/${agent.log.id}/${screen}`;
  const board = () => page.locator("[data-board]");
  const places = () =>
    board()
      .locator("[data-node]")
      .evaluateAll((cards) =>
        cards.map((card) => {
          const { x, y } = card.getBoundingClientRect();
          return [card.getAttribute("data-node"), Math.round(x), Math.round(y)];
        }),
      );

  test("the board says of each node what the terminal says: whom it needs, and that it is stopped", async () => {
    const halted = await house.create({ goal: GOAL, name: "Halted" });
    await until(halted, ({ questions }) => Object.keys(questions.open).length === 1);
    await page.goto(`/ui/agents/${halted.log.id}/board/node-1`);
    const card = (id: string) => board().locator(`[data-node="${id}"]`);
    await card("node-1").getByText("running").waitFor();
    await card("node-2").getByText("needs you").waitFor();
    await halted.stop("human");
    await card("node-1").getByText("stopped").waitFor();
    await page.getByRole("complementary", { name: "node-1" }).getByText("stopped", { exact: true }).waitFor();
    expect(await card("node-1").locator(".spin").count()).toBe(0);
    await page.goto(at("board"));
  });

  test("the board grows and changes while one watches, and nothing that is there moves", async () => {
    await board().locator('[data-node="node-3"]').waitFor();
    const before = await places();
    house.provider.release("alice");
    await board().locator('[data-node="node-1"]').getByText("completed").waitFor();
    await agent.respond(CHOICES[0] ?? "");
    await board().locator('[data-node="node-3"]').getByText("completed").waitFor();
    await agent.idle();
    expect(before.map(([id]) => id)).toEqual(["node-1", "node-2", "node-3"]);
    expect((await places()).slice(0, 3)).toEqual(before);
  });

  test("the arrow keys follow the edges, and a node's panel tells all about it", async () => {
    await board().locator('[data-node="node-1"]').focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.evaluate("document.activeElement.dataset.node")).toBe("node-3");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "node-1" });
    await panel.getByRole("heading", { name: "Why it exists" }).waitFor();
    await panel.getByText(`For the goal: ${GOAL}`).waitFor();
    await panel.getByText("Twice, with the method.").first().waitFor();
    await panel.getByText("Chip A: 80 TOPS at 12 W.").first().waitFor();
    for (const file of ["bench.ts", "report.md"]) await panel.getByRole("link", { name: file }).waitFor();
    await panel.getByRole("heading", { name: "scratch/" }).waitFor();
    await panel.getByText(/^Alice published node-1/).waitFor();
    await board().locator('[data-node="node-3"]').click();
    await page
      .getByRole("complementary", { name: "node-3" })
      .getByRole("link", { name: "node-1/published/report.md" })
      .click();
    await page.getByRole("heading", { name: "Chip A" }).waitFor();
  });

  test("whoever comes to a file by a link sees where in the tree it is", async () => {
    await page.goto(at("files"));
    await page.getByRole("button", { name: "run-1" }).waitFor();
    expect(await page.getByRole("link", { name: "report.md" }).count()).toBe(0);
    const path = JSON.stringify(at("files/runs/run-1/nodes/node-1/published/report.md"));
    await page.evaluate(`history.pushState(null, "", ${path}); dispatchEvent(new PopStateEvent("popstate"))`);
    await page.locator("a[aria-current=page]", { hasText: "report.md" }).waitFor();
  });

  test("files are read: markdown as text, code in colours, whoever wrote it and when", async () => {
    await page.goto(at("files/runs/run-1/nodes/node-1/published/report.md"));
    await page.getByRole("heading", { name: "Chip A" }).waitFor();
    await page.getByRole("cell", { name: "80" }).waitFor();
    await page.getByText(/^by Alice at/).waitFor();
    await page.getByRole("link", { name: /bench\.ts/ }).click();
    const keyword = page.locator("pre span", { hasText: /^export$/ }).first();
    await keyword.waitFor();
    expect(await keyword.getAttribute("style")).toMatch(/light-dark/);
  });

  test("whoever worked in a run that is over leads on to the coordinator, who can be written to", async () => {
    await page.goto(at("workers/alice"));
    await page.getByRole("link", { name: /^The run is over, and the work of Alice with it/ }).click();
    await page.getByRole("textbox", { name: "Message to the coordinator" }).waitFor();
  });

  test("the memory is read and searched", async () => {
    await page.goto(at("memory"));
    await page.getByLabel("Search the memory").fill("compared");
    await page.getByLabel("Search the memory").press("Enter");
    await page.getByRole("region", { name: "Found" }).getByRole("link").first().click();
    await page.getByText("A and B are compared.").last().waitFor();
    // What was found there is not to be had elsewhere.
    await page.getByRole("navigation").getByRole("link", { name: "Files" }).click();
    await page.getByRole("button", { name: "run-1" }).waitFor();
    expect(await page.getByRole("region", { name: "Found" }).count()).toBe(0);
  });

  test("replay moves every screen to a moment, and a reload stays there", async () => {
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const made = facts.findLast((fact) => fact.type === "node.created" && fact.data.node_id === "node-2")?.seq ?? 0;
    await page.goto(at("timeline"));
    const newest = page.getByRole("list", { name: "Facts" }).getByRole("time").first();
    expect(await newest.textContent()).toMatch(/^\d\d:\d\d:\d\d$/);
    const bars = page.getByRole("region", { name: "Who worked when" });
    await bars.getByText(/^from \d\d:\d\d:\d\d to \d\d:\d\d:\d\d$/).waitFor();
    await page.getByRole("slider").fill(String(made));
    await page.getByRole("region", { name: "Replay" }).getByText(String(made)).first().waitFor();
    expect(page.url()).toContain(`?at=${made}`);
    for (const _ of ["as it is", "after a reload"]) {
      await page.getByRole("navigation").getByRole("link", { name: "Board" }).click();
      await board().locator('[data-node="node-2"]').waitFor();
      expect((await places()).map(([id]) => id)).toEqual(["node-1", "node-2"]);
      await page
        .getByRole("navigation")
        .getByRole("link", { name: /^Coordinator/ })
        .click();
      await page.getByText("You are looking at the past.").waitFor();
      expect(await page.getByRole("log").getByText("Finished", { exact: true }).count()).toBe(0);
      await page.reload();
    }
    await page.getByText("You are looking at the past.").waitFor();
    await page.keyboard.press("f");
    await page.getByText("Published files are exactly as they were at this moment").waitFor();
    const published = "runs/run-1/nodes/node-1/published/report.md";
    await page.goto(`${at(`files/${published}`)}?at=${made}`);
    await page.getByText(`There was no file ${published} at this moment.`).waitFor();
    await page.keyboard.press("m");
    await page.getByText("The memory is shown as it is now").waitFor();
    await page.keyboard.press("s");
    await page.getByText("Nothing is to happen later.").waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByRole("log").getByText("Finished", { exact: true }).waitFor();
    expect(page.url()).not.toContain("at=");
  });

  test("a moment is a moment of one agent: the others stay as they are, and any of them can be folded", async () => {
    const other = await house.create({ goal: GOAL, name: "Another" });
    await until(other, ({ roster }) => "carol" in roster);
    await page.goto(`${at("board")}?at=2`);
    const team = (name: string) => page.getByRole("navigation").getByRole("region", { name, exact: true });
    await page.getByRole("button", { name: "Team of Another" }).click();
    await team("Another").getByRole("link", { name: "Carol" }).waitFor();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor();
    expect(await team(NAME).getByRole("link", { name: "Carol" }).count()).toBe(0);
    await page.getByRole("button", { name: `Team of ${NAME}` }).click();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: `Team of ${NAME}` }).click();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor();
  });

  test("a picture stays in sight while it is read again, and no copy of it is kept", async () => {
    const tab = await house.page();
    await tab.addInitScript(`window.copies = new Set();
      for (const [name, change] of [["createObjectURL", "add"], ["revokeObjectURL", "delete"]]) {
        const own = URL[name].bind(URL);
        URL[name] = (what) => { const made = own(what); window.copies[change](made ?? what); return made; };
      }`);
    const run = join(house.home, "agents", agent.log.id, "runs", "run-1");
    for (const name of ["a.png", "b.png"]) writeFileSync(join(run, name), PIXEL);
    await tab.goto(at("files/runs/run-1/a.png"));
    const picture = tab.getByRole("img", { name: "runs/run-1/a.png" });
    await picture.evaluate((img) => img.setAttribute("data-first", ""));
    const before = await picture.getAttribute("src");
    await agent.send("Look at it again.");
    await expect.poll(() => picture.getAttribute("src")).not.toBe(before);
    expect(await picture.getAttribute("data-first")).toBe("");
    expect(await tab.evaluate("window.copies.size")).toBe(1);

    // Whoever goes on before it is read has no use for it.
    const asked = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await tab.route("**/b.png", async (route) => {
      asked.resolve();
      await held.promise;
      await route.continue();
    });
    await tab.getByRole("link", { name: "b.png" }).click();
    await asked.promise;
    await tab.getByRole("navigation").getByRole("link", { name: "Board" }).click();
    await tab.locator("[data-board]").waitFor();
    const read = tab.waitForEvent("requestfinished", (request) => request.url().endsWith("/b.png"));
    held.resolve();
    await read;
    await tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    expect(await tab.evaluate("window.copies.size")).toBe(0);
    await tab.context().close();
  });
});
