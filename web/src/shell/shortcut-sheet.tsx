import { Dialog } from "./dialog.tsx";
import { closeOverlay } from "./overlay.ts";
import { SHORTCUTS } from "./shortcuts.ts";

export function ShortcutSheet() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={closeOverlay}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-xs">{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
