import type { ReactNode } from "react";
import { COORDINATOR, HUMAN } from "../../../src/protocol/index.ts";
import { knownOf } from "../live/replay.ts";
import { clockTime, exactTime, initialOf } from "../text/figures.ts";

/** A message: who, to whom, when, and the text. */
export function MessageBlock({
  agent,
  from,
  to,
  ts,
  note,
  isContinued = false,
  children,
}: {
  agent: string;
  from: string;
  to?: string;
  ts: number | null;
  note?: string;
  /** The same person goes on: the name is not said again. */
  isContinued?: boolean;
  children: ReactNode;
}) {
  return (
    <div
      className={`flex gap-3 px-3 md:px-5 ${isContinued ? "pt-0.5" : "pt-2"} pb-0.5 border-l-2 ${to === HUMAN ? "border-accent bg-tint" : "border-transparent"}`}
    >
      <div className="w-8 shrink-0">{!isContinued && <Avatar name={nameOf(agent, from)} id={from} />}</div>
      <div className="min-w-0 max-w-[48rem] flex-1">
        {!isContinued && (
          <div className="flex flex-wrap items-baseline gap-x-2 leading-tight">
            <span className="font-semibold">{nameOf(agent, from)}</span>
            {to && <span className="text-xs text-dim">to {toWhom(agent, to)}</span>}
            {ts !== null && (
              <time className="text-xs text-dim" title={exactTime(ts)} dateTime={new Date(ts * 1000).toISOString()}>
                {clockTime(ts)}
              </time>
            )}
            {note && <span className="text-xs text-dim">{note}</span>}
          </div>
        )}
        <div className="mt-0.5">{children}</div>
        {isContinued && note && <span className="text-xs text-dim">{note}</span>}
      </div>
    </div>
  );
}

function toWhom(agent: string, to: string): string {
  if (to === "*") return "everyone";
  return to === HUMAN ? "you" : nameOf(agent, to);
}

export function nameOf(agent: string, id: string): string {
  if (id === HUMAN) return "You";
  if (id === COORDINATOR) return "Coordinator";
  if (id === "agiraph") return "Agiraph";
  return knownOf(agent)?.roster[id]?.spawned.name ?? id;
}

const HUES = ["#7c5cbf", "#2f7d6b", "#b0561f", "#3567b5", "#a23a6a", "#5f7316", "#96472e", "#4b5f95"];

/** A tile with the first letter; the colour is the same for the same name, everywhere. */
function Avatar({ name, id }: { name: string; id: string }) {
  if (id === COORDINATOR) return <Tile label="★" background="var(--accent)" colour="var(--on-accent)" />;
  if (id === HUMAN) return <Tile label="You" background="var(--ink)" colour="var(--page)" isSmall />;
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return <Tile label={initialOf(name)} background={HUES[sum % HUES.length] ?? "var(--dim)"} colour="#fff" />;
}

function Tile({
  label,
  background,
  colour,
  isSmall = false,
}: {
  label: string;
  background: string;
  colour: string;
  isSmall?: boolean;
}) {
  return (
    <div
      aria-hidden
      className={`grid size-8 place-items-center rounded-lg font-semibold select-none ${isSmall ? "text-[11px]" : "text-sm"}`}
      style={{ background, color: colour }}
    >
      {label}
    </div>
  );
}
