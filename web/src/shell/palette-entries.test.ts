import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AgentSummary, ListedWorker, MeshProjectView } from "../live/api.ts";

beforeEach(() => {
  // A feed goes to rest a minute after nobody looks at it: by then other tests run in this process.
  vi.useFakeTimers();
  const place = { addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("window", place);
  vi.stubGlobal("document", { ...place, hidden: false });
  const here = { href: "http://127.0.0.1/ui/", pathname: "/ui/agents/agent-1/workers/bob", search: "" };
  vi.stubGlobal("location", here);
  vi.stubGlobal("history", {
    pushState(_: unknown, __: string, address: string) {
      here.pathname = address;
    },
  });
  vi.stubGlobal("WebSocket", class {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("everything is there once, however often it is called the same, and stays there once one has been at it", async () => {
  const { agents } = await import("../live/agents.ts");
  const { entries } = await import("./palette-entries.ts");
  const { go } = await import("./route.ts");
  const [shop, attic] = ["agent-1", "agent-2"].map((id) => ({ id, name: id, status: "working" }) as AgentSummary);
  const meshes = ["/a/shop", "/b/shop"].map(
    (project, at): MeshProjectView => ({
      ...{ id: `record-${at}`, name: "", project, status: "working" },
      ...{ meshes: [], problems: [] },
    }),
  );
  Object.assign(agents, { list: [shop, attic], meshes });
  const workers = ["agent-1", "agent-2"].flatMap((id) =>
    ["coordinator", "bob"].map(
      (worker): ListedWorker => ({ id: worker, name: worker, identity: "", agent: { id, name: id } }),
    ),
  );
  const all = entries(workers);
  expect(new Set(all.map(({ key }) => key)).size).toBe(all.length);
  expect(all.filter(({ text }) => text === "Stop the meshes of shop")).toHaveLength(2);

  go({ screen: "entity", agent: "agent-2", worker: "coordinator" });
  go({ screen: "home" });
  const after = entries(workers);
  expect(after.slice(0, 2).map(({ kind, text, of }) => [kind, text, of])).toEqual([
    ["agent", "agent-2", ""],
    ["worker", "coordinator", "agent-2"],
  ]);
  const placesIn = (found: typeof all) => new Set(found.flatMap(({ key, address }) => (address === null ? [] : [key])));
  expect(placesIn(after)).toEqual(placesIn(all));
});
