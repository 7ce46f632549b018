import { expect, test } from "vitest";
import { seatbeltProfile } from "./seatbelt.ts";

test("a profile denies all, then allows its mounts in their order, the deeper later", () => {
  const profile = seatbeltProfile([
    { at: "/p", source: "/p", access: "read", folder: true },
    { at: "/p/.env", source: "/p/.env", access: "hide", folder: false },
    { at: "/p/scratch", source: "/private/p/scratch", access: "write", folder: true },
  ]);
  const lines = profile.split("\n");
  expect(lines.slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
  expect(lines.slice(-5)).toEqual([
    '(deny file-write* (subpath "/p"))',
    '(allow file-read* (subpath "/p"))',
    '(deny file-read* file-write* (literal "/p/.env"))',
    '(allow file-read* file-write* (subpath "/private/p/scratch"))',
    "(deny file-write-setugid)",
  ]);
  expect(profile).not.toMatch(/network|mach-lookup/);
});

test("a folder's name cannot become a rule", () => {
  const source = '/p/"))(allow default)("\\';
  const profile = seatbeltProfile([{ at: source, source, access: "read", folder: true }]);
  expect(profile.split("\n").at(-2)).toBe('(allow file-read* (subpath "/p/\\"))(allow default)(\\"\\\\"))');
});

test("of all networks a program reaches the listed ports of this machine, and by them our proxy and our door", () => {
  const profile = seatbeltProfile([{ at: "/p", source: "/p", access: "write", folder: true }], [4000, 4001]);
  expect(profile.split("\n").filter((line) => line.includes("network"))).toEqual([
    '(allow network-outbound (remote ip "localhost:4000"))',
    '(allow network-outbound (remote ip "localhost:4001"))',
  ]);
});

test("a folder that is laid out is shown without names that begin with a dot, whenever they come", () => {
  const source = '/p/my "project"';
  const profile = seatbeltProfile([{ at: source, source, access: "lay_out", folder: true, parts: [] }]);
  const [write, read, hidden] = profile.split("\n").slice(-4);
  expect([write, read]).toEqual([
    '(deny file-write* (subpath "/p/my \\"project\\""))',
    '(allow file-read* (subpath "/p/my \\"project\\""))',
  ]);
  const pattern = new RegExp(/#"(.*)"/.exec(hidden ?? "")?.[1] ?? "");
  const isHidden = (path: string) => pattern.test(`${source}/${path}`);
  expect([".env", "a/.env", "a/.git/config", "a.env", "a/b.c"].map(isHidden)).toEqual([true, true, true, false, false]);
});
