import { type Fact, HUMAN } from "../../protocol/index.ts";
import { clauseOf, lineOf, type Sentence, type Style } from "../../wording/sentence.ts";
import { sentenceOf } from "../../wording/sentence-of.ts";
import { timestamp } from "./format.ts";
import { headline, plain } from "./width.ts";

/**
 * A fact as one readable line of the log, without number and time. Workers are shown by their ids, as `--worker` takes
 * them.
 */
export function factLine(fact: Fact): string {
  const sentence = sentenceOf(fact, STYLE);
  return plain(sentence ? logLine(sentence) : JSON.stringify(fact.data));
}

const STYLE: Style = {
  name: (id) => (id === HUMAN ? "you" : id === "*" ? "everyone" : id),
  time: timestamp,
};

/** Details come before the text: that may be long, and is cut where the terminal ends. */
function logLine(sentence: Sentence): string {
  const { text, isWhole, next, detail } = sentence;
  const clause = [clauseOf(sentence), detail === undefined ? "" : `(${detail})`].filter(Boolean).join(" ");
  return lineOf(clause, text === undefined ? "" : isWhole ? text : headline(text), next);
}
