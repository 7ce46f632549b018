import { afterEach, beforeEach, expect, test, vi } from "vitest";

/** What the server answers, by the path that is asked for; 500 for every other. */
let answers: Record<string, unknown> = {};
let hear = (_: string) => {};

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers();
  const place = { addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("window", place);
  vi.stubGlobal("document", { ...place, hidden: false });
  vi.stubGlobal("location", { href: "http://127.0.0.1:4747/ui/" });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
  vi.stubGlobal("fetch", async (path: string) => {
    const answer = await answers[path.split("?")[0] ?? ""];
    return answer === undefined ? Response.json({}, { status: 500 }) : Response.json(answer);
  });
  vi.stubGlobal(
    "WebSocket",
    class {
      onopen = () => {};
      onmessage = (_: { data: string }) => {};
      constructor() {
        hear = (data) => this.onmessage({ data });
        queueMicrotask(() => this.onopen());
      }
    },
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const MESHES = { meshes: [], problems: [] };
const project = (id: string, status: string) => ({ id, name: id, project: `/home/${id}`, status });

async function opened() {
  const { agents } = await import("./agents.ts");
  agents.start();
  await vi.advanceTimersByTimeAsync(1000);
  return agents;
}

function home(status: string): Record<string, unknown> {
  const records = [project("shop", status), project("attic", status)];
  return {
    "/agents": {
      agents: ["alone", "shop", "attic"].map((id) => ({
        id,
        name: id,
        meshes_of: id === "alone" ? null : `/home/${id}`,
      })),
      unreadable: [],
      next_after: null,
    },
    "/inbox": { items: [] },
    "/meshes": { projects: records, next_after: null },
    "/meshes/shop": { ...records[0], ...MESHES },
    "/meshes/attic": { ...records[1], ...MESHES },
  };
}

test("a project whose meshes cannot be read costs only itself, and its record is taken for no agent", async () => {
  answers = home("working");
  delete answers["/meshes/attic"];
  const agents = await opened();
  expect(agents.list.map(({ id }) => id)).toEqual(["alone"]);
  expect(agents.meshes.map(({ id, problems }) => [id, problems.map(({ problem }) => problem)])).toEqual([
    ["shop", []],
    ["attic", ["The server answered 500."]],
  ]);
  hear(JSON.stringify({ type: "mesh.closed", agent_id: "attic" }));
  await vi.advanceTimersByTimeAsync(1000);
  expect([agents.isOld, agents.meshes.length]).toEqual([false, 2]);
});

test("the list is shown while what waits for the person is still being found out", async () => {
  const { "/inbox": inbox, ...others } = home("working");
  const found = Promise.withResolvers<unknown>();
  answers = { ...others, "/inbox": found.promise };
  const agents = await opened();
  expect([agents.state, agents.list.map(({ id }) => id), agents.meshes]).toEqual(["ready", ["alone"], []]);
  expect(agents.hasInbox).toBe(false);
  found.resolve(inbox);
  await vi.advanceTimersByTimeAsync(0);
  expect(agents.hasInbox).toBe(true);
  expect([agents.isOld, agents.meshes.map(({ id }) => id)]).toEqual([false, ["shop", "attic"]]);
});

test("where it cannot be read which meshes there are, their records are taken for no agents all the same", async () => {
  answers = home("working");
  delete answers["/meshes"];
  const agents = await opened();
  expect([agents.state, agents.list.map(({ id }) => id), agents.meshes]).toEqual(["ready", ["alone"], []]);
});

test("of meshes of two projects that stir at once, both are shown as they are", async () => {
  answers = home("working");
  const agents = await opened();
  answers = home("stopped");
  for (const agent_id of ["shop", "attic"]) hear(JSON.stringify({ type: "mesh.closed", agent_id }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(agents.meshes.map(({ id, status }) => [id, status])).toEqual([
    ["shop", "stopped"],
    ["attic", "stopped"],
  ]);
});

test("garbage on the socket costs nothing but itself", async () => {
  answers = home("working");
  const agents = await opened();
  for (const data of ["", "{", "null", "7", "[]", "{}", '{"type":7}', '{"type":null}']) hear(data);
  answers = { ...home("working"), "/agents": { agents: [], unreadable: [], next_after: null } };
  hear('{"type":"agent.archived","agent_id":"alone"}');
  await vi.advanceTimersByTimeAsync(1000);
  expect(agents.list).toEqual([]);
});

test("everybody who can be found is called as they can be seen", async () => {
  const { listWorkers } = await import("./api.ts");
  const agent = { id: "agent-1", name: "Shop\u202E" };
  answers = { "/workers": { workers: [{ id: "ali-ce", name: "Ali\u200Bce", identity: "", agent }], next_after: null } };
  expect((await listWorkers()).map(({ name, agent }) => [name, agent.name])).toEqual([
    ["Ali⟨U+200B⟩ce", "Shop⟨U+202E⟩"],
  ]);
  answers = { "/workers": [] };
  await expect(listWorkers()).rejects.toThrow("Its answer has no list of workers.");
});
