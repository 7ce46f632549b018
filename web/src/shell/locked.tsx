import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { agents } from "../live/agents.ts";
import { logIn } from "../live/api.ts";
import { ACTION, FIELD, LABEL, Problem } from "./form.tsx";
import { useModal } from "./modal.ts";

/** Shown without a valid login. */
export function Locked() {
  const isSpent = isLinkSpent();
  return (
    <Notice title={isSpent ? "This link was already used or has expired" : "Log in to open this page"}>
      {isSpent ? (
        <p>
          Each link works once, within ten minutes. <Command>agiraph token --link</Command> prints a new one.
        </p>
      ) : (
        <p>
          Open the link that <Command>agiraph serve</Command> printed. <Command>agiraph token --link</Command> prints a
          new one.
        </p>
      )}
      <TokenForm />
    </Notice>
  );
}

/** Shown over the page, which stays below as it was: nothing that was begun in it is lost. */
export function LockedOut() {
  const dialog = useRef<HTMLDialogElement>(null);
  useModal(dialog);
  return (
    <dialog
      ref={dialog}
      aria-label={ENDED}
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
      className="m-0 h-dvh max-h-none w-screen max-w-none"
    >
      <Notice title={ENDED} isOver>
        <p>
          The token was changed, or this login has expired. What you typed is kept. Open the link that{" "}
          <Command>agiraph token --link</Command> prints, in any tab of this browser: this tab then continues by itself.
        </p>
        <TokenForm />
      </Notice>
    </dialog>
  );
}

function isLinkSpent(): boolean {
  return new URLSearchParams(location.search).get("link") === "spent";
}

const ENDED = "Your login is no longer valid";

function TokenForm() {
  const [problem, setProblem] = useState("");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get("token") ?? "").trim();
    logIn(token).then(
      () => {
        // It matters no more, nor the next time that a key is asked for.
        if (isLinkSpent()) history.replaceState(null, "", location.pathname);
        return agents.refresh();
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <form onSubmit={submit} className="mt-4">
      <label className={LABEL}>
        Or paste the token; <Command>agiraph token</Command> prints it.
        <input name="token" type="password" required autoComplete="off" className={`${FIELD} font-mono`} />
      </label>
      <div className="mt-3 space-y-3">
        <Problem text={problem} />
        <button type="submit" className={ACTION}>
          Open
        </button>
      </div>
    </form>
  );
}

const SILENT = "The server is not responding";

export function Unreachable({ problem }: { problem: string }) {
  return (
    <Notice title={SILENT}>
      {!problem.startsWith(SILENT) && <p className="mb-2">{problem}</p>}
      <p>
        Start it with <Command>agiraph serve</Command>; this page reconnects by itself.
      </p>
      <button type="button" onClick={() => void agents.refresh()} className={`mt-4 ${ACTION}`}>
        Try now
      </button>
    </Notice>
  );
}

function Notice({ title, children, isOver = false }: { title: string; children: ReactNode; isOver?: boolean }) {
  const Place = isOver ? "div" : "main";
  return (
    <Place className="grid min-h-dvh place-items-center bg-panel p-4">
      <div className="w-full max-w-md rounded-xl border border-line bg-page p-6">
        <img src="/favicon.svg" alt="" className="mb-4 size-8" />
        <h1 className="mb-2 text-lg font-semibold">{title}</h1>
        {children}
      </div>
    </Place>
  );
}

function Command({ children }: { children: ReactNode }) {
  return <code className="rounded bg-hover px-1 py-0.5 font-mono text-[0.9em]">{children}</code>;
}
