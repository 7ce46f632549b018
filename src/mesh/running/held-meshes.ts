import type { MeshFact } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";

/** Declarations that are not trusted: new meshes, and new content of meshes that are at work. */
export class HeldMeshes {
  readonly #held = new Map<string, DeclaredMesh>();
  readonly #isTrusted: (mesh: DeclaredMesh) => boolean;
  readonly #record: (fact: MeshFact) => void;

  constructor(isTrusted: (mesh: DeclaredMesh) => boolean, record: (fact: MeshFact) => void) {
    this.#isTrusted = isTrusted;
    this.#record = record;
  }

  get all(): ReadonlyMap<string, DeclaredMesh> {
    return this.#held;
  }

  /** Whether this content has to wait. Each content is recorded once. */
  holds(declared: DeclaredMesh, isAtWork: boolean): boolean {
    const { mesh } = declared.config;
    if (this.#isTrusted(declared)) {
      this.#held.delete(mesh);
      return false;
    }
    const isNews = this.#held.get(mesh)?.hash !== declared.hash;
    this.#held.set(mesh, declared);
    if (isNews) this.#record({ type: "mesh.held", data: { mesh, hash: declared.hash, changed: isAtWork } });
    return true;
  }

  /** Forgets what is not declared any more. */
  keep(names: readonly string[]): void {
    for (const name of this.#held.keys()) if (!names.includes(name)) this.#held.delete(name);
  }
}
