import type { Board, NodeState } from "../projections/index.ts";
import type { NodeId } from "../protocol/index.ts";
import type { Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";

/**
 * What a node builds on, in words (seed 002 §2.3: contents or summaries).
 *
 * INPUTS-1. What is small is given whole, so that no call is needed to read it.
 * INPUTS-2. What is larger is named with its size, how it begins and what its author says of it; a model without
 *           tools gets as much of it as fits instead, and each cut says what is missing.
 */
export interface InputOptions {
  /** So many bytes are given whole. */
  inline: number;
  /** What is longer: told about, or cut. */
  beyond: "described" | "cut";
  /** Where the reader finds it. */
  pathOf(target: string): string;
}

/** Up to this size, inputs are given whole to any model. */
export const SMALL_INPUTS = 4 * 1024;

export async function inputWords(node: NodeState, scope: Scope, board: Board, options: InputOptions): Promise<string> {
  const refs = Object.entries(node.spec.refs);
  if (refs.length === 0) return "";
  const inputs = await Promise.all(refs.map(([name, target]) => look(name, target, scope)));
  const total = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
  const isWhole = total <= options.inline && inputs.every(({ isListed }) => isListed);
  const parts =
    isWhole || options.beyond === "cut"
      ? await contents(inputs, scope, options)
      : await Promise.all(inputs.map((input) => description(input, scope, board, options)));
  return `## Input\n\n${parts.join(isWhole || options.beyond === "cut" ? "\n\n" : "\n")}`;
}

interface Input {
  name: string;
  target: string;
  files: { path: string; bytes: number }[];
  bytes: number;
  isFolder: boolean;
  /** All of its files are in `files`. */
  isListed: boolean;
  /** Why it cannot be shown. */
  problem?: string;
}

const MOST_FILES = 200;

async function look(name: string, target: string, scope: Scope): Promise<Input> {
  const path = `nodes/${target}`;
  const input = { name, target, files: [], bytes: 0, isFolder: false, isListed: true };
  try {
    const { size } = await scope.readFile(path, { maxBytes: 0 });
    return { ...input, files: [{ path, bytes: size }], bytes: size };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (!(error instanceof ScopeRefusal && error.reason === "wrong_kind")) return { ...input, problem: error.message };
  }
  const { entries, more } = await scope.list(path, { recursive: true, limit: MOST_FILES });
  const files = entries.filter(({ kind }) => kind === "file");
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { ...input, files, bytes, isFolder: true, isListed: !more };
}

/** The files themselves; where they do not fit, each gets an equal share of what the shorter ones leave. */
async function contents(inputs: readonly Input[], scope: Scope, { inline, pathOf }: InputOptions): Promise<string[]> {
  const files = inputs.flatMap((input) => input.files.map((file) => ({ ...file, input })));
  const shares = new Map<string, number>();
  let left = inline;
  files
    .toSorted((a, b) => a.bytes - b.bytes)
    .forEach((file, at) => {
      const share = Math.min(file.bytes, Math.floor(left / (files.length - at)));
      shares.set(file.path, share);
      left -= share;
    });
  const told = files.map(async ({ path, bytes, input }) => {
    const share = shares.get(path) ?? 0;
    const where = pathOf(path.replace(/^nodes\//, ""));
    const text = await textOf(scope, path, share, bytes);
    const tag = tagFor(text);
    return `<${tag} name="${input.name}" path="${where}">\n${text.trimEnd()}\n</${tag}>`;
  });
  const rest = inputs.flatMap(({ name, target, problem, isListed, files: { length } }) => {
    if (problem !== undefined) return [`${name}: ${pathOf(target)} cannot be read: ${problem}`];
    if (length === 0) return [`${name}: ${pathOf(target)} is empty.`];
    return isListed ? [] : [`${name}: ${pathOf(target)} has more files than the ${length} shown.`];
  });
  return [...(await Promise.all(told)), ...rest];
}

async function textOf(scope: Scope, path: string, share: number, size: number): Promise<string> {
  const { bytes } = await scope.readFile(path, { maxBytes: share });
  if (bytes.includes(0)) return `(not text, ${size} bytes)`;
  const text = bytes.toString("utf8");
  // The cut may have gone through a character.
  return share >= size ? text : `${text.replace(/\uFFFD+$/, "")}\n[cut here: ${size - share} of ${size} bytes missing]`;
}

/** A tag that the text itself does not close. */
function tagFor(text: string): string {
  let tag = "input";
  while (text.includes(`</${tag}>`)) tag += "-";
  return tag;
}

const MOST_NAMED = 10;
const LONGEST_LINE = 120;
const LONGEST_SUMMARY = 300;

async function description(input: Input, scope: Scope, board: Board, { pathOf }: InputOptions): Promise<string> {
  const { name, target, files, bytes, isFolder, isListed, problem } = input;
  const where = `- ${name}: ${pathOf(target)}`;
  if (problem !== undefined) return `${where} cannot be read: ${problem}`;
  const said = summaryOf(target, board);
  const [only] = files;
  if (!isFolder && only) return `${where} (${bytes} bytes), begins: ${await firstLine(scope, only.path)}${said}`;
  const inside = files.map(({ path }) => path.slice(`nodes/${target}/`.length));
  const more = files.length > MOST_NAMED ? `, and ${files.length - MOST_NAMED}${isListed ? "" : "+"} more` : "";
  return `${where}/ (${files.length}${isListed ? "" : "+"} files, ${bytes} bytes): ${inside.slice(0, MOST_NAMED).join(", ")}${more}${said}`;
}

async function firstLine(scope: Scope, path: string): Promise<string> {
  const { bytes } = await scope.readFile(path, { maxBytes: 4 * LONGEST_LINE });
  if (bytes.includes(0)) return "(not text)";
  const line = bytes
    .toString("utf8")
    .split("\n")
    .find((each) => each.trim() !== "");
  return line?.slice(0, LONGEST_LINE).toWellFormed() ?? "(empty)";
}

/** What its author said of it. */
function summaryOf(target: string, { nodes }: Board): string {
  const node = nodes[/^(node-\d+)\/published/.exec(target)?.[1] as NodeId];
  if (node?.status !== "completed") return "";
  const line = node.summary.replace(/\s+/g, " ").trim();
  return `\n  ${node.id}: ${line.length > LONGEST_SUMMARY ? `${line.slice(0, LONGEST_SUMMARY - 1).toWellFormed()}…` : line}`;
}

function isRefusal(error: unknown): error is ScopeRefusal | FileNotFound {
  return error instanceof ScopeRefusal || error instanceof FileNotFound;
}
