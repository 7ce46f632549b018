import type { Fact } from "../../protocol/index.ts";
import { actionIn, conditionIn } from "../../runtime/time/trigger-text.ts";
import { amount, timestamp } from "./format.ts";
import { line, type StoryLine } from "./story-line.ts";
import { headline } from "./width.ts";

/** What is kept for later and what is to happen then: memory, insights, triggers; and by which ways the human is told. */
export function laterLines(fact: Fact, named: (id: string) => string): StoryLine[] | undefined {
  return triggerLines(fact) ?? memoryLines(fact, named) ?? channelLines(fact);
}

/** Whom the program's own doings are by: a note of every run's end, every cycle's alarm. Nobody asked to be told. */
const HOUSE = "agiraph";

function triggerLines(fact: Fact): StoryLine[] | undefined {
  switch (fact.type) {
    case "trigger.created": {
      const { trigger_id, action, created_by } = fact.data;
      if (created_by === HOUSE) return [];
      return [line(trigger_id, "new", `${conditionIn(fact.data)}: ${headline(actionIn(action))}`)];
    }
    case "trigger.fired":
      return [line(fact.data.trigger_id, "begins", FIRES[fact.data.action])];
    case "trigger.looked": {
      const { trigger_id, problem } = fact.data;
      return problem === undefined ? [] : [line(trigger_id, "warning", `cannot look: ${headline(problem)}`)];
    }
    case "trigger.done":
      return fact.data.problem === undefined ? [] : [line(fact.data.trigger_id, "failed", fact.data.problem)];
    case "trigger.rescheduled": {
      const why = fact.data.why === "missed" ? "missed its time" : "waits again, the clock was set back";
      return [line(fact.data.trigger_id, "warning", `${why}; next ${timestamp(fact.data.next_due)}`)];
    }
    case "trigger.paused":
      return [line(fact.data.trigger_id, "leaves", "paused")];
    case "trigger.resumed":
      return [line(fact.data.trigger_id, "begins", "goes on")];
    case "trigger.cancelled":
      return [line(fact.data.trigger_id, "leaves", "cancelled")];
    case "trigger.expired":
      return [line(fact.data.trigger_id, "leaves", fact.data.why)];
    default:
      return undefined;
  }
}

const FIRES = {
  wake_agent: "wakes the agent",
  run_node: "lets its node begin",
  send_message: "sends its message",
  run_callback: "calls back",
} as const;

function memoryLines(fact: Fact, named: (id: string) => string): StoryLine[] | undefined {
  switch (fact.type) {
    case "memory.written":
      return fact.data.by === HOUSE ? [] : [line(named(fact.data.by), "done", `remembers: ${fact.data.path}`)];
    case "memory.compacted": {
      const { worker_id, entries, tokens_before, tokens_after } = fact.data;
      const tokens = `${amount(tokens_before)} → ${amount(tokens_after)} tokens`;
      return [line(named(worker_id), "begins", `goes on from a summary of ${entries} entries (${tokens})`)];
    }
    case "insight.offered":
      return [line(named(fact.data.worker_id), "tells", `coordinator: an insight, ${headline(fact.data.title)}`)];
    case "insight.accepted":
      return [line("coordinator", "done", `keeps ${fact.data.insight_id} in ${fact.data.path}`)];
    case "insight.declined":
      return [line("coordinator", "leaves", `declines ${fact.data.insight_id}: ${headline(fact.data.why)}`)];
    default:
      return undefined;
  }
}

function channelLines(fact: Fact): StoryLine[] | undefined {
  switch (fact.type) {
    case "channel.opened":
      return [line(fact.data.channel, "new", `carries ${fact.data.to.join(", ")}`)];
    case "channel.closed":
      return [line(fact.data.channel, "leaves", "closed")];
    case "channel.delivered":
      return [line(fact.data.channel, "done", `${fact.data.of} delivered`)];
    default:
      return undefined;
  }
}
