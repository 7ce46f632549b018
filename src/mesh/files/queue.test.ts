import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { planOf } from "../declaration/topology.ts";
import { Mesh } from "../running/mesh.ts";
import { Layout, type MeshAddress, QUEUES } from "./layout.ts";
import { format } from "./message-file.ts";
import { Queues } from "./queue.ts";

function declared(): DeclaredMesh {
  const config = { mesh: "m", type: "persistent" as const, agents: ["x/a"] };
  const agent = { name: "a", category: "x", dir: "", config: { name: "a" }, stamp: "" };
  return {
    config,
    declaredAs: "m",
    lifetime: "persistent",
    topology: "hierarchical",
    plan: planOf(config),
    agents: new Map([["a", agent]]),
    entry: "a",
    failureRoutes: new Map(),
    sources: new Map(),
    hash: "",
  };
}

type Step = "send" | "to-agent" | "ask" | "end" | "restart" | "look" | "late notice";

test("QUEUE-3, MESH-2: whatever is sent, asked, ended and restarted in between, tasks are begun in the order they came, one at a time", () => {
  // Whatever it finds after a restart was written long ago: nobody waits here until a file is taken for whole.
  const clock = vi.spyOn(Date, "now").mockImplementation(() => performance.timeOrigin + performance.now() + 3_600_000);
  onTestFinished(() => clock.mockRestore());
  const steps = fc.array(
    fc.constantFrom<Step>("send", "send", "to-agent", "ask", "end", "end", "end", "restart", "look", "late notice"),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (taken) => {
      const dir = mkdtempSync(join(tmpdir(), "fifo-"));
      const world = new World(new Layout(dir));
      try {
        for (const step of taken) world.take(step);
        for (let left = 200; left > 0 && world.lost().length > 0; left--) world.take("end");
        expect(world.begun).toEqual(world.sent);
        expect(world.lost()).toEqual([]);
      } finally {
        world.close();
        rmSync(dir, { recursive: true });
      }
    }),
    { numRuns: 60, examples: [[["send", "send", "to-agent", "to-agent", "end", "restart", "send"]]] },
  );
});

/** A mesh of one agent without watchers: it is told of files when we say so. */
class World {
  readonly sent: Record<"mesh" | "agent", string[]> = { mesh: [], agent: [] };
  readonly begun: Record<"mesh" | "agent", string[]> = { mesh: [], agent: [] };
  readonly #layout: Layout;
  #mesh: Mesh;
  #count = 0;
  #untold: (() => void)[] = [];

  constructor(layout: Layout) {
    this.#layout = layout;
    this.#mesh = this.#open();
  }

