import { setTimeout } from "node:timers/promises";
import { askControl, type ControlRequest } from "../../runtime/human/control.ts";
import { controlPath } from "../../runtime/human/control-path.ts";
import { HumanRefusal } from "../../runtime/human/human-refusal.ts";
import { Refusal } from "../exit-code.ts";

/** What a person says, to whom it concerns; the agent is known. */
export type Saying =
  | { do: "send"; text: string; to?: string | undefined }
  | { do: "respond"; text: string; question_id?: string | undefined }
  | { do: "nudge"; text: string }
  | { do: "model"; model: string };

/** What a person does with the work itself. */
export type Doing =
  | { do: "assign"; node: string; to: string }
  | { do: "cancel"; node: string; text?: string | undefined }
  | { do: "revoke"; permission: string }
  | { do: "publish"; node: string; text?: string | undefined };

/** An agent that is open in this process. */
export interface Listener {
  send(text: string, to?: string): Promise<string>;
  respond(text: string, question_id?: string): Promise<string>;
  nudge(text: string): Promise<string>;
  changeModels(order: { model: string }): Promise<string>;
}

export interface Handler extends Listener {
  assign(node: string, to: string): Promise<string>;
  cancel(node: string, reason?: string): Promise<string>;
  revoke(permission: string): Promise<string>;
  publish(node: string, summary?: string): Promise<string>;
}

/** Says it here. Resolves, once it is on disk, with what becomes of it. */
export function sayTo(agent: Listener, saying: Saying): Promise<string> {
  switch (saying.do) {
    case "send":
      return agent.send(saying.text, saying.to);
    case "respond":
      return agent.respond(saying.text, saying.question_id);
    case "nudge":
      return agent.nudge(saying.text);
    case "model":
      return agent.changeModels({ model: saying.model });
  }
}

export function tell(agent: Handler, order: Saying | Doing): Promise<string> {
  if (order.do === "assign") return agent.assign(order.node, order.to);
  if (order.do === "cancel") return agent.cancel(order.node, order.text);
  if (order.do === "revoke") return agent.revoke(order.permission);
  return order.do === "publish" ? agent.publish(order.node, order.text) : sayTo(agent, order);
}

/** Says it to the process that works on the agent; undefined when no process does, so that it can be opened here. */
export async function sayElsewhere(home: string, agent: string, saying: Saying | Doing): Promise<string | undefined> {
  const answer = await askControl(controlPath(home), requestOf(agent, saying));
  if (answer === undefined || answer.ok) return answer?.message;
  if (answer.code === "elsewhere") {
    throw new Refusal(`Another process works in ${home}, and only one can at a time. ${TRY_LATER}`);
  }
  throw answer.code ? new HumanRefusal(answer.code, answer.message) : new Refusal(answer.message);
}

/**
 * The home changes hands: whoever holds it may not listen yet, or not any more. Tried again for a moment before somebody
 * is told that it is in use.
 */
export async function whileHandsChange<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = MOST_TRIES; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || error.name !== "HomeLockedError") throw error;
    }
    await setTimeout(TRY_AGAIN_MS);
  }
}

const MOST_TRIES = 30;
const TRY_AGAIN_MS = 100;
const TRY_LATER = "Say it again when that one has ended, or stop it.";

function requestOf(agent: string, saying: Saying | Doing): ControlRequest {
  switch (saying.do) {
    case "send":
      return { do: "send", agent, text: saying.text, ...(saying.to && { to: saying.to }) };
    case "respond":
      return {
        do: "respond",
        agent,
        text: saying.text,
        ...(saying.question_id && { question_id: saying.question_id }),
      };
    case "nudge":
      return { do: "nudge", agent, text: saying.text };
    case "model":
      return { do: "model", agent, model: saying.model };
    case "revoke":
      return { do: "revoke", agent, permission: saying.permission };
    case "assign":
      return { do: "assign", agent, node: saying.node, to: saying.to };
    case "cancel":
      return { do: "cancel", agent, node: saying.node, ...(saying.text && { text: saying.text }) };
    case "publish":
      return { do: "publish", agent, node: saying.node, ...(saying.text && { text: saying.text }) };
  }
}
