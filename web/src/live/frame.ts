/**
 * Runs what is asked for once in the next frame, however often it was asked for: under load a debounce would never
 * fire. A hidden tab has no frames, so a timer stands in for them there.
 */
export function coalesce(run: () => void): () => void {
  let isDue = false;
  const now = () => {
    isDue = false;
    run();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    if (document.hidden) setTimeout(now, 250);
    else requestAnimationFrame(now);
  };
}
