import { nearest } from "../../boundary/nearest.ts";
/** What the parser of the command line says about a wrong call, in sentences like all others of ours. */
export function usageWords(message: string): string {
  const text = message.replace(/^error: /, "").trim();
  const [, said = "", meant] = /^(.*?)(?:\n\((Did you mean .*\?)\))?$/s.exec(text) ?? [];
  for (const [pattern, words] of SENTENCES)
    if (pattern.test(said)) return said.replace(pattern, words) + (meant ? ` ${meant}` : "");
  return text.replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^unknown command '(.*)'$/s, 'There is no command "$1".'],
  [/^unknown option '(.*)'$/s, 'There is no option "$1".'],
  [/^missing required argument '(.*)'$/, 'The argument "$1" is missing.'],
  [/^option '(?:-\w, )?(--[\w-]+)[^']*' argument missing$/, "$1 needs a value."],
  [/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*?)' is invalid\./s, '$1: "$2" is not valid.'],
  [/^command-argument value '(.*?)' is invalid for argument '(.*?)'\./s, '$2: "$1" is not valid.'],
  [/^too many arguments for '(.*?)'\./, 'Too many arguments for "$1".'],
];

/** A command such as `git` that takes one of several actions. */
export function unknownAction(command: string, action: string, actions: readonly string[]): string {
  const [near] = nearest(action, actions, 1);
  const meant = near ? ` Did you mean ${near}?` : "";
  return `There is no command "${command} ${action}".${meant} Choose from: ${actions.join(", ")}.`;
}
