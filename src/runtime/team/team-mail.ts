import { pairOf } from "../../projections/index.ts";
import { AGIRAPH, COORDINATOR, HUMAN, type NewFact, type NodeId, type WorkerId } from "../../protocol/index.ts";
import { LONGEST_MESSAGE } from "../../tools/mail.ts";
import { refusal, type ToolOutput } from "../../tools/tool.ts";
import { readerOf } from "./mail-routing.ts";
import type { TeamDirectory } from "./team-directory.ts";
import { record, type TeamPorts } from "./team-ports.ts";

/** Messages within a run: who gets them, who reads them instead, and when there are too many. */
export class TeamMail {
  readonly #ports: TeamPorts;
  readonly #directory: TeamDirectory;
  #messages = 0;

  constructor(ports: TeamPorts, directory: TeamDirectory) {
    this.#ports = ports;
    this.#directory = directory;
    this.recount();
  }

  recount(): void {
    this.#messages = this.#ports.pending().letters.sent;
  }

  async send(from: string, word: string, content: string): Promise<ToolOutput> {
    const to = this.#directory.addressee(word);
    if (to === undefined) return refusal(this.#directory.nobody(word));
    if (to === from) return refusal("That is you.");
    const { letters } = this.#ports.pending();
    const last = letters.lastBetween[pairOf(from, to)];
    const hops = this.#hops(from, to);
    const { maxHops, maxThread } = this.#ports.limits;
    // Nobody limits people; what they say ends a ping-pong.
    const isBetweenWorkers = from !== HUMAN && to !== HUMAN;
    if (isBetweenWorkers && (hops > maxHops || (last?.count ?? 0) >= maxThread)) {
      const advice = [from, to].includes(COORDINATOR) ? "." : ", or ask the coordinator.";
      return refusal(
        `You and ${word} have written to each other ${last?.count ?? 0} times. Decide with what you have${advice}`,
      );
    }
    if (to === "*" && !this.#directory.hasListeners(from))
      return refusal("Nobody else is at work: nobody would read it.");
    const reader = readerOf(to, this.#ports.pending());
    if (reader === from) return refusal(`${word} has no work now. Put it into the task you give them.`);
    await record(this.#ports, [this.#message(from, to, content, reader === to ? {} : { reader })]);
    return reader === to ? `Sent to ${word}.` : `${word} has no work now; the coordinator got it.`;
  }

  /** Said in answer to the human, without a tool. */
  aloud(from: WorkerId, text: string): NewFact {
    const words = text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)} …` : text;
    return this.#message(from, HUMAN, words, { aloud: true });
  }

  /** Said by Agiraph in a worker's name. */
  toHuman(from: WorkerId, text: string): NewFact {
    return this.#message(from, HUMAN, text, {});
  }

  /** That all wait for each other on these nodes. To the human it is the agent who speaks. */
  deadlock(to: typeof COORDINATOR | typeof HUMAN, text: string, nodes: NodeId[]): NewFact {
    return this.#message(to === HUMAN ? COORDINATOR : AGIRAPH, to, text, { deadlock: nodes });
  }

  /** What a trigger says, known by its occurrence: said again after a crash, it is still the same message. */
  async remind(key: string, from: string, word: string, text: string): Promise<void> {
    const to = this.#directory.addressee(word);
    if (to === undefined) throw new Error(this.#directory.nobody(word));
    const { letters } = this.#ports.pending();
    if (letters.queued[key] || letters.settled.some(({ id }) => id === key)) return;
    const reader = readerOf(to, this.#ports.pending());
    const fact = this.#message(from, to, text, reader === to ? {} : { reader });
    await this.#ports.log.append({ facts: [{ ...fact, data: { ...fact.data, message_id: key } }] }).durable;
  }

  #message(
    from: string,
    to: string,
    text: string,
    more: { reader?: string; aloud?: true; deadlock?: NodeId[] },
  ): Extract<NewFact, { type: "message.sent" }> {
    const number = ++this.#messages;
    const file = `_messages/${String(number).padStart(4, "0")}_${from}_to_${to === "*" ? "all" : to}.md`;
    const hops = this.#hops(from, to);
    return { type: "message.sent", data: { message_id: `msg-${number}`, from, to, text, file, hops, ...more } };
  }

  /** How many messages this one would answer in a row. */
  #hops(from: string, to: string): number {
    const last = this.#ports.pending().letters.lastBetween[pairOf(from, to)];
    return last && last.from !== from ? last.hops + 1 : 1;
  }
}
