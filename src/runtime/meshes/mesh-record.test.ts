import { expect, test } from "vitest";
import { Layout } from "../../mesh/files/layout.ts";
import type { Actor, NewFact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import { actingAs } from "../state/acting.ts";
import { pendingLog } from "../state/pending-log.ts";
import { MeshRecord, type MeshRecordPorts } from "./mesh-record.ts";

const ACTOR: Actor = { kind: "human", via: "terminal" };

/** A record whose log keeps what it is given, by append. */
function keptRecord() {
  const appended: NewFact[][] = [];
  const bare = {
    append: ({ facts = [] }: { facts?: NewFact[] }) => {
      appended.push(facts);
      return { facts: [], durable: Promise.resolve() };
    },
    subscribe: () => () => {},
  } as unknown as AgentLog;
  const log = pendingLog(bare, { hear: () => {}, refused: () => {} }, { read: () => undefined });
  const record = new MeshRecord(new Layout("/nowhere"), { log } as unknown as MeshRecordPorts);
  return { record, appended };
}

const closed = (mesh: string) => ({ type: "mesh.closed" as const, data: { mesh, why: "stopped" } });

test("MESH-RECORD-3: of facts that are appended together, those of a command have its actor, and no others", async () => {
  const { record, appended } = keptRecord();
  actingAs(ACTOR, () => record.record(closed("a")));
  record.record(closed("b"));
  await record.drained();
  expect(appended).toEqual([[{ ...closed("a"), actor: ACTOR }, closed("b")]]);
});

test("MESH-RECORD-3: a fact that a command expects has its actor, once, and not after the expectation has ended", async () => {
  const { record, appended } = keptRecord();
  const isOf = (mesh: string) => (fact: NewFact) => fact.type === "mesh.closed" && fact.data.mesh === mesh;
  actingAs(ACTOR, () => record.expected.expect(isOf("a")));
  const forget = actingAs(ACTOR, () => record.expected.expect(isOf("b")));
  record.expected.expect(isOf("c"));
  forget();
  for (const mesh of ["a", "a", "b", "c"]) record.record(closed(mesh));
  await record.drained();
  expect(appended.flat().map(({ actor }) => actor)).toEqual([ACTOR, undefined, undefined, undefined]);
});
