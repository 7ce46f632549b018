import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { isBelow } from "./binds.ts";

/**
 * Which parts of a package in one of the user's folders are visible in a sandbox: a checkout contains more than the
 * program.
 *
 * PACKAGE-1. A file or folder whose name suggests secrets is not visible: `.env`, `.npmrc`, `.git`, keys, …
 * PACKAGE-2. Visible files are listed; nothing is masked. A folder that contains such a file is bound entry by entry,
 *     so files that appear in it later are not visible.
 * PACKAGE-3. A link is visible if it stays in the package and all of its target is visible.
 *
 * The search is limited: installed modules, and folders deeper than where people keep settings, are bound as they are.
 */
export async function shownOfPackage(folder: string): Promise<string[]> {
  const look = new PackageWalk(folder);
  return (await look.at(folder, 0)).paths;
}

const mostDepth = 4;
const mostEntries = 5_000;

const secretNames = [
  /^\.env(?!\.(example|sample|template)$)/i,
  /^\.(git|hg|svn|ssh|aws|azure|gcloud|kube|docker|gnupg|config|claude|codex|gemini|cursor|vscode|idea)$/i,
  /^\.(npmrc|yarnrc|yarnrc\.yml|netrc|pypirc|git-credentials|gitconfig|pgpass|htpasswd|vault-token)$/i,
  /(key.*\.pem|private.*\.pem|\.(key|p12|pfx|jks|keystore))$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)$/i,
  /^(credentials|secrets?)\.(json|ya?ml|toml|env|txt)$/i,
];

const holdsSecrets = (name: string) => secretNames.some((pattern) => pattern.test(name));

class PackageWalk {
  readonly #package: string;
  #seen = 0;

  constructor(folder: string) {
    this.#package = folder;
  }

  /** What is shown at this place, and whether that is all of it. */
  async at(folder: string, depth: number): Promise<{ paths: string[]; isWhole: boolean }> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const paths: string[] = [];
    let isWhole = true;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      this.#seen++;
      if (holdsSecrets(entry.name)) isWhole = false;
      else if (entry.isSymbolicLink() && !(await this.#isShown(path, depth))) isWhole = false;
      else if (entry.isDirectory() && this.#isSearched(path, depth)) {
        const below = await this.at(path, depth + 1);
        paths.push(...below.paths);
        isWhole &&= below.isWhole;
      } else paths.push(path);
    }
    return isWhole ? { paths: [folder], isWhole } : { paths, isWhole };
  }

  /** A link is bound as what it leads to: to a folder only if nothing in that is hidden. */
  async #isShown(link: string, depth: number): Promise<boolean> {
    const target = await realpath(link).catch(() => null);
    if (target === null || !isBelow(target, this.#package)) return false;
    if (relative(this.#package, target).split(sep).some(holdsSecrets)) return false;
    const isFolder = (await stat(target).catch(() => null))?.isDirectory() === true;
    return !isFolder || !this.#isSearched(target, depth) || (await this.at(target, depth + 1)).isWhole;
  }

  #isSearched(folder: string, depth: number): boolean {
    return basename(folder) !== "node_modules" && depth < mostDepth && this.#seen < mostEntries;
  }
}
