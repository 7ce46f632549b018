import { ChevronRight, FileText, Folder } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "../shell/link.tsx";
import { useMore } from "../shell/more.tsx";
import { size } from "../text/figures.ts";
import type { TreeEntry } from "./tree.ts";

const ROW =
  "flex min-h-11 w-full items-center gap-1.5 rounded-md pr-2 text-left text-[13px] hover:bg-hover md:min-h-7 aria-[current]:bg-tint aria-[current]:font-semibold";

export function FileTree({
  agent,
  screen,
  tree,
  current,
}: {
  agent: string;
  screen: "files" | "memory";
  tree: readonly TreeEntry[];
  current: string;
}) {
  return (
    <Branches branches={tree} current={current}>
      {(branch) => (
        <BranchRow key={branch.path} agent={agent} screen={screen} branch={branch} current={current} depth={0} isOpen />
      )}
    </Branches>
  );
}

const MOST_IN_FOLDER = 200;

function Branches({
  branches,
  current,
  children,
}: {
  branches: readonly TreeEntry[];
  current: string;
  children: (branch: TreeEntry) => ReactNode;
}) {
  const { shown, more } = useMore(
    branches,
    MOST_IN_FOLDER,
    ({ path }) => path === current || current.startsWith(`${path}/`),
  );
  return (
    <ul>
      {shown.map(children)}
      {more && <li>{more}</li>}
    </ul>
  );
}

interface RowProps {
  agent: string;
  screen: "files" | "memory";
  branch: TreeEntry;
  current: string;
  depth: number;
  isOpen: boolean;
}

function BranchRow(props: RowProps) {
  const { children } = props.branch;
  return children === null ? <FileRow {...props} /> : <FolderRow {...props} below={children} />;
}

function FileRow({ agent, screen, branch, current, depth }: RowProps) {
  return (
    <li>
      <Link to={{ screen, agent, path: branch.path }} current={branch.path === current} className={ROW}>
        <span style={indent(depth)} className="flex min-w-0 flex-1 items-center gap-1.5">
          <FileText className="ml-4 size-3.5 shrink-0 text-dim" aria-hidden />
          <span className="truncate">{branch.name}</span>
          <span className="ml-auto shrink-0 text-xs font-normal text-dim">{size(branch.bytes)}</span>
        </span>
      </Link>
    </li>
  );
}

function FolderRow({ below, isOpen: isOpenAtFirst, ...props }: RowProps & { below: readonly TreeEntry[] }) {
  const { branch, current, depth } = props;
  const isOnTheWay = current.startsWith(`${branch.path}/`);
  const [isOpen, setOpen] = useState(isOnTheWay || isOpenAtFirst);
  // Anyone who opens a file sees where it is.
  useEffect(() => {
    if (isOnTheWay) setOpen(true);
  }, [isOnTheWay]);
  // Of the runs, the last; where there is one folder alone, that.
  const last = below.findLast(({ children }) => children !== null);
  const opensItself = branch.path === "runs" || below.length === 1;
  return (
    <li>
      <button type="button" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen} className={ROW}>
        <span style={indent(depth)} className="flex min-w-0 items-center gap-1.5">
          <ChevronRight
            className={`size-3 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
            aria-hidden
          />
          <Folder className="size-3.5 shrink-0 text-dim" aria-hidden />
          <span className="truncate">{branch.name}</span>
        </span>
      </button>
      {isOpen && (
        <Branches branches={below} current={current}>
          {(child) => (
            <BranchRow
              key={child.path}
              {...props}
              branch={child}
              depth={depth + 1}
              isOpen={child === last && opensItself}
            />
          )}
        </Branches>
      )}
    </li>
  );
}

const indent = (depth: number) => ({ paddingLeft: `${0.25 + depth * 0.9}rem` });
