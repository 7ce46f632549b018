import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { relative } from "node:path";
import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import { keepPrompt, promptText, sessionPrompt } from "../../mesh/declaration/prompt.ts";
import { agentsBeside } from "../../mesh/declaration/topology.ts";
import { sendFromAgent } from "../../mesh/files/agent-outbox.ts";
import { addressName, type Layout } from "../../mesh/files/layout.ts";
import { BEGUN_BEFORE, messageLine, messageText } from "../../mesh/files/message-text.ts";
import { queueOf } from "../../mesh/files/new-message.ts";
import type { SessionState } from "../../mesh/terminal/session-state.ts";
import { hooksOf, notesOf, prepareTerminalHome } from "../../mesh/terminal/terminal-home.ts";
import type { TerminalKindName } from "../../mesh/terminal/terminal-kind.ts";
import { TmuxMember } from "../../mesh/terminal/tmux-member.ts";
import type { TmuxServer } from "../../mesh/terminal/tmux-server.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { Environment } from "../config/settings.ts";
import { ownLoginVariables } from "../logins/login-formats.ts";
import { identityVariables } from "../programs/git-identity.ts";

export interface TerminalPorts {
  layout: Layout;
  server: TmuxServer;
  outside: Pick<ProgramPorts, "makeHome">;
  env: Environment;
  /** AGIRAPH_HOME, for `tx` in there. */
  home: string;
  /** How `tx` is called in there. */
  tx: readonly string[];
  now(): number;
  isLeaving(): boolean;
  /** Resolves when the former member of its session has been closed. */
  before: Promise<void>;
}

export interface TerminalOrder {
  mesh: DeclaredMesh;
  agent: DeclaredAgent;
  profile: ProgramProfile;
  model: string | null;
  /** The program's own home. */
  programHome: string;
  record(state: SessionState, detail?: string): void;
  /** Something waits for a person at its terminal. */
  tellWaiting(text: string): void;
}

/** A mesh agent as a program in a terminal. */
export function terminalMember(ports: TerminalPorts, order: TerminalOrder): TmuxMember {
  const { layout, server, isLeaving } = ports;
  const { mesh, agent, profile, programHome: home, record } = order;
  const address = { mesh: mesh.config.mesh, agent: agent.name };
  const kind: TerminalKindName = profile.quirks ?? "plain";
  const isActive = (task: string) => queueOf(layout, address, task) === "active";
  return new TmuxMember({
    server,
    session: sessionOf(address.mesh, address.agent),
    kind,
    cwd: layout.project,
    hooks: hooksOf(kind, home),
    notes: notesOf(home),
    now: ports.now,
    async prepare(mayResume) {
      const before = notesOf(home).lastTask();
      await ports.outside.makeHome(profile, home, "the user's");
      const prompt = promptText(sessionPrompt(layout, mesh, agent));
      await keepPrompt(layout, address, prompt, ports.now());
      const ofOthers = agentsBeside(mesh.plan, agent.name).map((other) => layout.ownOutput(address.mesh, other));
      // A folder that is not there cannot be kept from being written to.
      for (const folder of ofOthers) mkdirSync(folder, { recursive: true });
      return prepareTerminalHome({
        kind,
        home,
        cwd: layout.project,
        prompt,
        model: order.model,
        permissions: profile.permissions ?? null,
        command: profile.terminal ?? TERMINALS[kind] ?? profile.command,
        env: { ...(await identityVariables(profile, ports.env)), ...environmentOf(ports, profile, address) },
        tx: ports.tx,
        resumes: mayResume && before !== undefined && isActive(before),
        ofOthers: ofOthers.map((folder) => relative(layout.project, folder)),
      });
    },
    words: (message, before) => {
      const words = (kind === "plain" ? messageLine : messageText)(layout, address, message);
      return before === null ? words : `${words}${kind === "plain" ? " " : "\n\n"}(${BEFORE[before]})`;
    },
    record,
    isActive,
    giveUp: async (why) => {
      await sendFromAgent(layout, address, new Date(ports.now()), { to: "mesh", type: "error", body: why });
    },
    waitsForPerson: (why) =>
      order.tellWaiting(
        `${addressName(address)} waits for you: ${why}To see it: tx attach ${address.mesh} ${address.agent}`,
      ),
    isLeaving,
    clearsBefore: agent.config.options?.clear_before ?? false,
    before: () => ports.before,
  });
}

/**
 * What a session is told with a task that its former one did not end. A program may save its conversation after it has
 * acted: a command of Claude Code 2.1.325 often runs for a moment before it is in the session's file.
 */
const BEFORE = {
  resumed:
    "Your session had ended and was started again with this conversation. Go on where you were; do not repeat what is done. What you did last may be missing here: look before you do it again.",
  begun: BEGUN_BEFORE,
} as const;

/** `{mesh}-{agent}` (seed 004). */
export function sessionOf(mesh: string, agent: string): string {
  return `${mesh}-${agent}`;
}

/** The commands with which people start the programs that we otherwise run by another protocol. */
const TERMINALS: Partial<Record<TerminalKindName, readonly string[]>> = {
  codex: ["codex"],
  gemini: ["gemini"],
  opencode: ["opencode"],
};

/**
 * Variables of our environment that are not secret. Those that the profile names, and the agent's location, are added.
 */
export const PLAIN_VARIABLES = ["PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "SEARXNG_URL"];

function environmentOf(
  { env, home, layout }: TerminalPorts,
  profile: ProgramProfile,
  { mesh, agent }: { mesh: string; agent: string },
): Record<string, string> {
  const named = [...PLAIN_VARIABLES, ...(profile.env ?? [])].flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  return {
    ...Object.fromEntries(named),
    ...ownLoginVariables(profile.share ?? [], env, env.HOME || homedir()),
    ...profile.set,
    TX_MESH: mesh,
    TX_AGENT: agent,
    TX_PROJECT: layout.project,
    AGIRAPH_HOME: home,
  };
}
