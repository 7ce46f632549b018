import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HUMAN } from "../../src/protocol/index.ts";
import { until } from "../../src/testing/index.ts";
import { chipTeam, GOAL, QUESTION } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const LISTED = "openai-compatible/local/scripted-model";
const RESET = { fault: { reset: "before_headers" } } as const;

describe.skipIf(!hasChromium)("what the page says of agents at the first look", () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({
      turns: {
        ...chipTeam.turns,
        "Fail at once": [{ fault: { status: 400, message: "no such thing" } }],
        "Lose the provider": [[RESET, RESET, { hold: "back", ...{ calls: [call("finish", { summary: "Back." })] } }]],
        "Say it escaped": [
          { calls: [call("finish", { summary: "5 \\* 3, snake\\_case, \\[no link\\](x) and \\<b>." })] },
        ],
        "Give me some work": [{ calls: [call("create_work_node", { task: "Weigh the crate", worker: "human" })] }],
        "First the walls": [{ calls: [call("finish", { summary: "The walls are done." })] }],
      },
      respond: (request) =>
        request.messages.some(({ text }) => text.includes("Then the roof"))
          ? { hold: "roof", calls: [call("finish", { summary: "The roof is done." })] }
          : chipTeam.respond?.(request),
    });
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });

  test("what waits for the person stands apart from what is only unread, which is marked read in one go", async () => {
    const agent = await house.create({ goal: GOAL, name: "Asking" });
    const failing = await house.create({ goal: "Fail at once", name: "Failing" });
    const unread = () => Object.values(agent.now.letters.queued).filter(({ reader }) => reader === HUMAN).length;
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    await until(agent, ({ letters }) => Object.values(letters.queued).some(({ text }) => text.includes("at work")));
    await until(failing, (now) => now.agent.status === "failed");
    const page = await house.page();
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    const needsYou = sidebar.getByRole("region", { name: "Needs you" });
    // The list is there before the inbox: what was asked before the page came is not announced as if it were new.
    const inbox = Promise.withResolvers<void>();
    await page.route("**/inbox*", async (route) => {
      await inbox.promise;
      await route.continue();
    });
    await page.reload();
    await sidebar.getByRole("link", { name: /^Asking/ }).waitFor();
    inbox.resolve();
    await needsYou.getByText(QUESTION).waitFor();
    await page.waitForFunction(`document.title.startsWith("(2) ")`);
    expect(await page.getByRole("button", { name: "Answer" }).count()).toBe(0);
    await page.unroute("**/inbox*");
    await needsYou.getByText("no such thing").waitFor();
    expect(await needsYou.getByRole("listitem").count()).toBe(2);
    expect(await needsYou.getByText("at work").count()).toBe(0);
    await page.waitForFunction(`document.title.startsWith("(2) ")`);
    expect(unread()).toBeGreaterThan(0);
    await sidebar.getByText(`${unread()} unread message`, { exact: false }).first().waitFor();
    await sidebar.getByRole("button", { name: "Mark read" }).click();
    await sidebar.getByRole("button", { name: "Mark read" }).waitFor({ state: "detached" });
    expect(unread()).toBe(0);

    // What is said to somebody who looks elsewhere is a dot with whoever said it, until they look.
    await failing.archive("human");
    await needsYou.getByText("no such thing").waitFor({ state: "detached" });
    await page.goto(`/ui/agents/${agent.log.id}/workers/alice`);
    await agent.send("How is it going?");
    const coordinator = sidebar.getByRole("link", { name: /^Coordinator/ });
    await coordinator.getByText("1", { exact: true }).waitFor();
    await coordinator.getByText("1 unread message").waitFor();
    await agent.send("And now?");
    await coordinator.getByText("2", { exact: true }).waitFor();
    await coordinator.click();
    await coordinator.getByText("unread message").waitFor({ state: "detached" });
    await expect.poll(unread).toBe(0);
    await page.context().close();
  });

  test("whose model does not answer is seen wherever they are, with what is tried, until it answers", async () => {
    const agent = await house.create({ goal: "Lose the provider", name: "Cut off" });
    const home = await house.page();
    const card = home.getByRole("main").getByRole("link", { name: /^Cut off/ });
    await card.getByText("model unreachable").waitFor();
    await card.getByText(/^Coordinator: .* failed: /).waitFor();
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    const banner = page.getByRole("status", { name: "Trouble" });
    await banner.getByText("Coordinator: model unreachable.").waitFor();
    await banner.getByText(/2 attempts failed since \d\d:\d\d:\d\d; next attempt at \d\d:\d\d:\d\d\./).waitFor();
    await page.getByRole("heading", { name: "Cut off" }).getByText("model unreachable").waitFor();
    const member = page.getByRole("navigation", { name: "Agents" }).getByRole("link", { name: /^Coordinator/ });
    await member.getByRole("img", { name: "its model does not answer" }).waitFor();
    const summary = await (await page.request.get(`/agents/${agent.log.id}`)).json();
    expect(summary.trouble).toMatchObject({ worker_id: "coordinator", reason: "connection", tries: 2, workers: 1 });
    house.provider.release("back");
    await banner.waitFor({ state: "detached" });
    await card.getByText("done", { exact: true }).waitFor();
    await page.context().close();
    await home.context().close();
  });

  test("a node that is given to the person is put before them as work, and not as a question of their own", async () => {
    const page = await house.page();
    // What is open when the page comes needs no toast.
    await page.getByText("in total").or(page.getByText("Give an agent a goal")).first().waitFor();
    const agent = await house.create({ goal: "Give me some work", name: "Crates" });
    await page.getByRole("status").getByText("node-1 is yours: Weigh the crate").waitFor();
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    await sidebar
      .getByRole("region", { name: "Needs you" })
      .getByRole("link", { name: /^question ?node-1 is yours/ })
      .click();
    const card = page.getByRole("region", { name: "Question" });
    await card.getByText("node-1 is yours: Weigh the crate").waitFor();
    await page.getByRole("heading", { name: "You", exact: false }).getByText("waiting for you").waitFor();
    await sidebar.getByRole("link", { name: "You", exact: false }).first().waitFor();
    expect(await page.locator("[data-composer]").count()).toBe(0);
    await page.keyboard.press("2");
    await until(agent, ({ board }) => board.nodes["node-1"]?.status === "failed");
    await page.keyboard.press("c");
    await page.getByRole("log").getByText("node-1 is yours: Weigh the crate").waitFor();
    await page.getByRole("log").getByText("You could not finish node-1").waitFor();
    expect(await page.getByText(/You (asks|joined|was)/).count()).toBe(0);
    await page.context().close();
  });

  test("an escaped mark is the mark itself, and a moment in replay is told in words and by the same clock as elsewhere", async () => {
    const agent = await house.create({ goal: "Say it escaped", name: "Escaped" });
    await agent.idle();
    const page = await house.page(`/ui/agents/${agent.log.id}`, { locale: "en-US", timezoneId: "UTC" });
    await page.getByRole("log").getByText("5 * 3, snake_case, [no link](x) and <b>.").last().waitFor();
    await page.goto(`/ui/agents/${agent.log.id}?at=1`);
    const replay = page.getByRole("region", { name: "Replay" });
    await replay.getByText(/^· \w{3} \d+, \d{4}, \d\d:\d\d:\d\d$/).waitFor();
    await replay.getByText("Escaped was created: Say it escaped").waitFor();
    await page.context().close();
  });

  test("a list shows what an agent works on now, not what it was made for", async () => {
    const agent = await house.create({ goal: "First the walls", name: "Painter" });
    await agent.idle();
    await agent.send("Then the roof");
    await house.provider.reached("roof");
    const page = await house.page();
    const card = page.getByRole("main").getByRole("link", { name: /^Painter/ });
    await card.getByText("Then the roof").waitFor();
    expect(await card.getByText("First the walls").count()).toBe(0);
    house.provider.release("roof");
    await page.context().close();
  });
});

