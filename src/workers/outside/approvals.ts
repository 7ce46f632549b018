import { type Permission, permissionsOf, type Situation } from "../../projections/index.ts";
import type { NewFact } from "../../protocol/index.ts";
import { QuestionAsker } from "../loop/question-asker.ts";
import { type ActingWorker, gistOfText } from "../loop/recorded-loop.ts";
import type { Workplace } from "../workplace.ts";
import { LONGEST_REQUEST, permissionQuestion } from "./permission-question.ts";
import type { PermissionPolicy } from "./session/permission-policy.ts";
import { requestGist } from "./session/request-text.ts";
import type { Decision, PermissionRequest } from "./session/session.ts";
import { type Rule, requestKey, ruleOf, type ToolRequest } from "./session/tool-request.ts";

const ONCE = "allow once";
const NEVER = "deny";
/** Per worker: nobody reads more than that. */
const MOST_WAITING = 20;

/**
 * What a program asks permission for: decided by its profile, or by a person.
 *
 * APPROVAL-1. The same request (tool and arguments) is one question, also after a restart, until its call has a result.
 *     A request that comes again from the same process is another question: a yes to the first is used once.
 * APPROVAL-2. "Always" holds for this worker in this run and for exactly what its choice says (`ruleOf`), until it is
 *     revoked. What the program or its model calls the request plays no part in it.
 * APPROVAL-3. An answer is for the process that asked, or for one that asks the same: it decides nothing else.
 * APPROVAL-4. A program that asks without end cannot fill an inbox: while many requests wait, the next is denied.
 * APPROVAL-5. The question shows what will be done. Where that is too long, the whole is in a file that it names.
 */
export class Approvals {
  readonly #policy: () => PermissionPolicy;
  readonly #isAllowed: (request: ToolRequest) => boolean;
  readonly #name: string;
  readonly #self: ActingWorker;
  readonly #workplace: Workplace;
  readonly #waiting = new Set<PermissionRequest>();
  /** Questions that were answered and whose call is not over, by the program's call. */
  readonly #granted = new Map<string, Granted[]>();
  /** Names under which this process has asked, or has an answer that it may not have used (APPROVAL-1). */
  readonly #taken = new Set<string>();

  constructor({ policy, isAllowed, name }: ApprovalPorts, self: ActingWorker, workplace: Workplace) {
    this.#policy = policy;
    this.#isAllowed = isAllowed;
    this.#name = name;
    this.#self = self;
    this.#workplace = workplace;
  }

  /** A person was asked and has not answered. */
  get areOpen(): boolean {
    return this.#waiting.size > 0;
  }

  async decide(request: PermissionRequest, signal: AbortSignal): Promise<Decision> {
    const policy = this.#policy();
    if (policy !== "ask") return decisionOf(policy === "allow");
    if (this.#isAllowed(request)) return decisionOf(true);
    const rule = ruleOf(request);
    if (this.#permitted(this.#workplace.pending()).some(({ key }) => key === rule?.key)) return decisionOf(true);
    if (this.#waiting.size >= MOST_WAITING) return { allow: false, why: TOO_MANY };
    const { worker_id, node_id } = this.#self;
    const questions = new QuestionAsker(this.#self, this.#workplace);
    const asked = this.#nameFor(request);
    const waiting: NewFact = { type: "worker.waiting", data: { worker_id, node_id, for: "human" } };
    this.#waiting.add(request);
    this.#taken.add(asked);
    try {
      const question = await permissionQuestion(this.#name, request, this.#workplace.log.dir);
      if (question === undefined) return { allow: false, why: TOO_LONG };
      const choices = [ONCE, ...(rule ? [rule.choice] : []), NEVER];
      const permission = { tool: request.tool, key: rule?.key ?? requestKey(request) };
      const id = await questions.put({ question, choices, only_choices: true, permission }, { id: asked }, [waiting]);
      const answer = (await questions.answerTo(id, signal))?.answer?.text ?? NEVER;
      const isAwaited = this.#waiting.delete(request);
      if (isAwaited) this.#grant(request, asked);
      // It still waits while other requests of it are open.
      const facts = isAwaited && !this.areOpen ? [this.#busy] : [];
      if (rule && answer === rule.choice) facts.push(this.#permission(request, rule));
      if (facts.length > 0) await this.#workplace.log.append({ facts }).durable;
      if (answer === ONCE || answer === rule?.choice) return { allow: true };
      return {
        allow: false,
        why: answer === NEVER ? "Your human does not allow it." : `Your human answers: ${answer}`,
      };
    } finally {
      this.#waiting.delete(request);
    }
  }

  /** The process that asked is gone: nothing waits for the answers, but they hold if the next process asks the same. */
  withdraw(): NewFact[] {
    const facts = this.areOpen ? [this.#busy] : [];
    this.#waiting.clear();
    this.#taken.clear();
    return facts;
  }

  /** The call has its result: the same request would be another one. */
  settledBy(call_id: string): NewFact[] {
    const granted = this.#granted.get(call_id) ?? [];
    this.#granted.delete(call_id);
    const { worker_id, node_id } = this.#self;
    return granted.map(({ request, asked }) => {
      this.#taken.delete(asked);
      const data = {
        call_id: asked,
        tool: request.tool,
        ok: true,
        ms: 0,
        gist: gistOfText(requestGist(request)),
      };
      return { type: "tool.result", data: { worker_id, node_id, ...data } };
    });
  }

  /** Its turn is over, and with it every call. */
  settledByRest(): NewFact[] {
    return [...this.#granted.keys()].flatMap((call_id) => this.settledBy(call_id));
  }

  #permission(request: PermissionRequest, { key, choice }: Rule): NewFact {
    const { tool } = request;
    const what = `${choice}: ${requestGist(request)}`;
    return { type: "worker.permitted", data: { worker_id: this.#self.worker_id, tool, key, what } };
  }

  #grant(request: PermissionRequest, asked: string): void {
    const call_id = request.call_id ?? request.id;
    this.#granted.set(call_id, [...(this.#granted.get(call_id) ?? []), { request, asked }]);
  }

  /** The same after a restart; another one each time this process asks again before the earlier call has its result. */
  #nameFor(request: PermissionRequest): string {
    const key = requestKey(request);
    let name = key;
    for (let time = 2; this.#taken.has(name); time++) name = `${key}-${time}`;
    return name;
  }

  get #busy(): NewFact {
    const { worker_id, node_id } = this.#self;
    return { type: "worker.busy", data: { worker_id, node_id } };
  }

  #permitted({ outside }: Situation): readonly Permission[] {
    return permissionsOf(outside, this.#self.worker_id);
  }
}

interface ApprovalPorts {
  policy(): PermissionPolicy;
  /** By a rule of its profile. */
  isAllowed(request: ToolRequest): boolean;
  /** Of the worker. */
  name: string;
}

interface Granted {
  request: PermissionRequest;
  asked: string;
}

const TOO_MANY = `${MOST_WAITING} of your requests wait for an answer. Ask again when they have theirs.`;
const TOO_LONG = `A request of more than ${LONGEST_REQUEST} characters is not put to a person. Do it in smaller steps.`;

function decisionOf(allow: boolean): Decision {
  return allow ? { allow } : { allow, why: "This is not allowed here. Do without it." };
}
