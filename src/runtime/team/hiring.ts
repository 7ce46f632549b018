import { COORDINATOR, HUMAN, type NewFact } from "../../protocol/index.ts";
import { hiredAs } from "../../workers/outside/programs.ts";
import type { TeamPorts } from "./team-ports.ts";
import { workerIdOf } from "./worker-names.ts";

interface Candidate {
  name: string;
  identity: string;
  model?: string | undefined;
  program?: string | undefined;
  tools?: string[] | undefined;
  memory?: string;
}

type Applicant = Pick<Candidate, "name" | "model" | "program" | "tools">;

/** What to do about a name that is already taken in the run. */
type Taken = "may stay" | "is wrong";

/** Why one of them cannot be hired: the name, the model, or a budget that could not be enforced. */
export async function problemHiring(
  people: readonly Applicant[],
  taken: Taken,
  ports: TeamPorts,
): Promise<string | undefined> {
  const problem = () => {
    for (const person of people) {
      const found = problemWith(person, taken, ports);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  if (problem() === undefined) {
    for (const { program } of people) {
      const why = program === undefined ? null : await ports.outside.needsPerson?.(program);
      if (why) return why;
    }
  }
  if (problem() === undefined && ports.pending().agent.created.budget_usd !== null) {
    try {
      // What a program chooses to think with it knows itself, and it says what it has cost.
      await ports.checkPrices(...people.filter(({ program }) => !program).map(({ model }) => model));
    } catch (error) {
      return messageOf(error);
    }
  }
  return problem();
}

export function spawned(
  candidate: Candidate,
  { run, pending, outside, programFor }: TeamPorts,
): Extract<NewFact, { type: "worker.spawned" }> {
  const { name, identity, model, program, tools, memory } = candidate;
  const usual = program === undefined ? pending().agent.created.worker_model : "";
  return {
    type: "worker.spawned",
    data: {
      run_id: run,
      worker_id: workerIdOf(name),
      name,
      ...hiredAs({ program, model: model ?? usual }, { programFor, kindOf: (name) => outside.kindOf(name) }),
      ...(identity && { identity }),
      ...(memory && { memory }),
      ...(tools && { tools }),
    },
  };
}

function problemWith({ name, model, program, tools }: Applicant, taken: Taken, ports: TeamPorts): string | undefined {
  const id = workerIdOf(name);
  if (id === COORDINATOR || id === HUMAN) return `${name} is taken.`;
  const there = ports.pending().roster[id];
  const isHere = there?.spawned.run_id === ports.run;
  // A worker who was hired under such a name before it was refused stays.
  if (RESERVED.has(id) && !isHere) return `${name} would be read as somebody else. Choose another name.`;
  if (there && isHere && (taken === "is wrong" || there.status === "retired")) {
    return `${name} is taken${there.status === "retired" ? " (retired)" : ""}; names are unique in a run.`;
  }
  if (there && isHere && program !== undefined && there.spawned.program !== program)
    return `${name} is ${there.spawned.program ?? "no program"}, and stays so; hire somebody else for ${program}.`;
  try {
    if (tools) ports.checkTools(tools);
    if (program !== undefined) ports.outside.program(program);
    // Whatever name the program has for its models.
    else if (model !== undefined) ports.checkModel(model);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** How the page and the terminal call others than workers. */
const RESERVED = new Set(["you", "agiraph", "everyone", "all"]);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
