import {
  type CallPart,
  callsOf,
  type Entry,
  type Part,
  type ReplyEntry,
  type ResultEntry,
  type UserEntry,
} from "../../protocol/index.ts";
import { type Model, ModelFailure, type ModelRequest, type ToolSpec } from "../model.ts";
import { isTooDeep, parseArguments } from "./reply-reader.ts";
import { createTagReader, type TagPiece } from "./tag-reader.ts";

/**
 * Tools for models without native tool calls: schemas in the prompt, calls and results as tagged text.
 *
 * TEXT-TOOLS-1. The tags carry a nonce that only this conversation's model is told, so text that a tool fetched cannot
 *     forge a call or a result.
 * TEXT-TOOLS-2. In the record a call is a call and a result is a result. Only this middleware sees them as text, so a
 *     conversation can continue with another model, or with another nonce.
 * TEXT-TOOLS-3. The content of a call's tags is answered even if it is not a valid call: the toolbox tells the model
 *     what is wrong.
 * TEXT-TOOLS-4. If a reply called nothing and we answer it, the answer shows the right format: a model that wrote a
 *     call in another format cannot know what was wrong with it.
 */
export function withTextTools(model: Model, nonce: string): Model {
  const { id, contextWindow, searchesWeb } = model;
  const text = new TextTools(model, nonce);
  return { id, contextWindow, searchesWeb, reply: (request, signal) => text.reply(request, signal) };
}

class TextTools {
  readonly #model: Model;
  readonly #nonce: string;
  readonly #tag: string;
  readonly #resultTag: string;
  readonly #asText = new WeakMap<Entry, Entry>();
  readonly #prompts = new WeakMap<readonly ToolSpec[], string>();
  #calls = 0;

  constructor(model: Model, nonce: string) {
    this.#model = model;
    this.#nonce = nonce;
    this.#tag = `tool_call-${nonce}`;
    this.#resultTag = `tool_result-${nonce}`;
  }

  async reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    const { onDelta, system, tools } = request;
    const live = onDelta && createTagReader(this.#tag);
    const inner = await this.#model.reply(
      {
        ...request,
        system: tools.length === 0 ? system : `${system}\n\n${this.#promptOf(tools)}`,
        history: request.history.map((entry, at, history) => this.#textEntry(entry, history[at - 1])),
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
    const content = inner.content.flatMap((part) => (part.type === "text" ? this.#split(part.text) : [part]));
    return { ...inner, content };
  }

  /** Said with every request, not kept in the record: a conversation that is resumed has another nonce. */
  #promptOf(tools: readonly ToolSpec[]): string {
    let text = this.#prompts.get(tools);
    if (text === undefined) {
      text = promptFor(tools, this.#tag, this.#resultTag);
      this.#prompts.set(tools, text);
    }
    return text;
  }

  #textEntry(entry: Entry, before: Entry | undefined): Entry {
    if (entry.role === "summary" || entry.role === "system") return entry;
    let known = this.#asText.get(entry);
    if (known === undefined) {
      if (entry.role === "tool") known = resultAsText(entry, this.#resultTag);
      else if (entry.role === "assistant") known = callsAsText(entry, this.#tag);
      else known = isReminder(entry, before) ? { ...entry, content: withForm(entry.content, this.#tag) } : entry;
      this.#asText.set(entry, known);
    }
    return known;
  }

  #split(text: string): Part[] {
    const reader = createTagReader(this.#tag);
    const pieces = [...reader.push(text), ...reader.end()];
    return pieces
      .filter((piece) => piece.type === "call" || piece.text.trim() !== "")
      .map((piece) => this.#partOf(piece));
  }

  #partOf(piece: TagPiece): Part {
    if (piece.type === "text") return { type: "text", text: piece.text };
    this.#calls++;
    return { type: "call", id: `call_${this.#nonce}_${this.#calls}`, ...readCall(piece.text) };
  }
}

function promptFor(tools: readonly ToolSpec[], tag: string, resultTag: string): string {
  const schemas = tools.map(
    ({ name, description, parameters }) => `### ${name}\n${description}\nParameters: ${JSON.stringify(parameters)}`,
  );
  return [
    "## How to call tools",
    "To call a tool, write exactly this, with the tag as it stands here and one JSON object inside:",
    formWith(tag),
    `You may make several calls in one reply. After the calls stop writing: each call is answered in <${resultTag}> tags. ` +
      "Never write such an answer yourself, and never show these tags to anyone.",
    "## Available tools",
    ...schemas,
  ].join("\n\n");
}

function formWith(tag: string): string {
  return `<${tag}>{"name": "tool_name", "arguments": {"key": "value"}}</${tag}>`;
}

function withForm(words: string, tag: string): string {
  return `${words}\n\nA call looks exactly like this, with this tag: ${formWith(tag)}`;
}

/** What we say to a model that called nothing; news and what people say are different. */
function isReminder({ from, upto }: UserEntry, before: Entry | undefined): boolean {
  return from === "agiraph" && upto === undefined && before?.role === "assistant" && callsOf(before).length === 0;
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
      const args: unknown = key === undefined ? {} : Reflect.get(parsed, key);
      if (typeof args === "string") return { name: parsed.name, args: parseArguments(args) };
      if (!isTooDeep(args)) return { name: parsed.name, args };
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

/**
 * Native tools, or tools as text if `native` is false. If nobody said which, native tools are tried until the provider
 * answers that the model has none; from then on they are text.
 */
export function withToolsAsText(model: Model, nonce: () => string, native: boolean | undefined): Model {
  if (native === true) return model;
  if (native === false) return withTextTools(model, nonce());
  let text: Model | undefined;
  return {
    ...model,
    async reply(request, signal) {
      if (text !== undefined) return text.reply(request, signal);
      try {
        return await model.reply(request, signal);
      } catch (error) {
        if (!isWithoutTools(error, request)) throw error;
        text = withTextTools(model, nonce());
        request.onWarning?.(
          `${model.id} has no native tools, so they go as text. Set models["${model.id}"].native_tools to false in config.json, and it is not tried again.`,
        );
        return text.reply(request, signal);
      }
    },
  };
}

const NO_TOOLS =
  /(?:does not|doesn't|do not) support (?:tool|function)|support tool use|(?:tools?|tool use|tool calling|function calling) (?:is|are) not (?:supported|enabled)/i;

function isWithoutTools(error: unknown, { tools }: ModelRequest): boolean {
  return (
    tools.length > 0 && error instanceof ModelFailure && error.reason === "bad_request" && NO_TOOLS.test(error.message)
  );
}
