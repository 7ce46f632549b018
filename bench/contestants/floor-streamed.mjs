import { floorWith } from "../floor.mjs";
import { MODEL, NOTE } from "../work.mjs";

export const open = floorWith(async (baseUrl, messages) => {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer none" },
    body: JSON.stringify({
      model: MODEL,
      messages,
      tools: [{ type: "function", function: NOTE }],
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  const reply = { role: "assistant", content: "" };
  for await (const { choices } of eventsOf(response.body)) {
    const delta = choices[0]?.delta;
    if (delta?.content) reply.content += delta.content;
    for (const call of delta?.tool_calls ?? []) addCall(reply, call);
  }
  return reply;
});

async function* eventsOf(body) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) if (event !== "data: [DONE]") yield JSON.parse(event.slice(6));
  }
}

function addCall(reply, { index, id, function: { name, arguments: args } }) {
  reply.tool_calls ??= [];
  reply.tool_calls[index] ??= { id, type: "function", function: { name, arguments: "" } };
  reply.tool_calls[index].function.arguments += args;
}
