import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { LoginBroker } from "../../src/runtime/logins/login-broker.ts";
import { call, type ProviderRequest, type ProviderTurn, script, temporaryHome } from "../../src/testing/index.ts";
import { type OAuthServer, startOAuthServer } from "../../src/testing/oauth-server.ts";
import { isWork } from "./real-claude.ts";

/* Somebody who is signed in with the programs by login files, at a token server that rotates. */

/** A person, their token server, and somebody who keeps their logins. */
export async function person() {
  const home = await temporaryHome();
  const server = await startOAuthServer({ now: systemClock.now });
  const env = { PATH: process.env.PATH, HOME: home.path };
  const broker = () =>
    new LoginBroker({ home: join(home.path, "agiraph"), env, clock: systemClock, fetch: server.fetch });
  return {
    ...{ home: home.path, agiraph: join(home.path, "agiraph"), env, server, broker },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

export const bearerOf = ({ headers }: ProviderRequest) => String(headers.authorization ?? "").replace("Bearer ", "");

/** A model that answers only those who are signed in. */
export function guarded(server: OAuthServer, accepted: string[], mind: (request: ProviderRequest) => ProviderTurn) {
  return (request: ProviderRequest): ProviderTurn => {
    const token = bearerOf(request);
    if (!server.accepts(token)) return { fault: { status: 401, message: "OAuth token has expired" } };
    const isAside = request.api === "anthropic" && !isWork(request);
    if (!isAside) accepted.push(token);
    return isAside ? { text: "ok" } : mind(request);
  };
}

export const hiring = (program: string, model?: string) =>
  script(
    call("spawn_worker", { name: "Clara", program, ...(model && { model }) }),
    call("create_work_node", { task: "Write hello to a.md.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );

/** The text of all files below this folder. */
export async function everythingIn(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return (await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")))).join("\n");
}
