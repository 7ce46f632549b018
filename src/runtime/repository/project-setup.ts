import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentRepository } from "../../repository/index.ts";
import { repositoryDir, setupsDir } from "../../store/paths.ts";
import type { ProjectConfig } from "../config/project-config.ts";
import type { SandboxedScripts } from "./sandboxed-scripts.ts";

export interface SetupResult {
  ok: boolean;
  cached: boolean;
  ms: number;
  output: string;
}

interface SetupPorts {
  agentDir: string;
  repository: AgentRepository;
  scripts: SandboxedScripts;
  /** Hosts that commands may reach in any case. */
  hosts(): readonly string[];
}

/**
 * The project's `setup` command in a clone or a checkout.
 *
 * SETUP-1. It runs in the sandbox.
 * SETUP-2. What it made is kept by the hash of the command and of the files that it depends on. The next folder with the
 *     same gets a copy, so nothing that is changed in one folder reaches another.
 * SETUP-2a. Files of the person's that were brought along (`.worktreeinclude`) are not kept: each folder has them as they
 *     are now.
 * SETUP-3. A setup that failed or was cut off is not kept.
 */
export class ProjectSetup {
  readonly #ports: SetupPorts;

  constructor(ports: SetupPorts) {
    this.#ports = ports;
  }

  /** `commit` is what is checked out in the folder. */
  async run(
    folder: string,
    commit: string,
    project: ProjectConfig,
    signal: AbortSignal,
  ): Promise<SetupResult | undefined> {
    const { setup } = project;
    if (setup === null) return undefined;
    const kept = join(setupsDir(this.#ports.agentDir), await this.#keyOf(commit, project));
    if (existsSync(join(kept, DONE))) return this.#copied(folder, kept, signal);
    const hosts = [...new Set([...this.#ports.hosts(), ...project.hosts])];
    const result = await this.#ports.scripts.run(
      setup.command,
      {
        cwd: folder,
        write: [folder],
        read: [repositoryDir(this.#ports.agentDir)],
        seconds: setup.timeout_seconds,
        limits: { diskBytes: project.limits.checkout_mb * 1024 * 1024 },
        ...(hosts.length > 0 && { network: { allow: hosts } }),
      },
      signal,
    );
    if (result.ok) await this.#keep(folder, kept, setup.outputs, signal);
    return { ...result, cached: false, output: result.output.slice(-MOST_KEPT_OUTPUT) };
  }

  async #keyOf(commit: string, { setup, hosts }: ProjectConfig): Promise<string> {
    const hash = createHash("sha256").update(JSON.stringify([FORMAT, setup, hosts]));
    for (const path of setup?.inputs ?? []) {
      const content = await this.#ports.repository.fileAt(commit, path, MOST_INPUT);
      hash.update(`\0${path}\0`).update(content ?? "none");
    }
    return hash.digest("hex").slice(0, 32);
  }

  async #copied(folder: string, kept: string, signal: AbortSignal): Promise<SetupResult> {
    const script = `cp -a --reflink=auto ${quoted(join(kept, "files"))}/. . && echo copied`;
    const { ok, ms, output } = await this.#ports.scripts.run(
      script,
      { cwd: folder, write: [folder], read: [kept], seconds: COPY_SECONDS },
      signal,
    );
    return { ok, cached: true, ms, output };
  }

  /** Several clones may be set up side by side: the first one finished is kept. */
  async #keep(folder: string, kept: string, outputs: readonly string[] | null, signal: AbortSignal): Promise<void> {
    const aside = `${kept}.${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`;
    await rm(aside, { recursive: true, force: true });
    await mkdir(join(aside, "files"), { recursive: true, mode: 0o700 });
    const { ok } = await this.#ports.scripts.run(
      keepScript(folder, outputs),
      {
        cwd: join(aside, "files"),
        write: [join(aside, "files")],
        read: [folder, repositoryDir(this.#ports.agentDir)],
        seconds: COPY_SECONDS,
      },
      signal,
    );
    if (ok) await writeFile(join(aside, DONE), "");
    const isKept =
      ok &&
      (await rename(aside, kept).then(
        () => true,
        () => false,
      ));
    if (!isKept) await rm(aside, { recursive: true, force: true });
  }
}

const FORMAT = 1;
const DONE = "done";
const MOST_INPUT = 16 * 1024 * 1024;
const MOST_KEPT_OUTPUT = 4000;
const COPY_SECONDS = 1800;

/** The outputs that are named, or else everything that git ignores. */
function keepScript(folder: string, outputs: readonly string[] | null): string {
  const listed =
    outputs !== null
      ? `printf '%s\\0' ${outputs.map(quoted).join(" ")}`
      : `git -c core.fsmonitor=false ls-files -z --others --ignored --exclude-standard --directory`;
  return [
    `set -eu`,
    `into=$PWD`,
    `cd ${quoted(folder)}`,
    `${listed} | while IFS= read -r -d '' path; do`,
    `  path="\${path%/}"`,
    `  if [ -e "$path" ] || [ -L "$path" ]; then mkdir -p "$into/$(dirname "$path")"; cp -a --reflink=auto "$path" "$into/$(dirname "$path")/"; fi`,
    `done`,
    // What is in info/exclude was brought along.
    `cd "$into"`,
    `git -c core.fsmonitor=false --git-dir=${quoted(join(folder, ".git"))} --work-tree="$into" ls-files -z --others --ignored --exclude-from=${quoted(join(folder, ".git/info/exclude"))} | xargs -0 -r rm -f --`,
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
