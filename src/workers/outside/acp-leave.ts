import type { AcpTranslation } from "./acp-translation.ts";
import { permissionSchema, type WirePermission } from "./acp-wire.ts";
import type { Decision, OutsideEvent } from "./session.ts";

/**
 * What an ACP agent asks leave for, until somebody decides it.
 *
 * L1. Whatever it asks gets an answer: the decision, or that it was cancelled when nobody will decide it any more.
 * L2. Allowed once, not for ever: what is always allowed is decided on our side, where it is on record.
 */
export class AcpLeave {
  readonly #translation: AcpTranslation;
  readonly #wants = new Map<string, Wish>();
  #asked = 0;

  constructor(translation: AcpTranslation) {
    this.#translation = translation;
  }

  /** What follows from it, and the answer to the agent. Throws for what cannot be understood. */
  asked(params: unknown): { events: readonly OutsideEvent[]; answer: Promise<Answer> } {
    const asked = permissionSchema.safeParse(params);
    if (!asked.success) throw new Error("It asked for leave in a way that we do not understand.");
    const id = `leave-${++this.#asked}`;
    const { ours, events } = this.#translation.wanted(id, asked.data);
    if (ours) return { events, answer: Promise.resolve({ outcome: outcomeOf(asked.data, { allow: true }) }) };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const gist = asked.data.toolCall.title ?? "What you asked for";
    this.#wants.set(id, { asked: asked.data, gist, answer: resolve });
    return { events, answer: promise };
  }

  /** Returns what is to be said to it: the protocol has no room for a reason. */
  decide(id: string, decision: Decision): string | undefined {
    const wish = this.#wants.get(id);
    if (!wish) return undefined;
    this.#wants.delete(id);
    if (!decision.allow) this.#translation.denied(wish.asked.toolCall.toolCallId);
    wish.answer({ outcome: outcomeOf(wish.asked, decision) });
    return !decision.allow && decision.why ? `${wish.gist}: leave was not given. ${decision.why}` : undefined;
  }

  /** Nobody will decide any more what it asked for. */
  withdraw(): void {
    for (const wish of this.#wants.values()) wish.answer(CANCELLED);
    this.#wants.clear();
  }
}

interface Wish {
  asked: WirePermission;
  gist: string;
  answer(answer: Answer): void;
}

export interface Answer {
  outcome: { outcome: "selected"; optionId: string } | { outcome: "cancelled" };
}

export const CANCELLED: Answer = { outcome: { outcome: "cancelled" } };

function outcomeOf({ options }: WirePermission, { allow }: Decision): Answer["outcome"] {
  const kinds = allow ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const option = kinds.flatMap((kind) => options.find((offered) => offered.kind === kind) ?? []).at(0);
  return option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
}
