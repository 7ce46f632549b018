import { type Fact, HUMAN } from "../../../src/protocol/index.ts";
import { clauseOf, lineOf } from "../../../src/wording/sentence.ts";
import { sentenceOf } from "../../../src/wording/sentence-of.ts";
import { clockTime, gist } from "../text/figures.ts";
import { visible } from "../text/visible.ts";

/** A fact in one line; `name` returns how somebody is called. */
export function factWords(fact: Fact, name: (id: string) => string): string {
  const sentence = sentenceOf(fact, { name: (id) => calledBy(id, name), time: clockTime });
  // A page that was open before the server was renewed may hear of things that it has no words for.
  if (!sentence) return fact.type;
  return lineOf(visible(clauseOf(sentence)), gist(sentence.text ?? ""), visible(sentence.next ?? ""));
}

function calledBy(id: string, name: (id: string) => string): string {
  if (id === HUMAN) return "you";
  return id === "*" ? "everyone" : name(id);
}
