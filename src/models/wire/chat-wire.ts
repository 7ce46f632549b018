import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { orAbort } from "../../boundary/or-abort.ts";
import type { ModelSettings } from "../../protocol/config.ts";
import type { ModelRequest, ToolSpec } from "../model.ts";
import { type Attempt, MOST_OF_AN_ERROR } from "./attempt.ts";
import { ChatReader } from "./chat-reader.ts";
import { GrowingBody } from "./growing-body.ts";
import type { Post, PostResponse } from "./post.ts";
import { PromptWriter } from "./prompt-writer.ts";
import type { ProviderQuirks } from "./provider-quirks.ts";
import { createEventReader } from "./sse.ts";
import { wellFormedJson } from "./well-formed.ts";
import type { Take, Wire } from "./wire.ts";

/**
 * Our own implementation of the chat-completions format, which every local server and most others use: reading it
 * directly is much cheaper than any SDK's pipeline of streams and schemas.
 *
 * CHAT-WIRE-1. A message is serialised once. A turn adds the bytes of what is new to those that are there (see
 *     growing-body.ts).
 * CHAT-WIRE-2. No part of a server's response is assumed to have the right shape; what does not is ignored.
 */
export interface ChatServer {
  baseURL: string;
  apiKey: string;
  post: Post;
}

export function createChatWire(
  provider: string,
  model: string,
  quirks: ProviderQuirks,
  server: ChatServer,
  settings: ModelSettings = {},
): Wire {
  const writer = new PromptWriter(provider, quirks);
  const said = new GrowingBody(`{"model":${JSON.stringify(model)},"messages":[`, messageText);
  const tails = new WeakMap<readonly ToolSpec[], Uint8Array>();
  const set = settingsText(settings);
  const url = `${server.baseURL}/chat/completions`;
  const headers = {
    "content-type": "application/json",
    ...(server.apiKey !== "" && { authorization: `Bearer ${server.apiKey}` }),
  };

  function tailOf(tools: readonly ToolSpec[]): Uint8Array {
    let tail = tails.get(tools);
    if (tail === undefined) {
      const list = tools.length > 0 ? `"tools":[${tools.map(toolText).join(",")}],` : "";
      tail = sharedBytes(`],${list}${set}"stream":true,"stream_options":{"include_usage":true}}`);
      tails.set(tools, tail);
    }
    return tail;
  }

  function bodyOf({ system, history, tools }: ModelRequest): Uint8Array[] {
    return [said.bytesOf(writer.write(system, history)), tailOf(tools)];
  }

  return {
    async ask(request, _said, attempt, take) {
      const { signal } = attempt;
      const answer = await orAbort(server.post(url, headers, bodyOf(request), signal), signal);
      attempt.heard(0);
      if (answer.status < 200 || answer.status > 299) throw await refusal(answer, attempt);
      attempt.opening.begin(answer.headers["content-type"]);
      await readReply(answer, quirks.key, attempt, take);
    },
  };
}

/** As fields of the body, each with its comma. */
function settingsText({ temperature, max_output_tokens: max_tokens, reasoning_effort }: ModelSettings): string {
  const fields = JSON.stringify({ temperature, max_tokens, reasoning_effort }).slice(1, -1);
  return fields === "" ? "" : `${fields},`;
}

async function readReply(answer: PostResponse, key: string, attempt: Attempt, take: Take): Promise<void> {
  const reader = new ChatReader(key);
  if (answer.headers["content-type"]?.includes("application/json")) {
    // A server that cannot stream sends the whole reply at once.
    for (const part of reader.whole(JSON.parse(await textOf(answer, attempt)))) take(part);
    return;
  }
  const events = createEventReader();
  let wanted = true;
  const onData = (data: string) => {
    for (const part of reader.event(data)) wanted = wanted && take(part);
  };
  await answer.read((bytes) => {
    attempt.opening.add(bytes);
    events.push(bytes, onData);
    attempt.heard(bytes.byteLength, events.unfinished);
    return wanted && !attempt.signal.aborted;
  });
  if (wanted && !attempt.signal.aborted) for (const part of reader.end()) take(part);
}

