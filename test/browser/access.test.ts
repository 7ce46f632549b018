import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasChromium, picture } from "./house.ts";
import { SCREENS, type Scene, type Width } from "./screens.ts";
import { openTown, type Town } from "./town.ts";

const WIDTHS: readonly Width[] = [1440, 390];
const THEMES = ["light", "dark"] as const;

/**
 * All rules of axe, also those that are off unless asked for. Left out: `color-contrast-enhanced`, which is of WCAG's
 * highest level (7:1 everywhere), where the page promises the middle one; and what axe itself calls deprecated.
 */
const OPTIONS: axe.RunOptions = {
  resultTypes: ["violations"],
  rules: Object.fromEntries(
    ["target-size", "identical-links-same-purpose", "meta-refresh-no-exceptions"].map((id) => [id, { enabled: true }]),
  ),
};

describe.skipIf(!hasChromium)("the page for everyone: no rule of accessibility is broken, whatever is shown", () => {
  let town: Town;
  let shared: Page;
  let isUsed = true;
  beforeAll(async () => {
    town = await openTown();
    shared = await town.house.page();
  });
  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
  });

  for (const [kind, groups] of Object.entries(SCREENS)) {
    for (const [group, scenes] of Object.entries<readonly Scene[]>(groups)) {
      test.for(scenes.map((scene) => [scene.name, scene] as const))(`${kind} ${group}: %s`, async ([, scene]) => {
        const page = scene.before ? await town.house.page() : shared;
        await play(page, scene);
        expect(await faultsOf(page, scene)).toEqual([]);
        if (page !== shared) await page.context().close();
      });
    }
  }

  /** Within the page where it is as nobody had touched it, else anew. */
  async function play(page: Page, scene: Scene): Promise<void> {
    const path = scene.path(town);
    await scene.before?.(page, town);
    await page.setViewportSize(sizeOf(scene.width ?? 1440));
    if (page === shared && !isUsed) {
      await page.evaluate(
        `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
      );
    } else await page.goto(path);
    isUsed = scene.act !== undefined || scene.before !== undefined;
    if (!scene.act) return;
    if (!scene.before) await page.getByRole("heading", { level: 1 }).waitFor();
    await scene.act(page, town);
  }
});

const sizeOf = (width: Width) => ({ width, height: width === 390 ? 844 : 900 });

async function faultsOf(page: Page, { name, ready, width: only }: Scene): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const width of WIDTHS.filter((each) => only === undefined || each === only)) {
    await page.setViewportSize(sizeOf(width));
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      await inSight(page, ready);
      found.push(...(await violations(page)).map((each) => [width, theme, ...each]));
      await picture(page, `${name}-${theme}-${width}`);
    }
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    if (overflow !== 0) found.push([width, "overflows", overflow]);
  }
  return [...found, ...(only === 1440 ? [] : await tooSmall(page))];
}

/** In words, in a field, or as the name of a picture. */
async function inSight(page: Page, words: string): Promise<void> {
  const written = page
    .getByText(words)
    .or(page.getByLabel(words))
    .or(page.getByAltText(words))
    .filter({ visible: true });
  await written.first().waitFor();
}

async function violations(page: Page): Promise<unknown[][]> {
  // Of a page that was not loaded anew since.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(OPTIONS)})`)) as axe.AxeResults;
  return found.violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]);
}

/** On a phone: what is to be touched and is lower than a finger. Links within sentences are as high as their line. */
async function tooSmall(page: Page): Promise<unknown[]> {
  const top = (await page.locator("dialog[open]").count()) > 0 ? "dialog[open]" : "body";
  return page.locator(`${top} :is(button, a, summary, input, select, textarea):visible`).evaluateAll((all) =>
    all.flatMap((element) => {
      const { height } = element.getBoundingClientRect();
      const isInline = element.closest("p, dd, li > .prose, .prose, [aria-label='Who worked when'], .sr-only") !== null;
      return height < 43.5 && !isInline ? [["too small", element.outerHTML.slice(0, 200), Math.round(height)]] : [];
    }),
  );
}
