import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import type { Fact, NewFact, NodeId } from "../../protocol/index.ts";
import { Spans } from "./spans.ts";

const ada = { worker_id: "ada", node_id: "node-1" } as const;
const ben = { worker_id: "ben", node_id: "node-2" } as const;

test("a node that somebody handed on is below theirs; a retry is the same node and the same call", () => {
  const { tell, spans } = reader();
  tell(
    { type: "run.started", data: { run_id: "run-1", goal: "" } },
    node("node-1", null),
    { type: "node.started", data: ada },
    node("node-2", "node-1"),
    { type: "node.started", data: ben },
    { type: "model.called", data: { ...ben, model: "a/b", turn: 1 } },
    { type: "model.failed", data: { ...ben, model: "a/b", turn: 1, reason: "server", message: "", retry_in_ms: 5 } },
    { type: "node.retried", data: { ...ben, error: "" } },
    { type: "node.started", data: ben },
    { type: "node.completed", data: { ...ben, summary: "" } },
    { type: "node.failed", data: { ...ada, outcome: { kind: "stopped" } } },
  );
  expect(spans()).toEqual([
    ["chat a/b", "turn 1", "6-10", "agiraph.model.retried"],
    ["turn 1", "invoke_agent ben", "6-10"],
    ["invoke_agent ben", "invoke_agent ada", "5-10", "agiraph.node.retried"],
    ["invoke_agent ada", "invoke_agent agent-spans", "3-11", "stopped"],
  ]);
});

test.each([
  ["agent.paused", { why: "human" }],
  ["agent.stopped", { by: "human" }],
] as const)("with %s all that is open ends, and nothing is kept", (type, data) => {
  const { tell, spans } = reader();
  tell(
    { type: "run.started", data: { run_id: "run-1", goal: "" } },
    { type: "model.called", data: { worker_id: "coordinator", node_id: null, model: "a/b", turn: 1 } },
    { type: "tool.called", data: { worker_id: "coordinator", node_id: null, call_id: "1", tool: "bash", gist: "" } },
    { type, data } as NewFact,
    // What comes after belongs to another trace.
    { type: "model.called", data: { worker_id: "coordinator", node_id: null, model: "a/b", turn: 2 } },
    { type: "agent.failed", data: { error: "it broke" } },
  );
  expect(spans()).toEqual([
    ["execute_tool bash", "turn 1", "3-4"],
    ["chat a/b", "turn 1", "2-4"],
    ["turn 1", "invoke_agent agent-spans", "2-4"],
    ["invoke_agent agent-spans", "none", "1-4"],
    ["chat a/b", "turn 2", "5-6"],
    ["turn 2", "invoke_agent agent-spans", "5-6"],
    ["invoke_agent agent-spans", "none", "5-6", "failed"],
  ]);
});

test("an agent that goes on has its name, and nothing is kept of what comes late", () => {
  const asked: string[] = [];
  const { tell, spans } = reader((id) => {
    asked.push(id);
    return "chips";
  });
  const lead = { worker_id: "coordinator", node_id: null } as const;
  tell(
    { type: "run.started", data: { run_id: "run-2", goal: "" } },
    { type: "agent.stopped", data: { by: "human" } },
    { type: "tool.result", data: { ...lead, call_id: "1", tool: "bash", ok: false, ms: 1, gist: "" } },
    { type: "message.received", data: { message_id: "msg-1", by: "human" } },
    { type: "agent.archived", data: { by: "human" } },
  );
  expect([spans(), asked]).toEqual([[["invoke_agent chips", "none", "1-2"]], ["agent-spans"]]);
});

/** Facts at one second after the other; spans as they end: name, parent, from and to, and what is noted of them. */
function reader(nameOf?: (id: string) => string) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const reading = new Spans(provider.getTracer("test"), nameOf);
  let seq = 0;
  const tell = (...facts: NewFact[]) => {
    for (const fact of facts) reading.hear({ seq: ++seq, agent_id: "agent-spans", ts: seq, ...fact } as Fact);
  };
  const spans = () => {
    const ended = exporter.getFinishedSpans();
    const open = new Map(ended.map((span) => [span.spanContext().spanId, span.name]));
    const nameOf = (id: string | undefined) =>
      id === undefined ? "none" : (open.get(id) ?? "invoke_agent agent-spans");
    return ended.map(({ name, parentSpanContext, startTime, endTime, events, attributes }) => [
      name,
      nameOf(parentSpanContext?.spanId),
      `${startTime[0]}-${endTime[0]}`,
      ...events.map((event) => event.name),
      ...(attributes["error.type"] === undefined ? [] : [attributes["error.type"]]),
    ]);
  };
  return { tell, spans };
}

function node(node_id: NodeId, parent_node_id: NodeId | null): NewFact {
  const data = {
    run_id: "run-1",
    node_id,
    task: "",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id,
  } as const;
  return {
    type: "node.created",
    data: { ...data, dependencies: [], deliverables: [], inference: "multi", created_by: "coordinator" },
  };
}
