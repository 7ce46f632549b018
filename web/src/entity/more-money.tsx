import { type FormEvent, useState } from "react";
import { agents } from "../live/agents.ts";
import { give } from "../live/api.ts";
import { useAgent } from "../live/use-live.ts";
import { Dialog } from "../shell/dialog.tsx";
import { ACTION, FIELD, FormEnd, LABEL } from "../shell/form.tsx";
import { closeOverlay } from "../shell/overlay.ts";

/** What ran out of money continues only with more of it. */
export function MoreMoney({ agent }: { agent: string }) {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { situation } = useAgent(agent);
  // Whose was not looked at before, its figures come first.
  if (!situation) return null;
  const { outcome } = situation.agent;
  const spent = outcome?.kind === "budget_exhausted" ? outcome.spent_usd : 0;
  const spentTokens = outcome?.kind === "budget_exhausted" ? outcome.spent_tokens : undefined;
  const isTokens = spentTokens !== undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    const budget = Number(new FormData(event.currentTarget).get("budget"));
    give({ do: "resume", id: agent, ...(isTokens ? { budget_tokens: budget } : { budget_usd: budget }) }).then(
      () => {
        closeOverlay();
        return agents.refresh();
      },
      (error: unknown) => {
        setProblem(error instanceof Error ? error.message : String(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title="The budget is spent" onClose={closeOverlay}>
      <form onSubmit={submit} className="space-y-4">
        <label className={LABEL}>
          {isTokens
            ? `Budget in tokens, including the ${spentTokens} that were used`
            : `Budget in USD, including the $${spent.toFixed(2)} that was spent`}
          <input
            name="budget"
            type="number"
            required
            data-first
            min={isTokens ? "1" : "0.01"}
            step={isTokens ? "1" : "0.01"}
            defaultValue={isTokens ? spentTokens * 2 || 1000 : (Math.ceil(spent * 2 * 100) / 100 || 1).toFixed(2)}
            className={FIELD}
          />
        </label>
        <FormEnd problem={problem}>
          <button type="submit" disabled={isBusy} className={ACTION}>
            Continue
          </button>
        </FormEnd>
      </form>
    </Dialog>
  );
}
