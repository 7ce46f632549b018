import { contentWords, type JsonRecord, parsedOr, recordsOf, stringOf } from "./json.ts";
import { frame, joined, type ProviderMessage, type ProviderWire, pieces, type WireReply } from "./wire.ts";

/** OpenAI Responses: `POST /v1/responses`. */
export const openaiResponsesWire: ProviderWire = {
  read(body) {
    const input = typeof body.input === "string" ? [{ role: "user", content: body.input }] : recordsOf(body.input);
    const isSystem = (item: JsonRecord) => item.role === "system" || item.role === "developer";
    return {
      system: [stringOf(body.instructions), ...input.filter(isSystem).map((item) => contentWords(item.content))]
        .filter(Boolean)
        .join("\n"),
      messages: joined(input.filter((item) => !isSystem(item)).map(readItem)),
      tools: recordsOf(body.tools).map((tool) => stringOf(tool.name) || stringOf(tool.type)),
    };
  },

  stream(reply) {
    let sequence_number = 0;
    const event = (type: string, data: JsonRecord) =>
      frame({ type, sequence_number: sequence_number++, ...data }, type);
    const started = { response: responseOf(reply, "in_progress", []) };
    const items = itemsOf(reply);
    const frames = [event("response.created", started), event("response.in_progress", started)];
    for (const [output_index, item] of items.entries()) {
      frames.push(event("response.output_item.added", { output_index, item: item.added }));
      for (const [type, data] of item.events)
        frames.push(event(type, { item_id: item.done.id, output_index, ...data }));
      frames.push(event("response.output_item.done", { output_index, item: item.done }));
    }
    const ending = frames.length;
    const status = statusOf(reply);
    frames.push(
      event(`response.${status}`, {
        response: responseOf(
          reply,
          status,
          items.map(({ done }) => done),
        ),
      }),
    );
    return { frames, ending };
  },

  whole(reply) {
    return responseOf(
      reply,
      statusOf(reply),
      itemsOf(reply).map(({ done }) => done),
    );
  },

  refusal(status, message) {
    const code = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null;
    return { error: { message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code } };
  },

  streamError(kind) {
    const code = kind === "overloaded" ? "rate_limit_exceeded" : "server_error";
    const message = kind === "overloaded" ? "Rate limit reached" : "The server had an error";
    // The reference shows the fields flat, the live API nests them; clients read either.
    const error = { type: code, code, message, param: null };
    return frame({ type: "error", sequence_number: 3, code, message, param: null, error }, "error");
  },
};

/** An output item as it is announced, what happens to it, and as it stands when it is done. */
interface Item {
  added: JsonRecord;
  events: [type: string, data: JsonRecord][];
  done: JsonRecord;
}

function itemsOf(reply: WireReply): Item[] {
  const items: Item[] = [];
  if (reply.thinking) items.push(reasoningItem(reply.id, reply.thinking));
  if (reply.search) items.push(searchItem(reply.id, reply.search));
  if (reply.unknownBlock) {
    const hologram = { type: "hologram_call", id: `ho_${reply.id}`, status: "completed", frames: 3 };
    items.push({ added: hologram, events: [["response.hologram_call.delta", { delta: "…" }]], done: hologram });
  }
  if (reply.text !== "") items.push(messageItem(reply));
  for (const call of reply.calls) items.push(callItem(call));
  return items;
}

