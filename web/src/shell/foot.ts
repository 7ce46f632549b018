/**
 * The `ref` of what stands at the foot of a screen: toasts stand above it, so that they never lie on the field in which
 * somebody writes. Of two, as one takes the other's place, the new one counts.
 */
export function foot(element: HTMLElement | null): (() => void) | undefined {
  if (!element) return;
  const { style } = document.documentElement;
  const tell = () => style.setProperty("--foot", `${element.offsetHeight}px`);
  const watch = new ResizeObserver(tell);
  watch.observe(element);
  tell();
  return () => {
    watch.disconnect();
    style.removeProperty("--foot");
  };
}
