import type { Letter, Situation } from "../../projections/index.ts";
import { type Actor, HUMAN, type NewFact, type RunId } from "../../protocol/index.ts";
import type { PendingLog } from "../state/pending-log.ts";
import type { AgentStart } from "../state/start-facts.ts";
import type { Team } from "../team/team.ts";
import {
  checkNewGoal,
  checkNotArchived,
  checkThinks,
  HumanRefusal,
  nudgeOf,
  openHint,
  responseTo,
  revocationOf,
} from "./human-facts.ts";

export interface Seen {
  from?: string | undefined;
  message_id?: string | undefined;
}

interface VoicePorts {
  log: Pick<PendingLog, "append" | "drained">;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  team(run: RunId): Team;
  /** Resolves when a start that is under way has been recorded. */
  drained(): Promise<unknown>;
  /** The next run; false when another has begun meanwhile. */
  begin(order: AgentStart): Promise<boolean>;
  /** An agent that rests takes up its work; resolves with what keeps it from that, in words. */
  goOn(): Promise<string>;
  /** What the human wrote into `GOAL.md` is heard before what they say. */
  readGoal(): Promise<void>;
}

/**
 * What the human says to an agent. Messages and answers are separate: `send` never answers a question. When a call
 * resolves, the message is on disk, and the result says in words what happens with it. The worker reads it before its
 * next turn, or at once if it waits; an agent at rest resumes its work, and a finished one takes it as its next goal.
 */
export class HumanVoice {
  readonly #ports: VoicePorts;

  constructor(ports: VoicePorts) {
    this.#ports = ports;
  }

  async send(text: string, to: string): Promise<string> {
    const { pending, team, drained, begin, goOn, readGoal } = this.#ports;
    await drained();
    await readGoal();
    checkNotArchived(pending());
    const { agent } = pending();
    checkThinks(pending());
    if (agent.run === null || agent.run.finished) {
      checkNewGoal(pending(), to);
      // Another has begun meanwhile: then it is a message to that one.
      if (!(await begin({ goal: text }))) return this.send(text, to);
      return `${agent.created.name} takes it as its next goal.`;
    }
    const sent = await team(agent.run.id).send(HUMAN, to, text);
    if (typeof sent !== "string") throw new HumanRefusal("not_found", sent.content);
    return `${sent}${openHint(pending(), to)}${await goOn()}`;
  }

  /** Answers a question; the first answer counts. */
  async respond(text: string, question_id: string | undefined, via: Actor["via"]): Promise<string> {
    checkNotArchived(this.#ports.pending());
    await this.#append(responseTo(this.#ports.pending(), text, question_id, via));
    return `Answered.${await this.#ports.goOn()}`;
  }

  /** Takes back what was always allowed: from now on it is asked about again. */
  async revoke(permission: string): Promise<string> {
    const fact = revocationOf(this.#ports.pending(), permission);
    await this.#append(fact);
    return "Revoked. You are asked again from now on.";
  }

  /** A hint to the coordinator while it works. */
  async nudge(text: string, via: Actor["via"]): Promise<string> {
    checkThinks(this.#ports.pending());
    await this.#ports.readGoal();
    await this.#append(nudgeOf(this.#ports.pending(), text, via));
    return `The coordinator hears it before its next turn.${await this.#ports.goOn()}`;
  }

  /** The human has seen what was said to them: by one of the team, one message, or everything. */
  async seen({ from: by, message_id }: Seen = {}): Promise<void> {
    const isMeant = ({ id, from, failed_task, mesh_session, deadlock }: Letter) =>
      (message_id === undefined || id === message_id) &&
      (by === undefined || (from === by && !failed_task && !mesh_session && !deadlock));
    const unseen = Object.values(this.#ports.pending().letters.queued).filter(
      (letter) => letter.reader === HUMAN && isMeant(letter),
    );
    await this.#append(
      ...unseen.map(({ id }): NewFact => ({ type: "message.received", data: { message_id: id, by: HUMAN } })),
    );
  }

  async #append(...facts: NewFact[]): Promise<void> {
    await (facts.length > 0 ? this.#ports.log.append({ facts }).durable : this.#ports.log.drained());
  }
}
