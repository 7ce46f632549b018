import { ScopeRefusal } from "./scope-refusal.ts";

const MAX_PATH_CHARS = 1024;
const MAX_NAME_BYTES = 255;

/**
 * A path as a participant writes it, split into names. Empty for the top.
 *
 * SCOPE-PATH-1. The result contains no empty name, no `.`, no `..`, no separator and no NUL.
 * SCOPE-PATH-2. Ambiguous paths are not repaired but refused, with the reason.
 */
export function parsePath(path: string): string[] {
  const shown = JSON.stringify(path.slice(0, 80));
  const refuse = (why: string) => new ScopeRefusal("invalid", `${shown} is not a path you can use: ${why}`);

  if (path.length > MAX_PATH_CHARS)
    throw refuse(`it has ${path.length} characters, at most ${MAX_PATH_CHARS} are allowed.`);
  if (!path.isWellFormed()) throw refuse("it has half a character (a lone surrogate) in it.");
  if (/\p{Cc}/u.test(path)) throw refuse("it has a control character in it. Use plain names.");
  if (path.includes("\\")) throw refuse("it has a backslash in it. Separate folders with /.");
  if (path.startsWith("/") || path === "~" || path.startsWith("~/")) {
    throw refuse(
      "it is absolute and leads to none of your files. Paths are relative to the run; list_files without a path shows what is there.",
    );
  }
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw refuse('".." is never followed. Name the file from the top instead.');
  const long = parts.find((part) => Buffer.byteLength(part) > MAX_NAME_BYTES);
  if (long) throw refuse(`the name ${long.slice(0, 20)}… is longer than ${MAX_NAME_BYTES} bytes.`);
  return parts;
}

/** In our own folders a file has exactly one name: composed, and without invisible characters. */
export function ownNames(parts: readonly string[]): string[] {
  const invisible = parts.find((part) => INVISIBLE.test(part));
  if (invisible !== undefined) {
    const shown = JSON.stringify(invisible.replace(new RegExp(INVISIBLE, "gu"), "?"));
    throw new ScopeRefusal(
      "invalid",
      `${shown} is not a name you can use: it has invisible characters (?). Use plain names.`,
    );
  }
  return parts.map((part) => part.normalize("NFC"));
}

/** Some file systems ignore these in names, so that two spellings would be one file. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}/u;
