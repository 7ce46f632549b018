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
    <TreeRows entries={tree} current={current}>
      {(entry) => (
        <TreeRow key={entry.path} agent={agent} screen={screen} entry={entry} current={current} depth={0} isOpen />
      )}
    </TreeRows>
  );
}

const MOST_IN_FOLDER = 200;

function TreeRows({
  entries,
  current,
  children,
}: {
  entries: readonly TreeEntry[];
  current: string;
  children: (entry: TreeEntry) => ReactNode;
}) {
  const { shown, more } = useMore(
    entries,
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

interface TreeRowProps {
  agent: string;
  screen: "files" | "memory";
  entry: TreeEntry;
  current: string;
  depth: number;
  isOpen: boolean;
}

function TreeRow(props: TreeRowProps) {
  const { children } = props.entry;
  return children === null ? <FileRow {...props} /> : <FolderRow {...props} below={children} />;
}

function FileRow({ agent, screen, entry, current, depth }: TreeRowProps) {
  return (
    <li>
      <Link to={{ screen, agent, path: entry.path }} current={entry.path === current} className={ROW}>
        <span style={indent(depth)} className="flex min-w-0 flex-1 items-center gap-1.5">
          <FileText className="ml-4 size-3.5 shrink-0 text-dim" aria-hidden />
          <span className="truncate">{entry.name}</span>
          <span className="ml-auto shrink-0 text-xs font-normal text-dim">{size(entry.bytes)}</span>
        </span>
      </Link>
    </li>
  );
}

function FolderRow({ below, isOpen: isOpenAtFirst, ...props }: TreeRowProps & { below: readonly TreeEntry[] }) {
  const { entry, current, depth } = props;
  const isOnTheWay = current.startsWith(`${entry.path}/`);
  const [isOpen, setOpen] = useState(isOnTheWay || isOpenAtFirst);
  // Anyone who opens a file sees where it is.
  useEffect(() => {
    if (isOnTheWay) setOpen(true);
  }, [isOnTheWay]);
  // Of the runs, the last; where there is one folder alone, that.
  const last = below.findLast(({ children }) => children !== null);
  const opensItself = entry.path === "runs" || below.length === 1;
  return (
    <li>
      <button type="button" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen} className={ROW}>
        <span style={indent(depth)} className="flex min-w-0 items-center gap-1.5">
          <ChevronRight
            className={`size-3 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
            aria-hidden
          />
          <Folder className="size-3.5 shrink-0 text-dim" aria-hidden />
          <span className="truncate">{entry.name}</span>
        </span>
      </button>
      {isOpen && (
        <TreeRows entries={below} current={current}>
          {(child) => (
            <TreeRow
              key={child.path}
              {...props}
              entry={child}
              depth={depth + 1}
              isOpen={child === last && opensItself}
            />
          )}
        </TreeRows>
      )}
    </li>
  );
}

const indent = (depth: number) => ({ paddingLeft: `${0.25 + depth * 0.9}rem` });
