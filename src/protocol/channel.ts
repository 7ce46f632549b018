import { z } from "zod";

/** Which of an agent's messages to its human a channel delivers. */
export const channelTopicSchema = z.enum(["questions", "messages", "ends"]);
export type ChannelTopic = z.infer<typeof channelTopicSchema>;
export const CHANNEL_TOPICS: readonly ChannelTopic[] = channelTopicSchema.options;

/** Used in addresses, in facts and by models, so it is plain. */
export const channelNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, "expected lower-case letters, digits, - and _, at most 40");

/** The name of an environment variable. A value in its place is refused here, where it is not repeated. */
export const variableSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable of the environment, not its value");

/** Anyone who knows it can answer in the human's name. */
const secretSchema = z.string().min(16, "expected at least 16 characters: openssl rand -hex 32 makes some");

/** A way to reach the human outside Agiraph: messages are posted there, signed, and signed answers come back. */
export const channelConfigSchema = z
  .strictObject({
    type: z.literal("webhook"),
    url: z.string().superRefine((text, context) => {
      const problem = problemWithUrl(text);
      if (problem) context.addIssue({ code: "custom", message: problem });
    }),
    secret: secretSchema.optional(),
    /** The environment variable that holds the secret, so that it need not stand in the file. */
    secret_env: variableSchema.optional(),
    preset: z.enum(["plain", "slack", "discord"]).optional(),
    /** All of them if left out. */
    to: z.array(channelTopicSchema).min(1).optional(),
    /** Answers are taken at http://127.0.0.1:PORT/webhooks/NAME while a process works in the home; 0 is any free port. */
    listen: z.strictObject({ port: z.int().min(0).max(65_535) }).optional(),
  })
  .superRefine(({ secret, secret_env, preset = "plain", listen }, context) => {
    if (secret !== undefined && secret_env !== undefined)
      context.addIssue({ code: "custom", path: ["secret_env"], message: "expected only one of secret and secret_env" });
    // Slack and Discord do not look at signatures: their address is the secret.
    const isNeeded = preset === "plain" || listen !== undefined;
    if (isNeeded && secret === undefined && secret_env === undefined)
      context.addIssue({
        code: "custom",
        path: ["secret"],
        message: "expected a secret to sign with: give secret, or secret_env with a variable's name",
      });
  });
export type ChannelConfig = z.infer<typeof channelConfigSchema>;

function problemWithUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url) return "expected an address, https://…";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "expected https:// (or http://)";
  return url.username || url.password
    ? "expected an address without a user or password in it; use the secret"
    : undefined;
}
