import type { Situation } from "../../../src/projections/index.ts";
import { nameOf } from "../entity/message-block.tsx";
import type { RepositoryNode } from "../live/repository-api.ts";
import { Link } from "../shell/link.tsx";
import { count } from "../text/figures.ts";
import { workState } from "./branch-state.ts";
import { Checks } from "./checks.tsx";
import { Conflict } from "./conflicts.tsx";
import { Counts } from "./counts.tsx";
import { RejectNode } from "./reject-node.tsx";
import { taskOf } from "./work-list.tsx";
import { WorkSign } from "./work-sign.tsx";

interface NodeAboutProps {
  agent: string;
  situation: Situation;
  id: string;
  work: RepositoryNode;
  canAct: boolean;
}

/** The work of one node: whose it is, how it stands, its checks and conflicts. */
export function NodeAbout({ agent, situation, id, work, canAct }: NodeAboutProps) {
  const node = Object.values(situation.board.nodes).find((each) => each.id === id);
  const worker = node && "worker_id" in node ? node.worker_id : null;
  const refusal = work.state === "refused" ? work.refusals.at(-1) : undefined;
  return (
    <section aria-label={id} className="space-y-3 px-3 py-3 md:px-4">
      <div>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className="min-w-0 text-sm font-semibold [overflow-wrap:anywhere]">{taskOf(situation, id)}</h2>
          <WorkSign state={workState(situation, id, work)} />
        </div>
        <div className="flex flex-wrap items-center gap-x-2 text-xs text-dim">
          <Link
            to={{ screen: "board", agent, node: id }}
            className="inline-flex min-h-11 items-center font-mono text-accent underline md:min-h-6"
          >
            {id}
          </Link>
          {worker !== null && (
            <Link
              to={{ screen: "entity", agent, worker }}
              className="inline-flex min-h-11 items-center text-accent underline md:min-h-6"
            >
              {nameOf(agent, worker)}
            </Link>
          )}
          {work.commit !== undefined && <span className="font-mono">{work.commit.slice(0, 8)}</span>}
          {work.files > 0 && <span>{count(work.files, "file")}</span>}
          <Counts {...work} />
        </div>
      </div>
      {refusal?.why === "conflict" && <Conflict agent={agent} node={id} refusal={refusal} />}
      <Checks checks={work.checks} />
      {canAct && work.state === "merged" && <RejectNode agent={agent} node={id} />}
    </section>
  );
}
