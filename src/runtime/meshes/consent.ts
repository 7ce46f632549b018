import { MeshConfigError } from "../../mesh/declaration/config-json.ts";
import { type DeclaredMesh, readMesh } from "../../mesh/declaration/declared-mesh.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import type { Meshes } from "../../mesh/running/meshes.ts";
import type { Config } from "../../protocol/index.ts";
import type { TrustGrant } from "../../store/home/trust-file.ts";
import type { Environment } from "../config/settings.ts";
import { HumanRefusal } from "../human/human-refusal.ts";
import { onItsOwn } from "../state/acting.ts";
import { type MeshRecord, memberIdOf } from "./mesh-record.ts";
import { type MeshTrust, type MeshTrustState, mayRun } from "./trust.ts";
import { type TrustSummary, trustQuestion, trustSummary } from "./trust-text.ts";

export type MeshTrustView = MeshTrustState & TrustSummary;
/** The content that the person saw, and what they allowed. */
export type Agreed = Pick<TrustGrant, "hash" | "terminals" | "by">;

export interface ConsentPorts {
  trust: MeshTrust;
  config: Pick<Config, "programs">;
  env: Environment;
}

/**
 * A person's consent to the meshes of a project that is at work.
 *
 * CONSENT-1. Consent is for the content that the person was shown: if the project has changed since, it is refused.
 * CONSENT-2. The person is asked once about each content, in the inbox, wherever the request to run it came from.
 * CONSENT-3. Consent to a mesh is consent to all its instances.
 */
export class MeshConsent {
  readonly #layout: Layout;
  readonly #meshes: Meshes;
  readonly #record: MeshRecord;
  readonly #ports: ConsentPorts;

  constructor(layout: Layout, meshes: Meshes, record: MeshRecord, ports: ConsentPorts) {
    this.#layout = layout;
    this.#meshes = meshes;
    this.#record = record;
    this.#ports = ports;
  }

  /** The newest declaration, which may be newer than the one at work. */
  viewOf(declared: DeclaredMesh): MeshTrustView {
    const newest = this.#meshes.held.get(declared.config.mesh) ?? declared;
    const state = this.#ports.trust.stateOf(this.#layout.project, newest);
    const summary = trustSummary(this.#layout, newest, this.#ports);
    const isSettled = mayRun(state) && (state.terminals || !summary.wants_terminals);
    return isSettled ? { ...state, ...summary, says: [], files: [] } : { ...state, ...summary };
  }

  /** CONSENT-1. */
  async trust(mesh: string, { hash, terminals, by }: Agreed): Promise<void> {
    const { trust } = this.#ports;
    const { project } = this.#layout;
    const declared = readNow(this.#layout, mesh);
    if (declared.hash !== hash)
      throw new HumanRefusal("conflict", `${mesh} has changed since you looked at it. Look again, then decide.`);
    const before = trust.stateOf(project, declared);
    await trust.grant(project, declared, { terminals, by });
    this.#record.record({ type: "mesh.trusted", data: { mesh, hash, terminals, by } });
    this.#record.settleTrust(declared.declaredAs, () => true);
    await onItsOwn(() => this.#meshes.reloadSoon());
    if (before.terminals !== terminals) for (const name of this.#instancesOf(mesh)) this.#meshes.outdate(name);
  }

  async distrust(mesh: string): Promise<void> {
    const origin = this.#meshes.declared().get(mesh)?.declaredAs ?? mesh;
    if (!(await this.#ports.trust.revoke(this.#layout.project, origin))) return;
    for (const name of this.#instancesOf(origin)) await this.#meshes.distrust(name);
    await onItsOwn(() => this.#meshes.reloadSoon());
  }

  /** CONSENT-3: all instances of a mesh consist of the same files, so consent is for all of them. */
  #instancesOf(mesh: string): string[] {
    const all = [...this.#meshes.declared().values()];
    const origin = all.find(({ config }) => config.mesh === mesh)?.declaredAs ?? mesh;
    return all.flatMap(({ declaredAs, config }) => (declaredAs === origin ? [config.mesh] : []));
  }

  /** CONSENT-2. */
  ask(mesh: string): void {
    const declared = this.#meshes.held.get(mesh);
    // CONSENT-3.
    if (!declared || declared.declaredAs !== mesh) return;
    const view = this.viewOf(declared);
    this.#record.settleTrust(mesh, (hash) => hash !== declared.hash);
    const choices = view.wants_terminals ? [TRUST, TRUST_TERMINALS, "no"] : [TRUST, "no"];
    const text = trustQuestion(this.#layout.project, mesh, view, view);
    this.#record.askTrust(memberIdOf(mesh, declared.entry), { mesh, hash: declared.hash }, text, choices);
  }

  async answered({ mesh, hash }: { mesh: string; hash: string }, answer: string): Promise<void> {
    const words = answer.trim();
    if (words !== TRUST && words !== TRUST_TERMINALS) return;
    try {
      await this.trust(mesh, { hash, terminals: words === TRUST_TERMINALS, by: "inbox" });
    } catch (error) {
      const entry = this.#meshes.declared().get(mesh)?.entry;
      const why = error instanceof Error ? error.message : String(error);
      if (entry !== undefined) this.#record.tellHuman(mesh, entry, `${mesh} is not trusted: ${why}`);
    }
  }
}

const TRUST = "trust";
const TRUST_TERMINALS = "trust with terminals";

/** The mesh as it is in the project now. */
function readNow(layout: Layout, mesh: string): DeclaredMesh {
  try {
    return readMesh(layout, mesh);
  } catch (error) {
    if (error instanceof MeshConfigError) throw new HumanRefusal("conflict", error.message);
    throw error;
  }
}
