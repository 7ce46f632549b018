import type { ReactNode } from "react";
import { type PagePlace, urlOf } from "./address.ts";
import { go, useRoute } from "./route.ts";

/** A real link, so that it can be opened in another tab; a plain click stays in the page. */
export function Link({
  to,
  className = "",
  children,
  current = false,
  label,
  node,
}: {
  to: PagePlace;
  className?: string;
  children: ReactNode;
  current?: boolean;
  label?: string;
  /** The node it stands for, on the board. */
  node?: string;
}) {
  const route = useRoute();
  const sameAgent = "agent" in to && "agent" in route && to.agent === route.agent;
  return (
    <a
      href={urlOf(to, sameAgent ? route.at : null)}
      className={className}
      aria-current={current ? "page" : undefined}
      aria-label={label}
      data-node={node}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
