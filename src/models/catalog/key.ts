/**
 * Whether a variable holds something that could be sent as a key. Surrounding whitespace is trimmed before it is sent.
 */
export function keyState(value: string | undefined): "set" | "missing" | "malformed" {
  if (value === undefined || value === "") return "missing";
  return /^[\x21-\x7e]+$/.test(value.trim()) ? "set" : "malformed";
}
