import { type ReactNode, useState } from "react";

/**
 * The first of very many items, and the selected one; a button with their number shows the rest. A page with all of
 * them would be slow.
 */
export function useMore<T>(
  all: readonly T[],
  most: number,
  isHere: (one: T) => boolean,
): { shown: readonly T[]; more: ReactNode } {
  const [limit, setLimit] = useState(most);
  const left = all.length - limit;
  if (left <= 0) return { shown: all, more: null };
  const here = all.slice(limit).find(isHere);
  const step = Math.min(left, most * 5);
  const more = (
    <button
      type="button"
      onClick={() => setLimit(limit + step)}
      className="flex min-h-11 w-full items-center rounded-md px-2 text-left text-[13px] font-semibold text-accent underline hover:bg-hover md:min-h-7"
    >
      {left} more: show {step}
    </button>
  );
  return { shown: [...all.slice(0, limit), ...(here ? [here] : [])], more };
}
