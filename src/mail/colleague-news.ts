/** What somebody who waits is told of the nodes beside theirs. */

import { type EndedNode, hasEnded, type NodeState, type Situation } from "../projections/index.ts";
import type { Fact, NodeId } from "../protocol/index.ts";
import type { News } from "./news.ts";
import { isEndOrReopening, nodeEndText, stands } from "./node-news.ts";

/** To somebody who waits: that the work on a node beside theirs has ended. */
export function newsOfColleague(fact: Fact, now: Situation, on: NodeId): News | undefined {
  if (!isEndOrReopening(fact) || fact.type === "node.reopened" || !stands(fact, now)) return undefined;
  const [mine, other] = [now.board.nodes[on], now.board.nodes[fact.data.node_id]];
  return mine && isBeside(mine, other) ? endNews(other, now) : undefined;
}

const MOST_COLLEAGUES = 20;

/** What has ended beside this node since it was made, after this fact: the newest. */
export function endsOfColleagues(on: NodeId, now: Situation, after: number): News[] {
  const mine = now.board.nodes[on];
  if (!mine) return [];
  const stage = now.stages.find(({ run_id, number }) => run_id === mine.spec.run_id && number === mine.spec.stage);
  return (stage?.nodes ?? [])
    .flatMap((id) => now.board.nodes[id] ?? [])
    .filter((other) => isBeside(mine, other))
    .filter((other) => other.ended_seq > after && other.ended_ts >= mine.created_ts)
    .sort((a, b) => a.ended_seq - b.ended_seq)
    .slice(-MOST_COLLEAGUES)
    .map((other) => endNews(other, now));
}

/** Handed out in the same stage under the same node, and ended. What it builds on is among its inputs, and no news. */
function isBeside({ id, spec }: NodeState, other: NodeState | undefined): other is EndedNode {
  return (
    hasEnded(other) &&
    other.id !== id &&
    other.spec.run_id === spec.run_id &&
    other.spec.stage === spec.stage &&
    other.spec.parent_node_id === spec.parent_node_id &&
    !spec.dependencies.includes(other.id)
  );
}

function endNews({ id, status }: EndedNode, now: Situation): News {
  const text = nodeEndText(id, now, "worker");
  return status === "completed" ? { text, isResult: true } : { text };
}
