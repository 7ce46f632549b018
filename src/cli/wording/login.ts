import type { LoginStatus } from "../../runtime/logins/login-status.ts";
import { duration } from "../../wording/figures.ts";

/** How a program is signed in, and for how long, in one line. */
export function loginInWords(found: LoginStatus, now: number): string {
  const { how, where, as, usable, expires_at, renewable, renewed_at, problem } = found;
  if (how === null) return problem ?? "not signed in, as far as its files and variables show";
  if (how === "variable") return `${where} is set`;
  if (how === "key_file") return `a key in ${where}`;
  if (!usable) return `its login cannot be used: ${problem ?? "it has expired"}`;
  const who = `signed in${as ? ` (${as})` : ""}`;
  const words = [`${who} by ${where}`];
  if (expires_at === null) words.push("does not say when it expires");
  else if (expires_at > now) words.push(`expires in ${about(expires_at - now)}`);
  else words.push(`expired ${about(now - expires_at)} ago`);
  words.push(renewable ? "is renewed automatically" : "cannot be renewed");
  if (renewed_at !== null) words.push(`last renewed ${about(now - renewed_at)} ago`);
  if (problem !== null) words.push(`last problem: ${problem}`);
  return words.join(", ");
}

function about(ms: number): string {
  const seconds = ms / 1000;
  const unit = seconds < 3600 ? 60 : seconds < 2 * 86_400 ? 3600 : 86_400;
  return duration(Math.max(1, Math.round(seconds / unit)) * unit);
}
