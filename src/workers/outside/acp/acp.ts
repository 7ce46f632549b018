import { mkdir } from "node:fs/promises";
import type { Clock } from "../../../protocol/clock.ts";
import { putFile, readPart } from "../../../store/disk/foreign-folder.ts";
import { type PermissionPolicy, permissionOf, reachWords } from "../session/permission-policy.ts";
import { ProgramRecord } from "../session/program-record.ts";
import type { Adapter, OutsideJob, ToolServer } from "../session/session.ts";
import { acpLaunch, launchOf } from "./acp-launch.ts";
import { type AcpQuirks, quirksOf } from "./acp-quirks.ts";
import { AcpSession, keptSchema } from "./acp-session.ts";

/** Starts any agent that speaks the Agent Client Protocol (version 1) on its standard input and output. */
export function acpAdapter(clock: Clock): Adapter {
  return async (job) => {
    await mkdir(job.home, { recursive: true, mode: 0o700 });
    const record = new ProgramRecord(job.home, job.cwd, keptSchema);
    const before = (await record.read()) ?? { session_id: null, made_at: 0, cost_usd: 0, unsaid: [] };
    const quirks = quirksOf(job.profile);
    for (const [path, text] of Object.entries(await filesOf(job, quirks))) await putFile(job.home, path, text);
    let server: ToolServer | undefined;
    let policy = "ask" as PermissionPolicy;
    const running = await job.start((given, isConfined) => {
      server = given;
      policy = permissionOf(job.profile, reachWords(isConfined));
      return launchOf(job, policy);
    });
    const hint = policy === "allow" ? undefined : quirks.askingHint;
    const told = hint === undefined ? job : { ...job, system: `${job.system}\n\n${hint}` };
    return new AcpSession({ job: told, clock, quirks, record, running, server, before });
  };
}

const MOST_SETTINGS = 1024 * 1024;

async function filesOf(job: OutsideJob, { instructions }: AcpQuirks): Promise<Record<string, string>> {
  const { quirks, own_settings } = job.profile;
  const known = quirks && acpLaunch[quirks];
  const own = own_settings && known?.settingsFile && (await readPart(job.home, known.settingsFile, 0, MOST_SETTINGS));
  return {
    ...known?.files(job, own ? own.toString("utf8") : undefined),
    ...(instructions ? { [instructions]: `${job.system}\n` } : {}),
  };
}
