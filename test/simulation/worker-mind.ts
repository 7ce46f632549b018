import { newNode, question } from "./coordinator-mind.ts";
import { type Dice, diceOf } from "./dice.ts";
import { callsMade, type Insight, lastWords, type Move, nodesHeardOf } from "./minds.ts";

/** How a worker goes about one node. Most do their work; the others are the reason for this simulation. */
const TEMPERS = {
  diligent: 66,
  silent: 7,
  emptyHanded: 6,
  circling: 5,
  waiting: 6,
  endless: 6,
  hasty: 4,
  careless: 6,
  despairing: 5,
};

const PEOPLE = ["Alice", "Alice", "Bob", "Bob", "Carol", "Zed", "coordinator", "*", "human"];

export function workerMove(insight: Insight): Move {
  const { seed, worker, history, dice, tag, turn } = insight;
  const work = history.find((entry) => entry.role === "user")?.content ?? "";
  const own = diceOf(seed, worker, work);
  switch (own.weighed(TEMPERS)) {
    case "diligent":
      return diligently(insight, own);
    case "silent":
      return turn < 2 ? [somethingOnTheWay(insight)] : [];
    case "emptyHanded":
      return [publish(tag)];
    case "circling":
      return [{ name: "list_files", args: {} }];
    case "waiting":
      return turn % 2 === 0 ? [{ name: "check_messages", args: { wait: true } }] : [write(tag), publish(tag)];
    case "endless":
      return [dice.chance(0.3) ? write(tag) : somethingOnTheWay(insight)];
    case "despairing":
      return turn < 2 ? [write(tag)] : [{ name: "give_up", args: { reason: `It cannot be done ${tag}.` } }];
    case "careless":
      return turn === 0 ? [write(tag, "other.md"), publish(tag)] : [write(tag), publish(tag)];
    case "hasty":
      return [write(tag), publish(tag), { name: "send_message", args: letter(dice, tag) }];
  }
}

function diligently(insight: Insight, own: Dice): Move {
  const { turn, history, tag, dice } = insight;
  const children = callsMade(history, "create_work_node");
  if (turn < own.between(0, 6)) {
    const calls = [somethingOnTheWay(insight)];
    if (dice.chance(0.2)) calls.push({ name: "send_message", args: letter(dice, `${tag}b`) });
    return calls;
  }
  // Most wait for what they handed out; some go on without it.
  if (children > 0 && own.chance(0.7) && !/node-\d+ (completed|failed)/.test(lastWords(history)) && dice.chance(0.6))
    return [];
  return [write(tag), publish(tag, own.chance(0.3), own.chance(0.5))];
}

const ON_THE_WAY = {
  write: 26,
  send: 36,
  suggest: 10,
  checkpoint: 10,
  child: 16,
  read: 6,
  check: 4,
  wait: 3,
  nonsense: 3,
  ask: 4,
};

function somethingOnTheWay({ dice, tag, history }: Insight): Move[number] {
  const nodes = nodesHeardOf(history);
  switch (dice.weighed(ON_THE_WAY)) {
    case "write":
      return {
        name: "write_file",
        args: { path: `scratch/${dice.pick(["a.md", "b.md", "deep/c.md"])}`, content: tag },
      };
    case "send":
      return { name: "send_message", args: letter(dice, tag) };
    case "suggest":
      return { name: "suggest_next", args: { suggestion: `idea ${tag}.` } };
    case "checkpoint":
      return { name: "checkpoint", args: { summary: `so far ${tag}.` } };
    case "child":
      return { name: "create_work_node", args: newNode(dice, tag, nodes) };
    case "read":
      return { name: "read_file", args: { path: dice.pick(["_plan.md", "scratch/a.md", "../secret", "memory.md"]) } };
    case "check":
      return { name: "check_messages", args: {} };
    case "wait":
      return { name: "check_messages", args: { wait: true } };
    case "ask":
      return { name: "ask_human", args: question(dice, tag) };
    case "nonsense":
      return dice.pick([
        { name: "dance", args: {} },
        { name: "write_file", args: { path: "published/x.md", content: "no" } },
        { name: "publish", args: {} },
      ]);
  }
}

function letter(dice: Dice, tag: string) {
  return { to: dice.pick(PEOPLE), content: `letter ${tag}.` };
}

function write(tag: string, name = "out.md"): Move[number] {
  return { name: "write_file", args: { path: `scratch/${name}`, content: `Result ${tag}.` } };
}

function publish(tag: string, learned = false, leave = false): Move[number] {
  const args = { summary: `Result ${tag}.`, ...(learned && { learned: `Lesson ${tag}.` }), ...(leave && { leave }) };
  return { name: "publish", args };
}
