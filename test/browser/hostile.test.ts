import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const BREAK = "document.body.dataset.broken=1";
/** Markup, in attributes and out of them, and markdown that would have the browser fetch or run something. */
const EVIL = `"'><img src="https://evil.example/a.png" onerror="${BREAK}"><script>${BREAK}</script>`;
const WORDS = [
  `Evil ${EVIL} ![b](https://evil.example/b.png) <svg onload=${BREAK}>`,
  `[c](javascript:${BREAK}) [d](data:text/html,<script>${BREAK}</script>) [e](//evil.example/e)`,
  `[f][g] <iframe srcdoc="<script>parent.${BREAK}</script>"></iframe>`,
  `<link rel=stylesheet href=https://evil.example/s.css><style>@import "https://evil.example/t.css"</style>`,
  "",
  `[g]: javascript:${BREAK}`,
].join("\n\n");
const GOAL = "Be as evil as you can";
const DRAWN = `<svg xmlns="http://www.w3.org/2000/svg" onload="${BREAK}"><image href="https://evil.example/i.png"/><script>${BREAK}</script></svg>`;
/** Looks like a PDF. No file of ours is opened by such a name; a program may leave one all the same. */
const TURNED = "report\u202Efdp.exe";
const FILES: Readonly<Record<string, string>> = {
  "page.html": `<!doctype html><script>${BREAK}</script><img src=https://evil.example/h.png>Evil page`,
  "drawing.svg": DRAWN,
  "picture.png": `${DRAWN} Evil picture`,
  "words.md": WORDS,
  [`${EVIL.replaceAll("/", "_").slice(0, 120)}.md`]: WORDS,
  "check.constructor": "if (admin\u202E \u2066// Evil check\u2069 \u2066) {\n",
  "שלום ללל.txt": "Evil, from right to left",
  "x.__proto__": "Evil ending",
};

