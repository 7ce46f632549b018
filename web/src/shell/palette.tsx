import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { type ListedWorker, listWorkers } from "../live/api.ts";
import { useAgents, useLoaded } from "../live/use-live.ts";
import { Dialog } from "./dialog.tsx";
import { closeOverlay } from "./overlay.ts";
import { entries, type PaletteEntry } from "./palette-entries.ts";
import { ranked } from "./rank.ts";

const MOST = 50;
/** Everybody, as of the last time it was open: results must not move while one looks at them. */
let known: readonly ListedWorker[] = [];

/** Everything that one can go to or do, found by any part of its words, the best match first. */
export function Palette() {
  useAgents();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const workers = useLoaded("workers", listWorkers);
  if (workers.state === "ready") known = workers.value;
  const found = ranked(entries(known), words);
  const shown = found.slice(0, MOST);
  const chosen = Math.min(at, shown.length - 1);

  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  return (
    <Dialog title="Find" onClose={closeOverlay} isBare>
      <input
        data-first
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => press(event, { shown, chosen, onMove: setAt })}
        role="combobox"
        aria-expanded
        aria-controls="found"
        aria-activedescendant={shown[chosen] ? `found-${chosen}` : undefined}
        aria-label="Find an agent, a worker, a mesh, a node, a published file, a screen"
        placeholder="Find an agent, a worker, a node, a file…"
        className="min-h-12 w-full border-b border-line bg-page px-4 outline-none"
      />
      <div ref={list} id="found" role="listbox" aria-label="Found" className="max-h-[50dvh] overflow-y-auto p-1">
        {shown.map((entry, index) => (
          <FoundEntry
            key={entry.key}
            id={`found-${index}`}
            entry={entry}
            isChosen={index === chosen}
            onTake={() => take(entry)}
          />
        ))}
      </div>
      {found.length > MOST && (
        <p className="px-4 py-2 text-xs text-dim">{found.length - MOST} more. Type more of the name to find them.</p>
      )}
      {shown.length === 0 && <p className="px-4 pb-4 text-dim">Nothing found.</p>}
    </Dialog>
  );
}

function take(entry: PaletteEntry | undefined): void {
  if (!entry) return;
  closeOverlay();
  entry.run();
}

interface Choice {
  shown: readonly PaletteEntry[];
  chosen: number;
  onMove: (to: number) => void;
}

function press(event: KeyboardEvent, { shown, chosen, onMove }: Choice): void {
  // These keys are still the input method's.
  if (event.nativeEvent.isComposing) return;
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step !== 0 && shown.length > 0) {
    event.preventDefault();
    onMove((chosen + step + shown.length) % shown.length);
  }
  if (event.key === "Enter") {
    event.preventDefault();
    take(shown[chosen]);
  }
}

function FoundEntry({
  id,
  entry,
  isChosen,
  onTake,
}: {
  id: string;
  entry: PaletteEntry;
  isChosen: boolean;
  onTake: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      onClick={onTake}
      className="flex min-h-11 cursor-pointer items-center gap-3 rounded-md px-3 hover:bg-hover aria-selected:bg-tint md:min-h-9"
    >
      <span className="w-20 shrink-0 text-xs text-dim">{entry.kind}</span>
      <span className="min-w-0 truncate">{entry.text}</span>
      {entry.of && (
        <span className="ml-auto max-w-[40%] shrink-0 truncate text-xs text-dim">
          <span className="sr-only">of </span>
          {entry.of}
        </span>
      )}
    </div>
  );
}
