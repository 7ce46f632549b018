import axe from "axe-core";
import type { Page } from "playwright-core";

/**
 * All rules of axe, also those that are off unless asked for. Left out: `color-contrast-enhanced`, which is of WCAG's
 * highest level (7:1 everywhere), where the page promises the middle one; and what axe itself calls deprecated.
 */
export const OPTIONS: axe.RunOptions = {
  resultTypes: ["violations"],
  rules: Object.fromEntries(
    ["target-size", "identical-links-same-purpose", "meta-refresh-no-exceptions"].map((id) => [id, { enabled: true }]),
  ),
};

/** How long somebody worked cannot be wider than it was; the same moments are in the list below, at full size. */
const TARGET_SIZE = { id: "target-size", selector: "*:not([aria-label='Who worked when'] *)" };

export async function violations(page: Page, options: axe.RunOptions): Promise<unknown[][]> {
  // Of a page that was not loaded anew since.
  if (await page.evaluate("typeof axe === 'undefined'"))
    await page.evaluate(`${axe.source}; axe.configure(${JSON.stringify({ rules: [TARGET_SIZE] })})`);
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as axe.AxeResults;
  return found.violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]);
}

/**
 * On a phone: what is to be touched and is lower than a finger, or beyond the edge. Links within sentences are as high as
 * their line; the board, tables and code may be wider than the page, and are moved.
 */
export async function outOfReach(page: Page): Promise<unknown[]> {
  const top = (await page.locator("dialog[open]").count()) > 0 ? "dialog[open]" : "body";
  return page.locator(`${top} :is(button, a, summary, input, select, textarea):visible`).evaluateAll((all) =>
    all.flatMap((element) => {
      // Gone since it was found: the page draws on meanwhile.
      if (!element.isConnected) return [];
      // A box is ticked wherever its words are touched.
      const target = element.matches("[type=checkbox]") ? (element.closest("label") ?? element) : element;
      const { height, right } = target.getBoundingClientRect();
      const isWithin = (where: string) => element.closest(where) !== null;
      const isLow = height < 43.5 && !isWithin("p, .prose, .sr-only, [aria-label='Who worked when']");
      const isBeyond = right > 390.5 && !isWithin("[data-board]");
      const fault = isLow ? `only ${Math.round(height)} high` : `ends at ${Math.round(right)}`;
      return isLow || isBeyond ? [[fault, element.outerHTML.slice(0, 200)]] : [];
    }),
  );
}
