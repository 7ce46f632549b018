import type { Config } from "../../src/protocol/config.ts";
import type { Dice } from "./dice.ts";

/** What a seed decides before anything begins: the house rules, the people's temper, and how rough the world is. */
export interface Plan {
  config: Config & { max_concurrent: number };
  budget_usd: number | undefined;
  /** How many turns the coordinator plays before it wants to end. */
  turns: number;
  /** How likely at each step. */
  crash: number;
  restart: number;
  stop: number;
  timePasses: number;
  /** How likely the human is to say something. */
  talk: number;
  /** How likely a model is to fail or to be limited. */
  trouble: number;
  runs: number;
}

export function planOf(dice: Dice): Plan {
  const rough = dice.pick([0, 0, 1 / 400, 1 / 150, 1 / 50]);
  return {
    config: {
      max_concurrent: dice.between(1, 4),
      max_turns: dice.between(12, 45),
      max_stages: dice.between(2, 6),
      max_depth: dice.between(1, 3),
      max_children: dice.between(1, 3),
      approve_stages: dice.chance(0.1),
      contract: {
        max_iterations_per_node: dice.between(4, 16),
        timeout_seconds: dice.pick([40, 300, 1800]),
        checkpoint_policy: dice.pick(["all_must_complete", "all_must_complete", "majority", "any"]),
      },
    },
    budget_usd: dice.chance(0.25) ? dice.between(2, 30) / 100 : undefined,
    turns: dice.between(4, 16),
    crash: rough,
    restart: dice.pick([0, 0, 1 / 300]),
    stop: dice.pick([0, 0, 1 / 250, 1 / 80]),
    timePasses: dice.pick([0.01, 0.05, 0.2]),
    talk: dice.pick([0, 1 / 300, 1 / 80]),
    trouble: dice.pick([0, 0.02, 0.1]),
    runs: dice.chance(0.15) ? 2 : 1,
  };
}
