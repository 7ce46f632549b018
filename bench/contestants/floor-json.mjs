import { floorWith } from "../floor.mjs";
import { MODEL, NOTE } from "../work.mjs";

export const open = floorWith(async (baseUrl, messages) => {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer none" },
    body: JSON.stringify({ model: MODEL, messages, tools: [{ type: "function", function: NOTE }] }),
  });
  const { choices } = await response.json();
  return choices[0].message;
});
