import { requestGist } from "../session/request-text.ts";
import type { Decision, OutsideEvent, PermissionRequest } from "../session/session.ts";
import type { AcpTranslation } from "./acp-translation.ts";
import { permissionSchema, type WirePermission } from "./acp-wire.ts";

/**
 * What an ACP agent asks permission for, until somebody decides it.
 *
 * ACP-PERMISSION-1. Whatever it asks gets an answer: the decision, or that it was cancelled when nobody will decide it
 *     any more.
 * ACP-PERMISSION-2. Allowed once, not for ever: what is always allowed is decided on our side, where it is on record.
 *     What an option does is told by its `kind`, never by its name or its place.
 * ACP-PERMISSION-3. A yes is for what was asked: where the agent has changed the call meanwhile, it is asked about
 *     again.
 */
export class AcpPermissions {
  readonly #translation: AcpTranslation;
  readonly #open = new Map<string, OpenRequest>();
  #asked = 0;

  constructor(translation: AcpTranslation) {
    this.#translation = translation;
  }

  /** The agent asks before it has told all that it calls the tool with, though it will. */
  isEarly(params: unknown): boolean {
    const { toolCall } = permissionSchema.safeParse(params).data ?? {};
    return toolCall !== undefined && this.#translation.isPartial(toolCall.toolCallId);
  }

  /** What follows from it, and the answer to the agent. Throws for what cannot be understood. */
  asked(params: unknown): { events: readonly OutsideEvent[]; answer: Promise<PermissionAnswer> } {
    const asked = permissionSchema.safeParse(params);
    if (!asked.success)
      throw new Error("The permission request cannot be understood: it needs a toolCall and options.");
    const id = `permission-${++this.#asked}`;
    const { ours, events } = this.#translation.askedPermission(id, asked.data);
    if (ours) return { events, answer: Promise.resolve({ outcome: outcomeOf(asked.data, { allow: true }) }) };
    const { promise, resolve } = Promise.withResolvers<PermissionAnswer>();
    const request = events.findLast((event) => event.kind === "asked_permission");
    if (!request) throw new Error("no question for a permission request");
    this.#open.set(id, { asked: asked.data, request, answer: resolve });
    return { events, answer: promise };
  }

  /** Returns what is to be said to it, since the protocol has no room for a reason, or what is asked anew (ACP-PERMISSION-3). */
  decide(id: string, decision: Decision): { why?: string; again?: PermissionRequest } {
    const wanted = this.#open.get(id);
    if (!wanted) return {};
    this.#open.delete(id);
    const { asked, request, answer } = wanted;
    const changed = decision.allow
      ? this.#translation.changedSince(request, `permission-${this.#asked + 1}`)
      : undefined;
    if (changed) {
      this.#asked += 1;
      this.#open.set(changed.id, { asked, request: changed, answer });
      return { again: changed };
    }
    if (decision.allow) this.#translation.allowed(request);
    else this.#translation.denied(asked.toolCall.toolCallId);
    const outcome = outcomeOf(asked, decision);
    answer({ outcome });
    const why = decision.allow && outcome.outcome === "cancelled" ? NOT_ONCE : decision.why;
    return why ? { why: `${requestGist(request)}: permission was not given. ${why}` } : {};
  }

  /** Nobody will decide any more what it asked for. */
  withdraw(): void {
    for (const { answer } of this.#open.values()) answer(CANCELLED);
    this.#open.clear();
  }
}

const NOT_ONCE = "It was allowed once, and you offered no option of the kind allow_once.";

interface OpenRequest {
  asked: WirePermission;
  request: PermissionRequest;
  answer(answer: PermissionAnswer): void;
}

export interface PermissionAnswer {
  outcome: { outcome: "selected"; optionId: string } | { outcome: "cancelled" };
}

export const CANCELLED: PermissionAnswer = { outcome: { outcome: "cancelled" } };

function outcomeOf({ options }: WirePermission, { allow }: Decision): PermissionAnswer["outcome"] {
  // Never for ever, also where nothing else is offered: then it is not run.
  const kinds = allow ? ["allow_once"] : ["reject_once", "reject_always"];
  const option = kinds.flatMap((kind) => options.find((offered) => offered.kind === kind) ?? []).at(0);
  return option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
}
