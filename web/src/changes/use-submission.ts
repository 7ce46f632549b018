import { useState } from "react";
import { toast } from "../shell/overlay.ts";

/** Something that is sent at most once at a time: what comes of it is told, and what went wrong is kept to be shown. */
export function useSubmission() {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = (send: () => Promise<{ detail: string }>, done: () => void) => {
    if (isBusy) return;
    setBusy(true);
    setProblem("");
    send()
      .then(
        ({ detail }) => {
          done();
          toast("plain", detail);
        },
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return { problem, isBusy, submit };
}
