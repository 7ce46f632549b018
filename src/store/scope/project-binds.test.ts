import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { type ProjectBinds, projectBinds } from "./project-binds.ts";

test("a folder with hidden names is laid out, one without is bound whole", async () => {
  await using place = await project({
    "README.md": "",
    ".env": "",
    "a/b/c/deep/x.ts": "",
    "a/b/c/secret/.env": "",
    "a/b/c/secret/y.ts": "",
  });
  symlinkSync(".env", join(place.root, "link"));

  expect(shownIn(await place.binds())).toEqual([
    ...["README.md (file)", "a", "a/b", "a/b/c", "a/b/c/deep (folder)", "a/b/c/secret"],
    ...["a/b/c/secret/y.ts (file)", "link (link)"],
  ]);
});

test("what was known of a project never shows more: a dot file that came a moment ago is not in a folder bound whole", async () => {
  await using place = await project({ "a/b/c/d/x.ts": "" });
  // So much later that stamps are trusted: what is known is read again only where the stamp has changed.
  const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
  onTestFinished(() => later.mockRestore());
  const whole = "a/b/c (folder)";
  expect([shownIn(await place.binds()).includes(whole), shownIn(await place.binds()).includes(whole)]).toEqual([
    true,
    true,
  ]);

  place.put("a/b/c/d/new.tmp");
  renameSync(join(place.root, "a/b/c/d/new.tmp"), join(place.root, "a/b/c/d/.env"));
  const shown = shownIn(await place.binds());
  expect([shown.includes(whole), shown.filter((path) => path.includes("a/b/c/d/"))]).toEqual([
    false,
    ["a/b/c/d/x.ts (file)"],
  ]);

  rmSync(join(place.root, "a/b/c/d/.env"));
  expect(shownIn(await place.binds())).toContain(whole);
});

test("those who ask while the project is being looked through get a look that began after they asked", async () => {
  await using place = await project({ "a/b/c/x.ts": "" });
  const first = place.binds();
  place.put("a/b/c/.env");
  const later = await Promise.all([place.binds(), place.binds()]);

  await first;
  expect(later.map((binds) => shownIn(binds).includes("a/b/c (folder)"))).toEqual([false, false]);
});

test("folders that do not fit are left out with the reason, and the top folder shows its folders first", async () => {
  await using place = await project({ ".env": "", "kept/x.ts": "" });
  for (let number = 0; number < 700; number++) place.put(`crowded/${number}.csv`);
  place.put("crowded/.hidden");
  const binds = await place.binds();
  expect([shownIn(binds), binds.omitted]).toEqual([
    ["crowded", "kept", "kept/x.ts (file)"],
    [
      "project/crowded is left out: it holds hidden names (they begin with a dot), and too many others to show them one by one.",
    ],
  ]);

  for (let number = 0; number < 700; number++) place.put(`${number}.csv`);
  const crowded = await place.binds();
  expect(shownIn(crowded)).toEqual(expect.arrayContaining(["crowded", "kept (folder)"]));
  expect(shownIn(crowded).length).toBe(600);
  expect(crowded.omitted.at(-1)).toMatch(/^At least 102 files of project\/ are left out/);
});

test("the top folder is laid out also with many names and none of them hidden: folders and manifests come first", async () => {
  await using place = await project({ "src/x.ts": "", "package.json": "", "README.md": "", "link/x": "" });
  for (let number = 0; number < 700; number++) place.put(`${1000 + number}.csv`);
  const { laidOut, omitted } = await place.binds();
  const paths = laidOut.flatMap(({ parts }) => parts.map(({ path }) => path));
  expect([laidOut.map(({ at }) => at), paths.length, paths.slice(0, 6)]).toEqual([
    [place.root],
    600,
    ["link", "src", "README.md", "package.json", "1000.csv", "1001.csv"],
  ]);
  expect(omitted).toEqual([expect.stringMatching(/^At least 104 files of project\/ are left out: the names/)]);
});

test("a folder that cannot be looked through is left out", async () => {
  await using place = await project({ "a/x.ts": "", [`deep/${"d/".repeat(45)}x.ts`]: "" });
  const { omitted } = await place.binds();
  expect(omitted).toEqual([
    expect.stringMatching(/^project\/deep(\/d)+ is left out: it lies too deep, is closed by its permissions/),
  ]);
});

/** A project with these files. */
async function project(files: Record<string, string>) {
  const temporary = await temporaryHome();
  const [root, home] = [join(temporary.path, "project"), join(temporary.path, "home")];
  for (const folder of [root, home]) mkdirSync(folder);
  const put = (path: string, content = "") => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const [path, content] of Object.entries(files)) put(path, content);
  return {
    root,
    put,
    binds: () => projectBinds(root, home),
    [Symbol.asyncDispose]: () => temporary.remove(),
  };
}

function shownIn({ laidOut }: ProjectBinds): string[] {
  const parts = laidOut.flatMap(({ parts }) => parts);
  return parts.map(({ path, kind }) => (kind === "empty" ? path : `${path} (${kind})`)).sort();
}
