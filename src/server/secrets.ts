import type { Settings } from "../runtime/settings.ts";

/** Values of the environment that are secret by their name, as `doctor` knows keys. */
export function keysIn(env: Settings["env"]): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    /(?:KEY|TOKEN|SECRET|PASSWORD)$/.test(name) && value ? value : [],
  );
}

/** Too short to be a secret, and too likely to be a word. */
const SHORTEST = 8;

/** Replaces each secret in a text. `written` is how a secret looks there, for example inside a JSON string. */
export function scrubber(secrets: readonly string[], written = (secret: string) => secret): (text: string) => string {
  const found = secrets.filter((secret) => secret.length >= SHORTEST).map(written);
  const longestFirst = [...new Set(found)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}
