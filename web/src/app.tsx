import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { EntityView, Loading } from "./entity/entity-view.tsx";
import { MoreMoney } from "./entity/more-money.tsx";
import { useAgents } from "./live/use-live.ts";
import { ConfigLine } from "./shell/config-line.tsx";
import { ConnectionLine } from "./shell/connection-line.tsx";
import { Drawer } from "./shell/drawer.tsx";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { Home } from "./shell/home.tsx";
import { Locked, LockedOut, Unreachable } from "./shell/locked.tsx";
import { useNotifications } from "./shell/notifications.ts";
import { useOverlay } from "./shell/overlay.ts";
import { Palette } from "./shell/palette.tsx";
import { ReplayBar } from "./shell/replay-bar.tsx";
import { type PageRoute, useRoute } from "./shell/route.ts";
import { ShortcutSheet } from "./shell/shortcut-sheet.tsx";
import { useShortcuts } from "./shell/shortcuts.ts";
import { Toasts } from "./shell/toasts.tsx";
import { Sidebar } from "./sidebar/sidebar.tsx";

const Board = lazy(() => import("./board/board-view.tsx"));
const Changes = lazy(() => import("./changes/changes-view.tsx"));
const Timeline = lazy(() => import("./timeline/timeline-view.tsx"));
const Triggers = lazy(() => import("./triggers/triggers-view.tsx"));
const Mesh = lazy(() => import("./meshes/mesh-view.tsx"));
const Files = lazy(() => import("./files/files-view.tsx"));
const loadNewAgentForm = () => import("./sidebar/new-agent.tsx");
const NewAgentForm = lazy(loadNewAgentForm);

export function App() {
  const { state, problem, hasCome } = useAgents();
  const route = useRoute();
  const overlay = useOverlay();
  useShortcuts();
  useNotifications();
  // Not needed to show the first screen, and there when somebody asks for it. What went wrong is said then.
  useEffect(() => void loadNewAgentForm().catch(() => {}), []);
  if (state === "locked" && !hasCome) return <Locked />;
  if (state === "unreachable") return <Unreachable problem={problem} />;
  return (
    <div className="flex h-dvh min-h-0">
      <a href="#main" className="sr-only z-30 bg-page p-2 focus:not-sr-only focus:absolute">
        Skip to the content
      </a>
      {/* Each by itself: what moves in the one is not laid out and painted anew in the other. */}
      <div className="hidden w-64 shrink-0 border-r border-line [contain:strict] md:block">
        <Sidebar />
      </div>
      <main id="main" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none [contain:strict]">
        <ConnectionLine route={route} />
        <ConfigLine />
        {"agent" in route && route.at !== null && <ReplayBar agent={route.agent} at={route.at} />}
        <div className="min-h-0 flex-1">
          <ErrorBoundary what="This screen" of={JSON.stringify(route)}>
            <Suspense fallback={<Loading />}>{screenOf(route)}</Suspense>
          </ErrorBoundary>
        </div>
      </main>
      {overlay === "sidebar" && <Drawer />}
      {overlay === "palette" && <Palette />}
      {overlay === "new_agent" && (
        <ErrorBoundary what="The form" of={overlay} isSmall>
          <Suspense>
            <NewAgentForm />
          </Suspense>
        </ErrorBoundary>
      )}
      {overlay === "more_money" && "agent" in route && <MoreMoney key={route.agent} agent={route.agent} />}
      {overlay === "shortcuts" && <ShortcutSheet />}
      <Toasts />
      {state === "locked" && <LockedOut />}
    </div>
  );
}

function screenOf(route: PageRoute): ReactNode {
  switch (route.screen) {
    case "home":
      return <Home />;
    case "entity":
      return <EntityView agent={route.agent} worker={route.worker} />;
    case "board":
      return <Board key={route.agent} agent={route.agent} node={route.node} />;
    case "changes":
      return <Changes key={route.agent} agent={route.agent} node={route.node} />;
    case "timeline":
      return <Timeline key={route.agent} agent={route.agent} />;
    case "triggers":
      return <Triggers key={route.agent} agent={route.agent} />;
    case "mesh":
      return <Mesh key={`${route.project} ${route.mesh}`} {...route} />;
    case "files":
    case "memory":
      return (
        <Files
          key={`${route.agent} ${route.screen}`}
          agent={route.agent}
          shelf={route.screen === "files" ? "workspace" : "memory"}
          path={route.path}
        />
      );
  }
}
