import type { Channel } from "./channel.ts";
import { fitted, isCut } from "./plain-words.ts";
import { type PostAddress, postingChannel } from "./posting-channel.ts";
import { detailsOf, headlineOf, type Utterance } from "./utterance.ts";

export function slackChannel(address: PostAddress, now: () => number): Channel {
  return postingChannel(address, now, slackBody);
}

/**
 * The body of a request to an incoming webhook of Slack.
 *
 * SLACK-1. Text goes into `plain_text`, where markup is not interpreted, and `&`, `<` and `>` are escaped as Slack
 *     asks, so that nothing in it is a mention (`<!channel>`, `<@U1>`) or hides the address of a link.
 * SLACK-2. Every text is within Slack's limits: 150 for a header, 3000 for a section.
 */
export function slackBody(said: Utterance): unknown {
  const section = (text: string) => ({ type: "section", text: plainText(text, SECTION) });
  const facts = detailsOf(said, isCut(said.text, SECTION, piecesOf));
  return {
    text: escaped(`${headlineOf(said)}: ${said.text}`, FALLBACK),
    mrkdwn: false,
    blocks: [
      { type: "header", text: plainText(headlineOf(said), HEADER) },
      section(said.text),
      ...(said.choices ? [section(said.choices.map((choice, at) => `${at + 1}. ${choice}`).join("\n"))] : []),
      ...(facts.length > 0 ? [{ type: "context", elements: facts.map((fact) => plainText(fact, CONTEXT)) }] : []),
    ],
  };
}

const HEADER = 150;
const SECTION = 3000;
const CONTEXT = 300;
/** What a notification shows. */
const FALLBACK = 3000;

function plainText(text: string, limit: number) {
  // Slack refuses a message with an empty text.
  return { type: "plain_text", text: escaped(text, limit).trim() || "…", emoji: false };
}

function escaped(text: string, limit: number): string {
  return fitted(text, limit, piecesOf);
}

function* piecesOf(text: string): Generator<string> {
  for (const character of text) yield ENTITIES[character] ?? character;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
