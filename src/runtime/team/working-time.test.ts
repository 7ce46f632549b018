import { expect, test } from "vitest";
import type { Situation } from "../../projections/index.ts";
import { cannotWork } from "./working-time.ts";

test("time stands still for who waits for others while any of them is at work on a node that is open", () => {
  const whileBobIsOn = (status: string) => {
    const roster = {
      alice: { id: "alice", status: "waiting", for: "children", node_id: "node-1" },
      bob: { id: "bob", status: "busy", node_id: "node-2" },
    };
    const board = { nodes: { "node-2": { id: "node-2", spec: { run_id: "run-1" }, status } } };
    return cannotWork("alice", "run-1", { roster, board } as unknown as Situation);
  };
  const statuses = ["assigned", "running", "publishing", "completed", "failed", "cancelled"];
  expect(statuses.filter(whileBobIsOn)).toEqual(["assigned", "running", "publishing"]);
});
