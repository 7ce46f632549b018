import type axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageRouteOf } from "../../web/src/shell/address.ts";
import { hasChromium, picture } from "./house.ts";
import { OPTIONS, outOfReach, violations } from "./page-faults.ts";
import { SCREENS, type Scene, type Width } from "./screens.ts";
import { openTown, type Town } from "./town.ts";

/** A picture of every scene takes as long as judging it; they are for people who look at the page. */
const KEEPS_PICTURES = process.env.AGIRAPH_PICTURES !== undefined;

const WIDTHS: readonly Width[] = [1440, 390];
const THEMES = ["light", "dark"] as const;

/**
 * Asking axe is most of this file's time. In CI each scene is asked about once, and the next one in another look: wide
 * and light, narrow and dark, narrow and light, wide and dark. `npm run soak` asks at both widths, and in both themes.
 * What is cut off, out of reach or too wide is looked at in every scene, at every width.
 */
const IS_SOAK = process.env.AGIRAPH_SOAK !== undefined;
const LOOKS = [
  [1440, "light"],
  [390, "dark"],
  [390, "light"],
  [1440, "dark"],
] as const;
const ALL: readonly Scene[] = Object.values(SCREENS).flatMap((groups) =>
  Object.values<readonly Scene[]>(groups).flat(),
);

/** What a theme changes is colours: the other rules see the same page in both, and are asked in one. */
const COLOURS: axe.RunOptions = {
  resultTypes: ["violations"],
  runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
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
        if (kind === "screen") expect(screenAt(page)).toBe(group);
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
    } else {
      // Neither does it remember what was written.
      if (page === shared) await page.evaluate("localStorage.clear()");
      await page.goto(path);
    }
    isUsed = scene.act !== undefined || scene.before !== undefined;
    if (!scene.act) return;
    if (!scene.before) await page.getByRole("heading", { level: 1 }).waitFor();
    await scene.act(page, town);
  }
});

function screenAt(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pageRouteOf(pathname, search).screen;
}

/** 1440 by 900 at 200 %: so much is left for whoever needs it large. */
const ZOOMED = { width: 720, height: 450 };

const sizeOf = (width: Width) => ({ width, height: width === 390 ? 844 : 900 });

async function faultsOf(page: Page, scene: Scene): Promise<unknown[]> {
  const { name, ready, width: only } = scene;
  const found: unknown[] = [];
  const widths = WIDTHS.filter((each) => only === undefined || each === only);
  const looks = looksAt(scene, widths);
  for (const width of widths) {
    await page.setViewportSize(sizeOf(width));
    await inSight(page, ready, `${name}-${width}`);
    for (const { theme, rules } of looks.filter((look) => look.width === width)) {
      await page.emulateMedia({ colorScheme: theme });
      await inSight(page, ready, `${name}-${theme}-${width}`);
      found.push(...(await violations(page, rules)).map((each) => [width, theme, ...each]));
      if (KEEPS_PICTURES) await picture(page, `${name}-${theme}-${width}`);
    }
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    if (overflow !== 0) found.push([width, "overflows", overflow]);
  }
  if (only !== 1440) found.push(...(await outOfReach(page)));
  if (only !== undefined) return found;
  await page.setViewportSize(ZOOMED);
  await inSight(page, ready, `${name}-zoomed`);
  if (KEEPS_PICTURES) await picture(page, `${name}-zoomed`);
  return [...found, ...(await cutOff(page))];
}

/** How axe is asked about a scene. Colours are the same at every width; pictures are taken of all four. */
function looksAt(
  scene: Scene,
  widths: readonly Width[],
): { width: Width; theme: (typeof THEMES)[number]; rules: axe.RunOptions }[] {
  const [width, theme] = LOOKS[ALL.indexOf(scene) % LOOKS.length] ?? LOOKS[0];
  if (!IS_SOAK && !KEEPS_PICTURES)
    return [{ width: widths.find((each) => each === width) ?? widths[0] ?? width, theme, rules: OPTIONS }];
  return widths.flatMap((width) =>
    THEMES.filter((theme) => theme === "light" || width === widths[0] || KEEPS_PICTURES).map((theme) => ({
      width,
      theme,
      rules: theme === "light" ? OPTIONS : COLOURS,
    })),
  );
}

/** In words, in a field, or as the name of a picture. What was there instead can be looked at. */
async function inSight(page: Page, words: string, name: string): Promise<void> {
  const all = page.getByText(words).or(page.getByLabel(words)).or(page.getByAltText(words));
  await all
    .filter({ visible: true })
    .first()
    .waitFor()
    .catch(async (error: unknown) => {
      await picture(page, name);
      throw error;
    });
}

/**
 * Zoomed in: what is to be clicked and cannot be brought before one's eyes, or has something else over it; and what is
 * read through a slit. The panel of a node may lie over its board, and a toast over anything: both can be closed.
 */
async function cutOff(page: Page): Promise<unknown[]> {
  const top = (await page.locator("dialog[open]").count()) > 0 ? "dialog[open]" : "body";
  return page
    .locator(`${top} :is(button, a, summary, input, select, textarea, [role=log]):visible`)
    .evaluateAll((all) =>
      all.flatMap((element) => {
        if (!element.isConnected || element.matches(".sr-only")) return [];
        element.scrollIntoView({ block: "center", inline: "center" });
        const { ownerDocument } = element;
        const { clientWidth, clientHeight } = ownerDocument.documentElement;
        const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
        // Whatever hides what is too much, and more than a border, can be scrolled by a script and by nobody else.
        let isHidden = false;
        for (let box = element.parentElement; box; box = box.parentElement) {
          const { overflowX, overflowY } = ownerDocument.defaultView.getComputedStyle(box);
          isHidden ||= (overflowY === "hidden" && box.scrollTop > 4) || (overflowX === "hidden" && box.scrollLeft > 4);
        }
        const isOut =
          isHidden || left < -0.5 || right > clientWidth + 0.5 || top + Math.min(height, 44) > clientHeight + 0.5;
        const middle = (Math.max(0, top) + Math.min(clientHeight, bottom)) / 2;
        const hit = ownerDocument.elementFromPoint(left + width / 2, middle);
        const isOver =
          hit?.closest("[role=status]") ||
          (hit?.closest("aside") && element.closest("[data-board]")) ||
          // Two moments of work within a pixel; the list below has both.
          (hit?.closest("[aria-label='Who worked when']") && element.closest("[aria-label='Who worked when']"));
        const isCovered = !isOver && !(hit && (element.contains(hit) || hit.contains(element)));
        const isSlit = element.matches("[role=log]") && height < 120;
        const place = [left, right, top, bottom].map(Math.round).join(" ");
        const fault = isOut ? "out of sight" : isCovered ? `under ${hit?.outerHTML.slice(0, 80)}` : "a slit";
        return isOut || isCovered || isSlit ? [["zoomed", place, fault, element.outerHTML.slice(0, 200)]] : [];
      }),
    );
}
