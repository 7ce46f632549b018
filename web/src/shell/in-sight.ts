/** Whether any part of it is visible: an element of the page may be scrolled away in its stream. */
export function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const stream = element.closest("[role=log]")?.getBoundingClientRect();
  return bottom > (stream?.top ?? 0) && top < (stream?.bottom ?? window.innerHeight);
}
