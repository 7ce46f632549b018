import { Bell, Moon, Plus, Search, Sun } from "lucide-react";
import { useState } from "react";
import { useAgents } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { useMore } from "../shell/more.tsx";
import { openOverlay } from "../shell/overlay.ts";
import { useRoute } from "../shell/route.ts";
import { switchTheme, useIsDark } from "../shell/theme.ts";
import { AgentGroup } from "./agent-group.tsx";
import { MeshList } from "./mesh-list.tsx";
import { NeedsYou, UnreadMessages } from "./needs-you.tsx";

const ICON = "grid size-11 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink md:size-8";

/** All others are found with Ctrl+K. */
const MOST = 100;

export function Sidebar() {
  const { list, inbox, state, meshes, isCut } = useAgents();
  const route = useRoute();
  const { shown, more } = useMore(list, MOST, ({ id }) => "agent" in route && route.agent === id);
  return (
    <nav aria-label="Agents" className="flex h-full min-h-0 flex-col bg-panel">
      <div className="flex h-14 shrink-0 items-center gap-1 border-b border-line pr-2 pl-3">
        <Link
          to={{ screen: "home" }}
          className="mr-auto flex min-h-11 items-center gap-2 rounded-md font-semibold tracking-tight md:min-h-8"
        >
          <img src="/favicon.svg" alt="" className="size-5" />
          Agiraph
        </Link>
        <button
          type="button"
          className={ICON}
          onClick={() => openOverlay("palette")}
          aria-label="Find (Ctrl+K)"
          title="Find (Ctrl+K)"
        >
          <Search className="size-4" aria-hidden />
        </button>
        <NotifyButton />
        <ThemeButton />
      </div>
      {/* On top, however far down the team is that one looks at. */}
      <div className="max-h-[45%] shrink-0 overflow-y-auto overscroll-contain bg-panel px-2 pt-2 empty:hidden">
        <NeedsYou items={inbox} />
        <UnreadMessages list={list} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto overscroll-contain bg-panel px-2 py-2">
        {state === "loading" && <SidebarSkeleton />}
        {shown.map((summary) => (
          <AgentGroup key={summary.id} summary={summary} />
        ))}
        {more}
        {isCut && <p className="px-2 py-1 text-xs text-dim">Older agents are not listed: agiraph ls lists them all.</p>}
        {state === "ready" && list.length === 0 && (
          <p className="px-2 py-3 text-dim">No agents yet. Give one a goal, and its team appears here.</p>
        )}
        <MeshList projects={meshes} />
      </div>
      <div className="shrink-0 border-t border-line p-2">
        <button
          type="button"
          onClick={() => openOverlay("new_agent")}
          className="flex min-h-11 w-full items-center justify-center gap-2 rounded-md bg-accent font-semibold text-on-accent hover:opacity-90 md:min-h-9"
        >
          <Plus className="size-4" aria-hidden /> New agent
        </button>
      </div>
    </nav>
  );
}

/** Shows what it leads to. */
function ThemeButton() {
  const isDark = useIsDark();
  const Icon = isDark ? Sun : Moon;
  const words = isDark ? "Light theme" : "Dark theme";
  return (
    <button type="button" className={ICON} onClick={switchTheme} aria-label={words} title={words}>
      <Icon className="size-4" aria-hidden />
    </button>
  );
}

/** Browsers ask for it only after a click. */
function NotifyButton() {
  const [permission, setPermission] = useState(() =>
    typeof Notification === "undefined" ? "denied" : Notification.permission,
  );
  if (permission !== "default") return null;
  const ask = () => void Notification.requestPermission().then(setPermission, () => setPermission("denied"));
  return (
    <button
      type="button"
      className={ICON}
      onClick={ask}
      aria-label="Notify me of questions"
      title="Notify me of questions"
    >
      <Bell className="size-4" aria-hidden />
    </button>
  );
}

function SidebarSkeleton() {
  return (
    <div className="animate-pulse space-y-2 p-2" aria-hidden>
      {["w-2/3", "w-1/2", "w-3/5", "w-1/3"].map((width) => (
        <div key={width} className={`h-4 rounded bg-hover ${width}`} />
      ))}
    </div>
  );
}
