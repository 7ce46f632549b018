import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "./temporary-home.ts";

test("a home is gone when its scope ends, read-only folders included, and nothing it links to", async () => {
  await using outside = await temporaryHome();
  await writeFile(join(outside.path, "kept.md"), "kept");
  await chmod(outside.path, 0o500);
  let path = "";
  {
    await using home = await temporaryHome();
    path = home.path;
    const published = join(path, "published");
    await mkdir(published);
    await writeFile(join(published, "report.md"), "done");
    await symlink(outside.path, join(path, "link"));
    await chmod(published, 0o555);
  }
  expect(existsSync(path)).toBe(false);
  expect(await readFile(join(outside.path, "kept.md"), "utf8")).toBe("kept");
  expect((await lstat(outside.path)).mode & 0o777).toBe(0o500);
});

test("two homes are two folders, and removing one twice is harmless", async () => {
  const [one, two] = await Promise.all([temporaryHome(), temporaryHome()]);
  expect(one.path).not.toBe(two.path);
  await one.remove();
  await one.remove();
  expect([existsSync(one.path), existsSync(two.path)]).toEqual([false, true]);
  await two.remove();
});
