import type { ProgramProfile } from "../../../protocol/index.ts";

/** What happens before a program edits or runs something: it may, a person is asked, or it may not. */
export type PermissionPolicy = NonNullable<ProgramProfile["permissions"]>;

/**
 * What the `permissions` of a program mean, whatever its kind. Left out, it may do as it likes where a sandbox keeps it
 * to a folder of its own; where it can reach what is the person's, the person is asked.
 */
export function permissionOf(
  { permissions }: Pick<ProgramProfile, "permissions">,
  reach: "its own folder" | "the person's files",
): PermissionPolicy {
  return permissions ?? (reach === "its own folder" ? "allow" : "ask");
}

/** What a program can reach where it is started. */
export function reachWords(isConfined: boolean): "its own folder" | "the person's files" {
  return isConfined ? "its own folder" : "the person's files";
}
