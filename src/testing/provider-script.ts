import type { ProviderTurn } from "./provider-turn.ts";
import type { WireConversation } from "./wire/wire.ts";

/** One turn of a conversation; a list holds what successive attempts at that turn get, the last for all that follow. */
export type ScriptedTurn = ProviderTurn | readonly ProviderTurn[];

/**
 * What is answered, by turn. As a record, each key names a conversation: the one whose first message, or else whose
 * system prompt, contains it; where several do, the one named first.
 */
export type ProviderTurns = readonly ScriptedTurn[] | Readonly<Record<string, readonly ScriptedTurn[]>>;

/**
 * Chooses the turn for a request from what the request says.
 *
 * PROVIDER-SCRIPT-1. The place in a script is the number of assistant turns that the conversation already holds. It
 *     lives in the conversation, not here, so that parallel conversations, retries, restarts and resumed runs all find
 *     theirs.
 * PROVIDER-SCRIPT-2. A conversation that ends with an assistant's words goes on with that same turn (`pause_turn`).
 * PROVIDER-SCRIPT-3. Attempts at one place are counted per conversation, that is per system prompt and first message.
 */
export class ProviderScript {
  readonly #turns: ReadonlyMap<string, readonly (readonly ProviderTurn[])[]>;
  readonly #attempts = new Map<string, number>();
  readonly #played = new Set<ProviderTurn>();

  constructor(turns: ProviderTurns) {
    const named = isList(turns) ? [["", turns] as const] : Object.entries(turns);
    this.#turns = new Map(named.map(([name, list]) => [name, list.map((turn) => (isAttempts(turn) ? turn : [turn]))]));
  }

  choose(conversation: WireConversation): { turn: ProviderTurn } | { problem: string } {
    const name = this.#nameOf(conversation);
    if (name === undefined) {
      return {
        problem: `no conversation of the script (${[...this.#turns.keys()].join(", ")}) is named in ${quoted(firstWords(conversation))}`,
      };
    }
    const place = turnOf(conversation);
    const attempts = this.#turns.get(name)?.[place];
    const turn = attempts?.[Math.min(this.#attempt(conversation, place), attempts.length - 1)];
    if (turn === undefined) {
      return {
        problem: `${name === "" ? "the script" : `the script of "${name}"`} has no turn ${place + 1} for ${quoted(lastWords(conversation))}`,
      };
    }
    this.#played.add(turn);
    return { turn };
  }

  unplayed(): string[] {
    return [...this.#turns].flatMap(([name, turns]) =>
      turns.flatMap((attempts, place) =>
        attempts
          .filter((turn) => !this.#played.has(turn))
          .map((turn) => `${name === "" ? "" : `"${name}", `}turn ${place + 1}: ${JSON.stringify(turn).slice(0, 200)}`),
      ),
    );
  }

  #nameOf(conversation: WireConversation): string | undefined {
    const names = [...this.#turns.keys()];
    return namedFirst(firstWords(conversation), names) ?? namedFirst(conversation.system, names);
  }

  #attempt(conversation: WireConversation, place: number): number {
    const key = `${place}\n${conversation.system}\n${firstWords(conversation)}`;
    const attempt = this.#attempts.get(key) ?? 0;
    this.#attempts.set(key, attempt + 1);
    return attempt;
  }
}

/** How many assistant turns lie behind: 0 for a conversation's first reply. */
export function turnOf({ messages }: WireConversation): number {
  return messages.filter((message, at) => message.role === "assistant" && at < messages.length - 1).length;
}

function isList(turns: ProviderTurns): turns is readonly ScriptedTurn[] {
  return Array.isArray(turns);
}

function isAttempts(turn: ScriptedTurn): turn is readonly ProviderTurn[] {
  return Array.isArray(turn);
}

/** A prompt begins with who somebody is; the goal and colleagues are named further down. */
function namedFirst(text: string, names: readonly string[]): string | undefined {
  const places = names.map((name) => [text.indexOf(name), name] as const).filter(([at]) => at >= 0);
  return places.sort(([a], [b]) => a - b)[0]?.[1];
}

function firstWords({ messages }: WireConversation): string {
  return messages.find((message) => message.role === "user")?.text ?? "";
}

function lastWords({ messages }: WireConversation): string {
  return messages.findLast((message) => message.role !== "assistant")?.text ?? "";
}

function quoted(text: string): string {
  return JSON.stringify(text.length <= 200 ? text : `${text.slice(0, 199)}…`);
}
