import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { Layout, type MeshAddress } from "../files/layout.ts";
import { Queues } from "../files/queue.ts";
import { TaskEnds } from "./task-ends.ts";
import { type StepQueues, TaskSteps } from "./task-steps.ts";

/** A task that has ended. */
export interface EndedTask extends MeshAddress {
  name: string;
  failed: boolean;
}

/**
 * The text with which a task ended, as its agents wrote it. Undefined if no file holds it: the task did not pass its
 * gates, was ended by hand, or its files are gone. For an ephemeral mesh it is where its folder was put away.
 */
export function endWords(layout: Layout, declared: DeclaredMesh, task: EndedTask): string | undefined {
  for (;;) {
    const there = [layout, ...putAwayLayouts(layout, task.mesh)].find((one) => isIn(one, task));
    if (!there) return undefined;
    const words = wordsIn(there, declared, task);
    // The folder may be put away at this very moment: then it is read where it is now.
    if (isIn(there, task)) return words;
  }
}

function wordsIn(there: Layout, declared: DeclaredMesh, task: EndedTask): string | undefined {
  const of = (agent: string): StepQueues => {
    const queues = new Queues(there, { mesh: task.mesh, agent });
    queues.look();
    const ends = new TaskEnds(queues, agent);
    return { queues, wordsOf: (name, end) => ends.wordsOf(name, end) };
  };
  const end = task.failed ? "error" : "result";
  if (task.agent !== null) {
    const { queues } = of(task.agent);
    const ends = new TaskEnds(queues, task.agent);
    return ends.endOf(task.name) === end ? ends.wordsOf(task.name, end) : undefined;
  }
  const steps = new TaskSteps(() => declared, new Map([...declared.agents.keys()].map((agent) => [agent, of(agent)])));
  if (task.failed) return steps.failure(task.name);
  return steps
    .lastSteps(task.name)
    .map((step) => steps.wordsOf(step, task.name))
    .join("\n\n");
}

function isIn(layout: Layout, { mesh, agent, name }: EndedTask): boolean {
  return (["complete", "archive"] as const).some((queue) =>
    existsSync(join(layout.queue({ mesh, agent }, queue), name)),
  );
}

/** The folders of an ephemeral mesh whose work is done, the newest first. */
function putAwayLayouts({ project, archive }: Layout, mesh: string): Layout[] {
  const names = existsSync(archive) ? readdirSync(archive).filter((name) => name.endsWith(`-${mesh}`)) : [];
  return names
    .toSorted()
    .toReversed()
    .map((name) => new PutAwayLayout(project, join(archive, name)));
}

class PutAwayLayout extends Layout {
  readonly #folder: string;

  constructor(project: string, folder: string) {
    super(project);
    this.#folder = folder;
  }

  override mesh(): string {
    return this.#folder;
  }
}
