import { type Conversation, type Exchange, madeTo } from "./conversation.ts";
import { plain } from "./markdown.ts";
import { act, type PlannedCall, readFile } from "./move.ts";
import type { JoinOrder } from "./order.ts";
import { joinSurveys, parseSurvey } from "./survey.ts";
import type { Surveyed } from "./survey-work.ts";
import { readText } from "./tool-text.ts";

/** Reads the surveys of the parts, page by page, and makes one of them. */
export function joinStep({ subject, places, refs, remarks }: JoinOrder, conversation: Conversation): Surveyed {
  const readings = refs.map((ref) => reading(ref, conversation));
  const next = readings.flatMap((part) => (part.kind === "more" ? [part.call] : []));
  if (next.length > 0) {
    return { kind: "working", move: act(`I read the surveys of the parts of ${plain(subject)}.`, ...next) };
  }
  const parts = readings.flatMap((part) => {
    const survey = part.kind === "text" ? parseSurvey(part.text) : undefined;
    return survey ? [survey] : [];
  });
  const lost = readings.flatMap((part, at) => {
    if (part.kind === "refused") return [`The survey ${refs[at]} could not be read: ${plain(part.why)}`];
    return part.kind === "text" && !parseSurvey(part.text)
      ? [`The survey ${refs[at]} could not be understood and is missing here.`]
      : [];
  });
  const joined = joinSurveys(subject, parts, [...remarks, ...lost]);
  return { kind: "done", survey: places.length > 0 && lost.length === 0 ? { ...joined, places } : joined };
}

type Reading = { kind: "more"; call: PlannedCall } | { kind: "text"; text: string } | { kind: "refused"; why: string };

function reading(ref: string, conversation: Conversation): Reading {
  let page: Exchange | undefined = madeTo("read_ref", conversation).findLast(({ args }) => args.ref_name === ref);
  if (!page) return { kind: "more", call: { name: "read_ref", args: { ref_name: ref } } };
  const pages: string[] = [];
  for (;;) {
    if (!page.result.ok) return { kind: "refused", why: page.result.content };
    const { text, next } = readText(page.result.content);
    pages.push(text);
    if (!next) return { kind: "text", text: pages.join("\n") };
    page = madeTo("read_file", conversation).findLast(
      ({ args }) => args.path === next.path && args.offset === next.offset,
    );
    if (!page) return { kind: "more", call: readFile(next.path, { offset: next.offset }) };
  }
}
