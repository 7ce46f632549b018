import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copyReady, Layout } from "../../src/mesh/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { type House, hasChromium, MODEL, openHouse, picture } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const REVIEW = "### F1 (high) a.ts:3: it loses the last line\n\nRead a file without a newline at its end.\n";
const VERDICT = "- F1: settled. The last line is there now.\n\nVerdict: pass\n";

/** The ready mesh `review`, played by models; the fixer is held until a test has looked. */
const turns = {
  "**Agent**: reviewer": [
    {
      calls: [
        call("write_file", { path: "output/review.md", content: REVIEW }),
        call("tx_done", { summary: "**One** high finding: `a.ts:3` loses the last line." }),
      ],
    },
  ],
  "**Agent**: fixer": [{ gate: "fixer", calls: [call("tx_done", { summary: "Mended." })] }],
  "**Agent**: verifier": [
    {
      calls: [
        call("write_file", { path: "output/verdict.md", content: VERDICT }),
        call("tx_done", { summary: "It passes." }),
      ],
    },
  ],
};

describe.skipIf(!hasChromium)("meshes in the page", () => {
  let house: House;
  let record: Agent;
  let page: Page;
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "mesh-page-")));
  const project = join(dir, "shop");
  const layout = new Layout(project);

  beforeAll(async () => {
    mkdirSync(project);
    await copyReady(layout, ["research", "review"]);
    for (const name of ["reviewer", "fixer", "verifier"]) {
      const config = { name, description: `The ${name}`, options: { model: MODEL, runs: "harnessed" } };
      writeFileSync(join(layout.agents, "review", name, "config.json"), JSON.stringify(config));
    }
    house = await openHouse({ turns });
    record = await house.runtime.meshRecord(project);
    await record.start("created");
    page = await house.page();
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  const main = () => page.getByRole("main");
  const who = () => main().getByRole("region", { name: "Who is in it" });

  test("meshes stand beside the agents, and their record is none of these", async () => {
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    const meshes = sidebar.getByRole("region", { name: "Meshes" });
    await meshes.getByText("shop").waitFor();
    expect(await meshes.getByRole("link").allTextContents()).toEqual(["researchidle", "reviewidle"]);
    expect(await sidebar.getByText("mesh: shop").count()).toBe(0);
    await meshes.getByRole("link", { name: "review" }).click();
    await main().getByRole("heading", { name: "review", level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/meshes/${record.log.id}/review`);
    await main().getByText("Nothing has come here yet.").waitFor();
  });

  test("a task written there goes through the queues before one's eyes, and every message can be read", async () => {
    await main().getByRole("textbox", { name: "Message to review" }).fill("# Review `a.ts`");
    await page.keyboard.press("Enter");
    await main()
      .getByText(/^Written as .*review-a-ts\.md\.$/)
      .waitFor();
    await house.provider.reached("fixer");
    await who()
      .getByRole("link", { name: /fixer.*1 active/ })
      .waitFor();
    const active = main().getByRole("region", { name: "Active" });
    await active.getByRole("button", { name: /task from human/ }).click();
    await active.getByRole("heading", { name: "Review a.ts" }).waitFor();

    await who().getByRole("link", { name: /fixer/ }).click();
    await main().getByText("fixer works.").waitFor();
    const handoff = main().getByRole("region", { name: "Active" });
    await handoff.getByRole("button", { name: /task from review\/reviewer/ }).click();
    await handoff.getByRole("heading", { name: "Handoff from reviewer to fixer" }).waitFor();
    // What an agent wrote is markdown too.
    expect(await handoff.locator("strong").allTextContents()).toContain("One");
    await picture(page, "mesh-live-1440-light");

    house.provider.release("fixer");
    await main().getByText("fixer waits for a task.").waitFor();
    await who()
      .getByRole("link", { name: /The mesh itself/ })
      .click();
    await main().getByRole("region", { name: "Complete" }).waitFor();
    await main().getByText("1 task completed", { exact: false }).first().waitFor();
    expect(await main().getByRole("region", { name: "Active" }).count()).toBe(0);
  });

  test("a file that is no message lies aside with its reason", async () => {
    writeFileSync(join(dir, "bad.md"), "no header\n");
    renameSync(join(dir, "bad.md"), join(layout.queue({ mesh: "review", agent: null }, "inbox"), "bad.md"));
    const aside = main().getByRole("region", { name: "Quarantine" });
    await aside.getByText("It has no header").waitFor();
    await picture(page, "mesh-aside-1440-light");
  });

  test("no rule of accessibility is broken, at any width, light or dark, and all is within reach of a finger", async () => {
    const found: unknown[] = [];
    for (const width of [1440, 390]) {
      for (const theme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
        await page.emulateMedia({ colorScheme: theme });
        for (const at of ["", "/verifier"]) {
          await page.goto(`/ui/meshes/${record.log.id}/review${at}`);
          const complete = main().getByRole("region", { name: "Complete" });
          await complete.getByRole("button").first().click();
          await complete.getByText("timestamp:").first().waitFor();
          const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
          found.push(...violations.map(({ id, nodes }) => [width, theme, at, id, nodes[0]?.html]));
          const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          if (overflow !== 0) found.push([width, theme, at, "overflows", overflow]);
          await picture(page, `mesh${at.replace("/", "-")}-${width}-${theme}`);
        }
        if (width === 1440) continue;
        const small = await page
          .locator(
            "main button:visible, main nav a:visible, main section a:visible, main textarea:visible, main select:visible",
          )
          .evaluateAll((all) =>
            all.flatMap((element) => (element.getBoundingClientRect().height < 44 ? [element.outerHTML] : [])),
          );
        found.push(...small);
      }
    }
    expect(found).toEqual([]);
    expect(house.complaints).toEqual([]);
  });

  test("who is in a mesh is written to there: their own page leads to it", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`/ui/agents/${record.log.id}/workers/review-fixer`);
    await main().getByRole("link", { name: "Write to review/fixer in its mesh" }).click();
    await main().getByRole("textbox", { name: "Message to fixer" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/meshes/${record.log.id}/review/fixer`);
    await page.goBack();
    await main().getByRole("link", { name: "Write to review/fixer in its mesh" }).waitFor();
    expect(await main().getByRole("textbox").count()).toBe(0);
  });

  test("when they are stopped, the page says how to go on", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await record.stop("human");
    await page.goto("/ui/");
    await page.getByText("Stopped. Start them there: tx start").waitFor();
  });
});
