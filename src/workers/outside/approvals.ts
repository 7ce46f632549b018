import { createHash } from "node:crypto";
import type { Situation } from "../../projections/index.ts";
import type { NewFact, ProgramProfile } from "../../protocol/index.ts";
import { questioning } from "../asking.ts";
import { type Actor, gist } from "../carry-out.ts";
import type { Workplace } from "../workplace.ts";
import type { Decision, OutsideEvent } from "./session.ts";

type Wish = Extract<OutsideEvent, { kind: "wants" }>;

const ONCE = "allow once";
const NEVER = "deny";
/** Of one worker: more than that nobody reads. */
const MOST_WAITING = 20;

/**
 * What a program asks leave for: decided by its profile, or by a person.
 *
 * A1. The same wish (tool and arguments) is one question, also after a restart, until its call has a result.
 * A2. Whoever says "always" is not asked about that tool again, for this worker.
 * A3. An answer is for the life that asked, or for one that asks the same: it decides nothing else.
 * A4. A program that asks without end fills nobody's inbox: while many wishes wait, the next is denied.
 */
export class Approvals {
  readonly #policy: NonNullable<ProgramProfile["permissions"]>;
  readonly #name: string;
  readonly #actor: Actor;
  readonly #place: Workplace;
  readonly #waiting = new Set<Wish>();
  /** Questions that were answered and whose call is not over, by the program's call. */
  readonly #granted = new Map<string, Wish>();

  constructor(policy: NonNullable<ProgramProfile["permissions"]>, name: string, actor: Actor, place: Workplace) {
    this.#policy = policy;
    this.#name = name;
    this.#actor = actor;
    this.#place = place;
  }

  /** Somebody is asked and has not answered. */
  get areOpen(): boolean {
    return this.#waiting.size > 0;
  }

  async decide(wish: Wish, signal: AbortSignal): Promise<Decision> {
    if (this.#policy !== "ask") return decisionOf(this.#policy === "allow");
    if (this.#permitted(this.#place.soon()).includes(wish.tool)) return decisionOf(true);
    if (this.#waiting.size >= MOST_WAITING) return { allow: false, why: TOO_MANY };
    const { worker_id, node_id } = this.#actor;
    const always = `always allow ${wish.tool}`;
    const { put, answerTo } = questioning(this.#actor, this.#place);
    const question = `${this.#name} wants to use ${wish.tool}: ${wish.gist}`;
    const waiting: NewFact = { type: "worker.waiting", data: { worker_id, node_id, for: "human" } };
    this.#waiting.add(wish);
    try {
      const order = { question, choices: [ONCE, always, NEVER], only_choices: true };
      const id = await put(order, { id: keyOf(wish) }, [waiting]);
      const answer = (await answerTo(id, signal))?.answer?.text ?? NEVER;
      const isAwaited = this.#waiting.delete(wish);
      if (isAwaited) this.#granted.set(wish.call_id ?? wish.id, wish);
      // Whose other wishes wait still waits.
      const facts = isAwaited && !this.areOpen ? [this.#busy] : [];
      if (answer === always) facts.push({ type: "worker.permitted", data: { worker_id, tool: wish.tool } });
      if (facts.length > 0) await this.#place.log.append({ facts }).durable;
      if (answer === ONCE || answer === always) return { allow: true };
      return {
        allow: false,
        why: answer === NEVER ? "Your human does not allow it." : `Your human answers: ${answer}`,
      };
    } finally {
      this.#waiting.delete(wish);
    }
  }

  /** Who asked has died: nobody waits for the answers any more, but they hold for the same wish of whoever comes next. */
  asksNoMore(): NewFact[] {
    const facts = this.areOpen ? [this.#busy] : [];
    this.#waiting.clear();
    return facts;
  }

  /** The call has its result: the same wish would be another one. */
  settledBy(call_id: string): NewFact[] {
    const wish = this.#granted.get(call_id);
    if (!wish) return [];
    this.#granted.delete(call_id);
    const { worker_id, node_id } = this.#actor;
    const data = { worker_id, node_id, call_id: keyOf(wish), tool: wish.tool, ok: true, ms: 0, gist: gist(wish.gist) };
    return [{ type: "tool.result", data }];
  }

  /** Its turn is over, and with it every call. */
  settledByRest(): NewFact[] {
    return [...this.#granted.keys()].flatMap((call_id) => this.settledBy(call_id));
  }

  get #busy(): NewFact {
    const { worker_id, node_id } = this.#actor;
    return { type: "worker.busy", data: { worker_id, node_id } };
  }

  #permitted({ outside }: Situation): readonly string[] {
    return outside.permitted[this.#actor.worker_id] ?? [];
  }
}

const TOO_MANY = `${MOST_WAITING} of your wishes wait for an answer. Ask again when they have theirs.`;

function decisionOf(allow: boolean): Decision {
  return allow ? { allow } : { allow, why: "This is not allowed here. Do without it." };
}

/** The program gives its calls new ids when it is taken up again; what it wants stays the same. */
function keyOf({ tool, args }: Wish): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([tool, args]))
    .digest("hex");
  return `wish-${hash.slice(0, 16)}`;
}
