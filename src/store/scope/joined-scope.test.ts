import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { AccessTable } from "./access.ts";
import { FileScope } from "./file-scope.ts";
import { JoinedScope } from "./joined-scope.ts";

/** A place in which all may be written. */
function place(agentDir: string, project: string | null = null): FileScope {
  return new FileScope({
    ...{ agentDir, home: agentDir, project, top: [], aliases: new Map(), cwd: agentDir },
    table: new AccessTable([{ at: "**", access: "write", why: "" }]),
    ...{ mayWrite: () => "", describe: () => "" },
    binds: async () => ({ write: [agentDir], read: [], hide: [], cwd: agentDir }),
  });
}

test("JOINED-SCOPE-1, JOINED-SCOPE-2: a path leads to one of both, as it is written, and out of neither", async () => {
  await using home = await temporaryHome();
  const [clone, team, person] = ["clone", "team", "person"].map((name) => join(home.path, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [clone, join(team, "shared"), person]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(person, "main.js"), "theirs");
  symlinkSync(person, join(clone, "link"));
  const scope = new JoinedScope({
    first: place(clone),
    other: place(team, person),
    names: new Set(["shared"]),
    prefixes: [".ai/tx/mesh/pair", team],
    ...{ named: {}, describe: () => "" },
  });
  await scope.writeFile("main.js", "clone");
  await scope.writeFile("project/more.js", "clone too");
  await scope.writeFile("./shared/notes.md", "team");
  await scope.writeFile(`${team}/shared/more.md`, "team too");
  expect(["main.js", "more.js"].map((name) => readFileSync(join(clone, name), "utf8"))).toEqual(["clone", "clone too"]);
  expect(["notes.md", "more.md"].map((name) => readFileSync(join(team, "shared", name), "utf8"))).toEqual([
    "team",
    "team too",
  ]);
  expect(readFileSync(join(person, "main.js"), "utf8")).toBe("theirs");
  expect((await scope.readFile("project/main.js", { maxBytes: 100 })).bytes.toString()).toBe("clone");
  for (const path of ["shared/../../person/main.js", "../person/main.js", "link/main.js", "project/../person/main.js"])
    await expect(scope.readFile(path, { maxBytes: 100 })).rejects.toThrow();
  expect((await scope.binds()).write).toEqual([clone, team]);
});
