import { useEffect, useState } from "react";
import { configState } from "../live/api.ts";

type ConfigState = Awaited<ReturnType<typeof configState>>;

const LOOK_MS = 30_000;

/** Says that config.json is invalid, or that a change in it needs a restart. Checked only while the page is visible. */
export function ConfigLine() {
  const [config, setConfig] = useState<ConfigState | null>(null);
  useEffect(() => {
    const look = () => {
      // Where the server does not answer, that is said elsewhere.
      if (!document.hidden) configState().then(setConfig, () => {});
    };
    look();
    const timer = setInterval(look, LOOK_MS);
    window.addEventListener("focus", look);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", look);
    };
  }, []);
  const words = config && wordsFor(config);
  if (!words) return null;
  return (
    <p
      role="status"
      className="shrink-0 bg-wait-tint px-3 py-1 text-xs font-medium whitespace-pre-line text-wait [overflow-wrap:anywhere]"
    >
      {words}
    </p>
  );
}

function wordsFor({ problem, after_restart }: ConfigState): string | null {
  if (problem !== null) return `config.json is invalid; the server uses the last valid version.\n${problem}`;
  return after_restart.length > 0
    ? `Changed in config.json; takes effect after a restart: ${after_restart.join(", ")}.`
    : null;
}
