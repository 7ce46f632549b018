import type { Dice } from "./dice.ts";
import { type Insight, lastWords, type Move, nodesHeardOf } from "./minds.ts";

/** The first are those who are hired when nobody is named. */
const NAMES = ["Alice", "Alice", "Bob", "Bob", "Carol", "Zed"];

/** Plans nothing, tries everything, and ends when it has had enough. */
export function coordinatorMove(insight: Insight): Move {
  const { turn, plan, dice, history, tag } = insight;
  if (turn >= plan.turns) return wrapUp(insight);
  const moves: (() => Move)[] = [() => one(WEIGHTS, insight)];
  if (dice.chance(0.25)) moves.push(() => one(WEIGHTS, { ...insight, tag: `${tag}b` }));
  const calls = moves.flatMap((move) => move());
  return history.length > 0 ? calls : [];
}

/** Refused means that somebody still works: wait for the news, then try again. */
function wrapUp({ history, tag, dice }: Insight): Move {
  if (lastWords(history).startsWith("Not finished")) return [];
  const name = dice.pick(["finish", "finish", "conclude"] as const);
  return [{ name, args: name === "finish" ? { summary: `Done ${tag}.` } : { output: `Done ${tag}.` } }];
}

const WEIGHTS = {
  create: 40,
  silence: 14,
  send: 18,
  launch: 8,
  spawn: 6,
  reconvene: 8,
  assign: 6,
  wait: 4,
  check: 3,
  board: 4,
  file: 4,
  checkpoint: 3,
  finish: 2,
  nonsense: 3,
  ask: 4,
  schedule: 6,
  cancel: 2,
  dismiss: 6,
  change: 4,
};

function one(weights: typeof WEIGHTS, insight: Insight): Move {
  const { dice, tag, history } = insight;
  const nodes = nodesHeardOf(history);
  switch (dice.weighed(weights)) {
    case "create":
      return [{ name: "create_work_node", args: newNode(dice, tag, nodes) }];
    case "silence":
      return [];
    case "send":
      return [
        {
          name: "send_message",
          args: { to: dice.pick([...NAMES, "*", "coordinator", "human"]), content: `letter ${tag}.` },
        },
      ];
    case "launch":
      return [{ name: "launch_roles", args: stageOfRoles(dice, tag) }];
    case "spawn":
      return [
        {
          name: "spawn_worker",
          args: { name: dice.pick(NAMES), ...(dice.chance(0.3) && { memory: "Chips are fast." }) },
        },
      ];
    case "reconvene":
      return [{ name: "reconvene", args: reconvening(dice, tag) }];
    case "assign":
      return [
        { name: "assign_worker", args: { node_id: dice.pick([...nodes, "node-99"]), worker_id: dice.pick(NAMES) } },
      ];
    case "wait":
      return [{ name: "check_messages", args: { wait: true } }];
    case "check":
      return [{ name: "check_messages", args: {} }];
    case "board":
      return [{ name: dice.pick(["check_board", "check_stage_status"]), args: {} }];
    case "file":
      return [
        dice.chance(0.5)
          ? { name: "write_file", args: { path: "notes.md", content: tag } }
          : { name: "read_file", args: { path: `nodes/${dice.pick([...nodes, "node-1"])}/published/out.md` } },
      ];
    case "checkpoint":
      return [{ name: "checkpoint", args: { summary: `so far ${tag}.` } }];
    case "finish":
      return [{ name: "finish", args: { summary: `Early ${tag}.` } }];
    case "ask":
      return [{ name: "ask_human", args: question(dice, tag) }];
    case "schedule":
      return [{ name: "schedule", args: laterOn(dice, tag, nodes) }];
    case "cancel":
      return [{ name: "cancel_trigger", args: { trigger_id: `trigger-${dice.between(1, 3)}` } }];
    case "dismiss":
      return [{ name: "cancel_node", args: { node_id: dice.pick([...nodes, "node-99"]), reason: `over ${tag}.` } }];
    case "change":
      return [{ name: "update_node", args: { node_id: dice.pick([...nodes, "node-99"]), ...change(dice, tag) } }];
    case "nonsense":
      return [
        dice.pick([
          { name: "fly", args: {} },
          { name: "send_message", args: "{to" },
          { name: "spawn_worker", args: { name: 7 } },
        ]),
      ];
  }
}

