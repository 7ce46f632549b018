import type { Scrubber } from "../boundary/scrubber.ts";
import type { Watched } from "../protocol/index.ts";
import type { Sandbox } from "../sandbox/index.ts";
import type { Scope } from "../store/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope-refusal.ts";
import { type FetchOptions, fetchText } from "../tools/web-fetch.ts";
import { NOT_THERE, type Sight, sightOf } from "../triggers/change.ts";

/** Resolves with what is there now; rejects, in words, where nobody can look. */
export type Look = (what: Watched, scope: Scope, signal: AbortSignal) => Promise<Sight>;

const MOST_FILES = 2_000;
const MOST_BYTES = 32 * 1024 ** 2;
const LARGEST_FILE = 8 * 1024 ** 2;
const MOST_TEXT = 64 * 1024;
const COMMAND_SECONDS = 60;

/** The same hands as those of the team, with the same bounds: its files, the guarded fetch, the sandbox. */
export function looking(sandbox: () => Promise<Sandbox>, fetching: () => FetchOptions, scrubber: Scrubber): Look {
  return async ({ path, url, command }, scope, signal) => {
    if (path !== undefined) return lookAtPath(path, scope);
    if (url !== undefined) {
      const text = await fetchText(url, fetching(), signal);
      return sightOf(text, scrubber.text(text.slice(0, MOST_TEXT)));
    }
    const output = scrubber.text(await outputOf(command ?? "", await sandbox(), scope, signal));
    return sightOf(output, output.slice(0, MOST_TEXT));
  };
}

async function lookAtPath(path: string, scope: Scope): Promise<Sight> {
  try {
    const { bytes, size } = await scope.readFile(path, { maxBytes: LARGEST_FILE });
    const isText = !bytes.subarray(0, MOST_TEXT).includes(0);
    return { ...sightOf(bytes, isText ? bytes.subarray(0, MOST_TEXT).toString("utf8") : null), bytes: size };
  } catch (error) {
    if (error instanceof FileNotFound) return NOT_THERE;
    if (!(error instanceof ScopeRefusal) || error.reason !== "wrong_kind") throw error;
  }
  return lookAtFolder(path, scope);
}

async function lookAtFolder(path: string, scope: Scope): Promise<Sight> {
  const { entries, more } = await scope.list(path, { recursive: true, limit: MOST_FILES });
  const files = entries.filter(({ kind }) => kind === "file");
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (more) throw new Error(`${path} holds more than ${MOST_FILES} files: watch a smaller folder.`);
  if (bytes > MOST_BYTES) throw new Error(`${path} holds more than ${MOST_BYTES} bytes: watch a smaller folder.`);
  const lines: string[] = [];
  for (const file of files) {
    const found = await lookAtPath(file.path, scope);
    lines.push(`${file.path} (${found.bytes} bytes, ${found.hash})`);
  }
  const text = lines.sort().join("\n");
  return { ...sightOf(text, text.slice(0, MOST_TEXT)), bytes };
}

async function outputOf(command: string, sandbox: Sandbox, scope: Scope, signal: AbortSignal): Promise<string> {
  if (sandbox.kind === "none") throw new Error(`Commands are refused: ${sandbox.about}`);
  const { cwd, omitted: _, ...binds } = await scope.binds();
  const timeoutMs = COMMAND_SECONDS * 1000;
  const result = await sandbox.run({ command, cwd, binds, env: { SCRATCH: cwd }, timeoutMs, signal });
  if (result.timedOut) throw new Error(`It did not end within ${COMMAND_SECONDS} s.`);
  return `${result.output.trimEnd()}${result.code === 0 ? "" : `\n(exit code ${result.code})`}`;
}
