import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { steering } from "../entity/steering.ts";
import { agents } from "../live/agents.ts";
import { useAgents } from "../live/use-live.ts";
import { firstLine } from "../text/figures.ts";
import { Dialog } from "./dialog.tsx";
import { close, open } from "./overlay.ts";
import { go, type Place, routeNow } from "./route.ts";
import { switchTheme } from "./theme.ts";

interface Entry {
  key: string;
  kind: string;
  text: string;
  run: () => void;
}

const MOST = 50;

/** Everything there is to go to or do, found by any part of its words. */
export function Palette() {
  useAgents();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries().filter(({ text, kind }) => {
    const all = `${kind} ${text}`.toLowerCase();
    return parts.every((part) => all.includes(part));
  });
  const shown = found.slice(0, MOST);
  const chosen = Math.min(at, shown.length - 1);

  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && shown.length > 0) {
      event.preventDefault();
      setAt((chosen + step + shown.length) % shown.length);
    }
    if (event.key === "Enter") {
      event.preventDefault();
      take(shown[chosen]);
    }
  };
  return (
    <Dialog title="Find" onClose={close} isBare>
      <input
        data-first
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
        role="combobox"
        aria-expanded
        aria-controls="found"
        aria-activedescendant={shown[chosen] ? `found-${chosen}` : undefined}
        aria-label="Find an agent, a member of a team, a node, a screen"
        placeholder="Find an agent, a worker, a node, a screen…"
        className="min-h-12 w-full border-b border-line bg-page px-4 outline-none"
      />
      <div ref={list} id="found" role="listbox" aria-label="Found" className="max-h-[50dvh] overflow-y-auto p-1">
        {shown.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={entry.key}
            id={`found-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => take(entry)}
            className="flex min-h-11 cursor-pointer items-center gap-3 rounded-md px-3 hover:bg-hover aria-selected:bg-tint md:min-h-9"
          >
            <span className="w-20 shrink-0 text-xs text-dim">{entry.kind}</span>
            <span className="truncate">{entry.text}</span>
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className="px-4 pb-4 text-dim">Nothing by that name.</p>}
    </Dialog>
  );
}

function entries(): Entry[] {
  const route = routeNow();
  const here = "agent" in route ? route.agent : null;
  const to = (key: string, kind: string, text: string, place: Place): Entry => ({
    key,
    kind,
    text,
    run: () => go(place),
  });
  const screens = here
    ? [
        to("board", "screen", "Board", { screen: "board", agent: here, node: null }),
        to("timeline", "screen", "Timeline", { screen: "timeline", agent: here }),
        to("files", "screen", "Files", { screen: "files", agent: here, path: "" }),
        to("memory", "screen", "Memory", { screen: "memory", agent: here, path: "" }),
        to("triggers", "screen", "Triggers", { screen: "triggers", agent: here }),
      ]
    : [];
  const situation = here ? agents.feed(here).situation : null;
  const people = Object.values(situation?.roster ?? {}).map(({ id, spawned }) =>
    to(`worker ${id}`, "member", spawned.name, { screen: "entity", agent: here ?? "", worker: id }),
  );
  const nodes = Object.values(situation?.board.nodes ?? {}).map(({ id, spec }) =>
    to(id, "node", `${id} · ${firstLine(spec.task)}`, { screen: "board", agent: here ?? "", node: id }),
  );
  const all = agents.list.map(({ id, name }) =>
    to(id, "agent", name, { screen: "entity", agent: id, worker: "coordinator" }),
  );
  const steers = situation && route.at === null ? steering(situation.agent) : [];
  const actions: Entry[] = [
    ...steers.map(({ label, run }) => ({
      key: label,
      kind: "action",
      text: `${label} ${situation?.agent.created.name}`,
      run,
    })),
    { key: "new", kind: "action", text: "New agent", run: () => open("new_agent") },
    { key: "theme", kind: "action", text: "Light or dark", run: switchTheme },
    { key: "keys", kind: "action", text: "Keys", run: () => open("shortcuts") },
    to("home", "screen", "All agents", { screen: "home" }),
  ];
  return [...people, ...screens, ...all, ...actions, ...nodes];
}
