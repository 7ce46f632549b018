import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "../../src/mesh/files/message-file.ts";
import { Message } from "../../src/mesh/files/message-operations.ts";
import { isEndOf } from "../../src/mesh/testing/scripted-project.ts";
import { declared, project } from "./seed-004.ts";

/** Seed 004, "Message Format Specification", as it is written there. */
const TYPES = "task|ask|ask-response|task-complete|error".split("|");
const STATUSES = "pending|active|handoff|complete".split("|");
const file = (type: string, status: string, to = "destination") => `---
from: source-mesh/source-agent
to: ${to}
type: ${type}
status: ${status}
msg-id: unique-message-id
timestamp: 2025-10-17T14:30:00Z
---

# Message Title

Message content here
`;

const meshes = [
  { mesh: "source-mesh", type: "persistent" as const, agents: ["x/source-agent"] },
  { mesh: "destination", type: "persistent" as const, agents: ["x/worker"] },
];

describe("Message Format Specification", () => {
  test("a message from one mesh to another is that file with where it came from below its header, and its sender hears of its end", async () => {
    await using scene = await project({ configs: meshes, agents: { "source-agent": () => {} } });
    scene.put({ mesh: "source-mesh", agent: "source-agent" }, "outbox", "a.md", file("task", "pending"));
    await scene.until(isEndOf("destination"));
    await scene.until((fact) => fact.type === "mesh.told" && fact.data.agent === "source-agent");
    const there = scene.layout.queue({ mesh: "destination", agent: null }, "complete");
    const [, head, body] = file("task", "pending").split("---\n");
    const ours = "thread: a\nhops: 1\nturn: 1\n";
    expect(readFileSync(`${there}/a.md`, "utf8")).toBe(`---\n${head}${ours}---\n${body}`);
    const [answer] = scene.heard.filter(({ agent }) => agent === "source-agent");
    expect(answer?.message.header).toMatchObject({
      from: "destination",
      to: "source-mesh/source-agent",
      type: "task-complete",
      status: "complete",
      "in-reply-to": "a",
      timestamp: "2026-01-02T03:04:05.000Z",
    });
  });
});

describe("File Structure", () => {
  test("every type with every status is a message", () => {
    for (const type of TYPES) {
      for (const status of STATUSES) {
        expect(parse(file(type, status))).toEqual({
          ok: true,
          header: {
            from: "source-mesh/source-agent",
            to: "destination",
            type,
            status,
            "msg-id": "unique-message-id",
            timestamp: "2025-10-17T14:30:00Z",
          },
          body: "\n# Message Title\n\nMessage content here\n",
        });
      }
    }
  });

  test("another type is none: it goes to quarantine with the reason beside it, and the next one is taken", async () => {
    await using scene = await project({ configs: [meshes[1] ?? never()] });
    const inbox = { mesh: "destination", agent: null };
    scene.put(inbox, "inbox", "bad.md", file("wish", "pending"));
    scene.put(inbox, "inbox", "good.md", file("task", "pending"));
    await scene.until(({ type }) => type === "mesh.quarantined");
    await scene.until(isEndOf("destination", null, "good.md"));
    expect(scene.queues("destination")).toEqual({ complete: ["good.md"], quarantine: ["bad.md", "bad.reason.md"] });
  });
});

describe("Message Class (`lib/message.js`)", () => {
  const now = new Date(2025, 9, 17, 14, 30);
  const task = "Analyze the Data, please!";
  const config = JSON.stringify({ mesh: "test", type: "persistent", agents: ["worker"] });

  test("send, getMessages, parseMessage, moveMessage, removeMessage need nothing but the files", async () => {
    await using scene = declared(config);
    const { layout } = scene;
    const place = { mesh: "test", agent: null };
    const sent = [1, 2].map(() => Message.send(layout, place, task, "Some context.", { now, from: "test/worker" }));
    // Departure: a counter after the minute, so that two in a minute are two.
    const names = ["2510171430-0001-analyze-the-data-please.md", "2510171430-0002-analyze-the-data-please.md"];
    expect(sent.map((path) => relative(layout.project, path))).toEqual(
      names.map((name) => `.ai/tx/mesh/test/msgs/inbox/${name}`),
    );
    const [first = "", second = ""] = names;
    expect(Message.parseMessage(sent[0] ?? "")).toMatchObject({
      header: { from: "test/worker", to: "test", type: "task", status: "pending", timestamp: now.toISOString() },
      body: `# ${task}\n\nSome context.\n`,
    });
    expect(Message.moveMessage(layout, place, first, "inbox", "archive")).toBe(first);
    expect(Message.moveMessage(layout, place, first, "inbox", "next")).toBeUndefined();
    Message.removeMessage(sent[1] ?? "");
    expect(existsSync(sent[1] ?? "")).toBe(false);
    expect([second, ...Message.getMessages(layout, place, "archive")]).toEqual([second, first]);
    expect(Message.getMessages(layout, place, "inbox")).toEqual([]);
  });

  test("what was sent before the mesh is at work is done when it is", async () => {
    await using scene = declared(config);
    Message.send(scene.layout, { mesh: "test", agent: null }, task, "", { now });
    await scene.meshes.open();
    await scene.until(isEndOf("test"));
    expect(scene.queues("test").complete).toEqual(["2510171430-0001-analyze-the-data-please.md"]);
  });

  test("routing: to an agent of the mesh, to another mesh, and `mesh` completes the work", async () => {
    await using scene = await project({
      configs: [
        { mesh: "mesh-name", type: "persistent", agents: ["x/lead", "x/agent-name"] },
        { mesh: "other", type: "persistent", agents: ["x/helper"] },
      ],
      agents: {
        lead: ({ header, name }, say) => {
          if (header.type === "task") {
            say("agent-name", "task", "# To the agent\n", { name: "to-agent.md" });
            say("other", "task", "# To the mesh\n", { name: "to-mesh.md" });
          }
          if (name.includes("to-")) heard.push(header.from);
          if (heard.length === 2 && header.type === "task-complete") say("mesh", "task-complete", "All done.\n");
        },
      },
    });
    const heard: string[] = [];
    scene.send("mesh-name", "t.md", "# Work\n");
    expect(await scene.until(isEndOf("mesh-name"))).toMatchObject({
      type: "mesh.completed",
      data: { gist: "All done." },
    });
    expect(heard.toSorted()).toEqual(["mesh-name/agent-name", "other"]);
  });
});

function never(): never {
  throw new Error("There are two meshes.");
}
