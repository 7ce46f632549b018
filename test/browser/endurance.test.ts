import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG, openCrowd } from "./crowd.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const CROWD = { workers: 300, nodes: 2000, questions: 200, facts: 12_000, others: 130, files: 10_100, words: LONG };
/** A page with more in it is slow for everybody; what is left out it has to say. */
const MOST_ELEMENTS = 9000;
/** Half a screen up, and what is there is drawn: whoever scrolls on before that passes by what they look for. */
const up = (stream: Locator) =>
  stream.evaluate(
    (log) =>
      new Promise<void>((done) => {
        const frame = (run: () => void) => log.ownerDocument.defaultView?.requestAnimationFrame(run);
        log.scrollBy(0, -log.clientHeight / 2);
        frame(() => frame(done));
      }),
  );

const isInSight = (link: Locator) =>
  link.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= (element.ownerDocument.defaultView?.innerHeight ?? 0);
  });

const edgeOf = (what: Locator, side: "left" | "right") =>
  what.evaluate((element, side) => element.getBoundingClientRect()[side], side);

describe.skipIf(!hasChromium)("a page that has to show far too much", () => {
  let house: House;
  let page: Page;
  let at: string;
  beforeAll(async () => {
    house = await openHouse({ turns: [] });
    ({ at } = await openCrowd(house, CROWD));
    page = await house.page(at);
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });
  const elements = () => page.locator("*").count();
  /** As by a link: what is loaded stays. */
  const to = async (path: string) => {
    await page.evaluate(
      `history.pushState(null, "", ${JSON.stringify(at + path)}); dispatchEvent(new PopStateEvent("popstate"))`,
    );
  };
  const width = () => page.evaluate("document.documentElement.scrollWidth <= innerWidth");

  test("messages without end, without bottom and without spaces are shown as far as one reads, and cut with a word", async () => {
    const stream = page.getByRole("log");
    await stream.getByText("The last word.").waitFor();
    for (const words of ["One word:", "Slow:", "A table:", "A list:", "Deep:", "A megabyte:"]) {
      const message = stream.getByText(words).first();
      while ((await message.count()) === 0) await up(stream);
      await message.waitFor();
      expect([words, await width(), (await elements()) < MOST_ELEMENTS * 2]).toEqual([words, true, true]);
    }
    const more = stream.getByRole("button", { name: /more characters: show more/ }).first();
    await more.waitFor();
  });

  test("a crowded sidebar, home, board and timeline hold what is in sight and count the rest", async () => {
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    await page.goto("/ui/");
    await sidebar.getByRole("button", { name: "31 more: show 31" }).waitFor();
    await sidebar.getByText("194 more").waitFor();
    await page.getByRole("main").getByRole("button", { name: "150 more: show 150" }).waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
    await page.keyboard.press("Control+k");
    await page.getByText(/^\d+ more\. Type more of the name to find them\.$/).waitFor();
    await page.keyboard.press("Escape");
    await to("/workers/worker300");
    await sidebar.getByRole("link", { name: "Worker 300" }).waitFor();
    // Whoever has not gone there by the sidebar sees there where they are.
    await page.goto("/ui/agents/agent-other1");
    await expect.poll(() => isInSight(sidebar.getByRole("link", { name: /^Coordinator/ }))).toBe(true);
    await expect.poll(() => isInSight(sidebar.getByRole("link", { name: "Triggers" }))).toBe(true);
    expect(await isInSight(sidebar.getByRole("heading", { name: "Needs you" }))).toBe(true);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Agents" }).click();
    const menu = page.getByRole("dialog", { name: "Agents" });
    await expect.poll(() => isInSight(menu.getByRole("link", { name: "Triggers" }))).toBe(true);
    expect(await isInSight(menu.getByRole("heading", { name: "Needs you" }))).toBe(true);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1440, height: 900 });
    await to("/workers/worker300");
    await to("/board");
    await page.locator("[data-node]").first().waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
    await to("/timeline");
    await page.getByRole("list", { name: "Facts" }).waitFor();
    await page.getByText(/^Crowd · \d{5} facts$/).waitFor();
    await page.getByRole("region", { name: "Who worked when" }).getByRole("button", { name: "200 more" }).waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
    const earlier = page.getByRole("button", { name: /^\d+ earlier facts: go to that moment$/ });
    const first = Number.parseInt((await earlier.textContent()) ?? "", 10);
    await earlier.click();
    await page
      .getByRole("list", { name: "Facts" })
      .getByRole("button", { name: new RegExp(`^${first} `) })
      .waitFor();
    expect(page.url()).toContain(`?at=${first}`);
  });

  test("a moment in the midst of a long log is shown, and one before it at once", async () => {
    await page.goto(`${at}/board?at=6000`);
    await page.getByText("0 of 2000 nodes done").waitFor();
    await page.getByRole("slider").fill("1305");
    await page.getByText("0 of 1000 nodes done").waitFor();
    // Who says much at one moment, and said nothing for long at another, has something in sight at either.
    const last = await page.getByRole("slider").getAttribute("max");
    await page.goto(`${at}?at=${last}`);
    const stream = page.getByRole("log");
    await stream.getByText("The last word.").waitFor();
    await page.getByRole("slider").fill("7000");
    await stream.getByText("The last word.").waitFor({ state: "detached" });
    await stream.getByText("Worker 300 joined").waitFor();
  });

  test("where nothing earlier is to be had, it is asked for once, and again when somebody wants it", async () => {
    let asked = 0;
    await page.route("**/events?after=*", async (route) => {
      asked += 1;
      await route.fulfill({ json: { events: [], next_after: null } });
    });
    await page.goto(`${at}/workers/worker300`);
    const earlier = page.getByRole("button", { name: "Earlier" });
    for (const times of [1, 2]) {
      await expect.poll(() => asked).toBeGreaterThanOrEqual(times);
      await earlier.click();
    }
    await page.unroute("**/events?after=*");
    await earlier.click();
    await page
      .getByRole("log")
      .getByText(/file-\d+\.md/)
      .first()
      .waitFor();
    // By itself, and twice by the button; fifteen and twenty times each if it did not give up.
    expect(asked).toBeLessThan(8);
  });

  test("who wrote something long ago is told, however much has happened since", async () => {
    await page.goto(`${at}/memory/long-ago.md`);
    await page.getByRole("heading", { name: "Long ago" }).waitFor();
    await page.getByText("by Coordinator at fact 5").waitFor();
  });

  test("a folder and files without end are shown in part, and the page says of how much", async () => {
    await page.goto(`${at}/files/runs/run-1/line.txt`);
    await page.getByText("only the beginning is shown").waitFor();
    expect(await width()).toBe(true);
    await page.getByText(/Only the first/).waitFor();
    await page.getByRole("button", { name: "many" }).click();
    await page.getByRole("button", { name: /^\d+ more: show 1000$/ }).waitFor();
    await to("/files/runs/run-1/slow.ts");
    await page.locator("pre span[style]").first().waitFor();
    await to("/files/runs/run-1/long.md");
    await page.getByRole("button", { name: /more characters: show more/ }).waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
  });
});

