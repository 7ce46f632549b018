import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { FactOf } from "../../protocol/index.ts";
import {
  type FilesToInclude,
  filesToInclude,
  type Git,
  INCLUDE_FILE,
  repositoryFolders,
} from "../../repository/index.ts";
import { copyIncluded } from "../../store/run/copy-included.ts";
import type { ResolvedLimits } from "../config/project-config.ts";

export type Brought = NonNullable<FactOf<"node.cloned">["data"]["included"]>;

interface IncludePorts {
  git: Git;
  /** The person's folder. */
  source(): string;
}

/**
 * What git ignores in the person's folder and their `.worktreeinclude` names, for clones and checkouts.
 *
 * INCLUDED-FILES-1. It is there before setup runs, and no commit and no kept setup has it.
 * INCLUDED-FILES-2. What cannot be brought keeps nobody from working: it is said.
 */
export class IncludedFiles {
  readonly #ports: IncludePorts;
  /** Many clones may be made at once; each looks at the files as they are. */
  #listing: Promise<FilesToInclude & { top: string }> | undefined;

  constructor(ports: IncludePorts) {
    this.#ports = ports;
  }

  /** Into a folder that no worker has touched yet. Undefined where nothing is asked for. */
  async bring(folder: string, limits: ResolvedLimits): Promise<Brought | undefined> {
    const asked = await lstat(join(this.#ports.source(), INCLUDE_FILE)).catch(() => undefined);
    if (!asked) return undefined;
    try {
      const { top, files, left } = await this.#listed(limits);
      const paths = files.map(({ path }) => path);
      const copied = await copyIncluded(top, folder, paths, bytesOf(limits));
      return { files: copied.copied.length, left: [...left, ...copied.left].slice(0, MOST_LEFT) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { files: 0, left: [{ path: INCLUDE_FILE, why: why.slice(0, LONGEST_WHY) }] };
    }
  }

  #listed(limits: ResolvedLimits): Promise<FilesToInclude & { top: string }> {
    this.#listing ??= this.#list(limits).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #list(limits: ResolvedLimits): Promise<FilesToInclude & { top: string }> {
    const { git, source } = this.#ports;
    const person = await repositoryFolders(source(), git);
    const found = await filesToInclude(person, git, { files: limits.include_files, bytes: bytesOf(limits) });
    return { ...found, top: person.top };
  }
}

const MOST_LEFT = 20;
const LONGEST_WHY = 300;

function bytesOf({ include_mb }: ResolvedLimits): number {
  return Math.round(include_mb * 1024 * 1024);
}
