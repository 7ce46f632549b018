import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../store/disk/atomic-file.ts";
import { isTooLongToShow, requestText, wholeText } from "./session/request-text.ts";
import { requestKey, type ToolRequest } from "./session/tool-request.ts";

/** The longest request, with all its arguments: nobody reads more than that. */
export const LONGEST_REQUEST = 1_000_000;

/**
 * The question that a person is asked. If it cannot show everything, the whole is in `permissions/` of the agent's
 * folder when this resolves. Undefined for a request that is too long to be put to anybody.
 */
export async function permissionQuestion(
  who: string,
  request: ToolRequest,
  agentDir: string,
): Promise<string | undefined> {
  if ((JSON.stringify(request)?.length ?? 0) > LONGEST_REQUEST) return undefined;
  const file = join(agentDir, "permissions", `${requestKey(request)}.txt`);
  if (isTooLongToShow(who, request)) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFileAtomic(file, `${wholeText(who, request)}\n`);
  }
  return requestText(who, request, file);
}
