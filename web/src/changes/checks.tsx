import { ChevronRight, CircleCheck, CircleX } from "lucide-react";
import type { SyntheticEvent } from "react";
import type { RepositoryCheck } from "../live/repository-api.ts";
import { milliseconds } from "../text/figures.ts";
import { visible, visibleLines } from "../text/visible.ts";

/** What was run on the work and how it ended: what failed first, the output on demand. */
export function Checks({ checks }: { checks: readonly RepositoryCheck[] }) {
  if (checks.length === 0) return null;
  const inOrder = checks.toSorted((a, b) => Number(a.ok) - Number(b.ok));
  const failed = checks.filter(({ ok }) => !ok).length;
  return (
    <section aria-label="Checks">
      <h3 className="mb-1 text-xs font-semibold text-dim">
        Checks · {failed === 0 ? `all ${checks.length} passed` : `${failed} of ${checks.length} failed`}
      </h3>
      <ul className="divide-y divide-line rounded-lg border border-line">
        {inOrder.map((check) => (
          <li key={`${check.command} ${check.commit}`}>
            <Check check={check} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What went wrong is at the end of what it printed. */
function showEnd({ currentTarget }: SyntheticEvent<HTMLDetailsElement>): void {
  const output = currentTarget.querySelector("section");
  output?.scrollTo(0, output.scrollHeight);
}

function Check({ check: { command, ok, ms, output = "", red_before, commit } }: { check: RepositoryCheck }) {
  const Icon = ok ? CircleCheck : CircleX;
  return (
    <details className="group" onToggle={showEnd}>
      <summary className="flex min-h-11 items-center gap-2 rounded-lg px-3 text-[13px] hover:bg-hover md:min-h-8">
        <ChevronRight className="size-3.5 shrink-0 text-dim transition-transform group-open:rotate-90" aria-hidden />
        <Icon className={`size-4 shrink-0 ${ok ? "text-ok" : "text-bad"}`} aria-hidden />
        <span className="sr-only">{ok ? "Passed: " : "Failed: "}</span>
        <code className="min-w-0 truncate">{visible(command)}</code>
        {red_before && <span className="shrink-0 text-xs text-dim">fails without this work too</span>}
        <span className="ml-auto shrink-0 text-xs text-dim">{milliseconds(ms)}</span>
      </summary>
      <div className="px-3 pt-1 pb-3">
        <p className="text-xs text-dim">
          On <span className="font-mono">{commit.slice(0, 8)}</span>
          {output === "" && (ok ? "; nothing it printed is kept." : "; it printed nothing.")}
        </p>
        {output !== "" && (
          <section
            aria-label={`Output of ${visible(command)}`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            tabIndex={0}
            className="mt-1 max-h-80 overflow-auto"
          >
            <pre className="text-xs leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]">
              {visibleLines(output)}
            </pre>
          </section>
        )}
      </div>
    </details>
  );
}
