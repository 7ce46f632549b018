import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { publishedFolders } from "./scope-binds.ts";

test("a folder that a publish is about to replace is not shown: it may be gone when it is mounted", async () => {
  await using home = await temporaryHome();
  const published = (node: string) => join(home.path, "nodes", node, "published");
  for (const node of ["node-1", "node-2", "node-3"]) await mkdir(published(node), { recursive: true });
  for (const node of ["node-1", "node-2"]) await writeFile(join(published(node), "a.md"), "a");
  expect(await publishedFolders(home.path, "node-1")).toEqual([published("node-2")]);
});
