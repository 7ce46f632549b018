import { COORDINATOR } from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { HumanRefusal } from "../../src/runtime/human/human-facts.ts";
import { TooLittleMoney } from "../../src/runtime/state/budget-raise.ts";
import type { Dice } from "./dice.ts";

/** Something the human said, and what they were told about it. */
export interface Word {
  how: "send" | "respond" | "nudge";
  text: string;
  /** Unknown: the process died before it answered. */
  answer: "accepted" | "refused" | "unknown";
}

const TO = [COORDINATOR, COORDINATOR, COORDINATOR, "Alice", "Bob", "*", "Zed"];
const WORDS = { send: 6, nudge: 2, respond: 4, seen: 1, cancel: 1, dismiss: 2 };

/** The human: speaks when they like, to whom they like, and answers what they are asked, now or later. */
export class Person {
  readonly said: Word[] = [];
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Says or does any one thing. */
  async act(agent: Agent): Promise<void> {
    switch (this.#dice.weighed(WORDS)) {
      case "send":
        return this.#say("send", (text) => agent.send(text, this.#dice.pick(TO)));
      case "nudge":
        return this.#say("nudge", (text) => agent.nudge(text));
      case "respond":
        return this.answer(agent);
      case "seen":
        return agent.seen();
      case "cancel":
        return this.cancel(agent, 1);
      case "dismiss":
        return this.#dismiss(agent);
    }
  }

  speak(agent: Agent): Promise<void> {
    return this.#say("send", (text) => agent.send(text));
  }

  /** One of the open questions. */
  async answer(agent: Agent): Promise<void> {
    const open = Object.keys(agent.now.questions.open);
    if (open.length > 0) await this.#say("respond", (text) => agent.respond(text, this.#dice.pick(open)));
  }

  async cancel(agent: Agent, most: number): Promise<void> {
    const open = Object.keys(agent.now.triggers.open).slice(0, most);
    for (const id of open) await agent.schedule.cancel("human", id);
  }

  /** Some node, whatever its state is. */
  async #dismiss(agent: Agent): Promise<void> {
    const nodes = Object.keys(agent.now.board.nodes);
    if (nodes.length === 0) return;
    await agent.cancel(this.#dice.pick(nodes)).catch((error: unknown) => {
      if (!(error instanceof HumanRefusal)) throw error;
    });
  }

  async #say(how: Word["how"], say: (text: string) => Promise<string>): Promise<void> {
    const word: Word = { how, text: `word ${this.said.length + 1}.`, answer: "unknown" };
    this.said.push(word);
    try {
      await say(word.text);
      word.answer = "accepted";
    } catch (error) {
      if (!(error instanceof HumanRefusal || error instanceof TooLittleMoney)) throw error;
      word.answer = "refused";
    }
  }
}
