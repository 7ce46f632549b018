import { rosterOf, type WorkerState, waitingWork } from "../../projections/index.ts";
import { COORDINATOR, type NewFact, type NodeId, type WorkerId } from "../../protocol/index.ts";
import { type NewWork, PERSONS_NAME } from "../../tools/work.ts";
import { hiredAs } from "../../workers/outside/programs.ts";
import { problemHiring, spawned } from "./hiring.ts";
import { barredFrom, whyBarred } from "./not-by.ts";
import type { TeamDirectory } from "./team-directory.ts";
import type { TeamPorts } from "./team-ports.ts";
import { freeName, workerIdOf } from "./worker-names.ts";

type Wish = Pick<NewWork, "worker" | "model" | "program">;
type By = { worker_id: WorkerId; node_id: NodeId | null };
type Refused = { ok: false; reason: string };
type Chosen = { ok: true; worker?: WorkerState; id?: WorkerId; facts: NewFact[] };

/**
 * Who does a new piece of work, if a worker was requested: by name, by model, by program.
 *
 * CHOICE-1. A free worker with that model or program is used before anybody is hired for it.
 * CHOICE-1a. If nobody in the run has the name, a worker of that name is hired.
 * CHOICE-2. The coordinator may hire as with spawn_worker. A worker may choose among the models that the team already
 *     has and the programs of config.json; everything else is up to the coordinator.
 */
export async function choose(
  wish: Wish,
  by: By,
  ports: TeamPorts,
  directory: TeamDirectory,
): Promise<Refused | { ok: true; pick(not_by: readonly string[]): Refused | Chosen }> {
  const { worker: word, model, program } = wish;
  const there = word === undefined ? undefined : directory.named(word);
  const isUnknown = word !== undefined && !there;
  if (isUnknown && !PERSONS_NAME.test(word.trim()))
    return {
      ok: false,
      reason: `${directory.nobody(word)} Name one of them or somebody new, e.g. Alice, or leave worker out.`,
    };
  const isNew = model !== undefined || program !== undefined || isUnknown;
  if (!isNew) return { ok: true, pick: (not_by) => named(there, not_by, ports) };
  const problem =
    (by.node_id === null ? undefined : notTheirs(wish, ports)) ??
    (there
      ? otherThanAsked(there, wish, ports)
      : await problemHiring(
          [{ name: word ?? SOMEBODY, model, program }],
          word === undefined ? "may stay" : "is wrong",
          ports,
        ));
  if (problem !== undefined) return { ok: false, reason: problem };
  return { ok: true, pick: (not_by) => (there ? named(there, not_by, ports) : hired(wish, not_by, ports)) };
}

/** For whom no name is known yet: what is checked is the model, or the program. */
const SOMEBODY = "Somebody";

function named(worker: WorkerState | undefined, not_by: readonly string[], { pending }: TeamPorts): Refused | Chosen {
  if (!worker) return { ok: true, facts: [] };
  const barred = whyBarred({ not_by: [...not_by] }, worker.id, pending());
  return barred === undefined ? { ok: true, worker, id: worker.id, facts: [] } : { ok: false, reason: barred };
}

function hired({ worker: word, model, program }: Wish, not_by: readonly string[], ports: TeamPorts): Chosen {
  const { pending, run } = ports;
  const now = pending();
  if (word === undefined) {
    const { reserved } = waitingWork(now.board, run);
    const barred = barredFrom({ not_by: [...not_by] }, now.board);
    const like = spawned({ name: SOMEBODY, identity: "", model, program }, ports);
    const free = Object.values(rosterOf(now.roster, run)).find(
      (each) =>
        each.status === "idle" &&
        each.id !== COORDINATOR &&
        !barred.has(each.id) &&
        !reserved.get(each.id)?.length &&
        each.spawned.program === like.data.program &&
        each.spawned.kind === like.data.kind &&
        each.spawned.model === like.data.model,
    );
    if (free) return { ok: true, worker: free, id: free.id, facts: [] };
  }
  const name = word?.trim() ?? freeName(new Set(Object.keys(now.roster)));
  return { ok: true, id: workerIdOf(name), facts: [spawned({ name, identity: "", model, program }, ports)] };
}

/** What a worker may not choose, and why. */
function notTheirs({ model, program }: Wish, { pending, run, outside }: TeamPorts): string | undefined {
  if (program !== undefined) {
    const programs = outside.list().filter(({ missing }) => missing === null);
    if (programs.some(({ name }) => name === program)) return undefined;
    const names = programs.map(({ name }) => name);
    return `you may have ${names.length > 0 ? `${names.join(", ")} do it` : "no program do it: none is installed"}, not "${program}".`;
  }
  const { agent, roster } = pending();
  const { model: lead, worker_model } = agent.created;
  const inTeam = Object.values(rosterOf(roster, run)).map((each) => each.spawned.model);
  const models = [...new Set([worker_model, lead, ...inTeam])].filter((each) => each !== "human");
  return model === undefined || models.includes(model)
    ? undefined
    : `you may choose among the models of this team: ${models.join(", ")}. For ${model}, ask the coordinator (send_message).`;
}

function otherThanAsked(
  { spawned }: WorkerState,
  { model, program }: Wish,
  { programFor }: Pick<TeamPorts, "programFor">,
): string | undefined {
  const asked = hiredAs(
    { program: program ?? spawned.program, model: model ?? spawned.model },
    { programFor, kindOf: () => "acp" },
  );
  if (program !== undefined && spawned.program !== program)
    return `${spawned.name} is ${spawned.program ?? "no program"}. Leave worker out, and somebody is hired for ${program}.`;
  return model !== undefined && spawned.model !== asked.model
    ? `${spawned.name} thinks with ${spawned.model}. Leave worker out, and somebody is hired with ${model}.`
    : undefined;
}
