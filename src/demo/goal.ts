import { ModelFailure } from "../models/model.ts";
import { cut, enumeration, escaped } from "./markdown.ts";
import { SURVEYOR } from "./survey.ts";

/** What the surveyor can use of a goal in plain words. */
export interface Goal {
  places: NamedPlace[];
  /** False if nothing of it is a survey: it needs a language model, as a poem or a comparison does. */
  isSurvey: boolean;
  /** The parts of it that are not a survey, in the person's words. */
  beyond: string[];
}

export interface NamedPlace {
  /** As the person wrote it. */
  written: string;
  /** As the file tools want it. */
  path: string;
  /** Written as a path, so that its absence is worth a word; otherwise it may have been no place at all. */
  sure: boolean;
}

const MOST_PLACES = 6;

/** DEMO-SURVEY-4: what the report and the summary say of a goal that is a survey only in part. */
export function partlyDone({ beyond }: Goal): string[] {
  if (beyond.length === 0) return [];
  const parts = beyond.map((part) => `“${escaped(cut(part, 80))}”`);
  return [`${PARTLY} Not done, because it needs a language model: ${enumeration(parts)}.`];
}

export const PARTLY = "Only part of the goal is done: the survey of the files.";

/** DEMO-SURVEY-4: a goal that is not a survey is refused rather than turned into one. */
export function cannotDo(task: string): ModelFailure {
  const words = [
    `${SURVEYOR} is the built-in demo: rules, not a language model. It can only survey files (count, list and quote them), and "${escaped(cut(task, 60))}" needs more than that.`,
    "Set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local model), then resume it with --model PROVIDER/MODEL.",
    'To see the demo at work: agiraph run "Survey the files in this folder"',
  ];
  return new ModelFailure("bad_request", words.join(" "), { retryable: false });
}

/** Clause by clause: what is not understood as a survey is not claimed to be one. */
export function readGoal(text: string): Goal {
  const clauses = clausesIn(text).map((clause) => ({ clause, kind: kindOf(clause) }));
  const beyond = clauses.filter(({ kind }) => kind === "beyond").map(({ clause }) => clause);
  const has = (wanted: ClauseKind) => clauses.some(({ kind }) => kind === wanted);
  // Anyone who says "read these and translate them" has asked for a translation.
  const isSurvey = has("survey") || (has("look") && beyond.length === 0);
  return { places: placesIn(text), isSurvey, beyond: isSurvey ? beyond : [] };
}

type ClauseKind = "survey" | "look" | "more of it" | "beyond";

function kindOf(clause: string): ClauseKind {
  if (TASK.test(clause) || (WORK_OF_A_MIND.test(clause) && !SURVEY_VERB.test(clause))) return "beyond";
  const hasPlace = placesIn(clause).length > 0;
  const isAboutFiles = hasPlace || FILE_WORD.test(clause);
  if (PRODUCT.test(clause) || SURVEY_QUESTION_ON.test(clause)) return "more of it";
  if (isAboutFiles && (SURVEY_VERB.test(clause) || SURVEY_QUESTION.test(clause))) return "survey";
  if (isAboutFiles && LOOK.test(clause)) return "look";
  const words = clause
    .replace(QUOTED, "quoted")
    .split(/\s+/)
    .filter((word) => !SMALL_WORD.test(word));
  if (words.length <= 1 && SURVEY_VERB.test(clause)) return "survey";
  if (words.length <= 1) return hasPlace ? "look" : "more of it";
  return "beyond";
}

