import {
  applyToRecentMessages,
  type Question,
  type RecentMessage,
  type RecentMessages,
  type Roster,
  type Situation,
} from "../../projections/index.ts";
import { COORDINATOR, type Fact, HUMAN } from "../../protocol/index.ts";
import { displayName } from "./names.ts";
import { askerName, questionText } from "./question-text.ts";
import type { StoryLine } from "./story.ts";
import { plainLines } from "./width.ts";

/** The message in this fact, if it is part of the person's conversation. */
export function saidIn(fact: Fact): RecentMessage | undefined {
  const said: RecentMessages = [];
  applyToRecentMessages(said, fact);
  return said.find(concernsHuman);
}

/** Messages within the team are not shown here; `logs` has them. */
export function concernsHuman({ from, to }: Pick<RecentMessage, "from" | "to">): boolean {
  return from === HUMAN || to === HUMAN || to === "*";
}

export function utteranceLines(said: RecentMessage, { roster, questions }: ChatState): StoryLine[] {
  const { from, to, text, ts } = said;
  const open = Object.values(questions.open).find(
    (each) => each.worker_id === from && to === HUMAN && each.text === text && each.asked_ts === ts,
  );
  if (open) return questionLines(open, roster);
  const isMine = from === HUMAN;
  const whom = to === HUMAN || (isMine && to === COORDINATOR) ? "" : `${displayName(roster, to)}: `;
  return spread(displayName(roster, from), isMine ? "tells" : "to_you", plainLines(`${whom}${text}`));
}

type ChatState = Pick<Situation, "roster" | "questions">;

/** Who asks, what, by which name it is answered, and what there is to choose from. */
function questionLines(question: Question, roster: Roster): StoryLine[] {
  const text = `${question.text.trimEnd()} (${question.id})`;
  return spread(
    askerName((id) => displayName(roster, id), question),
    "asks",
    questionText({ ...question, text }),
  );
}

function spread(who: string, mark: StoryLine["mark"], lines: string[]): StoryLine[] {
  return lines.filter((text) => text.trim() !== "").map((text, at) => ({ who: at === 0 ? who : "", mark, text }));
}
