import { FileText } from "lucide-react";
import type { RunResult } from "../live/run-results.ts";
import { Link } from "../shell/link.tsx";
import { size } from "../text/figures.ts";
import { visible } from "../text/visible.ts";

const MOST_FILES = 12;

export interface LinkedFile {
  /** In the workspace. */
  at: string;
  label: string;
  /** Unknown where only the record names it. */
  bytes: number | null;
  isChanged?: boolean;
}

/** Files that a worker made, as links to read them. */
export function FileLinks({ agent, files }: { agent: string; files: readonly LinkedFile[] }) {
  if (files.length === 0) return null;
  return (
    <ul className="mt-2 flex flex-wrap gap-1.5">
      {files.slice(0, MOST_FILES).map(({ at, label, bytes, isChanged }) => (
        <li key={at}>
          <Link
            to={{ screen: "files", agent, path: at }}
            className="flex min-h-11 items-center gap-1.5 rounded-md border border-line bg-page px-2 text-xs hover:bg-hover md:min-h-7"
          >
            <FileText className="size-3.5 shrink-0 text-dim" aria-hidden />
            <span className="max-w-60 truncate">{label}</span>
            {isChanged ? (
              <span className="text-wait">changed or removed since</span>
            ) : (
              bytes !== null && <span className="text-dim">{size(bytes)}</span>
            )}
          </Link>
        </li>
      ))}
      {files.length > MOST_FILES && (
        <li className="px-2 py-1 text-xs text-dim">and {files.length - MOST_FILES} more</li>
      )}
    </ul>
  );
}

export function publishedPath(run: string | undefined, node: string, path: string): string {
  return `runs/${run}/nodes/${node}/published/${path}`;
}

/** The name in its run; for published files the node is enough to say where they are. */
export function linkedFile({ at, bytes, isChanged }: RunResult): LinkedFile {
  const inRun = at.replace(/^runs\/[^/]+\//, "");
  return { at, bytes, isChanged, label: visible(inRun.replace(/^nodes\/([^/]+)\/published\//, "$1/")) };
}
