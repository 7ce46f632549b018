import { type Situation, type Trouble, troubleOf, troublesOf, troubleWords } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import { StatusDot } from "../shell/status.tsx";
import { count, secondTime } from "../text/figures.ts";

/** Whose model does not answer, and what is being done about it: for one worker or, with the coordinator, for all. */
export function TroubleBanner({ situation, worker }: { situation: Situation; worker: string }) {
  const { troubles, roster } = situation;
  const own = troubleOf(troubles, worker);
  const all = worker === COORDINATOR ? troublesOf(troubles) : own ? [own] : [];
  const [first] = all;
  if (!first) return null;
  const name = roster[first.worker_id]?.spawned.name ?? first.worker_id;
  return (
    <div
      role="status"
      aria-label="Trouble"
      className="flex shrink-0 gap-2 border-b border-line bg-bad-tint px-3 py-1.5 text-xs md:px-5"
    >
      <span className="mt-0.5">
        <StatusDot status="trouble" isBeside />
      </span>
      <p className="min-w-0 [overflow-wrap:anywhere]">
        <strong className="text-bad">
          {name}: {troubleWords(first)}.
        </strong>{" "}
        {first.message.slice(0, 1000)} {triesOf(first)}
        {all.length > 1 &&
          ` ${count(all.length - 1, "other")} of the team ${all.length > 2 ? "have" : "has"} the same problem.`}
      </p>
    </div>
  );
}

function triesOf({ tries, since_ts, retry_ts }: Trouble): string {
  const failed = tries === 1 ? "One attempt failed" : `${tries} attempts failed`;
  const next = retry_ts === null ? "" : `; next attempt at ${secondTime(retry_ts)}`;
  return `${failed} since ${secondTime(since_ts)}${next}.`;
}
