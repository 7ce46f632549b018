import type { Scrubber } from "../../../boundary/scrubber.ts";
import type { Adapter, OutsideEvent } from "./session.ts";

/** The same programs, without known secrets in what they say, do and complain of. */
export function adapterWithoutSecrets(adapter: Adapter, scrubber: Scrubber): Adapter {
  return async (setup) => {
    const session = await adapter(setup);
    return {
      events: scrubbedEvents(session.events, scrubber),
      say: (text) => session.say(text),
      hears: () => session.hears?.() ?? true,
      takeUnread: async (tool) => (await session.takeUnread?.(tool)) ?? null,
      canBeResumed: () => session.canBeResumed?.() ?? false,
      decide: (id, decision) => session.decide(id, decision),
      interrupt: () => session.interrupt(),
      endTurn: async () => session.endTurn?.(),
      close: () => session.close(),
    };
  };
}

/** Ids are ours and the program's to find each other by: they stay. Streamed words are kept back until they are known. */
async function* scrubbedEvents(events: AsyncIterable<OutsideEvent>, scrubber: Scrubber): AsyncGenerator<OutsideEvent> {
  const stream = scrubber.stream();
  let of: "text" | "reasoning" = "text";
  for await (const event of events) {
    const isSameStream = event.kind === "delta" && event.of === of;
    const kept = isSameStream ? "" : stream.end();
    if (kept !== "") yield { kind: "delta", of, text: kept };
    if (event.kind === "delta") {
      of = event.of;
      const text = stream.push(event.text);
      // Also where nothing is left of it: that it speaks is a sign of life.
      yield text === event.text ? event : { ...event, text };
    } else yield withIdsOf(event, scrubber.value(event));
  }
}

function withIdsOf(event: OutsideEvent, scrubbed: OutsideEvent): OutsideEvent {
  if (scrubbed === event) return event;
  const ids = ["id", "call_id", "session_id"].flatMap((name) =>
    name in event ? [[name, Reflect.get(event, name)]] : [],
  );
  return { ...scrubbed, ...Object.fromEntries(ids) };
}
