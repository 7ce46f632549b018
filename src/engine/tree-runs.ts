import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Fact } from "../protocol/index.ts";
import { actsIn, type Runs, workAreas } from "./areas-of-facts.ts";
import type { LookArea } from "./tree-look.ts";

/** Where somebody is at work in a tree, by the facts since it was opened here and the folders there are. */
export class TreeRuns implements Runs {
  readonly #folder: string;
  readonly #byNode = new Map<string, string>();
  readonly #atWork = new Map<string, ReturnType<typeof actsIn>>();
  #current: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  current(): string | undefined {
    this.#current ??= this.#all()[0];
    return this.#current;
  }

  ofNode(node: string): string | undefined {
    const known = this.#byNode.get(node);
    if (known !== undefined) return known;
    const run = this.#all().find((each) => existsSync(join(this.#folder, "runs", each, "nodes", node)));
    if (run !== undefined) this.#byNode.set(node, run);
    return run;
  }

  /** Where files may change without a fact. */
  areasAtWork(): LookArea[] {
    return [...this.#atWork.values()].flatMap(([worker, node]) => workAreas(worker, node, this));
  }

  hear(fact: Fact): void {
    const [worker, node] = actsIn(fact);
    switch (fact.type) {
      case "run.started":
        this.#current = fact.data.run_id;
        return;
      case "agent.paused":
      case "agent.stopped":
      case "agent.completed":
      case "agent.failed":
        this.#atWork.clear();
        return;
      case "model.called":
      case "tool.called":
      case "process.started":
      case "node.started":
        this.#atWork.set(`${worker} ${node}`, [worker, node]);
        return;
      case "worker.idle":
      case "worker.waiting":
      case "worker.stopped":
      case "worker.retired":
        for (const key of this.#atWork.keys()) if (key.startsWith(`${worker} `)) this.#atWork.delete(key);
        return;
      case "node.completed":
      case "node.failed":
      case "node.cancelled":
        for (const key of this.#atWork.keys()) if (key.endsWith(` ${node}`)) this.#atWork.delete(key);
    }
  }

  /** The newest first. */
  #all(): string[] {
    try {
      const names = readdirSync(join(this.#folder, "runs")).filter((name) => /^run-\d+$/.test(name));
      return names.sort((one, other) => Number(other.slice(4)) - Number(one.slice(4)));
    } catch {
      return [];
    }
  }
}
