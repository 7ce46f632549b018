// Before the first paint, so that the page does not flash in the other theme.
{
  let theme = null;
  try {
    theme = localStorage.getItem("agiraph.theme");
  } catch {
    // No storage: the system's theme.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
