import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { TrustFile, type TrustGrant, trustFile } from "./trust-file.ts";

const grant = (mesh: string, more: Partial<TrustGrant> = {}): TrustGrant => ({
  ...{ project: "/p", mesh, hash: "a".repeat(64), terminals: false, at: "2026-01-02T03:04:05.000Z", by: "terminal" },
  ...more,
});

test("TRUST-2: of many changes at once none is lost, the newest of a mesh counts, and nobody else may read it", async () => {
  await using home = await temporaryHome();
  const names = Array.from({ length: 20 }, (_, number) => `m${number}`);
  // Two of them, as two processes have them.
  const files = [new TrustFile(home.path), new TrustFile(home.path)];
  await Promise.all(names.map((name, at) => files[at % 2]?.grant(grant(name))));
  await files[0]?.grant(grant("m0", { terminals: true }));
  await files[0]?.grant(grant("m0", { project: "/other" }));
  expect(await files[1]?.revoke("/p", "m1")).toBe(true);
  expect(await files[1]?.revoke("/p", "constructor")).toBe(false);
  const left = new TrustFile(home.path).all();
  expect(left.map(({ mesh }) => mesh).toSorted()).toEqual([...names.filter((name) => name !== "m1"), "m0"].toSorted());
  expect(files[0]?.grantOf("/p", "m0")).toEqual(grant("m0", { terminals: true }));
  expect(files[0]?.grantOf("/p", "constructor")).toBeUndefined();
  expect(statSync(trustFile(home.path)).mode & 0o777).toBe(0o600);
});

test("TRUST-1: a file that cannot be understood trusts nothing, says so, and is not replaced", async () => {
  await using home = await temporaryHome();
  mkdirSync(home.path, { recursive: true });
  const file = new TrustFile(home.path);
  const path = trustFile(home.path);
  const good = JSON.stringify({ version: 1, meshes: [grant("m")] });
  for (const text of [
    "",
    "{",
    "[]",
    good.slice(0, -1),
    good.replace('"version":1', '"version":2'),
    good.replaceAll("a", "z"),
  ]) {
    writeFileSync(path, text);
    expect(() => file.grantOf("/p", "m")).toThrow("cannot be parsed, so no mesh is trusted");
    await expect(file.grant(grant("n"))).rejects.toThrow("cannot be parsed");
    expect(readFileSync(path, "utf8")).toBe(text);
  }
  // A project cannot speak for itself by a link either.
  rmSync(path);
  writeFileSync(join(home.path, "theirs.json"), good);
  symlinkSync(join(home.path, "theirs.json"), path);
  expect(() => file.grantOf("/p", "m")).toThrow();
  chmodSync(path, 0o600);
});

test("one yes too many drops the oldest: the file stays one that can be understood", async () => {
  await using home = await temporaryHome();
  mkdirSync(home.path, { recursive: true });
  const meshes = Array.from({ length: 10_000 }, (_, at) => grant("m", { project: `/p/${at}` }));
  writeFileSync(trustFile(home.path), JSON.stringify({ version: 1, meshes }));
  const file = new TrustFile(home.path);
  await file.grant(grant("m", { project: "/new" }));
  expect(file.grantOf("/new", "m")).toBeDefined();
  expect([file.all().length, file.grantOf("/p/0", "m")]).toEqual([10_000, undefined]);
});
