import type { Scrubber } from "../../boundary/scrubber.ts";
import type { Situation } from "../../projections/index.ts";
import type { Watched } from "../../protocol/index.ts";
import type { Network, Sandbox } from "../../sandbox/index.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../../store/scope/scope-refusal.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import { type FetchOptions, fetchText } from "../../tools/web-fetch.ts";
import { NOT_THERE, type Sight, sightOf } from "../../triggers/change.ts";
import { folderVariables } from "../programs/folder-variables.ts";

/** Visible files, and the names of their folders that a command may use. */
export interface VisibleFiles {
  scope: Scope;
  env: Readonly<Record<string, string>>;
}

/** What an agent itself may see. */
export function visibleFilesOf(agentDir: string, now: Situation): VisibleFiles {
  const { run, created } = now.agent;
  const published = manifestsOf(() => now.board);
  const scope = coordinatorScope({ agentDir, runId: run?.id ?? "run-1", project: created.project, published });
  return { scope, env: folderVariables(scope, now.agent) };
}

/** Resolves with the current content; rejects, in words, if it cannot be read. */
export type LookAt = (what: Watched, view: VisibleFiles, signal: AbortSignal) => Promise<Sight>;

interface LookPorts {
  sandbox: () => Promise<Sandbox>;
  fetching: () => FetchOptions;
  network: () => Network | undefined;
  scrubber: Scrubber;
}

const MEGABYTE = 1024 ** 2;
const MOST_FILES = 2_000;
const MOST_MEGABYTES = 32;
const LARGEST_FILE_MEGABYTES = 8;
const MOST_TEXT = 64 * 1024;
/** A secret that is cut is not known any more: so much more is read than is shown. */
const MARGIN = 8 * 1024;
const COMMAND_SECONDS = 60;

/** The same tools as those of the team, with the same limits: its files, the guarded fetch, the sandbox. */
export function looking({ sandbox, fetching, network, scrubber }: LookPorts): LookAt {
  const shown = (text: string) => scrubber.text(text.slice(0, MOST_TEXT + MARGIN)).slice(0, MOST_TEXT);
  return async ({ path, url, command }, view, signal) => {
    if (path !== undefined) {
      const sight = await lookAtPath(path, view.scope);
      return { ...sight, text: sight.text === null ? null : shown(sight.text) };
    }
    if (url !== undefined) {
      const text = await fetchText(url, fetching(), signal);
      return sightOf(text, shown(text));
    }
    const output = scrubber.text(await outputOf(command ?? "", await sandbox(), network(), view, signal));
    return sightOf(output, output.slice(0, MOST_TEXT));
  };
}

async function lookAtPath(path: string, scope: Scope): Promise<Sight> {
  try {
    const { bytes, size, truncated } = await scope.readFile(path, { maxBytes: LARGEST_FILE_MEGABYTES * MEGABYTE });
    if (truncated)
      throw new Error(
        `${path} is larger than ${LARGEST_FILE_MEGABYTES} MB: watch a smaller file, or the output of a command.`,
      );
    const beginning = bytes.subarray(0, MOST_TEXT + MARGIN);
    return { ...sightOf(bytes, beginning.includes(0) ? null : beginning.toString("utf8")), bytes: size };
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
  if (bytes > MOST_MEGABYTES * MEGABYTE)
    throw new Error(`${path} holds more than ${MOST_MEGABYTES} MB: watch a smaller folder.`);
  const lines: string[] = [];
  for (const file of files) {
    const found = await lookAtPath(file.path, scope);
    lines.push(`${file.path} (${found.bytes} bytes, ${found.hash})`);
  }
  const text = lines.sort().join("\n");
  return { ...sightOf(text, text), bytes };
}

async function outputOf(
  command: string,
  sandbox: Sandbox,
  network: Network | undefined,
  { scope, env }: VisibleFiles,
  signal: AbortSignal,
): Promise<string> {
  if (sandbox.kind === "none") throw new Error(`Commands are refused: ${sandbox.about}`);
  const { cwd, omitted: _, ...binds } = await scope.binds();
  const timeoutMs = COMMAND_SECONDS * 1000;
  const result = await sandbox.run({ command, cwd, binds, env, timeoutMs, signal, ...(network && { network }) });
  if (result.timedOut) throw new Error(`It did not end within ${COMMAND_SECONDS} s.`);
  return `${result.output.trimEnd()}${result.code === 0 ? "" : `\n(exit code ${result.code})`}`;
}
