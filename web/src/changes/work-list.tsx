import type { Situation } from "../../../src/projections/index.ts";
import type { RepositoryView } from "../live/repository-api.ts";
import { Link } from "../shell/link.tsx";
import { useMore } from "../shell/more.tsx";
import { firstLine } from "../text/figures.ts";
import { nodesInOrder, workState } from "./branch-state.ts";
import { Counts } from "./counts.tsx";
import { WorkSign } from "./work-sign.tsx";

export interface WorkListProps {
  agent: string;
  situation: Situation;
  repository: RepositoryView;
  node: string | null;
}

const ROW =
  "flex min-h-11 items-center gap-2 rounded-md px-2 text-[13px] hover:bg-hover md:min-h-8 aria-[current]:bg-tint aria-[current]:font-semibold";

/** What can be reviewed: the whole branch, and the work of each node. */
export function WorkList({ agent, situation, repository, node }: WorkListProps) {
  const nodes = nodesInOrder(repository);
  const { shown, more } = useMore(nodes, MOST, ([id]) => id === node);
  return (
    <ul aria-label="Work" className="p-2">
      <li>
        <Link to={{ screen: "changes", agent, node: null }} current={node === null} className={ROW}>
          <span className="min-w-0 flex-1 truncate">All changes</span>
          <Counts {...repository} />
        </Link>
      </li>
      {shown.map(([id, work]) => (
        <li key={id}>
          <Link to={{ screen: "changes", agent, node: id }} current={id === node} className={ROW}>
            <WorkSign state={workState(situation, id, work)} isAlone />
            <span className="min-w-0 flex-1 truncate">
              <span className="font-mono text-xs">{id}</span>{" "}
              <span className="font-normal text-dim">{taskOf(situation, id)}</span>
            </span>
            <Counts {...work} />
          </Link>
        </li>
      ))}
      {more && <li>{more}</li>}
    </ul>
  );
}

const MOST = 40;

export function taskOf({ board }: Situation, id: string): string {
  const node = Object.values(board.nodes).find((each) => each.id === id);
  return firstLine(node?.spec.task ?? "");
}

/** The same as a menu, where there is no room for a list. */
export function WorkSelect({
  situation,
  repository,
  node,
  onChoose,
}: Omit<WorkListProps, "agent"> & { onChoose: (node: string | null) => void }) {
  return (
    <select
      aria-label="Work"
      value={node ?? ""}
      onChange={(event) => onChoose(event.target.value === "" ? null : event.target.value)}
      className="min-h-11 min-w-0 flex-1 rounded-md border border-line bg-page px-2"
    >
      <option value="">All changes</option>
      {nodesInOrder(repository).map(([id]) => (
        <option key={id} value={id}>
          {id} · {taskOf(situation, id)}
        </option>
      ))}
    </select>
  );
}
