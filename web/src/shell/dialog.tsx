import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { useModal } from "./modal.ts";

/** The browser's own modal dialog: it holds the focus and closes with Escape. */
export function Dialog({
  title,
  onClose,
  children,
  isBare = false,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Without a title in sight. */
  isBare?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useModal(dialog);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it by keyboard
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
      className={`w-[min(36rem,calc(100vw-1.5rem))] max-h-[85dvh] overflow-hidden rounded-xl border border-line bg-page shadow-2xl ${isBare ? "mt-[12dvh]" : ""}`}
    >
      {isBare ? (
        children
      ) : (
        <div className="flex max-h-[85dvh] flex-col">
          <div className="flex items-center justify-between border-b border-line px-4 py-2.5">
            <h2 className="font-semibold">{title}</h2>
            <button
              type="button"
              onClick={onClose}
              className="grid size-11 place-items-center rounded-md hover:bg-hover md:size-8"
              aria-label="Close"
            >
              <X className="size-4" aria-hidden />
            </button>
          </div>
          <div className="scroll-pb-24 overflow-y-auto">
            <div className="p-4">{children}</div>
          </div>
        </div>
      )}
    </dialog>
  );
}
