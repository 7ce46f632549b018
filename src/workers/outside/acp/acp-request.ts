import type { PermissionRequest } from "../session/session.ts";
import type { FileChange } from "../session/tool-request.ts";
import type { WireCall } from "./acp-wire.ts";

/** A call that permission is asked for. */
export interface AskedCall {
  wire: WireCall;
  tool: string;
  /** What the request for permission said of it. */
  asked?: { title: string | undefined; rawInput: unknown };
}

/** Everything the program has said of a call, and its words about it apart. */
export function permissionRequest(id: string, { wire, tool, asked }: AskedCall): PermissionRequest {
  const { toolCallId, kind, rawInput, locations, content } = wire;
  const args = isEmpty(asked?.rawInput) ? rawInput : asked?.rawInput;
  const isOther = !isEmpty(rawInput) && JSON.stringify(args) !== JSON.stringify(rawInput);
  const changes = (content ?? []).flatMap(({ type, path, oldText, newText }): FileChange[] =>
    type === "diff" && path ? [{ path, before: oldText ?? null, after: newText ?? "" }] : [],
  );
  const shown = isEmpty(args) ? (content ?? []).flatMap((part) => part.content?.text ?? []).join("\n") : "";
  return {
    kind: "asked_permission",
    id,
    tool,
    call_id: toolCallId,
    category: kind ?? undefined,
    args: isEmpty(args) ? null : args,
    ...(isOther ? { announced: rawInput } : {}),
    paths: (locations ?? []).map(({ path }) => path),
    changes,
    ...(shown !== "" ? { shown } : {}),
    title: asked?.title ?? wire.title ?? undefined,
  };
}

export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
