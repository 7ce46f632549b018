import { requireHome } from "../../store/home.ts";
import { nodeDisk } from "../../store/node-disk.ts";
import { tokenOf } from "../../store/token-file.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { settingsOf } from "../look.ts";
import { runningServer } from "../running-server.ts";

export async function token(call: Invocation, { link = false }: { link?: boolean }): Promise<ExitCode> {
  const { terminal, json } = call;
  const settings = await settingsOf(call);
  const { home } = settings;
  requireHome(nodeDisk, home);
  if (!link) {
    const printed = tokenOf(home);
    await (json ? terminal.printJson({ token: printed }) : terminal.printLines([printed]));
    return EXIT.done;
  }
  const client = await runningServer(settings);
  if (!client) throw new Refusal(`No server runs on ${home}. Start it: ${commandLine(call, "serve")}`);
  const { url, expires_at } = await client.loginLink();
  await (json ? terminal.printJson({ url, expires_at }) : terminal.printLines([url]));
  return EXIT.done;
}
