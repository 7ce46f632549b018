import { isBundled } from "../../mesh/declaration/bundled-meshes.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { type GrantedFile, TrustFile, type TrustGrant } from "../../store/home/trust-file.ts";

/** The differences from the content that the person agreed to, by path in the project. */
export interface FileChanges {
  changed: string[];
  added: string[];
  removed: string[];
}

/** What trust is decided on. */
export type TrustedContent = Pick<DeclaredMesh, "declaredAs" | "hash" | "sources">;

/**
 * `trusted`: a person agreed to exactly this content. `bundled`: one of our bundled meshes, unchanged. `changed`: a
 * person agreed to other content. `untrusted`: nobody was asked yet, or they declined.
 */
export type TrustStatus = "trusted" | "bundled" | "changed" | "untrusted";

export interface MeshTrustState {
  status: TrustStatus;
  hash: string;
  /** Whether its agents may run in terminals, outside the sandbox. */
  terminals: boolean;
  /** For a mesh that has changed. Null otherwise, and if the grant does not say which files it was for. */
  changes: FileChanges | null;
}

/** Whether the meshes of projects may run, according to what the person agreed to. */
export class MeshTrust {
  readonly #file: TrustFile;
  readonly #now: () => number;

  constructor(home: string, now: () => number) {
    this.#file = new TrustFile(home);
    this.#now = now;
  }

  stateOf(project: string, declared: TrustedContent): MeshTrustState {
    const { hash } = declared;
    const grant = this.#file.grantOf(project, declared.declaredAs);
    if (grant?.hash === hash) return { status: "trusted", hash, terminals: grant.terminals, changes: null };
    const status = isBundled(declared) ? "bundled" : grant ? "changed" : "untrusted";
    const before = status === "changed" ? grant?.files : undefined;
    return { status, hash, terminals: false, changes: before ? changesSince(before, declared) : null };
  }

  isTrusted(project: string, declared: TrustedContent): boolean {
    return mayRun(this.stateOf(project, declared));
  }

  async grant(project: string, declared: TrustedContent, grant: Pick<TrustGrant, "terminals" | "by">): Promise<void> {
    const { declaredAs: mesh, hash, sources } = declared;
    const files = [...sources].map(([path, { sha256, executable }]): GrantedFile => ({ path, sha256, executable }));
    const at = new Date(this.#now()).toISOString();
    // A mesh of very many files must not make the file of grants too large: only its hash is kept.
    const listed = files.length <= MOST_FILES ? { files } : {};
    await this.#file.grant({ project, mesh, hash, ...grant, at, ...listed });
  }

  /** False if nothing was granted. */
  revoke(project: string, mesh: string): Promise<boolean> {
    return this.#file.revoke(project, mesh);
  }

  all(): TrustGrant[] {
    return this.#file.all();
  }
}

export function mayRun({ status }: Pick<MeshTrustState, "status">): boolean {
  return status === "trusted" || status === "bundled";
}

const MOST_FILES = 500;

function changesSince(before: readonly GrantedFile[], { sources }: TrustedContent): FileChanges {
  const granted = new Map(before.map((file) => [file.path, file]));
  const isChanged = ({ path, sha256, executable }: GrantedFile) => {
    const now = sources.get(path);
    return now !== undefined && (now.sha256 !== sha256 || now.executable !== executable);
  };
  return {
    changed: before.filter(isChanged).map(({ path }) => path),
    added: [...sources.keys()].filter((path) => !granted.has(path)),
    removed: [...granted.keys()].filter((path) => !sources.has(path)),
  };
}
