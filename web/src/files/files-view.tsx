import { type FormEvent, useMemo, useState } from "react";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Missing, Nowhere } from "../entity/entity-view.tsx";
import { type FileItem, filesIn, type MemorySearch, type Shelf, searchMemory } from "../live/api.ts";
import { type Loaded, useAgent, useLoaded, usePaced } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { complain } from "../shell/overlay.ts";
import { count, gist } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { FileTree } from "./file-tree.tsx";
import { InsightList } from "./insights.tsx";
import { fileAt } from "./moment.ts";
import { passage } from "./passage.ts";
import { Preview } from "./preview.tsx";
import { treeOf } from "./tree.ts";

const NONE: readonly FileItem[] = [];

/** What the team has written: its workspace, or the agent's memory. */
export default function FilesView({ agent, shelf, path }: { agent: string; shelf: Shelf; path: string }) {
  const view = useAgent(agent);
  const { situation } = view;
  // Files change with the work.
  const tick = usePaced(situation ? `${view.newest} ${situation.agent.status}` : "", 1500);
  const files = useLoaded(`${agent} ${shelf}`, () => filesIn(agent, shelf), tick);
  const [found, setFound] = useState<MemorySearch | null>(null);
  const all = files.state === "ready" ? files.value.files : NONE;
  const isPast = view.state === "replay";
  // Drawn again with every fact; sorted again only when there is something else to sort.
  const hidesLater = isPast && shelf === "workspace" && situation !== null;
  const listed = useMemo(
    () => (hidesLater ? all.filter((each) => fileAt(each.path, situation) !== "later") : all),
    [all, hidesLater, situation],
  );
  const tree = useMemo(() => treeOf(listed), [listed]);
  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  const screen = shelf === "workspace" ? "files" : "memory";
  const isFile =
    path !== "" && (files.state !== "ready" || listed.some((each) => each.path === path && each.kind === "file"));
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title={shelf === "workspace" ? "Files" : "Memory"}
        detail={
          situation.agent.created.name + (files.state === "ready" ? ` · ${count(filesAmong(listed), "file")}` : "")
        }
      >
        {shelf === "memory" && <SearchField agent={agent} onFound={setFound} />}
      </ScreenHeader>
      {isPast && <AsOfNow shelf={shelf} later={filesAmong(all) - filesAmong(listed)} />}
      <div className="flex min-h-0 flex-1">
        <div
          className={`min-h-0 w-full shrink-0 overflow-y-auto border-r border-line p-2 md:block md:w-72 ${path ? "hidden" : ""}`}
        >
          <ListState files={files} shelf={shelf} isEmpty={listed.length === 0} />
          {shelf === "memory" && !found && <InsightList agent={agent} insights={situation.insights} />}
          {found ? (
            <Found agent={agent} found={found} onDone={() => setFound(null)} />
          ) : (
            <FileTree agent={agent} screen={screen} tree={tree} current={path} />
          )}
        </div>
        <div className={`min-h-0 min-w-0 flex-1 ${path ? "" : "hidden md:block"}`}>
          {isFile ? (
            <Preview key={path} view={view} situation={situation} shelf={shelf} path={path} tick={tick} />
          ) : (
            <NoFile agent={agent} screen={screen} path={path} isLoaded={files.state === "ready"} isPast={isPast} />
          )}
        </div>
      </div>
    </div>
  );
}

function filesAmong(listed: readonly FileItem[]): number {
  return listed.filter(({ kind }) => kind === "file").length;
}

function SearchField({ agent, onFound }: { agent: string; onFound: (found: MemorySearch | null) => void }) {
  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const query = String(new FormData(event.currentTarget).get("query") ?? "").trim();
    if (query === "") onFound(null);
    else searchMemory(agent, query).then(onFound, complain);
  };
  return (
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
  );
}

interface ListStateProps {
  files: Loaded<Awaited<ReturnType<typeof filesIn>>>;
  shelf: Shelf;
  isEmpty: boolean;
}

/** What there is to say about the list of files: that it failed, loads, is empty or incomplete. */
function ListState({ files, shelf, isEmpty }: ListStateProps) {
  return (
    <>
      {files.state === "failed" && (
        <p role="alert" className="p-3 text-bad">
          {files.problem}
        </p>
      )}
      {files.state === "loading" && <p className="p-3 text-dim">Loading…</p>}
      {files.state === "ready" && isEmpty && (
        <p className="p-3 text-dim">{shelf === "workspace" ? "There are no files yet." : "The memory is empty."}</p>
      )}
      {files.state === "ready" && files.value.isCut && (
        <p role="note" className="mb-1 rounded-md bg-wait-tint px-3 py-1.5 text-xs text-wait">
          Only the first {files.value.files.length} files are listed.
        </p>
      )}
    </>
  );
}

interface NoFileProps {
  agent: string;
  screen: "files" | "memory";
  path: string;
  isLoaded: boolean;
  isPast: boolean;
}

function NoFile({ agent, screen, path, isLoaded, isPast }: NoFileProps) {
  return (
    <Missing
      what={
        path && isLoaded
          ? `There ${isPast ? "was" : "is"} no file ${visible(path)}${isPast ? " at this moment" : ""}.`
          : "Choose a file to read it."
      }
    >
      {path && (
        <Link
          to={{ screen, agent, path: "" }}
          className="mt-2 inline-flex min-h-11 items-center text-accent underline md:hidden"
        >
          All files
        </Link>
      )}
    </Missing>
  );
}

/** In replay: which of what is in sight is as it was. */
function AsOfNow({ shelf, later }: { shelf: Shelf; later: number }) {
  return (
    <p role="note" className="shrink-0 border-b border-line bg-wait-tint px-3 py-1.5 text-xs text-wait md:px-5">
      {shelf === "memory" ? (
        "The memory is shown as it is now, not as it was then."
      ) : (
        <>
          Published files are exactly as they were at this moment; all others are shown as they are now.
          {later > 0 && ` ${count(later, "later file")} ${later === 1 ? "is" : "are"} left out.`}
        </>
      )}
    </p>
  );
}

interface FoundProps {
  agent: string;
  found: MemorySearch;
  onDone: () => void;
}

function Found({ agent, found: { results, not_searched = [] }, onDone }: FoundProps) {
  return (
    <section aria-label="Found">
      <p className="flex items-center justify-between px-2 pb-2 text-xs text-dim">
        {results.length === 0 ? "Nothing found." : count(results.length, "passage")}
        <button type="button" onClick={onDone} className="min-h-11 font-semibold text-accent underline md:min-h-8">
          All files
        </button>
      </p>
      {not_searched.map((words) => (
        <p key={words} role="note" className="mb-1 rounded-md bg-wait-tint px-3 py-1.5 text-xs text-wait">
          {visible(words)}
        </p>
      ))}
      <ul className="space-y-1">
        {results.map((hit) => (
          <li key={`${hit.path} ${hit.text}`}>
            <Link
              to={{ screen: "memory", agent, path: hit.path }}
              className="block rounded-md px-2 py-1.5 hover:bg-hover"
            >
              <span className="block truncate text-[13px] font-semibold">
                {gist(hit.headings.at(-1) ?? "") || visible(hit.path)}
              </span>
              {hit.headings.length > 0 && <span className="block truncate text-xs text-dim">{visible(hit.path)}</span>}
              <span className="line-clamp-3 text-xs text-dim [overflow-wrap:anywhere]">{passage(hit)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
