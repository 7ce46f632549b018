import { nodeDisk } from "../../store/disk/node-disk.ts";
import { requireHome } from "../../store/home/home.ts";
import { renewToken, tokenOf } from "../../store/home/token-file.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { liveHolder } from "../home/live-holder.ts";
import { settingsOf } from "../home/look.ts";
import { isServer, runningServer } from "../home/other-process.ts";
import { commandLine, type Invocation } from "../invocation.ts";

export interface TokenOptions {
  link?: boolean;
  new?: boolean;
}

export async function token(call: Invocation, options: TokenOptions): Promise<ExitCode> {
  const { link = false } = options;
  const { terminal, json } = call;
  const settings = await settingsOf(call);
  const { home } = settings;
  requireHome(nodeDisk, home);
  if (options.new) {
    if (link) throw new UsageError("Give either --new or --link: a link is made with the current token.");
    const holder = liveHolder(home);
    if (holder?.url !== undefined)
      throw new Refusal(
        `The ${isServer(holder) ? "server" : "process"} at ${holder.url} (pid ${holder.pid}) uses the current token. Stop it first, then start it again with the new one.`,
      );
    renewToken(home);
  }
  if (!link) {
    const printed = tokenOf(home);
    await (json ? terminal.printJson({ token: printed }) : terminal.printLines([printed]));
    return EXIT.done;
  }
  const client = await runningServer(settings);
  if (!client) throw new Refusal(`No server is running for ${home}. Start it: ${commandLine(call, "serve")}`);
  const { url, expires_at } = await client.loginLink();
  await (json ? terminal.printJson({ url, expires_at }) : terminal.printLines([url]));
  return EXIT.done;
}
