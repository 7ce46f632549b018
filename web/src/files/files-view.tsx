import { type FormEvent, useState } from "react";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Missing, Nowhere } from "../entity/entity-view.tsx";
import { filesIn, type MemoryHit, type Shelf, searchMemory } from "../live/api.ts";
import { useAgent, useLoaded } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { complain } from "../shell/overlay.ts";
import { count } from "../text/figures.ts";
import { FileTree } from "./file-tree.tsx";
import { Preview } from "./preview.tsx";
import { treeOf } from "./tree.ts";

/** What the team has written: its workspace, or the agent's memory. */
export default function FilesView({ agent, shelf, path }: { agent: string; shelf: Shelf; path: string }) {
  const view = useAgent(agent);
  const { situation } = view;
  // Files change with the work; a few facts at a time are enough to look again.
  const tick = situation ? `${Math.floor(situation.seq / 20)} ${situation.agent.status}` : "";
  const files = useLoaded(`${agent} ${shelf} ${tick}`, () => filesIn(agent, shelf));
  const [found, setFound] = useState<MemoryHit[] | null>(null);
  if (view.standing === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  const screen = shelf === "workspace" ? "files" : "memory";
  const listed = files.state === "ready" ? files.value : [];
  const isFile =
    path !== "" && (files.state !== "ready" || listed.some((each) => each.path === path && each.kind === "file"));

  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const query = String(new FormData(event.currentTarget).get("query") ?? "").trim();
    if (query === "") setFound(null);
    else searchMemory(agent, query).then(setFound, complain);
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title={shelf === "workspace" ? "Files" : "Memory"}
        detail={`${situation.agent.created.name} · ${count(listed.filter(({ kind }) => kind === "file").length, "file")}${view.standing === "replay" ? " · files are shown as they are now" : ""}`}
      >
        {shelf === "memory" && (
          <search className="min-w-0">
            <form onSubmit={search}>
              <input
                name="query"
                type="search"
                aria-label="Search the memory"
                placeholder="Search…"
                className="min-h-11 w-36 rounded-md border border-line bg-page px-2.5 md:min-h-8 md:w-56"
              />
            </form>
          </search>
        )}
      </ScreenHeader>
      <div className="flex min-h-0 flex-1">
        <div
          className={`min-h-0 w-full shrink-0 overflow-y-auto border-r border-line p-2 md:block md:w-72 ${path ? "hidden" : ""}`}
        >
          {files.state === "failed" && (
            <p role="alert" className="p-3 text-bad">
              {files.problem}
            </p>
          )}
          {files.state === "loading" && <p className="p-3 text-dim">Loading…</p>}
          {files.state === "ready" && listed.length === 0 && (
            <p className="p-3 text-dim">
              {shelf === "workspace" ? "Nothing is written yet." : "Nothing is remembered yet."}
            </p>
          )}
          {found ? (
            <Found agent={agent} found={found} onDone={() => setFound(null)} />
          ) : (
            <FileTree agent={agent} screen={screen} tree={treeOf(listed)} current={path} />
          )}
        </div>
        <div className={`min-h-0 min-w-0 flex-1 ${path ? "" : "hidden md:block"}`}>
          {isFile ? (
            <Preview key={path} view={view} situation={situation} shelf={shelf} path={path} tick={tick} />
          ) : (
            <Missing
              what={path && files.state === "ready" ? `There is no file ${path}.` : "Choose a file to read it."}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function Found({ agent, found, onDone }: { agent: string; found: readonly MemoryHit[]; onDone: () => void }) {
  return (
    <section aria-label="Found">
      <p className="flex items-center justify-between px-2 pb-2 text-xs text-dim">
        {count(found.length, "passage")}
        <button type="button" onClick={onDone} className="min-h-8 font-semibold text-accent underline">
          All files
        </button>
      </p>
      <ul className="space-y-1">
        {found.map((hit) => (
          <li key={`${hit.path} ${hit.text}`}>
            <Link
              to={{ screen: "memory", agent, path: hit.path }}
              className="block rounded-md px-2 py-1.5 hover:bg-hover"
            >
              <span className="block truncate text-[13px] font-semibold">{hit.headings.at(-1) ?? hit.path}</span>
              <span className="line-clamp-3 text-xs text-dim [overflow-wrap:anywhere]">{hit.text}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
