import { X } from "lucide-react";
import { dismiss, useToasts } from "./overlay.ts";

const TONE = { plain: "border-line", wait: "border-wait", bad: "border-bad" };

export function Toasts() {
  const toasts = useToasts();
  return (
    <div
      className="pointer-events-none fixed inset-x-3 bottom-[calc(var(--foot,0px)+0.75rem)] z-20 flex flex-col items-end gap-2 md:left-auto md:w-96"
      role="status"
      aria-live="polite"
    >
      {toasts.map(({ key, tone, text, action }) => (
        <div
          key={key}
          className={`pointer-events-auto flex w-full items-center gap-3 rounded-lg border-l-4 border bg-page p-3 shadow-lg ${TONE[tone]}`}
        >
          <p className="line-clamp-4 min-w-0 flex-1 [overflow-wrap:anywhere]">{text}</p>
          {action && (
            <button
              type="button"
              className="min-h-11 rounded-md px-2 font-semibold text-accent hover:bg-hover md:min-h-8"
              onClick={() => {
                dismiss(key);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button
            type="button"
            className="grid size-11 shrink-0 place-items-center rounded-md text-dim md:size-8 hover:bg-hover"
            onClick={() => dismiss(key)}
            aria-label="Dismiss"
          >
            <X className="size-4" aria-hidden />
          </button>
        </div>
      ))}
    </div>
  );
}
