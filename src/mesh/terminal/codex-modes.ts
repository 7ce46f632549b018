/** By itself it edits and runs in its own sandbox, and asks for what leads out of it. */
const MODES = {
  none: ["-a", "on-request", "-s", "workspace-write"],
  allow: ["-a", "never", "-s", "danger-full-access"],
  ask: ["-a", "on-request", "-s", "read-only"],
  deny: ["-a", "never", "-s", "read-only"],
} as const;

/**
 * The approval and the sandbox of Codex in a terminal, as arguments. Its own sandbox also keeps its commands and edits
 * out of `ofOthers`; where it has none ("allow"), nothing does.
 */
export function codexModes(permissions: "ask" | "allow" | "deny" | null, ofOthers: readonly string[]): string[] {
  if (permissions !== null || ofOthers.length === 0) return [...MODES[permissions ?? "none"]];
  const files = ofOthers.map((folder) => `${JSON.stringify(folder)}="read"`).join(",");
  const profile = `permissions.beside={extends=":workspace",filesystem={${files}}}`;
  return ["-a", "on-request", "-c", `default_permissions="beside"`, "-c", profile];
}
