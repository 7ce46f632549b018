import type { Fact } from "../../../src/protocol/index.ts";
import { nameOf } from "../entity/message-block.tsx";
import { factWords } from "./fact-words.ts";

/** What happened, in one line. */
export default function FactLine({ agent, fact }: { agent: string; fact: Fact }) {
  return factWords(fact, (id) => nameOf(agent, id));
}
