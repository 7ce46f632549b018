import type { ApiClient } from "../../client/client.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { HomeHolder } from "../../store/home/home.ts";
import { tokenIfThere } from "../../store/home/token-file.ts";
import { HomeInUse } from "../exit-code.ts";
import { liveHolder } from "./live-holder.ts";

/** The process that holds a home, and a client for it. */
export interface OtherProcess {
  holder: HomeHolder;
  client: ApiClient;
}

/**
 * The process that holds this home, if there is one: the lock file says where it is reached, and the token is in the
 * home. Rejects with `HomeInUse` if that process cannot be reached: not yet, no longer, or never.
 */
export async function otherProcess(settings: Settings): Promise<OtherProcess | undefined> {
  const { home } = settings;
  const holder = liveHolder(home);
  if (!holder) return undefined;
  const token = holder.url === undefined ? undefined : tokenIfThere(home);
  if (holder.url === undefined || token === undefined)
    throw new HomeInUse(`The home ${home} is in use by pid ${holder.pid}.`, {
      isPassing: holder.command === undefined,
    });
  return { holder, client: await clientOf(settings, holder.url, token, holder.cert) };
}

/** The same if it is a server: a server stays, serves the page, and works on meshes. */
export async function runningServer(settings: Settings): Promise<ApiClient | undefined> {
  const holder = liveHolder(settings.home);
  if (!holder || holder.url === undefined || !isServer(holder)) return undefined;
  return (await otherProcess(settings))?.client;
}

/** Processes of the previous version can be told apart only by their command. */
export function isServer({ serves, command }: Pick<HomeHolder, "serves" | "command">): boolean {
  return serves ?? command === "agiraph serve";
}

async function clientOf({ home, config }: Settings, url: string, token: string, cert?: string): Promise<ApiClient> {
  const { ApiClient } = await import("../../client/client.ts");
  // Config.json may say something else by now, or nothing that can be read.
  const certificate = url.startsWith("https:") ? (cert ?? config.server?.tls?.cert) : undefined;
  const options = { url, token, via: "terminal" as const };
  if (certificate === undefined) return new ApiClient(options);
  const [{ pinnedServer }, { readPem }] = await Promise.all([
    import("./pinned-server.ts"),
    import("../../server/reach.ts"),
  ]);
  return new ApiClient({ ...options, ...pinnedServer(readPem(home, certificate)) });
}
