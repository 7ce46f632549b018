import type { Channel } from "../../mail/channels/channel.ts";
import { discordChannel } from "../../mail/channels/discord.ts";
import { slackChannel } from "../../mail/channels/slack.ts";
import { webhookChannel } from "../../mail/channels/webhook.ts";
import type { ChannelConfig } from "../../protocol/channel.ts";
import { CHANNEL_TOPICS, type ChannelTopic } from "../../protocol/index.ts";
import { type Settings, SettingsError } from "../config/settings.ts";

/** A channel that is ready to use. */
export interface OpenChannel extends Channel {
  to: readonly ChannelTopic[];
  /** Signed answers to it come in by `runtime/human/webhook-handler.ts`: at the server, and at this port if there is one. */
  signed?: { secret: string; port: number | undefined };
}

const CHANNELS = { plain: webhookChannel, slack: slackChannel, discord: discordChannel };

/** The channels of `config.json`, with their secrets resolved. */
export function channelsOf({ config, env }: Pick<Settings, "config" | "env">, now: () => number): OpenChannel[] {
  return Object.entries(config.channels ?? {}).map(([name, channel]) => {
    const { url, preset = "plain", listen } = channel;
    const secret = secretOf(name, channel, env);
    return {
      ...CHANNELS[preset]({ name, url, secret }, now),
      to: topicsOf(channel),
      ...(secret !== undefined && { signed: { secret, port: listen?.port } }),
    };
  });
}

/** The topics that a channel delivers, in our order. */
export function topicsOf({ to = CHANNEL_TOPICS }: { to?: readonly ChannelTopic[] | undefined }): ChannelTopic[] {
  return CHANNEL_TOPICS.filter((topic) => to.includes(topic));
}

function secretOf(name: string, { secret, secret_env }: ChannelConfig, env: Settings["env"]): string | undefined {
  if (secret_env === undefined) return secret;
  const found = env[secret_env];
  if (found !== undefined && found.length >= 16) return found;
  throw new SettingsError(
    `The channel ${name} takes its secret from ${secret_env}, which ${found ? "has fewer than 16 characters" : "is not set"}. Set it, or remove the channel from config.json.`,
  );
}
