import { Undo2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { rejectWork } from "../live/repository-api.ts";
import { Problem } from "../shell/form.tsx";
import { useDraft } from "../shell/message-field.tsx";
import { useSubmission } from "./use-submission.ts";

const BUTTON =
  "min-h-11 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover md:min-h-8";

/** Takes the work of a node out of the branch, and tells the coordinator why. */
export function RejectNode({ agent, node }: { agent: string; node: string }) {
  const [isAsked, ask] = useState(false);
  const [reason, change] = useDraft(`draft.${agent}.reject ${node}`);
  const { problem, isBusy, submit } = useSubmission();
  if (!isAsked)
    return (
      <button type="button" onClick={() => ask(true)} className={`flex items-center gap-1.5 ${BUTTON}`}>
        <Undo2 className="size-4" aria-hidden /> Reject
      </button>
    );
  const reject = (event: FormEvent) => {
    event.preventDefault();
    if (reason.trim() === "") return;
    submit(
      () => rejectWork(agent, node, reason.trim()),
      () => {
        change("");
        ask(false);
      },
    );
  };
  return (
    <form
      aria-label={`Reject ${node}`}
      className="w-full max-w-3xl space-y-2 rounded-md border border-line p-3"
      onSubmit={reject}
    >
      <p className="text-[13px]">
        Take the work of {node} out of the branch? The coordinator hears your reason. The commit is kept.
      </p>
      <textarea
        aria-label="Reason"
        placeholder="What is wrong with it?"
        rows={2}
        value={reason}
        // biome-ignore lint/a11y/noAutofocus: it was opened to be written in
        autoFocus
        onChange={(event) => change(event.target.value)}
        className="min-h-11 w-full rounded-md border border-line bg-page px-2 py-1.5 text-[13px]"
      />
      <Problem text={problem} />
      <div className="flex gap-2">
        <button
          type="submit"
          disabled={reason.trim() === "" || isBusy}
          className={`${BUTTON} text-bad disabled:opacity-60`}
        >
          Reject it
        </button>
        <button type="button" onClick={() => ask(false)} className={BUTTON}>
          Keep it
        </button>
      </div>
    </form>
  );
}
