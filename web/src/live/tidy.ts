import { type Situation, withOwnKeys } from "../../../src/projections/index.ts";
import type { MeshProjectView } from "../../../src/protocol/api/meshes.ts";
import type { Fact } from "../../../src/protocol/index.ts";
import { visible, visibleLines } from "../text/visible.ts";

/** Names are made safe to display where they come in, so that no screen has to do it. Ids stay as they are. */
export function tidyFact(fact: Fact): Fact {
  if (fact.type === "agent.created" || fact.type === "worker.spawned") fact.data.name = visible(String(fact.data.name));
  return fact;
}

export function tidySituation(now: Situation): Situation {
  now.agent.created.name = visible(now.agent.created.name);
  for (const { spawned } of Object.values(now.roster)) spawned.name = visible(spawned.name);
  return withOwnKeys(now);
}

/** The folder stays as it is, since it is used to start the meshes; it is made safe where it is displayed. */
export function tidyProject(project: MeshProjectView): MeshProjectView {
  return {
    ...project,
    meshes: project.meshes.map((mesh) => ({
      ...mesh,
      description: mesh.description && visible(mesh.description),
      agents: mesh.agents.map((agent) => ({
        ...agent,
        description: agent.description && visible(agent.description),
        program: visible(agent.program),
      })),
    })),
    problems: project.problems.map(({ file, problem }) => ({ file, problem: visibleLines(problem) })),
  };
}
