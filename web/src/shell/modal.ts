import { type RefObject, useEffect } from "react";

/** The browser's own modal dialog. The focus goes back to what opened it, however it is closed. */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // Else the focus goes to the first button, and that closes it.
    dialog.current?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => giveBack(opener);
  }, [dialog]);
}

/** The browser does it only where it closed the dialog itself. What opened it may be gone by now. */
function giveBack(opener: Element | null): void {
  if (document.activeElement !== document.body) return;
  const isThere = opener instanceof HTMLElement && opener !== document.body && opener.checkVisibility();
  const place = isThere ? opener : document.getElementById("main");
  place?.focus({ preventScroll: true });
}
