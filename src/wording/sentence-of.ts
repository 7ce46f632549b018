import { own } from "../protocol/dict.ts";
import type { Fact, FactType } from "../protocol/index.ts";
import { CHANNELS } from "./channel-sentences.ts";
import { MESH } from "./mesh-sentences.ts";
import { MODELS } from "./model-sentences.ts";
import { REPOSITORY } from "./repository-sentences.ts";
import type { Sentence, Sentences, Style } from "./sentence.ts";
import { TEAM } from "./team-sentences.ts";
import { TOOLS } from "./tool-sentences.ts";
import { TRIGGERS } from "./trigger-sentences.ts";
import { WORK } from "./work-sentences.ts";

const ALL: Sentences<FactType> = {
  ...{ ...WORK, ...REPOSITORY, ...TEAM, ...MODELS, ...TOOLS },
  ...{ ...TRIGGERS, ...CHANNELS, ...MESH },
};

/** A fact as a sentence. Undefined for a fact of a newer version, which this version cannot describe. */
export function sentenceOf(fact: Fact, style: Style): Sentence | undefined {
  const write = own(ALL, fact.type) as ((data: Fact["data"], style: Style) => Sentence) | undefined;
  return write?.(fact.data, style);
}
