import { errorText, firstLineOf, type MeshContext } from "./mesh-context.ts";

/** The gates of a mesh: checks that a task must pass, run one after the other, and for one task at a time. */
export class TaskGates {
  readonly #context: MeshContext;
  readonly #moveAll: () => void;
  /** What is being checked, and the outcome once it is known. */
  #check: { what: string; problem?: string | null } | undefined;

  constructor(context: MeshContext, moveAll: () => void) {
    this.#context = context;
    this.#moveAll = moveAll;
  }

  /** Null: passed; text: what is wrong; undefined: they still run, and `moveAll` is called when they are done. */
  problemOf(what: string, names: readonly string[]): string | null | undefined {
    if (names.length === 0) return null;
    const isRunning = this.#check !== undefined && this.#check.problem === undefined;
    if (!isRunning && this.#check?.what !== what) this.#run(what, names);
    return this.#check?.what === what ? this.#check.problem : undefined;
  }

  /** The outcome was dealt with. */
  forget(): void {
    this.#check = undefined;
  }

  #run(what: string, names: readonly string[]): void {
    this.#check = { what };
    void this.#firstProblem(names).then((problem) => {
      this.#check = { what, problem };
      this.#moveAll();
    });
  }

  async #firstProblem(names: readonly string[]): Promise<string | null> {
    for (const gate of names) {
      const run = async () => this.#context.ports.gate(gate);
      const why = await run().catch((error: unknown) => `The gate itself failed: ${errorText(error)}`);
      if (!this.#context.isOpen) return null;
      const data = { mesh: this.#context.mesh, gate, ok: why === null, why: firstLineOf(why ?? "") };
      this.#context.record({ type: "mesh.gate", data });
      if (why !== null) return `The gate ${gate} did not pass:\n\n${why}`;
    }
    return null;
  }
}
