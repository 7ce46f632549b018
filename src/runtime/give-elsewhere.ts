import { text } from "node:stream/consumers";
import { giveCommand } from "../client/give-command.ts";
import { errorBodySchema } from "../protocol/api/error-body.ts";
import { type CommandName, type CommandOf, type CommandResult, commands } from "../protocol/commands.ts";
import type { Actor } from "../protocol/index.ts";
import type { Hosting } from "./hosting.ts";
import { HumanRefusal } from "./human/human-refusal.ts";

/** Gives a command to the host that has its agent, for someone who has not come over HTTP: a channel, a webhook. */
export async function giveElsewhere<C extends CommandName>(
  hosting: Pick<Hosting, "ask">,
  owner: Parameters<Hosting["ask"]>[0],
  command: CommandOf<C>,
  actor: Actor,
): Promise<CommandResult<C>> {
  const ask = async (method: string, url: string, { body }: { body?: unknown } = {}) => {
    const headers = { "content-type": "application/json" };
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    const reply = await hosting.ask(owner, { method, url, headers, body: bytes, actor });
    const answer: unknown = JSON.parse(await text(reply.body));
    if (reply.status < 400) return answer;
    const { error } = errorBodySchema.parse(answer);
    throw new HumanRefusal(
      reply.status === 404 ? "not_found" : reply.status === 400 ? "bad_request" : "conflict",
      error.message,
    );
  };
  const answer = await giveCommand({ url: "", ask }, command);
  return commands[command.do as C].result.parse(answer) as CommandResult<C>;
}