describe.skipIf(!hasChromium)("a page that meets evil", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  /** Whatever was asked of anybody but the server. */
  const asked: string[] = [];

  beforeAll(async () => {
    house = await openHouse({
      turns: {
        [GOAL]: [
          {
            text: WORDS,
            calls: [
              call("spawn_worker", { name: "Mallory", identity: WORDS }),
              call("create_work_node", { task: WORDS }),
              call("assign_worker", { node_id: "node-1", worker_id: "Mallory" }),
              call("schedule", { type: "delayed", config: { delay_seconds: 9000 }, action: WORDS }),
              call("memory_write", { path: "memory/knowledge/evil.md", content: `# ${EVIL}\n\n${WORDS}` }),
              call(`tool${EVIL}`, { [EVIL]: WORDS }),
              call("send_message", { to: "human", content: WORDS }),
            ],
          },
          { calls: [call("ask_human", { question: WORDS, choices: [EVIL, "no", "no\u202E"] })] },
        ],
        "You are Mallory": [{ fault: { status: 400, message: WORDS } }],
      },
      respond: () => ({ text: "I wait." }),
    });
    agent = await house.create({ goal: GOAL, name: `Evil ${EVIL}\u202E` });
    await until(
      agent,
      ({ questions, board }) => Object.keys(questions.open).length === 1 && board.nodes["node-1"]?.status === "failed",
    );
    const run = join(house.home, "agents", agent.log.id, "runs", "run-1");
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(run, name), text);
    writeFileSync(join(run, TURNED), "Evil program");
    mkdirSync(join(run, "constructor"));
    page = await house.page(`/ui/agents/${agent.log.id}`);
    page.on("request", (request) => {
      if (!request.url().startsWith(house.url) && !request.url().startsWith("blob:")) asked.push(request.url());
    });
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  /** Nothing that somebody wrote has become an element, an address or an act. */
  async function isWhole(where: string): Promise<void> {
    const foreign = await page
      .locator(
        'img:not([src="/favicon.svg"]):not([src^="blob:"]), svg image, iframe, object, embed, #page script, #page style, #page link, a[href^="javascript:" i], a[href^="data:" i], a[href^="//"], [onerror], [onload], [srcdoc]',
      )
      .count();
    expect([where, foreign, await page.evaluate("document.body.dataset.broken ?? null")]).toEqual([where, 0, null]);
  }

  test("nothing that a model, a provider, a file or a name says becomes markup, script, or a picture from elsewhere", async () => {
    const screens = [
      ["", "Evil"],
      ["/workers/mallory", "Evil"],
      ["/board", "Evil"],
      ["/board/node-1", "Why it failed"],
      ["/timeline", "Evil"],
      ["/triggers", "Evil"],
      ["/memory/knowledge/evil.md", "Evil"],
      ...Object.keys(FILES).map(
        (name) => [`/files/runs/run-1/${encodeURIComponent(name)}`, /Evil|no picture/] as const,
      ),
    ] as const;
    for (const [screen, words] of screens) {
      await page.goto(`/ui/agents/${agent.log.id}${screen}`);
      await page.getByRole("main").getByText(words).first().waitFor();
      await isWhole(screen);
    }
    await page.goto(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: /^failed tool/ }).click();
    await page.getByText("Failed", { exact: true }).first().waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /Evil/ }).first().waitFor();
    await isWhole("the palette");
    await page.goto("/ui/");
    await page.getByRole("main").getByRole("link", { name: /Evil/ }).first().waitFor();
    await isWhole("home");
    expect(await page.title()).toContain("Agiraph");
    expect(asked).toEqual([]);
  });

  test("an address that names what no agent has, or what every object has, says so and breaks nothing", async () => {
    const at = `/ui/agents/${agent.log.id}`;
    for (const [path, words] of [
      [`${at}/workers/constructor`, "Nobody named constructor is on this team."],
      [`${at}/workers/__proto__`, "Nobody named __proto__ is on this team."],
      [`${at}/workers/%3Cimg%20src=x%3E`, "Nobody named <img src=x> is on this team."],
      [`${at}/board/constructor`, "node-1"],
      [`${at}/board/__proto__`, "node-1"],
      [`${at}/files/runs/run-1/constructor`, "There is no file"],
      [`${at}/files/..%2f..%2f..%2ftoken`, "There is no file"],
      [`${at}?at=999999999999999`, "You are looking at the past."],
      [`${at}?at=-1`, "Evil"],
      ["/ui/agents/agent-nobody", "There is no agent agent-nobody."],
      ["/ui/meshes/agent-nobody/x", "There are no meshes agent-nobody."],
      ["/ui/agents/%2e%2e%2fconfig", "1 agent"],
      ["/ui/nowhere/at/all#<img src=x>", "1 agent"],
    ] as const) {
      await page.goto(path);
      await page.getByRole("main").getByText(words).first().waitFor();
      await isWhole(path);
    }
    await page.goto(`${at}?at=999999999999999`);
    await page.waitForURL((url) => Number(url.searchParams.get("at")) === agent.now.seq);
  });

  test("nobody looks like somebody else, and no file like another kind, by what cannot be seen", async () => {
    const at = `/ui/agents/${agent.log.id}`;
    await page.goto(at);
    await page.getByRole("heading", { level: 1 }).getByText("⟨U+202E⟩").waitFor();
    await page.goto(`${at}/files/runs/run-1/check.constructor`);
    await page.getByText("if (admin⟨U+202E⟩ ⟨U+2066⟩// Evil check").waitFor();
    await page.getByRole("link", { name: "report⟨U+202E⟩fdp.exe" }).click();
    await page.getByRole("heading", { name: "runs/run-1/report⟨U+202E⟩fdp.exe" }).waitFor();
    await page.getByRole("alert").getByText("it has invisible characters").waitFor();
    const everything = await page.locator("body").textContent();
    expect(/[\u202A-\u202E\u2066-\u2069\u200B]/.test(everything ?? "")).toBe(false);
  });

  test("the policy lets nothing in that is not the page's own, and text is made into no script by any way", async () => {
    const { headers } = await page.request.get("/ui/").then((answer) => ({ headers: answer.headers() }));
    const policy = Object.fromEntries(
      (headers["content-security-policy"] ?? "").split("; ").map((rule) => {
        const [name, ...values] = rule.split(" ");
        return [name, values.join(" ")];
      }),
    );
    expect(policy).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' blob:",
      "font-src": "'self'",
      "connect-src": "'self'",
      "manifest-src": "'self'",
      "base-uri": "'none'",
      "form-action": "'self'",
      "frame-ancestors": "'none'",
      "require-trusted-types-for": "'script'",
      "trusted-types": "'none'",
    });
    // As if something had got into the page after all.
    const tries = await page.evaluate(`(() => {
      const run = (act) => { try { act(); return "done"; } catch (error) { return error.name; } };
      return [
        run(() => { document.body.insertAdjacentHTML("beforeend", '<img src=x onerror="${BREAK}">'); }),
        run(() => { const s = document.createElement("script"); s.textContent = "${BREAK}"; document.body.append(s); }),
        run(() => { setTimeout("${BREAK}", 0); }),
      ];
    })()`);
    expect(tries).toEqual(["TypeError", "TypeError", "TypeError"]);
    for (const name of Object.keys(FILES)) {
      const file = `/agents/${agent.log.id}/workspace/runs/run-1/${encodeURIComponent(name)}`;
      const answer = await page.request.get(file);
      expect([name, answer.headers()["content-type"]]).toEqual([name, "text/plain; charset=utf-8"]);
      expect(answer.headers()["x-content-type-options"]).toBe("nosniff");
      expect(answer.headers()["content-security-policy"]).toContain("sandbox");
      const download = await page.request.get(`${file}?download=true`);
      expect(download.headers()["content-disposition"]).toMatch(/^attachment; filename\*=UTF-8''[\w%.!~-]+$/);
    }
    await page.goto(`/agents/${agent.log.id}/workspace/runs/run-1/page.html`);
    expect(await page.evaluate("document.body.dataset.broken ?? null")).toBe(null);
    expect(asked).toEqual([]);
  });
});
