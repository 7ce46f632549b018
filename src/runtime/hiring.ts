import { COORDINATOR, HUMAN, type NewFact } from "../protocol/index.ts";
import { idOf } from "./names.ts";
import type { TeamPorts } from "./team-ports.ts";

interface Candidate {
  name: string;
  identity: string;
  model?: string | undefined;
  tools?: string[] | undefined;
  memory?: string;
}

/** What to think of a name that somebody in the run has already. */
type Taken = "may stay" | "is wrong";

/** Why one of them cannot be hired: their name or model, or that a budget could not be kept with it. */
export async function problemHiring(
  people: readonly { name: string; model?: string | undefined }[],
  taken: Taken,
  ports: TeamPorts,
): Promise<string | undefined> {
  const problem = () => {
    for (const { name, model } of people) {
      const found = problemWith(name, model, taken, ports);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  if (problem() === undefined && ports.soon().agent.created.budget_usd !== null) {
    try {
      await ports.checkPrices(...people.map(({ model }) => model));
    } catch (error) {
      return messageOf(error);
    }
  }
  return problem();
}

export function spawned({ name, identity, model, tools, memory }: Candidate, { run, soon }: TeamPorts): NewFact {
  const { worker_model } = soon().agent.created;
  return {
    type: "worker.spawned",
    data: {
      run_id: run,
      worker_id: idOf(name),
      name,
      kind: "harnessed",
      model: model ?? worker_model,
      ...(identity && { identity }),
      ...(memory && { memory }),
      ...(tools && { tools }),
    },
  };
}

function problemWith(name: string, model: string | undefined, taken: Taken, ports: TeamPorts): string | undefined {
  const id = idOf(name);
  if (id === COORDINATOR || id === HUMAN || id in {}) return `${name} is taken.`;
  const there = ports.soon().roster[id];
  const isHere = there?.spawned.run_id === ports.run;
  if (there && isHere && (taken === "is wrong" || there.status === "retired")) {
    return `${name} is taken${there.status === "retired" ? " (retired)" : ""}; names are unique in a run.`;
  }
  if (model === undefined) return undefined;
  try {
    ports.checkModel(model);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
