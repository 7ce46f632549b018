import { ModelFailure } from "../models/model.ts";
import { cut, plain } from "./markdown.ts";
import { SURVEYOR } from "./survey.ts";

/** What the surveyor can use of a goal in plain words. */
export interface Goal {
  places: NamedPlace[];
  /** False for what needs a language model, such as a poem or a comparison. */
  isSurvey: boolean;
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

/** DEMO-SURVEY-4: a goal that is not a survey is refused rather than turned into one. */
export function cannotDo(task: string): ModelFailure {
  const words = [
    `${SURVEYOR} is the built-in demo: rules, not a language model. It can only survey files (count, list and quote them), and "${plain(cut(task, 60))}" needs more than that.`,
    "Set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local model), then resume it with --model PROVIDER/MODEL.",
    'To see the demo at work: agiraph run "Survey the files in this folder"',
  ];
  return new ModelFailure("bad_request", words.join(" "), { retryable: false });
}

export function readGoal(text: string): Goal {
  const places = placesIn(text);
  const wantsMore = TASK_TO_THINK_ABOUT.test(text) || (WORK_OF_A_MIND.test(text) && !SURVEY_VERB.test(text));
  return { places, isSurvey: !wantsMore && (places.length > 0 || SURVEY_WORD.test(text)) };
}

const SURVEY_VERB = /\b(?:survey|inventor|summar|overview|catalog|outline|describe)/i;
const SURVEY_WORD =
  /\b(?:survey|inventor|summar|overview|report|read|review|document|analy[sz]|files?\b|folder|director|list\b|describe|explor|look (?:at|through|into)|what (?:is|are|'s) in\b|docs?\b|project|repo|code ?base|outline|catalog|audit)/i;
/** What a survey may be about, and is none to make. */
const WORK_OF_A_MIND =
  /\b(?:poem|haiku|song|story|novel|joke|essay|e-?mail|letter|speech|app|api|website|game|script|program|research|translation)\b/i;
/** At the beginning of a clause these ask for more than a survey, whatever else is asked for. */
const TASKS =
  "compare|contrast|diff|calculat\\w*|comput\\w*|convert|translate|refactor|rewrite|implement|fix|debug|deploy|build|develop|design|optimi[sz]e|improve|solve|answer|explain why|decide|choose|recommend|predict|plan|classify|rank|merge|rename|delete|remove|edit|change|update|add|install|test|download|search|google|buy|book|send|post|publish|negotiate|simulate|train|draw|paint|plot";
const TASK_TO_THINK_ABOUT = new RegExp(
  `(?:^|[.;:,!?\\n]\\s*|\\b(?:and|then|please)\\s+)(?:please\\s+|then\\s+)*(?:${TASKS})\\b|\\bwhat(?:'s| is)? differ\\w*|\\bdifferences?\\b`,
  "i",
);

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
