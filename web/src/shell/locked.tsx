import { type FormEvent, type ReactNode, useState } from "react";
import { agents } from "../live/agents.ts";
import { logIn } from "../live/api.ts";

/** Nobody looks in without a key. */
export function Locked() {
  const [problem, setProblem] = useState("");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get("token") ?? "").trim();
    logIn(token).catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  return (
    <Notice title="This page needs its key">
      <p>
        Open the link that <Command>agiraph serve</Command> printed. <Command>agiraph token --link</Command> prints
        another.
      </p>
      <form onSubmit={submit} className="mt-4">
        <label className="block text-[13px] font-semibold">
          Or paste the token; <Command>agiraph token</Command> prints it.
          <input
            name="token"
            type="password"
            required
            autoComplete="off"
            className="mt-1 min-h-11 w-full rounded-md border border-line bg-page px-2.5 font-mono font-normal"
          />
        </label>
        {problem && (
          <p role="alert" className="mt-2 text-bad">
            {problem}
          </p>
        )}
        <button type="submit" className="mt-3 min-h-11 rounded-md bg-accent px-4 font-semibold text-on-accent">
          Open
        </button>
      </form>
    </Notice>
  );
}

export function Unreachable({ problem }: { problem: string }) {
  return (
    <Notice title="The server does not answer">
      <p>{problem}</p>
      <p className="mt-2">
        Start it with <Command>agiraph serve</Command>; the page comes back by itself.
      </p>
      <button
        type="button"
        onClick={() => void agents.refresh()}
        className="mt-4 min-h-11 rounded-md bg-accent px-4 font-semibold text-on-accent"
      >
        Try now
      </button>
    </Notice>
  );
}

function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="grid h-dvh place-items-center bg-panel p-4">
      <div className="w-full max-w-md rounded-xl border border-line bg-page p-6">
        <img src="/favicon.svg" alt="" className="mb-4 size-8" />
        <h1 className="mb-2 text-lg font-semibold">{title}</h1>
        {children}
      </div>
    </main>
  );
}

function Command({ children }: { children: ReactNode }) {
  return <code className="rounded bg-hover px-1 py-0.5 font-mono text-[0.9em]">{children}</code>;
}
