import { type Model, ModelFailure, type ModelRequest, type ShownResult } from "../../models/model.ts";
import type { Entry, Picture, ResultEntry } from "../../protocol/index.ts";

/**
 * The pictures that a conversation points at, shown to a model that can see.
 *
 * PICTURES-1. An entry is shown the same way in every request, so that prefixes stay what they were.
 * PICTURES-2. A picture that a provider refuses does not end the conversation: the request is made again without those
 *             that no reply has followed yet (or without any, if all had been taken before), and they stay left out.
 */
export class ShownPictures {
  readonly #load: (picture: Picture) => Buffer | undefined;
  readonly #shown = new WeakMap<Entry, Entry>();
  readonly #taken = new WeakSet<Entry>();

  constructor(load: (picture: Picture) => Buffer | undefined) {
    this.#load = load;
  }

  async reply(model: Model, request: ModelRequest, signal: AbortSignal) {
    const pictures = request.history.filter(isPicture);
    if (pictures.length === 0) return model.reply(request, signal);
    const shown = () => ({ ...request, history: request.history.map((entry) => this.#entryFor(entry, model)) });
    try {
      const reply = await model.reply(shown(), signal);
      for (const entry of pictures) this.#taken.add(entry);
      return reply;
    } catch (error) {
      const isRefused = error instanceof ModelFailure && (error.reason === "bad_request" || error.status === 413);
      if (!isRefused || signal.aborted || !this.#leaveOut(pictures)) throw error;
      return model.reply(shown(), signal);
    }
  }

  #entryFor(entry: Entry, { seesPictures }: Model): Entry {
    if (!isPicture(entry)) return entry;
    let known = this.#shown.get(entry);
    if (known === undefined) {
      const bytes = seesPictures ? this.#load(entry.picture) : undefined;
      known = bytes ? shownResult(entry, bytes) : inWords(entry, "it is not shown here");
      this.#shown.set(entry, known);
    }
    return known;
  }

  /** Whether there was anything to leave out. */
  #leaveOut(pictures: readonly PictureEntry[]): boolean {
    const seen = pictures.filter((entry) => "shown" in (this.#shown.get(entry) ?? {}));
    const fresh = seen.filter((entry) => !this.#taken.has(entry));
    for (const entry of fresh.length > 0 ? fresh : seen)
      this.#shown.set(entry, inWords(entry, "the provider refused it, so you do not see it"));
    return seen.length > 0;
  }
}

type PictureEntry = ResultEntry & { picture: Picture };

function isPicture(entry: Entry): entry is PictureEntry {
  return entry.role === "tool" && entry.picture !== undefined;
}

function shownResult(entry: PictureEntry, bytes: Buffer): ShownResult {
  return { ...entry, shown: { media_type: entry.picture.media_type, data: bytes.toString("base64") } };
}

function inWords({ picture: _, ...entry }: PictureEntry, why: string): ResultEntry {
  return { ...entry, content: `${entry.content} (${why})` };
}
