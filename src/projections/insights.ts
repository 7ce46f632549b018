import { dict } from "../protocol/dict.ts";
import type { Fact, WorkerId } from "../protocol/index.ts";

/** Something that a worker offered to the agent's memory, until the coordinator has decided about it. */
export interface Insight {
  id: string;
  /** The fact that offered it. */
  seq: number;
  worker_id: WorkerId;
  title: string;
  content: string;
}

/** How many were offered in total, and those that wait for a decision, by id. */
export interface Insights {
  offered: number;
  open: Record<string, Insight>;
}

export function emptyInsights(): Insights {
  return { offered: 0, open: dict() };
}

export function applyToInsights(insights: Insights, fact: Fact): void {
  switch (fact.type) {
    case "insight.offered": {
      const { worker_id, title, content } = fact.data;
      insights.offered += 1;
      const id = `insight-${insights.offered}`;
      insights.open[id] = { id, seq: fact.seq, worker_id, title, content };
      return;
    }
    case "insight.accepted":
    case "insight.declined":
      delete insights.open[fact.data.insight_id];
      return;
  }
}
