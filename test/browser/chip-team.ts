import type { ProviderRequest, ProviderServerOptions, ProviderTurn } from "../../src/testing/index.ts";

export const GOAL = "Compare the chips A and B.";
export const NAME = "Chip comparison";

const call = (name: string, args: unknown) => ({ name, args });

const REPORT = [
  "# Chip A",
  "",
  "Chip A reaches **80 TOPS** at 12 W.",
  "",
  "| chip | TOPS | W |",
  "|---|---|---|",
  "| A | 80 | 12 |",
  "",
].join("\n");
const BENCH = "export function measure(chip: string): number {\n  return Math.max(run(chip), run(chip));\n}\n";
/** What is to be done again every Monday. */
export const AGAIN = "Look whether there are new chips";
export const INSIGHT = "Warm a chip up before measuring";
/** Long enough to be streamed in many pieces. */
export const POWER = `Power is in the plan now. ${"Each chip is measured at rest and at work. ".repeat(12)}That is all.`;
export const QUESTION = "Chip B throttles after ten minutes. Which figure should count?";
export const CHOICES = ["The first ten minutes", "The steady state", "Both, side by side"];

/**
 * Three workers compare two chips: Alice measures one, Bob asks the human about the other, Carol writes it up when both
 * are done. Alice offers an insight, which the coordinator takes when it is told to. Gates hold it where a test wants to look: `alice`, and `words` in the midst of what the coordinator says.
 */
export const chipTeam: ProviderServerOptions = {
  turns: {
    [GOAL]: [
      {
        text: "I set up a team of three: two measure, one writes.",
        calls: [
          call("create_work_node", { task: "Measure chip A\nTwice, with the method.", deliverables: ["report.md"] }),
          call("create_work_node", { task: "Measure chip B\nTwice, with the method." }),
          call("create_work_node", {
            task: "Write the comparison",
            dependencies: ["node-1", "node-2"],
            refs: { a: "node-1/published/report.md" },
          }),
          call("spawn_worker", { name: "Carol", identity: "A clear writer" }),
          call("assign_worker", { node_id: "node-3", worker_id: "Carol" }),
          call("memory_write", { path: "memory/knowledge/chips.md", content: "# Chips\n\nA and B are compared.\n" }),
          call("schedule", { type: "scheduled", config: { cron: "0 9 * * MON" }, time_zone: "UTC", action: AGAIN }),
          call("send_message", { to: "human", content: "The team is **at work**." }),
        ],
      },
    ],
    "You are Alice": [
      {
        text: "First the method, then the numbers.",
        calls: [
          call("write_file", { path: "scratch/bench.ts", content: BENCH }),
          call("read_file", { path: "scratch/missing.md" }),
          call("offer_insight", { title: INSIGHT, content: "The first minute reads **8 % high**; leave it out." }),
        ],
      },
      { hold: "alice", calls: [call("write_file", { path: "scratch/report.md", content: REPORT })] },
      { text: "The numbers are stable.", calls: [call("publish", { summary: "Chip A: 80 TOPS at 12 W." })] },
    ],
    "You are Bob": [
      { calls: [call("write_file", { path: "scratch/report.md", content: REPORT })] },
      { calls: [call("ask_human", { question: QUESTION, choices: CHOICES })] },
    ],
    "You are Carol": [
      { calls: [call("write_file", { path: "scratch/comparison.md", content: "# B is faster, A is cooler\n" })] },
      { calls: [call("publish", { summary: "B is faster; A needs less power." })] },
    ],
  },
  respond: improvise,
};

/** What nobody wrote a turn for: whoever is free says so, and the coordinator finishes when the comparison is there. */
function improvise({ system, messages }: ProviderRequest): ProviderTurn {
  const told = messages.findLast((message) => message.role === "user")?.text ?? "";
  if (system.startsWith("You are Bob")) {
    const isAnswered = messages.some(
      (message) => message.role === "tool" && CHOICES.some((choice) => message.text.includes(choice)),
    );
    return isAnswered ? { calls: [call("publish", { summary: "Chip B: 95 TOPS at 15 W." })] } : { text: "I wait." };
  }
  if (/node-3\b[^\n]*completed/.test(told))
    return { calls: [call("finish", { summary: "**B** is faster; A needs less power." })] };
  const isKept = messages.some((message) => message.role === "tool" && message.text.includes("knowledge/method.md"));
  if (told.includes("Keep what Alice offers") && !isKept)
    return { calls: [call("accept_insight", { insight_id: "insight-1", path: "knowledge/method.md" })] };
  if (told.includes("power")) return { text: POWER, holdMidway: "words" };
  return { text: "Noted." };
}
