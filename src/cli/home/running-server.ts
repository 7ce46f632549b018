import type { ApiClient } from "../../client/client.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { tokenIfThere } from "../../store/home/token-file.ts";
import { liveHolder } from "./look.ts";

/** The server that holds this home, if one does: who holds a home says where it is reached, and the token is in it. */
export async function runningServer({ home, config }: Settings): Promise<ApiClient | undefined> {
  const { url, cert } = liveHolder(home) ?? {};
  const token = url === undefined ? undefined : tokenIfThere(home);
  if (url === undefined || token === undefined) return undefined;
  const { ApiClient } = await import("../../client/client.ts");
  // Config.json may say something else by now, or nothing that can be read.
  const certificate = url.startsWith("https:") ? (cert ?? config.server?.tls?.cert) : undefined;
  if (certificate === undefined) return new ApiClient({ url, token });
  const [{ pinnedFetch }, { readPem }] = await Promise.all([
    import("./pinned-fetch.ts"),
    import("../../server/reach.ts"),
  ]);
  return new ApiClient({ url, token, fetch: pinnedFetch(readPem(home, certificate)) });
}
