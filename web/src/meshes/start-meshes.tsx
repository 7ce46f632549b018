import { useState } from "react";
import { agents } from "../live/agents.ts";
import { give } from "../live/api.ts";
import { complain } from "../shell/overlay.ts";

/** Starts all meshes of a project that are not running. */
export function StartMeshes({ project }: { project: string }) {
  const [isBusy, setBusy] = useState(false);
  const start = () => {
    setBusy(true);
    give({ do: "start_meshes", project })
      .then(() => agents.refresh(), complain)
      .finally(() => setBusy(false));
  };
  return (
    <button
      type="button"
      disabled={isBusy}
      onClick={start}
      className="min-h-11 rounded-md px-1 font-semibold text-accent hover:bg-hover md:min-h-6"
    >
      Start
    </button>
  );
}
