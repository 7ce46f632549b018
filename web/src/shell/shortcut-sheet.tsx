import { Dialog } from "./dialog.tsx";
import { closeOverlay } from "./overlay.ts";
import { useRoute } from "./route.ts";
import { REVIEW_SHORTCUTS, SHORTCUTS } from "./shortcuts.ts";

export function ShortcutSheet() {
  const { screen } = useRoute();
  return (
    <Dialog title="Keyboard shortcuts" onClose={closeOverlay}>
      {screen === "changes" && (
        <>
          <h3 className="mb-2 text-xs font-semibold text-dim">In the changes</h3>
          <Keys all={REVIEW_SHORTCUTS} />
          <h3 className="mt-5 mb-2 text-xs font-semibold text-dim">Everywhere</h3>
        </>
      )}
      <Keys all={SHORTCUTS} />
    </Dialog>
  );
}

function Keys({ all }: { all: typeof SHORTCUTS }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
      {all.map(({ keys, does }) => (
        <div key={keys} className="contents">
          <dt>
            <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-xs">{keys}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
