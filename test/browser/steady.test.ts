import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../src/testing/index.ts";
import { CHOICES, chipTeam, GOAL } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const EVIL = '<img src="https://evil.example/a.png" onerror="document.body.dataset.broken=1">';
const EVIL_MARKDOWN = `${EVIL} ![b](https://evil.example/b.png) [c](javascript:document.body.dataset.broken=1) <script>document.body.dataset.broken=1</script>`;
const STEPS = 25;

describe.skipIf(!hasChromium)("a page that keeps its word", () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({
      turns: {
        ...chipTeam.turns,
        "Count to the end": Array.from({ length: STEPS }, (_, index) => ({
          ...(index % 5 === 4 && { hold: `drop-${(index + 1) / 5}` }),
          calls: [call("write_file", { path: `step-${index + 1}.md`, content: "x" })],
        })),
        "Say something evil": [
          {
            text: EVIL_MARKDOWN,
            calls: [
              call("send_message", { to: "human", content: EVIL_MARKDOWN }),
              call("create_work_node", { task: EVIL }),
              call("schedule", { type: "delayed", config: { delay_seconds: 9000 }, action: EVIL_MARKDOWN }),
              call("write_file", { path: `runs/run-1/${EVIL.replaceAll("/", "_")}.md`, content: EVIL_MARKDOWN }),
              call("ask_human", { question: EVIL_MARKDOWN, choices: [EVIL, "no"] }),
            ],
          },
        ],
      },
      respond: chipTeam.respond ?? (() => undefined),
    });
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test("five lost connections leave no hole and no double, and nothing goes out of sight", async () => {
    const agent = await house.create({ goal: "Count to the end" });
    const page = await house.page("/ui/", { viewport: { width: 1440, height: 3000 } });
    let connections = 0;
    page.on("websocket", (socket) => {
      if (socket.url().includes(`${agent.log.id}/events`)) socket.once("framereceived", () => connections++);
    });
    await page.goto(`/ui/agents/${agent.log.id}`);
    await page.getByRole("log").getByText("Count to the end").first().waitFor(); // what was shown once stays
    for (const drop of [1, 2, 3, 4, 5]) {
      await house.provider.reached(`drop-${drop}`);
      // Each time one that stands is cut, not one that is still on its way back.
      await expect.poll(() => connections).toBe(drop);
      house.dropSockets();
      house.provider.release(`drop-${drop}`);
      expect(await page.getByRole("status", { name: "Loading" }).count()).toBe(0);
    }
    const stream = page.getByRole("log");
    await stream.getByRole("button", { name: `step-${STEPS}.md` }).waitFor();
    const shown = await stream.getByRole("button", { name: "write_file" }).allInnerTexts();
    expect(shown.map((text) => /step-(\d+)\.md/.exec(text)?.[1])).toEqual(
      Array.from({ length: STEPS }, (_, index) => String(index + 1)),
    );
    expect(connections).toBe(6);
    await page.context().close();
  });

  test("where one was in a stream, and what one was writing, is kept for each worker of the team", async () => {
    const agent = await house.create({ goal: "Count to the end" });
    for (const drop of [1, 2, 3, 4, 5]) house.provider.release(`drop-${drop}`);
    const page = await house.page(`/ui/agents/${agent.log.id}`, { viewport: { width: 1440, height: 500 } });
    const stream = page.getByRole("log");
    await stream.getByRole("button", { name: `step-${STEPS}.md` }).waitFor();
    await until(
      agent,
      ({ roster }) => roster.coordinator?.status === "waiting" || roster.coordinator?.status === "idle",
    );
    await page.mouse.move(800, 200);
    await page.mouse.wheel(0, -400);
    await page.getByRole("button", { name: "Newest" }).waitFor();
    const place = await page.evaluate(`Math.round(document.querySelector("[role=log]").scrollTop)`);
    await page.getByRole("textbox", { name: "Message to the coordinator" }).fill("Half a thou");
    await page.keyboard.press("Escape");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: "Board" }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Newest" }).waitFor();
    expect(await page.evaluate(`Math.round(document.querySelector("[role=log]").scrollTop)`)).toBe(place);
    await page.reload();
    expect(await page.getByRole("textbox", { name: "Message to the coordinator" }).inputValue()).toBe("Half a thou");
    await page.context().close();
  });

  test("an agent is stopped, goes on when it is written to, and is paused and resumed", async () => {
    const agent = await house.create({ goal: GOAL });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped. Write to continue.").waitFor();
    expect(agent.now.agent.status).toBe("stopped");
    const field = page.getByRole("textbox", { name: "Message to the coordinator" });
    await field.fill("Go on, and look at the power.");
    await field.press("Enter");
    for (const point of ["words", "alice"]) house.provider.release(point);
    await page.getByRole("log").getByText("Power is in the plan now.").waitFor();
    await page.getByRole("log").getByText("Alice finished node-1").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused. It continues when it is resumed.").waitFor();
    expect(agent.now.agent.status).toBe("paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await agent.respond(CHOICES[0] ?? "");
    await page.getByRole("log").getByText("Finished", { exact: true }).waitFor();
    await page.context().close();
  });

  test("a second click, or key, does nothing of what has come to the same place", async () => {
    const agent = await house.create({ goal: GOAL, name: "Twice" });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Pause" }).click();
    const resume = page.getByRole("button", { name: "Resume" });
    await resume.click({ trial: true });
    const box = await resume.boundingBox();
    if (!box) throw new Error("There is no Resume.");
    const at = [box.x + box.width / 2, box.y + box.height / 2] as const;
    // Stop comes to that place, and is not meant. Clicked within the page, in the frame in which it appears: from here a
    // busy machine would be too slow to be a second click.
    const stopAtOnce = page.evaluate(
      `new Promise((clicked) => {
        const look = () => {
          const stop = document.querySelector('button[aria-label="Stop"]');
          if (!stop) return requestAnimationFrame(look);
          document.elementFromPoint(${at.join(", ")})?.closest("button")?.click();
          stop.focus();
          stop.click();
          clicked();
        };
        look();
      })`,
    );
    await page.mouse.dblclick(...at);
    await stopAtOnce;
    await page.getByRole("button", { name: "Pause" }).click();
    await resume.waitFor();
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const steered = facts.flatMap(({ type }) => (/^agent\.(?:paused|resumed|stopped)$/.test(type) ? [type] : []));
    expect(steered).toEqual(["agent.paused", "agent.resumed", "agent.paused"]);
    expect(await page.getByRole("status").getByRole("paragraph").count()).toBe(0);
    await page.context().close();
    await agent.archive("human");
  });

  test("a press is a click on what it began on, though something comes above it before it ends", async () => {
    const agent = await house.create({ goal: GOAL, name: "Pressed" });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page();
    let letInboxCome = () => {};
    const isWanted = new Promise<void>((resolve) => {
      letInboxCome = resolve;
    });
    await page.route("**/inbox?*", async (route) => {
      await isWanted;
      await route.continue();
    });
    await page.reload();
    const needsYou = page.getByRole("navigation").getByRole("region", { name: "Needs you" });
    const team = page.getByRole("button", { name: "Team of Pressed", exact: true });
    await team.hover();
    expect(await needsYou.count()).toBe(0);
    // However slow this machine is, it is a short press.
    await page.evaluate(() => {
      performance.now = () => 0;
    });
    await page.mouse.down();
    const inbox = page.waitForResponse("**/inbox?*");
    letInboxCome();
    await (await inbox).finished();
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    await page.mouse.up();
    expect(await team.getAttribute("aria-expanded")).toBe("true");
    await needsYou.waitFor();
    await page.context().close();
    await agent.archive("human");
  });

  test("the theme's button shows what it leads to, also when the system changes its own", async () => {
    const page = await house.page("/ui/", { colorScheme: "light" });
    await page.getByRole("button", { name: "Dark theme" }).waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    const light = page.getByRole("button", { name: "Light theme" });
    await light.locator(".lucide-sun").waitFor();
    await light.click();
    await page.getByRole("button", { name: "Dark theme" }).waitFor();
    await page.context().close();
  });

  test("an agent that is deleted can be had back", async () => {
    const agent = await house.create({ goal: GOAL, name: "Put away" });
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Archive", exact: true }).click();
    await page.getByText("Put away was stopped and archived.").waitFor();
    const group = page.getByRole("navigation").getByRole("region", { name: "Put away" });
    await group.waitFor({ state: "detached" });
    expect(agent.now.agent.archived_ts).not.toBeNull();
    const toast = page.getByRole("status").filter({ hasText: "archived" });
    const middles = await Promise.all(
      [toast.getByRole("paragraph"), toast.getByRole("button", { name: "Undo" })].map(async (part) => {
        const box = await part.boundingBox();
        return box && Math.round(box.y + box.height / 2);
      }),
    );
    expect(middles[0]).toBe(middles[1]);
    await page.getByRole("button", { name: "Undo" }).click();
    await group.waitFor();
    expect(agent.now.agent.archived_ts).toBeNull();
    await page.context().close();
  });

  test("without the key nothing is shown, and the token opens the page", async () => {
    const agent = await house.create({ goal: "Keep a secret", name: "Secret" });
    const page = await house.page();
    await page.context().clearCookies();
    await page.goto(`/ui/agents/${agent.log.id}`);
    await page.getByRole("heading", { name: "Log in to open this page" }).waitFor();
    expect(await page.locator("body").textContent()).not.toContain("ecret");
    expect(await page.getByRole("navigation").count()).toBe(0);
    await page.getByLabel(/paste the token/).fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("The token is wrong.").waitFor();
    await page.getByLabel(/paste the token/).fill(house.token);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { name: "Secret", level: 1 }).waitFor();
    await page.context().close();
  });

  test("a link that was used leads whoever is in to the page, and tells everybody else what to do", async () => {
    const page = await house.page();
    const link = `/login?once=${house.app.credentials.newLink().once}`;
    for (let times = 0; times < 2; times++) {
      await page.goto(link);
      await page.getByRole("navigation", { name: "Agents" }).waitFor();
    }
    await page.context().clearCookies();
    await page.goto(link);
    await page.getByRole("heading", { name: "This link was already used or has expired" }).waitFor();
    await page.getByText("agiraph token --link prints a new one").waitFor();
    await page.getByLabel(/paste the token/).fill(house.token);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Agents" }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    await page.context().close();
  });

  test("what models say, files and names cannot become markup, script or pictures from elsewhere", async () => {
    const agent = await house.create({ goal: "Say something evil", name: EVIL });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(house.url) && !request.url().startsWith("blob:")) asked.push(request.url());
    });
    const name = encodeURIComponent(`${EVIL.replaceAll("/", "_")}.md`);
    for (const screen of [
      "",
      "/board",
      "/board/node-1",
      "/timeline",
      "/triggers",
      "/files",
      `/files/runs/run-1/${name}`,
      "/memory",
    ]) {
      await page.goto(`/ui/agents/${agent.log.id}${screen}`);
      await page.getByText("evil.example").first().waitFor();
      const foreign = await page.locator('main img, main script, a[href^="javascript:"], [onerror]').count();
      expect([screen, foreign, await page.evaluate("document.body.dataset.broken ?? null")]).toEqual([screen, 0, null]);
    }
    expect(asked).toEqual([]);
    await page.context().close();
  });
});
