import type { Actor, NewFact } from "../../protocol/index.ts";
import { currentActor } from "../state/acting.ts";

/** Facts that a command asks for and that are recorded later, by others: each has the actor of that command. */
export class ExpectedFacts {
  #expected: readonly Expected[] = [];

  /** The person's message has been received. */
  expectReceipt(of: { mesh: string; agent: string | null; name: string }): void {
    this.expect(
      ({ type, data }) =>
        type === "mesh.received" && data.name === of.name && data.mesh === of.mesh && data.agent === of.agent,
    );
  }

  /** The session of an agent starts. Returns a function that ends the expectation. */
  expectStart(of: { mesh: string; agent: string }): () => void {
    return this.expect(
      ({ type, data }) =>
        type === "mesh.session" && data.state === "starting" && data.mesh === of.mesh && data.agent === of.agent,
    );
  }

  /** The next fact for which this holds is what the current command asks for. */
  expect(isIt: Expected["isIt"]): () => void {
    const actor = currentActor();
    if (!actor) return () => {};
    const expected = { isIt, actor };
    this.#expected = [...this.#expected, expected].slice(-MOST_EXPECTED);
    return () => this.#remove(expected);
  }

  /** Whose command asked for this fact; it is expected no longer then. */
  takeActor(fact: NewFact): Actor | undefined {
    const found = this.#expected.find(({ isIt }) => isIt(fact));
    if (found) this.#remove(found);
    return found?.actor;
  }

  #remove(expected: Expected): void {
    this.#expected = this.#expected.filter((each) => each !== expected);
  }
}

interface Expected {
  isIt(fact: NewFact): boolean;
  actor: Actor;
}

/** A message to a mesh that is not trusted may wait for long; of many, the last ones. */
const MOST_EXPECTED = 1000;
