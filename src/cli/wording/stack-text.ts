/** The error, its stack, and what caused it. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\nCaused by: ${stackOf(error.cause)}` : "";
  return `${error.stack ?? error.message}${cause}`;
}
