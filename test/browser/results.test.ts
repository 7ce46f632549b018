import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { type House, hasChromium, openHouse, picture } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const write = (path: string, content = "# Words\n") => ({ calls: [call("write_file", { path, content })] });
const finish = (summary: string, files?: string[]) => ({
  calls: [call("finish", { summary, ...(files && { files }) })],
});

const UNNAMED = "Write a report and name nothing";
const OWN_END = "Write the end yourself";
const FIRST = "Report on copper";
const WATCH = "Watch the price of copper";

describe.skipIf(!hasChromium)("what came of the work is where one looks for it", () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({
      turns: {
        [UNNAMED]: [write("output/report.md"), finish("The report is written.")],
        [OWN_END]: [write("_output.md", "# In short\n"), finish("See the end.")],
        // One conversation, in which each goal follows the one before.
        [FIRST]: [
          write("output/copper.md"),
          write("output/draft.md"),
          finish("Copper is dear.", ["output/copper.md"]),
          write("output/tin.md"),
          finish("Tin is cheap."),
          write("output/zinc.md"),
          { hold: "zinc", ...finish("Zinc is dear.") },
        ],
        [WATCH]: [write("output/prices.md"), { text: "Nothing has moved." }],
      },
    });
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });

  const open = ({ log }: Agent) => house.page(`/ui/agents/${log.id}`);
  /** The card that says how a run ended. */
  const card = (page: Page, summary: string) =>
    page.getByRole("log").locator("div.rounded-lg", { hasText: "Finished" }).filter({ hasText: summary });
  const hasEnded = (agent: Agent, runs = 1) =>
    until(agent, (now) => now.agent.runs === runs && now.agent.status === "completed");

  test("a report that nobody named, and an end that the coordinator wrote itself, are on the card", async () => {
    const report = await house.create({ goal: UNNAMED, name: "Report" });
    await hasEnded(report);
    const page = await open(report);
    await card(page, "The report is written.").getByRole("link", { name: "output/report.md" }).click();
    await page.getByRole("heading", { name: "Words" }).waitFor();
    const own = await house.create({ goal: OWN_END, name: "Own end" });
    await hasEnded(own);
    await page.goto(`/ui/agents/${own.log.id}`);
    await card(page, "See the end.").getByRole("link", { name: "_output.md" }).waitFor();
    await page.context().close();
  });

  test("a card keeps its files when the next run begins; what there is of that one stands on top", async () => {
    const agent = await house.create({ goal: FIRST, name: "Metals" });
    await hasEnded(agent);
    await agent.send("Now report on tin");
    await hasEnded(agent, 2);
    await agent.send("Now report on zinc");
    await house.provider.reached("zinc");
    const page = await open(agent);
    const filesOn = (summary: string) => card(page, summary).getByRole("listitem").allTextContents();
    await card(page, "Copper is dear.").getByRole("link", { name: "output/copper.md" }).waitFor();
    expect(await filesOn("Copper is dear.")).toEqual(["output/copper.md"]);
    await card(page, "Tin is cheap.").getByRole("link", { name: "output/tin.md" }).waitFor();
    const soFar = page.locator("details", { hasText: "Results so far" });
    await soFar.getByText("1 file").click();
    await soFar.getByRole("link", { name: "output/zinc.md" }).waitFor();
    await picture(page, "results-so-far");
    house.provider.release("zinc");
    await card(page, "Zinc is dear.").getByRole("link", { name: "output/zinc.md" }).waitFor();
    await soFar.waitFor({ state: "detached" });
    await picture(page, "results-of-runs");
    await page.context().close();
  });

  test("an infinite agent, which never finishes, shows what it has written", async () => {
    const agent = await house.create({ goal: WATCH, name: "Copper", mode: "infinite", cycle_seconds: 86_400 });
    const page = await open(agent);
    const soFar = page.locator("details", { hasText: "Results so far" });
    await soFar.locator("summary").click();
    await soFar.getByRole("link", { name: "output/prices.md" }).click();
    await page.getByRole("heading", { name: "Words" }).waitFor();
    await page.context().close();
  });
});
