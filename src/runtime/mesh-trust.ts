import type { DeclaredMesh } from "../mesh/config.ts";
import { isBundled } from "../mesh/ready.ts";
import { TrustFile, type TrustGrant } from "../store/trust-file.ts";

/**
 * `trusted`: a person agreed to exactly this content. `bundled`: one of the meshes that come with us, unchanged.
 * `changed`: a person agreed to another content. `untrusted`: nobody was ever asked, or they said no.
 */
export type TrustStatus = "trusted" | "bundled" | "changed" | "untrusted";

export interface MeshTrustState {
  status: TrustStatus;
  hash: string;
  /** Whether its agents may run in terminals, outside the sandbox. */
  terminals: boolean;
}

/** Whether the meshes of projects may run, by what the person has agreed to. */
export class MeshTrust {
  readonly #file: TrustFile;
  readonly #now: () => number;

  constructor(home: string, now: () => number) {
    this.#file = new TrustFile(home);
    this.#now = now;
  }

  stateOf(project: string, declared: Pick<DeclaredMesh, "config" | "hash">): MeshTrustState {
    const { hash } = declared;
    const grant = this.#file.grantOf(project, declared.config.mesh);
    if (grant?.hash === hash) return { status: "trusted", hash, terminals: grant.terminals };
    const status = isBundled(declared) ? "bundled" : grant ? "changed" : "untrusted";
    return { status, hash, terminals: false };
  }

  isTrusted(project: string, declared: Pick<DeclaredMesh, "config" | "hash">): boolean {
    return mayRun(this.stateOf(project, declared));
  }

  async grant(project: string, mesh: string, grant: Pick<TrustGrant, "hash" | "terminals" | "by">): Promise<void> {
    const { hash, terminals, by } = grant;
    await this.#file.grant({ project, mesh, hash, terminals, at: new Date(this.#now()).toISOString(), by });
  }

  /** False where nothing was granted. */
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
