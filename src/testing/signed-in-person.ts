import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BrokeredLogin } from "../runtime/logins/brokered-login.ts";
import { CredentialFile } from "../runtime/logins/credential-file.ts";
import { LOGIN_FORMATS } from "../runtime/logins/login-formats.ts";
import { LoginFile } from "../store/home/login-file.ts";
import { type LOGIN_FILES, signIn } from "./login-files.ts";
import { type ManualClock, manualClock } from "./manual-clock.ts";
import { startOAuthServer } from "./oauth-server.ts";
import { temporaryHome } from "./temporary-home.ts";

type Program = keyof typeof LOGIN_FILES;
export const PROGRAMS_WITH_LOGINS = ["claude", "codex", "gemini", "opencode"] as const;

/** A person with a login that is valid for an hour, and `broker()`, which keeps it for them. */
export async function signedInPerson(program: Program = "claude") {
  const home = await temporaryHome();
  const clock = manualClock();
  const server = await startOAuthServer({ now: clock.now, rotates: program !== "gemini" });
  const first = server.login();
  const path = await signIn(home.path, program, first);
  const notes = new LoginFile(join(home.path, "agiraph"));
  const broker = () => {
    const format = LOGIN_FORMATS[PROGRAMS_WITH_LOGINS.indexOf(program)];
    if (!format) throw new Error("no such program");
    const { signal } = new AbortController();
    const ports = { env: {}, clock, fetch: server.fetch, notes, signal };
    return new BrokeredLogin(format, path, new CredentialFile(path), ports);
  };
  return {
    ...{ home: home.path, clock, server, first, path, notes, broker },
    file: async () => JSON.parse(await readFile(path, "utf8")),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Lets time pass until this is done. */
export async function whileAdvancing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return done;
}