/** The whole body, up to `most` bytes: what is behind them is not read. */
async function textOf(answer: PostResponse, attempt: Attempt, most = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  await answer.read((bytes) => {
    total += bytes.byteLength;
    chunks.push(bytes);
    attempt.opening.add(bytes);
    attempt.heard(bytes.byteLength, total);
    return total < most && !attempt.signal.aborted;
  });
  return Buffer.concat(chunks).toString();
}

function messageText(message: LanguageModelV4Message): string {
  return chatMessages(message)
    .map((each) => JSON.stringify(each))
    .join(",");
}

/** One message of ours may be several on the wire: every result has its own. */
function chatMessages(message: LanguageModelV4Message): object[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [
        { role: "user", content: message.content.map((part) => (part.type === "text" ? part.text : "")).join("") },
      ];
    case "assistant":
      return [assistantMessage(message)];
    case "tool":
      return toolMessages(message);
  }
}

/** Results are words in this format: pictures follow them all, as if the user showed them. */
function toolMessages({ content }: Extract<LanguageModelV4Message, { role: "tool" }>): object[] {
  const results = content.filter((part) => part.type === "tool-result");
  const shown = results.flatMap(({ output }) => (output.type === "content" ? output.value : []));
  const pictures = shown.flatMap((part) =>
    part.type === "file" && part.data.type === "data"
      ? [{ type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data.data}` } }]
      : [],
  );
  return [
    ...results.map(({ toolCallId, output }) => ({ role: "tool", tool_call_id: toolCallId, content: wordsIn(output) })),
    ...(pictures.length > 0 ? [{ role: "user", content: pictures }] : []),
  ];
}

function wordsIn(output: LanguageModelV4ToolResultPart["output"]): string {
  if (output.type === "text" || output.type === "error-text") return output.value;
  return output.type === "content" ? output.value.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
}

function assistantMessage({ content }: Extract<LanguageModelV4Message, { role: "assistant" }>): object {
  let text = "";
  let reasoning = "";
  const calls: object[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call") {
      const args = typeof part.input === "string" ? part.input : JSON.stringify(part.input);
      const own = Object.values(part.providerOptions ?? {})[0];
      calls.push({ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: args }, ...own });
    }
  }
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    // Models that think between their calls are lost without what they thought.
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** A tool is made for everyone who has it, its schema once: so is its text. */
const toolTexts = new WeakMap<object, { name: string; description: string; text: string }>();

function toolText({ name, description, parameters }: ToolSpec): string {
  const known = toolTexts.get(parameters);
  if (known?.name === name && known.description === description) return known.text;
  const text = JSON.stringify(wellFormedJson({ type: "function", function: { name, description, parameters } }));
  toolTexts.set(parameters, { name, description, text });
  return text;
}

let lastShared = { text: "", bytes: Buffer.alloc(0) };

/** People of one team have the same tools, and send the same bytes. */
function sharedBytes(text: string): Uint8Array {
  if (lastShared.text !== text) lastShared = { text, bytes: Buffer.from(text) };
  return lastShared.bytes;
}

const LONGEST_EXPLANATION = 20_000;

/** In the shape in which the SDKs throw it. */
async function refusal(answer: PostResponse, attempt: Attempt): Promise<Error> {
  const responseBody = (await textOf(answer, attempt, MOST_OF_AN_ERROR)).slice(0, LONGEST_EXPLANATION);
  return Object.assign(new Error(explanation(responseBody) || answer.statusText || "no reason given"), {
    name: "AI_APICallError",
    statusCode: answer.status,
    responseHeaders: answer.headers,
    responseBody,
  });
}

function explanation(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = parsed instanceof Object && "error" in parsed ? parsed.error : parsed;
    if (typeof error === "string") return error;
    const message = error instanceof Object && "message" in error ? error.message : undefined;
    return typeof message === "string" ? message : "";
  } catch {
    // A proxy's page rather than the server's word; its status says more than its markup.
    return "";
  }
}
