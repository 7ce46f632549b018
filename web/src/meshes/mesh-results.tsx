import { ChevronRight, Download } from "lucide-react";
import { useState } from "react";
import { FileViewer } from "../files/file-content.tsx";
import { type MeshResults, meshFileAddress, meshResults } from "../live/api.ts";
import { useLoaded } from "../live/use-live.ts";
import { StatusDot } from "../shell/status.tsx";
import { clockTime, exactTime, gist, size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible, visibleLines } from "../text/visible.ts";
import { FailureCard, failuresOf, type TaskFailure, WhatToDo } from "./failures.tsx";

interface ResultsProps {
  project: string;
  mesh: string;
  /** Another one, and something has happened. */
  tick: string;
}

/** The results: the end text of the last task, and the files in shared/output. */
export function Results({ project, mesh, tick }: ResultsProps) {
  const loaded = useLoaded(`${project} ${mesh}`, () => meshResults(project, mesh), tick);
  if (loaded.state !== "ready") return null;
  const { last, output, files, more } = loaded.value;
  const failures = failuresOf(project, mesh, null);
  const ofLast = failures.find(({ mesh_task: { agent, name } }) => agent === null && name === last?.name);
  return (
    <>
      {failures.map((item) => item !== ofLast && <FailureCard key={item.id} item={item} />)}
      {last && <LastTask last={last} failure={ofLast} />}
      {files.length > 0 && (
        <section className="mb-5" aria-label="Files">
          <h2 className="mb-1 text-xs font-semibold text-dim">
            Files <span className="font-normal [overflow-wrap:anywhere]">in {output}/</span>
          </h2>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {files.map((file) => (
              <li key={file.path}>
                <FileRow project={project} mesh={mesh} file={file} />
              </li>
            ))}
          </ul>
          {more && <p className="mt-1 text-xs text-dim">There are more.</p>}
        </section>
      )}
    </>
  );
}

function LastTask({ last, failure }: { last: NonNullable<MeshResults["last"]>; failure: TaskFailure | undefined }) {
  const isFailed = last.refused !== null || last.ends.some(({ failed }) => failed);
  return (
    <section
      aria-label={failure ? "Failed" : "Last result"}
      className={`mb-5 rounded-lg border p-3 ${isFailed ? "border-bad/50 bg-bad-tint" : "border-ok/50 bg-raised"}`}
    >
      <h2 className="flex items-center gap-2 text-[13px] font-semibold">
        <StatusDot status={isFailed ? "failed" : "done"} isBeside />
        <span className="min-w-0 flex-1 truncate">{gist(last.title)}</span>
        <time className="shrink-0 text-xs font-normal text-dim" title={exactTime(last.at)}>
          {clockTime(last.at)}
        </time>
      </h2>
      {last.refused !== null && <p className="mt-2 text-bad [overflow-wrap:anywhere]">{visibleLines(last.refused)}</p>}
      {last.ends.map(({ agent, failed, words }) => (
        <div key={agent} className="mt-2 max-w-3xl">
          <p className={`text-xs ${failed ? "text-bad" : "text-dim"}`}>
            {agent} {failed ? "could not do it" : "says"}
          </p>
          {words === "" ? <p className="text-dim">It left no text.</p> : <Markdown text={words} />}
        </div>
      ))}
      {failure && (
        <div className="mt-3">
          <WhatToDo item={failure} />
        </div>
      )}
    </section>
  );
}

function FileRow({ project, mesh, file }: Omit<ResultsProps, "tick"> & { file: MeshResults["files"][number] }) {
  const [isOpen, setOpen] = useState(false);
  const address = meshFileAddress(project, mesh, file.path);
  return (
    <>
      <div className="flex items-center">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-11 min-w-0 flex-1 items-center gap-2 rounded-lg px-3 py-1.5 text-left hover:bg-hover"
        >
          <ChevronRight
            className={`size-3.5 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
            aria-hidden
          />
          <span className="min-w-0 flex-1">
            <span className="block truncate">{visible(file.path)}</span>
            <span className="block truncate text-xs text-dim">
              {file.by && `by ${file.by} · `}
              {size(file.bytes)}
            </span>
          </span>
          <time className="shrink-0 text-xs text-dim" title={exactTime(file.at)}>
            {clockTime(file.at)}
          </time>
        </button>
        <a
          href={`${address}?download=true`}
          download
          aria-label={`Download ${visible(file.path)}`}
          className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover"
        >
          <Download className="size-4" aria-hidden />
        </a>
      </div>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <div className="max-h-96 overflow-auto px-3 pt-1 pb-3 md:px-9" tabIndex={0}>
          <FileViewer address={address} path={file.path} tick={String(file.at)} />
        </div>
      )}
    </>
  );
}
