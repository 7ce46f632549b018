/**
 * The `ref` of the element at the bottom of a screen: toasts are placed above it, so that they never cover the field in
 * which somebody types. When one replaces another, the new one counts.
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
