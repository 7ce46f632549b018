import type { FactType } from "../protocol/index.ts";
import { count, milliseconds } from "./figures.ts";
import { type Sentences, thing } from "./sentence.ts";

/** The channels through which the person is reached. */
export const CHANNELS: Sentences<Extract<FactType, `channel.${string}`>> = {
  "channel.opened": ({ channel, to }) => thing(channel, `now delivers ${listed(to)}`, { tone: "new" }),
  "channel.closed": ({ channel }) => thing(channel, "is closed", { tone: "leaves" }),
  "channel.delivered": ({ channel, of }) => thing(channel, `delivered ${of}`, { tone: "done" }),
  "channel.delayed": ({ channel, of, why, attempts, retry_in_ms }) =>
    thing(channel, `could not deliver ${of} yet`, {
      text: why,
      isWhole: true,
      next: `tries again in ${milliseconds(retry_in_ms)}`,
      detail: `try ${attempts}`,
      tone: "warning",
    }),
  "channel.failed": ({ channel, of, why, attempts }) =>
    thing(channel, `could not deliver ${of}`, {
      text: why,
      isWhole: true,
      next: `gave up after ${count(attempts, "try", "tries")}`,
      tone: "failed",
    }),
};

function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" and ");
}
