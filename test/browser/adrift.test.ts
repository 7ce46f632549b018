import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { chipTeam, GOAL, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const HTML = { status: 200, contentType: "text/html", body: "<h1>Welcome to nginx!</h1>" };
const FAILING = { status: 500, contentType: "text/html", body: "<h1>Internal Server Error</h1>" };

describe.skipIf(!hasChromium)("a page whose server or storage is not what it should be", () => {
  let house: House;
  let agent: Agent;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });
  const at = (screen = "") => `/ui/agents/${agent.log.id}${screen}`;
  /** Closed whatever becomes of the test: what a page that is left open complains of is none of the next one's business. */
  const open = async (...where: Parameters<House["page"]>) => {
    const page = await house.page(...where);
    onTestFinished(() => page.context().close());
    return page;
  };
  const field = (page: Page) => page.getByRole("textbox", { name: "Message to the coordinator" });

  test("who answers in the server's place is found out, nothing goes out of sight, and it mends by itself", async () => {
    const page = await open(at());
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    await sidebar.getByRole("link", { name: "Alice" }).waitFor();
    let asked = 0;
    for (const answer of [HTML, FAILING, { ...HTML, contentType: "application/json", body: "[]" }]) {
      await page.route("**/agents?*", (route) => {
        asked += 1;
        return route.fulfill(answer);
      });
      house.dropSockets();
      await page
        .getByRole("status")
        .getByText(/Something else than Agiraph answers here|The server answered 500\./)
        .waitFor();
      await sidebar.getByRole("link", { name: "Alice" }).waitFor();
      await page.unrouteAll();
      await page.getByText("This page may be out of date.").waitFor({ state: "detached" });
    }
    expect(asked).toBeLessThan(40);
    // What was said could not be read at first: it is read as soon as the server is back.
    await page.route("**/conversation?*", (route) => route.fulfill(FAILING));
    const isRead = page.waitForResponse("**/conversation?*");
    await page.reload();
    await isRead;
    await page.unrouteAll();
    house.dropSockets();
    await page.getByRole("log").getByText("I set up a team of three").waitFor();
    await page.context().close();

    const late = await open();
    await late.route("**/agents?*", (route) => route.fulfill(HTML));
    await late.goto(at());
    await late.getByText("Something else than Agiraph answers here").waitFor();
    await late.unrouteAll();
    await late.getByRole("heading", { name: NAME }).waitFor();
    await late.context().close();
  });

  test("what could not be read is read once the server is there again", async () => {
    const page = await open(at());
    await field(page).waitFor();
    await page.route(/\/(workspace|memory)\?/, (route) => route.abort());
    for (const [key, file] of [
      ["f", "GOAL.md"],
      ["m", "MEMORY.md"],
    ] as const) {
      await expect
        .poll(() => page.keyboard.press(key).then(() => page.url()))
        .toContain(key === "f" ? "/files" : "/memory");
      await page.getByText("The server is not responding").waitFor();
      await page.unrouteAll();
      house.dropSockets();
      await page.getByRole("main").getByRole("link", { name: file }).waitFor();
      expect(await page.getByText("The server is not responding").count()).toBe(0);
      await page.route(/\/(workspace|memory)\?/, (route) => route.abort());
    }
    await page.context().close();
  });

  test("garbage on the socket and facts from the future cost nothing but themselves, and a lost place is found again", async () => {
    const before = house.complaints.length;
    const page = await open();
    let connections = 0;
    await page.routeWebSocket(/\/agents\/[^/]+\/events/, (socket) => {
      connections += 1;
      const server = socket.connectToServer();
      for (const frame of ["", "{", "<html>", "null", '{"type":"from.tomorrow"}', '{"seq":1}']) socket.send(frame);
      if (connections === 1)
        server.onMessage((frame) => {
          socket.send(frame);
          socket.send('{"type":"delta","worker_id":"nobody","text":"Boo"}');
          // As of a home that was restored from a copy.
          if (String(frame).includes('"snapshot"'))
            void socket.close({ code: 4400, reason: "after: the log ends at 3." });
        });
    });
    await page.goto(at());
    await page.getByRole("log").getByText("I set up a team of three").waitFor();
    await page.getByText("The connection is lost").waitFor({ state: "detached" });
    await agent.send("Are you there?");
    await page.getByRole("log").getByText("Are you there?").waitFor();
    expect(connections).toBe(2);
    expect(house.complaints.slice(before)).toEqual([]);
    await page.context().close();
  });

  test("a moment that is yet to come is the last one there is, however late that is known", async () => {
    const page = await open();
    const live = Promise.withResolvers<void>();
    // Nothing else than the agent's own facts, and these late, has the page drawn again.
    await page.routeWebSocket(/:\d+\/events/, () => {});
    await page.routeWebSocket(/\/agents\/[^/]+\/events/, async (socket) => {
      await live.promise;
      socket.connectToServer();
    });
    await page.goto(`${at()}?at=99999`);
    await page.getByRole("navigation", { name: "Agents" }).getByRole("region", { name: NAME }).waitFor();
    await page.getByRole("region", { name: "Replay" }).getByText("99999").first().waitFor();
    await page.getByRole("heading", { name: NAME, level: 1 }).waitFor();
    live.resolve();
    await page.waitForURL((url) => Number(url.searchParams.get("at")) === agent.now.seq);
    await page.context().close();
  });

  test("words that the server did not take outlive the page, and are sent once", async () => {
    const page = await open(at());
    await page.route("**/send", (route) => route.fulfill(FAILING));
    await field(page).fill("Use **kelvin**, please.");
    await field(page).press("Enter");
    await page.getByRole("alert").getByText("The server answered 500.").waitFor();
    await page.reload();
    await page.getByRole("alert").getByText("The page was closed before the server confirmed this.").waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).dblclick();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByRole("log").getByText("sending…").waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("log").getByText("kelvin").first().waitFor();
    expect(await page.getByRole("log").getByText("not sent").count()).toBe(0);
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    expect(facts.filter((fact) => fact.type === "message.sent" && fact.data.text.includes("kelvin"))).toHaveLength(1);
    await page.context().close();
  });

  test("what was begun is kept: an answer whose card goes out of sight, and a goal whose dialog is closed", async () => {
    const page = await open(at("/workers/bob"));
    await page.getByLabel("Your answer").fill("The steady st");
    await page.getByRole("navigation").getByRole("link", { name: "Alice" }).click();
    await page.getByRole("heading", { name: "Alice", level: 1 }).waitFor();
    await page.goBack();
    expect(await page.getByLabel("Your answer").inputValue()).toBe("The steady st");
    await page.reload();
    expect(await page.getByLabel("Your answer").inputValue()).toBe("The steady st");
    await page.getByRole("heading", { name: "Bob", level: 1 }).click();
    await page.keyboard.press("n");
    const goal = page.getByLabel("Goal");
    await goal.fill("Do it once");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("n");
    expect(await goal.inputValue()).toBe("Do it once");
    const before = (await house.runtime.summaries()).length;
    // A key that is held down repeats itself.
    await page.evaluate(`for (let n = 0; n < 5; n++)
      document.querySelector("dialog textarea")
        .dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));`);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("log").getByText("Do it once").first().waitFor();
    expect((await house.runtime.summaries()).length).toBe(before + 1);
    await page.keyboard.press("n");
    expect(await goal.inputValue()).toBe("");
    await page.context().close();
  });

  test("without storage, or with garbage in it, everything works, and whoever leaves with a draft is asked", async () => {
    const without = await open();
    await without.addInitScript(
      `Object.defineProperty(window, "localStorage", { get() { throw new DOMException("no", "SecurityError"); } });`,
    );
    await without.goto(at());
    await field(without).fill("Half a thou");
    await without.getByRole("navigation").getByRole("link", { name: "Alice" }).click();
    await without.goBack();
    expect(await field(without).inputValue()).toBe("Half a thou");
    const asked = new Promise<string>((done) => {
      without.on("dialog", (dialog) => {
        done(dialog.type());
        void dialog.accept();
      });
    });
    await without.reload();
    expect(await asked).toBe("beforeunload");
    await without.context().close();

    const garbage = await open(at());
    await garbage.evaluate(`(() => {
      for (const key of ["theme", "project", "open.${agent.log.id}", "draft.goal"]) localStorage.setItem("agiraph." + key, "<\\u0000{[");
      sessionStorage.setItem("agiraph.unsent.${agent.log.id}", '[{"to":1},null,{"to":"x"}]');
    })()`);
    await garbage.reload();
    await field(garbage).waitFor();
    expect(await garbage.getByRole("log").getByText("not sent").count()).toBe(0);
    await garbage.context().close();
  });

  test("whoever comes to an archived agent is told, and can have it back", async () => {
    const away = await house.create({ goal: GOAL, name: "Away" });
    await away.archive("human");
    const page = await open(`/ui/agents/${away.log.id}`);
    await page.getByText("This agent is archived").waitFor();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("This agent is archived").waitFor({ state: "detached" });
    await page.getByRole("navigation").getByRole("region", { name: "Away" }).waitFor();
    await page.context().close();
  });
});
