import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Fact, FactOf, FactType } from "../../src/protocol/index.ts";

export interface House {
  child: ChildProcess;
  /** What it has said so far. */
  facts: Fact[];
  /** Its exit code; null when it was killed. */
  over: Promise<number | null>;
  /** The first such fact, also one that was said already. */
  fact<T extends FactType>(type: T, isIt?: (data: FactOf<T>["data"]) => boolean): Promise<FactOf<T>>;
}

/** A house with one agent in a process of its own; see house-child.ts. It may change this repository. */
export async function startHouse(home: string, goal?: string, repository?: string): Promise<House> {
  return houseOf("house-child.ts", home, ...[goal, repository].filter((word) => word !== undefined));
}

/** The process of this file, with these words, that prints its facts. */
export function houseOf(file: string, ...words: readonly string[]): House {
  const all = [join(import.meta.dirname, file), ...words];
  const child = spawn(process.execPath, all, { stdio: ["pipe", "pipe", "inherit"] });
  const facts: Fact[] = [];
  const heard = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.endsWith("}")) return; // cut off by the kill
    facts.push(JSON.parse(line));
    for (const look of heard) look();
  });
  const over = once(child, "exit").then(([code]: (number | null)[]) => code ?? null);
  return {
    child,
    facts,
    over,
    fact: (type, isIt = () => true) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = facts.find((fact) => fact.type === type && isIt(fact.data as never));
          if (!found) return;
          heard.delete(look);
          resolve(found as never);
        };
        heard.add(look);
        void over.then((code) => reject(new Error(`It ended with ${code}; ${type} never came.`)));
        look();
      }),
  };
}

/** Every process on this machine whose arguments name this word. */
export function processesNaming(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);
}
