import { lstat, mkdir, readdir, readlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createScrubber } from "../../boundary/scrubber.ts";
import { signIn } from "../../testing/login-files.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { KNOWN_PROGRAMS } from "../../workers/outside/programs.ts";
import { LoginBroker } from "../logins/login-broker.ts";
import { programPorts } from "./program-launch.ts";

test("a home has links to shared files; to the login, and what locks it, only with the user's rights", async () => {
  await using me = await temporaryHome();
  await signIn(me.path, "codex", { access: "a", refresh: "r", expires: 0 });
  await mkdir(join(me.path, ".config"), { recursive: true });
  await writeFile(join(me.path, ".config/plain"), "shared");
  const env = { HOME: me.path };
  const clock = manualClock();
  const logins = new LoginBroker({ home: me.path, env, clock, fetch });
  const never = () => Promise.reject(new Error("not here"));
  const ports = { sandbox: never, price: never, clock, scrubber: createScrubber([]), logins };
  const programs = programPorts({ home: me.path, env, config: {} }, ports);
  const codex = KNOWN_PROGRAMS.codex;
  if (!codex) throw new Error("no Codex");
  const profile = { ...codex, share: [...(codex.share ?? []), ".config/plain"] };
  const linksIn = async (home: string) => {
    const names = await readdir(home, { recursive: true });
    const links = names.filter(Boolean).map(async (name) => {
      const isLink = (await lstat(join(home, name))).isSymbolicLink();
      return isLink ? [[name, await readlink(join(home, name))]] : [];
    });
    return Object.fromEntries((await Promise.all(links)).flat());
  };
  await programs.makeHome(profile, join(me.path, "worker"));
  await programs.makeHome(profile, join(me.path, "terminal"), "the user's");
  const plain = { ".config/plain": join(me.path, ".config/plain") };
  expect(await linksIn(join(me.path, "worker"))).toEqual(plain);
  expect(await linksIn(join(me.path, "terminal"))).toEqual({
    ...plain,
    ".codex/auth.json": join(me.path, ".codex/auth.json"),
    ".codex/auth.lock": join(dirname(join(me.path, ".codex/auth.json")), "auth.lock"),
  });
});
