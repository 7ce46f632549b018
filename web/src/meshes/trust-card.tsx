import { ShieldAlert } from "lucide-react";
import { useState } from "react";
import { agents } from "../live/agents.ts";
import { type MeshView, trustMesh } from "../live/api.ts";
import { complain } from "../shell/overlay.ts";
import { visible } from "../text/visible.ts";

const BUTTON =
  "min-h-11 shrink-0 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 md:min-h-8";

/** What a mesh would run, and the person's yes to exactly that. Nothing where there is nothing left to agree to. */
export function TrustCard({ project, mesh }: { project: string; mesh: MeshView }) {
  const { status, terminals, wants_terminals, says, files, hash } = mesh.trust;
  const [isBusy, setBusy] = useState(false);
  const isHeld = status === "untrusted" || status === "changed";
  if (!isHeld && (terminals || !wants_terminals)) return null;
  const agree = (withTerminals: boolean) => {
    setBusy(true);
    trustMesh(project, mesh.mesh, { hash, terminals: withTerminals, by: "page" })
      .then(() => agents.refresh())
      .catch(complain)
      .finally(() => setBusy(false));
  };
  return (
    <section aria-label="Trust" className={`mb-4 rounded-lg border p-3 ${isHeld ? "border-accent" : "border-line"}`}>
      <h2 className="flex items-center gap-2 font-semibold">
        <ShieldAlert className="size-4 shrink-0" aria-hidden />
        {HEADS[status]}
      </h2>
      <details className="mt-1 text-[13px]" open={isHeld}>
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
        <ul className="mt-2 max-h-60 overflow-y-auto rounded-md bg-raised p-2 font-mono text-xs">
          {files.map(({ path, bytes }) => (
            <li key={path} className="[overflow-wrap:anywhere]">
              {visible(path)} <span className="text-dim">{bytes} bytes</span>
            </li>
          ))}
        </ul>
        <p className="mt-2 font-mono text-xs text-dim [overflow-wrap:anywhere]">content {hash}</p>
      </details>
      <div className="mt-3 flex flex-wrap gap-2">
        {isHeld && (
          <button type="button" className={BUTTON} disabled={isBusy} onClick={() => agree(false)}>
            {wants_terminals ? "Trust, in the sandbox" : "Trust"}
          </button>
        )}
        {wants_terminals && (
          <button type="button" className={BUTTON} disabled={isBusy} onClick={() => agree(true)}>
            {isHeld ? "Trust with terminals" : "Allow terminals"}
          </button>
        )}
      </div>
    </section>
  );
}

const HEADS: Readonly<Record<MeshView["trust"]["status"], string>> = {
  untrusted: "This mesh is not trusted yet: nothing of it runs",
  changed: "This mesh has changed since you trusted it: nothing of what is new runs",
  bundled: "This mesh runs in the sandbox, without terminals",
  trusted: "This mesh runs in the sandbox, without terminals",
};
