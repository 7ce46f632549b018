/**
 * Finds text that looks like a tool call and is none: models write such text when they have no native tools, or forget
 * how to use them. Such a call is never run (the model may only be repeating somebody else's text), but the model is
 * told, and the text is never taken for an answer.
 *
 * `tool` is "" if it is not clear which tool was meant. Text in the format of a call is certain; a call that is only
 * mentioned may be just text.
 */
export function unmadeCall(
  text: string,
  tools: readonly { name: string }[],
): { tool: string; certain: boolean } | undefined {
  if (tools.length === 0) return undefined;
  // Plain words are searched to a length that no call exceeds before it names its tool.
  const words = text.length > MOST ? text.slice(0, MOST) : text;
  const known = new Set(tools.map(({ name }) => name));
  const namedIn = (forms: readonly RegExp[]) =>
    forms.flatMap((form) => [...words.matchAll(form)].map(([, name = ""]) => name)).find((name) => known.has(name));
  const written = namedIn(WRITTEN) ?? (TAG.test(words) ? "" : undefined);
  if (written !== undefined) return { tool: written, certain: true };
  const spoken = namedIn(SPOKEN);
  return spoken === undefined ? undefined : { tool: spoken, certain: false };
}

const MOST = 100_000;

const TAG = /<\|?(?:tool_calls?|function_calls?|tool_use)\b[\w-]*\|?>|\[TOOL_CALLS?\]/i;

const WRITTEN: readonly RegExp[] = [
  // {"name": "read_file", "arguments": {…}}, in a fence or not
  /"(?:name|tool|tool_name|function|action|recipient_name)"\s*:\s*"(?:functions\.)?(\w+)"/g,
  // <function=read_file>, <invoke name="read_file">
  /<(?:function=|invoke\s+name=|tool\s+name=)"?(\w+)/g,
  // read_file(path="a.md"), at the beginning of a line
  /^[ \t`]*(?:print\()?(?:default_api\.|functions\.)?(\w+)\(/gm,
];

const SPOKEN: readonly RegExp[] = [
  // I will now call read_file with …
  /\b(?:call|calling|invoke|invoking|execute|executing)\s+(?:the\s+)?(?:tool\s+|function\s+)?[`"*]*(\w+)/gi,
  /\b(?:use|using|run|running)\s+(?:the\s+)?[`"*]*(\w+_\w+)/gi,
];
