import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium, openHouse } from "./house.ts";

describe.skipIf(!hasChromium)("config.json in the page", () => {
  test("a mistake in it is said, and no more when it is fixed", async () => {
    await using house = await openHouse({ turns: [] });
    const path = join(house.runtime.store.root, "config.json");
    writeFileSync(path, '{"max_turns": "many"}');
    const page = await house.page();
    const line = page.getByText("config.json is invalid");
    await line.waitFor();
    expect(await line.textContent()).toContain('max_turns: expected a number, e.g. "max_turns": 200; there is text.');
    rmSync(path);
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await line.waitFor({ state: "detached" });
  });
});
