import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** What is wrong with a value, in plain words: `expected a number; there is text`. */
export function issueWords(issue: Issue): string {
  if (issue.code === "unrecognized_keys") return `there is no field ${issue.keys.map((key) => `"${key}"`).join(", ")}`;
  return isOurs(issue) ? issue.message : `expected ${expectedWords(issue)}${receivedWords(issue)}`;
}

/** The words of a schema of ours are kept; in place of its library's ("Invalid …", "Too …") stand ours. */
export function expectedWords(issue: Issue): string {
  if (isOurs(issue)) return issue.message.replace(/^expected /, "");
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values);
    case "too_small":
      return issue.origin === "string" && issue.minimum === 1
        ? "text that is not empty"
        : `${issue.inclusive === false ? "more than" : "at least"} ${amount(issue.minimum, issue.origin)}`;
    case "too_big":
      return `${issue.inclusive === false ? "less than" : "at most"} ${amount(issue.maximum, issue.origin)}`;
    case "invalid_format":
      return FORMATS[issue.format] ?? "text of another form";
    case "invalid_key":
      return issue.issues[0] ? expectedWords(issue.issues[0]) : "another name";
    case "invalid_union":
      return "options" in issue ? oneOf(issue.options ?? []) : eitherOf(issue.errors);
    default:
      return "something else";
  }
}

/**
 * The issues that say what is wrong. Where a value may have several forms, they are those of the form that was nearly
 * right; none was if all of them expected another type.
 */
export function innermost(issues: readonly Issue[]): Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "invalid_union") return [issue];
    const [nearly] = issue.errors.filter(isBegun).toSorted((a, b) => a.length - b.length);
    if (!nearly) return [issue];
    return innermost(nearly.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })));
  });
}

function isBegun([first]: readonly Issue[]): boolean {
  return first?.code !== "invalid_type" || first.path.length > 0;
}

function isOurs({ message }: Issue): boolean {
  return !/^(Invalid|Too)\b/.test(message);
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text in quotes",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object in braces",
  record: "an object in braces",
};

const FORMATS: Readonly<Record<string, string>> = {
  url: "an address",
  datetime: "a time such as 2027-02-12T09:00:00Z",
};

function oneOf(values: readonly z.core.util.Primitive[]): string {
  const written = values.map((value) => JSON.stringify(value)).join(", ");
  return values.length === 1 ? written : `one of ${written}`;
}

function eitherOf(forms: readonly Issue[][]): string {
  return [...new Set(forms.flatMap(([first]) => (first ? [expectedWords(first)] : [])))].join(" or ");
}

function amount(number: number | bigint, origin: string): string {
  if (origin !== "string" && origin !== "array") return String(number);
  const [one, more] = origin === "string" ? ["character", "characters"] : ["entry", "entries"];
  return `${number} ${number === 1 ? one : more}`;
}

/** The library says in its message alone what it was given. */
function receivedWords(issue: Issue): string {
  const isOfAnotherType = issue.code === "invalid_type" && issue.expected !== "int";
  const received = isOfAnotherType ? /received (\w+)$/.exec(issue.message)?.[1] : undefined;
  return received === undefined || RECEIVED[received] === undefined ? "" : `; ${RECEIVED[received]}`;
}

const RECEIVED: Readonly<Record<string, string>> = {
  undefined: "it is missing",
  null: "there is null",
  string: "there is text",
  number: "there is a number",
  boolean: "there is true or false",
  array: "there is a list",
  object: "there is an object",
};