const SURVEY_VERB = /\b(?:survey|inventor|summar|overview|catalog|outline|describe|list\b|count\b|report)/i;
const SURVEY_QUESTION = /^(?:what(?:'s| is| are)(?: there)? in\b|what (?:is|are)\b.*\babout$|how many files\b)/i;
const SURVEY_QUESTION_ON = /^(?:tell me |say )?what (?:it is|they are|this is|these are) about$/i;
/** These come before something else, and alone mean a survey. */
const LOOK = /^(?:please )?(?:read|look|go (?:through|over)|explore|open|scan)\b/i;
const FILE_WORD =
  /\b(?:files?|folders?|director(?:y|ies)|docs?|documents?|documentation|notes?|pages?|projects?|repo(?:sitory)?|code ?base|code|sources?|todos?|broken links?)\b|\b(?:here|it|them|these|this)$/i;
/** What a survey comes out as, without a subject of its own. */
const PRODUCT =
  /^(?:please )?(?:write|make|give me|create|prepare|produce|report)(?: (?:me|a|an|the|short|brief|one|your|findings|report|summary|overview|list|table|inventory|it|them|up|down|back|in|to|on|about|of|as|what you (?:find|found)|[\w./-]+\.md))*$/i;
const SMALL_WORD = /^(?:a|an|the|my|our|your|at|in|of|on|from|under|inside|all|every|both|also|please|its|too)$/i;
/** What a survey may be about, and is none to make. */
const WORK_OF_A_MIND =
  /\b(?:poem|haiku|song|story|novel|joke|essay|e-?mail|letter|speech|app|api|website|game|script|program|research|translation)\b/i;
/** At the beginning of a clause these ask for more than a survey. */
const TASKS =
  "compare|contrast|diff|calculat\\w*|comput\\w*|convert|translate|refactor|rewrite|implement|fix|debug|deploy|build|develop|design|optimi[sz]e|improve|solve|answer|explain why|decide|choose|recommend|predict|plan|classify|rank|merge|rename|delete|remove|edit|change|update|add|install|test|download|search|google|buy|book|send|post|publish|negotiate|simulate|train|draw|paint|plot";
const TASK = new RegExp(`^(?:please\\s+)?(?:${TASKS})\\b|\\bdiffer(?:s|ences?)?\\b`, "i");

/** What is in quotes is one word, whatever it contains. */
function clausesIn(text: string): string[] {
  const kept: string[] = [];
  const marked = text.replace(QUOTED, (whole) => `./\uE000${kept.push(whole) - 1}`);
  return marked
    .split(/[.;:!?](?:\s+|$)|,(?:\s+|$)|\n+|\s+(?:and|then|but|plus)\s+|^(?:and|then)\s+/i)
    .map((clause) => clause.replace(/^(?:and|then|also)\s+/i, "").trim())
    .filter((clause) => clause !== "")
    .map((clause) => clause.replace(/\.\/\uE000(\d+)/g, (_, at) => kept[Number(at)] ?? ""));
}

function placesIn(text: string): NamedPlace[] {
  const unquoted = text.replace(QUOTED, " ");
  const found = new Map<string, NamedPlace>();
  for (const { written, sure } of [...quoted(text), ...pathLike(unquoted), ...phrased(unquoted)]) {
    const path = asToolPath(written);
    if (path === undefined || found.has(path) || found.size >= MOST_PLACES) continue;
    found.set(path, { written, path, sure });
  }
  return [...found.values()];
}

type Mention = Pick<NamedPlace, "written" | "sure">;

const QUOTED = /(?<=^|[\s(])(["'`“‘«])([^"'`“”‘’«»\n]{1,200})["'`”’»](?=$|[\s).,;:!?])/g;

function quoted(text: string): Mention[] {
  const matches = text.matchAll(QUOTED);
  return [...matches].flatMap(([, , written = ""]) =>
    isAddress(written) ? [] : [{ written, sure: /^[./~]|\/|\.\w{1,8}$/.test(written) }],
  );
}

function pathLike(text: string): Mention[] {
  return text.split(/\s+/).flatMap((token): Mention[] => {
    const written = token.replace(/^[([{<"'`“‘«]+/, "").replace(/(?<=[^./]|\.\.\/|\/)[\])}>"'`”’».,;:!?]+$/, "");
    if (written === "" || isAddress(written)) return [];
    if (/^(?:\.|\.\/)$/.test(written)) return token === written ? [{ written, sure: true }] : [];
    if (/^(?:\.{1,2}\/|\/|~\/)./.test(written) || /^[^/]+(?:\/[^/]+)*\/$/.test(written))
      return [{ written, sure: true }];
    const isPath = /^[^/]+(?:\/[^/]+)+$/.test(written);
    const isFileName =
      /^[\p{L}\p{N}_-][\p{L}\p{N}._-]*\.[A-Za-z][A-Za-z0-9]{0,7}$/u.test(written) && !/^(?:e\.g|i\.e)$/i.test(written);
    return isPath || isFileName ? [{ written, sure: false }] : [];
  });
}

const NAME = "([\\p{L}\\p{N}_][\\p{L}\\p{N}._-]*)";
const PHRASES = [
  new RegExp(`\\b(?:folder|directory)\\s+(?:called\\s+|named\\s+)?${NAME}`, "giu"),
  new RegExp(`\\b${NAME}\\s+(?:folder|directory)\\b`, "giu"),
  new RegExp(
    `\\b(?:files?|documents?|notes?|pages?)\\s+(?:in|of|under|inside|from)\\s+(?:the\\s+|my\\s+|our\\s+)?${NAME}`,
    "giu",
  ),
];
const NO_NAME = new Set(
  "a an and any all current each every for here in is it its my of on or our project root that the their there these this those to us whole with working your folder directory repo repository".split(
    " ",
  ),
);

function phrased(text: string): Mention[] {
  return PHRASES.flatMap((phrase) =>
    [...text.matchAll(phrase)].flatMap(([, name = ""]) => {
      const written = name.replace(/[.]+$/, "");
      return written === "" || NO_NAME.has(written.toLowerCase()) ? [] : [{ written, sure: false }];
    }),
  );
}

function isAddress(written: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(written) || /^www\./i.test(written) || written.includes("@");
}

/** The project is mounted as `project/`; a path from elsewhere is looked for by its last names (see look.ts). */
function asToolPath(written: string): string | undefined {
  const parts = written
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "" && part !== "." && part !== "~");
  if (parts.some((part) => part === ".." || /^[\p{P}\p{S}]+$/u.test(part)))
    return parts.includes("..") ? `project/${parts.join("/")}` : undefined;
  if (parts.length === 0) return /^[./]+$/.test(written) ? "project" : undefined;
  return parts[0] === "project" ? parts.join("/") : `project/${parts.join("/")}`;
}
