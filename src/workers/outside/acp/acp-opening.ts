import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { McpServer } from "@agentclientprotocol/sdk";
import type { Clock } from "../../../protocol/clock.ts";
import { putFile } from "../../../store/disk/foreign-folder.ts";
import { OUR_SERVER, type SessionSetup, type ToolServer } from "../session/session.ts";
import type { AcpQuirks } from "./acp-quirks.ts";
import { type Initialized, initializedSchema, sessionSchema, type WireSession } from "./acp-wire.ts";

/**
 * From a program that has just been started to a session that can be spoken to. Throws with what the agent said;
 * `SessionLost` if the agent says that the session cannot be resumed.
 */
export async function openSession(opening: Opening): Promise<Opened> {
  const { setup, quirks } = opening;
  const initialized = initializedSchema.parse(
    await ask(opening, "initialize", 60_000, {
      protocolVersion: VERSION,
      clientInfo: { name: "agiraph", version: "1" },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    }),
  );
  const { protocolVersion, agentCapabilities, agentInfo, _meta } = initialized;
  if (protocolVersion !== VERSION)
    throw new Error(`It speaks version ${protocolVersion} of ACP; we speak version ${VERSION}.`);
  const takesSystem = Boolean(agentCapabilities?.sessionCapabilities?.systemPrompt);
  const system = { mode: "append", content: [{ type: "text", text: setup.system }] };
  const mcpServers = await serversFor(opening, initialized);
  const params = { cwd: setup.cwd, mcpServers, ...(takesSystem ? { systemPrompt: system } : {}) };
  const session = await makeOrLoad(opening, initialized, params);
  const session_id = setup.resume ?? session.sessionId;
  if (!session_id) throw new Error("It made a session without an id.");
  const model = await chooseModel(opening, session_id, session);
  const about = [agentInfo?.title ?? agentInfo?.name, agentInfo?.version].filter(Boolean).join(" ");
  return {
    session_id,
    ...(model ? { model } : {}),
    ...(about ? { about } : {}),
    canSteer: _meta?.steering?.supported === true,
    canBeResumed: agentCapabilities?.loadSession === true,
    preface: takesSystem || quirks.instructions || setup.resume !== null ? undefined : setup.system,
  };
}

export interface Opening {
  setup: SessionSetup;
  quirks: AcpQuirks;
  clock: Clock;
  server: ToolServer | undefined;
  /** When the session to be resumed was made; 0 if unknown. */
  madeAt: number;
  /** Aborts when the program has gone. */
  gone: AbortSignal;
  request(method: string, params: unknown): Promise<unknown>;
  note(text: string): void;
  /** How many updates have come so far. */
  updates(): number;
}

export interface Opened {
  session_id: string;
  model?: string;
  about?: string;
  /** It can be spoken to while it works. */
  canSteer: boolean;
  /** It keeps its sessions, and can be asked for one later. */
  canBeResumed: boolean;
  /** Who it is and whose words these are belongs where its model takes it for granted; where it takes none such, before all else. */
  preface: string | undefined;
}

const VERSION = 1;
const MINUTE = 60_000;
const AUTH_REQUIRED = -32_000;

async function ask({ request, clock, gone }: Opening, method: string, ms: number, params: unknown): Promise<unknown> {
  const answered = new AbortController();
  const late = clock
    .sleep(ms, AbortSignal.any([answered.signal, gone]))
    .then(() => Promise.reject(new Error(`It did not answer ${method} within ${ms / 1000} s: timed out.`)));
  try {
    return await Promise.race([request(method, params), late]);
  } finally {
    answered.abort();
    late.catch(() => {});
  }
}

async function makeOrLoad(
  opening: Opening,
  initialized: Initialized,
  params: Record<string, unknown>,
): Promise<WireSession> {
  const { resume } = opening.setup;
  const open = async () => {
    if (resume === null) return ask(opening, "session/new", 2 * MINUTE, params);
    if (!initialized.agentCapabilities?.loadSession) throw new SessionLost("It does not keep sessions.");
    await untilOld(opening);
    const loaded = await ask(opening, "session/load", 2 * MINUTE, { ...params, sessionId: resume }).catch(saysLost);
    if (opening.quirks.replaysLate) await untilSilent(opening);
    return loaded;
  };
  try {
    return sessionSchema.parse((await open()) ?? {});
  } catch (error) {
    if (codeOf(error) !== AUTH_REQUIRED) throw error;
    await signIn(opening, initialized);
    return sessionSchema.parse((await open()) ?? {});
  }
}

