/** How many lines were added, and how many removed. */
export function Counts({ insertions, deletions }: { insertions: number; deletions: number }) {
  return (
    <span className="flex shrink-0 gap-1.5 font-mono text-xs tabular-nums">
      {insertions > 0 && (
        <span className="text-ok">
          +{insertions}
          <span className="sr-only"> lines</span>
        </span>
      )}
      {deletions > 0 && (
        <span className="text-bad">
          −{deletions}
          <span className="sr-only"> lines</span>
        </span>
      )}
    </span>
  );
}
