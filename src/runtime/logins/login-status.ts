import type { ProgramProfile } from "../../protocol/index.ts";
import { LoginFile } from "../../store/home/login-file.ts";
import type { LoginState } from "./brokered-login.ts";
import type { BrokerOptions, LoginBroker } from "./login-broker.ts";
import { keychainService } from "./login-formats.ts";

/** How a program is signed in, as a worker would find it. Times are in milliseconds. */
export interface LoginStatus {
  /** By a variable, by its login file, or by a file that holds a key; null where it is not, as far as we can see. */
  how: "variable" | "login" | "key_file" | null;
  /** The variable or the file. */
  where: string | null;
  as: string | null;
  /** Whether work could begin now. */
  usable: boolean;
  expires_at: number | null;
  renewable: boolean;
  renewed_at: number | null;
  /** What is wrong with it, or went wrong last. */
  problem: string | null;
  failed_at: number | null;
}

const NOTHING: LoginStatus = {
  ...{ how: null, where: null, as: null, usable: false, expires_at: null, renewable: false },
  ...{ renewed_at: null, problem: null, failed_at: null },
};

/** The state of a program's login. Does not renew it. */
export async function loginStatus(
  profile: ProgramProfile,
  broker: LoginBroker,
  { home, env, platform = process.platform }: Pick<BrokerOptions, "home" | "env"> & { platform?: NodeJS.Platform },
): Promise<LoginStatus> {
  const [variable] = keyVariables(profile, env);
  if (variable !== undefined) return { ...NOTHING, how: "variable", where: variable, usable: true };
  for (const login of broker.loginsOf(profile)) {
    const state = await login.look();
    if (state.kind === "none") continue;
    const note = new LoginFile(home).note(login.format.program);
    const known = { renewed_at: note.renewed_at ?? null, failed_at: note.failed_at ?? null };
    return { ...NOTHING, ...known, where: login.path, ...said(state, note.failure ?? null, login.dueAt(state)) };
  }
  return { ...NOTHING, problem: absent(profile, broker, platform) };
}

function said(state: LoginState, failure: string | null, due: number): Partial<LoginStatus> {
  if (state.kind === "fixed") return { how: "key_file", usable: true };
  if (state.kind === "ended") return { how: "login", problem: state.why };
  if (state.kind === "none") return {};
  const { as = null, expires, refresh } = state.login;
  const renewable = refresh !== null && Number.isFinite(due);
  const problem = state.kind === "expired" ? state.why : failure;
  // One that has expired is renewed before the work begins.
  return { how: "login", as, expires_at: expires, renewable, usable: state.kind === "usable" || renewable, problem };
}

function absent(profile: ProgramProfile, broker: LoginBroker, platform: NodeJS.Platform): string | null {
  const isClaude = broker.loginsOf(profile).some(({ format }) => format.program === "claude-code");
  if (!isClaude || platform !== "darwin") return null;
  return `on a Mac, Claude Code keeps its login in the keychain ("${keychainService}"), where workers do not look: run claude setup-token, and put CLAUDE_CODE_OAUTH_TOKEN=… into the .env of your Agiraph home`;
}

/** The variables with keys that a program uses instead of a login. */
export function keyVariables(
  { env: names = [], set = {} }: ProgramProfile,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  return [...names, ...Object.keys(set)].filter((name) => KEY.test(name) && (set[name] ?? env[name])?.trim());
}

const KEY = /_(API_KEY|AUTH_TOKEN|OAUTH_TOKEN|ACCESS_TOKEN)$/;
