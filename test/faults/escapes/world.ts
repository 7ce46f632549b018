import { createSocket } from "node:dgram";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Binds } from "../../../src/sandbox/index.ts";
import { scopeTeam } from "../scope-team.ts";

/**
 * A home with a team in it, a project, and beside them what a hostile command would like to have. The sandbox sees of it
 * what the shell of a worker sees (Alice at node-1). Every file says CANARY, every server says "tweet".
 */
export interface World extends AsyncDisposable {
  base: string;
  desk: string;
  binds: Binds;
  /** Where things are, for the attacks. */
  env: Record<string, string>;
  /** Files outside the folders that Alice may write which are not as they were at the beginning. */
  changes(): string[];
}

export async function openWorld(): Promise<World> {
  const team = await scopeTeam();
  const { base, home, project } = team;
  const { cwd: desk, ...binds } = await team.alice.binds();
  const { write } = binds;
  writeFileSync(join(home, ".env"), "CANARY=key");
  writeFileSync(join(home, "config.json"), "CANARY");
  mkdirSync(join(project, "docs/a/b/c"), { recursive: true });
  writeFileSync(join(project, "docs/guide.md"), "visible");
  writeFileSync(join(project, "docs/a/b/c/deep.md"), "visible");
  symlinkSync("../home/token", join(project, "link-to-token"));
  symlinkSync(".env", join(project, "link-to-env"));
  const servers = await openServers(home, `${process.pid}`);
  const helper = setInterval(() => helpInside(desk, project), 20);
  const before = stateOf(base, write);
  const strays = ["/tmp", "/var/tmp", "/dev/shm"].map((folder) => join(folder, `agiraph-escaped-${process.pid}`));
  return {
    base,
    desk,
    binds,
    env: {
      ...servers.env,
      ...{ BASE: base, AGIRAPH: home, PROJECT: project, DESK: desk, RUN: team.runDir },
      ...{ RUNNER: String(process.pid), STRAYS: strays.join(" "), WITNESS: "agiraph-witness" },
      ...{ SHM_KEY: process.env.SHM_KEY ?? "", QUEUE: process.env.QUEUE ?? "", KEY_NAME: process.env.KEY_NAME ?? "" },
    },
    changes() {
      const after = stateOf(base, [...write, join(base, "kit"), join(project, ".env"), join(project, "late")]);
      const changed = [...after].filter(([file, state]) => before.get(file) !== state && !isOurs(file));
      return [...changed.map(([file]) => file), ...strays.filter((file) => existsSync(file))];
    },
    async [Symbol.asyncDispose]() {
      clearInterval(helper);
      servers.close();
      for (const file of strays) rmSync(file, { force: true });
      await team[Symbol.asyncDispose]();
    },
  };
}

/** What the test itself does outside while a command runs, because the command asks for it: files that come later. */
function helpInside(desk: string, project: string): void {
  const steps: Record<string, () => void> = {
    "save-env": () => {
      writeFileSync(join(project, "env.new"), "CANARY saved by rename");
      renameSync(join(project, "env.new"), join(project, ".env"));
    },
    "new-dot": () => writeFileSync(join(project, ".late"), "CANARY made meanwhile"),
    "new-dot-below": () => writeFileSync(join(project, "docs/.env"), "CANARY made meanwhile"),
    "new-dot-deep": () => writeFileSync(join(project, "docs/a/b/c/.env"), "CANARY made meanwhile"),
    "new-folder": () => {
      mkdirSync(join(project, "late"));
      writeFileSync(join(project, "late", ".env"), "CANARY in a new folder");
    },
    "replace-folder": () => {
      rmSync(join(project, "src/.secret"), { recursive: true });
      mkdirSync(join(project, "src/.secret"));
      writeFileSync(join(project, "src/.secret/key"), "CANARY in a folder that was replaced");
    },
  };
  for (const [step, act] of Object.entries(steps)) {
    if (!existsSync(join(desk, `ask-${step}`)) || existsSync(join(desk, `did-${step}`))) continue;
    act();
    writeFileSync(join(desk, `did-${step}`), "");
  }
}

const isOurs = (file: string) => /\/(\.late|\.env|late|\.secret|key)$/.test(file);

function stateOf(folder: string, but: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (but.includes(path)) continue;
    if (entry.isDirectory()) for (const [file, state] of stateOf(path, but)) found.set(file, state);
    else if (entry.isFile()) found.set(path, `${statSync(path).mode} ${readFileSync(path, "utf8")}`);
    else found.set(path, "special");
  }
  return found;
}

/** Each says "tweet" to whoever says something. */
async function openServers(home: string, id: string) {
  const servers: Server[] = [];
  const tcp = async (where: object, word = "tweet") => {
    const server = createServer(
      (socket) => void socket.on("error", () => {}).once("data", () => socket.end(answer(word))),
    );
    servers.push(server);
    const isThere = await new Promise((done) => server.on("error", () => done(false)).listen(where, () => done(true)));
    const address = server.address();
    return isThere && typeof address === "object" && address ? String(address.port) : "0";
  };
  const udp = createSocket("udp4").on("message", (_, { port }) => udp.send("tweet", port, "127.0.0.1"));
  await new Promise<void>((done) => udp.bind(0, "127.0.0.1", done));
  await tcp({ path: join(home, "control.sock") });
  await tcp({ path: `\0agiraph-escapes-${id}` });
  const env = {
    TCP_PORT: await tcp({ host: "127.0.0.1", port: 0 }),
    TCP6_PORT: await tcp({ host: "::1", port: 0 }),
    ANY_PORT: await tcp({ host: "0.0.0.0", port: 0 }),
    OPEN_PORT: await tcp({ host: "127.0.0.1", port: 0 }, "open"),
    UDP_PORT: String(udp.address().port),
    ABSTRACT: `agiraph-escapes-${id}`,
    LAN:
      Object.values(networkInterfaces())
        .flat()
        .find((each) => each?.family === "IPv4" && !each.internal)?.address ?? "127.0.0.2",
  };
  return {
    env,
    close() {
      for (const server of [udp, ...servers]) server.close();
    },
  };
}

const answer = (word: string) =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${word.length}\r\nConnection: close\r\n\r\n${word}`;
