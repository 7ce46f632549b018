import type { CallPart, Entry, Part, ReplyEntry, ResultEntry } from "../protocol/index.ts";
import type { Model, ModelRequest, ToolSpec } from "./model.ts";
import { createTagReader, type TagPiece } from "./tag-reader.ts";

/**
 * Tools for models that cannot call tools by themselves: schemas in the prompt, calls and results as tagged text.
 *
 * X1. The tags carry a nonce that only this conversation's model is told, so text that a tool fetched cannot forge a
 *     call or a result.
 * X2. In the record a call is a call and a result is a result. Only this middleware sees them as text, so a
 *     conversation can go on with another model, or with another nonce.
 * X3. What stands in a call's tags is answered, also when it is not a call: the toolbox tells the model what is wrong.
 */
export function withTextTools(model: Model, nonce: string): Model {
  const tag = `tool_call-${nonce}`;
  const resultTag = `tool_result-${nonce}`;
  const asText = new WeakMap<Entry, Entry>();
  const prompts = new WeakMap<readonly ToolSpec[], string>();
  let calls = 0;

  function textEntry(entry: Entry): Entry {
    if (entry.role !== "assistant" && entry.role !== "tool") return entry;
    let known = asText.get(entry);
    if (known === undefined) {
      known = entry.role === "tool" ? resultAsText(entry, resultTag) : callsAsText(entry, tag);
      asText.set(entry, known);
    }
    return known;
  }

  /** Said with every request, not kept in the record: whoever takes the conversation up has another nonce. */
  function promptOf(tools: readonly ToolSpec[]): string {
    let text = prompts.get(tools);
    if (text === undefined) {
      text = promptFor(tools, tag, resultTag);
      prompts.set(tools, text);
    }
    return text;
  }

  function partOf(piece: TagPiece): Part {
    if (piece.type === "text") return { type: "text", text: piece.text };
    calls++;
    return { type: "call", id: `call_${nonce}_${calls}`, ...readCall(piece.text) };
  }

  async function reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    const { onDelta } = request;
    const live = onDelta && createTagReader(tag);
    const inner = await model.reply(
      {
        ...request,
        system: request.tools.length === 0 ? request.system : `${request.system}\n\n${promptOf(request.tools)}`,
        history: request.history.map(textEntry),
        tools: [],
        ...(live && {
          onDelta(delta) {
            if (delta.kind === "reasoning") onDelta(delta);
            else for (const piece of live.push(delta.text)) tellWords(piece, onDelta);
          },
        }),
      },
      signal,
    );
    if (live) for (const piece of live.end()) tellWords(piece, onDelta);
    return { ...inner, content: inner.content.flatMap((part) => (part.type === "text" ? split(part.text) : [part])) };
  }

  function split(text: string): Part[] {
    const reader = createTagReader(tag);
    const pieces = [...reader.push(text), ...reader.end()];
    return pieces.filter((piece) => piece.type === "call" || piece.text.trim() !== "").map(partOf);
  }

  return {
    id: model.id,
    contextWindow: model.contextWindow,
    searchesWeb: model.searchesWeb,
    reply,
  };
}

function promptFor(tools: readonly ToolSpec[], tag: string, resultTag: string): string {
  const schemas = tools.map(
    ({ name, description, parameters }) => `### ${name}\n${description}\nParameters: ${JSON.stringify(parameters)}`,
  );
  return [
    "## How to call tools",
    "To call a tool, write exactly this, with the tag as it stands here and one JSON object inside:",
    `<${tag}>{"name": "tool_name", "arguments": {"key": "value"}}</${tag}>`,
    `You may make several calls in one reply. After the calls stop writing: each call is answered in <${resultTag}> tags. ` +
      "Never write such an answer yourself, and never show these tags to anyone.",
    "## Available tools",
    ...schemas,
  ].join("\n\n");
}

function callsAsText(entry: ReplyEntry, tag: string): ReplyEntry {
  const content = entry.content.map((part): Part => {
    if (part.type !== "call") return part;
    const written = typeof part.args === "string" ? part.args : JSON.stringify(part.args ?? null);
    return { type: "text", text: `<${tag}>{"name": ${JSON.stringify(part.name)}, "arguments": ${written}}</${tag}>` };
  });
  return { ...entry, content };
}

function resultAsText(entry: ResultEntry, tag: string): Entry {
  const about = `tool=${JSON.stringify(entry.tool)} ok="${entry.ok}"`;
  return { role: "user", from: "agiraph", content: `<${tag} ${about}>\n${entry.content}\n</${tag}>` };
}

/** A call in the form we asked for, or in one of the forms models fall into; else its text, for the toolbox to answer. */
function readCall(text: string): Pick<CallPart, "name" | "args"> {
  const bare = unfenced(text.trim());
  try {
    const parsed: unknown = JSON.parse(bare);
    if (parsed instanceof Object && "name" in parsed && typeof parsed.name === "string") {
      const key = ["arguments", "args", "parameters", "input"].find((name) => name in parsed);
      return { name: parsed.name, args: key === undefined ? {} : Reflect.get(parsed, key) };
    }
  } catch {
    // Falls through to the raw text.
  }
  const name = /"name"\s*:\s*"([^"]+)"/.exec(bare)?.[1] ?? "unknown";
  // What was meant as arguments, when it can be told from the rest: that is what the toolbox quotes to the model.
  const at = /"arguments"\s*:/.exec(bare);
  if (!at) return { name, args: bare };
  const meant = bare.slice(at.index + at[0].length).trim();
  return { name, args: meant.endsWith("}") ? meant.slice(0, -1).trimEnd() : meant };
}

/** By hand, not by one pattern: a model's text may be megabytes of blanks, and a pattern would look at each of them twice. */
function unfenced(text: string): string {
  const opened = text.startsWith("```json") ? text.slice(7) : text.startsWith("```") ? text.slice(3) : text;
  return (opened.endsWith("```") ? opened.slice(0, -3) : opened).trim();
}

function tellWords(piece: TagPiece, onDelta: NonNullable<ModelRequest["onDelta"]>): void {
  if (piece.type === "text") onDelta({ kind: "text", text: piece.text });
}
