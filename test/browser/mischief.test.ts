import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Layout } from "../../src/mesh/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { trustMeshes, until } from "../../src/testing/index.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { type House, hasChromium, MODEL, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const BREAK = "document.body.dataset.broken=1";
const TAGS = `"'><img src=https:evil.example onerror=${BREAK}><script>${BREAK}</script>`;
/** Turns round what comes after it, and cannot be seen. */
const TURN = "\u202E";
const EVIL = `Evil ${TAGS} [a](javascript:${BREAK}) ![b](https://evil.example/b.png)${TURN}`;
/** A file that is a page, and to whoever looks at its first bytes a picture. */
const POLYGLOT = `\u0000<!doctype html><script>${BREAK}</script><img src=https://evil.example/p.png>`;
const PAGE = `<!doctype html><script>${BREAK}</script><img src=https://evil.example/h.png>Evil page`;
const DRAWN = `<svg xmlns="http://www.w3.org/2000/svg" onload="${BREAK}"><script>${BREAK}</script>Evil drawing</svg>`;
const OUTPUT: Readonly<Record<string, string>> = {
  "page.html": PAGE,
  "page.xhtml": PAGE,
  "drawing.svg": DRAWN,
  "page.png": POLYGLOT,
  "zeros.html": POLYGLOT,
  "words.md": EVIL,
  [`${TAGS.replaceAll("/", "_")}\r\nSet-Cookie: evil=1; filename="x.html`]: PAGE,
};
/** As markdown this would read: run npm test, and nothing else. */
const COMMAND = `npm test <!-- --> [ ](https://evil.example) \\-rf *~* \`x\`${TURN}`;
/** As of a config.json that somebody else wrote. */
const EVIL_MODELS = {
  models: [
    {
      id: `openai/${EVIL}`,
      context_window: 1,
      searches_web: false,
      price_usd_per_million: null,
      usable: true,
      missing: null,
    },
    {
      id: "openai/x",
      context_window: 1,
      searches_web: false,
      price_usd_per_million: null,
      usable: false,
      missing: EVIL,
    },
  ],
  prefixes: [EVIL],
  default: { model: `openai/${EVIL}`, why: EVIL, worker_model: null, budget_usd: null, project: EVIL },
  projects: [{ folder: EVIL, write: true }],
  next_after: null,
};
const GOALS = { far: "Ask the far model", asks: "Ask what cannot be seen", leave: "Ask for leave" };

/** A page that is hidden and may notify: what it would show is kept. */
const HIDDEN = `
  window.notes = [];
  window.Notification = class {
    static permission = "granted";
    constructor(title, options) { window.notes.push([title, options.body]); }
  };
  Object.defineProperty(Document.prototype, "hidden", { get: () => true });
`;

describe.skipIf(!hasChromium)("a page that meets evil where one does not look for it", () => {
  let house: House;
  let record: Agent;
  let page: Page;
  const made: Partial<Record<keyof typeof GOALS, Agent>> = {};
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "mischief-")));
  const layout = new Layout(join(dir, `${TAGS.replaceAll("/", "_")}${TURN}`));
  /** Whatever was asked of anybody but the server. */
  const asked: string[] = [];

  beforeAll(async () => {
    const programs = scriptedPrograms(async (program) => {
      program.emit({ kind: "begun", session_id: "gus-1" });
      await program.want("Bash", { command: COMMAND }, COMMAND);
    });
    programs.profile = { ...programs.profile, permissions: "ask" };
    const fault = { status: 503, message: EVIL };
    house = await openHouse(
      {
        turns: {
          "**Agent**: eve": [{ calls: [call("tx_done", { summary: EVIL })] }],
          [GOALS.far]: [{ fault }, { fault }],
          [GOALS.asks]: [
            {
              calls: [
                call("schedule", { type: "on_event", config: { event_pattern: "node.*" }, action: EVIL }),
                call("ask_human", { question: EVIL, choices: ["yes", `yes${TURN}`, TAGS] }),
              ],
            },
          ],
          [GOALS.leave]: [
            {
              calls: [
                call("spawn_worker", { name: "Gus", program: "scripted", identity: "A program" }),
                call("create_work_node", { task: "Run the tests", worker: "Gus" }),
              ],
            },
          ],
        },
        respond: () => ({ text: "I wait." }),
      },
      { isPatient: true, outside: programs },
    );
    await declareMesh();
    page = await house.page();
    page.on("request", (request) => {
      if (!request.url().startsWith(house.url) && !request.url().startsWith("blob:")) asked.push(request.url());
    });
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  /** One mesh whose every word is evil: its description, its agent's, a letter's header, its files and its end. */
  async function declareMesh(): Promise<void> {
    const eve = join(layout.agents, "evil", "eve");
    mkdirSync(eve, { recursive: true });
    mkdirSync(layout.configs, { recursive: true });
    const config = { mesh: "evil", type: "persistent", description: EVIL, agents: ["evil/eve"], workflow: ["eve"] };
    writeFileSync(join(layout.configs, "evil.json"), JSON.stringify(config));
    writeFileSync(join(layout.configs, `${TAGS.replaceAll("/", "_")}.json`), `{"mesh": ${JSON.stringify(EVIL)}`);
    writeFileSync(join(eve, "prompt.md"), "Be evil.");
    writeFileSync(
      join(eve, "config.json"),
      JSON.stringify({ name: "eve", description: EVIL, options: { model: MODEL, runs: "harnessed" } }),
    );
    await trustMeshes(house.home, layout.project);
    record = await house.runtime.meshRecord(layout.project);
    await record.start("created");
    const inbox = layout.queue({ mesh: "evil", agent: null }, "inbox");
    const letter = (name: string, text: string) => {
      writeFileSync(join(dir, "letter.md"), text);
      renameSync(join(dir, "letter.md"), join(inbox, name));
    };
    letter(
      "250101000000-evil.md",
      `---\nfrom: human\nto: mesh\ntype: task\nin-reply-to: Evil ${TAGS.replaceAll("/", "_")}\n---\n\n# ${EVIL}\n\n${EVIL}\n`,
    );
    letter(`${TAGS.replaceAll("/", "_")}${TURN}.md`, `---\nfrom: ${EVIL}\nto: ${EVIL}\ntype: ${EVIL}\n---\n\nEvil\n`);
    for await (const { type, data } of record.log.follow(0, new AbortController().signal))
      if (type === "mesh.completed" && data.mesh === "evil" && data.agent === null) break;
    const output = join(layout.project, ".ai/tx/mesh/evil/shared/output");
    mkdirSync(output, { recursive: true });
    for (const [name, text] of Object.entries(OUTPUT)) writeFileSync(join(output, name), text);
  }

  async function begun(which: keyof typeof GOALS): Promise<Agent> {
    const agent = made[which] ?? (await house.create({ goal: GOALS[which], name: `Evil ${TAGS}` }));
    made[which] = agent;
    await until(agent, ({ questions, troubles }) =>
      which === "far" ? Object.keys(troubles).length > 0 : Object.keys(questions.open).length > 0,
    );
    return agent;
  }

  /** Nothing that somebody wrote has become an element, an address or an act; nothing turns round what is beside it. */
  async function isWhole(where: string): Promise<void> {
    const foreign = await page
      .locator(
        'img:not([src="/favicon.svg"]):not([src^="blob:"]), svg image, iframe, object, embed, #page script, #page style, #page link, a[href^="javascript:" i], a[href^="data:" i], a[href^="//"], [onerror], [onload], [srcdoc]',
      )
      .count();
    const state = await page.evaluate(
      "[document.body.dataset.broken ?? null, document.documentElement.scrollWidth <= innerWidth]",
    );
    expect([where, foreign, state]).toEqual([where, 0, [null, true]]);
  }
  const words = async (part = page.locator("body")) => (await part.textContent()) ?? "";

  test("meshes: the folder, what is declared, letters, what came of them, and their files", async () => {
    const at = `/ui/meshes/${record.log.id}/evil`;
    await page.goto(at);
    const main = page.getByRole("main");
    await main.getByRole("region", { name: "Last result" }).getByText("eve says").waitFor();
    await isWhole("the mesh");
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    for (const part of [
      sidebar,
      main.getByRole("region", { name: "Agents of this mesh" }),
      main.locator("header").first(),
    ])
      expect(await words(part)).not.toContain(TURN);
    await main.getByRole("button", { name: /task from human/ }).click();
    await main.getByText(/in-reply-to: /).waitFor();
    await main.getByRole("region", { name: "Quarantine" }).getByRole("button").click();
    await isWhole("letters");
    const files = main.getByRole("region", { name: "Files" });
    for (const name of Object.keys(OUTPUT)) {
      const rows = await files.getByRole("button").allTextContents();
      const row = rows.findIndex((text) => text.startsWith(name.slice(0, 8)));
      expect([name, row]).not.toEqual([name, -1]);
      await files.getByRole("button").nth(row).click();
      await files.getByText("Loading…").waitFor({ state: "detached" });
      await isWhole(name);
    }
    for (const said of ["This is not a picture", "This is not text"]) await files.getByText(said).waitFor();
    await page.goto(`${at}/eve`);
    await main.getByText("eve waits for a task.").waitFor();
    await isWhole("an agent of the mesh");
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /eve/ }).first().waitFor();
    expect(await words(page.getByRole("dialog"))).not.toContain(TURN);
    await isWhole("the palette");
    expect(asked).toEqual([]);
  });

  test("files as they are: no browser runs what a team wrote, whatever it is called and whatever it looks like", async () => {
    const tab = await page.context().newPage();
    const foreign: string[] = [];
    tab.on("request", (request) => {
      if (!request.url().startsWith(house.url)) foreign.push(request.url());
    });
    for (const name of Object.keys(OUTPUT)) {
      const address = `/meshes/${record.log.id}/evil/output/${encodeURIComponent(name)}`;
      const answer = await page.request.get(address);
      const headers = answer.headers();
      expect([name, answer.status(), headers["x-content-type-options"], headers["set-cookie"]]).toEqual([
        name,
        200,
        "nosniff",
        undefined,
      ]);
      expect(headers["content-type"]).toMatch(/^(text\/plain; charset=utf-8|image\/png|application\/octet-stream)$/);
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none';.* sandbox$/);
      expect(headers["content-disposition"]).toMatch(/^inline; filename\*=UTF-8''[\w%.!~-]+$/);
      // What is no text is downloaded instead; the tab stays where it was.
      await tab.goto(address).catch(() => {});
      expect([name, await tab.evaluate("document.body?.dataset.broken ?? null")]).toEqual([name, null]);
      expect([name, await tab.locator('script, img[src*="evil.example"]').count()]).toEqual([name, 0]);
      const download = await page.request.get(`${address}?download=true`);
      expect(download.headers()["content-disposition"]).toMatch(/^attachment; filename\*=UTF-8''[\w%.!~-]+$/);
    }
    expect(foreign).toEqual([]);
    await tab.close();
  });

  test("a provider's words, models of config.json, workers, triggers", async () => {
    const far = await begun("far");
    await page.goto(`/ui/agents/${far.log.id}`);
    await page.getByRole("status", { name: "Trouble" }).getByText(/Evil/).waitFor();
    await isWhole("trouble");
    await page.route("**/models?*", (route) => route.fulfill({ json: EVIL_MODELS }));
    await page.keyboard.press("n");
    await page
      .getByLabel("Model", { exact: true })
      .locator("option", { hasText: "Evil" })
      .first()
      .waitFor({ state: "attached" });
    await isWhole("a new agent");
    const asks = await begun("asks");
    // Nobody is hired under such a name; a log may come from elsewhere.
    const hired = {
      run_id: "run-1",
      worker_id: "eve",
      name: EVIL,
      kind: "harnessed",
      model: EVIL,
      identity: EVIL,
    } as const;
    await asks.log.append({ facts: [{ type: "worker.spawned", data: hired }] }).durable;
    for (const screen of ["", "/triggers", "/timeline", "/workers/eve"]) {
      await page.goto(`/ui/agents/${asks.log.id}${screen}`);
      await page
        .getByRole("main")
        .getByText(/Evil|Eve/)
        .first()
        .waitFor();
      await isWhole(screen);
    }
    await page.goto("/ui/");
    await page.getByRole("main").getByRole("link", { name: /Evil/ }).first().waitFor();
    await isWhole("home");
    expect(asked).toEqual([]);
  });

  test("a question's choices are told apart, and a notification and the title are words", async () => {
    const asks = await begun("asks");
    await page.goto(`/ui/agents/${asks.log.id}`);
    const card = page.getByRole("region", { name: "Question" });
    await card.getByRole("button", { name: "yes⟨U+202E⟩" }).waitFor();
    expect(await card.locator("[data-choice]").allTextContents()).not.toContain(`2yes${TURN}`);
    const hidden = await house.page();
    await hidden.addInitScript(HIDDEN);
    await hidden.reload();
    await hidden.getByText(/ in total$/).waitFor();
    const another = await house.create({ goal: GOALS.asks, name: `Evil ${TAGS}${TURN}` });
    await until(another, ({ questions }) => Object.keys(questions.open).length > 0);
    await expect.poll(() => hidden.evaluate("window.notes.length")).toBe(1);
    expect(await hidden.evaluate("window.notes")).toEqual([["Coordinator asks", EVIL.slice(0, 300)]]);
    await hidden.goto(`/ui/agents/${another.log.id}`);
    await expect.poll(() => hidden.title()).toContain("Evil");
    expect(await hidden.title()).not.toContain(TURN);
    expect(await hidden.evaluate("document.body.dataset.broken ?? null")).toBe(null);
    await hidden.context().close();
  });

  test("permission is asked for exactly what is to be run, in a form that no model can give its question", async () => {
    const leave = await begun("leave");
    await page.goto(`/ui/agents/${leave.log.id}/workers/gus`);
    const card = page.getByRole("region", { name: "Permission request" });
    await card.getByText("Gus asks for permission to run a command (tool: Bash).").waitFor();
    expect(await card.locator("pre").allTextContents()).toEqual([COMMAND.replace(TURN, "⟨U+202E⟩")]);
    await card.getByRole("button", { name: "always allow exactly this command" }).waitFor();
    await isWhole("leave");
    expect(asked).toEqual([]);
  });
});
