import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
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

const call = (name: string, args: unknown) => ({ name, args });
const GROWING = "Grow while I watch";
/** One piece of work, and later two more that need it. */
const grower = [
  { calls: [call("create_work_node", { task: "The first piece" })] },
  {
    hold: "grow",
    calls: [
      call("create_work_node", { task: "The second piece", dependencies: ["node-1"] }),
      call("create_work_node", { task: "The third piece", dependencies: ["node-2"] }),
    ],
  },
];

describe.skipIf(!hasChromium)("looking at a team's work in the page", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  beforeAll(async () => {
    house = await openHouse({ ...chipTeam, turns: { ...chipTeam.turns, [GROWING]: grower } });
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
  const edges = () => board().locator("> div > svg path");
  const section = (panel: Locator, title: string) =>
    panel.locator("section").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
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

  test("a node that is not needed is cancelled in its panel, once that is asked again, with the reason", async () => {
    const needless = await house.create({ goal: GOAL, name: "Needless" });
    await until(needless, ({ questions }) => Object.keys(questions.open).length === 1);
    await page.goto(`/ui/agents/${needless.log.id}/board/node-2`);
    const panel = page.getByRole("complementary", { name: "node-2" });
    const button = panel.getByRole("button", { name: "Cancel this node" });
    const form = panel.getByRole("form", { name: "Cancel node-2" });
    await button.click();
    await form.getByText("Cancel node-2 and its sub-nodes? Its worker is stopped. Its files are kept.").waitFor();
    await form.getByRole("button", { name: "Keep it" }).click();
    await button.click();
    await form.getByLabel("Reason").fill("Chip B is sold out.");
    await form.getByRole("button", { name: "Cancel it" }).click();
    await board().locator('[data-node="node-2"]').getByText("cancelled").waitFor();
    await page
      .getByRole("status")
      .getByText(/^node-2 is cancelled/)
      .waitFor();
    await button.waitFor({ state: "detached" });
    const facts = await needless.log.read({ after: 0, limit: 1000 });
    expect(facts.flatMap((fact) => (fact.type === "node.cancelled" ? [fact.data] : []))).toEqual([
      { node_id: "node-2", by: "human", reason: "Chip B is sold out." },
    ]);
    await needless.archive("human");
    await page.goto(at("board"));
  });

  test("the board grows while one watches, with its edges, and nothing that is there moves", async () => {
    const growing = await house.create({ goal: GROWING, name: "Growing" });
    await house.provider.reached("grow");
    await page.goto(`/ui/agents/${growing.log.id}/board`);
    await board().locator('[data-node="node-1"]').waitFor();
    const before = await places();
    expect(before.map(([id]) => id)).toEqual(["node-1"]);
    expect(await edges().count()).toBe(0);
    house.provider.release("grow");
    await board().locator('[data-node="node-3"]').getByText("after node-2").waitFor();
    const after = await places();
    expect(after.map(([id]) => id)).toEqual(["node-1", "node-2", "node-3"]);
    expect(after.slice(0, 1)).toEqual(before);
    expect(await edges().count()).toBe(2);
    await page.getByText("0 of 3 nodes done").waitFor();
    await growing.archive("human");
    await page.goto(at("board"));
  });

  test("what a node makes is in its scratch while it is at work, and can be read there", async () => {
    await page.goto(at("board/node-1"));
    const panel = page.getByRole("complementary", { name: "node-1" });
    await section(panel, "Spec").getByText("Twice, with the method.").waitFor();
    await section(panel, "published/").getByText("empty").waitFor();
    await section(panel, "scratch/").getByRole("link", { name: "bench.ts" }).click();
    await page.locator("pre", { hasText: "export function measure" }).waitFor();
    // Whoever is at it says so, and how far they are.
    await page.goto(at("workers/alice"));
    await page
      .locator("summary")
      .getByText(/^since \d\d:\d\d · turn \d+ · (\$[\d.]+ · )?$/)
      .waitFor();
    await page.goto(at("board"));
  });

  test("the board changes while one watches, and nothing that is there moves", async () => {
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
    await section(panel, "Why it exists").getByText(`For the goal: ${GOAL}`).waitFor();
    await section(panel, "Spec").getByText("Twice, with the method.").waitFor();
    await section(panel, "Result").getByText("Chip A: 80 TOPS at 12 W.").waitFor();
    for (const file of ["bench.ts", "report.md"])
      await section(panel, "published/").getByRole("link", { name: file }).waitFor();
    await section(panel, "scratch/").getByText("empty").waitFor();
    await section(panel, "Log")
      .getByText(/^Alice published node-1/)
      .waitFor();
    await board().locator('[data-node="node-3"]').click();
    await section(page.getByRole("complementary", { name: "node-3" }), "Refs")
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
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const ended = facts.find((fact) => fact.type === "node.completed" && fact.data.node_id === "node-1")?.seq;
    await page.getByText(`by Alice at fact ${ended}`).waitFor();
    await page.getByRole("button", { name: `fact ${ended}`, exact: true }).click();
    await page.waitForURL(`**/report.md?at=${ended}`);
    await page.getByRole("button", { name: "Now", exact: true }).click();
    await page.getByRole("link", { name: /bench\.ts/ }).click();
    const keyword = page.locator("pre span", { hasText: /^export$/ }).first();
    await keyword.waitFor();
    expect(await keyword.getAttribute("style")).toMatch(/light-dark/);
    // What was published is found by its name.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("report node-1");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/files/runs/run-1/nodes/node-1/published/report.md");
    await page.getByRole("heading", { name: "Chip A" }).waitFor();
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
    await page.getByText(/^by Coordinator at fact \d+$/).waitFor();
    // What was found there is not to be had elsewhere.
    await page.getByRole("navigation").getByRole("link", { name: "Files" }).click();
    await page.getByRole("button", { name: "run-1" }).waitFor();
    expect(await page.getByRole("region", { name: "Found" }).count()).toBe(0);
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