  take(step: Step): void {
    const own: MeshAddress = { mesh: "m", agent: "a" };
    switch (step) {
      case "send":
        this.sent.mesh.push(this.#put({ mesh: "m", agent: null }, "task"));
        this.#tellAll();
        return;
      case "to-agent":
        this.sent.agent.push(this.#put(own, "task"));
        this.#tellAll();
        return;
      case "late notice":
        this.sent.mesh.push(this.#put({ mesh: "m", agent: null }, "task"));
        return;
      case "ask":
        this.#put(own, "ask");
        this.#tellAll();
        return;
      case "end": {
        const name = `end-${++this.#count}.md`;
        const header = { from: "m/a", to: "mesh", type: "task-complete", status: "pending" } as const;
        this.#tellAll();
        if (readdirSync(this.#layout.queue(own, "active")).length === 0) return;
        writeOld(join(this.#layout.queue(own, "outbox"), name), format(header, "Done.\n"));
        this.#mesh.noticed("a", "outbox", name);
        return;
      }
      case "look":
        this.#mesh.look();
        return;
      case "restart":
        this.#mesh.close();
        this.#untold = [];
        this.#mesh = this.#open();
    }
  }

  /** Messages that are in no queue, or in quarantine. */
  lost(): string[] {
    const addresses: MeshAddress[] = [
      { mesh: "m", agent: null },
      { mesh: "m", agent: "a" },
    ];
    const there = new Set(addresses.flatMap((address) => readdirSync(this.#layout.queue(address, "complete"))));
    const aside = addresses.flatMap((address) => readdirSync(this.#layout.queue(address, "quarantine")));
    return [...this.sent.mesh, ...this.sent.agent].filter((name) => !there.has(name)).concat(aside);
  }

  #put(address: MeshAddress, type: "task" | "ask"): string {
    const name = `${String(++this.#count).padStart(4, "0")}.md`;
    writeOld(
      join(this.#layout.queue(address, "inbox"), name),
      format({ from: "human", to: "m", type, status: "pending" }, "# T\n"),
    );
    this.#untold.push(() => this.#mesh.noticed(address.agent, "inbox", name));
    return name;
  }

  close(): void {
    this.#mesh.close();
  }

  noticed(...what: Parameters<Mesh["noticed"]>): void {
    this.#mesh.noticed(...what);
  }

  #tellAll(): void {
    for (const tell of this.#untold.splice(0)) tell();
  }

  #open(): Mesh {
    const mesh: Mesh = new Mesh(declared(), this.#layout, {
      now: () => 0,
      record: ({ type, data }) => {
        if (type !== "mesh.activated") return;
        // What the mesh hands on to its agent is in the mesh's line.
        if (data.agent === null) this.begun.mesh.push(data.name);
        else if (!data.name.includes(".0.")) this.begun.agent.push(data.name);
      },
      tell: () => new Promise(() => {}),
      gate: async () => null,
      human: () => {},
      agentsByMesh: () => new Map([["m", ["a"]]]),
      queuesOf: (_, agent) => (agent === null ? mesh.queues : mesh.agents.get(agent)),
      changed: () => {},
      idle: () => {},
    });
    mesh.open();
    mesh.begin();
    return mesh;
  }
}

/** Written long ago, so that nobody thinks it is still being written. */
function writeOld(path: string, text: string): void {
  writeFileSync(path, text);
  utimesSync(path, 1, 1);
}

test("QUEUE-5: a look leaves what may still be written, and says so; later it takes it", () => {
  const layout = new Layout(mkdtempSync(join(tmpdir(), "look-")));
  const queues = new Queues(layout, { mesh: "m", agent: null });
  queues.open();
  writeOld(queues.path("inbox", "old.md"), "x");
  writeFileSync(queues.path("inbox", "young.md"), "x");
  expect([queues.look(), queues.list("inbox")]).toEqual([{ changed: true, young: true, byHand: [] }, ["old.md"]]);
  utimesSync(queues.path("inbox", "young.md"), 1, 1);
  expect([queues.look(), queues.list("inbox")]).toEqual([
    { changed: true, young: false, byHand: [] },
    ["old.md", "young.md"],
  ]);
  rmSync(layout.project, { recursive: true });
});

test("QUEUE-4: what hands moved without our being told is found by a look", () => {
  const layout = new Layout(mkdtempSync(join(tmpdir(), "look-")));
  const queues = new Queues(layout, { mesh: "m", agent: null });
  queues.open();
  for (const name of ["a.md", "b.md"]) writeOld(queues.path("inbox", name), name);
  queues.look();
  renameSync(queues.path("inbox", "a.md"), queues.path("active", "a.md"));
  renameSync(queues.path("inbox", "b.md"), queues.path("complete", "b.md"));
  const { byHand } = queues.look();
  expect(byHand.toSorted()).toEqual([
    ["active", "a.md"],
    ["complete", "b.md"],
  ]);
  expect(queues.look().byHand).toEqual([]);
  rmSync(layout.project, { recursive: true });
});

test("QUEUE-2, QUEUE-4: nothing is written over; a move that comes too late does nothing; one by hand is known from one of ours", () => {
  const layout = new Layout(mkdtempSync(join(tmpdir(), "move-")));
  const queues = new Queues(layout, { mesh: "m", agent: null });
  queues.open();
  for (const queue of QUEUES) mkdirSync(queues.dir(queue), { recursive: true });
  for (const name of ["a.md", "b.md"]) writeOld(queues.path("inbox", name), name);
  writeOld(queues.path("next", "a.md"), "another");
  queues.look();
  expect([
    queues.move("a.md", "inbox", "next"),
    queues.move("a.md", "inbox", "next"),
    queues.move("b.md", "inbox", "complete"),
    queues.noticed("complete", "b.md"),
    queues.noticed("complete", "b.md"),
    readdirSync(queues.dir("next")).toSorted(),
  ]).toEqual(["a~2.md", undefined, "b.md", false, true, ["a.md", "a~2.md"]]);
  rmSync(layout.project, { recursive: true });
});

test("AGENT-QUEUE-4: a task that a hand has just taken away from where it waited was not there before its words", () => {
  const dir = mkdtempSync(join(tmpdir(), "queue-"));
  try {
    const layout = new Layout(dir);
    const address = { mesh: "m", agent: "a" };
    const queues = new Queues(layout, address);
    queues.open();
    writeFileSync(join(layout.queue(address, "inbox"), "t.md"), "");
    writeFileSync(join(layout.queue(address, "complete"), "t.result.md"), "");
    const isFirst = () => queues.cameBefore(["inbox", "t.md"], ["complete", "t.result.md"]);
    expect(isFirst()).toBe(true);
    renameSync(join(layout.queue(address, "inbox"), "t.md"), join(layout.queue(address, "active"), "t.md"));
    expect(isFirst()).toBe(false);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("QUEUE-4: a step that a hand puts back, and takes away again before it moves up, keeps the words it ended with", () => {
  const layout = new Layout(mkdtempSync(join(tmpdir(), "step-")));
  const world = new World(layout);
  const step = "0001.0.md";
  const complete = layout.queue({ mesh: "m", agent: "a" }, "complete");
  const inbox = layout.queue({ mesh: "m", agent: "a" }, "inbox");
  try {
    for (const each of ["send", "end", "to-agent", "to-agent"] as const) world.take(each);
    renameSync(join(complete, step), join(inbox, step));
    world.noticed("a", "inbox", step);
    renameSync(join(inbox, step), join(complete, step));
    // One of the two is over, the other moves up, and the step is the next in the line.
    world.take("end");
    expect(readdirSync(complete)).toEqual(expect.arrayContaining([step, "0001.0.result.md"]));
  } finally {
    world.close();
    rmSync(layout.project, { recursive: true });
  }
});