/** The agent says so. One that does not answer, exits meanwhile or has another problem has not said it. */
export class SessionLost extends Error {}

function saysLost(error: unknown): never {
  const code = codeOf(error);
  const isAnswer = typeof code === "number" && code !== AUTH_REQUIRED;
  const why = reasonOf(error);
  throw isAnswer && (code === NOT_FOUND || NOT_THERE.test(why)) ? new SessionLost(why) : error;
}

const NOT_FOUND = -32_002;
/** In an agent's words, where it has no code for it. */
const NOT_THERE = /not found|\bno\b.* found|no such|not exist|(?:unknown|invalid) session/i;

async function signIn(opening: Opening, { authMethods }: Initialized): Promise<void> {
  const { signIn } = opening.quirks;
  const offered = authMethods?.map(({ id }) => id) ?? [];
  if (!signIn || !offered.includes(signIn))
    throw new Error(`It is not signed in. Sign in with it in a terminal, or give it a key (${offered.join(", ")}).`);
  await ask(opening, "authenticate", MINUTE, { methodId: signIn });
}

async function untilOld({ quirks, clock, madeAt, note, gone }: Opening): Promise<void> {
  const left = (Math.floor(madeAt / MINUTE) + 1) * MINUTE + 1000 - clock.now();
  if (!quirks.losesYoungSessions || left <= 0 || left > 2 * MINUTE) return;
  note(`Waiting ${Math.ceil(left / 1000)} s: it would lose a session that is resumed in the minute it was made.`);
  await clock.sleep(left, gone);
}

async function untilSilent({ clock, updates, gone }: Opening): Promise<void> {
  for (let heard = -1; heard !== updates(); ) {
    heard = updates();
    await clock.sleep(300, gone);
  }
}

async function serversFor({ server, setup }: Opening, { agentCapabilities }: Initialized): Promise<McpServer[]> {
  if (!server) return [];
  if (agentCapabilities?.mcpCapabilities?.http) {
    const headers = [{ name: "Authorization", value: `Bearer ${server.token}` }];
    return [{ type: "http", name: OUR_SERVER, url: server.url, headers }];
  }
  // Its home is what the sandbox shows it for certain.
  const bridge = `.agiraph/${BRIDGE.endsWith(".ts") ? "mcp-bridge.ts" : "mcp-bridge.mjs"}`;
  await putFile(setup.home, bridge, await readFile(BRIDGE));
  const env = { AGIRAPH_DOOR_URL: server.url, AGIRAPH_DOOR_TOKEN: server.token };
  return [
    {
      name: OUR_SERVER,
      command: process.execPath,
      args: [`${setup.home}/${bridge}`],
      env: Object.entries(env).map(([name, value]) => ({ name, value })),
    },
  ];
}

const BRIDGE = fileURLToPath(new URL(`./mcp-bridge.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url));

async function chooseModel(
  opening: Opening,
  sessionId: string,
  { configOptions, models }: WireSession,
): Promise<string | undefined> {
  const { model } = opening.setup;
  const option = configOptions?.find(({ id, category }) => category === "model" || id === "model");
  const current =
    typeof option?.currentValue === "string" ? option.currentValue : (models?.currentModelId ?? undefined);
  if (!option || model === null || model === current) return model ?? current;
  try {
    await ask(opening, "session/set_config_option", MINUTE, { sessionId, configId: option.id, value: model });
    return model;
  } catch (error) {
    opening.note(`It does not accept the model ${model} and uses ${current}: ${reasonOf(error)}`);
    return current;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** What an agent's error says, with the details that it puts beside it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const data = "data" in error && typeof error.data === "object" && error.data !== null ? error.data : {};
  return "details" in data && typeof data.details === "string" ? `${error.message} (${data.details})` : error.message;
}
