import { nearest } from "../../boundary/nearest.ts";
import type { Situation } from "../../projections/index.ts";
import { type Fact, factTypes, HUMAN } from "../../protocol/index.ts";
import { workerIdOf } from "../../runtime/team/worker-names.ts";
import { UsageError } from "../exit-code.ts";

export interface FactChoice {
  worker?: string;
  node?: string;
  /** Kinds of facts, or their beginnings: `node`, `node.failed`. */
  type?: readonly string[];
  /** Seconds since 1970. */
  since?: number;
}

/** Selects facts. A filter that can match nothing is refused: an empty answer would look like a quiet agent. */
export function factFilter({ worker, node, type, since }: FactChoice, { roster, board }: Situation) {
  const who = worker === undefined ? undefined : workerIdOf(worker);
  if (who !== undefined && who !== HUMAN && !Object.hasOwn(roster, who))
    throw new UsageError(unknownName("worker", worker ?? "", [...new Set([...Object.keys(roster), HUMAN])]));
  if (node !== undefined && !Object.hasOwn(board.nodes, node))
    throw new UsageError(unknownName("node", node, Object.keys(board.nodes)));
  for (const kind of type ?? [])
    if (!factTypes.some((known) => isOfKind(known, kind)))
      throw new UsageError(unknownName("kind of fact", kind, KINDS, factTypes));
  return (fact: Fact): boolean =>
    (since === undefined || fact.ts >= since) &&
    (type === undefined || type.some((kind) => isOfKind(fact.type, kind))) &&
    (who === undefined || named(fact, WHO).includes(who)) &&
    (node === undefined || named(fact, WHERE).includes(node));
}

/** Where facts name people, and where nodes. */
const WHO = ["worker_id", "from", "to", "reader", "by", "created_by", "reserved_for"];
const WHERE = ["node_id", "parent_node_id"];

function named({ data }: Fact, fields: readonly string[]): unknown[] {
  return fields.map((field) => Reflect.get(data, field));
}

function isOfKind(type: string, kind: string): boolean {
  return type === kind || type.startsWith(`${kind}.`);
}

/** The groups that facts come in: `node`, `tool`. */
const KINDS = [...new Set(factTypes.map((type) => type.split(".", 1)[0] ?? type))];

/** `more` are names that are not listed, but may have been meant. */
export function unknownName(
  what: string,
  name: string,
  names: readonly string[],
  more: readonly string[] = [],
): string {
  const [near] = nearest(name, [...names, ...more], 1);
  const there = names.length > 0 ? ` Choose from: ${names.join(", ")}.` : " There is none yet.";
  return `There is no ${what} "${name}".${near ? ` Did you mean ${near}?` : ""}${there}`;
}
