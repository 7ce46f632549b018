import { expect, test } from "vitest";
import { mayWriteIn, orderOf } from "./agent-order.ts";

const order = (said: Record<string, string>) => orderOf((name) => said[name] ?? "");
const infinite = { goal: "Watch", mode: "infinite" };

test("what was left empty is not ordered, and what only an infinite agent has is not ordered of another", () => {
  expect(order({ goal: "Count", mode: "finite", cycle_seconds: "10m", watch: "https://a.example" })).toEqual({
    order: { goal: "Count", mode: "finite" },
  });
  expect(order({ goal: "Count", budget_usd: "2.5", tools: "read_file, web_fetch,,grep" })).toEqual({
    order: { goal: "Count", mode: "finite", budget_usd: 2.5, tools: ["read_file", "web_fetch", "grep"] },
  });
});

test("an infinite agent's cycle and what wakes it are read as `run --every` and `run --watch` read them", () => {
  const watch = (typed: string, project = "/home/me/shop") => {
    const ordered = order({ ...infinite, cycle_seconds: "10m", watch: typed, project });
    return "order" in ordered ? ordered.order.watch : ordered.problems.watch;
  };
  expect(order({ ...infinite, cycle_seconds: "2h" })).toEqual({ order: { ...infinite, cycle_seconds: 7200 } });
  expect(watch("https://a.example/news")).toEqual({ url: "https://a.example/news" });
  expect(watch("cmd: git log -1", "")).toEqual({ command: "git log -1" });
  expect(["a.txt", "./a.txt", "/home/me/shop/a.txt", "/home/me/shop/", "."].map((typed) => watch(typed))).toEqual([
    { path: "project/a.txt" },
    { path: "project/a.txt" },
    { path: "project/a.txt" },
    { path: "project" },
    { path: "project" },
  ]);
  for (const typed of ["/home/me/shops/a.txt", "../a.txt"])
    expect(watch(typed)).toBe(`${typed} is outside /home/me/shop, the folder it may read.`);
  expect(watch("a.txt", "")).toMatch(/^To watch a path, name the folder it may read/);
});

test("everything that is wrong is said at once, each at its field", () => {
  expect(order({ ...infinite, cycle_seconds: "soon", watch: "/etc", project: "/home/me" })).toEqual({
    problems: {
      cycle_seconds: "It must be between a second and a year, e.g. 30s, 10m, 2h or 1d.",
      watch: "/etc is outside /home/me, the folder it may read.",
    },
  });
});

test("whether it may change the repository is said whenever there is a folder, as the box has it", () => {
  expect(order({ goal: "Fix", project: "/shop", write: "on" })).toEqual({
    order: { goal: "Fix", mode: "finite", project: "/shop", write: true },
  });
  expect(order({ goal: "Fix", project: "/shop" })).toMatchObject({ order: { write: false } });
  // Refused by the server, at the box.
  expect(order({ goal: "Fix", write: "on" })).toMatchObject({ order: { write: true } });
});

test("the box begins as config.json has it for the nearest folder", () => {
  const projects = [
    { folder: "/home/me", write: false },
    { folder: "/home/me/shop", write: true },
    { folder: "/home/me/shop/docs", write: false },
  ];
  const folders = [
    "/home/me/shop",
    " /home/me/shop/",
    "/home/me/shop/api",
    "/home/me/shop/docs/a",
    "/home/me/shops",
    "/",
  ];
  expect(folders.map((folder) => mayWriteIn(projects, folder))).toEqual([true, true, true, false, false, false]);
});
