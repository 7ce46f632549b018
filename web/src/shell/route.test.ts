import { afterEach, beforeEach, expect, test, vi } from "vitest";

const written = vi.fn();

beforeEach(() => {
  vi.resetModules();
  written.mockClear();
  const place = { pathname: "/ui/agents/a/board", search: "" };
  const goTo = (_: unknown, __: string, address: string) => {
    const url = new URL(address, "http://127.0.0.1");
    Object.assign(place, { pathname: url.pathname, search: url.search });
  };
  vi.stubGlobal("location", place);
  vi.stubGlobal("history", { pushState: goTo, replaceState: goTo });
  vi.stubGlobal("window", { addEventListener() {} });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: written, removeItem() {} });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("a scrubber that is drawn along a log writes down once where one is", async () => {
  const { go, goTo, recentAddresses, routeNow } = await import("./route.ts");
  for (let at = 1; at <= 200; at++) goTo(at);
  expect([routeNow().at, written.mock.calls.length]).toEqual([200, 1]);
  go({ screen: "timeline", agent: "a" });
  go({ screen: "board", agent: "a", node: null });
  expect(recentAddresses()).toEqual(["/ui/agents/a/board", "/ui/agents/a/timeline"]);
});
