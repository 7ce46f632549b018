import { type FormEvent, useState } from "react";
import { agents } from "../live/agents.ts";
import { resume } from "../live/api.ts";
import { useAgent } from "../live/use-live.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, FIELD, LABEL, Problem } from "../shell/form.tsx";
import { close } from "../shell/overlay.ts";

/** What ran out of money goes on only with more of it. */
export function MoreMoney({ agent }: { agent: string }) {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const outcome = useAgent(agent).situation?.agent.outcome;
  const spent = outcome?.kind === "budget_exhausted" ? outcome.spent_usd : 0;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    resume(agent, Number(new FormData(event.currentTarget).get("budget"))).then(
      () => {
        close();
        return agents.refresh();
      },
      (error: unknown) => {
        setProblem(error instanceof Error ? error.message : String(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title="The budget is spent" onClose={close}>
      <form onSubmit={submit} className="space-y-4">
        <label className={LABEL}>
          Budget in USD, what was spent (${spent.toFixed(2)}) included
          <input
            name="budget"
            type="number"
            required
            data-first
            min="0.01"
            step="0.01"
            defaultValue={(Math.ceil(spent * 2 * 100) / 100 || 1).toFixed(2)}
            className={FIELD}
          />
        </label>
        <Problem text={problem} />
        <div className="flex justify-end">
          <button type="submit" disabled={isBusy} className={ACTION}>
            Go on
          </button>
        </div>
      </form>
    </Dialog>
  );
}
