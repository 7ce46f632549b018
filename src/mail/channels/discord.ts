import type { Channel } from "./channel.ts";
import { fitted, isCut } from "./plain-words.ts";
import { type PostAddress, postingChannel } from "./posting-channel.ts";
import { detailsOf, headlineOf, type Utterance } from "./utterance.ts";

export function discordChannel(address: PostAddress, now: () => number): Channel {
  return postingChannel(address, now, discordBody);
}

/**
 * The body of a request to a Discord webhook.
 *
 * DISCORD-1. Text of a model never notifies anybody: `allowed_mentions` allows none, and `@everyone`, `@here` and
 *     `<@1>` are broken up as well.
 * DISCORD-2. Markdown is escaped, so that no text can hide the address of a link. A bare address stays whole.
 * DISCORD-3. Every text is within Discord's limits: 2000 for the content, 256 for a title, 4096 for a description, 1024
 *     for a field, 6000 for all embeds together.
 */
export function discordBody(said: Utterance): unknown {
  const facts = detailsOf(said, isCut(said.text, DESCRIPTION, piecesOf));
  const fields = [
    ...(said.choices ? [field("Choices", said.choices.map((choice, at) => `${at + 1}. ${choice}`).join("\n"))] : []),
    ...(facts.length > 0 ? [field("About", facts.join("\n"))] : []),
  ];
  return {
    content: escaped(headlineOf(said), HEADLINE),
    embeds: [{ description: escaped(said.text, DESCRIPTION) || "…", ...(fields.length > 0 && { fields }) }],
    allowed_mentions: { parse: [] },
  };
}

const HEADLINE = 256;
const DESCRIPTION = 3800;
const FIELD = 1024;

function field(name: string, value: string) {
  return { name, value: escaped(value, FIELD) || "…" };
}

function escaped(text: string, limit: number): string {
  return fitted(text, limit, piecesOf);
}

const ADDRESS = /https?:\/\/[^\s<>()[\]{}"'`|*\\@]+/g;
/** ASCII punctuation that Markdown may read; a backslash before it makes it a plain character. */
const MARKUP = new Set("\\`*_~|<>[](){}#+-.!:");

function* piecesOf(text: string): Generator<string> {
  let at = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    yield* escapedCharacters(text.slice(at, index));
    yield address;
    at = index + address.length;
  }
  yield* escapedCharacters(text.slice(at));
}

function* escapedCharacters(text: string): Generator<string> {
  for (const character of text) {
    if (character === "@") yield "@\u200b";
    else yield MARKUP.has(character) ? `\\${character}` : character;
  }
}
