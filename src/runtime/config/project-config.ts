import { relative, resolve } from "node:path";
import { problemsIn } from "../../boundary/unknown-field.ts";
import type { Config } from "../../protocol/config.ts";
import {
  type ProjectEntry,
  type ProjectFile,
  type ProjectLimits,
  projectFileSchema,
} from "../../protocol/project-config.ts";
import type { AgentRepository, ReceiveLimits } from "../../repository/index.ts";
import { jsonIn, SettingsError } from "./config-file.ts";

/** How to work on a repository: what its own file says at a commit, overridden by config.json. */
export interface ProjectConfig {
  setup: SetupCommand | null;
  checks: string[];
  hosts: string[];
  limits: ResolvedLimits;
  /** Where each comes from, for messages; what is in neither has no name here. */
  from: { [field in keyof ProjectFile]?: string };
}

export type ResolvedLimits = { [field in keyof ProjectLimits]-?: number };

export interface SetupCommand {
  command: string;
  /** Some may not exist. */
  inputs: string[];
  /** Null: what git ignores after it ran. */
  outputs: string[] | null;
  timeout_seconds: number;
}

export type ReadProjectConfig = { ok: true; config: ProjectConfig } | { ok: false; reason: string };

export const PROJECT_FILE = ".agiraph/project.json";
const MOST_BYTES = 64 * 1024;
/** Something larger is not even read. */
const MOST_READ = 8 * 1024 * 1024;
const SETUP_SECONDS = 900;

/** At the top of a repository: when one of these changes, so do the dependencies. */
export const LOCK_FILES: readonly string[] = [
  ...[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
  ],
  ...["pyproject.toml", "poetry.lock", "uv.lock", "Pipfile.lock", "requirements.txt", "requirements-dev.txt"],
  ...["Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock", "flake.lock"],
  ...["deno.lock", "gradle.lockfile", ".nvmrc", ".node-version", ".python-version", ".tool-versions"],
];

const DEFAULT_LIMITS: ResolvedLimits = {
  commit_mb: 2048,
  file_mb: 512,
  files: 200_000,
  checkout_mb: 4096,
  include_mb: 256,
  include_files: 2000,
  check_seconds: 900,
};

/**
 * PROJECT-CONFIG-1. The file is read from the agent's repository at a commit, never from a folder: what a worker writes
 *     there counts only when it is the base of other work.
 * PROJECT-CONFIG-2. A mistake is refused with file and field; nothing of such a file is used.
 * PROJECT-CONFIG-3. A field of config.json replaces the file's as a whole, limits one by one.
 */
export async function readProjectConfig(
  repository: Pick<AgentRepository, "fileAt">,
  commit: string,
  entry: ProjectEntry | undefined,
): Promise<ReadProjectConfig> {
  const bytes = await repository.fileAt(commit, PROJECT_FILE, MOST_READ);
  if (bytes === undefined) return { ok: true, config: merged({}, entry) };
  const name = `${PROJECT_FILE} (commit ${commit.slice(0, 8)})`;
  if (bytes.length > MOST_BYTES) return { ok: false, reason: `${name} is larger than ${MOST_BYTES / 1024} KB.` };
  try {
    const parsed = projectFileSchema.safeParse(jsonIn(name, bytes.toString("utf8")));
    if (parsed.success) return { ok: true, config: merged(parsed.data, entry) };
    const problems = problemsIn(parsed.error, projectFileSchema).split("\n");
    const asksToWrite = parsed.error.issues.some(
      (issue) => issue.code === "unrecognized_keys" && issue.keys.includes("write"),
    );
    const lines = problems.map((problem) => `${name}: ${problem}.`);
    return { ok: false, reason: [...lines, ...(asksToWrite ? [WRITE] : []), FIX].join("\n") };
  } catch (error) {
    if (error instanceof SettingsError) return { ok: false, reason: error.message };
    throw error;
  }
}

const WRITE = `"write" belongs into config.json, under projects: whether agents may change a repository is not for its files to say.`;
const FIX = "Fix the file and commit it, or override the field in config.json.";

/** The entry for a folder: its own, or that of the nearest folder above it. */
export function projectEntryFor(projects: Config["projects"], folder: string): ProjectEntry | undefined {
  const entries = Object.entries(projects ?? {}).map(([path, entry]) => ({ path: resolve(path), entry }));
  const above = entries.filter(({ path }) => !relative(path, resolve(folder)).startsWith(".."));
  return above.sort((a, b) => b.path.length - a.path.length)[0]?.entry;
}

/** What a node may bring into the agent's repository. */
export function receiveLimitsOf({ commit_mb, file_mb, files }: ResolvedLimits): Partial<ReceiveLimits> {
  return { bytes: bytesOf(commit_mb), fileBytes: bytesOf(file_mb), files };
}

function bytesOf(megabytes: number): number {
  return Math.round(megabytes * 1024 * 1024);
}

function merged(file: ProjectFile, entry: ProjectEntry = {}): ProjectConfig {
  const { setup, checks = [], hosts = [] } = { ...file, ...given(entry) };
  const from: ProjectConfig["from"] = {};
  for (const field of ["setup", "checks", "hosts", "limits"] as const) {
    const where = [...(entry[field] ? ["config.json"] : []), ...(file[field] ? [PROJECT_FILE] : [])];
    const [first] = where;
    if (first !== undefined) from[field] = field === "limits" ? where.join(" and ") : first;
  }
  const limits = { ...DEFAULT_LIMITS, ...given(file.limits ?? {}), ...given(entry.limits ?? {}) };
  return { setup: setup === undefined ? null : setupOf(setup), checks, hosts, limits, from };
}

/** A field that is there without a value overrides nothing. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function setupOf(setup: NonNullable<ProjectFile["setup"]>): SetupCommand {
  const { command, inputs, outputs, timeout_seconds } =
    typeof setup === "string"
      ? { command: setup, inputs: undefined, outputs: undefined, timeout_seconds: undefined }
      : setup;
  return {
    command,
    inputs: inputs ?? [...LOCK_FILES],
    outputs: outputs ?? null,
    timeout_seconds: timeout_seconds ?? SETUP_SECONDS,
  };
}
