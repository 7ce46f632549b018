import type { Scrubber } from "../boundary/scrubber.ts";
import type { Part, ReplyEntry } from "../protocol/index.ts";
import { type Model, ModelFailure, type ModelRequest } from "./model.ts";

/**
 * The same model, with known secrets removed from everything it says and from errors about it: a provider may echo a
 * key in an error, and a model may repeat one that it has read.
 */
export function withoutSecrets(model: Model, scrubber: Scrubber): Model {
  async function reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    const { onDelta, onFailure, onWarning } = request;
    const live = onDelta && scrubbedDeltas(scrubber, onDelta);
    try {
      const said = await model.reply(
        {
          ...request,
          ...(live && { onDelta: live.take }),
          onFailure: (failure, retryInMs) => {
            live?.forget();
            onFailure?.(scrubbedFailure(failure, scrubber), retryInMs);
          },
          ...(onWarning && { onWarning: (message) => onWarning(scrubber.text(message)) }),
        },
        signal,
      );
      live?.end();
      return scrubbedReply(said, scrubber);
    } catch (error) {
      throw error instanceof ModelFailure ? scrubbedFailure(error, scrubber) : error;
    }
  }
  const { id, contextWindow, searchesWeb, seesPictures = false } = model;
  return { id, contextWindow, searchesWeb, seesPictures, reply };
}

type Deltas = NonNullable<ModelRequest["onDelta"]>;

/** Words are passed on in the order in which they came: what was kept of one kind goes before the next of the other. */
function scrubbedDeltas(scrubber: Scrubber, onDelta: Deltas) {
  let stream = scrubber.stream();
  let kind: "text" | "reasoning" = "text";
  const tell = (text: string) => {
    if (text !== "") onDelta({ kind, text });
  };
  return {
    take(delta: Parameters<Deltas>[0]): void {
      if (delta.kind !== kind) tell(stream.end());
      kind = delta.kind;
      tell(stream.push(delta.text));
    },
    end: () => tell(stream.end()),
    forget() {
      stream = scrubber.stream();
    },
  };
}

/** A new one: the stack of the old one begins with its message. */
function scrubbedFailure(failure: ModelFailure, scrubber: Scrubber): ModelFailure {
  const message = scrubber.text(failure.message);
  if (message === failure.message) return failure;
  const { reason, retryable, status, retryAfterMs } = failure;
  return new ModelFailure(reason, message, {
    retryable,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Calls keep ids of their own: two that differed only in a secret would else be one. */
function scrubbedReply(reply: ReplyEntry, scrubber: Scrubber): ReplyEntry {
  const content = scrubber.value(reply.content);
  if (content === reply.content) return reply;
  const taken = new Set<string>();
  return { ...reply, content: content.map((part) => withOwnId(part, taken)) };
}

function withOwnId(part: Part, taken: Set<string>): Part {
  if (part.type !== "call") return part;
  let id = part.id;
  while (taken.has(id)) id += "_";
  taken.add(id);
  return id === part.id ? part : { ...part, id };
}
