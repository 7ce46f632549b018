import { mkdir } from "node:fs/promises";
import type { Clock } from "../../../protocol/clock.ts";
import { putFile, readPart } from "../../../store/disk/foreign-folder.ts";
import { type PermissionPolicy, permissionOf, reachWords } from "../session/permission-policy.ts";
import { ProgramRecord } from "../session/program-record.ts";
import type { Adapter, SessionSetup, ToolServer } from "../session/session.ts";
import { acpLaunch, launchOf } from "./acp-launch.ts";
import { type AcpQuirks, quirksOf } from "./acp-quirks.ts";
import { AcpSession, keptAcpSchema } from "./acp-session.ts";

/** Starts any agent that speaks the Agent Client Protocol (version 1) on its standard input and output. */
export function acpAdapter(clock: Clock): Adapter {
  return async (setup) => {
    await mkdir(setup.home, { recursive: true, mode: 0o700 });
    const record = new ProgramRecord(setup.home, setup.cwd, keptAcpSchema);
    const before = (await record.read()) ?? { session_id: null, made_at: 0, cost_usd: 0, unsaid: [] };
    const quirks = quirksOf(setup.profile);
    let server: ToolServer | undefined;
    let policy = "ask" as PermissionPolicy;
    const running = await setup.start(async (given, isConfined) => {
      server = given;
      policy = permissionOf(setup.profile, reachWords(isConfined));
      // Gemini's settings name the way it signs in: whether its login is there is known only now.
      for (const [path, text] of Object.entries(await filesOf(setup, quirks))) await putFile(setup.home, path, text);
      return launchOf(setup, policy);
    });
    const hint = policy === "allow" ? undefined : quirks.askingHint;
    const told = hint === undefined ? setup : { ...setup, system: `${setup.system}\n\n${hint}` };
    return new AcpSession({ setup: told, clock, quirks, record, running, server, before });
  };
}

const MOST_SETTINGS = 1024 * 1024;

async function filesOf(setup: SessionSetup, { instructions }: AcpQuirks): Promise<Record<string, string>> {
  const { quirks, own_settings } = setup.profile;
  const known = quirks && acpLaunch[quirks];
  const own = own_settings && known?.settingsFile && (await readPart(setup.home, known.settingsFile, 0, MOST_SETTINGS));
  return {
    ...known?.files(setup, own ? own.toString("utf8") : undefined),
    ...(instructions ? { [instructions]: `${setup.system}\n` } : {}),
  };
}