describe.skipIf(!hasChromium)("a board as wide as it is long", () => {
  test("of 2,000 pieces of work, each after the other, those in sight are drawn, and any of them is reached", async () => {
    await using house = await openHouse({ turns: [] });
    const long = { workers: 3, nodes: 2000, questions: 0, facts: 2100, others: 0, files: 0, words: [], chain: 2000 };
    const { at } = await openCrowd(house, long);
    const page = await house.page(`${at}/board`);
    const card = (n: number) => page.locator(`[data-node="node-${n}"]`);
    await card(1).waitFor();
    await page.getByText("0 of 2000 nodes done").waitFor();
    expect(await page.locator("*").count()).toBeLessThan(1000);
    // The panel takes its place from the board: what was clicked at the edge is still before one's eyes.
    await card(4).click();
    const panel = page.getByRole("complementary", { name: "node-4" });
    await expect.poll(async () => (await edgeOf(card(4), "right")) <= (await edgeOf(panel, "left"))).toBe(true);
    // A larger window has more in it, without being scrolled.
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 4000, height: 900 });
    await card(12).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${at}/board/node-1500`);
    await expect.poll(() => card(1500).isVisible()).toBe(true);
    expect(await card(1500).evaluate((card) => card.getBoundingClientRect().left < 1440)).toBe(true);
    await card(1500).focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.evaluate("document.activeElement.dataset.node")).toBe("node-1501");
    expect(await page.locator("*").count()).toBeLessThan(1500);
    expect(house.complaints).toEqual([]);
  });
});
