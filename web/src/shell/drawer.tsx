import { useEffect, useRef } from "react";
import { Sidebar } from "../sidebar/sidebar.tsx";
import { useModal } from "./modal.ts";
import { closeOverlay } from "./overlay.ts";
import { useRoute } from "./route.ts";

/** The sidebar on narrow pages. It closes when something in it is chosen. */
export function Drawer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const route = useRoute();
  const from = useRef(route);
  useModal(dialog);
  useEffect(() => {
    if (route !== from.current) closeOverlay();
  }, [route]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it by keyboard
    <dialog
      ref={dialog}
      aria-label="Agents"
      onClose={closeOverlay}
      onClick={(event) => event.target === dialog.current && closeOverlay()}
      className="m-0 h-dvh max-h-none w-[min(20rem,88vw)] border-r border-line bg-panel"
    >
      <Sidebar />
    </dialog>
  );
}
