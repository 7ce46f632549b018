import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { type House, hasChromium, MODEL, openHouse, picture } from "./house.ts";
import { OPTIONS, outOfReach, violations } from "./page-faults.ts";
import { COMMENT, GOAL, prepareRepository, REASON, reviewTeam } from "./review-team.ts";

/** One review from its beginning to its end: each test begins where the one before it ended. */
describe.skipIf(!hasChromium || skipped)(`reviewing what a team changed in a repository ${skipped}`, () => {
  let world: World;
  let house: House;
  let page: Page;
  let agent: Agent;
  beforeAll(async () => {
    world = await World.open();
    prepareRepository(world);
    house = await openHouse(reviewTeam);
    page = await house.page();
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const diff = () => page.getByRole("region", { name: "Diff" });
  const work = () => page.getByRole("list", { name: "Work" });
  const merged = (id: "node-1" | "node-3") => until(agent, (now) => now.repository?.nodes[id]?.state === "merged");
  const line = (text: string) => diff().locator(".diff-line", { hasText: text });
  const said = (words: string | RegExp) => page.getByRole("status").getByText(words).waitFor();

  /** axe at once in two looks that differ in everything: wide and light, narrow and dark. */
  async function expectNoFaults(name: string): Promise<void> {
    expect([name, await violations(page, OPTIONS)]).toEqual([name, []]);
    await picture(page, `${name}-light-1440`);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 844 });
    expect([name, await violations(page, OPTIONS), await outOfReach(page)]).toEqual([name, [], []]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await picture(page, `${name}-dark-390`);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1440, height: 900 });
  }

  test("an agent may change a repository only if the box is ticked, and a folder that is none is refused at it", async () => {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByLabel("Goal").fill(GOAL);
    await dialog.getByLabel("Model", { exact: true }).selectOption(MODEL);
    await dialog.getByLabel("Folder it may read").fill(house.home);
    const box = dialog.getByRole("checkbox", { name: "May change this repository" });
    expect(await box.isChecked()).toBe(false);
    await box.check();
    await dialog.getByRole("button", { name: "Start agent" }).click();
    await dialog.getByRole("alert").getByText("is not a git repository").waitFor();
    expect(await box.getAttribute("aria-invalid")).toBe("true");
    // The browser itself says of every refusal that it was one.
    expect(house.complaints.splice(0)).toEqual([expect.stringContaining("status of 400")]);
    await dialog.getByLabel("Folder it may read").fill(world.person);
    await dialog.getByRole("button", { name: "Start agent" }).click();
    await page.getByRole("heading", { level: 1 }).getByText(GOAL).or(page.getByRole("log")).first().waitFor();
    const [summary] = await house.runtime.summaries();
    if (!summary) throw new Error("no agent was made");
    agent = await house.runtime.agent(summary.id as Agent["log"]["id"]);
    expect(agent.now.agent.created).toMatchObject({ project: world.person, write: {} });
  });

  test("the work of a node shows as soon as it is on the branch, with its lines and its checks", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Changes" }).click();
    await merged("node-1");
    await work()
      .getByRole("link", { name: /node-1 Greet warmly/ })
      .waitFor();
    await line('return "Dear friend";').waitFor();
    expect(await line('return "To whom it may concern";').getAttribute("class")).toContain("diff-removed");
    expect(await line('return "Dear friend";').getAttribute("class")).toContain("diff-added");
    await page.getByText("checks pass").waitFor();
    await page.getByText("Checks · all 1 passed").waitFor();
    // What did not change is folded, and can be unfolded.
    expect(await line("export const LINE_20").count()).toBe(0);
    await diff()
      .getByRole("button", { name: /^More below/ })
      .click();
    await line("export const LINE_20").waitFor();
    await page.keyboard.press("s");
    await diff().locator(".diff-split", { hasText: "Dear friend" }).waitFor();
    await page.keyboard.press("s");
    await expectNoFaults("changes");
  });

  test("work that conflicts names the files, and the lines of both on demand", async () => {
    house.provider.release("bob");
    await work()
      .getByRole("link", { name: /conflicts node-2/ })
      .click();
    await line('return "Hi";').waitFor();
    const conflicts = page.getByRole("region", { name: "Conflicts" });
    await conflicts.getByRole("listitem").getByText("src/greet.js").waitFor();
    await conflicts.getByRole("button", { name: "The lines in conflict" }).click();
    await conflicts.getByText("<<<<<<<").waitFor();
    await page.getByText("1 conflict", { exact: true }).waitFor();
    await expectNoFaults("changes-conflict");

    // The board says the same of it, and leads there and back.
    await page.getByRole("region", { name: "node-2" }).getByRole("link", { name: "node-2" }).click();
    const panel = page.getByRole("complementary", { name: "node-2" });
    await panel.getByText("conflicts", { exact: true }).waitFor();
    await panel.getByRole("link", { name: "Review node-2" }).click();
    await conflicts.waitFor();
  });

  test("a comment on a line reaches the worker whose line it is, and says which commit answers it", async () => {
    await work().getByRole("link", { name: "All changes" }).click();
    await line('return "Dear friend";').locator(".diff-number").last().click();
    const form = page.getByRole("form", { name: /^Comment on line 3 of src\/greet\.js/ });
    await form.getByRole("combobox", { name: "To" }).getByText("node-1 · Alice").waitFor({ state: "attached" });
    await form.getByRole("textbox").fill(COMMENT);
    await expectNoFaults("changes-comment");
    await form.getByRole("textbox").press("Control+Enter");
    await said(/node-3 answers it/);
    await merged("node-3");
    const [comment] = agent.now.repository?.nodes["node-1"]?.comments ?? [];
    expect(comment).toMatchObject({ worker_id: "alice", path: "src/greet.js", line: 3, side: "new", text: COMMENT });
    await diff().getByRole("list", { name: "Comments" }).getByText("Alice changed it in").waitFor();
    await line('return "Dear " + name;').waitFor();
    await expectNoFaults("changes-answered");
  });

  test("rejected work is taken out, and the coordinator hears why", async () => {
    await work()
      .getByRole("link", { name: /node-3/ })
      .click();
    await page.getByRole("button", { name: "Reject" }).click();
    const form = page.getByRole("form", { name: "Reject node-3" });
    await form.getByLabel("Reason").fill(REASON);
    await expectNoFaults("changes-reject");
    await form.getByRole("button", { name: "Reject it" }).click();
    await said(/The work of node-3 is no longer in the branch/);
    await page.getByRole("region", { name: "node-3" }).getByText("taken out").waitFor();
    await work().getByRole("link", { name: "All changes" }).click();
    await line('return "Dear friend";').waitFor();
    await diff()
      .getByText(/^Alice changed it in \w{8}, which was taken out$/)
      .waitFor();
    const heard = (await agent.log.read({ after: 0, limit: 1000 })).flatMap((fact) =>
      fact.type === "message.sent" && fact.data.from === "human" ? [[fact.data.to, fact.data.text]] : [],
    );
    expect(heard).toEqual([["coordinator", expect.stringContaining(REASON)]]);
  });

  test("accepted, the branch is in the person's repository, and nothing else of theirs has changed", async () => {
    const branch = `agiraph/${agent.log.id}`;
    await page.getByText("not in your repository yet").waitFor();
    // What is below an open menu is covered by it: axe has nothing to say of that.
    await page.getByLabel("Other ways to accept").click();
    for (const way of ["Merge into the checked-out branch…", "Open a pull request…"])
      await page.getByRole("button", { name: way }).waitFor();
    await picture(page, "changes-accept-menu");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Accept", exact: true }).click();
    await said(`To merge it: git merge ${branch}`);
    await page.getByText("in your repository", { exact: true }).waitFor();
    expect(world.plain("person", "show", `${branch}:src/greet.js`)).toContain('return "Dear friend";');
    expect(world.read("person/src/greet.js")).toContain('return "To whom it may concern";');
    expect(world.plain("person", "status", "--porcelain", "--branch")).toBe("## main");
  });
});
