/**
 * Who is measured, in the order of the table. A peer's figures count only with its persistence on; `persists` are those
 * that bring it themselves and keep each step when it is done.
 */
export const contestants = [
  { name: "floor-json", kind: "floor", keeps: "one write + fdatasync a turn, one file a worker; not streamed" },
  { name: "floor-streamed", kind: "floor", keeps: "one write + fdatasync a turn, one file a worker" },
  { name: "agiraph", kind: "ours", keeps: "its own log, durable before each next step" },
  { name: "ai", kind: "peer", package: "ai", keeps: "nothing itself; our append + fdatasync in `onStepFinish`" },
  {
    name: "pi-agent-core",
    kind: "peer",
    package: "@mariozechner/pi-agent-core",
    keeps: "nothing itself; our append + fdatasync a message",
  },
  {
    name: "openai-agents",
    kind: "peer",
    package: "@openai/agents",
    keeps: "its `Session` over our append + fdatasync; called once, when the run ends",
  },
  {
    name: "mastra",
    kind: "peer",
    persists: true,
    package: "@mastra/core",
    keeps: "its memory over LibSQL, `savePerStep`",
  },
  {
    name: "langgraph",
    kind: "peer",
    persists: true,
    package: "@langchain/langgraph",
    keeps: "its SQLite checkpointer (over `node:sqlite`, synchronous=NORMAL)",
  },
];
