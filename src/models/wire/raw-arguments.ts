import type { Part } from "../../protocol/index.ts";

export type RawArguments = ReturnType<typeof createRawArguments>;

/** The arguments of each call as received in the chat-completions format, by call id. */
export function createRawArguments() {
  /** A map: an index may be any number. */
  const ids = new Map<number, string>();
  const texts = new Map<string, string>();
  let last = 0;
  return {
    take(chunk: unknown): void {
      for (const delta of toolCallsIn(chunk)) {
        const index = typeof delta.index === "number" ? delta.index : last;
        last = index;
        if (typeof delta.id === "string" && delta.id !== "" && !ids.has(index)) ids.set(index, delta.id);
        const id = ids.get(index);
        const fn = delta.function;
        if (id === undefined || !(fn instanceof Object) || !("arguments" in fn)) continue;
        if (typeof fn.arguments === "string") texts.set(id, (texts.get(id) ?? "") + fn.arguments);
      }
    },
    of: (id: string): string | undefined => texts.get(id),
    /** The SDK hands out the calls whose arguments it can read first; the model's order is the one that counts. */
    putInOrder(content: Part[]): void {
      const calls = content.filter((part) => part.type === "call");
      const order = new Map([...ids].sort(([a], [b]) => a - b).map(([, id], at) => [id, at] as const));
      const place = (id: string) => order.get(id) ?? order.size;
      calls.sort((a, b) => place(a.id) - place(b.id));
      for (const [at, part] of content.entries()) if (part.type === "call") content[at] = calls.shift() ?? part;
    },
  };
}

function toolCallsIn(chunk: unknown): { index?: unknown; id?: unknown; function?: unknown }[] {
  const choices = chunk instanceof Object && "choices" in chunk ? chunk.choices : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = choice instanceof Object && "delta" in choice ? choice.delta : undefined;
  const calls = delta instanceof Object && "tool_calls" in delta ? delta.tool_calls : undefined;
  return Array.isArray(calls) ? calls.filter((call) => call instanceof Object) : [];
}
