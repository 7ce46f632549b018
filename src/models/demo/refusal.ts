import { ModelFailure } from "../model.ts";
import { cut, plain } from "./markdown.ts";
import { SURVEYOR } from "./survey.ts";

export const HOW_TO_GET_A_MODEL =
  "For a real model set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local one) and start again.";

/** DEMO-SURVEY-4: what is asked for and is not a survey is not done at all, rather than done as one. */
export function cannotDo(task: string): ModelFailure {
  const words = [
    `${SURVEYOR} is the built-in demo: rules, not a language model. It can only survey files (count, list and quote them), and "${plain(cut(task, 60))}" needs more than that.`,
    "Set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY (or OLLAMA_BASE_URL for a local model), then resume it with --model PROVIDER/MODEL.",
    'To see the demo at work: agiraph run "Survey the files in this folder"',
  ];
  return new ModelFailure("bad_request", words.join(" "), { retryable: false });
}
