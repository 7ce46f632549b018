import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../../testing/temporary-home.ts";
import { hideTaskFiles } from "./task-files.ts";

test("in a clone, git ignores the files by which a program is spoken to; one of the repository's own is not taken for it", async () => {
  await using home = await temporaryHome();
  const clone = home.path;
  const git = (...args: string[]) => execFileSync("git", args, { cwd: clone, encoding: "utf8" });
  git("init", "-q");
  writeFileSync(join(clone, "_result.md"), "the repository's own\n");
  await expect(hideTaskFiles(clone)).rejects.toThrow("The repository has a file _result.md at its top");
  rmSync(join(clone, "_result.md"));
  await hideTaskFiles(clone);
  for (const name of ["_task.md", "_result.md", "work.md"]) writeFileSync(join(clone, name), "");
  expect(git("status", "--short")).toBe("?? work.md\n");
  // What it has written is there when it is started again.
  await hideTaskFiles(clone);
});