describe.skipIf(!hasChromium)("making an agent where there are no keys and no programs", () => {
  let house: House;
  beforeAll(async () => {
    const finish = [{ calls: [call("finish", { summary: "Said." })] }];
    house = await openHouse(
      { turns: { "Say it with a listed model": finish, "Say it with another": finish } },
      { env: { PATH: "/nowhere", OLLAMA_BASE_URL: "http://127.0.0.1:9" } },
    );
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test("each model says what it lacks and stands there once; what is wrong with the folder is said at its field", async () => {
    const page = await house.page();
    await page.getByRole("main").getByRole("button", { name: "New agent" }).click();
    const dialog = page.getByRole("dialog", { name: "New agent" });
    const model = dialog.getByLabel("Model", { exact: true });
    await model.getByRole("option", { name: "demo/surveyor" }).waitFor({ state: "attached" });
    const offered = await model.getByRole("option").allInnerTexts();
    expect(offered.filter((text) => text.includes("demo/surveyor"))).toHaveLength(1);
    expect(offered).toContain("claude-code/sonnet · needs the program claude");
    expect(offered.find((text) => text.startsWith("openai/gpt-5 "))).toContain(" · needs OPENAI_API_KEY");

    await dialog.getByLabel("Goal").fill("Survey the files");
    const folder = dialog.getByRole("textbox", { name: "Folder it may read", exact: true });
    // The demo has nothing to survey without one; nobody else is given one unasked.
    await expect.poll(() => folder.inputValue()).toBe(house.home);
    await model.selectOption({ label: "another model, by its name…" });
    await dialog.getByLabel("Model, by its name").fill("openai/gpt-5");
    await expect.poll(() => folder.inputValue()).toBe("");
    expect(await folder.getAttribute("placeholder")).toBe(`${house.home}, or none`);
    await model.selectOption("");
    for (const [path, problem] of [
      ["docs", "docs is not an absolute path. Begin it with /."],
      ["/nowhere/at/all", "There is no folder /nowhere/at/all on the server's machine, or the server may not read it."],
      [import.meta.filename, "first-look.test.ts is a file. Name the folder that it is in."],
    ] as const) {
      await folder.fill(path);
      await folder.press("Control+Enter");
      await dialog.getByRole("alert").getByText(problem).waitFor();
      expect(await folder.getAttribute("aria-invalid")).toBe("true");
      expect(await folder.getAttribute("aria-describedby")).toBe(await dialog.getByRole("alert").getAttribute("id"));
      expect(await page.evaluate("document.activeElement.name")).toBe("project");
    }
    await folder.fill(import.meta.dirname);
    await dialog.getByRole("button", { name: "Start agent" }).click();
    await dialog.waitFor({ state: "detached" });
    // The result leads to what was published.
    const stream = page.getByRole("log");
    await stream.getByText("Finished", { exact: true }).waitFor();
    await stream
      .getByRole("link", { name: /node-\d\/report\.md/ })
      .first()
      .click();
    await page
      .getByRole("heading", { name: /^Survey of/ })
      .first()
      .waitFor();
    await page.context().close();
  });

  test("a model on a server of config.json is chosen like any other, and any other by its name; what is wrong is said there", async () => {
    const servers = { local: { base_url: house.provider.env.OLLAMA_BASE_URL } };
    // Named here, it is listed however long the server takes to say what it has.
    const config = { providers: servers, models: { [LISTED]: {} }, worker_model: "demo/surveyor" };
    writeFileSync(join(house.home, "config.json"), JSON.stringify(config));
    const page = await house.page();
    const dialog = page.getByRole("dialog", { name: "New agent" });
    const open = async (goal: string) => {
      await page.getByRole("button", { name: "New agent" }).filter({ visible: true }).first().click();
      await dialog.getByLabel("Goal").fill(goal);
    };
    const made = async (goal: string) => {
      await page.getByRole("log").getByText(goal).first().waitFor();
      await page.getByRole("log").getByText("Said.").first().waitFor();
      return (await house.runtime.summaries()).find((each) => each.goal === goal);
    };
    const model = dialog.getByLabel("Model", { exact: true });

    await open("Say it with a listed model");
    await model.getByRole("option", { name: `${LISTED} · price unknown` }).waitFor({
      state: "attached",
    });
    expect(await dialog.getByLabel("Model for its workers").getByRole("option").first().textContent()).toBe(
      "demo/surveyor",
    );
    await model.selectOption(LISTED);
    await dialog.getByLabel(/^Mode(?!l)/).selectOption("until you stop it");
    await dialog.getByText("price unknown").filter({ visible: true }).waitFor();
    await dialog.getByRole("button", { name: "Start agent" }).click();
    expect(await made("Say it with a listed model")).toMatchObject({
      model: LISTED,
      worker_model: "demo/surveyor",
      mode: "infinite",
    });

    await open("Say it with another");
    await model.selectOption({ label: "another model, by its name…" });
    const typed = dialog.getByLabel("Model, by its name");
    await typed.fill("antropic/claude-sonnet-5");
    await typed.press("Control+Enter");
    await dialog.getByRole("alert").getByText("Did you mean anthropic/claude-sonnet-5").waitFor();
    expect(await typed.getAttribute("aria-describedby")).toBe(await dialog.getByRole("alert").getAttribute("id"));
    expect(await page.evaluate("document.activeElement.name")).toBe("model");
    await model.selectOption({ label: "openai-compatible/local/… · type the model" });
    await typed.fill("openai-compatible/local/newest");
    await dialog.getByLabel("Budget in USD").fill("1");
    await typed.press("Control+Enter");
    await dialog.getByRole("alert").getByText("No price is known for openai-compatible/local/newest").waitFor();
    expect(await page.evaluate("document.activeElement.name")).toBe("budget_usd");
    await dialog.getByLabel("Budget in USD").fill("");
    await dialog.getByRole("button", { name: "Start agent" }).click();
    expect(await made("Say it with another")).toMatchObject({
      model: "openai-compatible/local/newest",
      mode: "finite",
    });
    await page.context().close();
  });
});
