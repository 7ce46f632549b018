import type { WireFinish } from "../provider-turn.ts";
import { contentWords, type JsonRecord, parsedOr, recordOf, recordsOf, stringOf } from "./json.ts";
import { frame, joined, type ProviderMessage, type ProviderWire, pieces, type WireReply } from "./wire.ts";

/** Google Gemini: `POST /v1beta/models/NAME:streamGenerateContent?alt=sse` and `:generateContent`. */
export const geminiWire: ProviderWire = {
  read(body) {
    const declared = (tool: JsonRecord) =>
      recordsOf(tool.functionDeclarations).map((declaration) => stringOf(declaration.name));
    const own = (tool: JsonRecord) => Object.keys(tool).filter((key) => key !== "functionDeclarations");
    return {
      system: contentWords(recordOf(body.systemInstruction).parts),
      messages: joined(recordsOf(body.contents).flatMap(readContent)),
      tools: recordsOf(body.tools).flatMap((tool) => [...declared(tool), ...own(tool)]),
    };
  },

  stream(reply) {
    const content = [
      ...thinkingParts(reply),
      ...(reply.unknownBlock ? [{ hologram: { frames: 3 } }] : []),
      ...pieces(reply.text).map((text) => ({ text })),
      ...callParts(reply),
    ];
    const frames = content.map((part) => frame(chunk(reply, [part])));
    const ending = frames.length;
    // The vendor's last chunk of a text holds no words, only what is known at the end.
    frames.push(frame(chunk(reply, lastParts(reply), endOf(reply))));
    return { frames, ending };
  },

  whole(reply) {
    const hologram = reply.unknownBlock ? [{ hologram: { frames: 3 } }] : [];
    const text = reply.text === "" ? [] : [{ text: reply.text, ...signatureOnText(reply) }];
    return chunk(reply, [...thinkingParts(reply), ...hologram, ...text, ...callParts(reply)], endOf(reply));
  },

  refusal(status, message) {
    return { error: { code: status, message, status: ERROR_STATUS[status] ?? "UNKNOWN" } };
  },

  streamError(kind) {
    const error =
      kind === "overloaded"
        ? { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" }
        : { code: 500, message: "An internal error has occurred.", status: "INTERNAL" };
    return frame({ error });
  },
};

const FINISH_REASON: Record<WireFinish, string> = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
  pause: "STOP",
};

const ERROR_STATUS: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

function chunk(reply: WireReply, parts: readonly JsonRecord[], end: JsonRecord = {}): JsonRecord {
  return {
    candidates: [{ content: { parts, role: "model" }, ...end, index: 0 }],
    usageMetadata: usageOf(reply),
    modelVersion: reply.model,
    responseId: reply.id,
  };
}

function endOf(reply: WireReply): JsonRecord {
  if (isMalformed(reply))
    return { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: it is not JSON." };
  return {
    finishReason: FINISH_REASON[reply.finish],
    ...(reply.search ? { groundingMetadata: groundingOf(reply, reply.search) } : {}),
  };
}

/** Arguments are objects on this wire, so that a model's bad JSON never reaches the client. */
function isMalformed(reply: WireReply): boolean {
  return reply.calls.some(({ json }) => typeof parsedOr(json) !== "object");
}

function thinkingParts({ thinking }: WireReply): JsonRecord[] {
  return thinking && !thinking.redacted ? [{ text: thinking.text, thought: true }] : [];
}

/** The signature stands on the first call of a turn, or, where there is none, with the last of the text. */
function callParts(reply: WireReply): JsonRecord[] {
  if (isMalformed(reply)) return [];
  return reply.calls.map(({ id, name, json }, at) => ({
    functionCall: { id, name, args: parsedOr(json) },
    ...(at === 0 && reply.thinking ? { thoughtSignature: reply.thinking.signature } : {}),
  }));
}

function lastParts(reply: WireReply): JsonRecord[] {
  return reply.text === "" && reply.calls.length > 0 ? [] : [{ text: "", ...signatureOnText(reply) }];
}

function signatureOnText({ thinking, calls }: WireReply): JsonRecord {
  return thinking && calls.length === 0 ? { thoughtSignature: thinking.signature } : {};
}

function groundingOf({ text }: WireReply, { query, results }: NonNullable<WireReply["search"]>): JsonRecord {
  return {
    searchEntryPoint: { renderedContent: `<div>${query}</div>` },
    groundingChunks: results.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: [
      {
        segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text },
        groundingChunkIndices: results.map((_, at) => at),
      },
    ],
    webSearchQueries: [query],
  };
}

/** Gemini counts thoughts beside the answer, not within it. */
function usageOf({ usage }: WireReply) {
  return {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: usage.input + usage.output,
    ...(usage.cache_read > 0 ? { cachedContentTokenCount: usage.cache_read } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  };
}

function readContent(content: JsonRecord): ProviderMessage[] {
  const parts = recordsOf(content.parts);
  if (content.role === "model") {
    const calls = parts
      .map((part) => recordOf(part.functionCall))
      .filter((call) => call.name !== undefined)
      .map((call) => ({ id: stringOf(call.id), name: stringOf(call.name), args: call.args }));
    return [{ role: "assistant", text: contentWords(parts.filter((part) => part.thought !== true)), calls }];
  }
  return parts.map((part) => {
    if (part.functionResponse === undefined) return { role: "user", text: stringOf(part.text) };
    const { id, name, response } = recordOf(part.functionResponse);
    const { content: said, output, result, error } = recordOf(response);
    const text = stringOf(said) || stringOf(output) || stringOf(result) || stringOf(error) || JSON.stringify(response);
    return { role: "tool", call_id: stringOf(id) || stringOf(name), text };
  });
}
