import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type GivenInput, type NodeId } from "../../protocol/index.ts";
import type { StageOfRoles } from "../../tools/coordination.ts";
import { copyInputs, type FoundInput, findInputs, plainRefs } from "./given-inputs.ts";
import { whyBarred } from "./not-by.ts";
import type { TeamPorts } from "./team-ports.ts";
import { checkedNotBy, checkedWork } from "./work-order.ts";
import { workerIdOf } from "./worker-names.ts";

type Role = StageOfRoles["roles"][number];
type Refused = { ok: false; reason: string };
const LEAD = { worker_id: COORDINATOR, node_id: null };

/** The parts of a role's node besides its brief. */
export interface RoleWork {
  dependencies: NodeId[];
  refs: Record<string, string>;
  deliverables: string[];
  not_by?: string[];
  inputs?: GivenInput[];
}

/** The inputs of one role, as with create_work_node: found, then checked, then copied. */
export class GivenToRole {
  readonly #role: Role;
  readonly #ports: TeamPorts;
  readonly #inputs: readonly FoundInput[];
  readonly #copy: (at: NodeId) => ReturnType<typeof copyInputs>;
  #copies: Awaited<ReturnType<typeof copyInputs>> | undefined;

  private constructor(
    role: Role,
    ports: TeamPorts,
    found: Extract<Awaited<ReturnType<typeof findInputs>>, { ok: true }>,
  ) {
    this.#role = role;
    this.#ports = ports;
    this.#inputs = found.inputs;
    const { run, log } = ports;
    this.#copy = (node) => copyInputs(found.inputs, found.scope, { agentDir: log.dir, run, node });
  }

  static async find(role: Role, ports: TeamPorts): Promise<GivenToRole | Refused> {
    const { run, pending, log } = ports;
    const giver = { by: LEAD, run, now: pending(), agentDir: log.dir };
    const refs = plainRefs(role.refs, giver);
    const found = await findInputs(refs, giver);
    return found.ok ? new GivenToRole({ ...role, refs }, ports, found) : found;
  }

  get hasCopies(): boolean {
    return this.#inputs.length > 0;
  }

  async copyFor(node: NodeId): Promise<void> {
    if (this.hasCopies) this.#copies = await this.#copy(node);
  }

  /** `names`: those of all roles of the launch. */
  check(now: Situation, names: readonly string[]): { ok: true; work: RoleWork } | Refused {
    const { name, prompt: task, deliverables, refs, not_by } = this.#role;
    const { run, limits } = this.#ports;
    const order = { task, deliverables, refs, not_by, dependencies: [], checks: [], hold: false };
    const copied = new Set(this.#inputs.map((each) => each.name));
    const checked = checkedWork({ ...order, inference: "multi" }, { now, run, parent: undefined, limits, copied });
    if (!checked.ok) return checked;
    const notBy = checkedNotBy({ not_by }, now, run, names);
    if (!notBy.ok) return notBy;
    const barred = whyBarred({ not_by: notBy.ids }, workerIdOf(name), now);
    if (barred !== undefined) return { ok: false, reason: barred };
    const copies = this.#copies;
    return {
      ok: true,
      work: {
        dependencies: checked.dependencies,
        refs: { ...checked.refs, ...copies?.refs },
        deliverables,
        ...(notBy.ids.length > 0 && { not_by: notBy.ids }),
        ...(copies && { inputs: copies.given }),
      },
    };
  }
}
