import { ShieldAlert, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { agents } from "../live/agents.ts";
import { give, type MeshView } from "../live/api.ts";
import { complain } from "../shell/overlay.ts";
import { visible } from "../text/visible.ts";
import { TrustFiles } from "./trust-files.tsx";

type Trust = MeshView["trust"];

const BUTTON =
  "min-h-11 shrink-0 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 md:min-h-8";

/** Whether a mesh may run, and the person's decision. Empty if neither is needed. */
export function TrustCard({ project, mesh: { mesh, trust } }: { project: string; mesh: MeshView }) {
  const [isBusy, setBusy] = useState(false);
  const act = (deed: Promise<unknown>) => {
    setBusy(true);
    deed
      .then(() => agents.refresh())
      .catch(complain)
      .finally(() => setBusy(false));
  };
  const agree = (hash: string, terminals: boolean) =>
    act(give({ do: "trust_mesh", id: project, mesh, hash, terminals, by: "page" }));
  if (asks(trust)) return <Consent now={trust} isBusy={isBusy} agree={agree} />;
  if (trust.status !== "trusted") return null;
  return (
    <Granted
      terminals={trust.terminals}
      isBusy={isBusy}
      takeBack={() => agree(trust.hash, false)}
      untrust={() => act(give({ do: "untrust_mesh", id: project, mesh }))}
    />
  );
}

function isHeld({ status }: Trust): boolean {
  return status === "untrusted" || status === "changed";
}

function asks(trust: Trust): boolean {
  return isHeld(trust) || (!trust.terminals && trust.wants_terminals);
}

/**
 * The yes to what is on the screen. The card keeps the content that it shows: what comes meanwhile is not put in its place,
 * and cannot be agreed to before it was shown.
 */
function Consent(props: { now: Trust; isBusy: boolean; agree: (hash: string, terminals: boolean) => void }) {
  const { now, isBusy, agree } = props;
  const [looked, setLooked] = useState(now);
  const isSeen = useSeen(looked.hash);
  // What nobody has had the time to read is replaced; its successor has to be seen first, too.
  if (looked.hash !== now.hash && !isSeen) setLooked(now);
  const isOld = looked.hash !== now.hash;
  // The same content may have been decided about meanwhile, here or elsewhere.
  const shown = isOld ? looked : now;
  const { hash, says, wants_terminals, status } = shown;
  const held = isHeld(shown);
  const isOff = isBusy || isOld || !isSeen;
  return (
    <section aria-label="Trust" className={`mb-4 rounded-lg border p-3 ${held ? "border-accent" : "border-line"}`}>
      <h2 className="flex items-center gap-2 font-semibold">
        <ShieldAlert className="size-4 shrink-0" aria-hidden />
        {HEADS[status]}
      </h2>
      {isOld && (
        <div role="alert" className="mt-2 flex flex-wrap items-center gap-2 rounded-md bg-wait-tint p-2 text-[13px]">
          <span className="min-w-0 flex-1 font-semibold">
            This mesh changed while you were reviewing it. What you see below is out of date.
          </span>
          <button type="button" className={BUTTON} onClick={() => setLooked(now)}>
            Show the current version
          </button>
        </div>
      )}
      <details className="mt-1 text-[13px]" open={held}>
        <summary className="min-h-11 content-center rounded-md text-dim hover:bg-hover md:min-h-6">
          What it would run
        </summary>
        <ul className="mt-1 list-disc space-y-1 pl-5">
          {says.map((sentence) => (
            <li key={sentence} className="[overflow-wrap:anywhere]">
              {visible(sentence)}
            </li>
          ))}
        </ul>
        <TrustFiles trust={shown} />
        <p className="mt-2 font-mono text-xs text-dim [overflow-wrap:anywhere]">content {hash}</p>
      </details>
      <div className="mt-3 flex flex-wrap gap-2">
        {held && (
          <button type="button" className={BUTTON} disabled={isOff} onClick={() => agree(hash, false)}>
            {wants_terminals ? "Trust, in the sandbox" : "Trust"}
          </button>
        )}
        {wants_terminals && (
          <button type="button" className={BUTTON} disabled={isOff} onClick={() => agree(hash, true)}>
            {held ? "Trust with terminals" : "Allow terminals"}
          </button>
        )}
      </div>
    </section>
  );
}

/** True a moment after a content came on the screen: a click that was meant for what was there before agrees to nothing. */
function useSeen(hash: string): boolean {
  const [seen, setSeen] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(hash), SEEN_MS);
    return () => clearTimeout(timer);
  }, [hash]);
  return seen === hash;
}

const SEEN_MS = 1_000;

function Granted(props: { terminals: boolean; isBusy: boolean; takeBack: () => void; untrust: () => void }) {
  const { terminals, isBusy, takeBack, untrust } = props;
  return (
    <section aria-label="Trust" className="mb-4 flex flex-wrap items-center gap-2 rounded-lg border border-line p-3">
      <p className="flex min-w-0 flex-1 basis-60 items-center gap-2 text-[13px]">
        <ShieldCheck className="size-4 shrink-0" aria-hidden />
        {terminals
          ? "You trust this mesh, with terminals: its agents may run outside the sandbox, with your rights."
          : "You trust this mesh, in the sandbox."}
      </p>
      {terminals && (
        <button type="button" className={BUTTON} disabled={isBusy} onClick={takeBack}>
          Disallow terminals
        </button>
      )}
      <button type="button" className={BUTTON} disabled={isBusy} onClick={untrust}>
        Stop trusting it
      </button>
    </section>
  );
}

const HEADS: Readonly<Record<Trust["status"], string>> = {
  untrusted: "This mesh is not trusted yet: none of it runs",
  changed: "This mesh has changed since you trusted it: its new content does not run",
  bundled: "This mesh runs in the sandbox, without terminals",
  trusted: "This mesh runs in the sandbox, without terminals",
};