function change(dice: Dice, tag: string): Record<string, unknown> {
  return {
    ...(dice.chance(0.5) && { checks: dice.pick([[], ["true"], ["false"]]) }),
    ...(dice.chance(0.5) && { deliverables: dice.pick([[], ["out.md"]]) }),
    ...(dice.chance(0.2) && { task: `Changed ${tag}.` }),
  };
}

/** With dependencies, refs and names that may or may not exist. */
export function newNode(dice: Dice, tag: string, nodes: readonly string[]): Record<string, unknown> {
  const known = [...nodes, "node-77"];
  return {
    task: `Task ${tag}.`,
    ...(dice.chance(0.3) && {
      dependencies: dice.chance(0.9) && nodes.length > 0 ? [dice.pick(nodes)] : [dice.pick(known)],
    }),
    ...(dice.chance(0.15) && { refs: { input: `${dice.pick(known)}/published/out.md` } }),
    ...(dice.chance(0.3) && { deliverables: ["out.md"] }),
    ...(dice.chance(0.2) && { worker: dice.pick(NAMES) }),
    ...(dice.chance(0.12) && { inference: "single" }),
    ...(dice.chance(0.12) && { checks: [dice.pick(["true", "true", "false"])] }),
    ...(dice.chance(0.12) && { budget_usd: dice.between(1, 8) / 100 }),
    ...(dice.chance(0.06) && { hold: true }),
  };
}

export function question(dice: Dice, tag: string): Record<string, unknown> {
  return {
    question: `question ${tag}?`,
    ...(dice.chance(0.3) && { choices: ["yes", "no"] }),
    ...(dice.chance(0.3) && {
      deadline_seconds: dice.pick([20, 600]),
      ...(dice.chance(0.5) && { default: "the sea" }),
    }),
  };
}

/** Soon, late, or when something happens; a word to somebody, a task, or a node that is held or has failed. */
function laterOn(dice: Dice, tag: string, nodes: readonly string[]): Record<string, unknown> {
  const when = dice.weighed({ delayed: 6, on_event: 3, heartbeat: 1 });
  const isEvent = when === "on_event";
  const pattern = dice.pick(["node.completed", "node.failed", "suggestion.made"]);
  // A failed node that runs again whenever one fails, or a run that begins with every end, would never come to rest.
  const config = {
    delayed: { delay_seconds: dice.pick([5, 60, 600]) },
    on_event: { event_pattern: pattern },
    heartbeat: { interval_seconds: 90 },
  }[when];
  const action = {
    task: `task ${tag}.`,
    message: {
      type: "send_message",
      payload: { to: dice.pick([...NAMES, "coordinator", "human"]), content: `reminder ${tag}.` },
    },
    node: { type: "run_node", payload: { node_id: dice.pick([...nodes, "node-99"]) } },
  }[dice.weighed({ task: isEvent ? 0 : 3, message: 4, node: isEvent && pattern === "node.failed" ? 0 : 4 })];
  return { type: when, config, action, ...(dice.chance(0.2) && { missed: "skip" }) };
}

function stageOfRoles(dice: Dice, tag: string) {
  const roles = Array.from({ length: dice.between(1, 3) }, (_, at) => ({
    name: dice.pick(NAMES),
    title: "Specialist",
    prompt: `Task ${tag}.role${at}.`,
  }));
  return { name: `Stage ${tag}`, roles, ...(dice.chance(0.3) && { contract: contract(dice) }) };
}

function reconvening(dice: Dice, tag: string) {
  return {
    assessment: `Assessment ${tag}.`,
    ...(dice.chance(0.4) && { retire: [dice.pick(NAMES)] }),
    ...(dice.chance(0.3) && { briefs: { [dice.pick(NAMES)]: `Brief ${tag}.` } }),
    ...(dice.chance(0.3) && { contract: contract(dice) }),
    ...(dice.chance(0.2) && { next: `Next ${tag}` }),
  };
}

function contract(dice: Dice) {
  return {
    checkpoint_policy: dice.pick(["all_must_complete", "majority", "any"]),
    timeout_seconds: dice.pick([60, 900]),
  };
}
