import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import type {
  OutsideEvent,
  OutsideSession,
  SessionSetup,
  ToolServer,
} from "../../src/workers/outside/session/session.ts";
import { startPlainly } from "./plain-start.ts";

const NO_DOOR: ToolServer = { url: "http://127.0.0.1:9/mcp", token: "none" };

/** A piece of work for a program, in a folder of its own. */
export async function sessionSetup(
  folder: string,
  profile: ProgramProfile,
  more: Partial<SessionSetup> & { door?: ToolServer } = {},
) {
  const { door = NO_DOOR, ...rest } = more;
  const [cwd, home] = [join(folder, "work"), join(folder, "home")];
  for (const made of [cwd, home]) await mkdir(made, { recursive: true });
  const setup: SessionSetup = {
    profile,
    ...{ cwd, home },
    system: "You are Bob.",
    words: "Do it.",
    resume: null,
    model: null,
    assigned: 1,
    start: async (launch) => startPlainly(await launch(door, false), cwd, home),
    ...rest,
  };
  return setup;
}

/** Hears a session to its end; `on` may answer what happens. */
export async function heard(
  session: OutsideSession,
  on: (event: OutsideEvent) => void | Promise<void> = () => {},
): Promise<OutsideEvent[]> {
  const events: OutsideEvent[] = [];
  for await (const event of session.events) {
    events.push(event);
    await on(event);
  }
  return events;
}

export const withoutDeltas = (events: readonly OutsideEvent[]) => events.filter(({ kind }) => kind !== "delta");
