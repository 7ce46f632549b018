import type { Fact, WorkerId } from "../protocol/index.ts";

/** Something a worker offered to the agent's memory, until the coordinator has decided about it. */
export interface Insight {
  id: string;
  worker_id: WorkerId;
  title: string;
  content: string;
}

/** Those that wait for a decision, by id. */
export type Insights = Record<string, Insight>;

export function applyToInsights(insights: Insights, fact: Fact): void {
  switch (fact.type) {
    case "insight.offered": {
      const { worker_id, title, content } = fact.data;
      const id = insightId(fact.seq);
      insights[id] = { id, worker_id, title, content };
      return;
    }
    case "insight.accepted":
    case "insight.declined":
      delete insights[fact.data.insight_id];
      return;
  }
}

/** Known by the number of the fact that offered it, so that nobody has to count. */
export function insightId(seq: number): string {
  return `insight-${seq}`;
}