function reasoningItem(id: string, { text, signature, redacted }: NonNullable<WireReply["thinking"]>): Item {
  const item = { id: `rs_${id}`, type: "reasoning", encrypted_content: signature };
  if (redacted) return { added: { ...item, summary: [] }, events: [], done: { ...item, summary: [] } };
  const at = { summary_index: 0 };
  const part = { type: "summary_text", text };
  return {
    added: { ...item, encrypted_content: `${signature} so far`, summary: [] },
    events: [
      ["response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } }],
      ...pieces(text).map((delta): Item["events"][number] => [
        "response.reasoning_summary_text.delta",
        { ...at, delta },
      ]),
      ["response.reasoning_summary_text.done", { ...at, text }],
      ["response.reasoning_summary_part.done", { ...at, part }],
    ],
    done: { ...item, summary: [part] },
  };
}

function searchItem(id: string, { query, results }: NonNullable<WireReply["search"]>): Item {
  const item = { id: `ws_${id}`, type: "web_search_call" };
  const sources = results.map(({ url }) => ({ type: "url", url }));
  return {
    added: { ...item, status: "in_progress" },
    events: [
      ["response.web_search_call.in_progress", {}],
      ["response.web_search_call.searching", {}],
      ["response.web_search_call.completed", {}],
    ],
    done: { ...item, status: "completed", action: { type: "search", query, sources } },
  };
}

function messageItem({ id, text, search }: WireReply): Item {
  const item = { id: `msg_${id}`, type: "message", role: "assistant" };
  const at = { content_index: 0 };
  const annotations = (search?.results ?? []).map(({ url, title }) => ({
    type: "url_citation",
    start_index: 0,
    end_index: text.length,
    url,
    title,
  }));
  const part = { type: "output_text", text, annotations, logprobs: [] };
  return {
    added: { ...item, status: "in_progress", content: [] },
    events: [
      ["response.content_part.added", { ...at, part: { ...part, text: "", annotations: [] } }],
      ...pieces(text).map((delta): Item["events"][number] => [
        "response.output_text.delta",
        { ...at, delta, logprobs: [] },
      ]),
      ...annotations.map((annotation, annotation_index): Item["events"][number] => [
        "response.output_text.annotation.added",
        { ...at, annotation_index, annotation },
      ]),
      ["response.output_text.done", { ...at, text, logprobs: [] }],
      ["response.content_part.done", { ...at, part }],
    ],
    done: { ...item, status: "completed", content: [part] },
  };
}

function callItem({ id, name, json }: WireReply["calls"][number]): Item {
  // A tool in a namespace (as Codex offers those of MCP servers) is written `namespace/tool` in a script.
  const [tool = name, namespace] = name.split("/").reverse();
  const of = namespace === undefined ? {} : { namespace };
  const item = { id: `fc_${id}`, type: "function_call", call_id: `call_${id}`, name: tool, ...of };
  return {
    added: { ...item, status: "in_progress", arguments: "" },
    events: [
      ...pieces(json).map((delta): Item["events"][number] => ["response.function_call_arguments.delta", { delta }]),
      ["response.function_call_arguments.done", { arguments: json }],
    ],
    done: { ...item, status: "completed", arguments: json },
  };
}

function statusOf({ finish }: WireReply): "completed" | "incomplete" {
  return finish === "length" || finish === "content-filter" ? "incomplete" : "completed";
}

function responseOf(reply: WireReply, status: string, output: JsonRecord[]): JsonRecord {
  const { id, model, created, usage, finish } = reply;
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason } : null,
    instructions: null,
    model,
    output,
    parallel_tool_calls: true,
    store: false,
    tool_choice: "auto",
    tools: [],
    usage:
      status === "in_progress"
        ? null
        : {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cache_read },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.input + usage.output,
          },
  };
}

/** Whatever is neither a result nor a user's word (reasoning, searches, references) is part of the assistant's turn. */
function readItem(item: JsonRecord): ProviderMessage {
  if (item.type === "function_call_output")
    return { role: "tool", call_id: stringOf(item.call_id), text: contentWords(item.output) };
  if (item.role === "user") return { role: "user", text: contentWords(item.content) };
  if (item.type !== "function_call") return { role: "assistant", text: contentWords(item.content), calls: [] };
  const call = { id: stringOf(item.call_id), name: stringOf(item.name), args: parsedOr(stringOf(item.arguments)) };
  return { role: "assistant", text: "", calls: [call] };
}
