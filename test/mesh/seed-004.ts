import { rmSync } from "node:fs";
import { type ScriptedOptions, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";

/** The headings of seed 004, which is no part of this repository: each is a `describe` in one of `seed-004-*.test.ts`. */
export const HEADINGS = [
  "System Architecture",
  "Core Components",
  "Message Format Specification",
  "File Structure",
  "Message Class (`lib/message.js`)",
  "Queue System Specification",
  "Queue Flow",
  "Queue Class (`lib/queue.js`)",
  "Mesh-Level Queues",
  "Agent-Level Queues",
  "Workflow Advancement",
  "File Watcher Specification",
  "Watcher Class (`lib/watcher.js`)",
  "Mesh Configuration",
  "Mesh Config Schema (`meshes/mesh-configs/{mesh}.json`)",
  "Mesh Types",
  "Agent Configuration",
  "Agent Config Schema (`meshes/agents/{category}/{agent}/config.json`)",
  "Agent Directory Structure",
  "Prompt Building",
  "Prompt Builder (`lib/prompt-builder.js`)",
  "Orchestration Commands",
  "CLI Commands (`lib/commands/`)",
  "Topology Implementations",
  "1. Sequential Topology",
  "2. Parallel Topology",
  "3. Map-Reduce Topology",
  "4. Hierarchical Topology",
  "State Management",
  "Atomic State (`lib/atomic-state.js`)",
  "Event Bus",
  "Key Design Principles",
  "Directory Structure",
] as const;

/** How long a fact may take on a machine that has other things to do; it is waited for, and comes as a rule at once. */
export const PATIENT = { timeout: 120_000 };

/** A project at work whose agents do what their scripts say; gone afterwards. */
export async function project(options: ScriptedOptions): Promise<ScriptedProject & AsyncDisposable> {
  return disposable(await ScriptedProject.open(options));
}

/**
 * A project that declares a mesh as the seed's examples do: agents by their names alone, the config as it is written
 * there. It is not open yet.
 */
export function declared(
  config: string,
  options: Omit<ScriptedOptions, "configs"> = {},
): ScriptedProject & AsyncDisposable {
  const made = new ScriptedProject({ ...options, configs: [] });
  const { mesh, agents } = JSON.parse(config) as MeshConfig;
  for (const agent of agents) {
    const path = agent.includes("/") ? agent : `core/${agent}`;
    made.write(`meshes/agents/${path}/config.json`, JSON.stringify({ name: path.split("/")[1] }));
  }
  made.write(`meshes/mesh-configs/${mesh}.json`, config);
  return disposable(made);
}

function disposable(made: ScriptedProject): ScriptedProject & AsyncDisposable {
  return Object.assign(made, {
    async [Symbol.asyncDispose]() {
      await made.close();
      rmSync(made.dir, { recursive: true, force: true });
    },
  });
}

/** Somebody who ends a task when a test says so, and never by themselves. */
export class Patient {
  readonly #waiting = new Map<string, () => void>();
  readonly script: NonNullable<ScriptedOptions["agents"]>[string] = (message, say) => {
    if (message.header.type !== "task") return;
    const end = () => say("mesh", "task-complete", `The end of ${message.name}\n`, { "in-reply-to": message.name });
    this.#waiting.set(message.name, end);
  };

  /** What it was given and has not ended. */
  get given(): string[] {
    return [...this.#waiting.keys()];
  }

  end(name: string): void {
    const end = this.#waiting.get(name);
    if (!end) throw new Error(`${name} was not given.`);
    this.#waiting.delete(name);
    end();
  }
}
